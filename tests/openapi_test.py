#!/usr/bin/env python3
"""docs/openapi.json against the running server and the source: every route and field is described, and every example
gets the described answer. Usage: openapi_test.py REALIZAR."""
import json
import re
import unittest

from bundled import ROOT
from program import REALIZAR
from served import Served

API = json.loads((ROOT / "docs/openapi.json").read_text())

# Values that differ from answer to answer, or depend on earlier requests: only their types are compared.
VARYING = {"id", "first_id", "last_id", "call_id", "created", "created_at", "completed_at", "system_fingerprint", "cached_tokens",
           "request_id", "total_duration", "load_duration", "prompt_eval_duration", "eval_duration"}


def operations():
    """(path, method, operation) of each."""
    for path, methods in API["paths"].items():
        for method, operation in methods.items():
            yield path, method.upper(), operation


def every_dict(node):
    if isinstance(node, dict):
        yield node
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else []:
        yield from every_dict(child)


def resolve(reference):
    node = API
    for part in reference.removeprefix("#/").split("/"):
        node = node[part.replace("~1", "/").replace("~0", "~")]
    return node


def media_of(body):
    return body.get("content", {}).get("application/json", {})


def expected_answer(operation, name):
    """(status, body) of the response's example of that name."""
    for status, response in operation["responses"].items():
        examples = media_of(response).get("examples", {})
        if name in examples:
            return int(status), examples[name]["value"]
    return None


def difference(expected, actual, where="", key=""):
    """A description of where an answer differs from its example; "" if it does not."""
    if type(expected) is not type(actual):
        return f"{where}: expected {expected!r}, actual {actual!r}"
    if isinstance(expected, dict):
        if expected.keys() != actual.keys():
            return f"{where}: fields that only one has: {sorted(expected.keys() ^ actual.keys())}"
        pairs = ((f"{where}.{name}", name, expected[name], actual[name]) for name in expected)
    elif isinstance(expected, list):
        if len(expected) != len(actual):
            return f"{where}: expected {len(expected)} items, actual {len(actual)}"
        pairs = ((f"{where}[{i}]", key, *both) for i, both in enumerate(zip(expected, actual)))
    else:
        # Kernels differ in a vector's last digits.
        varies = key in VARYING or key == "embedding"
        return "" if varies or expected == actual else f"{where}: expected {expected!r}, actual {actual!r}"
    return next(filter(None, (difference(e, a, place, name) for place, name, e, a in pairs)), "")


