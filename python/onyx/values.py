# SPDX-License-Identifier: Apache-2.0
"""Values: tensors, sequences, maps and sparse tensors that stay in the library's hands."""

import numpy as np

from . import _onyx
from .devices import OrtDevice, device_of
from .enums import OrtSparseFormat


class OrtValue(_onyx.Value):
    """A tensor, sequence, map or sparse tensor. Made by the functions below, by runs, or from DLPack."""

    __slots__ = ("__weakref__",)

    def __new__(cls, ortvalue, numpy_obj=None, session=None):
        if isinstance(ortvalue, OrtValue):
            return ortvalue
        raise ValueError(f"`Provided ortvalue` needs to be of type `onyx.OrtValue`, got {type(ortvalue)}")

    @classmethod
    def ortvalue_from_numpy(cls, numpy_obj, /, device_type="cpu", device_id=0, vendor_id=-1):
        """A tensor of an array; on the host over its memory (of a copy if that is not contiguous), else copied to the
        device. RuntimeError for objects that are no arrays, arrays of strings, types that ONNX lacks."""
        if not isinstance(numpy_obj, np.ndarray) or numpy_obj.dtype.kind in "OSU":
            raise RuntimeError("Creation of OrtValues is currently only supported from non-string numpy arrays")
        device = device_of(device_type, device_id, vendor_id)
        value = cls._from_numpy(numpy_obj)
        if device.device_type() == OrtDevice.cpu():
            return value
        there = cls.ortvalue_from_shape_and_type(value.shape(), value.element_type(), device)
        _onyx._copy_tensors([value], [there])
        return there

    @classmethod
    def ortvalue_from_numpy_with_onnx_type(cls, data, /, onnx_element_type):
        """The bytes of an array as a tensor of an element type that NumPy lacks: uint16 as BFLOAT16 (16), uint8 as
        FLOAT8E4M3FN (17). RuntimeError if the sizes of elements differ."""
        return cls._from_numpy_as(data, onnx_element_type)

    @classmethod
    def ortvalue_from_shape_and_type(cls, shape, element_type, device_type="cpu", device_id=0, vendor_id=-1,
                                     memory_info=None):
        """A tensor with memory of the library's. |element_type|: what numpy.dtype() takes, or a number of ONNX.
        RuntimeError for negative dimensions and devices that no provider serves."""
        if memory_info is None:
            memory_info = device_of(device_type, device_id, vendor_id)._memory_info()
        return cls._empty(shape, element_type, memory_info)

    @classmethod
    def ort_value_from_sparse_tensor(cls, sparse_tensor):
        """A SparseTensor as an OrtValue."""
        return sparse_tensor._value

    @classmethod
    def from_dlpack(cls, data, /):
        """A tensor over the memory of anything that has __dlpack__ (PyTorch, JAX, CuPy, NumPy ...), or of a capsule.
        RuntimeError if that is not contiguous, or not on the host."""
        return cls._from_dlpack(data)

    def as_sparse_tensor(self):
        """The SparseTensor that this is."""
        if not self.is_sparse_tensor():
            raise RuntimeError("this OrtValue is no sparse tensor")
        return SparseTensor(self)

    def to_dlpack(self):
        """A capsule of DLPack."""
        return self.__dlpack__()

    def __array__(self, dtype=None, copy=None):
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def _get_c_value(self):
        return self

    @property
    def _ortvalue(self):
        return self

    def __reduce__(self):
        if not self.is_tensor():
            raise TypeError("only OrtValues that are tensors can be pickled")
        return _restore_value, (self.numpy(),)

    def __repr__(self):
        shape = self.shape() if self.is_tensor() else ""
        return f"OrtValue({self.data_type()}{shape})"


def _restore_value(array):
    return OrtValue._from_numpy(array)


