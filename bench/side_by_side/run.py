#!/usr/bin/env python3
"""realizar and llama.cpp on the same files, in turn in one run: medians and ratios as a Markdown table.

Set up once: npm install --ignore-scripts in this folder (Node 20). Run nothing else at the same time.
usage: run.py MODEL.gguf... [-p 512] [-n 64] [-t 2] [-d 0] [-r 5] [--realizar PATH] [--realizar-args "--isa avx2"]
              [--llama-bench PATH] [--out RESULTS.json]
--out: the medians, and the machine's limits in the same run, for chart.py.
--llama-bench: a llama-bench built for this processor, which is run instead; its decode is then no lower bound.
"""
import argparse
import json
import pathlib
import shlex
import statistics
import subprocess

HERE = pathlib.Path(__file__).resolve().parent


def last_json(command, cwd=None):
    result = subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=True)
    return json.loads(result.stdout.strip().splitlines()[-1])


def ours(args, model):
    line = last_json([args.realizar, "bench", model, "-p", args.prompt, "-n", args.gen, "-t", args.threads, "-r", "1",
                      "-d", args.depth, "--json", *shlex.split(args.realizar_args)])
    prefill, decode = line["prefill_tok_s"]["median"], line["decode_tok_s"]["median"]
    limits = (prefill * line["peak_gflop_s"] / line["prefill_gflop_s"], decode * line["peak_read_gb_s"] / line["decode_gb_s"])
    return (prefill, decode), limits


def llama_bench(args, model, n_prompt, n_gen, depth):
    command = [args.llama_bench, "-m", model, "-p", n_prompt, "-n", n_gen, "-d", depth, "-t", args.threads, "-r", "1",
               "-o", "json"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)[0]["avg_ts"]


def native_peer(args, model):
    """Like realizar bench: tokens are generated after the prompt, in its context."""
    context = str(int(args.depth) + int(args.prompt))
    return (llama_bench(args, model, args.prompt, "0", args.depth), llama_bench(args, model, "0", args.gen, context))


def peer(args, model):
    if args.llama_bench:
        return native_peer(args, model)
    line = last_json(["node", "llama_cpp.mjs", str(pathlib.Path(model).resolve()), args.prompt, args.gen, args.threads,
                      args.depth], cwd=HERE)
    return line["prefill_tok_s"], line["decode_tok_s"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("-p", "--prompt", default="512")
    parser.add_argument("-n", "--gen", default="64")
    parser.add_argument("-t", "--threads", default="2")
    parser.add_argument("-d", "--depth", default="0")
    parser.add_argument("-r", "--reps", type=int, default=5)
    parser.add_argument("--realizar", default=str(HERE.parent.parent / "build/release/bin/realizar"))
    parser.add_argument("--realizar-args", default="")
    parser.add_argument("--llama-bench")
    parser.add_argument("--out")
    args = parser.parse_args()
    results = {}
    print("| model | prefill: ours | llama.cpp | ratio | decode: ours | llama.cpp | ratio |\n|---|---|---|---|---|---|---|",
          flush=True)
    for model in args.models:
        runs = [(*ours(args, model), peer(args, model)) for _ in range(args.reps)]
        rows = [[statistics.median(run[who][what] for run in runs) for what in (0, 1)] for who in (0, 1, 2)]
        median = (rows[0], rows[2])
        results[pathlib.Path(model).stem] = {what: {"ours": rows[0][i], "limit": rows[1][i], "peer": rows[2][i]}
                                             for i, what in enumerate(("prefill", "decode"))}
        cells = [f"{median[0][w]:.1f} | {median[1][w]:.1f} | {median[0][w] / median[1][w]:.2f}" for w in (0, 1)]
        print(f"| {pathlib.Path(model).stem} | {cells[0]} | {cells[1]} |", flush=True)
        if args.out:
            pathlib.Path(args.out).write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
