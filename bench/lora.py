#!/usr/bin/env python3
"""The cost of a LoRA adapter: a random one for every matrix of a GGUF model's attention and ffns, prefill and decode
with and without it in turns, and the processor time of decoding, as a Markdown table. If others use the machine,
measure the processor time with --threads 1: several threads wait for each other, which is counted too.

  bench/lora.py build/release/bin/realizar MODEL.gguf [--rank 16] [--reps 5] [--threads 2] [--batch 1] [--gen 64]"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests"))
from gguf_edit import contents  # noqa: E402
from lora_files import write_gguf_adapter  # noqa: E402

ENDS = tuple(f".{name}.weight" for name in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"))


def shapes_of(path):
    """The architecture, and [columns, rows] of each matrix that adapters usually change."""
    metadata, tensors, _ = contents(pathlib.Path(path).read_bytes())
    shapes = {name: shape for name, (shape, _, _) in tensors.items() if name.endswith(ENDS)}
    return metadata["general.architecture"].decode(), shapes


def run(args, n_tokens, extra):
    """bench's report on a run, and its processor seconds."""
    command = [args.realizar, "bench", args.model, "--backend", "cpu", "-t", str(args.threads), "-b", str(args.batch), "-p",
               str(args.prompt), "-n", str(n_tokens), "-r", "1", "--json", *extra]
    before = os.times()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    after = os.times()
    seconds = after.children_user - before.children_user + after.children_system - before.children_system
    return json.loads(done.stdout.strip().splitlines()[-1]), seconds


def measure(args, extra):
    """Each number of one round. A run without further tokens is subtracted to exclude the processor time of loading and
    the prompt."""
    _, before = run(args, 1, extra)
    told, seconds = run(args, args.gen + 1, extra)
    return {"ms a prompt token": 1e3 / told["prefill_tok_s"]["median"], "ms a token": 1e3 / told["decode_tok_s"]["median"],
            "ms of the processor a token": 1e3 * (seconds - before) / args.gen / args.batch}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("realizar")
    parser.add_argument("model")
    for name, value in (("rank", 16), ("reps", 5), ("threads", 2), ("batch", 1), ("prompt", 32), ("gen", 64)):
        parser.add_argument(f"--{name}", type=int, default=value)
    args = parser.parse_args()
    architecture, shapes = shapes_of(args.model)
    rounds = []
    with tempfile.TemporaryDirectory() as folder:
        adapter = str(pathlib.Path(folder) / "lora.gguf")
        write_gguf_adapter(adapter, architecture, shapes, args.rank)
        for _ in range(args.reps):
            rounds.append((measure(args, []), measure(args, ["--lora", adapter])))
    print(f"rank {args.rank} on {len(shapes)} matrices, threads {args.threads}, batch {args.batch}, rounds {args.reps}\n")
    print("| median | without | with | difference in a round |\n|---|---|---|---|")
    for what in rounds[0][0]:
        without, own = (statistics.median(sides[i][what] for sides in rounds) for i in (0, 1))
        ratio = statistics.median(sides[1][what] / sides[0][what] for sides in rounds)
        print(f"| {what} | {without:.2f} | {own:.2f} | {100 * (ratio - 1):+.1f} % |")


if __name__ == "__main__":
    main()
