"""Models by name: all that `realizar list` shows, in the stores of other programs and in the program's own."""
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest
import unittest.mock

import realizar
from support import ANSWER, DEADLINE_S, MODEL, PARIS, PROGRAM

OPTIONS = {"backend": "cpu", "n_threads": 2, "max_seqs": 1}


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def link(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(MODEL, path)


class Names(unittest.TestCase):
    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.home = pathlib.Path(folder)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "HF_", "OLLAMA", "LLAMA", "HUGGINGFACE"))}
        self.enterContext(unittest.mock.patch.dict(os.environ, {**kept, "HOME": folder}, clear=True))

    def put_into_ollama(self, name, **texts):
        """The bundled model under that name, with other texts."""
        root = self.home / ".ollama/models"
        layers = []

        def add(kind, digest, size):
            media_type = f"application/vnd.ollama.image.{kind}"
            layers.append({"mediaType": media_type, "digest": f"sha256:{digest}", "size": size})

        digest = hashlib.sha256(b"weights").hexdigest()
        if not (root / "blobs" / f"sha256-{digest}").exists():
            link(root / "blobs" / f"sha256-{digest}")
        add("model", digest, MODEL.stat().st_size)
        for kind, text in texts.items():
            digest = hashlib.sha256(text.encode()).hexdigest()
            write(root / "blobs" / f"sha256-{digest}", text)
            add(kind, digest, len(text))
        write(root / "manifests/registry.ollama.ai/library" / name / "latest", json.dumps({"layers": layers}))

    def test_every_name_of_the_list_loads(self):
        self.put_into_ollama("tinychat")
        link(self.home / ".lmstudio/models/acme/studio-GGUF/studio-Q8_0.gguf")
        link(self.home / ".cache/llama.cpp/acme_llama-GGUF_llama-Q8_0.gguf")
        cache = self.home / ".cache/huggingface/hub/models--acme--small"
        write(cache / "refs/main", "abc")
        link(cache / "snapshots/abc/small-Q8_0.gguf")
        listed = subprocess.run([PROGRAM, "list", "--json"], check=True, capture_output=True, text=True, timeout=DEADLINE_S)
        rows = [json.loads(line) for line in listed.stdout.splitlines()]
        places = {row["place"] for row in rows}
        self.assertEqual(len(rows), 5, rows)
        self.assertEqual(len(places), 5, rows)
        for row in rows:
            with self.subTest(row["name"]), realizar.Model(row["name"], **OPTIONS) as model:
                self.assertTrue(os.path.samefile(model.info.path, row["path"]) or row["name"] == "realizar-tiny")
                self.assertEqual(model.chat(PARIS, temperature=0).text, ANSWER)

    def test_what_comes_with_a_model_is_used(self):
        turns = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Good day."}]
        params = {"num_ctx": 256, "temperature": 0}
        self.put_into_ollama("mine", system="Be brief.", messages=json.dumps(turns), params=json.dumps(params))
        with realizar.Model("mine", **OPTIONS) as named, realizar.Model(MODEL, **OPTIONS) as plain:
            self.assertEqual(named.info.n_ctx, 256)
            question = [{"role": "user", "content": PARIS}]
            expected = plain.chat_prompt([*turns, *question], system="Be brief.")
            self.assertEqual(named.chat_prompt(PARIS), expected)
            self.assertEqual(named.chat_prompt(PARIS, system="Be kind."),
                             plain.chat_prompt([*turns, {"role": "system", "content": "Be kind."}, *question]))
            self.assertEqual(named.chat(PARIS).token_ids, plain.generate(expected, temperature=0).token_ids)

    def test_the_bundled_model_is_part_of_the_wheel(self):
        with realizar.Model("realizar-tiny", **OPTIONS) as model:
            self.assertIn(str(pathlib.Path(realizar.__file__).parent), model.info.path)

    def test_a_client_in_openais_words_is_called_by_the_name(self):
        self.put_into_ollama("tinychat")
        with realizar.OpenAI(model="tinychat", **OPTIONS) as client:
            self.assertEqual([model.id for model in client.models.list()], ["tinychat"])

    def test_what_is_not_here_says_how_to_get_it(self):
        self.put_into_ollama("tinychat")
        for name, message in [
            ("qwen3:1.7b", r'to download it: realizar.pull\("qwen3:1.7b"\)$'),
            ("tinycht", "did you mean .*tinychat"),
            ("no/such/file.gguf", "^there is no file or folder no/such/file.gguf"),
        ]:
            with self.subTest(name), self.assertRaisesRegex(realizar.NotFoundError, message.replace("?", "[?]")):
                realizar.Model(name, **OPTIONS)
        with self.assertRaises(realizar.InvalidArgumentError):
            realizar.Model("hf:../x", **OPTIONS)

    def test_a_store_elsewhere(self):
        store = self.home / "elsewhere"
        digest = hashlib.sha256(b"weights").hexdigest()
        file = {"role": "model", "name": "m.gguf", "sha256": digest, "size": MODEL.stat().st_size}
        manifest = {"format": 1, "source": "", "revision": "", "pulled": "", "files": [file]}
        link(store / "blobs" / f"sha256-{digest}")
        write(store / "manifests/local/_/mine/latest.json", json.dumps(manifest))
        with realizar.Model("mine", models_store=store, **OPTIONS) as model:
            self.assertIn(str(store), model.info.path)
        with self.assertRaises(realizar.NotFoundError):
            realizar.Model("mine", **OPTIONS)
