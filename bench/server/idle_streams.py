#!/usr/bin/env python3
"""The cost of clients that only wait for one server: readers that take a byte per second of a long answer, and event
streams that wait in the queue. Prints the server's additional resident memory, bytes per connection, and the time of
/health meanwhile.
Usage: idle_streams.py REALIZAR [--streams N] [--readers N] [--seconds S]"""
import argparse
import asyncio
import json
import pathlib
import re
import resource
import socket
import statistics
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = str(ROOT / "models/realizar-tiny/realizar-tiny-Q8_0.gguf")
CHAT = {"messages": [{"role": "user", "content": "What is the capital of France?"}], "stream": True, "ignore_eos": True}


def raise_file_limit():
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def resident_mb(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text()).group(1)) / 1024


def post(body):
    data = json.dumps(body).encode()
    return (f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nX-Request-Id: bench\r\nContent-Length: {len(data)}\r\n\r\n"
            .encode() + data)


async def open_stream(port, body, receive_bytes=0):
    client = socket.socket()
    if receive_bytes > 0:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    client.setblocking(False)
    await asyncio.get_running_loop().sock_connect(client, ("127.0.0.1", port))
    reader, writer = await asyncio.open_connection(sock=client, limit=1024)
    writer.write(post(body))
    await writer.drain()
    return reader, writer


async def open_many(port, body, n, receive_bytes=0):
    """In groups, since the kernel's queue of connections is limited."""
    streams = []
    while len(streams) < n:
        group = min(200, n - len(streams))
        streams += await asyncio.gather(*(open_stream(port, body, receive_bytes) for _ in range(group)))
    return streams


async def get(port, path):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    text = await reader.read()
    writer.close()
    return text.decode()


async def metric(port, name):
    text = await get(port, "/metrics")
    found = re.search(rf"^{re.escape(name)}(?:\{{.*\}})? (\S+)$", text, re.M)
    return float(found.group(1)) if found else 0.0


async def until(probe, what, deadline_s=120):
    end = time.monotonic() + deadline_s
    while not await probe():
        if time.monotonic() > end:
            raise SystemExit(f"waited {deadline_s} s in vain for: {what}")
        await asyncio.sleep(0.05)


async def health_ms(port, seconds):
    """Over one connection, like a load balancer: this program's cost of opening it is not the server's."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    times = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        start = time.perf_counter()
        writer.write(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        head = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(re.search(rb"Content-Length: (\d+)", head).group(1)))
        times.append((time.perf_counter() - start) * 1e3)
        await asyncio.sleep(0.01)
    writer.close()
    return times


def report(what, n, before_mb, after_mb, times):
    p95 = statistics.quantiles(times, n=20)[18]
    print(f"{what}: {n}; resident +{after_mb - before_mb:.1f} MB ({(after_mb - before_mb) * 1024 / n:.1f} KB each); /health "
          f"p50 {statistics.median(times):.2f} ms, p95 {p95:.2f} ms, max {max(times):.2f} ms over {len(times)}", flush=True)


async def close_all(port, streams):
    for _, writer in streams:
        writer.transport.abort()
    await until(lambda: is_idle(port), "the requests to end")


async def is_idle(port):
    waiting = await metric(port, "vllm:num_requests_waiting")
    return waiting + await metric(port, "vllm:num_requests_running") == 0


async def read_slowly(reader):
    try:
        while await reader.readexactly(1):
            await asyncio.sleep(1)
    except (asyncio.IncompleteReadError, ConnectionError):
        pass


async def add_slow_readers(port, args):
    """Data that these do not read stays at the server, until it gives them up."""
    body = {**CHAT, "logprobs": True, "top_logprobs": 20, "max_tokens": 80}
    streams = await open_many(port, body, args.readers, receive_bytes=4096)
    readers = [asyncio.create_task(read_slowly(reader)) for reader, _ in streams]
    await until(lambda: is_idle(port), "the slow readers' answers to be computed or given up")
    return streams, readers


async def add_waiting_streams(port, args):
    """They wait for requests of higher priority that take minutes."""
    long_ones = [await open_stream(port, {**CHAT, "n": 128, "priority": -1, "max_tokens": 900}) for _ in range(8)]
    streams = await open_many(port, CHAT, args.streams)

    async def all_wait():
        return await metric(port, "vllm:num_requests_waiting") >= args.streams
    await until(all_wait, "all streams to wait")
    return long_ones + streams


async def measure(port, pid, args):
    async def ready():
        return "200 OK" in await get(port, "/readyz")
    await until(ready, "the model")
    await get(port, "/metrics")
    before_mb = resident_mb(pid)
    report("before", 1, before_mb, before_mb, await health_ms(port, min(args.seconds, 3)))
    slow, readers = await add_slow_readers(port, args)
    report("slow readers", args.readers, before_mb, resident_mb(pid), await health_ms(port, args.seconds))
    print(f"  connections still open {await metric(port, 'realizar_connections') - 1:.0f}")
    slow_mb = resident_mb(pid)
    waiting = await add_waiting_streams(port, args)
    report("and waiting streams", args.streams, slow_mb, resident_mb(pid), await health_ms(port, args.seconds))
    n_waiting = await metric(port, "vllm:num_requests_waiting")
    print(f"  still waiting {n_waiting:.0f}, connections {await metric(port, 'realizar_connections') - 1:.0f}; in all "
          f"resident +{resident_mb(pid) - before_mb:.1f} MB")
    for task in readers:
        task.cancel()
    await close_all(port, slow + waiting)
    print(f"  after all have left: resident +{resident_mb(pid) - before_mb:.1f} MB")


def run(args):
    command = [args.realizar, "serve", MODEL, "--port", "0", "--max-queue", "20000", "--max-seqs", "16"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        port = int(re.search(rb":(\d+), model", server.stdout.readline()).group(1))
        asyncio.run(measure(port, server.pid, args))
    finally:
        server.terminate()
        if (code := server.wait(60)) != 0:
            print("the server ended with", code)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("realizar")
    parser.add_argument("--streams", type=int, default=5000)
    parser.add_argument("--readers", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=20)
    args = parser.parse_args()
    limit = raise_file_limit()
    n_needed = args.streams + args.readers + 100
    if limit < n_needed:
        raise SystemExit(f"only {limit} files may be open; {n_needed} are needed")
    run(args)


if __name__ == "__main__":
    main()
