#!/usr/bin/env python3
"""Random documents allowed by the masks of a schema must satisfy it, according to python3-jsonschema.
Usage: grammar_oracle.py GRAMMAR_SAMPLES [N_PER_SCHEMA]   (exit status 77, a skip, without jsonschema)"""
import collections
import datetime
import json
import re
import subprocess
import sys

try:
    import jsonschema
except ImportError:
    print("skipped: python3-jsonschema is not installed")
    sys.exit(77)

NODE = {"type": "object", "properties": {"v": {"type": "integer"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/node"}, "maxItems": 2}},
        "required": ["v"], "additionalProperties": False}
SCHEMAS = [
    {"type": "object"}, {"type": "array"}, True, {"type": "string"}, {"type": "number"}, {"type": "integer"}, {"type": ["null", "boolean", "integer"]},
    {"type": "string", "minLength": 3, "maxLength": 5}, {"type": "string", "minLength": 1, "maxLength": 120}, {"type": "string", "pattern": "^[A-Z]{2}-\\d{3,5}(\\.x)*$"},
    {"type": "string", "pattern": "b+c|^q"}, {"type": "string", "pattern": "^[^\"\\\\a-z]{1,4}$"}, {"type": "string", "pattern": "^[a-f0-9]+$", "minLength": 2, "maxLength": 8},
    *({"type": "string", "format": f} for f in ["date", "time", "date-time", "email", "uuid", "ipv4", "ipv6", "uri", "hostname"]),
    {"type": "integer", "minimum": -17, "maximum": 1234}, {"type": "integer", "exclusiveMinimum": 99}, {"type": "integer", "maximum": -1000},
    {"type": "number", "minimum": -0.25, "maximum": 3.125}, {"type": "number", "exclusiveMinimum": 1.5, "exclusiveMaximum": 1.75}, {"type": "number", "minimum": 12.5},
    {"type": "number", "maximum": -0.001}, {"minimum": 3, "minLength": 2, "maxItems": 1, "required": ["a"]},
    {"type": "object", "properties": {"name": {"type": "string"}, "na": {"type": "integer"}, "x\"y\\z": {"type": "null"}}, "required": ["na"]},
    {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "boolean"}, "c": {"type": "null"}}, "additionalProperties": False},
    {"type": "object", "properties": {"a": {"type": "integer"}, "ab": {"type": "integer"}}, "additionalProperties": {"type": "string"}, "required": ["ab", "zz"]},
    {"type": "object", "additionalProperties": {"type": "number"}, "minProperties": 1, "maxProperties": 3},
    {"type": "object", "patternProperties": {"^k[0-9]": {"type": "boolean"}}, "additionalProperties": False},
    {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 4}, {"type": "array", "items": {"enum": ["a", {"b": [1, None]}, 2.5]}, "minItems": 1},
    {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "items": {"type": "null"}, "minItems": 1, "maxItems": 5},
    {"anyOf": [{"type": "integer"}, {"type": "string", "maxLength": 3}, {"type": "array", "items": {"type": "boolean"}}]},
    {"oneOf": [{"type": "object", "properties": {"kind": {"const": "a"}, "x": {"type": "integer"}}, "required": ["kind", "x"], "additionalProperties": False},
               {"type": "object", "properties": {"kind": {"const": "b"}, "y": {"type": "string"}}, "required": ["kind"], "additionalProperties": False}]},
    {"allOf": [{"type": "object", "properties": {"a": {"type": "integer", "minimum": 2}}, "required": ["a"]}, {"properties": {"a": {"maximum": 7}, "b": {"type": "null"}}}]},
    {"type": "integer", "minimum": 0, "anyOf": [{"maximum": 3}, {"minimum": 40, "maximum": 45}]}, {"type": "string", "enum": ["red", "green", "bl\"ue", "caf\u00e9"]},
    {"$ref": "#/$defs/node", "$defs": {"node": NODE}}, {"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}, "required": ["next"], "additionalProperties": False},
    {"$ref": "#/$defs/node", "required": ["kids"], "$defs": {"node": NODE}},
    {"type": "object", "properties": {"a": {"type": "null"}, "xa": {"minimum": 1}}, "patternProperties": {"^x": {"type": "integer"}, "b$": {"minimum": 5}},
     "additionalProperties": {"type": "boolean"}, "required": ["xc"]},
    {"allOf": [{"type": "object", "properties": {"a.b": {}}, "additionalProperties": {"type": "integer"}}, {"patternProperties": {"^a": {"maximum": 5}}}]},
    {"type": "object", "properties": {k: {"type": "integer"} for k in "abcd"}, "minProperties": 2, "maxProperties": 3, "required": ["c"]},
    {"type": "object", "properties": {"a": {}, "b": {}}, "minProperties": 3}, {"type": "array", "contains": {"type": "null"}, "maxItems": 4},
    {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 3}, "contains": {"minimum": 2}, "minContains": 2, "maxContains": 3, "minItems": 3},
    {"type": "object", "properties": {"a": {"type": "null"}, "b": {}, "c": {}}, "oneOf": [{"required": ["a"]}, {"required": ["b", "c"]}, {"required": ["d"]}]},
    {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"type": "string", "format": "uri", "minLength": 1, "maxLength": 2083},
    {"type": "string", "format": "email", "maxLength": 254}, {"enum": [{"a": 1}, {"a": "s"}, [1], [2]], "properties": {"a": {"type": "integer"}}, "items": {"minimum": 2}},
]


def checker():
    """The formats that jsonschema checks without further packages, and times by Python's datetime."""
    out = jsonschema.FormatChecker(["date", "email", "ipv4", "ipv6", "uuid"])
    out.checks("time", ValueError)(lambda text: datetime.time.fromisoformat(padded(text)) is not None)
    out.checks("date-time", ValueError)(lambda text: datetime.datetime.fromisoformat(padded(text)) is not None)
    return out


def padded(text):
    """Python 3.11 reads three or six digits of a second, capitals, and no leap seconds."""
    text = re.sub(r"\.(\d+)", lambda m: "." + (m[1] + "000000")[:6], text.upper()).replace("Z", "+00:00")
    return text.replace(":60", ":59")


def main():
    n_each = sys.argv[2] if len(sys.argv) > 2 else "40"
    lines = "".join(json.dumps(s) + "\n" for s in SCHEMAS)
    out = subprocess.run([sys.argv[1], "7", n_each], input=lines.encode(), stdout=subprocess.PIPE, check=True).stdout.decode()
    n_bad, seen, formats = 0, collections.Counter(), checker()
    for line in out.split("\n")[:-1]:
        index, text = line.split("\t", 1)
        schema = SCHEMAS[int(index)]
        seen[int(index)] += 1
        try:
            validator = jsonschema.Draft202012Validator(schema, format_checker=formats)
            error = next(validator.iter_errors(json.loads(text)), None)
        except ValueError as broken:
            error = broken
        if error is not None:
            n_bad += 1
            print(f"{json.dumps(schema)}\n  allows {text}\n  {str(error).splitlines()[0]}")
    for index in set(range(len(SCHEMAS))) - set(seen):
        n_bad += 1
        print(f"no document of {json.dumps(SCHEMAS[index])} came to its end")
    print(f"{sum(seen.values())} documents of {len(SCHEMAS)} schemas, {n_bad} wrong")
    return 1 if n_bad else 0


if __name__ == "__main__":
    sys.exit(main())
