#!/usr/bin/env python3
"""realizar quantize compared with llama-quantize: how close their files' predictions are to the source's, and the cost
of making them.

usage: run.py SOURCE TEXT --realizar PROGRAM [--peer FOLDER] [--types Q4_K_M,...] [--importance] [--speed-source FILE]
              [--repeats N] [--threads N] [--windows N] [--ctx N] [--chunks N]

SOURCE is a GGUF file in F16 or F32, TEXT a text for the predictions; --peer is the folder of llama.cpp's programs. Two
tables are printed. The first has, for each type, the mean Kullback-Leibler divergence of both programs' files from
SOURCE, measured by `realizar perplexity --against` for both, and their sizes; --windows 0 omits it. The second has the
medians of CPU time (user and system), wall time and peak resident memory over N runs of each program (--repeats, by
default 5; 0 omits the table), which take turns: ours, theirs, ours, theirs. Its wall times are only meaningful if
nothing else runs on the machine: the load before the first run is printed above it. --speed-source is the file whose
quantization is timed, by default SOURCE. --importance: both use the importance matrix that `realizar imatrix` makes
from the first half of TEXT; the scored windows are from the second half.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

TYPES = ("Q4_0,Q4_1,Q5_0,Q5_1,Q8_0,Q2_K_S,Q2_K,Q3_K_S,Q3_K_M,Q3_K_L,Q4_K_S,Q4_K_M,Q5_K_S,Q5_K_M,Q6_K,IQ1_S,IQ1_M,IQ2_XXS,"
         "IQ2_XS,IQ2_S,IQ2_M,IQ3_XXS,IQ3_XS,IQ3_S,IQ3_M,IQ4_NL,IQ4_XS,TQ1_0,TQ2_0")
NEEDS_IMPORTANCE = {"IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "Q2_K_S"}


def cost_of(command):
    """CPU seconds, wall seconds and peak megabytes of a command; None if it fails."""
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
        self.programs = ["realizar", "peer"] if args.peer else ["realizar"]
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
                            "--chunks", str(self.args.chunks), "--threads", str(self.args.threads)], check=True, stdout=subprocess.DEVNULL)
            self.imatrix[source] = path
        return self.imatrix[source]

    def command(self, program, source, kind):
        out = self.folder / f"{program}.gguf"
        with_importance = self.args.importance or kind in NEEDS_IMPORTANCE
        extra = ["--imatrix", self.importance(source)] if with_importance else []
        if program == "realizar":
            return [self.args.realizar, "quantize", source, out, kind, "--threads", self.args.threads, *extra], out
        return [pathlib.Path(self.args.peer) / "llama-quantize", *extra, source, out, kind, self.args.threads], out

    def divergence(self, program, kind):
        """The mean divergence of the program's file in nats per token, and its size in bytes."""
        command, out = self.command(program, self.args.source, kind)
        if cost_of(command) is None:
            return None, None
        result = subprocess.run([self.args.realizar, "perplexity", out, self.scored, "--against", self.args.source, "--ctx",
                                 str(self.args.ctx), "--max-windows", str(self.args.windows), "--json", "--threads",
                                 str(self.args.threads)],
                                capture_output=True, text=True)
        size = out.stat().st_size
        out.unlink()
        return (json.loads(result.stdout)["kl_divergence"] if result.returncode == 0 else None), size

    def costs(self, kind):
        """For each program the medians of its runs, which alternate with the other's; None if a run failed."""
        source = self.args.speed_source or self.args.source
        runs = {program: [] for program in self.programs}
        for _ in range(self.args.repeats):
            for program in self.programs:
                command, out = self.command(program, source, kind)
                runs[program].append(cost_of(command))
                out.unlink(missing_ok=True)
        return [[None] * 3 if None in of else [statistics.median(values) for values in zip(*of)] for of in runs.values()]


def number(value, form):
    return "-" if value is None else format(value, form)


def line(cells):
    print("| " + " | ".join(cells) + " |", flush=True)


def in_pairs(ours, theirs, form):
    """Cells: ours, theirs, and their ratio."""
    ratio = None if ours is None or not theirs else ours / theirs
    return [number(ours, form), number(theirs, form), number(ratio, ".2f")]


def print_divergences(comparison, kinds):
    line(["type", "KL: ours", "llama.cpp", "ratio", "bytes: ours", "llama.cpp"])
    print("|" + "---|" * 6)
    for kind in kinds:
        pairs = [comparison.divergence(program, kind) for program in comparison.programs]
        (kl, size), (peer_kl, peer_size) = pairs if len(pairs) == 2 else [*pairs, (None, None)]
        line([kind, *in_pairs(kl, peer_kl, ".5f"), number(size, ",d"), number(peer_size, ",d")])


def print_costs(comparison, kinds):
    print(f"medians of {comparison.args.repeats}, in turns, {comparison.args.threads} threads; "
          f"load before the first: {os.getloadavg()[0]:.2f}\n")
    line(["type", "CPU s: ours", "llama.cpp", "ratio", "wall s: ours", "llama.cpp", "ratio", "peak MB: ours", "llama.cpp",
          "ratio"])
    print("|" + "---|" * 10)
    for kind in kinds:
        costs = comparison.costs(kind)
        ours, theirs = costs if len(costs) == 2 else [*costs, [None] * 3]
        line([kind, *(cell for i, form in enumerate([".2f", ".2f", ".0f"]) for cell in in_pairs(ours[i], theirs[i], form))])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source")
    parser.add_argument("text")
    parser.add_argument("--realizar", required=True)
    parser.add_argument("--peer")
    parser.add_argument("--types", default=TYPES)
    parser.add_argument("--importance", action="store_true")
    parser.add_argument("--speed-source")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--windows", type=int, default=12)
    parser.add_argument("--ctx", type=int, default=256)
    parser.add_argument("--chunks", type=int, default=48)
    args = parser.parse_args()
    kinds = args.types.split(",")
    with tempfile.TemporaryDirectory() as folder:
        comparison = Comparison(args, pathlib.Path(folder))
        if args.windows > 0:
            print_divergences(comparison, kinds)
        if args.windows > 0 and args.repeats > 0:
            print()
        if args.repeats > 0:
            print_costs(comparison, kinds)


if __name__ == "__main__":
    main()
