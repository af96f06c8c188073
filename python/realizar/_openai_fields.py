"""The fields of OpenAI's requests, and their bodies: other forms in Python become JSON."""
from __future__ import annotations

import json
from typing import Any, Dict, List, Mapping, Optional, Sequence, TypedDict, Union

from ._messages import with_system
from ._options import ChatOptions, Schema, asked_schema, check_names
from ._tools import Tool, read_tools


class _CommonFields(TypedDict, total=False):
    temperature: Optional[float]
    top_p: Optional[float]
    max_tokens: Optional[int]
    n: Optional[int]
    stop: Union[str, Sequence[str], None]
    seed: Optional[int]
    presence_penalty: Optional[float]
    frequency_penalty: Optional[float]
    logit_bias: Optional[Mapping[str, float]]
    stream_options: Optional[Mapping[str, Any]]
    user: Optional[str]
    timeout: Optional[float]
    extra_headers: Optional[Mapping[str, str]]
    extra_query: Optional[Mapping[str, object]]
    extra_body: Optional[Mapping[str, Any]]


class ChatFields(_CommonFields, total=False):
    """The keyword arguments of chat.completions.create besides messages, model and stream, with the meaning of OpenAI's
    API.

    response_format may also be a class with pydantic's methods, and a tool a Python function. Some fields that
    frameworks send have no effect: user, metadata, modalities, service_tier, store, verbosity, extra_headers and
    extra_query. extra_body: further options of Model.chat, such as top_k and grammar, and chat_template_kwargs.
    """

    max_completion_tokens: Optional[int]
    logprobs: Optional[bool]
    top_logprobs: Optional[int]
    tools: Optional[Sequence[Tool]]
    tool_choice: Any
    parallel_tool_calls: bool
    response_format: Any
    reasoning_effort: Optional[str]
    metadata: Optional[Mapping[str, str]]
    modalities: Optional[Sequence[str]]
    service_tier: Optional[str]
    store: Optional[bool]
    verbosity: Optional[str]


class CompletionFields(_CommonFields, total=False):
    """The keyword arguments of completions.create besides prompt, model and stream."""

    logprobs: Optional[int]


class ResponseFields(TypedDict, total=False):
    """The keyword arguments of responses.create besides input, model and stream, with the meaning of OpenAI's API.

    Nothing is stored: a conversation continues with all of its items in input. text: {"format": ...}, or text_format in
    parse. store, include, truncation and user have no effect. extra_body: further options of Model.chat.
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


# Options of Model.chat with other names in bodies.
_BODY_NAMES = {
    "template_variables": "chat_template_kwargs",
    "stop_tokens": "stop_token_ids",
    "reasoning": "enable_thinking",
}
# Fields that have no effect on the model, or are not part of the body.
_LEFT_OUT = ("user", "timeout", "extra_headers", "extra_query", "extra_body", "text_format", "store", "include", "truncation")
_BESIDE = ("timeout", "tenant", "lora", "lora_scale", "schema", "format", "relaxed_schema", "system")


class Body:
    """A request: its path, its body, its other options, and the class of the parsed answer, if any."""

    def __init__(self, path: str, given: Mapping[str, Any], fields: Mapping[str, Any]) -> None:
        self.path = path
        self.schema: Optional[Schema] = None
        self.json: Dict[str, Any] = dict(given)
        self.json.update((name, value) for name, value in fields.items() if name not in _LEFT_OUT)
        self.beside: Dict[str, Any] = {"timeout": fields.get("timeout")}
        self._add_options(fields.get("extra_body") or {})

    def text(self) -> bytes:
        given = {name: value for name, value in self.json.items() if value is not None}
        if "logit_bias" in given:
            biases = given["logit_bias"].items()
            given["logit_bias"] = {str(i): False if bias == -float("inf") else bias for i, bias in biases}
        return json.dumps(given, default=_as_json).encode()

    def take_form(self, form: Any) -> None:
        """A schema's document is only parsed when it is complete."""
        if form is not None and not isinstance(form, Mapping):
            self.schema = Schema(form)
        elif form is not None and form.get("type") in ("json_object", "json_schema"):
            self.schema = Schema({})

    def named_schema(self) -> Dict[str, Any]:
        assert self.schema is not None
        relaxed = self.beside.get("relaxed_schema")
        is_strict = not (self.schema.checks_itself if relaxed is None else relaxed)
        return {"name": "answer", "schema": json.loads(self.schema.json), "strict": is_strict}

    def _add_options(self, extra: Mapping[str, Any]) -> None:
        options = dict(extra)
        if "chat_template_kwargs" in options:
            options["template_variables"] = options.pop("chat_template_kwargs")
        check_names(options, ChatOptions)
        self.beside.update((name, options[name]) for name in _BESIDE if options.get(name) is not None)
        own = {_BODY_NAMES.get(name, name): value for name, value in options.items() if name not in _BESIDE}
        if isinstance(own.get("samplers"), str):
            own["samplers"] = own["samplers"].split(";")
        if own.get("cache_salt") is not None:
            own["cache_salt"] = str(own["cache_salt"])
        self.json.update(own)


