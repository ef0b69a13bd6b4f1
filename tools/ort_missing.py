#!/usr/bin/env python3
"""Slots of ONNX Runtime's ABI that nothing in src/ort serves: the list at the end of docs/migrate.md.

Usage: ort_missing.py LIBRARY [--write]. Asks the symbols of libonnxruntime.so.1; without --write it compares: exit code 1 if
the page has another list."""
import pathlib
import re
import subprocess
import sys

library = sys.argv[1]
root = pathlib.Path(__file__).resolve().parent.parent
page = root / "docs/migrate.md"
BEGIN, END = "<!-- slots that answer ORT_NOT_IMPLEMENTED: tools/ort_missing.py --write -->\n", "<!-- end -->\n"
TABLES = {"ORT_SLOT": ("OrtApi", "ort_"), "ORT_EP_SLOT": ("OrtEpApi", "ort_ep_"),
          "ORT_EDITOR_SLOT": ("OrtModelEditorApi", "ort_editor_"), "ORT_COMPILE_SLOT": ("OrtCompileApi", "ort_compile_"),
          "ORT_INTEROP_SLOT": ("OrtInteropApi", "ort_interop_"),
          "ORT_PACKAGE_SLOT": ("OrtModelPackageApi", "ort_package_")}

slots = re.findall(r"^(ORT_\w*SLOT)\((\d+), (\w+),", (root / "include/onyx/ort_slots.inc").read_text(), re.M)
symbols = subprocess.run(["nm", library], capture_output=True, text=True, check=True).stdout
defined = set(re.findall(r" [tT] (ort_\w+)$", symbols, re.M))
lines = []
for macro, (table, prefix) in TABLES.items():
    names = [name for m, _, name in slots if m == macro]
    missing = [name for name in names if prefix + name not in defined]
    which = ": all." if not missing else "." if missing == names else "; not " + ", ".join(f"`{n}`" for n in missing) + "."
    lines.append(f"- `{table}`: {len(names) - len(missing)} of {len(names)} slots are served" + which)
want = BEGIN + "\n" + "\n".join(lines) + "\n\n" + END
text = page.read_text()
begin, end = text.index(BEGIN), text.index(END) + len(END)
if "--write" in sys.argv[2:]:
    page.write_text(text[:begin] + want + text[end:])
elif text[begin:end] != want:
    sys.exit("docs/migrate.md: the list of slots is another one now: run tools/ort_missing.py LIBRARY --write")
