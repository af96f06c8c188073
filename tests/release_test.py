#!/usr/bin/env python3
"""scripts/release: the trees that it refuses, that all files name the same version, and, with packages that
scripts/package has made from a build, that a dry run makes all files of a release and that packing again gives the same
bytes.
Usage: release_test.py [PACKAGES BUILD]"""
import hashlib
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

from folders import temp_folder

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("release", str(ROOT / "scripts/release"))
release = importlib.util.module_from_spec(importlib.util.spec_from_loader("release", loader))
loader.exec_module(release)
VERSION = release.version_of(ROOT)
PACKAGES = BUILD = None


class Version(unittest.TestCase):
    def test_pages_and_manifests_say_that_of_the_program(self):
        self.assertEqual(release.other_versions(ROOT), [])

    def test_the_changelog_has_a_section_of_it(self):
        heading, notes = release.section_of(ROOT, VERSION)
        self.assertRegex(heading, r"^(unreleased|\d{4}-\d\d-\d\d)$")
        self.assertIn("### ", notes)


class Refusals(unittest.TestCase):
    """A repository of a few files, ready for a release."""
    def setUp(self):
        self.root = temp_folder(self)
        (self.root / "docs").mkdir()
        self.git("init", "-q")
        for name, value in [("user.name", "A"), ("user.email", "a@example.org")]:
            self.git("config", name, value)
        self.commit("CMakeLists.txt", "project(realizar VERSION 1.2.3 LANGUAGES C)\n")
        self.commit("docs/page.md", "tar xzf realizar-1.2.3-linux.tar.gz\n")
        self.commit("CHANGELOG.md", "# Changelog\n\n## 1.2.3, 2026-01-02\n### Running\n- Faster.\n\n## 1.2.2, 2026-01-01\n- Old.\n")

    def git(self, *command):
        return release.output("git", *command, cwd=self.root)

    def commit(self, name, text):
        (self.root / name).write_text(text)
        self.git("add", name)
        self.git("commit", "-q", "-m", name)

    def refusal(self):
        found = release.refusals(self.root)
        self.assertEqual(len(found), 1, found)
        return found[0]

    def test_a_clean_tree_is_tagged_with_its_notes(self):
        self.assertEqual(release.refusals(self.root), [])
        _, notes = release.section_of(self.root, "1.2.3")
        self.assertEqual(notes, "### Running\n- Faster.\n")
        release.tag(self.root, "1.2.3", notes)
        self.assertEqual(self.git("tag", "--list", "--format=%(contents)", "v1.2.3"), "realizar 1.2.3\n\n### Running\n- Faster.")

    def test_a_tag_that_is_there(self):
        self.git("tag", "v1.2.3")
        self.assertEqual(self.refusal(), "the tag v1.2.3 is there already")

    def test_a_tree_with_changes(self):
        for name in ["CHANGELOG.md", "new"]:
            with open(self.root / name, "a", encoding="utf-8") as file:
                file.write("more\n")
            self.assertEqual(self.refusal(), "the tree has changes that are not committed")
            self.git("add", name)
            self.git("commit", "-q", "-m", name)

    def test_a_changelog_without_the_version(self):
        self.commit("CHANGELOG.md", "# Changelog\n\n## 1.2.30, 2026-01-02\n- Faster.\n")
        self.assertEqual(self.refusal(), "CHANGELOG.md has no section '## 1.2.3'")

    def test_a_changelog_without_a_date(self):
        self.commit("CHANGELOG.md", "# Changelog\n\n## 1.2.3, unreleased\n- Faster.\n")
        self.assertEqual(self.refusal(), "the heading of 1.2.3 in CHANGELOG.md has no date, but 'unreleased'")

    def test_a_page_of_another_version(self):
        self.commit("docs/page.md", "tar xzf realizar-1.2.2-linux.tar.gz; realizar 1.2.1 had none\n")
        self.assertEqual(self.refusal(), "docs/page.md says 1.2.2, CMakeLists.txt 1.2.3")

    def test_the_script_ends_before_it_builds(self):
        for name in ["scripts", "build"]:
            (self.root / name).mkdir()
        self.commit("scripts/release", (ROOT / "scripts/release").read_text())
        (self.root / "new").touch()
        ended = subprocess.run([sys.executable, self.root / "scripts/release", "--tag"], capture_output=True, text=True)
        self.assertEqual((ended.returncode, ended.stderr), (1, "release: the tree has changes that are not committed\n"))
        self.assertEqual((self.git("tag"), list((self.root / "build").iterdir())), ("", []))


