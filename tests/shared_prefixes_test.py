#!/usr/bin/env python3
"""Prefixes that servers share through a Redis (--cache-url): one finds what another has computed, nobody finds others'
data, and a slow, full, unreachable or lying Redis changes no token. Usage: shared_prefixes_test.py REALIZAR."""
import concurrent.futures
import json
import os
import re
import signal
import sys
import threading
import unittest

from bundled import ROOT, TINY as MODEL
from folders import key_file, temp_folder, written
import redis_rig
from gguf_edit import ARRAY, contents, with_metadata
from lora_files import write_adapter
from prefix_server import LINE, PrefixServer
import program
from redis_rig import FakeRedis, Redis
from small_model import byte_letters
from waiting import DEADLINE_S, until

CONFORMANCE = ROOT / "tests/data/conformance"
PROMPT = LINE * 8
BLOCK = 32
PATIENT = ("--cache-wait-ms", "100000")  # existing values are found, however slow the machine is


class Server(PrefixServer):
    """`key`: of the last completion. Its log can be read while it runs."""

    def __init__(self, *args, model=MODEL, env=None):
        self.key = None
        super().__init__(model, *args, env={**os.environ, **(env or {})})
        self.lines = self.log.splitlines()
        self.reader = threading.Thread(target=lambda: self.lines.extend(self.process.stdout), daemon=True)
        self.reader.start()

    def complete(self, key=None, **fields):
        self.key = key
        return super().complete(key, **{"prompt": PROMPT, "max_tokens": 4, **fields})

    def metric(self, name, **labels):
        """A number from /metrics, summed over the given labels."""
        text = self.request("GET", "/metrics", key=self.key)[1].decode()
        wanted = "".join(f'(?=[^}}]*{label}="{value}")' for label, value in labels.items())
        found = re.search(rf"^realizar_shared_prefix_{name}(?:{{{wanted}[^}}]*}})? (\S+)$", text, re.MULTILINE)
        return float(found.group(1)) if found else 0

    def await_sent(self, n_pieces):
        until(lambda: self.metric("sent_pieces_total") >= n_pieces, f"{n_pieces} pieces that are sent")

    def await_asked(self, n=1):
        until(lambda: sum(self.metric("requests_total", result=result) for result in ("hit", "miss", "late")) >= n, "an answer of Redis")

    def logged(self, text):
        return [line for line in self.lines if text in line]

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=DEADLINE_S)
        self.reader.join(timeout=DEADLINE_S)
        return code


def whole(n_prompt):
    """Tokens of the whole blocks before a prompt's last token."""
    return (n_prompt - 1) // BLOCK * BLOCK


