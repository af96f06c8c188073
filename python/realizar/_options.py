"""The options of requests, and their conversion for the C interface."""
from __future__ import annotations

import ctypes
import json
import math
import os
import secrets
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, TypedDict, Union

from . import _library as c
from ._tools import Tool, read_tools

# The parameters of the sampler chain, under the C interface's names.
SAMPLING = (
    "temperature",
    "top_k",
    "top_p",
    "min_p",
    "typical_p",
    "top_n_sigma",
    "xtc_probability",
    "xtc_threshold",
    "dynatemp_range",
    "dynatemp_exponent",
    "mirostat",
    "mirostat_tau",
    "mirostat_eta",
    "dry_multiplier",
    "dry_base",
    "dry_allowed_length",
    "dry_penalty_last_n",
    "repeat_penalty",
    "repeat_last_n",
    "frequency_penalty",
    "presence_penalty",
)


class SamplerOptions(TypedDict, total=False):
    """The keyword arguments of Sampler; see Options."""

    temperature: Optional[float]
    top_k: Optional[int]
    top_p: Optional[float]
    min_p: Optional[float]
    typical_p: Optional[float]
    top_n_sigma: Optional[float]
    xtc_probability: Optional[float]
    xtc_threshold: Optional[float]
    dynatemp_range: Optional[float]
    dynatemp_exponent: Optional[float]
    mirostat: Optional[int]
    mirostat_tau: Optional[float]
    mirostat_eta: Optional[float]
    dry_multiplier: Optional[float]
    dry_base: Optional[float]
    dry_allowed_length: Optional[int]
    dry_penalty_last_n: Optional[int]
    samplers: Union[str, Sequence[str], None]
    repeat_penalty: Optional[float]
    repeat_last_n: Optional[int]
    frequency_penalty: Optional[float]
    presence_penalty: Optional[float]
    seed: Optional[int]
    logit_bias: Mapping[int, float]


class Options(SamplerOptions, total=False):
    """The keyword arguments of every generation. Sampling parameters are by default as the model recommends.

    samplers: the ones to use, in this order, of "penalties", "dry", "top_n_sigma", "temperature", "top_k", "typ_p",
    "top_p", "min_p" and "xtc". dry_sequence_breakers: texts at which DRY starts anew.

    max_tokens: by default until a stop or the end of the context; 0: none. seed: 64 bits; random by default; the same
    seed gives the same answer. stop: strings that end the text and are not part of it; stop_tokens: ids that end it.
    ignore_eos: the model's own end tokens do not end it. logprobs: True for each token's log-probability, N for those
    of the N likeliest tokens too. logit_bias: added to the logit of a token id; -inf: it is never chosen.

    schema: a JSON Schema, as a dict or its text, or a class of pydantic, 1 or 2, or one with its methods: the answer is
    such a document, Generation.parsed. format: the same, or "json" for any JSON object. relaxed_schema: ignores parts
    of the schema that a grammar cannot express instead of refusing them; by default if a class checks the answer
    itself. grammar: the answer is a sentence of this GBNF.

    timeout: seconds until the request is ended with DeadlineError. priority: smaller ones run first. tenant: requests
    of one tenant share its turn. cache_salt: only requests with the same one share cached prefixes.

    lora: the name of one of Model.load's loras; lora_scale: its scale, by default its own.
    """

    max_tokens: Optional[int]
    dry_sequence_breakers: Optional[Sequence[str]]
    stop: Union[str, Sequence[str], None]
    stop_tokens: Sequence[int]
    ignore_eos: bool
    logprobs: Union[bool, int]
    schema: Any
    format: Any
    relaxed_schema: Optional[bool]
    grammar: Optional[str]
    timeout: Optional[float]
    priority: int
    tenant: int
    cache_salt: int
    lora: Optional[str]
    lora_scale: Optional[float]


class ChatOptions(Options, total=False):
    """Additional keyword arguments of chats.

    system: a system message before the conversation, which must not have one.

    tools: Python functions, described by their type hints and docstrings, or dicts in the format of OpenAI's API.
    tool_choice: "auto", "none", "required" or a tool's name.
    parallel_tool_calls: False: a required call is only one. template_variables: further variables of the model's chat
    template.

    reasoning: False: a model that reasons answers at once. reasoning_effort: "none", "minimal", "low", "medium",
    "high", "xhigh" or "max". reasoning_budget: tokens after which the reasoning is ended and the answer begins.
    """

    system: Optional[str]
    tools: Optional[Sequence[Tool]]
    tool_choice: Optional[str]
    parallel_tool_calls: bool
    template_variables: Mapping[str, Any]
    reasoning: Optional[bool]
    reasoning_effort: Optional[str]
    reasoning_budget: Optional[int]


def text_bytes(text: str, name: str) -> bytes:
    """The text for C. Raises ValueError if it contains a NUL, at which C would end it."""
    if "\0" in text:
        raise ValueError(f"{name}: a text must not hold the character NUL")
    return text.encode("utf-8")


