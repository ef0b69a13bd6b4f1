#!/usr/bin/env python3
"""`onyx run --trace-nan` names the node that first makes a NaN or an infinity, however far the outputs are from it."""
import os
import struct
import unittest

from command import FAILED, CommandTest
from onnx_files import *

HALF = 10
NAN, INF = float("nan"), float("inf")


def floats(names):
    return [(name, tensor_type(FLOAT, [2, 3])) for name in names]


# sqrt of what may be negative, in the middle; 0 / 0 would be another way
CHAIN = model([node("Sub", ["x", "y"], ["a"], name="sub"), node("Sqrt", ["a"], ["b"], name="root"),
               node("Transpose", ["b"], ["c"], name="turn"), node("Transpose", ["c"], ["d"], name="turn2"),
               node("Mul", ["d", "x"], ["z"], name="mul"), node("Exp", ["x"], ["e"], name="exp")],
              floats("xy"), floats("ze"))


class TraceNanTest(CommandTest):
    def case(self, **values):
        path = os.path.join(self.folder, "m.onnx")
        with open(path, "wb") as f:
            f.write(CHAIN)
        args = ["run", path, "--trace-nan"]
        for name, numbers in values.items():
            file = os.path.join(self.folder, name + ".pb")
            with open(file, "wb") as f:
                f.write(tensor(FLOAT, [2, 3], numbers))
            args += ["--input", f"{name}={file}"]
        return args

    def test_all_is_well(self):
        args = self.case(x=[1.0] * 6, y=[0.0] * 6)
        self.assertEqual(self.onyx(*args)[0], "no NaN\nno infinity\n")
        self.assertEqual(self.json(*args), {"first_nan": None, "first_infinity": None})

    def test_in_the_middle(self):
        args = self.case(x=[1.0, 1, 1, 1, 1, 1], y=[0.0, 0, 0, 2, 0, 2])
        out, err = self.onyx(*args, "--level", "0", code=FAILED)
        self.assertEqual(out, "first NaN: value 'b', float32[2,3], 2 of 6 elements, at [1,0]\n"
                              "  made by node 'root' (Sqrt) on cpu\nno infinity\n")
        self.assertEqual(err, "")

    def test_infinities_alone_are_no_failure(self):
        out, _ = self.onyx(*self.case(x=[1.0, 99, 1, 1, 1, 1], y=[0.0] * 6), "--level", "0")
        self.assertEqual(out, "no NaN\nfirst infinity: value 'e', float32[2,3], 1 of 6 elements, at [0,1]\n"
                              "  made by node 'exp' (Exp) on cpu\n")

    def test_inputs_come_first(self):
        out, _ = self.onyx(*self.case(x=[INF, 1.0, 1, 1, 1, 1], y=[0.0, 0, NAN, 0, 0, 0]), code=FAILED)
        self.assertEqual(out, "first NaN: input 'y', float32[2,3], 1 of 6 elements, at [0,2]\n"
                              "first infinity: input 'x', float32[2,3], 1 of 6 elements, at [0,0]\n")

    def test_a_fused_node_tells_whose_work_it_does(self):
        args = self.case(x=[1.0] * 6, y=[2.0] * 6)
        out, _ = self.onyx(*args, code=FAILED)
        self.assertIn("on cpu", out.split("\n")[1])
        found = self.onyx(*args, "--json", code=FAILED)[0]
        self.assertIn('"first_infinity":null', found.replace(" ", ""))
        self.assertIn('"elements":6', found.replace(" ", ""))

    def test_sixteen_bits_and_other_kinds(self):
        path = os.path.join(self.folder, "h.onnx")
        half = num(1, 2) + num(2, HALF) + msg(9, struct.pack("<2e", 1, INF))
        with open(path, "wb") as f:
            f.write(model([node("Constant", [], ["k"], [attr_tensor("value", half)]),
                           node("Sub", ["k", "k"], ["d"], name="minus"), node("SequenceConstruct", ["d"], ["s"])],
                          [], [("s", sequence_type(tensor_type(HALF))), ("d", tensor_type(HALF))]))
        out, _ = self.onyx("run", path, "--trace-nan", code=FAILED)
        self.assertIn("first NaN: value 'd', float16[2], 1 of 2 elements, at [1]", out)


if __name__ == "__main__":
    unittest.main()
