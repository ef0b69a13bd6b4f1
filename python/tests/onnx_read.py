# SPDX-License-Identifier: Apache-2.0
"""Reads recorded tensors (TensorProto), so that the tests need no package for it."""

import struct

import numpy as np

import onnx_bytes as ob


def _varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data):
    """(number, value) of each field: an int, or bytes."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        if key & 7 == 0:
            value, at = _varint(data, at)
        elif key & 7 == 2:
            n, at = _varint(data, at)
            value, at = data[at:at + n], at + n
        else:
            n = 8 if key & 7 == 1 else 4
            value, at = data[at:at + n], at + n
        yield key >> 3, value


def _numbers(value):
    """Of a packed or a single field."""
    if isinstance(value, int):
        return [value]
    out, at = [], 0
    while at < len(value):
        number, at = _varint(value, at)
        out.append(number)
    return out


def _signed(n):
    return n - 2**64 if n >= 2**63 else n


def tensor(data):
    """(name, array)"""
    dims, kind, name, raw, values, texts = [], 0, "", None, [], []
    for field, value in fields(data):
        if field == 1:
            dims += [_signed(n) for n in _numbers(value)]
        elif field == 2:
            kind = value
        elif field == 4:
            values += struct.unpack(f"<{len(value) // 4}f", value)
        elif field == 10:
            values += struct.unpack(f"<{len(value) // 8}d", value)
        elif field in (5, 7):
            values += [_signed(n) for n in _numbers(value)]
        elif field == 11:
            values += _numbers(value)
        elif field == 6:
            texts.append(value.decode())
        elif field == 8:
            name = value.decode()
        elif field == 9:
            raw = value
    if kind == ob.STRING:
        return name, np.array(texts, object).reshape(dims)
    dtype = np.dtype(ob.NUMPY[kind])
    if raw is not None:
        return name, np.frombuffer(raw, dtype).reshape(dims)
    if kind == ob.FLOAT16:
        return name, np.array(values, np.uint16).view(dtype).reshape(dims)
    return name, np.array(values, dtype).reshape(dims)


def sequence(data):
    """(name, list) of a SequenceProto of tensors or maps."""
    name, out = "", []
    for field, value in fields(data):
        if field == 1:
            name = value.decode()
        elif field == 3:
            out.append(tensor(value)[1])
        elif field == 6:
            out.append(mapping(value))
    return name, out


def mapping(data):
    """The dict of a MapProto."""
    keys, values = [], []
    for field, value in fields(data):
        if field == 3:
            keys += [_signed(n) for n in _numbers(value)]
        elif field == 4:
            keys.append(value.decode())
        elif field == 5:  # a SequenceProto whose tensors hold the values
            values = np.concatenate([np.atleast_1d(x) for x in sequence(value)[1]]).tolist()
    return dict(zip(keys, values))
