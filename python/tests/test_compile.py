# SPDX-License-Identifier: Apache-2.0
"""Models compiled ahead: on a machine with the CPU alone they are written as they are, or optimized."""

import os

import numpy as np
import pytest

import onnx_bytes as ob

W = np.arange(1000, dtype=np.float32)


@pytest.fixture
def model():
    kind = ob.tensor_type(ob.FLOAT, [1000])
    return ob.model([ob.node("Add", ["x", "w"], ["z"])], {"x": kind}, {"z": kind}, {"w": W})


def check(ort, cpu, path_or_bytes):
    session = ort.InferenceSession(path_or_bytes, providers=cpu)
    np.testing.assert_array_equal(session.run(None, {"x": W})[0], 2 * W)


def test_to_bytes_files_and_streams(ort, cpu, model, tmp_path):
    compiler = ort.ModelCompiler(ort.SessionOptions(), model)
    check(ort, cpu, compiler.compile_to_bytes())
    compiler.compile_to_file(str(tmp_path / "out.onnx"))
    check(ort, cpu, str(tmp_path / "out.onnx"))
    pieces = []
    compiler.compile_to_stream(lambda piece: pieces.append(bytes(piece)))
    check(ort, cpu, b"".join(pieces))


def test_from_a_file(ort, cpu, model, tmp_path):
    path = tmp_path / "in.onnx"
    path.write_bytes(model)
    ort.ModelCompiler(ort.SessionOptions(), str(path)).compile_to_file(str(tmp_path / "out.onnx"))
    check(ort, cpu, str(tmp_path / "out.onnx"))


def test_weights_in_a_file(ort, cpu, model, tmp_path):
    path = str(tmp_path / "out.onnx")
    compiler = ort.ModelCompiler(ort.SessionOptions(), model, external_initializers_file_path="weights.bin")
    compiler.compile_to_file(path)
    assert os.path.getsize(tmp_path / "weights.bin") >= W.nbytes > os.path.getsize(path)
    check(ort, cpu, path)


def test_weights_where_a_function_says(ort, cpu, model, tmp_path):
    if not hasattr(ort, "OrtExternalInitializerInfo"):
        pytest.skip("older release")
    path, weights, seen = str(tmp_path / "out.onnx"), tmp_path / "weights.bin", []

    def locate(name, value, now):
        seen.append((name, value.shape(), now))
        weights.write_bytes(b"\0" * 64 + value.numpy().tobytes())
        return ort.OrtExternalInitializerInfo(str(weights.name), 64, value.tensor_size_in_bytes())

    compiler = ort.ModelCompiler(ort.SessionOptions(), model, get_initializer_location_func=locate)
    compiler.compile_to_file(path)
    assert seen == [("w", [1000], None)]
    check(ort, cpu, path)


def test_what_is_wrong(ort, errors, tmp_path):
    options = ort.SessionOptions()
    with pytest.raises((errors.NoSuchFile, ValueError, errors.InvalidArgument)):
        ort.ModelCompiler(options, str(tmp_path / "nowhere.onnx")).compile_to_bytes()
    with pytest.raises(TypeError):
        ort.ModelCompiler(options, 3)
    with pytest.raises((ValueError, TypeError)):
        ort.ModelCompiler(options, ob.add()).compile_to_file()
    with pytest.raises(ValueError):
        ort.ModelCompiler(options, ob.add(), external_initializers_file_path="w",
                          get_initializer_location_func=lambda *a: None)


def test_flags(ort, tmp_path):
    path = tmp_path / "there.onnx"
    path.write_bytes(b"something")
    flags = ort.OrtCompileApiFlags.ERROR_IF_OUTPUT_FILE_EXISTS
    with pytest.raises(Exception):
        ort.ModelCompiler(ort.SessionOptions(), ob.add(), flags=flags).compile_to_file(str(path))
    flags = ort.OrtCompileApiFlags.ERROR_IF_NO_NODES_COMPILED
    with pytest.raises(Exception):
        ort.ModelCompiler(ort.SessionOptions(), ob.add(), flags=flags).compile_to_bytes()


def test_where_providers_keep_their_data(ort, model, tmp_path):
    compiler = ort.ModelCompiler(ort.SessionOptions(), model)
    if not hasattr(compiler, "set_ep_context_binary_information"):
        pytest.skip("older release")
    assert compiler.set_ep_context_binary_information(f"{tmp_path}/", "m") is None
    assert compiler.set_ep_context_binary_information(output_directory=f"{tmp_path}/", model_name=b"m") is None
    assert compiler.compile_to_bytes()
    for wrong in [("", "m"), (f"{tmp_path}/", "")]:
        with pytest.raises(Exception, match="INVALID_ARGUMENT"):
            compiler.set_ep_context_binary_information(*wrong)
    for wrong in [(3, "m"), (f"{tmp_path}/", 3), (f"{tmp_path}/",)]:
        with pytest.raises(TypeError):
            compiler.set_ep_context_binary_information(*wrong)
