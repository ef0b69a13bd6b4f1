#!/usr/bin/env python3
"""--provider and --plugin: every command that opens a model, and `onyx providers`, take them alike."""
import json
import os
import unittest

from command import FAILED, CommandTest
from onnx_files import *

PLAIN, QUOTED = os.environ["ONYX_PLAIN_EP"], os.environ["ONYX_QUOTED_EP"]
LIBS = ["--plugin", PLAIN, "--plugin", QUOTED]
FLOATS = tensor_type(FLOAT, [2])
RELU = model([node("Relu", ["x"], ["h"]), node("Neg", ["h"], ["y"])], [("x", FLOATS)], [("y", FLOATS)])
# what is asked for, and who gets Relu with which value; nobody: the CPU
ORDERS = [
    ([], "cpu", None),
    (["plain"], "plain", 7),
    (["plain,value=2.5"], "plain", 2.5),
    (["plain:value=2.5"], "plain", 2.5),
    (["plain,other=1,value=3"], "plain", 3),
    (["plain,value=1,value=2"], "plain", 2),
    (['quo"ted', "plain"], 'quo"ted', 7),
    (["plain", 'quo"ted,value=4'], "plain", 7),
    (["cpu", "plain"], "cpu", None),
    (["null", 'quo"ted,value=4', "cpu"], 'quo"ted', 4),
    (["CPUExecutionProvider", "plain"], "cpu", None),
    (['null,quo"ted,value=4,cpu'], 'quo"ted', 4),
    (['null,quo"ted:value=4,cpu'], 'quo"ted', 4),
    (['null,plain:value=4,other=5,quo"ted:value=6'], "plain", 4),
    (["plain,cpu"], "plain", 7),
    (["cpu,plain:value=3"], "cpu", None),
]


class Providers(CommandTest):
    def each_order(self, check):
        for i, (asked, owner, value) in enumerate(ORDERS):
            y = tensor(FLOAT, [2], [-1.0, -2.0] if value is None else [-value, -value])
            case = write_case(os.path.join(self.folder, str(i)), RELU, [tensor(FLOAT, [2], [1.0, 2.0])], [y])
            args = LIBS + [arg for name in asked for arg in ("--provider", name)]
            with self.subTest(asked):
                check(case, args, owner, value)

    def test_the_first_that_wants_a_node_gets_it(self):
        def check(case, args, owner, value):
            nodes = self.json("profile", case, "--runs", "1", "--level", "0", *args)["nodes"]
            self.assertEqual({n["op"]: n["provider"] for n in nodes}, {"Relu": owner, "Neg": "cpu"})
            # what is recorded is what that provider computes
            self.assertEqual(self.onyx("test", case, *args)[0], "1 passed, 0 failed, 0 skipped\n")
            out, _ = self.onyx("run", case, *args)
            self.assertIn("[-1, -2]" if value is None else f"[{-value:g}, {-value:g}]", out)

        self.each_order(check)

    def test_every_command_takes_them(self):
        def check(case, args, owner, value):
            self.onyx("info", case, *args)
            self.onyx("bench", case, "--seconds", "0", *args)
            self.onyx("optimize", case, "-o", os.path.join(self.folder, "out.onnx"), *args)

        self.each_order(check)

    def names(self, *args):
        return [row["name"] for row in self.json("providers", *args)]

    def test_the_list_begins_with_those_asked_for(self):
        built_in = self.names()
        self.assertEqual(self.names(*LIBS), built_in + ["plain", 'quo"ted'])
        self.assertEqual(self.names("--plugin", QUOTED), built_in + ['quo"ted'])
        asked = ["--provider", 'quo"ted,value=1', "--provider", "CPUExecutionProvider"]
        rest = [name for name in built_in if name != "cpu"]
        self.assertEqual(self.names(*asked, *LIBS), ['quo"ted', "cpu"] + rest + ["plain"])
        lines = self.onyx("providers", *LIBS)[0].splitlines()
        self.assertEqual([line.split(None, 1)[0] for line in lines], built_in + ["plain", 'quo"ted'])

    def test_the_list_tells_who_works_here_and_why_others_do_not(self):
        env = {"ONYX_PLUGINS": os.path.join(os.path.dirname(PLAIN), "found")}
        out, _ = self.onyx("providers", "--provider", "plain", "--json", env=env)
        rows = {row["name"]: row for row in json.loads(out)}
        self.assertTrue(rows["plain"]["available"] and rows["cpu"]["available"])
        self.assertIn("openvino", [row["name"] for row in self.json("providers", "--all")])
        self.assertNotIn("openvino", self.names())
        _, err = self.onyx("providers", "--provider", "sick", env=env, code=FAILED)
        self.assertIn("no such device", err)
        nothing, _ = self.onyx("providers", env={"ONYX_PLUGINS": self.folder})
        for name in ("cuda", "opencl", "onednn", "xnnpack"):
            line = next(line for line in nothing.splitlines() if line.split()[0] == name)
            self.assertTrue(line == name or "not here: " in line, line)

    def test_found_by_name(self):
        case = write_case(os.path.join(self.folder, "case"), RELU, [tensor(FLOAT, [2], [1.0, 2.0])])
        env = {"ONYX_PLUGINS": os.path.join(os.path.dirname(PLAIN), "found")}
        out, _ = self.onyx("run", case, "--provider", "plain:value=3", env=env)
        self.assertIn("[-3, -3]", out)
        self.assertIn("libonyx-plain.so", self.onyx("run", case, "--provider", "plain", code=FAILED)[1])

    def test_those_that_are_not_there(self):
        case = write_case(os.path.join(self.folder, "case"), RELU, [tensor(FLOAT, [2], [1.0, 2.0])])
        nowhere = os.path.join(self.folder, "nowhere.so")
        for command in ("info", "bench", "profile", "run", "providers"):
            paths = [] if command == "providers" else [case]
            self.assertIn("'plain'", self.onyx(command, *paths, "--provider", "plain", code=FAILED)[1])
            self.assertIn(nowhere, self.onyx(command, *paths, "--plugin", nowhere, code=FAILED)[1])
            self.onyx(command, *paths, "--plugin", os.path.join(case, "model.onnx"), code=FAILED)
        for args in (["--provider", "plain"], ["--plugin", nowhere]):
            self.assertIn("FAILED", self.onyx("test", case, *args, code=FAILED)[0])


if __name__ == "__main__":
    unittest.main()
