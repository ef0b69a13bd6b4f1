# SPDX-License-Identifier: Apache-2.0
"""SessionOptions, RunOptions, and functions of the module."""

import glob
import json
import os

import numpy as np
import pytest

import onnx_bytes as ob

X = np.ones((2, 2), np.float32)

DEFAULTS = {
    "enable_cpu_mem_arena": True, "enable_mem_pattern": True, "enable_mem_reuse": True, "enable_profiling": False,
    "inter_op_num_threads": 0, "intra_op_num_threads": 0, "log_severity_level": -1, "log_verbosity_level": 0,
    "logid": "", "optimized_model_filepath": "", "profile_file_prefix": "onnxruntime_profile_",
    "use_deterministic_compute": False, "use_per_session_threads": True,
}
OTHERS = {
    "enable_cpu_mem_arena": False, "enable_mem_pattern": False, "enable_mem_reuse": False, "inter_op_num_threads": 2,
    "intra_op_num_threads": 1, "log_severity_level": 3, "log_verbosity_level": 1, "logid": "me",
    "profile_file_prefix": "prefix", "use_deterministic_compute": True,
}


@pytest.mark.parametrize("name", DEFAULTS)
def test_defaults(ort, name):
    assert getattr(ort.SessionOptions(), name) == DEFAULTS[name]


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_set_is_there(ort, cpu, name):
    options = ort.SessionOptions()
    setattr(options, name, OTHERS[name])
    assert getattr(options, name) == OTHERS[name]
    session = ort.InferenceSession(ob.add(), options, providers=cpu)
    np.testing.assert_array_equal(session.run(None, {"x": X, "y": X})[0], 2 * X)


@pytest.mark.parametrize("name", ["ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED", "ORT_ENABLE_ALL"])
def test_levels(ort, cpu, name):
    options = ort.SessionOptions()
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, name)
    assert options.graph_optimization_level.name == name
    ort.InferenceSession(ob.add(), options, providers=cpu).run(None, {"x": X, "y": X})


@pytest.mark.parametrize("name", ["ORT_SEQUENTIAL", "ORT_PARALLEL"])
def test_modes(ort, cpu, name):
    options = ort.SessionOptions()
    options.execution_mode = getattr(ort.ExecutionMode, name)
    assert options.execution_mode == getattr(ort.ExecutionMode, name)
    ort.InferenceSession(ob.add(), options, providers=cpu).run(None, {"x": X, "y": X})


WRONG = [("graph_optimization_level", 7), ("graph_optimization_level", 99), ("execution_mode", 1),
         ("intra_op_num_threads", "3"), ("intra_op_num_threads", 2.5), ("enable_profiling", "x"), ("logid", 3),
         ("optimized_model_filepath", 3), ("log_verbosity_level", 1 << 40)]


@pytest.mark.parametrize("name, value", WRONG)
def test_wrong_types(ort, name, value):
    with pytest.raises(TypeError):
        setattr(ort.SessionOptions(), name, value)


def test_unknown_names(ort):
    with pytest.raises(AttributeError):
        ort.SessionOptions().no_such_option = 1


def test_the_configuration(ort):
    options = ort.SessionOptions()
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    assert options.get_session_config_entry("session.intra_op.allow_spinning") == "0"
    for wrong in ("", "k" * 1025):
        with pytest.raises(RuntimeError):
            options.add_session_config_entry(wrong, "1")
    with pytest.raises(TypeError):
        options.add_session_config_entry("key", 3)
    with pytest.raises(RuntimeError, match="does not have configuration"):
        options.get_session_config_entry("another")


def test_unknown_entries_are_accepted(ort, cpu):
    options = ort.SessionOptions()
    options.add_session_config_entry("no.such.key", "1")
    ort.InferenceSession(ob.add(), options, providers=cpu)


def test_fixed_dimensions(ort, cpu):
    options = ort.SessionOptions()
    options.add_free_dimension_override_by_name("N", 3)
    session = ort.InferenceSession(ob.add(), options, providers=cpu)
    assert session.get_inputs()[0].shape == [3, 2]