class OrtValueVector(list):
    """A list of OrtValues, with the names that ONNX Runtime's has."""

    push_back = list.append

    def reserve(self, n):
        """Nothing to do."""

    shrink_to_fit = list.copy

    def element_type_at(self, idx):
        """Number of the element type of value |idx|."""
        return self[idx].element_type()

    def push_back_batch(self, tensors, data_ptrs, element_types, shapes, devices):
        """Adds tensors over memory of the caller's: addresses, element types, shapes."""
        self += [OrtValue._from_pointer(ptr, shape, kind) for ptr, kind, shape in zip(data_ptrs, element_types, shapes)]

    def dlpack_at(self, idx):
        """Value |idx| as a capsule of DLPack."""
        return self[idx].to_dlpack()

    def bool_tensor_indices(self):
        """Which values are tensors of bool."""
        return [i for i, value in enumerate(self) if value.data_type() == "tensor(bool)"]

    def to_dlpacks(self, to_tensor=None):
        """All as capsules, or as what |to_tensor| makes of each."""
        capsules = [value.to_dlpack() for value in self]
        return capsules if to_tensor is None else [to_tensor(capsule) for capsule in capsules]


class _View:
    """Indices of a sparse tensor, as arrays over its memory."""

    __slots__ = ("_value", "_kinds")

    def __init__(self, value, **kinds):
        self._value = value
        self._kinds = kinds

    def __getattr__(self, name):
        if name not in self._kinds:
            raise AttributeError(name)
        return lambda: _onyx.sparse_indices(self._value, self._kinds[name])


class SparseTensor:
    """A tensor that keeps only some of its elements. RuntimeError if a view of another format is asked for."""

    __slots__ = ("_value",)

    def __init__(self, sparse_tensor):
        if isinstance(sparse_tensor, SparseTensor):
            sparse_tensor = sparse_tensor._value
        if not isinstance(sparse_tensor, _onyx.Value):
            raise ValueError(f"`Provided object` needs to be a sparse tensor, got {type(sparse_tensor)}")
        self._value = sparse_tensor

    @classmethod
    def sparse_coo_from_numpy(cls, dense_shape, values, coo_indices, ort_device=None):
        """Coordinates: indices of n values into the flat tensor, or pairs (2n) of row and column."""
        return cls(_onyx.sparse_coo(dense_shape, values, coo_indices))

    @classmethod
    def sparse_csr_from_numpy(cls, dense_shape, values, inner_indices, outer_indices, ort_device=None):
        """Compressed rows: columns of the values, and where each row begins (rows + 1)."""
        return cls(_onyx.sparse_csr(dense_shape, values, inner_indices, outer_indices))

    @classmethod
    def blocksparse_from_numpy(cls, dense_shape, values, block_indices, ort_device=None):
        """Blocks: an array of blocks, and where each lies."""
        return cls(_onyx.sparse_block(dense_shape, values, block_indices))

    def values(self):
        """The elements that are there, over the tensor's memory."""
        return _onyx.sparse_values(self._value)

    def format(self):
        """An OrtSparseFormat."""
        return OrtSparseFormat(_onyx.sparse_format(self._value))

    def _view(self, wanted, name, **kinds):
        if self.format() != wanted:
            raise RuntimeError(f"This sparse tensor does not contain {name} format")
        return _View(self._value, **kinds)

    def as_coo_view(self):
        """A view with indices()."""
        return self._view(OrtSparseFormat.ORT_SPARSE_COO, "COO", indices=0)

    def as_csrc_view(self):
        """A view with inner() and outer()."""
        return self._view(OrtSparseFormat.ORT_SPARSE_CSRC, "CSR(C)", inner=1, outer=2)

    def as_blocksparse_view(self):
        """A view with indices()."""
        return self._view(OrtSparseFormat.ORT_SPARSE_BLOCK_SPARSE, "BlockSparse", indices=3)

    def to_cuda(self, ort_device):
        """RuntimeError: sparse tensors stay on the host."""
        raise RuntimeError("sparse tensors cannot be copied to a device")

    def dense_shape(self):
        """Dimensions of the whole tensor."""
        return self._value.shape()

    def data_type(self):
        """"sparse_tensor(float)" """
        return self._value.data_type()

    def device_name(self):
        """Where the memory is: "cpu"."""
        return "cpu"

    get_coo_data, get_csrc_data, get_blocksparse_data = as_coo_view, as_csrc_view, as_blocksparse_view

    def _get_c_tensor(self):
        return self


def copy_tensors(src, dst, stream=None):
    """Copies tensors, also from and to devices. |dst|: as many OrtValues, of the same types and shapes."""
    _onyx._copy_tensors(list(src), list(dst), stream)


_onyx._set_value_class(OrtValue)
_onyx._set_sparse_class(SparseTensor)
