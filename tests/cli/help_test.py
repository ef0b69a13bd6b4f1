#!/usr/bin/env python3
"""--help of the command and of every subcommand, held against what the parser takes: both come from one table."""
import re
import unittest

from command import CommandTest, commands

# "  -o, --output FILE  help" or "      --json  help"
ROW = re.compile(r"^  (?:-(\w), )?--([\w-]+)(?: (\S+))?  +(\S.*)$")


class Help(CommandTest):
    def rows(self, command):
        """letter, name, argument and help of each option"""
        out, err = self.onyx(command, "--help")
        self.assertEqual(err, "")
        rows = [ROW.match(line) for line in out.splitlines()]
        return [r.groups() for r in rows if r]

    def test_commands_are_there_and_sorted(self):
        names = list(commands())
        self.assertEqual(names, sorted(names))
        self.assertLessEqual({"bench", "info", "optimize", "profile", "providers", "run", "test"}, set(names))
        for args in (["--help"], ["-h"], ["help"]):
            self.assertEqual(self.onyx(*args), self.onyx("--help"))
        self.assertRegex(self.onyx("--version")[0], r"^onyx \d+\.\d+\.\d+\n$")

    def test_help_wherever_it_stands(self):
        for command in commands():
            out = self.onyx(command, "--help")[0]
            self.assertTrue(out.startswith(f"usage: onyx {command} "), out)
            self.assertEqual(self.onyx("help", command)[0], out)
            for args in (["-h"], ["no-such-file", "--help"], ["--json", "--help", "no-such-file"]):
                if command == "test" or "--json" in out:
                    self.assertEqual(self.onyx(command, *args)[0], out)
            self.assertLessEqual(max(map(len, out.splitlines())), 120, out)

    def test_every_command_has_json_and_providers(self):
        for command in commands():
            with self.subTest(command):
                names = [name for _, name, _, _ in self.rows(command)]
                self.assertEqual(len(names), len(set(names)))
                self.assertLessEqual({"json", "help", "provider", "plugin"}, set(names))

    def test_what_help_lists_is_what_is_understood(self):
        for command in commands():
            for letter, name, arg, _ in self.rows(command):
                with self.subTest(command, option=name):
                    if arg:
                        self.refuses(command, f"--{name}", naming=f"--{name}")  # its value is missing
                        if letter:
                            self.refuses(command, f"-{letter}", naming=f"--{name}")
                    else:
                        self.refuses(command, f"--{name}=value", naming=f"--{name}")

    def test_defaults(self):
        table = [("info", "level", "(0)"), ("bench", "level", "(3)"), ("bench", "seconds", "(3)"),
                 ("test", "rtol", "(0.001)"), ("test", "timeout", "(120)"), ("profile", "top", "(30)")]
        for command, name, default in table:
            text = next(text for _, n, _, text in self.rows(command) if n == name)
            self.assertTrue(text.endswith(default), text)


if __name__ == "__main__":
    unittest.main()
