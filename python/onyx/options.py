# SPDX-License-Identifier: Apache-2.0
"""Options of sessions and runs. The library cannot be asked what was set, so these classes remember it; that also makes
them picklable."""

import operator
import os
import sys

from . import _onyx
from .enums import ExecutionMode, ExecutionOrder, GraphOptimizationLevel, OrtExecutionProviderDevicePolicy
from .providers import device_of_provider, name_of


def _as_int(value):
    if isinstance(value, float):
        raise TypeError(f"wanted an int, got {value!r}")
    number = operator.index(value)
    if not -(2**31) <= number < 2**31:
        raise TypeError(f"{number} does not fit 32 bits")
    return number


def _as_bool(value):
    if value is None:
        return False
    if not hasattr(type(value), "__bool__"):
        raise TypeError(f"wanted a bool, got {value!r}")
    return bool(value)


def _as_str(value):
    if isinstance(value, bytes):
        return value.decode()
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"wanted a str, got {value!r}")
    return os.fspath(value)


def _as_enum(kind):
    def check(value):
        if not isinstance(value, kind):
            raise TypeError(f"wanted a {kind.__name__}, got {value!r}")
        return value

    return check


def _option(name, check, default, doc, apply=None):
    """A property that checks, tells the library and remembers."""

    def get(self):
        return self._values.get(name, default)

    def put(self, value):
        value = check(value)
        if apply is None:
            self._set(name, value)
        else:
            apply(self, value)
        self._values[name] = value

    return property(get, put, doc=doc)


def _remember(self, value):
    """Nothing to tell: the engine always does its best here."""


def _set_profiling(self, on):
    if on:
        self._set("profile_file_prefix", self.profile_file_prefix)
    else:
        self._set("disable_profiling", True)


def _set_profile_prefix(self, prefix):
    if self.enable_profiling:
        self._set("profile_file_prefix", prefix)


def _set_own_threads(self, own):
    if not own:
        self._set("disable_per_session_threads", True)
    elif not self.use_per_session_threads:
        self._config("session.use_per_session_threads", "1")


def _function(name, function):
    if function is None:
        raise RuntimeError(f"{name} must not be None")
    if not callable(function):
        raise TypeError(f"{name}: wanted a function, got {function!r}")


def _config_key(key, longest):
    if not isinstance(key, str):
        raise TypeError(f"the key of a configuration entry must be a str, got {key!r}")
    if not 0 < len(key.encode()) <= longest:
        raise RuntimeError(f"Config key is empty or longer than maximum length {longest}")


