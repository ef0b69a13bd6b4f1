# SPDX-License-Identifier: Apache-2.0
"""A model that a backend has prepared."""

from onyx.backend import BackendRep as OnnxRuntimeBackendRep  # noqa: F401
