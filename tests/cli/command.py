"""command.py - what the tests of the onyx command share. ONYX names the command."""
import json
import os
import subprocess
import tempfile
import unittest

ONYX = os.path.abspath(os.environ["ONYX"])
OK, FAILED, USAGE = 0, 1, 2


class CommandTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def onyx(self, *args, code=OK, env=None):
        """Standard output and standard error; fails unless the command ends with |code|."""
        done = subprocess.run([ONYX, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600,
                              env=dict(os.environ, **(env or {})))
        out, err = done.stdout.decode(), done.stderr.decode(errors="replace")
        self.assertEqual(done.returncode, code, f"onyx {' '.join(map(str, args))}\n{out}{err}")
        return out, err

    def json(self, *args):
        out, err = self.onyx(*args, "--json")
        self.assertEqual(err, "")
        return json.loads(out)

    def refuses(self, *args, naming):
        """Wrong usage: nothing on standard output, the culprit named on standard error."""
        out, err = self.onyx(*args, code=USAGE)
        self.assertEqual(out, "")
        self.assertIn(naming, err)
        self.assertEqual(err.count("\n"), 1, err)


def commands():
    """Name and summary of each, as `onyx --help` lists them."""
    out = subprocess.run([ONYX, "--help"], stdout=subprocess.PIPE, check=True).stdout.decode()
    return dict(line.split(None, 1) for line in out.splitlines() if line.startswith("  "))
