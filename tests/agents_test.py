#!/usr/bin/env python3
"""Sessions of coding agents, with requests in their format (data/agents), over chat templates that support more or less
of them: the model is scripted to call the agent's tool, which writes a file, and to end with a text after it gets the
result. Usage: agents_test.py REALIZAR."""
from __future__ import annotations

import dataclasses
import json
import pathlib
import subprocess
import tempfile
import unittest
from collections.abc import Callable
from typing import Any

from messages_test import events_of as messages_events, message_of
from program import REALIZAR
from responses_test import events_of
from scripted_model import write_scripted
from served import Served

DATA = pathlib.Path(__file__).resolve().parent / "data"
AGENTS = [json.loads(path.read_text()) for path in sorted((DATA / "agents").glob("*.json"))]
GREETING = 'Hello, "garden" of 3 < 4 beds!\n'
WRITTEN = "quokka"  # the tool's result, after which the model ends
THOUGHT, LATER_THOUGHT = "I shall write it.", "Now it has been done."
FINAL = "The greeting stands in the file."


@dataclasses.dataclass
class Kind:
    """The format of calls and texts of a template's models. `specials`: the tokens of the template that no user can
    write. `thoughts`: of a call and of the text after it; one of these pairs."""
    call: Callable[[str, dict[str, Any]], str]
    text: str
    specials: str
    thoughts: tuple[tuple[str, str], ...] = (("", ""),)


def hermes(name: str, arguments: dict[str, Any]) -> str:
    return f'<tool_call>\n{json.dumps({"name": name, "arguments": arguments})}\n</tool_call>'


def thoughtful_hermes(name: str, arguments: dict[str, Any]) -> str:
    return f"<think>\n{THOUGHT}\n</think>\n\n" + hermes(name, arguments)


def xml(name: str, arguments: dict[str, Any]) -> str:
    values = {key: value if isinstance(value, str) else json.dumps(value) for key, value in arguments.items()}
    parameters = "".join(f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in values.items())
    return f"<tool_call>\n<function={name}>\n{parameters}</function>\n</tool_call>"


def harmony(name: str, arguments: dict[str, Any]) -> str:
    return (f"<|channel|>analysis<|message|>{THOUGHT}<|end|><|start|>assistant<|channel|>commentary "
            f"to=functions.{name} <|constrain|>json<|message|>{json.dumps(arguments)}<|call|>")


def llama(name: str, arguments: dict[str, Any]) -> str:
    return json.dumps({"name": name, "parameters": arguments})


def mistral(name: str, arguments: dict[str, Any]) -> str:
    return "[TOOL_CALLS]" + json.dumps([{"name": name, "arguments": arguments}])


def deepseek(name: str, arguments: dict[str, Any]) -> str:
    """The prompt has opened the thoughts, or closed them at once."""
    return (f"{THOUGHT}\n</think>\n\n<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n"
            f"```json\n{json.dumps(arguments)}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>")


THOUGHTFUL = f"<think>\n{LATER_THOUGHT}\n</think>\n\n{FINAL}"
HARMONY = (f"<|channel|>analysis<|message|>{LATER_THOUGHT}<|end|><|start|>assistant<|channel|>final<|message|>{FINAL}"
           "<|return|>")
BOTH = ((THOUGHT, LATER_THOUGHT),)
CHATML = "<|im_start|> <|im_end|> <tool_call> </tool_call>"
KINDS = {
    "Qwen-Qwen3-0.6B": Kind(thoughtful_hermes, THOUGHTFUL, f"{CHATML} <think> </think>", BOTH),
    "Qwen3-Coder": Kind(xml, FINAL, CHATML),
    "openai-gpt-oss-120b": Kind(
        harmony, HARMONY, "<|start|> <|end|> <|channel|> <|message|> <|constrain|> <|call|> <|return|>", BOTH),
    "meta-llama-Llama-3.1-8B-Instruct": Kind(
        llama, FINAL, "<|begin_of_text|> <|start_header_id|> <|end_header_id|> <|eot_id|>"),
    "mistralai-Mistral-Nemo-Instruct-2407": Kind(
        mistral, FINAL, "<s> </s> [INST] [/INST] [TOOL_CALLS] [AVAILABLE_TOOLS] [/AVAILABLE_TOOLS] [TOOL_RESULTS] "
        "[/TOOL_RESULTS]"),
    "google-gemma-2-2b-it": Kind(hermes, FINAL, "<bos> <start_of_turn> <end_of_turn>"),
    "microsoft-Phi-3.5-mini-instruct": Kind(hermes, FINAL, "<|system|> <|user|> <|assistant|> <|end|>"),
    "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B": Kind(
        deepseek, THOUGHTFUL, "<think> </think> <｜User｜> <｜Assistant｜> <｜tool▁calls▁begin｜> <｜tool▁call▁begin｜> "
        "<｜tool▁sep｜> <｜tool▁call▁end｜> <｜tool▁calls▁end｜> <｜end▁of▁sentence｜>", (*BOTH, ("", LATER_THOUGHT))),
}


