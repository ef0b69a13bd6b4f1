# SPDX-License-Identifier: Apache-2.0
"""The names of ONNX Runtime's Python package, served by Onyx.

This is not Microsoft's onnxruntime. It is a thin layer over the package onyx, which runs ONNX models with an engine of its
own: programs that import onnxruntime run on it as they are. onnxruntime.capi holds libonnxruntime.so for programs that
load the C library from there."""

import onyx as _onyx
from onyx import *  # noqa: F403
from onyx import (  # noqa: F401  (names that * leaves out, or that are functions of another module)
    AdapterFormat,
    InferenceSession,
    IOBinding,
    ModelCompiler,
    OrtDevice,
    OrtValue,
    RunOptions,
    SessionIOBinding,
    SessionOptions,
    SparseTensor,
    copy_tensors,
)

from . import capi  # noqa: F401
from .capi import onnxruntime_validation  # noqa: F401

__version__ = _onyx.get_version_string()
__author__ = "the Onyx authors"
package_name = "onnxruntime"
version = __version__
cuda_version = ""


def preload_dlls(cuda=True, cudnn=True, msvc=True, directory=None):
    """Nothing to load ahead."""


def print_debug_info():
    """Prints what this package is."""
    print(f"{package_name} {__version__}, served by Onyx {_onyx.__version__}")
    print(f"{_onyx.get_build_info()}\nproviders: {_onyx.get_available_providers()}")


def __getattr__(name):
    return getattr(_onyx, name)
