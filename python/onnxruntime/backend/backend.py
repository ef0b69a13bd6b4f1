# SPDX-License-Identifier: Apache-2.0
"""ONNX's backend interface."""

from onyx.backend import Backend as OnnxRuntimeBackend
from onyx.backend import is_compatible, prepare, run, supports_device  # noqa: F401

__all__ = ["OnnxRuntimeBackend", "is_compatible", "prepare", "run", "supports_device"]
