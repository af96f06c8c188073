#!/usr/bin/env python3
"""A server of models by name: the store, what is fetched first, and clients' changes of the store. Usage:
hub_serving_test.py REALIZAR."""
import contextlib
import http.client
import json
import select
import socket
import subprocess
import threading
import unittest

import hub_test
from hub_server import sha256
from hub_test import ANSWER, BIG, NAME, QUESTION, TINY
from waiting import DEADLINE_S, ONE_THREAD, until

TEMPLATE = "{{ if .System }}<|im_start|>system\n{{ .System }}<|im_end|>\n{{ end }}<|im_start|>user\n{{ .Prompt }}<|im_end|>\n<|im_start|>assistant\n{{ .Response }}"


def is_gone(connection):
    """Whether the client has closed it; one that waits sends nothing."""
    return is_gone_within(connection, 0)


def is_gone_within(connection, seconds):
    """Whether the client closes it in that time, and sends nothing before."""
    return bool(select.select([connection], [], [], seconds)[0]) and not connection.recv(1, socket.MSG_PEEK)


class ServerCase(hub_test.Case):
    def serve(self, *args):
        process = self.start("serve", "--port", "0", "--ctx", "512", *ONE_THREAD, "--mirror", self.hub.url, *args)
        line = process.stdout.readline()
        self.assertIn("realizar listens", line, process.stderr.read() if not line else "")
        self.port = int(line.split(",")[0].rsplit(":", 1)[1])
        until(lambda: self.ask("GET", "/readyz")[0] == 200, "the model")
        return process

    def ask(self, method, path, body=None, headers=(), source="127.0.0.1"):
        """`body`: JSON, or bytes, which are sent unchanged. `source`: the client's address."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body)
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, DEADLINE_S, (source, 0))) as connection:
            connection.request(method, path, data, dict(headers))
            reply = connection.getresponse()
            return reply.status, reply.read().decode()

    def served(self):
        return [model["id"] for model in json.loads(self.ask("GET", "/v1/models")[1])["data"]]

    def listed_model(self, name, query=""):
        """The model's entry in GET /v1/models; None if it has none."""
        models = json.loads(self.ask("GET", "/v1/models" + query)[1])["data"]
        return next((model for model in models if model["id"] == name), None)

    def tags(self):
        return [model["name"] for model in json.loads(self.ask("GET", "/api/tags")[1])["models"]]

    def answer(self, model):
        status, body = self.ask("POST", "/v1/chat/completions", {
            "model": model, "temperature": 0, "messages": [{"role": "user", "content": QUESTION}]})
        return json.loads(body)["choices"][0]["message"]["content"] + "\n" if status == 200 else body


class Serving(ServerCase):
    def test_an_empty_store_leaves_the_bundled_model_and_says_so(self):
        server = self.serve()
        self.assertEqual(self.served(), ["realizar-tiny"])
        self.assertIn("no model was named", server.stderr.readline())

    def test_without_a_model_those_of_other_programs_are_served_when_they_are_asked_for(self):
        folder = self.folder / "home/.lmstudio/models/maker/model"
        folder.mkdir(parents=True)
        (folder / "broken.gguf").write_bytes(b"GGUF")
        (folder / "m-Q8_0.gguf").write_bytes(TINY)
        server = self.serve("--strict-model-names")
        self.assertIn("those of other programs", server.stderr.readline())
        self.assertEqual(sorted(self.served()), ["hf:maker/model:broken.gguf", "hf:maker/model:m-Q8_0.gguf"])
        self.assertEqual(self.answer("hf:maker/model:m-Q8_0.gguf"), ANSWER)
        # A name in two folders is served once.
        self.add_tiny()
        self.pulls("hf:maker/model:m-Q8_0.gguf")
        self.serve("--strict-model-names")
        self.assertEqual(sorted(self.served()), ["hf:maker/model:broken.gguf", "hf:maker/model:m-Q8_0.gguf"])

    def test_the_bundled_model_is_served_by_its_name(self):
        self.add_tiny()
        self.pulls(NAME)
        self.serve("realizar-tiny", "--strict-model-names")
        self.assertEqual(self.served(), ["realizar-tiny"])
        self.assertEqual(self.answer("realizar-tiny"), ANSWER)

    def test_without_a_model_the_store_is_served(self):
        self.add_tiny()
        self.pulls(NAME)
        self.assertEqual(self.run_it("cp", NAME, "mine")[0], 0)
        self.serve("--strict-model-names")
        self.assertEqual(sorted(self.served()), [NAME, "mine"])
        self.assertEqual(self.answer("mine"), ANSWER)
        self.assertEqual(self.answer(NAME), ANSWER)
        self.assertEqual(sorted(self.tags()), [NAME, "mine:latest"])

    def test_a_name_is_served_and_fetched_first(self):
        self.add_tiny()
        code, _, stderr = self.run_it("serve", "--port", "0", NAME)
        self.assertEqual(code, 1)
        self.assertIn(f"realizar pull {NAME}", stderr)
        self.serve("--pull", NAME)
        self.assertEqual(self.served(), [NAME])
        self.assertEqual(self.answer(NAME), ANSWER)



