# SPDX-License-Identifier: Apache-2.0
"""The names of onnxruntime_pybind11_state."""

from .onnxruntime_pybind11_state import *  # noqa: F403
from .onnxruntime_pybind11_state import InferenceSession, SessionIOBinding, get_default_session_options  # noqa: F401
