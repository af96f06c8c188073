"""The Responses API of OpenAI: its requests as chats, and its answers as items and events."""
from __future__ import annotations

import secrets
import time
from typing import Any, Dict, List, Mapping, Optional, Sequence, TypedDict, Union

from ._model import Model
from ._openai_answers import Answers, Heard
from ._openai_fields import chat_options
from ._openai_types import (
    IncompleteDetails,
    InputTokensDetails,
    Response,
    ResponseEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseReasoningItem,
    ResponseReasoningText,
    ResponseUsage,
)
from ._options import ChatOptions
from ._results import Generation, Piece
from ._tools import Tool


class ResponseFields(TypedDict, total=False):
    """What responses.create takes beside input, model and stream, with the meaning of OpenAI's API.

    Nothing is stored: a conversation goes on with all of its items in input. text: {"format": ...}, or text_format in
    parse. store, metadata, include, truncation and user have no effect. extra_body: further options of Model.chat.
    """

    instructions: Optional[str]
    max_output_tokens: Optional[int]
    temperature: Optional[float]
    top_p: Optional[float]
    tools: Optional[Sequence[Tool]]
    tool_choice: Any
    parallel_tool_calls: bool
    text: Optional[Mapping[str, Any]]
    text_format: Any
    reasoning: Optional[Mapping[str, Any]]
    seed: Optional[int]
    store: Optional[bool]
    metadata: Optional[Mapping[str, str]]
    include: Optional[Sequence[str]]
    truncation: Optional[str]
    user: Optional[str]
    timeout: Optional[float]
    extra_body: Optional[Mapping[str, Any]]


_SAME = ("temperature", "top_p", "parallel_tool_calls", "seed", "timeout", "extra_body")


def response_options(fields: Mapping[str, Any]) -> ChatOptions:
    for name in fields:
        if name not in ResponseFields.__annotations__:
            known = ", ".join(sorted(ResponseFields.__annotations__))
            raise TypeError(f"unknown field {name!r}; known are {known}")
    chat: Dict[str, Any] = {name: fields[name] for name in _SAME if fields.get(name) is not None}
    chat["max_tokens"] = fields.get("max_output_tokens")
    chat["tools"] = [tool if callable(tool) else _tool(tool) for tool in fields.get("tools") or ()] or None
    choice: Any = fields.get("tool_choice")
    is_named = isinstance(choice, Mapping) and "name" in choice
    chat["tool_choice"] = choice["name"] if is_named else choice
    chat["response_format"] = _form(fields)
    effort = (fields.get("reasoning") or {}).get("effort")
    if effort is not None:
        chat["reasoning_effort"] = effort
    return chat_options(chat)


def _tool(tool: Mapping[str, Any]) -> Dict[str, Any]:
    if tool.get("type") != "function":
        raise ValueError(f"tools: expected functions, actual {tool.get('type')!r}")
    function = {name: tool[name] for name in ("name", "description", "parameters") if tool.get(name) is not None}
    return {"type": "function", "function": function}


def _form(fields: Mapping[str, Any]) -> Any:
    if fields.get("text_format") is not None:
        return fields["text_format"]
    form = (fields.get("text") or {}).get("format")
    if form is None or form.get("type") != "json_schema":
        return form
    return {"type": "json_schema", "json_schema": {"schema": form.get("schema"), "strict": form.get("strict")}}


def messages_of(given: Union[str, Sequence[Any]], instructions: Optional[str]) -> List[Dict[str, Any]]:
    """The conversation as chat completions have it. Items may be dicts, or what a response gave."""
    messages: List[Dict[str, Any]] = []
    if instructions:
        messages.append({"role": "system", "content": instructions})
    if isinstance(given, str):
        return messages + [{"role": "user", "content": given}]
    for position, item in enumerate(given):
        _add_item(item if isinstance(item, Mapping) else item.to_dict(), messages, f"input[{position}]")
    return messages


def _add_item(item: Mapping[str, Any], messages: List[Dict[str, Any]], where: str) -> None:
    kind = item.get("type", "message")
    if kind == "message":
        role, content = item.get("role"), _text(item.get("content"), where)
        if role == "assistant":
            _answer(messages, lambda answer: not answer["content"] and "tool_calls" not in answer)["content"] = content
        else:
            messages.append({"role": "system" if role == "developer" else role, "content": content})
    elif kind == "reasoning":
        thoughts = _text(item.get("content") or [], where)
        _answer(messages, lambda _: False)["reasoning_content"] = thoughts
    elif kind == "function_call":
        function = {"name": item.get("name"), "arguments": item.get("arguments")}
        call = {"id": item.get("call_id"), "type": "function", "function": function}
        _answer(messages, lambda _: True).setdefault("tool_calls", []).append(call)
    elif kind == "function_call_output":
        content = _text(item.get("output"), where)
        messages.append({"role": "tool", "tool_call_id": item.get("call_id"), "content": content})
    else:
        known = "message, reasoning, function_call or function_call_output"
        raise ValueError(f"{where}: expected a {known}, actual {kind!r}")


def _answer(messages: List[Dict[str, Any]], takes: Any) -> Dict[str, Any]:
    """The assistant's message that an item belongs to: the last one, where it takes the item, or a new one."""
    if not messages or messages[-1]["role"] != "assistant" or not takes(messages[-1]):
        messages.append({"role": "assistant", "content": ""})
    return messages[-1]


