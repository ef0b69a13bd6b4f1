#!/usr/bin/env python3
"""Recorded values are read as what the model declares, also where their bytes could be something else."""
import os
import shutil
import unittest

from command import FAILED, CommandTest
from onnx_files import *

F2 = [1.0, 2.0]
one, two = tensor(FLOAT, [2], F2), tensor(FLOAT, [2], [3.0, 4.0])
floats = tensor_type(FLOAT, [2])
seq = sequence_type(tensor_type(FLOAT))


def loop_from_optional(declared, after=()):
    """A Loop whose state is an optional sequence at first and a sequence afterwards: its type alone says optional."""
    body = graph([node("Identity", ["cond_in"], ["cond_out"]),
                  node("Constant", [], ["c"], [attr_tensor("value", one)]),
                  node("SequenceConstruct", ["c"], ["state_out"])],
                 [("i", tensor_type(INT64, [])), ("cond_in", tensor_type(BOOL, [])), ("state_in", optional_type(seq))],
                 [("cond_out", tensor_type(BOOL, [])), ("state_out", seq)])
    nodes = [node("Constant", [], ["n"], [attr_tensor("value", tensor(INT64, [], [2]))]),
             node("Loop", ["n", "", "x"], ["h" if after else "y"], [attr_graph("body", body)])]
    return model(nodes + list(after), [("x", optional_type(seq))], [("y", declared)])


def identity(declared, opset=17):
    return model([node("Identity", ["x"], ["y"])], [("x", declared)], [("y", declared)], (("", opset),))


def has_element(declared):
    return model([node("OptionalHasElement", ["x"], ["y"])], [("x", declared)], [("y", tensor_type(BOOL, []))],
                 (("", 18),))


yes, no = tensor(BOOL, [], [True]), tensor(BOOL, [], [False])

CASES = {
    # a SequenceProto of tensors is an OptionalProto with a tensor to whoever reads it as such, and the other way round
    "a sequence where inference says optional":
        (loop_from_optional(seq), [optional()], [sequence([one])]),
    "the same behind a node that goes away":
        (loop_from_optional(seq, [node("Identity", ["h"], ["y"])]), [optional()], [sequence([one])]),
    "the same, declared optional":
        (loop_from_optional(optional_type(seq)), [optional()], [optional(sequence([one]), "sequence")]),
    "the same behind a node, declared optional":
        (loop_from_optional(optional_type(seq), [node("Identity", ["h"], ["y"])]),
         [optional(sequence([two]), "sequence")], [optional(sequence([one]), "sequence")]),
    "a tensor": (identity(floats), [one], [one]),
    "a sequence of one": (identity(seq), [sequence([one])], [sequence([one])]),
    "a sequence of two": (identity(seq), [sequence([one, two])], [sequence([one, two])]),
    "an empty sequence": (identity(seq), [sequence([])], [sequence([])]),
    "an optional tensor": (identity(optional_type(floats)), [optional(one)], [optional(one)]),
    "an optional sequence":
        (identity(optional_type(seq)), [optional(sequence([one]), "sequence")],
         [optional(sequence([one]), "sequence")]),
    "an optional tensor that is there": (has_element(optional_type(floats)), [optional(one)], [yes]),
    "an optional tensor that is not": (has_element(optional_type(floats)), [optional()], [no]),
    "an optional sequence that is not": (has_element(optional_type(seq)), [optional()], [no]),
    "a map": (model([node("DictVectorizer", ["x"], ["y"], [attr_strings("string_vocabulary", ["b", "a", "?"])],
                          domain="ai.onnx.ml")],
                    [("x", map_type(STRING, tensor_type(FLOAT)))], [("y", tensor_type(FLOAT, [1, 3]))],
                    (("", 17), ("ai.onnx.ml", 2))),
              [string_map([("a", 1.5), ("b", 2.5)])], [tensor(FLOAT, [1, 3], [2.5, 1.5, 0.0])]),
    "a sequence of maps": (model([node("ZipMap", ["x"], ["y"], [attr_strings("classlabels_strings", ["p", "q"])],
                                       domain="ai.onnx.ml")],
                                 [("x", tensor_type(FLOAT, [1, 2]))],
                                 [("y", sequence_type(map_type(STRING, tensor_type(FLOAT))))],
                                 (("", 17), ("ai.onnx.ml", 2))),
                           [tensor(FLOAT, [1, 2], F2)],
                           [sequence([string_map([("p", 1.0), ("q", 2.0)])], "map")]),
}

# Recorded as something else, or as another value: these must not pass.
WRONG = {
    "an optional for a sequence": (identity(seq), [sequence([one])], [optional(sequence([one]), "sequence")]),
    "a sequence for an optional sequence": (loop_from_optional(optional_type(seq)), [optional()], [sequence([one])]),
    "a tensor for a sequence": (identity(seq), [sequence([one])], [one]),
    "one item more": (identity(seq), [sequence([one])], [sequence([one, one])]),
    "another item": (loop_from_optional(seq), [optional()], [sequence([two])]),
    "nothing for a tensor": (identity(optional_type(floats)), [optional(one)], [optional()]),
}


class DeclaredTypes(CommandTest):
    def each(self, table, check):
        for i, (name, case) in enumerate(table.items()):
            folder = write_case(os.path.join(self.folder, str(i)), *case)
            for level in "0123":
                with self.subTest(name, level=level):
                    check(folder, level)

    def test_recorded_values_are_read_as_declared(self):
        self.each(CASES, lambda folder, level: self.onyx("test", folder, "--level", level))

    def test_other_values_fail(self):
        self.each(WRONG, lambda folder, level: self.onyx("test", folder, "--level", level, code=FAILED))

    def test_every_command_reads_inputs_the_same_way(self):
        def check(folder, level):
            recorded = os.path.join(folder, "test_data_set_0", "input_0.pb")
            self.onyx("run", folder, "--level", level)
            self.onyx("run", os.path.join(folder, "model.onnx"), "--level", level, "--input", f"x={recorded}")
            self.onyx("bench", folder, "--level", level, "--seconds", "0")
            self.onyx("profile", folder, "--level", level, "--runs", "1")

        self.each(CASES, check)

    def test_an_optimized_model_declares_the_same(self):
        def check(folder, level):
            after = os.path.join(self.folder, "optimized")
            shutil.rmtree(after, ignore_errors=True)
            shutil.copytree(folder, after)
            self.onyx("optimize", folder, "-o", os.path.join(after, "model.onnx"), "--level", level)
            self.onyx("test", after)

        self.each(CASES, check)


if __name__ == "__main__":
    unittest.main()
