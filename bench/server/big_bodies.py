#!/usr/bin/env python3
"""The time of a completion of four tokens while other clients send bodies of the maximum size, and the memory that
these bodies cost. Each kind of body has its own server with the bundled model. Run nothing else at the same time.
Usage: big_bodies.py REALIZAR [--mb 7.9]"""
import argparse
import contextlib
import http.client
import pathlib
import re
import statistics
import subprocess
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = str(ROOT / "models/realizar-tiny/realizar-tiny-Q8_0.gguf")
SMALL = b'{"prompt":"Hello","max_tokens":4,"temperature":0}'
DEADLINE_S = 120
# Name, clients, route, and the body: its beginning, the repeated part, and its end.
KINDS = [
    ("text to tokenize", 3, "/tokenize", b'{"prompt":"', b"x ", b'"}'),
    ("lists of token ids", 6, "/v1/completions", b'{"max_tokens":1,"prompt":[', b"1,", b"1]}"),
    ("lists of objects", 12, "/v1/embeddings", b'{"input":[', b"{},", b"{}]}"),
    ("lists of empty texts", 6, "/v1/embeddings", b'{"input":[', b'"",', b'""]}'),
    ("ids to detokenize", 3, "/detokenize", b'{"tokens":[', b"1,", b"1]}"),
    ("chats", 3, "/v1/chat/completions", b'{"max_tokens":1,"messages":[{"role":"user","content":"', b"x ", b'"}]}'),
]


def post(port, path, body):
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE_S)) as connection:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # a refusal may arrive before the body's end
            connection.request("POST", path, body)
            reply = connection.getresponse()
            reply.read()
            return reply.status
    return None


def small_ms(port):
    started = time.monotonic()
    status = post(port, "/v1/completions", SMALL)
    assert status == 200, status
    return (time.monotonic() - started) * 1e3


def memory_mb(process, what):
    return int(re.search(what + r":\s+(\d+)", pathlib.Path(f"/proc/{process.pid}/status").read_text()).group(1)) / 1024


@contextlib.contextmanager
def serve(program):
    with subprocess.Popen([program, "serve", MODEL, "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            port = int(re.search(rb":(\d+), model", process.stdout.readline()).group(1))
            end = time.monotonic() + DEADLINE_S
            while post(port, "/v1/completions", SMALL) == 503 and time.monotonic() < end:  # the model is being loaded
                time.sleep(0.01)
            for _ in range(20):
                small_ms(port)
            yield process, port
        finally:
            process.kill()


def measure(program, n_clients, path, body):
    with serve(program) as (process, port):
        before_mb = memory_mb(process, "VmRSS")
        clients = [threading.Thread(target=post, args=(port, path, body)) for _ in range(n_clients)]
        for client in clients:
            client.start()
        delays_ms = []
        while any(client.is_alive() for client in clients):
            delays_ms.append(small_ms(port))
        peak_mb = memory_mb(process, "VmHWM")
        return len(delays_ms), statistics.median(delays_ms), max(delays_ms), before_mb, peak_mb


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("realizar")
    parser.add_argument("--mb", type=float, default=7.9)
    args = parser.parse_args()
    print("| bodies | small requests beside them | p50, ms | max, ms | resident before, MB | at most, MB |\n|---|---|---|---|---|---|")
    for name, n_clients, path, head, piece, tail in KINDS:
        body = head + piece * int((args.mb * 1e6 - len(head) - len(tail)) // len(piece)) + tail
        n, p50_ms, max_ms, before_mb, peak_mb = measure(args.realizar, n_clients, path, body)
        print(f"| {n_clients} {name} | {n} | {p50_ms:.1f} | {max_ms:.1f} | {before_mb:.0f} | {peak_mb:.0f} |", flush=True)


if __name__ == "__main__":
    main()
