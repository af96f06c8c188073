#!/usr/bin/env python3
"""The server against raw bytes: what no proper client sends, and what clients do when they go wrong.
Usage: server_test.py REALIZAR."""
import gzip
import json
import os
import pathlib
import re
import resource
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODEL = str(ROOT / "models/realizar-tiny/realizar-tiny-Q8_0.gguf")
REALIZAR = ""
DEADLINE_S = 30
PAGE = ROOT / "web/page/index.html"
CHAT = {"messages": [{"role": "user", "content": "What is the capital of France?"}], "temperature": 0}
ANSWER = "The capital of France is Paris."
LONG = {**CHAT, "n": 64, "stream": True, "ignore_eos": True, "logprobs": True, "top_logprobs": 20}


class Server:
    def __init__(self, *args, limits=None):
        """`limits`: of the process, {resource: (soft, hard)}."""
        def set_limits():
            for name, values in (limits or {}).items():
                resource.setrlimit(name, values)
        self.process = subprocess.Popen([REALIZAR, "serve", MODEL, "--port", "0", *args], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, preexec_fn=set_limits)
        self.output = line = self.process.stdout.readline().decode()
        while line and "realizar listens" not in line:
            line = self.process.stdout.readline().decode()
            self.output += line
        self.port = int(re.search(r":(\d+), model", line).group(1))
        self.until(lambda: self.get("/readyz").status == 200, "the model")

    def connect(self, **options):
        return Client(self.port, **options)

    def get(self, path):
        with self.connect() as client:
            client.send(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            return client.reply()

    def metric(self, name):
        lines = [line for line in self.get("/metrics").body.decode().splitlines() if line.startswith((name + "{", name + " "))]
        return float(lines[0].rsplit(" ", 1)[1]) if lines else 0.0

    def status_value(self, name):
        """A number of /proc/PID/status: a size in KB, or a count."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(rf"^{name}:\s+(\d+)", status, re.M).group(1))

    def resident_mb(self):
        return self.status_value("VmRSS") / 1024

    def limit_memory(self, spare_mb):
        """Leaves the process so much beside what it has; None: as much as it wants."""
        most = resource.RLIM_INFINITY if spare_mb is None else (self.status_value("VmSize") << 10) + (spare_mb << 20)
        resource.prlimit(self.process.pid, resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))

    @staticmethod
    def until(probe, what, deadline_s=DEADLINE_S):
        end = time.monotonic() + deadline_s
        while not probe():
            if time.monotonic() > end:
                raise AssertionError(f"waited {deadline_s} s in vain for: {what}")
            time.sleep(0.01)

    def stop(self):
        """Ends it; gives its exit code and what it wrote to stderr."""
        self.process.send_signal(signal.SIGTERM)
        return self.ended()

    def ended(self):
        """The same once it has been told to end: a second signal would end it at once."""
        try:
            stdout, stderr = self.process.communicate(timeout=DEADLINE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            stdout, stderr = self.process.communicate()
        self.output += stdout.decode()
        return self.process.returncode, stderr.decode()


class Reply:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body)

    def answer(self):
        return self.json()["choices"][0]["message"]["content"]


class Closed(Exception):
    """The server closed the connection."""


class Client:
    """One connection; reads replies as HTTP/1.1 says."""

    def __init__(self, port, receive_bytes=0, source="127.0.0.1"):
        self.socket = socket.socket()
        if receive_bytes > 0:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self.socket.settimeout(DEADLINE_S)
        try:
            self.socket.bind((source, 0))
            self.socket.connect(("127.0.0.1", port))
        except OSError:
            self.socket.close()
            raise
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data.encode("latin-1") if isinstance(data, str) else data)

    def fill(self):
        try:
            piece = self.socket.recv(1 << 16)
        except ConnectionError:
            piece = b""
        if not piece:
            raise Closed
        self.buffer += piece

    def take(self, n_bytes):
        while len(self.buffer) < n_bytes:
            self.fill()
        taken, self.buffer = self.buffer[:n_bytes], self.buffer[n_bytes:]
        return taken

    def line(self):
        while b"\r\n" not in self.buffer:
            self.fill()
        line, self.buffer = self.buffer.split(b"\r\n", 1)
        return line

    def head(self):
        version, status, _ = self.line().decode().split(" ", 2)
        assert version == "HTTP/1.1", version
        headers = {}
        while line := self.line():
            name, value = line.decode().split(": ", 1)
            headers[name.lower()] = value
        return int(status), headers

    def reply(self, has_body=True):
        status, headers = self.head()
        if not has_body or status in (100, 204, 304):
            return Reply(status, headers, b"")
        if headers.get("transfer-encoding") == "chunked":
            return Reply(status, headers, b"".join(self.chunks()))
        if "content-length" in headers:
            return Reply(status, headers, self.take(int(headers["content-length"])))
        return Reply(status, headers, self.rest())

    def chunks(self):
        while n_bytes := int(self.line(), 16):
            yield self.take(n_bytes)
            assert self.take(2) == b"\r\n"
        assert self.take(2) == b"\r\n"

    def rest(self):
        """All that comes until the server closes."""
        try:
            while True:
                self.fill()
        except Closed:
            rest, self.buffer = self.buffer, b""
            return rest

    def is_closed(self):
        return self.rest() == b""


def post(body, path="/v1/chat/completions", *headers, version="1.1"):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"POST {path} HTTP/{version}", "Host: localhost", f"Content-Length: {len(data)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + data


def text_of(reply):
    """A chat's content, whole or streamed."""
    return "".join(re.findall(r'"content":"([^"]*)"', reply.body.decode()))


class Case(unittest.TestCase):
    ARGS = ()

    @classmethod
    def setUpClass(cls):
        cls.server = Server(*cls.ARGS)

    @classmethod
    def tearDownClass(cls):
        code, stderr = cls.server.stop()
        assert code == 0 and stderr == "", f"exit code {code}: {stderr}"

    def tearDown(self):
        self.assertIsNone(self.server.process.poll(), "the server has ended")
        with self.server.connect() as client:
            client.send(post(CHAT))
            self.assertEqual(client.reply().answer(), ANSWER)

    def exchange(self, data):
        with self.server.connect() as client:
            client.send(data)
            return client.reply()


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
        cache = (pathlib.Path(REALIZAR).resolve().parent.parent / "CMakeCache.txt").read_text()
        reply = self.server.get("/")
        if "REALIZAR_PAGE:BOOL=OFF" in cache:
            self.assertEqual((reply.status, reply.json()["error"]["code"]), (404, "no_page"))
        else:
            self.assertEqual((reply.status, reply.body), (200, PAGE.read_bytes()))

    def test_the_page_is_sent_compressed_and_to_whom_has_it_not_again(self):
        with self.server.connect() as client:
            client.send("GET / HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip, br\r\n\r\n")
            reply = client.reply()
            if reply.status == 404:
                self.skipTest("built without its page")
            self.assertEqual(reply.headers["content-encoding"], "gzip")
            self.assertEqual(gzip.decompress(reply.body), PAGE.read_bytes())
            self.assertLess(len(reply.body), len(PAGE.read_bytes()) // 2)
            etag = reply.headers["etag"]
            client.send(f"GET / HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: {etag}\r\n\r\n")
            reply = client.reply()
            self.assertEqual((reply.status, reply.headers["etag"]), (304, etag))
            self.assertNotIn("content-length", reply.headers)
            client.send('GET / HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: "other"\r\n\r\n')
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
    """Requests of two addresses wait for the one place that there is."""
    ARGS = ("--max-seqs", "1", "--global-priority")

    def n_requests(self, state):
        return self.server.metric(f"vllm:num_requests_{state}")

    def test_the_priority_of_a_request_counts_against_all_others(self):
        long = {**CHAT, "ignore_eos": True, "max_tokens": 1500}
        with self.server.connect() as served, self.server.connect() as urgent, \
                self.server.connect(source="127.0.0.2") as other:
            with served:
                served.send(post({**long, "stream": True}))
                self.server.until(lambda: self.n_requests("running") == 1, "the first request to run")
                urgent.send(post({**CHAT, "max_tokens": 1, "priority": -5}))
                other.send(post(long))
                self.server.until(lambda: self.n_requests("waiting") == 2, "the others to wait")
            self.assertEqual(urgent.reply().status, 200)
            # The address that was served less would have come first, and been answered by now.
            self.assertEqual(select.select([other.socket], [], [], 0)[0], [])
        self.server.until(lambda: self.n_requests("running") == 0, "the last request to end")


class Metrics(Case):
    def test_they_tell_what_the_steps_cost(self):
        body = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 8, "ignore_eos": True}
        with self.server.connect() as client:
            client.send(post(body))
            self.assertEqual(client.reply().status, 200)
        lines = self.server.get("/metrics").body.decode().splitlines()
        costs = [line for line in lines if line.startswith("realizar_step_cost_seconds{")]
        self.assertEqual(len(costs), 1, costs)
        self.assertIn('decode_rows="1-1",part="decode"', costs[0])
        self.assertTrue(0 < float(costs[0].rsplit(" ", 1)[1]) < 10, costs)


class NothingToGenerate(Case):
    ARGS = ("--max-seqs", "4", "--max-queue", "8")

    def test_requests_for_no_token_are_answered_at_once_by_an_idle_server(self):
        """More of them than may be open at a time, on every route that generates, streamed and whole."""
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


class Connections(Case):
    ARGS = ("--header-timeout-ms", "400", "--body-timeout-ms", "400", "--idle-timeout-ms", "400", "--write-timeout-ms", "1000",
            "--max-queue", "2000", "--max-connections", "3000")

    def settled(self):
        """Nothing runs, and the asking connection is the only one."""
        self.server.until(lambda: self.server.metric("realizar_connections") == 1, "connections to end")
        self.server.until(lambda: self.server.metric("vllm:num_requests_running") == 0, "requests to end")
        self.server.until(lambda: self.server.metric("vllm:kv_cache_usage_perc") == 0, "free KV blocks")

    def test_slow_loris(self):
        for begin in ["", "G", "GET /livez HTTP/1.1\r\nHost: localhost\r\n", "GET /livez HTTP/1.1\r\nHost: localhost\r\nA: b\r\n"]:
            with self.subTest(begin), self.server.connect() as client:
                client.send(begin)
                start = time.monotonic()
                try:
                    while time.monotonic() - start < 10:  # a byte now and then does not help
                        client.socket.settimeout(0.1)
                        try:
                            if client.socket.recv(1) == b"":
                                break
                        except TimeoutError:
                            client.send("x" if begin else "")
                except ConnectionError:
                    pass
                self.assertLess(time.monotonic() - start, 5)

    def test_a_body_that_stops(self):
        with self.server.connect() as client:
            client.send(post(CHAT)[:-5])
            start = time.monotonic()
            self.assertTrue(client.is_closed())
            self.assertLess(time.monotonic() - start, 5)

    def test_an_idle_connection_is_closed_after_its_time(self):
        with self.server.connect() as client:
            client.send("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertEqual(client.reply().status, 200)
            self.assertTrue(client.is_closed())

    def test_a_connection_closed_in_the_middle_of_its_body(self):
        for _ in range(50):
            with self.server.connect() as client:
                client.send(post(CHAT)[:-5])
        self.settled()

    def test_a_thousand_connections_opened_and_dropped(self):
        for data in [b"", b"GET /livez HTT", post(CHAT), post({**CHAT, "stream": True})]:
            clients = [self.server.connect() for _ in range(250)]
            for client in clients:
                client.send(data)
            for client in clients:
                client.socket.close()
        self.settled()

    def test_connections_that_are_reset(self):
        for _ in range(20):
            client = self.server.connect()
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
            client.send(post(LONG))
            client.head()
            client.socket.close()
        self.settled()

    def test_a_slow_reader_is_cut_off_and_disturbs_nobody(self):
        with self.server.connect(receive_bytes=4096) as slow:
            slow.send(post(LONG))
            slow.head()
            self.server.until(lambda: self.server.metric("vllm:num_requests_running") == 0, "the slow one to be cut off")
            self.assertEqual(self.exchange(post(CHAT)).answer(), ANSWER)
        self.settled()

    def test_a_client_that_reads_no_replies_costs_little(self):
        before_mb = self.server.resident_mb()
        with self.server.connect(receive_bytes=4096) as client:
            client.socket.settimeout(0.3)
            sent = 0
            try:
                while sent < 30_000_000:
                    sent += client.socket.send(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" * 1000)
            except (TimeoutError, ConnectionError):
                pass
            self.assertLess(self.server.resident_mb() - before_mb, 50)
        self.settled()

    def test_a_client_that_leaves_with_requests_ahead(self):
        client = self.server.connect()
        client.send(post(LONG) + b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n" * 4000)
        client.head()
        client.socket.close()
        self.settled()

    def test_many_connections_at_once(self):
        clients = [self.server.connect() for _ in range(400)]
        for client in clients:
            client.send(post({**CHAT, "stream": True}))
        for client in clients:
            self.assertEqual(text_of(client.reply()), ANSWER)
            client.socket.close()


def is_sanitized():
    """Such a program needs more addresses than a limit leaves it."""
    program = pathlib.Path(REALIZAR).read_bytes()
    return b"__tsan_init" in program or b"__asan_init" in program


class ScarceMemory(unittest.TestCase):
    def test_a_load_without_a_thread_for_it_is_503(self):
        if is_sanitized():
            self.skipTest("sanitizers reserve most addresses")
        # Threads want so much for their stacks that one more does not fit a limit set later.
        server = Server(f"second={MODEL}", limits={resource.RLIMIT_STACK: (1 << 30, resource.RLIM_INFINITY)})
        server.limit_memory(512)
        with server.connect() as client:
            client.send(post({**CHAT, "model": "second"}))
            reply = client.reply()
            self.assertEqual(reply.status, 503)
            self.assertIn("retry-after", reply.headers)
        server.limit_memory(None)
        with server.connect() as client:
            client.send(post({**CHAT, "model": "second"}))
            self.assertEqual(client.reply().answer(), ANSWER)
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
                    with server.connect() as client:
                        client.send(post(body, "/v1/completions"))
                        statuses.add(client.reply().status)
                except (Closed, ConnectionError):
                    statuses.add("closed")
                self.assertIsNone(server.process.poll(), "the server has ended")
                server.limit_memory(None)
                with server.connect() as client:
                    client.send(post(CHAT))
                    self.assertEqual(client.reply().answer(), ANSWER)
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
        self.assertTrue(any("dangling.gguf" in line and "left out" in line for line in lines), stderr)
        self.assertTrue(any("\\xff" in line and "left out" in line for line in lines), stderr)


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
            with server.connect() as client:
                client.send(post({**CHAT, "model": "one"}))
                self.assertEqual(client.reply().answer(), ANSWER)
            code, stderr = server.stop()
        self.assertEqual(code, 0)
        self.assertRegex(stderr, r"\A.*/two is left out: it holds several models; --models-dir .*/two serves them\n\Z")


class FailedLoads(Case):
    """Beside a model that is well, one that is broken and one that is gone."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        broken, gone = pathlib.Path(cls.folder.name, "broken.gguf"), pathlib.Path(cls.folder.name, "gone.gguf")
        broken.write_bytes(bytes(100))
        gone.write_bytes(bytes(100))
        cls.ARGS = (f"broken={broken}", f"gone={gone}")
        super().setUpClass()
        gone.unlink()

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.folder.cleanup()

    def test_are_the_server_s_errors_and_name_the_model_but_no_path(self):
        for name in ("broken", "gone"):
            reply = self.exchange(post({**CHAT, "model": name}))
            self.assertEqual(reply.status, 500)
            self.assertEqual(reply.json()["error"]["type"], "server_error")
            self.assertIn(f"'{name}'", reply.json()["error"]["message"])
            self.assertNotIn(self.folder.name, reply.body.decode())
            for path in ("/v1/models", f"/v1/models/{name}", "/health"):
                self.assertNotIn(self.folder.name, self.server.get(path).body.decode())

    def test_cost_nothing_however_often_they_are_asked_for(self):
        def ask(client, n):
            for _ in range(n):
                client.send(post({"model": "broken", "prompt": "x"}, "/v1/completions"))
                self.assertEqual(client.reply().status, 500)
        with self.server.connect() as client:
            ask(client, 10)
            before = {name: self.server.status_value(name) for name in ("Threads", "VmSize")}
            ask(client, 2000)
            self.assertLessEqual(self.server.status_value("Threads"), before["Threads"])
            # Threads that are never joined would keep 8 MB each; malloc's arenas are 64 MB for each worker.
            self.assertLess(self.server.status_value("VmSize") - before["VmSize"], 2 << 20)


class OpenFiles(unittest.TestCase):
    def test_as_many_as_the_system_lets_and_no_more_connections(self):
        server = Server(limits={resource.RLIMIT_NOFILE: (50, 300)})
        self.assertEqual(resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE), (300, 300))
        clients = [server.connect() for _ in range(240)]
        n_answered = 0
        for client in clients:
            try:
                client.send("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
                n_answered += client.reply().status == 200
            except (Closed, ConnectionError):
                pass
        self.assertEqual(n_answered, 236)
        for client in clients:
            client.socket.close()
        self.assertEqual(server.stop(), (0, ""))
        self.assertIn("room for 236 connections", server.output)


class Limits(Case):
    ARGS = ("--max-connections", "8")

    def test_connections_beyond_the_limit_are_closed(self):
        clients = [self.server.connect() for _ in range(8)]
        for client in clients:
            client.send("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertEqual(client.reply().status, 200)
        with self.server.connect() as further:
            self.assertTrue(further.is_closed())
        for client in clients:
            client.socket.close()

        def accepts():
            try:
                return self.exchange(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n").status == 200
            except Closed:
                return False
        self.server.until(accepts, "room for connections")


class Drain(unittest.TestCase):
    def test_a_finished_reply_is_sent_whole(self):
        server = Server()
        with server.connect(receive_bytes=4096) as client:
            client.send(post({"input": ["x"] * 1000}, "/v1/embeddings"))
            status, headers = client.head()
            self.assertEqual(status, 200)
            server.process.send_signal(signal.SIGTERM)
            server.until(lambda: not self.accepts(server), "the port to close")
            body = client.take(int(headers["content-length"]))
            self.assertEqual(len(json.loads(body)["data"]), 1000)
        self.assertEqual(server.stop(), (0, ""))

    def test_what_is_cut_off_at_the_end_of_the_time_is_told_so(self):
        server = Server("--drain-timeout-ms", "50")
        long = {**CHAT, "n": 8, "ignore_eos": True}
        with server.connect() as stream, server.connect() as whole:
            stream.send(post({**long, "stream": True}))
            whole.send(post(long))
            stream.head()
            server.until(lambda: server.metric("vllm:num_requests_running") == 16, "both requests")
            server.process.send_signal(signal.SIGTERM)
            events = b"".join(stream.chunks())  # to the last chunk
            self.assertEqual(json.loads(events.rstrip().rsplit(b"data: ", 1)[1])["error"]["code"], "shutting_down")
            reply = whole.reply()
            self.assertEqual((reply.status, reply.json()["error"]["code"]), (503, "shutting_down"))
        code, stderr = server.ended()
        self.assertEqual(code, 1)
        self.assertIn("2 requests were cut off", stderr)

    def test_what_is_half_sent_is_not_waited_for(self):
        server = Server("--drain-timeout-ms", "3600000", "--body-timeout-ms", "3600000")
        halves = [post(CHAT)[:-5], post(CHAT)[:30]]
        clients = [server.connect() for _ in halves]
        for client, half in zip(clients, halves):
            client.send(half)
        server.until(lambda: server.metric("realizar_connections") == 3, "both requests' beginnings")
        server.process.send_signal(signal.SIGTERM)
        self.assertEqual(server.ended(), (0, ""))
        for client in clients:
            client.socket.close()

    def test_a_body_may_come_after_its_request_was_cut_off(self):
        server = Server("--drain-timeout-ms", "50")
        with server.connect() as client:
            client.send(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n"
                        b"Expect: 100-continue\r\n\r\n")
            self.assertEqual(client.head()[0], 100)
            server.process.send_signal(signal.SIGTERM)
            self.assertEqual(client.reply().json()["error"]["code"], "shutting_down")
            client.send(b"{}")
        code, stderr = server.ended()
        self.assertEqual(code, 1)
        self.assertIn("1 requests were cut off", stderr)

    def test_a_hangup_drains(self):
        server = Server()
        with server.connect() as client:
            client.send(post({**CHAT, "stream": True}))
            client.head()
            server.process.send_signal(signal.SIGHUP)
            self.assertIn(b"[DONE]", b"".join(client.chunks()))
        self.assertEqual(server.ended(), (0, ""))

    def test_a_second_signal_ends_it_at_once_whatever_is_under_way(self):
        """Requests run, wait, arrive and are half sent."""
        for second in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            server = Server("--max-queue", "1000")
            clients = [server.connect() for _ in range(60)]
            for i, client in enumerate(clients):
                client.send(post(LONG) if i % 2 else post(CHAT)[:-1 - i])
            clients[1].head()
            server.process.send_signal(signal.SIGTERM)
            server.until(lambda: not self.accepts(server), "the port to close")
            server.process.send_signal(second)
            self.assertEqual(server.ended(), (1, ""), "not everything was served")
            for client in clients:
                client.socket.close()

    @staticmethod
    def accepts(server):
        try:
            server.connect().socket.close()
            return True
        except OSError:
            return False


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    REALIZAR = sys.argv.pop(1)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, 4096), hard), hard))
    unittest.main()
