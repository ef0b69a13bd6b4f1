# SPDX-License-Identifier: Apache-2.0
"""InferenceSession: a model that runs."""

import os

from . import _onyx
from .binding import IOBinding
from .devices import device_of
from .inspection import Plan, Profile
from .options import SessionOptions, _add_provider
from .providers import normalize
from .state import State
from .values import OrtValue

_CPU = "CPUExecutionProvider"


class NodeArg:
    """An input or output: name; type as "tensor(float)"; shape: a list of sizes, names of symbolic dimensions, None."""

    __slots__ = ("name", "type", "shape")

    def __init__(self, name, type, shape):
        self.name, self.type, self.shape = name, type, shape

    def __repr__(self):
        return f"NodeArg(name='{self.name}', type='{self.type}', shape={self.shape})"


class ModelMetadata:
    """What the model says of itself."""

    __slots__ = ("producer_name", "graph_name", "domain", "description", "graph_description", "version",
                 "custom_metadata_map")

    def __init__(self, **values):
        for name, value in values.items():
            setattr(self, name, value)

    def __repr__(self):
        return "ModelMetadata(" + ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__) + ")"


class OrtEpAssignedNode:
    """A node of a subgraph."""

    __slots__ = ("name", "domain", "op_type")

    def __init__(self, name, domain, op_type):
        self.name, self.domain, self.op_type = name, domain, op_type


class OrtEpAssignedSubgraph:
    """Nodes that a provider has."""

    __slots__ = ("ep_name", "_nodes")

    def __init__(self, ep_name, nodes):
        self.ep_name, self._nodes = ep_name, [OrtEpAssignedNode(*node) for node in nodes]

    def get_nodes(self):
        """OrtEpAssignedNodes."""
        return self._nodes


