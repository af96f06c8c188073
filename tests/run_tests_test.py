#!/usr/bin/env python3
"""scripts/run-tests with tests that fail always, once, or never: only a test that fails twice is a failure, and one
that failed once is reported."""
import json
import os
import pathlib
import shutil
import subprocess
import unittest

from folders import temp_folder
from waiting import DEADLINE_S

RUN_TESTS = pathlib.Path(__file__).resolve().parent.parent / "scripts/run-tests"
PRESETS = {
    "version": 6,
    "configurePresets": [{"name": "p", "generator": "Ninja", "binaryDir": "${sourceDir}/build/${presetName}"}],
    "testPresets": [{"name": "p", "configurePreset": "p", "environment": {"PLACE": "${sourceDir}/x"}}],
}
FAILS_ONCE = "test -e {0}.ran || {{ touch {0}.ran; echo it fails; exit 1; }}"


class RunTests(unittest.TestCase):
    def setUp(self):
        self.root = temp_folder(self)
        (self.root / "scripts").mkdir()
        shutil.copy(RUN_TESTS, self.root / "scripts")
        self.flaky = self.root / "flaky"

    def run_tests(self, *args):
        """Exit code, output, and the list of FLAKY ones."""
        done = subprocess.run([self.root / "scripts/run-tests", *args], cwd=self.root, stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.STDOUT, env={**os.environ, "FLAKY_LIST": str(self.flaky)}, timeout=DEADLINE_S)
        return done.returncode, done.stdout, self.flaky.read_text().split() if self.flaky.exists() else []

    def program(self, name, script):
        path = self.root / name
        path.write_text("#!/bin/sh\n" + script.format(path) + "\n")
        path.chmod(0o755)
        return str(path)

    def ctest(self, *args, properties="", **scripts):
        """The results with ctest's tests, each a script."""
        lines = [f'add_test(NAME {name} COMMAND "{self.program(name, script)}")' for name, script in scripts.items()]
        (self.root / "CMakeLists.txt").write_text("\n".join([
            "cmake_minimum_required(VERSION 3.25)", "project(x LANGUAGES NONE)", "enable_testing()", *lines, properties]))
        (self.root / "CMakePresets.json").write_text(json.dumps(PRESETS))
        subprocess.run(["cmake", "--preset", "p"], cwd=self.root, check=True, capture_output=True, timeout=DEADLINE_S)
        return self.run_tests("p", *args)

    def test_what_fails_once_is_named_and_no_failure(self):
        code, said, flaky = self.ctest(fine="true", once=FAILS_ONCE)
        self.assertEqual((code, flaky), (0, ["once"]), said)
        self.assertIn("FLAKY once\n", said)

    def test_what_fails_twice_is_a_failure(self):
        code, said, flaky = self.ctest(fine="true", once=FAILS_ONCE, never="exit 1")
        self.assertEqual((code, flaky), (1, ["once"]), said)
        self.assertIn("FAILED TWICE never\n", said)

    def test_where_nothing_fails_nothing_is_said(self):
        code, said, flaky = self.ctest(fine="true", skipped="exit 77", properties="set_tests_properties(skipped PROPERTIES SKIP_RETURN_CODE 77)")
        self.assertEqual((code, flaky), (0, []), said)
        self.assertNotIn("once more", said)

    def test_arguments_choose_tests(self):
        self.assertEqual(self.ctest("-R", "fine", fine="true", never="exit 1")[0], 0)

    def test_a_test_that_was_not_built_is_a_failure(self):
        code, said, _ = self.ctest(once=FAILS_ONCE, properties="add_test(NAME gone COMMAND not_built)")
        self.assertEqual(code, 1)
        self.assertIn("FAILED TWICE gone\n", said)

    def test_one_that_hangs_fails(self):
        code, said, _ = self.ctest(hangs="exec sleep 10000", properties="set_tests_properties(hangs PROPERTIES TIMEOUT 1)")
        self.assertEqual(code, 1)
        self.assertIn("FAILED TWICE hangs\n", said)

    def test_of_a_googletest_program_the_tests_that_failed_run_again_in_its_environment(self):
        script = """echo "$GTEST_FILTER $PLACE $*" >> {0}.calls
            case "$*" in *--gtest_filter=A.b:P/C.d/1) exit 0;; esac
            printf '[  FAILED  ] A.b, where x = 1 (3 ms)\\n[  FAILED  ] P/C.d/1 (0 ms)\\n[  FAILED  ] A.b\\n'
            echo '[==========] 3 tests from 2 test suites ran. (5 ms total)'
            exit 1"""
        code, said, flaky = self.ctest(
            tests=script, properties="set_tests_properties(tests PROPERTIES ENVIRONMENT GTEST_FILTER=-x)")
        self.assertEqual((code, flaky), (0, ["tests"]), said)
        place = self.root / "x"
        self.assertEqual((self.root / "tests.calls").read_text(), f"-x {place} \n-x {place} --gtest_filter=A.b:P/C.d/1\n")

    def test_one_that_crashed_runs_whole_again(self):
        self.ctest(tests="""echo "$*" >> {0}.calls; echo '[  FAILED  ] A.b (3 ms)'; exit 139""")
        self.assertEqual((self.root / "tests.calls").read_text(), "\n\n")

    def test_programs_too(self):
        fine, once, never = self.program("fine", "echo I am; exit 0"), self.program("once", FAILS_ONCE), self.program("never", "exit 3")
        skipped = self.program("skipped", "exit 77")
        code, said, flaky = self.run_tests("--programs", "the fine one", fine, "an argument", "---", "the other", once, "---", "gone", skipped)
        self.assertEqual((code, flaky), (0, ["the", "other"]), said)
        for words in ["I am\n-- the fine one: passed", "-- gone: SKIPPED", "-- the other: FAILED (1)", "FLAKY the other\n"]:
            self.assertIn(words, said)
        code, said, _ = self.run_tests("--programs", "never", never, "---", "fine", fine)
        self.assertEqual(code, 1)
        self.assertIn("FAILED TWICE never\n", said)


if __name__ == "__main__":
    unittest.main()
