#!/usr/bin/env python3
"""The templates of examples/providers: info --plan and profile tell what they run."""
import math
import os
import struct
import unittest

from command import CommandTest
from onnx_files import *

EXAMPLES = os.environ["ONYX_EXAMPLES"]
LIBS = [arg for name in ("compile", "kernels") for arg in
        ("--plugin", os.path.join(EXAMPLES, f"lib{name}.so"), "--provider", name)]
POOLED = tensor_type(FLOAT, ["N", 2, 4, 4])


def net(batch):
    weights = attr_tensor("value", tensor(FLOAT, [2, 1, 3, 3], [i / 9 - 1 for i in range(18)]))
    return model([node("Constant", [], ["w"], [weights]),
                  node("Conv", ["x", "w"], ["c"], [attr_ints("pads", [1] * 4)], "conv"),
                  node("Relu", ["c"], ["r"], name="relu"),
                  node("MaxPool", ["r"], ["p"], [attr_ints(a, [2, 2]) for a in ("kernel_shape", "strides")], "pool"),
                  node("Add", ["p", "p"], ["a"], name="add"), node("Neg", ["a"], ["n"], name="neg"),
                  node("Relu", ["n"], ["y"], name="last")],
                 [("x", tensor_type(FLOAT, [batch, 1, 8, 8]))], [("y", POOLED)])


COMPILE = LIBS[:4]


def filters(name, dims):
    """A Constant: weights that differ"""
    values = [i * 7 % 19 / 19 - .4 for i in range(math.prod(dims))]
    return node("Constant", [], [name], [attr_tensor("value", tensor(FLOAT, dims, values))])


def residual_net(batch):
    """As ResNet begins: Conv 7x7 and MaxPool 3x3, both of stride 2; two blocks, the second with a projection."""
    def window(size, stride):
        return [attr_ints("kernel_shape", [size] * 2), attr_ints("pads", [size // 2] * 4),
                attr_ints("dilations", [1, 1]), attr_ints("strides", [stride] * 2)]
    nodes = [filters("w0", [4, 3, 7, 7]), filters("w1", [4, 4, 3, 3]), filters("w2", [4, 4, 3, 3]),
             filters("w3", [8, 4, 3, 3]), filters("w4", [8, 8, 3, 3]), filters("w5", [8, 4, 1, 1]),
             node("Conv", ["x", "w0"], ["c0"], window(7, 2), "stem"), node("Relu", ["c0"], ["r0"], name="stem relu"),
             node("MaxPool", ["r0"], ["p0"], window(3, 2), "stem pool"),
             node("Conv", ["p0", "w1"], ["c1"], window(3, 1), "c1"), node("Relu", ["c1"], ["r1"], name="r1"),
             node("Conv", ["r1", "w2"], ["c2"], window(3, 1), "c2"), node("Add", ["c2", "p0"], ["a2"], name="a2"),
             node("Relu", ["a2"], ["r2"], name="r2"),
             node("Conv", ["r2", "w3"], ["c3"], window(3, 2), "c3"), node("Relu", ["c3"], ["r3"], name="r3"),
             node("Conv", ["r3", "w4"], ["c4"], window(3, 1), "c4"),
             node("Conv", ["r2", "w5"], ["c5"], window(1, 2), "c5"),
             node("Add", ["c4", "c5"], ["a4"], name="a4"), node("Relu", ["a4"], ["r4"], name="r4"),
             node("GlobalAveragePool", ["r4"], ["y"], name="mean")]
    return model(nodes, [("x", tensor_type(FLOAT, [batch, 3, 30, 33]))], [("y", tensor_type(FLOAT, [batch, 8, 1, 1]))])


class TemplateProviders(CommandTest):
    def setUp(self):
        super().setUp()
        self.files = [os.path.join(self.folder, f"{batch}.onnx") for batch in (3, "N")]
        for path, batch in zip(self.files, (3, "N")):
            with open(path, "wb") as f:
                f.write(net(batch))

    def test_info_tells_who_runs_what(self):
        for path in self.files:
            plan = self.json("info", "--plan", path, *LIBS)
            rows = {n["name"]: (n["owner"], n["how"]) for n in plan["nodes"]}
            program = ("compile", "program")
            self.assertEqual(rows, {"conv": program, "relu": program, "pool": program, "add": ("compile", "kernel"),
                                    "neg": ("cpu", "kernel"), "last": ("kernels", "kernel")})
            self.assertEqual(len({n["program"] for n in plan["nodes"]} - {""}), 1)
            declined = {n["name"]: n["declined"] for n in plan["nodes"]}
            self.assertEqual(declined["neg"]["kernels"], "it is neither Add nor Relu")
            self.onyx("info", path, *LIBS, "--level", "1", "--require", "no Conv|Add on cpu")

    def test_profile_tells_their_times(self):
        for path in self.files:
            nodes = self.json("profile", path, "--runs", "2", *LIBS)["nodes"]
            self.assertEqual({n["op"]: n["provider"] for n in nodes},
                             {"Part": "compile", "Add": "compile", "Neg": "cpu", "Relu": "kernels"})


    def numbers(self, path, *args):
        """What a run with made-up inputs gives."""
        self.onyx("run", path, "--dim", "N=2", "--output", self.folder, *args)
        with open(os.path.join(self.folder, "y.npy"), "rb") as f:
            data = f.read()
        return struct.unpack("<16f", data[-64:])

    def test_a_residual_network(self):
        path = os.path.join(self.folder, "residual.onnx")
        for batch in (2, "N"):
            with open(path, "wb") as f:
                f.write(residual_net(batch))
            for level in "123":  # before 1 the weights are what nodes compute
                plan = self.json("info", "--plan", path, "--level", level, *COMPILE)
                taken = {n["name"]: n["how"] for n in plan["nodes"] if n["owner"] == "compile"}
                self.assertEqual(taken, {"stem": "program", "stem relu": "program", "stem pool": "program",
                                         "a2": "kernel", "a4": "kernel"})
                self.assertEqual({n["owner"] for n in plan["nodes"]}, {"compile", "cpu"})
                want, got = self.numbers(path, "--level", level), self.numbers(path, "--level", level, *COMPILE)
                largest = max(map(abs, want))
                self.assertGreater(largest, 0)
                for a, b in zip(want, got):
                    self.assertAlmostEqual(a, b, delta=1e-5 * largest)


if __name__ == "__main__":
    unittest.main()
