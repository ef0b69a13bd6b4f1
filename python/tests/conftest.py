# SPDX-License-Identifier: Apache-2.0
"""The same tests for three packages: onyx, the onnxruntime that comes with it, and Microsoft's onnxruntime from PyPI if it
is there: installed, or in the site-packages that ONYX_TEST_ORT names. The others are skipped."""

import importlib
import os
import sys
import types

import numpy  # noqa: F401  (this one, not one that lies beside Microsoft's package)
import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)


def _forget():
    for name in [name for name in sys.modules if name.split(".")[0] == "onnxruntime"]:
        del sys.modules[name]


def _import_microsofts():
    """Their package, or why it is not there. Both have one name: ours is hidden meanwhile."""
    path = os.environ.get("ONYX_TEST_ORT")
    saved = list(sys.path)
    others = [p for p in saved if not os.path.isfile(os.path.join(p, "onyx", "__init__.py"))]
    sys.path[:] = ([path] if path else []) + others
    _forget()
    try:
        module = importlib.import_module("onnxruntime")
        state = importlib.import_module("onnxruntime.capi.onnxruntime_pybind11_state")
        return types.SimpleNamespace(module=module, state=state)
    except ImportError as error:
        return f"Microsoft's onnxruntime is not there: {error} (ONYX_TEST_ORT names its site-packages)"
    finally:
        sys.path[:] = saved
        _forget()


def _microsofts():
    if not hasattr(_microsofts, "found"):
        _microsofts.found = _import_microsofts()
    return _microsofts.found


@pytest.fixture(params=["onyx", "onnxruntime", "microsoft"])
def ort(request):
    """The package under test."""
    if request.param == "microsoft":
        found = _microsofts()
        if isinstance(found, str):
            pytest.skip(found)
        return found.module
    module = importlib.import_module(request.param)
    if request.param == "onnxruntime" and "Onyx" not in module.__doc__:
        pytest.skip("our onnxruntime is not installed, or another one hides it")
    return module


@pytest.fixture
def errors(ort):
    """Where the exceptions of the package are."""
    found = _microsofts()
    if not isinstance(found, str) and ort is found.module:
        return found.state
    return importlib.import_module("onyx")


@pytest.fixture
def cpu():
    return ["CPUExecutionProvider"]


def pytest_configure(config):
    _microsofts()  # before ours is imported under the same name
