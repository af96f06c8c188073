#!/usr/bin/env python3
"""Hours of clients' activity, in minutes: mixed requests, mistakes, aborts at any moment, connections kept and dropped.
At the end every request was answered correctly or was aborted here, nothing runs or waits, all KV blocks are free, and
the server uses no more memory than after the first fifth of the time.
Usage: soak.py REALIZAR [--minutes N] [--clients N] [--seed N] [--grow-mb MB]"""
import argparse
import asyncio
import collections
import json
import pathlib
import random
import re
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = str(ROOT / "models/realizar-tiny/realizar-tiny-Q8_0.gguf")
QUESTIONS = ["What is the capital of France?", "What is 10 minus 10?", "What does the duck say?", "Tell me a story.",
             "Give me the opposite of sad.", "What can you do?", "Repeat after me: bright mountain deer"]
DEADLINE_S = 120


class Tally:
    def __init__(self):
        self.counts = collections.Counter()
        self.mistakes = []
        self.known = {}  # request -> its answer: the same for the same request

    def check(self, holds, what):
        if not holds and len(self.mistakes) < 20:
            self.mistakes.append(what)
        self.counts["mistakes"] += not holds


def messages(rng):
    turns = [{"role": "user", "content": rng.choice(QUESTIONS)}]
    for _ in range(rng.choice([0, 0, 0, 1, 3])):
        turns += [{"role": "assistant", "content": "Yes."}, {"role": "user", "content": rng.choice(QUESTIONS)}]
    if rng.random() < 0.2:
        turns[0]["content"] = "A bear went for a walk. " * rng.randrange(1, 60) + turns[0]["content"]
    return turns


def good_request(rng):
    """Path and body; random choices are among few values, so that requests are repeated."""
    kind = rng.randrange(6)
    sampling = {"temperature": rng.choice([0, 1]), "seed": rng.randrange(4), "max_tokens": rng.choice([1, 8, 40, 150])}
    if kind <= 1:
        body = {"messages": messages(rng), **sampling, "stream": rng.random() < 0.6, "n": rng.choice([1, 1, 1, 3])}
        if rng.random() < 0.2:
            body |= {"logprobs": True, "top_logprobs": rng.randrange(5)}
        if rng.random() < 0.2:
            body |= {"stop": ["a", "The"][:rng.randrange(1, 3)]}
        if rng.random() < 0.3:
            body |= {"ignore_eos": True}
        return "/v1/chat/completions", body
    if kind == 2:
        return "/v1/completions", {"prompt": rng.choice([QUESTIONS[0], QUESTIONS[:3], [5, 6, 7]]), **sampling, "echo": True}
    if kind == 3:
        return "/v1/embeddings", {"input": rng.choice([QUESTIONS[0], QUESTIONS]), "encoding_format": "base64"}
    if kind == 4:
        return "/v1/responses", {"input": rng.choice(QUESTIONS), "temperature": 0, "stream": rng.random() < 0.5}
    return "/tokenize", {"prompt": rng.choice(QUESTIONS) * rng.choice([1, 300])}


def bad_request(rng):
    """Bytes, and the possible statuses of their answers."""
    body = json.dumps({"messages": messages(rng)}).encode()
    return rng.choice([
        (post("/v1/chat/completions", b'{"messages": '), {400}),
        (post("/v1/chat/completions", b'{"model": "gpt-9", "messages": []}'), {404}),
        (post("/v1/chat/completions", b'{"messages": [], "n": 0}'), {400}),
        (post("/v1/chat/completions", json.dumps({"messages": [{"role": "user", "content": "x " * 5000}]}).encode()), {400}),
        (post("/nothing", body), {404}),
        (b"GET /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n\r\n", {405}),
        (b"GET /livez HTTP/1.1\r\nHost: localhost\r\nA: " + b"x" * 40000 + b"\r\n\r\n", {431}),
        (b"\x00\x01 not http\r\n\r\n", {400}),
    ])


def post(path, body):
    return f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


