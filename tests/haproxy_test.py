#!/usr/bin/env python3
"""Several servers as one, behind the HAProxy configuration in deploy/. Usage: haproxy_test.py REALIZAR.

Exits with 77, which ctest shows as skipped, if HAProxy is not installed. Latencies are printed and not checked."""
import concurrent.futures
import http.client
import itertools
import json
import shutil
import signal
import statistics
import sys
import threading
import time
import unittest

from folders import temp_folder
from program import REALIZAR
from proxy_rig import ADDRESS, ROUND_ROBIN, FakeServer, HaProxy, Server, connect, free_port, get, make_certificate, send
from waiting import DEADLINE_S, ONE_THREAD, until

SKIPPED = 77
N_SERVERS = 3
BUFFER_BYTES = 262144  # tune.bufsize


class Dying(FakeServer):
    """Closes the connection of every POST without an answer."""

    def __init__(self):
        self.paths = []
        super().__init__()

    def answer(self, handler):
        self.paths.append(handler.path)
        handler.close_connection = True


class Fleet(unittest.TestCase):
    def setUp(self):
        self.folder = temp_folder(self)
        self.tls = make_certificate(self.folder)
        self.request_ids = itertools.count()

    def start_server(self, *args, **sizes):
        """A server with its own access log."""
        log = self.folder / f"{next(self.request_ids)}.log"
        server = Server(REALIZAR, 0, "--access-log", str(log), *args, **sizes)
        server.log = log
        self.addCleanup(server.stop)
        return server

    def start_servers(self, backend="cpu", **sizes):
        return [self.start_server(*ONE_THREAD, backend=backend, **sizes) for _ in range(N_SERVERS)]

    def start_proxy(self, servers, changes=()):
        self.http_port, self.port = free_port(), free_port()
        self.proxy = HaProxy(self.folder, servers, self.http_port, self.port, changes)
        process = self.proxy.process
        self.addCleanup(lambda: (process.terminate(), process.wait()))
        until(lambda: process.poll() is not None or get(self.port, "/readyz", self.tls)[0] == 200, "the proxy is ready")
        self.assertIsNone(process.poll(), "the proxy has ended")

    def ask(self, path, body, headers=(), connection=None):
        """Status and body of an answer: status 0 if none begins, and no body if it does not end."""
        own = connection is None
        connection = connection or connect(self.port, self.tls)
        status = 0
        try:
            send(connection, path, body, headers)
            answer = connection.getresponse()
            status = answer.status
            return status, answer.read()
        except (OSError, http.client.HTTPException):
            return status, b""
        finally:
            if own:
                connection.close()

    def server_of(self, servers, path, body, headers=()):
        """The index of the server that answers a request, which must be the only one at that time."""
        until(lambda: self.proxy.n_open() == 0, "no request is open")
        name = f"request-{next(self.request_ids)}"
        status, answer = self.ask(path, body, {**dict(headers), "X-Request-Id": name})
        self.assertEqual(status, 200, answer)

        def logged():
            found = [idx for idx, server in enumerate(servers) if name in server.log.read_text()]
            return found and (found,)

        found, = until(logged, "the request's line in an access log")
        self.assertEqual(len(found), 1, "one server had the request")
        return found[0]


