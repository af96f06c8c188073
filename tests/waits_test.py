#!/usr/bin/env python3
"""Checks how the tests wait: for events, and not for a time (waiting.py, browser.mjs and server.mjs poll); and that
each has its own files, since others run at the same time, perhaps from another build."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
POLLS = {"waiting.py", "browser.mjs", "server.mjs", "scripted_server.mjs", "screenshots.mjs", "sdk.test.mjs",
         "rendering.test.mjs"}  # the last measures how long the page does not react, in units of this machine's speed
# Patterns that tests must not use -> the files where they are allowed.
PATTERNS = [
    (r"\btime\.sleep\(", ["tests/**/*.py", "python/tests/*.py"]),
    (r"\btimeout=\d|\bwait\(\d{2,}|\bjoin\(\d", ["tests/*.py"]),
    (r"\bassertLess\w*\((time\.|\w*elapsed)", ["tests/*.py", "python/tests/*.py"]),
    (r"\bwaitForTimeout\b|\bsetTimeout\(resolve\b|\b(end|deadline)\w* = Date\.now\(\)|\bperformance\.now\(\) - ", ["tests/**/*.mjs", "web/test/*.mjs"]),
    (r"\bsleep_for\b|\bsleep_until\b|\busleep\(|\bnanosleep\(", ["src/**/*_test.cpp", "tests/*_test.cpp"]),
    (r"^\s*sleep [1-9]", ["tests/*.sh", "tests/*/run.sh", "web/test/run.sh", "python/tests/run.sh"]),
]


def files(globs):
    for glob in globs:
        for path in sorted(ROOT.glob(glob)):
            if "node_modules" not in path.parts and path.name not in POLLS | {pathlib.Path(__file__).name}:
                yield path


class Waits(unittest.TestCase):
    def test_no_test_waits_for_a_time(self):
        for pattern, globs in PATTERNS:
            for path in files(globs):
                for n, line in enumerate(path.read_text().splitlines(), 1):
                    self.assertIsNone(re.search(pattern, line), f"{path.relative_to(ROOT)}:{n}: {line.strip()}")


class Files(unittest.TestCase):
    def test_names_of_temporary_files_tell_the_process(self):
        for path in files(["src/**/*_test.cpp", "tests/*_test.cpp", "tests/support/*"]):
            text = path.read_text()
            for match in re.finditer(r"(TempDir|temp_directory_path)\(\)[^;]*?(/|\+)[^;]*;", text):
                line = text.count("\n", 0, match.start()) + 1
                self.assertIn("getpid()", match[0], f"{path.relative_to(ROOT)}:{line}")


if __name__ == "__main__":
    unittest.main()