class Managed(ServerCase):
    """Clients' changes of the store while the server runs."""

    def serve_managed(self, *args, **options):
        return self.serve("--manage-models", "--strict-model-names", *args, **options)

    def add_ollama_tiny(self, name="library/tiny:1b"):
        self.hub.add_ollama(name, [("model", TINY), ("license", b"free")])

    def pull_by_api(self, name, **more):
        status, body = self.ask("POST", "/api/pull", {"model": name, **more})
        return status, [json.loads(line) for line in body.splitlines()]

    def succeeds(self, method, path, body):
        status, text = self.ask(method, path, body)
        self.assertIn(status, (200, 201), text)
        return text

    def upload(self, data, status=201):
        self.assertEqual(self.ask("POST", f"/api/blobs/sha256:{sha256(data)}", data)[0], status)
        return f"sha256:{sha256(data)}"

    def chat(self, model, **more):
        return json.loads(self.succeeds("POST", "/api/chat", {
            "model": model, "stream": False, "options": {"temperature": 0},
            "messages": [{"role": "user", "content": QUESTION}], **more}))

    def rendered(self, model, messages=()):
        messages = list(messages) or [{"role": "user", "content": QUESTION}]
        text = self.succeeds("POST", "/api/chat", {"model": model, "messages": messages, "_debug_render_only": True, "stream": False})
        return json.loads(text)["_debug_info"]["rendered_template"]

    def show(self, model):
        return json.loads(self.succeeds("POST", "/api/show", {"model": model}))


