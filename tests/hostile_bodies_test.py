#!/usr/bin/env python3
"""Bodies whose fields have the wrong type or size: each is answered with a corresponding status, and does no damage.
Usage: hostile_bodies_test.py REALIZAR."""
import copy
import json
import pathlib
import tempfile

from server_rig import Case, Closed, main, post

TOOL = {"type": "function", "function": {
    "name": "f", "description": "d", "strict": True,
    "parameters": {"type": "object", "required": ["a"], "$defs": {"t": {"type": "null"}},
                   "properties": {"a": {"type": "string", "enum": ["x"]}, "n": {"type": "integer", "minimum": 1}}}}}
SCHEMA = {"type": "object", "required": ["a"], "additionalProperties": False, "$defs": {"t": {"type": "null"}},
          "properties": {"a": {"type": "array", "items": {"$ref": "#/$defs/t"}, "minItems": 1, "prefixItems": [{}]},
                         "b": {"type": "string", "pattern": "^a$", "minLength": 1},
                         "c": {"anyOf": [{"type": "null"}, {"enum": [1, 2]}]},
                         "d": {"allOf": [{"type": "integer"}, {"minimum": 1, "maximum": 5}]}}}
CUSTOM = {"type": "custom", "name": "say", "description": "d",
          "format": {"type": "grammar", "syntax": "lark", "definition": "start: WORD+\nWORD: /[a-z]/"}}