class SharedPrefixes(unittest.TestCase):
    def setUp(self):
        self.root = temp_folder(self)
        self.servers = []
        self.addCleanup(self.kill_all)

    def kill_all(self):
        for server in self.servers:
            if server.process.poll() is None:
                server.process.kill()
            server.process.wait()
            server.process.stderr.close()
            server.reader.join()
            server.process.stdout.close()

    def redis(self, *args, **options):
        redis = Redis(*args, **options)
        self.addCleanup(redis.close)
        return redis

    def fake(self):
        fake = FakeRedis()
        self.addCleanup(fake.close)
        return fake

    def serve(self, redis, *args, wait=PATIENT, **options):
        server = Server("--cache-url", f"redis://127.0.0.1:{redis.port}", *wait, *args, **options)
        self.servers.append(server)
        return server

    def alone(self, *args, **options):
        server = Server(*args, **options)
        self.servers.append(server)
        return server

    def fill(self, redis, *args, **fields):
        """The answer of a server that computes all of it, when Redis has the prompt's blocks."""
        options = {name: fields.pop(name) for name in ("model",) if name in fields}
        server = self.serve(redis, *args, **options)
        answer, n_cached, n_prompt = server.complete(**fields)
        self.assertEqual(n_cached, 0)
        server.await_sent(n_prompt // BLOCK)
        return server, answer, n_prompt


class Sharing(SharedPrefixes):
    def test_another_server_goes_on_where_one_was_and_so_does_the_next(self):
        redis = self.redis()
        first, expected, n_prompt = self.fill(redis)
        self.assertGreaterEqual(whole(n_prompt), 4 * BLOCK)
        second = self.serve(redis)
        self.assertEqual(second.complete(), (expected, whole(n_prompt), n_prompt))
        self.assertEqual(second.metric("requests_total", result="hit"), 1)
        self.assertEqual(second.metric("hit_tokens_total"), whole(n_prompt))
        self.assertEqual(second.metric("up"), 1)
        answer, n_cached, _ = second.complete()
        self.assertEqual(answer, expected)
        self.assertGreaterEqual(n_cached, whole(n_prompt))
        self.assertEqual(second.metric("requests_total", result="hit"), 1, "it has them itself")
        longer = PROMPT + "And it sang of the rain. " * 8
        expected_longer, n_cached, n_longer = first.complete(prompt=longer)
        self.assertGreaterEqual(n_cached, whole(n_prompt))
        first.await_sent(n_longer // BLOCK)
        self.assertEqual((first.stop(), second.stop()), (0, 0))
        restarted = self.serve(redis)
        self.assertEqual(restarted.complete(prompt=longer), (expected_longer, whole(n_longer), n_longer))
        self.assertEqual(self.alone().complete(prompt=longer)[0], expected_longer)

    def test_nothing_is_sent_twice_and_short_prompts_ask_nobody(self):
        fake = self.fake()
        server, _, n_prompt = self.fill(fake)
        n_sent = server.metric("sent_pieces_total")
        server.complete()
        server.complete(prompt="A bird sang.")
        other = self.serve(fake)
        other.complete(prompt="A bird sang.")
        self.assertNotIn("MGET", fake.n_asked)
        other.complete()
        # A request's blocks are examined before those of later ones.
        for i, one in enumerate((server, other)):
            n_before = len(fake.values)
            _, _, n_longer = one.complete(prompt=f"{i} and the wind and the hills sang of the sea. " * 12)
            until(lambda: len(fake.values) >= n_before + n_longer // BLOCK, "the pieces of the last prompt")
        self.assertGreaterEqual(server.metric("sent_pieces_total"), n_sent)
        until(lambda: fake.n_asked["SET"] == len(fake.values), "each value, which is sent once")

    def test_keys_and_salts_find_their_own_and_nobody_elses(self):
        redis = self.redis()
        keys = key_file(self.root / "keys", "one\ntwo\n")
        server, expected, n_prompt = self.fill(redis, "--api-keys", keys, key="one")
        server.complete(key="one", cache_salt="apart")
        server.await_sent(2 * (n_prompt // BLOCK))
        other = self.serve(redis, "--api-keys", keys)
        self.assertEqual(other.complete(key="two"), (expected, 0, n_prompt))
        self.assertEqual(other.complete(key="one", cache_salt="else"), (expected, 0, n_prompt))
        self.assertEqual(other.complete(key="one", cache_salt="apart"), (expected, whole(n_prompt), n_prompt))
        self.assertEqual(other.complete(key="one"), (expected, whole(n_prompt), n_prompt))
        self.assertEqual(self.serve(redis).complete(), (expected, 0, n_prompt), "without keys")

    def test_a_key_that_deletes_its_cache_deletes_it_in_redis(self):
        redis = self.redis()
        keys = key_file(self.root / "keys", "one\ntwo\n")
        server, expected, n_prompt = self.fill(redis, "--api-keys", keys, key="one")
        server.complete(key="two")
        server.await_sent(2 * (n_prompt // BLOCK))
        other = self.serve(redis, "--api-keys", keys)
        self.assertEqual(other.request("DELETE", "/cache", key="one"), (200, b'{"deleted":true}'))
        self.assertEqual(other.complete(key="two"), (expected, whole(n_prompt), n_prompt))
        self.assertEqual(other.complete(key="one"), (expected, 0, n_prompt))
        other.await_sent(n_prompt // BLOCK)
        redis.kill()
        status, reply = other.request("DELETE", "/cache", key="one")
        self.assertEqual((status, json.loads(reply)["error"]["code"]), (503, "shared_cache_lost"))

    def test_another_arithmetic_or_model_finds_nothing(self):
        redis = self.redis()
        _, _, n_prompt = self.fill(redis)
        for args in (("--kv-type", "q8_0"), ("--isa", "portable", "--kv-type", "f32"), ("--backend", "reference")):
            server = self.serve(redis, *args)
            self.assertEqual(server.complete()[1], 0, args)
            self.assertEqual(server.metric("requests_total", result="miss"), 1, args)
        data = bytearray(MODEL.read_bytes())
        middle = len(data) * 2 // 3
        data[middle:middle + 20_000] = data[middle - 20_400:middle - 400]
        model = written(self.root / MODEL.name, data)
        self.assertEqual(self.serve(redis, model=model).complete()[1:], (0, n_prompt))

    def test_adapters_have_their_own(self):
        redis = self.redis()
        one, other = write_adapter(self.root / "one", 1), write_adapter(self.root / "other", 2)
        server, plain, n_prompt = self.fill(redis, "--lora", f"a={one}")
        adapted, n_cached, _ = server.complete(model="a")
        self.assertEqual(n_cached, 0)
        self.assertNotEqual(adapted, plain)
        server.await_sent(2 * (n_prompt // BLOCK))
        same, changed = self.serve(redis, "--lora", f"a={one}"), self.serve(redis, "--lora", f"a={other}")
        self.assertEqual(same.complete(model="a"), (adapted, whole(n_prompt), n_prompt))
        self.assertEqual(same.complete(), (plain, whole(n_prompt), n_prompt))
        self.assertEqual(changed.complete(model="a")[1], 0, "another adapter of the same name")
        self.assertEqual(same.complete(lora=[{"id": 0, "scale": 0.5}])[1], 0, "another scale")


class Kinds(SharedPrefixes):
    """Models that store more than blocks of all positions."""

    def model(self, name):
        """The file, with a letter for each id where it has no vocabulary."""
        data = (CONFORMANCE / f"{name}.gguf").read_bytes()
        metadata, tensors, _ = contents(data)
        if metadata["tokenizer.ggml.model"] == b"none":
            n_vocab = tensors["token_embd.weight"][0][1]
            letters = [letter.encode() for letter in byte_letters()[:n_vocab]]
            data = with_metadata(data, lambda key, value: b"gpt2" if key == "tokenizer.ggml.model" else value,
                                 [("tokenizer.ggml.tokens", ARRAY, letters)])
        path = written(self.root / f"{name}.gguf", data)
        return path

    def expect_shared(self, name):
        redis, model = self.redis(), self.model(name)
        fields = {"prompt": [5 + i * 7 % 40 for i in range(200)], "ignore_eos": True}
        server, expected, n_prompt = self.fill(redis, model=model, **fields)
        self.assertEqual(n_prompt, 200)
        other = self.serve(redis, model=model)
        self.assertEqual(other.complete(**fields), (expected, whole(n_prompt), n_prompt))
        self.assertEqual(server.complete(**fields)[0], expected)

    def test_states_of_recurrent_layers(self):
        self.expect_shared("mamba")

    def test_windows(self):
        self.expect_shared("gpt-oss")


class Trouble(SharedPrefixes):
    def setUp(self):
        super().setUp()
        self.expected = None

    def filled_fake(self):
        fake = self.fake()
        server, self.expected, self.n_prompt = self.fill(fake)
        server.stop()
        return fake

    def expect_right(self, fake, n_cached, reply_to, **options):
        """A new server's answer is right, whatever replies `reply_to` returns."""
        fake.reply_to = reply_to
        server = self.serve(fake, **options)
        answer, n, _ = server.complete()
        self.assertEqual((answer, n), (self.expected, n_cached))
        fake.reply_to = None
        return server

    def stalled(self, name):
        """Replies to a command that wait for an event, and that event."""
        may_go_on = threading.Event()
        self.addCleanup(may_go_on.set)

        def reply_to(command, reply):
            if command[0] == name:
                may_go_on.wait(DEADLINE_S)
            return reply
        return reply_to, may_go_on

    @staticmethod
    def of(name, change):
        return lambda command, reply: change(reply) if command[0] == name else reply

    def test_values_that_are_not_what_they_should_be_are_not_used(self):
        fake = self.filled_fake()
        keys = sorted(fake.values)
        kept = dict(fake.values)

        def flipped(value, at):
            return value[:at] + bytes([value[at] ^ 4]) + value[at + 1:]
        changes = {
            "a flipped byte of the piece": lambda: {key: flipped(value, len(value) // 2) for key, value in kept.items()},
            "a flipped byte of the head": lambda: {key: flipped(value, 60) for key, value in kept.items()},
            "other pieces": lambda: dict(zip(keys, [kept[key] for key in keys[1:] + keys[:1]])),
            "cut": lambda: {key: value[:-1] for key, value in kept.items()},
            "empty": lambda: {key: b"" for key in keys},
            "foreign": lambda: {key: b"hello" for key in keys},
        }
        for what, change in changes.items():
            with self.subTest(what):
                fake.values = change()
                server = self.expect_right(fake, 0, None)
                self.assertEqual(server.metric("errors_total", reason="value"), 1)
                self.assertEqual(server.metric("up"), 1, "it is there, and wrong")
                # A wrong value is removed and, after the request has ended, sent again.
                server.await_sent(1)
                server.stop()
        fake.values = dict(kept)

    def test_only_what_comes_before_a_wrong_value_is_used(self):
        fake = self.filled_fake()
        lock, seen = threading.Lock(), []

        def third_is_wrong(command, reply):
            if command[0] != b"MGET":
                return reply
            with lock:
                seen.append(command[1:])
            values = [fake.values.get(key) for key in command[1:]]
            values[2] = values[2][:-1] + bytes([values[2][-1] ^ 1])
            return b"*%d\r\n" % len(values) + b"".join(fake.text(value) for value in values)
        server = self.expect_right(fake, 2 * BLOCK, third_is_wrong)
        self.assertEqual(server.metric("hit_tokens_total"), 2 * BLOCK)
        self.assertEqual(len(seen), 1, "several blocks a question")

    def test_replies_that_are_none_end_nothing(self):
        fake = self.filled_fake()
        lies = {
            "a huge text": self.of(b"MGET", lambda reply: b"*1\r\n$999999999999\r\n" + bytes(1 << 20)),
            "a huge list": self.of(b"MGET", lambda reply: b"*2147483647\r\n"),
            "too many": self.of(b"MGET", lambda reply: b"*1000000\r\n" + b"$-1\r\n" * 1000),
            "too few": self.of(b"MGET", lambda reply: b"*1\r\n$-1\r\n"),
            "a number": self.of(b"MGET", lambda reply: b":7\r\n"),
            "numbers": self.of(b"MGET", lambda reply: re.sub(rb"^\*(\d+).*", lambda m: m[0][:len(m[1]) + 3], reply, flags=re.S) + b":1\r\n" * 99),
            "no reply at all": self.of(b"MGET", lambda reply: b"what?\r\n"),
            "an error": self.of(b"MGET", lambda reply: b"-LOADING Redis is loading the dataset in memory\r\n"),
            "texts for numbers": self.of(b"EXISTS", lambda reply: b"+yes\r\n"),
            "lists for numbers": self.of(b"EXISTS", lambda reply: b"*1\r\n*1\r\n:1\r\n"),
            "the middle of a value": self.of(b"MGET", lambda reply: None),
            "the end of the connection": self.of(b"EXISTS", lambda reply: None),
        }
        kept = dict(fake.values)
        for what, lie in lies.items():
            with self.subTest(what):
                fake.values = dict(kept)
                server = self.expect_right(fake, 0, lie)
                self.assertGreaterEqual(server.metric("errors_total", reason="lost") + server.metric("errors_total", reason="value")
                                        + server.metric("requests_total", result="miss"), 1)
                self.assertLessEqual(len(server.logged("is lost")), 1)
                self.assertEqual(server.complete()[0], self.expected)
                server.stop()

    def test_a_connection_that_ends_in_the_middle_of_a_value(self):
        fake = self.filled_fake()
        halves = []

        def half(command, reply):
            if command[0] != b"MGET":
                return reply
            halves.append(len(reply) // 2)
            # The length announces more data than arrives: the next question uses another connection.
            return reply[:len(reply) // 2]
        server = self.expect_right(fake, 0, half)
        self.assertEqual(len(halves), 1)
        until(lambda: server.metric("up") == 1, "Redis, which is found again")

    def test_a_redis_that_never_answers_costs_the_time_that_is_allowed(self):
        fake = self.filled_fake()
        stalls, may_go_on = self.stalled(b"EXISTS")
        server = self.expect_right(fake, 0, stalls, wait=("--cache-wait-ms", "100"))
        self.assertEqual(server.metric("requests_total", result="late"), 1)
        fake.reply_to = stalls
        # Others wait neither for it nor for the one that does.
        self.assertEqual(server.complete(prompt="A bird sang.")[1], 0)
        self.assertEqual(server.complete()[0], self.expected)
        may_go_on.set()

    def test_others_do_not_wait_for_one_that_waits(self):
        fake = self.filled_fake()
        is_asked, may_go_on = threading.Event(), threading.Event()
        self.addCleanup(may_go_on.set)

        def trickle():
            yield b":"
            while not may_go_on.wait(0.2):
                yield b"0"
            yield b"1\r\n"

        def first_trickles(command, reply):
            if command[0] != b"EXISTS" or is_asked.is_set():
                return reply
            is_asked.set()
            return trickle()
        fake.reply_to = first_trickles
        server = self.serve(fake, wait=("--cache-wait-ms", 1000 * DEADLINE_S))
        with concurrent.futures.ThreadPoolExecutor() as pool:
            waiting = pool.submit(server.complete)
            until(is_asked.is_set, "the question")
            self.assertEqual(server.complete(prompt="A bird sang.")[1], 0)
            self.assertEqual(server.complete(prompt=PROMPT + "And it sang of the rain.")[1], whole(self.n_prompt))
            self.assertFalse(waiting.done())
            may_go_on.set()
            self.assertEqual(waiting.result(DEADLINE_S)[0], self.expected)

    def test_a_redis_that_is_full_is_told_once(self):
        redis = self.redis("--maxmemory", "1kb", "--maxmemory-policy", "noeviction")
        server = self.serve(redis)
        expected, n_cached, _ = server.complete()
        self.assertEqual(n_cached, 0)
        until(lambda: server.metric("errors_total", reason="refused") >= 1, "a refusal")
        self.assertEqual(server.complete()[0], expected)
        self.assertEqual(server.complete(prompt="The wind and the hills. " * 30)[1], 0)
        self.assertEqual(len(server.logged("refuses prefixes")), 1)
        self.assertEqual(server.metric("up"), 1)
        self.assertEqual(server.stop(), 0)

    def test_a_redis_that_drops_what_it_likes(self):
        redis = self.redis("--maxmemory-policy", "allkeys-lru")
        _, expected, n_prompt = self.fill(redis)
        redis.ask("FLUSHALL")
        other = self.serve(redis)
        self.assertEqual(other.complete(), (expected, 0, n_prompt))
        other.await_sent(n_prompt // BLOCK)
        self.assertEqual(self.serve(redis).complete(), (expected, whole(n_prompt), n_prompt))

    def test_a_redis_that_is_killed_and_comes_back(self):
        redis = self.redis()
        _, expected, n_prompt = self.fill(redis)
        other = self.serve(redis)
        redis.kill()
        self.assertEqual(other.complete(), (expected, 0, n_prompt))
        until(lambda: other.metric("up") == 0, "the loss, which is noticed")
        self.assertEqual(other.complete(prompt="The wind and the hills. " * 30)[1], 0)
        self.assertEqual(len(other.logged("is lost")), 1)
        redis.start()
        until(lambda: other.metric("up") == 1, "Redis, which is found again")
        self.assertEqual(len(other.logged("answers: prefixes are shared")), 2, "at the start, and now")
        self.assertEqual(redis.n_keys(), 0)
        longer = PROMPT + "And it sang of the rain. " * 8
        expected, _, n_longer = other.complete(prompt=longer)
        until(lambda: redis.n_keys() >= n_longer // BLOCK, "blocks that are sent again")
        self.assertEqual(self.serve(redis).complete(prompt=longer), (expected, whole(n_longer), n_longer))

    def test_a_redis_that_comes_later(self):
        port = redis_rig.free_port()
        server = Server("--cache-url", f"redis://127.0.0.1:{port}", *PATIENT)
        self.servers.append(server)
        self.assertEqual(len(server.logged("is not there")), 1)
        expected, n_cached, n_prompt = server.complete()
        self.assertEqual(n_cached, 0)
        redis = self.redis(port=port)
        until(lambda: server.metric("up") == 1, "Redis")
        server.complete(prompt=PROMPT + "y")
        until(lambda: redis.n_keys() >= n_prompt // BLOCK, "the blocks")
        self.assertEqual(self.serve(redis).complete()[:2], (expected, whole(n_prompt)))

    def test_a_server_that_is_stopped_while_redis_stalls_ends(self):
        fake = self.fake()
        fake.reply_to, _ = self.stalled(b"SET")
        server = self.serve(fake)
        server.complete()
        until(lambda: fake.n_asked.get("SET"), "a block that is sent")
        self.assertEqual(server.stop(), 0)


class Doors(SharedPrefixes):
    def refusal(self, *args):
        run = program.run("serve", MODEL, "--port", "0", *args)
        self.assertEqual(run.returncode, 1, run.stderr)
        return run.stderr

    def test_addresses_are_checked_at_the_start(self):
        for url, word in (("http://cache", "redis://HOST"), ("redis://cache:99999", "port"), ("redis://cache/x", "database")):
            self.assertIn(word, self.refusal("--cache-url", url))
        refused = self.refusal("--cache-url", "redis://me:secret@cache")
        self.assertIn("--cache-password-file", refused)
        self.assertNotIn("secret", refused)
        self.assertIn("--cache-url", self.refusal("--cache-wait-ms", 5))
        self.assertIn("--cache-ttl-s", self.refusal("--cache-url", "redis://cache", "--cache-ttl-s", 0))
        missing = self.root / "missing"
        self.assertIn(str(missing), self.refusal("--cache-url", "redis://cache", "--cache-password-file", missing))

    def test_a_password_comes_from_a_file(self):
        redis = self.redis("--requirepass", "open sesame")
        password = self.root / "password"
        password.touch(0o600)
        url = ("--cache-url", f"redis://127.0.0.1:{redis.port}")
        self.assertIn("--cache-password-file", self.refusal(*url))
        password.write_text("wrong\n")
        refused = self.refusal(*url, "--cache-password-file", password)
        self.assertIn("refuses the password", refused)
        self.assertNotIn("wrong", refused)
        password.write_text("open sesame\n")
        self.fill(redis, "--cache-password-file", password)

    def test_tls_asks_for_a_certificate_that_is_known(self):
        cert, key = redis_rig.certificate(self.root)
        redis = self.redis(tls=(cert, key))
        url = f"rediss://127.0.0.1:{redis.port}"
        stranger = Server("--cache-url", url)
        self.servers.append(stranger)
        self.assertIn("certificate", "".join(stranger.logged("is not there")))
        answers = []
        for _ in range(2):
            server = Server("--cache-url", url, *PATIENT, env={"SSL_CERT_FILE": cert})
            self.servers.append(server)
            answers.append(server.complete())
            server.await_sent(0 if len(answers) > 1 else answers[0][2] // BLOCK)
        self.assertEqual(answers[1], (answers[0][0], whole(answers[0][2]), answers[0][2]))

    def test_values_have_a_time_to_live(self):
        redis = self.redis()
        self.fill(redis, "--cache-ttl-s", "5000")
        key = re.search(rb"realizar:[0-9a-f]{16}:[0-9a-f]{64}:0", redis.ask("SCAN", "0")).group()
        self.assertTrue(0 < int(redis.ask("TTL", key)[1:]) <= 5000)


if __name__ == "__main__":
    if redis_rig.PROGRAM is None:
        print("skipped: redis-server is not installed")
        sys.exit(77)
    unittest.main()
