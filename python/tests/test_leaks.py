# SPDX-License-Identifier: Apache-2.0
"""Nothing that is done again and again makes the process grow. Onyx only."""

import gc
import pickle

import numpy as np
import pytest

import onnx_bytes as ob
import onyx

FLOATS = ob.tensor_type(ob.FLOAT, ["N"])
X = np.ones(1000, np.float32)


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def refused(kind, call):
    with pytest.raises(kind):
        call()


def plain():
    session = onyx.InferenceSession(ob.add(["N"]))
    return lambda: session.run(None, {"x": X, "y": X})


def copies():
    session = onyx.InferenceSession(ob.add(["N"]))
    x = np.ones(2000, np.float32)[::2]
    return lambda: session.run(["z"], {"x": x, "y": X.tolist()})


def wrong():
    session = onyx.InferenceSession(ob.add(["N"]))
    cases = [{"x": X}, {"x": X, "y": X[:2]}, {"x": X, "y": 3.0}, {"x": X, "y": X.astype(int)}, {"x": X, "y": X, "w": X}]
    return lambda: [refused(Exception, lambda: session.run(None, feeds)) for feeds in cases]


def strings():
    session = onyx.InferenceSession(ob.unary("Identity", ob.STRING))
    x = np.array(["some text that is not short"] * 100)
    return lambda: session.run(None, {"x": x})


def sequences():
    session = onyx.InferenceSession(ob.model(
        [ob.node("SequenceInsert", ["s", "x"], ["t"])], {"s": ob.sequence_type(FLOATS), "x": FLOATS},
        {"t": ob.sequence_type(FLOATS)}))
    return lambda: (session.run(None, {"s": [X, X], "x": X}), session.run(None, {"s": [], "x": X}),
                    refused(RuntimeError, lambda: session.run(None, {"s": [X, "x"], "x": X})))


def maps():
    kind = ob.sequence_type(ob.map_type(ob.INT64, ob.tensor_type(ob.FLOAT, [])))
    session = onyx.InferenceSession(ob.model(
        [ob.node("ZipMap", ["x"], ["z"], "ai.onnx.ml", classlabels_int64s=[1, 2])],
        {"x": ob.tensor_type(ob.FLOAT, ["N", 2])}, {"z": kind}))
    return lambda: session.run(None, {"x": X.reshape(-1, 2)[:20]})


def values():
    session = onyx.InferenceSession(ob.add(["N"]))

    def once():
        value = onyx.OrtValue.ortvalue_from_numpy(X.copy())
        (z,) = session.run_with_ort_values(None, {"x": value, "y": value})
        z.numpy(), z.shape(), z.data_type(), pickle.loads(pickle.dumps(z))
        np.from_dlpack(z), onyx.OrtValue.from_dlpack(X), z.__dlpack__()
        z.update_inplace(X)

    return once


def bindings():
    session = onyx.InferenceSession(ob.add(["N"]))

    def once():
        binding = session.io_binding()
        binding.bind_cpu_input("x", X.copy())
        binding.bind_ortvalue_input("y", onyx.OrtValue.ortvalue_from_numpy(X.copy()))
        binding.bind_output("z")
        session.run_with_iobinding(binding)
        binding.copy_outputs_to_cpu(), binding.get_outputs()
        refused(RuntimeError, lambda: binding.bind_cpu_input("q", X))

    return once


def sessions():
    def once():
        options = onyx.SessionOptions()
        options.add_initializer("w", onyx.OrtValue.ortvalue_from_numpy(X))
        session = onyx.InferenceSession(ob.model([ob.node("Add", ["x", "w"], ["z"])], {"x": FLOATS}, {"z": FLOATS},
                                                 {"w": np.zeros(1000, np.float32)}), options)
        session.run(None, {"x": X})
        session.get_modelmeta(), session.plan(), session.get_inputs()
        refused(onyx.InvalidProtobuf, lambda: onyx.InferenceSession(b"hello"))

    return once


CASES = [(plain, 5000), (copies, 3000), (wrong, 500), (strings, 1000), (sequences, 1000), (maps, 1000), (values, 1000),
         (bindings, 1000), (sessions, 60)]


@pytest.mark.parametrize("make, n", CASES, ids=[make.__name__ for make, _ in CASES])
def test_the_process_does_not_grow(make, n):
    once = make()

    def rounds():
        for _ in range(n):
            once()
        gc.collect()

    rounds()  # takes what is kept for later
    rounds()
    grown = []
    for _ in range(3):  # others may grow the heap once; a leak does so every time
        before = resident()
        rounds()
        grown.append(resident() - before)
    assert min(grown) < 64 * n, f"{min(grown) / n:.0f} bytes a round"
