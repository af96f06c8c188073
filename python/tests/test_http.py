"""The transport for httpx, compared with the answers of `realizar serve` to the same requests."""
import asyncio
import json
import sys
import unittest

import realizar
from support import ANSWER, DEADLINE_S, ENDLESS, MODEL, PARIS, PROGRAM, ROOT, SLOW, assert_was_stopped, recorded_ends

try:
    import httpx
except ImportError:
    httpx = None

sys.path.insert(0, str(ROOT / "tests"))
from served import Served  # noqa: E402

QUESTION = [{"role": "user", "content": PARIS}]
VOLATILE = {"id", "created", "cached_tokens", "prompt_tokens_details"}


def comparable(value):
    if isinstance(value, dict):
        return {name: comparable(one) for name, one in value.items() if name not in VOLATILE}
    return [comparable(one) for one in value] if isinstance(value, list) else value


def joined(events):
    """The text of a stream's events."""
    told = [json.loads(line[len("data: ") :]) for line in events.splitlines() if line.startswith("data: {")]
    return "".join(event["choices"][0]["delta"].get("content") or "" for event in told)


@unittest.skipUnless(httpx, "httpx is wanted")
class Transports(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = realizar.Model(MODEL, backend="cpu", n_threads=2, max_seqs=2)
        cls.transport = realizar.HttpTransport(cls.model)
        cls.client = httpx.Client(transport=cls.transport, base_url="http://realizar")

    @classmethod
    def tearDownClass(cls):
        cls.client.close()  # and not the model, which is not the transport's
        cls.model.close()

    def test_answers_are_the_servers(self):
        server = self.enterContext(Served(PROGRAM, str(MODEL)))
        for path, body in [
            ("/v1/chat/completions", {"messages": QUESTION, "temperature": 0}),
            ("/v1/completions", {"prompt": "Once", "temperature": 0, "max_tokens": 5}),
            ("/v1/chat/completions", {"messages": [{"role": "robot", "content": "hi"}]}),
            ("/v1/chat/completions", {"messages": QUESTION, "temperature": -1}),
            ("/v1/chat/completions", {"messages": [{"role": "user", "content": "word " * 3000}]}),
            ("/tokenize", {"content": "Hello"}),
        ]:
            with self.subTest(path, body=str(body)[:80]):
                status, headers, text = server.ask("POST", path, body)
                answer = self.client.post(path, json=body)
                self.assertEqual((answer.status_code, comparable(answer.json())), (status, comparable(json.loads(text))))
                self.assertEqual(answer.headers["content-type"], "application/json")

    def test_streams_come_in_events(self):
        body = {"messages": QUESTION, "temperature": 0, "stream": True}
        with self.client.stream("POST", "/v1/chat/completions", json=body) as answer:
            self.assertEqual(answer.status_code, 200)
            self.assertIn("text/event-stream", answer.headers["content-type"])
            text = "".join(answer.iter_text())
        self.assertEqual(joined(text), ANSWER)
        self.assertTrue(text.endswith("data: [DONE]\n\n"))

    def test_what_is_there_without_a_model(self):
        models = self.client.get("/v1/models").json()
        self.assertEqual([model["id"] for model in models["data"]], ["realizar-tiny-Q8_0"])
        self.assertEqual(self.client.get("/v1/models/realizar-tiny-Q8_0").json(), models["data"][0])
        for method, path in (("GET", "/v1/models/other"), ("GET", "/metrics"), ("POST", "/no/such"), ("DELETE", "/v1/models")):
            answer = self.client.request(method, path)
            self.assertEqual((answer.status_code, answer.json()["error"]["code"]), (404, "not_found"), path)

    def test_a_stream_that_is_closed_ends_its_request(self):
        body = {"messages": QUESTION, "stream": True, **ENDLESS}
        with realizar.Model(MODEL, **SLOW) as slow, recorded_ends() as ends:
            client = httpx.Client(transport=realizar.HttpTransport(slow), base_url="http://realizar")
            with client.stream("POST", "/v1/chat/completions", json=body) as answer:
                next(answer.iter_bytes())
            assert_was_stopped(self, ends.get(timeout=DEADLINE_S))

    def test_a_model_of_its_own_is_closed_with_the_client(self):
        transport = realizar.HttpTransport(MODEL, model_name="mine", n_threads=2)
        with httpx.Client(transport=transport, base_url="http://realizar") as client:
            answer = client.post("/v1/chat/completions", json={"messages": QUESTION, "model": "any", "max_tokens": 1})
            self.assertEqual(answer.json()["model"], "mine")
        with self.assertRaisesRegex(httpx.ConnectError, "the model is closed"):
            transport.handle_request(httpx.Request("POST", "http://realizar/v1/completions", json={"prompt": "x"}))

    def test_the_same_with_asyncio(self):
        async def ask():
            async with httpx.AsyncClient(transport=realizar.HttpTransport(self.model), base_url="http://realizar") as client:
                body = {"messages": QUESTION, "temperature": 0}
                answer = await client.post("/v1/chat/completions", json=body)
                async with client.stream("POST", "/v1/chat/completions", json={**body, "stream": True}) as stream:
                    text = "".join([part async for part in stream.aiter_text()])
                missing = await client.post("/no/such")
                refused = await client.post("/v1/chat/completions", json={"messages": 5})
                return answer.json()["choices"][0]["message"]["content"], joined(text), missing.status_code, refused.status_code

        self.assertEqual(asyncio.run(asyncio.wait_for(ask(), DEADLINE_S)), (ANSWER, ANSWER, 404, 400))


if __name__ == "__main__":
    unittest.main()
