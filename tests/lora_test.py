#!/usr/bin/env python3
"""Adapters of low rank in the program: at the start and at run time, chosen by each request, several at once, and
refused ones. Usage: lora_test.py REALIZAR."""
import concurrent.futures
import json
import pathlib
import unittest

from bundled import ANSWER, MODEL, QUESTION
from folders import temp_folder
from lora_files import write_adapter
import program
from program import REALIZAR
from served import Served

CHAT = {"messages": [{"role": "user", "content": QUESTION}], "temperature": 0, "max_tokens": 24, "seed": 1}


class WithAdapters(unittest.TestCase):
    """A server with two adapters, and a folder of others that may be loaded."""

    flags = ()

    @classmethod
    def setUpClass(cls):
        at = cls.at = temp_folder(cls)
        cls.a, cls.b = write_adapter(at / "start/a", 1), write_adapter(at / "start/b", 2, use_rslora=True)
        cls.c = write_adapter(at / "more/c", 3)
        write_adapter(at / "more/dora", 4, use_dora=True)
        write_adapter(at / "more/wide", 5, rank=5)
        (at / "more/link").symlink_to(cls.a)
        flags = [flag.format(at=at) for flag in cls.flags]
        cls.server = cls.enterClassContext(Served(REALIZAR, MODEL, "--lora", f"a={cls.a}", "--lora", f"b={cls.b}:0.5", *flags))

    def ask(self, path, body, status=200):
        got, _, answer = self.server.ask("POST", path, body)
        self.assertEqual(got, status, answer)
        return answer

    def chat(self, **fields):
        return json.loads(self.ask("/v1/chat/completions", {**CHAT, **fields}))

    def answer(self, **fields):
        return self.chat(**fields)["choices"][0]["message"]["content"]

    def error(self, path, body, status):
        return json.loads(self.ask(path, body, status))["error"]["message"]

    def run_program(self, *args):
        done = program.run(*args)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()


