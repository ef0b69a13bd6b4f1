# SPDX-License-Identifier: Apache-2.0
"""Execution providers by name, as the arguments of InferenceSession give them."""

import importlib
import importlib.util
import os
import pathlib
import warnings

from . import _onyx

# name: its row; Onyx's table has all that are known. ("cuda", "CUDAExecutionProvider", "CUDA", how to have it, foreign)
_ROWS = {row[1]: row for row in _onyx._known_providers()}
_ALL = list(_ROWS)
_REGISTERED = set()
_NAMES = {name.lower(): row[1] for row in _ROWS.values() for name in (row[0], row[1], *row[2].split("|")) if name}


def _show_cuda():
    """NVIDIA's libraries may be Python packages, which no loader looks into: tells the provider their folders."""
    spec = None if "ONYX_CUDA_PATH" in os.environ else importlib.util.find_spec("nvidia")
    roots = (spec.submodule_search_locations or []) if spec else []
    folders = [str(lib) for root in roots for lib in sorted(pathlib.Path(root).glob("*/lib"))]
    if folders:
        os.environ["ONYX_CUDA_PATH"] = ":".join(folders)


def get_available_providers():
    """Names of the providers that can run on this machine, the CPU last."""
    _show_cuda()
    return _onyx.get_available_providers()


def get_all_providers():
    """Names of all providers that are known, here or not."""
    return list(_ALL) or get_available_providers()


def name_of(name):
    """ONNX Runtime's name of a provider that is given by any of its names; others stay as they are."""
    given = name.lower()
    return _NAMES.get(given) or _NAMES.get(given.removesuffix("executionprovider"), name)


def device_of_provider(name):
    """The first OrtEpDevice of a provider from a library that was registered; None: there is none."""
    return next((device for device in _onyx.get_ep_devices() if device.ep_name == name), None)


def _register_wheel(name):
    """Makers put the library into a wheel whose package tells where it is. Registers it; False: there is none."""
    command, _, wheel = _ROWS[name][3].partition("pip install ")
    package = wheel.replace("-", "_")
    if command or not package or not importlib.util.find_spec(package):
        return False
    module = importlib.import_module(package)
    path = (getattr(module, "get_library_path", None) or module.library_path)()
    _onyx.register_execution_provider_library(name, str(path))
    return True


def why_absent(name):
    """None: the provider is there, now if not before. Else a text that says what it takes."""
    row = _ROWS.get(name)
    if (row is None or row[4]) and device_of_provider(name) is not None:
        return None
    if row is None and name in get_available_providers():
        return None
    if row is not None and row[4]:
        try:
            registered = name in _REGISTERED or _register_wheel(name)
        except Exception as error:  # whatever the maker's package and library do
            return f"the library of provider '{name}' cannot be used: {error}"
        if registered:
            _REGISTERED.add(name)
            return None if device_of_provider(name) else f"the library of '{name}' serves no device of this machine"
    if name == "CUDAExecutionProvider":
        _show_cuda()
    return _onyx._check_provider(name)


def normalize(providers, provider_options):
    """[(name, options)] of the two arguments. ValueError if they do not fit; a warning for names that are not
    there, and RuntimeError for those that nobody knows."""
    if provider_options is not None and providers is None:
        return []
    pairs = list(zip(*_split(list(providers or []), provider_options)))
    out = {}
    for given, options in pairs:
        name = name_of(given)
        why = why_absent(name)
        if why is not None:
            warnings.warn(f"Specified provider '{given}' is not in available provider names: {why}", stacklevel=5)
        if name in out:
            warnings.warn(f"Duplicate provider '{given}' encountered, ignoring.", stacklevel=5)
        elif why is None:
            out[name] = {str(key): str(value) for key, value in options.items()}
        elif name not in _ALL:
            raise RuntimeError(f"Unknown Provider Type: {given}")
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
