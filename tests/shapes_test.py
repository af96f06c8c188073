#!/usr/bin/env python3
"""Popular models in small form (shapes.py), from their own file or folder, from the results of convert and quantize,
from Ollama's store and from a download: answers end at the right place, tokens and templates are those of the source.
Usage: shapes_test.py REALIZAR [--table]."""
import hashlib
import json
import os
import pathlib
import sys
import tempfile
import unittest

from hub_server import Hub
import program
from shapes import SHAPES, TEXTS
from waiting import ONE_THREAD

TOOL = {"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object", "properties": {}}}}
REQUEST = {"messages": [{"role": "user", "content": "U"}], "add_generation_prompt": True}


class Shapes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="realizar-shapes-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.told = ""  # on standard error, by all commands

    def realizar(self, *args, **environment):
        env = {**os.environ, "HOME": str(self.folder), "XDG_CACHE_HOME": str(self.folder / "cache"), **environment}
        ran = program.run(*args, env=env)
        self.told += ran.stderr
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return ran.stdout

    def ends(self, shape, model, **environment):
        """{token: whether an answer ends at it}"""
        prompts = self.folder / "prompts.jsonl"
        asked = shape.questions()
        prompts.write_text("".join(json.dumps({"prompt": letter}) + "\n" for letter in asked))
        lines = self.realizar("run", model, "--raw", "--prompts", prompts, "-n", 3, "--temperature", 0, *ONE_THREAD, **environment)
        answers = [json.loads(line) for line in lines.splitlines()]
        self.assertEqual(len(answers), len(asked))
        return {token: answer["finish_reason"] == "stop" for token, answer in zip(asked.values(), answers)}

    def token_ids(self, model, **environment):
        return [[int(i) for i in self.realizar("tokenize", model, "--ids", "--", text, **environment).split()] for text in TEXTS]

    def rendered(self, model):
        texts = {}
        for kind, more in (("plain", {}), ("tools", {"tools": [TOOL]})):
            (self.folder / "request.json").write_text(json.dumps(REQUEST | more))
            texts[kind] = self.realizar("template", model, "--input", self.folder / "request.json")
        return texts

    def ollamas(self, model):
        """The name of a GGUF file in Ollama's store, and the environment variable with the store's path."""
        store = self.folder / "ollama"
        data = pathlib.Path(model).read_bytes()
        digest = hashlib.sha256(data).hexdigest()
        (store / "blobs").mkdir(parents=True, exist_ok=True)
        (store / f"blobs/sha256-{digest}").write_bytes(data)
        manifest = store / "manifests/registry.ollama.ai/library/shape/latest"
        manifest.parent.mkdir(parents=True, exist_ok=True)
        layer = {"mediaType": "application/vnd.ollama.image.model", "digest": f"sha256:{digest}", "size": len(data)}
        manifest.write_text(json.dumps({"schemaVersion": 2, "layers": [layer]}))
        return "shape", {"OLLAMA_MODELS": str(store)}

    def expect(self, shape, model, **environment):
        ends = self.ends(shape, model, **environment) if shape.questions() else {}
        self.assertEqual(ends, {token: token in shape.ends for token in ends})
        vocabulary = shape.vocabulary()
        around = [[vocabulary.id(text)] if text else [] for text in (shape.bos, shape.eos)]
        ids = self.token_ids(model, **environment)
        self.assertEqual(ids[0], around[0] + around[1])
        for text in ids:
            self.assertEqual(text[:len(around[0])], around[0])
            self.assertEqual(text[len(text) - len(around[1]):], around[1])
        if shape.templates and not environment:
            rendered = self.rendered(model)
            self.assertEqual({kind: rendered[kind] for kind in shape.templates}, shape.templates)
        return ids

    def walk(self, shape):
        source = shape.write(self.folder / "model")
        ids = self.token_ids(source)
        with self.subTest(form="source"):
            self.expect(shape, source)
        file = source
        if shape.is_folder:
            file = self.folder / "converted.gguf"
            self.realizar("convert", source, file)
            with self.subTest(form="converted"):
                self.assertEqual(self.expect(shape, file), ids)
        with self.subTest(form="quantized"):
            self.realizar("quantize", file, self.folder / "quantized.gguf", "Q8_0")
            self.assertEqual(self.expect(shape, self.folder / "quantized.gguf"), ids)
        with self.subTest(form="Ollama's store"):
            name, environment = self.ollamas(file)
            self.assertEqual(self.expect(shape, name, **environment), ids)
        for word in shape.told:
            self.assertIn(word, self.told)

    def test_shapes(self):
        for shape in SHAPES:
            with self.subTest(shape=shape.name):
                self.setUp()
                self.walk(shape)

    def test_a_download_has_all_files_of_a_folder(self):
        hub = Hub()
        self.addCleanup(hub.close)
        for shape in [s for s in SHAPES if s.is_folder]:
            with self.subTest(shape=shape.name):
                self.setUp()
                source = shape.write(self.folder / "model")
                files = {str(f.relative_to(source)): f.read_bytes() for f in source.rglob("*") if f.is_file()}
                hub.add_repo("maker/shape", files)
                hub.requests.clear()
                self.realizar("pull", "hf:maker/shape", "--mirror", hub.url, "--models-store", self.folder / "store")
                fetched = {path.split("/resolve/", 1)[1].split("/", 1)[1] for _, path, _ in hub.requests if "/resolve/" in path}
                self.assertEqual(fetched, set(files))


def table():
    lines = ["| model | form | says where an answer ends | ends | BOS |", "|---|---|---|---|---|"]
    for shape in SHAPES:
        ends = ", ".join(f"`{text}`".replace("|", "\\|") for text in shape.ends)
        bos = f"`{shape.bos}`".replace("|", "\\|") if shape.bos else "none"
        lines.append(f"| {shape.name} | {'folder' if shape.is_folder else 'GGUF'} | {shape.where.replace('|', chr(92) + '|')} | {ends} | {bos} |")
    return "\n".join(lines)


if __name__ == "__main__":
    if "--table" in sys.argv:
        print(table())
        sys.exit()
    unittest.main()
