"""Servers that imitate Hugging Face's hub, its CDN and Ollama's registry, and misbehave as a test requires. They follow
the public behaviour: the hub's API with `sha`, the tree with `lfs` hashes, resolve URLs that redirect to another host,
the registry's manifests and blobs."""
import contextlib
import hashlib
import http.server
import json
import ssl
import subprocess
import threading
import urllib.parse

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def git_sha1(data):
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


class Hub:
    """The servers' data and history. A fault is a function of (handler, stage, data) that answers instead of the server
    and then returns True; stages: search, info, tree, resolve, manifest, blob."""

    def __init__(self, certificate=None):
        self.repos, self.blobs, self.manifests, self.links = {}, {}, {}, {}
        self.downloads, self.parameters = {}, {}  # of repositories that a search finds
        self.token = None  # for gated repositories
        self.fault = None
        self.requests = []  # (stage, path, headers)
        self.n_sent = {}  # bytes of each file, by its object's id
        self.lock = threading.Lock()
        self.ends = threading.Event()
        self.servers = [self.serve(certificate), self.serve(certificate)]
        scheme = "https" if certificate else "http"
        # Two names of one machine are two hosts to clients that keep tokens to a host.
        self.url = f"{scheme}://127.0.0.1:{self.servers[0].server_port}"
        self.cdn = f"{scheme}://localhost:{self.servers[1].server_port}"

    def serve(self, certificate):
        hub = self

        class Handler(Answers):
            state = hub
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return server

    def close(self):
        self.ends.set()
        for server in self.servers:
            server.shutdown()
            server.server_close()

    def at(self, stage=None):
        """Decorates a function of (handler, data) that answers at this or every stage; if it returns False, the server
        does."""
        def use(answer):
            self.fault = lambda handler, at, data: stage in (None, at) and answer(handler, data) is not False
            return answer
        return use

    def add_repo(self, name, files, small=()):
        """Files in LFS, except for those in `small`."""
        self.repos[name] = dict(files)
        self.small = set(small)
        for data in files.values():
            self.blobs[sha256(data)] = data

    def add_ollama(self, name, layers):
        rows = []
        for kind, data in layers:
            self.blobs[sha256(data)] = data
            rows.append({"mediaType": f"application/vnd.ollama.image.{kind}", "digest": f"sha256:{sha256(data)}", "size": len(data)})
        self.manifests[name] = json.dumps({"schemaVersion": 2, "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
                                           "config": {"mediaType": "application/vnd.docker.container.image.v1+json",
                                                      "digest": "sha256:" + "0" * 64, "size": 2}, "layers": rows}).encode()

    def stages(self):
        with self.lock:
            return [stage for stage, _, _ in self.requests]

    def headers_of(self, stage):
        with self.lock:
            return [headers for one, _, headers in self.requests if one == stage]

    def sent(self, data):
        with self.lock:
            return self.n_sent.get(id(self.blobs.get(sha256(data), data)), 0)


