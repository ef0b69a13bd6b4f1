# SPDX-License-Identifier: Apache-2.0
"""Whatever the extension module is called with, it answers or raises. In a process of its own, which must live on."""

import subprocess
import sys

import pytest

import onyx

SCRIPT = """
import sys; sys.path[:] = %r
import itertools, os, random, tempfile
import numpy as np
import onnx_bytes as ob, onyx
from onyx import _onyx

os.chdir(tempfile.mkdtemp())  # names of files are tried, too
onyx.set_default_logger_severity(4)
session = onyx.InferenceSession(ob.add(["N"]))
x = np.ones(3, np.float32)
value = onyx.OrtValue.ortvalue_from_numpy(x.copy())
binding = session.io_binding()
info = onyx.OrtMemoryInfo("Cpu", onyx.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, onyx.OrtMemType.DEFAULT)
device = onyx.get_ep_devices()[0]
sparse = onyx.SparseTensor.sparse_coo_from_numpy([3, 3], x[:2], np.array([0, 4]))
JUNK = [None, True, 0, -1, 1 << 70, 2.5, "", "x", "z", "\\0", "\\ud800", b"", b"x", [], ["z"], [1, 2], (1,), {}, {"x": x, "y": x},
        {"x": "y"}, {1: 2}, object(), x, x[:0], np.array(["a"]), np.ones((2, 2)), value, binding, session, info, device,
        device.device, sparse, int, len, onyx.SessionOptions(), onyx.RunOptions(), onyx.LoraAdapter(), [value], [device],
        lambda *args: None]
# one that takes an address would read it; forks and pools are for others
SKIP = {"_from_pointer", "_set_main_thread", "_set_value_class", "_set_sparse_class", "set_pool_threads", "_delegate", "_context_reader",
        "unregister_execution_provider_library", "set_default_logger_severity", "set_default_logger_callback", "_open"}

def fresh():
    kinds = [_onyx.Session, _onyx.Value, _onyx.Options, _onyx.RunOptions, _onyx.LoraAdapter, _onyx.MemoryInfo,
             _onyx.EpDevice, _onyx.HardwareDevice, _onyx.SyncStream, _onyx.Binding]
    out = []
    for kind in kinds:
        try:
            out.append(kind())
        except TypeError:
            pass
    return out

def calls(thing):
    for name in dir(thing):
        if name in SKIP or (name.startswith("__") and name != "__dlpack__"):
            continue
        try:
            found = getattr(thing, name)
        except Exception:
            continue  # a property that has nothing to say
        if callable(found) and not isinstance(found, type):
            yield name, found

random.seed(int(sys.argv[1]))
targets = [_onyx, session, value, binding, info, device, device.device, sparse, onyx.SessionOptions(), onyx.RunOptions(),
           onyx.LoraAdapter(), onyx.OrtValue, onyx.ModelCompiler(onyx.SessionOptions(), ob.add()), *fresh()]
done = 0
for target in targets:
    for name, function in calls(target):
        tries = [()] + [(a,) for a in JUNK] + [tuple(random.choice(JUNK) for _ in range(random.randint(2, 9)))
                                               for _ in range(60)]
        for args in tries:
            try:
                function(*args)
            except Exception:
                pass
            done += 1
for kind in [type(t) for t in targets]:
    for a in JUNK:
        try:
            kind(a)
        except Exception:
            pass
assert session.run(None, {"x": x, "y": x})[0].tolist() == [2, 2, 2]
print("alive", done > 10000)
"""


@pytest.mark.parametrize("seed", range(3))
def test_anything_for_an_argument(seed):
    result = subprocess.run([sys.executable, "-c", SCRIPT % (sys.path,), str(seed)], capture_output=True, text=True,
                            timeout=200)
    assert result.stdout.split("\n")[-2:-1] == ["alive True"], (result.returncode, result.stdout[-300:],
                                                               result.stderr[-1500:])


def test_only_the_library_makes_devices():
    for kind in (onyx.OrtEpDevice, onyx.OrtHardwareDevice, onyx.OrtSyncStream):
        with pytest.raises(TypeError):
            kind()
