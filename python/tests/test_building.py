"""What scripts/python-wheel says where it cannot build."""
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from support import DEADLINE_S, ROOT


class Building(unittest.TestCase):
    def wheel_with(self, python):
        """The script where `python` is the shell script that python3 is; None: there is no python3."""
        with tempfile.TemporaryDirectory() as folder:
            for name in ("bash", "dirname", "git", "sed"):
                pathlib.Path(folder, name).symlink_to(shutil.which(name))
            if python is not None:
                program = pathlib.Path(folder, "python3")
                program.write_text(f"#!/bin/sh\n{python}\n")
                program.chmod(0o755)
            return subprocess.run([ROOT / "scripts/python-wheel"], env={"PATH": folder}, capture_output=True, text=True,
                                  timeout=DEADLINE_S)

    def test_a_python_that_is_missing_or_too_old_is_named_with_the_way_to_get_one(self):
        for python, found in [(None, "here is no python3"), ('[ "$1" = --version ] && echo Python 3.9.1', "here is Python 3.9.1")]:
            done = self.wheel_with(python)
            self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
            self.assertIn(found, done.stderr)
            self.assertIn("scripts/setup --python", done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1)
