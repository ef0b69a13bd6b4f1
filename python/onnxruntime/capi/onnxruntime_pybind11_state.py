# SPDX-License-Identifier: Apache-2.0
"""Names of ONNX Runtime's extension module, most of them for `except`."""

from onyx import *  # noqa: F403
from onyx import ArenaExtendStrategy, OrtValue, OrtValueVector, SessionIOBinding  # noqa: F401
from onyx import InferenceSession as _Session
from onyx import SessionOptions as _SessionOptions
from onyx._onyx import (  # noqa: F401
    DeviceReset,
    EngineError,
    EPFail,
    Fail,
    InvalidArgument,
    InvalidGraph,
    InvalidProtobuf,
    ModelLoadCanceled,
    ModelLoaded,
    ModelRequiresCompilation,
    NoModel,
    NoSuchFile,
    NotFound,
    NotImplemented,
    RuntimeException,
)

_default_options = _SessionOptions()


def get_default_session_options():
    """Options that sessions have which are made without."""
    return _default_options


kNextPowerOfTwo, kSameAsRequested = ArenaExtendStrategy.kNextPowerOfTwo, ArenaExtendStrategy.kSameAsRequested



class InferenceSession(_Session):
    """A session made in two steps: of options and a model, then with providers."""

    def __init__(self, sess_options, path_or_bytes, is_path=True, read_config=False):
        self._two_steps = sess_options, path_or_bytes

    def initialize_session(self, providers=(), provider_options=(), disabled_optimizers=()):
        """Makes the session."""
        options, model = self._two_steps
        names = list(providers) or None
        _Session.__init__(self, model, options, names, list(provider_options) if names else None,
                          disabled_optimizers=list(disabled_optimizers))
