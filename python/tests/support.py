"""Shared parts of the tests. REALIZAR_PROGRAM names the built program, whose answers the tests compare with."""
import contextlib
import json
import os
import pathlib
import queue
import subprocess
import unittest.mock

import realizar
from realizar import _requests

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = ROOT / "models/realizar-tiny/realizar-tiny-Q8_0.gguf"
PROGRAM = os.environ.get("REALIZAR_PROGRAM", str(ROOT / "build/release/bin/realizar"))
PARIS = "What is the capital of France?"
ANSWER = "The capital of France is Paris."
# A request that takes seconds, on a model loaded this way: it continues to the end of the context.
SLOW = {"backend": "reference", "max_batch_tokens": 32}
ENDLESS = {"temperature": 0, "ignore_eos": True}
WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a city",
        "parameters": {"type": "object", "properties": {"city": {"enum": ["Paris", "Rome"]}}, "required": ["city"]},
    },
}
DEADLINE_S = 300  # ends hanging tests; nothing else depends on it


def load(**options):
    return realizar.Model.load(MODEL, **{"backend": "cpu", "n_threads": 2, **options})


def program(*arguments, text=None):
    """The program's output."""
    done = subprocess.run([PROGRAM, *arguments], input=text, capture_output=True, text=True, timeout=DEADLINE_S)
    assert done.returncode == 0, done.stderr
    return done.stdout


def program_ids(*arguments):
    events = [json.loads(line) for line in program("run", "--json", *arguments, text="").splitlines()]
    return [event["id"] for event in events if event["type"] == "token"]


@contextlib.contextmanager
def recorded_ends():
    """A queue of the outcomes of all requests in the engine's order, whoever waits for them."""
    ends = queue.Queue()
    real = _requests.Request._outcome

    def record(self, text, result):
        outcome = real(self, text, result)
        ends.put(outcome)
        return outcome

    with unittest.mock.patch.object(_requests.Request, "_outcome", record):
        yield ends


def assert_was_stopped(test, outcome, kind=realizar.CancelledError):
    """The engine has ended the request before the context was full."""
    test.assertIsInstance(outcome, kind)
    test.assertLess(outcome.generation.n_prompt + outcome.generation.n_generated, 1000)
