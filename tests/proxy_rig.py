"""Servers and proxies for the tests, each on an address reserved for this process."""
import http.client
import http.server
import json
import os
import re
import socket
import ssl
import subprocess
import threading

from bundled import ROOT
from waiting import DEADLINE_S, until

# The change for deploy/haproxy.cfg to distribute requests in turn.
ROUND_ROBIN = {"balance hash var(txn.conversation)": "balance roundrobin", "  hash-type consistent\n": "",
               "  hash-balance-factor 200\n": ""}
# An address for this process alone: a free port there stays free, since nobody else listens.
ADDRESS = f"127.{64 + (os.getpid() >> 16) % 64}.{os.getpid() >> 8 & 255}.{os.getpid() & 255}"

os.environ["PATH"] += ":/usr/sbin:/sbin"  # Debian's folder of daemons


def free_port():
    with socket.socket() as probe:
        probe.bind((ADDRESS, 0))
        return probe.getsockname()[1]


def get(port, path, tls=None):
    """Status and body, or (0, "") if there is no answer."""
    connection = connect(port, tls)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    except (OSError, http.client.HTTPException):
        return 0, ""
    finally:
        connection.close()


def connect(port, tls=None, source=None):
    """`source`: the client's address."""
    source = source and (source, 0)
    if tls is None:
        return http.client.HTTPConnection(ADDRESS, port, timeout=DEADLINE_S, source_address=source)
    return http.client.HTTPSConnection(ADDRESS, port, timeout=DEADLINE_S, source_address=source, context=tls)


def send(connection, path, body, headers=()):
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json", **dict(headers)})


def post(connection, path, body):
    send(connection, path, body)
    return connection.getresponse()


class Server:
    """A `program` on a free port, or on `port`, ready."""

    def __init__(self, program, port=0, *args, model="realizar-tiny", backend="reference", ctx=8192, kv_tokens=16384):
        self.process = subprocess.Popen([program, "serve", model, "--host", ADDRESS, "--port", str(port),
                                         "--backend", backend, "--ctx", str(ctx), "--kv-tokens", str(kv_tokens),
                                         "--drain-timeout-ms", "600000", *args], stdout=subprocess.PIPE, text=True)
        self.port = int(re.search(r":(\d+),", self.process.stdout.readline())[1])
        until(lambda: get(self.port, "/readyz")[0] == 200, "the server is ready")

    def metric(self, name, label=""):
        """The sum over all samples of `name` with `label`; 0 without samples."""
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


class FakeServer:
    """A server that is ready, and answers every POST as `answer` of its subclass does, after its body was read."""

    def __init__(self):
        fake = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                fake.answer(self)

        self.server = http.server.ThreadingHTTPServer((ADDRESS, 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # the proxy resets the connections of its checks
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def make_certificate(folder):
    """fullchain.pem and privkey.pem for this process's address, and the context of clients that trust it."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                    "-addext", f"subjectAltName=IP:{ADDRESS}", "-keyout", folder / "privkey.pem",
                    "-out", folder / "fullchain.pem"], check=True, capture_output=True)
    return ssl.create_default_context(cafile=folder / "fullchain.pem")


def substituted(path, replacements):
    """The text of a configuration in deploy/. Every replaced text must be in it."""
    text = (ROOT / "deploy" / path).read_text()
    for old, new in replacements.items():
        if old not in text:
            raise AssertionError(f"{path} has no '{old}'")
        text = text.replace(old, new)
    return text


class Nginx:
    def __init__(self, folder, servers, http_port, https_port):
        replacements = {"127.0.0.1:8080": f"{ADDRESS}:{servers[0].port}", "listen 80": f"listen {ADDRESS}:{http_port}",
                        "listen 443": f"listen {ADDRESS}:{https_port}", "  listen [::]:80;\n": "",
                        "  listen [::]:443 ssl http2;\n": "", "/etc/ssl/realizar": str(folder)}
        if len(servers) == 2:
            replacements["# server 10.0.0.12:8080"] = f"server {ADDRESS}:{servers[1].port}"
        (folder / "site.conf").write_text(substituted("nginx.conf", replacements))
        temporary = "".join(f"{kind}_temp_path {folder}/{kind};\n"
                            for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"])
        main = folder / "nginx.conf"
        main.write_text(f"pid {folder}/pid;\nerror_log {folder}/error.log;\nevents {{}}\n"
                        f"http {{\naccess_log off;\n{temporary}include {folder}/site.conf;\n}}\n")
        self.process = subprocess.Popen(["nginx", "-p", folder, "-e", folder / "error.log", "-c", main,
                                         "-g", "daemon off;"])


class HaProxy:
    """`changes`: further replacements in its configuration."""

    def __init__(self, folder, servers, http_port, https_port, changes=()):
        chain = (folder / "fullchain.pem").read_text() + (folder / "privkey.pem").read_text()
        (folder / "both.pem").write_text(chain)
        self.socket = folder / "admin.sock"
        replacements = {"127.0.0.1:8080": f"{ADDRESS}:{servers[0].port}", "bind :80": f"bind {ADDRESS}:{http_port}",
                        "bind :443": f"bind {ADDRESS}:{https_port}", "/etc/haproxy/realizar.pem": f"{folder}/both.pem",
                        "/run/haproxy/admin.sock": f"{self.socket}", "  user haproxy\n": "",
                        "  group haproxy\n": "", "  log /dev/log local0\n": "", **dict(changes)}
        others = [f"server {self.name(idx)} {ADDRESS}:{server.port}" for idx, server in enumerate(servers) if idx > 0]
        if others:
            replacements["# server two 10.0.0.12:8080"] = "\n  ".join(others)
        (folder / "haproxy.cfg").write_text(substituted("haproxy.cfg", replacements))
        self.process = subprocess.Popen(["haproxy", "-q", "-db", "-f", folder / "haproxy.cfg"])

    @staticmethod
    def name(idx):
        names = ["one", "two", "three", "four"]
        return names[idx] if idx < len(names) else f"server{idx + 1}"

    def ask(self, command):
        """The answer on the administrator's socket."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(self.socket))
            connection.sendall(command.encode() + b"\n")
            return b"".join(iter(lambda: connection.recv(65536), b"")).decode()

    def statistics(self):
        """The fields of each server by its name."""
        lines = self.ask("show stat realizar 4 -1").strip().splitlines()
        names = lines[0].removeprefix("# ").split(",")
        return {row["svname"]: row for row in (dict(zip(names, line.split(","))) for line in lines[1:])}

    def n_open(self):
        """The number of requests on servers."""
        return sum(int(row["scur"]) for row in self.statistics().values())
