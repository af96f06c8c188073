#!/usr/bin/env python3
"""All kernel levels that this machine supports, and the choice of `--isa auto`, on one model: prefill, decode, a batch
of 8, and the server with 1, 8 and 32 streams. Levels take turns in each repetition; medians, as Markdown tables. Run
nothing else at the same time. Node 18 or newer for the clients.

  bench/levels.py build/release/bin/realizar MODEL.gguf [--levels auto,avx512,avx2] [--streams 1,8,32] [--reps 5]
      [--threads 2] [--prompt 128] [--gen 64] [--vocab 100000] [--no-bench] [--no-serving] [--out FILE.json]
Without --levels: auto and all levels of the machine except portable. About 25 minutes per level for a model of 1 B
weights on two cores."""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "server"))
import run as serving  # noqa: E402

LEVELS = ["avx2", "avx-vnni", "avx512", "amx", "neon", "dotprod", "i8mm"]
BENCHES = [
    ("prefill of 512, tok/s", ["-p", "512", "-n", "0"], "prefill_tok_s"),
    ("decode, tok/s", ["-p", "128", "-n", "64"], "decode_tok_s"),
    ("decode of 8, tok/s", ["-p", "128", "-n", "64", "-b", "8"], "decode_tok_s"),
]
SERVED = [
    ("tok/s", lambda r: r["tok_s"]),
    ("TTFT p50", lambda r: r["first_token_ms"]["p50"]),
    ("TBT p50", lambda r: r["between_tokens_ms"]["p50"]),
    ("TBT p95", lambda r: r["between_tokens_ms"]["p95"]),
    ("TBT max", lambda r: r["between_tokens_ms"]["max"]),
]


def bench(args, level, options):
    """The JSON line of one repetition, or None if the machine lacks the level."""
    command = [args.realizar, "bench", args.model, "--backend", "cpu", "--isa", level, "-t", str(args.threads), "-r", "1", "--json"]
    result = subprocess.run(command + options, capture_output=True, text=True)
    if result.returncode != 0 and "cannot run the kernels" in result.stderr:
        return None
    result.check_returncode()
    return json.loads(result.stdout.strip().splitlines()[-1])


def existing_levels(args):
    return [level for level in LEVELS if bench(args, level, ["-p", "1", "-n", "0"]) is not None]


def print_row(cells):
    print("| " + " | ".join(f"{cell:.1f}" if isinstance(cell, float) else str(cell) for cell in cells) + " |", flush=True)


def print_head(cells):
    print_row(cells)
    print("|" + "---|" * len(cells), flush=True)


def bench_table(args, levels):
    runs = {level: [] for level in levels}
    for _ in range(args.reps):
        for level in levels:
            runs[level].append([bench(args, level, options)[key]["median"] for _, options, key in BENCHES])
    print_head(["level"] + [label for label, _, _ in BENCHES])
    for level in levels:
        print_row([level] + [statistics.median(run[i] for run in runs[level]) for i in range(len(BENCHES))])
    print()
    return runs


def server_with(level):
    return lambda args, streams: serving.realizar(args, streams, ["--backend", "cpu", "--isa", level])


def serving_table(args, levels):
    all_runs = {}
    print_head(["streams", "level"] + [label for label, _ in SERVED])
    for streams in map(int, args.streams.split(",")):
        runs = serving.in_turns({level: server_with(level) for level in levels}, args, streams)
        for level in levels:
            print_row([streams, level] + [float(statistics.median(map(of, runs[level]))) for _, of in SERVED])
        all_runs[streams] = runs
    return all_runs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("realizar")
    parser.add_argument("model")
    parser.add_argument("--levels")
    serving.add_load_options(parser, streams="1,8,32", vocab=100000)
    parser.add_argument("--no-bench", action="store_true")
    parser.add_argument("--no-serving", action="store_true")
    args = parser.parse_args()
    levels = args.levels.split(",") if args.levels else ["auto"] + existing_levels(args)
    results = {"arguments": vars(args)}
    if not args.no_bench:
        results["bench"] = bench_table(args, levels)
    if not args.no_serving:
        results["serving"] = serving_table(args, levels)
    if args.out:
        pathlib.Path(args.out).write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
