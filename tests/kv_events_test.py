#!/usr/bin/env python3
"""KV events over ZeroMQ: a subscriber, written from the published description of vLLM's format, keeps an index of
blocks, and knows how many tokens of the next prompt the server has. Usage: kv_events_test.py REALIZAR.

Exits with 77, which ctest shows as skipped, if Python has no ZeroMQ or msgpack."""
import json
import os
import pathlib
import random
import re
import shutil
import socket
import struct
import sys
import tempfile
import unittest

import program
from program import REALIZAR
from served import Served
from waiting import DEADLINE_S, until

try:
    import msgpack
    import zmq
except ImportError as missing:
    print(f"skipped: Python has no {missing.name} (Debian's packages python3-zmq and python3-msgpack)")
    sys.exit(77)

BLOCK = 32  # tokens
END = (-1).to_bytes(8, "big", signed=True)


class Index:
    """The blocks that a server has reported. Only those whose parent is known are useful."""

    def __init__(self):
        self.blocks = {}  # hash -> (parent, tokens)
        self.n_stored = self.n_removed = self.n_cleared = 0

    def apply(self, batch):
        at, events, rank = batch
        assert isinstance(at, float) and rank == 0
        for event in events:
            getattr(self, event.pop("type"))(**event)

    def BlockStored(self, block_hashes, parent_block_hash, token_ids, block_size, medium, lora_id, lora_name, group_idx, kv_cache_spec_kind):
        assert (block_size, medium, lora_id, lora_name, group_idx, kv_cache_spec_kind) == (BLOCK, "GPU", None, None, 0, "full_attention")
        assert len(token_ids) == BLOCK * len(block_hashes)
        assert parent_block_hash is None or parent_block_hash in self.blocks, "a block is told after the one before it"
        for i, name in enumerate(block_hashes):
            assert name not in self.blocks, "told once"
            self.blocks[name] = (parent_block_hash, tuple(token_ids[i * BLOCK:(i + 1) * BLOCK]))
            parent_block_hash = name
        self.n_stored += len(block_hashes)

    def BlockRemoved(self, block_hashes, medium, group_idx):
        for name in block_hashes:
            del self.blocks[name]
        self.n_removed += len(block_hashes)

    def AllBlocksCleared(self):
        self.blocks.clear()
        self.n_cleared += 1

    def n_cached(self, prompt):
        """How many tokens a server uses from its cache: the last one is always computed."""
        names = {block: name for name, block in self.blocks.items()}
        parent, n = None, 0
        while (parent := names.get((parent, tuple(prompt[n:n + BLOCK])))) is not None:
            n += BLOCK
        return min(n, len(prompt) - 1)


class Subscriber:
    """Follows the messages by their numbers, like llm-d's router: it requests what it has missed, and when numbers
    restart, so does its index."""

    def __init__(self, test, address, replay, topic="", receive_limit=0):
        self.index, self.next, self.n_live, self.topics = Index(), 0, 0, set()
        self.context = zmq.Context()
        test.addCleanup(self.close)
        self.news = self.context.socket(zmq.SUB)
        self.news.setsockopt(zmq.RCVHWM, receive_limit)
        self.news.setsockopt_string(zmq.SUBSCRIBE, topic)
        self.news.connect(address)
        self.replay = self.context.socket(zmq.DEALER) if replay else None
        if replay:
            self.replay.setsockopt(zmq.RCVHWM, receive_limit)
            self.replay.connect(replay)

    def close(self):
        for socket_ in filter(None, (self.news, self.replay)):
            socket_.close(0)
        self.context.term()

    def take(self, topic, number, payload):
        number = struct.unpack(">Q", number)[0]
        if number < self.next:
            return  # known from a reply
        assert number == self.next, f"expected message {self.next}, actual {number}"
        self.topics.add(topic)
        self.next += 1
        self.index.apply(msgpack.unpackb(payload))

    def repeated(self, first):
        """All messages from that one on: topic, number, payload."""
        self.replay.send_multipart([b"", struct.pack(">Q", first)])
        messages = []
        while True:
            assert self.replay.poll(DEADLINE_S * 1000), "a reply"
            empty, *message = self.replay.recv_multipart()
            assert empty == b""
            if message[1] == END:
                assert message == [b"", END, b""]
                return messages
            messages.append(message)

    def catch_up(self):
        for message in self.repeated(self.next):
            self.take(*message)

    def read(self):
        """Reads the received messages, and requests missed ones."""
        while self.news.poll(0):
            message = self.news.recv_multipart()
            self.n_live += 1
            number = struct.unpack(">Q", message[1])[0]
            if number > self.next and self.replay:
                self.catch_up()
            self.take(*message)


