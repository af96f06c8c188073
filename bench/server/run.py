#!/usr/bin/env python3
"""Serves one model with realizar and with llama.cpp's server in turns, loads each with concurrent streams, and prints
medians over the turns with their ratios. Run nothing else at the same time. Standard library only; node for the
clients.

  bench/server/run.py build/release/bin/realizar llama-server MODEL.gguf [--streams 1,8,32,64] [--reps 5]
      [--prompt 128] [--gen 64] [--shared 0] [--vocab N] [--out FILE.json]
Without a peer ('-' for its path) only realizar is measured. --shared puts the same tokens before every prompt."""
import argparse
import json
import pathlib
import socket
import statistics
import subprocess
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
MEASURES = [
    ("tok/s", lambda r: r["tok_s"]),
    ("first token p50, ms", lambda r: r["first_token_ms"]["p50"]),
    ("first token p95, ms", lambda r: r["first_token_ms"]["p95"]),
    ("first token p99, ms", lambda r: r["first_token_ms"]["p99"]),
    ("between tokens p50, ms", lambda r: r["between_tokens_ms"]["p50"]),
    ("between tokens p95, ms", lambda r: r["between_tokens_ms"]["p95"]),
    ("between tokens p99, ms", lambda r: r["between_tokens_ms"]["p99"]),
    ("between tokens max, ms", lambda r: r["between_tokens_ms"]["max"]),
]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """One of the two programs, for the duration of a with block."""

    def __init__(self, command, port, health):
        self.command, self.url, self.health = command, f"http://127.0.0.1:{port}", health

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while True:
            if self.process.poll() is not None:
                raise SystemExit(f"{self.command[0]} ended with {self.process.returncode}")
            try:
                with urllib.request.urlopen(self.url + self.health) as answer:
                    if answer.status == 200:
                        return self
            except OSError:
                time.sleep(0.1)

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def realizar(args, streams, options=()):
    port = free_port()
    command = [args.realizar, "serve", args.model, "--port", str(port), "--threads", str(args.threads)]
    return Server([*command, *options], port, "/readyz")


def llama_server(args, streams):
    port = free_port()
    context = streams * (args.shared + args.prompt + args.gen + 16)
    command = [args.peer, "-m", args.model, "--port", str(port), "-t", str(args.threads), "-np", str(streams)]
    return Server(command + ["-c", str(context), "--no-webui"], port, "/health")


def load(server, args, streams, rep):
    command = ["node", str(HERE / "load.mjs"), "--url", server.url, "--streams", str(streams)]
    command += ["--requests", str(streams * args.rounds), "--prompt", str(args.prompt), "--gen", str(args.gen)]
    command += ["--shared", str(args.shared), "--vocab", str(args.vocab), "--seed", str(rep)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def in_turns(starts, args, streams):
    """The measurements of each server in `starts` (name -> function of args and streams), a list over the
    repetitions."""
    runs = {name: [] for name in starts}
    for rep in range(1, args.reps + 1):
        for name, start in starts.items():
            with start(args, streams) as server:
                runs[name].append(load(server, args, streams, rep))
    return runs


def add_load_options(parser, streams, vocab):
    parser.add_argument("--streams", default=streams)
    parser.add_argument("--reps", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=2, help="requests of each stream, one after the other")
    parser.add_argument("--prompt", type=int, default=128)
    parser.add_argument("--gen", type=int, default=64)
    parser.add_argument("--shared", type=int, default=0)
    parser.add_argument("--vocab", type=int, default=vocab)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("realizar")
    parser.add_argument("peer")
    parser.add_argument("model")
    add_load_options(parser, streams="1,8,32,64", vocab=2000)
    args = parser.parse_args()
    programs = {"realizar": realizar} | ({} if args.peer == "-" else {"llama.cpp": llama_server})

    table = []
    for streams in map(int, args.streams.split(",")):
        runs = in_turns(programs, args, streams)
        for label, of in MEASURES:
            row = {"streams": streams, "measure": label}
            row |= {name: statistics.median(map(of, results)) for name, results in runs.items()}
            if len(row) == 4:
                row["ratio"] = row["realizar"] / row["llama.cpp"] if row["llama.cpp"] else None
            table.append(row)
            print("  ".join(f"{key} {value:.1f}" if isinstance(value, float) else f"{value}" for key, value in row.items()),
                  flush=True)
        if args.out:
            pathlib.Path(args.out).write_text(json.dumps({"arguments": vars(args), "rows": table, "runs": runs}, indent=1))


if __name__ == "__main__":
    main()
