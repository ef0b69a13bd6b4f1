#!/usr/bin/env python3
"""Checks that the files, folders and headings that the documentation and the comments name exist.

Usage: check_paths.py. In *.md: links with their #heading, and words that look like a path in the repository. In C and
Python: names of sources in comments. Prints what is missing; exit code 1 if anything is."""
import fnmatch
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
TOP = ("src", "include", "tests", "docs", "tools", "cmake", "bench", "examples", "python")
found_files = [p for top in TOP for p in sorted((root / top).rglob("*")) if p.is_file()] + sorted(root.glob("*.*"))
files = [str(p.relative_to(root)) for p in found_files if "__pycache__" not in p.parts]
folders = {str(parent) for f in files for parent in pathlib.PurePath(f).parents}
ends = {"/" + path for path in (*files, *folders)}  # a path may be told from any of its folders
OUTSIDE = {"build", "dist"}  # what `make` writes
LIBRARIES = {"Broadcasting.md", "dlfcn.h", "omp.h", "pthreadpool.h", "tbb/parallel_for.h", "xnnpack.h"}
ELSEWHERE = re.compile(r"#include <[^<>]*>|https?://\S+|\bcc \w+\.c")  # pages, and the user's own sources
PLACEHOLDER = re.compile(r"<[^<>\s]*>")  # as in form_<name>.c
SOURCE = re.compile(r"(?<![\w./~$<-])([\w*-]+(?:/[\w*.-]+)*\.(?:c|h|cpp|hpp|inc|py|cmake|sh|md))(?![\w/*])")
FOLDER = re.compile(rf"(?<![\w./~$-])((?:{'|'.join(TOP)})/[\w*/.-]*\w/?)(?![\w*{{<])")
LINK = re.compile(r"\]\(([^()\s]+)\)")


def exists(path):
    """Whether a file or folder ends with |path|, which may have wildcards."""
    if "*" in path:
        return any(fnmatch.fnmatch(end, "*/" + path) for end in ends)
    return any(end.endswith("/" + path.rstrip("/")) for end in ends)


def headings(path):
    """The anchors of a page, as GitHub makes them."""
    lines = re.findall(r"^#+ (.*)$", (root / path).read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", line.lower()).strip().replace(" ", "-") for line in lines}


def missing_in_page(path, text):
    for link in LINK.findall(text):
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        target = (root / path).parent / name if name else root / path
        if not target.exists():
            yield link
        elif anchor and anchor not in headings(target.resolve().relative_to(root)):
            yield link
    yield from missing_names(LINK.sub("", text), (SOURCE, FOLDER))


def missing_names(text, patterns):
    text = PLACEHOLDER.sub("*", ELSEWHERE.sub("", text))
    for pattern in patterns:
        for name in pattern.findall(text):
            if name.split("/")[0] not in OUTSIDE and name not in LIBRARIES and not exists(name):
                yield name


def comments(path, text):
    if path.endswith(".py"):
        return "\n".join(re.findall(r"(?:^|\s)#(.*)$", text, re.M))
    return "\n".join(re.findall(r"/\*.*?\*/", text, re.S))


bad = []
for path in files:
    if path.endswith(".md"):
        found = missing_in_page(path, (root / path).read_text())
    elif path.endswith((".c", ".h", ".cpp", ".hpp", ".py")):
        found = missing_names(comments(path, (root / path).read_text()), (SOURCE,))
    else:
        continue
    bad += [f"{path}: {name} does not exist" for name in dict.fromkeys(found)]
print("\n".join(bad) or "paths: fine")
sys.exit(bool(bad))
