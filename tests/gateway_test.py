#!/usr/bin/env python3
"""A server from the view of the endpoint picker of the Gateway API inference extension and of llm-d: its metrics, read
by the rules of their model server protocol (proposal 003) and of the core metrics extractor, and its probes.
Usage: gateway_test.py REALIZAR."""
import contextlib
import http.client
import json
import re
import shutil
import socket
import subprocess
import threading
import time
import unittest
import urllib.parse

from bundled import MODEL
from folders import temp_folder
from lora_files import write_adapter
from program import REALIZAR
from served import Served
from waiting import DEADLINE_S, until

ENDLESS = {"messages": [{"role": "user", "content": "Hello"}], "stream": True, "ignore_eos": True, "max_tokens": 30_000}

# The names that the extractor reads from an engine of type "vllm", its default.
SPECS = {"queued": "vllm:num_requests_waiting", "running": "vllm:num_requests_running", "kv": "vllm:kv_cache_usage_perc",
         "lora": "vllm:lora_requests_info", "cache": "vllm:cache_config_info"}


def unescaped(value):
    return re.sub(r"\\(.)", lambda match: "\n" if match[1] == "n" else match[1], value)


def families_of(text):
    """{name: (type, [(labels, value)])} from Prometheus' text format. Its parser refuses the whole page if a family is
    repeated, or a series has no family or is repeated."""
    families, name, seen = {}, None, set()
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name not in families, f"{name} is told twice"
            families[name] = (kind, [])
        elif line and not line.startswith("#"):
            series, labels, value = re.fullmatch(r'([a-zA-Z_:][\w:]*)(?:\{((?:\w+="(?:[^"\\]|\\.)*",?)*)\})? (\S+)', line).groups()
            assert name and series in (name, *(name + end for end in ("_bucket", "_sum", "_count"))), line
            pairs = {key: unescaped(own) for key, own in re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels or "")}
            identity = (series, *sorted(pairs.items()))
            assert identity not in seen, line
            seen.add(identity)
            families[name][1].append((pairs, float(value)))
    return families


def names_in(csv):
    return {name.strip() for name in csv.split(",") if name.strip()}


class Endpoint:
    """The extractor's data on one server. `model`: that of its specs, `NAME{model_name=...}`; None: they name none."""

    def __init__(self, text, model=None):
        self.families, self.model = families_of(text), model
        self.queued, self.running, self.kv = (self.first(SPECS[name])[1] for name in ("queued", "running", "kv"))
        # The latest series of adapters, by its value; for all others the first that matches its spec.
        lora = max(self.matching(SPECS["lora"]), key=lambda metric: metric[1])
        self.updated = lora[1]
        self.active, self.waiting = (names_in(lora[0][f"{state}_lora_adapters"]) for state in ("running", "waiting"))
        self.max_active = int(lora[0]["max_lora"])
        cache, self.cache_value = self.first(SPECS["cache"])
        self.block_size, self.n_blocks = int(cache["block_size"]), int(cache["num_gpu_blocks"])

    def matching(self, name):
        kind, metrics = self.families[name]
        assert kind == "gauge", f"{name} is a {kind}"
        return [(labels, value) for labels, value in metrics if self.model in (None, labels.get("model_name"))]

    def first(self, name):
        return self.matching(name)[0]

    def adapter_score(self, name):
        """Counted like the scorer of LoRA affinity."""
        if name in self.active:
            return 1.0
        if len(self.active) + len(self.waiting) < self.max_active:
            return 0.8
        return 0.6 if name in self.waiting else 0.0


@contextlib.contextmanager
def streaming(server, **fields):
    """A request that runs, or waits, until the block ends; its client then disconnects."""
    at = urllib.parse.urlsplit(server.url)
    connection = http.client.HTTPConnection(at.hostname, at.port, timeout=DEADLINE_S)
    reader = None
    try:
        connection.request("POST", "/v1/chat/completions", json.dumps({**ENDLESS, **fields}), {"Content-Type": "application/json"})
        response = connection.getresponse()
        assert response.status == 200, response.read()
        reader = threading.Thread(target=read_all, args=(response,))
        reader.start()
        yield
    finally:
        if reader is not None:
            connection.sock.shutdown(socket.SHUT_RDWR)
            reader.join()
        connection.close()


def read_all(response):
    with contextlib.suppress(OSError, http.client.HTTPException):
        while response.readline():
            pass


class Case(unittest.TestCase):
    ARGS = (MODEL,)

    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(Served(REALIZAR, *cls.ARGS))

    def endpoint(self, model=None, **headers):
        status, answered, body = self.server.ask("GET", "/metrics", headers=headers)
        self.assertEqual(status, 200, body)
        self.assertTrue(answered["Content-Type"].startswith("text/plain; version=0.0.4"))
        return Endpoint(body.decode(), model)

    def until_seen(self, probe, what):
        until(lambda: probe(self.endpoint()), what)


