#!/usr/bin/env python3
"""What `onyx run` tells of its outputs, whatever kind of value they are: as text and as JSON."""
import os
import struct
import unittest

from command import CommandTest
from onnx_files import *

UINT64, COMPLEX64 = 13, 14


def raw(dtype, dims, data, name=""):
    return b"".join(num(1, d) for d in dims) + num(2, dtype) + msg(8, name) + msg(9, data)


def floats(values):
    return tensor(FLOAT, [len(values)], values)


def strings(values, name=""):
    return num(1, len(values)) + num(2, STRING) + b"".join(msg(6, v) for v in values) + msg(8, name)


def constant(t, dtype, opset=17):
    return model([node("Constant", [], ["y"], [attr_tensor("value", t)])], [], [("y", tensor_type(dtype))],
                 (("", opset),))


def zip_map(attr, values):
    key = STRING if isinstance(values[0], str) else INT64
    return model([node("ZipMap", ["x"], ["y"], [attr(f"classlabels_{'strings' if key == STRING else 'int64s'}", values)],
                       domain="ai.onnx.ml")],
                 [("x", tensor_type(FLOAT, [1, len(values)]))], [("y", sequence_type(map_type(key, tensor_type(FLOAT))))],
                 (("", 17), ("ai.onnx.ml", 2)))


nan = float("nan")
big = 2 ** 53 + 1  # a double does not hold it

# name: model, inputs, the text after "y: ", the JSON without the name
TENSORS = {
    "a scalar": (constant(tensor(FLOAT, [], [2.5]), FLOAT), "float32[]  [2.5]\n",
                 {"type": "float32", "shape": [], "min": 2.5, "max": 2.5, "max_at": 0, "mean": 2.5, "nans": 0,
                  "first": [2.5]}),
    "no elements": (constant(tensor(FLOAT, [0, 3], []), FLOAT), "float32[0,3]  []\n",
                    {"type": "float32", "shape": [0, 3], "nans": 0, "first": []}),
    "NaN": (constant(floats([nan, 1.0]), FLOAT), "float32[2]  [nan, 1]\n",
            {"type": "float32", "shape": [2], "min": 1, "max": 1, "max_at": 1, "mean": 1, "nans": 1,
             "first": [None, 1]}),
    "NaN alone": (constant(floats([nan] * 9), FLOAT),
                  "float32[9]  9 NaN  [nan, nan, nan, nan, nan, nan, nan, nan, ...]\n",
                  {"type": "float32", "shape": [9], "nans": 9, "first": [None] * 8}),
    "infinity alone": (constant(floats([float("-inf")]), FLOAT), "float32[1]  [-inf]\n",
                       {"type": "float32", "shape": [1], "min": None, "max": None, "max_at": 0, "mean": None,
                        "nans": 0, "first": [None]}),
    "more than eight": (constant(floats([1.0, 2.0, 9.0] + [0.0] * 6), FLOAT),
                        "float32[9]  min 0  max 9 (at 2)  mean 1.33333  [1, 2, 9, 0, 0, 0, 0, 0, ...]\n",
                        {"type": "float32", "shape": [9], "min": 0, "max": 9, "max_at": 2, "mean": 12 / 9, "nans": 0,
                         "first": [1, 2, 9, 0, 0, 0, 0, 0]}),
    "large integers": (constant(tensor(INT64, [2], [big, -big]), INT64), f"int64[2]  [{big}, {-big}]\n",
                       {"type": "int64", "shape": [2], "min": -big, "max": big, "max_at": 0, "mean": 0, "nans": 0,
                        "first": [big, -big]}),
    "the largest": (constant(raw(UINT64, [1], struct.pack("<Q", 2 ** 64 - 1)), UINT64), f"uint64[1]  [{2 ** 64 - 1}]\n",
                    {"type": "uint64", "shape": [1], "min": 2 ** 64 - 1, "max": 2 ** 64 - 1, "max_at": 0,
                     "mean": float(2 ** 64 - 1), "nans": 0, "first": [2 ** 64 - 1]}),
    "seven digits": (constant(tensor(INT32, [1], [1234567]), INT32), "int32[1]  [1234567]\n",
                     {"type": "int32", "shape": [1], "min": 1234567, "max": 1234567, "max_at": 0, "mean": 1234567,
                      "nans": 0, "first": [1234567]}),
    "bools": (constant(tensor(BOOL, [2], [True, False]), BOOL), "bool[2]  [true, false]\n",
              {"type": "bool", "shape": [2], "first": [True, False]}),
    "strings": (constant(strings(["a", "é"]), STRING), 'string[2]  ["a", "é"]\n',
                {"type": "string", "shape": [2], "first": ["a", "é"]}),
    "complex": (constant(raw(COMPLEX64, [1], struct.pack("<2f", 1.5, -2)), COMPLEX64), "complex64[1]  [1.5-2i]\n",
                {"type": "complex64", "shape": [1], "first": [[1.5, -2]]}),
}


