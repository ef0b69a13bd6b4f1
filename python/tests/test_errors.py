# SPDX-License-Identifier: Apache-2.0
"""What is refused, and with which exception."""

import numpy as np
import pytest

import onnx_bytes as ob

X = np.ones((2, 2), np.float32)

LOADS = {
    "a file that is not there": (lambda: "/nowhere/model.onnx", "NoSuchFile"),
    "no protobuf": (lambda: b"hello", "InvalidProtobuf"),
    "nothing": (lambda: b"", "InvalidArgument"),
    "an int": (lambda: 3, TypeError),
    "None": (lambda: None, TypeError),
    "a bytearray": (lambda: bytearray(ob.add()), TypeError),
    "no such operator": (lambda: ob.unary("NoSuchOperator"), "InvalidGraph"),
}


@pytest.mark.parametrize("case", LOADS)
def test_loading(ort, errors, cpu, case):
    make, wanted = LOADS[case]
    with pytest.raises(getattr(errors, wanted) if isinstance(wanted, str) else wanted):
        ort.InferenceSession(make(), providers=cpu)


RUNS = {
    "a str of names": (("z", {"x": X, "y": X}), TypeError, ""),
    "a name that is an int": (([3], {"x": X, "y": X}), TypeError, ""),
    "a name that is None": (([None], {"x": X, "y": X}), TypeError, ""),
    "no such output": ((["q"], {"x": X, "y": X}), "InvalidArgument", "q"),
    "no name": (([""], {"x": X, "y": X}), "InvalidArgument", ""),
    "no such input": ((None, {"x": X, "y": X, "w": X}), "InvalidArgument", "w"),
    "an input is missing": ((None, {"x": X}), ValueError, "y"),
    "a key that is an int": ((None, {3: X, "y": X}), ValueError, "x"),
    "feeds are a list": ((None, [X, X]), AttributeError, "keys"),
    "feeds are None": ((None, None), AttributeError, "keys"),
    "a wrong type": ((None, {"x": X.astype(np.float64), "y": X}), "InvalidArgument", "x|data type"),
    "a wrong rank": ((None, {"x": X[0], "y": X}), "InvalidArgument", "x"),
    "a wrong size": ((None, {"x": np.ones((2, 3), np.float32), "y": X}), "InvalidArgument", "x"),
    "a float": ((None, {"x": 3.0, "y": X}), RuntimeError, "float"),
    "a scalar": ((None, {"x": np.float32(3), "y": X}), RuntimeError, "float32"),
    "an object": ((None, {"x": object(), "y": X}), RuntimeError, "object"),
    "a str": ((None, {"x": "abc", "y": X}), RuntimeError, ""),
    "a date": ((None, {"x": np.ones((2, 2), "M8[s]"), "y": X}), RuntimeError, "21"),
    "None": ((None, {"x": None, "y": X}), "Fail", "x"),
    "options are an int": ((None, {"x": X, "y": X}, 3), TypeError, ""),
}


@pytest.mark.parametrize("case", RUNS)
def test_running(ort, errors, cpu, case):
    args, wanted, text = RUNS[case]
    session = ort.InferenceSession(ob.add(), providers=cpu)
    with pytest.raises(getattr(errors, wanted) if isinstance(wanted, str) else wanted, match=text or None):
        session.run(*args)
    np.testing.assert_array_equal(session.run(None, {"x": X, "y": X})[0], 2 * X)  # it still works


def test_a_message_has_code_and_name(ort, errors, cpu):
    with pytest.raises(errors.InvalidArgument, match=r"^\[ONNXRuntimeError\] : 2 : INVALID_ARGUMENT : "):
        ort.InferenceSession(ob.add(), providers=cpu).run(["q"], {"x": X, "y": X})


def test_a_node_fails(ort, cpu):
    model = ob.model([ob.node("Reshape", ["x", "s"], ["z"])],
                     {"x": ob.tensor_type(ob.FLOAT, ["N"]), "s": ob.tensor_type(ob.INT64, ["K"])},
                     {"z": ob.tensor_type(ob.FLOAT)})
    session = ort.InferenceSession(model, providers=cpu)
    with pytest.raises(Exception, match="Reshape"):
        session.run(None, {"x": np.ones(4, np.float32), "s": np.array([3])})


ROW, I = np.ones(3, np.float32), np.int64
NODES = {  # inputs of a node that fit its declaration, but not each other
    "no broadcast": ("Add", [ROW, ROW[:2]], "Fail"),
    "no broadcast of a condition": ("Where", [ROW[:2] > 0, ROW, ROW], "Fail"),
    "no product": ("MatMul", [np.ones((2, 3), np.float32), np.ones((4, 5), np.float32)], "Fail"),
    "no product of matrices": ("Gemm", [np.ones((2, 3), np.float32), np.ones((4, 5), np.float32)], "InvalidArgument"),
    "other channels": ("Conv", [np.ones((1, 3, 4, 4), np.float32), np.ones((2, 2, 3, 3), np.float32)], "Fail"),
    "another number of elements": ("Reshape", [ROW, np.array([2], I)], "Fail"),
    "two dimensions of -1": ("Reshape", [ROW, np.array([-1, -1], I)], "Fail"),
    "a dimension that is not 1": ("Squeeze", [ROW, np.array([0], I)], "Fail"),
    "an axis that there is not": ("Unsqueeze", [ROW, np.array([7], I)], "Fail"),
    "an axis to reduce": ("ReduceSum", [ROW, np.array([7], I)], "Fail"),
    "an axis to cut": ("Slice", [ROW, np.array([0], I), np.array([1], I), np.array([7], I)], "InvalidArgument"),
    "an index": ("Gather", [ROW, np.array([7], I)], "InvalidArgument"),
    "an index of many": ("GatherElements", [ROW, np.array([7], I)], "Fail"),
    "too many": ("TopK", [ROW, np.array([7], I)], "Fail"),
    "pads for other axes": ("Pad", [ROW, np.array([1], I)], "Fail"),
    "no expansion": ("Expand", [ROW, np.array([2], I)], "InvalidArgument"),
    "repeats for other axes": ("Tile", [ROW, np.array([2, 2], I)], "InvalidArgument"),
    "a step of 0": ("Range", [np.float32(0), np.float32(1), np.float32(0)], "InvalidArgument"),
}


