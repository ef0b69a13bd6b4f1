#!/usr/bin/env python3
"""onyx tune measures, writes a file and tells what is in it; other commands take the file."""
import os
import unittest

from command import CommandTest
from onnx_files import *


class Tune(CommandTest):
    def setUp(self):
        super().setUp()
        self.model, self.cache = (os.path.join(self.folder, name) for name in ("product.onnx", "cache"))
        shapes = {"x": [130, 70], "w": [70, 50], "y": [130, 50]}
        types = {name: tensor_type(FLOAT, dims) for name, dims in shapes.items()}
        with open(self.model, "wb") as f:
            f.write(model([node("MatMul", ["x", "w"], ["y"])], [("x", types["x"]), ("w", types["w"])],
                          [("y", types["y"])]))

    def test_what_is_measured_is_told_and_used(self):
        told = self.json("tune", self.model, "-o", self.cache)
        self.assertEqual(len(told), 1)
        self.assertTrue(told[0]["task"].startswith("product float32 m 130 n 50 k 70 "), told)
        ways = told[0]["ways"]
        self.assertEqual({way["way"] for way in ways}, {"in place", "packed in the run"})
        self.assertEqual([way["us"] for way in ways], sorted(way["us"] for way in ways))
        out = self.onyx("tune", self.model, "-o", self.cache)[0]  # nothing new: the same again
        self.assertIn(told[0]["task"] + "\n", out)
        for way in ("in place", "packed in the run"):
            with open(self.cache) as f:
                head = f.read().split("\ntask ")[0]
            with open(self.cache, "w") as f:
                f.write(f"{head}\ntask {told[0]['task']}|{way} 1\n")
            nodes = self.json("profile", self.model, "--tune-cache", self.cache)["nodes"]
            self.assertTrue(nodes[0]["form"].startswith(way), nodes)

    def test_a_file_that_is_not_one(self):
        with open(self.cache, "w") as f:
            f.write("no cache")
        err = self.onyx("run", self.model, "--tune-cache", self.cache)[1]
        self.assertIn(f"{self.cache} is not used", err)
        self.assertIn("is not used", self.onyx("run", self.model, "--tune-cache", self.cache + "x")[1])

    def test_wrong_usage(self):
        self.refuses("tune", self.model, naming="--output")


if __name__ == "__main__":
    unittest.main()
