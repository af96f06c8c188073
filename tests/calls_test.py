#!/usr/bin/env python3
"""Tool calls over HTTP, for each chat template: a scripted model writes a text and calls in the format that `template
--explain` reports. Usage: calls_test.py REALIZAR [FOLDER], or calls_test.py REALIZAR [FOLDER] --table, which prints
docs/conformance.md's table. FOLDER: other chat templates, *.jinja."""
from __future__ import annotations

import dataclasses
import json
import pathlib
import re
import sys
import tempfile
import unittest
from collections.abc import Callable, Sequence
from typing import Any

import program
from program import REALIZAR
from scripted_model import write_scripted
from served import Served

TEMPLATES = pathlib.Path(__file__).resolve().parent / "data/chat_templates/templates"
Call = tuple[str, dict[str, Any]]

TEXT = "I will look it up."
CALLS: list[Call] = [
    ("write_note", {"title": "007", "text": 'He said "no"\nto Jürgen & 3 < 4.', "count": 42}),
    ("find_place", {"place": "Zürich", "radius": 12})]
PLAIN = "Paris lies by the Seine."
THOUGHTS = ["Shall I go there?", "Better be quick."]
# A cue in the user's text chooses the answer.
CALLS_CUE, PLAIN_CUE, OPEN_CUE, CLOSED_CUE, AGAIN_CUE = "", "quokka", "wombat", "numbat", "dingo"


def tool(name: str, parameters: dict[str, Any] | None, strict: bool = False) -> dict[str, Any]:
    function = {"name": name, "description": "Does it."} | ({"parameters": parameters} if parameters else {})
    return {"type": "function", "function": function | ({"strict": True} if strict else {})}


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


TOOLS = [tool("write_note", schema(title={"type": "string"}, text={"type": "string"}, count={"type": "integer"})),
         tool("find_place", schema(place={"type": "string"}, radius={"type": "integer"}))]
CLASSES = ["first", "second"]
BOOK = tool("book_seat", schema(**{"class": {"enum": CLASSES}, "seats": {"type": "integer", "minimum": 1, "maximum": 9},
                                   "name": {"type": "string", "minLength": 1, "maxLength": 6}}), strict=True)
PING = tool("ping", None)


@dataclasses.dataclass
class Form:
    """The format of calls and thoughts of a template's models. `one`: a call of NAME with KEY: "VALUE"; `two`: two of
    them, "" if an answer has at most one."""
    arguments: str
    one: str
    two: str
    thoughts: list[str]  # the marks around them; empty if there are none
    opens_thoughts: bool
    has_channels: bool
    is_general: bool  # the template shows no calls

    def calls(self, calls: Sequence[Call]) -> str:
        text = self.one if len(calls) == 1 else self.two
        for name, arguments in calls:
            text = text.replace("NAME", name, 1)
            found = SHAPES[self.arguments].search(text)
            assert found, text
            text = text[:found.start()] + argument_texts(found, arguments) + text[found.end():]
        return text

    def marks_thoughts(self) -> bool:
        return self.has_channels or bool(self.thoughts)

    def thought(self, text: str, is_first: bool = True) -> str:
        if self.has_channels:
            return f"<|channel|>analysis<|message|>{text}<|end|><|start|>assistant"
        begin, end = self.thoughts
        return f"{'' if is_first and self.opens_thoughts else begin}\n{text}\n{end}\n\n"

    def content(self, text: str) -> str:
        return f"<|channel|>commentary<|message|>{text}<|end|><|start|>assistant" if self.has_channels else text + "\n"

    def final(self, text: str) -> str:
        return f"<|channel|>final<|message|>{text}<|return|>" if self.has_channels else text

    def name(self) -> str:
        """The family and the first mark, for the table."""
        if self.is_general:
            return "none is shown"
        [mark] = re.findall(r"\A(?:<[^<>]*>|\[[A-Z_]+\]|.*?NAME)", self.one, re.DOTALL)
        return f"{self.arguments}, `{' '.join(mark.split())}`".replace("|", "\\|")

    def marks(self) -> list[str]:
        """The marks that are special tokens of the scripted model."""
        text = self.two or self.one
        if self.has_channels:
            return "<|start|> <|end|> <|channel|> <|message|> <|constrain|> <|call|> <|return|>".split()
        return [*dict.fromkeys(re.findall(r"<[|｜][^<>|｜]+[|｜]>|\[[A-Z_]{3,}\]", text))]