@dataclasses.dataclass
class Answer:
    """An agent's view of a stream. `items`: what it appends to the conversation; `calls`: (id, name, arguments)."""
    items: list[dict[str, Any]]
    calls: list[tuple[str, str, dict[str, Any]]]
    text: str
    thoughts: str
    n_prompt: int
    n_cached: int


def responses_answer(body: bytes) -> Answer:
    response = events_of(body)[-1]["response"]
    assert response["status"] == "completed", response
    items, usage = response["output"], response["usage"]
    calls = [item for item in items if item["type"] == "function_call"]
    parts = [(item["type"], part["text"]) for item in items for part in item.get("content", [])]
    return Answer(items, [(call["call_id"], call["name"], json.loads(call["arguments"])) for call in calls],
                  text="".join(text for kind, text in parts if kind == "message"),
                  thoughts="".join(text for kind, text in parts if kind == "reasoning"),
                  n_prompt=usage["input_tokens"], n_cached=usage["input_tokens_details"]["cached_tokens"])


def messages_answer(body: bytes) -> Answer:
    message = message_of(messages_events(body))
    blocks, usage = message["content"], message["usage"]
    calls = [(block["id"], block["name"], block["input"]) for block in blocks if block["type"] == "tool_use"]
    assert message["stop_reason"] == ("tool_use" if calls else "end_turn"), message
    n_cached = usage["cache_read_input_tokens"]
    return Answer([{"role": "assistant", "content": blocks}], calls,
                  text="".join(block.get("text", "") for block in blocks),
                  thoughts="".join(block.get("thinking", "") for block in blocks),
                  n_prompt=usage["input_tokens"] + n_cached, n_cached=n_cached)


def add_delta(message: dict[str, Any], delta: dict[str, Any]) -> None:
    for field in ("content", "reasoning_content"):
        if delta.get(field):
            message[field] = message.get(field, "") + delta[field]
    for piece in delta.get("tool_calls", []):
        calls = message.setdefault("tool_calls", [])
        if piece["index"] == len(calls):
            function = {"name": piece["function"]["name"], "arguments": ""}
            calls.append({"id": piece["id"], "type": "function", "function": function})
        calls[piece["index"]]["function"]["arguments"] += piece["function"].get("arguments", "")


def chat_answer(body: bytes) -> Answer:
    message: dict[str, Any] = {"role": "assistant", "content": ""}
    *chunks, last = events_of(body)
    for chunk in chunks:
        add_delta(message, chunk["choices"][0]["delta"])
    calls = message.get("tool_calls", [])
    assert chunks[-1]["choices"][0]["finish_reason"] == ("tool_calls" if calls else "stop"), chunks[-1]
    functions = [(call["id"], call["function"]) for call in calls]
    return Answer([message], [(call_id, one["name"], json.loads(one["arguments"])) for call_id, one in functions],
                  text=message["content"], thoughts=message.get("reasoning_content", ""),
                  n_prompt=last["usage"]["prompt_tokens"],
                  n_cached=last["usage"]["prompt_tokens_details"]["cached_tokens"])


# By path: the field with the conversation, and the reader of a stream.
DIALECTS: dict[str, tuple[str, Callable[[bytes], Answer]]] = {
    "/v1/responses": ("input", responses_answer), "/v1/messages?beta=true": ("messages", messages_answer),
    "/v1/chat/completions": ("messages", chat_answer)}


