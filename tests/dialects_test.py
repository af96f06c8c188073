#!/usr/bin/env python3
"""Properties of every dialect of the server: one request gives the same answer in each, whole and streamed, by itself
and with others; one conversation is one prompt; and errors are reported in the dialect's own format, only for the
request that caused them. Usage: dialects_test.py REALIZAR."""
import concurrent.futures
import json
import unittest

from folders import temp_folder
from model_copies import write_thinker
from program import REALIZAR
from served import Served
from waiting import until, whole_lines

SYSTEM = "Be brief."
TURNS = [{"role": "user", "content": "What is the capital of France?"},
         {"role": "assistant", "content": "The capital of France is Paris."},
         {"role": "user", "content": "And a city by the sea?"}]
CHAT = [{"role": "system", "content": SYSTEM}, *TURNS]
N_TOKENS = 24
SAMPLING = [{"temperature": 0}, *({"temperature": 1.2, "top_k": 30, "top_p": 0.9, "repeat_penalty": 1.1, "seed": seed}
                                  for seed in (1, 2, 3))]


def sse(text):
    """The JSON of a stream's events."""
    lines = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def joined(parts):
    return "".join(part or "" for part in parts)


def rounded(tokens):
    return [(token, round(logprob, 5)) for token, logprob in tokens]


def pairs(tokens):
    return rounded((token["token"], token["logprob"]) for token in tokens)


# Each dialect: its path, the body that asks for the conversation (its prompt is the rendered one), and how to find the
# text and the number of tokens of a whole and of a streamed answer. If it reports tokens: how to request them with
# their logarithms of probabilities, and where a whole answer has them.
class ChatCompletions:
    path = "/v1/chat/completions"

    def body(self, prompt, sampling):
        return {"messages": CHAT, "max_tokens": N_TOKENS, "stream_options": {"include_usage": True}, **sampling}

    def whole(self, answer):
        return answer["choices"][0]["message"]["content"], answer["usage"]["completion_tokens"]

    with_logprobs = {"logprobs": True}

    def logprobs(self, answer):
        return pairs(answer["choices"][0]["logprobs"]["content"])

    def streamed(self, text):
        chunks = sse(text)
        parts = [choice["delta"].get("content") for chunk in chunks for choice in chunk["choices"]]
        return joined(parts), chunks[-1]["usage"]["completion_tokens"]


class Completions:
    path = "/v1/completions"

    def body(self, prompt, sampling):
        return {"prompt": prompt, "max_tokens": N_TOKENS, "stream_options": {"include_usage": True}, **sampling}

    def whole(self, answer):
        return answer["choices"][0]["text"], answer["usage"]["completion_tokens"]

    with_logprobs = {"logprobs": 0}

    def logprobs(self, answer):
        told = answer["choices"][0]["logprobs"]
        return rounded(zip(told["tokens"], told["token_logprobs"]))

    def streamed(self, text):
        chunks = sse(text)
        parts = [choice["text"] for chunk in chunks for choice in chunk["choices"]]
        return joined(parts), chunks[-1]["usage"]["completion_tokens"]


class Responses:
    path = "/v1/responses"

    def body(self, prompt, sampling):
        return {"input": TURNS, "instructions": SYSTEM, "max_output_tokens": N_TOKENS, "store": False, **sampling}

    def whole(self, answer):
        (message,) = answer["output"]
        return joined(part["text"] for part in message["content"]), answer["usage"]["output_tokens"]

    with_logprobs = {"include": ["message.output_text.logprobs"]}

    def logprobs(self, answer):
        return pairs(answer["output"][0]["content"][0]["logprobs"])

    def streamed(self, text):
        events = sse(text)
        parts = [event["delta"] for event in events if event["type"] == "response.output_text.delta"]
        return joined(parts), events[-1]["response"]["usage"]["output_tokens"]


class Messages:
    path = "/v1/messages"

    def body(self, prompt, sampling):
        return {"messages": TURNS, "system": SYSTEM, "max_tokens": N_TOKENS, **sampling}

    def whole(self, answer):
        return joined(block["text"] for block in answer["content"]), answer["usage"]["output_tokens"]

    def streamed(self, text):
        events = sse(text)
        parts = [event["delta"]["text"] for event in events if event["type"] == "content_block_delta"]
        return joined(parts), events[-2]["usage"]["output_tokens"]


