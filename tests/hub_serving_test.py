#!/usr/bin/env python3
"""A server of models by their names: the store, what is fetched first. Usage: hub_serving_test.py REALIZAR."""
import contextlib
import http.client
import json
import pathlib
import sys
import unittest

import hub_test
from hub_test import ANSWER, DEADLINE_S, NAME, QUESTION

class Serving(hub_test.Case):
    def serve(self, *args):
        process = self.start("serve", "--port", "0", "--ctx", "512", "--mirror", self.hub.url, *args)
        line = process.stdout.readline()
        self.assertIn("realizar listens", line, process.stderr.read() if not line else "")
        self.port = int(line.split(",")[0].rsplit(":", 1)[1])
        self.until(lambda: self.ask("GET", "/readyz")[0] == 200, "the model")
        return process

    def ask(self, method, path, body=None):
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_S)) as connection:
            connection.request(method, path, None if body is None else json.dumps(body))
            reply = connection.getresponse()
            return reply.status, reply.read().decode()

    def served(self):
        return [model["id"] for model in json.loads(self.ask("GET", "/v1/models")[1])["data"]]

    def tags(self):
        return [model["name"] for model in json.loads(self.ask("GET", "/api/tags")[1])["models"]]

    def answer(self, model):
        status, body = self.ask("POST", "/v1/chat/completions", {
            "model": model, "temperature": 0, "messages": [{"role": "user", "content": QUESTION}]})
        return json.loads(body)["choices"][0]["message"]["content"] + "\n" if status == 200 else body

    def test_an_empty_store_leaves_the_bundled_model(self):
        self.serve()
        self.assertEqual(self.served(), ["realizar-tiny"])

    def test_without_a_model_the_store_is_served(self):
        self.add_tiny()
        self.pulls(NAME)
        self.assertEqual(self.run_it("cp", NAME, "mine")[0], 0)
        self.serve("--strict-model-names")
        self.assertEqual(sorted(self.served()), [NAME, "mine"])
        self.assertEqual(self.answer("mine"), ANSWER)
        self.assertEqual(self.answer(NAME), ANSWER)
        self.assertEqual(sorted(self.tags()), [NAME, "mine:latest"])

    def test_a_name_is_served_and_fetched_first(self):
        self.add_tiny()
        code, _, stderr = self.run_it("serve", "--port", "0", NAME)
        self.assertEqual(code, 1)
        self.assertIn(f"realizar pull {NAME}", stderr)
        self.serve("--pull", NAME)
        self.assertEqual(self.served(), [NAME])
        self.assertEqual(self.answer(NAME), ANSWER)


if __name__ == "__main__":
    hub_test.REALIZAR = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
