#!/usr/bin/env python3
"""Compares the operators' rows with the schemas of the onnx package, and with ONNX Runtime's where that package is there,
too.

Usage: check_schemas.py PROGRAM, where "PROGRAM rows" prints the rows (builtin_test.c). Checked are
- type variables: two inputs share a letter exactly if they share a type variable in all versions that the row serves, or
  the row's sets leave them one type anyway;
- counts: a row takes as many inputs and outputs as any of these versions allows, and as few. It may take fewer: an
  output that a kernel can do without may be optional in its row, so that it is not computed if nothing reads it.
Exit code 1 if a row differs; without the onnx package it prints "skipped"."""
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
# Rows that want more inputs than the schema says, and why.
MORE_INPUTS = {
    ("com.microsoft", "QLinearConcat"): "the variadic inputs come in threes: a tensor, its scale, its zero point",
}


def counts_of(schema):
    """(least inputs, most, least outputs, most); a count without limit is VARIADIC"""
    return (schema.min_input, min(schema.max_input, VARIADIC), schema.min_output, min(schema.max_output, VARIADIC))


def inputs_of(schema):
    """[(type variable, is variadic, of one type)]; the packages and their releases spell the fields differently"""
    def field(i, name, other):
        return getattr(i, name) if hasattr(i, name) else getattr(i, other)
    return [(field(i, "type_str", "typeStr"), "Variadic" in str(i.option), field(i, "is_homogeneous", "isHomogeneous"))
            for i in schema.inputs]


def standard():
    """(domain, name) -> [(since, inputs, counts)], sorted by since"""
    schemas = collections.defaultdict(list)
    try:
        from onnxruntime.capi import onnxruntime_pybind11_state as runtime
        contrib = [s for s in runtime.get_all_operator_schema() if s.domain == "com.microsoft"]
    except (ImportError, AttributeError):
        contrib = []
    for s in defs.get_all_schemas_with_history() + contrib:
        schemas[s.domain, s.name].append((s.since_version, inputs_of(s), counts_of(s)))
    return {key: sorted(versions) for key, versions in schemas.items()}


def variable(inputs, i):
    """What the type of input |i| is called, None: there is no such input."""
    if i < len(inputs) and not inputs[i][1]:
        return inputs[i][0]
    if inputs and inputs[-1][1]:
        return inputs[-1][0] if inputs[-1][2] else f"{inputs[-1][0]} {i}"
    return None


def tied_by(versions, i, j):
    pairs = [(variable(inputs, i), variable(inputs, j)) for _, inputs, _ in versions]
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


def count_errors(row, versions):
    """How the row's counts differ from the widest range of the versions it serves."""
    for k, (what, ours) in enumerate(zip(("inputs", "outputs"), (row["in"], row["out"]))):
        least, most = min(c[2 * k] for _, _, c in versions), max(c[2 * k + 1] for _, _, c in versions)
        excused = what == "inputs" and row["key"] in MORE_INPUTS
        if (ours[0] > least and not excused) or ours[1] != most:
            yield f"takes {ours[0]} to {ours[1]} {what}, the standard {least} to {most}"


rows = []
for line in subprocess.run([sys.argv[1], "rows"], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines():
    domain, name, since, counts, letters, types = line.split("\t")
    least_in, most_in, least_out, most_out = map(int, counts.split())
    rows.append({"key": (domain, name), "since": int(since), "in": (least_in, most_in), "out": (least_out, most_out),
                 "most": most_in, "vars": letters, "types": [int(t, 16) for t in types.split()]})

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
    label = f"{'.'.join(filter(None, row['key']))} since {row['since']}"
    wrong += [f"{label}: {error}" for error in count_errors(row, versions)]
    for i, j in itertools.combinations(range(min(row["most"], MOST)), 2):
        ours = letter(row, i) != "." and letter(row, i) == letter(row, j)
        theirs = tied_by(versions, i, j)
        if ours == theirs or one_type(row, i, j):
            continue
        if row["key"] in (TIGHTER if ours else LAXER):
            continue
        says = "one type" if ours else "any two types"
        wrong.append(f"{label}: \"{row['vars']}\" allows inputs {i} and {j} {says}, "
                     f"the standard does {'not' if ours else 'tie them'}")
print("\n".join(wrong) if wrong else f"{checked} rows agree with onnx {onnx.__version__}; it does not know {newer} others")
sys.exit(1 if wrong else 0)
