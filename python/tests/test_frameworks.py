"""How LangChain and LlamaIndex use a given client: with the fields and attributes of their classes for OpenAI, which
are not installed here."""
import asyncio
import unittest

import realizar
from support import ANSWER, DEADLINE_S, MODEL, PARIS, WEATHER
from test_model import Person

QUESTION = [{"role": "user", "content": PARIS}]
SCHEMA = {"type": "json_schema", "json_schema": {"name": "person", "schema": Person.SCHEMA, "strict": True}}


class FrameworkCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.client = cls.enterClassContext(realizar.OpenAI(MODEL, backend="cpu", n_threads=2, max_seqs=2))
        cls.async_client = realizar.AsyncOpenAI(cls.client._model)

    def payload(self, **more):
        return {"model": "realizar-tiny-Q8_0", "stream": False, "temperature": 0, "messages": QUESTION, **more}


class LangChain(FrameworkCase):
    """ChatOpenAI(client=client.chat.completions, root_client=client, async_client=..., root_async_client=...)."""

    def test_an_answer(self):
        raw = self.client.chat.completions.with_raw_response.create(**self.payload())
        dump = raw.parse().model_dump(exclude={"choices": {"__all__": {"message": {"parsed"}}}})
        self.assertEqual(dump["choices"][0]["message"]["content"], ANSWER)
        self.assertEqual(dump["choices"][0]["message"]["role"], "assistant")
        self.assertIsNone(dump.get("error"))
        self.assertEqual(dump["usage"]["completion_tokens"], 9)
        self.assertEqual(dict(raw.headers), {})

    def test_a_stream(self):
        payload = self.payload(stream=True, stream_options={"include_usage": True}, stop=["x"])
        text, usage = "", None
        with self.client.chat.completions.create(**payload) as chunks:
            for chunk in chunks:
                dump = chunk.model_dump()
                usage = dump["usage"] or usage
                text += "".join(choice["delta"]["content"] or "" for choice in dump["choices"])
        self.assertEqual((text, usage["total_tokens"]), (ANSWER, 25))

    def test_tools_that_are_bound(self):
        choice = {"type": "function", "function": {"name": "weather"}}
        strict = {"type": "function", "function": {**WEATHER["function"], "strict": True}}
        payload = self.payload(tools=[strict], tool_choice=choice, parallel_tool_calls=False)
        message = self.client.chat.completions.with_raw_response.create(**payload).parse().model_dump()["choices"][0]["message"]
        [call] = message["tool_calls"]
        self.assertEqual(call["function"]["name"], "weather")
        turns = [*QUESTION, {"role": "assistant", "content": None, "tool_calls": [call]},
                 {"role": "tool", "tool_call_id": call["id"], "content": "sunny"}]
        self.client.chat.completions.with_raw_response.create(**self.payload(messages=turns, max_tokens=3)).parse()

    def test_structured_output(self):
        payload = self.payload(response_format=SCHEMA)
        del payload["stream"]
        message = self.client.chat.completions.with_raw_response.parse(**payload).parse().choices[0].message
        self.assertIn(message.parsed["name"], ["Ada", "Alan"])
        payload["response_format"] = Person
        message = self.client.chat.completions.with_raw_response.parse(**payload).parse().choices[0].message
        self.assertIsInstance(message.parsed, Person)

    def test_the_same_with_asyncio(self):
        async def ask():
            raw = await self.async_client.chat.completions.with_raw_response.create(**self.payload())
            answer = await self.async_client.chat.completions.create(**self.payload(stream=True))
            async with answer as chunks:
                text = "".join([chunk.model_dump()["choices"][0]["delta"]["content"] or "" async for chunk in chunks])
            return raw.parse().choices[0].message.content, text

        answers = asyncio.run(asyncio.wait_for(ask(), DEADLINE_S))
        self.assertEqual(answers, (ANSWER, ANSWER))

    def test_the_responses_api(self):
        raw = self.client.responses.with_raw_response.create(model="realizar-tiny-Q8_0", input=QUESTION, temperature=0,
                                                              stream=False)
        self.assertEqual(raw.parse().output_text, ANSWER)

    def test_vectors(self):
        answer = self.client.embeddings.create(input=["a text", "another"], model="realizar-tiny-Q8_0")
        self.assertEqual([len(one["embedding"]) for one in answer.model_dump()["data"]], [256, 256])


class LlamaIndex(FrameworkCase):
    """OpenAILike(openai_client=client, async_openai_client=...), whose methods are called without with_raw_response."""

    def test_an_answer(self):
        response = self.client.chat.completions.create(**self.payload(max_tokens=20))
        message, choice = response.choices[0].message, response.choices[0]
        self.assertEqual((message.role, message.content, message.tool_calls, choice.logprobs), ("assistant", ANSWER, None, None))
        usage = response.usage
        self.assertEqual((usage.prompt_tokens, usage.completion_tokens, usage.total_tokens), (16, 9, 25))

    def test_a_stream(self):
        text = ""
        for response in self.client.chat.completions.create(**self.payload(stream=True)):
            delta = response.choices[0].delta
            self.assertFalse(delta.tool_calls)
            text += delta.content or ""
        self.assertEqual(text, ANSWER)

    def test_tools_that_are_bound(self):
        payload = self.payload(tools=[WEATHER], tool_choice="required", parallel_tool_calls=False, stream=True)
        chunks = [chunk for chunk in self.client.chat.completions.create(**payload) if chunk.choices]
        calls = [call for chunk in chunks for call in chunk.choices[0].delta.tool_calls or ()]
        self.assertEqual((calls[0].function.name, calls[0].index, calls[0].type), ("weather", 0, "function"))
        self.assertTrue(calls[0].id)
        self.assertTrue(all(call.function.arguments is not None for call in calls))

    def test_logprobs(self):
        answer = self.client.chat.completions.create(**self.payload(logprobs=True, top_logprobs=2))
        first = answer.choices[0].logprobs.content[0].top_logprobs[0]
        self.assertEqual((first.token, len(first.bytes)), ("The", 3))


if __name__ == "__main__":
    unittest.main()
