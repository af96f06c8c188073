"""Shared parts of the server's tests: a server, a client that sends and reads raw bytes, and a test case with both."""
import json
import pathlib
import re
import resource
import signal
import socket
import subprocess
import unittest

from bundled import ANSWER, CHAT, MODEL, ROOT
from program import REALIZAR
import waiting
from waiting import DEADLINE_S, ONE_THREAD

PAGE = ROOT / "web/page/index.html"
PAGE_PARTS = sorted(PAGE.parent.glob("*.js"))
LONG = {**CHAT, "n": 64, "stream": True, "ignore_eos": True, "logprobs": True, "top_logprobs": 20}
# With such a context, no request ends by itself during a test.
LONG_CONTEXT = ("--ctx", "32000")
ENDLESS = {**CHAT, "temperature": 1, "seed": 1, "stream": True, "ignore_eos": True, "max_tokens": 30_000}


class Server:
    def __init__(self, *args, model=None, limits=None):
        """`limits`: of the process, {resource: (soft, hard)}."""
        def set_up():
            # nohup ignores one of them, a shell that starts something in the background the other, and the tests
            # inherit this.
            for number in (signal.SIGHUP, signal.SIGINT):
                signal.signal(number, signal.SIG_DFL)
            for name, values in (limits or {}).items():
                resource.setrlimit(name, values)
        self.process = subprocess.Popen([REALIZAR, "serve", model or MODEL, "--port", "0", *ONE_THREAD, *args], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, preexec_fn=set_up,
                                        bufsize=0)  # communicate() would miss what readline() has read ahead
        self.output = line = self.process.stdout.readline().decode()
        while line and "realizar listens" not in line:
            line = self.process.stdout.readline().decode()
            self.output += line
        self.port = int(re.search(r":(\d+), model", line).group(1))
        self.until(lambda: self.get("/readyz").status == 200, "the model")

    def connect(self, **options):
        return Client(self.port, **options)

    def connect_served(self):
        """A connection that is served; None if there are too many."""
        client = self.connect()
        try:
            client.send("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert client.reply().status == 200
            return client
        except (Closed, ConnectionError):
            client.socket.close()
            return None

    def exchange(self, data):
        """The reply to one request."""
        with self.connect() as client:
            client.send(data)
            return client.reply()

    def get(self, path, *headers):
        lines = [f"GET {path} HTTP/1.1", "Host: localhost", "Connection: close", *headers, "", ""]
        return self.exchange("\r\n".join(lines))

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
        """Limits the process's memory to this much more than it has; None: unlimited."""
        most = resource.RLIM_INFINITY if spare_mb is None else (self.status_value("VmSize") << 10) + (spare_mb << 20)
        resource.prlimit(self.process.pid, resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))

    until = staticmethod(waiting.until)

    def stop(self):
        """Ends it; returns its exit code and its stderr."""
        self.process.send_signal(signal.SIGTERM)
        return self.ended()

    def ended(self):
        """Waits for its end after it was told to end: a second signal would end it at once."""
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
    """One connection; reads replies according to HTTP/1.1."""

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
        """All data until the server closes."""
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
        self.assertEqual(self.server.exchange(post(CHAT)).answer(), ANSWER)

    def exchange(self, data):
        return self.server.exchange(data)


def is_sanitized():
    """Such a program needs more addresses than a limit leaves it, keeps freed memory, and is slow."""
    program = pathlib.Path(REALIZAR).read_bytes()
    return b"__tsan_init" in program or b"__asan_init" in program


def main():
    """Runs the tests of a program that opens many connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, 4096), hard), hard))
    unittest.main(module="__main__")
