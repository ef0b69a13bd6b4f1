#!/usr/bin/env python3
"""Finds in src/ops what a number from a model or from a run's tensors can push out of its type.

Usage: check_arithmetic.py [ROOT]. Prints what breaks a rule; exit code 1 if anything does. The rules:
- no cast of a float expression to int64_t, which is undefined beyond its range: ox_i64_of (base/cksize.h)
- no product of two attributes, unless both have a range in their rows (OX_ATTR_INT_IN ...): ox_mul_i64_ok

A cast counts as one of a float expression if what follows is a function that returns one, or a name that its function
declares as float or double. Other arithmetic is for the sanitizers to find."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".") / "src/ops"
FLOAT_FUNCTIONS = r"(?:l?l?round|floor|ceil|trunc|rint|nearbyint|sqrt|exp|log|pow|fabs|fmin|fmax|ldexp)f?"
FLOAT_CALL = re.compile(r"\(int64_t\)\s*(?:\(+\s*)?(?:" + FLOAT_FUNCTIONS + r"\(|\((?:float|double)\)|"
                        r"\*\s*\(const (?:ox_f\d+u|float|double) \*\)|ox_(?:b?f16)_to_f32\(|ox_number_at\()")
NAME_CAST = re.compile(r"\(int64_t\)\s*\(?\s*(\w+)\b(?!\s*(?:->|\.|\())")
FLOAT_NAMES = re.compile(r"\b(?:float|double)\s+([^;(){}]*)")
PRODUCT = re.compile(r"\b(\w+)->(\w+) \* \1->(\w+)\b")
RANGED = re.compile(r"OX_ATTR_INT(?:_HAS|_REQUIRED)?_IN\(\w+, (\w+)")


def functions(text):
    """(line, text) of each part that ends with a brace in the first column"""
    start = 0
    for end in re.finditer(r"^}.*$", text, re.M):
        yield text.count("\n", 0, start) + 1, text[start:end.end()]
        start = end.end()


def float_names(body):
    """What |body| declares as float or double: plain names, and arrays by their name."""
    names = set()
    for declared in FLOAT_NAMES.findall(body):
        for part in declared.split(","):
            found = re.match(r"\s*(?:const\s+)?(\w+)\s*(?:\[[^\]]*\]\s*)*(?:=|$)", part)
            if found:
                names.add(found.group(1))
    return names


wrong = []
for path in sorted(root.rglob("*.[ch]")):
    text = path.read_text()
    ranged = set(RANGED.findall(text))
    for line, body in functions(re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), text, flags=re.S)):
        attrs = set(re.findall(r"const \w+_attrs \*(\w+)", body))
        floats = float_names(body)
        casts = list(FLOAT_CALL.finditer(body)) + [m for m in NAME_CAST.finditer(body) if m.group(1) in floats]
        products = [m for m in PRODUCT.finditer(body) if m.group(1) in attrs and not {m.group(2), m.group(3)} <= ranged]
        for m in casts + products:
            rule = "a float becomes int64_t unchecked" if m in casts else "a product of attributes without a range"
            wrong.append(f"{path}:{line + body.count(chr(10), 0, m.start())}: {rule}: {m.group()}")
print("\n".join(wrong) if wrong else "arithmetic: fine")
sys.exit(1 if wrong else 0)
