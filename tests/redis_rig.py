"""A Redis for tests: Debian's redis-server on loopback, or a fake one that gives wrong replies, stalls and dies as
required."""
import pathlib
import shutil
import signal
import socket
import socketserver
import subprocess
import tempfile
import threading

from waiting import DEADLINE_S, until

PROGRAM = shutil.which("redis-server")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def encoded(*parts):
    parts = [part if isinstance(part, bytes) else str(part).encode() for part in parts]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)


class Redis:
    """`args`: further ones for redis-server. The port stays the same when it is restarted."""

    def __init__(self, *args, port=None, tls=None):
        self.folder = tempfile.TemporaryDirectory()
        self.args, self.tls, self.process = args, tls, None
        self.port = port or free_port()
        self.start()

    def start(self):
        own = ["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", self.folder.name]
        if self.tls:
            own += ["--port", "0", "--tls-port", str(self.port), "--tls-auth-clients", "no",
                    "--tls-cert-file", self.tls[0], "--tls-key-file", self.tls[1]]
        else:
            own += ["--port", str(self.port)]
        self.process = subprocess.Popen([PROGRAM, *own, *map(str, self.args)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(self.listens, "redis-server")

    def listens(self):
        assert self.process.poll() is None, "redis-server ended"
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def ask(self, *parts):
        """The bytes of a short reply."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=DEADLINE_S) as connection:
            connection.sendall(encoded(*parts))
            return connection.recv(1 << 16)

    def n_keys(self):
        return int(self.ask("DBSIZE")[1:])

    def kill(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait(timeout=DEADLINE_S)

    def close(self):
        self.kill()
        self.folder.cleanup()


class FakeRedis:
    """Stores what it is sent. `reply_to(command, reply)`, if set, returns other bytes for a reply, parts of them one
    after the other, or None: the connection is closed. It may wait."""

    def __init__(self):
        self.values, self.reply_to, self.n_asked = {}, None, {}
        fake = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                try:
                    while command := fake.read_command(self.rfile):
                        reply = fake.answer(command)
                        if fake.reply_to:
                            reply = fake.reply_to(command, reply)
                        if reply is None:
                            return
                        for part in [reply] if isinstance(reply, bytes) else reply:
                            self.wfile.write(part)
                except (OSError, ValueError):
                    pass  # the other side has left

        socketserver.ThreadingTCPServer.allow_reuse_address = True
        self.server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    @staticmethod
    def read_command(file):
        head = file.readline()
        if not head:
            return None
        parts = []
        for _ in range(int(head[1:])):
            n_bytes = int(file.readline()[1:])
            parts.append(file.read(n_bytes + 2)[:-2])
        return parts

    def answer(self, command):
        name = command[0].decode()
        self.n_asked[name] = self.n_asked.get(name, 0) + 1
        if name == "EXISTS":
            return b":%d\r\n" % (command[1] in self.values)
        if name == "MGET":
            return b"*%d\r\n" % len(command[1:]) + b"".join(self.text(self.values.get(key)) for key in command[1:])
        if name == "SET":
            self.values[command[1]] = command[2]
        if name == "UNLINK":
            return b":%d\r\n" % (self.values.pop(command[1], None) is not None)
        return b"+PONG\r\n" if name == "PING" else b"+OK\r\n"

    @staticmethod
    def text(value):
        return b"$-1\r\n" if value is None else b"$%d\r\n%s\r\n" % (len(value), value)

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def certificate(folder):
    """A self-signed certificate for 127.0.0.1, and its key."""
    folder = pathlib.Path(folder)
    cert, key = folder / "redis.crt", folder / "redis.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", "/CN=redis", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)],
                   check=True, capture_output=True)
    return str(cert), str(key)
