#!/usr/bin/env python3
"""Conversations with tools, as clients of each dialect send them back, over every chat template of tests/data: each is
answered, every text is at its place in the prompt, and a growing session finds its beginning in the cache. Usage:
conversations_test.py REALIZAR."""
import json
import pathlib
import tempfile
import unittest

from program import REALIZAR
from served import Served
from waiting import until, whole_lines

TEMPLATES = sorted((pathlib.Path(__file__).parent / "data" / "chat_templates" / "templates").iterdir())
N_TURNS = 10
SYSTEM = "Rules of the house."
SCHEMA = {"type": "object", "properties": {"path": {"type": "string", "description": "a file"}}, "required": ["path"]}
NAMES = ("read_file", "list_folder")
TOOLS = [{"name": name, "description": f"Does {name}.", "parameters": SCHEMA} for name in NAMES]


def turn(number):
    """Texts of a turn: question, words next to two calls, two files, two results, answer."""
    return {"question": f"question {number}", "words": f"looking {number}", "files": [f"a{number}.txt", f"b{number}.txt"],
            "results": [f"first result {number}", f"second result {number}"], "answer": f"answer {number}"}


TURNS = [turn(number) for number in range(N_TURNS)]


def marks(turns, together):
    """Every text of a conversation in order; `together`: both calls come before both results."""
    all_marks = [SYSTEM]
    for one in turns:
        pairs = zip(one["files"], one["results"])
        calls = [*one["files"], *one["results"]] if together else [text for pair in pairs for text in pair]
        all_marks += [one["question"], one["words"], *calls, one["answer"]]
    return [*all_marks, "last question"]


def openai_function(tool):
    return {"type": "function", "function": tool}


def chat_body(turns):
    messages = [{"role": "system", "content": SYSTEM}]
    for one in turns:
        ids = [f"call_{name}{one['question'][-1]}0123456789abcdef" for name in ("x", "y")]
        calls = [{"id": id_, "type": "function", "function": {"name": name, "arguments": json.dumps({"path": path})}}
                 for id_, name, path in zip(ids, NAMES, one["files"])]
        messages += [{"role": "user", "content": one["question"]},
                     {"role": "assistant", "content": one["words"], "tool_calls": calls}]
        messages += [{"role": "tool", "tool_call_id": id_, "content": result} for id_, result in zip(ids, one["results"])]
        messages.append({"role": "assistant", "content": one["answer"]})
    messages.append({"role": "user", "content": "last question"})
    return {"messages": messages, "tools": [openai_function(tool) for tool in TOOLS], "max_tokens": 1, "temperature": 0}


def functions_body(turns):
    """The oldest format of tools: one call per message, without an id."""
    messages = [{"role": "system", "content": SYSTEM}]
    for one in turns:
        messages.append({"role": "user", "content": one["question"]})
        for i, name in enumerate(NAMES):
            messages.append({"role": "assistant", "content": one["words"] if i == 0 else None,
                             "function_call": {"name": name, "arguments": json.dumps({"path": one["files"][i]})}})
            messages.append({"role": "function", "name": name, "content": one["results"][i]})
        messages.append({"role": "assistant", "content": one["answer"]})
    messages.append({"role": "user", "content": "last question"})
    return {"messages": messages, "functions": TOOLS, "max_tokens": 1}


def messages_body(turns):
    messages = []
    for one in turns:
        ids = [f"toolu_01{name}{one['question'][-1]}ABCDEFGHIJKLMNOP" for name in ("x", "y")]
        uses = [{"type": "tool_use", "id": id_, "name": name, "input": {"path": path}}
                for id_, name, path in zip(ids, NAMES, one["files"])]
        results = [{"type": "tool_result", "tool_use_id": id_, "content": [{"type": "text", "text": result}]}
                   for id_, result in zip(ids, one["results"])]
        messages += [{"role": "user", "content": one["question"]},
                     {"role": "assistant", "content": [{"type": "text", "text": one["words"]}, *uses]},
                     {"role": "user", "content": results},
                     {"role": "assistant", "content": [{"type": "text", "text": one["answer"]}]}]
    messages.append({"role": "user", "content": "last question"})
    tools = [{"name": tool["name"], "description": tool["description"], "input_schema": SCHEMA} for tool in TOOLS]
    return {"model": "m", "system": SYSTEM, "messages": messages, "tools": tools, "max_tokens": 1}


def ollama_body(turns):
    messages = [{"role": "system", "content": SYSTEM}]
    for one in turns:
        calls = [{"function": {"name": name, "arguments": {"path": path}}} for name, path in zip(NAMES, one["files"])]
        messages += [{"role": "user", "content": one["question"]},
                     {"role": "assistant", "content": one["words"], "tool_calls": calls}]
        messages += [{"role": "tool", "tool_name": name, "content": result} for name, result in zip(NAMES, one["results"])]
        messages.append({"role": "assistant", "content": one["answer"]})
    messages.append({"role": "user", "content": "last question"})
    return {"model": "m", "messages": messages, "tools": [openai_function(tool) for tool in TOOLS], "stream": False,
            "options": {"num_predict": 1}}


