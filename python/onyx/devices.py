# SPDX-License-Identifier: Apache-2.0
"""Devices, kinds of memory, and functions about them."""

from . import _onyx
from .enums import (
    OrtAllocatorType,
    OrtCompiledModelCompatibility,
    OrtDeviceMemoryType,
    OrtDeviceVendorId,
    OrtHardwareDeviceType,
    OrtMemType,
)

OrtMemoryInfo = _onyx.MemoryInfo
OrtEpDevice = _onyx.EpDevice
OrtHardwareDevice = _onyx.HardwareDevice
OrtSyncStream = _onyx.SyncStream

# The module knows numbers; these are their names.
OrtMemoryInfo.mem_type = property(lambda self: OrtMemType(self._mem_type), doc="What the memory is for.")
OrtMemoryInfo.allocator_type = property(lambda self: OrtAllocatorType(self._allocator_type), doc="How it is taken.")
OrtMemoryInfo.device_mem_type = property(
    lambda self: OrtDeviceMemoryType(self._device_mem_type), doc="Whether the host can reach it.")
OrtMemoryInfo.create_v2 = staticmethod(OrtMemoryInfo._create_v2)
OrtHardwareDevice.type = property(lambda self: OrtHardwareDeviceType(self._type), doc="CPU, GPU or NPU.")

_CPU, _GPU, _FPGA, _NPU = 0, 1, 2, 3
_KINDS = {"cpu": _CPU, "gpu": _GPU, "cuda": _GPU, "opencl": _GPU, "dml": _GPU, "webgpu": _GPU, "hip": _GPU,
          "rocm": _GPU, "migraphx": _GPU, "fpga": _FPGA, "npu": _NPU, "cann": _NPU}
_VENDORS = {"cuda": OrtDeviceVendorId.NVIDIA, "dml": OrtDeviceVendorId.MICROSOFT, "cann": OrtDeviceVendorId.HUAWEI}


class OrtDevice:
    """A device: its kind, its vendor, which one, and which of its kinds of memory. OrtDevice.make("cpu", 0)"""

    __slots__ = ("_kind", "_memory", "_vendor", "_id", "_name")

    def __init__(self, kind, memory=0, *rest):
        if isinstance(kind, OrtDevice):
            self._kind, self._memory, self._vendor, self._id = kind._kind, kind._memory, kind._vendor, kind._id
            self._name = kind._name
            return
        # (kind, memory, id), or (kind, memory, vendor, id)
        self._kind, self._memory, self._id = kind, memory, rest[-1] if rest else 0
        self._vendor = rest[0] if len(rest) > 1 else 0
        self._name = next(name for name, number in _KINDS.items() if number == kind)

    @staticmethod
    def make(ort_device_name, device_id, vendor_id=-1):
        """|ort_device_name|: cpu, cuda, gpu, npu ... Exception for others."""
        name = ort_device_name.lower()
        if name not in _KINDS:
            raise Exception(f"Unsupported device type: {ort_device_name}")
        vendor = vendor_id if vendor_id >= 0 else _VENDORS.get(name, 0)
        device = OrtDevice(_KINDS[name], 0, int(vendor), device_id)
        device._name = name
        return device

    cpu = staticmethod(lambda: _CPU)
    gpu = cuda = dml = webgpu = staticmethod(lambda: _GPU)
    fpga = staticmethod(lambda: _FPGA)
    npu = cann = staticmethod(lambda: _NPU)
    default_memory = staticmethod(lambda: 0)

    def device_type(self):
        """0 CPU, 1 GPU, 2 FPGA, 3 NPU."""
        return self._kind

    def device_id(self):
        """Which of several."""
        return self._id

    def device_vendor_id(self):
        """PCI number of the vendor; 0: none."""
        return self._vendor

    vendor_id = device_vendor_id

    def device_mem_type(self):
        """0: the device's own memory."""
        return self._memory

    mem_type = device_mem_type

    def _get_c_device(self):
        return self

    def _memory_info(self):
        """For the module; None: plain memory of the host."""
        if self._kind == _CPU:
            return None
        return OrtMemoryInfo.create_v2(self._name, self._kind, self._vendor, self._id, self._memory, 0, 0)

    def __repr__(self):
        return f"OrtDevice({self._name!r}, {self._id})"

    def __eq__(self, other):
        return isinstance(other, OrtDevice) and self._key() == other._key()

    def __hash__(self):
        return hash(self._key())

    def _key(self):
        return self._kind, self._memory, self._vendor, self._id


def device_of(device_type, device_id=0, vendor_id=-1):
    """An OrtDevice by its name; itself if it is one."""
    return device_type if isinstance(device_type, OrtDevice) else OrtDevice.make(device_type, device_id, vendor_id)


class OrtArenaCfg:
    """How an arena takes memory: sizes in bytes, -1: the default. Takes a dict, or the first four in order."""

    _NAMES = ("max_mem", "arena_extend_strategy", "initial_chunk_size_bytes", "max_dead_bytes_per_chunk",
              "initial_growth_chunk_size_bytes", "max_power_of_two_extend_bytes")
    __slots__ = _NAMES

    def __init__(self, *args):
        given = args[0] if len(args) == 1 and isinstance(args[0], dict) else dict(zip(self._NAMES, args))
        unknown = set(given) - set(self._NAMES)
        if unknown:
            raise ValueError(f"Invalid OrtArenaCfg option: {sorted(unknown)}")
        for name in self._NAMES:
            setattr(self, name, given.get(name, 0 if name == "max_mem" else -1))

    def _settings(self):
        values = {name: getattr(self, name) for name in self._NAMES}
        return {name: str(int(value)) for name, value in values.items() if value != -1}


def create_and_register_allocator(memory_info, arena_cfg=None):
    """An allocator for all sessions whose options say session.use_env_allocators=1."""
    _onyx._register_allocator(None, memory_info, {}, arena_cfg._settings() if arena_cfg else {})


def create_and_register_allocator_v2(provider_type, memory_info, provider_options, arena_cfg=None):
    """The same for the memory of a provider."""
    options = {str(key): str(value) for key, value in provider_options.items()}
    _onyx._register_allocator(provider_type, memory_info, options, arena_cfg._settings() if arena_cfg else {})


def memory_stats(device_type="cuda", device_id=0):
    """Statistics of the arena that all sessions' values on a device come from: a dict with ONNX Runtime's keys ("InUse",
    "TotalAllocated", "MaxInUse", "NumAllocs" ...), in bytes. RuntimeError if no provider serves the device."""
    return _onyx._allocator_stats(device_of(device_type, device_id)._memory_info(), None)


def get_model_compatibility_for_ep_devices(ep_devices, compatibility_info):
    """Whether a compiled model whose metadata says |compatibility_info| fits the devices."""
    return OrtCompiledModelCompatibility(_onyx._compatibility(ep_devices, compatibility_info))


def get_compatibility_info_from_model(model_path, ep_name):
    """What a compiled model's file says about provider |ep_name|; None: nothing."""
    return _onyx._compatibility_info(model_path, ep_name)


def get_compatibility_info_from_model_bytes(model, ep_name):
    """The same of bytes."""
    return _onyx._compatibility_info(bytes(model), ep_name)


