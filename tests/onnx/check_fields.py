#!/usr/bin/env python3
"""Compares the numbers in onnx_fields.h with those of the onnx package.

Usage: check_fields.py HEADER. Exit code 1 if a number is wrong; without a recent onnx package it prints "skipped"."""
import re
import sys

OLDEST = (1, 17)  # the first release with every field that the header names

try:
    import onnx
    from onnx import onnx_data_pb2, onnx_ml_pb2
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit()
if tuple(int(part) for part in onnx.__version__.split(".")[:2]) < OLDEST:
    print(f"skipped: onnx {onnx.__version__} is older than {OLDEST[0]}.{OLDEST[1]}")
    sys.exit()


def add(numbers, descriptor, name):
    """Adds the message or enum |name|, with what is nested in it, to |numbers|: full name -> {MEMBER: number}."""
    members = descriptor.fields if hasattr(descriptor, "fields") else descriptor.values
    numbers[name] = {member.name.upper(): member.number for member in members}
    for nested in getattr(descriptor, "nested_types", []):
        add(numbers, nested, f"{name}.{nested.name}")
    for nested in getattr(descriptor, "enum_types", []):
        add(numbers, nested, f"{name}.{nested.name}")


def snake(name):
    """TypeProto.SparseTensor -> TYPE_PROTO_SPARSE_TENSOR"""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.replace(".", "_")).upper().replace("__", "_")


numbers = {}
for module in (onnx_ml_pb2, onnx_data_pb2):
    for name, descriptor in module.DESCRIPTOR.message_types_by_name.items():
        add(numbers, descriptor, name)

checked, wrong = 0, []
for title, body in re.findall(r"/\* ([A-Za-z., ]*) \*/\nenum \{(.*?)\};", open(sys.argv[1]).read(), re.S):
    names = title.split(", ")
    prefix = f"OX_{snake(names[0])}_"
    for constant, number in re.findall(r"\b(OX_\w+) = (\d+)", body):
        for name in names:
            checked += 1
            expected = numbers.get(name, {}).get(constant[len(prefix) :]) if constant.startswith(prefix) else None
            if expected != int(number):
                wrong.append(f"{constant} = {number}, but in {name} it is {expected}")
total = len(re.findall(r"\bOX_\w+ = \d+", open(sys.argv[1]).read()))
if checked < total:
    wrong.append(f"{total} constants, but only {checked} are in an enum that names its message")
print("\n".join(wrong) if wrong else f"{checked} numbers agree with onnx {onnx.__version__}")
sys.exit(1 if wrong else 0)
