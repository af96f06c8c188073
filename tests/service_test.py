#!/usr/bin/env python3
"""Commands that use a running server of their user. Usage: service_test.py REALIZAR."""
import http.server
import json
import os
import pathlib
import re
import signal
import socket
import socketserver
import stat
import subprocess
import threading
import unittest

from bundled import MODEL, QUESTION as PROMPT
from folders import temp_folder, written
from model_copies import copy_with_words
import program
from program import REALIZAR
from served import Served
from terminal import Terminal
from waiting import DEADLINE_S, ONE_THREAD, until

HERE = "the model is loaded in this process, and not in the running server"


def run(*args, text=None):
    return program.run(*args, stdin=text)


class Case(unittest.TestCase):
    """A runtime folder, a state folder and a store of its own."""

    def setUp(self):
        self.folder = temp_folder(self)
        self.socket = self.folder / "run/realizar/service.sock"
        self.socket.parent.parent.mkdir()
        before = dict(os.environ)
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(before)))
        os.environ["XDG_RUNTIME_DIR"] = str(self.socket.parent.parent)
        for name in ("XDG_STATE_HOME", "XDG_DATA_HOME", "HOME"):
            os.environ[name] = str(self.folder)

    def serve(self, *args):
        server = Served(REALIZAR, *args)
        self.addCleanup(server.stop)
        return server

    def succeeds(self, *args, text=None):
        done = run(*args, text=text)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def answered_by_server(self, *args, text=None):
        """The command's output; it is the same without the server, which answers here."""
        done, alone = run(*args, text=text), run(*args, "--standalone", text=text)
        self.assertEqual((done.returncode, alone.returncode), (0, 0), done.stderr + alone.stderr)
        self.assertEqual((done.stdout, done.stderr), (alone.stdout, alone.stderr))
        self.assertNotIn("in this process", done.stderr)
        return done.stdout

    def n_answers(self, server):
        """Requests that it has answered with text or vectors."""
        return json.loads(server.ask("GET", "/metrics/history")[2])["totals"]["requests"]


class Answers(Case):
    def test_are_the_same_with_and_without_the_server(self):
        server = self.serve(MODEL, "--max-seqs", "2")
        for options in (["--temperature", "0"], ["--seed", "7"], ["--seed", "8", "--top-k", "5", "--repeat-penalty", "1.3"],
                        ["--temperature", "0", "--max-tokens", "3"], ["--temperature", "0", "--stop", "Paris"],
                        ["--seed", "3", "--samplers", "top_k;temperature"], ["--seed", "3", "--logit-bias", "5=2.5"],
                        ["--seed", "5", "--system", "You are a poet.", "--min-p", "0.2"], ["--raw", "--seed", "2", "-n", "9"],
                        ["--temperature", "0", "--format", "json", "-n", "20"],
                        ["--seed", "1", "--schema", '{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}'],
                        ["--seed", "1", "--grammar", 'root ::= "yes" | "no"']):
            with self.subTest(options):
                before = self.n_answers(server)
                self.assertNotEqual(self.answered_by_server("run", MODEL, PROMPT, *options), "")
                self.assertGreater(self.n_answers(server), before)

    def test_a_chat_of_several_turns(self):
        self.serve(MODEL)
        said = f"{PROMPT}\nAnd of Spain?\n/undo\n/set temperature 0\nAnd of Italy?\n/regenerate\n/quit\n"
        self.assertIn("Paris", self.answered_by_server("chat", MODEL, "--seed", "4", text=said))

    def test_a_chat_with_a_full_context(self):
        self.serve(MODEL, "--ctx", "64")
        done = run("chat", MODEL, "--temperature", "0", text=(PROMPT + "\n") * 4)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("the context of 64 tokens is full", done.stderr)
        self.assertEqual(done.stdout.count("Paris"), 4)

    def test_vectors(self):
        encoder = copy_with_words("bert", str(self.folder))
        server = self.serve(encoder)
        before = self.n_answers(server)
        self.answered_by_server("embed", encoder, "rain", "what is rain?")
        self.answered_by_server("embed", encoder, "--json", "rain")
        self.assertGreaterEqual(self.n_answers(server) - before, 2)

    def test_another_model_is_loaded_into_the_server(self):
        server = self.serve(MODEL)
        other = written(self.folder / "other.gguf", pathlib.Path(MODEL).read_bytes())
        self.answered_by_server("run", other, PROMPT, "--temperature", "0")
        self.assertIn(str(other), self.succeeds("ps"))
        self.assertEqual(self.succeeds("stop", other), f"{other} will be unloaded when nobody uses it\n")
        until(lambda: str(other) not in self.succeeds("ps"), "the other model is unloaded")
        self.answered_by_server("run", other, PROMPT, "--temperature", "0")
        self.assertEqual(json.loads(self.succeeds("ps", "--json").splitlines()[0])["id"], server.model)

    def test_a_model_of_the_store_begins_its_chats_as_without_a_server(self):
        (self.folder / "Modelfile").write_text(
            f"FROM {MODEL}\nSYSTEM You are a poet.\nPARAMETER temperature 0\nPARAMETER stop Spain\nMESSAGE user {PROMPT}\n"
            "MESSAGE assistant Paris.\n")
        self.assertEqual(self.succeeds("create", "poet", "-f", self.folder / "Modelfile"), "created poet\n")
        self.serve(MODEL)
        self.answered_by_server("run", "poet", PROMPT)
        self.answered_by_server("chat", "poet", text=f"{PROMPT}\nAnd of Italy?\n")
        self.answered_by_server("run", "poet", PROMPT, "--system", "You are a pirate.")
        self.assertIn("poet", self.succeeds("ps"))
        self.succeeds("rm", "poet")
        until(lambda: "poet" not in self.succeeds("ps"), "what was removed is unloaded")