def argument_texts(found: re.Match[str], arguments: dict[str, Any]) -> str:
    """The arguments substituted for KEY and VALUE."""
    if found[0].startswith("{"):
        return json.dumps(arguments, ensure_ascii=False)
    is_tag = found[0].startswith("<")
    return ("" if is_tag else ", ").join(argument_text(found, key, value) for key, value in arguments.items())


def argument_text(found: re.Match[str], key: str, value: Any) -> str:
    shape, quote = found[0], found["quote"] or ""
    if not isinstance(value, str):
        shape = shape.replace(f"{quote}VALUE{quote}", "VALUE").replace('string="true"', 'string="false"')
    is_json = not isinstance(value, str) or quote == '"'
    text = json.dumps(value, ensure_ascii=False).removeprefix('"').removesuffix('"') if is_json else value
    return shape.replace("KEY", key).replace("VALUE", text)


OBJECT = re.compile(r'(?P<quote>)\{"KEY":"VALUE"\}')
SHAPES = {"in the object": OBJECT, "an object after the name": OBJECT, "a message": OBJECT,
          "in tags": re.compile(r"(?P<quote>)<[^<]*KEY.*?VALUE\s*</[^>]*>\n?", re.DOTALL),
          "as code": re.compile(r"KEY[=:](?P<quote>.*?)VALUE(?P=quote)")}
EXPLAINED = re.compile(r"^  (\w+) +(.*)$", re.MULTILINE)


def form_of(template: pathlib.Path) -> Form:
    printed = program.run("template", "--template", template, "--explain", check=True).stdout
    told = dict(EXPLAINED.findall(printed))
    two, thoughts = told["written_calls"], told["thoughts_marks"]
    return Form(told["call_arguments"], json.loads(told["written_call"]),
                json.loads(two) if two.startswith('"') else "",
                json.loads(thoughts) if thoughts.startswith("[") else [],
                told["opens_thoughts"] == "yes", thoughts == "a channel", told["call_form"] != "the model's")


def answers_of(form: Form) -> dict[str, str]:
    calls = CALLS if form.two else CALLS[:1]
    begin = form.thought(THOUGHTS[0]) if form.opens_thoughts else ""
    answers = {CALLS_CUE: begin + form.content(TEXT) + form.calls(calls), PLAIN_CUE: begin + form.final(PLAIN)}
    if form.marks_thoughts():
        again = form.thought(THOUGHTS[1], is_first=False)
        answers[AGAIN_CUE] = form.thought(THOUGHTS[0]) + form.content(TEXT) + again + form.final(PLAIN)
    if form.thoughts:
        call = form.calls(CALLS[1:])
        answers[OPEN_CUE] = form.thought(THOUGHTS[0] + "\n" + call).rstrip().removesuffix(form.thoughts[1])
        answers[CLOSED_CUE] = form.thought(THOUGHTS[0] + "\n" + call) + PLAIN
    return answers


@dataclasses.dataclass
class Answer:
    content: str
    thoughts: str
    calls: list[tuple[str, Any]]
    reason: str


def chat_answer(reply: dict[str, Any]) -> Answer:
    choice = reply["choices"][0]
    message = choice["message"]
    functions = [call["function"] for call in message.get("tool_calls") or []]
    return Answer(message["content"] or "", message.get("reasoning_content") or "",
                  [(function["name"], function["arguments"]) for function in functions], choice["finish_reason"])


def messages_answer(reply: dict[str, Any]) -> Answer:
    blocks = reply["content"]
    return Answer("".join(block.get("text", "") for block in blocks),
                  "".join(block.get("thinking", "") for block in blocks),
                  [(block["name"], block["input"]) for block in blocks if block["type"] == "tool_use"],
                  reply["stop_reason"])


def ollama_answer(reply: dict[str, Any]) -> Answer:
    message = reply["message"]
    functions = [call["function"] for call in message.get("tool_calls") or []]
    return Answer(message["content"], message.get("thinking", ""),
                  [(function["name"], function["arguments"]) for function in functions], reply["done_reason"])


