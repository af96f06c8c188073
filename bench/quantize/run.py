#!/usr/bin/env python3
"""realizar quantize beside llama-quantize: how near to the source their files predict, and what making them costs.

usage: run.py SOURCE TEXT --realizar PROGRAM [--peer FOLDER] [--types Q4_K_M,...] [--speed-source FILE] [--threads N]
              [--repeats N] [--windows N] [--ctx N] [--importance]

SOURCE is a GGUF file in F16 or F32, TEXT a text for the predictions. Both programs quantize it to each type; the mean
Kullback-Leibler divergence of each file from SOURCE is measured by `realizar perplexity --against`, the same for both.
Each file is made in turns by one program and the other, and the least CPU time (user and system) of the repeats is
shown, with the wall time of that run: the CPU time tells least of what else runs on the machine. --speed-source is the
file whose quantization is timed, SOURCE itself if it is not given. --importance: both use the importance matrix that
`realizar imatrix` makes of the first half of TEXT; the windows that are scored come from the second half.
"""
import argparse
import json
import os
import pathlib
import subprocess
import tempfile
import time

TYPES = ("Q4_0,Q4_1,Q5_0,Q5_1,Q8_0,Q2_K_S,Q2_K,Q3_K_S,Q3_K_M,Q3_K_L,Q4_K_S,Q4_K_M,Q5_K_S,Q5_K_M,Q6_K,IQ1_S,IQ1_M,IQ2_XXS,"
         "IQ2_XS,IQ2_S,IQ2_M,IQ3_XXS,IQ3_XS,IQ3_S,IQ3_M,IQ4_NL,IQ4_XS,TQ1_0,TQ2_0")
NEEDS_IMPORTANCE = {"IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "Q2_K_S"}


def timed(command):
    """CPU seconds and wall seconds of a command; None where it fails."""
    begin = time.monotonic()
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        return None
    return usage.ru_utime + usage.ru_stime, time.monotonic() - begin, usage.ru_maxrss / 1024


class Comparison:
    def __init__(self, args, folder):
        self.args, self.folder = args, folder
        text = pathlib.Path(args.text).read_text()
        self.learnt, self.scored = folder / "learnt.txt", folder / "scored.txt"
        half = len(text) // 2
        self.learnt.write_text(text[:half])
        self.scored.write_text(text[half:])
        self.imatrix = {}

    def importance(self, source):
        if source not in self.imatrix:
            path = self.folder / f"{len(self.imatrix)}.imatrix.gguf"
            subprocess.run([self.args.realizar, "imatrix", source, self.learnt, "-o", path, "--ctx", str(self.args.ctx),
                            "--chunks", str(self.args.chunks)], check=True, stdout=subprocess.DEVNULL)
            self.imatrix[source] = path
        return self.imatrix[source]

    def command(self, program, source, out, kind):
        with_importance = self.args.importance or kind in NEEDS_IMPORTANCE
        extra = ["--imatrix", self.importance(source)] if with_importance else []
        if program == "realizar":
            return [self.args.realizar, "quantize", source, out, kind, "--threads", self.args.threads, *extra]
        return [pathlib.Path(self.args.peer) / "llama-quantize", *extra, source, out, kind, self.args.threads]

    def divergence(self, path):
        result = subprocess.run([self.args.realizar, "perplexity", path, self.scored, "--against", self.args.source, "--ctx",
                                 str(self.args.ctx), "--max-windows", str(self.args.windows), "--json"],
                                capture_output=True, text=True)
        return json.loads(result.stdout)["kl_divergence"] if result.returncode == 0 else None

    def row(self, kind):
        row = {"type": kind}
        for program in self.programs():
            out = self.folder / f"{program}.gguf"
            if timed(self.command(program, self.args.source, out, kind)) is None:
                continue
            row[f"{program}_kl"] = self.divergence(out)
            row[f"{program}_bytes"] = out.stat().st_size
            out.unlink()
        source = self.args.speed_source or self.args.source
        for _ in range(self.args.repeats):
            for program in self.programs():
                out = self.folder / f"{program}.gguf"
                cost = timed(self.command(program, source, out, kind))
                out.unlink(missing_ok=True)
                best = row.get(f"{program}_cost")
                if cost and (best is None or cost < best):
                    row[f"{program}_cost"] = cost
        return row

    def programs(self):
        return ["realizar", "peer"] if self.args.peer else ["realizar"]


def number(value, form):
    return "-" if value is None else format(value, form)


def line(row):
    ours, theirs = row.get("realizar_cost") or [None] * 3, row.get("peer_cost") or [None] * 3
    return " | ".join(["", row["type"], number(row.get("realizar_kl"), ".5f"), number(row.get("peer_kl"), ".5f"),
                       number(row.get("realizar_bytes"), ",d"), number(row.get("peer_bytes"), ",d"),
                       number(ours[0], ".2f"), number(theirs[0], ".2f"), number(ours[1], ".2f"), number(theirs[1], ".2f"),
                       number(ours[2], ".0f"), number(theirs[2], ".0f"), ""]).strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source")
    parser.add_argument("text")
    parser.add_argument("--realizar", required=True)
    parser.add_argument("--peer")
    parser.add_argument("--types", default=TYPES)
    parser.add_argument("--speed-source")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--windows", type=int, default=8)
    parser.add_argument("--ctx", type=int, default=256)
    parser.add_argument("--chunks", type=int, default=64)
    parser.add_argument("--importance", action="store_true")
    args = parser.parse_args()
    print("| type | KL, realizar | KL, peer | bytes | bytes, peer | CPU s | CPU s, peer | wall s | wall s, peer | MB | MB, peer |")
    print("|---" * 11 + "|")
    with tempfile.TemporaryDirectory() as folder:
        comparison = Comparison(args, pathlib.Path(folder))
        for kind in args.types.split(","):
            print(line(comparison.row(kind)), flush=True)


if __name__ == "__main__":
    main()