class Conversations(Fleet):
    """Which server gets which request."""
    N_KEYS = 120

    def places(self, servers):
        """The server of each of many conversations that a header names."""
        return [self.server_of(servers, "/tokenize", {"prompt": "x"}, {"X-Session-Id": f"conversation {key}"})
                for key in range(self.N_KEYS)]

    def test_all_turns_of_a_conversation_go_to_one_server(self):
        """However it is named; and conversations with the same system prompt go to different servers."""
        servers = self.start_servers()
        self.start_proxy(servers)
        system = {"role": "system", "content": "You are a helpful assistant. " * 40}

        def chat(first, turn, **fields):
            messages = [system, {"role": "user", "content": first}]
            for n in range(turn):
                messages += [{"role": "assistant", "content": f"answer {n}"}, {"role": "user", "content": f"question {n}"}]
            return {"messages": messages, "max_tokens": 1, **fields}

        def parts(text):
            return [{"type": "text", "text": text}]

        def turns_of_list(name, first, turn):
            items = [{"role": "developer", "content": system["content"]}, {"role": "user", "content": first}]
            items += [{"role": "user", "content": f"question {n}"} for n in range(turn)]
            return {name: items, "max_output_tokens": 16}

        shapes = {
            "header": lambda key, turn: ("/v1/completions", {"prompt": f"{turn}", "max_tokens": 1}, {"X-Session-Id": key}),
            "prompt_cache_key": lambda key, turn: ("/v1/chat/completions", chat(f"{turn}", turn, prompt_cache_key=key), {}),
            "chat": lambda key, turn: ("/v1/chat/completions", chat(key, turn), {}),
            "parts": lambda key, turn: ("/v1/chat/completions", chat(parts(key), turn), {}),
            "user": lambda key, turn: ("/v1/chat/completions", chat("Hello", turn, user=key), {}),
            "messages": lambda key, turn: ("/v1/messages", {"system": system["content"],
                                                            **chat(key, turn), "messages": chat(key, turn)["messages"][1:]}, {}),
            "metadata": lambda key, turn: ("/v1/messages", {**chat("Hello", turn), "messages": chat("Hello", turn)["messages"][1:],
                                                            "metadata": {"user_id": key}}, {}),
            "responses": lambda key, turn: ("/v1/responses", turns_of_list("input", key, turn), {}),
            "text": lambda key, turn: ("/v1/completions", {"prompt": key + " all work" * 120 + f" {turn}" * turn, "max_tokens": 1}, {}),
            "ids": lambda key, turn: ("/v1/completions", {"prompt": [ord(c) for c in key] + [7] * 600 + [turn] * turn, "max_tokens": 1}, {}),
        }
        for name, request in shapes.items():
            places = [{self.server_of(servers, *request(f"{name} {key}", turn)) for turn in range(3)} for key in range(8)]
            with self.subTest(name):
                self.assertEqual([len(place) for place in places], [1] * len(places))
                self.assertGreater(len(set.union(*places)), 1, "not all on one server")

    def test_a_busy_server_passes_requests_on(self):
        """At most twice the average of open requests, rounded up, are on one server, even for one conversation."""
        self.start_proxy(self.start_servers("reference"))  # whose answers do not end soon
        connections = [connect(self.port, self.tls) for _ in range(9)]
        for connection in connections:
            self.addCleanup(connection.close)
            send(connection, "/v1/completions", {"prompt": "Once", "max_tokens": 8000, "ignore_eos": True, "stream": True},
                 {"X-Session-Id": "busy"})
            connection.getresponse().readline()
        n_open = sorted(int(row["scur"]) for row in self.proxy.statistics().values())
        self.assertEqual(sum(n_open), len(connections))
        self.assertLessEqual(n_open[-1], len(connections) * 2 / N_SERVERS)
        self.assertGreater(n_open[-1], len(connections) / N_SERVERS, "the conversation's server has most")

    def test_a_server_that_is_added_takes_its_share_and_moves_nothing_else(self):
        servers = self.start_servers()
        self.start_proxy(servers)
        before = self.places(servers)
        self.assertEqual(set(before), set(range(N_SERVERS)))
        fourth = self.start_server(*ONE_THREAD, backend="cpu")
        for command in [f"add server realizar/four {ADDRESS}:{fourth.port} check inter 1s fall 2 rise 1 weight 64 "
                        "observe layer4 error-limit 1 on-error mark-down",
                        "enable health realizar/four", "enable server realizar/four"]:
            self.proxy.ask(command)
        until(lambda: self.proxy.statistics()["four"]["check_status"] == "L7OK", "the server is ready")
        servers.append(fourth)
        after = self.places(servers)
        moved = [new for old, new in zip(before, after) if old != new]
        self.assertEqual(set(moved), {N_SERVERS})
        # A quarter of 120, and the same ones every time: the ring depends only on the servers' numbers.
        self.assertIn(len(moved), range(20, 41))
        print(f"a fourth server: {len(moved)} of {self.N_KEYS} conversations move", flush=True)

        self.proxy.ask("set server realizar/two state drain")
        drained = self.places(servers)
        self.assertEqual([new for old, new in zip(after, drained) if old != 1], [old for old in after if old != 1])
        self.assertNotIn(1, drained)