class OllamaChat:
    path = "/api/chat"

    def body(self, prompt, sampling):
        return {"model": "realizar-tiny", "messages": CHAT, "options": {"num_predict": N_TOKENS, **sampling}}

    def whole(self, answer):
        return answer["message"]["content"], answer["eval_count"]

    with_logprobs = {"logprobs": True}

    def logprobs(self, answer):
        return pairs(answer["logprobs"])

    def streamed(self, text):
        parts = lines(text)
        return joined(part["message"]["content"] for part in parts), parts[-1]["eval_count"]


class OllamaGenerate:
    path = "/api/generate"

    def body(self, prompt, sampling):
        return {"model": "realizar-tiny", "prompt": prompt, "raw": True, "options": {"num_predict": N_TOKENS, **sampling}}

    def whole(self, answer):
        return answer["response"], answer["eval_count"]

    with_logprobs = {"logprobs": True}

    def logprobs(self, answer):
        return pairs(answer["logprobs"])

    def streamed(self, text):
        parts = lines(text)
        return joined(part["response"] for part in parts), parts[-1]["eval_count"]


class LlamaCompletion:
    path = "/completion"

    def body(self, prompt, sampling):
        return {"prompt": prompt, "n_predict": N_TOKENS, **sampling}

    def whole(self, answer):
        return answer["content"], answer["tokens_predicted"]

    with_logprobs = {"n_probs": 1}

    def logprobs(self, answer):
        return pairs(answer["completion_probabilities"])

    def streamed(self, text):
        chunks = sse(text)
        return joined(chunk["content"] for chunk in chunks), chunks[-1]["tokens_predicted"]


DIALECTS = [ChatCompletions(), Completions(), Responses(), Messages(), OllamaChat(), OllamaGenerate(), LlamaCompletion()]


class Case(unittest.TestCase):
    args = []

    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(Served(REALIZAR, "realizar-tiny", *cls.args))

    def post(self, path, body):
        status, headers, text = self.server.ask("POST", path, body)
        return status, headers, text.decode()


class OneAnswer(Case):
    args = ["--max-seqs", "8"]

    def asked(self, dialect, sampling, stream, salt):
        """(text, number of tokens). `salt`: requests with the same salt share the cache."""
        body = {**dialect.body(self.prompt, sampling), "stream": stream, "cache_salt": salt}
        status, _, text = self.post(dialect.path, body)
        self.assertEqual(status, 200, text)
        return dialect.streamed(text) if stream else dialect.whole(json.loads(text))

    def setUp(self):
        self.prompt = json.loads(self.post("/apply-template", {"messages": CHAT})[2])["prompt"]

    def test_in_every_dialect_whole_and_streamed_alone_and_beside_others(self):
        every = [(dialect, stream) for dialect in DIALECTS for stream in (False, True)]
        for i, sampling in enumerate(SAMPLING):
            expected = self.asked(DIALECTS[0], sampling, False, "first")
            self.assertGreater(expected[1], 3)
            for dialect, stream in every:
                with self.subTest(path=dialect.path, stream=stream, **sampling):
                    self.assertEqual(self.asked(dialect, sampling, stream, f"alone {i} {dialect.path}"), expected)
        expected = {i: self.asked(DIALECTS[0], sampling, False, "first") for i, sampling in enumerate(SAMPLING)}
        mixed = [(i, dialect, stream) for dialect, stream in every for i in expected]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            answers = pool.map(lambda one: self.asked(one[1], SAMPLING[one[0]], one[2], "together"), mixed)
            for (i, dialect, stream), answer in zip(mixed, answers):
                with self.subTest(path=dialect.path, stream=stream, beside=True, **SAMPLING[i]):
                    self.assertEqual(answer, expected[i])


    def test_token_by_token_where_a_dialect_tells_them(self):
        for sampling in SAMPLING:
            expected = None
            for dialect in (each for each in DIALECTS if hasattr(each, "logprobs")):
                with self.subTest(path=dialect.path, **sampling):
                    body = {**dialect.body(self.prompt, sampling), **dialect.with_logprobs, "stream": False}
                    status, _, text = self.post(dialect.path, body)
                    self.assertEqual(status, 200, text)
                    tokens = dialect.logprobs(json.loads(text))
                    expected = expected or tokens
                    self.assertEqual(tokens, expected)
                    self.assertGreater(len(tokens), 3)


