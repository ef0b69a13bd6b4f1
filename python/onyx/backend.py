# SPDX-License-Identifier: Apache-2.0
"""ONNX's backend interface (onnx.backend.base), for programs and for ONNX's own tests:

    import onnx.backend.test, onyx.backend
    tests = onnx.backend.test.BackendTest(onyx.backend.Backend, __name__)
"""

import collections

import numpy as np

try:
    from onnx.backend.base import Backend as _Base
    from onnx.backend.base import BackendRep as _BaseRep
except ImportError:  # models can be given as bytes or paths, too
    _Base = _BaseRep = object  # type: ignore

from .options import RunOptions, SessionOptions
from .session import InferenceSession


class BackendRep(_BaseRep):
    """A model that can run."""

    def __init__(self, session):
        self._session = session

    def run(self, inputs, **kwargs):
        """A list of outputs. inputs: a list in the order of the model's, a dict by name, or the only input.
        kwargs: properties of RunOptions."""
        options = None
        if kwargs:
            options = RunOptions()
            for name, value in kwargs.items():
                setattr(options, name, value)
        names = [port.name for port in self._session.get_inputs()]
        if isinstance(inputs, dict):
            feeds = inputs
        elif isinstance(inputs, (list, tuple)):
            feeds = dict(zip(names, inputs))
        elif len(names) == 1:
            feeds = {names[0]: inputs}
        else:
            raise ValueError(f"the model has inputs {names}; one value was given")
        # scalars of NumPy are tensors here
        feeds = {name: np.asarray(x) if isinstance(x, np.generic) else x for name, x in feeds.items()}
        outputs = self._session.run(None, feeds, options)
        ports = [port.name for port in self._session.get_outputs()]
        try:
            return collections.namedtuple("Outputs", ports)(*outputs)
        except ValueError:  # names that are no identifiers
            return outputs


class Backend(_Base):
    """Prepares models: bytes, paths, ModelProtos, sessions."""

    @classmethod
    def is_compatible(cls, model, device=None, **kwargs):
        """Whether the device is there."""
        return device is None or cls.supports_device(device)

    @classmethod
    def supports_device(cls, device):
        """True for "CPU"."""
        return device.split(":")[0].upper() == "CPU"

    @classmethod
    def prepare(cls, model, device=None, **kwargs):
        """A BackendRep. kwargs: properties of SessionOptions."""
        if device is not None and not cls.supports_device(device):
            raise RuntimeError(f"Incompatible device expected '{device}', got 'CPU'")
        if isinstance(model, BackendRep):
            return model
        if isinstance(model, InferenceSession):
            return BackendRep(model)
        options = SessionOptions()
        for name, value in kwargs.items():
            if hasattr(options, name):
                setattr(options, name, value)
        if hasattr(model, "SerializeToString"):
            model = model.SerializeToString()
        return BackendRep(InferenceSession(model, options, enable_fallback=0))

    @classmethod
    def run_model(cls, model, inputs, device=None, **kwargs):
        """Outputs of one run."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(cls, node, inputs, device=None, outputs_info=None, **kwargs):
        """NotImplementedError: nodes run in models."""
        raise NotImplementedError("a node runs in a model: run_model")


is_compatible, prepare, run, supports_device = (
    Backend.is_compatible, Backend.prepare, Backend.run_model, Backend.supports_device)
