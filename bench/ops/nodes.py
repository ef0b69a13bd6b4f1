# SPDX-License-Identifier: Apache-2.0
"""Reads lists of operators (ops.txt tells their form) and makes models of them."""
import re
import zlib

import numpy
import onnx
import onnx.parser
from onnx import numpy_helper

import cases

OPSET, MICROSOFT, IR = 17, 1, 8
INDICES = 1000  # int32 and int64 lie below
SPREAD_OF_WEIGHTS = 0.05  # recurrent networks of larger ones are chaotic: no two implementations agree
DOMAIN = re.compile(r"\bcom\.microsoft\.(?=[A-Z])")
# Who multiplies in 8 bits, for the limit of the machine.
PRODUCTS_OF_8_BITS = {"MatMulInteger", "ConvInteger", "QLinearConv", "QLinearMatMul"}


def entries(text):
    """[(name, inputs, weights, rest)] of a list; ValueError names the entry that is wrong."""
    joined = []
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith(" ") and joined:
            joined[-1] += line
        else:
            joined.append(line)
    found = []
    for line in joined:
        match = re.fullmatch(r"(.+?): \(([^;)]*)(?:;([^)]*))?\) *(=> .*)", line)
        if not match:
            raise ValueError(f"'{line[:60]}': wanted NAME: (inputs; weights) => (outputs) {{ nodes }}")
        found.append((match[1], match[2].strip(), (match[3] or "").strip(), match[4]))
    return found


def random_array(rng, value, spread):
    element = value.type.tensor_type.elem_type
    shape = [d.dim_value for d in value.type.tensor_type.shape.dim]
    dtype = numpy.dtype(cases.array_type(element))
    if dtype.kind in "iu":
        info = numpy.iinfo(dtype)
        low, high = (info.min, info.max + 1) if dtype.itemsize == 1 else (0, INDICES)
        return rng.integers(low, high, shape).astype(dtype)
    return (spread * rng.standard_normal(shape)).astype(dtype)


def build(name, inputs, weights, rest):
    """The model of an entry and its input arrays; the same numbers in every run."""
    n_weights = len(re.findall(r"\w+(?:\[[^\]]*\])? +\w+", weights))
    given = ", ".join(part for part in (inputs, weights) if part)
    graph = onnx.parser.parse_graph(f"g ({given}) {DOMAIN.sub('', rest)}")
    graph.name = name
    for node in graph.node:
        if f"com.microsoft.{node.op_type}" in rest:
            node.domain = "com.microsoft"
    rng = numpy.random.default_rng(zlib.crc32(name.encode()))
    n_inputs = len(graph.input) - n_weights
    arrays = [random_array(rng, v, 1 if i < n_inputs else SPREAD_OF_WEIGHTS) for i, v in enumerate(graph.input)]
    for value, array in list(zip(graph.input, arrays))[n_inputs:]:
        graph.initializer.append(numpy_helper.from_array(array, value.name))
    del graph.input[n_inputs:]
    for output in graph.output:  # the shape follows from the nodes; without one, "float y" would be a scalar
        output.type.tensor_type.ClearField("shape")
    opsets = [onnx.helper.make_opsetid("", OPSET), onnx.helper.make_opsetid("com.microsoft", MICROSOFT)]
    model = onnx.helper.make_model(graph, opset_imports=opsets)
    model.ir_version = IR
    return model, arrays[:n_inputs]


def uncounted_flops(model, inputs, outputs):
    """Of the operators that `onyx info` does not count."""
    sizes = {t.name: list(t.dims) for t in model.graph.initializer}
    sizes.update((value.name, array.shape) for value, array in zip(model.graph.input, inputs))
    flops = 0
    for node in model.graph.node:
        if node.op_type in ("LSTM", "GRU"):  # each step multiplies by all of W and R
            weights = sum(int(numpy.prod(sizes[name])) for name in node.input[1:3])
            flops += 2 * inputs[0].shape[0] * inputs[0].shape[1] * weights
        elif node.op_type == "QLinearConv":
            flops += 2 * outputs[0].size * int(numpy.prod(sizes[node.input[3]][1:]))
        elif node.op_type == "ConvTranspose":
            flops += 2 * int(numpy.prod(sizes[node.input[0]])) * int(numpy.prod(sizes[node.input[1]][1:]))
        elif node.op_type == "Einsum":  # as many as there are combinations of all indices
            terms = node.attribute[0].s.decode().split("->")[0].split(",")
            extents = {k: n for term, name in zip(terms, node.input) for k, n in zip(term.strip(), sizes[name])}
            flops += 2 * int(numpy.prod(list(extents.values())))
    return flops


def bytes_moved(model, inputs, outputs):
    """Everything is read once and written once; of a table only the rows that are gathered."""
    arrays = list(inputs) + list(outputs)
    if model.graph.node[0].op_type == "Gather":
        return sum(a.nbytes for a in arrays) + outputs[0].nbytes
    return sum(a.nbytes for a in arrays + [numpy_helper.to_array(t) for t in model.graph.initializer])


def multiplies_in_8_bits(model):
    return any(node.op_type in PRODUCTS_OF_8_BITS for node in model.graph.node)


def rounds_to_8_bits(model):
    eight = {onnx.TensorProto.UINT8, onnx.TensorProto.INT8}
    return any(o.type.tensor_type.elem_type in eight for o in model.graph.output)
