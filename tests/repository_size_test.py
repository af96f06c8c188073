#!/usr/bin/env python3
"""The repository stays small: tracked files are at most MAX_MB in total, so that a clone is fast and there is room for
more."""
import pathlib
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAX_MB = 28
N_NAMED = 10  # folders and files that a failure names


def tracked_sizes(root):
    """Path -> bytes of git's tracked files."""
    names = subprocess.run(["git", "-C", root, "ls-files", "-z"], capture_output=True, check=True).stdout.decode().split("\0")
    paths = ((name, root / name) for name in names if name)
    return {name: path.lstat().st_size for name, path in paths if path.is_symlink() or path.is_file()}


def complaint(sizes, max_mb):
    """Lists the large files if the total is too large, otherwise nothing."""
    total = sum(sizes.values())
    if total <= max_mb * 10**6:
        return ""
    folders = {}
    for name, size in sizes.items():
        folder = str(pathlib.PurePosixPath(name).parent) + "/"
        folders[folder] = folders.get(folder, 0) + size
    largest = sorted((folders | sizes).items(), key=lambda item: -item[1])[:N_NAMED]
    return (f"git tracks {total / 1e6:.1f} MB, expected at most {max_mb} MB. Test models are made where they can be "
            "(tests/data/conformance/README.md), other large data stand beside the checkout. The largest:\n"
            + "\n".join(f"{size / 1e6:7.2f} MB  {name}" for name, size in largest))


class Size(unittest.TestCase):
    def test_what_is_tracked_is_small(self):
        if subprocess.run(["git", "-C", ROOT, "rev-parse"], capture_output=True).returncode != 0:
            self.skipTest("this is no clone of a git repository")
        sizes = tracked_sizes(ROOT)
        self.assertGreater(len(sizes), 100)
        self.assertFalse(text := complaint(sizes, MAX_MB), text)

    def test_what_is_large_is_named(self):
        sizes = {"a/model.gguf": 5_000_000, "a/b/small.txt": 10, "c.txt": 2_000_000}
        self.assertEqual(complaint(sizes, 8), "")
        text = complaint(sizes, 6)
        self.assertIn("git tracks 7.0 MB, expected at most 6 MB", text)
        self.assertIn("5.00 MB  a/\n", text)
        self.assertIn("5.00 MB  a/model.gguf", text)


if __name__ == "__main__":
    unittest.main()
