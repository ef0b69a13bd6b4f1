#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times one model in OpenVINO; prints what `onyx bench --json` prints, or writes the outputs of one run.

usage: openvino_run.py [MODEL DATA THREADS SECONDS [OUT]]    DATA holds input_0.npy ...; no argument: the version"""
import json
import os
import pathlib
import resource
import sys
import time

import numpy
import openvino

WARM_RUNS, LEAST_RUNS = 2, 5


def now_ms():
    return time.perf_counter() * 1e3


def load(path, inputs, threads):
    core = openvino.Core()
    model = core.read_model(path)
    model.reshape({port: list(value.shape) for port, value in enumerate(inputs)})
    # float32 is to be computed in float32, as everybody else does; by default OpenVINO takes bfloat16 where it can.
    options = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY",
               "INFERENCE_PRECISION_HINT": "f32"}
    return core.compile_model(model, "CPU", options)


def main():
    if len(sys.argv) == 1:
        print(openvino.get_version())
        return
    model, data, threads, seconds = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
    inputs = [numpy.load(data / f"input_{i}.npy") for i in range(len(list(data.glob("input_*.npy"))))]
    start = now_ms()
    request = load(model, inputs, threads).create_infer_request()
    load_ms = now_ms() - start
    feeds = dict(enumerate(inputs))
    start = now_ms()
    outputs = request.infer(feeds, share_inputs=True, share_outputs=True)
    first_ms = now_ms() - start
    if len(sys.argv) > 5:
        for i in range(len(outputs)):
            numpy.save(os.path.join(sys.argv[5], f"output_{i}.npy"), outputs[i])
        return
    for _ in range(WARM_RUNS):
        request.infer(feeds, share_inputs=True, share_outputs=True)
    times, end = [], now_ms() + seconds * 1e3
    while now_ms() < end or len(times) < LEAST_RUNS:
        start = now_ms()
        request.infer(feeds, share_inputs=True, share_outputs=True)
        times.append(now_ms() - start)
    times.sort()
    at = [times[int(part * (len(times) - 1) + 0.5)] for part in (0.5, 0.9, 0.99, 0)]
    print(json.dumps({"version": openvino.get_version(), "load_ms": load_ms, "first_ms": first_ms, "median_ms": at[0],
                      "p90_ms": at[1], "p99_ms": at[2], "min_ms": at[3], "runs": len(times),
                      "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))


if __name__ == "__main__":
    main()
