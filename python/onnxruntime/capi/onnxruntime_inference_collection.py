# SPDX-License-Identifier: Apache-2.0
"""Classes of the Python layer."""

from onyx import (  # noqa: F401
    AdapterFormat,
    InferenceSession,
    IOBinding,
    ModelCompiler,
    OrtDevice,
    OrtValue,
    SparseTensor,
    copy_tensors,
)
from onyx.providers import normalize as _normalize

Session = InferenceSession


def check_and_normalize_provider_args(providers, provider_options, available_provider_names=None):
    """(names, options) of the two arguments of InferenceSession."""
    pairs = _normalize(providers, provider_options)
    return [name for name, _ in pairs], [options for _, options in pairs]