USER = {"role": "user", "content": "hi"}
MESSAGES = [{"role": "system", "content": "s"}, {"role": "user", "content": [{"type": "text", "text": "hi"}]},
            {"role": "assistant", "content": None, "reasoning_content": "r", "tool_calls": [
                {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "c", "content": "ok"}, USER]
ITEMS = [{"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
         {"type": "reasoning", "id": "rs_1", "content": [{"type": "reasoning_text", "text": "r"}], "summary": []},
         {"type": "function_call", "call_id": "c", "name": "f", "namespace": "ns", "arguments": "{}"},
         {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "o"}]},
         {"type": "custom_tool_call", "call_id": "d", "name": "p", "input": "x"},
         {"type": "mcp_call", "id": "m", "name": "q", "arguments": "{}", "output": "z"},
         {"type": "message", "role": "assistant", "id": "msg_x", "content": "a"}, USER]
BODIES = [
    ("/v1/chat/completions", {
        "model": "realizar-tiny-Q8_0", "messages": MESSAGES, "max_tokens": 1, "max_completion_tokens": 1,
        "min_tokens": 0, "temperature": 0.5, "top_p": 0.9, "top_k": 5, "min_p": 0.1, "seed": 1, "n": 1, "stop": ["x"],
        "stop_token_ids": [1], "logit_bias": {"5": 1}, "logprobs": True, "top_logprobs": 1, "stream": False,
        "stream_options": {"include_usage": True}, "tools": [TOOL], "tool_choice": "auto", "bad_words": ["zz"],
        "parallel_tool_calls": True, "response_format": {"type": "text"}, "reasoning_effort": "low",
        "chat_template_kwargs": {"enable_thinking": False}, "continue_final_message": False,
        "allowed_token_ids": [5, 6], "ignore_eos": False, "priority": 0, "cache_salt": "s", "timeout_ms": 3000}),
    ("/v1/chat/completions", {
        "messages": [USER, {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
                     {"role": "function", "name": "f", "content": "x"}],
        "functions": [{"name": "f", "parameters": {}}], "function_call": {"name": "f"}, "max_tokens": 1}),
    ("/v1/chat/completions", {
        "messages": [USER], "max_tokens": 1,
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "strict": True, "schema": SCHEMA}}}),
    ("/v1/chat/completions", {"messages": [USER], "max_tokens": 1, "tools": [TOOL],
                              "tool_choice": {"type": "function", "function": {"name": "f"}}}),
    ("/v1/chat/completions", {
        "messages": [USER], "max_tokens": 1, "thinking": {"type": "enabled", "budget_tokens": 5, "display": "omitted"},
        "enable_thinking": True, "reasoning_budget": 3, "structured_outputs": {"json": {"type": "object"}}, "guided_choice": None,
        "guided_regex": None, "grammar": None, "guided_json": None, "guided_json_object": None}),
    ("/v1/completions", {"prompt": ["hi", [1, 2]], "max_tokens": 1, "n": 1, "best_of": 1, "echo": True, "logprobs": 1,
                         "suffix": None, "stream": False, "n_predict": 1, "guided_regex": "a+"}),
    ("/v1/responses", {
        "input": ITEMS, "instructions": "i", "max_output_tokens": 1, "tools": [
            {"type": "function", "name": "f", "parameters": {}, "strict": False},
            {"type": "namespace", "name": "ns", "description": "x", "tools": [{"type": "function", "name": "g"}]}],
        "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "f"}]},
        "text": {"format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}, "strict": True}},
        "reasoning": {"effort": "low", "summary": None}, "include": ["message.output_text.logprobs"],
        "top_logprobs": 1, "store": True, "previous_response_id": None, "metadata": {"a": "b"}, "background": False}),
    ("/v1/responses", {
        "input": [*ITEMS[:1], {"type": "reasoning", "summary": [{"type": "summary_text", "text": "s"}], "encrypted_content": "e"}, ITEMS[2]],
        "tools": [CUSTOM, {"type": "namespace", "name": "ns", "tools": [{**CUSTOM, "name": "c"}]}], "max_output_tokens": 1,
        "tool_choice": {"type": "custom", "name": "say"}, "truncation": "auto", "max_tool_calls": 1}),
    ("/v1/responses", {"input": "hi", "max_output_tokens": 1, "background": True, "store": True, "stream": False}),
    ("/v1/responses/input_tokens", {"input": "hi", "instructions": "i", "tools": [CUSTOM]}),
    ("/v1/chat/completions", {
        "messages": [USER, {"role": "assistant", "tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "say", "input": "a"}}]},
                     {"role": "tool", "tool_call_id": "c", "content": "ok"}],
        "tools": [{"type": "custom", "custom": {"name": "say", "description": "d", "format": {
            "type": "grammar", "grammar": {"syntax": "regex", "definition": "a+"}}}}], "max_tokens": 1}),
    ("/v1/messages", {
        "model": "m", "max_tokens": 1, "stream": False, "temperature": 0.5, "top_p": 0.9, "top_k": 5,
        "system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}], "stop_sequences": ["x"],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "document", "title": "t", "source": {
                "type": "text", "media_type": "text/plain", "data": "d"}}]},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "r", "signature": ""},
                                              {"type": "tool_use", "id": "c", "name": "f", "input": {"x": 1}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "is_error": False,
                                          "content": [{"type": "text", "text": "o"}]}]}, USER],
        "tools": [{"name": "f", "description": "d", "input_schema": {"type": "object"}, "strict": False}],
        "tool_choice": {"type": "tool", "name": "f", "disable_parallel_tool_use": True}, "metadata": {"user_id": "u"},
        "thinking": {"type": "adaptive", "display": "omitted"}, "output_config": {"effort": "low", "format": None}}),
    ("/v1/messages", {"messages": [USER], "max_tokens": 1,
                      "output_format": {"type": "json_schema", "schema": {"enum": [1]}}}),
    ("/v1/messages/count_tokens", {"messages": [USER], "system": "s"}),
    ("/v1/embeddings", {"input": ["a", [1, 2]], "encoding_format": "float", "dimensions": 4}),
    ("/completion", {"prompt": ["hi", [1, "a"], {"prompt_string": "x"}], "n_predict": 1, "n_probs": 1, "n_cmpl": 1,
                     "logit_bias": [[1, False], ["a", 1]], "response_fields": ["content"], "seed": -1, "stop": ["a"],
                     "cache_prompt": False, "n_indent": 1, "t_max_predict_ms": 1, "id_slot": -1, "stream": False}),
    ("/v1/fim/completions", {"prompt": "a", "suffix": "", "max_tokens": 1, "random_seed": 1, "stop": "x"}),
    ("/infill", {"input_prefix": "a", "input_suffix": "b", "prompt": "c",
                 "input_extra": [{"filename": "f", "text": "t"}], "n_predict": 1}),
    ("/tokenize", {"with_pieces": True, "prompt": "hi", "messages": [USER], "add_special_tokens": True, "return_token_strs": True}),
    ("/detokenize", {"tokens": [1, 2]}),
    ("/v1/rerank", {"query": "q", "documents": ["a", {"text": "b"}], "top_n": 1, "return_documents": True}),
    ("/apply-template", {"messages": [USER], "tools": [TOOL], "chat_template_kwargs": {"a": 1}}),
    ("/api/chat", {
        "model": "realizar-tiny-Q8_0", "stream": False, "think": False, "format": {"enum": [1]}, "truncate": True,
        "shift": False, "keep_alive": "5m", "logprobs": True, "top_logprobs": 1, "tools": [TOOL],
        "options": {"num_predict": 1, "seed": 1, "temperature": 0.5, "top_k": 5, "stop": ["x"], "num_ctx": 64,
                    "num_keep": 4, "repeat_last_n": 3, "num_gpu": 1},
        "messages": [{"role": "system", "content": "s"}, {"role": "assistant", "content": "", "thinking": "t", "tool_calls": [
            {"id": "c", "function": {"index": 0, "name": "f", "arguments": {"a": "x"}}}]},
            {"role": "tool", "tool_name": "f", "tool_call_id": "c", "content": "ok"},
            {"role": "user", "content": "hi", "images": []}]}),
    ("/api/generate", {"model": "realizar-tiny-Q8_0", "prompt": "hi", "system": "s", "template": "{{ .Prompt }}",
                       "context": [5, 6], "stream": False, "raw": False, "suffix": "", "images": [],
                       "options": {"num_predict": 1}}),
    ("/api/embed", {"model": "realizar-tiny-Q8_0", "input": ["a", "b"], "truncate": True, "dimensions": 4,
                    "options": {}, "keep_alive": 60}),
    ("/api/embeddings", {"model": "realizar-tiny-Q8_0", "prompt": "a"}),
    ("/api/show", {"model": "realizar-tiny-Q8_0", "name": "n", "verbose": False}),
    ("/api/copy", {"source": "realizar-tiny-Q8_0", "destination": "copy"}),
    ("/api/create", {"model": "made", "from": "realizar-tiny-Q8_0", "system": "s", "template": "{{ .Prompt }}",
                     "license": ["l"], "parameters": {"temperature": 0.5, "stop": ["x"]}, "stream": False,
                     "messages": [USER], "files": {}, "adapters": {}, "quantize": ""}),
]
OPENAPI = json.loads((pathlib.Path(__file__).resolve().parent.parent / "docs/openapi.json").read_text())


