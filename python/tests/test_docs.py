"""Runs the programs of the documentation. A comment after a print has its output; "..." matches anything."""
import contextlib
import importlib.util
import io
import os
import re
import sys
import tempfile
import unittest
import unittest.mock

from support import MODEL, ROOT

sys.path.append(str(ROOT / "tests"))
from hub_server import Hub  # noqa: E402


def is_there(package):
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:  # of a package that it is a part of
        return False


def blocks(page):
    """(options, code) of each block of Python."""
    text = (ROOT / page).read_text()
    return [(match[1], match[2]) for match in re.finditer(r"^```python(.*)\n((?:.*\n)*?)```$", text, re.MULTILINE)]


class Docs(unittest.TestCase):
    def run_page(self, page):
        names = {}
        with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
            stack.callback(os.chdir, os.getcwd())
            os.chdir(folder)
            os.symlink(MODEL, "model.gguf")
            stack.enter_context(unittest.mock.patch.dict(os.environ, self.environment(folder, stack)))
            for options, code in blocks(page):
                needed = re.search(r"needs=([\w.]+)", options)
                if needed is None or is_there(needed[1]):
                    with self.subTest(page=page, code=code):
                        self.run_block(page, code, names)
            if "model" in names:
                names["model"].close()

    def environment(self, folder, stack):
        """A home without models, and a hub on this machine with the models in the pages."""
        hub = stack.enter_context(contextlib.closing(Hub()))
        hub.add_repo("Qwen/Qwen3-1.7B-GGUF", {"Qwen3-1.7B-Q8_0.gguf": MODEL.read_bytes()})
        folders = ("HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "HF_HOME", "OLLAMA_MODELS", "LLAMA_CACHE")
        return {**dict.fromkeys(folders, folder), "HF_ENDPOINT": hub.url, "no_proxy": "127.0.0.1,localhost"}

    def run_block(self, page, code, names):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, page, "exec"), names)
        expected = re.findall(r"print\(.*\)  # (.*)$", code, re.MULTILINE)
        for wanted, line in zip(expected, printed.getvalue().splitlines()):
            if wanted != "...":
                self.assertEqual(line, wanted)
        self.assertGreaterEqual(len(printed.getvalue().splitlines()), len(expected))

    def test_the_guide(self):
        self.assertGreater(len(blocks("docs/python.md")), 8)
        self.run_page("docs/python.md")

    def test_the_readme(self):
        self.run_page("python/README.md")