def test_the_optimized_model_is_written(ort, cpu, tmp_path):
    options = ort.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "out.onnx")
    ort.InferenceSession(ob.add(), options, providers=cpu)
    again = ort.InferenceSession(str(tmp_path / "out.onnx"), providers=cpu)
    np.testing.assert_array_equal(again.run(None, {"x": X, "y": X})[0], 2 * X)


def test_initializers_from_outside(ort, cpu):
    kind = ob.tensor_type(ob.FLOAT, [2, 2])
    model = ob.model([ob.node("Add", ["x", "w"], ["z"])], {"x": kind}, {"z": kind}, {"w": np.zeros((2, 2), np.float32)})
    value = ort.OrtValue.ortvalue_from_numpy(X * 5)
    options = ort.SessionOptions()
    options.add_initializer("w", value)
    session = ort.InferenceSession(model, options, providers=cpu)
    np.testing.assert_array_equal(session.run(None, {"x": X})[0], X * 6)


def test_profiling(ort, cpu, tmp_path):
    options = ort.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = str(tmp_path / "p")
    session = ort.InferenceSession(ob.add(), options, providers=cpu)
    session.run(None, {"x": X, "y": X})
    assert session.get_profiling_start_time_ns() > 0
    name = session.end_profiling()
    assert [name] == glob.glob(str(tmp_path / "p*.json"))
    events = json.load(open(name))
    assert any(event.get("args", {}).get("op_name") == "Add" for event in events)


def test_no_profiling(ort, cpu):
    assert ort.InferenceSession(ob.add(), providers=cpu).end_profiling() == ""


def test_custom_operators_that_are_not_there(ort, errors):
    with pytest.raises(errors.Fail, match="no_such_library"):
        ort.SessionOptions().register_custom_ops_library("/nowhere/no_such_library.so")


def test_session_options_are_given_back(ort, cpu):
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(ob.add(), options, providers=cpu)
    assert session.get_session_options().intra_op_num_threads == 1


def test_wrong_session_options(ort):
    with pytest.raises(TypeError):
        ort.InferenceSession(ob.add(), 3)


def test_one_object_makes_many_sessions(ort, cpu):
    options = ort.SessionOptions()
    for _ in range(3):
        session = ort.InferenceSession(ob.add(), options, providers=cpu)
    np.testing.assert_array_equal(session.run(None, {"x": X, "y": X})[0], 2 * X)


def test_run_options(ort):
    options = ort.RunOptions()
    assert (options.log_severity_level, options.log_verbosity_level, options.logid, options.terminate) == (
        -1, 0, "", False)
    assert options.only_execute_path_to_fetches is False
    options.log_severity_level, options.logid = 3, "run"
    options.only_execute_path_to_fetches = True
    assert (options.log_severity_level, options.logid, options.only_execute_path_to_fetches) == (3, "run", True)
    options.add_run_config_entry("key", "value")
    assert options.get_run_config_entry("key") == "value"
    with pytest.raises(RuntimeError):
        options.get_run_config_entry("another")
    with pytest.raises(TypeError):
        options.logid = 3


def test_enumerations(ort):
    level = ort.GraphOptimizationLevel
    assert int(level.ORT_ENABLE_ALL) == 99 and level.ORT_ENABLE_BASIC == 1 and level(2) is not None
    assert level.ORT_ENABLE_ALL.name == "ORT_ENABLE_ALL" and level.ORT_ENABLE_ALL.value == 99
    assert repr(level.ORT_ENABLE_ALL) == "<GraphOptimizationLevel.ORT_ENABLE_ALL: 99>"
    assert str(level.ORT_ENABLE_ALL) == "GraphOptimizationLevel.ORT_ENABLE_ALL"
    assert list(level.__members__) == [
        "ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED", "ORT_ENABLE_LAYOUT", "ORT_ENABLE_ALL"]
    assert int(ort.OrtMemType.DEFAULT) == 0 and int(ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR) == 1


