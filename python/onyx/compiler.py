# SPDX-License-Identifier: Apache-2.0
"""Models compiled ahead of time."""

import os

from . import _onyx
from .enums import GraphOptimizationLevel, OrtCompileApiFlags
from .options import SessionOptions, _function


class OrtExternalInitializerInfo:
    """Where an initializer lies: file, offset in it, bytes."""

    __slots__ = ("filepath", "file_offset", "byte_size")

    def __init__(self, filepath, file_offset, byte_size):
        self.filepath, self.file_offset, self.byte_size = os.fspath(filepath), int(file_offset), int(byte_size)


def _by_tuple(function):
    """|function| for the module, which knows (path, offset, bytes)."""
    if function is None:
        return None

    def locate(name, value, now):
        answer = function(name, value, now and OrtExternalInitializerInfo(*now))
        return answer and (answer.filepath, answer.file_offset, answer.byte_size)

    return locate


class ModelCompiler:
    """Compiles a model for the providers of |sess_options|; what none of them compiles stays as it is, or is optimized.

    input_model_path_or_bytes: the model. embed_compiled_data_into_model: programs inside the model, not in files.
    external_initializers_file_path: where weights of at least the threshold's bytes go; or get_initializer_location_func:
    called with (name, OrtValue, where it lies now), which returns an OrtExternalInitializerInfo, having written the bytes
    there, or None. flags: OrtCompileApiFlags."""

    def __init__(self, sess_options, input_model_path_or_bytes, embed_compiled_data_into_model=False,
                 external_initializers_file_path=None, external_initializers_size_threshold=1024,
                 flags=OrtCompileApiFlags.NONE, graph_optimization_level=GraphOptimizationLevel.ORT_DISABLE_ALL,
                 get_initializer_location_func=None):
        if not isinstance(sess_options, SessionOptions):
            raise TypeError(f"sess_options: wanted SessionOptions, got {type(sess_options)}")
        if not isinstance(input_model_path_or_bytes, (str, os.PathLike, bytes)):
            raise TypeError(f"Unable to load from type '{type(input_model_path_or_bytes)}'")
        if get_initializer_location_func is not None and external_initializers_file_path is not None:
            raise ValueError("external_initializers_file_path and get_initializer_location_func exclude each other")
        self._given = (sess_options, input_model_path_or_bytes, bool(embed_compiled_data_into_model),
                       external_initializers_file_path, int(external_initializers_size_threshold), int(flags),
                       int(graph_optimization_level), _by_tuple(get_initializer_location_func))
        self._write = self._place = None

    def set_ep_context_data_write_func(self, write_func):
        """Lets |write_func|(name, OrtEpContextData) store what providers keep beside the compiled model, instead of in files
        of theirs. It may be called by several threads at once."""
        _function("write_func", write_func)
        self._write = write_func

    def clear_ep_context_data_write_func(self):
        """Forgets that function."""
        self._write = None

    def set_ep_context_binary_information(self, output_directory, model_name):
        """The folder and the name under which providers keep what lies beside the compiled model."""
        place = os.fsencode(output_directory), os.fsencode(model_name)
        if not all(place):
            raise _onyx.InvalidArgument("[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : output_directory or model_name is empty")
        self._place = place

    def compile_to_file(self, output_model_path=None):
        """Writes the model; without a name beside the input, as NAME_ctx.onnx."""
        if output_model_path is None:
            if isinstance(self._given[1], bytes):
                raise ValueError("compile_to_file: a model from bytes needs a name for the output")
            output_model_path = os.path.splitext(os.fspath(self._given[1]))[0] + "_ctx.onnx"
        folder = os.path.dirname(os.path.abspath(output_model_path))
        if not os.path.isdir(folder):
            raise ValueError(f"compile_to_file: the folder {folder} is not there")
        _onyx._compile(*self._given, self._write, self._place, output_model_path)

    def compile_to_bytes(self):
        """The model as bytes."""
        return _onyx._compile(*self._given, self._write, self._place, None)

    def compile_to_stream(self, write_function):
        """Calls |write_function| with pieces of the model."""
        _onyx._compile(*self._given, self._write, self._place, write_function)
