# SPDX-License-Identifier: Apache-2.0
"""Modules and the C library under the names that programs look for."""

from . import onnxruntime_pybind11_state  # noqa: F401