def path_bytes(path: Union[str, "os.PathLike[str]"], name: str) -> bytes:
    """The path for C. Raises ValueError if it contains a NUL."""
    own = os.fsencode(path)
    if b"\0" in own:
        raise ValueError(f"{name}: a path must not hold the character NUL")
    return own


def check_names(options: Mapping[str, Any], kind: Any) -> None:
    for name in options:
        if kind is Options and name in ChatOptions.__annotations__ and name not in kind.__annotations__:
            raise TypeError(f"{name!r} is an option of chats: Model.chat takes it")
        if name not in kind.__annotations__:
            raise TypeError(f"unknown option {name!r}; known are {', '.join(sorted(kind.__annotations__))}")


class Schema:
    """A schema= in one of its forms: its JSON, and the parser of the answer."""

    def __init__(self, schema: Any) -> None:
        self.parse: Callable[[str], Any] = json.loads
        self.checks_itself = True
        if hasattr(schema, "model_json_schema") and hasattr(schema, "model_validate_json"):
            self.json = json.dumps(schema.model_json_schema())
            self.parse = schema.model_validate_json
        elif hasattr(schema, "json_schema") and hasattr(schema, "validate_json"):  # pydantic's TypeAdapter
            self.json = json.dumps(schema.json_schema())
            self.parse = schema.validate_json
        elif hasattr(schema, "schema_json") and hasattr(schema, "parse_raw"):  # pydantic 1
            self.json = schema.schema_json()
            self.parse = schema.parse_raw
        else:
            self.checks_itself = False
            self.json = schema if isinstance(schema, str) else json.dumps(schema)


def asked_schema(options: Mapping[str, Any]) -> Optional[Schema]:
    """The form of schema= or format=. Raises ValueError if both are given."""
    schema, form = options.get("schema"), options.get("format")
    if schema is not None and form is not None:
        raise ValueError("schema and format are two names of one option: give one of them")
    if form == "json":
        schema = {"type": "object"}
    elif form is not None:
        schema = form
    return None if schema is None else Schema(schema)


def _array(kind: Any, values: Sequence[Any]) -> Any:
    return (kind * len(values))(*values)


def id_array(ids: Sequence[int]) -> Any:
    for token_id in ids:
        if not 0 <= token_id < 2**31:
            raise ValueError(f"token ids: expected 0 to {2**31 - 1}, actual {token_id}")
    return _array(ctypes.c_int32, ids)


def _count(options: Mapping[str, Any], name: str, least: int = 0, most: int = 2**32 - 1) -> int:
    """0 if the option is not given."""
    value = options.get(name)
    if value is None:
        return 0
    if not least <= value <= most:
        raise ValueError(f"{name}: expected {least} to {most}, actual {value}")
    return int(value)


def _parameters(options: Mapping[str, Any]) -> Any:
    values = {name: float(options[name]) for name in SAMPLING if options.get(name) is not None}
    return _array(c.rz_parameter, [(name.encode(), value) for name, value in values.items()])


def _seed(options: Mapping[str, Any]) -> int:
    return secrets.randbelow(2**64) if options.get("seed") is None else _count(options, "seed", most=2**64 - 1)


def _add_bias(to: Any, options: Mapping[str, Any]) -> None:
    bias = list((options.get("logit_bias") or {}).items())
    to.logit_bias, to.n_logit_bias = _array(c.rz_logit_bias, [(int(i), b) for i, b in bias]), len(bias)


def _add_chain(request: Any, options: Mapping[str, Any]) -> None:
    samplers, breakers = options.get("samplers"), options.get("dry_sequence_breakers")
    if samplers is None and breakers is None:
        return
    chain = c.new_struct(c.rz_sampler_chain)
    if samplers is not None:
        chain.samplers = text_bytes(samplers if isinstance(samplers, str) else ";".join(samplers), "samplers")
    if breakers is not None:
        texts = [text_bytes(text, "dry_sequence_breakers") for text in breakers]
        chain.dry_breakers, chain.n_dry_breakers = (ctypes.c_char_p * max(1, len(texts)))(*texts), len(texts)
    request.chain = ctypes.pointer(chain)


def _timeout_ms(timeout: Optional[float]) -> int:
    if timeout is None:
        return 0
    if not timeout > 0:
        raise ValueError(f"timeout: expected more than 0 seconds, actual {timeout}")
    return min(max(1, math.ceil(timeout * 1000)), 2**32 - 1)


def pooled_request(ids: Sequence[int], pooling: int, timeout: Optional[float]) -> c.rz_request:
    """For a vector, or for a reranker's score of a pair."""
    request = c.new_struct(c.rz_request)
    request.ids, request.n_ids = id_array(ids), len(ids)
    request.pooling = pooling
    request.timeout_ms = _timeout_ms(timeout)
    return request