class Service(Case):
    def test_is_not_used_with_options_that_change_loading(self):
        server = self.serve(MODEL)
        for options, name in ((["--ctx", "64"], "--ctx"), (["--kv-type", "f32"], "--kv-type"), (ONE_THREAD, "--threads"),
                              (["--json"], "--json"), (["--models-store", self.folder], "--models-store")):
            before = self.n_answers(server)
            done = run("run", MODEL, PROMPT, "--temperature", "0", *options)
            self.assertIn("aris", done.stdout)
            self.assertEqual(done.stderr, f"realizar: {name}: {HERE}\n")
            self.assertEqual(self.n_answers(server), before)

    def test_a_model_that_it_cannot_have_is_loaded_here(self):
        other = written(self.folder / "other.gguf", pathlib.Path(MODEL).read_bytes())
        self.serve(MODEL, "--memory-mb", "1", "--no-preload")
        done = run("run", other, PROMPT, "--temperature", "0")
        self.assertIn("Paris", done.stdout)
        self.assertRegex(done.stderr, r"\Arealizar: the model is loaded in this process, since the running server cannot have "
                                      r"it: .*\n\Z")

    def test_is_its_owners_alone(self):
        server = self.serve(MODEL, "--api-key", "secret")
        self.assertEqual(stat.S_IMODE(self.socket.parent.stat().st_mode), 0o700)
        self.assertIn("Paris", self.answered_by_server("run", MODEL, PROMPT, "--temperature", "0"))
        body = {"model": MODEL}
        self.assertEqual(server.ask("POST", "/service/models", body)[0], 401)
        self.assertEqual(server.ask("POST", "/service/models", body, {"Authorization": "Bearer secret"})[0], 403)

    def test_a_folder_that_others_can_open_is_not_used(self):
        self.socket.parent.mkdir(mode=0o755)
        os.chmod(self.socket.parent, 0o755)
        server = self.serve(MODEL)
        self.assertFalse(self.socket.exists())
        self.assertEqual(server.ask("GET", "/readyz")[0], 200)

    def test_one_that_was_killed_is_in_nobodys_way(self):
        server = self.serve(MODEL)
        server.process.kill()
        server.process.wait()
        self.assertTrue(self.socket.exists())
        done = run("run", MODEL, PROMPT, "--temperature", "0")
        self.assertIn("Paris", done.stdout)
        self.assertEqual(done.stderr, "")
        self.serve(MODEL)
        self.answered_by_server("run", MODEL, PROMPT, "--temperature", "0")

    def test_a_second_server_leaves_it_to_the_first(self):
        first, second = self.serve(MODEL), self.serve(MODEL)
        self.assertEqual(second.stop(), 0)
        before = self.n_answers(first)
        self.answered_by_server("run", MODEL, PROMPT, "--temperature", "0")
        self.assertEqual(self.n_answers(first), before + 1)
        self.assertEqual(first.stop(), 0)
        self.assertFalse(self.socket.exists())

    def test_one_of_another_version_is_told_and_left(self):
        asked = []

        class Other(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                asked.append(self.path)
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b'{"version": "0.0.1"}')

            def address_string(self):
                return ""

            def log_message(self, *_):
                pass

        self.socket.parent.mkdir(mode=0o700)
        server = socketserver.ThreadingUnixStreamServer(str(self.socket), Other)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        done = run("run", MODEL, PROMPT, "--temperature", "0")
        self.assertIn("Paris", done.stdout)
        self.assertRegex(done.stderr, r"\Arealizar: the running server has the version 0\.0\.1, and not .*: it is not used\n\Z")
        self.assertEqual(asked, ["/version"])

    def test_one_that_says_nothing_is_left(self):
        server = self.serve(MODEL)
        server.process.send_signal(signal.SIGSTOP)
        done = run("run", MODEL, PROMPT, "--temperature", "0")
        server.process.send_signal(signal.SIGCONT)
        self.assertIn("Paris", done.stdout)
        self.assertRegex(done.stderr, r"\Arealizar: the running server does not answer: .*; it is not used\n\Z")

    def test_without_one_ps_and_stop_say_so(self):
        for args in (["ps"], ["stop", "x"], ["stop", "--server"]):
            done = run(*args)
            self.assertEqual(done.returncode, 1)
            self.assertIn("no server of this user is running", done.stderr)

    def test_ctrl_c_stops_the_answer_alone(self):
        server = self.serve(MODEL)
        chat = Terminal(self, REALIZAR, "chat", MODEL, "--temperature", "0", "--ignore-eos", env={"NO_COLOR": "1"})
        chat.read_until("> ")
        chat.send(PROMPT + "\n")
        chat.read_until("Paris")
        chat.send("\x03")
        chat.read_until("> ")
        chat.send("/set ignore_eos off\n")
        chat.read_until("> ")
        chat.send("/quit\n")
        self.assertEqual(chat.exit_code(), 0)
        until(lambda: re.search(rb"(?m)^vllm:num_requests_running\{[^}]*\} 0$", server.ask("GET", "/metrics")[2]),
              "the answer ends in the server too")
        self.answered_by_server("run", MODEL, PROMPT, "--temperature", "0")


