# SPDX-License-Identifier: Apache-2.0
"""Sessions in other processes: pickled and forked. Onyx only."""

import concurrent.futures
import copy
import multiprocessing
import os
import pickle

import numpy as np
import pytest

import onnx_bytes as ob
import onyx

X = np.arange(4, dtype=np.float32).reshape(2, 2)


def run(session, x=X):
    return session.run(None, {"x": x, "y": x})[0]


@pytest.mark.parametrize("from_file", [False, True])
def test_a_session_is_pickled(tmp_path, from_file):
    path = tmp_path / "model.onnx"
    path.write_bytes(ob.add())
    options = onyx.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onyx.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_free_dimension_override_by_name("N", 2)
    session = onyx.InferenceSession(str(path) if from_file else ob.add(), options)
    data = pickle.dumps(session)
    if from_file:
        assert b"Add" not in data  # the path, not the file
    other = pickle.loads(data)
    np.testing.assert_array_equal(run(other), X + X)
    assert other.get_inputs()[0].shape == [2, 2]
    given = other.get_session_options()
    assert given.intra_op_num_threads == 1 and given.get_session_config_entry("session.intra_op.allow_spinning") == "0"
    assert given.graph_optimization_level is onyx.GraphOptimizationLevel.ORT_ENABLE_BASIC
    np.testing.assert_array_equal(run(copy.deepcopy(session)), X + X)


class Named(onyx.InferenceSession):
    """A class of a program, with arguments and attributes of its own."""

    def __init__(self, name):
        super().__init__(ob.add())
        self.name = name


def test_classes_of_programs_are_pickled():
    other = pickle.loads(pickle.dumps(Named("mine")))
    assert type(other) is Named and other.name == "mine"
    np.testing.assert_array_equal(run(other), X + X)


def test_values_and_options_are_pickled():
    value = pickle.loads(pickle.dumps(onyx.OrtValue.ortvalue_from_numpy(X)))
    np.testing.assert_array_equal(value.numpy(), X)
    options = onyx.RunOptions()
    options.logid = "run"
    options.add_run_config_entry("key", "value")
    other = pickle.loads(pickle.dumps(options))
    assert other.logid == "run" and other.get_run_config_entry("key") == "value"
    with pytest.raises(onyx.Fail):
        raise pickle.loads(pickle.dumps(onyx.Fail("text")))


@pytest.mark.parametrize("method", ["spawn", "fork", "forkserver"])
def test_pools_of_processes(method):
    session = onyx.InferenceSession(ob.add())
    run(session)
    context = multiprocessing.get_context(method)
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        results = list(pool.map(run, [session] * 4, [X * i for i in range(4)], timeout=100))
    for i, z in enumerate(results):
        np.testing.assert_array_equal(z, 2 * i * X)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_forked_child_uses_the_session_of_its_parent(threads):
    import test_threads

    options = onyx.SessionOptions()
    options.intra_op_num_threads = threads
    session = onyx.InferenceSession(test_threads.matrix_model(4), options)
    x = np.eye(300, dtype=np.float32) * 2
    session.run(None, {"x": x})  # its threads are there
    children = []
    for _ in range(3):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                z = session.run(None, {"x": x})[0]
                again = onyx.InferenceSession(ob.add())
                status = 0 if (z == x * 16).all() and (run(again) == X + X).all() else 2
            finally:
                os._exit(status)
        children.append(child)
    (z,) = session.run(None, {"x": x})
    assert (z == x * 16).all()
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
