#!/usr/bin/env python3
"""The server's access control, and that one client's requests do not harm others.
Usage: server_door_test.py REALIZAR."""
import gzip
import hashlib
import json
import os
import pathlib
import re
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest
import zlib

from folders import key_file, temp_folder
import server_rig
from server_rig import ANSWER, CHAT, Case, DEADLINE_S, ENDLESS, LONG_CONTEXT, MODEL, Server, is_sanitized, post
from waiting import whole_lines

KEY = "Authorization: Bearer right"


def start(*args, port="0"):
    """The process of a server that may end by itself."""
    return subprocess.Popen([server_rig.REALIZAR, "serve", MODEL, "--port", port, *args], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)


class Temporary(unittest.TestCase):
    def setUp(self):
        self.folder = temp_folder(self)

    def path(self, name):
        return str(self.folder / name)


class UnixSocket(Temporary):
    def serve(self, path):
        process = start("--host", path)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        line = process.stdout.readline().decode()
        while line and "realizar listens" not in line:
            line = process.stdout.readline().decode()
        return process, line

    def ask(self, path):
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(DEADLINE_S)
            client.connect(path)
            client.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            answer = b""
            while piece := client.recv(4096):
                answer += piece
            return answer

    def end(self, process):
        process.terminate()
        self.assertEqual(process.wait(DEADLINE_S), 0)

    def test_a_server_listens_at_a_path_and_leaves_it(self):
        path = self.path("serve.sock")
        process, line = self.serve(path)
        self.assertIn(f"listens on unix:{path},", line)
        self.assertTrue(self.ask(path).startswith(b"HTTP/1.1 200 OK"))
        second = start("--host", path)
        _, errors = second.communicate(timeout=DEADLINE_S)
        self.assertNotEqual(second.returncode, 0)
        self.assertIn(f"cannot listen on {path}: Address already in use", errors.decode())
        self.assertTrue(self.ask(path).startswith(b"HTTP/1.1 200 OK"))
        self.end(process)
        self.assertFalse(os.path.exists(path))

    def test_a_socket_left_behind_is_replaced_and_a_file_is_not(self):
        left, file = self.path("left.sock"), self.path("file")
        with socket.socket(socket.AF_UNIX) as old:
            old.bind(left)
        process, _ = self.serve(left)
        self.assertTrue(self.ask(left).startswith(b"HTTP/1.1 200 OK"))
        self.end(process)
        pathlib.Path(file).write_text("mine")
        refused = start("--host", file)
        _, errors = refused.communicate(timeout=DEADLINE_S)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn(f"cannot listen on {file}", errors.decode())
        self.assertEqual(pathlib.Path(file).read_text(), "mine")


class Keys(Case):
    """The key is checked when the header has arrived."""

    @classmethod
    def setUpClass(cls):
        cls.server = Server("--api-keys", key_file(temp_folder(cls) / "keys", "right\nother\n"))

    def tearDown(self):
        self.assertEqual(self.exchange(post(CHAT, "/v1/chat/completions", KEY)).answer(), ANSWER)

    def head(self, n_body_bytes, *headers):
        lines = ["POST /v1/chat/completions HTTP/1.1", "Host: localhost", f"Content-Length: {n_body_bytes}", *headers]
        return "\r\n".join(lines) + "\r\n\r\n"

    def test_a_wrong_key_is_refused_before_the_body(self):
        for key in [(), ("Authorization: Bearer wrong",), ("Authorization: Basic right",)]:
            with self.server.connect() as client:
                client.send(self.head(5_000_000, *key))
                reply = client.reply()
                self.assertEqual(reply.status, 401)
                self.assertEqual(reply.headers["connection"], "close")
                client.socket.shutdown(socket.SHUT_WR)
                self.assertTrue(client.is_closed())

    def test_a_client_that_sends_on_can_read_the_refusal(self):
        with self.server.connect() as client:
            client.send(self.head(5_000_000))
            self.assertEqual(client.head()[0], 401)
        self.assertEqual(self.server.exchange(self.head(5_000_000) + "x" * 3_000_000).status, 401)

    def test_what_a_refused_client_holds_back_costs_nothing(self):
        if is_sanitized():
            self.skipTest("sanitizers keep freed memory")
        before_mb = self.server.resident_mb()
        clients = [self.server.connect() for _ in range(50)]
        for client in clients:
            client.send(self.head(5_000_000))
            try:
                client.send(b"x" * 4_000_000)
            except ConnectionError:
                pass
        self.assertLess(self.server.resident_mb() - before_mb, 40)
        for client in clients:
            client.socket.close()

    def test_the_connection_is_kept_where_the_body_is_short(self):
        body = json.dumps(CHAT)
        with self.server.connect() as client:
            for cut in [0, 1, len(body)]:
                client.send(self.head(len(body)) + body[:cut])
                self.assertEqual(client.reply().status, 401)
                client.send(body[cut:])
                client.send(post(CHAT, "/v1/chat/completions", KEY))
                self.assertEqual(client.reply().answer(), ANSWER)

    def test_nobody_is_asked_to_continue_who_is_refused(self):
        self.assertEqual(self.server.exchange(self.head(100, "Expect: 100-continue")).status, 401)
        self.assertEqual(self.server.exchange(self.head(10_000_000, "Expect: 100-continue", KEY)).status, 413)

    def test_any_number_of_spaces_follows_the_scheme(self):
        for key in ["Bearer   right", "bearer  right"]:
            self.assertEqual(self.exchange(post(CHAT, "/v1/chat/completions", f"Authorization: {key}")).answer(), ANSWER)

    def test_two_keys_are_400(self):
        self.assertEqual(self.exchange(post(CHAT, "/v1/chat/completions", KEY, "authorization: Bearer other")).status, 400)

    def test_a_key_in_a_trailer_is_none(self):
        chunks = b"%x\r\n%s\r\n0\r\n%s\r\n\r\n" % (len(json.dumps(CHAT)), json.dumps(CHAT).encode(), KEY.encode())
        head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
        self.assertEqual(self.exchange(head + b"\r\n" + chunks).status, 401)
        other = head + KEY.encode() + b"\r\n\r\n" + chunks.replace(b"right", b"wrong")
        self.assertEqual(self.exchange(other).answer(), ANSWER)

    def test_any_name_and_any_page_may_come_with_a_key(self):
        data = post(CHAT, "/v1/chat/completions", KEY, "Origin: https://llm.example").replace(b"localhost", b"llm.example")
        self.assertEqual(self.exchange(data).answer(), ANSWER)


