#!/usr/bin/env python3
"""The server from the view of llama.cpp's clients: slots that are saved and restored, models that are loaded and
unloaded, events of them, and its command line. Usage: llama_server_test.py REALIZAR."""
import concurrent.futures
import contextlib
import http.client
import json
import os
import pathlib
import resource
import shutil
import subprocess
import time
import unittest

from bundled import MODEL
from folders import temp_folder, written
import program
from program import REALIZAR
from served import Served
from waiting import DEADLINE_S, until

TEXT = "Once upon a time a little bird sat in a tree and sang of the sea, the wind and the hills. " * 4


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = temp_folder(self)

    def serve(self, *args):
        return self.enterContext(Served(REALIZAR, *args))

    def ask(self, server, method, path, body=None, key=None, status=200):
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        actual, _, answer = server.ask(method, path, body, headers)
        self.assertEqual(actual, status, answer)
        return json.loads(answer)


class Slots(Case):
    def complete(self, server, slot=None, key=None, prompt=TEXT, **fields):
        body = {"prompt": prompt, "n_predict": 4, "temperature": 0, **fields}
        return self.ask(server, "POST", "/completion", body if slot is None else body | {"id_slot": slot}, key)

    def act(self, server, action, slot=0, name="book", key=None, status=200):
        return self.ask(server, "POST", f"/slots/{slot}?action={action}", {"filename": name}, key, status)

    def test_a_saved_prefix_is_found_after_a_restart(self):
        first = self.serve("--slot-save-path", self.folder, "--max-seqs", 4)
        cold = self.complete(first, 1)
        warm = self.complete(first, 1)
        saved = self.act(first, "save", 1)
        file = self.folder / "book"
        self.assertEqual((saved["id_slot"], saved["filename"]), (1, "book"))
        self.assertGreaterEqual(saved["n_saved"], warm["timings"]["cache_n"])
        self.assertEqual(saved["n_written"], file.stat().st_size)
        self.assertGreaterEqual(saved["timings"]["save_ms"], 0)
        self.assertEqual(file.stat().st_mode & 0o777, 0o600)
        self.assertEqual(first.stop(), 0)

        second = self.serve("--slot-save-path", self.folder, "--max-seqs", 4)
        restored = self.act(second, "restore", 0)
        self.assertEqual((restored["n_restored"], restored["n_read"]), (saved["n_saved"], saved["n_written"]))
        self.assertEqual(self.act(second, "save", 0, "copy")["n_saved"], saved["n_saved"])
        longer = self.complete(second, 1, prompt=TEXT + cold["content"] + TEXT)
        self.assertEqual(longer["timings"]["cache_n"], saved["n_saved"])
        self.assertEqual(longer["tokens_cached"], longer["timings"]["cache_n"])
        again = self.complete(second, 0)
        self.assertEqual(again["content"], cold["content"])
        self.assertEqual(again["timings"]["cache_n"], warm["timings"]["cache_n"], "the prompt is found to its last token but one")

    def test_an_erased_slot_is_computed_again(self):
        server = self.serve("--slot-save-path", self.folder)
        self.complete(server, 2)
        self.assertGreater(self.complete(server, 2)["timings"]["cache_n"], 0)
        erased = self.act(server, "erase", 2)
        self.assertEqual(erased["id_slot"], 2)
        self.assertGreater(erased["n_erased"], 0)
        self.assertEqual(self.complete(server, 2)["timings"]["cache_n"], 0)
        self.act(server, "erase", 3)
        self.assertIn("empty", self.act(server, "save", 3, status=400)["error"]["message"])

    def test_requests_that_name_no_slot_have_one(self):
        server = self.serve("--slot-save-path", self.folder)
        self.complete(server)
        self.assertGreater(self.act(server, "save", 0)["n_saved"], 0)
        chat = {"messages": [{"role": "user", "content": TEXT}], "max_tokens": 1, "id_slot": 5}
        self.ask(server, "POST", "/v1/chat/completions", chat)
        self.assertGreater(self.act(server, "save", 5)["n_saved"], 0)

    def test_keys_have_slots_and_files_of_their_own(self):
        server = self.serve("--slot-save-path", self.folder, "--api-key", "one", "--api-key", "two")
        self.complete(server, 0, "one")
        self.act(server, "save", 0, key="one")
        self.assertIn("empty", self.act(server, "save", 0, key="two", status=400)["error"]["message"])
        self.assertIn("no file of that name", self.act(server, "restore", 0, key="two", status=400)["error"]["message"])
        self.complete(server, 0, "two")
        self.act(server, "save", 0, key="two")
        self.assertEqual(len(list(self.folder.rglob("book"))), 2)
        self.act(server, "restore", 1, key="two")
        self.ask(server, "POST", "/slots/0?action=restore", {"filename": "book"}, status=401)

    def test_names_that_lead_elsewhere_are_refused(self):
        server = self.serve("--slot-save-path", self.folder / "slots")
        self.complete(server, 0)
        for name in ("../x", "/tmp/x", "a/b", "..", ".", "", ".hidden", "a\\b", "a\nb", "\0", "x" * 300, None, 5):
            error = self.act(server, "save", 0, name, status=400)["error"]
            self.assertIn("filename", error["message"])
            self.assertEqual(error["type"], "invalid_request_error")
        self.assertEqual(list((self.folder / "slots").iterdir()), [])
        for slot in ("64", "-1", "x", "0x0", "99999999999999999999"):
            self.act(server, "save", slot, status=400)
        self.act(server, "clone", 0, status=400)
        self.ask(server, "POST", "/slots/0", {"filename": "x"}, status=400)

    def test_files_that_are_not_this_models_are_refused(self):
        server = self.serve("--slot-save-path", self.folder)
        self.complete(server, 0)
        self.act(server, "save", 0)
        whole = (self.folder / "book").read_bytes()
        for name, data in (("cut", whole[:-1]), ("flipped", whole[:2000] + bytes([whole[2000] ^ 1]) + whole[2001:]),
                           ("text", b"not a slot"), ("none", b"")):
            (self.folder / name).write_bytes(data)
            self.assertIn("cannot be restored", self.act(server, "restore", 1, name, status=400)["error"]["message"])
        os.mkfifo(self.folder / "pipe")
        self.act(server, "restore", 1, "pipe", status=400)
        self.assertEqual(server.stop(), 0)
        other = self.serve("--slot-save-path", self.folder, "--kv-type", "q8_0")
        self.assertIn("another model", self.act(other, "restore", 0, status=400)["error"]["message"])

    def test_a_key_has_so_much_room(self):
        server = self.serve("--slot-save-path", self.folder, "--slot-save-mb", 1)
        (self.folder / "other").write_bytes(bytes((1 << 20) - 1000))
        self.complete(server, 0)
        self.assertIn("bytes", self.act(server, "save", 0, status=507)["error"]["message"])
        self.assertFalse((self.folder / "book").exists())

    def test_a_full_disk_is_507_and_names_no_path(self):
        server = self.serve("--slot-save-path", self.folder)
        self.complete(server, 0)
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (1000, 1000))  # every write beyond it fails
        error = self.act(server, "save", 0, status=507)["error"]
        self.assertEqual(error["message"], "the server's disk has no room for the slot")
        self.assertEqual(list(self.folder.iterdir()), [])
        (self.folder / "book").mkdir()
        self.assertNotIn(str(self.folder), self.act(server, "restore", 0, status=400)["error"]["message"])

    def test_without_a_folder_there_are_none(self):
        server = self.serve()
        self.assertEqual(self.act(server, "save", 0, status=501)["error"]["type"], "not_supported_error")

    def test_a_folder_that_cannot_be_used_is_told_at_the_start(self):
        done = program.run("serve", MODEL, "--slot-save-path", self.folder / "not/there")
        self.assertEqual(done.returncode, 1)
        self.assertIn("not/there", done.stderr)


