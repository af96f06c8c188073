#!/usr/bin/env python3
"""MCP servers in `realizar run`, the chat and `realizar serve`, both correct and incorrect ones. Usage: mcp_test.py
REALIZAR."""
import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import unittest
import unittest.mock
import urllib.parse

from bundled import MODEL, ROOT
from folders import temp_folder, written
from gguf_edit import with_metadata
from mcp_servers import TOOLS, McpServers
import program
from program import REALIZAR
from served import Served
from terminal import Terminal
from waiting import DEADLINE_S, ONE_THREAD, until

WORD = "a \x1b[31mred\x1b[0m word"  # the argument of the tool echo
CONSENT = "[a]lways in this chat: "
BAD_SERVERS = {
    "wrong_id": "no answer", "wrong_version": "it speaks revision", "redirect": "redirects are not followed",
    "no_json": "expected application/json", "cut_json": "not JSON", "deep": "nested deeper", "drop": "closed the connection too early",
    "no_answer": "no answer", "no_http": "MCP server 't'", "huge_head": "MCP server 't'", "wrong_session": "MCP-Session-Id",
    "cursor": "does not end", "error": "it refuses", "400": "answers 400: bad", "403": "answers 403", "404": "answers 404",
    "500": "answers 500", "huge": "longer than", "huge_json": "longer than", "many_events": "more than 32 MB",
}