class BeyondTheContext(Case):
    """Ollama's shift: tokens depend only on the request there too."""
    args = ["--max-seqs", "4"]

    def asked(self, stream=False, **fields):
        body = {"model": "realizar-tiny", "messages": CHAT, "stream": stream, "shift": True, "format": {
            "type": "array", "items": {"type": "integer"}, "minItems": 200}, **fields}
        body["options"] = {"num_ctx": 64, "num_predict": 150, "temperature": 1, "seed": 3, **fields.get("options", {})}
        status, _, text = self.post("/api/chat", body)
        self.assertEqual(status, 200, text)
        return OllamaChat().streamed(text) if stream else OllamaChat().whole(json.loads(text))

    def test_an_answer_goes_on(self):
        ended, n_ended = self.asked(shift=False)
        self.assertLess(n_ended, 64)
        text, n_tokens = self.asked()
        self.assertEqual(n_tokens, 150)
        self.assertTrue(text.startswith(ended))
        self.assertRegex(text, r"^\s*\[[-\d,\s]*$")
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for again in pool.map(lambda i: self.asked(stream=i % 2 == 1), range(8)):
                self.assertEqual(again, (text, n_tokens))
        self.assertEqual(self.asked(options={"num_predict": 5})[1], 5)

    def test_without_a_limit_it_ends_after_ten_contexts(self):
        self.assertEqual(self.asked(options={"num_predict": -1, "num_ctx": 32, "num_keep": 30})[1], 320)


