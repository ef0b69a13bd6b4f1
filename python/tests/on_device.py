# SPDX-License-Identifier: Apache-2.0
"""Values on the device that ONYX_TEST_DEVICE names; test_devices.py starts a process with this. The library that
ONYX_TEST_COUNTS names counts copies and allocations below the provider."""

import ctypes
import os

import numpy as np
import pytest

import onnx_bytes as ob
import onyx

DEVICE = os.environ["ONYX_TEST_DEVICE"]


@pytest.fixture
def counts():
    """counts() is [to the device, back, within, allocations] since it was called last."""
    library, prefix = ctypes.CDLL(os.environ["ONYX_TEST_COUNTS"]), {"opencl": "opencl", "cuda": "standin"}[DEVICE]
    copies, allocations = (getattr(library, f"{prefix}_{what}") for what in ("copies", "allocations"))
    copies.restype = allocations.restype = ctypes.c_long
    return lambda: [copies(0), copies(1), copies(2), allocations()]


def open_model(nodes, shape, out_shape=None, **options):
    kind = ob.tensor_type(ob.FLOAT, shape)
    model = ob.model(nodes, {"x": kind}, {"y": kind if out_shape is None else ob.tensor_type(ob.FLOAT, out_shape)})
    return onyx.InferenceSession(model, providers=[(DEVICE, options), "cpu"])


def chain(**options):
    return open_model([ob.node("Relu", ["x"], ["a"]), ob.node("Neg", ["a"], ["y"])], ["N", 2], **options)


def there(array):
    return onyx.OrtValue.ortvalue_from_numpy(array, DEVICE)


X = np.array([[1, -2], [3, -4]], np.float32)


def test_values_go_there_and_back(counts):
    value = there(X)
    assert value.device_name() == DEVICE and value.shape() == [2, 2] and value.data_type() == "tensor(float)"
    np.testing.assert_array_equal(value.numpy(), X)
    value.update_inplace(X * 2)
    np.testing.assert_array_equal(value.numpy(), X * 2)
    other = onyx.OrtValue.ortvalue_from_shape_and_type([2, 2], np.float32, DEVICE)
    counts()
    onyx.copy_tensors([value], [other])
    assert counts() == [0, 0, 1, 0]
    np.testing.assert_array_equal(other.numpy(), X * 2)


def test_outputs_of_each_runs_shape_stay_there(counts):
    session = chain()
    binding = session.io_binding()
    binding.bind_output("y", DEVICE)
    for rows in (2, 1, 2, 1):
        binding.bind_ortvalue_input("x", there(X[:rows]))
        binding.synchronize_inputs()
        for run in range(5):
            counts()
            session.run_with_iobinding(binding)
            binding.synchronize_outputs()
            assert run < 3 or counts() == [0, 0, 0, 0]
        (y,) = binding.get_outputs()
        assert y.device_name() == DEVICE
        np.testing.assert_array_equal(y.numpy(), -np.maximum(X[:rows], 0))
        counts()
        np.testing.assert_array_equal(binding.copy_outputs_to_cpu()[0], -np.maximum(X[:rows], 0))
        assert counts() == [0, 1, 0, 0]


def test_outputs_into_given_memory(counts):
    session, value = chain(), there(X)
    binding = session.io_binding()
    binding.bind_input("x", DEVICE, 0, np.float32, [2, 2], value.data_ptr())
    given = onyx.OrtValue.ortvalue_from_shape_and_type([2, 2], np.float32, DEVICE)
    for bind in (lambda: binding.bind_ortvalue_output("y", given),
                 lambda: binding.bind_output("y", DEVICE, 0, np.float32, [2, 2], given.data_ptr())):
        bind()
        for run in range(5):
            counts()
            session.run_with_iobinding(binding)
            assert run < 3 or counts() == [0, 0, 0, 0]
        np.testing.assert_array_equal(given.numpy(), -np.maximum(X, 0))
        given.update_inplace(X)


def test_an_output_is_the_next_input(counts):
    session = open_model([ob.node("Add", ["x", "x"], ["a"]), ob.node("Neg", ["a"], ["y"])], ["N", 2])
    binding, value = session.io_binding(), there(X)
    binding.bind_output("y", DEVICE)
    for run in range(10):
        binding.bind_ortvalue_input("x", value)
        counts()
        session.run_with_iobinding(binding)
        assert run < 4 or counts() == [0, 0, 0, 0]
        (value,) = binding.get_outputs()
    np.testing.assert_array_equal(value.numpy(), X * 1024)


def test_a_shape_that_only_the_run_knows(counts):
    nodes = [ob.node("Relu", ["x"], ["a"]), ob.node("NonZero", ["a"], ["i"]), ob.node("Cast", ["i"], ["f"], to=1),
             ob.node("Neg", ["f"], ["y"])]
    session = open_model(nodes, [2, 2], [2, "K"])
    binding = session.io_binding()
    binding.bind_output("y", DEVICE)
    for run, x in enumerate([X, np.abs(X)] * 4):
        binding.bind_ortvalue_input("x", there(x))
        counts()
        session.run_with_iobinding(binding)
        assert run < 4 or counts()[:3] == [1, 1, 0]  # what the CPU finds out in between
        (y,) = binding.get_outputs()
        np.testing.assert_array_equal(y.numpy(), -np.array(np.nonzero(x > 0), np.float32))


