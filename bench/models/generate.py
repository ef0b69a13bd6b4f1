#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times decoders as programs use them: a prompt, then token after token, each run's caches being inputs of the next.

    bench/models/generate.py decoder/model.onnx --module build/python/onyx --peer /path/to/python

A model's inputs are tokens [batch, new], perhaps a mask of past and new tokens, perhaps positions, and caches of rank 4
whose axis 2 is the past; its outputs are logits and the new caches in the same order. Each figure comes from a process
of its own; engines alternate, figures are medians over rounds. One whose tokens differ from ours is named."""
import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve()
sys.path.insert(0, str(HERE.parents[1]))
from quiet import BUSY_WARNING, Foreign

FIGURES = ("load_ms", "prompt_ms", "first_ms", "token_ms", "peak_mb")


def ms_since(start):
    return (time.perf_counter() - start) * 1e3


class Decoder:
    """A session and what its inputs are for."""

    def __init__(self, engine, path, threads):
        options = engine.SessionOptions()
        options.intra_op_num_threads = threads
        self.session = engine.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.inputs = self.session.get_inputs()

    def empty_caches(self):
        import numpy
        shapes = [i.shape for i in self.inputs if len(i.shape) == 4]
        return [numpy.zeros((1, s[1], 0, s[3]), numpy.float32) for s in shapes]

    def step(self, tokens, caches):
        """The logits of the last of |tokens|, and the caches afterwards."""
        import numpy
        past, rest, feeds = caches[0].shape[2] if caches else 0, iter(caches), {}
        for i in self.inputs:
            if len(i.shape) == 4:
                feeds[i.name] = next(rest)
            elif "mask" in i.name:
                feeds[i.name] = numpy.ones((1, past + len(tokens)), numpy.int64)
            elif "position" in i.name:
                feeds[i.name] = numpy.arange(past, past + len(tokens))[None]
            else:
                feeds[i.name] = numpy.array([tokens], numpy.int64)
        logits, *caches = self.session.run(None, feeds)
        return logits[0, -1], caches


def measure(engine, args):
    """One process: what main() asks for."""
    import importlib
    module = importlib.import_module(engine)
    start = time.perf_counter()
    decoder = Decoder(module, args.models[0], args.threads)
    found = {"load_ms": ms_since(start)}
    start = time.perf_counter()
    logits, caches = decoder.step([7 * i % 100 for i in range(args.prompt)], decoder.empty_caches())
    found["prompt_ms"] = ms_since(start)
    tokens, times = [], []
    for _ in range(args.tokens):
        tokens.append(int(logits.argmax()))
        start = time.perf_counter()
        logits, caches = decoder.step(tokens[-1:], caches)
        times.append(ms_since(start))
    found.update(first_ms=times[0], token_ms=statistics.median(times[1:] or times), tokens=tokens)
    found["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(found))


def run(python, engine, path, args, environment):
    command = [python, "-B", HERE, path, "--worker", engine, "--prompt", args.prompt, "--tokens", args.tokens, "--threads",
               args.threads]
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    if done.returncode:
        sys.exit(f"{engine}: {done.stderr.decode().strip()[-600:]}")
    return json.loads(done.stdout)


def compare(path, args):
    """Medians of every engine's figures, ours first."""
    ours = dict(os.environ, PYTHONPATH=str(pathlib.Path(args.module).resolve().parent))
    engines = {"onyx": (args.python, ours)}
    if args.peer:
        engines["onnxruntime"] = (args.peer, dict(os.environ))
    runs = {name: [] for name in engines}
    for turn in range(args.rounds):
        for name, (python, environment) in list(engines.items())[::-1 if turn % 2 else 1]:
            runs[name].append(run(python, name, path, args, environment))
    wanted = runs["onyx"][0]["tokens"]
    for name, all_runs in runs.items():
        if any(r["tokens"] != wanted for r in all_runs):
            print(f"{path}: tokens of {name} differ", file=sys.stderr)
    return {name: {f: statistics.median(r[f] for r in all_runs) for f in FIGURES} for name, all_runs in runs.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--module", default="build/python/onyx", help="our Python package")
    parser.add_argument("--python", default=sys.executable, help="the python that runs it")
    parser.add_argument("--peer", metavar="PYTHON", help="a python with the package onnxruntime")
    parser.add_argument("--prompt", type=int, default=64, help="tokens of the first run")
    parser.add_argument("--tokens", type=int, default=40, help="generated after it")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        measure(args.worker, args)
        return
    foreign = Foreign()
    print("| model | engine | load, ms | prompt, ms | first token, ms | token, ms | peak MB |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for path in args.models:
        name = pathlib.Path(path).resolve().parent.name
        for engine, figures in compare(path, args).items():
            print(f"| {name} | {engine} | " + " | ".join(f"{figures[f]:.3g}" for f in FIGURES) + " |", flush=True)
    if foreign.percent() > BUSY_WARNING:
        print(f"others used {foreign.percent():.1f} % of the machine", file=sys.stderr)


if __name__ == "__main__":
    main()