def test_functions_of_the_module(ort):
    assert ort.get_device() == "CPU"
    assert "CPUExecutionProvider" in ort.get_available_providers()
    assert ort.get_all_providers()[-1] == "CPUExecutionProvider" and "CUDAExecutionProvider" in ort.get_all_providers()
    assert ort.get_version_string().startswith("1.")
    assert ort.get_build_info().startswith("ORT Build Info")
    assert ort.has_collective_ops() is False
    assert ort.set_seed(7) is None and ort.disable_telemetry_events() is None and ort.enable_telemetry_events() is None
    assert ort.set_default_logger_verbosity(0) is None and ort.set_default_logger_severity(2) is None
    with pytest.raises(RuntimeError):
        ort.set_default_logger_severity(9)
    with pytest.raises(TypeError):
        ort.set_seed("x")


def test_devices(ort):
    devices = ort.get_ep_devices()
    assert devices and devices[-1].ep_name == "CPUExecutionProvider"
    assert devices[-1].device.type == ort.OrtHardwareDeviceType.CPU
    assert isinstance(devices[-1].ep_metadata, dict) and isinstance(devices[-1].ep_options, dict)


def test_where_inputs_are(ort, errors, cpu):
    options = ort.SessionOptions()
    options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    session = ort.InferenceSession(ob.add(), options, providers=cpu)
    assert [info.name.lower() for info in session.get_input_memory_infos()] == ["cpu", "cpu"]
    assert [info.name.lower() for info in session.get_output_memory_infos()] == ["cpu"]
    assert [device.ep_name for device in session.get_input_epdevices()] == ["CPUExecutionProvider"] * 2
    (subgraph,) = session.get_provider_graph_assignment_info()
    assert subgraph.ep_name == "CPUExecutionProvider"
    assert [(node.name, node.domain, node.op_type) for node in subgraph.get_nodes()] == [("sum", "", "Add")]
    with pytest.raises(errors.Fail):
        ort.InferenceSession(ob.add(), providers=cpu).get_provider_graph_assignment_info()


def test_libraries_of_providers_that_are_not_there(ort, errors):
    with pytest.raises(errors.Fail, match="no_such_library"):
        ort.register_execution_provider_library("name", "/nowhere/no_such_library.so")
    with pytest.raises(Exception):
        ort.unregister_execution_provider_library("name")


def test_providers_by_device(ort):
    options = ort.SessionOptions()
    assert options.has_providers() is False
    options.add_provider_for_devices(ort.get_ep_devices()[-1:], {})
    assert options.has_providers() is True
    session = ort.InferenceSession(ob.add(), options)
    np.testing.assert_array_equal(session.run(None, {"x": X, "y": X})[0], 2 * X)


def test_memory(ort):
    info = ort.OrtMemoryInfo("Cpu", ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, ort.OrtMemType.DEFAULT)
    assert (info.name, info.device_id) == ("Cpu", 0)
    assert info.allocator_type == ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR and info.mem_type == ort.OrtMemType.DEFAULT
    config = ort.OrtArenaCfg({"max_mem": 1 << 20, "arena_extend_strategy": 1})
    assert config.max_mem == 1 << 20


def test_a_shared_allocator(ort):
    """In a process of its own: it stays."""
    import subprocess
    import sys

    code = f"""
import sys; sys.path[:] = {sys.path!r}
import os; os.environ.update({dict(os.environ)!r})
import {ort.__name__} as ort, numpy as np, onnx_bytes as ob
info = ort.OrtMemoryInfo("Cpu", ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, ort.OrtMemType.DEFAULT)
ort.create_and_register_allocator(info, ort.OrtArenaCfg(0, -1, -1, -1))
options = ort.SessionOptions(); options.add_session_config_entry("session.use_env_allocators", "1")
x = np.ones((2, 2), np.float32)
assert (ort.InferenceSession(ob.add(), options).run(None, {{"x": x, "y": x}})[0] == 2).all()
"""
    if "site-packages" in (ort.__file__ or "") and os.environ.get("ONYX_TEST_ORT"):
        code = code.replace("sys.path[:] = [", f"sys.path[:] = [{os.environ['ONYX_TEST_ORT']!r}, ", 1)
    subprocess.run([sys.executable, "-c", code], check=True)