class Models(Case):
    def statuses(self, server, query=""):
        return {model["id"]: model["status"]["value"] for model in self.ask(server, "GET", "/models" + query)["data"]}

    def add(self, name):
        shutil.copy(MODEL, self.folder / f"{name}.gguf")

    def await_status(self, server, model, status):
        until(lambda: self.statuses(server)[model] == status, f"{model} is {status}")

    def test_are_loaded_and_unloaded_by_name(self):
        self.add("a"), self.add("b")
        server = self.serve("--models-dir", self.folder, "--manage-models")
        self.assertEqual(self.statuses(server), {"a": "loaded", "b": "unloaded"})
        self.assertEqual(self.ask(server, "POST", "/models/load", {"model": "b"}), {"success": True})
        self.await_status(server, "b", "loaded")
        self.ask(server, "POST", "/models/load", {"model": "b"}, status=400)
        self.assertEqual(self.ask(server, "POST", "/models/unload", {"model": "b"}), {"success": True})
        self.await_status(server, "b", "unloaded")
        self.ask(server, "POST", "/models/unload", {"model": "b"}, status=400)
        for action in ("load", "unload"):
            self.assertEqual(self.ask(server, "POST", f"/models/{action}", {"model": "c"}, status=404)["error"]["type"],
                             "not_found_error")
            self.ask(server, "POST", f"/models/{action}", {}, status=400)
            self.ask(server, "POST", f"/models/{action}", {"model": 5}, status=400)
        self.ask(server, "POST", "/tokenize", {"model": "b", "content": "x"})
        self.assertEqual(self.statuses(server)["b"], "loaded")

    def test_no_more_are_loaded_than_there_may_be(self):
        for name in "abc":
            self.add(name)
        server = self.serve("--models-dir", self.folder, "--models-max", 2, "--manage-models")
        for name in "bc":
            self.ask(server, "POST", "/models/load", {"model": name})
            self.await_status(server, name, "loaded")
        self.assertEqual(self.statuses(server), {"a": "unloaded", "b": "loaded", "c": "loaded"})
        self.assertEqual(self.ask(server, "GET", "/props")["max_instances"], 2)

    def test_one_that_made_room_answers_as_one_that_sleeps(self):
        server = self.serve("x=" + MODEL, "y=" + MODEL, "--models-max", 1)
        ask = {"content": "a"}
        for _ in range(3):
            self.ask(server, "POST", "/tokenize", {**ask, "model": "y"})
            self.assertTrue(self.ask(server, "GET", "/props?model=x")["is_sleeping"])
            with concurrent.futures.ThreadPoolExecutor(10) as clients:
                asked = [clients.submit(self.ask, server, "POST", "/tokenize", {**ask, "model": "x"}) for _ in range(9)]
                while not all(one.done() for one in asked):
                    self.assertEqual(self.ask(server, "GET", "/readyz")["status"], "ready")
                for one in asked:
                    one.result()

    def test_requests_load_none_where_they_may_not(self):
        server = self.serve("x=" + MODEL, "y=" + MODEL, "--no-models-autoload")
        self.assertEqual(self.statuses(server), {"x": "unloaded", "y": "unloaded"})
        props = self.ask(server, "GET", "/props")
        self.assertEqual((props["role"], props["models_autoload"]), ("router", False))
        ask = {"model": "x", "prompt": "a", "max_tokens": 1}
        self.assertIn("not loaded", self.ask(server, "POST", "/v1/completions", ask, status=400)["error"]["message"])
        self.ask(server, "POST", "/models/load", {"model": "x"})
        self.await_status(server, "x", "loaded")
        self.ask(server, "POST", "/v1/completions", ask)

    def test_a_folder_is_read_anew(self):
        self.add("a"), self.add("b")
        server = self.serve("--models-dir", self.folder)
        self.add("c")
        (self.folder / "b.gguf").unlink()
        self.assertEqual(self.statuses(server), {"a": "loaded", "b": "unloaded"})
        self.assertEqual(self.statuses(server, "?reload=1"), {"a": "loaded", "c": "unloaded"})
        self.ask(server, "POST", "/tokenize", {"model": "c", "content": "x"})
        (self.folder / "a.gguf").unlink()
        self.assertEqual(self.statuses(server, "?reload=1"), {"c": "loaded"})
        self.ask(server, "POST", "/tokenize", {"content": "x"})

    def test_are_deleted_where_that_is_allowed(self):
        self.add("a"), self.add("b"), self.add("c-00001-of-00002"), self.add("c-00002-of-00002")
        (self.folder / "d").mkdir()
        shutil.copy(MODEL, self.folder / "d" / "own.gguf")
        server = self.serve("--models-dir", self.folder)
        self.ask(server, "DELETE", "/models?model=b", status=403)
        self.assertEqual(server.stop(), 0)
        server = self.serve("own=" + MODEL, "--models-dir", self.folder, "--delete-models")
        self.ask(server, "DELETE", "/models?model=own", status=403)
        for name in ("nothing", "..%2F..", "", "a.gguf"):
            self.ask(server, "DELETE", f"/models?model={name}", status=404)
        self.ask(server, "POST", "/models/load", {"model": "b"})
        self.await_status(server, "b", "loaded")
        for name in ("b", "c-00001-of-00002", "d"):
            self.assertEqual(self.ask(server, "DELETE", f"/models?model={name}"), {"success": True})
            self.assertNotIn(name, self.statuses(server))
        self.assertEqual([path.name for path in self.folder.iterdir()], ["a.gguf"])
        self.assertTrue(pathlib.Path(MODEL).exists())

    def test_the_last_one_stays(self):
        self.add("a")
        server = self.serve("--models-dir", self.folder, "--delete-models")
        self.ask(server, "DELETE", "/models?model=a", status=400)
        self.assertTrue((self.folder / "a.gguf").exists())

    def test_sleep_where_nobody_uses_them(self):
        server = self.serve(MODEL, "--sleep-idle-seconds", 1, "--ctx", 100_000)
        until(lambda: self.ask(server, "GET", "/props")["is_sleeping"], "the model sleeps")
        self.assertEqual(self.ask(server, "GET", "/health")["status"], "ok")
        host = server.url.removeprefix("http://")
        with contextlib.closing(http.client.HTTPConnection(host, timeout=DEADLINE_S)) as connection:
            endless = {"prompt": "a", "n_predict": 90_000, "ignore_eos": True, "stream": True}
            connection.request("POST", "/completion", json.dumps(endless))
            connection.getresponse().readline()
            self.assertFalse(self.ask(server, "GET", "/props")["is_sleeping"], "it is at work")

    def test_tell_names_and_tags(self):
        server = self.serve(MODEL, "--alias", "fim,code", "--tags", "small,chat")
        model = self.ask(server, "GET", "/models")["data"][0]
        self.assertEqual((model["aliases"], model["tags"]), (["fim", "code"], ["small", "chat"]))
        self.assertEqual(model["meta"]["n_params"], model["n_params"])
        self.assertEqual(self.ask(server, "GET", "/lora-adapters"), [])
        self.ask(server, "POST", "/models", {"model": "org/name"}, status=403)


