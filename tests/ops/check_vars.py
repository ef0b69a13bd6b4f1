#!/usr/bin/env python3
"""Compares the type variables of the operators' rows with the schemas of the onnx package, and with ONNX Runtime's where
that package is there, too.

Usage: check_vars.py PROGRAM, where "PROGRAM rows" prints the rows (builtin_test.c). Two inputs share a letter exactly if
they share a type variable in all versions that the row serves, or the row's sets leave them one type anyway. Exit code 1
if a row differs; without the onnx package it prints "skipped"."""
import collections
import itertools
import subprocess
import sys

try:
    import onnx
    from onnx import defs
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit()

MOST = 24  # inputs that are looked at; VARIADIC ones repeat
VARIADIC = 255
# Rows that differ, and why.
LAXER = {
    ("", "LayerNormalization"): "ONNX Runtime's own, before 17, scales halves by floats; the kernel reads any mixture",
    ("ai.onnx.ml", "FeatureVectorizer"): "each input becomes floats as it is, so a row may mix types",
    ("", "Split"): "lengths of the data's type in version 1; the kernel takes int64 there and in the next ones, too",
    ("", "GridSample"): "early releases of the package tie the grid to X",
}
TIGHTER = {
    ("", "SequenceInsert"): "a sequence's letter is its tensors' type, which schemas cannot say",
    ("com.microsoft", "SparseToDenseMatMul"): "A is sparse in the schema, whose type cannot be B's; its elements' is",
}


def inputs_of(schema):
    """[(type variable, is variadic, of one type)]; the packages and their releases spell the fields differently"""
    def field(i, name, other):
        return getattr(i, name) if hasattr(i, name) else getattr(i, other)
    return [(field(i, "type_str", "typeStr"), "Variadic" in str(i.option), field(i, "is_homogeneous", "isHomogeneous"))
            for i in schema.inputs]


def standard():
    """(domain, name) -> [(since, inputs)], sorted by since"""
    schemas = collections.defaultdict(list)
    try:
        from onnxruntime.capi import onnxruntime_pybind11_state as runtime
        contrib = [s for s in runtime.get_all_operator_schema() if s.domain == "com.microsoft"]
    except (ImportError, AttributeError):
        contrib = []
    for s in defs.get_all_schemas_with_history() + contrib:
        schemas[s.domain, s.name].append((s.since_version, inputs_of(s)))
    return {key: sorted(versions) for key, versions in schemas.items()}


def variable(inputs, i):
    """What the type of input |i| is called, None: there is no such input."""
    if i < len(inputs) and not inputs[i][1]:
        return inputs[i][0]
    if inputs and inputs[-1][1]:
        return inputs[-1][0] if inputs[-1][2] else f"{inputs[-1][0]} {i}"
    return None


def tied_by(versions, i, j):
    pairs = [(variable(inputs, i), variable(inputs, j)) for _, inputs in versions]
    pairs = [p for p in pairs if None not in p]
    return bool(pairs) and all(a == b for a, b in pairs)


def letter(row, i):
    if row["most"] == VARIADIC and row["vars"] and i >= len(row["vars"]):
        return row["vars"][-1]
    return row["vars"][i] if i < len(row["vars"]) else "."


def mask(row, i):
    if i < len(row["types"]) and (i >= 8 or row["types"][i]):
        return row["types"][i]
    return next((m for m in reversed(row["types"][: min(i, 8)]) if m), 0)


def one_type(row, i, j):
    """Both inputs take the same single type."""
    m = mask(row, i)
    return m and m == mask(row, j) and m & (m - 1) == 0


rows = []
for line in subprocess.run([sys.argv[1], "rows"], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines():
    domain, name, since, most, letters, types = line.split("\t")
    rows.append({"key": (domain, name), "since": int(since), "most": int(most), "vars": letters,
                 "types": [int(t, 16) for t in types.split()]})

schemas, checked, newer, wrong = standard(), 0, 0, []
for row in rows:
    later = [r["since"] for r in rows if r["key"] == row["key"] and r["since"] > row["since"]]
    until = min(later, default=1 << 30)
    known = schemas.get(row["key"], [])
    versions = [v for v in known if v[0] <= row["since"]][-1:] + [v for v in known if row["since"] < v[0] < until]
    if not versions:
        newer += 1
        continue
    checked += 1
    for i, j in itertools.combinations(range(min(row["most"], MOST)), 2):
        ours = letter(row, i) != "." and letter(row, i) == letter(row, j)
        theirs = tied_by(versions, i, j)
        if ours == theirs or one_type(row, i, j):
            continue
        if row["key"] in (TIGHTER if ours else LAXER):
            continue
        says = "one type" if ours else "any two types"
        wrong.append(f"{'.'.join(filter(None, row['key']))} since {row['since']}: \"{row['vars']}\" allows inputs {i} and "
                     f"{j} {says}, the standard does {'not' if ours else 'tie them'}")
print("\n".join(wrong) if wrong else f"{checked} rows agree with onnx {onnx.__version__}; it does not know {newer} others")
sys.exit(1 if wrong else 0)
