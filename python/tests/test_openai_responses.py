"""responses.create of OpenAI's interface, compared with the answers of `realizar serve` to the same requests."""
import asyncio
import json
import sys
import unittest

import realizar
from support import ANSWER, MODEL, PARIS, PROGRAM, ROOT, WEATHER
from test_model import Person

sys.path.insert(0, str(ROOT / "tests"))
from served import Served  # noqa: E402

TOOL = {"type": "function", **WEATHER["function"]}
CALL = {"tools": [TOOL], "tool_choice": {"type": "function", "name": "weather"}}


def parts(output):
    """The content of an answer's items."""
    said = []
    for item in output:
        text = item["arguments"] if item["type"] == "function_call" else "".join(part["text"] for part in item["content"])
        said.append((item["type"], item["status"], item.get("name"), text))
    return said


class Responses(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(Served(PROGRAM, str(MODEL)))
        cls.client = cls.enterClassContext(realizar.OpenAI(MODEL, backend="cpu", n_threads=2))

    def served(self, **fields):
        status, _, text = self.server.ask("POST", "/v1/responses", {"temperature": 0, **fields})
        self.assertEqual(status, 200, text)
        return json.loads(text)

    def check(self, **fields):
        """The answer whole, streamed and from the server."""
        whole = self.client.responses.create(temperature=0, **fields)
        expected = self.served(**fields)
        self.assertEqual(parts(whole.to_dict()["output"]), parts(expected["output"]))
        self.assertEqual(whole.status, expected["status"])
        self.assertEqual(whole.usage.output_tokens, expected["usage"]["output_tokens"])
        self.assertEqual(whole.usage.input_tokens, expected["usage"]["input_tokens"])
        events = list(self.client.responses.create(temperature=0, stream=True, **fields))
        self.assertEqual([event.sequence_number for event in events], list(range(len(events))))
        self.assertEqual([event.type for event in events[:2]], ["response.created", "response.in_progress"])
        self.assertEqual(events[-1].type, f"response.{whole.status}")
        self.assertEqual(parts(events[-1].response.to_dict()["output"]), parts(whole.to_dict()["output"]))
        for i, (kind, _, _, text) in enumerate(parts(whole.to_dict()["output"])):
            deltas = [event.delta for event in events if event.output_index == i and event.type.endswith(".delta")]
            self.assertEqual("".join(deltas), text, kind)
        return whole

    def test_texts(self):
        answer = self.check(input=PARIS)
        self.assertEqual(answer.output_text, ANSWER)
        self.assertEqual(answer.model, "realizar-tiny-Q8_0")
        self.check(input=[{"role": "user", "content": [{"type": "input_text", "text": PARIS}]}], instructions="Be brief.")

    def test_a_cut_answer_is_incomplete(self):
        answer = self.check(input=PARIS, max_output_tokens=2)
        self.assertEqual((answer.status, answer.incomplete_details.reason), ("incomplete", "max_output_tokens"))

    def test_calls_and_their_results(self):
        answer = self.check(input="How is the weather in Paris?", **CALL)
        (call,) = answer.output
        self.assertEqual((call.type, call.name), ("function_call", "weather"))
        self.assertIn("city", json.loads(call.arguments))
        result = {"type": "function_call_output", "call_id": call.call_id, "output": "sunny"}
        again = [{"role": "user", "content": "How is the weather in Paris?"}, call.to_dict(), result]
        last = self.check(input=again, tools=[TOOL])
        self.assertEqual(last.output[0].type, "message")
        items = [{"role": "user", "content": "How is the weather in Paris?"}, call, result]
        self.assertEqual(self.client.responses.create(input=items, tools=[TOOL], temperature=0).output_text, last.output_text)

    def test_forms(self):
        form = {"type": "json_schema", "name": "n", "schema": {"enum": [1, 2]}, "strict": True}
        self.assertIn(json.loads(self.check(input="A number", text={"format": form}).output_text), (1, 2))
        parsed = self.client.responses.parse(input="Name a person.", text_format=Person, max_output_tokens=200)
        self.assertIsInstance(parsed.output_parsed, Person)

    def test_for_asyncio(self):
        async def ask():
            async with realizar.AsyncOpenAI(self.client._model) as client:
                whole = await client.responses.create(input=PARIS, temperature=0)
                stream = await client.responses.create(input=PARIS, temperature=0, stream=True)
                return whole.output_text, [event async for event in stream][-1].response.output_text

        self.assertEqual(asyncio.run(ask()), (ANSWER, ANSWER))

    def test_what_cannot_be_is_refused(self):
        for wrong in ({"inputs": "x"}, {"previous_response_id": "resp_1"}):
            with self.assertRaises(TypeError):
                self.client.responses.create(input=PARIS, **wrong)
        for wrong in ({"tools": [{"type": "web_search"}]}, {"text": {"format": {"type": "yaml"}}}):
            with self.assertRaises(ValueError):
                self.client.responses.create(input=PARIS, **wrong)
        for item in ({"type": "item_reference", "id": "x"}, {"role": "user", "content": [{"type": "input_image"}]}):
            with self.assertRaisesRegex(ValueError, r"input\[0\]"):
                self.client.responses.create(input=[item])


if __name__ == "__main__":
    unittest.main()