def is_alive(pid):
    """A dead process does not count, even if nobody has waited for it yet."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = temp_folder(self)
        self.env = {"XDG_STATE_HOME": str(self.folder), "HOME": str(self.folder), "NO_COLOR": "1"}
        self.servers = McpServers(self)

    def mcp(self, mode):
        return "--mcp", "t=" + self.servers.url(mode)

    def run_once(self, *args):
        length = [] if "-n" in args else ["-n", "60"]
        return program.run("run", "--temperature", "0", *ONE_THREAD, *length, *args, env={**os.environ, **self.env})

    def events(self, *args):
        """The JSON lines of an answer that requires a tool call."""
        got = self.run_once("-p", "Say it.", "--json", *args)
        self.assertEqual(got.returncode, 0, got.stderr)
        return [json.loads(line) for line in got.stdout.splitlines()], got.stderr

    def calls(self, mode):
        return [message["params"] for method, of, _, message in self.servers.log
                if of == mode and method == "POST" and message.get("method") == "tools/call"]


class OneAnswer(Case):
    def test_an_allowed_call_runs_and_its_result_goes_back(self):
        events, told = self.events(*self.mcp("good"), "--tool-choice", "t__echo", "--mcp-allow", "t")
        kinds = [event["type"] for event in events]
        self.assertEqual([kind for kind in kinds if kind != "token"], ["tool_call", "done", "tool_result", "done"])
        call = next(event for event in events if event["type"] == "tool_call")
        self.assertEqual((call["name"], json.loads(call["arguments"])), ("t__echo", {"text": WORD}))
        self.assertEqual(self.calls("good"), [{"name": "echo", "arguments": {"text": WORD}}])
        result = next(event for event in events if event["type"] == "tool_result")
        self.assertEqual((result["text"], result["is_error"]), ("It was: " + WORD, False))
        first, second = [event["n_prompt"] for event in events if event["type"] == "done"]
        self.assertGreater(second, first)
        self.assertIn("echo of t is called with:", told)
        self.assertNotIn("\x1b", told)

    def test_the_protocol_is_kept_to(self):
        self.events(*self.mcp("good"), "--tool-choice", "t__fail", "--mcp-allow", "t__fail")
        self.servers.wait_for("good", "DELETE")
        self.assertEqual(self.servers.methods("good"),
                         ["initialize", "notifications/initialized", "tools/list", "tools/call", "DELETE"])
        for idx, (_, _, headers, message) in enumerate(self.servers.log):
            self.assertEqual(headers.get("Mcp-Session-Id"), None if idx == 0 else "session-1")
            self.assertEqual(headers.get("Mcp-Protocol-Version"), None if idx == 0 else "2025-11-25")
            if message is not None:
                self.assertEqual(headers["Accept"], "application/json, text/event-stream")
                self.assertEqual(headers["Content-Type"], "application/json")
        ids = [message["id"] for _, _, _, message in self.servers.log if message and "id" in message]
        self.assertEqual(len(ids), len(set(ids)))
        self.assertEqual(self.servers.log[0][3]["params"]["capabilities"], {})

    def test_without_a_terminal_nothing_runs_that_was_not_allowed(self):
        events, told = self.events(*self.mcp("good"), "--tool-choice", "t__echo", "--mcp-allow", "t__fail")
        self.assertEqual(self.calls("good"), [])
        self.assertGreaterEqual([event["type"] for event in events].count("done"), 2, "the model is told, and answers")
        self.assertIn("--mcp-allow t__echo allows it", told)

    def test_no_tool_is_called_where_the_model_must_not(self):
        events, _ = self.events(*self.mcp("good"), "--tool-choice", "none", "--mcp-allow", "t")
        self.assertEqual([event["type"] for event in events if event["type"] != "token"], ["done"])

    def test_text_alone_goes_to_standard_output(self):
        got = self.run_once("-p", "Say it.", *self.mcp("good"), "--tool-choice", "t__echo", "--mcp-allow", "t")
        self.assertEqual(got.returncode, 0, got.stderr)
        self.assertNotIn("is called with", got.stdout)
        events, _ = self.events(*self.mcp("good"), "--tool-choice", "t__echo", "--mcp-allow", "t")
        self.assertEqual(got.stdout, "".join(event["text"] for event in events if event["type"] == "token") + "\n")

    def test_a_call_that_was_cut_is_not_made(self):
        events, _ = self.events(*self.mcp("good"), "--tool-choice", "t__echo", "--mcp-allow", "t", "-n", "20")
        self.assertEqual(self.calls("good"), [])
        self.assertEqual(events[-1]["finish_reason"], "length")

    def test_a_tools_error_goes_to_the_model(self):
        events, _ = self.events(*self.mcp("good"), "--tool-choice", "t__fail", "--mcp-allow", "t")
        result = next(event for event in events if event["type"] == "tool_result")
        self.assertEqual((result["text"], result["is_error"]), ("the disk is full", True))


class Names(Case):
    """The model calls get_weather, and its tools' names begin with their servers' names."""

    ASKED = "What is the weather in Paris?"
    CALL = {"name": "get_weather", "arguments": {"city": "Paris"}}

    def weather(self, *args):
        got = self.run_once("-p", self.ASKED, "--json", *args)
        self.assertEqual(got.returncode, 0, got.stderr)
        events = [json.loads(line) for line in got.stdout.splitlines()]
        self.assertNotIn("<tool_call>", "".join(event["text"] for event in events if event["type"] == "token"))
        return [event for event in events if event["type"] == "tool_result"], got.stderr

    def test_the_only_tool_of_that_name_is_called(self):
        for allowed in ["t", "t__get_weather", "get_weather"]:
            with self.subTest(allowed):
                self.servers.server.log.clear()
                results, told = self.weather(*self.mcp("weather"), "--mcp-allow", allowed)
                self.assertEqual(self.calls("weather"), [self.CALL])
                self.assertEqual((results[0]["text"], results[0]["is_error"]), ("18 degrees in Paris", False))
                self.assertIn("get_weather of t is called with:", told)
                self.assertNotIn("does not exist", told)

    def test_it_is_asked_about_like_any_other(self):
        _, told = self.weather(*self.mcp("weather"))
        self.assertEqual(self.calls("weather"), [])
        self.assertIn("--mcp-allow t__get_weather allows it", told)

    def test_a_tool_that_is_not_there_is_told_to_the_model_and_to_the_person(self):
        both = ["--mcp", "a=" + self.servers.url("weather"), "--mcp", "b=" + self.servers.url("weather_too")]
        allowed = ["--mcp-allow", "a", "--mcp-allow", "b"]
        for servers, names in [([*self.mcp("good"), "--mcp-allow", "t"], "t__echo, t__sum_of, t__fail, t__wait"),
                               ([*both, *allowed], "a__get_weather, b__get_weather")]:
            with self.subTest(names):
                results, told = self.weather(*servers)
                self.assertIn("realizar: the model called get_weather, a tool that does not exist, and gets an error\n", told)
                self.assertTrue(results[0]["is_error"])
                self.assertEqual(results[0]["text"],
                                 f"The call failed: there is no tool called get_weather; the tools are {names}")
        self.assertEqual([self.calls(mode) for mode in ("good", "weather", "weather_too")], [[], [], []])

    def test_no_markup_of_a_call_is_shown(self):
        got = self.run_once("-p", self.ASKED, *self.mcp("good"))
        self.assertEqual(got.returncode, 0, got.stderr)
        self.assertNotIn("get_weather", got.stdout)
        self.assertIn("a tool that does not exist", got.stderr)


class Servers(Case):
    def listing(self, *args):
        got = program.run("chat", *args, stdin="/tools\n", env={**os.environ, **self.env})
        self.assertEqual(got.returncode, 0, got.stderr)
        return got.stderr

    def test_servers_may_keep_to_the_protocol_in_many_ways(self):
        for mode in ["good", "stream", "old", "stateless", "forgets"]:
            with self.subTest(mode):
                events, _ = self.events(*self.mcp(mode), "--tool-choice", "t__echo", "--mcp-allow", "t")
                self.assertIn("It was: " + WORD, [event.get("text") for event in events])
        self.servers.wait_for("forgets", "DELETE")
        self.assertEqual(self.servers.log[-1][2].get("Mcp-Session-Id"), "session-2")

    def test_a_servers_requests_are_answered_or_refused(self):
        self.listing(*self.mcp("stream"))
        replies = [message for _, of, _, message in self.servers.log if of == "stream" and message and "method" not in message]
        self.assertIn({"jsonrpc": "2.0", "id": 1000, "result": {}}, replies)
        self.assertIn({"jsonrpc": "2.0", "id": "s", "error": {"code": -32601, "message": "Method not found"}}, replies)

    def test_a_stream_that_breaks_is_taken_up_again(self):
        events, _ = self.events(*self.mcp("resume"), "--tool-choice", "t__echo", "--mcp-allow", "t")
        self.assertIn("taken up again", [event.get("text") for event in events])
        again = next(headers for method, of, headers, _ in self.servers.log if method == "GET" and of == "resume")
        self.assertEqual(again["Last-Event-Id"], "41")

    def test_a_list_may_have_pages(self):
        self.assertEqual([f"t__tool{i}" in self.listing(*self.mcp("pages")) for i in range(5)], [True] * 4 + [False])

    def test_hostile_tools_are_left_out_or_shown_harmless(self):
        told = self.listing(*self.mcp("hostile"))
        self.assertNotIn("\x1b", told)
        self.assertNotIn("\x07", told)
        self.assertNotIn("\u202e", told)
        self.assertIn("t__good: ", told)
        self.assertEqual(told.count("a tool is ignored"), 5)

    def test_what_breaks_the_protocol_is_an_error_that_says_so(self):
        for mode, expected in BAD_SERVERS.items():
            with self.subTest(mode):
                got = self.run_once("-p", "x", *self.mcp(mode), "--mcp-timeout-s", "300")
                self.assertEqual(got.returncode, 1)
                self.assertIn("the MCP server 't': ", got.stderr)
                self.assertIn(expected, got.stderr)
                self.assertNotIn("\x1b", got.stderr)
                self.assertEqual(got.stdout, "")
        self.assertEqual(self.servers.methods("elsewhere"), [], "no redirect is followed")

    def test_who_never_answers_is_given_up(self):
        for mode in ["silent", "endless"]:
            with self.subTest(mode):
                until(lambda: self.is_given_up(mode), "a request that is cancelled")

    def is_given_up(self, mode):
        """On a busy machine the timeout may expire before there is a session in which to cancel anything."""
        got = self.run_once("-p", "x", *self.mcp(mode), "--mcp-timeout-s", "1")
        self.assertIn("there was no answer in time", got.stderr)
        has_asked = "tools/list" in self.servers.methods(mode)
        if has_asked:
            self.servers.wait_for(mode, "notifications/cancelled")
            self.servers.server.cancelled.clear()
        return has_asked

    def test_who_cannot_be_reached_is_named(self):
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            got = self.run_once("-p", "x", "--mcp", f"t=http://127.0.0.1:{unused.getsockname()[1]}/mcp")
        self.assertEqual(got.returncode, 1)
        self.assertIn("the MCP server 't': Couldn't connect to server", got.stderr)

    def test_a_chat_goes_on_without_a_server_that_fails(self):
        told = self.listing("--mcp", "a=" + self.servers.url("500"), "--mcp", "b=" + self.servers.url("good"))
        self.assertIn("the MCP server 'a': it answers 500", told)
        self.assertIn("b__echo: Says it again.", told)
        self.assertIn("b__sum_of: Adds.", told)


class Lists(Case):
    def config(self, servers):
        path = written(self.folder / "mcp.json", json.dumps({"mcpServers": servers}))
        return "--mcp-config", str(path)

    def test_headers_of_a_file_are_sent_and_never_shown(self):
        good = {"t": {"url": self.servers.url("secret"), "headers": {"Authorization": "Bearer s3cret"}, "icon": "x"}}
        events, told = self.events(*self.config(good), "--tool-choice", "t__echo", "--mcp-allow", "t")
        self.assertIn("It was: " + WORD, [event.get("text") for event in events])
        self.assertIn("'icon' has no effect", told)
        wrong = {"t": {"url": self.servers.url("secret"), "headers": {"Authorization": "Bearer s3cret2"}}}
        got = self.run_once("-p", "x", *self.config(wrong))
        self.assertIn("it answers 401", got.stderr)
        self.assertNotIn("s3cret", told + got.stderr)

    def test_who_else_may_read_its_secrets_is_told(self):
        secret = {"t": {"url": self.servers.url("secret"), "headers": {"Authorization": "Bearer s3cret"}}}
        plain = {"t": {"url": self.servers.url("good")}}
        for servers, mode, expected in ((secret, 0o644, "may read the MCP servers"), (secret, 0o640, None),
                                        (plain, 0o646, "may change the MCP servers"), (plain, 0o644, None)):
            args = self.config(servers)
            (self.folder / "mcp.json").chmod(mode)
            got = self.run_once("-p", "x", *args)
            self.assertEqual(got.returncode, 0, got.stderr)
            if expected is None:
                self.assertNotIn("every user", got.stderr)
            else:
                self.assertIn(expected, got.stderr)

    def test_what_cannot_be_a_list_is_refused(self):
        for args, expected in [
                (self.config({"local": {"command": "no-such-program"}}), "'local': there is no program no-such-program"),
                (("--mcp", "nonsense"), "expected NAME=URL"),
                (("--mcp", "t=ftp://x"), "expected a url of http:// or https://"),
                (("--mcp-config", str(self.folder / "none.json")), "none.json"),
                ((*self.mcp("good"), "--mcp", "t=http://b"), "two servers have this name"),
                ((*self.mcp("good"), "--mcp-allow", "t__nothing"), "none of their tools has this name"),
                ((*self.mcp("good"), "--tool-choice", "nothing"), "there is no such tool")]:
            with self.subTest(args):
                got = self.run_once(MODEL, "-p", "x", *args)
                self.assertEqual(got.returncode, 1, got.stderr)
                self.assertIn(expected, got.stderr)
                self.assertEqual(len(got.stderr.splitlines()), 1)
        for args in [("--mcp-allow", "t"), ("--tool-choice", "required"), (*self.mcp("good"), "--raw")]:
            self.assertEqual(self.run_once("-p", "x", *args).returncode, 2, args)

    def test_a_model_that_knows_no_tools_is_told_of_none(self):
        model = self.folder / "plain.gguf"
        template = b"{% for message in messages %}{{ message.content }}{% endfor %}"
        model.write_bytes(with_metadata(pathlib.Path(MODEL).read_bytes(),
                                        lambda key, value: template if key == "tokenizer.chat_template" else value))
        got = self.run_once(str(model), "-p", "x", *self.mcp("good"))
        self.assertEqual(got.returncode, 1)
        self.assertIn("does not show tools to the model", got.stderr)


class Programs(Case):
    """Servers that are started as programs."""

    def config(self, mode, *args, **fields):
        path = self.folder / "mcp.json"
        command = {"command": sys.executable, "args": [str(ROOT / "tests/mcp_program.py"), mode, *args], **fields}
        path.write_text(json.dumps({"mcpServers": {"t": command}}))
        path.chmod(0o600)
        return "--mcp-config", str(path)

    def pids(self):
        """The program's pid, and that of a child process."""
        path = self.folder / "pids"
        until(path.exists, "the program")
        return list(map(int, path.read_text().split()))

    def assert_ended(self, pids):
        for pid in pids:
            until(lambda: not is_alive(pid), "the program's end")

    def test_it_is_called_and_has_what_the_file_names(self):
        config = self.config("good", str(self.folder / "pids"), env={"TOKEN": "s3cret"}, cwd=str(self.folder))
        with unittest.mock.patch.dict(os.environ, {"REALIZAR_TEST_SECRET": "x", "LANG": "C.UTF-8"}):
            events, told = self.events(*config, "--tool-choice", "t__environment", "--mcp-allow", "t")
        result = next(event for event in events if event["type"] == "tool_result")
        seen = json.loads(result["text"])
        self.assertEqual(seen["token"], "s3cret")
        # Python sets LC_CTYPE by itself without a locale.
        self.assertEqual(set(seen["names"]) - {"LC_CTYPE"}, {"HOME", "LANG", "PATH", "TOKEN"})
        self.assertEqual((seen["folder"], seen["group"]), (str(self.folder.resolve()), True))
        self.assertTrue(told.endswith("\nenvironment of t is called with:\n{}\n" + result["text"] + "\n"), told)
        self.assert_ended(self.pids())

    def test_a_death_is_told_with_the_last_words(self):
        got = self.run_once("-p", "x", *self.config("dead"))
        self.assertEqual(got.returncode, 1)
        self.assertIn("the MCP server 't': it has ended with exit status 1: no such folder: /data\n", got.stderr)
        events, told = self.events(*self.config("good"), "--tool-choice", "t__die", "--mcp-allow", "t")
        result = next(event for event in events if event["type"] == "tool_result")
        self.assertTrue(result["is_error"])
        self.assertIn("it has ended with exit status 3", result["text"])
        self.assertIn("the disk is full", told)
        self.assertNotIn("\x1b", told)

    def test_noise_is_passed_over_and_an_endless_line_is_not(self):
        got = self.run_once("-p", "x", *self.config("noisy"))
        self.assertEqual(got.returncode, 0, got.stderr)
        self.assertIn("it prints something other than the protocol's messages, which is ignored: [program] listening", got.stderr)
        got = self.run_once("-p", "x", *self.config("endless"))
        self.assertEqual(got.returncode, 1)
        self.assertIn("it sends a line of more than 4194304 bytes", got.stderr)

    def test_who_never_answers_is_given_up_and_ended(self):
        got = self.run_once("-p", "x", *self.config("silent", str(self.folder / "pids")), "--mcp-timeout-s", "1")
        self.assertEqual(got.returncode, 1)
        self.assertIn("the MCP server 't': there was no answer in time", got.stderr)
        self.assert_ended(self.pids())

    def test_it_ends_with_a_killed_program(self):
        process = subprocess.Popen([REALIZAR, "serve", "--port", "0", *ONE_THREAD, *self.config("good", str(self.folder / "pids"))],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        program, child = self.pids()
        process.kill()
        process.wait()
        self.assert_ended([program])
        os.kill(child, signal.SIGKILL)

    def test_a_server_starts_it_at_once_and_ends_it(self):
        with Served(REALIZAR, *self.config("stubborn", str(self.folder / "pids"))) as served:
            pids = self.pids()
            status, _, body = served.ask("GET", "/mcp/t/tools")
            self.assertEqual((status, [tool["name"] for tool in json.loads(body)["tools"]]), (200, ["environment", "die", "wait"]))
            status, _, body = served.ask("POST", "/mcp/t/call", {"tool": "die", "arguments": {}})
            self.assertEqual(status, 502, body)
            self.assertIn("it has ended with exit status 3", json.loads(body)["error"]["message"])
            self.assert_ended(pids)
            status, _, body = served.ask("GET", "/mcp/t/tools")
            self.assertEqual(status, 502, "no request starts it again")
        self.assertIn("the MCP server 't': ready \\x1b[31mred", served.log)
        self.assertIn("the MCP server 't': the disk is full", served.log)
        self.assertNotIn("\x1b", served.log)

    def test_a_stubborn_one_ends_too(self):
        served = Served(REALIZAR, *self.config("stubborn", str(self.folder / "pids")))
        pids = self.pids()
        self.assertEqual(served.stop(), 0)
        self.assert_ended(pids)


@unittest.skipUnless(shutil.which("openssl"), "there is no openssl to make a certificate with")
class Tls(Case):
    def setUp(self):
        super().setUp()
        key, self.certificate = self.folder / "key.pem", self.folder / "cert.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                        "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", self.certificate], check=True,
                       capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, key)
        server = self.servers.server
        server.socket = context.wrap_socket(server.socket, server_side=True)
        self.port = urllib.parse.urlsplit(self.servers.url("good")).port

    def test_a_certificate_must_be_trusted_and_the_hosts(self):
        url = f"t=https://localhost:{self.port}/good"
        got = self.run_once("-p", "x", "--mcp", url)
        self.assertEqual(got.returncode, 1)
        self.assertIn("the server's certificate is not trusted", got.stderr)
        self.env["SSL_CERT_FILE"] = str(self.certificate)
        got = self.run_once("-p", "x", "--mcp", url)
        self.assertEqual(got.returncode, 0, got.stderr)
        got = self.run_once("-p", "x", "--mcp", f"t=https://127.0.0.1:{self.port}/good")
        self.assertIn("the server's certificate is not trusted", got.stderr)
        got = self.run_once("-p", "x", "--mcp", f"t=http://127.0.0.1:{self.port}/good")
        self.assertEqual(got.returncode, 1)