class OwnersSocket(Case):
    def ask(self, body):
        """Status and JSON of the answer to POST /service/models."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            client.connect(str(self.socket))
            client.sendall(b"POST /service/models HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: "
                           b"%d\r\n\r\n%s" % (len(body), body))
            head, _, answer = b"".join(iter(lambda: client.recv(1 << 16), b"")).partition(b"\r\n\r\n")
        return int(head.split()[1]), json.loads(answer)

    def test_what_is_no_model_is_an_error(self):
        self.serve(MODEL)
        folder = self.folder / "folder"
        folder.mkdir()
        for value in (None, True, -1, 1e308, "", "x", [], {}, {"a": [1]}, "/", "/dev/zero", "/none", str(folder), "hf:", "a" * 100_000, "\0"):
            for body in ({"model": value}, value):
                status, answer = self.ask(json.dumps(body).encode())
                self.assertIn(status, (400, 404), (body, answer))
                self.assertTrue(answer["error"]["message"])
        self.assertEqual(self.ask(b"{")[0], 400)
        self.assertEqual(self.ask(json.dumps({"model": MODEL}).encode())[1]["id"], "realizar-tiny-Q8_0")


class Background(Case):
    def test_a_server_goes_on_and_is_stopped(self):
        said = self.succeeds("serve", MODEL, "--background", "--port", "0", *ONE_THREAD)
        self.addCleanup(run, "stop", "--server")
        self.assertIn("realizar stop --server ends it", said)
        self.answered_by_server("run", MODEL, PROMPT, "--temperature", "0")
        again = run("serve", MODEL, "--background", "--port", "0")
        self.assertEqual(again.returncode, 1)
        self.assertIn("a server of this user is running", again.stderr)
        self.assertEqual(self.succeeds("stop", "--server"), "the server has ended\n")
        self.assertFalse(self.socket.exists())

    def test_a_file_of_options_may_say_it(self):
        options = written(self.folder / "serve.conf", f"background = true\nport = 0\nthreads = 1\nmodels = {MODEL}\n")
        self.succeeds("serve", "--config", options)
        self.addCleanup(run, "stop", "--server")
        self.answered_by_server("run", MODEL, PROMPT, "--temperature", "0")
        self.assertEqual(self.succeeds("stop", "--server"), "the server has ended\n")

    def test_one_that_cannot_begin_is_told(self):
        done = run("serve", self.folder / "none.gguf", "--background")
        self.assertEqual(done.returncode, 1)
        log = self.folder / "realizar/serve.log"
        self.assertIn(f"{log} says why", done.stderr)
        self.assertIn("none.gguf", log.read_text())

    def test_nobody_would_find_one_without_a_runtime_folder(self):
        del os.environ["XDG_RUNTIME_DIR"]
        done = run("serve", MODEL, "--background")
        self.assertEqual(done.returncode, 1)
        self.assertIn("XDG_RUNTIME_DIR", done.stderr)

    def test_it_ends_when_nobody_asks(self):
        server = self.serve(MODEL, "--keep-alive", "1")
        self.assertEqual(server.process.wait(DEADLINE_S), 0)
        self.assertFalse(self.socket.exists())

    def test_systemds_socket_begins_it_and_stays(self):
        self.socket.parent.mkdir(mode=0o700)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.addCleanup(listener.close)
        listener.bind(str(self.socket))
        listener.listen()
        command = 'export LISTEN_PID=$$ LISTEN_FDS=1; exec "$@" 3<&0 0</dev/null'
        server = subprocess.Popen(["sh", "-c", command, "sh", REALIZAR, "serve", MODEL, "--port", "0", *ONE_THREAD],
                                  stdin=listener.fileno(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(server.communicate)
        self.addCleanup(server.terminate)
        self.answered_by_server("run", MODEL, PROMPT, "--temperature", "0")
        server.terminate()
        self.assertEqual(server.wait(DEADLINE_S), 0)
        self.assertTrue(self.socket.exists())


class Create(Case):
    def test_a_model_of_the_store_of_a_model_of_the_store(self):
        first = "FROM realizar-tiny\nSYSTEM One.\nPARAMETER top_k 3\n"
        self.assertEqual(self.succeeds("create", "one", "-f", "-", text=first), "created one\n")
        self.succeeds("create", "two", "-f", "-", text="FROM one\nSYSTEM Two.\n")
        self.assertIn("Two.", self.succeeds("show", "two", "--system"))
        self.assertIn("3", self.succeeds("show", "two", "--parameters"))
        self.assertIn("Paris", self.succeeds("run", "two", PROMPT, "--temperature", "0"))
        self.succeeds("rm", "one")
        self.assertIn("Paris", self.succeeds("run", "two", PROMPT, "--temperature", "0"))

    def test_what_is_wrong_is_told_by_its_line(self):
        done = run("create", "x", "-f", "-", text="FROM realizar-tiny\nFLY high\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn("standard input: line 2: expected FROM", done.stderr)
        for text, words in (("FROM nowhere-at-all\n", "nowhere-at-all"), ("FROM realizar-tiny\nPARAMETER top_k x\n", "top_k"),
                            ("FROM realizar-tiny\nTEMPLATE {{ .Oops\n", "template")):
            done = run("create", "x", "-f", "-", text=text)
            self.assertEqual(done.returncode, 1)
            self.assertIn(words, done.stderr)
        self.assertNotIn("x:latest", self.succeeds("list"))


if __name__ == "__main__":
    unittest.main()