class Load(Case):
    ARGS = (MODEL, "--ctx", "32000", "--kv-tokens", "64000", "--max-seqs", "2")

    def test_an_idle_server_has_none(self):
        seen = self.endpoint()
        self.assertEqual((seen.queued, seen.running, seen.kv, seen.cache_value), (0, 0, 0, 1))

    def test_blocks_hold_the_tokens_that_the_server_was_given_room_for(self):
        seen = self.endpoint()
        self.assertGreaterEqual(seen.n_blocks * seen.block_size, 64_000)
        self.assertLess((seen.n_blocks - 8) * seen.block_size, 64_000)

    def test_running_and_waiting_requests_are_counted(self):
        with streaming(self.server), streaming(self.server), streaming(self.server):
            self.until_seen(lambda seen: (seen.running, seen.queued) == (2, 1), "two that run and one that waits")
            seen = self.endpoint()
            self.assertGreater(seen.kv, 0)
            self.assertLessEqual(seen.kv, 1)
        self.until_seen(lambda seen: (seen.running, seen.queued, seen.kv) == (0, 0, 0), "rest")

    def test_a_server_without_adapters_has_no_places(self):
        seen = self.endpoint()
        self.assertEqual((seen.max_active, seen.active, seen.waiting, seen.adapter_score("a")), (0, set(), set(), 0))


class Adapters(Case):
    @classmethod
    def setUpClass(cls):
        folder = temp_folder(cls)
        flags = [word for i, name in enumerate(("a", "b", "x,y"))
                 for word in ("--lora", f"{name}={write_adapter(folder / f'{i}', i)}")]
        cls.ARGS = (MODEL, "--ctx", "32000", "--max-seqs", "1", "--max-loras", "4", *flags)
        super().setUpClass()

    def test_they_are_told_while_requests_have_them(self):
        start = time.time()
        self.assertEqual(self.endpoint().adapter_score("a"), 0.8)
        with streaming(self.server, model="a"):
            self.until_seen(lambda seen: seen.active == {"a"}, "a to run")
            with streaming(self.server, model="b"), streaming(self.server, model="a"):
                self.until_seen(lambda seen: (seen.active, seen.waiting) == ({"a"}, {"a", "b"}), "both to wait")
                seen = self.endpoint()
                self.assertEqual([seen.adapter_score(name) for name in ("a", "b")], [1.0, 0.8])
                self.assertEqual((seen.max_active, seen.running, seen.queued), (4, 1, 2))
                self.assertTrue(start <= seen.updated <= time.time(), seen.updated)
        self.until_seen(lambda seen: (seen.active, seen.waiting) == (set(), set()), "nobody to have any")

    def test_requests_without_one_count_for_none(self):
        with streaming(self.server):
            self.until_seen(lambda seen: seen.running == 1, "it to run")
            self.assertEqual(self.endpoint().active, set())

    @unittest.skipUnless(shutil.which("promtool"), "promtool is not installed (Debian: prometheus)")
    def test_the_pickers_own_parser_reads_the_page(self):
        """promtool has the same one; in addition, it complains about the colons in vLLM's names."""
        with streaming(self.server, model="a"):
            self.until_seen(lambda seen: seen.active == {"a"}, "a to run")
            page = self.server.ask("GET", "/metrics")[2]
        done = subprocess.run(["promtool", "check", "metrics"], input=page, capture_output=True)
        self.assertNotIn(b"error", done.stderr)
        twice = subprocess.run(["promtool", "check", "metrics"], input=page + page, capture_output=True)
        self.assertIn(b"error while linting", twice.stderr)

    def test_a_name_that_is_read_as_two_is_not_told(self):
        with streaming(self.server, model="x,y"):
            self.until_seen(lambda seen: seen.running == 1, "it to run")
            self.assertEqual(self.endpoint().active, set())


class SeveralModels(Case):
    ARGS = (f"first={MODEL}", f"second={MODEL}", "--ctx", "32000")

    def test_a_spec_with_the_models_name_reads_its_own(self):
        with streaming(self.server, model="second"):
            until(lambda: self.endpoint("second").running == 1, "it to run")
            self.assertEqual(self.endpoint("first").running, 0)
            self.assertEqual(self.endpoint().running, 0, "without a name the first one is read")
            self.assertEqual(self.endpoint("second").max_active, 0)


class Keys(Case):
    """A picker sends no key."""
    ARGS = (MODEL, "--api-key", "secret", "--open-metrics")

    def test_metrics_are_there_without_one_where_the_server_was_told_so(self):
        self.assertEqual(self.endpoint().running, 0)
        self.assertEqual(self.server.ask("GET", "/metrics/history")[0], 401)
        self.assertEqual(self.server.ask("POST", "/v1/chat/completions", ENDLESS)[0], 401)

    def test_probes_need_none(self):
        for path in ("/health", "/readyz", "/livez"):
            self.assertEqual(self.server.ask("GET", path)[0], 200, path)


class KeysForAll(Case):
    ARGS = (MODEL, "--api-key", "secret")

    def test_metrics_want_a_key(self):
        self.assertEqual(self.server.ask("GET", "/metrics")[0], 401)
        self.assertEqual(self.endpoint(Authorization="Bearer secret").running, 0)


if __name__ == "__main__":
    unittest.main()
