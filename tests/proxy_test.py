#!/usr/bin/env python3
"""The server behind nginx and HAProxy, with the configurations that deploy/ offers. Usage: proxy_test.py REALIZAR.

Exits with 77, which ctest shows as skipped, where neither proxy is installed."""
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
REALIZAR = ""
SKIPPED = 77
DEADLINE_S = 60
LONG = 900  # tokens: seconds of generating with the reference backend, so that what is seen meanwhile is no lump

os.environ["PATH"] += ":/usr/sbin:/sbin"  # where Debian keeps daemons


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(is_true, what):
    end = time.monotonic() + DEADLINE_S
    while not is_true():
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {DEADLINE_S} s")
        time.sleep(0.01)


def get(port, path, tls=None):
    """Status and body, or (0, "") where nobody answers."""
    connection = connect(port, tls)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    except (OSError, http.client.HTTPException):
        return 0, ""
    finally:
        connection.close()


def connect(port, tls=None):
    if tls is None:
        return http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE_S)
    return http.client.HTTPSConnection("127.0.0.1", port, timeout=DEADLINE_S, context=tls)


def send(connection, path, body):
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})


def post(connection, path, body):
    send(connection, path, body)
    return connection.getresponse()


def ask_for_stream(connection, max_tokens):
    send(connection, "/v1/chat/completions", {"messages": [{"role": "user", "content": "Tell me a story."}],
                                              "max_tokens": max_tokens, "ignore_eos": True, "stream": True})


class Server:
    """realizar on a free port, or on `port`, ready."""

    def __init__(self, port=0):
        self.process = subprocess.Popen([REALIZAR, "serve", "realizar-tiny", "--port", str(port), "--backend", "reference"],
                                        stdout=subprocess.PIPE, text=True)
        self.port = int(re.search(r":(\d+),", self.process.stdout.readline())[1])
        wait_until(lambda: get(self.port, "/readyz")[0] == 200, "the server is ready")

    def metric(self, name, label=""):
        """The sum over all samples of `name` that have `label`; 0 where there is none."""
        status, text = get(self.port, "/metrics")
        if status != 200:
            raise AssertionError(f"/metrics answered {status}")
        return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines()
                   if line.startswith(name) and label in line)

    def n_running(self):
        return self.metric("vllm:num_requests_running")

    def n_aborted(self):
        return self.metric("vllm:request_success_total", 'finished_reason="abort"')

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def substituted(path, replacements):
    """The text of a configuration in deploy/. What is to be replaced must be there."""
    text = (ROOT / "deploy" / path).read_text()
    for old, new in replacements.items():
        if old not in text:
            raise AssertionError(f"{path} has no '{old}'")
        text = text.replace(old, new)
    return text


