#!/usr/bin/env python3
"""bench/xnnpack.py works from end to end on a tiny network: alone, after pauses, and two sessions at once.

usage: xnnpack_test.py FOLDER_OF_BENCH_PROGRAMS LIBONNXRUNTIME"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = pathlib.Path(sys.argv[1]).resolve().parent / "python"
sys.path.insert(0, str(PACKAGES))
try:
    import numpy
    import onnx
    import onyx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as e:
    print(f"skipped: {e}")
    sys.exit(0)
if "XnnpackExecutionProvider" not in onyx.get_available_providers():
    print("skipped: there is no provider xnnpack")
    sys.exit(0)


def tiny_model():
    w = numpy_helper.from_array(numpy.ones((4, 3, 3, 3), numpy.float32), "w")
    node = helper.make_node("Conv", ["x", "w"], ["y"], strides=[4, 4])
    info = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in (("x", [1, 3, 224, 224]), ("y", None))]
    graph = helper.make_graph([node], "tiny", info[:1], info[1:], [w])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


class Comparison(unittest.TestCase):
    def test_lines(self):
        with tempfile.TemporaryDirectory() as folder:
            model = pathlib.Path(folder) / "tiny"
            model.mkdir()
            onnx.save(tiny_model(), str(model / "model.onnx"))
            command = [sys.executable, "-B", ROOT / "bench" / "xnnpack.py", model, "--rounds", "1", "--seconds", "0.01",
                       "--threads", "1", "--pauses", "0,1"]
            out = subprocess.run(command, stdout=subprocess.PIPE, check=True, env=dict(os.environ, PYTHONPATH=PACKAGES))
        lines = out.stdout.decode().splitlines()
        number = r"\d+\.\d\d"
        for pause, line in zip((0, 1), lines):
            self.assertRegex(line, rf"^tiny, 1 threads, {pause} ms of sleep before a run, ms: "
                             rf"xnnpack {number} \(least {number}\), cpu {number} \(least {number}\)$")
        self.assertRegex(lines[2], rf"^tiny, 1 threads, both at once / sum of both alone: {number} ")
        self.assertTrue(re.match(r"\d+ processors, 1 rounds", lines[3]), lines[3])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
