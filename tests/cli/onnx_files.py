"""onnx_files.py - models and recorded values as bytes: protobuf by hand, so that nothing but Python is needed."""
import os
import struct

FLOAT, UINT8, INT32, INT64, STRING, BOOL = 1, 2, 6, 7, 8, 9


def varint(v):
    v &= (1 << 64) - 1
    out = b""
    while v > 127:
        out += bytes([v & 127 | 128])
        v >>= 7
    return out + bytes([v])


def num(field, v):
    return varint(field << 3) + varint(v)


def msg(field, data):
    data = data.encode() if isinstance(data, str) else data
    return varint(field << 3 | 2) + varint(len(data)) + data


# Recorded values (onnx-data.proto); SequenceProto.DataType and OptionalProto.DataType number the kinds.
KINDS = {"tensor": 1, "sequence": 3, "map": 4, "optional": 5}


def tensor(dtype, dims, values, name=""):
    letter = {FLOAT: "f", UINT8: "B", INT32: "i", INT64: "q", BOOL: "?"}[dtype]
    raw = struct.pack(f"<{len(values)}{letter}", *values)
    return b"".join(num(1, d) for d in dims) + num(2, dtype) + msg(8, name) + msg(9, raw)


def sequence(items, kind="tensor"):
    return num(2, KINDS[kind]) + b"".join(msg(KINDS[kind] + 2, i) for i in items)


def optional(content=None, kind="tensor"):
    return num(2, 0) if content is None else num(2, KINDS[kind]) + msg(KINDS[kind] + 2, content)


def string_map(pairs):
    scalars = sequence([tensor(FLOAT, [], [v]) for _, v in pairs])
    return num(2, STRING) + b"".join(msg(4, k) for k, _ in pairs) + msg(5, scalars)


# Types (TypeProto)
def tensor_type(dtype, dims=None):
    shape = b"" if dims is None else msg(2, b"".join(
        msg(1, msg(2, d) if isinstance(d, str) else num(1, d)) for d in dims))
    return msg(1, num(1, dtype) + shape)


def sequence_type(elem):
    return msg(4, msg(1, elem))


def map_type(key, value):
    return msg(5, num(1, key) + msg(2, value))


def optional_type(elem):
    return msg(9, msg(1, elem))


# Graphs
def attr_ints(name, values):
    return msg(1, name) + b"".join(num(8, v) for v in values) + num(20, 7)


def attr_string(name, value):
    return msg(1, name) + msg(4, value) + num(20, 3)


def attr_strings(name, values):
    return msg(1, name) + b"".join(msg(9, v) for v in values) + num(20, 8)


def attr_tensor(name, t):
    return msg(1, name) + msg(5, t) + num(20, 4)


def attr_graph(name, g):
    return msg(1, name) + msg(6, g) + num(20, 5)


def node(op, inputs, outputs, attrs=(), name="", domain=""):
    return (b"".join(msg(1, i) for i in inputs) + b"".join(msg(2, o) for o in outputs) + msg(3, name) + msg(4, op) +
            b"".join(msg(5, a) for a in attrs) + msg(7, domain))


def graph(nodes, inputs, outputs, initializers=()):
    """inputs and outputs: pairs of a name and a type; initializers: tensors with names"""
    return (b"".join(msg(1, n) for n in nodes) + msg(2, "g") + b"".join(msg(5, t) for t in initializers) +
            b"".join(msg(11, msg(1, n) + msg(2, t)) for n, t in inputs) +
            b"".join(msg(12, msg(1, n) + msg(2, t)) for n, t in outputs))


def model(nodes, inputs, outputs, opsets=(("", 17),), metadata=(), initializers=()):
    return (num(1, 8) + msg(7, graph(nodes, inputs, outputs, initializers)) +
            b"".join(msg(8, msg(1, d) + num(2, v)) for d, v in opsets) +
            b"".join(msg(14, msg(1, k) + msg(2, v)) for k, v in metadata))


def write_case(folder, model_bytes, inputs=(), outputs=()):
    """A folder as ONNX's backend tests have it."""
    os.makedirs(os.path.join(folder, "test_data_set_0"))
    files = {"model.onnx": model_bytes}
    files.update({f"test_data_set_0/input_{i}.pb": b for i, b in enumerate(inputs)})
    files.update({f"test_data_set_0/output_{i}.pb": b for i, b in enumerate(outputs)})
    for name, data in files.items():
        with open(os.path.join(folder, name), "wb") as f:
            f.write(data)
    return folder