class Outputs(CommandTest):
    def write(self, data):
        path = os.path.join(self.folder, "m.onnx")
        with open(path, "wb") as f:
            f.write(data)
        return path

    def of(self, data, *args):
        """The text behind "y: ", and the JSON."""
        path = self.write(data)
        text = self.onyx("run", path, *args)[0]
        self.assertTrue(text.startswith("y: "), text)
        (y,) = self.json("run", path, *args)["outputs"]
        self.assertEqual(y.pop("name"), "y")
        return text[3:], y

    def test_tensors(self):
        for name, (data, text, fields) in TENSORS.items():
            with self.subTest(name):
                self.assertEqual(self.of(data), (text, {"kind": "tensor", **fields}))

    def test_sequences(self):
        construct = model([node("Constant", [], ["a"], [attr_tensor("value", floats([1.0]))]),
                           node("SequenceConstruct", ["a"] * 10, ["y"])], [],
                          [("y", sequence_type(tensor_type(FLOAT)))])
        text, y = self.of(construct)
        self.assertEqual(text, "sequence of 10\n" + "".join(f"  {i}: float32[1]  [1]\n" for i in range(8)) + "  ...\n")
        self.assertEqual((y["kind"], y["type"], y["length"], len(y["items"])), ("sequence", "float32", 10, 8))
        self.assertEqual((y["items"][7]["kind"], y["items"][7]["first"]), ("tensor", [1]))
        empty = model([node("SequenceEmpty", [], ["y"])], [], [("y", sequence_type(tensor_type(FLOAT)))])
        self.assertEqual(self.of(empty), ("sequence of 0\n", {"kind": "sequence", "type": "float32", "length": 0,
                                                              "items": []}))

    def test_maps(self):
        x = os.path.join(self.folder, "x.pb")
        with open(x, "wb") as f:
            f.write(tensor(FLOAT, [1, 2], [0.25, 0.75]))
        for data, keys in ((zip_map(attr_strings, ["cat", "dog"]), ["cat", "dog"]), (zip_map(attr_ints, [3, 5]), [3, 5])):
            text, y = self.of(data, "--input", f"x={x}")
            shown = ", ".join(f'"{k}"' if isinstance(k, str) else str(k) for k in keys)
            kind = "string" if isinstance(keys[0], str) else "int64"
            self.assertEqual(text, f"sequence of 1\n  0: map\n    keys: {kind}[2]  [{shown}]\n"
                                   "    values: float32[2]  [0.25, 0.75]\n")
            (item,) = y["items"]
            self.assertEqual((item["kind"], item["keys"]["first"], item["values"]["first"]),
                             ("map", keys, [0.25, 0.75]))

    def test_numpy_files_in_either_order(self):
        table = [((2, 3), [1, 2, 3, 4, 5, 6], [1, 4, 2, 5, 3, 6]), ((4,), [1, 2, 3, 4], [1, 2, 3, 4]),
                 ((), [7], [7]), ((0, 3), [], []), ((2, 1, 2), [1, 2, 3, 4], [1, 3, 2, 4])]
        path = self.write(model([node("Identity", ["x"], ["y"])], [("x", tensor_type(FLOAT))],
                                [("y", tensor_type(FLOAT))]))
        for dims, rows_first, columns_first in table:
            for fortran, values in ((False, rows_first), (True, columns_first)):
                with self.subTest(dims, fortran=fortran):
                    header = f"{{'descr': '<f4', 'fortran_order': {fortran}, 'shape': {dims}, }}".ljust(117) + "\n"
                    x = os.path.join(self.folder, "x.npy")
                    with open(x, "wb") as f:
                        f.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() +
                                struct.pack(f"<{len(values)}f", *values))
                    (y,) = self.json("run", path, "--input", f"x={x}")["outputs"]
                    self.assertEqual((y["shape"], y["first"]), (list(dims), rows_first))

    def test_nothing(self):
        data = model([node("Optional", [], ["y"], [msg(1, "type") + msg(14, tensor_type(FLOAT)) + num(20, 13)])], [],
                     [("y", optional_type(tensor_type(FLOAT)))])
        self.assertEqual(self.of(data), ("nothing\n", {"kind": "nothing"}))


if __name__ == "__main__":
    unittest.main()
