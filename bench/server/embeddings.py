#!/usr/bin/env python3
"""Texts embedded per second: one encoder served by realizar and by llama.cpp's server in turns, asked for --batch texts
at once, token ids of lengths between --shortest and --longest. Medians over --reps turns. Run nothing else at the same
time. Standard library only.

  bench/server/embeddings.py build/release/bin/realizar llama-server MODEL.gguf [--texts 128] [--batch 32] [--vocab
  1000]
      [--shortest 16] [--longest 256] [--threads 2] [--reps 5]
Without a peer ('-' for its path) only realizar is measured."""
import argparse
import json
import random
import statistics
import time
import urllib.request

from run import Server, free_port


def realizar(args):
    port = free_port()
    return Server([args.realizar, "serve", args.model, "--port", str(port), "--threads", str(args.threads)], port, "/readyz")


def llama_server(args):
    port = free_port()
    command = [args.peer, "-m", args.model, "--port", str(port), "-t", str(args.threads), "--embedding", "--no-webui"]
    command += ["-np", str(args.batch), "-c", str(args.batch * (args.longest + 16)), "-b", "8192", "-ub", "2048"]
    return Server(command, port, "/health")


def texts_of(args, rep):
    drawn = random.Random(rep)
    lengths = [drawn.randint(args.shortest, args.longest) for _ in range(args.texts)]
    return [[drawn.randrange(10, args.vocab) for _ in range(n)] for n in lengths]


def embed(server, texts):
    body = json.dumps({"model": "any", "input": texts}).encode()
    request = urllib.request.Request(server.url + "/v1/embeddings", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        assert len(json.load(answer)["data"]) == len(texts)


def measure(server, args, rep):
    """Texts and tokens per second, after one batch that warms up the server."""
    texts = texts_of(args, rep)
    embed(server, texts[:args.batch])
    start = time.monotonic()
    for at in range(0, len(texts), args.batch):
        embed(server, texts[at:at + args.batch])
    seconds = time.monotonic() - start
    return len(texts) / seconds, sum(map(len, texts)) / seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("realizar")
    parser.add_argument("peer")
    parser.add_argument("model")
    parser.add_argument("--texts", type=int, default=128)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--shortest", type=int, default=16)
    parser.add_argument("--longest", type=int, default=256)
    parser.add_argument("--vocab", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--reps", type=int, default=5)
    args = parser.parse_args()
    programs = {"realizar": realizar} | ({} if args.peer == "-" else {"llama.cpp": llama_server})
    runs = {name: [] for name in programs}
    for rep in range(1, args.reps + 1):
        for name, start in programs.items():
            with start(args) as server:
                runs[name].append(measure(server, args, rep))
    medians = {name: [statistics.median(column) for column in zip(*results)] for name, results in runs.items()}
    for name, (texts, tokens) in medians.items():
        print(f"{name}: {texts:.1f} texts/s, {tokens:.0f} tok/s")
    if len(medians) == 2:
        print(f"ratio: {medians['realizar'][0] / medians['llama.cpp'][0]:.2f}")


if __name__ == "__main__":
    main()
