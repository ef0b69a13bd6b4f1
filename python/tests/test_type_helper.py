# SPDX-License-Identifier: Apache-2.0
"""onnxruntime.transformers.io_binding_helper, which programs that bind inputs and outputs take types from."""


import numpy as np
import pytest

import onnx_bytes as ob


@pytest.fixture
def helper(ort):
    if ort.__name__ != "onnxruntime" or "Onyx" not in ort.__doc__:
        pytest.skip("of the package onnxruntime that comes with Onyx")
    from onnxruntime.transformers.io_binding_helper import TypeHelper

    return TypeHelper


@pytest.mark.parametrize("name,number,dtype", [
    ("tensor(float)", 1, np.float32), ("tensor(double)", 11, np.float64), ("tensor(bool)", 9, bool),
    ("tensor(float16)", 10, np.float16), ("tensor(uint8)", 2, np.uint8), ("tensor(int8)", 3, np.int8),
    ("tensor(uint16)", 4, np.uint16), ("tensor(int16)", 5, np.int16), ("tensor(uint32)", 12, np.uint32),
    ("tensor(int32)", 6, np.int32), ("tensor(uint64)", 13, np.uint64), ("tensor(int64)", 7, np.int64)])
def test_types(helper, name, number, dtype):
    assert helper.ort_type_to_numpy_type(name) is dtype
    assert helper.ort_type_to_onnx_type(name) == number
    torch = pytest.importorskip("torch")
    assert helper.torch_type_to_numpy_type(helper.ort_type_to_torch_type(name)) is dtype
    assert helper.numpy_type_to_torch_type(np.dtype(dtype)) is helper.ort_type_to_torch_type(name)
    assert isinstance(helper.ort_type_to_torch_type(name), torch.dtype)


def test_types_without_a_counterpart(helper):
    assert helper.ort_type_to_onnx_type("tensor(bfloat16)") == 16
    for call, what in [(helper.ort_type_to_numpy_type, "tensor(bfloat16)"), (helper.ort_type_to_numpy_type, "x"),
                       (helper.ort_type_to_onnx_type, "seq(tensor(float))"),
                       (helper.torch_type_to_numpy_type, "torch.bfloat16")]:
        with pytest.raises(ValueError):
            call(what)


def test_types_of_a_session(ort, helper, cpu):
    session = ort.InferenceSession(ob.unary("Identity", ob.FLOAT, ["N"]), providers=cpu)
    assert helper.get_input_type(session, "x") == helper.get_output_type(session, "z") == "tensor(float)"
    assert helper.get_io_numpy_type_map(session) == {"x": np.float32, "z": np.float32}
    assert helper.get_io_onnx_type_map(session) == {"x": 1, "z": 1}
    for call in (helper.get_input_type, helper.get_output_type):
        with pytest.raises(ValueError):
            call(session, "other")
