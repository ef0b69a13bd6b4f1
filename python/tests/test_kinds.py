# SPDX-License-Identifier: Apache-2.0
"""Strings, sequences, maps, optionals."""

import numpy as np
import pytest

import onnx_bytes as ob

X = np.array([1, -2, 3], np.float32)
FLOATS = ob.tensor_type(ob.FLOAT, ["N"])
ML = "ai.onnx.ml"


def load(ort, cpu, nodes, inputs, outputs, **more):
    return ort.InferenceSession(ob.model(nodes, inputs, outputs, **more), providers=cpu)


@pytest.mark.parametrize("given", [
    np.array(["a", "", "\u00e9\u4e2d\U0001f600"]), np.array(["a", "", "\u00e9\u4e2d"], object),
    np.array([["a", "b"], ["cc", "dd"]])[:, ::-1], np.array([], "U1"), np.array("one")], ids=repr)
def test_strings(ort, cpu, given):
    session = ort.InferenceSession(ob.unary("Identity", ob.STRING, [None] * given.ndim), providers=cpu)
    (z,) = session.run(None, {"x": given})
    assert z.dtype == object and z.shape == given.shape
    assert z.tolist() == given.tolist()


def test_strings_from_a_list_and_from_objects(ort, cpu):
    session = ort.InferenceSession(ob.unary("Identity", ob.STRING, ["N"]), providers=cpu)
    assert session.run(None, {"x": ["a", "b"]})[0].tolist() == ["a", "b"]
    assert session.run(None, {"x": np.array([1, 2.5, None], object)})[0].tolist() == ["1", "2.5", "None"]


def test_bytes_that_are_no_utf8(ort, cpu):
    session = ort.InferenceSession(ob.unary("Identity", ob.STRING, ["N"]), providers=cpu)
    with pytest.raises(UnicodeDecodeError):
        session.run(None, {"x": np.array([b"a\xff"])})


def test_strings_that_are_made(ort, cpu):
    (z,) = ort.InferenceSession(ob.model(
        [ob.node("Cast", ["x"], ["z"], to=ob.STRING)], {"x": FLOATS}, {"z": ob.tensor_type(ob.STRING, ["N"])}),
        providers=cpu).run(None, {"x": X})
    assert z.tolist() == ["1", "-2", "3"]


def test_a_sequence_out(ort, cpu):
    session = load(ort, cpu, [ob.node("SequenceConstruct", ["x", "x"], ["s"])], {"x": FLOATS},
                   {"s": ob.sequence_type(FLOATS)})
    (s,) = session.run(None, {"x": X})
    assert type(s) is list and len(s) == 2
    np.testing.assert_array_equal(s[1], X)
    assert session.get_outputs()[0].type == "seq(tensor(float))" and session.get_outputs()[0].shape == []


@pytest.fixture
def sequence_at(ort, cpu):
    return load(ort, cpu, [ob.node("SequenceAt", ["s", "i"], ["z"])],
                {"s": ob.sequence_type(FLOATS), "i": ob.tensor_type(ob.INT64, [])}, {"z": FLOATS})


def test_a_sequence_in(sequence_at):
    (z,) = sequence_at.run(None, {"s": [X, X + 1, X[:1]], "i": np.array(1)})
    np.testing.assert_array_equal(z, X + 1)


@pytest.mark.parametrize("given", [3, "abc", [X.astype(np.float64)], [3]], ids=["int", "str", "doubles", "list of int"])
def test_what_is_no_sequence(sequence_at, given):
    with pytest.raises(RuntimeError):
        sequence_at.run(None, {"s": given, "i": np.array(0)})


def test_a_sequence_through(ort, cpu):
    session = load(ort, cpu, [ob.node("SequenceInsert", ["s", "x"], ["t"])],
                   {"s": ob.sequence_type(FLOATS), "x": FLOATS}, {"t": ob.sequence_type(FLOATS)})
    s, x = [X.copy(), X[:2].copy()], X * 5
    (t,) = session.run(None, {"s": s, "x": x})
    wanted = [s[0].copy(), s[1].copy(), X * 5]
    s[0][:] = 0
    x[:] = 0
    del s, x  # the result has memory of its own
    for got, want in zip(t, wanted):
        np.testing.assert_array_equal(got, want)