class Events(Case):
    def events_of(self, server, act, n):
        """The first n events after act()."""
        host = server.url.removeprefix("http://")
        with contextlib.closing(http.client.HTTPConnection(host, timeout=DEADLINE_S)) as connection:
            connection.request("GET", "/models/sse")
            reply = connection.getresponse()
            self.assertEqual(reply.getheader("Content-Type"), "text/event-stream; charset=utf-8")
            act()
            events = []
            while len(events) < n:
                line = reply.readline().decode()
                self.assertNotEqual(line, "", "the stream has ended")
                if line.startswith("data: "):
                    events.append(json.loads(line[6:]))
            return events

    def test_tell_of_every_change(self):
        for name in "ab":
            shutil.copy(MODEL, self.folder / f"{name}.gguf")
        server = self.serve("--models-dir", self.folder, "--delete-models")

        def load():
            self.ask(server, "POST", "/models/load", {"model": "b"})

        loading = self.events_of(server, load, 2)
        self.assertEqual(loading[0], {"model": "b", "event": "model_status", "data": {"status": "loading"}})
        self.assertEqual((loading[1]["model"], loading[1]["event"]), ("b", "model_status"))
        until(lambda: self.ask(server, "GET", "/models")["data"][1]["status"]["value"] == "loaded", "the model")
        [unloaded] = self.events_of(server, lambda: self.ask(server, "POST", "/models/unload", {"model": "b"}), 1)
        self.assertEqual(unloaded["data"], {"status": "unloaded"})
        [removed] = self.events_of(server, lambda: self.ask(server, "DELETE", "/models?model=b"), 1)
        self.assertEqual(removed, {"model": "b", "event": "model_remove"})
        [read] = self.events_of(server, lambda: self.ask(server, "GET", "/models?reload=1"), 1)
        self.assertEqual(read, {"model": "*", "event": "models_reload"})

    def test_end_when_the_server_does(self):
        server = self.serve(MODEL, "--drain-timeout-ms", 3_600_000)  # a listener does not delay the end
        host = server.url.removeprefix("http://")
        with contextlib.closing(http.client.HTTPConnection(host, timeout=DEADLINE_S)) as connection:
            connection.request("GET", "/models/sse")
            reply = connection.getresponse()
            server.process.terminate()
            self.assertEqual(reply.read(), b"")
            self.assertEqual(server.process.wait(DEADLINE_S), 0)