def routes_of_rights():
    """SECURITY.md's table: right -> routes, such as ("POST", "/v1/models/load")."""
    table = re.findall(r"^\| \*\*(\w+)\*\* \|(.*?)\|", (server_rig.ROOT / "SECURITY.md").read_text(), re.M)
    return {right: re.findall(r"`([A-Z]+) (\S+)`", routes) for right, routes in table}


class Rights(Temporary):
    """Each right of SECURITY.md's table, with every kind of key and without keys."""

    def statuses(self, server, routes, *headers):
        for method, path in routes:
            path = re.sub(r"{\w+}", "x", path)
            with server.connect() as client:
                lines = [f"{method} {path} HTTP/1.1", "Host: localhost", "Content-Length: 0", *headers, "", ""]
                client.send("\r\n".join(lines))
                yield client.head()[0], path

    def check(self, server, allowed, refusal, *headers):
        for right, routes in routes_of_rights().items():
            self.assertGreater(len(routes), 0)
            for status, path in self.statuses(server, routes, *headers):
                self.assertEqual(status == refusal, right not in allowed, (right, path, status))
                self.assertTrue(status == refusal or status not in (401, 403), (right, path, status))

    def test_keys_have_them(self):
        keys = pathlib.Path(self.path("keys"))
        keys.write_text("plain\nadmin boss\nadmin sha256:" + hashlib.sha256(b"hidden").hexdigest() + "\n")
        keys.chmod(0o600)
        server = Server("--api-keys", keys, "--api-key", "admin second", "--lora-dir", str(self.folder), "--manage-models",
                        "--models-store", self.path("store"))
        self.check(server, {"none"}, 401)
        self.check(server, {"none"}, 401, "Authorization: Bearer admin boss")
        self.check(server, {"none", "key", "own"}, 403, "Authorization: Bearer plain")
        for key in ["boss", "hidden", "second"]:
            self.check(server, {"none", "key", "own", "admin"}, 403, f"Authorization: Bearer {key}")
        server.stop()

    def test_without_keys_clients_on_the_same_machine_have_them_where_a_flag_says_so(self):
        server = Server("--lora-dir", str(self.folder), "--manage-models", "--models-store", self.path("store"))
        self.check(server, {"none", "key", "own", "admin"}, 403)
        server.stop()
        server = Server()
        self.check(server, {"none", "key"}, 403)
        server.stop()

    def test_only_an_admin_changes_the_store(self):
        server = Server("--api-key", "plain", "--api-key", "admin boss", "--manage-models", "--models-store", self.path("store"),
                        "--offline")
        files = {"a.gguf": "sha256:" + 64 * "0"}
        for path, body in [("/api/pull", {"model": "x"}), ("/api/create", {"model": "y", "files": files})]:
            for key, is_refused in [("plain", True), ("boss", False)]:
                self.assertEqual(server.exchange(post(body, path, f"Authorization: Bearer {key}")).status == 403, is_refused, (path, key))
        server.stop()


