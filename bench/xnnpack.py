#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times the provider "xnnpack" beside ExecuTorch, which contains the same library, and beside the CPU provider, also
after a pause; and two sessions in one process, one on XNNPACK, one on the CPU, against both alone (docs/xnnpack.md).

Needs a python with numpy and the package onyx (PYTHONPATH=build/python). For ExecuTorch: --executorch, a python that
has it, and --pte, a folder with the same networks under the models' names, which `xnnpack.py --export NAME...`, run by
that python, writes there (of torchvision, random weights, XnnpackPartitioner)."""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import threading
import time

from quiet import BUSY_WARNING, Foreign

PIXELS = (1, 3, 224, 224)
WARM_S, LEAST_RUNS = 0.2, 5


# ---- in a process of its own ----

def onyx_runner(provider, model, threads):
    import numpy
    import onyx

    options = onyx.SessionOptions()
    options.intra_op_num_threads = threads
    session = onyx.InferenceSession(model, options, providers=[provider])
    feed = {session.get_inputs()[0].name: numpy.random.default_rng(1).standard_normal(PIXELS).astype(numpy.float32)}
    return lambda: session.run(None, feed)


def executorch_runner(model, threads):
    import torch
    from executorch.extension.pybindings import portable_lib

    portable_lib._unsafe_reset_threadpool(threads)
    module = portable_lib._load_for_executorch(model)
    inputs = [torch.randn(PIXELS)]
    return lambda: module.forward(inputs)


def runner(who, model, threads):
    return executorch_runner(model, threads) if who == "executorch" else onyx_runner(who, model, threads)


def times_of(run, seconds, pause):
    """Milliseconds of single runs."""
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < LEAST_RUNS:
        if pause:
            time.sleep(pause)
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1e3)
    return times


def one(who, model, threads, seconds, pause):
    run = runner(who, model, int(threads))
    times_of(run, WARM_S, 0)
    times = times_of(run, float(seconds), float(pause))
    print(json.dumps({"median_ms": statistics.median(times), "min_ms": min(times)}))


def repeat(run, n):
    for _ in range(n):
        run()


def wall(*work):
    """Seconds until all of |work|, each (run, how often) in a thread of its own, is done."""
    threads = [threading.Thread(target=repeat, args=w) for w in work]
    start = time.perf_counter()
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return time.perf_counter() - start


def together(model, threads, seconds):
    """Turns of xnnpack alone, cpu alone, both: how long both take relative to the sum."""
    runs = [runner(who, model, int(threads)) for who in ("xnnpack", "cpu")]
    medians = [statistics.median(times_of(run, WARM_S, 0)) for run in runs]
    work = [(run, max(1, round(150 / ms))) for run, ms in zip(runs, medians)]
    ratios, end = [], time.perf_counter() + float(seconds)
    while time.perf_counter() < end or len(ratios) < LEAST_RUNS:
        alone = [wall(w) for w in work]
        ratios.append(wall(*work) / sum(alone))
    print(json.dumps({"ratio": statistics.median(ratios), "least": min(ratios), "most": max(ratios)}))


def export(names):
    import torch
    import torchvision
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower

    torch.manual_seed(1)
    for name in names:
        network = getattr(torchvision.models, name)(weights=None).eval()
        program = torch.export.export(network, (torch.randn(PIXELS),))
        lowered = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()]).to_executorch()
        pathlib.Path(name + ".pte").write_bytes(lowered.buffer)


# ---- the comparison ----

def child(python, *args):
    done = subprocess.run([python, "-B", __file__, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        sys.exit(f"{args}: {done.stderr.decode(errors='replace').strip().splitlines()[-1:]}")
    return json.loads(done.stdout)


def compare(args, model, threads, pause):
    """{who: medians of processes, least}; processes alternate, the order rotates."""
    who = {"xnnpack": (sys.executable, model / "model.onnx"), "cpu": (sys.executable, model / "model.onnx")}
    if args.executorch:
        who["executorch"] = (args.executorch, args.pte / (model.name + ".pte"))
    found = {name: [] for name in who}
    for turn in range(args.rounds):
        names = list(who)[turn % len(who):] + list(who)[:turn % len(who)]
        for name in names:
            python, path = who[name]
            found[name].append(child(python, "--one", name, path, threads, args.seconds, pause))
    return {name: (statistics.median(f["median_ms"] for f in all), min(f["min_ms"] for f in all))
            for name, all in found.items()}


def print_speed(args, model, threads):
    for pause in args.pauses:
        figures = compare(args, model, threads, pause / 1e3)
        cells = [f"{name} {median:.2f} (least {least:.2f})" for name, (median, least) in figures.items()]
        if args.executorch:
            ratio = [figures["executorch"][i] / figures["xnnpack"][i] for i in range(2)]
            cells.append(f"executorch / xnnpack {ratio[0]:.2f} ({ratio[1]:.2f})")
        what = f"{model.name}, {threads} threads, {pause:g} ms of sleep before a run, ms"
        print(f"{what}: {', '.join(cells)}", flush=True)


def print_together(args, model, threads):
    found = [child(sys.executable, "--together", model / "model.onnx", threads, args.seconds * 2)
             for _ in range(args.rounds)]
    ratio = statistics.median(f["ratio"] for f in found)
    print(f"{model.name}, {threads} threads, both at once / sum of both alone: {ratio:.2f} "
          f"({min(f['ratio'] for f in found):.2f} to {max(f['ratio'] for f in found):.2f})", flush=True)


def main():
    inner = {"--one": one, "--together": together, "--export": lambda *names: export(names)}
    if len(sys.argv) > 1 and sys.argv[1] in inner:
        inner[sys.argv[1]](*sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=pathlib.Path, help="folders with model.onnx, of one image 224 x 224")
    parser.add_argument("--executorch", metavar="PYTHON")
    parser.add_argument("--pte", metavar="FOLDER", type=pathlib.Path, default=pathlib.Path("."))
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--pauses", default="0,5", help="ms of sleep before each run")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1, help="each process measures that long")
    parser.add_argument("--only", choices=["speed", "together"])
    args = parser.parse_args()
    args.pauses = [float(p) for p in args.pauses.split(",")]
    foreign = Foreign()
    for model in args.models:
        for threads in args.threads.split(","):
            if args.only != "together":
                print_speed(args, model, threads)
            if args.only != "speed":
                print_together(args, model, threads)
    percent = foreign.percent()
    print(f"{os.cpu_count()} processors, {args.rounds} rounds of {args.seconds:g} s, processes alternating" +
          (f"; others used {percent:.0f} % of the machine" if percent > BUSY_WARNING else ""))


main()