def stream_answer(body: bytes) -> Answer:
    """A client's view of a stream of chat completions."""
    answer = Answer("", "", [], "")
    for line in body.decode().splitlines():
        for choice in json.loads(line[6:])["choices"] if line.startswith("data: {") else []:
            delta = choice["delta"]
            answer.content += delta.get("content") or ""
            answer.thoughts += delta.get("reasoning_content") or ""
            answer.reason = choice["finish_reason"] or answer.reason
            for piece in delta.get("tool_calls", []):
                if piece["index"] == len(answer.calls):
                    answer.calls.append((piece["function"]["name"], ""))
                name, arguments = answer.calls[piece["index"]]
                answer.calls[piece["index"]] = name, arguments + piece["function"].get("arguments", "")
    return answer


@dataclasses.dataclass
class Dialect:
    path: str
    read: Callable[[dict[str, Any]], Answer]
    tools: list[dict[str, Any]]
    limit: Callable[[int], dict[str, Any]]  # the fields that end an answer after so many tokens


CHAT = Dialect("/v1/chat/completions", chat_answer, TOOLS, lambda n_tokens: {"max_tokens": n_tokens})
MESSAGES = Dialect(
    "/v1/messages", messages_answer,
    [{"name": one["function"]["name"], "input_schema": one["function"]["parameters"]} for one in TOOLS], CHAT.limit)
OLLAMA = Dialect("/api/chat", ollama_answer, TOOLS,
                 lambda n_tokens: {"options": {"num_predict": n_tokens}, "stream": False})
CUT = [CHAT, MESSAGES, OLLAMA]


def is_beginning(cut: tuple[str, str], whole: tuple[str, str]) -> bool:
    """For a call: its name and the beginning of its arguments' JSON."""
    return cut[0] == whole[0] and whole[1].startswith(cut[1])


def is_booking(arguments: dict[str, Any]) -> bool:
    return ([*arguments] == ["class", "seats", "name"] and arguments["class"] in CLASSES
            and arguments["seats"] in range(1, 10) and 1 <= len(arguments["name"]) <= 6)


def is_empty(arguments: dict[str, Any]) -> bool:
    return arguments == {}


class Fault(AssertionError):
    """Describes in a few words what went wrong, for the table."""


def check(is_right: bool, fault: str, *seen: Any) -> None:
    if not is_right:
        raise Fault(fault, *seen)


