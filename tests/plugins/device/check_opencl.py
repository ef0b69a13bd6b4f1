#!/usr/bin/env python3
"""Checks every kernel of src/plugins/device/kernels (and the tests') as OpenCL C 1.2 by clang, also those that a processor's
OpenCL never builds.

Usage: check_opencl.py CLANG"""
import subprocess
import sys

from check_nvrtc import sources, whole

FLAGS = ["-x", "cl", "-cl-std=CL1.2", "-Xclang", "-finclude-default-header", "-target", "spir64",
         "-D__OPENCL_VERSION__=120", "-Wall", "-Wno-unused", "-fsyntax-only", "-"]


def main():
    failures = 0
    for path in sources():
        for half in 0, 1:
            text = "\n".join([f"#define DEV_F16 {half}"] + whole(path, {path.name})) + "\n"
            done = subprocess.run([sys.argv[1]] + FLAGS, input=text, capture_output=True, text=True, check=False)
            if done.returncode:
                failures += 1
                print(f"{path.name}, DEV_F16 {half}:\n{done.stderr}")
    print(f"{2 * len(sources())} texts, {failures} failures")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
