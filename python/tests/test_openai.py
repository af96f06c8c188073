"""The clients with OpenAI's interface, compared with the answers of `realizar serve` to the same requests."""
import asyncio
import base64
import json
import struct
import sys
import unittest

import realizar
from support import (
    ANSWER,
    DEADLINE_S,
    ENDLESS,
    MODEL,
    PARIS,
    PROGRAM,
    ROOT,
    SLOW,
    WEATHER,
    assert_was_stopped,
    recorded_ends,
)
from test_model import Person

sys.path.insert(0, str(ROOT / "tests"))
from served import Served  # noqa: E402

QUESTION = [{"role": "user", "content": PARIS}]
CALL = {"tools": [WEATHER], "tool_choice": {"type": "function", "function": {"name": "weather"}}, "temperature": 0}
# Random values, and those that depend on earlier requests.
VOLATILE = {"id", "created", "cached_tokens", "prompt_tokens_details", "completion_tokens_details"}


def comparable(value):
    """Without values that differ from answer to answer, and without null: dumps contain it where answers may not."""
    if isinstance(value, dict):
        return {k: comparable(v) for k, v in value.items() if k not in VOLATILE and v is not None}
    if isinstance(value, list):
        return [comparable(item) for item in value]
    return round(value, 5) if isinstance(value, float) else value


def joined(chunks):
    """A stream's content in total: the server puts several tokens into a chunk if they are generated faster than it
    writes."""
    told = {"heads": [], "usage": None, "choices": {}}
    for chunk in comparable(chunks):
        choices = chunk.pop("choices")
        told["usage"] = chunk.pop("usage", None)
        if chunk not in told["heads"]:
            told["heads"].append(chunk)
        for choice in choices:
            join(told["choices"].setdefault(choice["index"], {}), choice)
    return told


def join(told, news):
    for name, value in news.items():
        if isinstance(value, dict):
            join(told.setdefault(name, {}), value)
        elif name == "tool_calls":
            for call in value:
                join(told.setdefault(call["index"], {}), call)
        elif name in ("content", "text", "arguments", "tokens", "token_logprobs", "top_logprobs", "text_offset"):
            told[name] = told.get(name, type(value)()) + value
        else:
            told[name] = value


class OpenAICase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.client = cls.enterClassContext(realizar.OpenAI(MODEL, backend="cpu", n_threads=2, max_seqs=4))
        cls.server = cls.enterClassContext(Served(PROGRAM, str(MODEL)))

    def served(self, path, **body):
        status, _, answer = self.server.ask("POST", path, body)
        self.assertEqual(status, 200, answer)
        if not body.get("stream"):
            return json.loads(answer)
        events = [line[len(b"data: ") :] for line in answer.splitlines() if line.startswith(b"data: ")]
        self.assertEqual(events.pop(), b"[DONE]")
        return [json.loads(event) for event in events]

    def compare(self, create, path, **body):
        """Gives the client's answer as dicts."""
        expected = self.served(path, **body)
        given = create(**body)
        dumps = [chunk.model_dump() for chunk in given] if body.get("stream") else given.model_dump()
        read = joined if body.get("stream") else comparable
        self.assertEqual(read(dumps), read(expected))
        return dumps


