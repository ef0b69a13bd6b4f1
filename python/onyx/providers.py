# SPDX-License-Identifier: Apache-2.0
"""Execution providers by name, as the arguments of InferenceSession give them."""

import warnings

from . import _onyx

_ALL = ["NvTensorRTRTXExecutionProvider", "TensorrtExecutionProvider", "CUDAExecutionProvider",
        "MIGraphXExecutionProvider", "ROCMExecutionProvider", "OpenVINOExecutionProvider", "DnnlExecutionProvider",
        "VitisAIExecutionProvider", "QNNExecutionProvider", "NnapiExecutionProvider", "VSINPUExecutionProvider",
        "JsExecutionProvider", "CoreMLExecutionProvider", "ArmNNExecutionProvider", "ACLExecutionProvider",
        "DmlExecutionProvider", "RknpuExecutionProvider", "WebNNExecutionProvider", "WebGpuExecutionProvider",
        "XnnpackExecutionProvider", "CANNExecutionProvider", "AzureExecutionProvider", "CPUExecutionProvider"]


def get_all_providers():
    """Names that ONNX Runtime knows, and those that this library has."""
    own = _onyx.get_available_providers()
    return [name for name in own if name not in _ALL] + _ALL


def device_of_provider(name):
    """The first OrtEpDevice of a provider from a library that was registered; None: there is none."""
    return next((device for device in _onyx.get_ep_devices() if device.ep_name == name), None)


def normalize(providers, provider_options):
    """[(name, options)] of the two arguments. ValueError if they do not fit; a warning for names that are not there."""
    if provider_options is not None and providers is None:
        return []
    pairs = list(zip(*_split(list(providers or []), provider_options)))
    available, out = _onyx.get_available_providers(), {}
    for name, options in pairs:
        there = name in available or device_of_provider(name) is not None
        if not there:
            warnings.warn(f"Specified provider '{name}' is not in available provider names."
                          f"Available providers: '{', '.join(available)}'", stacklevel=4)
        if name in out:
            warnings.warn(f"Duplicate provider '{name}' encountered, ignoring.", stacklevel=4)
        elif there:
            out[name] = {str(key): str(value) for key, value in options.items()}
        elif name not in _ALL:
            raise ValueError(f"Unknown Provider Type: {name}")
    return list(out.items())


def _split(providers, provider_options):
    """(names, options) of each."""
    if provider_options is not None:
        if len(providers) != len(provider_options):
            raise ValueError("'providers' and 'provider_options' should be the same length if both are given.")
        if not all(isinstance(provider, str) for provider in providers):
            raise ValueError("Only string values for 'providers' are supported if 'provider_options' is given.")
        if not all(isinstance(options, dict) for options in provider_options):
            raise ValueError("'provider_options' values must be dicts.")
        return providers, list(provider_options)
    names, options = [], []
    for provider in providers:
        if isinstance(provider, str):
            name, option = provider, {}
        elif (isinstance(provider, tuple) and len(provider) == 2 and isinstance(provider[0], str)
              and isinstance(provider[1], dict)):
            name, option = provider
        else:
            raise ValueError("'providers' values must be either strings or (string, dict) tuples.")
        names.append(name)
        options.append(option)
    return names, options
