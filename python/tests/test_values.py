# SPDX-License-Identifier: Apache-2.0
"""OrtValue, bindings, sparse tensors, DLPack."""

import numpy as np
import pytest

import onnx_bytes as ob

X = np.array([1, -2, 3], np.float32)


def test_of_an_array(ort):
    x = X.copy()
    value = ort.OrtValue.ortvalue_from_numpy(x)
    assert value.shape() == [3] and value.data_type() == "tensor(float)" and value.element_type() == 1
    assert value.device_name() == "cpu" and value.tensor_size_in_bytes() == 12
    assert value.has_value() and value.is_tensor() and not value.is_sparse_tensor() and not value.is_tensor_sequence()
    assert value.data_ptr() == x.ctypes.data  # no copy
    assert value.numpy().ctypes.data == x.ctypes.data
    np.testing.assert_array_equal(np.asarray(value), x)
    assert np.asarray(value, dtype=np.float64).dtype == np.float64


def test_it_keeps_the_array(ort):
    value = ort.OrtValue.ortvalue_from_numpy(np.full(100000, 7, np.float32))
    other = np.zeros(100000, np.float32)
    assert other is not None and (value.numpy() == 7).all()


def test_strided_arrays_are_copied(ort):
    value = ort.OrtValue.ortvalue_from_numpy(np.arange(16, dtype=np.float32).reshape(4, 4)[:, ::2])
    np.testing.assert_array_equal(value.numpy(), np.arange(0, 16, 2).reshape(4, 2))


@pytest.mark.parametrize("given", [[1, 2], 3, None, np.array(["a"]), np.array([b"a"]), np.array(["a"], object)], ids=repr)
def test_what_is_no_array_of_numbers(ort, given):
    with pytest.raises(RuntimeError):
        ort.OrtValue.ortvalue_from_numpy(given)


@pytest.mark.parametrize("given", [np.float32, "float32", np.dtype("float32"), 1], ids=repr)
def test_of_a_shape(ort, given):
    value = ort.OrtValue.ortvalue_from_shape_and_type([2, 3], given)
    assert value.shape() == [2, 3] and value.data_type() == "tensor(float)"
    assert value.numpy().shape == (2, 3)


def test_of_a_shape_and_an_onnx_type(ort):
    assert ort.OrtValue.ortvalue_from_shape_and_type([2], ob.BFLOAT16).data_type() == "tensor(bfloat16)"


def test_wrong_shapes_and_devices(ort):
    with pytest.raises(RuntimeError):
        ort.OrtValue.ortvalue_from_shape_and_type([2, -3], np.float32)
    with pytest.raises(Exception, match="device"):
        ort.OrtValue.ortvalue_from_shape_and_type([2], np.float32, "toaster", 0)
    with pytest.raises(RuntimeError):
        ort.OrtValue.ortvalue_from_shape_and_type([2], np.float32, "cuda", 0)


def test_with_an_onnx_type(ort):
    value = ort.OrtValue.ortvalue_from_numpy_with_onnx_type(np.array([0x3F80], np.uint16), ob.BFLOAT16)
    assert value.data_type() == "tensor(bfloat16)" and value.element_type() == 16 and value.shape() == [1]
    with pytest.raises(RuntimeError):
        ort.OrtValue.ortvalue_from_numpy_with_onnx_type(np.array([1], np.uint8), ob.BFLOAT16)


def test_update(ort):
    x = X.copy()
    value = ort.OrtValue.ortvalue_from_numpy(x)
    value.update_inplace(X * 2)
    np.testing.assert_array_equal(value.numpy(), X * 2)
    np.testing.assert_array_equal(x, X * 2)
    with pytest.raises(RuntimeError):
        value.update_inplace(np.ones(7, np.float32))


def test_what_is_no_value(ort):
    with pytest.raises(ValueError):
        ort.OrtValue(3)


def test_runs_of_values(ort, errors, cpu):
    session = ort.InferenceSession(ob.add(["N"]), providers=cpu)
    value = ort.OrtValue.ortvalue_from_numpy(X)
    (z,) = session.run_with_ort_values(["z"], {"x": value, "y": value})
    np.testing.assert_array_equal(z.numpy(), X + X)
    np.testing.assert_array_equal(session.run(None, {"x": value, "y": X})[0], X + X)
    with pytest.raises(AttributeError):
        session.run_with_ort_values(["z"], {"x": X, "y": value})
    with pytest.raises(errors.InvalidArgument):
        session.run_with_ort_values(["q"], {"x": value, "y": value})


