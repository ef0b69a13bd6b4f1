# SPDX-License-Identifier: Apache-2.0
"""Weights that come from outside the model: external files, files in memory, adapters."""

import subprocess
import sys

import numpy as np
import pytest

import onnx_bytes as ob

W = np.arange(6, dtype=np.float32)


def external_model(name="w.bin"):
    """z = x + w, where w lies in a file."""
    kind = ob.tensor_type(ob.FLOAT, [6])

    def entry(key, value):
        return ob.block(13, ob.block(1, key) + ob.block(2, value))

    weight = ob.number(1, 6) + ob.number(2, ob.FLOAT) + ob.block(8, "w") + entry("location", name) + entry(
        "offset", "0") + entry("length", "24") + ob.number(14, 1)
    graph = ob.block(1, ob.node("Add", ["x", "w"], ["z"])) + ob.block(2, "g") + ob.block(5, weight)
    graph += ob.block(11, ob.value("x", kind)) + ob.block(12, ob.value("z", kind))
    return ob.number(1, 10) + ob.block(7, graph) + ob.block(8, ob.block(1, "") + ob.number(2, 20))


def check(session):
    np.testing.assert_array_equal(session.run(None, {"x": W})[0], 2 * W)


def test_a_file_beside_the_model(ort, cpu, tmp_path):
    (tmp_path / "model.onnx").write_bytes(external_model())
    (tmp_path / "w.bin").write_bytes(W.tobytes())
    check(ort.InferenceSession(str(tmp_path / "model.onnx"), providers=cpu))


def test_a_file_that_is_missing(ort, cpu, tmp_path):
    (tmp_path / "model.onnx").write_bytes(external_model())
    with pytest.raises(Exception, match="w.bin"):
        ort.InferenceSession(str(tmp_path / "model.onnx"), providers=cpu)


def test_values_in_place_of_the_file(ort, cpu):
    options = ort.SessionOptions()
    options.add_external_initializers(["w"], [ort.OrtValue.ortvalue_from_numpy(W)])
    check(ort.InferenceSession(external_model(), options, providers=cpu))


def test_the_file_in_memory(ort, cpu):
    options, data = ort.SessionOptions(), W.tobytes()  # which Microsoft's does not keep
    options.add_external_initializers_from_files_in_memory(["w.bin"], [data], [24])
    check(ort.InferenceSession(external_model(), options, providers=cpu))


def test_an_adapter(ort, errors, cpu, tmp_path):
    """Parameters of an adapter stand for inputs with a default."""
    kind = ob.tensor_type(ob.FLOAT, [6])
    model = ob.model([ob.node("Add", ["x", "a"], ["z"])], {"x": kind, "a": kind}, {"z": kind},
                     {"a": np.zeros(6, np.float32)})
    path = str(tmp_path / "adapter.onnx_adapter")
    adapter_file = ort.AdapterFormat()
    adapter_file.set_adapter_version(1)
    adapter_file.set_model_version(1)
    adapter_file.set_parameters({"a": ort.OrtValue.ortvalue_from_numpy(W)})
    adapter_file.export_adapter(path)
    adapter = ort.LoraAdapter()
    adapter.Load(path)
    options = ort.RunOptions()
    options.add_active_adapter(adapter)
    session = ort.InferenceSession(model, providers=cpu)
    np.testing.assert_array_equal(session.run(None, {"x": W})[0], W)
    np.testing.assert_array_equal(session.run(None, {"x": W}, options)[0], 2 * W)
    np.testing.assert_array_equal(session.run(None, {"x": W})[0], W)


def test_adapters_of_one_are_read_by_the_other(ort, tmp_path):
    import onyx

    for writer, reader in ((ort, onyx), (onyx, ort)):
        path = str(tmp_path / "adapter.onnx_adapter")
        file = writer.AdapterFormat()
        file.set_adapter_version(5)
        file.set_model_version(6)
        arrays = {"a": W.reshape(2, 3), "name of b": np.array([1, -2], np.int64)}
        file.set_parameters({name: writer.OrtValue.ortvalue_from_numpy(array) for name, array in arrays.items()})
        file.export_adapter(path)
        back = reader.AdapterFormat.read_adapter(path)
        assert (back.get_format_version(), back.get_adapter_version(), back.get_model_version()) == (1, 5, 6)
        for name, value in back.get_parameters().items():
            np.testing.assert_array_equal(value.numpy(), arrays[name])


def test_what_is_no_adapter(ort, tmp_path):
    (tmp_path / "x").write_bytes(b"not an adapter")
    with pytest.raises(Exception):
        ort.AdapterFormat.read_adapter(str(tmp_path / "x"))
    with pytest.raises(Exception):
        ort.LoraAdapter().Load(str(tmp_path / "x"))
    with pytest.raises(Exception):
        ort.LoraAdapter().Load(str(tmp_path / "nowhere"))


def test_pools_of_the_environment():
    """In a process of its own: the pools are made once."""
    code = """
import sys; sys.path[:] = %r
import numpy as np, onnx_bytes as ob, onyx
onyx.set_global_thread_pool_sizes(2, 1)
options = onyx.SessionOptions()
options.use_per_session_threads = False
x = np.ones((2, 2), np.float32)
print(onyx.InferenceSession(ob.add(), options).run(None, {"x": x, "y": x})[0].tolist())
try:
    onyx.set_global_thread_pool_sizes(1, 1)
except RuntimeError:
    print("too late")
""" % (sys.path,)
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout.split("\n")[:2] == ["[[2.0, 2.0], [2.0, 2.0]]", "too late"], result
