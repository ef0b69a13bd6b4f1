# SPDX-License-Identifier: Apache-2.0
"""Types of a session's inputs and outputs, as NumPy, PyTorch and ONNX name them."""

import numpy as np

# ONNX Runtime's name, ONNX's number (TensorProto.DataType), NumPy's type (None: it has none), PyTorch's name.
_ROWS = [
    ("tensor(float)", 1, np.float32, "float32"),
    ("tensor(uint8)", 2, np.uint8, "uint8"),
    ("tensor(int8)", 3, np.int8, "int8"),
    ("tensor(uint16)", 4, np.uint16, "uint16"),
    ("tensor(int16)", 5, np.int16, "int16"),
    ("tensor(int32)", 6, np.int32, "int32"),
    ("tensor(int64)", 7, np.int64, "int64"),
    ("tensor(bool)", 9, bool, "bool"),
    ("tensor(float16)", 10, np.float16, "float16"),
    ("tensor(double)", 11, np.float64, "float64"),
    ("tensor(uint32)", 12, np.uint32, "uint32"),
    ("tensor(uint64)", 13, np.uint64, "uint64"),
    ("tensor(bfloat16)", 16, None, "bfloat16"),
]


def _found(value, what):
    if value is None:
        raise ValueError(f"{what} not found in map")
    return value


def _row(ort_type):
    return _found(next((row for row in _ROWS if row[0] == ort_type), None), ort_type)


def _torch(name):
    import torch  # only those who ask for its types need it

    return _found(getattr(torch, name, None), name)


class TypeHelper:
    """Names of types translated; ValueError: there is no such type on the other side."""

    @staticmethod
    def get_input_type(ort_session, name: str) -> str:
        """The type of input |name|, as "tensor(float)"."""
        return _found(next((i.type for i in ort_session.get_inputs() if i.name == name), None), name)

    @staticmethod
    def get_output_type(ort_session, name: str) -> str:
        """The type of output |name|."""
        return _found(next((o.type for o in ort_session.get_outputs() if o.name == name), None), name)

    @staticmethod
    def ort_type_to_numpy_type(ort_type: str):
        """"tensor(float)" -> numpy.float32"""
        return _found(_row(ort_type)[2], ort_type)

    @staticmethod
    def ort_type_to_onnx_type(ort_type: str):
        """"tensor(float)" -> 1, onnx.TensorProto.FLOAT"""
        return _row(ort_type)[1]

    @staticmethod
    def ort_type_to_torch_type(ort_type: str):
        """"tensor(float)" -> torch.float32"""
        return _torch(_row(ort_type)[3])

    @staticmethod
    def numpy_type_to_torch_type(numpy_type):
        """numpy.float32, or what numpy.dtype takes -> torch.float32"""
        dtype = np.dtype(numpy_type)
        row = next((row for row in _ROWS if row[2] and np.dtype(row[2]) == dtype), None)
        return _torch(_found(row, numpy_type)[3])

    @staticmethod
    def torch_type_to_numpy_type(torch_type):
        """torch.float32 -> numpy.float32"""
        row = next((row for row in _ROWS if str(torch_type) == "torch." + row[3]), None)
        return _found(row and row[2], torch_type)

    @staticmethod
    def get_io_numpy_type_map(ort_session) -> dict:
        """Name of each input and output -> numpy.float32"""
        return _map(ort_session, TypeHelper.ort_type_to_numpy_type)

    @staticmethod
    def get_io_onnx_type_map(ort_session) -> dict:
        """Name of each input and output -> onnx.TensorProto.FLOAT"""
        return _map(ort_session, TypeHelper.ort_type_to_onnx_type)

    @staticmethod
    def get_io_torch_type_map(ort_session) -> dict:
        """Name of each input and output -> torch.float32"""
        return _map(ort_session, TypeHelper.ort_type_to_torch_type)


def _map(session, translate):
    return {v.name: translate(v.type) for v in [*session.get_inputs(), *session.get_outputs()]}