class SessionOptions(_onyx.Options):
    """Options of a session; one object can make many. Properties raise TypeError for values of a wrong type."""

    __slots__ = ("_values", "_entries", "_calls", "_keep", "_providers")

    def __init__(self):
        self._values = {}  # properties that were set
        self._entries = {}  # configuration
        self._calls = []  # methods that were called, to call them on a copy
        self._keep = []  # what the library uses in place
        self._providers = []

    enable_cpu_mem_arena = _option("enable_cpu_mem_arena", _as_bool, True, "Keep memory for later runs.")
    enable_mem_pattern = _option("enable_mem_pattern", _as_bool, True, "Plan memory of runs of the same shapes.")
    enable_mem_reuse = _option("enable_mem_reuse", _as_bool, True, "Values share memory.", _remember)
    enable_profiling = _option("enable_profiling", _as_bool, False, "Write a file of events.", _set_profiling)
    profile_file_prefix = _option(
        "profile_file_prefix", _as_str, "onnxruntime_profile_", "How its name begins.", _set_profile_prefix)
    optimized_model_filepath = _option("optimized_model_filepath", _as_str, "", "Where to write the optimized model.")
    logid = _option("logid", _as_str, "", "Name of the session in the log.")
    log_severity_level = _option("log_severity_level", _as_int, -1, "0 verbose ... 4 fatal; -1: as the environment's.")
    log_verbosity_level = _option("log_verbosity_level", _as_int, 0, "More at severity 0.")
    intra_op_num_threads = _option("intra_op_num_threads", _as_int, 0, "Threads of an operator; 0: all processors.")
    inter_op_num_threads = _option("inter_op_num_threads", _as_int, 0, "Threads for branches; 0: the engine chooses.")
    execution_mode = _option(
        "execution_mode", _as_enum(ExecutionMode), ExecutionMode.ORT_SEQUENTIAL, "Whether branches run at once.")
    execution_order = _option(
        "execution_order", _as_enum(ExecutionOrder), ExecutionOrder.DEFAULT, "Order of nodes.", _remember)
    graph_optimization_level = _option(
        "graph_optimization_level", _as_enum(GraphOptimizationLevel), GraphOptimizationLevel.ORT_ENABLE_ALL,
        "How much to optimize.")
    use_deterministic_compute = _option("use_deterministic_compute", _as_bool, False, "The same bits on every run.")
    use_per_session_threads = _option(
        "use_per_session_threads", _as_bool, True, "False: the environment's pools (set_global_thread_pool_sizes).",
        _set_own_threads)

    def add_session_config_entry(self, key, value):
        """Sets an entry of the configuration, both str. RuntimeError for a key that is empty or too long."""
        _config_key(key, 1024)
        self._config(key, value)
        self._entries[key] = value
        self._calls.append(("add_session_config_entry", (key, value)))

    def get_session_config_entry(self, key):
        """Its value. RuntimeError if it was not set."""
        if key not in self._entries:
            raise RuntimeError(f"SessionOptions does not have configuration with key: {key}")
        return self._entries[key]

    def add_free_dimension_override_by_name(self, name, value):
        """Fixes the symbolic dimension |name|."""
        self._free_dimension(name, value, True)
        self._calls.append(("add_free_dimension_override_by_name", (name, value)))

    def add_free_dimension_override_by_denotation(self, name, value):
        """Fixes dimensions that the model denotes as |name|."""
        self._free_dimension(name, value, False)
        self._calls.append(("add_free_dimension_override_by_denotation", (name, value)))

    def register_custom_ops_library(self, path):
        """Loads custom operators from a shared library. Fail says why it cannot be loaded."""
        self._set("custom_ops_library", path)
        self._calls.append(("register_custom_ops_library", (path,)))

    def add_initializer(self, name, ortvalue):
        """Replaces the initializer |name| of models by an OrtValue, which sessions share."""
        self._initializer(name, ortvalue)
        self._keep.append(ortvalue)
        self._calls.append(("add_initializer", (name, ortvalue)))

    def add_external_initializers(self, names, ortvalues):
        """Gives the contents of initializers that lie in files."""
        self._external_initializers(names, ortvalues)
        self._keep.append(list(ortvalues))
        self._calls.append(("add_external_initializers", (list(names), list(ortvalues))))

    def add_external_initializers_from_files_in_memory(self, file_names, file_buffers, file_lengths=None):
        """Gives files of external data as bytes."""
        for i, (name, buffer) in enumerate(zip(file_names, file_buffers)):
            data = bytes(memoryview(buffer))
            self._external_file(name, data if file_lengths is None else data[: file_lengths[i]])
            self._keep.append(data)
        self._calls.append(
            ("add_external_initializers_from_files_in_memory",
             (list(file_names), [bytes(memoryview(b)) for b in file_buffers], file_lengths)))

    def add_provider(self, name, options):
        """Adds an execution provider with options, a dict of str."""
        _add_provider(self, name, options)
        self._providers.append((name, dict(options)))
        self._calls.append(("add_provider", (name, dict(options))))

    def add_provider_for_devices(self, ep_devices, options):
        """Adds the provider of these OrtEpDevices (get_ep_devices())."""
        self._devices(list(ep_devices), {str(k): str(v) for k, v in options.items()})
        self._providers.append((ep_devices[0].ep_name, dict(options)))

    def set_provider_selection_policy(self, policy):
        """Lets the library choose devices by an OrtExecutionProviderDevicePolicy."""
        self._set("selection_policy", _as_enum(OrtExecutionProviderDevicePolicy)(policy))
        self._calls.append(("set_provider_selection_policy", (policy,)))

    def set_provider_selection_policy_delegate(self, delegate):
        """Lets |delegate|(devices, model's metadata, run time's metadata, most) choose: it returns a list of devices."""
        self._keep.append(delegate)
        self._delegate(delegate)

    def set_ep_context_data_read_func(self, read_func, max_data_size):
        """Lets |read_func|(name, OrtEpContextDataBuffer) supply what providers stored beside compiled models, while sessions
        are made. It calls allocate(), with at most |max_data_size| bytes, and then write(). It may be called by several
        threads at once."""
        _function("read_func", read_func)
        most = operator.index(max_data_size)
        if not 0 <= most < 2**64:
            raise TypeError(f"max_data_size: {most} is no number of bytes")
        if most in (0, 2**64 - 1):
            raise RuntimeError("max_data_size must be finite and greater than zero")
        registration = (read_func, min(most, sys.maxsize))
        self._context_reader(registration)
        self._keep.append(registration)
        self._calls.append(("set_ep_context_data_read_func", (read_func, max_data_size)))

    def clear_ep_context_data_read_func(self):
        """Forgets that function; sessions that exist keep it."""
        self._context_reader(None)
        self._calls.append(("clear_ep_context_data_read_func", ()))

    def has_providers(self):
        """Whether a provider was added."""
        return bool(self._providers)

    def set_load_cancellation_flag(self, value):
        """True: sessions that are being made with these options stop with ModelLoadCanceled."""
        self._set("load_cancellation_flag", _as_bool(value))

    def __reduce__(self):
        return _restore_options, (type(self), self._values, self._calls)

    def __copy__(self):
        return _restore_options(type(self), self._values, self._calls)


