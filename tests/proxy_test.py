#!/usr/bin/env python3
"""The server behind nginx and HAProxy, with the configurations in deploy/. Usage: proxy_test.py REALIZAR.

Exits with 77, which ctest shows as skipped, if neither proxy is installed."""
import json
import shutil
import signal
import sys
import threading
import unittest

from folders import temp_folder
from program import REALIZAR
from proxy_rig import FakeServer, HaProxy, Nginx, Server, connect, free_port, get, make_certificate, post, send
from waiting import DEADLINE_S, until, whole_lines

SKIPPED = 77
ENDLESS = 8000  # tokens: minutes of generating with the reference backend


def ask_for_stream(connection, max_tokens):
    send(connection, "/v1/chat/completions", {"messages": [{"role": "user", "content": "Tell me a story."}],
                                              "max_tokens": max_tokens, "ignore_eos": True, "stream": True})


class Scripted(FakeServer):
    """Answers every POST with a stream: an event, and the next one after that has arrived."""
    N_EVENTS = 200

    def __init__(self):
        self.arrived = threading.Semaphore(0)
        super().__init__()

    def answer(self, handler):
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        for n in range(Scripted.N_EVENTS):
            self.write_chunk(handler, b"data: %d\n\n" % n)
            self.arrived.acquire()
        self.write_chunk(handler, b"")

    @staticmethod
    def write_chunk(handler, data):
        handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))