class Session:
    """A server with the scripted model of a template."""

    def __init__(self, template: pathlib.Path, folder: str):
        self.template, self.form = template.stem, form_of(template)
        model = write_scripted(
            f"{folder}/scripted.gguf", template.read_text(), answers_of(self.form), self.form.marks())
        self.server = Served(REALIZAR, model, "--ctx", "16384", "--temperature", "0")
        self.calls = CALLS if self.form.two else CALLS[:1]

    def post(self, dialect: Dialect, cue: str, **fields: Any) -> bytes:
        body = {"model": self.server.model, "messages": [{"role": "user", "content": f"Go! {cue}"}],
                "tools": dialect.tools, **fields}
        status, _, reply = self.server.ask("POST", dialect.path, body)
        check(status == 200, "refused", reply)
        return reply

    def ask(self, cue: str, dialect: Dialect = CHAT, **fields: Any) -> Answer:
        return dialect.read(json.loads(self.post(dialect, cue, **fields)))

    def check_calls(self, answer: Answer, calls: Sequence[Call]) -> None:
        names = [name for name, _ in answer.calls]
        check(bool(names) or not calls, "no calls", answer)
        check(names == [name for name, _ in calls], "other calls", answer)
        check([json.loads(arguments) for _, arguments in answer.calls] == [given for _, given in calls],
              "other arguments", answer)
        check(answer.reason == ("tool_calls" if calls else "stop"), "another reason to stop", answer)

    def check_whole(self, answer: Answer) -> None:
        self.check_calls(answer, self.calls)
        check(answer.content.strip() == TEXT, "other content", answer)
        check(answer.thoughts.strip() == (THOUGHTS[0] if self.form.opens_thoughts else ""), "other thoughts", answer)

    def read(self) -> None:
        self.check_whole(self.ask(CALLS_CUE))

    def streamed(self) -> None:
        self.check_whole(stream_answer(self.post(CHAT, CALLS_CUE, stream=True)))

    def required(self) -> None:
        named = {"type": "function", "function": {"name": "ping"}}
        for tools, choice, is_right in (([BOOK], "required", is_booking), ([PING], "required", is_empty),
                                        ([BOOK, PING], named, is_empty)):
            answer = self.ask(PLAIN_CUE, tools=tools, tool_choice=choice, parallel_tool_calls=False, max_tokens=400)
            check(answer.reason == "tool_calls" and len(answer.calls) == 1, "no call", answer)
            [(name, arguments)] = answer.calls
            check(name == tools[-1]["function"]["name"], "another tool", answer)
            check(is_right(json.loads(arguments)), "not of the schema", answer)
            check(not answer.content.strip(), "content beside the call", answer)

    def cut(self) -> None:
        """Cut at every third token, in one dialect after the other."""
        reply = json.loads(self.post(CHAT, CALLS_CUE))
        whole = chat_answer(reply)
        for i, n_tokens in enumerate(range(1, reply["usage"]["completion_tokens"], 3)):
            dialect = CUT[i % len(CUT)]
            answer = self.ask(CALLS_CUE, dialect, **dialect.limit(n_tokens))
            content = answer.content.strip()
            # The first letter of a mark does not yet identify it.
            is_text = TEXT.startswith(content) or content[:-1].strip() == TEXT
            check(is_text, "marks in the content", n_tokens, answer)
            check(answer.reason in ("length", "max_tokens"), "another reason to stop", n_tokens, answer)
            if dialect is CHAT:
                is_written = all(map(is_beginning, answer.calls, whole.calls))
                check(is_written, "arguments that were not written", n_tokens, answer)
            else:
                check(answer.calls == self.calls[:len(answer.calls)], "a cut call", n_tokens, answer)

    def thoughts(self) -> None:
        if not self.form.marks_thoughts():
            return
        again = self.ask(AGAIN_CUE)
        self.check_calls(again, [])
        check(all(thought in again.thoughts for thought in THOUGHTS), "second thoughts as content", again)
        check(again.content.split() == (TEXT + PLAIN).split(), "other content after second thoughts", again)
        if self.form.thoughts:
            in_open = self.ask(OPEN_CUE)
            self.check_calls(in_open, CALLS[1:])
            check(not in_open.content.strip() and in_open.thoughts.strip() == THOUGHTS[0], "marks shown", in_open)
            in_closed = self.ask(CLOSED_CUE)
            self.check_calls(in_closed, [])
            check(in_closed.content.strip() == PLAIN, "other content after closed thoughts", in_closed)


COLUMNS: dict[str, Callable[[Session], None]] = {
    "read": Session.read, "streamed": Session.streamed, "required": Session.required, "cut": Session.cut,
    "thoughts": Session.thoughts}


class Calls(unittest.TestCase):
    def check_template(self, template: pathlib.Path) -> None:
        with tempfile.TemporaryDirectory() as folder:
            session = Session(template, folder)
            with session.server:
                for name, check_column in COLUMNS.items():
                    with self.subTest(check=name):
                        check_column(session)


def cell(check_column: Callable[[Session], None], session: Session) -> str:
    if check_column is Session.thoughts and not session.form.marks_thoughts():
        return "not marked"
    try:
        check_column(session)
    except Fault as fault:
        print(session.template, fault, file=sys.stderr)
        return str(fault.args[0])
    return "yes"


def row(template: pathlib.Path) -> str:
    with tempfile.TemporaryDirectory() as folder:
        session = Session(template, folder)
        cells = [cell(check_column, session) for check_column in COLUMNS.values()]
        session.server.stop()
    return f"| {template.stem} | {session.form.name()} | {' | '.join(cells)} |"


def print_table(templates: Sequence[pathlib.Path]) -> None:
    print(f"| template | form | {' | '.join(COLUMNS)} |")
    print("|---|---|" + "---|" * len(COLUMNS))
    for template in templates:
        print(row(template), flush=True)


def add_tests(templates: Sequence[pathlib.Path]) -> None:
    for template in templates:
        name = re.sub(r"\W", "_", template.stem)
        setattr(Calls, f"test_{name}", lambda self, template=template: self.check_template(template))


def main() -> None:
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    folder = pathlib.Path(words[0]) if words else TEMPLATES
    templates = sorted(folder.glob("*.jinja"))
    if "--table" in sys.argv:
        print_table(templates)
        return
    add_tests(templates)
    unittest.main(argv=[sys.argv[0], *(word for word in sys.argv[1:] if word.startswith("-"))])


if __name__ == "__main__":
    main()