class Nginx:
    def __init__(self, folder, servers, http_port, https_port):
        replacements = {"127.0.0.1:8080": f"127.0.0.1:{servers[0].port}", "listen 80": f"listen 127.0.0.1:{http_port}",
                        "listen 443": f"listen 127.0.0.1:{https_port}", "  listen [::]:80;\n": "",
                        "  listen [::]:443 ssl http2;\n": "", "/etc/ssl/realizar": str(folder)}
        if len(servers) == 2:
            replacements["# server 10.0.0.12:8080"] = f"server 127.0.0.1:{servers[1].port}"
        (folder / "site.conf").write_text(substituted("nginx.conf", replacements))
        temporary = "".join(f"{kind}_temp_path {folder}/{kind};\n"
                            for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"])
        main = folder / "nginx.conf"
        main.write_text(f"pid {folder}/pid;\nerror_log {folder}/error.log;\nevents {{}}\n"
                        f"http {{\naccess_log off;\n{temporary}include {folder}/site.conf;\n}}\n")
        self.process = subprocess.Popen(["nginx", "-p", folder, "-e", folder / "error.log", "-c", main,
                                         "-g", "daemon off;"])


class HaProxy:
    def __init__(self, folder, servers, http_port, https_port):
        chain = (folder / "fullchain.pem").read_text() + (folder / "privkey.pem").read_text()
        (folder / "both.pem").write_text(chain)
        replacements = {"127.0.0.1:8080": f"127.0.0.1:{servers[0].port}", "bind :80": f"bind 127.0.0.1:{http_port}",
                        "bind :443": f"bind 127.0.0.1:{https_port}", "/etc/haproxy/realizar.pem": f"{folder}/both.pem",
                        "/run/haproxy/admin.sock": f"{folder}/admin.sock", "  user haproxy\n": "",
                        "  group haproxy\n": "", "  log /dev/log local0\n": ""}
        if len(servers) == 2:
            replacements["# server two 10.0.0.12:8080"] = f"server two 127.0.0.1:{servers[1].port}"
        (folder / "haproxy.cfg").write_text(substituted("haproxy.cfg", replacements))
        self.process = subprocess.Popen(["haproxy", "-q", "-db", "-f", folder / "haproxy.cfg"])


class Behind:
    """What must hold behind any proxy. A subclass names it."""
    start_proxy = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name)
        path.chmod(0o755)  # nginx's workers are another user
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                        "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", path / "privkey.pem",
                        "-out", path / "fullchain.pem"], check=True, capture_output=True)
        self.tls = ssl.create_default_context(cafile=path / "fullchain.pem")
        self.folder, self.http_port, self.port = path, free_port(), free_port()
        self.server = Server()
        self.addCleanup(lambda: self.server.stop())
        self.start_over([self.server])

    def end_proxy(self):
        self.proxy.terminate()
        self.proxy.wait()

    def start_over(self, servers):
        self.proxy = self.start_proxy(self.folder, servers, self.http_port, self.port).process
        self.addCleanup(self.end_proxy)
        wait_until(lambda: self.status("/readyz") == 200, "the proxy is ready")

    def status(self, path):
        self.assertIsNone(self.proxy.poll(), "the proxy has ended")
        return get(self.port, path, self.tls)[0]

    def stream(self, max_tokens):
        """An open stream of exactly so many tokens, begun: (connection, answer)."""
        connection = connect(self.port, self.tls)
        self.addCleanup(connection.close)
        ask_for_stream(connection, max_tokens)
        answer = connection.getresponse()
        self.assertEqual(answer.status, 200)
        self.assertIn("text/event-stream", answer.getheader("Content-Type"))
        answer.readline()
        return connection, answer

    def test_events_arrive_while_the_server_still_generates(self):
        connection = connect(self.port, self.tls)
        self.addCleanup(connection.close)
        ask_for_stream(connection, LONG)
        records, arrivals = [], []  # what the proxy wrote at once
        while not records or not records[-1].endswith(b"0\r\n\r\n"):
            records.append(connection.sock.recv(1 << 16))
            self.assertTrue(records[-1], "the stream has an end")
            arrivals.append(time.monotonic())
            if len(records) == 3:
                self.assertEqual(self.server.n_running(), 1)
        text = b"".join(records)
        self.assertIn(b"data: [DONE]\n\n", text)
        n_events = text.count(b"data: {")
        self.assertGreater(n_events, LONG / 3)
        self.assertGreater(len(records), n_events / 3)
        first, middle, last = arrivals[0], arrivals[len(arrivals) // 2], arrivals[-1]
        self.assertGreater(last - middle, 0.2 * (last - first))
        self.assertGreater(middle - first, 0.2 * (last - first))

    def test_a_client_that_leaves_frees_its_place(self):
        connection, answer = self.stream(LONG)
        wait_until(lambda: self.server.n_running() == 1, "the request runs")
        answer.close()
        connection.close()
        wait_until(lambda: self.server.n_running() == 0, "the client's request has ended")
        self.assertEqual(self.server.n_aborted(), 1, get(self.server.port, "/metrics")[1])

    def test_a_client_that_leaves_before_the_first_byte_frees_its_place(self):
        connection = connect(self.port, self.tls)
        send(connection, "/v1/completions", {"prompt": "Once upon a time", "max_tokens": LONG, "ignore_eos": True})
        wait_until(lambda: self.server.n_running() == 1, "the request runs")
        connection.close()
        wait_until(lambda: self.server.n_running() == 0, "the client's request has ended")
        self.assertEqual(self.server.n_aborted(), 1, get(self.server.port, "/metrics")[1])

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
        # This one that asks, and what the proxy keeps.
        self.assertIn(self.server.metric("realizar_connections"), range(2, 10))

    def test_a_server_that_shuts_down_ends_its_stream_and_gets_nothing_new(self):
        _, answer = self.stream(LONG // 2)
        self.server.process.send_signal(signal.SIGTERM)
        self.assertIn(b"data: [DONE]", answer.read())
        self.assertEqual(self.server.process.wait(timeout=DEADLINE_S), 0)
        wait_until(lambda: self.status("/readyz") in (502, 503), "the proxy knows")
        port = self.server.port
        self.server.stop()
        self.server = Server(port)
        wait_until(lambda: self.status("/readyz") == 200, "the proxy knows of the new one")

    def test_no_client_notices_that_one_of_two_servers_shuts_down(self):
        second = Server()
        self.addCleanup(second.stop)
        self.end_proxy()
        self.start_over([self.server, second])
        self.server.process.send_signal(signal.SIGTERM)
        for _ in range(100):
            connection = connect(self.port, self.tls)
            answer = post(connection, "/v1/completions", {"prompt": "Once", "max_tokens": 1})
            self.assertEqual(answer.status, 200)
            answer.read()
            connection.close()
        self.assertEqual(self.server.process.wait(timeout=DEADLINE_S), 0)
        self.assertEqual(second.metric("vllm:request_success_total"), 100)

    def test_plain_http_is_sent_to_https_and_metrics_stay_inside(self):
        self.assertEqual(get(self.http_port, "/v1/models")[0], 301)
        self.assertEqual(self.status("/v1/models"), 200)
        self.assertEqual(self.status("/metrics"), 404)
        self.assertEqual(self.status("/metrics/history"), 404)


@unittest.skipUnless(shutil.which("nginx"), "nginx is not installed")
class BehindNginx(Behind, unittest.TestCase):
    start_proxy = Nginx


@unittest.skipUnless(shutil.which("haproxy"), "haproxy is not installed")
class BehindHaProxy(Behind, unittest.TestCase):
    start_proxy = HaProxy


if __name__ == "__main__":
    REALIZAR = sys.argv.pop(1)
    missing = [name for name in ["nginx", "haproxy", "openssl"] if not shutil.which(name)]
    if "openssl" in missing or len(missing) == 2:
        print(f"skipped: not installed: {', '.join(missing)}")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