class Case(unittest.TestCase):
    def serve(self, *args, replay=True):
        """A server with small memory, and the addresses of its events."""
        more = ["--kv-events-replay", "tcp://127.0.0.1:0"] if replay else []
        server = self.enterContext(Served(REALIZAR, "realizar-tiny", "--ctx", "512", "--kv-tokens", str(24 * BLOCK), "--max-seqs", "2", "--no-idle-prefill",
                        "--kv-events", "tcp://*:0", *more, *args))
        line = server.process.stdout.readline()
        found = re.search(r"KV events of (\S+) are published at tcp://0\.0\.0\.0:(\d+)(?:, and repeated at (\S+))?", line)
        self.assertTrue(found, line)
        self.assertEqual(found[1], "realizar-tiny")
        server.address, server.replay = f"tcp://127.0.0.1:{found[2]}", found[3]
        return server

    def complete(self, server, prompt, headers=None, **fields):
        """How many tokens were cached."""
        status, _, reply = server.ask("POST", "/v1/completions", {"prompt": prompt, "max_tokens": 1, "temperature": 0, **fields}, headers)
        self.assertEqual(status, 200, reply)
        return json.loads(reply)["usage"]["prompt_tokens_details"]["cached_tokens"]

    def counts(self, server):
        """Numbers of blocks that got a name, and that lost it to others, of an idle engine."""
        def values(*names):
            page = server.ask("GET", "/metrics")[2].decode()
            return [int(float(re.search(rf"^{name}(?:{{.*}})? (\S+)$", page, re.MULTILINE)[1])) for name in names]
        until(lambda: values("vllm:num_requests_running") == [0], "the engine's rest")
        return values("realizar_prefix_inserted_blocks_total", "realizar_prefix_evicted_blocks_total")

    def follow(self, server, subscriber):
        """Waits until the subscriber knows all blocks that the server has counted; prompts must be whole blocks, which
        are all reported."""
        expected = self.counts(server)

        def has_all():
            subscriber.read()
            if [subscriber.index.n_stored, subscriber.index.n_removed] == expected:
                return True
            subscriber.catch_up()
            return [subscriber.index.n_stored, subscriber.index.n_removed] == expected
        until(has_all, f"{expected} blocks stored and removed")

    def texts(self, seed):
        """Endless prompts of whole blocks with common beginnings."""
        choice = random.Random(seed)

        def segment(path):
            tokens = random.Random(str(path))
            return [tokens.randrange(3, 2000) for _ in range(BLOCK)]
        while True:
            path = tuple(min(choice.randrange(3), choice.randrange(3)) for _ in range(choice.randint(1, 8)))
            yield [token for depth in range(len(path)) for token in segment(path[:depth + 1])]


