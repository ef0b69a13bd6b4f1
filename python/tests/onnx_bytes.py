# SPDX-License-Identifier: Apache-2.0
"""Models as bytes, written by hand, so that the tests need no package for it."""

import struct

import numpy as np

FLOAT, UINT8, INT8, UINT16, INT16, INT32, INT64, STRING, BOOL = range(1, 10)
FLOAT16, DOUBLE, UINT32, UINT64, COMPLEX64, COMPLEX128, BFLOAT16 = range(10, 17)
FLOAT8E4M3FN, FLOAT8E4M3FNUZ, FLOAT8E5M2, FLOAT8E5M2FNUZ, UINT4, INT4, FLOAT4E2M1 = range(17, 24)
NUMPY = {FLOAT: np.float32, UINT8: np.uint8, INT8: np.int8, UINT16: np.uint16, INT16: np.int16, INT32: np.int32,
         INT64: np.int64, BOOL: np.bool_, FLOAT16: np.float16, DOUBLE: np.float64, UINT32: np.uint32, UINT64: np.uint64}
ONNX = {np.dtype(numpy): onnx for onnx, numpy in NUMPY.items()}


def varint(n):
    n &= 2**64 - 1
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def number(field, n):
    return varint(field << 3) + varint(n)


def block(field, content):
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(content)) + content


def tensor(array, name=""):
    """A TensorProto."""
    array = np.asarray(array)
    dims = b"".join(number(1, d) for d in array.shape)
    if array.dtype.kind in "OSU":
        texts = b"".join(block(6, x if isinstance(x, bytes) else str(x)) for x in array.ravel())
        return dims + number(2, STRING) + texts + block(8, name)
    return dims + number(2, ONNX[array.dtype]) + block(8, name) + block(9, array.tobytes())


def attribute(name, value):
    head = block(1, name)
    if isinstance(value, float):
        return head + varint(2 << 3 | 5) + struct.pack("<f", value) + number(20, 1)
    if isinstance(value, int):
        return head + number(3, value) + number(20, 2)
    if isinstance(value, str):
        return head + block(4, value) + number(20, 3)
    if isinstance(value, np.ndarray):
        return head + block(5, tensor(value)) + number(20, 4)
    if isinstance(value, bytes):  # a TypeProto
        return head + block(14, value) + number(20, 13)
    if isinstance(value[0], float):
        return head + b"".join(varint(7 << 3 | 5) + struct.pack("<f", x) for x in value) + number(20, 6)
    if isinstance(value[0], int):
        return head + b"".join(number(8, x) for x in value) + number(20, 7)
    return head + b"".join(block(9, x) for x in value) + number(20, 8)


def node(op, inputs, outputs, domain="", name="", **attributes):
    parts = [block(1, x) for x in inputs] + [block(2, x) for x in outputs] + [block(3, name), block(4, op)]
    parts += [block(5, attribute(key, value)) for key, value in attributes.items()]
    return b"".join(parts) + block(7, domain)


def tensor_type(dtype, shape=None, field=1):
    """A TypeProto of a tensor (field 8: a sparse one). shape: numbers, names, None; or None for any rank."""
    body = number(1, dtype)
    if shape is not None:
        dims = b"".join(
            block(1, b"" if d is None else block(2, d) if isinstance(d, str) else number(1, d)) for d in shape)
        body += block(2, dims)
    return block(field, body)


def sequence_type(element):
    return block(4, block(1, element))


def map_type(key, value):
    return block(5, number(1, key) + block(2, value))


def optional_type(element):
    return block(9, block(1, element))


def value(name, type_proto):
    return block(1, name) + block(2, type_proto)


def model(nodes, inputs, outputs, initializers=(), opset=20, props=(), ir=10):
    """inputs, outputs: {name: TypeProto}; initializers: {name: array}."""
    graph = b"".join(block(1, n) for n in nodes) + block(2, "graph")
    graph += b"".join(block(5, tensor(array, name)) for name, array in dict(initializers).items())
    graph += b"".join(block(11, value(name, kind)) for name, kind in inputs.items())
    graph += b"".join(block(12, value(name, kind)) for name, kind in outputs.items())
    head = number(1, ir) + block(2, "tests") + number(5, 3) + block(6, "a model")
    imports = block(8, block(1, "") + number(2, opset)) + block(8, block(1, "ai.onnx.ml") + number(2, 3))
    imports += block(8, block(1, "com.microsoft") + number(2, 1))
    return head + block(7, graph) + imports + b"".join(block(14, block(1, k) + block(2, v)) for k, v in props)


def unary(op, dtype=FLOAT, shape=("N",), to=None, **attributes):
    """z = op(x)"""
    return model([node(op, ["x"], ["z"], **attributes)], {"x": tensor_type(dtype, shape)},
                 {"z": tensor_type(dtype if to is None else to, shape)})


def add(shape=("N", 2), dtype=FLOAT, **more):
    """z = x + y"""
    kind = tensor_type(dtype, shape)
    return model([node("Add", ["x", "y"], ["z"], name="sum")], {"x": kind, "y": kind}, {"z": kind}, **more)