class Choosing(WithAdapters):
    def test_by_the_models_name(self):
        plain, a, b = (self.answer(model=name) for name in ("realizar-tiny-Q8_0", "realizar-tiny-Q8_0:a", "b"))
        self.assertEqual(plain, ANSWER)
        self.assertEqual(len({plain, a, b}), 3)
        self.assertEqual(self.answer(), plain, "requests that name none have none")
        self.assertEqual(self.chat(model="a")["model"], "realizar-tiny-Q8_0:a")
        self.assertEqual(self.answer(model="realizar-tiny-Q8_0:latest"), plain, "a tag of Ollama's clients is no adapter")

    def test_by_llama_cpps_field(self):
        a = self.answer(model="a")
        self.assertEqual(self.answer(lora=[{"id": 0, "scale": 1}]), a)
        self.assertEqual(self.answer(lora=[{"id": 0, "scale": 1.0}, {"id": 1, "scale": 0}]), a)
        self.assertEqual(self.answer(lora=[{"id": 1, "scale": 0.5}]), self.answer(model="b"))
        self.assertEqual(self.answer(lora=[]), ANSWER)
        self.assertEqual(self.answer(model="a", lora=[{"id": 0, "scale": 0}]), ANSWER)
        body = {"prompt": QUESTION, "temperature": 0, "n_predict": 8, "lora": [{"id": 0, "scale": 1}]}
        self.assertEqual(json.loads(self.ask("/completion", body))["generation_settings"]["lora"], body["lora"])

    def test_what_is_wrong_is_said(self):
        for lora, part in (([{"id": 2, "scale": 1}], "one of 2 adapters"), ({"id": 0}, "expected an array"),
                           ([{"id": 0, "scale": 1}, {"id": 1, "scale": 1}], "one adapter"), ([1], "lora[0]")):
            self.assertIn(part, self.error("/v1/chat/completions", {**CHAT, "lora": lora}, 400))
        self.assertIn("no model", self.error("/v1/chat/completions", {**CHAT, "model": "realizar-tiny-Q8_0:none"}, 404))
        body = {**CHAT, "model": "a", "lora": [{"id": 1, "scale": 1}]}
        self.assertIn("another adapter", self.error("/v1/chat/completions", body, 400))

    def test_every_dialect_has_the_same_tokens(self):
        a = self.answer(model="a")
        told = json.loads(self.ask("/v1/messages", {**CHAT, "model": "realizar-tiny-Q8_0:a"}))
        self.assertEqual(told["content"][0]["text"], a)
        options = {"temperature": 0, "num_predict": 24, "seed": 1}
        body = {"model": "realizar-tiny-Q8_0:a", "messages": CHAT["messages"], "stream": False, "options": options}
        self.assertEqual(json.loads(self.ask("/api/chat", body))["message"]["content"], a)
        body = {"model": "a", "input": QUESTION, "temperature": 0, "max_output_tokens": 24}
        self.assertEqual(json.loads(self.ask("/v1/responses", body))["output"][-1]["content"][0]["text"], a)

    def test_requests_at_once_give_what_each_gives_alone(self):
        names = ["realizar-tiny-Q8_0", "a", "b"] * 6
        alone = {name: self.answer(model=name, max_tokens=60, ignore_eos=True) for name in names[:3]}
        with concurrent.futures.ThreadPoolExecutor(len(names)) as pool:
            together = list(pool.map(lambda name: self.answer(model=name, max_tokens=60, ignore_eos=True), names))
        self.assertEqual(together, [alone[name] for name in names])

    def test_vectors_have_the_adapter_too(self):
        vectors = [json.loads(self.ask("/v1/embeddings", {"model": name, "input": "Hi"}))["data"][0]["embedding"]
                   for name in ("realizar-tiny-Q8_0", "a")]
        self.assertNotEqual(*vectors)

    def test_lists_tell_of_them(self):
        models = json.loads(self.server.ask("GET", "/v1/models")[2])["data"]
        self.assertEqual([model["id"] for model in models],
                         ["realizar-tiny-Q8_0", "realizar-tiny-Q8_0:a", "realizar-tiny-Q8_0:b"])
        self.assertEqual([model.get("parent") for model in models], [None, "realizar-tiny-Q8_0", "realizar-tiny-Q8_0"])
        one = json.loads(self.server.ask("GET", "/v1/models/realizar-tiny-Q8_0:b")[2])
        self.assertEqual(one["root"], "b")
        again = json.loads(self.server.ask("GET", "/v1/models?reload=1")[2])["data"]
        self.assertEqual([model["id"] for model in again], [model["id"] for model in models])
        adapters = json.loads(self.server.ask("GET", "/lora-adapters")[2])
        self.assertEqual([(a["id"], a["name"], a["path"], a["scale"], a["rank"]) for a in adapters],
                         [(0, "a", "a", 0, 4), (1, "b", "b", 0, 4)])

    def test_the_lists_of_other_dialects_tell_of_them_too(self):
        tags = json.loads(self.server.ask("GET", "/api/tags")[2])["models"]
        self.assertEqual([model["name"] for model in tags],
                         ["realizar-tiny-Q8_0:latest", "realizar-tiny-Q8_0:a", "realizar-tiny-Q8_0:b"])
        self.assertEqual(tags[1]["details"]["parent_model"], "realizar-tiny-Q8_0:latest")
        self.assertEqual(len({model["digest"] for model in tags}), 3)
        shown = json.loads(self.ask("/api/show", {"model": "realizar-tiny-Q8_0:a"}))
        self.assertTrue(shown["modelfile"].startswith("FROM realizar-tiny-Q8_0:latest\nADAPTER a\n"), shown["modelfile"])
        for path, body in [("/api/copy", {"source": "a", "destination": "c"}), ("/api/create", {"model": "c", "from": "a"})]:
            self.assertIn("expected the name of a model without an adapter", json.loads(self.ask(path, body, 400))["error"])
        anthropic = {"anthropic-version": "2023-06-01"}
        listed = json.loads(self.server.ask("GET", "/v1/models", headers=anthropic)[2])["data"]
        self.assertEqual([model["id"] for model in listed], ["realizar-tiny-Q8_0", "realizar-tiny-Q8_0:a", "realizar-tiny-Q8_0:b"])
        one = json.loads(self.server.ask("GET", "/v1/models/realizar-tiny-Q8_0:b", headers=anthropic)[2])
        self.assertEqual(one["id"], "realizar-tiny-Q8_0:b")

    def test_nothing_changes_without_a_folder_for_it(self):
        for path in ("/v1/load_lora_adapter", "/v1/unload_lora_adapter", "/lora-adapters"):
            self.assertIn("changes the server for others", self.error(path, {"lora_name": "a", "lora_path": "a"}, 403))

    def test_the_program_has_the_same_answers(self):
        flags = (MODEL, QUESTION, "--temperature", "0", "--max-tokens", "24")
        self.assertEqual(self.run_program("run", *flags), ANSWER)
        self.assertEqual(self.run_program("run", *flags, "--lora", str(self.a)), self.answer(model="a").strip())
        self.assertEqual(self.run_program("run", *flags, "--lora", f"{self.b}:0.5"), self.answer(model="b").strip())
        done = program.run("run", *flags, "--lora", self.a, "--lora", self.b)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("one adapter at a time", done.stderr)


