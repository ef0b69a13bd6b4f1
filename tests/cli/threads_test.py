#!/usr/bin/env python3
"""onyx --threads N: the process has N threads at most."""
import os
import subprocess
import time
import unittest

from command import ONYX, CommandTest
from onnx_files import *

SIDE = 256
SQUARE = tensor_type(FLOAT, [SIDE, SIDE])
MODEL = model([node("MatMul", ["x", "x"], ["a"]), node("Relu", ["a"], ["b"]), node("MatMul", ["b", "x"], ["y"])],
              [("x", SQUARE)], [("y", SQUARE)])


@unittest.skipUnless(os.path.isdir("/proc/self/task"), "nobody lists the threads of a process here")
class Threads(CommandTest):
    def setUp(self):
        super().setUp()
        self.model = os.path.join(self.folder, "m.onnx")
        with open(self.model, "wb") as f:
            f.write(MODEL)

    def most_threads(self, *args):
        most = 0
        with subprocess.Popen([ONYX, *args, self.model], stdout=subprocess.DEVNULL) as p:
            while p.poll() is None:
                try:
                    most = max(most, len(os.listdir(f"/proc/{p.pid}/task")))
                except OSError:  # it has ended
                    pass
                time.sleep(0.0002)
        self.assertEqual(p.returncode, 0)
        return most

    def test_no_more_than_asked_for(self):
        for n in (1, 2, 4):
            for command in (["run"], ["bench", "--seconds", "0.2"]):
                with self.subTest(command=command[0], threads=n):
                    most = self.most_threads(*command, "--threads", str(n))
                    self.assertLessEqual(most, n)
                    if n > 1 and command[0] == "bench":
                        self.assertGreaterEqual(most, 2)


if __name__ == "__main__":
    unittest.main()