def test_plain_runs_take_values_from_there(counts):
    session = chain()
    (y,) = session.run_with_ort_values(["y"], {"x": there(X)})
    assert y.device_name() == "cpu"
    np.testing.assert_array_equal(y.numpy(), -np.maximum(X, 0))
    fetches = onyx.OrtValueVector()
    device = onyx.OrtDevice.make(DEVICE, 0)
    session.run_with_ortvaluevector(None, ["x"], [there(X)], ["y"], fetches, [device])
    assert fetches[0].device_name() == DEVICE
    np.testing.assert_array_equal(fetches[0].numpy(), -np.maximum(X, 0))


def test_values_outlive_their_session(counts):
    session = chain()
    binding = session.io_binding()
    binding.bind_ortvalue_input("x", there(X))
    binding.bind_output("y", DEVICE)
    session.run_with_iobinding(binding)
    (y,) = binding.get_outputs()
    del binding, session
    np.testing.assert_array_equal(y.numpy(), -np.maximum(X, 0))


def test_statistics_limits_and_shrinking(counts):
    session = chain(gpu_mem_limit="4096", arena_extend_strategy="kSameAsRequested")
    before = session.memory_stats(DEVICE)
    assert before["Limit"] == 4096 and before["NumAllocs"] == onyx.memory_stats(DEVICE)["NumAllocs"]
    for _ in range(3):
        session.run(None, {"x": X})
    after = session.memory_stats(DEVICE)
    assert after["NumAllocs"] > before["NumAllocs"] and after["InUse"] > 0
    with pytest.raises(onyx.Fail, match="'y' with 16384 bytes.*the limit is 4096"):
        session.run(None, {"x": np.zeros((2048, 2), np.float32)})
    options = onyx.RunOptions()
    options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "gpu:0")
    session.run(None, {"x": X}, options)
    assert session.memory_stats(DEVICE)["NumArenaShrinkages"] > 0
    session.run(None, {"x": X})
    with pytest.raises(RuntimeError, match="no provider"):
        onyx.memory_stats("npu")


def test_the_cpu_steps_in(counts):
    options = onyx.SessionOptions()
    options.add_session_config_entry("onyx.fall_back", "1")
    kind = ob.tensor_type(ob.FLOAT, ["N", 2])
    model = ob.model([ob.node("Relu", ["x"], ["a"]), ob.node("Neg", ["a"], ["y"])], {"x": kind}, {"y": kind})
    session = onyx.InferenceSession(model, options, providers=[(DEVICE, {"gpu_mem_limit": "4096"}), "cpu"])
    large = np.arange(4096, dtype=np.float32).reshape(2048, 2)
    np.testing.assert_array_equal(session.run(None, {"x": large})[0], -large)
    counts()
    np.testing.assert_array_equal(session.run(None, {"x": X})[0], -np.maximum(X, 0))
    assert counts()[:2] == [1, 1]  # the device again


def test_an_arena_for_all_sessions(counts):
    name = onyx.get_available_providers()[0]
    there(X)
    info = onyx.OrtMemoryInfo.create_v2(DEVICE, 1, 0x10de if DEVICE == "cuda" else 0, 0, 0, 0, 0)
    with pytest.raises(Exception, match="in use"):  # others have taken values from it already
        onyx.create_and_register_allocator_v2(name, info, {}, onyx.OrtArenaCfg({"max_mem": 1 << 24}))
    options = onyx.SessionOptions()
    options.add_session_config_entry("session.use_env_allocators", "1")
    kind = ob.tensor_type(ob.FLOAT, ["N", 2])
    model = ob.model([ob.node("Neg", ["x"], ["y"])], {"x": kind}, {"y": kind})
    sessions = [onyx.InferenceSession(model, options, providers=[DEVICE, "cpu"]) for _ in range(2)]
    used = onyx.memory_stats(DEVICE)["InUse"]
    for session in sessions:
        session.run(None, {"x": X})
        more = onyx.memory_stats(DEVICE)["InUse"]
        assert more > used and session.memory_stats(DEVICE)["InUse"] == more
        used = more


def test_dlpack(counts):
    value = there(X)
    if DEVICE == "cuda":
        assert value.__dlpack_device__() == (2, 0)
        assert "dltensor" in repr(value.__dlpack__())
    else:  # its addresses are the provider's own
        for ask in (value.__dlpack_device__, value.__dlpack__):
            with pytest.raises(RuntimeError, match="numpy"):
                ask()
    with pytest.raises(Exception):
        np.from_dlpack(value)
    assert onyx.OrtValue.ortvalue_from_numpy(X).__dlpack_device__() == (1, 0)


def test_what_is_wrong(counts):
    session, binding = chain(), chain().io_binding()
    binding.bind_ortvalue_input("x", there(X))
    binding.bind_ortvalue_output("y", there(X[:1]))
    with pytest.raises(RuntimeError, match="y"):
        session.run_with_iobinding(binding)
    with pytest.raises(RuntimeError, match="device"):
        onyx.OrtValue.ortvalue_from_numpy(X, "npu")
    with pytest.raises(RuntimeError):
        onyx.OrtValue.ortvalue_from_numpy(np.array(["a"]), DEVICE)