def _check_names(fields: Mapping[str, Any], known: Any) -> None:
    for name in fields:
        if name not in known.__annotations__:
            raise TypeError(f"unknown field {name!r}; known are {', '.join(sorted(known.__annotations__))}")


def chat_body(messages: Any, fields: Mapping[str, Any], stream: bool) -> Body:
    _check_names(fields, ChatFields)
    body = Body("/v1/chat/completions", {"stream": stream}, fields)
    given = body.json
    given["messages"] = with_system(messages, body.beside.get("system"))
    if given.get("max_completion_tokens") is not None:
        given.pop("max_tokens", None)
    if not isinstance(given.get("logprobs") or False, bool):  # a number, as in options of Model.chat
        given["top_logprobs"], given["logprobs"] = given["logprobs"], True
    given["tools"] = read_tools(given.get("tools")) or None
    choice = given.get("tool_choice")
    if isinstance(choice, str) and choice not in ("auto", "none", "required"):
        given["tool_choice"] = {"type": "function", "function": {"name": choice}}
    _set_form(body)
    return body


def _set_form(body: Body) -> None:
    asked = asked_schema(body.beside)
    form = body.json.get("response_format")
    body.take_form(form)
    if asked is not None:
        body.schema = asked
    if asked is not None or (form is not None and not isinstance(form, Mapping)):
        body.json["response_format"] = {"type": "json_schema", "json_schema": body.named_schema()}


def completion_body(prompt: Any, fields: Mapping[str, Any], stream: bool) -> Body:
    _check_names(fields, CompletionFields)
    return Body("/v1/completions", {"prompt": prompt, "stream": stream}, fields)


def response_body(given: Any, fields: Mapping[str, Any], stream: bool) -> Body:
    _check_names(fields, ResponseFields)
    body = Body("/v1/responses", {"input": given, "stream": stream, "store": False}, fields)
    body.json["tools"] = [_flat(tool) for tool in body.json.get("tools") or ()] or None
    body.take_form(fields.get("text_format") or (fields.get("text") or {}).get("format"))
    if fields.get("text_format") is not None:
        body.json["text"] = {"format": {"type": "json_schema", **body.named_schema()}}
    return body


def _flat(tool: Tool) -> Mapping[str, Any]:
    """The Responses API has a function's fields next to its type."""
    if not callable(tool):
        if tool.get("type") != "function":  # the server leaves out tools that only OpenAI hosts
            raise ValueError(f"tools: expected functions, actual {tool.get('type')!r}")
        return tool
    [described] = read_tools([tool])
    return {"type": "function", **described["function"]}


def embedding_body(given: Any, dimensions: Optional[int], encoding_format: str, timeout: Optional[float]) -> Body:
    # In base64 the numbers are exact.
    coding = "base64" if encoding_format == "float" else encoding_format
    fields = {"input": given, "dimensions": dimensions, "encoding_format": coding}
    return Body("/v1/embeddings", fields, {"timeout": timeout})


def _as_json(value: Any) -> Any:
    """Converts answers' objects, and other kinds of lists and dicts."""
    if hasattr(value, "model_dump"):
        return value.model_dump(exclude_none=True)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence):
        return list(value)
    raise ValueError(f"expected what JSON can hold, actual {type(value).__name__}")

