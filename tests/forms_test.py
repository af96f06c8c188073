#!/usr/bin/env python3
"""A client's required form also applies after the model's thoughts: a model that ends its turn within them still gives
the form, in every dialect. The models are scripted to think, and to say nothing more. Usage: forms_test.py REALIZAR."""
from __future__ import annotations

import dataclasses
import json
import pathlib
import tempfile
import unittest
from collections.abc import Callable
from typing import Any

from calls_test import Answer, chat_answer, messages_answer, ollama_answer
from program import REALIZAR
from scripted_model import write_scripted
from served import Served

TEMPLATES = pathlib.Path(__file__).resolve().parent / "data/chat_templates/templates"
THOUGHT = "It lies by the Seine."
CITIES = ["Paris", "Rome"]
SCHEMA = {"type": "object", "properties": {"city": {"enum": CITIES}}, "required": ["city"], "additionalProperties": False}
TURNS = [{"role": "user", "content": "Which city?"}]
FUNCTION = {"name": "visit", "description": "Goes there.", "parameters": SCHEMA}
TOOLS = [{"type": "function", "function": FUNCTION}]
NAMED = {"name": "answer", "schema": SCHEMA, "strict": True}


@dataclasses.dataclass
class Kind:
    """A model's format of thoughts: `specials` are the tokens of its template that no user can write."""
    template: str
    answer: str
    specials: str


CHATML = "<|im_start|> <|im_end|> <tool_call> </tool_call>"
HARMONY = "<|start|> <|end|> <|channel|> <|message|> <|constrain|> <|call|> <|return|>"
DEEPSEEK = "<｜User｜> <｜Assistant｜> <｜end▁of▁sentence｜>"
ANALYSIS = f"<|channel|>analysis<|message|>{THOUGHT}"
KINDS = {
    "opens_thoughts": Kind("Qwen-Qwen3-0.6B", f"<think>\n{THOUGHT}", f"{CHATML} <think> </think>"),
    "thinks_as_the_prompt_has_begun":
        Kind("deepseek-ai-DeepSeek-R1-Distill-Qwen-32B", THOUGHT, f"{DEEPSEEK} <think> </think>"),
    "has_no_token_for_the_mark": Kind("deepseek-ai-DeepSeek-R1-Distill-Qwen-32B", THOUGHT, DEEPSEEK),
    "thinks_in_a_channel": Kind("openai-gpt-oss-120b", ANALYSIS, HARMONY),
    "ends_a_channel": Kind("openai-gpt-oss-120b", f"{ANALYSIS}<|end|>", HARMONY),
    "ends_with_a_channels_mark": Kind("openai-gpt-oss-120b", f"{ANALYSIS}<|return|>", HARMONY),
}


def responses_answer(reply: dict[str, Any]) -> Answer:
    items = reply["output"]
    texts = [(item["type"], part["text"]) for item in items for part in item.get("content", [])]
    return Answer("".join(text for kind, text in texts if kind == "message"),
                  "".join(text for kind, text in texts if kind == "reasoning"),
                  [(item["name"], json.loads(item["arguments"])) for item in items if item["type"] == "function_call"],
                  reply["status"])