@pytest.mark.parametrize("case", NODES)
def test_a_node_does_not_take_its_inputs(ort, errors, cpu, case):
    op, arrays, wanted = NODES[case]
    types = {np.dtype(np.float32): ob.FLOAT, np.dtype(np.int64): ob.INT64, np.dtype(bool): ob.BOOL}
    names = [f"in{i}" for i in range(len(arrays))]
    inputs = {name: ob.tensor_type(types[array.dtype], [f"{name}_{d}" for d in range(array.ndim)])
              for name, array in zip(names, arrays)}
    outputs = ["z", "places"] if op == "TopK" else ["z"]
    kinds = {name: ob.tensor_type(ob.INT64 if name == "places" else ob.FLOAT) for name in outputs}
    session = ort.InferenceSession(ob.model([ob.node(op, names, outputs)], inputs, kinds), providers=cpu)
    if tuple(map(int, ort.get_version_string().split(".")[:2])) < (1, 32):
        pytest.skip("older releases have other classes")
    with pytest.raises(getattr(errors, wanted), match=op):
        session.run(None, {name: np.asarray(array) for name, array in zip(names, arrays)})


def test_a_terminated_run(ort, errors, cpu):
    session = ort.InferenceSession(ob.add(), providers=cpu)
    options = ort.RunOptions()
    options.terminate = True
    with pytest.raises(errors.Fail, match="terminate flag"):
        session.run(None, {"x": X, "y": X}, options)
    options.terminate = False
    np.testing.assert_array_equal(session.run(None, {"x": X, "y": X}, options)[0], 2 * X)


def test_all_exceptions_are_there(errors):
    for name in ("DeviceReset EPFail EngineError Fail InvalidArgument InvalidGraph InvalidProtobuf ModelLoadCanceled "
                 "ModelLoaded ModelRequiresCompilation NoModel NoSuchFile NotImplemented RuntimeException").split():
        if name == "DeviceReset" and not hasattr(errors, name):
            continue  # new
        assert issubclass(getattr(errors, name), Exception)
        assert not issubclass(getattr(errors, name), RuntimeError)


PROVIDERS = {
    "one that is not there": ((["CUDAExecutionProvider", "CPUExecutionProvider"], None), UserWarning),
    "one that nobody knows": ((["NoSuchExecutionProvider"], None), UserWarning),
    "one twice": ((["CPUExecutionProvider", "CPUExecutionProvider"], None), UserWarning),
    "an int": (([3], None), None),
    "options for another number": ((["CPUExecutionProvider"], [{}, {}]), None),
    "options twice": (([("CPUExecutionProvider", {})], [{}]), None),
    "options alone": ((None, [{}]), None),
}


@pytest.mark.parametrize("case", PROVIDERS)
def test_providers_fall_back(ort, case):
    (providers, options), warning = PROVIDERS[case]
    if warning:
        with pytest.warns(warning):
            session = ort.InferenceSession(ob.add(), providers=providers, provider_options=options)
    else:
        session = ort.InferenceSession(ob.add(), providers=providers, provider_options=options)
    assert session.get_providers() == ["CPUExecutionProvider"]


@pytest.mark.parametrize("case", ["an int", "options for another number", "options twice"])
def test_set_providers_does_not_fall_back(ort, cpu, case):
    session = ort.InferenceSession(ob.add(), providers=cpu)
    with pytest.raises(ValueError):
        session.set_providers(*PROVIDERS[case][0])
    with pytest.warns(UserWarning), pytest.raises(RuntimeError, match="NoSuchExecutionProvider"):
        session.set_providers(["NoSuchExecutionProvider", "CPUExecutionProvider"])
    if session.get_providers():  # Microsoft's session is lost
        np.testing.assert_array_equal(session.run(None, {"x": X, "y": X})[0], 2 * X)


def test_a_provider_that_nobody_knows_without_a_fall_back(ort):
    with pytest.warns(UserWarning), pytest.raises(RuntimeError, match="NoSuchExecutionProvider"):
        ort.InferenceSession(ob.add(), providers=["NoSuchExecutionProvider"], enable_fallback=0)


def test_options_that_the_cpu_does_not_have_change_nothing(ort):
    providers = [("CPUExecutionProvider", {"arena_extend_strategy": "kSameAsRequested", "no_such_option": "1"})]
    session = ort.InferenceSession(ob.add(), providers=providers, enable_fallback=0)
    np.testing.assert_array_equal(session.run(None, {"x": X, "y": X})[0], 2 * X)


@pytest.mark.parametrize("case", ["an int", "options for another number", "options twice"])
def test_providers_without_a_fall_back(ort, case):
    (providers, options), _ = PROVIDERS[case]
    with pytest.raises(ValueError):
        ort.InferenceSession(ob.add(), providers=providers, provider_options=options, enable_fallback=0)