# Prints all parts of a conversation that reach a template.
TEMPLATE = """{% if tools %}<tools>{{ tools | tojson }}</tools>
{% endif %}{%- for m in messages -%}
<|im_start|>{{ m.role }}
{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}{{ m.content }}
{%- for call in m.tool_calls or [] %}<tool_call>{{ call.function.name }} {{ call.function.arguments | tojson }}</tool_call>
{%- endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
CALLS = [("First Abuja.", "call_1", "Abuja", "hot"), ("Then Lima.", "call_2", "Lima", "cold")]
QUESTION, CONCLUSION, LAST = "Where is it hot?", "In Abuja.", "Thank you."
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def called(identifier, city, arguments):
    return {"id": identifier, "type": "function", "function": {"name": "weather", "arguments": arguments}}


def chat_history():
    history = [{"role": "user", "content": QUESTION}]
    for thought, identifier, city, result in CALLS:
        call = called(identifier, city, json.dumps({"city": city}))
        history += [{"role": "assistant", "content": None, "reasoning_content": thought, "tool_calls": [call]},
                    {"role": "tool", "tool_call_id": identifier, "content": result}]
    return history + [{"role": "assistant", "content": CONCLUSION, "reasoning_content": "So."}, {"role": "user", "content": LAST}]


def response_items():
    def thought(text):
        return {"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": text}]}

    items = [{"role": "user", "content": QUESTION}]
    for text, identifier, city, result in CALLS:
        items += [thought(text), {"type": "function_call", "call_id": identifier, "name": "weather",
                                  "arguments": json.dumps({"city": city})},
                  {"type": "function_call_output", "call_id": identifier, "output": result}]
    return items + [thought("So."), {"role": "assistant", "content": CONCLUSION}, {"role": "user", "content": LAST}]


def anthropic_history():
    def thought(text):
        return {"type": "thinking", "thinking": text, "signature": ""}

    history = [{"role": "user", "content": QUESTION}]
    for text, identifier, city, result in CALLS:
        history += [{"role": "assistant", "content": [thought(text), {
                        "type": "tool_use", "id": identifier, "name": "weather", "input": {"city": city}}]},
                    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": identifier, "content": result}]}]
    return history + [{"role": "assistant", "content": [thought("So."), {"type": "text", "text": CONCLUSION}]},
                      {"role": "user", "content": LAST}]


def ollama_history():
    history = [{"role": "user", "content": QUESTION}]
    for thought, identifier, city, result in CALLS:
        history += [{"role": "assistant", "content": "", "thinking": thought,
                     "tool_calls": [{"function": {"name": "weather", "arguments": {"city": city}}}]},
                    {"role": "tool", "tool_name": "weather", "content": result}]
    return history + [{"role": "assistant", "content": CONCLUSION, "thinking": "So."}, {"role": "user", "content": LAST}]


class OnePrompt(unittest.TestCase):
    """Thoughts, calls and their results in turns: the template gets the same from each dialect."""

    @classmethod
    def setUpClass(cls):
        folder = temp_folder(cls)
        file = write_thinker(folder / "thinker.gguf", TEMPLATE)
        cls.log = folder / "access.jsonl"
        cls.server = cls.enterClassContext(Served(REALIZAR, file, "--access-log", str(cls.log), "--log-prompts"))

    def answer(self, path, body):
        status, headers, text = self.server.ask("POST", path, {"temperature": 0, **body})
        self.assertEqual(status, 200, text)
        return json.loads(text), headers["X-Request-Id"]

    def prompt(self, path, body):
        identifier = self.answer(path, body)[1]
        return until(lambda: self.logged_prompt(identifier), "the request in the access log")

    def logged_prompt(self, identifier):
        """None as long as the line is not written, which is after the answer."""
        for entry in map(json.loads, whole_lines(self.log)):
            if entry.get("request_id", entry.get("id")) == identifier:
                return entry["prompt"]
        return None

    def test_of_every_dialect(self):
        function = {"name": "weather", "description": "The weather of a city", "parameters": PARAMETERS}
        tools = [{"type": "function", "function": function}]
        expected = self.prompt("/v1/chat/completions", {"messages": chat_history(), "tools": tools, "max_tokens": 1})
        for thought, _, city, result in CALLS:
            self.assertIn(f'<think>{thought}</think><tool_call>weather {{"city": "{city}"}}</tool_call><|im_end|>\n'
                          f"<|im_start|>tool\n{result}<|im_end|>\n", expected)
        self.assertIn(f"<think>So.</think>{CONCLUSION}<|im_end|>\n<|im_start|>user\n{LAST}", expected)
        prompts = {
            "responses": self.prompt("/v1/responses", {
                "input": response_items(), "tools": [{"type": "function", **function}], "max_output_tokens": 1}),
            "messages": self.prompt("/v1/messages", {"messages": anthropic_history(), "max_tokens": 1, "tools": [
                {"name": "weather", "description": "The weather of a city", "input_schema": PARAMETERS}]}),
            "chat": self.prompt("/api/chat", {"model": "thinker", "messages": ollama_history(), "tools": tools,
                                              "stream": False, "options": {"num_predict": 1}}),
        }
        rendered = self.answer("/api/chat", {"model": "thinker", "messages": ollama_history(), "tools": tools,
                                             "_debug_render_only": True})[0]
        prompts["rendered"] = rendered["_debug_info"]["rendered_template"]
        for name, prompt in prompts.items():
            self.assertEqual(prompt, expected, name)

    def test_answers_have_thoughts_in_a_place_of_their_own(self):
        ask = [{"role": "user", "content": "Name the capital of France."}]
        limit = {"max_tokens": 40}
        message = self.answer("/v1/chat/completions", {"messages": ask, **limit})[0]["choices"][0]["message"]
        thought, said = message["reasoning_content"], message["content"]
        self.assertTrue(thought)
        output = self.answer("/v1/responses", {"input": ask, "max_output_tokens": 40})[0]["output"]
        self.assertEqual([item["type"] for item in output], ["reasoning", "message"])
        self.assertEqual(joined(part["text"] for part in output[0]["content"]), thought)
        self.assertEqual(joined(part["text"] for part in output[1]["content"]), said)
        blocks = self.answer("/v1/messages", {"messages": ask, **limit})[0]["content"]
        self.assertEqual([(block["type"], block.get("thinking", block.get("text"))) for block in blocks],
                         [("thinking", thought), ("text", said)])
        chat = {"model": "thinker", "messages": ask, "stream": False, "options": {"num_predict": 40, "temperature": 0}}
        told = self.answer("/api/chat", chat)[0]["message"]
        self.assertEqual((told["thinking"], told["content"]), (thought, said))


# An invalid value for any field: none accepts this text.
USER = [{"role": "user", "content": "hi"}]
BODIES = [
    ("/v1/chat/completions", {"messages": USER, "max_tokens": 1}, "temperature"),
    ("/v1/completions", {"prompt": "hi", "max_tokens": 1}, "temperature"),
    ("/v1/responses", {"input": "hi", "max_output_tokens": 1}, "temperature"),
    ("/v1/embeddings", {"input": "hi"}, "dimensions"),
    ("/v1/rerank", {"query": "hi", "documents": ["a"]}, "top_n"),
    ("/v1/fim/completions", {"prompt": "hi", "max_tokens": 1}, "temperature"),
    ("/completion", {"prompt": "hi", "n_predict": 1}, "temperature"),
    ("/infill", {"input_prefix": "a", "input_suffix": "b", "n_predict": 1}, "temperature"),
    ("/tokenize", {"prompt": "hi"}, "add_special_tokens"),
    ("/detokenize", {"tokens": [1]}, "tokens"),
    ("/apply-template", {"messages": USER}, "messages"),
    ("/v1/messages", {"messages": USER, "max_tokens": 1}, "temperature"),
    ("/v1/messages/count_tokens", {"messages": USER}, "system[0]"),
    ("/api/chat", {"model": "realizar-tiny", "messages": USER, "stream": False}, "think"),
    ("/api/generate", {"model": "realizar-tiny", "prompt": "hi", "stream": False}, "format"),
    ("/api/embed", {"model": "realizar-tiny", "input": "hi"}, "dimensions"),
    ("/api/embeddings", {"model": "realizar-tiny", "prompt": "hi"}, "keep_alive"),
    ("/api/show", {"model": "realizar-tiny"}, "verbose"),
    ("/api/copy", {"source": "realizar-tiny", "destination": "x"}, "source"),
    ("/api/create", {"model": "x", "from": "realizar-tiny"}, "parameters"),
]


LLAMA_CPP = ("/completion", "/infill")  # whose errors have no param


class OwnErrors(Case):
    def check_shape(self, path, status, headers, text):
        self.assertIn(status, (400, 404), text)
        self.assertEqual(headers.get_content_type(), "application/json", path)
        self.assertTrue(headers["X-Request-Id"])
        json_of = json.loads(text)
        if path.startswith("/api/"):
            self.assertEqual(list(json_of), ["error"], path)
            message = json_of["error"]
        elif path.startswith("/v1/messages"):
            self.assertEqual((list(json_of), json_of["type"]), (["type", "error", "request_id"], "error"), path)
            self.assertEqual(list(json_of["error"]), ["type", "message"])
            self.assertEqual(json_of["request_id"], headers["request-id"])
            message = json_of["error"]["message"]
        else:
            self.assertEqual(list(json_of), ["error"], path)
            fields = {"message", "type", "code"} | (set() if path in LLAMA_CPP else {"param"})
            self.assertEqual(json_of["error"].keys(), fields, path)
            message = json_of["error"]["message"]
        self.assertIsInstance(message, str)
        self.assertTrue(message)

    def wrong(self, body, field, value):
        name = field.removesuffix("[0]")
        return {**body, name: [value] if name != field else value}

    def test_bodies_that_are_none(self):
        for path, _, _ in BODIES:
            for body in ([], "text", 5, None, {}):
                with self.subTest(path=path, body=body):
                    status, headers, text = self.post(path, body)
                    if status != 200:
                        self.check_shape(path, status, headers, text)
                    else:
                        self.assertEqual(body, {}, "an empty object may do")

    def test_each_is_told_of_its_own_fields_alone(self):
        """Eight at a time, each with its own mark in the invalid field."""
        asked = [(path, self.wrong(body, field, f"mark-{i}-{j}."), f"mark-{i}-{j}.")
                 for j in range(4) for i, (path, body, field) in enumerate(BODIES)]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda one: self.post(*one[:2]), asked))
        for (path, _, mark), (status, headers, text) in zip(asked, answers):
            with self.subTest(path=path):
                self.check_shape(path, status, headers, text)
                self.assertNotIn("mark-", text.replace(mark, ""))


if __name__ == "__main__":
    unittest.main()
