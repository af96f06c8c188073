"""The package with asyncio."""
import asyncio
import contextlib
import json
import unittest
import unittest.mock

import realizar
from realizar import _requests
from support import ANSWER, DEADLINE_S, ENDLESS, PARIS, SLOW, WEATHER, assert_was_stopped, load, recorded_ends


class AsyncCase(unittest.IsolatedAsyncioTestCase):
    options = {}

    @classmethod
    def setUpClass(cls):
        cls.model = cls.enterClassContext(load(max_seqs=4, **cls.options))


class Answers(AsyncCase):
    async def test_answers_together(self):
        answers = await asyncio.gather(*(self.model.achat(PARIS, temperature=0) for _ in range(10)))
        self.assertEqual([answer.text for answer in answers], [ANSWER] * 10)
        text = (await self.model.agenerate("Once upon", temperature=0, max_tokens=5)).text
        self.assertEqual(text, self.model.generate("Once upon", temperature=0, max_tokens=5).text)

    async def test_streams(self):
        stream = self.model.astream_chat(PARIS, temperature=0)
        self.assertEqual("".join([str(piece) async for piece in stream]), ANSWER)
        self.assertEqual(stream.generation.text, ANSWER)
        pieces = [piece async for piece in self.model.astream("Once upon", temperature=0, max_tokens=5)]
        self.assertGreater(len(pieces), 1)

    async def test_vectors_forms_and_tools(self):
        self.assertEqual(await self.model.aembed(["a", "b"]), self.model.embed(["a", "b"]))
        self.assertEqual(await self.model.aembed("a"), self.model.embed("a"))
        self.assertEqual((await self.model.achat("?", schema={"enum": [5]})).parsed, 5)
        called = await self.model.achat("Rome?", tools=[WEATHER], tool_choice="weather", temperature=0)
        self.assertIn(json.loads(called.calls[0].arguments_json)["city"], ["Paris", "Rome"])

    async def test_errors_are_raised(self):
        with self.assertRaises(realizar.InvalidArgumentError):
            await self.model.agenerate("")
        with self.assertRaises(realizar.InvalidArgumentError):
            async for _ in self.model.astream(""):
                pass
        with self.assertRaises(realizar.ContextLengthError):
            await self.model.aembed(["fits", "word " * 5000])


class Ends(AsyncCase):
    options = SLOW

    async def next_end(self, ends):
        return await asyncio.get_running_loop().run_in_executor(None, lambda: ends.get(timeout=DEADLINE_S))

    async def test_a_timeout_ends_a_request(self):
        with self.assertRaises(realizar.DeadlineError):
            await self.model.agenerate("word " * 700, timeout=0.001, **ENDLESS)

    async def test_cancelling_a_task_ends_its_request(self):
        loop, begun = asyncio.get_running_loop(), asyncio.Event()
        real = _requests.Request.take

        def take(request, part):
            loop.call_soon_threadsafe(begun.set)
            return real(request, part)

        with recorded_ends() as ends, unittest.mock.patch.object(_requests.Request, "take", take):
            task = asyncio.ensure_future(self.model.achat(PARIS, **ENDLESS))
            await begun.wait()
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            assert_was_stopped(self, await self.next_end(ends))

    async def test_cancelling_before_the_request_has_begun_ends_it_too(self):
        with recorded_ends() as ends:
            task = asyncio.ensure_future(self.model.achat(PARIS, **ENDLESS))
            await asyncio.sleep(0)  # a turn of the loop: the task has begun
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            assert_was_stopped(self, await self.next_end(ends))

    async def test_leaving_a_stream_ends_its_request(self):
        with recorded_ends() as ends:
            stream = self.model.astream_chat(PARIS, **ENDLESS)
            async for _ in stream:
                break
            await stream.aclose()
            assert_was_stopped(self, await self.next_end(ends))
            async with self.model.astream_chat(PARIS, **ENDLESS) as stream:
                await stream.__anext__()
            assert_was_stopped(self, await self.next_end(ends))

    async def test_cancelling_who_waits_for_a_piece_ends_it(self):
        with recorded_ends() as ends:

            async def read_all():
                async for _ in self.model.astream_chat(PARIS, **ENDLESS):
                    first.set()

            first = asyncio.Event()
            task = asyncio.ensure_future(read_all())
            await first.wait()
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            assert_was_stopped(self, await self.next_end(ends))


class Loops(unittest.TestCase):
    def test_a_loop_that_is_closed_does_no_harm(self):
        with load(**SLOW) as model, recorded_ends() as ends:

            async def leave():
                stream = model.astream_chat(PARIS, **ENDLESS)
                await stream.__anext__()
                return stream

            stream = asyncio.run(leave())
            with contextlib.suppress(RuntimeError):
                asyncio.run(stream.aclose())
            assert_was_stopped(self, ends.get(timeout=DEADLINE_S))
            self.assertEqual(model.chat("?", grammar='root ::= "no"').text, "no")
