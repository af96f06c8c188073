#!/usr/bin/env python3
"""Checks that scripts/check knows the tests of each room: its README names them, they exist, and none is forgotten."""
import importlib.machinery
import importlib.util
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("check", str(ROOT / "scripts/check"))
check = importlib.util.module_from_spec(importlib.util.spec_from_loader("check", loader))
loader.exec_module(check)
BUILD = check.Build()
READMES = sorted((ROOT / "src").rglob("README.md"))


class Rooms(unittest.TestCase):
    def test_each_room_names_its_tests_and_they_are_there(self):
        self.assertGreater(len(READMES), 15)
        for readme in READMES:
            names = check.tests_of_readme(readme)
            self.assertTrue(names, f"{readme}: there is no paragraph that begins with 'Tests: '")
            self.assertEqual([name for name in names if name not in BUILD.programs | BUILD.others], [], readme)

    def test_a_room_s_own_program_is_among_them(self):
        for library, folder in BUILD.folders.items():
            own = library.removeprefix("rz_") + "_test"
            if own in BUILD.programs and (folder / "README.md").exists():
                self.assertIn(own, check.tests_of_readme(folder / "README.md"))

    def test_every_test_is_named_somewhere(self):
        named = {name for readme in READMES for name in check.tests_of_readme(readme)}
        named |= {name for names in check.PLACES.values() for name in names}
        self.assertEqual(sorted((BUILD.programs | BUILD.others) - named), [])

    def test_every_fuzz_target_is_a_room_s(self):
        self.assertGreater(len(BUILD.corpora), 20)
        for name, libraries in BUILD.corpora:
            self.assertTrue(all(library in BUILD.folders for library in libraries.split()), name)


class Changes(unittest.TestCase):
    def covering(self, *files):
        tests, corpora = check.tests_for(files, BUILD)
        return set(tests), set(corpora)

    def test_a_file_wants_the_tests_of_its_innermost_room(self):
        self.assertEqual(self.covering("src/kv/block_pool.cpp"), ({"includes", "map", *check.tests_of_readme(ROOT / "src/kv/README.md")}, set()))
        tests, corpora = self.covering("src/text/jinja/lexer.cpp")
        self.assertEqual(tests, {"includes", "map", "text_test"})
        self.assertLess({"jinja", "tokenizer_json"}, corpora)
        self.assertIn("operations_test", self.covering("src/backend/reference/scans.h")[0])

    def test_a_test_wants_itself_and_what_tests_share_all_of_them(self):
        self.assertEqual(self.covering("tests/operations_rows_test.cpp")[0], {"waits", "operations_test"})
        self.assertEqual(self.covering("tests/chat_test.py")[0], {"waits", "chat"})
        self.assertLess({"chat", "mcp"}, self.covering("tests/terminal.py")[0])
        self.assertLess({"allocation_test", "cuda_allocation_test"}, self.covering("tests/support/counted_new.h")[0])
        self.assertEqual(self.covering("tests/fuzz/gguf_fuzz.cpp")[1], {"gguf"})
        self.assertEqual(self.covering("tests/fuzz/corpus/lark/seed")[1], {"lark"})

    def test_what_is_outside_of_the_rooms_wants_what_covers_it(self):
        self.assertEqual(self.covering("web/src/chat.ts")[0], {"page"})
        self.assertEqual(self.covering("tests/data/conformance/manifest.json")[0], {"conformance_test", "repository_size"})
        self.assertEqual(self.covering("LICENSE"), (set(), set()))


if __name__ == "__main__":
    unittest.main()
