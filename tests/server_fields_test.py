#!/usr/bin/env python3
"""Fields that constrain an answer, in every server's spelling.
Usage: server_fields_test.py REALIZAR."""
import json
import pathlib
import re
import struct
import tempfile
import unittest

from folders import written
import gguf_edit
import server_rig
from server_rig import ANSWER, CHAT, Case, Server, post

WEATHER = {"name": "get_weather", "description": "Get the weather of a city",
           "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}
ASK = {"messages": [{"role": "user", "content": "What is the weather in Abuja?"}], "temperature": 0}


class Fields(Case):
    ARGS = ("--ctx", "256")

    def reply(self, fields, body=CHAT, path="/v1/chat/completions"):
        reply = self.exchange(post({**body, **fields}, path))
        self.assertEqual(reply.status, 200, reply.body)
        return reply

    def error(self, fields, body=CHAT, path="/v1/chat/completions"):
        reply = self.exchange(post({**body, **fields}, path))
        self.assertEqual(reply.status, 400, reply.body)
        return reply.json()["error"]

    def test_minus_one_is_no_limit(self):
        for name in ["max_tokens", "max_completion_tokens", "n_predict"]:
            reply = self.reply({name: -1})
            self.assertEqual((reply.answer(), reply.json()["choices"][0]["finish_reason"]), (ANSWER, "stop"), name)
        self.assertEqual(self.reply({"n_predict": 2}).json()["usage"]["completion_tokens"], 2)
        text = {"prompt": "Once upon a time", "temperature": 0, "ignore_eos": True}
        self.assertEqual(self.reply({"max_tokens": None}, text, "/v1/completions").json()["usage"]["completion_tokens"], 16)
        self.assertGreater(self.reply({"max_tokens": -1}, text, "/v1/completions").json()["usage"]["completion_tokens"], 200)

    def test_an_answer_has_at_least_its_tokens(self):
        n_tokens = self.reply({}).json()["usage"]["completion_tokens"]
        for least in [n_tokens + 1, 30]:
            reply = self.reply({"min_tokens": least})
            self.assertGreaterEqual(reply.json()["usage"]["completion_tokens"], least)
            self.assertTrue(reply.answer().startswith(ANSWER))
        self.assertEqual(self.reply({"min_tokens": n_tokens}).answer(), ANSWER)

    def test_nor_does_a_stop_string_end_it_before_those(self):
        stops = {"stop": " is"}  # the fifth token of seven
        answers = [("/v1/chat/completions", CHAT, lambda answer: answer["choices"][0]["message"]["content"]),
                   ("/v1/completions", {"prompt": "The capital of France", "temperature": 0, "max_tokens": 9},
                    lambda answer: answer["choices"][0]["text"]),
                   ("/v1/responses", {"input": CHAT["messages"][0]["content"], "temperature": 0},
                    lambda answer: answer["output"][0]["content"][0]["text"])]
        for path, body, text_of in answers:
            whole = text_of(self.reply({}, body, path).json())
            self.assertIn(" is", whole)
            self.assertEqual(text_of(self.reply(stops, body, path).json()), whole[:whole.index(" is")])
            early = self.reply({**stops, "min_tokens": 1}, body, path).json()
            late = self.reply({**stops, "min_tokens": 6}, body, path).json()
            self.assertTrue(text_of(late).startswith(whole), late)
            usage = late["usage"]
            self.assertGreaterEqual(usage.get("completion_tokens", usage.get("output_tokens")), 6)
            if path != "/v1/completions":
                self.assertEqual(text_of(early), whole[:whole.index(" is")])

    def test_words_and_tokens_can_be_forbidden(self):
        self.assertNotIn("Paris", self.reply({"bad_words": ["Paris"], "max_tokens": 40}).answer())
        ids = self.reply({}, {"prompt": " yes no"}, "/tokenize").json()["tokens"]
        reply = self.reply({"allowed_token_ids": ids, "max_tokens": 6, "temperature": 1})
        self.assertEqual(reply.json()["usage"]["completion_tokens"], 6)
        again = self.reply({"prompt": reply.answer()}, {}, "/tokenize").json()["tokens"]
        self.assertLessEqual(set(again), set(ids) | {i for i in again if self.text_of([i]) in reply.answer()})
        self.assertRegex(reply.answer(), r"^[ yesno]+$")

    def text_of(self, ids):
        return self.reply({"tokens": ids}, {}, "/detokenize").json()["prompt"]

    def test_forms_in_every_spelling_and_on_every_route(self):
        schema = {"type": "object", "properties": {"n": {"type": "integer", "maximum": 9}}, "required": ["n"],
                  "additionalProperties": False}
        is_object = re.compile(r'^\s*\{\s*"n"\s*:\s*-?\d+\s*\}\s*$')
        forms = [({"json_schema": schema}, is_object), ({"guided_json": schema}, is_object),
                 ({"guided_json": json.dumps(schema)}, is_object), ({"structured_outputs": {"json": schema}}, is_object),
                 ({"response_format": {"type": "json_object", "schema": schema}}, is_object),
                 ({"guided_regex": r"[A-C]{3}-\d{2}"}, re.compile(r"^[A-C]{3}-\d{2}$")),
                 ({"structured_outputs": {"regex": r"[A-C]{3}-\d{2}"}}, re.compile(r"^[A-C]{3}-\d{2}$")),
                 ({"guided_choice": ["red", "green light"]}, re.compile(r"^(red|green light)$")),
                 ({"structured_outputs": {"choice": ["red", "green light"]}}, re.compile(r"^(red|green light)$")),
                 ({"guided_grammar": 'root ::= "a" [0-9]'}, re.compile(r"^a[0-9]$")),
                 ({"structured_outputs": {"grammar": 'root ::= "a" [0-9]'}}, re.compile(r"^a[0-9]$"))]
        for form, expected in forms:
            fields = {**form, "max_tokens": 200}
            self.assertRegex(self.reply(fields).answer(), expected)
            text = self.reply(fields, {"prompt": "Once", "temperature": 0}, "/v1/completions").json()["choices"][0]["text"]
            self.assertRegex(text, expected)
        reply = self.reply({"guided_choice": ["red"]}, {"input": "Hello", "temperature": 0}, "/v1/responses").json()
        self.assertEqual(reply["output"][-1]["content"][0]["text"], "red")

    def test_samplers_have_llama_cpps_names(self):
        hot = {"temperature": 5, "seed": 1, "max_tokens": 12}
        self.assertEqual(self.reply({**hot, "top_k": 1, "samplers": ["top_k", "temperature"]}).answer(), ANSWER)
        self.assertEqual(self.reply({**hot, "top_k": 1, "samplers": "kt"}).answer(), ANSWER)
        self.assertNotEqual(self.reply({**hot, "top_k": 1, "samplers": ["temperature"]}).answer(), ANSWER)
        for version in [1, 2]:  # without any surprise the likeliest tokens come
            fields = {"temperature": 1, "mirostat": version, "mirostat_tau": 0, "seed": 3}
            self.assertEqual(self.reply(fields).answer(), ANSWER)
        self.assertEqual(self.reply({**hot, "top_n_sigma": 0.01}).answer(), ANSWER)
        second = {**hot, "top_k": 2, "xtc_probability": 1, "xtc_threshold": 1e-9}  # the second likeliest each time
        self.assertEqual(self.reply(second).answer(), self.reply({**second, "seed": 2}).answer())
        self.assertNotEqual(self.reply(second).answer(), ANSWER)
        self.assertEqual(self.reply({"temperature": 2, "dynatemp_range": 2, "dynatemp_exponent": 100}).answer(), ANSWER)
        text = {"prompt": "The sun is red. The sea is blue. The sun is red. The sea is", "temperature": 0, "max_tokens": 1}
        word = lambda fields: self.reply(fields, text, "/v1/completions").json()["choices"][0]["text"]
        repeated = word({"logit_bias": {}})
        forced = {"prompt": text["prompt"] + repeated + " The sun is red. The sea is"}
        self.assertNotEqual(word({**forced, "dry_multiplier": 100}), word(forced))
        self.assertEqual(word({**forced, "dry_multiplier": 100, "dry_sequence_breakers": [" is"]}), word(forced))
        for fields, param in [({"samplers": ["warm"]}, "samplers"), ({"mirostat": 3}, "mirostat"),
                              ({"dry_sequence_breakers": [""]}, "dry_sequence_breakers")]:
            self.assertEqual(self.error(fields)["param"], param)

    def test_what_cannot_be_obeyed_is_refused_by_name(self):
        for fields, param in [({"guided_regex": "(?=x)y"}, "guided_regex"), ({"min_tokens": 5, "max_tokens": 4}, "min_tokens"),
                              ({"structured_outputs": {"structural_tag": {}}}, "structured_outputs.structural_tag"),
                              ({"guided_grammar": "root ::= x"}, "guided_grammar"),
                              ({"json_schema": {"type": "object"}, "grammar": 'root ::= "a"'}, "json_schema"),
                              ({"functions": [{}]}, "functions[0].name")]:
            self.assertEqual(self.error(fields)["param"], param)

    def test_a_slip_in_a_field_is_told_in_a_header(self):
        for stream in [False, True]:
            reply = self.reply({"max_tokns": 50, "stream": stream})
            self.assertEqual(reply.headers["x-realizar-warning"], "'max_tokns' is not a field; did you mean 'max_tokens'?")
        self.assertNotIn("x-realizar-warning", self.reply({"user": "me", "mirostat": 0, "x_own": 1}).headers)
        self.assertIn("x-realizar-warning", self.exchange(post({**CHAT, "max_tokns": 50, "stop": 5})).headers)

    def test_what_a_grammar_does_not_hold_is_told_in_a_header(self):
        schema = {"type": "object", "properties": {"a": {"type": "array", "uniqueItems": True}}, "title": "t", "x": 1}
        told = "The answer is not held to '#/properties/a/uniqueItems' of its schema."
        for _ in range(2):
            reply = self.reply({"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}, "min_tokens": 1})
            self.assertEqual(reply.headers["x-realizar-warning"], told)
        schema["properties"]["a"]["maxItems"] = 1
        strict = {"type": "json_schema", "json_schema": {"name": "n", "schema": schema, "strict": True}}
        self.assertNotIn("x-realizar-warning", self.reply({"response_format": strict}).headers)

    def test_functions_are_tools(self):
        modern = self.reply({"tools": [{"type": "function", "function": WEATHER}]}, ASK).json()["choices"][0]
        call = modern["message"]["tool_calls"][0]["function"]
        for choice in [{}, {"function_call": "auto"}, {"function_call": {"name": "get_weather"}}]:
            got = self.reply({"functions": [WEATHER], **choice}, ASK).json()["choices"][0]
            self.assertEqual(got["finish_reason"], "function_call")
            self.assertEqual(got["message"]["function_call"]["name"], call["name"])
            self.assertEqual(json.loads(got["message"]["function_call"]["arguments"]), json.loads(call["arguments"]))
            self.assertNotIn("tool_calls", got["message"])
        none = self.reply({"functions": [WEATHER], "function_call": "none"}, ASK).json()["choices"][0]
        self.assertNotIn("function_call", none["message"])

    def test_functions_are_streamed_and_their_results_read(self):
        body = self.reply({"functions": [WEATHER], "stream": True}, ASK).body.decode()
        chunks = [json.loads(line[6:]) for line in body.splitlines() if line.startswith("data: {")]
        calls = [c["choices"][0]["delta"]["function_call"] for c in chunks if "function_call" in c["choices"][0]["delta"]]
        self.assertEqual(calls[0]["name"], "get_weather")
        call = {"name": "get_weather", "arguments": "".join(piece["arguments"] for piece in calls)}
        json.loads(call["arguments"])
        result = '{"city": "Abuja", "weather": "sunny", "degrees": 7}'
        old = [*ASK["messages"], {"role": "assistant", "content": None, "function_call": call},
               {"role": "function", "name": "get_weather", "content": result}]
        new = [*ASK["messages"], {"role": "assistant", "content": None,
                                  "tool_calls": [{"id": "call_1", "type": "function", "function": call}]},
               {"role": "tool", "tool_call_id": "call_1", "name": "get_weather", "content": result}]
        tools = [{"type": "function", "function": WEATHER}]
        self.assertEqual(self.reply({"messages": old, "functions": [WEATHER]}).answer(),
                         self.reply({"messages": new, "tools": tools}).answer())

    def test_prompts_may_be_of_ids_and_texts_or_nothing(self):
        text = {"max_tokens": 4, "temperature": 0}
        said = lambda prompt: self.reply({"prompt": prompt}, text, "/v1/completions").json()
        whole = said("In the beginning")
        self.assertEqual(said({"prompt_string": "In the beginning"})["choices"], whole["choices"])
        ids = self.exchange(post({"prompt": "In the"}, "/tokenize")).json()["tokens"]
        mixed = said([*ids, " beginning"])
        self.assertEqual(mixed["choices"][0]["text"], whole["choices"][0]["text"])
        self.assertEqual([choice["index"] for choice in said(["In", [*ids, " beginning"], ids])["choices"]], [0, 1, 2])
        self.assertEqual(said(None)["usage"], {**whole["usage"], "prompt_tokens": 1, "total_tokens": 5})
        for prompt in (5, [], [1.5], [[]], {"prompt_string": 5}, [True]):
            self.assertEqual(self.error({"prompt": prompt}, text, "/v1/completions")["param"].split(".")[0].split("[")[0], "prompt")

    def test_biases_come_in_every_spelling(self):
        first = self.exchange(post({"prompt": "The", "add_special_tokens": False}, "/tokenize")).json()["tokens"][0]
        for bias in ({str(first): -100}, {str(first): False}, {"The": -100}, [[first, False]], [["The", -100.0]]):
            self.assertFalse(self.reply({"logit_bias": bias}).answer().startswith("The"), bias)
        for wrong in ([7], [[1]], {"-1": 1}, {"1": True}, {"1": 101}, "x"):
            self.assertEqual(self.error({"logit_bias": wrong})["param"], "logit_bias", wrong)

    def test_an_answer_has_what_strict_parsers_want(self):
        answer = self.reply({}).json()
        self.assertEqual((answer["service_tier"], answer["choices"][0]["message"]["annotations"]), ("default", []))
        details = answer["usage"]["completion_tokens_details"]
        self.assertEqual({details[name] for name in ("audio_tokens", "accepted_prediction_tokens", "rejected_prediction_tokens")}, {0})
        self.assertEqual(answer["usage"]["prompt_tokens_details"]["audio_tokens"], 0)
        for fields, content in (({}, ""), ({"tools": [{"type": "function", "function": WEATHER}]}, None)):
            body = self.reply({**fields, "stream": True}, CHAT if content == "" else ASK).body.decode()
            chunks = [json.loads(line[6:]) for line in body.splitlines() if line.startswith("data: {")]
            deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
            self.assertEqual(deltas[0], {"role": "assistant", "content": content})
            self.assertFalse(any("role" in delta for delta in deltas[1:]))
        called = self.reply({"tools": [{"type": "function", "function": WEATHER}], "tool_choice": "any", "max_tokens": 40})
        self.assertTrue(called.json()["choices"][0]["message"]["tool_calls"])
        self.assertTrue(self.reply({"input": "a"}, {}, "/v1/embeddings").json()["id"].startswith("embd-"))


class Limits(Case):
    ARGS = ("--ctx", "256", "--max-requests-per-key", "2")

    def test_headers_tell_what_is_left(self):
        whole = self.exchange(post(CHAT)).headers
        self.assertEqual((whole["x-ratelimit-limit-requests"], whole["x-ratelimit-remaining-requests"]), ("2", "2"))
        self.assertRegex(whole["openai-processing-ms"], "^[0-9]+$")
        self.assertNotIn("x-ratelimit-limit-requests", self.exchange(post({"prompt": "a"}, "/tokenize")).headers)
        long = post({**CHAT, "stream": True, "ignore_eos": True, "max_tokens": 200, "n": 32})
        with self.server.connect() as first, self.server.connect() as second:
            for client, left in ((first, "1"), (second, "0")):
                client.send(long)
                self.assertEqual(client.head()[1]["x-ratelimit-remaining-requests"], left)
            refused = self.exchange(post(CHAT))
            self.assertEqual((refused.status, refused.headers["x-ratelimit-remaining-requests"]), (429, "0"))
            self.assertEqual((refused.headers["retry-after"], refused.headers["retry-after-ms"]), ("1", "1000"))
        self.server.until(lambda: self.exchange(post(CHAT)).status == 200, "the places of clients that left")


class PromptLimit(Case):
    ARGS = ("--ctx", "128", "--max-prompt-tokens", "16")

    def test_who_is_beyond_the_models_limit_too_is_told_the_servers(self):
        for prompt, n_tokens in (([300] * 17, 17), ([300] * 129, 129), ("x" * 10_000, None), ("x" * 5_000_000, 0)):
            reply = self.exchange(post({"prompt": prompt}, "/v1/completions"))
            self.assertEqual(reply.status, 400)
            error = reply.json()["error"]
            self.assertEqual((error["code"], error["n_ctx"]), ("context_length_exceeded", 16))
            self.assertIn("this server takes", error["message"])
            n_told = error.get("n_prompt_tokens", 0)
            self.assertGreater(n_told, 16) if n_tokens is None else self.assertEqual(n_told, n_tokens)
        self.assertEqual(self.exchange(post({"prompt": [300] * 16, "max_tokens": 1}, "/v1/completions")).status, 200)


class Overflow(unittest.TestCase):
    def test_the_prompt_that_fails_is_named(self):
        """Only one token has the first channel, which the first layer makes too large for a number."""
        bad_token, n_vocab, row_bytes, block_bytes = 700, 2048, 256 // 32 * 34, 34  # Q8_0: a scale, and 32 values
        data = bytearray(pathlib.Path(server_rig.MODEL).read_bytes())
        _, tensors, begin = gguf_edit.contents(data)
        table = begin + tensors["token_embd.weight"][2]
        for row in range(table, table + n_vocab * row_bytes, row_bytes):
            data[row + 2] = 0
        bad_row = table + bad_token * row_bytes
        for block in range(bad_row, bad_row + row_bytes, block_bytes):
            data[block + 2:block + block_bytes] = bytes(32)
        data[bad_row + 2] = 127
        struct.pack_into("<f", data, begin + tensors["blk.0.attn_norm.weight"][2], 3e38)
        with tempfile.TemporaryDirectory() as folder:
            path = written(pathlib.Path(folder, "overflow.gguf"), data)
            server = Server(model=path)
            for ids, status in (([[5], [6]], 200), ([[5], [6], [bad_token]], 500)):
                reply = server.exchange(post({"input": ids}, "/v1/embeddings"))
                self.assertEqual(reply.status, status)
            self.assertIn("input[2]: the model gave no finite", reply.json()["error"]["message"])
            self.assertEqual(server.stop()[0], 0)


if __name__ == "__main__":
    server_rig.main()