class Chat(Case):
    def chat(self, *args):
        return Terminal(self, REALIZAR, "chat", "--temperature", "0", *ONE_THREAD, "-n", "150", *args, env=self.env)

    def say(self, chat, text, *expected):
        chat.read_until("> ")
        chat.send(text + "\n")
        return "".join(chat.read_until(part) for part in expected)

    def ask_anew(self, chat, *expected):
        """The first question of a new conversation, whose answer is the same every time."""
        self.say(chat, "/reset")
        return self.say(chat, "Say it.", *expected)

    def test_every_call_is_shown_and_asked_about(self):
        chat = self.chat(*self.mcp("good"), "--tool-choice", "t__echo")
        shown = self.say(chat, "Say it.", CONSENT)
        self.assertIn("echo of t is called with:", shown)
        self.assertIn('"text": "a \\u001b[31mred', shown)
        chat.send("maybe\n")
        chat.read_until(CONSENT)
        self.assertEqual(self.calls("good"), [])
        chat.send("n\n")
        self.ask_anew(chat, CONSENT)
        self.assertEqual(self.calls("good"), [])
        chat.send("y\n")
        self.assertIn("\\x1b[31mred", chat.read_until("word"))
        self.ask_anew(chat, CONSENT)
        self.assertEqual(len(self.calls("good")), 1)
        chat.send("a\n")
        self.ask_anew(chat, "It was: ")
        self.say(chat, "/tools", "t__echo (runs without asking)")
        self.assertEqual(len(self.calls("good")), 3)
        self.say(chat, "/quit")
        self.assertEqual(chat.exit_code(), 0)
        self.servers.wait_for("good", "DELETE")
        self.assertEqual(self.servers.methods("good")[-1], "DELETE")

    def test_a_call_of_no_tool_is_told(self):
        chat = self.chat(*self.mcp("good"))
        shown = self.say(chat, Names.ASKED, "the model called get_weather, a tool that does not exist")
        self.assertNotIn("<tool_call>", shown)
        path = self.folder / "chat.json"
        self.say(chat, f"/save {path}", "saved in")
        called = json.loads(path.read_text())["messages"][1]
        self.assertEqual(called["tool_calls"][0]["function"], Names.CALL)

    def test_an_answer_that_is_held_to_a_form_calls_no_tools(self):
        chat = self.chat(*self.mcp("good"))
        self.say(chat, "/set format json", "calls no tools")
        self.say(chat, "/set", "format none")
        self.say(chat, "/quit")
        self.assertEqual(chat.exit_code(), 0)

    def test_what_was_typed_before_the_question_is_no_answer(self):
        chat = self.chat(*self.mcp("good"), "--tool-choice", "t__echo")
        chat.read_until("> ")
        chat.send("Say it.\ny\n")
        chat.read_until(CONSENT)
        chat.send("n\n")
        chat.read_until("> ")
        self.assertEqual(self.calls("good"), [])

    def test_ctrl_c_ends_a_call_and_the_chat_goes_on(self):
        chat = self.chat(*self.mcp("good"), "--tool-choice", "t__wait", "--mcp-allow", "t")
        chat.read_until("> ")
        chat.send("Wait.\n")
        self.servers.wait_for("good", "tools/call")
        chat.send("\x03")
        self.servers.wait_for("good", "notifications/cancelled")
        cancelled = next(message for _, _, _, message in self.servers.log
                         if message and message.get("method") == "notifications/cancelled")
        asked = next(message for _, _, _, message in self.servers.log if message and message.get("method") == "tools/call")
        self.assertEqual(cancelled["params"]["requestId"], asked["id"])
        path = self.folder / "chat.json"
        self.say(chat, f"/save {path}", "saved in")
        roles = [message["role"] for message in json.loads(path.read_text())["messages"]]
        self.assertEqual(roles, ["user", "assistant", "tool"])

    def test_a_saved_chat_keeps_calls_and_results(self):
        path = self.folder / "chat.json"
        chat = self.chat(*self.mcp("good"), "--tool-choice", "t__echo", "--mcp-allow", "t")
        self.say(chat, "Say it.", "It was: ")
        self.say(chat, f"/save {path}", "saved in")
        self.say(chat, "/quit")
        messages = json.loads(path.read_text())["messages"]
        self.assertEqual([message["role"] for message in messages], ["user", "assistant", "tool", "assistant"])
        self.assertEqual(messages[2]["content"], "It was: " + WORD)
        chat = self.chat()
        self.say(chat, f"/load {path}", "(1 question from")
        self.say(chat, "/tools", "There are no tools")
        self.say(chat, "/quit")