class Changes(Managed):
    """Clients' changes of the store while the server runs."""

    def test_clients_change_the_store_only_where_they_may(self):
        self.add_tiny()
        self.pulls(NAME)
        requests = len(self.hub.requests)
        self.serve("--strict-model-names")
        digest = f"sha256:{sha256(b'x')}"
        for method, path, body in (("POST", "/api/pull", {"model": "hf:maker/other"}), ("DELETE", "/api/delete", {"model": NAME}),
                                   ("POST", f"/api/blobs/{digest}", b"x"), ("POST", "/v1/models", {"model": "maker/other"}),
                                   ("POST", "/v1/models/search", {"query": "x"}), ("POST", "/v1/models/choices", {"model": NAME}),
                                   ("POST", "/api/create", {"model": "m", "files": {"m.gguf": digest}}),
                                   ("DELETE", f"/v1/models?model={NAME}", None)):
            status, text = self.ask(method, path, body)
            self.assertEqual(status, 403, (path, text))
            self.assertIn("--manage-models", text)
        self.assertEqual(len(self.hub.requests), requests)
        self.assertEqual(self.names(), [NAME])
        # In memory a name may mean another.
        self.assertEqual(self.ask("POST", "/api/copy", {"source": NAME, "destination": "mine"})[0], 200)
        self.assertEqual(self.names(), [NAME])

    def test_a_client_pulls_uses_copies_and_deletes(self):
        self.add_ollama_tiny()
        self.serve_managed()
        status, lines = self.pull_by_api("tiny:1b", insecure=True)
        self.assertEqual(status, 200)
        self.assertEqual(lines[0], {"status": "pulling manifest"})
        self.assertEqual([line["status"] for line in lines[-3:]], ["verifying sha256 digest", "writing manifest", "success"])
        pulled = [line for line in lines if line["status"] == f"pulling {sha256(TINY)[:12]}"]
        self.assertEqual(pulled[-1], {"status": f"pulling {sha256(TINY)[:12]}", "digest": f"sha256:{sha256(TINY)}",
                                      "total": len(TINY), "completed": len(TINY)})
        # At once, and in every dialect.
        self.assertEqual(self.answer("tiny:1b"), ANSWER)
        self.assertIn("tiny:1b", self.tags())
        self.assertIn("tiny:1b", self.served())
        self.assertIn("realizar-tiny", self.served(), "what was served before still is")
        self.assertEqual(self.chat("tiny:1b")["message"]["content"] + "\n", ANSWER)
        self.assertEqual(self.show("tiny:1b")["license"], "free")
        self.succeeds("POST", "/api/copy", {"source": "tiny:1b", "destination": "mine"})
        self.assertIn("mine:latest", self.tags())
        self.assertEqual(self.show("mine")["details"]["parent_model"], "ollama:tiny:1b")
        self.assertEqual(self.names(), ["mine", "tiny:1b"])
        self.succeeds("DELETE", "/api/delete", {"model": "tiny:1b"})
        self.assertNotIn("tiny:1b", self.tags())
        self.assertEqual(self.ask("POST", "/api/chat", {"model": "tiny:1b", "messages": []})[0], 404)
        self.assertEqual(self.answer("mine"), ANSWER)
        self.assertEqual(self.names(), ["mine"])
        self.assertEqual(self.ask("POST", "/api/pull", {"model": "tiny:1b", "stream": False}), (200, '{"status":"success"}'))
        self.assertEqual(self.hub.sent(TINY), len(TINY), "its file was there")
        self.assertEqual(self.ask("DELETE", "/api/delete", {"model": "realizar-tiny"})[0], 400)
        self.assertEqual(self.ask("DELETE", "/api/delete", {"model": "nobody"})[0], 404)
        # Read anew, the same are there.
        before = sorted(self.served())
        self.assertEqual(sorted(m["id"] for m in json.loads(self.ask("GET", "/v1/models?reload=1")[1])["data"]), before)

    def test_other_spellings_of_a_name_find_the_model(self):
        self.add_tiny()
        self.serve_managed()
        self.pull_by_api("hf.co/maker/model:Q8_0")
        for name in ("hf.co/maker/model:Q8_0", NAME, "HF:maker/model:q8_0"):
            self.assertEqual(self.answer(name), ANSWER, name)
        self.assertEqual(self.ask("POST", "/api/show", {"model": "hf.co/maker/model:Q8_0"})[0], 200)

    def test_the_last_model_stays(self):
        self.add_tiny()
        self.pulls(NAME)
        self.serve_managed()
        for method, path, body in (("DELETE", "/api/delete", {"model": NAME}), ("DELETE", f"/v1/models?model={NAME}", None)):
            status, text = self.ask(method, path, body)
            self.assertEqual(status, 400)
            self.assertIn("last model", text)
        self.assertEqual(self.names(), [NAME])

    def test_with_named_models_the_store_is_served_too(self):
        self.add_tiny()
        self.pulls(NAME)
        self.assertEqual(self.run_it("cp", NAME, "mine")[0], 0)
        self.serve_managed(f"first={NAME}")
        self.assertEqual(self.served(), ["first", "mine"])
        self.succeeds("DELETE", "/api/delete", {"model": "first"})
        self.assertEqual(self.names(), ["mine"])
        self.assertEqual(self.served(), ["mine"])

    def test_what_cannot_be_pulled_is_an_error(self):
        self.serve_managed()
        status, lines = self.pull_by_api("none:1b")
        self.assertEqual(status, 200)
        self.assertIn("does not have it", lines[-1]["error"])
        self.assertEqual(self.ask("POST", "/api/pull", {"model": "none:1b", "stream": False})[0], 404)
        for name in (f"{self.hub.url}/m.gguf", "../x", "hf:a/../b", "a/b/c/d", "x" * 2000, ""):
            self.assertEqual(self.ask("POST", "/api/pull", {"model": name})[0], 400, name)
        for body in ({"model": 7}, [], {"model": "x", "stream": "yes"}):
            self.assertEqual(self.ask("POST", "/api/pull", body)[0], 400, body)
        self.assertEqual(self.names(), [])

    def test_names_of_copies_lead_nowhere_else(self):
        self.add_tiny()
        self.pulls(NAME)
        self.serve_managed()
        for name in ("../x", "a/../b", "hf:a/b", "https://h/x.gguf", "a b", "", "..", "x:..", NAME):
            self.assertEqual(self.ask("POST", "/api/copy", {"source": NAME, "destination": name})[0], 400, name)
            self.assertEqual(self.ask("POST", "/api/create", {"model": name, "from": NAME})[0], 400, name)
        self.assertEqual(self.names(), [NAME])

    def hold_blobs(self):
        """Sends the beginning of each blob, then nothing until the case sets `go`; `stopped` reports that a reader
        disconnected."""
        self.go, self.stopped = threading.Event(), threading.Event()

        def fault(handler, stage, data):
            if stage != "blob" or self.go.is_set():
                return False
            first, end, is_range = handler.wanted(data)
            handler.head(data, first, end, is_range)
            try:
                handler.send_bytes(data, first, min(end, first + 1000))
                while not self.go.wait(0.01) and not self.hub.ends.is_set():
                    if is_gone(handler.connection):
                        raise ConnectionError
                handler.send_bytes(data, min(end, first + 1000), end)
            except OSError:
                self.stopped.set()
            return True
        self.hub.fault = fault

    def test_a_client_that_goes_away_ends_its_download(self):
        self.add_big()
        self.hold_blobs()
        self.serve_managed()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_S)
        connection.request("POST", "/api/pull", json.dumps({"model": NAME}))
        connection.getresponse().readline()
        until(lambda: "blob" in self.hub.stages(), "the download")
        connection.close()
        self.assertTrue(self.stopped.wait(DEADLINE_S))
        self.assertEqual(self.names(), [])

    def test_two_pulls_of_one_model_and_a_chat_meanwhile(self):
        self.hub.add_repo("maker/model", {"m-Q8_0.gguf": TINY})
        self.hold_blobs()
        self.serve_managed()
        results = []
        threads = [threading.Thread(target=lambda: results.append(self.pull_by_api(NAME))) for _ in range(2)]
        for thread in threads:
            thread.start()
        until(lambda: self.hub.stages().count("info") >= 2 and "blob" in self.hub.stages(), "both downloads")
        self.assertEqual(self.answer("realizar-tiny"), ANSWER)
        self.go.set()
        for thread in threads:
            thread.join(DEADLINE_S)
        self.assertEqual([lines[-1] for _, lines in results], [{"status": "success"}] * 2)
        self.assertEqual(self.hub.sent(TINY), len(TINY))
        self.assertEqual(self.answer(NAME), ANSWER)

    def test_clients_share_the_places_for_downloads(self):
        self.add_big()
        self.hold_blobs()
        self.serve_managed()
        names = [f"copy{i}" for i in range(8)]
        for name in names:
            self.hub.add_ollama(f"library/{name}:latest", [("model", BIG)])
            self.succeeds("POST", "/v1/models", {"model": name})
        self.assertEqual(self.ask("POST", "/v1/models", {"model": NAME})[0], 429)
        self.assertEqual(self.ask("POST", "/api/pull", {"model": NAME})[0], 503)
        self.assertEqual(self.ask("POST", "/v1/models", {"model": NAME}, source="127.0.0.2")[0], 200)
        until(lambda: f'"{names[-1]}"' not in self.ask("GET", "/v1/models")[1], "the newest to give way")
        for name in [*names[:-1], NAME]:
            self.succeeds("POST", "/v1/models/unload", {"model": name})
        self.go.set()
        until(lambda: self.ask("POST", "/v1/models", {"model": NAME})[0] == 200, "a free place")

    def test_a_model_is_deleted_while_it_answers(self):
        self.add_tiny()
        self.pulls(NAME)
        self.serve_managed(f"first={NAME}", "realizar-tiny=" + str(hub_test.ROOT / "models/realizar-tiny/realizar-tiny-Q8_0.gguf"))
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_S)) as connection:
            connection.request("POST", "/api/generate", json.dumps({
                "model": "first", "prompt": QUESTION, "format": {"type": "array", "items": {"type": "integer"}, "minItems": 100},
                "options": {"num_predict": 200}}))
            reply = connection.getresponse()
            reply.readline()
            self.succeeds("DELETE", "/api/delete", {"model": "first"})
            self.assertEqual(self.ask("POST", "/api/generate", {"model": "first", "prompt": "a"})[0], 404)
            last = json.loads(reply.read().decode().splitlines()[-1])
        self.assertEqual((last["done"], last["eval_count"]), (True, 200))
        self.assertEqual(self.names(), [])

    def test_a_model_is_made_of_an_uploaded_file(self):
        self.serve_managed()
        self.assertEqual(self.ask("HEAD", f"/api/blobs/sha256:{sha256(TINY)}")[0], 404)
        digest = self.upload(TINY)
        self.upload(TINY, status=200)
        self.assertEqual(self.ask("HEAD", f"/api/blobs/{digest}")[0], 200)
        self.succeeds("POST", "/api/create", {
            "model": "made", "files": {"m.gguf": digest}, "template": TEMPLATE, "system": "Be brief.", "license": ["one", "two"],
            "parameters": {"temperature": 0, "num_predict": 3, "stop": ["Lima"]},
            "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]})
        self.assertEqual(self.names(), ["made"])
        self.assertIn("made:latest", self.tags())
        prompt = self.rendered("made")
        self.assertRegex(prompt, r"(?s)Be brief\..*Hi.*Hello\..*What is the capital of France\?")
        self.assertEqual(self.chat("made", options={})["eval_count"], 3)
        shown = self.show("made")
        self.assertEqual((shown["system"], shown["license"], shown["template"]), ("Be brief.", "one\ntwo", TEMPLATE))
        self.assertRegex(shown["parameters"], r'(?m)^stop "Lima"$')
        self.assertEqual(len(shown["messages"]), 2)
        # The other dialects read the same prompt.
        applied = json.loads(self.succeeds("POST", "/apply-template", {"model": "made", "messages": [{"role": "user", "content": QUESTION}]}))
        self.assertEqual(applied["prompt"], prompt)
        # A client's own system message replaces the model's.
        own = self.rendered("made", [{"role": "system", "content": "Shout."}, {"role": "user", "content": QUESTION}])
        self.assertIn("Shout.", own)
        self.assertNotIn("Be brief.", own)
        # Another one made from it, whose own parameters override those.
        self.succeeds("POST", "/api/create", {"model": "again", "from": "made", "system": "", "parameters": {"num_predict": 5}})
        self.assertEqual(self.chat("again", options={})["eval_count"], 5)
        self.assertEqual(self.show("again")["details"]["parent_model"], "made")
        self.assertNotIn("Be brief.", self.rendered("again"))
        self.assertRegex(self.show("again")["parameters"], r'(?m)^temperature 0$')

    def test_a_model_is_served_with_its_texts_after_a_restart_and_by_run(self):
        process = self.serve_managed()
        self.succeeds("POST", "/api/create", {
            "model": "made", "files": {"m.gguf": self.upload(TINY)}, "system": "Be brief.", "parameters": {"temperature": 0},
            "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]})
        prompt = self.rendered("made")
        answer = self.chat("made", options={})["message"]["content"]
        process.terminate()
        process.wait(DEADLINE_S)
        self.serve("--strict-model-names")
        self.assertEqual(self.served(), ["made"])
        self.assertEqual(self.rendered("made"), prompt)
        self.assertEqual(self.chat("made", options={})["message"]["content"], answer)
        self.assertEqual(self.run_it("run", "made", QUESTION)[1], answer + "\n")

    def test_a_created_model_takes_the_place_of_one_of_its_name(self):
        self.serve_managed()
        files = {"m.gguf": self.upload(TINY)}
        for system in ("Be brief.", "Shout."):
            self.succeeds("POST", "/api/create", {"model": "made", "files": files, "system": system})
            self.assertIn(system, self.rendered("made"))
        self.assertEqual(self.names(), ["made"])
        self.assertEqual(self.served().count("made"), 1)
        self.assertEqual(self.ask("POST", "/api/create", {"model": "realizar-tiny", "files": files})[0], 400)

    def test_a_safetensors_folder_is_made_of_its_files(self):
        folder = self.folder / "folder"
        converted = self.run_it("convert", hub_test.ROOT / "models/realizar-tiny/realizar-tiny-Q8_0.gguf", folder)
        self.assertEqual(converted[0], 0, converted[2])
        self.serve_managed()
        files = {path.name: self.upload(path.read_bytes()) for path in folder.iterdir() if path.is_file()}
        self.succeeds("POST", "/api/create", {"model": "folder", "files": files})
        self.assertEqual(self.show("folder")["details"]["format"], "safetensors")
        self.assertTrue(self.chat("folder", options={"num_predict": 2, "temperature": 0})["message"]["content"])

    def test_what_is_no_model_is_not_created(self):
        self.serve_managed()
        good, bad = self.upload(TINY), self.upload(b"no model")
        cut = self.upload(TINY[:5000])
        missing = f"sha256:{sha256(b'nothing')}"
        for body, naming in (({"files": {"m.gguf": missing}}, "no blob"), ({"files": {"m.gguf": cut}}, "files"),
                             ({"files": {"m.gguf": bad}}, "files"), ({"files": {"m.txt": bad}}, "no model"),
                             ({"files": {"m.gguf": "sha256:../../etc/passwd"}}, "sha256:HEX"), ({"files": {"m.gguf": 7}}, "sha256:HEX"),
                             ({"files": {"../m.gguf": good}}, "is not a file name"), ({"files": {"a.gguf": good, "b.gguf": bad}}, "GGUF"),
                             ({"files": [good]}, "files"), ({"files": {"m.gguf": good}, "from": "realizar-tiny"}, "from"),
                             ({"files": {"m.gguf": good}, "adapters": {"a.gguf": bad}}, "adapters"),
                             ({"files": {"m.gguf": good}, "quantize": "q4_K_M"}, "quantize"),
                             ({"files": {"m.gguf": good}, "template": "{{ .Unheard }}"}, "template"),
                             ({"files": {"m.gguf": good}, "parameters": {"temperature": -5}}, "temperature"),
                             ({"files": {"m.gguf": good}, "messages": [{"role": "robot", "content": "x"}]}, "role"),
                             ({}, "from"), ({"from": "nobody"}, "not found")):
            status, text = self.ask("POST", "/api/create", {"model": "made", **body})
            self.assertIn(status, (400, 404), (body, text))
            self.assertIn(naming, json.loads(text)["error"], body)
        self.assertEqual(self.names(), [])

    def paced_upload(self, data, n_bytes):
        """The status of an upload in such pieces, with a pause before each; 0: none."""
        head = f"POST /api/blobs/sha256:{sha256(data)} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(data)}\r\n\r\n"
        with socket.create_connection(("127.0.0.1", self.port), DEADLINE_S) as client:
            try:
                client.sendall(head.encode())
                for at in range(0, len(data), n_bytes):
                    if select.select([client], [], [], 0.01)[0]:
                        break
                    client.sendall(data[at:at + n_bytes])
                return int(client.recv(1 << 16).split(b" ")[1])
            except (ConnectionError, IndexError):
                return 0

    def test_an_upload_of_a_byte_now_and_then_ends_and_a_steady_one_does_not(self):
        self.serve_managed("--body-timeout-ms", "400")
        self.assertEqual(self.paced_upload(b"x" * 100_000, 1), 408)
        self.assertEqual(list((self.store / "blobs").iterdir()), [])
        # It takes several times as long. The server itself may be late on a busy machine.
        until(lambda: self.paced_upload(BIG[:8 << 20], 64 << 10) == 201, "a steady upload")

    def test_uploads_are_checked(self):
        self.serve_managed()
        for digest in ("x", "sha256:", "sha256:" + "g" * 64, "sha256:..%2f..%2fx", "md5:" + "0" * 64, "sha256:" + "A" * 64):
            self.assertEqual(self.ask("POST", f"/api/blobs/{digest}", b"x")[0], 400, digest)
            self.assertEqual(self.ask("HEAD", f"/api/blobs/{digest}")[0], 400, digest)
        status, text = self.ask("POST", f"/api/blobs/sha256:{sha256(b'y')}", b"x")
        self.assertEqual(status, 400)
        self.assertIn("digest mismatch", text)
        self.assertEqual(self.ask("POST", f"/api/blobs/sha256:{sha256(b'x')}", b"x", {"Content-Encoding": "gzip"})[0], 415)
        self.assertEqual(list((self.store / "partial").iterdir()), [])
        self.assertEqual(list((self.store / "blobs").iterdir()), [])
        # With an unknown length, larger than the maximum for other bodies, and empty.
        large = BIG[:12 << 20]
        pieces = (large[at:at + 100_000] for at in range(0, len(large), 100_000))
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_S)) as connection:
            connection.request("POST", f"/api/blobs/sha256:{sha256(large)}", pieces, encode_chunked=True, headers={"Transfer-Encoding": "chunked"})
            self.assertEqual(connection.getresponse().status, 201)
        self.assert_stored(large)
        self.upload(b"")

    def test_an_upload_that_ends_early_leaves_nothing(self):
        self.serve_managed()
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_S)) as connection:
            connection.putrequest("POST", f"/api/blobs/sha256:{sha256(BIG)}")
            connection.putheader("Content-Length", str(len(BIG)))
            connection.endheaders()
            connection.send(BIG[:1 << 20])
            partial = self.store / "partial"
            until(lambda: partial.exists() and list(partial.iterdir()), "the beginning of the file")
        until(lambda: not list(partial.iterdir()), "its end")
        self.assertEqual(list((self.store / "blobs").iterdir()), [])

    def test_a_blob_that_the_disk_has_no_room_for_is_refused_ahead(self):
        self.serve_managed()
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_S)) as connection:
            connection.putrequest("POST", f"/api/blobs/sha256:{sha256(b'x')}")
            connection.putheader("Content-Length", str(1 << 60))
            connection.endheaders()
            connection.send(b"x" * 1000)
            reply = connection.getresponse()
            self.assertEqual(reply.status, 507)
            self.assertIn("too full", reply.read().decode())

    def test_a_disk_that_fills_up_ends_an_upload(self):
        disk = self.folder / "disk"
        disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "none", disk], capture_output=True).returncode != 0:
            self.skipTest("mounting a small disk needs more rights")
        self.addCleanup(subprocess.run, ["umount", "-l", disk], check=True)
        self.serve_managed("--models-store", disk)
        large = BIG[:12 << 20]
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_S)) as connection:
            connection.putrequest("POST", f"/api/blobs/sha256:{sha256(large)}")
            connection.putheader("Transfer-Encoding", "chunked")
            connection.endheaders()
            with contextlib.suppress(OSError):
                for at in range(0, len(large), 1 << 16):
                    piece = large[at:at + (1 << 16)]
                    connection.send(b"%x\r\n%s\r\n" % (len(piece), piece))
                connection.send(b"0\r\n\r\n")
            self.assertEqual(connection.getresponse().status, 507)
        self.assertEqual(list((disk / "partial").iterdir()), [])

    def test_llamas_route_downloads_and_tells_events(self):
        self.hub.add_repo("maker/model", {"m-Q8_0.gguf": TINY})
        self.serve_managed()
        name = "maker/model:Q8_0"
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_S)) as connection:
            connection.request("GET", "/v1/models/sse")
            events = connection.getresponse()
            self.assertEqual(self.ask("POST", "/v1/models", {"model": name}), (200, '{"success":true}'))
            told = []
            while not told or told[-1]["event"] not in ("download_finished", "download_failed"):
                line = events.readline().decode()
                if line.startswith("data: "):
                    told.append(json.loads(line[6:]))
        self.assertEqual(told[-1], {"model": name, "event": "download_finished"})
        progress = [event for event in told if event["event"] == "download_progress"]
        self.assertEqual(progress[-1], {"model": name, "event": "download_progress",
                                        "data": {"m-Q8_0.gguf": {"done": len(TINY), "total": len(TINY)}},
                                        "done_bytes": len(TINY), "total_bytes": len(TINY)})
        self.assertIn(name, self.served())
        self.assertEqual(self.answer(name), ANSWER)
        self.assertEqual(self.names(), [name])
        self.assertEqual(self.ask("POST", "/v1/models", {"model": name})[0], 400)
        self.succeeds("DELETE", f"/v1/models?model={name}", None)
        self.assertNotIn(name, self.served())
        self.assertEqual(self.names(), [])

    def test_a_download_of_llamas_route_is_listed_cancelled_and_fails(self):
        self.add_big()
        self.hold_blobs()
        self.serve_managed()

        def state(name):
            model = self.listed_model(name)
            return model and model["status"]["value"]
        self.succeeds("POST", "/v1/models", {"model": NAME})
        self.assertEqual(state(NAME), "downloading")
        until(lambda: self.listed_model(NAME)["status"]["total_bytes"] == len(BIG), "its size")
        self.assertEqual(self.ask("POST", "/v1/models", {"model": NAME})[0], 400)
        until(lambda: "blob" in self.hub.stages(), "the download")
        self.succeeds("POST", "/v1/models/unload", {"model": NAME})
        until(lambda: state(NAME) is None, "its end")
        self.assertTrue(self.stopped.wait(DEADLINE_S))
        self.assertEqual(self.names(), [])


