#!/usr/bin/env python3
"""bench/models works from end to end: a tiny model, this build beside itself and beside its libonnxruntime.so.1.

usage: models_test.py FOLDER_OF_BENCH_PROGRAMS LIBONNXRUNTIME"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
try:
    import numpy
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as e:
    print(f"skipped: {e}")
    sys.exit(0)

sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "bench" / "models")]
import chart
import peers
import report

PROGRAMS, LIBRARY = (os.path.abspath(a) for a in sys.argv[1:3])
ONYX = os.path.abspath(os.environ["ONYX"])
NAN, INF = float("nan"), float("inf")

# An onyx whose outputs are one too large: its times are not to be shown.
WRONG = f"""#!{sys.executable}
import glob, subprocess, sys
import numpy
code = subprocess.run(["{ONYX}", *sys.argv[1:]]).returncode
for path in glob.glob(sys.argv[-1] + "/*.npy"):
    numpy.save(path, numpy.load(path) + 1)
sys.exit(code)
"""


def tiny_model():
    """y and the odd name of its second output, of x [n, 3] and a constant that is an input, too."""
    names = {"x": ["n", 3], "w": [3, 2], "y": None, "a/b": None}
    info = {n: helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in names.items()}
    w = numpy_helper.from_array(numpy.arange(6, dtype=numpy.float32).reshape(3, 2), "w")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"]), helper.make_node("Relu", ["y"], ["a/b"])]
    graph = helper.make_graph(nodes, "tiny", [info["x"], info["w"]], [info["y"], info["a/b"]], [w])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def tiny_decoder():
    """Logits of five words from tokens [n, new] and all that the cache [n, 1, past, 1] holds of those before."""
    value = helper.make_tensor_value_info
    inputs = [value("input_ids", TensorProto.INT64, ["n", "new"]), value("attention_mask", TensorProto.INT64, ["n", "all"]),
              value("past", TensorProto.FLOAT, ["n", 1, "before", 1])]
    outputs = [value("logits", TensorProto.FLOAT, None), value("present", TensorProto.FLOAT, ["n", 1, "all", 1])]
    constants = [numpy_helper.from_array(numpy.array([0, 1, -1, 1]), "s"), numpy_helper.from_array(numpy.array([2]), "two"),
                 numpy_helper.from_array(numpy.arange(5, dtype=numpy.float32) * 0.5, "words")]
    nodes = [helper.make_node("Cast", ["input_ids"], ["x"], to=TensorProto.FLOAT), helper.make_node("Reshape", ["x", "s"], ["new"]),
             helper.make_node("Concat", ["past", "new"], ["present"], axis=2),
             helper.make_node("ReduceMean", ["present", "two"], ["mean"], keepdims=0),
             helper.make_node("Sub", ["words", "mean"], ["d"]), helper.make_node("Abs", ["d"], ["logits"])]
    graph = helper.make_graph(nodes, "decoder", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


class Differences(unittest.TestCase):
    def test_difference(self):
        f = lambda *v: [numpy.array(v, numpy.float32)]
        empty, scalar = [numpy.zeros((0, 2), numpy.float32)], [numpy.float32(3)]
        rows = [(empty, empty, 0), (scalar, scalar, 0), (f(1, 2), f(1), None), (f(0, 0), f(0, 0), 0),
                (f(0.5), f(0), 0.5), (f(1, 3), f(1, 4), 0.25), (f(NAN, 1), f(NAN, 1), 0), (f(NAN), f(1), None),
                (f(INF, 1), f(INF, 2), 0.5), (f(INF), f(-INF), None), ([numpy.array([5])], [numpy.array([4])], 0.25),
                ([numpy.array(["a"])], [numpy.array(["b"])], 1), ([numpy.array(["a"])], [numpy.array(["a"])], 0)]
        for ours, theirs, wanted in rows:
            self.assertEqual(peers.difference(ours, theirs), wanted, (ours, theirs))


class Processes(unittest.TestCase):
    def test_peak_memory_is_the_programs_own(self):
        ballast = b"x" * (256 << 20)  # what a child forked from here would report as its own
        shown = "import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
        self.assertLess(int(peers.output_of([sys.executable, "-S", "-c", shown])) << 10, len(ballast) // 2)

    def test_failures_are_told(self):
        shell = lambda script, **more: peers.output_of(["/bin/sh", "-c", script], **more)
        self.assertEqual(shell('echo "$A"', env={"A": "1"}), "1\n")
        for script, wanted in (("exit 3", "exit code 3"), ("echo a >&2; echo b >&2; exit 1", "^b$"), ("kill -9 $$", "137|Killed")):
            with self.assertRaisesRegex(peers.Failed, wanted):
                shell(script)

    def test_what_does_not_end_is_ended(self):
        start = time.monotonic()
        with self.assertRaisesRegex(peers.Failed, "no end within 0.2 s"):
            peers.output_of(["/bin/sh", "-c", "sleep 300; true"], limit=0.2)
        self.assertLess(time.monotonic() - start, 200)  # output is at its end when the last who can write has gone


class Reports(unittest.TestCase):
    def test_ratio_is_the_better_peers_time_over_ours(self):
        medians = {"onyx": {"median_ms": 2.0}, "a": {"median_ms": 3.0}, "b": {"median_ms": 1.0}}
        self.assertEqual(report.ratio(medians, ["a", "b"], "onyx"), 0.5)
        self.assertEqual(report.ratio(medians, ["a"], "onyx"), 1.5)
        self.assertIsNone(report.ratio(medians, [], "onyx"))
        self.assertIsNone(report.ratio({"a": medians["a"]}, ["a"], "onyx"))

    def test_summary_names_those_under_one(self):
        model = lambda theirs: {"onyx": {"median_ms": 1.0}, "a": {"median_ms": theirs}}
        models = {"slow": model(0.5), "fast": model(2.0), "lone": {"onyx": {"median_ms": 1}}}
        line = report.summary(models, ["a"], "onyx", "r")
        self.assertEqual(line, "r: geometric mean 1.00 over 2, worst 0.50 (slow); under 1.0: slow 0.50")
        self.assertIn("under 1.0: none", report.summary({"same": model(1.0)}, ["a"], "onyx", "r"))
        self.assertIn("nothing", report.summary({}, ["a"], "onyx", "r"))

    def test_figures_are_medians(self):
        runs = [{"median_ms": m, "load_ms": 1, "first_ms": 2, "peak_rss_mb": 3} for m in (1, 9, 2)]
        self.assertEqual(report.figures({"onyx": runs, "gone": []}),
                         {"onyx": {"median_ms": 2, "load_ms": 1, "ready_ms": 3, "peak_rss_mb": 3}})

    def test_charts_are_well_formed(self):
        rows = [[], [("<&\"'>", {"1": 0.001})], [("a", {"1": 3.5, "2": 1.0}), ("none", {}), ("b", {"2": 1000.0})]]
        for row in rows:
            document = ElementTree.fromstring(chart.bars("a < b", ["1", "2"], row, "c & d " * 60))
            drawn = [e for e in document.iter("{http://www.w3.org/2000/svg}rect")]
            self.assertEqual(len(drawn), 2 + sum(len(values) for _, values in row))
            for e in drawn:
                self.assertLess(float(e.get("x")) + float(e.get("width")), float(document.get("width")))


class Generation(unittest.TestCase):
    def test_a_tiny_decoder(self):
        module = pathlib.Path(ONYX).parents[1] / "python" / "onyx"
        if not module.is_dir():
            self.skipTest("the Python package is not built")
        with tempfile.TemporaryDirectory() as folder:
            onnx.save(tiny_decoder(), f"{folder}/model.onnx")
            done = subprocess.run([sys.executable, "-B", str(ROOT / "bench/models/generate.py"), f"{folder}/model.onnx",
                                   "--module", str(module), "--prompt", "3", "--tokens", "4", "--rounds", "2"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        head, _, row = done.stdout.decode().splitlines()
        cells = [c.strip() for c in row.strip("|").split("|")]
        self.assertEqual(len(cells), len(head.strip("|").split("|")))
        self.assertEqual(cells[:2], [pathlib.Path(folder).name, "onyx"])
        self.assertTrue(all(float(c) > 0 for c in cells[2:]), row)


class EndToEnd(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        recorded = self.folder / "recorded"
        (recorded / "test_data_set_0").mkdir(parents=True)
        onnx.save(tiny_model(), str(recorded / "model.onnx"))
        onnx.save(tiny_model(), str(self.folder / "plain.onnx"))
        x = numpy_helper.from_array(numpy.ones((4, 3), numpy.float32), "x")
        (recorded / "test_data_set_0" / "input_0.pb").write_bytes(x.SerializeToString())

    def run_it(self, *args, code=0):
        out = {kind: self.folder / f"out.{kind}" for kind in ("json", "svg", "md")}
        command = [sys.executable, "-B", ROOT / "bench/models/run.py", "--onyx", ONYX,
                   "--ort-run", f"{PROGRAMS}/ort_run", "--rounds", "1", "--seconds", "0.05", "--json", out["json"], "--svg", out["svg"],
                   "--markdown", out["md"]]
        done = subprocess.run([str(c) for c in [*command, *args]], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              cwd=self.folder, timeout=600)
        self.assertEqual(done.returncode, code, done.stderr.decode() + done.stdout.decode())
        self.assertEqual(out["md"].read_text(), done.stdout.decode())
        ElementTree.parse(out["svg"])
        return json.loads(out["json"].read_text()), done.stdout.decode()

    def test_models_and_peers(self):
        result, text = self.run_it("recorded", "plain.onnx", "--dim", "n=4", "--ort", LIBRARY, "--base", ONYX,
                                   "--threads", "1,2", "--isa", "avx2", "--disturb")
        for threads in "12":
            self.assertEqual(list(result["figures"][threads]), ["recorded", "plain"])
            for figures in result["figures"][threads].values():
                self.assertEqual(list(figures), ["onyx", "base", "onnxruntime"])
                for f in figures.values():
                    self.assertEqual(set(f), {"median_ms", "load_ms", "ready_ms", "peak_rss_mb", "tail"})
                    self.assertGreater(min(f.values()), 0)
                    self.assertGreater(f["ready_ms"], f["load_ms"])
        for wanted in ("### 1 thread\n", "### 2 threads\n", "base / ours: geometric", "p99/median base", "most avx2"):
            self.assertIn(wanted, text)

    def test_who_computes_something_else_is_not_timed(self):
        wrong = self.folder / "wrong"
        wrong.write_text(WRONG)
        wrong.chmod(0o755)
        result, text = self.run_it("recorded", "missing.onnx", "--base", wrong, "--ort", LIBRARY, code=1)
        self.assertEqual(list(result["figures"]["1"]["recorded"]), ["onyx", "onnxruntime"])
        self.assertIn("recorded: without base: its outputs differ", text)
        self.assertIn("missing.onnx", text)
        self.run_it("recorded", "--base", wrong, "--tolerance", "0,recorded=10")

    def test_libraries_in_turns(self):
        command = [sys.executable, "-B", ROOT / "bench/models/turns.py", "--ort-turns", f"{PROGRAMS}/ort_turns",
                   "--seconds", "0.05", "--dim", "n=4", "--library", LIBRARY, "recorded", "plain.onnx", "missing.onnx"]
        for more, threads, code in ((["--library", LIBRARY], "2", 1), (["--library", LIBRARY] * 2, "1", 1), ([], "1", 2)):
            done = subprocess.run([str(c) for c in [*command, "--threads", threads, *more]], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, cwd=self.folder, timeout=600)
            text = done.stdout.decode()
            self.assertEqual(done.returncode, code, done.stderr.decode() + text)
            if not more:
                continue
            self.assertIn("missing.onnx: ", text)
            for name in ("recorded", "plain"):
                cells = next(line for line in text.splitlines() if line.startswith(f"| {name} |")).split("|")[2:-1]
                self.assertEqual(len(cells), len(more) + 2)
                for ratio in cells[len(more) // 2 + 1:-1]:
                    self.assertGreater(float(ratio), 0)
                self.assertGreaterEqual(int(cells[-1]), 5)
            self.assertIn(f"{len(more) // 2} / 0: geometric mean", text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