class Behind:
    """Tests for any proxy. A subclass sets it."""
    start_proxy = None

    def setUp(self):
        path = temp_folder(self)
        path.chmod(0o755)  # nginx's workers are another user
        self.tls = make_certificate(path)
        self.folder, self.http_port, self.port = path, free_port(), free_port()
        self.server = Server(REALIZAR)
        self.addCleanup(lambda: self.server.stop())
        self.start_over([self.server])

    def end_proxy(self):
        self.proxy.terminate()
        self.proxy.wait()

    def start_over(self, servers):
        self.proxy = self.start_proxy(self.folder, servers, self.http_port, self.port).process
        self.addCleanup(self.end_proxy)
        until(lambda: self.status("/readyz") == 200, "the proxy is ready")

    def status(self, path):
        self.assertIsNone(self.proxy.poll(), "the proxy has ended")
        return get(self.port, path, self.tls)[0]

    def stream(self, max_tokens):
        """An open stream of exactly this many tokens, already begun: (connection, answer)."""
        connection = connect(self.port, self.tls)
        self.addCleanup(connection.close)
        ask_for_stream(connection, max_tokens)
        answer = connection.getresponse()
        self.assertEqual(answer.status, 200)
        self.assertIn("text/event-stream", answer.getheader("Content-Type"))
        answer.readline()
        return connection, answer

    def test_a_stream_arrives_whole(self):
        _, answer = self.stream(300)
        text = answer.read()
        self.assertIn(b"data: [DONE]\n\n", text)
        self.assertGreater(text.count(b"data: {"), 100)

    def test_each_event_arrives_before_the_next_is_made(self):
        """A server that sends an event after the previous one has arrived: a proxy that holds events back ends the
        stream."""
        with Scripted() as scripted:
            self.end_proxy()
            self.start_over([scripted])
            connection = connect(self.port, self.tls)
            self.addCleanup(connection.close)
            ask_for_stream(connection, Scripted.N_EVENTS)
            answer = connection.getresponse()
            for n in range(Scripted.N_EVENTS):
                self.assertEqual(answer.readline(), b"data: %d\n" % n)
                self.assertEqual(answer.readline(), b"\n")
                scripted.arrived.release()
            self.assertEqual(answer.read(), b"")

    def test_a_client_that_leaves_frees_its_place(self):
        connection, answer = self.stream(ENDLESS)
        self.assertEqual(self.server.n_running(), 1, "it has begun and not ended")
        answer.close()
        connection.close()
        until(lambda: self.server.n_running() == 0, "the client's request has ended")
        until(lambda: self.server.n_aborted() == 1, "an aborted request")

    def test_a_client_that_leaves_before_the_first_byte_frees_its_place(self):
        connection = connect(self.port, self.tls)
        send(connection, "/v1/completions", {"prompt": "Once upon a time", "max_tokens": ENDLESS, "ignore_eos": True})
        until(lambda: self.server.n_running() == 1, "the request runs")
        connection.close()
        until(lambda: self.server.n_running() == 0, "the client's request has ended")
        until(lambda: self.server.n_aborted() == 1, "an aborted request")

    def test_large_bodies_pass_both_ways(self):
        connection = connect(self.port, self.tls)
        self.addCleanup(connection.close)
        body = {"input": ["x"] * 1000, "user": "all work and no play " * 250_000}  # 5 MB
        answer = post(connection, "/v1/embeddings", body)
        self.assertEqual(answer.status, 200)
        self.assertEqual(len(json.loads(answer.read())["data"]), 1000)

    def test_connections_to_the_server_are_reused(self):
        for _ in range(20):
            connection = connect(self.port, self.tls)
            answer = post(connection, "/tokenize", {"prompt": "Hello"})
            self.assertEqual(answer.status, 200)
            answer.read()
            connection.close()
        # The asking connection, and the proxy's idle ones.
        self.assertIn(self.server.metric("realizar_connections"), range(2, 10))

    def test_a_server_that_shuts_down_ends_its_stream_and_gets_nothing_new(self):
        _, answer = self.stream(400)
        self.server.process.send_signal(signal.SIGTERM)
        self.assertIn(b"data: [DONE]", answer.read())
        self.assertEqual(self.server.process.wait(timeout=DEADLINE_S), 0)
        until(lambda: self.status("/readyz") in (502, 503), "the proxy knows")
        port = self.server.port
        self.server.stop()
        self.server = Server(REALIZAR, port)
        until(lambda: self.status("/readyz") == 200, "the proxy knows of the new one")

    def test_no_client_notices_that_one_of_two_servers_shuts_down(self):
        second = Server(REALIZAR)
        self.addCleanup(second.stop)
        self.end_proxy()
        self.start_over([self.server, second])
        self.server.process.send_signal(signal.SIGTERM)
        self.complete(50)  # the first one may get some of these before it receives the signal
        until(lambda: get(self.server.port, "/livez")[0] == 0, "the port to close")
        before = second.metric("vllm:request_success_total")
        self.complete(50)
        self.assertEqual(second.metric("vllm:request_success_total"), before + 50)
        self.assertEqual(self.server.process.wait(timeout=DEADLINE_S), 0)

    def test_the_server_knows_its_clients(self):
        log = self.folder / "access.log"
        server = Server(REALIZAR, 0, "--trusted-proxy", "127.0.0.1", "--access-log", str(log))
        self.addCleanup(server.stop)
        self.end_proxy()
        self.start_over([server])
        connection = connect(self.port, self.tls, "127.0.0.9")
        self.addCleanup(connection.close)
        send(connection, "/tokenize", {"prompt": "Hello"}, {"X-Forwarded-For": "6.6.6.6"})  # which is not trusted
        self.assertEqual(connection.getresponse().status, 200)
        lines = until(lambda: [line for line in whole_lines(log) if "/tokenize" in line], "the request's line")
        line = json.loads(lines[0])
        self.assertEqual((line["peer"], line["proxy"]), ("127.0.0.9", "127.0.0.1"))

    def complete(self, n):
        """This many requests, which must all succeed."""
        for _ in range(n):
            connection = connect(self.port, self.tls)
            answer = post(connection, "/v1/completions", {"prompt": "Once", "max_tokens": 1})
            self.assertEqual(answer.status, 200)
            answer.read()
            connection.close()

    def test_plain_http_is_sent_to_https_and_metrics_stay_inside(self):
        self.assertEqual(get(self.http_port, "/v1/models")[0], 301)
        self.assertEqual(self.status("/v1/models"), 200)
        for path in ["/metrics", "/metrics/", "/metrics/history", "//metrics", "/metrics//history", "/%6detrics",
                     "/v1/metrics", "/v1/metrics/history", "/v1//metrics", "//v1/metrics/", "/v1/../metrics"]:
            self.assertIn(self.status(path), (400, 404), path)
        for path in ["/v1/slots", "/v1/props", "/v1/mcp", "/v1/api/tags", "/v1/lora-adapters"]:
            self.assertEqual(self.status(path), 404, path)


@unittest.skipUnless(shutil.which("nginx"), "nginx is not installed")
class BehindNginx(Behind, unittest.TestCase):
    start_proxy = Nginx


@unittest.skipUnless(shutil.which("haproxy"), "haproxy is not installed")
class BehindHaProxy(Behind, unittest.TestCase):
    start_proxy = HaProxy


if __name__ == "__main__":
    missing = [name for name in ["nginx", "haproxy", "openssl"] if not shutil.which(name)]
    if "openssl" in missing or len(missing) == 2:
        print(f"skipped: not installed: {', '.join(missing)}")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