Ask = tuple[str, Callable[[dict[str, Any]], Answer], dict[str, Any]]  # path, reader of its reply, body
CHAT: tuple[str, Callable[[dict[str, Any]], Answer]] = ("/v1/chat/completions", chat_answer)
MESSAGES: tuple[str, Callable[[dict[str, Any]], Answer]] = ("/v1/messages", messages_answer)
RESPONSES: tuple[str, Callable[[dict[str, Any]], Answer]] = ("/v1/responses", responses_answer)
DOCUMENTS: dict[str, Ask] = {
    "response_format": (*CHAT, {
        "messages": TURNS, "response_format": {"type": "json_schema", "json_schema": NAMED}}),
    "guided_json": (*CHAT, {"messages": TURNS, "guided_json": SCHEMA}),
    "format": ("/api/chat", ollama_answer, {"messages": TURNS, "format": SCHEMA, "stream": False}),
    "text.format": (*RESPONSES, {"input": "Which city?", "text": {"format": {"type": "json_schema", **NAMED}}}),
    "output_config": (*MESSAGES, {
        "messages": TURNS, "max_tokens": 2000,
        "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}}),
}
CALLS: dict[str, Ask] = {
    "required": (*CHAT, {
        "messages": TURNS, "tools": TOOLS, "tool_choice": "required", "parallel_tool_calls": False}),
    "named": (*CHAT, {
        "messages": TURNS, "tools": TOOLS, "tool_choice": {"type": "function", "function": {"name": "visit"}}}),
    "any": (*MESSAGES, {
        "messages": TURNS, "max_tokens": 2000, "tool_choice": {"type": "any", "disable_parallel_tool_use": True},
        "tools": [{"name": "visit", "description": "Goes there.", "input_schema": SCHEMA}]}),
    "required of responses": (*RESPONSES, {
        "input": "Which city?", "tools": [{"type": "function", **FUNCTION}], "tool_choice": "required",
        "parallel_tool_calls": False}),
}
CHOICE: Ask = (*CHAT, {"messages": TURNS, "guided_choice": CITIES})


class Forms(unittest.TestCase):
    def ask(self, server: Served, asked: Ask, **fields: Any) -> Answer:
        path, read, body = asked
        status, _, reply = server.ask("POST", path, {"model": server.model, **body, **fields})
        self.assertEqual(status, 200, reply)
        return read(json.loads(reply))

    def check_document(self, answer: Answer) -> None:
        self.assertIn(json.loads(answer.content)["city"], CITIES)
        self.assertEqual((answer.thoughts.strip(), answer.calls), (THOUGHT, []))
        self.assertIn(answer.reason, ("stop", "end_turn", "completed"))

    def check_forms(self, server: Served, kind: Kind) -> None:
        for name, asked in DOCUMENTS.items():
            with self.subTest(form=name):
                self.check_document(self.ask(server, asked))
        with self.subTest(form="guided_choice"):
            self.assertIn(self.ask(server, CHOICE).content, CITIES)
        for name, asked in CALLS.items():
            with self.subTest(form=name):
                answer = self.ask(server, asked)
                [(function, arguments)] = answer.calls
                arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
                self.assertEqual((function, answer.content), ("visit", ""))
                self.assertIn(arguments["city"], CITIES)
                # In channels a required call is the whole answer.
                self.assertEqual(answer.thoughts.strip(), "" if kind.specials == HARMONY else THOUGHT)

    def check_bounds(self, server: Served) -> None:
        asked = DOCUMENTS["response_format"]
        n_written = tokens_written(server)
        for n_tokens in (n_written - 1, n_written, n_written + 1, n_written + 50):
            with self.subTest(reasoning_budget=n_tokens):
                answer = self.ask(server, asked, reasoning_budget=n_tokens)
                self.assertIn(json.loads(answer.content)["city"], CITIES)
        for n_tokens in range(1, n_written + 6):
            with self.subTest(max_tokens=n_tokens):
                self.assertEqual(self.ask(server, asked, max_tokens=n_tokens).reason, "length")

    def check_streams(self, server: Served) -> None:
        path, _, body = DOCUMENTS["response_format"]
        _, _, reply = server.ask("POST", path, {**body, "stream": True, "n": 3})
        contents = {0: "", 1: "", 2: ""}
        for line in reply.decode().splitlines():
            if line.startswith("data: {"):
                for choice in json.loads(line.removeprefix("data: "))["choices"]:
                    contents[choice["index"]] += choice["delta"].get("content") or ""
        self.assertEqual({json.loads(content)["city"] in CITIES for content in contents.values()}, {True})

    def check_kind(self, kind: Kind) -> None:
        template = (TEMPLATES / f"{kind.template}.jinja").read_text()
        with tempfile.TemporaryDirectory() as folder:
            model = write_scripted(f"{folder}/scripted.gguf", template, kind.answer, kind.specials.split())
            with Served(REALIZAR, model, "--ctx", "4096", "--temperature", "0",
                        "--chat-template-kwargs", '{"enable_thinking": true}') as server:
                # Without a form it ends by itself.
                free = self.ask(server, (*CHAT, {"messages": TURNS}))
                self.assertEqual((free.content, free.thoughts.strip()), ("", THOUGHT))
                self.check_forms(server, kind)
                self.check_bounds(server)
                self.check_streams(server)


def tokens_written(server: Served) -> int:
    """The tokens that the model writes of its own accord."""
    _, _, reply = server.ask("POST", "/v1/chat/completions", {"messages": TURNS})
    return int(json.loads(reply)["usage"]["completion_tokens"])


def add_tests() -> None:
    """A test for each way to think."""
    for name, kind in KINDS.items():
        setattr(Forms, f"test_a_model_that_{name}", lambda self, kind=kind: self.check_kind(kind))


add_tests()
if __name__ == "__main__":
    unittest.main()
