#!/usr/bin/env python3
"""onyx bench --compare: one model on several providers, a line each."""
import os
import unittest

from command import FAILED, CommandTest
from onnx_files import *

FOUND = os.path.join(os.path.dirname(os.environ["ONYX_PLAIN_EP"]), "found")
FLOATS = tensor_type(FLOAT, [2])
MODEL = model([node("Relu", ["x"], ["h"]), node("Neg", ["h"], ["y"])], [("x", FLOATS)], [("y", FLOATS)])


class Compare(CommandTest):
    def setUp(self):
        super().setUp()
        self.model = os.path.join(self.folder, "m.onnx")
        with open(self.model, "wb") as f:
            f.write(MODEL)
        os.environ["ONYX_PLUGINS"] = FOUND
        self.addCleanup(os.environ.pop, "ONYX_PLUGINS")

    def test_a_row_for_each(self):
        rows = self.json("bench", self.model, "--level", "0", "--seconds", "0", "--compare",
                         "cpu,plain:value=2,sick,nobody,null")
        self.assertEqual([row["provider"] for row in rows], ["cpu", "plain:value=2", "sick", "nobody", "null"])
        cpu, plain, sick, nobody, null = rows
        self.assertEqual((cpu["nodes"], cpu["nodes_taken"], cpu["ratio"], cpu["difference"]), (2, 2, 1, 0))
        self.assertEqual((plain["nodes"], plain["nodes_taken"]), (2, 1))
        self.assertGreater(plain["difference"], 0)  # it does not compute Relu
        self.assertEqual((null["nodes_taken"], null["time_share"], null["difference"]), (0, 0, 0))
        self.assertTrue(0 < plain["time_share"] < 1)
        for row in (cpu, plain, null):
            self.assertGreater(row["runs"], 0)
            self.assertTrue(0 < row["min_ms"] <= row["median_ms"])
            self.assertAlmostEqual(row["ratio"], row["median_ms"] / cpu["median_ms"], places=3)
        self.assertIn("no such device", sick["why"])
        self.assertIn("libonyx-nobody.so", nobody["why"])

    def test_as_a_table(self):
        out, _ = self.onyx("bench", self.model, "--level", "0", "--seconds", "0", "--compare", "cpu,plain,sick")
        head, cpu, plain, sick = out.splitlines()
        self.assertEqual(head.split(), "provider median ms ratio nodes time difference".split())
        self.assertEqual(cpu.split()[0], "cpu")
        self.assertEqual(plain.split()[3], "50%")
        self.assertIn("not here: ", sick)

    def test_none_that_works(self):
        _, err = self.onyx("bench", self.model, "--compare", "sick,nobody", code=FAILED)
        self.assertIn("none of these", err)
        self.refuses("bench", self.model, "--compare", "cpu,", naming="cpu,")


if __name__ == "__main__":
    unittest.main()
