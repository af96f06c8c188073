"""Streams, the ways to end requests, and that these end them in the engine."""
import asyncio
import gc
import queue
import threading
import unittest
import unittest.mock

import realizar
from realizar import _requests
from support import ANSWER, DEADLINE_S, ENDLESS, PARIS, SLOW, WEATHER, assert_was_stopped, load, recorded_ends


class StreamCase(unittest.TestCase):
    options = {}

    @classmethod
    def setUpClass(cls):
        cls.model = cls.enterClassContext(load(max_seqs=4, **cls.options))


class Streams(StreamCase):
    def test_pieces_are_the_answer(self):
        stream = self.model.stream_chat(PARIS, temperature=0)
        pieces = list(stream)
        self.assertEqual("".join(map(str, pieces)), ANSWER)
        self.assertGreater(len(pieces), 5)
        self.assertEqual(
            stream.generation, self.but_for_times(stream.generation, self.model.chat(PARIS, temperature=0))
        )
        tokens = [token.id for piece in pieces for token in piece.tokens]
        self.assertEqual(tokens, stream.generation.token_ids[: len(tokens)])
        self.assertEqual(list(stream), [])

    def but_for_times(self, kept, other):
        for name in ("queue_ms", "prefill_ms", "first_token_ms", "decode_ms", "n_cached", "prefix_lookup_ms"):
            setattr(other, name, getattr(kept, name))
        self.assertEqual(other.token_ids, kept.token_ids)
        other.tokens = kept.tokens
        return other

    def test_a_prompt_streams(self):
        pieces = list(self.model.stream("Once upon", temperature=0, max_tokens=10))
        text = self.model.generate("Once upon", temperature=0, max_tokens=10).text
        self.assertEqual("".join(map(str, pieces)), text)

    def test_calls_come_in_pieces(self):
        stream = self.model.stream_chat("Rome?", tools=[WEATHER], tool_choice="weather", temperature=0)
        pieces = list(stream)
        self.assertEqual(pieces[0].kind, "call_begin")
        self.assertEqual(str(pieces[0]), "weather")
        self.assertEqual(pieces[-1].kind, "call_end")
        arguments = "".join(piece.text for piece in pieces if piece.kind == "call_arguments")
        self.assertEqual(arguments, stream.generation.calls[0].arguments_json)

    def test_the_end_of_a_stream_has_its_document(self):
        stream = self.model.stream_chat("?", schema={"enum": [5]})
        self.assertEqual("".join(map(str, stream)), "5")
        self.assertEqual(stream.generation.parsed, 5)

    def test_a_wrong_request_fails_at_once(self):
        with self.assertRaises(realizar.InvalidArgumentError):
            self.model.stream("x", temperature=-1)


class Callbacks(StreamCase):
    def test_every_piece_is_told(self):
        pieces = []
        answer = self.model.chat(PARIS, temperature=0, on_piece=pieces.append)
        self.assertEqual("".join(map(str, pieces)), ANSWER)
        self.assertEqual((answer.text, answer.finish_reason), (ANSWER, "stop"))

    def test_false_cancels_the_answer_once(self):
        for asked in ({}, {"stop": " Zz"}, {"max_tokens": 2}):
            with self.subTest(asked):
                told = []
                refuse = lambda piece: told.append(piece.text) or False
                answer = self.model.chat(PARIS, temperature=0, on_piece=refuse, **asked)
                self.assertEqual(len(told), 1)
                self.assertEqual((answer.finish_reason, answer.n_generated), ("cancelled", len(answer.tokens)))
                self.assertEqual(answer.text, told[0])
        answer = asyncio.run(self.model.achat(PARIS, temperature=0, on_piece=lambda piece: False))
        self.assertEqual(answer.finish_reason, "cancelled")

    def test_a_callback_asks_and_does_not_wait(self):
        """Calls that would wait for the thread that they stop raise exceptions; calls that do not wait work."""
        calls = {
            "generate": lambda: self.model.generate("x"),
            "chat": lambda: self.model.chat("x", on_piece=print),
            "agenerate": lambda: asyncio.run(self.model.agenerate("x")),
            "next": lambda: next(self.model.stream("x")),
            "astream": lambda: asyncio.run(self.model.astream("x").__anext__()),
            "embed": lambda: self.model.embed("x"),
            "embed of many": lambda: self.model.embed(["x", "y"]),
            "close": self.model.close,
        }
        raised = {}

        def ask(piece):
            for name, call in calls.items():
                try:
                    call()
                except realizar.InvalidArgumentError as error:
                    raised[name] = str(error)
            return len(self.model.tokenize("Hello")) == 0

        answer = self.model.chat(PARIS, temperature=0, on_piece=ask)
        self.assertEqual(answer.finish_reason, "cancelled")
        self.assertEqual(list(raised), list(calls))
        self.assertIn("callback", raised["generate"])
        self.assertEqual(self.model.chat(PARIS, temperature=0).text, ANSWER)

    def test_what_it_raises_ends_the_answer(self):
        def fail(piece):
            raise ZeroDivisionError(piece.text)

        with self.assertRaises(ZeroDivisionError):
            self.model.generate(PARIS, on_piece=fail, **ENDLESS)