def test_an_empty_sequence(ort, cpu):
    session = load(ort, cpu, [ob.node("SequenceLength", ["s"], ["n"])], {"s": ob.sequence_type(FLOATS)},
                   {"n": ob.tensor_type(ob.INT64, [])})
    assert session.run(None, {"s": []})[0] == 0
    assert session.run(None, {"s": [X]})[0] == 1


@pytest.mark.parametrize("labels, key", [([10, 20], ob.INT64), (["no", "yes"], ob.STRING)])
def test_zip_map(ort, cpu, labels, key):
    name = "classlabels_int64s" if key == ob.INT64 else "classlabels_strings"
    kind = ob.sequence_type(ob.map_type(key, ob.tensor_type(ob.FLOAT, [])))
    session = load(ort, cpu, [ob.node("ZipMap", ["x"], ["z"], ML, **{name: labels})],
                   {"x": ob.tensor_type(ob.FLOAT, ["N", 2])}, {"z": kind})
    (z,) = session.run(None, {"x": np.array([[0.25, 0.75], [1, 0]], np.float32)})
    assert z == [dict(zip(labels, [0.25, 0.75])), dict(zip(labels, [1.0, 0.0]))]
    assert all(type(v) is float for row in z for v in row.values())
    assert session.get_outputs()[0].type == f"seq(map({'int64' if key == ob.INT64 else 'string'},tensor(float)))"


@pytest.mark.parametrize("labels", [[20, 10], [7, 7], ["yes", "no"], ["", "\u00e9"]], ids=repr)
def test_zip_map_with_labels_in_any_order(ort, cpu, labels):
    ints = isinstance(labels[0], int)
    kind = ob.sequence_type(ob.map_type(ob.INT64 if ints else ob.STRING, ob.tensor_type(ob.FLOAT, [])))
    session = load(ort, cpu, [ob.node("ZipMap", ["x"], ["z"], ML,
                                      **{"classlabels_int64s" if ints else "classlabels_strings": labels})],
                   {"x": ob.tensor_type(ob.FLOAT, ["N", 2])}, {"z": kind})
    x = np.arange(10, dtype=np.float32).reshape(5, 2)
    (z,) = session.run(None, {"x": x})
    assert len(z) == 5 and all(list(row) == sorted(set(labels)) for row in z)
    if len(set(labels)) == 2:
        assert z == [dict(zip(labels, row.tolist())) for row in x]
    assert session.run(None, {"x": x[:0]})[0] == []


@pytest.fixture
def vectorizer(ort, cpu):
    return load(ort, cpu, [ob.node("DictVectorizer", ["m"], ["z"], ML, string_vocabulary=["a", "b", "c"])],
                {"m": ob.map_type(ob.STRING, ob.tensor_type(ob.FLOAT, []))},
                {"z": ob.tensor_type(ob.FLOAT, ["N", "M"])})


def test_a_map_in(vectorizer):
    np.testing.assert_array_equal(vectorizer.run(None, {"m": {"a": 1.5, "c": 2}})[0], [[1.5, 0, 2]])
    assert vectorizer.get_inputs()[0].type == "map(string,tensor(float))"


@pytest.mark.parametrize("given, wanted", [({}, RuntimeError), ({"a": "q"}, RuntimeError), ([{"a": 1.5}], RuntimeError),
                                           ({1: 1.5}, "InvalidArgument"), (X, "InvalidArgument")], ids=str)
def test_what_is_no_map(vectorizer, errors, given, wanted):
    with pytest.raises(getattr(errors, wanted) if isinstance(wanted, str) else wanted):
        vectorizer.run(None, {"m": given})


@pytest.mark.parametrize("feeds, wanted", [({"o": None}, False), ({}, False), ({"o": X}, True)], ids=str)
def test_an_optional_in(ort, cpu, feeds, wanted):
    session = load(ort, cpu, [ob.node("OptionalHasElement", ["o"], ["z"])], {"o": ob.optional_type(FLOATS)},
                   {"z": ob.tensor_type(ob.BOOL, [])})
    assert session.run(None, feeds)[0] == wanted
    assert session.get_inputs()[0].type == "optional(tensor(float))" and session.get_inputs()[0].shape == ["N"]


def test_an_optional_out(ort, cpu):
    session = load(ort, cpu, [ob.node("Optional", [], ["o"], type=FLOATS)], {}, {"o": ob.optional_type(FLOATS)})
    assert session.run(None, {}) == [None]
