# SPDX-License-Identifier: Apache-2.0
"""What providers keep beside compiled models, stored and found by functions in Python. The provider is the fake library of
the build folder."""

import ctypes
import os
import pickle

import numpy as np
import pytest

import onnx_bytes as ob
import onyx

FAKE = os.path.join(os.path.dirname(os.path.abspath(onyx.__file__)), "..", "..", "tests", "libort_fake_ep.so")
X = np.arange(3, dtype=np.float32)


@pytest.fixture
def fake():
    """Makes options for the provider, which stores its data outside of models."""
    if not os.path.exists(FAKE):
        pytest.skip("the build folder has no libort_fake_ep.so")
    library = ctypes.CDLL(FAKE)
    library.fake_ep_context(True, True)
    onyx.register_execution_provider_library("fake", FAKE)

    def options(reader=None, most=1000):
        made = onyx.SessionOptions()
        made.add_provider_for_devices([d for d in onyx.get_ep_devices() if d.ep_name == "FakeCompile"], {})
        if reader:
            made.set_ep_context_data_read_func(reader, most)
        return made

    options.make_contexts = lambda on: library.fake_ep_context(on, True)
    yield options
    library.fake_ep_context(False, False)
    onyx.unregister_execution_provider_library("fake")


def compiled(fake, write):
    """An Add, as a node EPContext."""
    compiler = onyx.ModelCompiler(fake(), ob.add([3]))
    compiler.set_ep_context_data_write_func(write)
    try:
        return compiler.compile_to_bytes()
    finally:
        fake.make_contexts(False)


def stored(fake):
    """The model, and what the provider stored: {name: bytes}."""
    store = {}
    return compiled(fake, lambda name, data: store.update({name: data.read()})), store


def test_stored_data_is_found_again(fake):
    model, store = stored(fake)
    assert len(store) == 1 and list(store.values())[0].startswith(b"A x y z;")

    def read(name, room):
        assert (room.is_allocated, room.size, room.max_size) == (False, 0, 1000)
        room.allocate(len(store[name]))
        half = len(store[name]) // 2
        room.write(store[name][:half])
        room.write(memoryview(bytearray(store[name][half:])), offset=half)
        assert (room.is_allocated, room.size) == (True, len(store[name]))

    session = onyx.InferenceSession(model, fake(read))
    np.testing.assert_array_equal(session.run(None, {"x": X, "y": X})[0], 2 * X)


def test_ranges_of_data(fake):
    seen = []

    def write(name, data):
        whole = data.read()
        assert data.size == len(whole) and data.read(data.size) == b"" == data.read(0, 0)
        assert data.read(1, 3) == whole[1:4] and data.read(length=2, offset=2) == whole[2:4]
        for wrong in [(data.size + 1,), (-1,), (0, data.size + 1), (1, data.size), (0, -1)]:
            with pytest.raises(RuntimeError):
                data.read(*wrong)
        with pytest.raises(TypeError):
            data.read("x")
        seen.append(data)

    compiled(fake, write)
    for use in (lambda: seen[0].size, lambda: seen[0].read()):
        with pytest.raises(RuntimeError, match="only while"):
            use()


def test_buffers(fake):
    model, store = stored(fake)
    (name, data), seen = list(store.items())[0], []

    def read(name, room):
        seen.append(room)
        for wrong in (lambda: room.write(b"x"), lambda: room.allocate(room.max_size + 1), lambda: room.allocate(-1)):
            with pytest.raises(RuntimeError):
                wrong()
        room.allocate(len(data))
        for wrong in (lambda: room.allocate(1), lambda: room.write(data, 1), lambda: room.write(data, -1)):
            with pytest.raises(RuntimeError):
                wrong()
        with pytest.raises(TypeError):
            room.write("text")
        room.write(data)

    onyx.InferenceSession(model, fake(read))
    for use in (lambda: seen[0].size, lambda: seen[0].write(b""), lambda: seen[0].allocate(1)):
        with pytest.raises(RuntimeError, match="only while"):
            use()


@pytest.mark.parametrize("read, why", [
    (lambda name, room: 1 / 0, "division by zero"),
    (lambda name, room: None, "allocate"),
    (lambda name, room: (room.allocate(5), {}["gone"]), "gone"),
    (lambda name, room: room.allocate(10**6), "at most 1000"),
])
def test_a_function_that_fails_to_read(fake, read, why):
    model, _ = stored(fake)
    with pytest.raises(onyx.Fail, match=why):
        onyx.InferenceSession(model, fake(read), enable_fallback=0)


def test_a_function_that_fails_to_write(fake):
    with pytest.raises(onyx.Fail, match="division by zero"):
        compiled(fake, lambda name, data: 1 / 0)


def test_functions_are_forgotten(fake):
    model, store = stored(fake)
    options = fake(lambda name, room: 1 / 0)
    options.clear_ep_context_data_read_func()
    with pytest.raises(onyx.EPFail, match="nobody has the data"):
        onyx.InferenceSession(model, options, enable_fallback=0)
    fake.make_contexts(True)
    compiler = onyx.ModelCompiler(fake(), ob.add([3]))
    compiler.set_ep_context_data_write_func(lambda name, data: 1 / 0)
    compiler.clear_ep_context_data_write_func()
    with pytest.raises(onyx.EPFail, match="nobody keeps the data"):
        compiler.compile_to_bytes()


def of_module(name, room):
    """A function that can be pickled."""


def test_what_is_wrong(ort):
    if not hasattr(ort, "OrtEpContextData"):
        pytest.skip("older release")
    options = ort.SessionOptions()
    for wrong, error in [((None, 5), RuntimeError), ((3, 5), TypeError), ((of_module, 0), RuntimeError),
                         ((of_module, 2**64 - 1), RuntimeError), ((of_module, -1), TypeError),
                         ((of_module, 2.5), TypeError), ((of_module,), TypeError)]:
        with pytest.raises(error):
            options.set_ep_context_data_read_func(*wrong)
    options.set_ep_context_data_read_func(of_module, 2**64 - 2)
    options.clear_ep_context_data_read_func()
    compiler = ort.ModelCompiler(options, ob.add())
    with pytest.raises(RuntimeError):
        compiler.set_ep_context_data_write_func(None)
    with pytest.raises(TypeError):
        compiler.set_ep_context_data_write_func(3)
    compiler.set_ep_context_data_write_func(of_module)
    compiler.clear_ep_context_data_write_func()
    for kind in (ort.OrtEpContextData, ort.OrtEpContextDataBuffer):
        with pytest.raises(TypeError):
            kind()


def test_options_are_pickled_with_their_function():
    options = onyx.SessionOptions()
    options.set_ep_context_data_read_func(of_module, 7)
    again = pickle.loads(pickle.dumps(options))
    assert again._keep == [(of_module, 7)]
