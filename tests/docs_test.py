#!/usr/bin/env python3
"""Checks the documentation against the program: runs its commands and compares their output, follows its links, and
checks its flags. Usage: docs_test.py REALIZAR [MAKE_MODEL].

The first line of a fenced block says what it is:
  ```console            commands after "$ " (continued after "> ") and their output, where "..." matches any text
  ```console exit=1     the same, and the last command ends with that exit code
  ```LANGUAGE file=X    is written to the file X, for the commands below it
  ```console server=X   talks to another server (docs_servers.py) than the bundled model's
  ```LANGUAGE needs=X   needs something that is not available here (network, root, docker ...): skipped, and listed as
  such
  ```python needs=openai    is run if that package is installed
  ```LANGUAGE           is shown, and not run
White space is ignored in comparisons, so that the pages can break lines. `model.gguf` is the bundled model, and a
server with it answers at localhost:8080 in the pages."""
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from bundled import ROOT, TINY as MODEL
import cli_test
from docs_servers import Servers
import program
from program import REALIZAR
from waiting import DEADLINE_S

PAGES = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md",
         *sorted(str(page.relative_to(ROOT)) for page in [*ROOT.glob("docs/*.md"), *ROOT.glob("src/**/README.md")])]
# Flags of other programs and of scripts that the pages name.
FOREIGN_FLAGS = {"--stop-timeout", "--mpi", "--bind-to", "--mca", "--help", "--version", "--test", "--dev", "--arm", "--fix", "--rounds", "--memory",
                 "--ctx-size", "--kv-unified", "--parallel", "--cors-origins", "--metrics", "--verbose", "--lora-scaled",
                 "--lora-init-without-apply", "--table", "--python", "--importance", "--llama-bench", "--realizar-args",
                 "--streams", "--vocab", "--json-schema"}
MAKE_MODEL = ""


def text_of(page):
    return (ROOT / page).read_text()


def without_blocks(text):
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def has_commands(page):
    return "\n```console" in text_of(page)


def blocks_of(page):
    """(line, language, {option: value}, text) of each fenced block."""
    text = text_of(page)
    for match in re.finditer(r"^```(.*)\n((?:.*\n)*?)```$", text, re.MULTILINE):
        language, *options = match[1].split() or [""]
        line = text.count("\n", 0, match.start()) + 1
        yield line, language, dict(option.split("=", 1) for option in options), match[2]


def commands_of(text):
    """(command, its output) for each command in a console block."""
    commands = []
    for line in text.splitlines():
        if line.startswith("$ "):
            commands.append([line[2:], ""])
        elif line.startswith("> ") and not commands[-1][1]:
            commands[-1][0] += "\n" + line[2:]
        else:
            commands[-1][1] += line + "\n"
    return commands


def squeezed(text):
    return re.sub(r"\s+", "", text)


def shows(expected, actual):
    pattern = ".*".join(re.escape(squeezed(part)) for part in expected.split("..."))
    return re.fullmatch(pattern, squeezed(actual), re.DOTALL) is not None


class Page(unittest.TestCase):
    """The blocks of one page; each is a test, in the page's order, and all share a folder."""
    servers = folder = None

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        (cls.folder / "bin").mkdir()
        (cls.folder / "bin/realizar").symlink_to(pathlib.Path(REALIZAR).resolve())
        (cls.folder / "model.gguf").symlink_to(MODEL)
        cls.servers = Servers(REALIZAR, cls.folder)

    @classmethod
    def tearDownClass(cls):
        codes = cls.servers.stop()
        cls.temporary.cleanup()
        assert not any(codes.values()), f"servers ended with {codes}"

    def run_in_folder(self, *command):
        environment = {"PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}", "HOME": str(self.folder), "LANG": "C.UTF-8"}
        return subprocess.run(command, cwd=self.folder, env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=DEADLINE_S)

    def here(self, text, server="bundled"):
        return re.sub(r"(http://)?(localhost|127\.0\.0\.1):8080", lambda _: self.servers.url(server), text)

    def check_commands(self, text, exit_code, server):
        commands = commands_of(text)
        for command, expected in commands:
            if command.split()[0] == "curl" and shutil.which("curl") is None:
                self.skipTest("curl is not installed")
            result = self.run_in_folder("bash", "-o", "pipefail", "-c", self.here(command, server))
            self.assertEqual(result.returncode, exit_code if command == commands[-1][0] else 0, f"{command}\n{result.stdout}")
            self.assertTrue(shows(self.here(expected, server), result.stdout),
                            f"\n$ {command}\nexpected:\n{expected}\nactual:\n{result.stdout}")

    def check_program(self, text, package):
        if importlib.util.find_spec(package) is None:
            self.skipTest(f"needs the Python package {package}")
        result = self.run_in_folder(sys.executable, "-c", self.here(text))
        self.assertEqual(result.returncode, 0, result.stdout)

    def check_block(self, language, options, text):
        if language == "python" and "needs" in options:
            return self.check_program(text, options["needs"])
        if "needs" in options:
            self.skipTest(f"needs {options['needs']}")
        if "file" in options:
            (self.folder / options["file"]).write_text(text)
        elif language == "console":
            self.check_commands(text, int(options.get("exit", 0)), options.get("server", "bundled"))
        self.assertTrue(language, "the block does not say what it is")


