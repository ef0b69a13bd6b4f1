# SPDX-License-Identifier: Apache-2.0
"""Who is compared: each a program that times one model in a process of its own and prints onyx bench's JSON."""
import json
import os
import pathlib
import signal
import subprocess
import tempfile

import numpy
import onnx
from onnx import numpy_helper

RUN_LIMIT_S = 300
HERE = pathlib.Path(__file__).resolve().parent

# The highest instruction set that may be used: ours, then oneDNN's name for it (OpenVINO).
ISAS = {"avx2": "AVX2", "avx512": "AVX512_CORE", "avx512vnni": "AVX512_CORE_VNNI", "amxint8": "AVX512_CORE_AMX"}


class Failed(Exception):
    pass


def output_of(command, env=None, limit=RUN_LIMIT_S):
    """What a command prints. A shell of its own forks it: the peak memory that a process reports begins with that of
    the process it was forked from, and this one is large."""
    shell = ["/bin/sh", "-c", '"$@"; exit $?', "sh"]
    child = subprocess.Popen(shell + [str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             stdin=subprocess.DEVNULL, start_new_session=True, env=dict(os.environ, **(env or {})))
    try:
        out, err = child.communicate(timeout=limit)
    except BaseException as e:  # the shell and what it runs, also when somebody interrupts us
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
        if isinstance(e, subprocess.TimeoutExpired):
            raise Failed(f"no end within {limit:g} s") from None
        raise
    if child.returncode != 0:
        lines = err.decode(errors="replace").strip().splitlines()
        raise Failed(lines[-1] if lines else f"exit code {child.returncode}")
    return out.decode()


class Peer:
    """|key| names it in tables, |ours| tells which side of the ratio it stands on."""
    ours = False

    def __init__(self, key, isa):
        self.key = key
        self.env = {"OX_ISA": isa, "ONEDNN_MAX_CPU_ISA": ISAS[isa]} if isa else {}

    def times(self, case, threads, seconds):
        """{load_ms, first_ms, median_ms, p99_ms, peak_rss_mb ...}"""
        return json.loads(output_of(self.command(case, threads, seconds), self.env, RUN_LIMIT_S + 4 * seconds))

    def outputs(self, case, threads):
        """The tensors of one run, in the model's order."""
        with tempfile.TemporaryDirectory() as folder:
            output_of(self.output_command(case, threads, folder), self.env)
            return [self.read(pathlib.Path(folder), i, name) for i, name in case.outputs.items()]


def read_tensor(path):
    return numpy_helper.to_array(onnx.TensorProto.FromString(path.read_bytes()))


def commit_of(program):
    """" (checkout 1a2b3c)": the commit of the working tree that a program lies in."""
    try:
        folder = pathlib.Path(program).resolve().parent
        return f" (checkout {output_of(['git', '-C', folder, 'rev-parse', '--short', 'HEAD']).strip()})"
    except Failed:
        return ""


class Onyx(Peer):
    def __init__(self, key, program, isa, ours, provider):
        super().__init__(key, isa)
        self.program, self.ours = program, ours
        self.options = ["--provider", provider] if provider else []

    def version(self):
        return output_of([self.program, "--version"]).strip() + commit_of(self.program)

    def command(self, case, threads, seconds):
        return [self.program, "bench", case.folder, "--threads", threads, "--seconds", seconds, "--json"] + self.options

    def output_command(self, case, threads, folder):
        return [self.program, "run", case.folder, "--threads", threads, "--output", folder] + self.options

    def read(self, folder, _index, name):
        stem = "".join("_" if c in '/\\:*?"<>|' else c for c in name)  # as onyx run names its files
        plain = folder / f"{stem}.npy"
        return numpy.load(plain) if plain.exists() else read_tensor(folder / f"{stem}.pb")


class OnnxRuntime(Peer):
    def __init__(self, program, library, isa, provider):
        super().__init__("onnxruntime", isa)
        self.program, self.library = [program] + ([f"--provider={provider}"] if provider else []), library

    def version(self):
        return "ONNX Runtime " + output_of(self.program + [self.library]).strip()

    def command(self, case, threads, seconds):
        return self.program + [self.library, case.model, case.data, threads, seconds]

    def output_command(self, case, threads, folder):
        return self.command(case, threads, 0) + [folder]

    def read(self, folder, index, _name):
        return read_tensor(folder / f"output_{index}.pb")


class OpenVino(Peer):
    def __init__(self, python, isa):
        super().__init__("openvino", isa)
        self.program = [python, "-B", HERE / "openvino_run.py"]

    def version(self):
        return "OpenVINO " + output_of(self.program).strip()

    def command(self, case, threads, seconds):
        return self.program + [case.model, case.data, threads, seconds]

    def output_command(self, case, threads, folder):
        return self.command(case, threads, 0) + [folder]

    def read(self, folder, index, _name):
        return numpy.load(folder / f"output_{index}.npy")


def difference(ours, theirs):
    """The largest difference of two runs' outputs, in parts of an output's largest element; None: other shapes."""
    worst = 0.0
    for a, b in zip(ours, theirs):
        if a.shape != b.shape:
            return None
        if a.size == 0:
            continue
        if a.dtype.kind not in "fiub" or b.dtype.kind not in "fiub":
            worst = max(worst, 0.0 if numpy.array_equal(a, b) else 1.0)
            continue
        with numpy.errstate(invalid="ignore"):  # NaNs that signal: they are compared below
            x, y = a.astype(numpy.float64), b.astype(numpy.float64)
        finite = numpy.isfinite(x) & numpy.isfinite(y)
        if not numpy.array_equal(x[~finite], y[~finite], equal_nan=True):
            return None
        scale = numpy.abs(y[finite]).max(initial=0.0)
        gap = numpy.abs(x[finite] - y[finite]).max(initial=0.0)
        worst = max(worst, gap / scale if scale > 0 else gap)
    return float(worst)
