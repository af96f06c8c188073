#!/usr/bin/env python3
"""Time to the first token of a long prompt: computed, from memory, from --cache-dir after a restart, and from a Redis
that another server has filled (--cache-url), on loopback and at --rate. Medians as a Markdown table. Run nothing else
at the same time. Needs redis-server; for --rate root, ip and tc (net_rig.py).

  bench/shared_prefixes.py MODEL.gguf [--realizar PATH] [--tokens 4000] [-r 5] [--rate 10gbit] [--threads N] [--out
  R.json]

Each of -r prompts consists of random ids, computed once by one server, which keeps them on disk and in Redis. Servers
are asked for one token each, one prompt after the other; the time is the client's, from sending to the whole answer."""
import argparse
import contextlib
import http.client
import json
import pathlib
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import net_rig

HERE = pathlib.Path(__file__).resolve().parent
FIRST_ID, IDS = 1000, 20000  # ordinary tokens of any vocabulary that large
READY_S, SENT_S = 600, 600


class Here:
    """This machine as the only host."""

    def address(self, host):
        return "127.0.0.1"

    def command(self, host, command):
        return list(command)


def get(address, port, path):
    with contextlib.closing(http.client.HTTPConnection(address, port, timeout=READY_S)) as connection:
        connection.request("GET", path)
        return connection.getresponse().read().decode()


def ask_here(address, port, prompt):
    """Milliseconds to the answer, and the tokens of the prompt that were cached."""
    body = json.dumps({"prompt": prompt, "max_tokens": 1, "temperature": 0, "ignore_eos": True})
    with contextlib.closing(http.client.HTTPConnection(address, port, timeout=READY_S)) as connection:
        connection.connect()
        start = time.perf_counter()
        connection.request("POST", "/v1/completions", body, {"Content-Type": "application/json"})
        reply = connection.getresponse()
        answer = reply.read()
        took = time.perf_counter() - start
    if reply.status != 200:
        raise SystemExit(answer.decode())
    return 1e3 * took, json.loads(answer)["usage"]["prompt_tokens_details"]["cached_tokens"]


def there(place, words, stdin=""):
    """The time measured by a process on the first host, since only that one reaches its addresses."""
    done = subprocess.run(place.command(0, [sys.executable, str(pathlib.Path(__file__).resolve()), *map(str, words)]),
                          input=stdin, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


class Server:
    def __init__(self, place, args, *flags):
        self.place = place
        words = [args.realizar, "serve", args.model, "--port", "0", "--ctx", str(args.tokens + 256), "--kv-tokens",
                 str((args.tokens + 256) * (args.repeats + 1)), "--max-seqs", "1", "--no-idle-prefill"]
        if args.threads:
            words += ["--threads", str(args.threads)]
        start = time.perf_counter()
        self.process = subprocess.Popen(place.command(0, [*words, *map(str, flags)]), stdout=subprocess.PIPE, text=True)
        self.port = next(int(found.group(1)) for line in self.process.stdout if (found := re.search(r":(\d+), model", line)))
        while "ready" not in there(place, ["get", self.port, "/readyz"]).lower():
            if time.perf_counter() - start > READY_S:
                raise SystemExit("the server does not become ready")
            time.sleep(0.1)
        self.ready_s = time.perf_counter() - start

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.communicate()

    def ask(self, prompts):
        return there(self.place, ["ask", self.port], json.dumps(prompts))

    def await_sent(self, n_pieces):
        end = time.monotonic() + SENT_S
        while True:
            found = re.search(r"^realizar_shared_prefix_sent_pieces_total (\S+)", there(self.place, ["get", self.port, "/metrics"]), re.MULTILINE)
            if found and float(found.group(1)) >= n_pieces:
                return
            if time.monotonic() > end:
                raise SystemExit("the blocks are not sent")
            time.sleep(0.2)


@contextlib.contextmanager
def redis_at(place, port):
    words = ["redis-server", "--port", str(port), "--bind", place.address(1), "--protected-mode", "no", "--save", "", "--appendonly", "no"]
    with net_rig.running(place.command(1, words), stdout=subprocess.DEVNULL):
        time.sleep(1)
        yield f"redis://{place.address(1)}:{port}"


def measure(args):
    prompts = [[random.Random(i).randrange(FIRST_ID, FIRST_ID + IDS) for _ in range(args.tokens)] for i in range(args.repeats)]
    for i, prompt in enumerate(prompts):
        prompt[0] = FIRST_ID + i  # no two have a beginning in common
    n_pieces = args.repeats * (args.tokens // 32)
    rows = {}
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        disk = ("--cache-dir", folder, "--cache-dir-mb", 16384)
        wait = ("--cache-wait-ms", 60000)
        with redis_at(Here(), args.port) as url:
            with Server(Here(), args, *disk, "--cache-url", url, *wait) as server:
                rows["computed"] = server.ask(prompts)
                rows["from memory"] = server.ask(prompts)
                server.await_sent(n_pieces)
            with Server(Here(), args, *disk) as server:
                rows["from disk, after a restart"] = server.ask(prompts)
                print(f"ready after {server.ready_s:.1f} s with the prefixes of the disk", file=sys.stderr)
            with Server(Here(), args, "--cache-url", url, *wait) as server:
                rows["from Redis on loopback"] = server.ask(prompts)
                print(f"ready after {server.ready_s:.1f} s without", file=sys.stderr)
        if args.rate:
            with net_rig.Rig(args.rate) as rig, redis_at(rig, args.port) as url:
                with Server(rig, args, *disk, "--cache-url", url, *wait) as server:
                    server.ask(prompts)
                    server.await_sent(n_pieces)
                with Server(rig, args, "--cache-url", url, *wait) as server:
                    rows[f"from Redis at {args.rate}"] = server.ask(prompts)
    print(f"| first token of {args.tokens} tokens | median, ms | least, most | tokens cached |\n|---|---|---|---|")
    for name, answers in rows.items():
        times, cached = [ms for ms, _ in answers], [n for _, n in answers]
        print(f"| {name} | {statistics.median(times):.0f} | {min(times):.0f}, {max(times):.0f} | {min(cached)} |")
    if args.out:
        pathlib.Path(args.out).write_text(json.dumps(rows))


def main():
    if sys.argv[1:2] == ["get"]:
        try:
            return print(json.dumps(get("127.0.0.1", int(sys.argv[2]), sys.argv[3])))
        except OSError:
            return print(json.dumps(""))
    if sys.argv[1:2] == ["ask"]:
        return print(json.dumps([ask_here("127.0.0.1", int(sys.argv[2]), prompt) for prompt in json.load(sys.stdin)]))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--realizar", default=str(HERE.parent / "build/release/bin/realizar"))
    parser.add_argument("--tokens", type=int, default=4000)
    parser.add_argument("-r", "--repeats", type=int, default=5)
    parser.add_argument("--rate", help="of the network between server and Redis, in tc's units")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--port", type=int, default=7379, help="of the Redis that is started")
    parser.add_argument("--folder", help="for the disk's prefixes; they take what the KV cache does")
    parser.add_argument("--out", help="all times, as JSON")
    args = parser.parse_args()
    if shutil.which("redis-server") is None:
        print("redis-server is not installed", file=sys.stderr)
        return net_rig.CANNOT
    net_rig.end_on_signals()
    try:
        measure(args)
    except net_rig.Unavailable as problem:
        print(f"no rig on this machine: {problem}", file=sys.stderr)
        return net_rig.CANNOT
    return 0


if __name__ == "__main__":
    sys.exit(main())