class Retries(Fleet):
    def setUp(self):
        super().setUp()
        self.dying, self.server = self.enterContext(Dying()), self.start_server(*ONE_THREAD, backend="cpu")
        self.start_proxy([self.dying, self.server])
        # Conversations of the first one, which closes all their connections.
        self.keys = [key for key in (f"conversation {n}" for n in range(40)) if self.is_of_dying(key)]
        self.assertGreater(len(self.keys), 4)
        self.dying.paths.clear()

    def is_of_dying(self, key):
        until(lambda: self.proxy.n_open() == 0, "no request is open")
        n_before = len(self.dying.paths)
        self.assertEqual(self.ask("/tokenize", {"prompt": "x"}, {"X-Session-Id": key})[0], 200)
        return len(self.dying.paths) > n_before

    def test_a_request_whose_server_is_gone_before_its_answer_goes_to_another(self):
        connection = connect(self.port, self.tls)
        self.addCleanup(connection.close)
        for key in self.keys:
            until(lambda: self.proxy.n_open() == 0, "no request is open")
            body = {"prompt": "x", "padding": "y" * (BUFFER_BYTES - 8192)}
            self.assertEqual(self.ask("/tokenize", body, {"X-Session-Id": key}, connection)[0], 200)
        self.assertEqual(self.dying.paths, ["/tokenize"] * len(self.keys))

    def test_a_request_that_is_larger_than_the_buffer_does_not(self):
        body = {"prompt": "x", "padding": "y" * (4 * BUFFER_BYTES)}
        self.assertEqual(self.ask("/tokenize", body, {"X-Session-Id": self.keys[0]})[0], 502)
        self.assertEqual(self.dying.paths, ["/tokenize"])

    def test_a_tool_is_not_called_twice(self):
        self.assertEqual(self.ask("/mcp/files/call", {"name": "delete"}, {"X-Session-Id": self.keys[0]})[0], 502)
        self.assertEqual(self.dying.paths, ["/mcp/files/call"])


