#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times models in several libonnxruntime.so.1, Microsoft's or builds of ours, in one process, run by run in turns.

For machines that others use, too: there run.py's processes tell 10 % apart, this 1 or 2. docs/bench-models.md."""
import argparse
import json
import math
import pathlib
import shutil
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
try:
    import cases
    import peers
except ImportError as e:
    sys.exit(f"{e}: needs numpy and onnx")

SPIN_MS = 20  # after this, no library's idle threads spin any more


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("models", nargs="+", help="folders (model.onnx, test_data_set_0/) or .onnx files")
    parser.add_argument("--library", action="append", required=True, metavar="PATH",
                        help="at least two; ratios are to the first")
    parser.add_argument("--ort-turns", default="build/bench/ort_turns", help="the program that times them")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=5, help="for each model")
    parser.add_argument("--dim", action="append", default=[], metavar="NAME=N", help="a symbolic dimension, else 1")
    args = parser.parse_args()
    try:
        args.dims = {name: int(size) for name, size in (d.rsplit("=", 1) for d in args.dim)}
    except ValueError as e:
        parser.error(str(e))
    if len(args.library) < 2:
        parser.error("at least two libraries")
    return args


def row(case, args):
    """[[time of a library / the first's]], with the line that tells it."""
    pause = 0 if args.threads == 1 else SPIN_MS
    command = [args.ort_turns, case.model, case.data, args.threads, args.seconds, pause] + args.library
    found = json.loads(peers.output_of(command, limit=peers.RUN_LIMIT_S + 4 * args.seconds))
    ratios = [library["ratio"] for library in found["libraries"]]
    cells = [f"{library['median_ms']:.4g} ({library['min_ms']:.4g})" for library in found["libraries"]]
    told = [f"{ratio:.3f}" for ratio in ratios[1:]]
    return ratios, f"| {case.name} | {' | '.join(cells + told)} | {found['rounds']} |"


def main():
    args = options()
    count = len(args.library)
    for i, path in enumerate(args.library):
        print(f"{i}: {path}")
    heads = ["model"] + [f"{i}, ms (least)" for i in range(count)] + [f"{i} / 0" for i in range(1, count)] + ["rounds"]
    print(f"\n| {' | '.join(heads)} |\n|{' --- |' * len(heads)}", flush=True)
    work = pathlib.Path(tempfile.mkdtemp(prefix="bench-turns-"))
    failed, everything = 0, []
    try:
        for path in args.models:
            try:
                ratios, line = row(cases.prepare(path, work, args.dims), args)
            except Exception as e:  # onnx and protobuf have errors of their own
                failed, line = failed + 1, f"{path}: {e}"
            else:
                everything.append(ratios)
            print(line, flush=True)
    finally:
        shutil.rmtree(work)
    for i in range(1, count if everything else 0):
        logs = [math.log(ratios[i]) for ratios in everything]
        print(f"{i} / 0: geometric mean {math.exp(sum(logs) / len(logs)):.3f}, most {math.exp(max(logs)):.3f}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
