"""The wheel's name, and the messages of scripts/python-wheel when it cannot build one."""
import importlib.metadata
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import realizar
from support import DEADLINE_S, ROOT

sys.path.append(str(ROOT / "python/backend"))
import realizar_wheel  # noqa: E402


class Building(unittest.TestCase):
    def wheel_with(self, python):
        """The script's result with the given shell script as python3; None: no python3."""
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


@unittest.skipUnless(shutil.which("readelf"), "readelf is wanted")
class Platforms(unittest.TestCase):
    LIBRARIES = pathlib.Path(realizar.__file__).parent / "lib"

    def test_the_tag_is_what_the_libraries_need(self):
        libraries = [self.LIBRARIES / "librealizar.so.0", *(self.LIBRARIES / "realizar").iterdir()]
        tag = realizar_wheel.platform_of(libraries)
        self.assertIn(f"Tag: py3-none-{tag}\n", importlib.metadata.distribution("realizar").read_text("WHEEL"))
        # This machine's C library, on which they run.
        self.assertLessEqual(tuple(map(int, tag.split("_")[1:3])), tuple(map(int, os.confstr("CS_GNU_LIBC_VERSION").split()[1].split("."))))

    def test_a_library_that_is_neither_carried_nor_of_every_system_is_refused(self):
        with self.assertRaisesRegex(RuntimeError, r"librealizar.so.0 needs .*libpcre2-8.so.0.*the wheel must carry it"):
            realizar_wheel.platform_of([self.LIBRARIES / "librealizar.so.0"])

    def test_versions_of_symbols(self):
        for name, glibc in [("GLIBC_2.2.5", (2, 2)), ("GLIBC_2.34", (2, 34)), ("GLIBC_ABI_DT_RELR", (2, 36)),
                            ("GLIBCXX_3.4", (2, 28)), ("GLIBCXX_3.4.29", (2, 34)), ("GLIBCXX_3.4.30", (2, 35)),
                            ("CXXABI_1.3.14", (2, 39)), ("GCC_3.0", (2, 28)), ("GCC_12.0.0", (2, 35))]:
            self.assertEqual(realizar_wheel.glibc_for(name), glibc, name)
        for name, message in [("GLIBC_PRIVATE", "of no manylinux"), ("GLIBCXX_3.4.99", "newer than"), ("OPENSSL_3.0.0", "no manylinux")]:
            with self.assertRaisesRegex(RuntimeError, message):
                realizar_wheel.glibc_for(name)