def test_a_sequence(ort, cpu):
    kind = ob.tensor_type(ob.FLOAT, ["N"])
    model = ob.model([ob.node("SequenceConstruct", ["x"], ["s"])], {"x": kind}, {"s": ob.sequence_type(kind)})
    (s,) = ort.InferenceSession(model, providers=cpu).run_with_ort_values(None, {"x": ort.OrtValue.ortvalue_from_numpy(X)})
    assert s.is_tensor_sequence() and not s.is_tensor() and s.data_type() == "seq(tensor(float))"
    for ask in (s.numpy, s.shape):
        with pytest.raises(RuntimeError):
            ask()


# ---- bindings ----


@pytest.fixture
def session(ort, cpu):
    return ort.InferenceSession(ob.add(["N"]), providers=cpu)


def test_a_binding(session):
    binding, y = session.io_binding(), X * 2
    binding.bind_cpu_input("x", X)
    binding.bind_input("y", "cpu", 0, np.float32, [3], y.ctypes.data)
    binding.bind_output("z")
    for _ in range(2):
        session.run_with_iobinding(binding)
        np.testing.assert_array_equal(binding.copy_outputs_to_cpu()[0], X * 3)
    (z,) = binding.get_outputs()
    assert z.shape() == [3] and z.data_type() == "tensor(float)"
    assert len(binding.get_outputs_as_ortvaluevector()) == 1
    binding.synchronize_inputs()
    binding.synchronize_outputs()


def test_outputs_into_given_memory(ort, session):
    out = np.zeros(3, np.float32)
    binding = session.io_binding()
    binding.bind_ortvalue_input("x", ort.OrtValue.ortvalue_from_numpy(X))
    binding.bind_cpu_input("y", X)
    binding.bind_output("z", "cpu", 0, np.float32, [3], out.ctypes.data)
    session.run_with_iobinding(binding)
    np.testing.assert_array_equal(out, 2 * X)
    value = ort.OrtValue.ortvalue_from_shape_and_type([3], np.float32)
    binding.bind_ortvalue_output("z", value)  # in place of the other
    session.run_with_iobinding(binding, ort.RunOptions())
    np.testing.assert_array_equal(value.numpy(), 2 * X)
    assert binding.get_outputs()[0].data_ptr() == value.data_ptr()


def test_a_binding_keeps_what_is_bound(ort, session):
    binding = session.io_binding()
    binding.bind_cpu_input("x", np.full(1000, 3, np.float32))
    binding.bind_ortvalue_input("y", ort.OrtValue.ortvalue_from_numpy(np.full(1000, 4, np.float32)))
    binding.bind_output("z")
    junk = [np.zeros(1000, np.float32) for _ in range(50)]
    session.run_with_iobinding(binding)
    assert (binding.copy_outputs_to_cpu()[0] == 7).all() and junk


def test_wrong_bindings(session):
    binding = session.io_binding()
    for wrong in (lambda: binding.bind_cpu_input("q", X), lambda: binding.bind_cpu_input("x", [1.0])):
        with pytest.raises(RuntimeError):
            wrong()
    with pytest.raises(RuntimeError):
        binding.bind_output("q")
        session.run_with_iobinding(binding)
    with pytest.raises(AttributeError):
        binding.bind_ortvalue_input("x", X)


@pytest.mark.parametrize("inputs, outputs", [(["x"], ["z"]), (["x", "y"], [])])
def test_incomplete_bindings(session, inputs, outputs):
    binding = session.io_binding()
    for name in inputs:
        binding.bind_cpu_input(name, X)
    for name in outputs:
        binding.bind_output(name)
    with pytest.raises(RuntimeError, match="Error in execution"):
        session.run_with_iobinding(binding)


def test_clearing(session):
    binding = session.io_binding()
    binding.bind_cpu_input("x", X)
    binding.bind_cpu_input("y", X)
    binding.bind_output("z")
    session.run_with_iobinding(binding)
    binding.clear_binding_inputs()
    binding.clear_binding_outputs()
    with pytest.raises(RuntimeError):
        session.run_with_iobinding(binding)


# ---- DLPack ----


@pytest.mark.parametrize("onnx", sorted(ob.NUMPY))
def test_dlpack_both_ways(ort, onnx):
    x = np.arange(6).reshape(2, 3).astype(ob.NUMPY[onnx])
    value = ort.OrtValue.ortvalue_from_numpy(x)
    assert value.__dlpack_device__() == (1, 0)
    if onnx == ob.BOOL:
        return  # NumPy 1.24 and ONNX Runtime do not agree about bool
    np.testing.assert_array_equal(np.from_dlpack(value), x)
    back = ort.OrtValue.from_dlpack(x)
    assert back.data_ptr() == x.ctypes.data
    np.testing.assert_array_equal(back.numpy(), x)