def _add_provider(handle, name, options):
    """Providers by name; those of registered libraries are found by their devices."""
    options = {str(key): str(value) for key, value in options.items()}
    name = name_of(name)
    device = None if name == "CPUExecutionProvider" else device_of_provider(name)
    if device is None:
        handle._provider(name, options)
    else:
        handle._devices([device], options)


def _restore_options(kind, values, calls):
    options = kind()
    for name, value in values.items():
        setattr(options, name, value)
    for name, args in calls:
        getattr(options, name)(*args)
    return options


class RunOptions(_onyx.RunOptions):
    """Options of a run. |terminate| may be set by another thread while the run is under way: it fails then."""

    __slots__ = ("_values", "_entries", "_adapters")

    def __init__(self):
        self._values = {}
        self._entries = {}
        self._adapters = []

    log_severity_level = _option("log_severity_level", _as_int, -1, "0 verbose ... 4 fatal; -1: as the session's.")
    log_verbosity_level = _option("log_verbosity_level", _as_int, 0, "More at severity 0.")
    logid = _option("logid", _as_str, "", "Name of the run in the log.")
    terminate = _option("terminate", _as_bool, False, "True: runs with these options fail, also those under way.")
    only_execute_path_to_fetches = _option(
        "only_execute_path_to_fetches", _as_bool, False, "Run what the outputs that were asked for need.", _remember)

    def add_run_config_entry(self, key, value):
        """Sets an entry of the configuration, both str."""
        _config_key(key, 1024)
        self._config(key, value)
        self._entries[key] = value

    def get_run_config_entry(self, key):
        """Its value. RuntimeError if it was not set."""
        if key not in self._entries:
            raise RuntimeError(f"RunOptions does not have configuration with key: {key}")
        return self._entries[key]

    def add_active_adapter(self, adapter):
        """Runs with the parameters of a LoraAdapter."""
        self._adapter(adapter)
        self._adapters.append(adapter)

    def __reduce__(self):
        return _restore_run_options, (type(self), self._values, self._entries)


def _restore_run_options(kind, values, entries):
    options = kind()
    for name, value in values.items():
        setattr(options, name, value)
    for key, value in entries.items():
        options.add_run_config_entry(key, value)
    return options
