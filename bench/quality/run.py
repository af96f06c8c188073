#!/usr/bin/env python3
"""The cost of quantized arithmetic, compared with llama.cpp on the same files: perplexity, and the KL divergence of a
file's predictions from those of the same program with the F16 file, as a Markdown table.

usage: run.py TEXT BASE-F16.gguf MODEL.gguf... --llama-perplexity PATH [--realizar PATH] [--windows N]
Windows of 512 tokens; the second half of each is scored. Both programs read the same tokens. A TEXT in JSON lines
(tests/data/eval.jsonl) is replaced by the contents of its dialogues and their answers, one per line.
"""
import argparse
import json
import pathlib
import re
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def run(command):
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    return result.stdout + result.stderr


def dialogues(path):
    lines = []
    for line in pathlib.Path(path).read_text().splitlines():
        dialogue = json.loads(line)
        lines += [message.get("content") or "" for message in dialogue["messages"]] + [dialogue["reference"]]
    return "".join(line + "\n" for line in lines)


def ours(args, model, *mode):
    command = [args.realizar, "perplexity", model, args.text, "--against", args.base, "--json", *mode]
    command += ["--max-windows", args.windows]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def peer(args, model, logits):
    common = [args.llama_perplexity, "-f", args.text, "-c", "512", "-t", "2", "--kl-divergence-base", logits]
    if args.windows != "0":
        common += ["--chunks", args.windows]
    if not pathlib.Path(logits).exists():
        run([*common, "-m", args.base])
    patterns = (r"Mean PPL\(Q\)\s*:", r"Mean\s+KLD:", r"Same top p:")
    for _ in range(5):  # it sometimes ends before its last lines are written
        text = run([*common, "-m", model, "--kl-divergence"])
        found = [re.search(pattern + r"\s*([-0-9.]+)", text) for pattern in patterns]
        if all(found):
            return [float(match.group(1)) for match in found]
    raise SystemExit("llama-perplexity gives no statistics:\n" + text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text")
    parser.add_argument("base")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--llama-perplexity", required=True)
    parser.add_argument("--realizar", default=str(HERE.parent.parent / "build/release/bin/realizar"))
    parser.add_argument("--windows", default="0")
    args = parser.parse_args()
    print("| file | perplexity: prefill | decode | llama.cpp | KL divergence: prefill | decode | llama.cpp "
          "| same first choice, %: prefill | decode | llama.cpp |\n" + "|---" * 10 + "|")
    with tempfile.TemporaryDirectory() as folder:
        logits = str(pathlib.Path(folder) / "base.bin")
        if args.text.endswith(".jsonl"):
            text = pathlib.Path(folder) / "dialogues.txt"
            text.write_text(dialogues(args.text))
            args.text = str(text)
        for model in args.models:
            prefill, decode = ours(args, model), ours(args, model, "--decode")
            perplexity, divergence, same = peer(args, model, logits)
            both = (prefill, decode)
            columns = [*(f"{r['perplexity']:.3f}" for r in both), f"{perplexity:.3f}",
                       *(f"{r['kl_divergence']:.6f}" for r in both), f"{divergence:.6f}",
                       *(f"{100 * r['same_top_token']:.2f}" for r in both), f"{same:.2f}"]
            print(f"| {pathlib.Path(model).stem} | " + " | ".join(columns) + " |", flush=True)


main()