class Predictions(Case):
    def test_the_cached_tokens_of_the_next_prompt_are_known(self):
        # The whole cache may be emptied if clients on this machine may change the server.
        server = self.serve("--kv-events-topic", "kv@10.0.0.1:8000@tiny", "--delete-models")
        subscriber = Subscriber(self, server.address, server.replay, "kv@")
        texts, n_hits, n_clears = self.texts(1), 0, 0
        for i in range(250):
            prompt = next(texts)
            self.follow(server, subscriber)
            expected = subscriber.index.n_cached(prompt)
            self.assertEqual(self.complete(server, prompt), expected, f"prompt {i}")
            n_hits += expected > 0
            if i % 60 == 50:
                self.follow(server, subscriber)
                n_clears += 1
                self.assertEqual(server.ask("DELETE", "/cache")[0], 200)
                until(lambda: (subscriber.read(), subscriber.catch_up(), not subscriber.index.blocks)[2], "an empty index")
        self.follow(server, subscriber)
        self.assertGreater(n_hits, 50)
        self.assertGreater(subscriber.index.n_removed, 50, "blocks were evicted")
        self.assertEqual(subscriber.index.n_cleared, 1 + n_clears, "at the beginning, and when the cache was emptied")
        self.assertGreater(subscriber.n_live, 0)
        self.assertEqual(subscriber.topics, {b"kv@10.0.0.1:8000@tiny"})
        with self.subTest("who comes late learns the same from what is repeated"):
            late = Subscriber(self, server.address, server.replay)
            late.catch_up()
            self.assertEqual(late.index.blocks, subscriber.index.blocks)
        with self.subTest("so does who has missed a part"):
            messages = late.repeated(late.next // 2)
            self.assertEqual([struct.unpack(">Q", number)[0] for _, number, _ in messages], list(range(late.next // 2, late.next)))
            self.assertEqual(late.repeated(late.next), [])
            self.assertEqual(late.repeated(2**64 - 1), [])
        with self.subTest("requests that are none get no answer, and the next one does"):
            for wrong in ([b""], [b"x", b"1234567"], [b"", b"1234567"], [b"", b"123456789"], [b"", b"12345678", b""], [b"x" * 1000] * 20):
                late.replay.send_multipart(wrong)
            self.assertEqual(len(late.repeated(0)), late.next)
        self.assertEqual(server.stop(), 0)

    def test_requests_at_once_leave_an_index_that_is_right(self):
        server = self.serve()
        subscriber = Subscriber(self, server.address, server.replay)
        texts = self.texts(2)
        for _ in range(15):
            prompts = [next(texts) for _ in range(6)]
            status, _, reply = server.ask("POST", "/v1/completions", {"prompt": prompts, "max_tokens": 1})
            self.assertEqual(status, 200, reply)
            self.follow(server, subscriber)
            prompt = next(texts)
            expected = subscriber.index.n_cached(prompt)
            self.assertEqual(self.complete(server, prompt), expected)
        self.assertEqual(server.stop(), 0)

    def test_of_the_last_block_that_is_not_full_nothing_is_told(self):
        """The format only has whole blocks: a server may have up to a block's tokens more than its index."""
        server = self.serve()
        subscriber = Subscriber(self, server.address, server.replay)
        texts, choice, n_more = self.texts(3), random.Random(3), 0
        for i in range(60):
            prompt = next(texts)
            prompt = prompt[:len(prompt) - choice.randrange(BLOCK)]
            # The blocks of this one are reported after all earlier events.
            last = [5 + i] * BLOCK
            self.complete(server, last)
            until(lambda: (subscriber.read(), subscriber.catch_up(), subscriber.index.n_cached(last) > 0)[2], "the last text's block")
            expected = subscriber.index.n_cached(prompt)
            cached = self.complete(server, prompt)
            self.assertIn(cached - expected, range(BLOCK), f"prompt {i}")
            n_more += cached > expected
        self.assertGreater(n_more, 0)
        self.assertEqual(server.stop(), 0)

    def test_prompts_with_a_salt_are_not_told(self):
        server = self.serve()
        subscriber = Subscriber(self, server.address, server.replay)
        prompt = (next(self.texts(4)) * 4)[:4 * BLOCK]
        self.complete(server, prompt, cache_salt="mine")
        self.assertEqual(self.complete(server, prompt, cache_salt="mine"), len(prompt) - 1)
        self.assertEqual(subscriber.index.n_cached(prompt), 0)
        self.assertEqual(self.complete(server, prompt), 0)
        until(lambda: (subscriber.read(), subscriber.catch_up(), subscriber.index.n_cached(prompt) == len(prompt) - 1)[2], "the prompt without one")
        self.assertEqual(subscriber.index.n_stored, len(prompt) // BLOCK)
        self.assertEqual(server.stop(), 0)

    def test_those_of_a_key_are_until_it_takes_them_back(self):
        server = self.serve("--api-key", "secret-1", "--api-key", "secret-2")
        subscriber = Subscriber(self, server.address, server.replay)
        keys = [{"Authorization": f"Bearer secret-{i}"} for i in (1, 2)]
        prompts = [[17 + i] * (2 * BLOCK) for i in (1, 2)]

        def known(n_first, n_second):
            subscriber.read()
            subscriber.catch_up()
            return [subscriber.index.n_cached(prompt) for prompt in prompts] == [n_first, n_second]
        for key, prompt in zip(keys, prompts):
            self.complete(server, prompt, key)
        until(lambda: known(2 * BLOCK - 1, 2 * BLOCK - 1), "the prompts of both keys")
        self.assertEqual(server.ask("DELETE", "/cache", headers=keys[0])[0], 200)
        until(lambda: known(0, 2 * BLOCK - 1), "the second key's alone")
        self.assertEqual(server.stop(), 0)

    def test_what_a_restarted_server_has_kept_is_told(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        texts = [text for _, text in zip(range(8), self.texts(6))]
        server = self.serve("--cache-dir", folder)
        for text in texts:
            self.complete(server, text)
        self.assertEqual(server.stop(), 0)
        server = self.serve("--cache-dir", folder)
        subscriber = Subscriber(self, server.address, server.replay)
        until(lambda: (subscriber.catch_up(), subscriber.index.blocks)[1], "the blocks that were kept")
        expected = subscriber.index.n_cached(texts[-1])
        self.assertEqual(expected, len(texts[-1]) - 1)
        self.assertEqual(self.complete(server, texts[-1]), expected)
        self.assertEqual(server.stop(), 0)


    def test_a_model_that_is_unloaded_holds_nothing_and_begins_anew(self):
        server = self.serve("--delete-models")
        subscriber = Subscriber(self, server.address, server.replay)
        texts = self.texts(10)
        for _ in range(3):
            for _ in range(5):
                prompt = next(texts)
                self.follow(server, subscriber)
                expected = subscriber.index.n_cached(prompt)
                self.assertEqual(self.complete(server, prompt), expected)
            self.follow(server, subscriber)
            self.assertTrue(subscriber.index.blocks)
            status, _, reply = server.ask("POST", "/models/unload", {"model": "realizar-tiny"})
            self.assertEqual(status, 200, reply)
            until(lambda: (subscriber.read(), subscriber.catch_up(), not subscriber.index.blocks)[2], "an empty index")
        self.assertEqual(server.stop(), 0)


class Subscribers(Case):
    def test_a_server_goes_where_one_waits_and_says_at_last_that_it_is_gone(self):
        context = zmq.Context()
        self.addCleanup(context.term)
        router = context.socket(zmq.SUB)
        self.addCleanup(router.close, 0)
        router.setsockopt(zmq.SUBSCRIBE, b"")
        port = router.bind_to_random_port("tcp://127.0.0.1")
        server = self.enterContext(Served(REALIZAR, "realizar-tiny", "--kv-events", f"tcp://127.0.0.1:{port}", "--kv-events-topic", "here"))
        texts = self.texts(7)

        def told():
            self.complete(server, next(texts))
            return router.poll(100)
        until(told, "a message")
        topic, number, payload = router.recv_multipart()
        self.assertEqual((topic, len(number)), (b"here", 8))
        self.assertEqual(len(msgpack.unpackb(payload)), 3)
        self.assertEqual(server.stop(), 0)
        # The very first message is the same.
        while number == bytes(8) or msgpack.unpackb(payload)[1] != [{"type": "AllBlocksCleared"}]:
            self.assertTrue(router.poll(DEADLINE_S * 1000), "the last message")
            _, number, payload = router.recv_multipart()

    def test_nobody_who_reads_slowly_or_not_at_all_harms_a_server(self):
        server = self.serve()
        sleeping = Subscriber(self, server.address, server.replay, receive_limit=1)
        texts = self.texts(8)
        for _ in range(60):
            self.complete(server, next(texts))
        for _ in range(200):  # more than are answered at once
            sleeping.replay.send_multipart([b"", struct.pack(">Q", 0)], zmq.DONTWAIT)
        gone = Subscriber(self, server.address, server.replay)
        gone.replay.send_multipart([b"", struct.pack(">Q", 0)])
        gone.close()
        for _ in range(20):
            self.complete(server, next(texts))
        self.assertEqual(server.stop(), 0)

    def test_without_a_replay_socket_events_are_published_all_the_same(self):
        server = self.serve(replay=False)
        self.assertIsNone(server.replay)
        subscriber = Subscriber(self, server.address, None)
        texts = self.texts(9)

        def told():
            self.complete(server, next(texts))
            return subscriber.news.poll(100)
        until(told, "a message")
        self.assertEqual(server.stop(), 0)


class Refusals(unittest.TestCase):
    def refusal(self, *args, **options):
        ended = program.run("serve", "realizar-tiny", "--port", "0", *args, **options)
        self.assertEqual(ended.returncode, 1, ended.stdout)
        return ended.stderr

    def test_an_address_that_is_none(self):
        for address in ("5557", "http://*:5557", "tcp://*", "tcp://*:70000", "inproc://x", "tcp://router:0"):
            self.assertIn(f"--kv-events '{address}': expected", self.refusal("--kv-events", address))
        self.assertIn("--kv-events-replay 'x': expected", self.refusal("--kv-events", "tcp://*:0", "--kv-events-replay", "x"))

    def test_a_port_that_another_program_has(self):
        with socket.create_server(("0.0.0.0", 0)) as taken:
            port = taken.getsockname()[1]
            told = self.refusal("--kv-events", f"tcp://*:{port}")
            self.assertIn(f"--kv-events: cannot listen on tcp://*:{port}: Address already in use", told)
            told = self.refusal("--kv-events", "tcp://*:0", "--kv-events-replay", f"tcp://*:{port}")
            self.assertIn(f"--kv-events-replay: cannot listen on tcp://*:{port}", told)

    def test_flags_that_need_another(self):
        self.assertIn("--kv-events publishes", self.refusal("--kv-events-replay", "tcp://*:0"))
        self.assertIn("--kv-events publishes", self.refusal("--kv-events-topic", "x"))

    def test_more_than_one_model(self):
        self.assertIn("2 are served", self.refusal("second=realizar-tiny", "--kv-events", "tcp://*:0"))

    def test_a_machine_without_zeromq(self):
        folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        (folder / "libzmq.so.5").write_text("no library")
        told = self.refusal("--kv-events", "tcp://*:0", env={**os.environ, "LD_LIBRARY_PATH": str(folder)})
        self.assertIn("libzmq5", told)


if __name__ == "__main__":
    unittest.main()
