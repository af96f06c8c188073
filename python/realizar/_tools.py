"""Tools that a model may call: descriptions in the format of OpenAI's API, or Python functions, which are converted to
them."""
from __future__ import annotations

import collections.abc
import inspect
import json
import re
import types
import typing
from typing import Annotated, Any, Callable, Dict, List, Literal, Mapping, Sequence, Tuple, Union

# {"type": "function", "function": {...}}, or a function with a signature, type hints and docstring to the same effect.
Tool = Union[Mapping[str, Any], Callable[..., Any]]

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
# `X | Y` is a class of its own from Python 3.10 on.
_UNIONS = (Union, getattr(types, "UnionType", Union))
_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
_LISTS = (list, collections.abc.Sequence, collections.abc.Iterable, collections.abc.Collection)
_DICTS = (dict, collections.abc.Mapping)
_KNOWN = "str, int, float, bool, None, Literal, list, dict with keys of str, Optional, Union and Any"
# "city (str): The city" below "Args:", and ":param city: The city".
_GOOGLE_HEAD = re.compile(r"^(\s*)(Args|Arguments|Parameters):\s*$")
_GOOGLE_LINE = re.compile(r"^(\w+)\s*(?:\([^)]*\))?:\s*(.*)$")
_FIELD_LINE = re.compile(r"^\s*:param\s+(?:[^:]*\s)?(\w+):\s*(.*)$")
_SECTION = re.compile(r"^\s*(\w+:\s*$|:\w+)")


def read_tools(tools: Any) -> List[Dict[str, Any]]:
    """Raises TypeError naming anything that is neither a description nor a function that has one."""
    if tools is None:
        return []
    if callable(tools) or isinstance(tools, (str, Mapping)):
        raise TypeError(f"tools: expected a list of tools, actual {type(tools).__name__}")
    return [_read_tool(tool, f"tools[{i}]") for i, tool in enumerate(tools)]


def _read_tool(tool: Any, place: str) -> Dict[str, Any]:
    if isinstance(tool, Mapping):
        return dict(tool)
    if hasattr(tool, "model_dump") and not isinstance(tool, type):
        return dict(tool.model_dump())
    if not inspect.isroutine(tool):
        raise TypeError(f"{place}: expected a function or its description as a dict, actual {type(tool).__name__}")
    return _described(tool, place)


def _described(function: Callable[..., Any], place: str) -> Dict[str, Any]:
    name = function.__name__
    if not _NAME.fullmatch(name):
        raise TypeError(f"{place}: {name} is not a tool's name, which has 1 to 64 letters, digits, '_' and '-'")
    place = f"{place}, {name}"
    try:
        signature = inspect.signature(function)
        hints = typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError, ValueError) as error:
        raise TypeError(f"{place}: its signature cannot be read: {error}") from None
    about, of_parameters = _read_docstring(inspect.getdoc(function) or "")
    properties: Dict[str, Any] = {}
    required = []
    for parameter in signature.parameters.values():
        properties[parameter.name] = _property(parameter, hints, of_parameters, f"{place}, {parameter.name}")
        if parameter.default is parameter.empty:
            required.append(parameter.name)
    parameters = {"type": "object", "properties": properties, "required": required}
    described = {"name": name, "description": about, "parameters": parameters}
    return {"type": "function", "function": described}


def _property(
    parameter: inspect.Parameter, hints: Mapping[str, Any], descriptions: Mapping[str, str], place: str
) -> Dict[str, Any]:
    if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
        raise TypeError(f"{place}: a model gives arguments by name, and this parameter takes none by name")
    if parameter.name not in hints:
        raise TypeError(f"{place}: the parameter has no type hint, such as {parameter.name}: str")
    made = _schema(hints[parameter.name], place)
    if parameter.name in descriptions:
        made["description"] = descriptions[parameter.name]
    if parameter.default is not parameter.empty and parameter.default is not None:
        made["default"] = parameter.default
        try:
            json.dumps(parameter.default)
        except (TypeError, ValueError):
            raise TypeError(f"{place}: its default is not a JSON value: {parameter.default!r}") from None
    return made


def _schema(hint: Any, place: str) -> Dict[str, Any]:
    """The JSON Schema of a type hint, if JSON's values are the function's."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    kind = origin or hint
    if kind is Annotated:
        return _annotated(arguments, place)
    if kind is Literal and all(type(value) in _PLAIN for value in arguments):
        return {"enum": list(arguments)}
    if hint is Any:
        return {}
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    if kind in _UNIONS:
        return _union([_schema(one, place) for one in arguments])
    if kind in _LISTS and len(arguments) < 2:
        return {"type": "array", "items": _schema(arguments[0], place)} if arguments else {"type": "array"}
    if kind in _DICTS and arguments[:1] in ((), (str,)):
        values = {"additionalProperties": _schema(arguments[1], place)} if arguments else {}
        return {"type": "object", **values}
    raise TypeError(f"{place}: its type is {_spelt(hint)}; those that can be described are {_KNOWN}")


def _annotated(arguments: Sequence[Any], place: str) -> Dict[str, Any]:
    made = _schema(arguments[0], place)
    for text in arguments[1:]:
        if isinstance(text, str):
            made["description"] = text
    return made


def _union(members: List[Dict[str, Any]]) -> Dict[str, Any]:
    if all(list(member) == ["type"] for member in members):
        return {"type": [member["type"] for member in members]}
    return {"anyOf": members}


def _spelt(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) else str(hint)


def _read_docstring(text: str) -> Tuple[str, Dict[str, str]]:
    """A function's description, and those of its parameters, in Google's or Sphinx's format."""
    lines = text.splitlines()
    ends = [i for i, line in enumerate(lines) if _SECTION.match(line)]
    about = "\n".join(lines[: ends[0]] if ends else lines).strip()
    described: Dict[str, str] = {}
    name, depth, is_listed = "", 0, False
    for line in lines[ends[0] if ends else len(lines) :]:
        head, field = _GOOGLE_HEAD.match(line), _FIELD_LINE.match(line)
        indent = len(line) - len(line.lstrip())
        item = _GOOGLE_LINE.match(line.strip()) if is_listed and indent <= depth else None
        if head:
            name, depth, is_listed = "", 10**6, True
        elif field:
            name, described[field[1]], is_listed = field[1], field[2], False
        elif item and indent > 0:
            name, described[item[1]], depth = item[1], item[2], indent
        elif _SECTION.match(line):
            name, is_listed = "", False
        elif name and line.strip():  # a continuation of the previous line
            described[name] = f"{described[name]} {line.strip()}".strip()
    return about, described
