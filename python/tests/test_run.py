# SPDX-License-Identifier: Apache-2.0
"""run(): what goes in and what comes out."""

import collections
import pathlib
import types

import numpy as np
import pytest

import onnx_bytes as ob

X = np.array([[1, 2], [3, 4]], np.float32)
Y = np.array([[10, 20], [30, 40]], np.float32)


@pytest.fixture
def session(ort, cpu):
    return ort.InferenceSession(ob.add(), providers=cpu)


@pytest.mark.parametrize("names", [None, [], ["z"], ("z",)])
def test_outputs_by_name(session, names):
    (z,) = session.run(names, {"x": X, "y": Y})
    assert type(z) is np.ndarray and z.dtype == np.float32
    np.testing.assert_array_equal(z, X + Y)


def test_an_output_twice(session):
    a, b = session.run(["z", "z"], {"x": X, "y": Y})
    np.testing.assert_array_equal(a, b)


def test_outputs_in_the_order_asked(ort, cpu):
    kind = ob.tensor_type(ob.FLOAT, [2])
    model = ob.model([ob.node("Neg", ["x"], ["a"]), ob.node("Abs", ["a"], ["b"])], {"x": kind}, {"a": kind, "b": kind})
    session = ort.InferenceSession(model, providers=cpu)
    x = np.array([1, 2], np.float32)
    b, a = session.run(["b", "a"], {"x": x})
    np.testing.assert_array_equal(a, -x)
    np.testing.assert_array_equal(b, x)


@pytest.mark.parametrize("make", [
    lambda x: x, lambda x: np.asfortranarray(x), lambda x: np.repeat(x, 2, 0)[::2], lambda x: x[::-1, ::-1],
    lambda x: np.ma.masked_array(x), lambda x: x.tolist(), lambda x: [x[0], x[1]],
    lambda x: np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(np.float32).reshape(x.shape)],
    ids=["plain", "fortran", "strided", "reversed", "subclass", "list", "list of arrays", "unaligned"])
def test_layouts_of_an_input(session, make):
    given = make(X)
    (z,) = session.run(None, {"x": given, "y": Y})
    np.testing.assert_array_equal(z, np.asarray(given, np.float32) + Y)


def test_a_read_only_input(session):
    x = X.copy()
    x.flags.writeable = False
    np.testing.assert_array_equal(session.run(None, {"x": x, "y": Y})[0], X + Y)


@pytest.mark.parametrize("feeds", [dict, collections.OrderedDict, types.MappingProxyType])
def test_kinds_of_feeds(session, feeds):
    np.testing.assert_array_equal(session.run(None, feeds({"x": X, "y": Y}))[0], X + Y)


def test_arguments_by_name(ort, session):
    (z,) = session.run(output_names=["z"], input_feed={"x": X, "y": Y}, run_options=ort.RunOptions())
    np.testing.assert_array_equal(z, X + Y)


def test_outputs_outlive_the_session(ort, cpu):
    session = ort.InferenceSession(ob.add(), providers=cpu)
    (z,) = session.run(None, {"x": X, "y": Y})
    del session
    np.testing.assert_array_equal(z, X + Y)
    z += 1  # and may be written
    np.testing.assert_array_equal(z, X + Y + 1)


def test_outputs_of_runs_are_apart(session):
    (a,) = session.run(None, {"x": X, "y": Y})
    (b,) = session.run(None, {"x": Y, "y": Y})
    np.testing.assert_array_equal(a, X + Y)
    np.testing.assert_array_equal(b, Y + Y)


@pytest.mark.parametrize("onnx", sorted(ob.NUMPY))
@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 2), (2, 0, 3)])
def test_element_types(ort, cpu, onnx, shape):
    session = ort.InferenceSession(ob.unary("Identity", onnx, [None] * len(shape)), providers=cpu)
    x = np.arange(int(np.prod(shape))).reshape(shape).astype(ob.NUMPY[onnx])
    (z,) = session.run(None, {"x": x})
    assert z.dtype == x.dtype and z.shape == x.shape
    np.testing.assert_array_equal(z, x)


def test_many_inputs_and_outputs(ort, cpu):
    kind, n = ob.tensor_type(ob.FLOAT, [1]), 40
    model = ob.model([ob.node("Neg", [f"x{i}"], [f"z{i}"]) for i in range(n)], {f"x{i}": kind for i in range(n)},
                     {f"z{i}": kind for i in range(n)})
    outputs = ort.InferenceSession(model, providers=cpu).run(
        None, {f"x{i}": np.array([i], np.float32) for i in range(n)})
    assert [z[0] for z in outputs] == [-i for i in range(n)]


@pytest.mark.parametrize("kind", ["str", "path", "bytes"])
def test_models_from(ort, cpu, tmp_path, kind):
    path = tmp_path / "m\u00fc.onnx"
    path.write_bytes(ob.add())
    given = {"str": str(path), "path": pathlib.Path(path), "bytes": ob.add()}[kind]
    session = ort.InferenceSession(given, providers=cpu)
    np.testing.assert_array_equal(session.run(None, {"x": X, "y": Y})[0], X + Y)


def test_a_default_may_be_overridden(ort, cpu):
    kind = ob.tensor_type(ob.FLOAT, [2, 2])
    model = ob.model([ob.node("Add", ["x", "y"], ["z"])], {"x": kind, "y": kind}, {"z": kind}, {"y": Y})
    session = ort.InferenceSession(model, providers=cpu)
    assert [i.name for i in session.get_inputs()] == ["x"]
    assert [i.name for i in session.get_overridable_initializers()] == ["y"]
    np.testing.assert_array_equal(session.run(None, {"x": X})[0], X + Y)
    np.testing.assert_array_equal(session.run(None, {"x": X, "y": X})[0], X + X)


def test_what_a_session_says(ort, cpu):
    session = ort.InferenceSession(ob.add(props=[("key", "v\u00e4lue")]), providers=cpu)
    x, y = session.get_inputs()
    (z,) = session.get_outputs()
    assert (x.name, x.type, x.shape) == ("x", "tensor(float)", ["N", 2])
    assert (z.name, z.type, z.shape) == ("z", "tensor(float)", ["N", 2])
    assert str(x) == "NodeArg(name='x', type='tensor(float)', shape=['N', 2])"
    meta = session.get_modelmeta()
    assert (meta.producer_name, meta.graph_name, meta.domain, meta.description, meta.graph_description, meta.version) == (
        "tests", "graph", "", "a model", "", 3)
    assert meta.custom_metadata_map == {"key": "v\u00e4lue"}
    assert session.get_providers() == cpu
    assert session.get_provider_options() == {"CPUExecutionProvider": {}}


def test_the_session_below(ort, cpu):
    session = ort.InferenceSession(ob.add(), providers=cpu)
    below = session._sess
    assert [x.name for x in below.inputs_meta] == ["x", "y"] and [z.name for z in below.outputs_meta] == ["z"]
    assert below.overridable_initializers == [] and below.model_meta.graph_name == "graph"
    assert isinstance(below.session_options, ort.SessionOptions)
    np.testing.assert_array_equal(below.run(["z"], {"x": X, "y": X}, None)[0], X + X)


def test_shapes_of_any_rank(ort, cpu):
    model = ob.model([ob.node("Neg", ["x"], ["z"])], {"x": ob.tensor_type(ob.FLOAT)},
                     {"z": ob.tensor_type(ob.FLOAT, [None, "M"])})
    session = ort.InferenceSession(model, providers=cpu)
    assert session.get_inputs()[0].shape == []
    assert session.get_outputs()[0].shape == [None, "M"]
