#!/usr/bin/env python3
"""Writes src/ort/plugin/ort_op_signatures.inc: for each operator and version the names of its inputs and outputs and
their type variables, from the schemas of the onnx package (the newest has the most) and, for com.microsoft, of the
onnxruntime package.

Usage: write_signatures.py OUTPUT"""
import re
import sys

from onnx import defs

TYPES = {name: i for i, name in enumerate(
    "undefined float uint8 int8 uint16 int16 int32 int64 string bool float16 double uint32 uint64 complex64 complex128 "
    "bfloat16 float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz uint4 int4 float4e2m1 uint2 int2 float8e8m0".split())}
FORMS = {"t": r"tensor\((\w+)\)", "s": r"seq\(tensor\((\w+)\)\)", "o": r"optional\(tensor\((\w+)\)\)",
         "q": r"optional\(seq\(tensor\((\w+)\)\)\)"}


def set_of(types):
    """Allowed types as letters of a form, each with a mask of element types; other types as they are, each behind a ";"."""
    masks, others = {}, []
    for text in types:
        for form, pattern in FORMS.items():
            match = re.fullmatch(pattern, text)
            if match and match[1] in TYPES:
                masks[form] = masks.get(form, 0) | 1 << TYPES[match[1]]
                break
        else:
            others.append(text)
    return "".join(f"{form}{mask:x}" for form, mask in sorted(masks.items())) + "".join(";" + t for t in others)


def get(thing, name, other):
    return getattr(thing, name) if hasattr(thing, name) else getattr(thing, other)


def values_of(values, variables):
    texts = []
    for value in values:
        variable = get(value, "type_str", "typeStr")
        texts.append(f"{value.name}:{variable}" if variable in variables else value.name)
    return " ".join(texts)


def row_of(schema):
    constraints = [(get(c, "type_param_str", "typeParamStr"), get(c, "allowed_type_strs", "allowedTypeStrs"))
                   for c in get(schema, "type_constraints", "typeConstraints")]
    variables = {name for name, _ in constraints}
    sets = "|".join(f"{name}={set_of(types)}" for name, types in constraints)
    return (schema.domain, schema.name, schema.since_version, values_of(schema.inputs, variables),
            values_of(schema.outputs, variables), sets)


def main():
    schemas = [s for s in defs.get_all_schemas_with_history() if s.domain in ("", "ai.onnx.ml") and not s.deprecated]
    try:
        from onnxruntime.capi import onnxruntime_pybind11_state as runtime
        schemas += [s for s in runtime.get_all_operator_schema() if s.domain == "com.microsoft"]
    except ImportError:
        pass
    rows = sorted({row_of(s) for s in schemas})
    with open(sys.argv[1], "w") as out:
        out.write("/* SPDX-License-Identifier: Apache-2.0\n"
                  " * ort/plugin/ort_op_signatures.inc - written by tools/write_signatures.py: operators by domain, name "
                  "and version, with\n * \"NAME:VARIABLE\" of inputs and outputs, and \"VARIABLE=SET\" of the variables (ort_op_schema.c). */\n")
        for domain, name, since, inputs, outputs, sets in rows:
            out.write(f'ORT_SIGNATURE("{domain}", "{name}", {since}, "{inputs}", "{outputs}",\n              "{sets}")\n')


main()