class Document(unittest.TestCase):
    def test_every_reference_leads_somewhere(self):
        for node in every_dict(API):
            if "$ref" in node:
                self.assertIsInstance(resolve(node["$ref"]), dict)

    def test_every_schema_is_used_and_knows_what_it_requires(self):
        used = {node["$ref"] for node in every_dict(API) if "$ref" in node}
        for name, schema in API["components"]["schemas"].items():
            self.assertIn(f"#/components/schemas/{name}", used)
            self.assertLessEqual(set(schema.get("required", [])), set(schema["properties"]), name)

    def test_operations_have_ids_of_their_own_and_describe_their_answers(self):
        ids = [operation["operationId"] for _, _, operation in operations()]
        self.assertEqual(len(ids), len(set(ids)))
        for path, method, operation in operations():
            self.assertTrue(all(response["description"] for response in operation["responses"].values()), path)
            named = {parameter["name"] for parameter in operation.get("parameters", []) if parameter["in"] == "path"}
            self.assertEqual(named, set(re.findall(r"\{(\w+)\}", path)), f"{method} {path}")

    def test_every_route_of_the_source_is_described(self):
        source = (ROOT / "src/server/routes/routes.cpp").read_text()
        routes = set(re.findall(r'^ +\{"([A-Z]+)", "(/[^"]*)", \w+', source, re.MULTILINE))
        described = {(method, path) for path, method, _ in operations()}
        self.assertGreater(len(routes), 10)
        self.assertEqual(routes, described)

    def test_every_field_that_the_source_reads_is_described(self):
        described = {name for node in every_dict(API["components"]["schemas"]) for name in node.get("properties", {})}
        read = set()
        for file in (ROOT / "src/server").rglob("*.cpp"):
            if not file.stem.endswith("_test"):
                read |= set(re.findall(r'(?:ields?|body)\.(?:any|array|boolean|integer|number|object|text)\("(\w+)"', file.read_text()))
        parameters = (ROOT / "src/sampling/parameters.h").read_text()
        read |= set(re.findall(r'\.(?:name|other_field) = "(\w+)"', parameters))
        self.assertGreater(len(read), 30)
        self.assertEqual(sorted(read - described), [])

    def test_every_field_of_a_request_is_in_the_reference(self):
        page = (ROOT / "docs/api.md").read_text()
        for name, schema in API["components"]["schemas"].items():
            if name.endswith("Request"):
                for field in schema["properties"]:
                    self.assertIn(f"`{field}`", page, f"docs/api.md does not name this field of {name}")

    def test_every_code_of_an_error_is_in_the_reference(self):
        page = (ROOT / "docs/api.md").read_text()
        source = "".join(file.read_text() for file in (ROOT / "src/server").rglob("*.cpp") if not file.stem.endswith("_test"))
        codes = set(re.findall(r'\{[45]\d\d,[^;{}]*?"([a-z_]+)"\s*\}', source))
        self.assertGreater(len(codes), 8)
        self.assertEqual([code for code in sorted(codes) if f"`{code}`" not in page], [])

    def test_every_path_is_in_the_reference(self):
        page = (ROOT / "docs/api.md").read_text()
        for path, method, _ in operations():
            self.assertIn(f"`{method} {path}`", page)


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(Served(REALIZAR))

    def test_every_post_is_answered_as_it_says(self):
        for path, method, operation in operations():
            if method != "POST" or "{" in path:
                continue
            examples = media_of(operation["requestBody"])["examples"]
            self.assertTrue(examples, path)
            for name, example in examples.items():
                with self.subTest(path=path, example=name):
                    self.assertIsNotNone(expected_answer(operation, name), "no answer has an example of that name")
                    status, _, body = self.server.ask("POST", path, example["value"])
                    self.check(operation, name, status, body)

    def test_every_get_is_answered_with_its_type(self):
        for path, method, operation in operations():
            is_endless = "text/event-stream" in operation["responses"].get("200", {}).get("content", {})
            if method == "GET" and "{" not in path and not is_endless:
                with self.subTest(path=path):
                    status, headers, _ = self.server.ask("GET", path)
                    self.assertEqual(status, 200)
                    self.assertIn(headers.get_content_type(), operation["responses"]["200"]["content"])

    def test_paths_with_a_parameter_are_answered_by_their_examples(self):
        for path, method, operation in operations():
            for parameter in operation.get("parameters", []):
                if parameter["in"] != "path":
                    continue
                for name, example in parameter["examples"].items():
                    with self.subTest(path=path, example=name):
                        value = self.stored_response() if name == "stored" else example["value"]
                        status, _, body = self.server.ask(method, path.replace(f"{{{parameter['name']}}}", value))
                        self.check(operation, name, status, body)

    def stored_response(self):
        """The value of an id whose example is "stored"."""
        capital = media_of(API["paths"]["/v1/responses"]["post"]["requestBody"])["examples"]["capital"]["value"]
        return json.loads(self.server.ask("POST", "/v1/responses", capital)[2])["id"]

    def check(self, operation, name, status, body):
        expected = expected_answer(operation, name)
        if expected is None:
            self.assertEqual(status, 200, body)
        else:
            self.assertEqual(status, expected[0], body)
            self.assertEqual(difference(expected[1], json.loads(body)), "")


if __name__ == "__main__":
    unittest.main(verbosity=2)
