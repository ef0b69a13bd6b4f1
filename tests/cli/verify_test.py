#!/usr/bin/env python3
"""onyx optimize --verify: rules that are right agree, value by value; of one that is wrong the first value, its node
and the rule are named."""
import json
import os
import subprocess
import unittest

from command import FAILED, OK, ONYX, CommandTest
from onnx_files import *

WRONG = ["--plugin", os.environ["ONYX_WRONG_RULES"]]
ROWS = tensor_type(FLOAT, ["n", 3])
CONSTANT = node("Constant", [], ["k"], [attr_tensor("value", tensor(FLOAT, [3], [0.5, 1.0, 2.0]))], "const")


def net(*nodes, outputs=("y",), inputs=("x",), initializers=()):
    return model(nodes, [(i, ROWS) for i in inputs], [(o, ROWS) for o in outputs], initializers=initializers)


class Verify(CommandTest):
    def write(self, model_bytes):
        path = os.path.join(self.folder, "model.onnx")
        with open(path, "wb") as f:
            f.write(model_bytes)
        return path

    def verify(self, model_bytes, *args, code=OK):
        """What --json says; and the text, which must name the same."""
        path = self.write(model_bytes)
        text, err = self.onyx("optimize", "--verify", path, *args, code=code)
        done = subprocess.run([ONYX, "optimize", "--verify", path, "--json", *args], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL)
        self.assertEqual(done.returncode, code)
        said = json.loads(done.stdout)["verify"]
        self.assertEqual(said["agrees"], code == OK)
        self.assertIn("and agree" if code == OK else said["why"], text)
        for name in said.get("rules", []):
            self.assertIn(f"--no-rule {name}", text)
        if "value" in said:
            self.assertIn(f"value '{said['value']}'", text)
        return said, text

    def blames(self, model_bytes, *args, value, node, made_by, rules):
        said, text = self.verify(model_bytes, *WRONG, *args, code=FAILED)
        self.assertEqual((said["value"], said["node"]["name"], said["rules"]), (value, node, rules))
        self.assertEqual(said["made_by"] and said["made_by"]["op"], made_by)
        off = [a for r in rules for a in ("--no-rule", r)]
        self.verify(model_bytes, *WRONG, *args, *off)
        return said, text

    def test_right_rules(self):
        right = net(CONSTANT, node("Mul", ["x", "k"], ["a"]), node("Identity", ["a"], ["b"]),
                    node("Relu", ["b"], ["c"]), node("Exp", ["k"], ["e"]), node("Add", ["c", "e"], ["y"]))
        said, text = self.verify(right, "--dim", "n=4")
        self.assertEqual(said, {"agrees": True, "values": 6, "compared": 5, "random": 0})
        self.assertIn("5 of 6 values", text)  # b is a; e is a constant now, and compared all the same
        for level in "0123":
            self.verify(right, "--level", level)
        self.assertEqual(self.verify(right, "--level", "0")[0]["compared"], 6)

    def test_another_operator(self):
        wrong = net(node("Exp", ["x"], ["a"], name="exp"), node("Add", ["a", "a"], ["b"], name="sum"),
                    node("Neg", ["b"], ["c"], name="neg"), node("Abs", ["c"], ["y"], name="abs"))
        said, text = self.blames(wrong, "--dim", "n=4", value="b", node="sum", made_by="Sub", rules=["add-to-sub"])
        self.assertEqual((said["made_by"]["name"], said["made_by"]["owner"], said["node"]["op"]), ("sum", "cpu", "Add"))
        self.assertEqual(said["got"], 0)
        self.assertEqual(said["difference"], said["wanted"])
        self.assertEqual(len(said["index"]), 2)
        i, k = said["index"]
        self.assertTrue(0 <= i < 4 and 0 <= k < 3 and 1 < said["wanted"] <= 2 * 2.7182818)
        self.assertIn(f"most at [{i},{k}]: got 0, wanted {said['wanted']:.9g}", text)
        self.assertIn("12 of 12 elements differ", text)
        self.assertIn("made by node 'sum' (Sub) on cpu", text)

    def test_the_largest_difference(self):
        x = tensor(FLOAT, [2, 3], [0.0, 1.0, -7.0, 3.0, 0.5, 5.0])
        case = write_case(os.path.join(self.folder, "case"), net(node("Add", ["x", "x"], ["y"])), [x])
        said = self.verify_folder(case)
        self.assertEqual((said["index"], said["wanted"], said["got"], said["difference"]), ([0, 2], -14, 0, 14))

    def verify_folder(self, case):
        out, _ = self.onyx("optimize", "--verify", case, "--json", *WRONG, code=FAILED)
        return json.loads(out)["verify"]

    def test_a_fusion_is_made_of_both(self):
        wrong = net(node("Exp", ["x"], ["e"]), node("Sqrt", ["e"], ["a"], name="root"),
                    node("Floor", ["a"], ["b"], name="floor"), node("Neg", ["b"], ["y"]))
        said, text = self.blames(wrong, "--dim", "n=9", value="b", node="floor", made_by="Round", rules=["floor-to-round"])
        self.assertEqual(sorted(said["made_by"]["from"]), ["floor", "root"])
        self.assertRegex(text, "does the work of '(root|floor)', '(root|floor)'")

    def test_a_constant(self):
        wrong = net(node("Sinh", ["k"], ["s"], name="sinh"), node("Sub", ["x", "s"], ["y"]),
                    initializers=[tensor(FLOAT, [3], [0.5, 1.0, 2.0], "k")])
        said, text = self.blames(wrong, value="s", node="sinh", made_by=None, rules=["sinh-to-constant"])
        self.assertIn("it is a constant of the optimized model", text)
        self.assertEqual((said["index"], said["got"]), ([2], 2))

    def test_the_first_of_several(self):
        nodes = [node("Mul", ["x", "x"], ["a"], name="product"), node("Neg", ["a"], ["b"]),
                 node("Add", ["b", "b"], ["y"], name="sum")]
        self.blames(net(*nodes), value="a", node="product", made_by="Max", rules=["add-to-sub", "mul-to-max"])
        self.blames(net(*nodes), "--no-rule", "mul-to-max", value="y", node="sum", made_by="Sub", rules=["add-to-sub"])

    def test_what_cannot_be_run(self):
        said, text = self.verify(net(node("Cosh", ["x"], ["a"], name="cosh"), node("Neg", ["a"], ["y"])), *WRONG,
                                 code=FAILED)
        self.assertIn("cosh", said["why"])
        self.assertEqual(said["rules"], ["cosh-to-reshape"])
        self.assertNotIn("value", said)
        self.assertIn("the optimized model fails", text)

    def test_tolerances(self):
        nearly = net(CONSTANT, node("Add", ["x", "z"], ["y"], name="sum"), node("Mul", ["k", "k"], ["m"]),
                     outputs=("y", "m"), inputs=("x", "z"))
        z = tensor(FLOAT, [1, 3], [0.001, 0.0, 0.0])
        case = write_case(os.path.join(self.folder, "case"), nearly, [tensor(FLOAT, [1, 3], [1.0, 2.0, 4.0]), z])
        off = ["--no-rule", "mul-to-max", *WRONG]
        for args, code in (([], OK), (["--rtol", "0", "--atol-max", "0"], FAILED), (["--rtol", "0.01", "--atol-max", "0"], OK),
                           (["--rtol", "0", "--atol-max", "0", "--atol", "0.01"], OK),
                           (["--rtol", "0", "--atol-max", "0", "--cosine", "0.9999"], OK)):
            self.onyx("optimize", "--verify", case, *off, *args, code=code)

    def test_random_numbers_are_left_out(self):
        drawn = net(node("RandomNormalLike", ["x"], ["r"]), node("Add", ["x", "r"], ["a"]), node("Neg", ["x"], ["b"]),
                    node("Abs", ["a"], ["y"]), node("Exp", ["b"], ["z"]), outputs=("y", "z"))
        said, text = self.verify(drawn)
        self.assertEqual((said["values"], said["compared"], said["random"]), (5, 2, 3))
        self.assertIn("3 depend on random numbers and were not compared", text)

    def test_bodies_count_at_their_node(self):
        inner = attr_graph("then_branch", graph([node("Add", ["x", "x"], ["p"], name="inner")], [], [("p", ROWS)]))
        other = attr_graph("else_branch", graph([node("Add", ["x", "x"], ["q"])], [], [("q", ROWS)]))
        nodes = [node("ReduceMax", ["x"], ["m"], [msg(1, "keepdims") + num(3, 0) + num(20, 2)]),
                 node("Cast", ["m"], ["c"], [msg(1, "to") + num(3, BOOL) + num(20, 2)]),
                 node("If", ["c"], ["i"], [inner, other], name="choice"), node("Neg", ["i"], ["y"])]
        self.blames(net(*nodes), "--dim", "n=2", value="i", node="choice", made_by="If", rules=["add-to-sub"])

    def test_a_written_model_beside_it(self):
        path, out = self.write(net(node("Add", ["x", "x"], ["y"]))), os.path.join(self.folder, "out.onnx")
        text, _ = self.onyx("optimize", "--verify", path, "-o", out)
        self.assertEqual(len(text.splitlines()), 2)
        self.assertEqual(self.json("info", out)["outputs"][0]["name"], "y")
        said = self.json("optimize", "--verify", path, "-o", out)
        self.assertEqual((said["nodes"], said["verify"]["agrees"]), (1, True))

    def test_a_model_that_does_not_run(self):
        path = self.write(model([node("Neg", ["x"], ["y"])], [("x", sequence_type(ROWS))], [("y", ROWS)]))
        out, err = self.onyx("optimize", "--verify", path, code=FAILED)
        self.assertEqual(out, "")
        self.assertNotEqual(err, "")


if __name__ == "__main__":
    unittest.main()
