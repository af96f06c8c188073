"""The fields of OpenAI's requests as options of a Model."""
from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, TypedDict, Union

from ._options import ChatOptions
from ._tools import Tool

# OpenAI's seeds have 64 bits.
_SEEDS = 2**53
# Of completions, as of `realizar serve`.
_DEFAULT_MAX_TOKENS = 16


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
    extra_body: Optional[Mapping[str, Any]]


class ChatFields(_CommonFields, total=False):
    """What chat.completions.create takes beside messages, model and stream, with the meaning of OpenAI's API.

    response_format may be a class with pydantic's methods too, and a tool a function of Python. user has no effect. extra_body: further options of
    Model.chat, such as top_k and grammar, and chat_template_kwargs.
    """

    max_completion_tokens: Optional[int]
    logprobs: Optional[bool]
    top_logprobs: Optional[int]
    tools: Optional[Sequence[Tool]]
    tool_choice: Any
    parallel_tool_calls: bool
    response_format: Any
    reasoning_effort: Optional[str]


class CompletionFields(_CommonFields, total=False):
    """What completions.create takes beside prompt, model and stream."""

    logprobs: Optional[int]


_SAME = ("temperature", "top_p", "stop", "presence_penalty", "frequency_penalty", "timeout")


def _common(fields: Mapping[str, Any], known: Any) -> Dict[str, Any]:
    for name in fields:
        if name not in known.__annotations__:
            raise TypeError(f"unknown field {name!r}; known are {', '.join(sorted(known.__annotations__))}")
    options = {name: fields[name] for name in _SAME if fields.get(name) is not None}
    if fields.get("seed") is not None:
        options["seed"] = fields["seed"] % _SEEDS
    if fields.get("logit_bias"):
        options["logit_bias"] = {int(token_id): bias for token_id, bias in fields["logit_bias"].items()}
    return options


def _form(wanted: Any) -> Dict[str, Any]:
    """Of response_format."""
    if wanted is None:
        return {}
    if not isinstance(wanted, Mapping):
        return {"schema": wanted}
    kind = wanted.get("type")
    if kind == "text":
        return {}
    if kind == "json_object":
        return {"schema": {"type": "object"}}
    if kind != "json_schema":
        raise ValueError(f"response_format.type: expected text, json_object or json_schema, actual {kind!r}")
    named = wanted.get("json_schema") or {}
    if not isinstance(named.get("schema"), Mapping):
        raise ValueError("response_format.json_schema.schema: expected a JSON Schema")
    return {"schema": dict(named["schema"]), "relaxed_schema": not named.get("strict")}


def _tool_choice(choice: Any) -> Optional[str]:
    if choice is None or isinstance(choice, str):
        return choice
    name = (choice.get("function") or {}).get("name") if isinstance(choice, Mapping) else None
    if not isinstance(name, str):
        raise ValueError("tool_choice: expected auto, none, required or {type: function, function: {name}}")
    return name


def _extra(extra: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
    options = dict(extra or {})
    if "chat_template_kwargs" in options:
        options["template_variables"] = options.pop("chat_template_kwargs")
    return options


def chat_options(fields: Mapping[str, Any]) -> ChatOptions:
    options = _common(fields, ChatFields)
    most = fields.get("max_completion_tokens")
    options["max_tokens"] = fields.get("max_tokens") if most is None else most
    if fields.get("logprobs"):
        options["logprobs"] = fields.get("top_logprobs") or True
    elif fields.get("top_logprobs"):
        raise ValueError("top_logprobs: needs logprobs=True")
    options["tools"] = fields.get("tools")
    options["tool_choice"] = _tool_choice(fields.get("tool_choice"))
    options["parallel_tool_calls"] = fields.get("parallel_tool_calls", True)
    options.update(_form(fields.get("response_format")))
    options.update(_extra(fields.get("extra_body")))
    if fields.get("reasoning_effort") is not None:
        options["reasoning_effort"] = fields["reasoning_effort"]
    return options  # type: ignore[return-value]


def completion_options(fields: Mapping[str, Any]) -> Dict[str, Any]:
    options = _common(fields, CompletionFields)
    most = fields.get("max_tokens")
    options["max_tokens"] = _DEFAULT_MAX_TOKENS if most is None else most
    if fields.get("logprobs") is not None:
        options["logprobs"] = int(fields["logprobs"]) or True
    options.update(_extra(fields.get("extra_body")))
    return options


def of_choices(options: Mapping[str, Any], fields: Mapping[str, Any]) -> List[Dict[str, Any]]:
    """The options of each of the n choices: with a seed each has one of its own."""
    n = 1 if fields.get("n") is None else fields["n"]
    if not 1 <= n <= 128:
        raise ValueError(f"n: expected 1 to 128, actual {n}")
    if options.get("seed") is None:
        return [dict(options)] * n
    return [{**options, "seed": (options["seed"] + i) % _SEEDS} for i in range(n)]


def wants_usage(fields: Mapping[str, Any]) -> bool:
    return bool((fields.get("stream_options") or {}).get("include_usage"))
