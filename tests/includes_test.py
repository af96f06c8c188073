#!/usr/bin/env python3
"""Checks which headers a source includes directly or indirectly: which files are recompiled when an operation, a type
or a request changes."""
import collections
import functools
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = [ROOT / "src", ROOT / "include"]
UNITS = sorted(
    path for path in (ROOT / "src").rglob("*") if path.suffix in {".cpp", ".cu"} and not path.stem.endswith("_test")
)

# header -> the rooms whose sources may see it; None: all
SEEN_BY = {
    "backend/ops.h": {"backend", "model", "engine", "api"},
    "backend/program.h": {"backend", "model", "engine", "api"},
    "quant/blocks.h": {"quant", "formats", "backend"},
    "engine/engine.h": {"engine", "api", "server"},
    "realizar/request.h": {"sampling", "engine", "api", "server", "cli"},
    "realizar/result.h": None,
}


@functools.cache
def included(path):
    """The project's own headers that a file includes."""
    found = set()
    for name in re.findall(r'(?m)^\s*#\s*include "([^"]+)"', path.read_text()):
        found |= {folder / name for folder in [*FOLDERS, path.parent] if (folder / name).exists()}
    return found


@functools.cache
def seen(unit):
    """All headers that a source includes, each with the file that includes it."""
    came_by, open_files = {unit: None}, [unit]
    for path in open_files:
        for header in sorted(included(path) - came_by.keys()):
            came_by[header] = path
            open_files.append(header)
    return came_by


def header_path(name):
    return next(folder / name for folder in FOLDERS if (folder / name).exists())


def units_that_see(name):
    return [unit for unit in UNITS if header_path(name) in seen(unit)]


def room_of(path):
    return path.relative_to(ROOT / "src").parts[0]


def way(unit, name):
    """How the header is included, one include after the other."""
    path, names = header_path(name), []
    while path is not None:
        names.append(path.relative_to(ROOT).as_posix())
        path = seen(unit)[path]
    return " <- ".join(names)


class Includes(unittest.TestCase):
    def test_headers_arrive_in_their_rooms_alone(self):
        for name, rooms in SEEN_BY.items():
            for unit in units_that_see(name):
                self.assertTrue(rooms is None or room_of(unit) in rooms, way(unit, name))

    def test_every_room_that_may_see_one_does(self):
        for name, rooms in SEEN_BY.items():
            if rooms is not None:
                self.assertEqual({room_of(unit) for unit in units_that_see(name)}, rooms, name)


if __name__ == "__main__":
    print(f"translation units that see a header, of {len(UNITS)}:")
    for header in SEEN_BY:
        rooms = collections.Counter(room_of(unit) for unit in units_that_see(header))
        print(f"  {header}: {rooms.total()} ({', '.join(f'{room} {n}' for room, n in sorted(rooms.items()))})")
    unittest.main()