class Proxy(Case):
    def serve(self, *args):
        served = Served(REALIZAR, *args)
        self.addCleanup(served.stop)
        return served

    def ask(self, served, method, path, body=None, **headers):
        status, _, text = served.ask(method, path, body, headers)
        return status, json.loads(text)

    def test_tools_are_listed_and_called(self):
        served = self.serve(*self.mcp("good"))
        self.assertEqual(self.ask(served, "GET", "/mcp"), (200, {"servers": [{"name": "t"}]}))
        status, body = self.ask(served, "GET", "/mcp/t/tools")
        self.assertEqual((status, body["notes"]), (200, []))
        self.assertEqual([(tool["name"], tool["function"]["name"]) for tool in body["tools"]],
                         [("echo", "t__echo"), ("sum.of", "t__sum_of"), ("fail", "t__fail"), ("wait", "t__wait")])
        self.assertEqual(body["tools"][0]["function"]["parameters"], TOOLS[0]["inputSchema"])
        for call, expected in [({"tool": "echo", "arguments": {"text": "hi"}}, {"text": "It was: hi", "is_error": False}),
                               ({"tool": "sum.of", "arguments": {"numbers": [1, 2]}}, {"text": '{"sum":3}', "is_error": False}),
                               ({"tool": "fail"}, {"text": "the disk is full", "is_error": True}),
                               ({"tool": "none"}, {"text": "The call failed: Unknown tool (-32602)", "is_error": True})]:
            self.assertEqual(self.ask(served, "POST", "/mcp/t/call", call), (200, expected))
        self.assertEqual(served.stop(), 0)
        self.servers.wait_for("good", "DELETE")
        self.assertEqual(self.servers.methods("good")[-1], "DELETE")

    def test_a_model_may_be_told_of_the_tools_as_they_are_listed(self):
        served = self.serve(*self.mcp("good"))
        tools = self.ask(served, "GET", "/mcp/t/tools")[1]["tools"]
        body = {"messages": [{"role": "user", "content": "Say it."}], "tools": tools, "tool_choice": "required"}
        status, answer = self.ask(served, "POST", "/v1/chat/completions", body)
        self.assertEqual(status, 200, answer)
        self.assertTrue(answer["choices"][0]["message"]["tool_calls"][0]["function"]["name"].startswith("t__"))

    def test_a_call_of_no_tool_comes_like_any_other(self):
        served = self.serve(*self.mcp("good"))
        tools = self.ask(served, "GET", "/mcp/t/tools")[1]["tools"]
        body = {"messages": [{"role": "user", "content": Names.ASKED}], "tools": tools, "temperature": 0, "max_tokens": 60}
        status, answer = self.ask(served, "POST", "/v1/chat/completions", body)
        self.assertEqual(status, 200, answer)
        choice = answer["choices"][0]
        self.assertEqual((choice["message"]["content"], choice["finish_reason"]), (None, "tool_calls"))
        called = choice["message"]["tool_calls"][0]["function"]
        self.assertEqual((called["name"], json.loads(called["arguments"])), ("get_weather", {"city": "Paris"}))

    def test_nothing_beyond_the_list_is_asked(self):
        served = self.serve(*self.mcp("good"))
        for path in ["/mcp/other/tools", "/mcp/http%3A%2F%2F127.0.0.1/tools"]:
            self.assertEqual(self.ask(served, "GET", path)[0], 404)
        self.assertEqual(self.ask(served, "POST", "/mcp/other/call", {"tool": "echo"})[0], 404)
        self.assertEqual(self.servers.log, [])
        plain = self.serve()
        self.assertEqual(self.ask(plain, "GET", "/mcp"), (200, {"servers": []}))
        self.assertEqual(self.ask(plain, "POST", "/mcp/t/call", {"tool": "echo"})[0], 404)

    def test_bodies_that_are_no_calls_are_refused(self):
        served = self.serve(*self.mcp("good"))
        for body in [[], {}, {"tool": ""}, {"tool": 1}, {"tool": "echo", "arguments": "x"}, {"tool": "echo", "arguments": []}]:
            self.assertEqual(self.ask(served, "POST", "/mcp/t/call", body)[0], 400, body)
        big = {"tool": "echo", "arguments": {"text": "x" * (1 << 20)}}
        self.assertEqual(self.ask(served, "POST", "/mcp/t/call", big)[0], 413)
        self.assertEqual(self.servers.log, [])

    def test_keys_and_origins_guard_it(self):
        served = self.serve(*self.mcp("good"), "--api-key", "k")
        for method, path in [("GET", "/mcp"), ("GET", "/mcp/t/tools"), ("POST", "/mcp/t/call")]:
            self.assertEqual(self.ask(served, method, path, {"tool": "fail"} if method == "POST" else None)[0], 401)
        self.assertEqual(self.ask(served, "GET", "/mcp", Authorization="Bearer k")[0], 200)
        plain = self.serve(*self.mcp("good"))
        self.assertEqual(self.ask(plain, "POST", "/mcp/t/call", {"tool": "fail"}, Origin="http://elsewhere.example")[0], 403)
        self.assertEqual(self.servers.log, [])

    def test_what_servers_do_wrong_is_a_bad_gateway(self):
        served = self.serve(*self.mcp("500"), "--mcp-timeout-s", "300")
        status, body = self.ask(served, "GET", "/mcp/t/tools")
        self.assertEqual((status, body["error"]["code"]), (502, "mcp_error"))
        served = self.serve(*self.mcp("silent"), "--mcp-timeout-s", "1")
        status, body = self.ask(served, "GET", "/mcp/t/tools")
        self.assertEqual((status, body["error"]["code"]), (504, "mcp_timeout"))

    def test_a_client_that_leaves_cancels_its_call_and_holds_up_nobody(self):
        served = self.serve(*self.mcp("good"))
        host = urllib.parse.urlsplit(served.url)
        text = json.dumps({"tool": "wait"})

        def call(source="127.0.0.1"):
            client = socket.create_connection((host.hostname, host.port), DEADLINE_S, (source, 0))
            clients.append(client)
            client.sendall(f"POST /mcp/t/call HTTP/1.1\r\nHost: {host.netloc}\r\nContent-Type: application/json\r\n"
                           f"Content-Length: {len(text)}\r\n\r\n{text}".encode())
        clients = []
        for i in range(16):
            call()
            self.servers.wait_for("good", "tools/call", i + 1)
        self.assertEqual(self.ask(served, "POST", "/mcp/t/call", {"tool": "fail"})[0], 429)
        call("127.0.0.2")
        self.assertIn(b" 429 ", clients[15].recv(100), "the newest of whoever has most gives way")
        self.assertEqual(self.ask(served, "GET", "/v1/models")[0], 200)
        for client in clients:
            client.close()
        self.servers.wait_for("good", "notifications/cancelled")
        until(lambda: self.ask(served, "POST", "/mcp/t/call", {"tool": "fail"})[0] == 200, "room for a call")

    def test_a_server_ends_while_a_tool_runs(self):
        served = self.serve(*self.mcp("good"), "--drain-timeout-ms", "100")
        thread = threading.Thread(target=lambda: self.ask(served, "POST", "/mcp/t/call", {"tool": "wait"}))
        thread.start()
        self.servers.wait_for("good", "tools/call")
        served.stop()
        thread.join()
        self.servers.wait_for("good", "DELETE")


if __name__ == "__main__":
    unittest.main()
