# SPDX-License-Identifier: Apache-2.0
"""Files of LoRA adapters: FlatBuffers with the identifier TORT. Little-endian throughout.

Table Adapter: format version, adapter version, model version, parameters. Table Parameter: name, dimensions, element type
of ONNX, bytes."""

import os
import struct

import numpy as np

from .values import OrtValue

_IDENTIFIER = b"TORT"
_FORMAT_VERSION = 1


class AdapterFormat:
    """Reads and writes files of LoRA adapters.

    adapter = AdapterFormat(); adapter.set_parameters({"a": ortvalue}); adapter.export_adapter(path)"""

    def __init__(self, adapter=None):
        self._format_version, self._adapter_version, self._model_version = _FORMAT_VERSION, 0, 0
        self._parameters = {}
        if isinstance(adapter, AdapterFormat):
            self.__dict__.update(adapter.__dict__)

    @staticmethod
    def read_adapter(file_path):
        """The adapter in a file. RuntimeError if it is none."""
        with open(os.fspath(file_path), "rb") as file:
            data = file.read()
        out = AdapterFormat()
        try:
            _read(data, out)
        except (struct.error, IndexError, ValueError) as error:
            raise RuntimeError(f"{file_path} is no file of a LoRA adapter: {error}") from None
        return out

    def export_adapter(self, file_path):
        """Writes the adapter."""
        with open(os.fspath(file_path), "wb") as file:
            file.write(_write(self))

    def get_format_version(self):
        """Version of the file's format."""
        return self._format_version

    def set_adapter_version(self, adapter_version):
        """Sets the adapter's own version."""
        self._adapter_version = int(adapter_version)

    def get_adapter_version(self):
        """The adapter's own version."""
        return self._adapter_version

    def set_model_version(self, model_version):
        """Sets the version of the model that it is for."""
        self._model_version = int(model_version)

    def get_model_version(self):
        """The version of the model that it is for."""
        return self._model_version

    def set_parameters(self, params):
        """Sets the parameters: {name of an input: OrtValue}."""
        self._parameters = dict(params)

    def get_parameters(self):
        """{name of an input: OrtValue}"""
        return dict(self._parameters)


# ---- reading ----


def _u32(data, at):
    return struct.unpack_from("<I", data, at)[0]


def _field(data, table, index):
    """Where field |index| of the table lies; None: it has its default."""
    vtable = table - struct.unpack_from("<i", data, table)[0]
    size = struct.unpack_from("<H", data, vtable)[0]
    slot = 4 + 2 * index
    offset = struct.unpack_from("<H", data, vtable + slot)[0] if slot < size else 0
    return table + offset if offset else None


def _number(data, table, index):
    at = _field(data, table, index)
    return struct.unpack_from("<i", data, at)[0] if at else 0


def _vector(data, table, index):
    """(where the elements begin, how many)"""
    at = _field(data, table, index)
    if not at:
        return 0, 0
    start = at + _u32(data, at)
    return start + 4, _u32(data, start)


def _read(data, out):
    if data[4:8] != _IDENTIFIER:
        raise ValueError("its identifier is not TORT")
    root = _u32(data, 0)
    out._format_version, out._adapter_version, out._model_version = (_number(data, root, i) for i in range(3))
    first, n = _vector(data, root, 3)
    for i in range(n):
        at = first + 4 * i
        _read_parameter(data, at + _u32(data, at), out._parameters)


def _read_parameter(data, table, parameters):
    at, n = _vector(data, table, 0)
    name = data[at:at + n].decode()
    at, n = _vector(data, table, 1)
    dims = struct.unpack_from(f"<{n}q", data, at)
    at, n = _vector(data, table, 3)
    if at + n > len(data):
        raise ValueError(f"the bytes of parameter {name} end behind the file")
    value = OrtValue.ortvalue_from_shape_and_type(dims, _number(data, table, 2))
    if value.tensor_size_in_bytes() != n:
        raise ValueError(f"parameter {name} has {n} bytes, its shape {list(dims)} needs {value.tensor_size_in_bytes()}")
    if n:
        _bytes_of(value)[:] = np.frombuffer(data, np.uint8, n, at)
    parameters[name] = value


def _bytes_of(value):
    """The memory of a tensor as an array of bytes."""
    n = value.tensor_size_in_bytes()
    return np.asarray(OrtValue._from_pointer(value.data_ptr(), [n], np.uint8).numpy())


# ---- writing: objects are placed one behind the other, references to them filled in as they come ----


class _Writer:
    def __init__(self):
        self.data = bytearray(8)
        self.data[4:8] = _IDENTIFIER

    def align(self, n, ahead=0):
        """Pads so that what comes |ahead| bytes further is aligned."""
        while (len(self.data) + ahead) % n:
            self.data.append(0)

    def refer(self, at):
        """What is written next is what the reference at |at| means."""
        struct.pack_into("<I", self.data, at, len(self.data) - at)

    def vector(self, at, count, contents, alignment):
        self.align(alignment, 4)
        self.align(4)
        self.refer(at)
        self.data += struct.pack("<I", count) + contents

    def table(self, at, numbers, n_references):
        """A table of 32-bit numbers, then references; returns where these are."""
        n = len(numbers) + n_references
        self.align(4, 2 * (2 + n))
        vtable = len(self.data)
        self.data += struct.pack(f"<{2 + n}H", 4 + 2 * n, 4 + 4 * n, *(4 + 4 * i for i in range(n)))
        self.refer(at)
        table = len(self.data)
        self.data += struct.pack(f"<i{len(numbers)}i", table - vtable, *numbers) + bytes(4 * n_references)
        return [table + 4 + 4 * (len(numbers) + i) for i in range(n_references)]


def _write(adapter):
    w = _Writer()
    (parameters,) = w.table(
        0, [adapter._format_version, adapter._adapter_version, adapter._model_version], 1)
    n = len(adapter._parameters)
    w.vector(parameters, n, bytes(4 * n), 4)
    first = len(w.data) - 4 * n
    for i, (name, value) in enumerate(adapter._parameters.items()):
        _write_parameter(w, first + 4 * i, name, value._get_c_value())
    return bytes(w.data)


def _write_parameter(w, at, name, value):
    """Fields in the order name, dims, type, data."""
    w.align(4, 12)
    vtable = len(w.data)
    w.data += struct.pack("<6H", 12, 20, 4, 8, 12, 16)
    w.refer(at)
    table = len(w.data)
    w.data += struct.pack("<iIIiI", table - vtable, 0, 0, value.element_type(), 0)
    text, dims = name.encode(), value.shape()
    w.vector(table + 4, len(text), text + b"\0", 4)
    w.vector(table + 8, len(dims), struct.pack(f"<{len(dims)}q", *dims), 8)
    n = value.tensor_size_in_bytes()
    w.vector(table + 16, n, _bytes_of(value).tobytes() if n else b"", 8)