def block_test(language, options, text):
    return lambda self: self.check_block(language, options, text)


def page_case(page):
    tests = {f"test_line_{line:04}": block_test(language, options, text)
             for line, language, options, text in blocks_of(page)
             if language in ("", "console") or options}
    return type(re.sub(r"\W", "_", page), (Page,), tests)


class Links(unittest.TestCase):
    @staticmethod
    def anchors(page):
        headings = re.findall(r"^#+ (.*)$", without_blocks(text_of(page)), re.MULTILINE)
        return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}

    def test_every_link_leads_somewhere(self):
        for page in PAGES:
            for target in re.findall(r"\]\(([^)\s]+)\)", without_blocks(text_of(page))):
                if "://" in target:
                    continue
                path, _, anchor = target.partition("#")
                file = (ROOT / page).parent / path if path else ROOT / page
                self.assertTrue(file.exists(), f"{page}: {target}")
                if anchor:
                    self.assertIn(anchor, self.anchors(file.resolve().relative_to(ROOT)), f"{page}: {target}")


    def test_every_file_that_is_named_is_there(self):
        folders = "scripts|src|tests|bench|docs|deploy|include|examples|web|models|cmake"
        for page in PAGES:
            for path in re.findall(rf"`((?:{folders})/[\w./-]+)`", without_blocks(text_of(page))):
                if pathlib.PurePath(path).stem == "x":  # a placeholder for a name
                    continue
                places = (ROOT, ROOT / "src", (ROOT / page).parent)
                found = [(place / name).exists() for place in places for name in (path, path + ".cpp")]
                self.assertTrue(any(found), f"{page}: {path}")


class Flags(unittest.TestCase):
    @staticmethod
    def flags(command):
        """All flags of a command, as its help lists them."""
        result = program.run(command, "--help-all")
        return set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", result.stdout))

    def test_every_flag_of_serve_is_described(self):
        page = text_of("docs/deploy.md")
        flags = self.flags("serve") - {"--help", "--help-all", "--version"}
        self.assertGreater(len(flags), 40)
        self.assertEqual([flag for flag in sorted(flags) if not re.search(rf"`{flag}[` ]", page)], [])

    def test_every_flag_that_is_described_is_known(self):
        known = FOREIGN_FLAGS.union(*map(self.flags, cli_test.commands()))
        for page in PAGES:
            named = set(re.findall(r"`(--[a-z][a-z0-9-]*)", without_blocks(text_of(page))))
            self.assertEqual(sorted(named - known), [], page)


class Variables(unittest.TestCase):
    def test_every_environment_variable_that_is_read_is_in_the_table(self):
        readers = [path for path in (ROOT / "src").rglob("*.cpp") if re.search(r"\bgetenv\s*\(", path.read_text())]
        self.assertTrue(readers)
        read = {name for path in readers for name in re.findall(r'(?<!shown_as = )"([A-Z][A-Z_]{3,})"', path.read_text())}
        section = text_of("docs/user-guide.md").split("## Environment variables")[1]
        cells = re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
        self.assertEqual(read, {name for cell in cells for name in re.findall(r"`(\w+)`", cell)})


class Models(unittest.TestCase):
    def test_the_table_of_memory_is_what_its_command_prints(self):
        if not MAKE_MODEL:
            self.skipTest("make_model was not built")
        printed = subprocess.run([MAKE_MODEL, "--memory"], capture_output=True, text=True, timeout=DEADLINE_S).stdout
        self.assertIn(printed, text_of("docs/models.md"))


if __name__ == "__main__":
    if len(sys.argv) > 1 and not sys.argv[1].startswith("-"):
        MAKE_MODEL = sys.argv.pop(1)
    globals().update({case.__name__: case for case in map(page_case, filter(has_commands, PAGES))})
    unittest.main(verbosity=2)
