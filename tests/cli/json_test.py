#!/usr/bin/env python3
"""What each command prints with --json is JSON and says what it is to say, whatever names a model chose."""
import json
import math
import os
import unittest

from command import FAILED, CommandTest
from onnx_files import *

ODD = 'a"b\\c\n\t\x01/é€😀'  # what JSON has to escape, and what it need not
BAD = b"bad\xff\xed\xa0\x80\xc3"  # no UTF-8
AS_READ = BAD.decode("utf-8", "replace")
QUOTED_EP, QUOTED_OP = 'quo"ted', 'Odd"op\\'
FLOATS = tensor_type(FLOAT, ["n", 3])


class Json(CommandTest):
    def setUp(self):
        super().setUp()
        # names of inputs, nodes and values; metadata; a symbolic dimension
        rows = tensor_type(FLOAT, ["n" + ODD, 3])
        odd = model([node("Relu", ["x" + ODD], ["h"], name="node" + ODD), node("Neg", ["h"], ["y" + ODD], name="neg")],
                    [("x" + ODD, rows)], [("y" + ODD, rows)],
                    metadata=[("key" + ODD, "value" + ODD), ("bytes", BAD)])
        x, y = tensor(FLOAT, [1, 3], [-1.0, 0.5, 2.0]), tensor(FLOAT, [1, 3], [0.0, -0.5, -2.0])
        self.case = write_case(os.path.join(self.folder, "case"), odd, [x], [y])
        self.model = os.path.join(self.case, "model.onnx")

    def test_info(self):
        for level in "03":
            info = self.json("info", self.case, "--level", level)
            self.assertEqual(info["metadata"]["key" + ODD], "value" + ODD)
            self.assertEqual(info["metadata"]["bytes"], AS_READ)
            self.assertEqual(info["metadata"]["opset"], "17")
            self.assertEqual(info["inputs"], [{"name": "x" + ODD, "type": "float32", "shape": ["n" + ODD, 3]}])
            self.assertEqual(info["outputs"][0]["name"], "y" + ODD)
            self.assertEqual((info["nodes"], info["operators"]), (2, {"Relu": 1, "Neg": 1}))
            self.assertEqual((info["parameters"], info["parameter_bytes"], info["flops"]), (0, 0, 0))
            self.assertGreaterEqual(info["workspace_bytes"], 0)

    def test_info_of_types(self):
        types = {"s": sequence_type(tensor_type(INT64)), "m": map_type(STRING, tensor_type(FLOAT)),
                 "o": optional_type(sequence_type(tensor_type(FLOAT))), "t": tensor_type(BOOL, ["?", 0])}
        path = os.path.join(self.folder, "types.onnx")
        with open(path, "wb") as f:
            f.write(model([node("Neg", ["c"], ["y"])], [*types.items(), ("c", tensor_type(FLOAT))],
                          [("y", tensor_type(FLOAT))]))
        info = self.json("info", path)
        self.assertEqual({v["name"]: v["type"] for v in info["inputs"]},
                         {"s": "sequence of int64", "m": "map of float32", "o": "optional sequence of float32",
                          "t": "bool", "c": "float32"})
        self.assertNotIn("flops", info)  # a map cannot be made up, so there was no run

    def test_run(self):
        out = self.json("run", self.model, "--dim", f"n{ODD}=4")
        (y,) = out["outputs"]
        self.assertEqual({k: y[k] for k in ("name", "kind", "type", "shape", "nans")},
                         {"name": "y" + ODD, "kind": "tensor", "type": "float32", "shape": [4, 3], "nans": 0})
        self.assertEqual(len(y["first"]), 8)
        self.assertTrue(y["min"] <= min(y["first"]) <= max(y["first"]) <= y["max"])

    def test_bench(self):
        out = self.json("bench", self.case, "--seconds", "0.01")
        times = [out[k] for k in ("min_ms", "median_ms", "p90_ms", "p99_ms")]
        self.assertEqual(times, sorted(times))
        self.assertGreater(min(times + [out["load_ms"], out["first_ms"], out["peak_rss_mb"]]), 0)
        self.assertGreaterEqual(out["runs"], 5)
        self.assertIsInstance(out["workspace_bytes"], int)

    def test_profile(self):
        out = self.json("profile", self.case, "--runs", "3", "--level", "0")
        self.assertEqual(out["runs"], 3)
        self.assertEqual({n["name"]: (n["op"], n["provider"], n["calls"]) for n in out["nodes"]},
                         {"node" + ODD: ("Relu", "cpu", 1), "neg": ("Neg", "cpu", 1)})
        self.assertTrue(math.isclose(sum(n["ms"] for n in out["nodes"]), out["total_ms"], rel_tol=1e-9))
        self.assertTrue(all(n["in"] == n["out"] == [[1, 3]] and n["bytes"] == 24 for n in out["nodes"]))
        for rows in ("operators", "forms"):
            self.assertEqual({n["op"] for n in out[rows]}, {"Relu", "Neg"})
            self.assertTrue(math.isclose(sum(n["ms"] for n in out[rows]), out["total_ms"], rel_tol=1e-9))
        self.assertGreater(out["limits"]["float_gflops"], 0)
        self.assertGreaterEqual(out["total_ms"], out["lost_ms"])

    def test_profile_of_a_loop(self):
        """What a body's nodes take is theirs, not the loop's: rows add up to what the outermost nodes took."""
        body = graph([node("Identity", ["c"], ["d"]), node("Relu", ["v"], ["t"]), node("Neg", ["t"], ["w"])],
                     [("i", tensor_type(INT64, [])), ("c", tensor_type(BOOL, [])), ("v", FLOATS)],
                     [("d", tensor_type(BOOL, [])), ("w", FLOATS)])
        path, trace = os.path.join(self.folder, "loop.onnx"), os.path.join(self.folder, "loop.json")
        with open(path, "wb") as f:
            f.write(model([node("Loop", ["m", "", "x"], ["h"], [attr_graph("body", body)]), node("Abs", ["h"], ["y"])],
                          [("x", FLOATS)], [("y", FLOATS)], initializers=[tensor(INT64, [], [9], "m")]))
        out = self.json("profile", path, "--runs", "4", "--trace", trace)
        with open(trace) as f:
            outermost = sum(e["dur"] for e in json.load(f) if e["cat"] in ("Loop", "Abs"))
        self.assertEqual({n["op"]: n["calls"] for n in out["operators"]}["Relu"], 9)
        self.assertTrue(math.isclose(out["total_ms"] * 4e3, outermost, rel_tol=1e-3))

    def test_profile_orders(self):
        def nodes(order):
            return self.json("profile", self.case, "--level", "0", "--order", order)["nodes"]
        self.assertEqual([n["name"] for n in nodes("graph")], ["node" + ODD, "neg"])
        for order, key in (("time", "ms"), ("lost", "lost_ms")):
            values = [n[key] for n in nodes(order)]
            self.assertEqual(values, sorted(values, reverse=True))
        self.refuses("profile", self.case, "--order", "size", naming="--order wants lost, time or graph, got 'size'")

    def odd_operator(self):
        """A model with an operator whose name, like its provider's, JSON has to escape."""
        path = os.path.join(self.folder, "operator.onnx")
        with open(path, "wb") as f:
            f.write(model([node(QUOTED_OP, ["x"], ["y"], name="n", domain="test")], [("x", FLOATS)], [("y", FLOATS)],
                          (("", 17), ("test", 1))))
        return [path, "--plugin", os.environ["ONYX_QUOTED_EP"], "--provider", QUOTED_EP]

    def test_operators_and_providers_of_odd_names(self):
        trace = os.path.join(self.folder, "trace.json")
        out = self.json("profile", *self.odd_operator(), "--runs", "1", "--trace", trace)
        self.assertEqual([(n["name"], n["op"], n["provider"]) for n in out["nodes"]], [("n", QUOTED_OP, QUOTED_EP)])
        with open(trace) as f:
            events = json.load(f)
        self.assertEqual([(e["name"], e["cat"], e["ph"], e["args"]["provider"]) for e in events],
                         [("n", QUOTED_OP, "X", QUOTED_EP)])
        self.assertEqual(self.json("info", *self.odd_operator())["operators"], {f"test.{QUOTED_OP}": 1})
        names = [row["name"] for row in self.json("providers", "--plugin", os.environ["ONYX_QUOTED_EP"])]
        self.assertIn(QUOTED_EP, names)

    def test_optimize(self):
        out = self.json("optimize", self.model, "-o", os.path.join(self.folder, "out.onnx"))
        self.assertEqual(out, {"nodes": 2, "parameters": 0})

    def test_providers(self):
        out = self.json("providers")
        self.assertTrue(all(set(row) == {"name", "ort_name", "available", "why"} for row in out))
        self.assertIn({"name": "cpu", "ort_name": "CPUExecutionProvider", "available": True, "why": ""}, out)
        self.assertEqual([row["available"] for row in out], [row["why"] == "" for row in out])

    def test_a_line_per_case_and_one_of_counts(self):
        y = tensor(FLOAT, [1, 3], [0.0, -0.5, -1.0])
        x = tensor(FLOAT, [1, 3], [-1.0, 0.5, 2.0])
        with open(self.model, "rb") as f:
            bad = write_case(os.path.join(self.folder, 'not"ok'), f.read(), [x], [y])
        out, err = self.onyx("test", self.case, bad, "--json", code=FAILED)
        self.assertEqual(err, "")
        rows = [json.loads(line) for line in out.splitlines()]
        self.assertEqual(rows[0], {"case": self.case, "passed": True, "skipped": False, "why": ""})
        self.assertEqual((rows[1]["case"], rows[1]["passed"]), (bad, False))
        self.assertIn("y" + ODD, rows[1]["why"])
        self.assertEqual(rows[2:], [{"counts": {"passed": 1, "failed": 1, "skipped": 0}}])


if __name__ == "__main__":
    unittest.main()