def filled(shape: Any, values: dict[str, str]) -> Any:
    """The JSON with the values substituted for their names."""
    if isinstance(shape, dict):
        return {key: filled(value, values) for key, value in shape.items()}
    if isinstance(shape, list):
        return [filled(value, values) for value in shape]
    for name, value in values.items():
        shape = shape.replace(name, value) if isinstance(shape, str) else shape
    return shape


def run_tool(folder: pathlib.Path, arguments: dict[str, Any]) -> str:
    """The result of the agent's tool."""
    def named(*names: str) -> str | None:
        return next((arguments[name] for name in names if name in arguments), None)

    if command := named("cmd", "command"):
        subprocess.run(["sh", "-c", command], cwd=folder, check=True)
    if path := named("path", "file_path", "filePath"):
        (folder / pathlib.PurePath(path).name).write_text(named("content", "file_text", "new_text") or "")
    return f"{WRITTEN} wrote the file"


class Session:
    """One chat of an agent with the server, in its own folder."""

    def __init__(self, test: unittest.TestCase, server: Served, agent: dict[str, Any], folder: str):
        self.test, self.server, self.agent, self.folder = test, server, agent, pathlib.Path(folder)
        self.conversation = list(agent["opening"])

    def ask(self) -> Answer:
        field, read = DIALECTS[self.agent["path"]]
        body = self.agent["body"] | {field: self.conversation}
        status, _, stream = self.server.ask("POST", self.agent["path"], body, self.agent["headers"])
        self.test.assertEqual(status, 200, stream)
        answer = read(stream)
        self.conversation += answer.items
        return answer

    def turn(self, text: str) -> list[Answer]:
        """The answers until one without a call."""
        self.conversation.append(filled(self.agent["user"], {"$text": text}))
        answers = [self.ask()]
        while answers[-1].calls:
            self.test.assertLess(len(answers), 3, "the model calls again and again")
            for call_id, _, arguments in answers[-1].calls:
                output = run_tool(self.folder, arguments)
                self.conversation += filled(self.agent["results"], {"$id": call_id, "$output": output})
            answers.append(self.ask())
        return answers


class Agents(unittest.TestCase):
    def check_first_turn(self, session: Session, kind: Kind) -> None:
        first, last = session.turn("Write a greeting into greeting.txt.")
        call = session.agent["call"]
        self.assertEqual([(name, arguments) for _, name, arguments in first.calls], [(call["name"], call["arguments"])])
        self.assertEqual((session.folder / "greeting.txt").read_text(), GREETING)
        self.assertEqual((first.text, last.text), ("", FINAL))
        self.assertIn((first.thoughts, last.thoughts), kind.thoughts)

    def check_sessions(self, server: Served, agent: dict[str, Any], kind: Kind) -> None:
        with tempfile.TemporaryDirectory() as folder:
            session = Session(self, server, agent, folder)
            self.check_first_turn(session, kind)
            # If the prompt closes the thoughts itself, the model still begins with the empty line that follows them.
            self.assertEqual([answer.text.lstrip() for answer in session.turn("Thank you. What does it say?")], [FINAL])
        with tempfile.TemporaryDirectory() as folder:
            text = "Greet once more, please."
            found = Session(self, server, agent, folder).turn(text)[0]
            self.assertGreater(found.n_cached, 1000)
            self.assertLess(found.n_prompt - found.n_cached, len(text) + 100)

    def check_template(self, name: str, kind: Kind) -> None:
        answers = {"": "Who is it?"}
        answers |= {agent["cue"]: kind.call(agent["call"]["name"], agent["call"]["arguments"]) for agent in AGENTS}
        template = (DATA / f"chat_templates/templates/{name}.jinja").read_text()
        with tempfile.TemporaryDirectory() as folder:
            answers |= {WRITTEN: kind.text}
            model = write_scripted(f"{folder}/scripted.gguf", template, answers, kind.specials.split())
            with Served(REALIZAR, model, "--ctx", "16384", "--temperature", "0") as server:
                for agent in AGENTS:
                    with self.subTest(agent=agent["agent"]):
                        self.check_sessions(server, agent, kind)


def add_tests() -> None:
    """A test for each template."""
    for name, kind in KINDS.items():
        setattr(Agents, "test_" + "".join(letter if letter.isalnum() else "_" for letter in name),
                lambda self, name=name, kind=kind: self.check_template(name, kind))


add_tests()
if __name__ == "__main__":
    unittest.main()
