#!/usr/bin/env python3
"""The templates of examples/providers: info --plan and profile tell what they run."""
import os
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
                  node("Conv", ["x", "w"], ["c"], [attr_ints("pads", [1] * 4)], "conv"), node("Relu", ["c"], ["r"], name="relu"),
                  node("MaxPool", ["r"], ["p"], [attr_ints("kernel_shape", [2, 2]), attr_ints("strides", [2, 2])], "pool"),
                  node("Add", ["p", "p"], ["a"], name="add"), node("Neg", ["a"], ["y"], name="neg")],
                 [("x", tensor_type(FLOAT, [batch, 1, 8, 8]))], [("y", POOLED)])


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
            self.assertEqual(rows, {"conv": program, "relu": program, "pool": program, "add": ("kernels", "kernel"),
                                    "neg": ("cpu", "kernel")})
            self.assertEqual(len({n["program"] for n in plan["nodes"]} - {""}), 1)
            declined = {n["name"]: n["declined"] for n in plan["nodes"]}
            self.assertEqual(declined["neg"]["kernels"], "it is neither Add nor Relu")
            self.onyx("info", path, *LIBS, "--level", "1", "--require", "no Conv|Add on cpu")

    def test_profile_tells_their_times(self):
        for path in self.files:
            nodes = self.json("profile", path, "--runs", "2", *LIBS)["nodes"]
            self.assertEqual({n["op"]: n["provider"] for n in nodes}, {"Part": "compile", "Add": "kernels", "Neg": "cpu"})


if __name__ == "__main__":
    unittest.main()