class Files(unittest.TestCase):
    """All files of a release, made from the existing packages."""
    @classmethod
    def setUpClass(cls):
        if PACKAGES is None:
            raise unittest.SkipTest("no packages were given")
        cls.temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.work = pathlib.Path(cls.temporary.name)
        cls.out = cls.work / "first"
        cls.dry_run(PACKAGES, cls.out)
        cls.tarball = next(cls.out.glob("realizar-*-linux-*.tar.gz"))

    @staticmethod
    def dry_run(packages, out):
        subprocess.run([ROOT / "scripts/release", "--dry-run", "--packages", packages, "--built", BUILD, "--out", out], check=True)

    def test_every_kind_is_there_and_has_its_checksum(self):
        names = {path.name for path in self.out.iterdir()}
        for kind in [rf"realizar-{VERSION}-linux-\w+\.tar\.gz", rf"realizar_{VERSION}_\w+\.deb", rf"realizar-{VERSION}-py3-none-manylinux_\w+\.whl",
                     rf"realizar-{VERSION}-deploy\.tar\.gz", rf"realizar-{VERSION}\.spdx\.json", r"notes\.md", "SHA256SUMS"]:
            self.assertTrue([name for name in names if re.fullmatch(kind, name)], f"{kind} is not among {names}")
        sums = dict(reversed(line.split("  ")) for line in (self.out / "SHA256SUMS").read_text().splitlines())
        self.assertEqual(sums, {name: hashlib.sha256((self.out / name).read_bytes()).hexdigest() for name in names - {"SHA256SUMS"}})

    def test_each_says_the_version(self):
        deb, wheel = next(self.out.glob("*.deb")), next(self.out.glob("*.whl"))
        self.assertEqual(release.output("dpkg-deb", "--field", str(deb), "Version"), VERSION)
        with zipfile.ZipFile(wheel) as archive:
            self.assertIn(f"\nVersion: {VERSION}\n", archive.read(f"realizar-{VERSION}.dist-info/METADATA").decode())
        with tarfile.open(self.tarball) as archive:
            archive.extractall(self.work / "unpacked")
        program = next((self.work / "unpacked").glob("*/bin/realizar"))
        self.assertEqual(release.output(str(program), "--version"), f"realizar {VERSION}")

    def test_the_bill_of_materials_has_every_library(self):
        bill = json.loads((self.out / f"realizar-{VERSION}.spdx.json").read_text())
        packages = {package["name"]: package for package in bill["packages"]}
        with tarfile.open(self.tarball) as archive:
            carried = [pathlib.PurePath(name).name for name in archive.getnames() if "/lib/realizar/" in name]
        texts = release.licence_texts(self.tarball)
        self.assertGreater(len(carried), 20)
        self.assertEqual(sorted(name for name in texts if name not in {*packages, "versions", "chat-page", "LICENSE"}), [])
        for name in ["libfmt", "libssl", "libcurl", "libboost", "libhiredis", "nlohmann-json", "preact"]:
            self.assertTrue(any(package.startswith(name) for package in packages), name)
        known = {licence["licenseId"] for licence in bill["hasExtractedLicensingInfos"]}
        for package in packages.values():
            self.assertTrue(package["versionInfo"] and package["licenseDeclared"], package)
            self.assertLessEqual({*re.findall(r"LicenseRef-[\w.-]+", package["licenseDeclared"])}, known)
        identities = {package["SPDXID"] for package in packages.values()} | {"SPDXRef-DOCUMENT"}
        self.assertEqual({relation[end] for relation in bill["relationships"] for end in ["spdxElementId", "relatedSpdxElement"]}, identities)

    def test_packing_again_gives_the_same_bytes(self):
        again, out = self.work / "packages", self.work / "second"
        command = f"umask 077; exec '{ROOT}/scripts/package' --built '{BUILD}' '{again}'"
        subprocess.run(["bash", "-c", command], check=True, env=os.environ | {"TZ": "Pacific/Auckland", "TMPDIR": str(self.work)})
        self.dry_run(again, out)
        self.assertEqual((out / "SHA256SUMS").read_text(), (self.out / "SHA256SUMS").read_text())


if __name__ == "__main__":
    if len(sys.argv) > 2:
        BUILD, PACKAGES = (os.path.abspath(sys.argv.pop(2)), os.path.abspath(sys.argv.pop(1)))
    unittest.main(verbosity=2)