def examples():
    """(path, body) of each example of a route without a body above."""
    for path, operations in OPENAPI["paths"].items():
        content = operations.get("post", {}).get("requestBody", {}).get("content", {}).get("application/json", {})
        if path not in {path for path, _ in BODIES}:
            yield from ((path, example["value"]) for example in content.get("examples", {}).values())


# Only the owner's socket accepts the paths below /service: tests/service_test.py.
BODIES += [(path, body) for path, body in examples() if not path.startswith("/service/")]
VALUES = [None, True, -1, 1.5, 2**63, 1e308, "", "x", [], [None], {}, {"a": [{"b": {}}]}]
RAW = {b'"@huge"': b"1e999", b'"@deep"': b"[" * 90 + b"]" * 90}


def places(value, place=()):
    yield place
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inner, place + (key,))


def replaced(body, place, value):
    if not place:
        return value
    body = copy.deepcopy(body)
    inner = body
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return body


def message_of(path, reply):
    """An error's message, in its dialect's format."""
    body = reply.json()
    assert reply.headers["content-type"].startswith("application/json"), reply.headers
    if path.startswith("/api/"):
        assert list(body) == ["error"], body
        return body["error"]
    if path.startswith("/v1/messages"):
        assert body["type"] == "error" and body["request_id"] == reply.headers["request-id"], body
    else:
        has_param = not path.startswith(("/completion", "/infill", "/lora-adapters", "/v1/models"))  # llama.cpp's
        assert {"message", "type", "code", *(["param"] if has_param else [])} <= body["error"].keys(), (path, body)
    return body["error"]["message"]


class HostileBodies(Case):
    STORE = tempfile.TemporaryDirectory()
    # An unlimited answer ends soon, and any client may change the store and adapters.
    ARGS = ("--ctx", "256", "--manage-models", "--models-store", STORE.name, "--lora-dir", STORE.name, "--offline")

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.STORE.cleanup()

    def statuses(self, requests):
        """Each request's status; a request without one ends the test."""
        client = self.server.connect()
        for path, body in requests:
            data = json.dumps(body).encode()
            for mark, raw in RAW.items():
                data = data.replace(mark, raw)
            try:
                client.send(post(data, path))
                yield path, data, client.reply()
            except (Closed, OSError) as error:
                self.fail(f"no reply to {path} {data[:500]}: {error!r}, exit code {self.server.process.poll()}")
        client.socket.close()

    def test_any_field_may_be_anything(self):
        requests = [(path, replaced(body, place, value)) for path, body in BODIES for place in places(body)
                    for value in [*VALUES, *(mark.decode().strip('"') for mark in RAW)]]
        for path, data, reply in self.statuses(requests):
            self.assertIn(reply.status, (200, 400, 404, 405, 501, 504), f"{path} {data[:500]}: {reply.body[:500]}")
            if reply.status != 200:
                message = message_of(path, reply)
                self.assertTrue(isinstance(message, str) and message, reply.body)

    def test_prompts_without_tokens_are_scored_beside_others(self):
        for prompts in (["", [1, 2]], ["hi", ""], ["", ""], "", [""]):
            body = {"prompt": prompts, "max_tokens": 1, "echo": True, "logprobs": 1}
            for path, data, reply in self.statuses([("/v1/completions", body)]):
                self.assertIn(reply.status, (200, 400), f"{data}: {reply.body}")


if __name__ == "__main__":
    main()