class Chats(OpenAICase):
    def compare(self, **body):
        return super().compare(self.client.chat.completions.create, "/v1/chat/completions", **body)

    def test_answers_are_the_servers(self):
        self.compare(messages=QUESTION, temperature=0)
        self.compare(messages=QUESTION, temperature=1, seed=5, max_tokens=20, top_p=0.8)
        self.compare(messages=QUESTION, temperature=0, max_completion_tokens=3, stop=["capital"])
        self.compare(messages=QUESTION, temperature=0, logprobs=True, top_logprobs=2)
        self.compare(messages=QUESTION, temperature=0, logprobs=True, max_tokens=2)
        self.compare(
            messages=QUESTION, temperature=0, logit_bias={"398": -100}, presence_penalty=1, frequency_penalty=1
        )

    def test_streams_are_the_servers(self):
        self.compare(messages=QUESTION, temperature=0, stream=True)
        self.compare(messages=QUESTION, temperature=0, stream=True, logprobs=True, max_tokens=4)
        chunks = self.compare(messages=QUESTION, temperature=0, stream=True, stream_options={"include_usage": True})
        self.assertEqual(chunks[-1]["usage"]["completion_tokens"], 9)

    def test_calls_are_the_servers(self):
        answer = self.compare(messages=QUESTION, **CALL)
        self.assertEqual(answer["choices"][0]["finish_reason"], "tool_calls")
        chunks = self.compare(messages=QUESTION, stream=True, **CALL)
        self.assertEqual(chunks[-1]["choices"][0]["finish_reason"], "tool_calls")

    def test_forms(self):
        strict = {"type": "json_schema", "json_schema": {"name": "p", "strict": True, "schema": Person.SCHEMA}}
        dump = self.compare(messages=QUESTION, temperature=0, response_format=strict)
        self.assertIn(json.loads(dump["choices"][0]["message"]["content"])["name"], ["Ada", "Alan"])
        self.compare(messages=QUESTION, temperature=0, max_tokens=30, response_format={"type": "json_object"})
        self.compare(messages=QUESTION, temperature=0, response_format={"type": "text"})
        relaxed = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "array", "uniqueItems": True}}}
        self.compare(messages=QUESTION, temperature=0, max_tokens=5, response_format=relaxed)
        parsed = self.client.chat.completions.parse(messages=QUESTION, response_format=Person)
        self.assertIsInstance(parsed.choices[0].message.parsed, Person)

    def test_attributes(self):
        answer = self.client.chat.completions.create(model="realizar-tiny-Q8_0", messages=QUESTION, temperature=0)
        self.assertEqual(answer.choices[0].message.content, ANSWER)
        self.assertEqual(answer.choices[0].finish_reason, "stop")
        self.assertEqual(answer.usage.total_tokens, 25)
        self.assertEqual(json.loads(answer.model_dump_json())["object"], "chat.completion")
        called = self.client.chat.completions.create(messages=QUESTION, **CALL)
        call = called.choices[0].message.tool_calls[0]
        self.assertEqual((call.type, call.function.name), ("function", "weather"))
        json.loads(call.function.arguments)
        turns = [*QUESTION, called.choices[0].message, {"role": "tool", "tool_call_id": call.id, "content": "sun"}]
        self.assertTrue(self.client.chat.completions.create(messages=turns, max_tokens=3).choices[0].message.content)
        text = ""
        for chunk in self.client.chat.completions.create(messages=QUESTION, temperature=0, stream=True):
            text += chunk.choices[0].delta.content or ""
        self.assertEqual(text, ANSWER)

    def test_several_choices(self):
        answer = self.client.chat.completions.create(messages=QUESTION, n=3, temperature=0)
        self.assertEqual([choice.message.content for choice in answer.choices], [ANSWER] * 3)
        self.assertEqual((answer.usage.prompt_tokens, answer.usage.completion_tokens), (16, 27))
        chunks = self.client.chat.completions.create(messages=QUESTION, n=2, temperature=0, stream=True)
        texts = ["", ""]
        for chunk in chunks:
            texts[chunk.choices[0].index] += chunk.choices[0].delta.content or ""
        self.assertEqual(texts, [ANSWER] * 2)
        drawn = self.client.chat.completions.create(messages=QUESTION, n=2, temperature=3, seed=1, max_tokens=20)
        self.assertNotEqual(drawn.choices[0].message.content, drawn.choices[1].message.content)

    def test_what_is_not_known_is_an_error(self):
        create = self.client.chat.completions.create
        for error, message, fields in [
            (TypeError, "unknown field 'audio'", {"audio": {}}),
            (TypeError, "unknown option 'colour'", {"extra_body": {"colour": 1}}),
            (ValueError, "response_format.type", {"response_format": {"type": "x"}}),
            (ValueError, "tool_choice", {"tool_choice": {"type": "x"}}),
            (ValueError, "n: ", {"n": 0}),
            (ValueError, "top_logprobs", {"top_logprobs": 2}),
            (realizar.NotFoundError, "no model 'x'", {"model": "x"}),
            (ValueError, "system: .*already", {"messages": [{"role": "developer", "content": "a"}], "extra_body": {"system": "b"}}),
        ]:
            with self.subTest(message), self.assertRaisesRegex(error, message):
                create(**{"messages": QUESTION, **fields})

    def test_a_system_message_beside_the_others(self):
        asked = self.client.chat.completions.create(messages=PARIS, temperature=0, extra_body={"system": "Be brief."})
        turns = [{"role": "system", "content": "Be brief."}, *QUESTION]
        self.assertEqual(asked.usage.prompt_tokens, len(self.client._model.chat_prompt(turns)))

    def test_further_options(self):
        answer = self.client.chat.completions.create(
            messages=QUESTION,
            extra_body={"grammar": 'root ::= "no"', "chat_template_kwargs": {"enable_thinking": False}},
        )
        self.assertEqual(answer.choices[0].message.content, "no")


