#!/usr/bin/env python3
"""The server against raw bytes: invalid requests, and clients that fail.
Usage: server_test.py REALIZAR."""
import contextlib
import gzip
import json
import os
import pathlib
import resource
import socket
import tempfile
import unittest

from folders import temp_folder
import server_rig
from server_rig import ANSWER, CHAT, Case, Closed, ENDLESS, LONG_CONTEXT, MODEL, PAGE, Server, is_sanitized, post, text_of, main
from waiting import whole_lines


class Requests(Case):
    ARGS = ("--max-header-bytes", "8192", "--max-body-bytes", "200000")

    def test_what_is_not_http_is_400(self):
        wrong = ["\r\n\r\n \r\n\r\n", "hello\r\n\r\n", "GET /livez\r\n\r\n", "GET  /livez HTTP/1.1\r\nHost: localhost\r\n\r\n",
                 "GET /livez HTTP/9.9\r\n\r\n", "GET /livez HTTP/1.1\r\nHost: localhost\r\nno colon\r\n\r\n",
                 "GET /livez HTTP/1.1\r\nHost: localhost\r\nA B: c\r\n\r\n", "GET /livez HTTP/1.1\r\nHost: localhost\r\nA: b\x00c\r\n\r\n",
                 "GET /li\x01vez HTTP/1.1\r\nHost: localhost\r\n\r\n", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
                 "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n", "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1x\r\n\r\n",
                 "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999999\r\n\r\n",
                 "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nContent-Length: 5\r\n\r\nabc",
                 "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                 "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
                 "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
                 "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcde\r\n0\r\n\r\n"]
        for data in wrong:
            with self.subTest(data), self.server.connect() as client:
                client.send(data)
                reply = client.reply()
                self.assertIn(reply.status, (400, 413), data)
                self.assertEqual(reply.headers["connection"], "close")
                self.assertEqual(reply.json()["error"]["type"], "invalid_request_error")
                client.socket.shutdown(socket.SHUT_WR)
                self.assertTrue(client.is_closed())

    def test_large_headers_are_431(self):
        for header in ["A: " + "x" * 9000, "\r\n".join(f"A{i}: x" for i in range(2000)), "X" * 9000 + ": a"]:
            reply = self.exchange(f"GET /livez HTTP/1.1\r\nHost: localhost\r\n{header}\r\n\r\n")
            self.assertEqual(reply.status, 431)
            self.assertIn("8192", reply.json()["error"]["message"])
        self.assertIn(self.exchange("GET /" + "x" * 9000 + " HTTP/1.1\r\nHost: localhost\r\n\r\n").status, (400, 431))

    def test_a_large_body_is_413_and_the_client_can_read_that(self):
        for n_bytes in [200_001, 5_000_000]:
            reply = self.exchange(post(b" " * n_bytes))
            self.assertEqual(reply.status, 413)
            self.assertIn("200000", reply.json()["error"]["message"])
        chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        data = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk * 40 + b"0\r\n\r\n"
        self.assertEqual(self.exchange(data).status, 413)

    def test_the_largest_body_is_taken(self):
        data = json.dumps(CHAT).encode()
        self.assertEqual(self.exchange(post(data + b" " * (200_000 - len(data)))).answer(), ANSWER)

    def test_the_head_of_a_chunk_is_bounded(self):
        head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        for rest in [b"1;" + b"x" * 5_000_000, b"0\r\n" + b"A: " + b"x" * 5_000_000]:
            with self.server.connect() as client:
                try:
                    client.send(head + rest)
                except ConnectionError:
                    pass
                self.assertEqual(client.reply().status, 400)

    def test_pipelined_requests_are_answered_in_order(self):
        questions = ["What is the capital of France?", "What is the capital of Finland?", "What is 10 minus 10?"]
        bodies = [{**CHAT, "messages": [{"role": "user", "content": q}], "stream": i == 1} for i, q in enumerate(questions)]
        with self.server.connect() as client:
            client.send(b"".join([post(bodies[0]), b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n", post(bodies[1]), post(bodies[2]),
                                  b"GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n"]))
            self.assertIn("Paris", client.reply().answer())
            self.assertEqual(client.reply().json(), {"status": "alive"})
            streamed = client.reply()
            self.assertEqual(streamed.headers["transfer-encoding"], "chunked")
            self.assertIn("Helsinki", text_of(streamed))
            self.assertIn("0", client.reply().answer())
            self.assertEqual(client.reply().status, 404)

    def test_many_pipelined_requests(self):
        with self.server.connect() as client:
            client.send(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n" * 5000)
            for _ in range(5000):
                self.assertEqual(client.reply().status, 200)

    def test_a_request_in_two_pieces_cut_anywhere(self):
        data = post({"prompt": "In the"}, "/tokenize", "X-Request-Id: whole")
        expected = self.exchange(data).json()
        with self.server.connect() as client:
            for cut in range(1, len(data)):
                client.send(data[:cut])
                client.send(data[cut:])
                self.assertEqual(client.reply().json(), expected, cut)

    def test_a_request_byte_by_byte(self):
        with self.server.connect() as client:
            for byte in post(CHAT):
                client.send(bytes([byte]))
            self.assertEqual(client.reply().answer(), ANSWER)

    def test_chunked_bodies(self):
        body = json.dumps(CHAT).encode()
        for size in [1, 7, len(body)]:
            chunks = [body[i:i + size] for i in range(0, len(body), size)]
            data = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
            data += b"".join(b"%x;ext=1\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\nTrailer: x\r\n\r\n"
            self.assertEqual(self.exchange(data).answer(), ANSWER)

    def test_a_transfer_encoding_that_is_not_chunked_ends_the_connection(self):
        """Otherwise a part of the body would be answered as a second request."""
        hidden = b"GET /hidden HTTP/1.1\r\nHost: localhost\r\n\r\n"
        body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(hidden), hidden)
        for headers in ["Transfer-Encoding: xchunked", "Transfer-Encoding: chunked, identity", "Transfer-Encoding: gzip",
                        "Transfer-Encoding: identity", "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: chunked, chunked",
                        "Transfer-Encoding:", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
                        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
                        "Transfer-Encoding: gzip\r\nContent-Length: 3", "Content-Length: 3\r\nTransfer-Encoding: identity"]:
            for method in ["POST", "GET"]:
                with self.server.connect() as client:
                    client.send(f"{method} /v1/models HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n\r\n".encode() + body + hidden)
                    reply = client.reply()
                    self.assertEqual((reply.status, reply.headers["connection"]), (400, "close"), headers)
                    client.socket.shutdown(socket.SHUT_WR)
                    self.assertTrue(client.is_closed(), headers)

    def test_expect_100_continue(self):
        body = json.dumps(CHAT).encode()
        with self.server.connect() as client:
            client.send(f"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n")
            self.assertEqual(client.reply().status, 100)
            client.send(body)
            self.assertEqual(client.reply().answer(), ANSWER)
        with self.server.connect() as client:  # a body that is not wanted is refused before it is sent
            client.send("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 300000\r\nExpect: 100-continue\r\n\r\n")
            self.assertEqual(client.reply().status, 413)

    def test_http_1_0(self):
        with self.server.connect() as client:
            client.send(post(CHAT, version="1.0"))
            self.assertEqual(client.reply().answer(), ANSWER)
            self.assertTrue(client.is_closed())
        with self.server.connect() as client:  # no chunks: the end of the connection ends the stream
            client.send(post({**CHAT, "stream": True}, version="1.0"))
            reply = client.reply()
            self.assertNotIn("transfer-encoding", reply.headers)
            self.assertTrue(reply.body.endswith(b"data: [DONE]\n\n"))
        with self.server.connect() as client:
            for _ in range(2):
                client.send("GET /livez HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
                self.assertEqual(client.reply().status, 200)

    def test_head_has_no_body(self):
        with self.server.connect() as client:
            client.send("HEAD /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\nHEAD /nothing HTTP/1.1\r\nHost: localhost\r\n\r\nGET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
            models = client.reply(has_body=False)
            self.assertEqual(models.status, 200)
            self.assertGreater(int(models.headers["content-length"]), 10)
            self.assertEqual(client.reply(has_body=False).status, 404)
            self.assertEqual(client.reply().json(), {"status": "alive"})

    def test_connection_close(self):
        with self.server.connect() as client:
            client.send(post(CHAT, "/v1/chat/completions", "Connection: close") + b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
            reply = client.reply()
            self.assertEqual(reply.answer(), ANSWER)
            self.assertEqual(reply.headers["connection"], "close")
            self.assertTrue(client.is_closed())

    def test_the_page_is_the_one_of_the_repository(self):
        cache = (pathlib.Path(server_rig.REALIZAR).resolve().parent.parent / "CMakeCache.txt").read_text()
        reply = self.server.get("/", "Accept: text/html,application/xhtml+xml,*/*;q=0.8")
        if "REALIZAR_PAGE:BOOL=OFF" in cache:
            self.assertEqual((reply.status, reply.json()["error"]["code"]), (404, "no_page"))
        else:
            self.assertEqual((reply.status, reply.body), (200, PAGE.read_bytes()))

    def test_programs_are_told_at_the_root_what_clients_of_ollama_look_for(self):
        for headers in [[], ["Accept: */*"], ["Accept: application/json, text/plain"]]:
            reply = self.server.get("/", *headers)
            self.assertEqual((reply.status, reply.body), (200, b"Ollama is running"), headers)
            self.assertTrue(reply.headers["content-type"].startswith("text/plain"))
            self.assertEqual(reply.headers["vary"], "Accept")

    def test_the_page_is_sent_compressed_and_to_whom_has_it_not_again(self):
        with self.server.connect() as client:
            client.send("GET / HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\nAccept-Encoding: gzip, br\r\n\r\n")
            reply = client.reply()
            if reply.status == 404:
                self.skipTest("built without its page")
            self.assertEqual(reply.headers["content-encoding"], "gzip")
            self.assertEqual(gzip.decompress(reply.body), PAGE.read_bytes())
            self.assertLess(len(reply.body), len(PAGE.read_bytes()) // 2)
            etag = reply.headers["etag"]
            client.send(f"GET / HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\nIf-None-Match: {etag}\r\n\r\n")
            reply = client.reply()
            self.assertEqual((reply.status, reply.headers["etag"]), (304, etag))
            self.assertNotIn("content-length", reply.headers)
            client.send('GET / HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\nIf-None-Match: "other"\r\n\r\n')
            reply = client.reply()
            self.assertEqual((reply.status, reply.body), (200, PAGE.read_bytes()))

    def test_garbage_after_a_request(self):
        with self.server.connect() as client:
            client.send(post(CHAT) + b"\x00\xff garbage\r\n\r\n")
            self.assertEqual(client.reply().answer(), ANSWER)
            self.assertEqual(client.reply().status, 400)
            client.socket.shutdown(socket.SHUT_WR)
            self.assertTrue(client.is_closed())

    def test_odd_targets(self):
        for target in ["*", "//", "/../etc/passwd", "/%00", "/?" + "a" * 1000, "/v1/models/%zz", "/v1/models/\xff"]:
            reply = self.exchange(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertIn(reply.status, (200, 400, 404), target)

    def test_absolute_targets(self):
        for target in ["http://x/livez", "HTTP://x:80/livez?a=b"]:
            self.assertEqual(self.exchange(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n").json(), {"status": "alive"})

    def test_bodies_on_get_are_skipped(self):
        with self.server.connect() as client:
            client.send("GET /livez HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabcGET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertEqual(client.reply().json(), {"status": "alive"})
            self.assertEqual(client.reply().json(), {"status": "ready"})

    def test_json_that_is_made_to_take_long(self):
        members = ",".join(f'"{i:x}":0' for i in range(20_000))
        reply = self.exchange(post(b"{" + members.encode() + b"}"))
        self.assertEqual(reply.status, 400)
        self.assertIn("members", reply.json()["error"]["message"])

    def test_no_answer_holds_another_request_s_text(self):
        """Random cuts and mistakes on many connections: each valid request still gets its own answer."""
        capitals = {"France": "Paris", "Finland": "Helsinki", "South Korea": "Seoul", "Ethiopia": "Addis Ababa"}
        clients = [(self.server.connect(), country) for country in list(capitals) * 12]
        for i, (client, country) in enumerate(clients):
            body = {**CHAT, "messages": [{"role": "user", "content": f"What is the capital of {country}?"}], "stream": i % 3 == 0}
            data = post(body)
            client.send(data[:len(data) - i % 40] if i % 5 == 4 else data)
        for i, (client, country) in enumerate(clients):
            if i % 5 == 4:
                client.socket.close()
                continue
            words = text_of(client.reply())
            for other, capital in capitals.items():
                self.assertEqual(capital in words, other == country, words)
            client.socket.close()


class GlobalPriority(Case):
    """Requests from two addresses wait for the only running request."""

    @classmethod
    def setUpClass(cls):
        cls.log = temp_folder(cls) / "log"
        cls.server = Server("--max-seqs", "1", "--global-priority", *LONG_CONTEXT, "--access-log", str(cls.log))

    def n_requests(self, state):
        return self.server.metric(f"vllm:num_requests_{state}")

    def answered(self):
        """The ids of requests for the model, in the order in which they were answered."""
        ids = [json.loads(line)["request_id"] for line in whole_lines(self.log)]
        return [name for name in ids if name in ("urgent", "other")]

    def test_the_priority_of_a_request_counts_against_all_others(self):
        def asked(name, **fields):
            return post({**CHAT, "max_tokens": 1, **fields}, "/v1/chat/completions", f"X-Request-Id: {name}")
        with self.server.connect() as served, self.server.connect() as urgent, \
                self.server.connect(source="127.0.0.2") as other:
            with served:
                served.send(post(ENDLESS))
                self.server.until(lambda: self.n_requests("running") == 1, "the first request to run")
                # The address that was served less would be first.
                other.send(asked("other"))
                urgent.send(asked("urgent", priority=-5))
                self.server.until(lambda: self.n_requests("waiting") == 2, "the others to wait")
            self.assertEqual(urgent.reply().status, 200)
            self.assertEqual(other.reply().status, 200)
        self.server.until(lambda: len(self.answered()) == 2, "the log of both")
        self.assertEqual(self.answered(), ["urgent", "other"])


class Shares(Case):
    """Without keys, addresses share the engine."""
    ARGS = ("--max-seqs", "2", "--max-queue", "4", *LONG_CONTEXT)

    def n_requests(self, state):
        return self.server.metric(f"vllm:num_requests_{state}")

    def test_an_address_that_has_every_place_gives_way_to_another(self):
        short = post({**CHAT, "max_tokens": 1})
        with contextlib.ExitStack() as clients:
            greedy = [clients.enter_context(self.server.connect(source="127.0.0.2")) for _ in range(7)]
            for i, client in enumerate(greedy[:6], 1):
                client.send(post(ENDLESS))
                self.server.until(lambda: self.n_requests("running") + self.n_requests("waiting") == i, "the requests")
            for _ in range(3):
                self.assertEqual(self.exchange(short).status, 200)
            self.assertIn(b"6 requests are running or waiting already", greedy[5].reply().body, "the newest one ends")
            greedy[5].send(post(ENDLESS))
            self.server.until(lambda: self.n_requests("running") + self.n_requests("waiting") == 6, "it to be taken again")
            greedy[6].send(short)
            self.assertEqual(greedy[6].reply().status, 429, "it has more than its share")

    def test_a_list_that_is_longer_than_the_queue_is_taken_as_room_comes(self):
        prompts = [f"{i} " for i in range(40)]
        reply = self.exchange(post({"prompt": prompts, "max_tokens": 12, "ignore_eos": True}, "/v1/completions"))
        self.assertEqual(reply.status, 200, reply.body)
        self.assertEqual([choice["index"] for choice in reply.json()["choices"]], list(range(40)))


class Metrics(Case):
    def test_they_tell_what_the_steps_cost(self):
        body = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 8, "ignore_eos": True}
        self.assertEqual(self.server.exchange(post(body)).status, 200)
        lines = self.server.get("/metrics").body.decode().splitlines()
        costs = [line for line in lines if line.startswith("realizar_step_cost_seconds{")]
        self.assertEqual(len(costs), 1, costs)
        self.assertIn('decode_rows="1-1",part="decode"', costs[0])
        self.assertTrue(0 < float(costs[0].rsplit(" ", 1)[1]) < 10, costs)


class NothingToGenerate(Case):
    ARGS = ("--max-seqs", "4", "--max-queue", "8")

    def test_requests_for_no_token_are_answered_at_once_by_an_idle_server(self):
        """More than the maximum at a time, on every route that generates, streamed and whole."""
        bodies = [({"prompt": "x", "max_tokens": 0}, "/v1/completions"),
                  ({**CHAT, "max_completion_tokens": 0}, "/v1/chat/completions"),
                  ({"input": "x", "max_output_tokens": 0}, "/v1/responses")]
        for body, path in bodies:
            for stream in (False, True):
                with self.subTest(path, stream=stream), self.server.connect() as client:
                    for _ in range(55):
                        client.send(post({**body, "stream": stream}, path))
                        reply = client.reply()
                        self.assertEqual(reply.status, 200, reply.body)
                        self.assertNotIn(b'"content":"x', reply.body)
                        self.assertTrue(b'"length"' in reply.body or b"max_output_tokens" in reply.body, reply.body)


class ScarceMemory(unittest.TestCase):
    def test_a_load_without_a_thread_for_it_is_503(self):
        if is_sanitized():
            self.skipTest("sanitizers reserve most addresses")
        # Threads need so much for their stacks that one more does not fit into a limit set later.
        server = Server(f"second={MODEL}", limits={resource.RLIMIT_STACK: (1 << 30, resource.RLIM_INFINITY)})
        server.limit_memory(512)
        with server.connect() as client:
            client.send(post({**CHAT, "model": "second"}))
            reply = client.reply()
            self.assertEqual(reply.status, 503)
            self.assertIn("retry-after", reply.headers)
        server.limit_memory(None)
        self.assertEqual(server.exchange(post({**CHAT, "model": "second"})).answer(), ANSWER)
        self.assertEqual(server.stop(), (0, ""))

    def test_want_of_memory_ends_the_request_that_wants_it_and_nothing_else(self):
        if is_sanitized():
            self.skipTest("sanitizers reserve most addresses")
        server = Server("--max-body-bytes", "33554432")
        bodies = [b'{"prompt":[' + b"[]," * 2_500_000 + b"[]]}", b'{"prompt":"' + b"x " * 3_500_000 + b'"}',
                  b'{"messages":[' + b'{"role":"user","content":"a"},' * 200_000 + b"{}]}"]
        statuses = set()
        for spare_mb in (2, 6, 12, 24, 48, 96):
            for body in bodies:
                server.limit_memory(spare_mb)
                try:
                    statuses.add(server.exchange(post(body, "/v1/completions")).status)
                except (Closed, ConnectionError):
                    statuses.add("closed")
                self.assertIsNone(server.process.poll(), "the server has ended")
                server.limit_memory(None)
                self.assertEqual(server.exchange(post(CHAT)).answer(), ANSWER)
        self.assertIn(503, statuses)
        self.assertLessEqual(statuses, {"closed", 400, 503})
        self.assertEqual(server.stop()[0], 0)


class ModelsFolder(unittest.TestCase):
    def test_what_nobody_could_ask_for_is_left_out(self):
        with tempfile.TemporaryDirectory() as folder:
            os.symlink("/nowhere/model.gguf", f"{folder}/dangling.gguf")
            os.symlink(MODEL, os.fsencode(folder) + b"/bad-\xff-name.gguf")
            os.symlink(MODEL, f"{folder}/well.gguf")
            server = Server("--models-dir", folder)
            self.assertEqual([model["id"] for model in server.get("/v1/models").json()["data"]],
                             [pathlib.Path(MODEL).stem, "well"])
            code, stderr = server.stop()
        self.assertEqual(code, 0)
        lines = stderr.splitlines()
        self.assertEqual(len(lines), 2, stderr)
        self.assertTrue(any("dangling.gguf" in line and "is ignored" in line for line in lines), stderr)
        self.assertTrue(any("\\xff" in line and "is ignored" in line for line in lines), stderr)


    def test_a_folder_that_holds_one_model_is_served_by_its_name(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ["one/some-file.gguf", "one/mmproj-f16.gguf", "two/a.gguf", "two/b.gguf", "none/notes.txt"]:
                path = pathlib.Path(folder, name)
                path.parent.mkdir(exist_ok=True)
                path.symlink_to(MODEL)
            pathlib.Path(folder, "mmproj-other.gguf").symlink_to(MODEL)
            server = Server("--models-dir", folder)
            self.assertEqual([model["id"] for model in server.get("/v1/models").json()["data"]],
                             [pathlib.Path(MODEL).stem, "one"])
            self.assertEqual(server.exchange(post({**CHAT, "model": "one"})).answer(), ANSWER)
            code, stderr = server.stop()
        self.assertEqual(code, 0)
        self.assertRegex(stderr, r"\A.*/two is ignored: it contains several models; --models-dir .*/two serves them\n\Z")


class FailedLoads(Case):
    """A good model together with a broken and a missing one."""

    @classmethod
    def setUpClass(cls):
        cls.folder = temp_folder(cls)
        broken, gone = cls.folder / "broken.gguf", cls.folder / "gone.gguf"
        broken.write_bytes(bytes(100))
        gone.write_bytes(bytes(100))
        cls.ARGS = (f"broken={broken}", f"gone={gone}")
        super().setUpClass()
        gone.unlink()

    def test_are_the_server_s_errors_and_name_the_model_but_no_path(self):
        for name in ("broken", "gone"):
            reply = self.exchange(post({**CHAT, "model": name}))
            self.assertEqual(reply.status, 500)
            self.assertEqual(reply.json()["error"]["type"], "server_error")
            self.assertIn(f"'{name}'", reply.json()["error"]["message"])
            self.assertNotIn(str(self.folder), reply.body.decode())
            for path in ("/v1/models", f"/v1/models/{name}", "/health"):
                self.assertNotIn(str(self.folder), self.server.get(path).body.decode())

    def test_cost_nothing_however_often_they_are_asked_for(self):
        def ask(client, n):
            for _ in range(n):
                client.send(post({"model": "broken", "prompt": "x"}, "/v1/completions"))
                self.assertEqual(client.reply().status, 500)
        with self.server.connect() as client:
            ask(client, 10)
            before = {name: self.server.status_value(name) for name in ("Threads", "VmSize")}
            ask(client, 2000)
            self.server.until(lambda: self.server.status_value("Threads") <= before["Threads"], "the end of the last one's thread")
            # Threads that are never joined would keep 8 MB each; malloc's arenas are 64 MB for each worker.
            self.assertLess(self.server.status_value("VmSize") - before["VmSize"], 2 << 20)


if __name__ == "__main__":
    main()