class Ends(StreamCase):
    options = SLOW

    def test_close_ends_the_request(self):
        with recorded_ends() as ends:
            stream = self.model.stream_chat(PARIS, **ENDLESS)
            next(stream)
            stream.close()
            self.assertEqual(list(stream), [])
            assert_was_stopped(self, ends.get(timeout=DEADLINE_S))

    def test_close_from_another_thread(self):
        with recorded_ends() as ends:
            stream = self.model.stream_chat(PARIS, **ENDLESS)
            pieces = [next(stream)]
            reader = threading.Thread(target=lambda: pieces.extend(stream))
            reader.start()
            stream.close()
            reader.join(DEADLINE_S)
            self.assertFalse(reader.is_alive())
            assert_was_stopped(self, ends.get(timeout=DEADLINE_S))

    def test_leaving_a_with_block_ends_it(self):
        with recorded_ends() as ends:
            with self.model.stream_chat(PARIS, **ENDLESS) as stream:
                for _ in stream:
                    break
            assert_was_stopped(self, ends.get(timeout=DEADLINE_S))

    def test_dropping_a_stream_ends_it(self):
        with recorded_ends() as ends:
            for _ in self.model.stream_chat(PARIS, **ENDLESS):
                break
            gc.collect()
            assert_was_stopped(self, ends.get(timeout=DEADLINE_S))

    def test_a_timeout_ends_it(self):
        with recorded_ends() as ends:
            with self.assertRaises(TimeoutError) as raised:
                self.model.chat("word " * 700, timeout=0.001, **ENDLESS)
            self.assertIs(raised.exception, ends.get(timeout=DEADLINE_S))
            assert_was_stopped(self, raised.exception, realizar.DeadlineError)
            with self.assertRaises(realizar.DeadlineError):
                list(self.model.stream_chat("word " * 700, timeout=0.001, **ENDLESS))

    def test_an_interrupt_ends_it(self):
        class Interrupted(queue.SimpleQueue):
            def get(self, *_):
                raise KeyboardInterrupt

        with recorded_ends() as ends, unittest.mock.patch("queue.SimpleQueue", Interrupted):
            with self.assertRaises(KeyboardInterrupt):
                self.model.chat(PARIS, **ENDLESS)
            assert_was_stopped(self, ends.get(timeout=DEADLINE_S))

    def test_a_callback_that_fails_ends_it_with_its_error(self):
        def refuse(_piece):
            raise ZeroDivisionError("pieces are refused")

        with recorded_ends() as ends:
            begin, finish = self.model._chat(PARIS, ENDLESS)
            begin(refuse, lambda outcome: None)
            with self.assertRaisesRegex(ZeroDivisionError, "refused"):
                finish(ends.get(timeout=DEADLINE_S))

    def test_an_open_request_is_forgotten_at_its_end(self):
        self.model.chat(PARIS, temperature=0)
        with self.assertRaises(realizar.RealizarError):
            self.model.generate("")
        self.assertEqual(_requests._open, {})


class Threads(unittest.TestCase):
    QUESTIONS = [
        PARIS,
        "Tell me about rain",
        "Who are you?",
        "What is the capital of Italy?",
        "Tell me a story",
        "Hello",
    ]

    def test_each_gets_what_it_gets_alone(self):
        with load(max_seqs=1) as alone:
            expected = [alone.chat(question, temperature=0, max_tokens=40).token_ids for question in self.QUESTIONS]
        with load(max_seqs=8) as model:
            answers = {}

            def ask(i):
                answers[i] = model.chat(self.QUESTIONS[i % 6], temperature=0, max_tokens=40).token_ids

            threads = [threading.Thread(target=ask, args=(i,)) for i in range(18)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual([answers[i] for i in range(18)], expected * 3)

    def order_of_tokens(self, max_seqs):
        """The request of each token, for three requests, in the order in which the engine reported them."""
        order, have_begun = [], threading.Event()
        with load(max_seqs=max_seqs, **SLOW) as model:
            real = _requests.Request.take

            def take(request, part):
                have_begun.wait(DEADLINE_S)  # the engine's next step waits too
                order.append(request._number)
                return real(request, part)

            with unittest.mock.patch.object(_requests.Request, "take", take):
                streams = [model.stream("Once upon a time", max_tokens=40, **ENDLESS) for _ in range(3)]
                have_begun.set()
                for stream in streams:
                    list(stream)
                numbers = [stream._request._number for stream in streams]
        return order, numbers

    def test_requests_share_a_batch(self):
        order, numbers = self.order_of_tokens(3)
        first_end = min(len(order) - order[::-1].index(number) for number in numbers)
        self.assertTrue(all(order.index(number) < first_end for number in numbers))
        order, numbers = self.order_of_tokens(1)
        self.assertGreater(order.index(numbers[1]), len(order) // 3 - 5)


class Queues(unittest.TestCase):
    def test_a_full_queue_is_an_error(self):
        with load(max_seqs=1, max_queue=1, **SLOW) as model, recorded_ends() as ends:
            streams = []
            with self.assertRaises(realizar.ResourceExhaustedError):
                for _ in range(50):
                    streams.append(model.stream("x", **ENDLESS))
            for stream in streams:
                stream.close()
            for _ in streams:
                assert_was_stopped(self, ends.get(timeout=DEADLINE_S))