def text_request(ids: Sequence[int], options: Mapping[str, Any], schema: Optional[Schema]) -> c.rz_request:
    """Options are given by name; add_tools adds a chat's tools. The struct keeps what it points to alive."""
    request = c.new_struct(c.rz_request)
    request.ids, request.n_ids = id_array(ids), len(ids)
    parameters = _parameters(options)
    request.parameters, request.n_parameters = parameters, len(parameters)
    _add_chain(request, options)
    request.max_tokens = _count(options, "max_tokens")
    request.has_max_tokens = options.get("max_tokens") is not None
    request.has_seed, request.seed = 1, _seed(options)
    stop = options.get("stop") or ()
    stop_bytes = [text_bytes(text, "stop") for text in ([stop] if isinstance(stop, str) else stop)]
    request.stop, request.n_stop = _array(ctypes.c_char_p, stop_bytes), len(stop_bytes)
    stop_tokens = id_array(list(options.get("stop_tokens") or ()))
    request.stop_tokens, request.n_stop_tokens = stop_tokens, len(stop_tokens)
    request.ignore_eos = bool(options.get("ignore_eos"))
    logprobs = options.get("logprobs", False)
    request.logprobs = logprobs is not False and logprobs is not None
    request.n_logprobs = 0 if isinstance(logprobs, bool) else _count(options, "logprobs")
    _add_bias(request, options)
    if schema is not None:
        request.json_schema = text_bytes(schema.json, "schema")
        relaxed = options.get("relaxed_schema")
        request.relaxed_schema = schema.checks_itself if relaxed is None else relaxed
    if options.get("grammar") is not None:
        request.gbnf = text_bytes(options["grammar"], "grammar")
    request.timeout_ms = _timeout_ms(options.get("timeout"))
    request.priority = int(options.get("priority") or 0)
    request.tenant = _count(options, "tenant", most=2**64 - 1)
    request.cache_salt = _count(options, "cache_salt", most=2**64 - 1)
    if options.get("lora") is not None:
        request.lora = text_bytes(options["lora"], "lora")
        request.lora_scale = float(options.get("lora_scale") or 0)
    return request


def respond_options(name: str, beside: Mapping[str, Any]) -> c.rz_respond_options:
    """The options for a body of OpenAI's API."""
    options = c.new_struct(c.rz_respond_options)
    options.model_name = text_bytes(name, "model_name")
    options.tenant = _count(beside, "tenant", most=2**64 - 1)
    options.timeout_ms = _timeout_ms(beside.get("timeout"))
    if beside.get("lora") is not None:
        options.lora = text_bytes(beside["lora"], "lora")
        options.lora_scale = float(beside.get("lora_scale") or 0)
    return options


def sampler_options(n_vocab: int, options: Mapping[str, Any]) -> c.rz_sampler_options:
    to = c.new_struct(c.rz_sampler_options)
    to.n_vocab = _count({"n_vocab": n_vocab}, "n_vocab", least=1)
    parameters = _parameters(options)
    to.parameters, to.n_parameters = parameters, len(parameters)
    _add_bias(to, options)
    _add_chain(to, options)
    to.has_seed, to.seed = 1, _count(options, "seed", most=2**64 - 1)
    return to


def asked_reasoning(options: Mapping[str, Any]) -> Optional[c.rz_reasoning]:
    """None: the options do not mention it."""
    names = ("reasoning", "reasoning_effort", "reasoning_budget")
    if all(options.get(name) is None for name in names):
        return None
    asked = c.new_struct(c.rz_reasoning)
    if options.get("reasoning") is not None:
        asked.enabled = 1 if options["reasoning"] else -1
    if options.get("reasoning_effort") is not None:
        asked.effort = text_bytes(options["reasoning_effort"], "reasoning_effort")
    asked.budget = _count(options, "reasoning_budget", most=2**31 - 1)
    if options.get("reasoning_budget") == 0:
        asked.enabled = -1
    return asked


def offered_tools(options: Mapping[str, Any]) -> List[Dict[str, Any]]:
    """The tools that the model sees. Raises TypeError for anything that is not a tool."""
    tools = read_tools(options.get("tools"))
    return [] if options.get("tool_choice") == "none" else tools


def _named(tools: List[Dict[str, Any]], name: str) -> List[Dict[str, Any]]:
    chosen = [tool for tool in tools if (tool.get("function") or {}).get("name") == name]
    if not chosen:
        raise ValueError(f"tool_choice: expected auto, none, required or a tool's name, actual {name!r}")
    return chosen


def add_tools(request: c.rz_request, tools: List[Dict[str, Any]], options: Mapping[str, Any]) -> None:
    """Reports reasoning and calls separately from the content, and requires calls if the options do."""
    request.split_reasoning = 1
    choice = options.get("tool_choice") or "auto"
    if not tools and choice in ("auto", "none"):
        return
    if choice != "auto":
        one = choice != "required" or not options.get("parallel_tool_calls", True)
        request.must_call = c.CALL_ONE if one else c.CALL_SOME
        tools = tools if choice == "required" else _named(tools, choice)
    request.tools_json = text_bytes(json.dumps(tools), "tools")
