#!/usr/bin/env python3
"""Checks that every #include under src/ follows tools/layers.txt and that no includes go in a circle, and that file names
and sizes keep the rules.

Usage: check_layers.py [ROOT]. Prints what breaks a rule; exit code 1 if anything does."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
src = root / "src"
rules = {}
known_circles = set()
for line in (root / "tools/layers.txt").read_text().splitlines():
    if line and not line.startswith("#"):
        name, words = line.split(":")
        if name == "circle":
            known_circles.add(tuple(sorted(words.split())))
        else:
            rules[name] = set(words.split()) | {name}


def layer_of(rel):
    """The innermost folder of |rel| that has a line of its own; else the outermost one."""
    folders = ["/".join(rel.parts[:n]) for n in range(len(rel.parts) - 1, 0, -1)]
    return next((f for f in folders if f in rules), rel.parts[0])


def plugin_of(rel):
    """A plug-in is a library of its own: its file names are, too."""
    return rel.parts[1] if rel.parts[0] == "plugins" else None


def find(path, name):
    """The file under src/ that |path| includes as |name|; None: it is generated or public."""
    for folder in (path.parent, src, src / "kern"):
        if (folder / name).is_file():
            return (folder / name).resolve().relative_to(src.resolve())
    return None


def circles(edges):
    """Groups of nodes that can reach each other (Tarjan)."""
    number, low, stack, found = {}, {}, [], []

    def visit(v):
        number[v] = low[v] = len(number)
        stack.append(v)
        for w in sorted(edges.get(v, ())):
            if w not in number:
                visit(w)
                low[v] = min(low[v], low[w])
            elif w in stack:
                low[v] = min(low[v], number[w])
        if low[v] == number[v]:
            group = tuple(sorted(stack[stack.index(v):]))
            del stack[stack.index(v):]
            if len(group) > 1:
                found.append(group)

    for v in sorted(edges):
        if v not in number:
            visit(v)
    return found


bad = []
seen = {}
files, units = {}, {}  # who includes whom; a unit is a header with the source of the same name
for path in sorted(src.rglob("*.[ch]")) + sorted(src.rglob("*.inc")):
    rel = path.relative_to(src)
    layer = layer_of(rel)
    if layer not in rules:
        bad.append(f"{rel}: folder '{layer}' is not in tools/layers.txt")
        continue
    if path.suffix == ".c":
        place = (plugin_of(rel), rel.name)
        if place in seen:
            bad.append(f"{rel}: the file name is taken by {seen[place]}")
        seen[place] = rel
    text = path.read_text()
    if path.suffix != ".inc":
        if text.count("\n") > 500:
            bad.append(f"{rel}: {text.count(chr(10))} lines, the most is 500")
        if "SPDX-License-Identifier" not in text:
            bad.append(f"{rel}: no SPDX line")
    for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.M):
        target = find(path, name)
        if target is None and ("/" not in name or name.startswith("onyx/")):
            continue
        other = layer_of(target or pathlib.PurePath(name))
        if other not in rules[layer] and name not in rules[layer]:
            bad.append(f"{rel}: includes {name}; {layer} may use {', '.join(sorted(rules[layer]))}")
        if target is not None:
            files.setdefault(str(rel), set()).add(str(target))
            if rel.with_suffix("") != target.with_suffix(""):
                units.setdefault(str(rel.with_suffix("")), set()).add(str(target.with_suffix("")))
for circle in circles(files):
    bad.append(f"these files include each other: {' '.join(circle)}")
unit_circles = set(circles(units))
for circle in sorted(unit_circles - known_circles):
    bad.append(f"headers with their sources include each other: {' '.join(circle)}")
for circle in sorted(known_circles - unit_circles):
    bad.append(f"tools/layers.txt: the circle of {' '.join(circle)} is not there (any more): change the line")
print("\n".join(bad) if bad else "layers: fine")
sys.exit(1 if bad else 0)