class Load(Fleet):
    """Conversations of several turns from several clients at once, as lists of token ids."""
    N_CLIENTS = 7
    N_CONVERSATIONS = 28
    N_TURNS = 5
    N_SYSTEM = 64  # tokens that all conversations begin with
    N_TURN = 96  # tokens that a turn adds

    def prompt(self, conversation, turn):
        """Ids of letters, the same each time and different for each conversation."""
        return [11] * self.N_SYSTEM + [20 + (conversation * 31 + n * n * 7 + n) % 200 for n in range(self.N_TURN * (turn + 1))]

    def converse(self, conversations, n_output, stop=lambda: False, is_streamed=False):
        """One client's requests, one after the other: (status, usage or None if the answer broke off, seconds)."""
        results = []
        for conversation in conversations:
            for turn in range(self.N_TURNS):
                if stop():
                    return results
                body = {"prompt": self.prompt(conversation, turn), "max_tokens": n_output, "ignore_eos": True,
                        "prompt_cache_key": f"conversation {conversation}"}
                if is_streamed:
                    body |= {"stream": True, "stream_options": {"include_usage": True}}
                start = time.monotonic()
                status, text = self.ask("/v1/completions", body)
                results.append((status, self.usage(text, is_streamed), time.monotonic() - start))
        return results

    @staticmethod
    def usage(text, is_streamed):
        if is_streamed and text.endswith(b"data: [DONE]\n\n"):
            text = text.split(b"\n\n")[-3].removeprefix(b"data: ")
        elif is_streamed:
            return None
        return json.loads(text)["usage"] if text else None

    def all_clients(self, n_conversations, n_output, stop=lambda: False, n_streaming=0):
        with concurrent.futures.ThreadPoolExecutor(self.N_CLIENTS) as clients:
            parts = [clients.submit(self.converse, range(first, n_conversations, self.N_CLIENTS), n_output, stop, first < n_streaming)
                     for first in range(self.N_CLIENTS)]
            return [result for part in parts for result in part.result()]

    def hit_rate(self, name, changes):
        servers = self.start_servers(ctx=2048, kv_tokens=4096)
        self.start_proxy(servers, changes)
        results = self.all_clients(self.N_CONVERSATIONS, 8)
        self.assertEqual([status for status, *_ in results], [200] * self.N_CONVERSATIONS * self.N_TURNS)
        n_prompt = sum(usage["prompt_tokens"] for _, usage, _ in results)
        n_cached = sum(usage["prompt_tokens_details"]["cached_tokens"] for _, usage, _ in results)
        self.assertEqual(n_prompt, sum(server.metric("vllm:prompt_tokens_total") for server in servers))
        times_ms = sorted(1000 * took_s for *_, took_s in results)
        print(f"{name}: hit rate {100 * n_cached / n_prompt:.1f} %, requests by server "
              f"{[int(server.metric('vllm:request_success_total')) for server in servers]}, latency p50 "
              f"{statistics.median(times_ms):.0f} ms, p99 {times_ms[len(times_ms) * 99 // 100]:.0f} ms", flush=True)
        return n_cached / n_prompt

    def test_conversations_find_their_prefixes(self):
        rates = {name: self.hit_rate(name, changes) for name, changes in
                 {"round robin": ROUND_ROBIN, "consistent hashing with bounded load": {}}.items()}
        self.assertGreater(rates["consistent hashing with bounded load"], rates["round robin"] + 0.1)

    def test_no_request_is_lost_when_a_server_is_killed_and_another_drains(self):
        """In addition to the load each server has long requests. A stream begins with its head."""
        n_long, n_tokens = 9, 1000
        servers = self.start_servers()
        self.start_proxy(servers)
        done = threading.Event()
        with concurrent.futures.ThreadPoolExecutor(n_long + 1) as pool:
            long = [pool.submit(self.ask, "/v1/completions", {"prompt": f"Story {n}", "max_tokens": n_tokens, "ignore_eos": True})
                    for n in range(n_long)]
            until(lambda: all(server.n_running() > 0 for server in servers), "each server has a long request")
            clients = pool.submit(self.all_clients, 100_000, 64, done.is_set, n_streaming=3)
            killed, drained, last = servers
            try:
                until(lambda: last.metric("vllm:request_success_total") > 0, "the clients have begun")
                killed.process.kill()
                drained.process.send_signal(signal.SIGTERM)
                self.assertEqual(drained.process.wait(timeout=DEADLINE_S), 0)
                n_before = last.metric("vllm:request_success_total")
                until(lambda: last.metric("vllm:request_success_total") >= n_before + 20, "the third one serves")
            finally:
                done.set()
            results = clients.result()
            answers = [request.result() for request in long]
        self.assertEqual([(status, json.loads(text)["usage"]["completion_tokens"]) for status, text in answers],
                         [(200, n_tokens)] * n_long)
        self.assertEqual({status for status, *_ in results}, {200})
        n_broken = sum(usage is None for _, usage, _ in results)
        self.assertLessEqual(n_broken, 3, "streams that were on the killed server")
        n_again = sum(int(row["wretr"]) for row in self.proxy.statistics().values())
        print(f"one of three killed and one drained: {len(results) + n_long} requests, {n_broken} streams broke off, none lost "
              f"before, {n_again} sent again, latency max {max(took_s for *_, took_s in results):.1f} s", flush=True)


if __name__ == "__main__":
    missing = [name for name in ["haproxy", "openssl"] if not shutil.which(name)]
    if missing:
        print(f"skipped: not installed: {', '.join(missing)}")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