class View(Managed):
    """The details for the page's view of models."""

    def search(self, query):
        return json.loads(self.succeeds("POST", "/v1/models/search", {"query": query}))

    def choices(self, model):
        return json.loads(self.succeeds("POST", "/v1/models/choices", {"model": model}))["models"]

    def test_models_are_found_by_words_and_can_be_downloaded(self):
        self.hub.add_repo("maker/tiny-chat-GGUF", {"m-Q8_0.gguf": TINY})
        self.hub.downloads["maker/tiny-chat-GGUF"] = 7
        self.serve_managed()
        self.assertEqual(self.search(" TINY\tchat "), {"models": [{"name": "hf:maker/tiny-chat-GGUF", "downloads": 7}]})
        self.assertEqual(self.search("no such"), {"models": []})
        for body in ({}, {"query": " "}, {"query": "x" * 201}, {"query": 7}):
            self.assertEqual(self.ask("POST", "/v1/models/search", body)[0], 400, body)
        name = self.search("tiny chat")["models"][0]["name"]
        self.succeeds("POST", "/v1/models", {"model": name})
        until(lambda: (self.listed_model(name) or {}).get("state") == "unloaded", "the model")
        self.assertEqual(self.answer(name), ANSWER)

    def test_short_names_are_found_without_a_hub_and_a_note_says_why(self):
        self.hub.fault = lambda handler, stage, data: handler.reply(500) or True
        self.serve_managed()
        found = self.search("gemma3 27b")
        self.assertEqual([model["name"] for model in found["models"]], ["gemma3:27b"])
        self.assertIn("500", found["note"])
        self.serve_managed("--offline")
        asked = len(self.hub.requests)
        self.assertEqual([model["name"] for model in self.search("gemma3 27b")["models"]], ["gemma3:27b"])
        self.assertIn("--offline", self.search("gemma3")["note"])
        self.assertEqual(self.ask("POST", "/v1/models/choices", {"model": "gemma3:27b"})[0], 400)
        self.assertEqual(len(self.hub.requests), asked)

    def test_a_repository_has_choices(self):
        self.hub.add_repo("maker/model", {"README.md": b"a model", "m-Q8_0.gguf": TINY, "m-F16.gguf": TINY * 2,
                                          "m-Q4_K_M-00001-of-00002.gguf": TINY[:9], "m-Q4_K_M-00002-of-00002.gguf": TINY[:5]})
        self.add_ollama_tiny()
        self.serve_managed()
        every = [{"name": "hf:maker/model:Q8_0", "bytes": len(TINY), "is_usual": False},
                 {"name": "hf:maker/model:F16", "bytes": 2 * len(TINY), "is_usual": False},
                 {"name": "hf:maker/model:Q4_K_M", "bytes": 14, "is_usual": True}]
        for name in ("hf:maker/model", "maker/model", NAME):
            self.assertEqual(self.choices(name), every, name)
        self.assertEqual(self.choices("tiny:1b"), [{"name": "tiny:1b", "bytes": len(TINY) + 4, "is_usual": True}])
        self.assertEqual(self.ask("POST", "/v1/models/choices", {"model": "hf:maker/none"})[0], 404)
        self.assertEqual(self.ask("POST", "/v1/models/choices", {"model": "http://127.0.0.1:1/m.gguf"})[0], 400)

    def test_a_hub_that_cannot_be_reached_is_502(self):
        with socket.socket() as closed:  # nobody listens there
            closed.bind(("127.0.0.1", 0))
            self.hub.url = f"http://127.0.0.1:{closed.getsockname()[1]}"
            self.serve_managed()
            status, text = self.ask("POST", "/v1/models/choices", {"model": NAME})
            self.assertEqual((status, json.loads(text)["error"]["code"]), (502, 502))
            self.assertIn("connect", self.search("gemma3")["note"])

    def test_a_client_that_goes_away_ends_its_search(self):
        asked = threading.Event()

        def hold(handler, stage, data):
            asked.set()
            self.gone.append(is_gone_within(handler.connection, DEADLINE_S))
            self.ended.set()
            return True
        self.gone, self.ended = [], threading.Event()
        self.hub.fault = hold
        self.serve_managed()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_S)
        connection.request("POST", "/v1/models/search", json.dumps({"query": "gemma3"}))
        self.assertTrue(asked.wait(DEADLINE_S))
        connection.close()
        self.assertTrue(self.ended.wait(DEADLINE_S))
        self.assertEqual(self.gone, [True])

    def test_details_tell_of_files_memory_and_rights(self):
        self.add_tiny()
        self.pulls(NAME)
        self.serve_managed(f"first={NAME}", "realizar-tiny=" + str(hub_test.ROOT / "models/realizar-tiny/realizar-tiny-Q8_0.gguf"))
        told = json.loads(self.ask("GET", "/v1/models?details=1")[1])
        first = next(model for model in told["data"] if model["id"] == "first")
        details = first["details"]
        self.assertEqual((details["file_bytes"], details["quantization"], details["capabilities"]), (len(TINY), "Q8_0", ["completion", "tools"]))
        self.assertEqual(details["n_params"], first["n_params"])
        self.assertGreaterEqual(details["needed_bytes"], first["weight_bytes"] + first["kv_bytes"])
        self.assertLess(details["needed_bytes"], 2 * (first["weight_bytes"] + first["kv_bytes"]))
        server = told["server"]
        self.assertEqual((server["may_load"], server["may_download"], server["lacks"]), (True, True, ""))
        self.assertEqual(server["memory"][0]["name"], "cpu")
        self.assertTrue(0 < server["memory"][0]["free_bytes"] < server["memory"][0]["total_bytes"])
        self.assertGreater(server["disk_free_bytes"], 0)
        self.assertEqual([model["id"] for model in told["data"] if model["details"]["may_delete"]], ["first"])
        self.assertNotIn("server", json.loads(self.ask("GET", "/v1/models")[1]))

    def test_details_say_what_a_caller_lacks(self):
        def lacks(*args, **headers):
            self.serve("realizar-tiny", *args)
            told = json.loads(self.ask("GET", "/v1/models?details=1", headers=headers)[1])["server"]
            return told["may_load"], told["may_download"], told["lacks"]
        self.assertEqual(lacks(), (False, False, "manage_models"))
        self.assertEqual(lacks("--no-models-autoload", "--no-preload"), (True, False, "manage_models"))
        self.assertEqual(lacks("--manage-models", "--api-key", "plain", Authorization="Bearer plain"), (False, False, "admin_key"))
        self.assertEqual(lacks("--manage-models", "--api-key", "admin boss", Authorization="Bearer boss"), (True, True, ""))
        self.assertEqual(lacks("--manage-models", Origin="http://localhost:3000"), (False, False, "own_machine"))
        self.assertEqual(lacks("--manage-models", "--memory-mb", "2000"), (True, True, ""))
        place = json.loads(self.ask("GET", "/v1/models?details=1")[1])["server"]["memory"][0]
        self.assertEqual((place["name"], place["total_bytes"]), ("--memory-mb", 2000 << 20))
        self.assertTrue(0 < place["free_bytes"] < place["total_bytes"])



if __name__ == "__main__":
    unittest.main()
