#!/usr/bin/env python3
"""Checks docs/MAP.md against the source: the files that it names exist, and its counts of files are right."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAP = (ROOT / "docs/MAP.md").read_text()
SOURCES = {
    path: path.read_text()
    for folder in ["src", "include"]
    for path in (ROOT / folder).rglob("*")
    if path.suffix in {".h", ".cpp", ".inl"} and not path.stem.endswith("_test")
}
CALLED = {path: set(re.findall(r"\b(\w+)\)?\(", text)) for path, text in SOURCES.items()}
DECLARED = {
    path: set(re.findall(r"\b(?:class|struct) (?:\w+::)*(\w+)\b(?: final)?(?: :[^;{]*)? \{", text)) for path, text in SOURCES.items()
}


def section(title):
    return re.search(rf"(?ms)^## {title}\n(.*?)(?=^## )", MAP).group(1)


class Ways(unittest.TestCase):
    names = set(re.findall(r"`([A-Za-z_]+(?:::[A-Za-z_]+)?)`", section("Four ways through the code")))

    def test_there_are_four(self):
        self.assertEqual(len(re.findall(r"(?m)^\*\*", section("Four ways through the code"))), 4)
        self.assertGreater(len(self.names), 60)

    def test_each_member_is_declared_where_its_class_is(self):
        for name in sorted(name for name in self.names if "::" in name and name != "text::Answer"):
            owner, member = name.split("::")
            self.assertTrue(any(owner in DECLARED[path] and member in CALLED[path] for path in SOURCES), name)

    def test_each_other_name_is_there(self):
        rooms = {path.name for path in (ROOT / "src").iterdir()}
        for name in sorted(name for name in self.names if "::" not in name and name not in rooms):
            there = CALLED if name.islower() else DECLARED
            self.assertTrue(any(name in names for names in there.values()), name)


class Counts(unittest.TestCase):
    rows = re.findall(r"(?m)^\| (an? [\w ]+) \| (.*) \| `(\w+)`, (\d+) files", section("To add something"))

    def test_every_row_has_one(self):
        self.assertEqual(len(self.rows), len(re.findall(r"(?m)^\| an? ", section("To add something"))))

    def test_they_are_right(self):
        for what, _, name, n_files in self.rows:
            found = [str(path.relative_to(ROOT)) for path, text in SOURCES.items() if re.search(rf"\b{name}\b", text)]
            self.assertEqual(len(found), int(n_files), f"{what}: {name} stands in {found}")

    def test_the_files_that_are_named_are_there(self):
        names = {path.name for folder in ["src", "include", "docs"] for path in (ROOT / folder).rglob("*")}
        for what, touch, _, _ in self.rows:
            for path in re.findall(r"`([\w./*]*\.(?:h|cpp|inl|json|md))`", touch):
                name = pathlib.PurePath(path).name
                if name.startswith(("x.", ".")) or "*" in name:
                    continue
                self.assertIn(name, names, f"{what}: {path}")


if __name__ == "__main__":
    unittest.main()