async def read_reply(reader):
    """Status and body of the next reply."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    status = int(head.split(" ", 2)[1])
    if "Transfer-Encoding: chunked" not in head:
        return status, await reader.readexactly(int(re.search(r"Content-Length: (\d+)", head).group(1)))
    body = b""
    while n_bytes := int(await reader.readuntil(b"\r\n"), 16):
        body += (await reader.readexactly(n_bytes + 2))[:-2]
    await reader.readexactly(2)
    return status, body


def essence(path, body):
    """The part that is always equal for the same request: text and finish, not ids and times."""
    text = body.decode()
    if path == "/v1/responses":
        pieces = re.findall(r'"delta":"((?:[^"\\]|\\.)*)"', text) or re.findall(r'"output_text","text":"((?:[^"\\]|\\.)*)"', text)
        return "".join(pieces)
    if not text.startswith("data: "):
        answer = json.loads(text)
        for name in ("id", "created", "usage"):
            answer.pop(name, None)
        return json.dumps(answer)
    pieces = collections.defaultdict(str)
    for line in text.split("\n\n"):
        if line.startswith("data: {"):
            for choice in json.loads(line[6:]).get("choices", []):
                pieces[choice["index"]] += (choice["delta"].get("content") or "") + (choice["finish_reason"] or "")
    return json.dumps(pieces, sort_keys=True)


class Client:
    def __init__(self, port, rng, tally):
        self.port, self.rng, self.tally = port, rng, tally
        self.connection = None

    async def run(self, end):
        while time.monotonic() < end:
            try:
                await asyncio.wait_for(self.act(), DEADLINE_S)
            except asyncio.TimeoutError:
                self.tally.check(False, "a request was not answered in time")
                self.leave()
            except (asyncio.IncompleteReadError, ConnectionError) as error:
                self.tally.check(False, f"the server closed the connection: {error!r}")
                self.leave()
        self.leave()

    async def streams(self):
        if self.connection is None or self.rng.random() < 0.1:
            self.leave()
            self.connection = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 20)
        return self.connection

    def leave(self):
        if self.connection is not None:
            self.connection[1].transport.abort()
            self.connection = None

    async def act(self):
        reader, writer = await self.streams()
        chance = self.rng.random()
        if chance < 0.15:
            return await self.make_mistake(reader, writer)
        path, body = good_request(self.rng)
        data = post(path, json.dumps(body).encode())
        if chance < 0.35:
            return await self.abort(reader, writer, data)
        writer.write(data)
        status, reply = await read_reply(reader)
        self.tally.counts[f"{path} {status}"] += 1
        if status == 429:
            return await asyncio.sleep(0.05)
        self.tally.check(status == 200, f"{path} {body}: {status} {reply[:300]}")
        if status == 200:
            answer = essence(path, reply)
            self.tally.check(self.tally.known.setdefault(data, answer) == answer, f"{path} {body}: another answer")

    async def make_mistake(self, reader, writer):
        data, statuses = bad_request(self.rng)
        writer.write(data)
        status, reply = await read_reply(reader)
        self.tally.counts["bad requests refused"] += 1
        self.tally.check(status in statuses, f"{data[:80]}: {status} {reply[:300]}")
        if status in (431, 400):
            self.leave()

    async def abort(self, reader, writer, data):
        """At any moment: in the middle of the request, before the reply, in the middle of it."""
        cut = self.rng.random()
        writer.write(data[:int(len(data) * cut)] if cut < 0.3 else data)
        if cut > 0.5:
            await asyncio.sleep(self.rng.random() * 0.2)
        if cut > 0.7:
            await reader.read(self.rng.randrange(1, 5000))
        self.tally.counts["aborted by us"] += 1
        self.leave()


def resident_mb(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text()).group(1)) / 1024


async def metric(port, name):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
    _, body = await read_reply(reader)
    writer.close()
    found = re.search(rf"^{re.escape(name)}(?:\{{.*\}})? (\S+)$", body.decode(), re.M)
    return float(found.group(1)) if found else 0.0


async def settled(port):
    names = ["vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc"]
    for _ in range(200):
        values = {name: await metric(port, name) for name in names}
        values["connections"] = await metric(port, "realizar_connections") - 1
        if not any(values.values()):
            break
        await asyncio.sleep(0.05)
    return values


async def soak(port, pid, args, tally):
    rng = random.Random(args.seed)
    clients = [Client(port, random.Random(rng.random()), tally) for _ in range(args.clients)]
    start, seconds = time.monotonic(), args.minutes * 60
    resident = []
    for fifth in range(1, 6):
        await asyncio.gather(*(client.run(start + seconds * fifth / 5) for client in clients))
        values = await settled(port)
        resident.append(resident_mb(pid))
        print(f"{seconds * fifth / 5:.0f} s: resident {resident[-1]:.1f} MB, {values}", flush=True)
        for name, value in values.items():
            tally.check(value == 0, f"{name} is {value} when nothing should be there")
    tally.check(resident[-1] - resident[0] < args.grow_mb, f"memory grew by {resident[-1] - resident[0]:.1f} MB")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("realizar")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--clients", type=int, default=48)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--grow-mb", type=float, default=10)
    args = parser.parse_args()
    server = subprocess.Popen([args.realizar, "serve", MODEL, "--port", "0"], stdout=subprocess.PIPE)
    tally = Tally()
    port = int(re.search(rb":(\d+), model", server.stdout.readline()).group(1))

    async def run():
        while await metric(port, "realizar_model_info") == 0:
            await asyncio.sleep(0.05)
        await soak(port, server.pid, args, tally)
    try:
        asyncio.run(run())
    finally:
        server.terminate()
        code = server.wait(60)
    tally.check(code == 0, f"the server ended with {code}")
    for name, count in sorted(tally.counts.items()):
        print(f"{name}: {count}")
    print("\n".join(tally.mistakes) or "no mistakes")
    return 1 if tally.mistakes else 0


if __name__ == "__main__":
    raise SystemExit(main())
