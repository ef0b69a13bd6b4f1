# SPDX-License-Identifier: Apache-2.0
"""Builds the wheels: a back-end for pip (PEP 517), and a command.

    python3 python/build/onyx_build.py [--out DIST] [--build FOLDER]

makes onyx-*.whl, which holds the library, the extension module for CPython 3.9 and later, and the Python layer; and
onnxruntime-*.whl, which holds Microsoft's names for them. ONYX_BUILD_DIR names a folder that CMake has configured, else one is
made. Nothing but the standard library is needed, cmake and ninja."""

import argparse
import base64
import hashlib
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGETS = ["python_packages"]
SUMMARY = {
    "onyx": "Runs ONNX models, with ONNX Runtime's Python interface",
    "onnxruntime": "The names of ONNX Runtime's package, served by Onyx (not Microsoft's package)",
}


def version_of(name):
    """Onyx's own, or that of the ABI that the library serves."""
    if name == "onyx":
        return re.search(r"project\(onyx VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
    return re.search(r"VERSION ([0-9.]+) SOVERSION", (ROOT / "cmake/ort.cmake").read_text()).group(1)


def compiled(build):
    """Builds what is compiled; returns the folder where the packages are laid out."""
    if not (build / "CMakeCache.txt").exists():
        generator = ["-G", "Ninja"] if shutil.which("ninja") else []
        subprocess.run(["cmake", "-S", str(ROOT), "-B", str(build), *generator,
                        f"-DONYX_PYTHON_INCLUDE={sysconfig.get_path('include')}"], check=True)
    subprocess.run(["cmake", "--build", str(build), "-j", str(os.cpu_count()), "--target", *TARGETS], check=True)
    return build / "python"


def build_folder():
    given = os.environ.get("ONYX_BUILD_DIR")
    return pathlib.Path(given).resolve() if given else ROOT / "build"


def platform_tag(files):
    """manylinux, by the newest symbol of glibc that the binaries ask for."""
    machine = platform.machine()
    newest = max((int(minor) for data in files for minor in re.findall(rb"GLIBC_2\.(\d+)", data)), default=17)
    if platform.libc_ver()[0] != "glibc":
        return f"linux_{machine}"
    return f"manylinux_2_{max(newest, 17)}_{machine}"


def stripped(path):
    """The bytes of a library without what only debuggers want."""
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "copy"
        shutil.copyfile(path, copy)
        if shutil.which("strip"):
            subprocess.run(["strip", "--strip-unneeded", str(copy)], check=False)
        return copy.read_bytes()


def contents(name, staged):
    """{path in the wheel: bytes}"""
    files = {}
    for path in sorted((staged / name).rglob("*")):
        rel = path.relative_to(staged).as_posix()
        if path.is_dir() or "__pycache__" in rel or rel.endswith(".pyc"):
            continue
        files[rel] = stripped(path) if ".so" in path.name else path.read_bytes()
    return files


def metadata(name):
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version_of(name)}", f"Summary: {SUMMARY[name]}",
             "License: Apache-2.0", "Requires-Python: >=3.9"]
    if name == "onyx":
        lines += ["Requires-Dist: numpy>=1.21", "Provides-Extra: types", "Requires-Dist: ml_dtypes; extra == 'types'"]
    else:
        lines += [f"Requires-Dist: onyx=={version_of('onyx')}"]
    readme = ROOT / "python" / ("README.md" if name == "onyx" else "onnxruntime/README.md")
    lines += ["Description-Content-Type: text/markdown", "", readme.read_text()]
    return "\n".join(lines)


def tag_of(name, files):
    if name == "onnxruntime":
        binaries = [data for path, data in files.items() if ".so" in path]
        return f"py3-none-{platform_tag(binaries)}"
    return f"cp39-abi3-{platform_tag([data for path, data in files.items() if '.so' in path])}"


def info_files(name, tag):
    info = f"{name}-{version_of(name)}.dist-info"
    wheel = f"Wheel-Version: 1.0\nGenerator: onyx_build\nRoot-Is-Purelib: false\nTag: {tag}\n"
    return info, {f"{info}/METADATA": metadata(name).encode(), f"{info}/WHEEL": wheel.encode(),
                  f"{info}/LICENSE": (ROOT / "LICENSE").read_bytes()}


def write_wheel(name, staged, out):
    """Writes the wheel into |out|; returns its file name."""
    files = contents(name, staged)
    tag = tag_of(name, files)
    info, more = info_files(name, tag)
    files.update(more)
    record = []
    for path, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record.append(f"{path},sha256={digest},{len(data)}")
    record.append(f"{info}/RECORD,,")
    files[f"{info}/RECORD"] = ("\n".join(record) + "\n").encode()
    wheel = f"{name}-{version_of(name)}-{tag}.whl"
    os.makedirs(out, exist_ok=True)
    with zipfile.ZipFile(pathlib.Path(out) / wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))  # the same input gives the same bytes
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o755 if ".so" in path else 0o644) << 16
            archive.writestr(entry, data)
    return wheel


# ---- PEP 517 ----


def get_requires_for_build_wheel(config_settings=None):
    return [tool for tool in ("cmake", "ninja") if not shutil.which(tool)]


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return write_wheel("onyx", compiled(build_folder()), wheel_directory)


def build_sdist(sdist_directory, config_settings=None):
    base = f"onyx-{version_of('onyx')}"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    with tarfile.open(pathlib.Path(sdist_directory) / f"{base}.tar.gz", "w:gz") as archive:
        for path in listed.decode().split("\0"):
            if path:
                archive.add(ROOT / path, f"{base}/{path}")
    return f"{base}.tar.gz"


def main():
    parser = argparse.ArgumentParser(description="builds the wheels of onyx and onnxruntime")
    parser.add_argument("--out", default=str(ROOT / "dist"), help="folder for the wheels (dist)")
    parser.add_argument("--build", default=str(build_folder()), help="folder that CMake builds in (build)")
    args = parser.parse_args()
    staged = compiled(pathlib.Path(args.build).resolve())
    for name in SUMMARY:
        print(os.path.join(args.out, write_wheel(name, staged, args.out)))


if __name__ == "__main__":
    sys.exit(main())
