#!/usr/bin/env python3
"""onyx info --plan: who runs each node; and the options that decide or demand it."""
import os
import unittest

from command import FAILED, CommandTest
from onnx_files import *

PLAIN = os.environ["ONYX_PLAIN_EP"]
PICTURES = tensor_type(FLOAT, [1, 1, 4, 4])
CONV = model([node("Constant", [], ["w"], [attr_tensor("value", tensor(FLOAT, [2, 1, 3, 3], [0.5] * 18))]),
              node("Conv", ["x", "w"], ["h"], name="conv"), node("Relu", ["h"], ["r"], name="relu"),
              node("Flatten", ["r"], ["f"], name="flat"), node("Neg", ["f"], ["y"], name="neg")],
             [("x", PICTURES)], [("y", tensor_type(FLOAT, [1, 8]))])


def branch(op, *attrs):
    return graph([node(op, ["x"], [f"{op}_out"], attrs, f"in {op}")], [], [(f"{op}_out", tensor_type(FLOAT, [2]))])


def choice(then_branch, else_branch):
    attrs = [attr_graph("then_branch", then_branch), attr_graph("else_branch", else_branch)]
    return model([node("If", ["c"], ["y"], attrs, "choice")],
                 [("x", tensor_type(FLOAT, [2])), ("c", tensor_type(BOOL, []))], [("y", tensor_type(FLOAT, [2]))])


IF = choice(branch("Relu"), branch("Neg"))
REFUSED = choice(branch("Relu"), branch("Transpose", attr_ints("perm", [0, 1])))  # x has one dimension


class Plan(CommandTest):
    def setUp(self):
        super().setUp()
        self.conv, self.choice, self.refused = (os.path.join(self.folder, f"{name}.onnx") for name in
                                                ("conv", "choice", "refused"))
        for path, data in ((self.conv, CONV), (self.choice, IF), (self.refused, REFUSED)):
            with open(path, "wb") as f:
                f.write(data)

    def nodes(self, *args):
        return self.json("info", "--plan", *args)["nodes"]

    def test_nodes(self):
        rows = self.nodes(self.conv)
        self.assertEqual([(n["name"], n["domain"], n["operator"], n["version"], n["owner"], n["how"]) for n in rows],
                         [("conv", "com.microsoft", "FusedConv", 1, "cpu", "kernel"),
                          ("flat", "", "Flatten", 17, "cpu", "view"), ("neg", "", "Neg", 17, "cpu", "kernel")])
        self.assertEqual([n["from"] for n in rows], [["conv", "relu"], [], []])
        self.assertEqual({(n["graph"], n["program"]) for n in rows}, {("", "")})

    def test_the_level_is_that_of_a_run_unless_given(self):
        self.assertEqual(len(self.nodes(self.conv)), 3)
        for level, n in (("0", 5), ("1", 4), ("3", 3)):
            self.assertEqual(len(self.nodes(self.conv, "--level", level)), n)
        self.assertEqual(self.json("info", self.conv)["nodes"], 5)

    def test_owners(self):
        plan = self.json("info", "--plan", self.conv, "--plugin", PLAIN, "--provider", "null", "--provider", "plain",
                         "--level", "1")
        self.assertEqual({n["name"]: n["owner"] for n in plan["nodes"]},
                         {"conv": "cpu", "relu": "plain", "flat": "cpu", "neg": "cpu"})
        self.assertEqual([n["declined"].get("null") for n in plan["nodes"]], ["the null provider takes nothing"] * 4)
        self.assertEqual(plan["owners"]["plain"],
                         {"nodes": 1, "kernel": 1, "program": 0, "view": 0, "control": 0, "copy": 0, "refused": 0,
                          "programs": 0})
        self.assertEqual((plan["owners"]["cpu"]["kernel"], plan["owners"]["cpu"]["view"]), (2, 1))

    def test_bodies(self):
        rows = self.nodes(self.choice, "--level", "0")
        self.assertEqual([(n["graph"], n["name"], n["owner"], n["how"]) for n in rows],
                         [("", "choice", "host", "control"), ("choice.then_branch", "in Relu", "cpu", "kernel"),
                          ("choice.else_branch", "in Neg", "cpu", "kernel")])
        out, _ = self.onyx("info", "--plan", self.choice, "--level", "0")
        self.assertEqual(out.splitlines()[2:4], ["choice.then_branch:", "cpu    kernel   Relu(17)  in Relu"])

    def test_what_an_operator_refuses(self):
        for level in "0123":
            plan = self.json("info", "--plan", self.refused, "--level", level)
            rows = {n["name"]: (n["owner"], n["how"]) for n in plan["nodes"]}
            self.assertEqual(rows, {"choice": ("host", "control"), "in Relu": ("cpu", "kernel"),
                                    "in Transpose": ("host", "refused")})
            self.assertEqual((plan["owners"]["host"]["control"], plan["owners"]["host"]["refused"]), (1, 1))
            for owner in plan["owners"].values():
                ways = {way: n for way, n in owner.items() if way not in ("nodes", "programs")}
                self.assertEqual(sum(ways.values()), owner["nodes"])
            out, _ = self.onyx("info", "--plan", self.refused, "--level", level)
            self.assertIn("\nhost: 2 nodes (1 control, 1 refused)\n", out)

    def test_columns(self):
        out, _ = self.onyx("info", "--plan", self.conv, "--provider", "null")
        rows = out.splitlines()
        at = [rows[0].index(title) for title in ("owner", "runs as", "operator", "node", "program;")]
        self.assertEqual([rows[1][i:].split("  ")[0] for i in at],
                         ["cpu", "kernel", "com.microsoft.FusedConv(1)", "conv",
                          "conv, relu; not null: the null provider takes nothing"])
        self.assertEqual([rows[3][i:].split("  ")[0] for i in at[:4]], ["cpu", "kernel", "Neg(17)", "neg"])
        self.assertEqual(rows[4:], ["", "cpu: 3 nodes (2 kernel, 1 view)"])
        self.assertFalse([row for row in rows if row != row.rstrip()])

    def test_rules_are_left_out_by_name(self):
        ops = [n["operator"] for n in self.nodes(self.conv, "--no-rule", "conv-activation")]
        self.assertEqual(ops, ["Conv", "Relu", "Flatten", "Neg"])
        off = ["--no-rule", "constant", "--no-rule", "fold"]
        ops = [n["operator"] for n in self.nodes(self.conv, *off, "--level", "1")]
        self.assertEqual(ops, ["Constant", "Conv", "Relu", "Flatten", "Neg"])
        _, err = self.onyx("info", self.conv, "--no-rule", "conv-activatoin", "--level", "1")
        self.assertEqual(err, "onyx: warning: disabled: there is no rule or pass 'conv-activatoin'\n")

    def test_what_is_required(self):
        plain = ["--plugin", PLAIN, "--provider", "plain", "--level", "1"]
        for command, more in (("info", ["--plan"]), ("run", []), ("bench", ["--seconds", "0"]), ("profile", [])):
            with self.subTest(command):
                for what in ("all Relu on plain", "no Conv|Flatten on plain", "all nodes on cpu"):
                    fits = what != "all nodes on cpu"
                    _, err = self.onyx(command, self.conv, *more, *plain, "--require", "all Neg on cpu",
                                       "--require", what, code=0 if fits else FAILED)
                    self.assertEqual("node 'relu' (Relu) is on plain" in err, not fits)


if __name__ == "__main__":
    unittest.main()
