# SPDX-License-Identifier: Apache-2.0
"""ONNX's backend interface."""

from onyx.backend import *  # noqa: F403
from onyx.backend import is_compatible, prepare, run, supports_device  # noqa: F401