class Answers(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    state = None

    def log_message(self, *args):
        pass

    def handle(self):
        # Clients that are killed leave their connections as they are.
        with contextlib.suppress(ConnectionError, ssl.SSLError, TimeoutError):
            super().handle()

    def reply(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in {"Content-Length": len(body), **headers}.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        path = urllib.parse.urlsplit(self.path).path
        parts = urllib.parse.unquote(path).strip("/").split("/")
        stage, data = self.find(parts)
        with self.state.lock:
            self.state.requests.append((stage, self.path, dict(self.headers)))
        if self.state.fault and self.state.fault(self, stage, data):
            return
        if stage == "none":
            return self.reply(404, b"Not Found")
        if stage in ("info", "tree", "resolve") and self.state.token:
            if self.headers.get("Authorization") != f"Bearer {self.state.token}":
                return self.reply(401, b"{}", X_Error_Message="Access to this model is restricted")
        if stage == "resolve" and data is not None and parts[-1] not in self.state.small:
            return self.reply(302, Location=f"{self.state.cdn}/cdn/{sha256(data)}?sig=secret", X_Repo_Commit=COMMIT,
                              X_Linked_Etag=f'"{sha256(data)}"', X_Linked_Size=len(data))
        if stage in ("search", "info", "tree", "manifest"):
            return self.reply(200, data, Content_Type="application/json")
        return self.send_file(data)

    def find(self, parts):
        state = self.state
        if parts == ["api", "models"]:
            return "search", json.dumps(self.found()).encode()
        if parts[:2] == ["api", "models"] and len(parts) >= 5:
            files = state.repos.get("/".join(parts[2:4]))
            if files is None:
                return "none", None
            if parts[4] == "revision":
                return "info", json.dumps({"id": "/".join(parts[2:4]), "sha": COMMIT, "gated": bool(state.token)}).encode()
            return "tree", json.dumps([self.entry(name, data) for name, data in files.items()]).encode()
        if len(parts) >= 5 and parts[2] == "resolve":
            data = state.repos.get("/".join(parts[:2]), {}).get("/".join(parts[4:]))
            return ("none", None) if data is None else ("resolve", data)
        if parts[:1] == ["cdn"]:
            return "blob", state.blobs[parts[1]]
        if parts[:1] == ["v2"] and parts[3] == "manifests":
            manifest = state.manifests.get(f"{parts[1]}/{parts[2]}:{parts[4]}")
            return ("none", None) if manifest is None else ("manifest", manifest)
        if parts[:1] == ["v2"]:
            return "blob", state.blobs[parts[4].removeprefix("sha256:")]
        if parts[-1] in state.links:
            return "blob", state.links[parts[-1]]
        return "none", None

    def found(self):
        """The repositories that the query matches."""
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
        words = query["search"][0].lower().split()
        names = [name for name in self.state.repos if all(word in name.lower() for word in words)]
        names.sort(key=lambda name: -self.state.downloads.get(name, 0))
        more = set(query.get("expand", []))
        return [{"id": name, "modelId": name,
                 **({"downloads": self.state.downloads[name]} if "downloads" in more and name in self.state.downloads else {}),
                 **({"gguf": {"total": self.state.parameters[name], "architecture": "llama"}}
                    if "gguf" in more and name in self.state.parameters else {})}
                for name in names[:int(query["limit"][0])]]

    def entry(self, name, data):
        entry = {"type": "file", "oid": git_sha1(data), "size": len(data), "path": name}
        if name not in self.state.small:
            entry["lfs"] = {"oid": sha256(data), "size": len(data), "pointerSize": 134}
        return entry

    def wanted(self, data):
        """First byte and end, and whether a range was requested."""
        given = self.headers.get("Range", "")
        if not given.startswith("bytes=") or self.headers.get("If-Range", self.etag(data)) != self.etag(data):
            return 0, len(data), False
        first, last = given.removeprefix("bytes=").split("-")
        return int(first), min(int(last) + 1, len(data)), True

    @staticmethod
    def etag(data):
        return f'"{sha256(data)[:16]}"'

    def head(self, data, first, end, is_range, **changed):
        headers = {"Content-Length": end - first, "ETag": self.etag(data)}
        if is_range:
            headers["Content-Range"] = f"bytes {first}-{end - 1}/{len(data)}"
        self.send_response(206 if is_range else 200)
        for name, value in {**headers, **{k.replace("_", "-"): v for k, v in changed.items()}}.items():
            self.send_header(name, str(value))
        self.end_headers()

    def send_bytes(self, data, first, end):
        step = 1 << 16
        for at in range(first, end, step):
            piece = data[at:min(at + step, end)]
            self.wfile.write(piece)
            with self.state.lock:
                self.state.n_sent[id(data)] = self.state.n_sent.get(id(data), 0) + len(piece)

    def send_file(self, data, changed_bytes=None, **changed):
        first, end, is_range = self.wanted(data)
        self.head(data, first, end, is_range, **changed)
        self.send_bytes(changed_bytes or data, first, end)

    def drop(self):
        self.close_connection = True
        self.connection.close()
        return True


def make_certificate(folder):
    """A self-signed certificate for both names."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", "/CN=hub", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", str(key),
                    "-out", str(certificate)], check=True, capture_output=True)
    return certificate, key