class Defaults(Case):
    def test_requests_have_what_the_command_line_says(self):
        server = self.serve(MODEL, "--temperature", 0, "--seed", 42, "--max-tokens", 3, "--top-k", 7)
        settings = self.ask(server, "POST", "/completion", {"prompt": "The capital of France"})["generation_settings"]
        self.assertEqual((settings["temperature"], settings["seed"], settings["n_predict"], settings["top_k"]), (0, 42, 3, 7))
        more = self.ask(server, "POST", "/completion", {"prompt": "a", "n_predict": 9, "ignore_eos": True, "seed": 5})
        self.assertEqual(more["tokens_predicted"], 3, "and no request gets more")
        self.assertEqual(more["generation_settings"]["seed"], 5)
        self.assertEqual(self.ask(server, "GET", "/props")["default_generation_settings"]["params"]["seed"], 42)

    def test_ends_that_are_ignored_never_come(self):
        prompt = "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n"
        answer = self.ask(self.serve(MODEL), "POST", "/completion", {
            "prompt": prompt, "n_predict": 40, "ignore_eos": True, "temperature": 0, "return_tokens": True})
        banned = {entry["token"] for entry in answer["generation_settings"]["logit_bias"] if entry["bias"] is None}
        self.assertEqual((len(answer["tokens"]), answer["stop_type"]), (40, "limit"))
        self.assertTrue(banned)
        self.assertFalse(banned & set(answer["tokens"]))

    def test_the_template_may_be_another(self):
        messages = {"messages": [{"role": "system", "content": "You are a test."}, {"role": "user", "content": "Hi there"}]}
        server = self.serve(MODEL, "--chat-template", "command-r")
        self.assertTrue(self.ask(server, "POST", "/apply-template", messages)["prompt"].endswith(
            "<|USER_TOKEN|>Hi there<|END_OF_TURN_TOKEN|><|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>"))
        self.assertEqual(server.stop(), 0)
        file = self.folder / "own.jinja"
        file.write_text("{% for m in messages %}{{ m.content }} {% endfor %}{{ date_string }} {{ datetime }} {{ mood }}")
        server = self.serve(MODEL, "--chat-template-file", file, "--chat-template-kwargs", '{"mood": "calm"}')
        days = [time.gmtime()]
        prompt = self.ask(server, "POST", "/apply-template", messages)["prompt"]
        days.append(time.gmtime())  # another one at midnight
        self.assertIn(prompt, [time.strftime("You are a test. Hi there %d %b %Y %b %d %Y calm", day) for day in days])
        for args in (("--chat-template", "no-such-name"), ("--chat-template", "{% if %}"), ("--chat-template-kwargs", "[]"),
                     ("--max-tokens", "-2"), ("--reasoning", "maybe")):
            done = program.run("serve", MODEL, *args)
            self.assertNotEqual(done.returncode, 0, args)
            self.assertIn("emplate" if "template" in args[0] else args[0], done.stderr)

    def test_a_full_context_can_be_shifted(self):
        ask = {"prompt": "One two three four five six.", "n_predict": 150, "ignore_eos": True, "temperature": 0}
        server = self.serve(MODEL, "--ctx", 64)
        plain = self.ask(server, "POST", "/completion", ask)
        self.assertLess(plain["tokens_predicted"], 64)
        self.assertTrue(plain["truncated"])
        self.assertEqual(server.stop(), 0)
        server = self.serve(MODEL, "--ctx", 64, "--context-shift")
        shifted = self.ask(server, "POST", "/completion", ask | {"n_keep": 4})
        self.assertEqual((shifted["tokens_predicted"], shifted["timings"]["predicted_n"]), (150, 150))
        self.assertTrue(shifted["truncated"])
        self.assertTrue(shifted["content"].startswith(plain["content"]), "until the context is full it is the same")
        short = self.ask(server, "POST", "/completion", ask | {"n_predict": 5})
        self.assertFalse(short["truncated"])
        endless = self.ask(server, "POST", "/completion", ask | {"n_predict": -1})
        self.assertEqual(endless["tokens_predicted"], 1024, "as many as the model was trained for")

    def test_templates_have_what_they_ask_for(self):
        file = written(self.folder / "own.jinja", "{{ bos_token }}{{ functions }}{% if add_generation_prompt %}go{% endif %}")
        server = self.serve(MODEL, "--chat-template-file", file)
        messages = {"messages": [{"role": "user", "content": "Hi"}]}

        def prompt(**fields):
            return self.ask(server, "POST", "/apply-template", messages | fields)["prompt"]

        function = {"name": "f", "parameters": {"type": "object", "properties": {}}}
        self.assertEqual(prompt(), "<|endoftext|>go")
        self.assertEqual(prompt(add_generation_prompt=False), "<|endoftext|>")
        told = prompt(tools=[{"type": "function", "function": function}])
        self.assertEqual(json.loads(told.removeprefix("<|endoftext|>").removesuffix("go")), [function])
        both = {"messages": [*messages["messages"], {"role": "assistant", "content": "Hel"}], "continue_final_message": True}
        self.assertEqual(self.ask(server, "POST", "/apply-template", both)["prompt"], "<|endoftext|>goHel")
        self.ask(server, "POST", "/apply-template", both | {"add_generation_prompt": True}, status=400)

    def test_a_chat_that_is_too_long_is_counted(self):
        server = self.serve(MODEL, "--ctx", 64)
        error = self.ask(server, "POST", "/v1/chat/completions", {"messages": [{"role": "user", "content": TEXT * 40}]},
                         status=400)["error"]
        n_tokens = self.ask(server, "POST", "/tokenize", {"content": TEXT})["count"]
        self.assertEqual((error["type"], error["n_ctx"]), ("exceed_context_size_error", 64))
        self.assertGreater(error["n_prompt_tokens"], 30 * n_tokens)

    def test_vectors_may_be_of_each_token(self):
        server = self.serve(MODEL, "--pooling", "none")
        self.ask(server, "POST", "/v1/embeddings", {"input": "hello"}, status=400)
        [states] = self.ask(server, "POST", "/embeddings", {"input": "hello hello hello"})
        n_tokens = self.ask(server, "POST", "/tokenize", {"content": "hello hello hello"})["count"]
        self.assertEqual(len(states["embedding"]), n_tokens)
        self.assertEqual(server.stop(), 0)
        server = self.serve(MODEL)
        [vector] = self.ask(server, "POST", "/embedding", {"content": "hello hello hello"})
        self.assertAlmostEqual(sum(x * x for x in vector["embedding"][0]), 1, places=3)
        last = states["embedding"][-1]
        length = sum(x * x for x in last) ** 0.5
        for a, b in zip(vector["embedding"][0], last, strict=True):
            self.assertAlmostEqual(a, b / length, places=4)


