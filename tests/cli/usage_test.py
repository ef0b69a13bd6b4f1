#!/usr/bin/env python3
"""How options are given, what is refused as wrong usage, and exit codes."""
import os
import subprocess
import unittest

from command import FAILED, OK, ONYX, USAGE, CommandTest, commands
from onnx_files import *

FLOATS = tensor_type(FLOAT, ["n"])
RELU = model([node("Relu", ["x"], ["y"])], [("x", FLOATS)], [("y", FLOATS)])
MODEL_COMMANDS = {"bench": ["--seconds", "0"], "info": [], "profile": ["--runs", "1"], "run": []}


class Usage(CommandTest):
    def setUp(self):
        super().setUp()
        x, y = tensor(FLOAT, [2], [-1.0, 2.0]), tensor(FLOAT, [2], [0.0, 2.0])
        self.case = write_case(os.path.join(self.folder, "case"), RELU, [x], [y])
        self.model = os.path.join(self.case, "model.onnx")

    def test_options_stand_anywhere_in_either_form(self):
        for args in (["--dim", "n=3", self.model, "--json"], [self.model, "--dim=n=3", "--json"],
                     ["--json", "--dim=n=3", "--", self.model], ["--dim=n=1", "--json", self.model, "--dim", "m=2"]):
            for env in ({}, {"POSIXLY_CORRECT": "1"}):  # under which getopt would stop at the first path
                out, _ = self.onyx("run", *args, env=env)
                self.assertIn('"shape": [3]' if "n=3" in " ".join(args) else '"shape": [1]', out)
        out = os.path.join(self.folder, "out.txt")
        for args in (["-o", out], [f"-o{out}"], ["--output", out], [f"--output={out}"]):
            self.onyx("optimize", "--text", self.model, *args)
            with open(out) as f:
                self.assertIn("Relu (x)", f.read())
            os.remove(out)

    def test_after_two_dashes_everything_is_a_path(self):
        odd = os.path.join(self.folder, "--json")
        os.rename(self.case, odd)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        out, _ = self.onyx("test", "--", "--json")
        self.assertEqual(out, "1 passed, 0 failed, 0 skipped\n")

    def test_many_paths(self):
        out, _ = self.onyx("test", *[self.case] * 300)
        self.assertEqual(out, "300 passed, 0 failed, 0 skipped\n")

    def test_wrong_usage_names_the_culprit(self):
        for command in commands():
            for args, naming in ((["--no-such"], "--no-such"), (["--no-such=3"], "--no-such"), (["-Z"], "-Z"),
                                 (["--provider"], "--provider"), (["--plugin"], "--plugin")):
                self.refuses(command, *args, naming=naming)
                self.refuses(command, self.model, *args, naming=naming)
        for command, args in MODEL_COMMANDS.items():
            self.refuses(command, *args, naming="MODEL|DIR")
            self.refuses(command, *args, self.model, "another", naming="another")
        for args, naming in ((["test"], "PATH"), (["optimize", self.model], "--output"), (["providers", "a"], ": a "),
                             (["optimize", "-o"], "--output")):
            self.refuses(*args, naming=naming)

    def test_wrong_values_name_option_and_value(self):
        table = {
            "--threads": ["", "x", "-1", "1x", "1.5", "1025", "4294967296", "99999999999999999999"],
            "--level": ["4", "-1", ""],
            "--dim": ["n", "=3", "n=", "n=x", "n=-1", "n=99999999999999999999"],
            "--provider": ["", ",a=b", "cpu,", "cpu:a", "cpu,=b", "cpu,a=b,", ":a=b", "cpu:a=b,", "cpu:", "cpu,:", "a=b"],
        }
        for option, values in table.items():
            for value in values:
                for args in ([option, value], [f"{option}={value}"]):
                    self.refuses("run", self.model, *args, naming=option)
                    self.refuses("run", self.model, *args, naming=f"'{value}'")
        for command, option, value in (
                ("bench", "--seconds", "x"), ("bench", "--seconds", "-1"), ("bench", "--seconds", "nan"),
                ("profile", "--runs", "0"), ("profile", "--top", "-1"), ("test", "--timeout", "0"),
                ("test", "--rtol", "1e"), ("test", "--cosine", "-0.5"), ("optimize", "--atol", "x"), ("run", "--input", "x"),
                ("run", "--input", "=x.npy"), ("run", "--input", "random:x"), ("run", "--input", "random:")):
            self.refuses(command, self.model, option, value, naming=option)
            self.refuses(command, self.model, option, value, naming=f"'{value}'")

    def test_too_many_of_an_option(self):
        for option, value in (("--dim", "n=1"), ("--provider", "cpu")):
            self.refuses("run", self.model, *[option, value] * 257, naming=option)
        self.refuses("run", self.model, "--provider", "cpu" + ",a=b" * 17, naming="--provider")

    def test_no_command(self):
        out, err = self.onyx(code=USAGE)
        self.assertEqual(out, "")
        self.assertIn("usage: onyx", err)
        for args, naming in ((["nonsense"], "nonsense"), (["-x"], "-x"), (["help", "nonsense"], "nonsense")):
            self.refuses(*args, naming=naming)

    def test_shortened_names(self):
        self.onyx("run", self.model, "--th", "1")
        self.refuses("optimize", self.model, "--dump=a", naming="more than one option begins so: --dump ")
        self.refuses("optimize", self.model, "--dumpling", naming="no such option: --dumpling ")

    def test_options_that_exclude_each_other(self):
        for other in ("--json", "--plan"):
            self.refuses("info", self.model, "--text", other, naming=other)
        self.refuses("bench", self.model, "--compare", "", naming="--compare wants")

    def test_failing_is_not_wrong_usage(self):
        nowhere = os.path.join(self.folder, "nowhere")
        for command, args in MODEL_COMMANDS.items():
            out, err = self.onyx(command, *args, nowhere, code=FAILED)
            self.assertEqual(out, "")
            self.assertIn(nowhere, err)
        self.onyx("test", nowhere, code=FAILED)
        self.onyx("test", self.folder, code=OK)
        for args, naming in ((["run", self.model, "--input", "q=random"], "'q'"),
                             (["run", self.model, "--input", f"x={nowhere}"], nowhere),
                             (["run", self.model, "--input", f"x={nowhere}.npy"], nowhere),
                             (["run", self.model, "--provider", "nobody"], "'nobody'"),
                             (["run", self.model, "--output", os.path.join(nowhere, "deeper")], nowhere),
                             (["optimize", self.model, "-o", os.path.join(nowhere, "m.onnx")], nowhere),
                             (["profile", self.model, "--trace", os.path.join(nowhere, "t.json")], nowhere)):
            self.assertIn(naming, self.onyx(*args, code=FAILED)[1])

    def test_files_that_are_no_input_say_why(self):
        def npy(header, data=b""):
            text = header.encode().ljust(117) + b"\n"
            return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data

        shape = "'fortran_order': False, 'shape': (2,), }"
        table = {
            "empty": (b"", "not a .npy file"),
            "zip": (b"PK\x03\x04" + b"\0" * 100, "not a .npy file"),
            "cut_header": (npy("")[:50], "malformed .npy header"),
            "no_dict": (npy("nothing"), "malformed .npy header"),
            "endless": (b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + b" " * 99, "malformed .npy header"),
            "objects": (npy("{'descr': '|O', " + shape, bytes(8)), "of a type other than"),
            "records": (npy("{'descr': [('a', '<f4')], " + shape, bytes(8)), "of a type other than"),
            "negative": (npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }"), "malformed shape"),
            "deep": (npy("{'descr': '<f4', 'fortran_order': False, 'shape': (" + "1," * 17 + "), }"), "malformed shape"),
            "huge": (npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904,4,), }"), "huge.npy"),
            "cut_data": (npy("{'descr': '<f4', " + shape, bytes(7)), "ends early"),
        }
        for name, (data, why) in table.items():
            with self.subTest(name):
                path = os.path.join(self.folder, f"{name}.npy")
                with open(path, "wb") as f:
                    f.write(data)
                err = self.onyx("run", self.model, "--input", f"x={path}", code=FAILED)[1]
                self.assertIn(f"{path}: ", err)
                self.assertIn(why, err)
        for name in ("x", "x.npy"):
            folder = os.path.join(self.folder, "folder", name)
            os.makedirs(folder)
            self.assertIn("directory", self.onyx("run", self.model, "--input", f"x={folder}", code=FAILED)[1])

    def test_what_is_there_is_told_with_what_is_not(self):
        self.assertIn("no input 'q'; it has 'x'", self.onyx("run", self.model, "--input", "q=random", code=FAILED)[1])
        for dim, warns in (("n=3", False), ("m=3", True)):
            err = self.onyx("run", self.model, "--dim", dim)[1]
            self.assertEqual("no input has a dimension of that name" in err, warns, err)
        self.assertEqual(self.onyx("info", self.model, "--dim", "n=3")[1], "")

    def test_a_case_that_compares_nothing_does_not_pass(self):
        nothing = write_case(os.path.join(self.folder, "nothing"), RELU, [tensor(FLOAT, [2], [-1.0, 2.0])])
        out, _ = self.onyx("test", nothing, code=FAILED)
        self.assertEqual(out, f"skipped {nothing}: there is no expected output\n0 passed, 0 failed, 1 skipped\n")
        self.assertTrue(self.onyx("test", self.case, nothing)[0].endswith("1 passed, 0 failed, 1 skipped\n"))
        empty = os.path.join(self.folder, "empty")
        os.mkdir(empty)
        self.assertIn("no case found", self.onyx("test", empty, code=FAILED)[1])

    def test_a_model_may_be_optimized_in_place(self):
        with open(self.model, "rb") as f:
            before = f.read()
        self.onyx("optimize", self.model, "-o", self.model)
        self.onyx("test", self.case)
        with open(self.model, "rb") as f:
            self.assertNotEqual(f.read(), before)
        self.assertEqual(sorted(os.listdir(self.case)), ["model.onnx", "test_data_set_0"])
        if os.path.exists("/dev/full"):
            self.assertIn("No space left", self.onyx("optimize", self.model, "-o", "/dev/full", code=FAILED)[1])

    def test_an_input_given_twice(self):
        x = os.path.join(self.case, "test_data_set_0", "input_0.pb")
        self.assertIn("twice", self.onyx("run", self.model, "--input", f"x={x}", "--input", f"x={x}", code=FAILED)[1])

    def test_random_is_a_word_not_a_beginning(self):
        x = os.path.join(self.folder, "random_x.pb")
        with open(x, "wb") as f:
            f.write(tensor(FLOAT, [3], [4.0, 5.0, 6.0]))
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        self.assertIn("[4, 5, 6]", self.onyx("run", self.model, "--input", "x=random_x.pb")[0])
        same = [self.onyx("run", self.model, "--dim", "n=9", "--input", how)[0]
                for how in ("random:5", "x=random:5", "random", "x=random", "random:0")]
        self.assertEqual(same[0], same[1])
        self.assertEqual(same[2], same[3])
        self.assertEqual(same[2], same[4])
        self.assertNotEqual(same[0], same[2])

    def test_more_inputs_and_outputs_than_anyone_expects(self):
        names = [f"v{i}" for i in range(600)]
        case = write_case(os.path.join(self.folder, "wide"),
                          model([node("Neg", [n], ["o" + n]) for n in names],
                                [(n, tensor_type(FLOAT, [1])) for n in names],
                                [("o" + n, tensor_type(FLOAT, [1])) for n in names]),
                          [tensor(FLOAT, [1], [float(i)]) for i in range(600)],
                          [tensor(FLOAT, [1], [float(-i)]) for i in range(600)])
        self.assertEqual(self.onyx("test", case)[0], "1 passed, 0 failed, 0 skipped\n")
        for command, args in MODEL_COMMANDS.items():
            self.onyx(command, *args, case)
        self.assertEqual(len(self.json("run", case)["outputs"]), 600)

    def test_standard_output_that_is_full(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        for args in (["info", self.model], ["info", self.model, "--json"], ["providers", "--json"], ["run", "--help"],
                     ["test", self.case], ["--version"]):
            with open("/dev/full", "w") as full:
                done = subprocess.run([ONYX, *args], stdout=full, stderr=subprocess.PIPE)
            self.assertEqual(done.returncode, FAILED, args)
            self.assertIn(b"standard output", done.stderr)


if __name__ == "__main__":
    unittest.main()
