"""Downloads of models from servers on this machine that imitate Hugging Face's hub and Ollama's registry."""
import contextlib
import io
import os
import pathlib
import signal
import sys
import tempfile
import unittest
import unittest.mock

import realizar
from realizar import _progress
from support import ANSWER, MODEL, PARIS, ROOT

sys.path.append(str(ROOT / "tests"))
from hub_server import Hub, sha256  # noqa: E402

OPTIONS = {"backend": "cpu", "n_threads": 2, "max_seqs": 1}
TINY = MODEL.read_bytes()
BIG = TINY + bytes(24 << 20)  # several pieces of a download
NAME = "hf:maker/model:m-Q8_0.gguf"


class Pulling(unittest.TestCase):
    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.home = pathlib.Path(folder)
        self.hub = Hub()
        self.addCleanup(self.hub.close)
        self.hub.add_repo("maker/model", {"README.md": b"#", "m-Q8_0.gguf": TINY, "m-Q4_0.gguf": BIG})
        dropped = ("XDG_", "HF_", "OLLAMA", "LLAMA", "HUGGINGFACE", "SSL_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
        own = {**kept, "HOME": folder, "HF_ENDPOINT": self.hub.url, "no_proxy": "127.0.0.1,localhost"}
        self.enterContext(unittest.mock.patch.dict(os.environ, own, clear=True))

    def assert_answers(self, model):
        self.assertEqual(model.chat(PARIS, temperature=0).text, ANSWER)

    def test_a_model_is_pulled_by_its_name_and_loaded_by_it(self):
        told = []
        name = realizar.pull("hf:maker/model:Q8_0", progress=lambda *bytes: told.append(bytes))
        self.assertEqual(name, "hf:maker/model:Q8_0")
        self.assertEqual((told[0], told[-1]), ((0, 0), (len(TINY), len(TINY))))
        with realizar.Model(name, **OPTIONS) as model:
            self.assert_answers(model)

    def test_what_is_there_is_not_downloaded_again(self):
        for stages in (["info", "tree", "resolve", "blob"], ["info", "tree"]):
            n_before = len(self.hub.stages())
            self.assertEqual(realizar.pull(NAME), NAME)
            self.assertEqual(list(dict.fromkeys(self.hub.stages()[n_before:])), stages)

    def test_the_file_is_chosen_by_a_pattern(self):
        self.assertEqual(realizar.pull("hf:maker/model", file="*q8_0*"), NAME)
        for pattern, message in [
            ("*", r"several files match '\*': m-Q4_0.gguf, m-Q8_0.gguf"),
            ("*Q5*", r"no file matches '\*Q5\*'; there are: m-Q4_0.gguf, m-Q8_0.gguf"),
        ]:
            with self.assertRaisesRegex(realizar.NotFoundError, message):
                realizar.pull("hf:maker/model", file=pattern)
        with self.assertRaisesRegex(realizar.InvalidArgumentError, "'qwen3:1.7b' is not a Hugging Face repository"):
            realizar.pull("qwen3:1.7b", file="*")

    def test_a_repository_is_loaded_and_pulled_only_once(self):
        for filename in ("*q8_0*", "m-Q8_0.gguf"):
            with realizar.Model.from_pretrained("maker/model", filename=filename, **OPTIONS) as model:
                self.assert_answers(model)
                self.assertEqual(model.info.n_ctx, 1024)
            asked = self.hub.stages()
            with realizar.Model.from_pretrained("maker/model", filename=filename, n_ctx=64, **OPTIONS) as model:
                self.assertEqual(model.info.n_ctx, 64)
            self.assertEqual(self.hub.stages(), asked)
        self.hub.add_repo("maker/one", {"one-Q8_0.gguf": TINY})
        with realizar.Model.from_pretrained("maker/one", revision="v1", **OPTIONS) as model:
            self.assert_answers(model)
        self.assertTrue(any(path.endswith("/maker/one/revision/v1") for _, path, _ in self.hub.requests))
        with self.assertRaisesRegex(realizar.InvalidArgumentError, "expected hf:OWNER/REPOSITORY"):
            realizar.Model.from_pretrained("model")
        with self.assertRaisesRegex(TypeError, "unknown option 'verbose'"):
            realizar.Model.from_pretrained("maker/model", filename="*q8_0*", verbose=False)

    def test_a_model_that_another_program_has_downloaded_is_taken(self):
        cache = self.home / ".cache/huggingface/hub/models--maker--model"
        (cache / "refs").mkdir(parents=True)
        (cache / "refs/main").write_text("abc")
        (cache / "snapshots/abc").mkdir(parents=True)
        (cache / "snapshots/abc/m-Q8_0.gguf").write_bytes(TINY)
        with realizar.Model.from_pretrained("maker/model", filename="*q8_0*", **OPTIONS) as model:
            self.assertIn(str(cache), model.info.path)
        self.assertEqual(self.hub.stages(), [])
        self.assertEqual(realizar.pull("realizar-tiny", only_if_missing=True), "realizar-tiny")

    def test_what_comes_with_a_model_of_ollamas_is_used(self):
        self.hub.add_ollama("library/tiny:latest", [("model", TINY), ("system", b"Be brief.")])
        name = realizar.pull("ollama:tiny", mirror=self.hub.url)
        with realizar.Model(name, **OPTIONS) as model, realizar.Model(MODEL, **OPTIONS) as plain:
            self.assertEqual(model.chat_prompt(PARIS), plain.chat_prompt(PARIS, system="Be brief."))

    def test_a_store_elsewhere(self):
        store = self.home / "elsewhere"
        name = realizar.pull("hf:maker/model:Q8_0", models_store=store)
        self.assertTrue((store / "blobs" / f"sha256-{sha256(TINY)}").is_file())
        with realizar.Model(name, models_store=store, **OPTIONS) as model:
            self.assert_answers(model)
        with self.assertRaises(realizar.NotFoundError):
            realizar.Model(name, **OPTIONS)

    def test_a_token_is_sent(self):
        self.hub.token = "secret"
        with self.assertRaisesRegex(realizar.InvalidArgumentError, "restricted"):
            realizar.pull("hf:maker/model:Q8_0")
        realizar.pull("hf:maker/model:Q8_0", token="secret")
        with self.assertRaisesRegex(realizar.InvalidArgumentError, "token: expected a token, which is one word"):
            realizar.pull("hf:maker/model:Q8_0", token="two words")

    def stopped(self, stop):
        """Pulls the big model; `stop` is called after some of it has arrived."""
        realizar.pull("hf:maker/model:Q4_0", progress=lambda done, total: stop() if done > 0 else None)

    def test_a_download_that_is_stopped_is_resumed(self):
        with self.assertRaises(realizar.CancelledError):
            self.stopped(lambda: False)
        with self.assertRaises(KeyboardInterrupt):
            self.stopped(lambda: signal.raise_signal(signal.SIGINT))
        with self.assertRaises(ZeroDivisionError):
            self.stopped(lambda: 1 / 0)
        with self.assertRaises(realizar.NotFoundError):
            realizar.Model("hf:maker/model:Q4_0", **OPTIONS)
        told = []
        realizar.pull("hf:maker/model:Q4_0", progress=lambda done, total: told.append(done) if total else None)
        self.assertGreater(told[0], 0)
        self.assertEqual(told[-1], len(BIG))

    def test_a_search_is_stopped(self):
        with self.assertRaises(realizar.CancelledError):
            realizar.pull(NAME, progress=lambda done, total: False)

    def test_what_cannot_be_pulled_is_named(self):
        for name, kind, message in [
            ("hf:maker/other", realizar.NotFoundError, "maker/other"),
            ("hf:maker/model:Q2_K", realizar.NotFoundError, "there is no 'Q2_K'"),
            ("hf:../x", realizar.InvalidArgumentError, "is not a model's name"),
            ("a\0b", ValueError, "NUL"),
        ]:
            with self.subTest(name), self.assertRaisesRegex(kind, message):
                realizar.pull(name)
        self.hub.close()
        with self.assertRaisesRegex(realizar.ResourceExhaustedError, "is this machine offline.* mirror=URL asks"):
            realizar.pull(NAME, mirror="http://127.0.0.1:9")

    def test_a_bar_is_drawn(self):
        for asked in (True, None):
            to = io.StringIO()
            to.isatty = lambda: asked is None
            with unittest.mock.patch.object(_progress, "_SHORTEST_S", 0), contextlib.redirect_stderr(to):
                realizar.pull("hf:maker/model:Q8_0", models_store=self.home / str(asked), progress=asked)
            lines = to.getvalue().split("\r")
            self.assertEqual(lines[1].rstrip(), "hf:maker/model:Q8_0: asking the server")
            self.assertRegex(lines[-1], r"^hf:maker/model:Q8_0 \[#{30}\] 100%  5 of 5 MB\s*\n$")
        to = io.StringIO()
        with contextlib.redirect_stderr(to):
            realizar.pull("hf:maker/model:Q8_0")
        self.assertEqual(to.getvalue(), "")