def _text(content: Any, where: str) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    texts = [part.get("text") for part in content]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError(f"{where}: models read text alone here")
    return "".join(texts)


class ResponseAnswers(Answers[Response, ResponseEvent]):
    """One response, whole or event by event."""

    def __init__(self, model: Model, name: str, fields: Mapping[str, Any]) -> None:
        super().__init__(model, name, "resp_", "")
        self._fields = fields
        self._output: List[Any] = []
        self._open: Optional[str] = None  # the kind of the pieces of the last item, where that is not done
        self._n_events = 0
        self._created_at = float(int(time.time()))

    def whole(self, choices: Sequence[Heard]) -> Response:
        (heard,) = choices
        answer = heard.generation
        if answer.reasoning:
            self._output.append(_reasoning(answer.reasoning))
        if answer.text or not answer.calls:
            self._output.append(_message(answer.text))
        for call in answer.calls:
            self._output.append(_call(call.name, call.arguments_json))
        return self._response(answer)

    def begin(self, index: int) -> List[ResponseEvent]:
        response = self._response(None)
        return [self._event(f"response.{name}", response=response) for name in ("created", "in_progress")]

    def piece(self, heard: Heard, piece: Piece) -> List[ResponseEvent]:
        kind = "call" if piece.kind.startswith("call_") else piece.kind
        events = []
        if piece.kind == "call_begin" or kind != self._open:
            events += self._close() + self._begin_item(kind, piece)
        if piece.kind in ("call_begin", "call_end"):
            return events
        item, place = self._output[-1], {"output_index": len(self._output) - 1}
        if kind == "call":
            item.arguments += piece.text
            told = self._event("response.function_call_arguments.delta", item_id=item.id, delta=piece.text, **place)
        else:
            item.content[0].text += piece.text
            name = "response.output_text.delta" if kind == "content" else "response.reasoning_text.delta"
            told = self._event(name, item_id=item.id, content_index=0, delta=piece.text, **place)
        return events + [told]

    def end(self, heard: Heard) -> List[ResponseEvent]:
        events = self._close()
        response = self._response(heard.generation)
        return events + [self._event(f"response.{response.status}", response=response)]

    def _begin_item(self, kind: str, piece: Piece) -> List[ResponseEvent]:
        self._open = kind
        item: Any = _call(piece.text, "") if kind == "call" else _message("") if kind == "content" else _reasoning("")
        item.status = "in_progress"
        self._output.append(item)
        place = {"output_index": len(self._output) - 1}
        events = [self._event("response.output_item.added", item=item, **place)]
        if kind == "content":
            part = {"item_id": item.id, "content_index": 0, "part": ResponseOutputText(""), **place}
            events.append(self._event("response.content_part.added", **part))
        return events

    def _close(self) -> List[ResponseEvent]:
        if self._open is None:
            return []
        item, place = self._output[-1], {"output_index": len(self._output) - 1}
        item.status = "completed"
        events = []
        if self._open == "call":
            done = {"item_id": item.id, "arguments": item.arguments, **place}
            events.append(self._event("response.function_call_arguments.done", **done))
        else:
            part = {"item_id": item.id, "content_index": 0, **place}
            name = "response.output_text.done" if self._open == "content" else "response.reasoning_text.done"
            events.append(self._event(name, text=item.content[0].text, **part))
            if self._open == "content":
                events.append(self._event("response.content_part.done", part=item.content[0], **part))
        self._open = None
        return events + [self._event("response.output_item.done", item=item, **place)]

    def _event(self, kind: str, **fields: Any) -> ResponseEvent:
        self._n_events += 1
        return ResponseEvent(type=kind, sequence_number=self._n_events - 1, **fields)

    def _response(self, answer: Optional[Generation]) -> Response:
        """None: it goes on."""
        is_cut = answer is not None and answer.finish_reason != "stop"
        status = "in_progress" if answer is None else "incomplete" if is_cut else "completed"
        if is_cut and self._output:
            self._output[-1].status = "incomplete"
        return Response(
            id=self.head["id"],
            created_at=self._created_at,
            model=self.head["model"],
            output=list(self._output),
            status=status,
            usage=None if answer is None else _usage(answer),
            incomplete_details=IncompleteDetails("max_output_tokens") if is_cut else None,
            instructions=self._fields.get("instructions"),
            max_output_tokens=self._fields.get("max_output_tokens"),
            temperature=self._fields.get("temperature"),
            top_p=self._fields.get("top_p"),
            metadata=dict(self._fields.get("metadata") or {}),
            output_parsed=None if answer is None else answer.parsed,
        )


def _identifier(prefix: str) -> str:
    return prefix + secrets.token_urlsafe(18)


def _reasoning(text: str) -> ResponseReasoningItem:
    return ResponseReasoningItem(_identifier("rs_"), [ResponseReasoningText(text)])


def _message(text: str) -> ResponseOutputMessage:
    return ResponseOutputMessage(_identifier("msg_"), [ResponseOutputText(text)])


def _call(name: str, arguments: str) -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(_identifier("fc_"), _identifier("call_"), name, arguments)


def _usage(answer: Generation) -> ResponseUsage:
    n_prompt, n_generated = answer.n_prompt, answer.n_generated
    return ResponseUsage(n_prompt, n_generated, n_prompt + n_generated, InputTokensDetails(answer.n_cached))
