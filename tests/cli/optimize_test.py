#!/usr/bin/env python3
"""onyx optimize: the model around a rule on standard error."""
import os
import unittest

from command import CommandTest
from onnx_files import *

FLOATS = tensor_type(FLOAT, [2, 3])
NET = model([node("Identity", ["x"], ["i"]), node("Neg", ["i"], ["n"]), node("Identity", ["n"], ["m"]),
             node("Abs", ["m"], ["y"])], [("x", FLOATS)], [("y", FLOATS)])


class Dumps(CommandTest):
    def setUp(self):
        super().setUp()
        self.model = os.path.join(self.folder, "net.onnx")
        with open(self.model, "wb") as f:
            f.write(NET)

    def dumps(self, *args):
        """Titles and texts."""
        out, err = self.onyx("optimize", self.model, *args)
        self.assertEqual(out, "")
        parts = err.split("# ")[1:]
        return [p.split("\n", 1)[0] for p in parts], [p.split("\n", 1)[1] for p in parts]

    def test_before_and_after_each_application(self):
        titles, texts = self.dumps("--dump-before", "identity", "--dump-after", "identity")
        self.assertEqual(titles, ["before 'identity'", "after 'identity'"] * 2)
        self.assertEqual([t.count("Identity") for t in texts], [2, 1, 1, 0])
        titles, texts = self.dumps("--dump-after", "identity")
        self.assertEqual(titles, ["after 'identity'"] * 2)
        titles, texts = self.dumps("--dump-before", "dce")
        self.assertTrue(titles and set(titles) == {"before 'dce'"}, titles)
        self.assertEqual(self.dumps("--dump-before", "identity", "--no-rule", "identity"), ([], []))

    def test_they_come_beside_the_written_model(self):
        path = os.path.join(self.folder, "out.txt")
        out, err = self.onyx("optimize", self.model, "-o", path, "--text", "--dump-before", "identity")
        self.assertIn("2 nodes", out)
        self.assertEqual(err.count("# before"), 2)
        with open(path) as f:
            self.assertNotIn("Identity", f.read())

    def test_a_name_that_nobody_has(self):
        _, err = self.onyx("optimize", self.model, "--dump-before", "no-such")
        self.assertIn("no rule or pass 'no-such'", err)


if __name__ == "__main__":
    unittest.main()