def responses_body(turns):
    def said(role, text):
        kind = "output_text" if role == "assistant" else "input_text"
        return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
    items = []
    for one in turns:
        ids = [f"call_{name}{one['question'][-1]}0123456789abcdef" for name in ("x", "y")]
        items += [said("user", one["question"]), said("assistant", one["words"])]
        items += [{"type": "function_call", "call_id": id_, "name": name, "arguments": json.dumps({"path": path})}
                  for id_, name, path in zip(ids, NAMES, one["files"])]
        items += [{"type": "function_call_output", "call_id": id_, "output": result}
                  for id_, result in zip(ids, one["results"])]
        items.append(said("assistant", one["answer"]))
    items.append(said("user", "last question"))
    return {"model": "m", "instructions": SYSTEM, "input": items, "max_output_tokens": 1, "store": False,
            "tools": [{"type": "function", **tool} for tool in TOOLS]}


DIALECTS = {"/v1/chat/completions": chat_body, "/v1/chat/completions with functions": functions_body,
            "/v1/messages": messages_body, "/api/chat": ollama_body, "/v1/responses": responses_body}


class TemplateServer(Served):
    """A server whose model has the given template, and its log of prompts."""

    def __init__(self, template, folder):
        self.access_log = pathlib.Path(folder) / "access.log"
        super().__init__(REALIZAR, "--chat-template-file", str(template), "--ctx", "32000", "--access-log", str(self.access_log),
                         "--log-prompts")
        self.n_lines = 0

    def post(self, path, body):
        status, _, answer = self.ask("POST", path, body)
        return status, json.loads(answer)

    def logged_prompt(self):
        """The prompt of the last request, once it is logged."""
        def lines():
            with_prompts = [line["prompt"] for line in map(json.loads, whole_lines(self.access_log)) if "prompt" in line]
            return with_prompts if len(with_prompts) > self.n_lines else None
        prompts = until(lines, "the request's line in the log")
        self.n_lines = len(prompts)
        return prompts[-1]


def first_missing(prompt, texts):
    at = 0
    for text in texts:
        found = prompt.find(text, at)
        if found < 0:
            return text
        at = found + len(text)
    return None


class ConversationsTest(unittest.TestCase):
    def check_dialects(self, server):
        for name, body_of in DIALECTS.items():
            with self.subTest(name):
                status, answer = server.post(name.split()[0], {**body_of(TURNS), "model": server.model})
                self.assertEqual(status, 200, answer)
                prompt = server.logged_prompt()
                missing = [first_missing(prompt, marks(TURNS, together)) for together in (True, False)]
                self.assertIn(None, missing, prompt[-3000:])
                for tool in TOOLS:
                    self.assertIn(tool["description"], prompt)

    # A template may change what it wrote before: then the prompts differ, and their common part is found all the same.
    def check_cache(self, server):
        n_shared = 0
        before = None
        for n in range(1, 2 * N_TURNS + 1):
            status, answer = server.post("/v1/chat/completions", chat_body([turn(number) for number in range(n)]))
            self.assertEqual(status, 200, answer)
            prompt = server.logged_prompt()
            _, tokenized = server.post("/tokenize", {"content": prompt, "add_special": False, "parse_special": True})
            tokens = tokenized["tokens"]
            if before is not None:
                n_same = next((i for i, (a, b) in enumerate(zip(before, tokens)) if a != b), min(len(before), len(tokens)))
                cached = answer["usage"]["prompt_tokens_details"]["cached_tokens"]
                # The cache keeps blocks of 16 tokens, and the texts of messages are tokenized piece by piece.
                self.assertGreaterEqual(cached, min(n_same, len(tokens) - 1) - 32, f"turn {n}: {n_same} of {len(tokens)}")
                n_shared += n_same / len(before)
            before = tokens
        return n_shared / (2 * N_TURNS - 1)

    def check_template(self, template):
        with tempfile.TemporaryDirectory() as folder:
            with TemplateServer(template, folder) as server:
                self.check_dialects(server)
                share = self.check_cache(server)
        print(f"{template.stem}: a growing session shares {share:.0%} of each prompt with the next")


def add_tests():
    for template in TEMPLATES:
        name = "test_" + "".join(letter if letter.isalnum() else "_" for letter in template.stem)
        setattr(ConversationsTest, name, lambda self, template=template: self.check_template(template))


if __name__ == "__main__":
    add_tests()
    unittest.main()
