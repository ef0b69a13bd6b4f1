#!/usr/bin/env python3
"""Compiles every kernel of src/plugins/device/kernels (and the tests') by NVRTC, as the CUDA driver does, for each
architecture that the library knows; no GPU is needed.

Usage: check_nvrtc.py [--library FILE] [--arch N]... [--registers]. Without a file: ONYX_NVRTC_LIBRARY, or what is found
in ONYX_CUDA_PATH, in CUDA's folders and beside this Python's packages. Makes PTX; --registers: machine code for the last
architecture too, and what ptxas says of registers and spills."""
import ctypes
import os
import pathlib
import re
import sys

KERNELS = pathlib.Path("src/plugins/device/kernels")
TESTS = pathlib.Path("tests/plugins/device/test_kernels.h")
INCLUDE = re.compile(r'^#include "plugins/device/kernels/(\w+\.h)"$')


def whole(path, seen):
    """The text of |path| with what it includes, each file once."""
    lines = []
    for line in path.read_text().splitlines():
        found = INCLUDE.match(line)
        if not found:
            lines.append(line)
        elif found[1] not in seen:
            seen.add(found[1])
            lines += whole(KERNELS / found[1], seen)
    return lines


def sources():
    """Files that include others and that none includes."""
    includes = {p: [m[1] for m in map(INCLUDE.match, p.read_text().splitlines()) if m] for p in KERNELS.glob("*.h")}
    included = {name for names in includes.values() for name in names}
    return sorted(p for p in includes if includes[p] and p.name not in included) + [TESTS]


def find_library():
    folders = os.environ.get("ONYX_CUDA_PATH", "").split(":") + ["/usr/local/cuda/lib64"]
    folders += [*map(str, pathlib.Path("/usr/local").glob("cuda-*/lib*"))]
    folders += [str(f) for p in sys.path if p for f in pathlib.Path(p).glob("nvidia/*/lib")]
    found = [str(f) for d in folders if d for f in sorted(pathlib.Path(d).glob("libnvrtc.so.[0-9]*"))]
    return os.environ.get("ONYX_NVRTC_LIBRARY") or next(iter(found), None)


class Nvrtc:
    def __init__(self, path):
        self.lib = ctypes.CDLL(path)

    def call(self, name, *args):
        code = getattr(self.lib, name)(*args)
        if code:
            raise RuntimeError(f"{name}: {code}")

    def archs(self):
        n = ctypes.c_int()
        self.call("nvrtcGetNumSupportedArchs", ctypes.byref(n))
        out = (ctypes.c_int * n.value)()
        self.call("nvrtcGetSupportedArchs", out)
        return list(out)

    def log(self, program):
        n = ctypes.c_size_t()
        self.call("nvrtcGetProgramLogSize", program, ctypes.byref(n))
        text = ctypes.create_string_buffer(n.value)
        self.call("nvrtcGetProgramLog", program, text)
        return text.value.decode()

    def compile(self, name, text, options):
        """None, or the compiler's messages; and what ptxas said."""
        program = ctypes.c_void_p()
        self.call("nvrtcCreateProgram", ctypes.byref(program), text.encode(), name.encode(), 0, None, None)
        array = (ctypes.c_char_p * len(options))(*(o.encode() for o in options))
        failed = self.lib.nvrtcCompileProgram(program, len(options), array)
        log = self.log(program)
        self.call("nvrtcDestroyProgram", ctypes.byref(program))
        return log if failed else None, log


def main():
    args = sys.argv[1:]
    path = next((b for a, b in zip(args, args[1:]) if a == "--library"), None) or find_library()
    if not path:
        print("skipped: there is no NVRTC")
        return
    nvrtc = Nvrtc(path)
    wanted = [int(b) for a, b in zip(args, args[1:]) if a == "--arch"]
    archs = [a for a in nvrtc.archs() if 75 <= a <= 120 and (not wanted or a in wanted)]
    bad = n = 0
    for path in sources():
        for half in (0, 1):
            text = f"#define DEV_F16 {half}\n" + "\n".join(whole(path, set())) + "\n"
            for arch in archs:
                told = "--registers" in args and arch == archs[-1]
                options = [f"--gpu-architecture={'sm' if told else 'compute'}_{arch}", "--fmad=true", "--ftz=false",
                           "--prec-div=true", "--prec-sqrt=true"]
                if told:
                    options.append("--ptxas-options=-v")
                errors, log = nvrtc.compile(f"{path.name}.f{16 if half else 32}", text, options)
                n += 1
                if errors is not None:
                    bad += 1
                    print(f"{path.name}, sm_{arch}: {errors}")
                elif told:
                    print(path.name, "\n".join(line for line in log.splitlines() if "Compiling" in line
                                               or "registers" in line or "spill" in line))
    print(f"{n - bad} of {n} builds, architectures {archs}")
    sys.exit(1 if bad or not archs else 0)


if __name__ == "__main__":
    main()
