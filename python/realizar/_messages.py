"""Conversations in the format of OpenAI's API, converted for chat templates."""
from __future__ import annotations

import json
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

Messages = Union[str, Sequence[Any]]

_ROLES = ("system", "developer", "user", "assistant", "tool")


def _as_dict(value: Any, place: str) -> Dict[str, Any]:
    """A mapping, or an object of an answer, such as choices[0].message."""
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "model_dump"):
        return dict(value.model_dump())
    raise ValueError(f"{place}: expected an object with role and content, actual {type(value).__name__}")


def _content(content: Any, place: str) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        raise ValueError(f"{place}: expected a string or a list of parts, actual {type(content).__name__}")
    text = ""
    for i, part in enumerate(content):
        part = _as_dict(part, f"{place}[{i}]")
        if part.get("type") not in ("text", "input_text", "output_text", "refusal"):
            raise ValueError(f"{place}[{i}]: the model takes text only, actual type {part.get('type')!r}")
        text += part["refusal"] if part["type"] == "refusal" else part["text"]
    return text


def _arguments(arguments: Any) -> Any:
    """Templates read arguments as an object or as its JSON text; an object works for both."""
    if not isinstance(arguments, str):
        return {} if arguments is None else arguments
    try:
        read = json.loads(arguments or "{}")
    except ValueError:  # of a call that was cut
        return arguments
    return read if isinstance(read, dict) else arguments


def _call(call: Any, place: str) -> Dict[str, Any]:
    read = _as_dict(call, place)
    function = _as_dict(read.get("function"), f"{place}.function")
    read["function"] = {**function, "arguments": _arguments(function.get("arguments"))}
    return read


def _message(message: Any, place: str) -> Dict[str, Any]:
    read = _as_dict(message, place)
    if read.get("role") not in _ROLES:
        raise ValueError(f"{place}.role: expected one of {', '.join(_ROLES)}, actual {read.get('role')!r}")
    if read["role"] == "developer":  # few templates support it
        read["role"] = "system"
    has_none = read.get("content") is None and read["role"] == "assistant"  # for example where it calls tools
    read["content"] = "" if has_none else _content(read.get("content"), f"{place}.content")
    calls = read.pop("tool_calls", None)
    if calls:
        read["tool_calls"] = [_call(call, f"{place}.tool_calls[{i}]") for i, call in enumerate(calls)]
    return read


def with_system(messages: Messages, system: Optional[str]) -> List[Any]:
    """A text is one message of a user; `system` is put before all. Raises ValueError if there is a system message
    already."""
    given: List[Any] = [{"role": "user", "content": messages}] if isinstance(messages, str) else list(messages)
    if system is None:
        return given
    roles = [one.get("role") if isinstance(one, Mapping) else getattr(one, "role", None) for one in given]
    if "system" in roles or "developer" in roles:
        raise ValueError("system: the messages have a system message already")
    return [{"role": "system", "content": system}, *given]


def read_messages(messages: Messages, system: Optional[str] = None) -> List[Dict[str, Any]]:
    """Raises ValueError naming the invalid part."""
    given = enumerate(with_system(messages, system), 0 if system is None else -1)
    return [_message(message, "system" if i < 0 else f"messages[{i}]") for i, message in given]
