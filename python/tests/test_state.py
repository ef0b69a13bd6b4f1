# SPDX-License-Identifier: Apache-2.0
"""session.state(): what is carried from run to run."""

import threading

import numpy as np
import pytest

import onnx_bytes as ob

onyx = pytest.importorskip("onyx")


def rows(*shape):
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def cache():
    """present = past and x behind it; y = -present."""
    nodes = [ob.node("Concat", ["past.0", "x"], ["present.0"], axis=0), ob.node("Neg", ["present.0"], ["y"])]
    return ob.model(nodes, {"past.0": ob.tensor_type(ob.FLOAT, ["P", 4]), "x": ob.tensor_type(ob.FLOAT, ["S", 4])},
                    {"y": ob.tensor_type(ob.FLOAT, ["T", 4]), "present.0": ob.tensor_type(ob.FLOAT, ["T", 4])})


@pytest.fixture
def session():
    return onyx.InferenceSession(cache())


@pytest.mark.parametrize("pairs", [None, {"present.0": "past.0"}])
def test_steps(session, pairs):
    state = session.state(pairs)
    assert state.pairs == {"present.0": "past.0"} and len(state) == 0
    want = np.zeros((0, 4), np.float32)
    for n in (3, 1, 1, 2):
        x = rows(n, 4) + n
        want = np.concatenate([want, x])
        (y,) = state.run(None, {"x": x})
        np.testing.assert_array_equal(y, -want)
        assert len(state) == len(want)
    np.testing.assert_array_equal(state.get("past.0"), want)
    state.truncate(4)
    np.testing.assert_array_equal(state.get("past.0"), want[:4])
    (y,) = state.run(["y"], {"x": rows(1, 4)})
    assert y.shape == (5, 4)
    state.reserve(100)
    state.truncate(0)
    assert len(state) == 0
    (y,) = state.run(["y"], {"x": rows(1, 4), "past.0": rows(2, 4)})
    np.testing.assert_array_equal(y, -np.concatenate([rows(2, 4), rows(1, 4)]))


def test_errors(session):
    with pytest.raises(ValueError, match="no input 'nothing'"):
        session.state({"present.0": "nothing"})
    with pytest.raises(ValueError, match="name the pairs"):
        onyx.InferenceSession(ob.add()).state()
    state = session.state()
    with pytest.raises(ValueError, match="nothing for input 'past.0' yet"):
        state.get("past.0")
    with pytest.raises(ValueError, match="0 tokens"):
        state.truncate(1)
    with pytest.raises(onyx.InvalidArgument, match="stays in the state"):
        state.run(["present.0"], {"x": rows(1, 4)})
    with pytest.raises(onyx.InvalidArgument, match="missing"):
        state.run(None, {})
    assert len(state) == 0


def test_sequences_in_threads(session):
    def decode(k, out):
        state = session.state()
        for i in range(50):
            (y,) = state.run(None, {"x": np.full((1, 4), k * 100 + i, np.float32)})
        out[k] = y

    out = {}
    threads = [threading.Thread(target=decode, args=(k, out)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for k in range(4):
        np.testing.assert_array_equal(out[k], -np.repeat(np.arange(50, dtype=np.float32) + k * 100, 4).reshape(50, 4))