class InferenceSession(_onyx.Session):
    """A model that runs, from any number of threads at once.

    path_or_bytes: the file, or the bytes of a model. sess_options: SessionOptions. providers: names of execution
    providers, best first, or pairs (name, options); the CPU's comes last. One that is not there is left out with a
    warning that says what it takes. provider_options: a dict for each provider. disabled_optimizers: names of rules
    to leave out.

    NoSuchFile: the file is not there. InvalidProtobuf, InvalidGraph, InvalidArgument: it is no ONNX model, or breaks
    ONNX's rules. NotImplemented: it has operators that the library lacks. TypeError: neither a path nor bytes.

    Sessions can be pickled: what was given to make them travels, a path as a path, and the other side makes a session
    of its own. In a process that was forked they go on to work.
    """

    def __init__(self, path_or_bytes, sess_options=None, providers=None, provider_options=None, **kwargs):
        if isinstance(path_or_bytes, (str, os.PathLike)):
            self._model_path, self._model_bytes = os.fspath(path_or_bytes), None
        elif isinstance(path_or_bytes, bytes):
            self._model_path, self._model_bytes = None, path_or_bytes
        else:
            raise TypeError(f"Unable to load from type '{type(path_or_bytes)}'")
        if sess_options and not isinstance(sess_options, SessionOptions):
            raise TypeError(f"sess_options: wanted SessionOptions, got {type(sess_options)}")
        self._sess_options = self._sess_options_initial = sess_options or SessionOptions()
        self._enable_fallback = int(kwargs.get("enable_fallback", 1)) == 1
        self._disabled_optimizers = kwargs.get("disabled_optimizers")
        self._reset_session(providers, provider_options)

    def _reset_session(self, providers, provider_options):
        try:
            self._create_session(providers, provider_options)
        except (ValueError, RuntimeError) as error:
            if not self._enable_fallback:
                raise
            print("*************** EP Error ***************")
            print(f"EP Error {error} when using {providers}")
            print(f"Falling back to {[_CPU]} and retrying.")
            print("****************************************")
            self._create_session([_CPU], None)
            self._enable_fallback = False

    def _create_session(self, providers, provider_options):
        pairs = normalize(providers, provider_options)
        options = self._sess_options._clone()
        if pairs and pairs[-1] == (_CPU, {}):
            pairs.pop()  # it is the last anyway
        for name, values in pairs:
            _add_provider(options, name, values)
        if self._disabled_optimizers:
            options._config("optimization.disable_specified_optimizers", ";".join(self._disabled_optimizers))
        self._open(self._model_path, self._model_bytes, options, self._sess_options)
        chosen = dict(self._sess_options._providers + pairs)
        chosen.setdefault(_CPU, {})  # the last, unless it was named before
        self._providers, self._provider_options = list(chosen), chosen
        self._inputs_meta = [NodeArg(*row) for row in self._inputs()]
        self._outputs_meta = [NodeArg(*row) for row in self._outputs()]
        self._overridable_initializers = [NodeArg(*row) for row in self._defaults()]

    # ---- what it is ----

    def get_inputs(self):
        """NodeArgs of the inputs that every run names."""
        return self._inputs_meta

    def get_outputs(self):
        """NodeArgs of the outputs."""
        return self._outputs_meta

    def get_overridable_initializers(self):
        """NodeArgs of inputs with a default."""
        return self._overridable_initializers

    def get_modelmeta(self):
        """ModelMetadata."""
        return ModelMetadata(**self._metadata())

    _model_meta = property(get_modelmeta)

    def get_session_options(self):
        """The options it was made with."""
        return self._sess_options

    def get_providers(self):
        """Names of its execution providers."""
        return list(self._providers)

    def get_provider_options(self):
        """{provider: options}"""
        return {name: dict(options) for name, options in self._provider_options.items()}

    def set_providers(self, providers=None, provider_options=None):
        """Makes the session anew with other providers. Nothing stands in for one that nobody knows, or that fails."""
        self._create_session(providers, provider_options)

    def disable_fallback(self):
        """A provider that fails makes the session fail."""
        self._enable_fallback = False

    def enable_fallback(self):
        """If a provider fails, the CPU's is taken."""
        self._enable_fallback = True

    def get_provider_graph_assignment_info(self):
        """OrtEpAssignedSubgraphs. Fail, unless the options have session.record_ep_graph_assignment_info=1."""
        return [OrtEpAssignedSubgraph(*row) for row in self._assignment()]

    def release_captured_graph(self, graph_annotation_id=0):
        """Forgets what a provider captured of runs with this number."""
        self._release_captured_graph(graph_annotation_id)

    def get_tuning_results(self):
        """[]: Onyx measures nothing that would have to be kept."""
        return []

    def set_tuning_results(self, results, *, error_on_invalid=False):
        """Nothing to do."""

    # The session below Microsoft's: programs reach it through _sess, and know these names of it.
    _sess = property(lambda self: self)
    inputs_meta = property(get_inputs)
    outputs_meta = property(get_outputs)
    overridable_initializers = property(get_overridable_initializers)
    model_meta = property(get_modelmeta)
    session_options = property(get_session_options)

    # ---- running: run(), run_with_ort_values() and run_async() are the base class's ----

    def io_binding(self):
        """An IOBinding."""
        return IOBinding(self)

    def run_with_iobinding(self, iobinding, run_options=None):
        """Runs with what is bound. RuntimeError says what failed."""
        iobinding._run(run_options)

    def run_with_ortvaluevector(self, run_options, feed_names, feeds, fetch_names, fetches, fetch_devices=None):
        """Runs from OrtValues to |fetches|, an OrtValueVector that is extended. |fetch_devices|: an OrtDevice per
        output on which it is to lie; None: all on the host."""
        if not fetch_devices:
            fetches.extend(self.run_with_ort_values(fetch_names, dict(zip(feed_names, feeds)), run_options))
            return
        binding = self.io_binding()
        for name, value in zip(feed_names, feeds):
            binding.bind_ortvalue_input(name, value)
        for name, device in zip(fetch_names, fetch_devices):
            binding.bind_output(name, device)
        self.run_with_iobinding(binding, run_options)
        fetches.extend(binding.get_outputs())

    def create_ortvalue_from_shape_and_type(self, shape, element_type, device_type="cpu", device_id=0, vendor_id=-1):
        """OrtValue.ortvalue_from_shape_and_type."""
        return OrtValue.ortvalue_from_shape_and_type(shape, element_type, device_type, device_id, vendor_id)

    # ---- what Onyx knows more ----

    def state(self, pairs=None):
        """A State: what a decoder carries from run to run, kept by the library. |pairs|: {output: input}; None: those
        with the usual names, "present.0.key" and "past_key_values.0.key" and their like. ValueError says what does not
        fit."""
        return State(self, pairs)

    def memory_stats(self, device_type="cuda", device_id=0):
        """As onyx.memory_stats, with what this session has taken on the device for itself. RuntimeError if no provider
        serves the device."""
        return _onyx._allocator_stats(device_of(device_type, device_id)._memory_info(), self)

    def plan(self, shapes=None):
        """Where every node will run and why, what memory the model takes: known before any run.

        shapes: {input: shape} to know the workspace of a run with these, too. A Plan shows itself as a table."""
        return Plan(self, shapes)

    def profile(self, input_feed=None, repeat=1, output_names=None, run_options=None):
        """Times of all nodes as a table (a Profile): of |repeat| runs of |input_feed|; without one, of the runs in
        `with session.profile() as table: ...`."""
        table = Profile(self)
        if input_feed is not None:
            with table:
                for _ in range(repeat):
                    self.run(output_names, input_feed, run_options)
        return table

    # ---- pickling ----

    def __reduce__(self):
        return _empty_session, (type(self),), self.__getstate__()

    def __getstate__(self):
        own = {name: value for name, value in self.__dict__.items() if name not in _PRIVATE}
        given = self._provider_options
        return {"model": self._model_bytes if self._model_path is None else os.path.abspath(self._model_path),
                "options": self._sess_options,
                "providers": [(name, given[name]) for name in self._providers
                              if name not in dict(self._sess_options._providers)],
                "fallback": self._enable_fallback, "disabled": self._disabled_optimizers, "own": own}

    def __setstate__(self, state):
        InferenceSession.__init__(self, state["model"], state["options"], state["providers"],
                                  enable_fallback=state["fallback"], disabled_optimizers=state["disabled"])
        self.__dict__.update(state["own"])


_PRIVATE = {"_model_path", "_model_bytes", "_sess_options", "_sess_options_initial", "_enable_fallback",
            "_disabled_optimizers", "_providers", "_provider_options", "_inputs_meta", "_outputs_meta",
            "_overridable_initializers"}


def _empty_session(kind):
    return kind.__new__(kind)