def test_a_capsule_that_nobody_takes(ort):
    for _ in range(100):
        ort.OrtValue.ortvalue_from_numpy(np.ones(10, np.float32)).__dlpack__()


# ---- sparse tensors ----


def test_coordinates(ort):
    device = ort.OrtDevice.make("cpu", 0)
    t = ort.SparseTensor.sparse_coo_from_numpy(
        np.array([3, 3]), np.array([1, 2], np.float32), np.array([0, 4]), device)
    assert t.format() == ort.OrtSparseFormat.ORT_SPARSE_COO and list(t.dense_shape()) == [3, 3]
    assert t.data_type() == "sparse_tensor(float)" and t.device_name() == "cpu"
    np.testing.assert_array_equal(t.values(), [1, 2])
    np.testing.assert_array_equal(t.as_coo_view().indices(), [0, 4])
    with pytest.raises(RuntimeError):
        t.as_csrc_view()
    value = ort.OrtValue.ort_value_from_sparse_tensor(t)
    assert value.is_sparse_tensor() and not value.is_tensor()
    np.testing.assert_array_equal(value.as_sparse_tensor().values(), [1, 2])


def test_compressed_rows(ort):
    t = ort.SparseTensor.sparse_csr_from_numpy(
        np.array([3, 3]), np.array([1, 2], np.float32), np.array([0, 1]), np.array([0, 1, 2, 2]),
        ort.OrtDevice.make("cpu", 0))
    assert t.format() == ort.OrtSparseFormat.ORT_SPARSE_CSRC
    np.testing.assert_array_equal(t.as_csrc_view().inner(), [0, 1])
    np.testing.assert_array_equal(t.as_csrc_view().outer(), [0, 1, 2, 2])
    with pytest.raises(RuntimeError):
        t.as_coo_view()


ELEMENT_TYPES = {np.float32: 1, np.int32: 6, np.int64: 7, np.float64: 11, np.uint32: 12, np.uint64: 13}


def _sparse_product(number, transposed):
    """y = SparseToDenseMatMul(a, b)"""
    product = ob.node("SparseToDenseMatMul", ["a", "b"], ["y"], "com.microsoft", transA=transposed)
    kinds = {"a": ob.tensor_type(number, [None, None], 8), "b": ob.tensor_type(number, [None, 2])}
    return ob.model([product], kinds, {"y": ob.tensor_type(number, [None, 2])})


@pytest.mark.parametrize("dtype", list(ELEMENT_TYPES))
@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("transposed", [0, 1])
def test_a_run(ort, cpu, dtype, rows, transposed):
    dense = np.array([[0, 2, 0, 1], [0, 0, 0, 0], [3, 0, 4, 0]], dtype)
    session = ort.InferenceSession(_sparse_product(ELEMENT_TYPES[dtype], transposed), providers=cpu)
    assert session.get_inputs()[0].type.startswith("sparse_tensor(")
    device, (i, j) = ort.OrtDevice.make("cpu", 0), (index.copy() for index in np.nonzero(dense))
    shape = np.array(dense.shape)
    if rows:
        outer = np.concatenate([[0], np.cumsum((dense != 0).sum(1))])
        a = ort.SparseTensor.sparse_csr_from_numpy(shape, dense[i, j], j, outer, device)
    else:
        a = ort.SparseTensor.sparse_coo_from_numpy(shape, dense[i, j], np.stack([i, j], 1).ravel(), device)
    b = np.arange(2 * dense.shape[1 - transposed]).reshape(-1, 2).astype(dtype)
    feed = {"a": ort.OrtValue.ort_value_from_sparse_tensor(a), "b": ort.OrtValue.ortvalue_from_numpy(b)}
    (y,) = session.run_with_ort_values(None, feed)
    np.testing.assert_array_equal(y.numpy(), (dense.T if transposed else dense) @ b)
    binding = session.io_binding()
    for name, value in feed.items():
        binding.bind_ortvalue_input(name, value)
    binding.bind_output("y")
    session.run_with_iobinding(binding)
    np.testing.assert_array_equal(binding.copy_outputs_to_cpu()[0], y.numpy())


# ---- devices ----


def test_devices_by_name(ort):
    device = ort.OrtDevice.make("cpu", 0)
    assert (device.device_type(), device.device_id(), device.device_vendor_id(), device.device_mem_type()) == (0, 0, 0, 0)
    device = ort.OrtDevice.make("cuda", 1)
    assert (device.device_type(), device.device_id(), device.device_vendor_id()) == (1, 1, 0x10DE)
    with pytest.raises(Exception):
        ort.OrtDevice.make("toaster", 0)