class Pages(Case):
    ARGS = ("--allowed-host", "llm.example", "--cors-origin", "http://localhost:3000", "--strict-model-names")

    def status(self, host, *headers, method="GET", path="/livez"):
        data = "\r\n".join([f"{method} {path} HTTP/1.1", f"Host: {host}", *headers, "Content-Length: 0", "", ""])
        return self.exchange(data).status

    def test_names_that_point_here_are_refused(self):
        for path in ["/", "/metrics", "/livez", "/v1/models", "/nothing"]:
            self.assertEqual(self.status("evil.example:8080", path=path), 403, path)
        self.assertEqual(self.status("127.0.0.1.evil.example", method="POST", path="/tokenize"), 403)
        for host in ["localhost:1", "127.0.0.1", "[::1]:8080", "llm.example", "a.localhost"]:
            self.assertEqual(self.status(host), 200, host)

    def test_pages_of_others_are_refused(self):
        data = post(CHAT, "/v1/chat/completions", "Content-Type: text/plain")
        for origin in ["http://evil.example", "null", "http://a.localhost"]:
            head, body = data.split(b"\r\n\r\n", 1)
            reply = self.exchange(head + f"\r\nOrigin: {origin}\r\n\r\n".encode() + body)
            self.assertEqual(reply.status, 403, origin)
            self.assertEqual(reply.json()["error"]["type"], "permission_error")
            self.assertNotIn("access-control-allow-origin", reply.headers)
        for origin in ["http://localhost", "http://localhost:3000"]:
            reply = self.exchange(post(CHAT, "/v1/chat/completions", f"Origin: {origin}"))
            self.assertEqual(reply.answer(), ANSWER, origin)

    def test_pictures_on_pages_of_others_reach_no_tools(self):
        for path, status in [("/mcp", 403), ("/mcp/x/tools", 403), ("/livez", 200), ("/", 200)]:
            self.assertEqual(self.status("localhost", "Sec-Fetch-Site: cross-site", path=path), status, path)
        self.assertEqual(self.status("localhost", "Sec-Fetch-Site: cross-site", method="POST", path="/tokenize"), 403)
        self.assertEqual(self.status("localhost", "Sec-Fetch-Site: same-origin", path="/mcp"), 200)
        self.assertEqual(self.status("localhost", "Sec-Fetch-Site: cross-site", "Origin: http://localhost:3000", path="/mcp"), 200)

    def test_no_browser_takes_an_answer_for_another_type(self):
        replies = [self.exchange("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n")
                   for path in ["/livez", "/v1/models", "/nothing", "/metrics", "/"]]
        replies += [self.exchange(post(CHAT)), self.exchange(post({**CHAT, "stream": True})), self.exchange("nonsense\r\n\r\n")]
        for reply in replies:
            self.assertEqual(reply.headers["x-content-type-options"], "nosniff", reply.body[:100])

    def test_a_page_may_send_the_headers_that_its_client_has(self):
        def preflight(asked, origin="http://localhost:3000", path="/v1/chat/completions"):
            lines = [f"OPTIONS {path} HTTP/1.1", "Host: localhost", f"Origin: {origin}", "Access-Control-Request-Method: POST",
                     f"Access-Control-Request-Headers: {asked}", "", ""]
            reply = self.exchange("\r\n".join(lines))
            self.assertEqual(reply.status, 200)
            return reply.headers
        asked = "authorization,content-type,x-stainless-os,openai-organization,anthropic-version,x-api-key"
        headers = preflight(asked)
        self.assertEqual(headers["access-control-allow-headers"], asked)
        self.assertEqual(headers["access-control-allow-methods"], "GET, POST, DELETE, OPTIONS")
        for wrong in ['a"b', "a;b", "a" * 3000, "\xe9"]:
            self.assertTrue(preflight(wrong)["access-control-allow-headers"].startswith("Authorization, "), wrong[:10])
        self.assertNotIn("access-control-allow-headers", preflight(asked, "http://evil.example"))

    def test_what_a_path_takes(self):
        for path, allowed in [("/version", "GET, HEAD, OPTIONS"), ("/chat/completions", "POST, OPTIONS")]:
            reply = self.exchange(f"OPTIONS {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertEqual((reply.status, reply.headers["allow"]), (200, allowed))
            reply = self.exchange(f"PATCH {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertEqual((reply.status, reply.headers["allow"]), (405, allowed))

    def test_one_host_is_wanted(self):
        self.assertEqual(self.exchange("GET /livez HTTP/1.1\r\n\r\n").status, 400)
        self.assertEqual(self.exchange("GET /livez HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n").status, 400)
        self.assertEqual(self.exchange("GET /livez HTTP/1.0\r\n\r\n").status, 200)

    def test_what_is_obsolete_or_unknown(self):
        self.assertEqual(self.exchange("GET /livez HTTP/1.1\r\nHost: localhost\r\nA: b\r\n c\r\n\r\n").status, 400)
        self.assertEqual(self.status("localhost", "Expect: nonsense"), 417)
        with self.server.connect() as client:
            client.send("\r\n\r\nGET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n" + "\r\n\r\nGET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
            for _ in range(2):
                reply = client.reply()
                self.assertEqual(reply.status, 200)
                self.assertRegex(reply.headers["date"], r"^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$")

    def test_errors_repeat_little(self):
        long = "x" * 1_000_000
        for body in [{**CHAT, "model": long}, {**CHAT, "logit_bias": {long: 1}}, {**CHAT, "stop": 7, "tool_choice": long}]:
            reply = self.exchange(post(body))
            self.assertIn(reply.status, (400, 404))
            self.assertLess(len(reply.body), 500)


class Rebinding(Case):
    ARGS = ("--host", "0.0.0.0", "--lora-dir", tempfile.gettempdir())

    @classmethod
    def tearDownClass(cls):
        code, stderr = cls.server.stop()
        assert code == 0 and "whoever reaches 0.0.0.0 may use this server" in stderr, f"exit code {code}: {stderr}"

    def status(self, host, path, method="POST"):
        return self.exchange(f"{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\n\r\n").status

    def test_a_name_that_a_stranger_can_have_reaches_nothing_that_changes_the_server(self):
        for method, path in [("GET", "/mcp"), ("GET", "/mcp/x/tools"), ("POST", "/mcp/x/call"), ("POST", "/v1/models/unload"),
                             ("POST", "/models/load"), ("DELETE", "/cache"), ("POST", "/slots/0")]:
            self.assertEqual(self.status("evil.example:8080", path, method), 403, path)
            for host in ["127.0.0.1", "[::1]:8080", "gpu-1", "gpu-1.local", "host.docker.internal", "localhost", socket.gethostname()]:
                self.assertNotEqual(self.status(host, path, method), 403, (host, path))
        self.assertEqual(self.status("gpu-1.lan", "/livez", "GET"), 200)
        self.assertEqual(self.status("gpu-1.lan", "/v1/models", "GET"), 200)


def routes_for_local_pages():
    """SECURITY.md's list of routes that pages of other servers on the user's machine may call."""
    listed = (server_rig.ROOT / "SECURITY.md").read_text().split("They may call")[1].split("nothing else")[0]
    return re.findall(r"`([A-Z]+) (\S+)`", listed)


class LocalPages(Temporary):
    """Pages of other servers on the user's machine, such as Open WebUI's direct connections."""
    ORIGIN = "http://localhost:3000"
    HEADERS = (f"Origin: {ORIGIN}", "Sec-Fetch-Site: same-site")
    ACAO = "access-control-allow-origin"
    MODEL = pathlib.Path(MODEL).stem

    def start(self, *args):
        server = Server(*args)
        self.addCleanup(lambda: self.assertEqual(server.stop()[0], 0))
        return server

    @staticmethod
    def ask(server, method, path, *headers):
        path = re.sub(r"{\w+}", "x", path)
        with server.connect() as client:
            client.send("\r\n".join([f"{method} {path} HTTP/1.1", "Host: localhost", "Content-Length: 0", *headers, "", ""]))
            status, headers = client.head()[:2]
            return status, headers

    def reply(self, server, body, path, *headers):
        return server.exchange(post(body, path, *headers))

    def check(self, server, is_open):
        """Every route of SECURITY.md's table; is_open(route): whether these pages may call it."""
        for route in [route for routes in routes_of_rights().values() for route in routes]:
            method, path = route
            status, headers = self.ask(server, method, path, *self.HEADERS)
            self.assertEqual(headers.get(self.ACAO), self.ORIGIN if is_open(route) else None, route)
            if method != "GET":
                self.assertEqual(status == 403, not is_open(route), (route, status))
            status, headers = self.ask(server, "OPTIONS", path, *self.HEADERS, f"Access-Control-Request-Method: {method}",
                                       "Access-Control-Request-Headers: authorization,content-type")
            self.assertEqual(status, 200, route)
            self.assertEqual(headers.get(self.ACAO), self.ORIGIN if is_open(route) else None, route)
            self.assertEqual(headers.get("access-control-allow-headers"), "authorization,content-type" if is_open(route) else None, route)

    def test_they_may_ask_and_change_nothing(self):
        server = self.start("--lora-dir", str(self.folder), "--manage-models", "--models-store", self.path("store"))
        listed = routes_for_local_pages()
        self.assertGreater(len(listed), 20)
        self.check(server, lambda route: route in listed)
        own = {"model": self.MODEL, "messages": CHAT["messages"], "options": {"temperature": 0}, "stream": False}
        for body, path in ((CHAT, "/v1/chat/completions"), (own, "/api/chat")):
            for origin in (self.ORIGIN, "https://127.0.0.1:8443", "http://[::1]"):
                reply = self.reply(server, body, path, f"Origin: {origin}", "Sec-Fetch-Site: cross-site")
                self.assertEqual((reply.status, reply.headers[self.ACAO]), (200, origin))
                self.assertIn("Paris", reply.body.decode())

    def test_pages_of_the_web_change_nothing(self):
        server = self.start("--lora-dir", str(self.folder), "--manage-models", "--models-store", self.path("store"))
        routes = [route for routes in routes_of_rights().values() for route in routes]
        self.assertIn(("POST", "/v1/models/search"), routes)
        for method, path in routes:
            for site in ("cross-site", "same-site"):
                status, headers = self.ask(server, method, path, "Origin: http://evil.example", f"Sec-Fetch-Site: {site}")
                self.assertNotIn(self.ACAO, headers, (method, path))
                self.assertTrue(method == "GET" or status == 403, (method, path, status))

    def test_they_do_not_say_how_long_a_model_stays(self):
        server = self.start()

        def unload(*headers):
            body = {"model": self.MODEL, "keep_alive": 0, "stream": False}
            self.assertEqual(self.reply(server, body, "/api/generate", *headers).status, 200)
            return server.get("/api/ps").json()["models"]
        self.assertEqual(len(unload(*self.HEADERS)), 1)
        unload()
        server.until(lambda: server.get("/api/ps").json()["models"] == [], "the model to be unloaded")

    def test_where_others_reach_the_server_they_may_do_nothing(self):
        server = self.start("--host", "0.0.0.0")
        self.check(server, lambda route: False)


class Names(Case):
    ARGS = ("--alias", "gpt-4o,other name", "--alias", "third")

    def test_any_name_is_answered_and_the_answer_tells_the_model_s_own(self):
        own = pathlib.Path(MODEL).stem
        for name in ["gpt-3.5-turbo", "gpt-4o", own.upper() + ":latest"]:
            reply = self.exchange(post({**CHAT, "model": name}))
            self.assertEqual((reply.answer(), reply.json()["model"]), (ANSWER, own))

    def test_the_list_has_the_aliases(self):
        own = pathlib.Path(MODEL).stem
        listed = self.server.get("/models").json()["data"]
        self.assertEqual([(model["id"], model["aliases"]) for model in listed], [(own, ["gpt-4o", "other name", "third"])])
        self.assertEqual(self.server.get("/v1/models/other%20name").json()["id"], own)
        self.assertEqual(self.server.get("/v1/models/none").status, 404)

    def test_routes_are_there_without_version(self):
        self.assertEqual(self.exchange(post(CHAT, "/chat/completions")).answer(), ANSWER)
        for path in ["/ping", "/health"]:
            self.assertEqual(self.server.get(path).json()["status"], "ok", path)
        self.assertRegex(self.server.get("/version").json()["version"], r"^\d+\.\d+\.\d+$")

    def test_the_version_leads_to_no_route_that_a_proxy_keeps_back(self):
        for path in ["/metrics", "/metrics/history", "/slots", "/props", "/mcp", "/lora-adapters", "/api/tags", "/api/version"]:
            self.assertEqual(self.server.get(path).status, 200, path)
            for before in ["/v1", "//v1", "/v1/", "/"]:
                self.assertEqual(self.server.get(before + path).status, 404, before + path)

    def test_slashes_too_many(self):
        for path in ["/v1/models/", "/v1//models", "//v1/models", "/api/tags/", "/v1/models/third/"]:
            self.assertEqual(self.server.get(path).status, 200, path)
        for path in ["/v1/chat/completions/", "//v1/chat//completions", "//chat/completions"]:
            self.assertEqual(self.exchange(post(CHAT, path)).answer(), ANSWER, path)
        reply = self.exchange(post({"input": "x"}, "//v1/embeddings/"))
        self.assertEqual((reply.status, reply.json()["object"]), (200, "list"))


class StrictNames(Case):
    ARGS = ("--strict-model-names", "--api-key", "first", "--api-key", "second")

    def tearDown(self):
        pass

    def test_names_that_no_model_has_are_404(self):
        for key in ["first", "second"]:
            reply = self.exchange(post({**CHAT, "model": "gpt-4o"}, "/v1/chat/completions", f"Authorization: Bearer {key}"))
            self.assertEqual((reply.status, reply.json()["error"]["code"]), (404, "model_not_found"))
            reply = self.exchange(post(CHAT, "/v1/chat/completions", f"Authorization: Bearer {key}"))
            self.assertEqual(reply.answer(), ANSWER)
        reply = self.exchange(post(CHAT))
        self.assertEqual((reply.status, reply.json()["error"]["type"]), (401, "invalid_request_error"))


class Starts(Temporary):
    def refused(self, *args, port="0"):
        process = start(*args, port=port)
        try:
            _, stderr = process.communicate(timeout=DEADLINE_S)
        finally:
            process.kill()
        self.assertEqual(process.returncode, 1)
        return stderr.decode()

    def test_say_what_is_wrong(self):
        self.assertIn("there is no folder /nope", self.refused("--models-dir", "/nope"))
        self.assertIn("a model is called", self.refused("--alias", "a,b,a"))
        self.assertIn("expected ID=NAME", self.refused("other=" + MODEL, "--alias", "a"))
        self.assertIn("no spaces", self.refused("--api-key", "a b"))
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            self.assertIn("--port 0 any free one", self.refused(port=str(taken.getsockname()[1])))

    @unittest.skipUnless(shutil.which("openssl"), "there is no openssl to make a key with")
    def test_a_tls_key_that_others_may_read_is_told(self):
        key, certificate = self.path("key"), self.path("certificate")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-keyout", key,
                        "-out", certificate], check=True, capture_output=True)
        for mode, is_told in ((0o644, True), (0o640, False)):
            os.chmod(key, mode)
            process = start("--tls-cert", certificate, "--tls-key", key)
            self.addCleanup(process.kill)
            said = process.stdout.readline()  # it listens, and so ends properly by the signal
            process.terminate()
            said += process.communicate(timeout=DEADLINE_S)[0]
            self.assertEqual(b"may read the TLS key" in said, is_told, said)


class Bodies(Case):
    ARGS = ("--max-body-bytes", "1000000", "--max-bodies-bytes", "1000000")

    def half_sent(self):
        client = self.server.connect()
        client.send(post(b" " * 900_000)[:-1])
        return client

    def test_bodies_that_fill_the_room_are_503_and_small_ones_are_read(self):
        holding = self.half_sent()
        with self.server.connect() as client:
            def is_full():
                nonlocal holding
                reply = self.exchange(post(b" " * 900_000))
                self.assertIn(reply.status, (400, 503))
                # The asking body may have got the room.
                if select.select([holding.socket], [], [], 0)[0]:
                    holding.socket.close()
                    holding = self.half_sent()
                return reply.status == 503 and reply.headers["retry-after"] == "1"
            self.server.until(is_full, "the room to be full")
            client.send(post(CHAT))
            self.assertEqual(client.reply().answer(), ANSWER)
        holding.socket.close()
        self.server.until(lambda: self.exchange(post(b" " * 900_000)).status == 400, "room again")


class Answers(Case):
    """The memory for whole answers."""
    ARGS = ("--max-answer-bytes", "2000000")

    def reply_to(self, path, body):
        return self.server.exchange(post(body, path))

    def test_answers_that_may_be_too_large_are_400_with_the_numbers_before_they_start(self):
        many = {"ignore_eos": True, "temperature": 0}
        for path, body, numbers in (
                ("/completion", {**many, "prompt": ["x"] * 128, "n_predict": 900, "n_probs": 100}, ("128", "900", "100")),
                ("/v1/chat/completions", {**CHAT, "n": 64, "max_tokens": 400, "logprobs": True, "top_logprobs": 20}, ("64", "400", "20")),
                ("/v1/completions", {**many, "prompt": ["a b c d " * 100] * 32, "echo": True, "logprobs": 20, "max_tokens": 1}, ("32", "20")),
                ("/v1/completions", {**many, "prompt": ["a b c d " * 100] * 32, "echo": True, "logprobs": 20, "max_tokens": 1, "stream": True}, ("32", "20")),
                ("/completion", {**many, "prompt": ["x"] * 128, "n_probs": 100}, ("128", "100"))):
            with self.subTest(path, body=body):
                before = self.server.metric("vllm:generation_tokens_total")
                reply = self.reply_to(path, body)
                self.assertEqual(reply.status, 400)
                error = reply.json()["error"]
                self.assertEqual(error["type"], "invalid_request_error")
                for number in (*numbers, "1.9 MB", "--max-answer-bytes"):
                    self.assertIn(number, error["message"])
                self.assertEqual(self.server.metric("vllm:generation_tokens_total"), before)
        self.assertEqual(self.reply_to("/v1/chat/completions", CHAT).answer(), ANSWER)

    def test_an_answer_is_the_same_whether_it_has_a_length_or_comes_in_pieces(self):
        few = {"prompt": ["a", "b"], "n_predict": 12, "n_probs": 100, "ignore_eos": True, "temperature": 0, "response_fields": ["content", "completion_probabilities"]}
        reply = self.reply_to("/completion", few)
        self.assertIn("content-length", reply.headers)
        many = self.reply_to("/completion", {**few, "prompt": ["a", "b"] * 35})
        self.assertEqual(many.headers.get("transfer-encoding"), "chunked")
        self.assertEqual(many.headers["content-type"], "application/json")
        self.assertEqual(json.loads(many.body), json.loads(reply.body) * 35)


class CodedBodies(Case):
    """Bodies with a Content-Encoding."""
    ARGS = ("--max-body-bytes", "1000000", "--max-bodies-bytes", "4000000")
    TEXT = json.dumps(CHAT).encode()
    # TEXT compressed with `zstd -19`.
    ZSTD = bytes.fromhex("28b52ffd04686d0200f2451211a06f05eace37af6d52537f336890fa6f6a37b0689ff5d174f9fc9bc1b93d3c41340"
                         "9abc80e7d9328b1b367daf8112bcda21ffac3989a414fa7b559b4bb38db1a164d7d214afdb50d0026b3d09f")

    def coded(self, body, coding):
        return self.exchange(post(body, "/v1/chat/completions", f"Content-Encoding: {coding}"))

    def test_are_decoded(self):
        raw = zlib.compressobj(9, zlib.DEFLATED, -15)
        for coding, body in [("gzip", gzip.compress(self.TEXT)), ("deflate", zlib.compress(self.TEXT)), ("zstd", self.ZSTD),
                             ("deflate", raw.compress(self.TEXT) + raw.flush()), ("identity", self.TEXT)]:
            self.assertEqual(self.coded(body, coding).answer(), ANSWER, coding)

    def test_a_small_body_may_be_a_large_one(self):
        self.assertEqual(self.coded(gzip.compress(self.TEXT + b" " * 900_000), "gzip").answer(), ANSWER)

    def test_bombs_are_413(self):
        for body in [gzip.compress(b" " * 50_000_000), gzip.compress(self.TEXT + b" " * 1_000_000)]:
            reply = self.coded(body, "gzip")
            self.assertEqual(reply.status, 413)
            self.assertIn("1000000 bytes when it is decoded", reply.json()["error"]["message"])

    def test_bombs_cost_little(self):
        if is_sanitized():
            self.skipTest("sanitizers keep freed memory")
        before_mb = self.server.resident_mb()
        bomb = post(gzip.compress(b" " * 50_000_000), "/v1/chat/completions", "Content-Encoding: gzip")
        clients = [self.server.connect() for _ in range(40)]
        for client in clients:
            client.send(bomb)
        for client in clients:
            self.assertIn(client.reply().status, (413, 503))
            client.socket.close()
        self.assertLess(self.server.resident_mb() - before_mb, 30)

    def test_what_is_broken_is_400_and_what_is_unknown_415(self):
        for coding, body in [("gzip", self.TEXT), ("zstd", self.ZSTD[:-1]), ("gzip", b""), ("deflate", b"\xff" * 40)]:
            reply = self.coded(body, coding)
            self.assertEqual((reply.status, "Content-Encoding" in reply.body.decode()), (400, True), coding)
        for coding in ["br", "gzip, gzip", "x" * 5000]:
            reply = self.coded(self.TEXT, coding)
            self.assertEqual((reply.status, reply.headers["accept-encoding"]), (415, "gzip, deflate, zstd"))
            self.assertLess(len(reply.body), 400)


class SeveralPrompts(Temporary):
    BODY = {"prompt": ["One two three. " * 20 + "a", "Four five six. " * 20 + "b"], "max_tokens": 4, "temperature": 0}

    def test_usage_trace_and_log_tell_of_each(self):
        log = self.path("log")
        server = Server("--access-log", log)
        request = post(self.BODY, "/v1/completions", "X-Trace: 1")
        alone = []
        for prompt in self.BODY["prompt"]:
            with server.connect() as client:
                client.send(post({**self.BODY, "prompt": prompt}, "/v1/completions") * 2)
                client.reply()
                alone.append(client.reply().json()["usage"])
        reply = server.exchange(request).json()
        server.stop()
        cached = [usage["prompt_tokens_details"]["cached_tokens"] for usage in alone]
        self.assertGreater(min(cached), 0)
        self.assertEqual(reply["usage"]["prompt_tokens_details"]["cached_tokens"], sum(cached))
        self.assertEqual([each["n_cached"] for each in reply["trace"]["prompts"]], cached)
        self.assertEqual([each["n_prompt"] for each in reply["trace"]["prompts"]], [u["prompt_tokens"] for u in alone])
        self.assertEqual(reply["trace"]["n_cached"], sum(cached))
        line = json.loads(pathlib.Path(log).read_text().splitlines()[-1])
        self.assertEqual(line["n_prompt"], sum(usage["prompt_tokens"] for usage in alone))
        self.assertEqual(line["n_cached"], sum(cached))
        self.assertEqual([each["n_generated"] for each in line["prompts"]], [4, 4])

    def test_an_error_names_the_prompt(self):
        server = Server()
        with server.connect() as client:
            for body, path, param in [({"prompt": ["a", "b", "a " * 3000]}, "/v1/completions", "prompt[2]"),
                                      ({"prompt": [[5], [4000]]}, "/v1/completions", "prompt[1]"),
                                      ({"input": ["a", ""]}, "/v1/embeddings", "input[1]"),
                                      ({"input": [[5], [4000]]}, "/v1/embeddings", "input[1]"),
                                      ({"prompt": 5}, "/v1/completions", "prompt")]:
                client.send(post(body, path))
                error = client.reply().json()["error"]
                self.assertEqual(error["param"], param)
                self.assertTrue(error["message"].startswith(param + ": "), error)
        server.stop()


class Storms(Case):
    def bodies(self):
        n_bytes = 300_000 if is_sanitized() else 3_000_000

        def filled(begin, value, end):
            return begin + value * ((n_bytes - len(begin)) // len(value)) + end
        yield "/v1/completions", filled(b'{"prompt":[', b"1,", b"1]}")
        yield "/v1/completions", filled(b'{"prompt":"', b"x ", b'"}')
        yield "/v1/embeddings", filled(b'{"input":[', b"{},", b"{}]}")
        yield "/v1/embeddings", filled(b'{"input":[', b'"",', b'""]}')
        yield "/tokenize", filled(b'{"prompt":"', b"x ", b'"}')
        yield "/detokenize", filled(b'{"tokens":[', b"1,", b"1]}")
        yield "/v1/chat/completions", filled(b'{"messages":[{"role":"user","content":"', b"x ", b'"}]}')
        yield "/v1/chat/completions", filled(b'{"messages":[', b'{},', b'{}]}')

    def test_what_cannot_fit_is_refused(self):
        for path, body in self.bodies():
            reply = self.exchange(post(body, path))
            self.assertEqual(reply.status, 400, (path, body[:20]))

    def test_memory_comes_back(self):
        if is_sanitized():
            self.skipTest("sanitizers keep freed memory")
        self.exchange(post(CHAT))
        before_mb = self.server.resident_mb()
        for path, body in self.bodies():
            clients = [self.server.connect() for _ in range(4)]
            for client in clients:
                client.send(post(body, path))
            for client in clients:
                client.reply()
                client.socket.close()
        self.server.until(lambda: self.server.resident_mb() - before_mb < 20, "memory to come back")

    def test_a_small_request_does_not_wait_for_large_ones(self):
        """If it waited for them, all would have their answers when the small one has. On a busy machine this client may
        be too late to notice, so it tries again."""
        self.server.until(lambda: self.n_waiting_beside_a_small_one() > 8, "an answer before those of large requests")

    def n_waiting_beside_a_small_one(self):
        """How many of 16 large requests, which are completed at once, have no answer yet when a small one has."""
        n_ids = 200_000 if is_sanitized() else 2_000_000
        data = post(b'{"prompt":[' + b"1," * n_ids + b"1]}", "/v1/completions")
        large = [self.server.connect() for _ in range(16)]
        for client in large:
            client.send(data[:-1])
        for client in large:
            client.send(data[-1:])
        self.assertGreater(self.exchange(post({"prompt": "Hello"}, "/tokenize")).json()["count"], 0)
        waiting = [client for client in large if not select.select([client.socket], [], [], 0)[0]]
        for client in large:
            self.assertEqual(client.reply().status, 400)
            client.socket.close()
        return len(waiting)


class AddressLimit(Case):
    ARGS = ("--max-connections-per-address", "4")

    def tearDown(self):
        pass

    def test_an_address_has_so_many_connections(self):
        clients = []

        def has_all():
            clients.extend(client for client in [self.server.connect_served()] if client)
            return len(clients) == 4
        for _ in range(2):
            self.server.until(has_all, "room for the address")
            self.assertIsNone(self.server.connect_served())
            while clients:
                clients.pop().socket.close()


class Flags(unittest.TestCase):
    def test_a_step_that_must_be_larger_than_was_said_is_told(self):
        code, stderr = Server("--batch-tokens", "5", "--max-seqs", "7").stop()
        self.assertEqual(code, 0)
        self.assertIn("--batch-tokens is 7 and not 5", stderr)

    def test_a_cache_that_no_memory_holds_is_refused(self):
        process = start("--kv-tokens", "4000000000")
        _, stderr = process.communicate(timeout=DEADLINE_S)
        self.assertNotEqual(process.returncode, 0)
        self.assertRegex(stderr.decode(), r"--kv-tokens")


class AnswerRoom(unittest.TestCase):
    """Whole answers of two keys in a room that one of them fills."""

    def test_a_key_below_its_share_finds_room(self):
        server = Server("--api-key", "ann", "--api-key", "bob", "--max-answer-bytes", "1048576", "--max-answers-bytes", "1048576",
                        *LONG_CONTEXT)
        self.addCleanup(lambda: self.assertEqual(server.stop()[0], 0))
        answer = {**CHAT, "ignore_eos": True, "logprobs": True, "top_logprobs": 20}

        def ask(key, max_tokens):
            client = server.connect()
            self.addCleanup(client.socket.close)
            client.send(post({**answer, "max_tokens": max_tokens}, "/v1/chat/completions", f"Authorization: Bearer {key}"))
            return client
        # Two of these do not fit: the newest gives way to the others.
        greedy = [ask("ann", 2600) for _ in range(6)]
        for _ in range(10):
            reply = ask("bob", 400).reply()
            self.assertEqual(reply.status, 200, reply.body)
            self.assertEqual(reply.json()["usage"]["completion_tokens"], 400)
        replies = [client.reply() for client in greedy]
        self.assertEqual({reply.status for reply in replies} - {200}, {429})
        self.assertIn(b"other answers fill the room", next(reply.body for reply in replies if reply.status == 429))
        self.assertIn(b"--max-answer-bytes", ask("bob", 3000).reply().body)


class Lists(Case):
    def test_a_long_list_of_texts_leaves_steps_short(self):
        texts = [f"The capital of France is Paris, and {i} is a number." for i in range(1000, 1300)]
        before = self.server.metric("realizar_step_seconds_count")
        reply = self.exchange(post({"input": texts}, "/v1/embeddings"))
        self.assertEqual(reply.status, 200)
        n_steps = self.server.metric("realizar_step_seconds_count") - before
        self.assertLess(reply.json()["usage"]["prompt_tokens"] / n_steps, 130)


class TrustedProxy(Temporary):
    """Requests from 127.0.0.2, which is trusted to name its clients, and from others."""
    PROXY, STRANGER = "127.0.0.2", "127.0.0.3"

    def start(self, *args):
        server = Server("--trusted-proxy", self.PROXY, "--trusted-proxy", "10.0.0.0/8", *args)
        self.addCleanup(lambda: self.assertEqual(server.stop()[0], 0))
        return server

    @staticmethod
    def ask(server, source, forwarded, body=None, path="/v1/chat/completions"):
        """A connection that has asked on behalf of a client; None: for itself."""
        client = server.connect(source=source)
        client.send(post(body or CHAT, path, *([] if forwarded is None else [f"X-Forwarded-For: {forwarded}"])))
        return client

    def status(self, *args, **options):
        with self.ask(*args, **options) as client:
            return client.reply().status

    def test_the_access_log_has_the_client(self):
        log = pathlib.Path(self.path("log"))
        server = self.start("--access-log", log)
        asked = [(self.PROXY, "9.9.9.9", "9.9.9.9"), (self.PROXY, "1.2.3.4, 9.9.9.8, 10.1.1.1", "9.9.9.8"),
                 (self.PROXY, "unknown", self.PROXY), (self.PROXY, None, self.PROXY), (self.STRANGER, "9.9.9.9", self.STRANGER)]
        for source, forwarded, _ in asked:
            self.assertEqual(self.status(server, source, forwarded), 200)

        def lines():
            return [line for line in map(json.loads, whole_lines(log)) if line["method"] == "POST"]
        server.until(lambda: len(lines()) == len(asked), "a line for each")
        self.assertEqual([line["peer"] for line in lines()], [client for _, _, client in asked])
        self.assertEqual([line.get("proxy") for line in lines()], [self.PROXY, self.PROXY, None, None, None])

    def test_a_client_behind_one_has_rights_if_it_is_on_the_server_s_machine(self):
        server = self.start("--lora-dir", str(self.folder))
        for source, forwarded, is_refused in [(self.PROXY, "9.9.9.9", True), (self.PROXY, "127.0.0.1, 9.9.9.9", True),
                                              (self.PROXY, "unknown", True), (self.PROXY, "127.0.0.1", False),
                                              (self.PROXY, None, False), (self.STRANGER, "9.9.9.9", False)]:
            status = self.status(server, source, forwarded, path="/lora-adapters")
            self.assertEqual(status == 403, is_refused, (source, forwarded, status))

    def test_clients_behind_one_are_tenants_of_their_own(self):
        server = self.start("--max-requests-per-key", "1", *LONG_CONTEXT)
        with self.ask(server, self.PROXY, "9.9.9.9", ENDLESS) as busy:
            self.assertEqual(busy.head()[0], 200)
            self.assertEqual(self.status(server, self.PROXY, "9.9.9.9"), 429)
            self.assertEqual(self.status(server, self.PROXY, "9.9.9.8"), 200)
        with self.ask(server, self.STRANGER, "9.9.9.9", ENDLESS) as busy:
            self.assertEqual(busy.head()[0], 200)
            self.assertEqual(self.status(server, self.STRANGER, "9.9.9.8"), 429)

    def test_connections_of_one_count_as_their_clients_while_they_have_a_request(self):
        server = self.start("--max-connections-per-address", "2", *LONG_CONTEXT)
        kept = [self.ask(server, self.PROXY, None, {"prompt": "x"}, "/tokenize") for _ in range(4)]
        self.assertEqual([client.reply().status for client in kept], [200] * 4)
        for client in kept[:2]:
            client.send(post(ENDLESS, "/v1/chat/completions", "X-Forwarded-For: 9.9.9.9"))
            self.assertEqual(client.head()[0], 200)
        for client, forwarded, status in [(kept[2], "9.9.9.9", 429), (kept[3], "9.9.9.8", 200)]:
            client.send(post(CHAT, "/v1/chat/completions", f"X-Forwarded-For: {forwarded}"))
            self.assertEqual(client.reply().status, status)
        for client in kept:
            client.socket.close()

    def test_what_is_no_address_is_refused_at_the_start(self):
        process = start("--trusted-proxy", "proxy.example")
        _, stderr = process.communicate(timeout=DEADLINE_S)
        self.assertEqual(process.returncode, 1)
        self.assertIn("--trusted-proxy: expected an address or a network", stderr.decode())


def open_port(process):
    """The port that the process listens on, whatever it prints; 0: none yet."""
    assert process.poll() is None, "the server has ended"
    table = [line.split() for line in pathlib.Path(f"/proc/{process.pid}/net/tcp").read_text().splitlines()[1:]]
    ports = {f"socket:[{row[9]}]": int(row[1].split(":")[1], 16) for row in table if row[3] == "0A"}
    folder = pathlib.Path(f"/proc/{process.pid}/fd")
    return next((ports[link] for link in map(os.readlink, folder.iterdir()) if link in ports), 0)


def full_pipe():
    """Both ends of a full pipe."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    try:
        while True:
            os.write(writer, b"x" * 4096)
    except BlockingIOError:
        os.set_blocking(writer, True)
    return reader, writer


class StandardStreams(Temporary):
    def serve(self, *args, **streams):
        """The process of a server that listens, and a function that asks it for the status of a path."""
        process = subprocess.Popen([server_rig.REALIZAR, "serve", MODEL, "--port", "0", *args],
                                   **{"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **streams})
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        port = Server.until(lambda: open_port(process), "an open port")

        def status(path):
            with server_rig.Client(port) as client:
                client.send(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")
                return client.reply().status
        return process, status

    def test_a_full_pipe_stops_neither_the_start_nor_the_end(self):
        for name in ["stdout", "stderr"]:
            reader, writer = full_pipe()
            # Beyond loopback there is a warning on standard error, too.
            process, status = self.serve("--host", "0.0.0.0", **{name: writer})
            Server.until(lambda: status("/readyz") == 200, "the model")
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(timeout=DEADLINE_S), 0, name)
            os.close(reader)
            os.close(writer)

    def test_closed_streams_are_no_other_files(self):
        for closed in [(0,), (1,), (2,), (1, 2), (0, 1, 2)]:
            log = pathlib.Path(self.path(f"log{len(closed)}{closed[0]}"))
            process, status = self.serve("--access-log", str(log), preexec_fn=lambda: [os.close(fd) for fd in closed])
            for fd in range(3):
                self.assertEqual(os.readlink(f"/proc/{process.pid}/fd/{fd}"), "/dev/null", (closed, fd))
            Server.until(lambda: status("/readyz") == 200, "the model")
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(timeout=DEADLINE_S), 0, closed)
            for line in log.read_text().splitlines():
                self.assertEqual(json.loads(line)["path"], "/readyz", closed)


class Logs(Temporary):
    LOST = "realizar_access_log_lost_lines_total"

    def storm(self, server, n):
        line = f"GET /{'x' * 900} HTTP/1.1\r\nHost: localhost\r\n\r\n"
        with server.connect() as client:
            for _ in range(n // 100):
                client.send(line * 100)
                for _ in range(100):
                    self.assertEqual(client.reply().status, 404)

    def test_a_log_that_nobody_reads_stops_nobody(self):
        fifo = self.path("fifo")
        os.mkfifo(fifo)
        reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        server = Server("--access-log", fifo)
        self.storm(server, 6000)
        self.assertGreater(server.metric(self.LOST), 0)
        self.assertEqual(server.stop()[0], 0)

    def test_standard_error_that_nobody_reads_stops_nobody(self):
        server = Server("--access-log", "-")
        self.storm(server, 6000)
        self.assertGreater(server.metric(self.LOST), 0)
        self.assertEqual(server.stop()[0], 0)

    def test_a_full_disk_is_told_once_and_counted(self):
        server = Server("--access-log", "/dev/full")
        n_lost = server.metric(self.LOST)
        self.storm(server, 300)
        server.until(lambda: server.metric(self.LOST) >= n_lost + 300, "300 lost lines")
        server.process.send_signal(signal.SIGTERM)
        stdout, stderr = server.process.communicate(timeout=DEADLINE_S)
        self.assertEqual(server.process.returncode, 0)
        self.assertEqual((stdout + stderr).count(b"No space left on device"), 1)

    def lines_of(self, path):
        return [json.loads(line) for line in whole_lines(path)]

    def test_a_signal_opens_it_anew(self):
        path, moved = self.path("log"), self.path("log.1")
        server = Server("--access-log", path)
        server.get("/livez")
        server.until(lambda: any(line["path"] == "/livez" for line in self.lines_of(path)), "the line")
        os.rename(path, moved)
        server.process.send_signal(signal.SIGUSR1)
        server.until(lambda: os.path.exists(path), "the new file")
        server.get("/version")
        self.assertEqual(server.stop()[0], 0)
        self.assertEqual([line["path"] for line in self.lines_of(path)], ["/version"])
        self.assertNotIn("/version", [line["path"] for line in self.lines_of(moved)])

    def test_the_signal_harms_no_server_without_a_file(self):
        for args in ((), ("--access-log", "-")):
            server = Server(*args)
            server.process.send_signal(signal.SIGUSR1)
            self.assertEqual(server.get("/livez").status, 200)
            self.assertEqual(server.stop()[0], 0)

    def test_one_with_prompts_is_its_owners_alone(self):
        path = self.path("log")
        for args, mode in (((), 0o644), (("--log-prompts",), 0o600)):
            before = os.umask(0o022)
            self.addCleanup(os.umask, before)
            server = Server("--access-log", path, *args)
            self.assertEqual(server.stop()[0], 0)
            self.assertEqual(os.stat(path).st_mode & 0o777, mode)

    def test_a_response_in_the_background_has_one_line(self):
        path = self.path("log")
        server = Server("--access-log", path)
        with server.connect() as client:
            client.send(post({"input": "Hi", "background": True, "max_output_tokens": 5}, "/v1/responses", "X-Request-Id: own"))
            self.assertEqual(client.reply().status, 200)
            client.send(post({"input": "Hi", "background": True, "store": False}, "/v1/responses", "X-Request-Id: refused"))
            self.assertEqual(client.reply().status, 400)
        server.until(lambda: any(line["request_id"] == "own" for line in self.lines_of(path)), "the line")
        self.assertEqual(server.stop()[0], 0)
        lines = self.lines_of(path)
        self.assertEqual([line["n_generated"] for line in lines if line["request_id"] == "own"], [5])
        self.assertEqual([line["status"] for line in lines if line["request_id"] == "refused"], [400])

    def test_lines_are_whole_and_hold_no_control_characters(self):
        path = self.path("log")
        server = Server("--access-log", path)
        for target in [b"/\xc2\x9bowned", b"/\xc2\xa0\xc3\xa9"]:
            self.assertIn(server.exchange(b"GET " + target + b" HTTP/1.1\r\nHost: localhost\r\n\r\n").status, (400, 404))
        server.stop()
        lines = pathlib.Path(path).read_bytes().splitlines()
        paths = [json.loads(line)["path"] for line in lines]
        self.assertIn("/\x9bowned", paths)
        self.assertIn("/\xa0\xe9", paths)
        self.assertNotIn(b"\xc2\x9b", b"".join(lines))

    def test_pipes_without_anybody_end_the_start(self):
        fifo = self.path("fifo")
        os.mkfifo(fifo)
        for flag in ["--access-log", "--api-keys"]:
            process = start(flag, fifo)
            try:
                _, stderr = process.communicate(timeout=DEADLINE_S)
            finally:
                process.kill()
            self.assertNotEqual(process.returncode, 0)
            self.assertIn(fifo.encode(), stderr)
            self.assertIn(b"pipe", stderr.lower())

    def test_keys_that_others_can_read_are_told(self):
        path = self.path("keys")
        pathlib.Path(path).write_text("right\n")
        os.chmod(path, 0o644)
        process = start("--api-keys", path)
        try:
            lines = [process.stdout.readline() for _ in range(2)]
            self.assertIn(b"may read the API keys", b"".join(lines))
        finally:
            process.terminate()
            process.communicate(timeout=DEADLINE_S)


if __name__ == "__main__":
    server_rig.main()