class CommandLine(Case):
    def serve_as_llama_server(self, *args):
        link = self.folder / "realizar-server"
        if not link.exists():
            link.symlink_to(pathlib.Path(REALIZAR).resolve())
        return self.enterContext(Served(link, *args, command=()))

    def test_is_llama_servers_under_its_name(self):
        (self.folder / "llama-server").symlink_to(pathlib.Path(REALIZAR).resolve())
        for args, told in ((["--rpc", "x"], "--rpc"), (["-m"], "-m needs a value"), (["--lora", "a,b"], "--lora: ")):
            done = subprocess.run([str(self.folder / "llama-server"), *args], capture_output=True, text=True, timeout=DEADLINE_S)
            self.assertEqual(done.returncode, 2)
            self.assertIn(told, done.stderr)

    def test_serves_with_its_flags(self):
        server = self.serve_as_llama_server("-m", MODEL, "-c", 512, "-np", 2, "--temp", 0, "-n", 4, "--no-slots", "--no-jinja",
                                            "-fa", "on", "--log-disable", "-ngl", 0)
        props = self.ask(server, "GET", "/props")
        self.assertEqual((props["total_slots"], props["default_generation_settings"]["n_ctx"]), (2, 256))
        self.ask(server, "GET", "/slots", status=501)
        self.ask(server, "GET", "/metrics", status=501)
        self.assertEqual(self.ask(server, "POST", "/completion", {"prompt": "a", "ignore_eos": True})["tokens_predicted"], 4)

    def test_names_the_model_by_its_first_alias(self):
        server = self.serve_as_llama_server("-m", MODEL, "-a", "tiny,fim,code", "--tags", "small")
        [model] = self.ask(server, "GET", "/models")["data"]
        self.assertEqual((model["id"], sorted(model["aliases"])), ("code", ["code", "fim", "tiny"]))
        self.ask(server, "POST", "/tokenize", {"model": "fim", "content": "x"})

    def test_loads_no_model_at_the_start_where_it_is_given_none(self):
        for name in "ab":
            shutil.copy(MODEL, self.folder / f"{name}.gguf")
        server = self.serve_as_llama_server("--models-dir", self.folder, "--models-max", 1)

        def statuses():
            return {model["id"]: model["status"]["value"] for model in self.ask(server, "GET", "/models")["data"]}

        self.assertEqual(statuses(), {"a": "unloaded", "b": "unloaded"})
        self.assertEqual(self.ask(server, "GET", "/props")["role"], "router")
        self.assertEqual(self.ask(server, "POST", "/models/load", {"model": "a"}), {"success": True})
        until(lambda: statuses()["a"] == "loaded", "a is loaded")
        self.ask(server, "POST", "/tokenize", {"model": "b", "content": "x"})
        self.assertEqual(statuses(), {"a": "unloaded", "b": "loaded"})

    def test_answers_as_llama_server_where_openai_does_not(self):
        server = self.serve_as_llama_server("-m", MODEL, "--api-key", "k", "--metrics", "--verbose")
        chat = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 2}
        _, _, stream = server.ask("POST", "/v1/chat/completions", chat | {"stream": True}, {"Authorization": "Bearer k"})
        first = json.loads(stream.decode().split("\n")[0].removeprefix("data: "))
        self.assertEqual(first["choices"][0]["delta"], {"role": "assistant", "content": None})
        self.assertIn("Hi", self.ask(server, "POST", "/v1/chat/completions", chat, "k")["__verbose"]["prompt"])
        ask = {"prompt": "The capital of France is", "n_predict": 2, "temperature": 0}
        native = self.ask(server, "POST", "/completions", ask, "k")
        self.assertEqual(native["tokens_predicted"], 2)
        self.assertEqual(self.ask(server, "POST", "/v1/completions", {**ask, "max_tokens": 2}, "k")["choices"][0]["text"],
                         native["content"])
        for path in ("/completions", "/v1/chat/completions"):
            self.assertEqual(self.ask(server, "POST", path, chat, status=401)["error"]["type"], "authentication_error")
        metrics = server.ask("GET", "/metrics", headers={"Authorization": "Bearer k"})[2].decode()
        for name in ("n_tokens_max", "n_busy_slots_per_decode", "spec_decode_num_drafts_total"):
            self.assertRegex(metrics, f"\nllamacpp:{name} [0-9.]+\n")

    def test_lets_pages_that_have_a_key_call_from_anywhere(self):
        def preflight(server, origin):
            headers = {"Origin": origin, "Access-Control-Request-Method": "POST"}
            status, answer, _ = server.ask("OPTIONS", "/completions", headers=headers)
            return status, answer["Access-Control-Allow-Origin"], answer["Access-Control-Allow-Methods"]

        methods = "GET, POST, DELETE, OPTIONS"
        keyed = self.serve_as_llama_server("-m", MODEL, "--api-key", "k")
        self.assertEqual(preflight(keyed, "https://a.example"), (200, "https://a.example", methods))
        self.assertEqual(keyed.stop(), 0)
        open_to_all = self.serve_as_llama_server("-m", MODEL)
        self.assertEqual(preflight(open_to_all, "https://a.example"), (200, None, None))
        self.assertEqual(open_to_all.stop(), 0)
        local = self.serve_as_llama_server("-m", MODEL, "--cors-origins", "localhost")
        for origin in ("http://localhost", "http://localhost:8080", "http://127.0.0.1:3000", "http://[::1]"):
            self.assertEqual(preflight(local, origin), (200, origin, methods))
        for origin in ("http://evil.example", "http://notlocalhost", "http://localhost.evil.example"):
            self.assertEqual(preflight(local, origin), (200, None, None))

    def test_lets_models_think_that_can(self):
        template = written(self.folder / "thinks.jinja", "{{ messages[0].content }}<think>{% if not enable_thinking %}</think>{% endif %}")
        messages = {"messages": [{"role": "user", "content": "Hi"}]}
        for flags, prompt in (([], "Hi<think>"), (["--reasoning", "auto"], "Hi<think>"),
                              (["--reasoning", "off"], "Hi<think></think>")):
            server = self.serve_as_llama_server("-m", MODEL, "--chat-template-file", template, *flags)
            self.assertEqual(self.ask(server, "POST", "/apply-template", messages)["prompt"], prompt)
            never = messages | {"chat_template_kwargs": {"enable_thinking": False}}
            self.assertEqual(self.ask(server, "POST", "/apply-template", never)["prompt"], "Hi<think></think>")
            self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    unittest.main()