class Others(OpenAICase):
    def test_completions_are_the_servers(self):
        create, path = self.client.completions.create, "/v1/completions"
        self.compare(create, path, prompt="The capital", temperature=0)
        self.compare(create, path, prompt="The capital", temperature=0, max_tokens=4, logprobs=2)
        self.compare(create, path, prompt="The capital", temperature=0, max_tokens=4, stream=True)
        self.compare(create, path, prompt=[9, 8, 7], temperature=0, max_tokens=4)

    def test_vectors_are_the_servers(self):
        create, path = self.client.embeddings.create, "/v1/embeddings"
        self.compare(create, path, input="a")
        self.compare(create, path, input=["a", "longer text"], dimensions=3)
        self.compare(create, path, input=[5, 6])
        coded = create(input="a", encoding_format="base64").data[0].embedding
        floats = struct.unpack("<256f", base64.b64decode(coded))
        self.assertEqual(list(floats), create(input="a").data[0].embedding)
        for wrong in [{"dimensions": 0}, {"dimensions": 257}, {"encoding_format": "hex"}, {"input": []}]:
            with self.assertRaises(ValueError):
                create(**{"input": "a", **wrong})

    def test_models(self):
        _, _, answer = self.server.ask("GET", "/v1/models")
        [served], [model] = json.loads(answer)["data"], list(self.client.models.list())
        self.assertEqual(
            {k: v for k, v in model.model_dump().items() if k != "created"},
            {k: served[k] for k in ("id", "object", "owned_by")},
        )
        self.assertEqual(self.client.models.retrieve(model.id), model)
        with self.assertRaises(realizar.NotFoundError):
            self.client.models.retrieve("x")

    def test_a_model_that_was_given_stays_open(self):
        with realizar.Model.load(MODEL) as model:
            with realizar.OpenAI(model, model_name="tiny") as client:
                self.assertEqual(client.models.list().data[0].id, "tiny")
            self.assertEqual(model.chat(PARIS, temperature=0).text, ANSWER)


class Async(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.client = realizar.AsyncOpenAI(MODEL, max_seqs=4)
        self.addAsyncCleanup(self.client.close)

    async def test_answers(self):
        answer = await self.client.chat.completions.create(messages=QUESTION, temperature=0, n=2)
        self.assertEqual([choice.message.content for choice in answer.choices], [ANSWER] * 2)
        chunks = await self.client.chat.completions.create(messages=QUESTION, temperature=0, stream=True)
        self.assertEqual("".join([chunk.choices[0].delta.content or "" async for chunk in chunks]), ANSWER)
        parsed = await self.client.chat.completions.parse(messages=QUESTION, response_format=Person)
        self.assertIsInstance(parsed.choices[0].message.parsed, Person)

    async def test_the_others(self):
        whole = await self.client.completions.create(prompt="Once", temperature=0, max_tokens=5)
        chunks = await self.client.completions.create(prompt="Once", temperature=0, max_tokens=5, stream=True)
        self.assertEqual("".join([chunk.choices[0].text async for chunk in chunks]), whole.choices[0].text)
        vectors = await self.client.embeddings.create(input=["a", "b"])
        self.assertEqual([len(one.embedding) for one in vectors.data], [256, 256])
        self.assertEqual((await self.client.models.list()).data[0].id, "realizar-tiny-Q8_0")


class Ends(unittest.IsolatedAsyncioTestCase):
    FIELDS = {"messages": QUESTION, "temperature": 0, "n": 2, "stream": True, "extra_body": ENDLESS}

    def test_closing_a_stream_ends_its_requests(self):
        with realizar.OpenAI(MODEL, **SLOW) as client, recorded_ends() as ends:
            chunks = client.chat.completions.create(**self.FIELDS)
            next(chunks)
            chunks.close()
            self.assertEqual(list(chunks), [])
            for _ in range(2):
                assert_was_stopped(self, ends.get(timeout=DEADLINE_S))

    async def test_leaving_one_ends_them_under_asyncio(self):
        loop = asyncio.get_running_loop()
        async with realizar.AsyncOpenAI(MODEL, **SLOW) as client:
            with recorded_ends() as ends:
                async with await client.chat.completions.create(**self.FIELDS) as chunks:
                    await chunks.__anext__()
                for _ in range(2):
                    end = await loop.run_in_executor(None, lambda: ends.get(timeout=DEADLINE_S))
                    assert_was_stopped(self, end)

    def test_a_timeout_is_an_error(self):
        with realizar.OpenAI(MODEL, **SLOW) as client, self.assertRaises(realizar.DeadlineError):
            client.chat.completions.create(messages="word " * 700, timeout=0.001)
