# SPDX-License-Identifier: Apache-2.0
"""Onyx runs ONNX models: NumPy arrays in, NumPy arrays out.

    import onyx
    session = onyx.InferenceSession("model.onnx")
    outputs = session.run(None, {"input": array})
    print(session.plan())            # where every node runs and why, before any run
    print(session.profile({"input": array}, repeat=10))

The names and their behaviour are those of the package onnxruntime, so that a program changes its import and nothing else.
"""

import os as _os
import threading as _threading

from . import _onyx
from ._onyx import (
    EngineError,
    EPFail,
    DeviceReset,
    Fail,
    InvalidArgument,
    InvalidGraph,
    InvalidProtobuf,
    LoraAdapter,
    ModelLoadCanceled,
    ModelLoaded,
    ModelRequiresCompilation,
    NoModel,
    NoSuchFile,
    NotFound,
    NotImplemented,
    OrtEpContextData,
    OrtEpContextDataBuffer,
    RuntimeException,
    get_build_info,
    get_ep_devices,
    get_hardware_device_ep_incompatibility_details,
    get_hardware_devices,
    get_version_string,
    register_execution_provider_library,
    set_default_logger_callback,
    set_default_logger_severity,
    set_seed,
    unregister_execution_provider_library,
)
from .binding import IOBinding, SessionIOBinding
from .compiler import ModelCompiler, OrtExternalInitializerInfo
from .devices import (
    OrtArenaCfg,
    OrtDevice,
    OrtEpDevice,
    OrtHardwareDevice,
    OrtMemoryInfo,
    OrtSyncStream,
    create_and_register_allocator,
    create_and_register_allocator_v2,
    get_compatibility_info_from_model,
    get_compatibility_info_from_model_bytes,
    get_model_compatibility_for_ep_devices,
    memory_stats,
)
from .enums import (
    ArenaExtendStrategy,
    ExecutionMode,
    ExecutionOrder,
    GraphOptimizationLevel,
    OrtAllocatorType,
    OrtCompileApiFlags,
    OrtCompiledModelCompatibility,
    OrtDeviceEpIncompatibilityReason,
    OrtDeviceMemoryType,
    OrtDeviceVendorId,
    OrtExecutionProviderDevicePolicy,
    OrtHardwareDeviceType,
    OrtMemoryInfoDeviceType,
    OrtMemType,
    OrtSparseFormat,
)
from .inspection import NodeTime, Plan, PlanRow, Profile
from .lora import AdapterFormat
from .options import RunOptions, SessionOptions
from .providers import get_all_providers, get_available_providers, why_absent
from .session import InferenceSession, ModelMetadata, NodeArg, OrtEpAssignedNode, OrtEpAssignedSubgraph
from .state import State
from .values import OrtValue, OrtValueVector, SparseTensor, copy_tensors

__version__ = _onyx.onyx_version() or "0.1.0"


def get_device():
    """The kind of device that sessions can use here: "GPU" if CUDA's provider works, else "CPU"."""
    return "CPU" if why_absent("CUDAExecutionProvider") else "GPU"


def set_default_logger_verbosity(level):
    """How much is logged at severity 0. Onyx logs all of it."""
    _as_number("level", level)


def enable_telemetry_events():
    """Allows events to be sent. Onyx sends none."""
    _onyx.telemetry(True)


def disable_telemetry_events():
    """Forbids events to be sent. Onyx sends none."""
    _onyx.telemetry(False)


def set_global_thread_pool_sizes(intra_op_num_threads=0, inter_op_num_threads=0):
    """Threads of the pools of sessions whose options say use_per_session_threads = False. Before the first session."""
    _onyx.set_pool_threads(intra_op_num_threads, inter_op_num_threads)


def has_collective_ops():
    """False: no operators across machines."""
    return False


def _as_number(name, value):
    if not isinstance(value, int):
        raise TypeError(f"{name}: wanted an int, got {value!r}")


def _note_main_thread():
    _onyx._set_main_thread(_threading.main_thread().ident)


_note_main_thread()
if hasattr(_os, "register_at_fork"):
    _os.register_at_fork(after_in_child=_note_main_thread)