class AtRunTime(WithAdapters):
    flags = ("--lora-dir", "{at}/more", "--max-loras", "3")

    def load(self, name, path, status=200, **fields):
        return self.ask("/v1/load_lora_adapter", {"lora_name": name, "lora_path": path, **fields}, status)

    def unload(self, name, status=200):
        return self.ask("/v1/unload_lora_adapter", {"lora_name": name}, status)

    def test_they_come_and_go(self):
        self.assertEqual(self.load("c", "c"), b"Success: LoRA adapter 'c' added successfully.")
        c = self.answer(model="realizar-tiny-Q8_0:c")
        self.assertNotIn(c, (ANSWER, self.answer(model="a"), self.answer(model="b")))
        self.load("c", "c", 400)
        self.load("d", str(self.c), 429)
        self.assertEqual(self.unload("c"), b"Success: LoRA adapter 'c' removed successfully.")
        self.ask("/v1/chat/completions", {**CHAT, "model": "realizar-tiny-Q8_0:c"}, 404)
        self.unload("c", 404)
        self.load("d", str(self.c), scale=1.0)
        self.assertEqual(self.answer(model="d"), c)
        self.unload("d")
        self.assertEqual(self.answer(), ANSWER)

    def test_requests_go_on_while_adapters_come_and_go(self):
        alone = self.answer(model="a", max_tokens=80, ignore_eos=True)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            asked = [pool.submit(self.answer, model="a", max_tokens=80, ignore_eos=True) for _ in range(8)]
            for _ in range(4):
                self.load("c", "c")
                self.unload("c")
            self.assertEqual({one.result() for one in asked}, {alone})

    def test_only_what_is_in_the_folder_is_read(self):
        for path in ("../start/a", str(self.a), "link", "/etc/passwd", "none", ".", "c/../../start/a"):
            message = json.loads(self.load("x", path, 404))["error"]["message"]
            self.assertIn("the folder of adapters has no", message)

    def test_what_cannot_be_loaded_says_why_and_no_folder(self):
        for path, part in (("dora", "use_dora"), ("wide", "the rank 5 is above the model's maximum")):
            message = json.loads(self.load("x", path, 400))["error"]["message"]
            self.assertIn(part, message)
            self.assertNotIn(str(self.at), message)
        for body in ({}, {"lora_name": "x"}, {"lora_name": 1, "lora_path": "c"}, {"lora_name": "x:y", "lora_path": "c"}, []):
            self.ask("/v1/load_lora_adapter", body, 400)
        self.ask("/v1/load_lora_adapter", {"lora_name": "x", "lora_path": "c", "scale": "much"}, 400)

    def test_one_may_be_that_of_requests_that_name_none(self):
        self.assertEqual(json.loads(self.ask("/lora-adapters", [{"id": 0, "scale": 1.0}])), {"success": True})
        try:
            self.assertEqual(self.answer(), self.answer(model="a"))
            self.assertEqual(self.answer(lora=[]), ANSWER)
            listed = json.loads(self.server.ask("GET", "/lora-adapters")[2])
            self.assertEqual([adapter["scale"] for adapter in listed], [1.0, 0])
        finally:
            self.ask("/lora-adapters", [])
        self.assertEqual(self.answer(), ANSWER)
        self.ask("/lora-adapters", [{"id": 9, "scale": 1}], 400)
        self.ask("/lora-adapters", {"id": 0}, 400)


class Defaults(unittest.TestCase):
    def test_requests_that_name_none_have_the_default_one(self):
        a = write_adapter(temp_folder(self) / "a", 1)
        with Served(REALIZAR, MODEL, "--lora", f"a={a}", "--lora-default", "a") as server:
            told = [json.loads(server.ask("POST", "/v1/chat/completions", {**CHAT, **fields})[2])["choices"][0]["message"]["content"]
                    for fields in ({}, {"model": "a"}, {"lora": []})]
        self.assertEqual(told[0], told[1])
        self.assertEqual(told[2], ANSWER)
        self.assertNotEqual(told[0], ANSWER)

    def test_llama_servers_flags_are_read_as_it_reads_them(self):
        at = temp_folder(self)
        a = write_adapter(at / "a", 1)
        link = at / "realizar-server"
        link.symlink_to(pathlib.Path(REALIZAR).resolve())
        scales = []
        for flags in (["--lora", str(a)], ["--lora-scaled", f"{a}:0.5"], ["--lora", str(a), "--lora-init-without-apply"]):
            with Served(str(link), "-m", MODEL, *flags, command=()) as server:
                scales.append([adapter["scale"] for adapter in json.loads(server.ask("GET", "/lora-adapters")[2])])
                self.assertEqual(server.ask("POST", "/lora-adapters", [{"id": 0, "scale": 2}])[0], 200)
                self.assertEqual(json.loads(server.ask("GET", "/lora-adapters")[2])[0]["scale"], 2)
        self.assertEqual(scales, [[1.0], [0.5], [0]])


class WrongStarts(unittest.TestCase):
    def test_are_said(self):
        folder = temp_folder(self)
        dora = write_adapter(folder / "dora", 1, use_dora=True)
        for flags, part in ((["--lora", "a=none.gguf"], "none.gguf"), (["--lora", f"a={dora}"], "use_dora"),
                            (["--lora", "=x"], "[NAME=]PATH[:SCALE]"), (["--lora", f"a:b={dora}"], "without ':'"),
                            (["--lora", f"a={dora}", "--lora-default", "b"], "no --lora of"),
                            (["--lora-dir", f"{folder}/none"], "there is no folder")):
            done = program.run("serve", MODEL, "--port", "0", *flags)
            self.assertNotEqual(done.returncode, 0, flags)
            self.assertIn(part, done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=1)
