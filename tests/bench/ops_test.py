#!/usr/bin/env python3
"""bench/ops works from end to end: a few operators in this build beside its libonnxruntime.so.1; its list is read.

usage: ops_test.py FOLDER_OF_BENCH_PROGRAMS LIBONNXRUNTIME"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
try:
    import numpy
    import onnx
except ImportError as e:
    print(f"skipped: {e}")
    sys.exit(0)

sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "bench" / "models"), str(ROOT / "bench" / "ops")]
import nodes

PROGRAMS, LIBRARY = (os.path.abspath(a) for a in sys.argv[1:3])
ONYX = os.path.abspath(os.environ["ONYX"])

LIST = """# a comment, then a line that goes on

product 4x8x2: (float[4,8] x; float[8,2] w) => (float y)
 { y = MatMul (x, w) }
recurrent: (float[3,2,8] x; float[1,16,8] w, float[1,16,4] r) => (float y) { y = LSTM <hidden_size = 4> (x, w, r) }
8 bits: (uint8[4,8] x; int8[8,2] w) => (int32 y) { y = MatMulInteger (x, w) }
copy: (float[16,16] x) => (float y) { y = Transpose <perm = [1,0]> (x) }
8 bits conv: (uint8[1,2,4,4] x; int8[3,2,1,1] w) => (uint8 y)
 { s = Constant <value_float = 0.1> () z = Constant <value = uint8 {128}> () v = Constant <value = int8 {0}> ()
 y = QLinearConv (x, s, z, w, s, v, s, z) }
up: (float[1,2,4,4] x; float[2,3,2,2] w) => (float y) { y = ConvTranspose <strides = [2,2]> (x, w) }
einsum: (float[2,3,4] a, float[2,5,4] b) => (float y) { y = Einsum <equation = "bik,bjk->bij"> (a, b) }
rows: (int64[2] i; float[1000,8] w) => (float y) { y = Gather (w, i) }
wrong: (float[2,3] x, float[2,3] y) => (float z) { z = MatMul (x, y) }
unknown: (float[2] x) => (float z) { z = Nonesuch (x) }
unreadable: (float[2] x) => (float z) { z = = }
"""

# Operations and bytes of those that can be run, by hand.
COSTS = {
    "product 4x8x2": (2 * 4 * 8 * 2, 128 + 64 + 32),
    "recurrent": (2 * 3 * 2 * 16 * (8 + 4), 4 * (48 + 128 + 64 + 24)),
    "8 bits": (2 * 4 * 8 * 2, 32 + 16 + 32),
    "8 bits conv": (2 * 3 * 16 * 2, 32 + 6 + 48),
    "up": (2 * 32 * 12, 4 * (32 + 24 + 192)),
    "einsum": (2 * 2 * 3 * 5 * 4, 4 * (24 + 40 + 30)),
    "copy": (0, 2 * 1024),
    "rows": (0, 16 + 2 * 64),
}


class Lists(unittest.TestCase):
    def test_what_is_no_entry_is_named(self):
        self.assertEqual(nodes.entries(""), [])
        self.assertEqual(nodes.entries("# only\n\n"), [])
        self.assertEqual(nodes.entries("a: (float x) => (float y)\n { y = Abs (x) }"),
                         [("a", "float x", "", "=> (float y) { y = Abs (x) }")])
        for wrong in ("no parentheses", " begins with a space", "a: (float x)"):
            with self.assertRaisesRegex(ValueError, wrong.strip().split()[0]):
                nodes.entries(wrong)

    def test_weights_are_constants(self):
        model, inputs = nodes.build("m", "float[1,1,32] x", "uint8[4,1,16] w, float[4] s",
                                             "=> (float y) { y = com.microsoft.MatMulNBits <K = 32, N = 4> (x, w, s) }")
        self.assertEqual([i.name for i in model.graph.input], ["x"])
        self.assertEqual([i.name for i in model.graph.initializer], ["w", "s"])
        self.assertEqual((model.graph.node[0].domain, model.graph.node[0].op_type), ("com.microsoft", "MatMulNBits"))
        self.assertEqual(len(inputs), 1)
        self.assertEqual(nodes.bytes_moved(model, inputs, [numpy.zeros(4, numpy.float32)]), 128 + 64 + 16 + 16)
        again = nodes.build("m", "float[1,1,32] x", "", "=> (float y) { y = Abs (x) }")[1]
        numpy.testing.assert_array_equal(inputs[0], again[0])

    def test_the_list_can_be_read(self):
        entries = nodes.entries((ROOT / "bench/ops/ops.txt").read_text())
        self.assertGreater(len(entries), 50)
        self.assertEqual(len({e[0] for e in entries}), len(entries))
        for name, *parts in entries:
            text = " ".join(parts)
            self.assertEqual((text.count("("), text.count("{")), (text.count(")"), text.count("}")), name)


class EndToEnd(unittest.TestCase):
    def test_worst_first_and_what_fails_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            ops, out = pathlib.Path(folder, "list.txt"), pathlib.Path(folder, "out.json")
            ops.write_text(LIST)
            command = [sys.executable, "-B", ROOT / "bench/ops/run.py", "--ops", ops, "--onyx", ONYX, "--ort", LIBRARY,
                       "--ort-run", f"{PROGRAMS}/ort_run", "--limits", f"{PROGRAMS}/limits", "--rounds", "1",
                       "--seconds", "0.05", "--json", out, "--isa", "avx2"]
            done = subprocess.run([str(c) for c in command], capture_output=True, timeout=600)
            text = done.stdout.decode()
            self.assertEqual(done.returncode, 1, done.stderr.decode() + text)
            result = json.loads(out.read_text())
        costs = {name: (c["flops"], c["bytes"]) for name, c in result["costs"].items() if name in result["figures"]}
        self.assertEqual(costs, COSTS)
        rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]
        self.assertEqual(rows[0], ["operator", "onyx, us", "onnxruntime, us", "ratio", "ours", "% of limit"])
        ratios = [float(row[3]) for row in rows[2:]]
        self.assertEqual((len(ratios), ratios), (len(COSTS), sorted(ratios)))
        for name in ("wrong", "unknown", "unreadable"):
            self.assertIn(f"- {name}: ", text)
        self.assertGreater(result["limits"]["float_gflops"], 0.1)
        self.assertEqual(len(result["limits"]["read_gbs"]), 8)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
