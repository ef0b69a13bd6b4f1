#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""onednn_layers.py TRACE DIRECT - each convolution of ResNet-50 as the oneDNN provider runs it, beside a direct call.

TRACE is of `onyx profile --provider onednn --trace TRACE MODEL`, DIRECT what bench/onednn_bench.c has printed."""
import json
import re
import statistics
import sys


def main(trace, direct):
    runs = [[]]
    for e in json.load(open(trace)):
        if e.get("ph") != "X":
            continue
        if e["name"].startswith("convolution "):
            runs[-1].append(e["dur"])
        elif e["name"].startswith("onednn part"):  # ends when all of its primitives have
            runs.append([])
    ours = [statistics.median(us) for us in zip(*filter(None, runs))]
    rows = re.findall(r"^ *\d+  (.*): +([0-9.]+) us$", open(direct).read(), re.M)
    if len(ours) != len(rows):
        sys.exit(f"{len(ours)} convolutions beside {len(rows)}")
    for us, (name, calls) in zip(ours, rows):
        print(f"{name:55} {us:8.1f} us {us / float(calls):5.2f}")
    ratios = [us / float(calls) for us, (_, calls) in zip(ours, rows)]
    print(f"all: {sum(ours) / sum(float(c) for _, c in rows):.2f}, a layer: {min(ratios):.2f} to {max(ratios):.2f}")


main(*sys.argv[1:])
