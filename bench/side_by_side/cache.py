#!/usr/bin/env python3
"""The cache of one sequence in realizar and llama.cpp, in F16: megabytes, as a Markdown table.

usage: cache.py MODEL.gguf... --llama-bench PATH [-c 32768] [--realizar PATH]
The models must be trained for at least that many tokens. Weights do not matter, so small files with the attention of
large models are sufficient. llama.cpp reports the creation of its cache, and is then ended.
"""
import argparse
import json
import pathlib
import re
import subprocess

HERE = pathlib.Path(__file__).resolve().parent


def ours(args, model):
    said = subprocess.run([args.realizar, "inspect", model, "--json"], capture_output=True, text=True, check=True).stdout
    contexts = json.loads(said)["contexts"]
    return next(entry["kv_bytes"] for entry in contexts if entry["n_ctx"] == args.context) / 1e6


def peers(args, model):
    """Every part reports its size; the first computation comes after the last part."""
    command = [args.llama_bench, "-m", model, "-p", "8", "-n", "0", "-d", str(args.context - 8), "-r", "1", "--no-warmup", "-v"]
    mib = 0.0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace") as process:
        for line in process.stderr:
            if found := re.search(r"(?:KV|RS) buffer size = +([0-9.]+) MiB", line):
                mib += float(found[1])
            if "compute buffer size" in line:
                process.kill()
                break
    if mib == 0:
        raise SystemExit(f"{model}: llama-bench told no size of a cache")
    return mib * (1 << 20) / 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("-c", "--context", type=int, default=32768)
    parser.add_argument("--llama-bench", required=True)
    parser.add_argument("--realizar", default=str(HERE.parent.parent / "build/release/bin/realizar"))
    args = parser.parse_args()
    print("| model | ours | llama.cpp | ratio |\n|---|---|---|---|")
    for model in args.models:
        mb = ours(args, model), peers(args, model)
        print(f"| {pathlib.Path(model).stem} | {mb[0]:.1f} MB | {mb[1]:.1f} MB | {mb[0] / mb[1]:.2f} |", flush=True)


if __name__ == "__main__":
    main()
