# SPDX-License-Identifier: Apache-2.0
"""Values on devices: OpenCL, and CUDA on the stand-in for a GPU of the build folder. Each has a process of its own
(on_device.py), in which calls of the API are counted. Onyx only."""

import os
import subprocess
import sys

import pytest

import onyx

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.join(os.path.dirname(os.path.abspath(onyx.__file__)), "..", "..", "tests")
STANDIN = os.path.join(BUILD, "libcuda_standin.so")
COUNTS = {"opencl": os.path.join(BUILD, "libopencl_counts.so"), "cuda": STANDIN}


@pytest.mark.parametrize("device", COUNTS)
def test_a_device(device):
    if not os.path.exists(COUNTS[device]):
        pytest.skip(f"the build folder has no {os.path.basename(COUNTS[device])}")
    env = dict(os.environ, ONYX_TEST_DEVICE=device, ONYX_TEST_COUNTS=COUNTS[device])
    env.update({f"ONYX_{name}_LIBRARY": STANDIN for name in ("CUDA", "NVRTC", "CUBLASLT", "CUDNN")})
    if device == "opencl":  # it is found before OpenCL's library
        env["LD_PRELOAD"] = " ".join(filter(None, (os.environ.get("LD_PRELOAD"), COUNTS[device])))
    command = [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", os.path.join(HERE, "on_device.py")]
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True,
                          timeout=300)
    assert done.returncode == 0 and " passed" in done.stdout, done.stdout
