#!/usr/bin/env python3
"""The time of one key's request for one token while another key is greedy, for each kind of greed: many requests, long
ones, costly grammars, large answers, endless embeddings, uploads that never end, bodies, and connections that ask for
the server's state. Each kind has its own server with the bundled model and two keys. Run nothing else at the same time.
Usage: greedy.py REALIZAR [KIND ...] [--seconds 10]"""
import argparse
import collections
import contextlib
import http.client
import itertools
import json
import multiprocessing
import pathlib
import re
import socket
import subprocess
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = str(ROOT / "models/realizar-tiny/realizar-tiny-Q8_0.gguf")
DEADLINE_S = 120
CHAT, COMPLETIONS, EMBEDDINGS = "/v1/chat/completions", "/v1/completions", "/v1/embeddings"
SMALL = {"messages": [{"role": "user", "content": "x"}], "max_tokens": 1}


def ask(port, key, path, body, method="POST"):
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE_S)) as connection:
        connection.request(method, path, body if body is None or isinstance(body, bytes) else json.dumps(body),
                           {"Authorization": f"Bearer {key}"})
        reply = connection.getresponse()
        while reply.read(1 << 20):
            pass
        return reply.status


def nested_rules(n, rule):
    return "root ::= " + " | ".join(f"r{i}" for i in range(n)) + "\n" + "\n".join(rule(i, n) for i in range(n))


GRAMMARS = {
    "nested": nested_rules(120, lambda i, n: f'r{i} ::= [a-z ]* r{min(i + 1, n - 1)}x? [a-z ]*\n'
                                             f'r{i}x ::= [a-z ]+ r{i}? | "(" r{(13 * i + 5) % n} ")"'),
    "prefixes": nested_rules(300, lambda i, n: f'r{i} ::= [a-z]+ r{(7 * i + 3) % n} "1" | [a-z]+ r{(11 * i + 1) % n} [0-9] | "a"'),
    "deep": nested_rules(600, lambda i, n: f'r{i} ::= "(" r{(i + 1) % n} ")" | "(" r{(5 * i + 2) % n} "]" | [a-z ]+'),
}


def be_greedy(port, n_threads, name, over, told):
    """Threads that ask endlessly, in a separate process, so that Python's lock delays nobody."""
    numbers, statuses = itertools.count(), collections.Counter()
    step = KINDS[name][1]

    def run():
        while not over.is_set():
            try:
                statuses[step(port, next(numbers))] += 1
            except OSError as error:
                statuses[type(error).__name__] += 1

    for _ in range(n_threads):
        threading.Thread(target=run, daemon=True).start()
    over.wait()
    told.put(dict(statuses))


@contextlib.contextmanager
def greed(port, name):
    """Returns a function for the statuses of the greedy requests."""
    over, told = multiprocessing.Event(), multiprocessing.Queue()
    process = multiprocessing.Process(target=be_greedy, args=(port, KINDS[name][0], name, over, told), daemon=True)
    process.start()
    try:
        yield lambda: (over.set(), told.get(timeout=DEADLINE_S))[1]
    finally:
        process.kill()
        process.join()


def long_answers(port, number):
    return ask(port, "greedy", COMPLETIONS, {"prompt": f"a {number}", "max_tokens": 900, "ignore_eos": True})


def short_answers(port, number):
    return ask(port, "greedy", COMPLETIONS, {"prompt": f"b {number}", "max_tokens": 30, "ignore_eos": True})


def with_grammar(name):
    # Each grammar is a new one, so that no masks are cached.
    return lambda port, number: ask(port, "greedy", CHAT, {
        "messages": [{"role": "user", "content": "hi"}], "grammar": GRAMMARS[name] + f'\nu{number} ::= "u"', "max_tokens": 20})


def pattern(port, number):
    schema = {"type": "string", "pattern": "^" + ".*" * 300 + str(number) + "$"}
    form = {"type": "json_schema", "json_schema": {"name": "p", "schema": schema}}
    return ask(port, "greedy", CHAT, {"messages": [{"role": "user", "content": "hi"}], "response_format": form, "max_tokens": 20})


def large_answers(port, number):
    return ask(port, "greedy", COMPLETIONS, {"prompt": ["a"] * 16, "max_tokens": 300, "logprobs": 20, "ignore_eos": True, "seed": number})


def embeddings(port, number):
    return ask(port, "greedy", EMBEDDINGS, {"input": [f"some words, the {i}th of {number}" for i in range(2048)]})


def large_body(port, number):
    return ask(port, "greedy", "/tokenize", b'{"content":"' + b"x " * (3 << 20) + str(number).encode() + b'"}')


def unended_upload(port, number):
    with socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_S) as connection:
        connection.sendall(b"POST /api/blobs/sha256:" + b"0" * 64 + b" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer greedy\r\n"
                           b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n")
        return connection.recv(12)[9:12].decode() or "closed"


def state(port, number):
    return ask(port, "greedy", ("/livez", "/metrics", "/v1/models")[number % 3], None, "GET")


KINDS = {
    "nobody": (0, None),
    "400 short answers": (400, short_answers),
    "200 long answers": (200, long_answers),
    "4 nested grammars": (4, with_grammar("nested")),
    "4 prefix grammars": (4, with_grammar("prefixes")),
    "4 deep grammars": (4, with_grammar("deep")),
    "4 long patterns": (4, pattern),
    "4 answers of many tokens": (4, large_answers),
    "2,048 embeddings": (2, embeddings),
    "4 large bodies": (4, large_body),
    "32 unended uploads": (32, unended_upload),
    "200 pollers": (200, state),
}


@contextlib.contextmanager
def serve(program, keys):
    command = [program, "serve", MODEL, "--port", "0", "--api-keys", str(keys), "--manage-models"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            port = int(re.search(rb":(\d+), model", process.stdout.readline()).group(1))
            while ask(port, "small", "/readyz", None, "GET") != 200:
                time.sleep(0.01)
            yield port
        finally:
            process.terminate()


def measure(port, seconds):
    """Statuses, and milliseconds of each request."""
    times, failed, end = [], 0, time.monotonic() + seconds
    while time.monotonic() < end:
        begin = time.monotonic()
        failed += ask(port, "small", CHAT, SMALL) != 200
        times.append((time.monotonic() - begin) * 1e3)
        time.sleep(0.005)
    return sorted(times), failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("kinds", nargs="*")
    parser.add_argument("--seconds", type=float, default=10)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        keys = pathlib.Path(folder, "keys")
        keys.touch(mode=0o600)
        keys.write_text("small\nadmin greedy\n")
        print(f"{'beside':26} {'requests':>8} {'refused':>7} {'mean':>7} {'median':>7} {'p99':>7} {'worst':>7} ms   greedy's statuses")
        for name in args.kinds or KINDS:
            with serve(args.program, keys) as port:
                with greed(port, name) as statuses:
                    times, failed = measure(port, args.seconds)
                    told = statuses()
            row = (sum(times) / len(times), times[len(times) // 2], times[len(times) * 99 // 100], times[-1])
            print(f"{name:26} {len(times):8} {failed:7} " + " ".join(f"{ms:7.1f}" for ms in row) + f"      {told}", flush=True)


if __name__ == "__main__":
    main()
