#!/usr/bin/env python3
"""Checks that every #include under src/ follows tools/layers.txt, and that file names and sizes keep the rules.

Usage: check_layers.py [ROOT]. Prints what breaks a rule; exit code 1 if anything does."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
rules = {}
for line in (root / "tools/layers.txt").read_text().splitlines():
    if line and not line.startswith("#"):
        name, allowed = line.split(":")
        rules[name] = set(allowed.split()) | {name}
bad = []
seen = {}
for path in sorted((root / "src").rglob("*.[ch]")):
    rel = path.relative_to(root / "src")
    layer = rel.parts[0]
    if layer not in rules:
        bad.append(f"{rel}: folder '{layer}' is not in tools/layers.txt")
        continue
    if path.suffix == ".c":
        if rel.name in seen:
            bad.append(f"{rel}: the file name is taken by {seen[rel.name]}")
        seen[rel.name] = rel
    text = path.read_text()
    if text.count("\n") > 1000:
        bad.append(f"{rel}: {text.count(chr(10))} lines, the most is 1000")
    if "SPDX-License-Identifier" not in text:
        bad.append(f"{rel}: no SPDX line")
    for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.M):
        other = name.split("/")[0] if "/" in name else layer
        if other == "onyx" or "/" not in name:
            continue
        if (path.parent / name).exists():
            continue
        if other == "simd":
            other = "kern"
        if other not in rules[layer]:
            bad.append(f"{rel}: includes {name}; {layer} may use {', '.join(sorted(rules[layer]))}")
print("\n".join(bad) if bad else "layers: fine")
sys.exit(1 if bad else 0)
