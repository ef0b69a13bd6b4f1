"""Clients that ask a server of the Open Inference Protocol all at once, and check every answer.

    python load_test.py model.onnx --url localhost:8080 --name resnet --clients 64 --seconds 60

Prints one line of JSON: requests answered, refused, failed and wrong, requests per second, milliseconds at the median and at
the 99th percentile. Wanted are the outputs of the model in this process (--engine), within --rtol and --atol."""
import argparse
import asyncio
import importlib
import json
import statistics
import time

import numpy as np
import tritonclient.http.aio as client_of


def examples(session, count, rows, seed=7):
    """Inputs with their outputs. Open dimensions are 1, axis 0 is |rows| if it is open."""
    rng = np.random.default_rng(seed)
    types = {"float": np.float32, "double": np.float64, "int64": np.int64, "int32": np.int32, "uint8": np.uint8}
    made = []
    for _ in range(count):
        feeds = {}
        for i in session.get_inputs():
            shape = [d if isinstance(d, int) else (rows if axis == 0 else 1) for axis, d in enumerate(i.shape)]
            dtype = np.dtype(types[i.type[7:-1]])
            feeds[i.name] = (rng.standard_normal(shape).astype(dtype) if dtype.kind == "f"
                             else rng.integers(0, 2, shape).astype(dtype))
        made.append((feeds, session.run(None, feeds)))
    return made


class Tally:
    def __init__(self):
        self.ms, self.refused, self.failed, self.wrong, self.errors = [], 0, 0, 0, {}

    def note(self, error):
        status = str(error.status() if hasattr(error, "status") else "")
        if "503" in status or "waiting" in str(error):
            self.refused += 1
        else:
            self.failed += 1
        self.errors[f"{status} {error}"[:120]] = self.errors.get(f"{status} {error}"[:120], 0) + 1


def request_of(feeds):
    inputs = []
    for name, array in feeds.items():
        datatype = {"f4": "FP32", "f8": "FP64", "i8": "INT64", "i4": "INT32", "u1": "UINT8"}[array.dtype.str[1:]]
        inputs.append(client_of.InferInput(name, list(array.shape), datatype))
        inputs[-1].set_data_from_numpy(array)
    return inputs


async def ask(client, args, names, cases, first, until, tally):
    """One client: asks, waits for the answer, checks it, asks again."""
    n = first
    while time.perf_counter() < until:
        inputs, want = cases[n % len(cases)]
        n += 1
        begin = time.perf_counter()
        try:
            answer = await client.infer(args.name, inputs)
        except Exception as error:  # counted by kind
            tally.note(error)
            await asyncio.sleep(0.05)
            continue
        tally.ms.append((time.perf_counter() - begin) * 1e3)
        for name, array in zip(names, want):
            got = answer.as_numpy(name)
            if got is None or got.shape != array.shape or not np.allclose(got, array, args.rtol, args.atol):
                tally.wrong += 1
                break


async def measure(args, names, cases):
    tally = Tally()
    client = client_of.InferenceServerClient(args.url, conn_limit=args.clients)
    try:
        cases = [(request_of(feeds), want) for feeds, want in cases]
        begin = time.perf_counter()
        until = begin + args.seconds
        await asyncio.gather(*(ask(client, args, names, cases, i, until, tally) for i in range(args.clients)))
        return tally, time.perf_counter() - begin
    finally:
        await client.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--engine", default="onyx")
    parser.add_argument("--url", default="localhost:8080")
    parser.add_argument("--name", default="model")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rows", type=int, default=1, help="rows in a request")
    parser.add_argument("--rtol", type=float, default=1e-3)
    parser.add_argument("--atol", type=float, default=1e-4)
    args = parser.parse_args()
    session = importlib.import_module(args.engine).InferenceSession(args.model, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    cases = examples(session, 8, args.rows)
    del session
    tally, seconds = asyncio.run(measure(args, names, cases))
    ms = sorted(tally.ms) or [float("nan")]
    print(json.dumps({"answered": len(tally.ms), "refused": tally.refused, "failed": tally.failed, "wrong": tally.wrong,
                      "per_second": round(len(tally.ms) / seconds, 2), "median_ms": round(statistics.median(ms), 2),
                      "p99_ms": round(ms[int(len(ms) * 0.99)], 2), "errors": tally.errors}))
    return 1 if tally.wrong or not tally.ms else 0


if __name__ == "__main__":
    raise SystemExit(main())
