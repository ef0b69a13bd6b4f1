# SPDX-License-Identifier: Apache-2.0
"""Inputs and outputs bound to memory."""

import numpy as np

from . import _onyx
from .devices import device_of
from .values import OrtValue, OrtValueVector


class IOBinding(_onyx.Binding):
    """Inputs and outputs of a session that stay bound from run to run (session.io_binding()). Memory that is bound by
    its address is the caller's to keep; arrays and OrtValues are kept."""

    def bind_cpu_input(self, name, arr_on_cpu):
        """Binds an array. RuntimeError if the model has no such input."""
        if not isinstance(arr_on_cpu, np.ndarray):
            raise RuntimeError(f"Unable to create OrtValue from the given python object: {type(arr_on_cpu)}")
        self._bind_input(name, OrtValue._from_numpy(arr_on_cpu))

    def bind_input(self, name, device_type, device_id, element_type, shape, buffer_ptr):
        """Binds |buffer_ptr|, an address, as a tensor of |element_type| and |shape|."""
        info = device_of(device_type, device_id)._memory_info()
        self._bind_input(name, OrtValue._from_pointer(buffer_ptr, shape, element_type, info))

    def bind_ortvalue_input(self, name, ortvalue):
        """Binds an OrtValue."""
        self._bind_input(name, ortvalue._get_c_value())

    def bind_output(self, name, device_type="cpu", device_id=0, element_type=None, shape=None, buffer_ptr=None):
        """Binds memory at |buffer_ptr| to be written; without: memory of the device that each run takes anew."""
        info = device_of(device_type, device_id)._memory_info()
        if buffer_ptr is None:
            self._bind_output(name, info)
            return
        if element_type is None or shape is None:
            raise ValueError("`element_type` and `shape` are to be provided if pre-allocated memory is provided")
        self._bind_output(name, OrtValue._from_pointer(buffer_ptr, shape, element_type, info))

    def bind_ortvalue_output(self, name, ortvalue):
        """Binds an OrtValue to be written."""
        self._bind_output(name, ortvalue._get_c_value())

    def get_outputs(self):
        """Outputs of the last run as OrtValues, in the order of binding."""
        return self._outputs()

    def get_outputs_as_ortvaluevector(self):
        """The same as an OrtValueVector."""
        return OrtValueVector(self._outputs())

    def copy_outputs_to_cpu(self):
        """Outputs of the last run as arrays (lists, dicts)."""
        return [value.to_python() for value in self._outputs()]

    @property
    def _iobinding(self):
        return self


SessionIOBinding = IOBinding
