#!/usr/bin/env python3
"""One model shared by two processes of one thread each, with realizar and with programs that can do the same: llama.cpp
with RPC and distributed-llama. All take turns; medians as a Markdown table, with realizar's tensor split relative to
each. Run nothing else at the same time. Programs that are not given are skipped.

  bench/ranks.py MODEL.gguf [--realizar PATH] [--llama-bench PATH] [--llama-modes host,layer,tensor]
      [--dllama PATH --dllama-model FILE.m --dllama-tokenizer FILE.t] [-p 512] [-n 32] [-r 5] [--rate 10gbit] [--out
      R.json]

Without --rate the processes are on this machine, each bound to a core, and use TCP over loopback; --btl '' leaves the
choice to Open MPI, which uses shared memory. With --rate they are on the two hosts of net_rig.py, which needs root.
llama.cpp's modes: `host` keeps half of the layers in llama-bench and gives half to an RPC server (--llama-ngl: how many
of the layers, and the output); `layer` and `tensor` give all to two RPC servers, by its --split-mode."""
import argparse
import contextlib
import json
import os
import pathlib
import re
import shlex
import socket
import statistics
import subprocess
import sys
import time

import net_rig

HERE = pathlib.Path(__file__).resolve().parent
N_RANKS = 2
TENSOR = "realizar, 2 ranks, tensor split"


class Loopback:
    """This machine in place of net_rig.Rig's hosts: rank i has core i."""

    def __init__(self, btl):
        self.btl = btl

    def address(self, host):
        return "127.0.0.1"

    def command(self, host, command):
        cpus = sorted(os.sched_getaffinity(0))
        return ["taskset", "-c", str(cpus[host % len(cpus)]), *command]

    def mpirun(self, command):
        words = ["mpirun", "-n", str(N_RANKS), "--bind-to", "core"]
        if os.geteuid() == 0:
            words += ["--allow-run-as-root"]
        if self.btl:
            words += ["--mca", "pml", "ob1", "--mca", "btl", self.btl, "--mca", "btl_tcp_if_include", "lo"]
        return [*words, *command]


class Failed(Exception):
    pass


def output_of(command):
    result = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if result.returncode != 0:
        said = (result.stderr + result.stdout).strip().splitlines()
        why = next((line for line in said if "rror" in line or "nknown" in line), said[-1] if said else "no message")
        raise Failed(f"{command[0]} ended with {result.returncode}: {why.strip()}")
    return result.stdout


def realizar(args, words, launch=lambda command: command):
    told = output_of(launch([args.realizar, "bench", args.model, "--backend", "cpu", "-p", str(args.prompt), "-n",
                             str(args.gen), "-r", "1", "--json", *words, *shlex.split(args.realizar_args)]))
    lines = [json.loads(line) for line in told.splitlines() if line.startswith("{")]
    if len(lines) != 1:  # a build without MPI runs the whole model in each process
        raise Failed(f"{len(lines)} processes measured for themselves, expected one that measures them all")
    line = lines[0]
    figures = {"prefill": line["prefill_tok_s"]["median"], "decode": line["decode_tok_s"]["median"]}
    if "exchange_per_token" in line:
        figures |= line["exchange_per_token"]["decode"]
    return figures


def free_port():
    with socket.socket() as s:
        s.bind(("", 0))
        return s.getsockname()[1]


def listens(pid, port):
    """Whether any process in the network namespace of that process listens there."""
    table = pathlib.Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]
    return any(line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "0A" for line in table)


@contextlib.contextmanager
def worker(place, host, command, port):
    """A program that serves `port` on that host, for the duration of a with block."""
    with net_rig.running(place.command(host, command), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while not listens(process.pid, port):
            if process.poll() is not None:
                raise Failed(f"{command[0]} ended with {process.returncode} before it listened")
            time.sleep(0.05)
        yield f"{place.address(host)}:{port}"


def llama_bench(args, place, mode, servers):
    words = [args.llama_bench, "-m", args.model, "--rpc", ",".join(servers), "-t", "1", "-r", "1", "-o", "json"]
    words += ["-ngl", str(args.llama_ngl)] if mode == "host" else ["-ngl", "999", "-sm", mode]
    words += shlex.split(args.llama_args)

    def rate(*what):
        return json.loads(output_of(place.command(0, [*words, *map(str, what)])))[0]["avg_ts"]

    return {"prefill": rate("-p", args.prompt, "-n", 0), "decode": rate("-p", 0, "-n", args.gen, "-d", args.prompt)}


def llama_cpp(args, place, mode):
    program = args.rpc_server or str(pathlib.Path(args.llama_bench).with_name("ggml-rpc-server"))
    with contextlib.ExitStack() as stack:
        servers = []
        for host in ([1] if mode == "host" else range(N_RANKS)):
            port = free_port()
            command = [program, "-t", "1", "-H", place.address(host), "-p", str(port)]
            servers.append(stack.enter_context(worker(place, host, command, port)))
        return llama_bench(args, place, mode, servers)


def dllama(args, place):
    """Its tokenizer may make a different number of tokens of the prompt than characters; the rates are by its own
    count."""
    port = free_port()
    with worker(place, 1, [args.dllama, "worker", "--port", str(port), "--nthreads", "1"], port) as address:
        prompt = ("the quick brown fox jumps over the lazy dog " * (1 + args.prompt // 44))[:args.prompt]
        n_tokens = args.prompt + args.gen
        words = ["--model", args.dllama_model, "--tokenizer", args.dllama_tokenizer, "--buffer-float-type", "q80"]
        words += ["--nthreads", "1", "--temperature", "0", "--seed", "1", "--max-seq-len", str(n_tokens + 64)]
        words += ["--prompt", prompt, "--steps", str(n_tokens), "--workers", address]
        told = output_of(place.command(0, [args.dllama, "inference", *words]))
    rates = re.findall(r"tokens/s: ([0-9.]+)", told)
    if len(rates) != 2:
        raise Failed("dllama told no rates")
    return {"prefill": float(rates[0]), "decode": float(rates[1])}


def ranked(args, place, split):
    return realizar(args, ["-t", "1", "--split", split], place.mpirun)


def programs(args, place):
    """Name -> function that measures it once; and notes on missing programs."""
    found, notes = {}, []
    if pathlib.Path(args.realizar).exists():
        found["realizar, 1 process, 1 thread"] = lambda: realizar(args, ["-t", "1"])
        found["realizar, 1 process, 2 threads"] = lambda: realizar(args, ["-t", "2"])
        found[TENSOR] = lambda: ranked(args, place, "tensor")
        found["realizar, 2 ranks, layer split"] = lambda: ranked(args, place, "layer")
    else:
        notes.append(f"realizar is skipped: there is no {args.realizar}")
    names = {"host": "llama.cpp, RPC, half of the layers", "layer": "llama.cpp, 2 RPC servers, layer split",
             "tensor": "llama.cpp, 2 RPC servers, tensor split"}
    for mode in args.llama_modes.split(",") if args.llama_bench else []:
        found[names[mode]] = lambda mode=mode: llama_cpp(args, place, mode)
    if not args.llama_bench:
        notes.append("llama.cpp is skipped: no --llama-bench")
    if args.dllama and args.dllama_model and args.dllama_tokenizer:
        found["distributed-llama, 2 nodes"] = lambda: dllama(args, place)
    else:
        notes.append("distributed-llama is skipped: --dllama, --dllama-model and --dllama-tokenizer are needed")
    return found, notes


def in_turns(args, found, notes):
    """Name -> the measurements of its turns; a program that fails once is left out from then on."""
    runs = {name: [] for name in found}
    for turn in range(args.reps):
        for name, measure in found.items():
            if name not in runs:
                continue
            try:
                runs[name].append(measure())
            except Failed as problem:
                notes.append(f"{name} is left out: {problem}")
                del runs[name]
                continue
            figures = runs[name][-1]
            print(f"turn {turn + 1}: {name}: {figures['prefill']:.1f} / {figures['decode']:.1f}", file=sys.stderr, flush=True)
    return runs


def print_table(medians):
    base = TENSOR if TENSOR in medians else next(iter(medians))
    counted = any("bytes" in row for row in medians.values())
    head = ["tokens/s", "prefill", "decode", f"{base} against it: prefill", "decode"]
    head += ["messages a token", "bytes a token", "waiting a token"] if counted else []
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for name, row in medians.items():
        cells = [name, f"{row['prefill']:.1f}", f"{row['decode']:.1f}"]
        cells += [f"{medians[base][phase] / row[phase]:.2f}" for phase in ("prefill", "decode")]
        if "bytes" in row:
            cells += [f"{row['messages']:.1f}", f"{row['bytes']:,.0f}", f"{row['wait_ms']:.2f} ms"]
        print("| " + " | ".join(cells + [""] * (len(head) - len(cells))) + " |")


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("-p", "--prompt", type=int, default=512)
    parser.add_argument("-n", "--gen", type=int, default=32)
    parser.add_argument("-r", "--reps", type=int, default=5)
    parser.add_argument("--realizar", default=str(HERE.parent / "build/release/bin/realizar"))
    parser.add_argument("--realizar-args", default="")
    parser.add_argument("--llama-bench")
    parser.add_argument("--rpc-server", help="default: ggml-rpc-server beside llama-bench")
    parser.add_argument("--llama-modes", default="host,layer,tensor")
    parser.add_argument("--llama-ngl", type=int, default=9, help="default: half of Llama 3.2 1B's layers, and the output")
    parser.add_argument("--llama-args", default="")
    parser.add_argument("--dllama")
    parser.add_argument("--dllama-model")
    parser.add_argument("--dllama-tokenizer")
    parser.add_argument("--btl", default="tcp,self", help="Open MPI's transports, without --rate")
    parser.add_argument("--rate", help="run on the hosts of net_rig.py, in tc's units")
    parser.add_argument("--out")
    return parser.parse_args()


def main():
    args = parsed()
    net_rig.end_on_signals()
    try:
        with net_rig.Rig(args.rate) if args.rate else contextlib.nullcontext(Loopback(args.btl)) as place:
            found, notes = programs(args, place)
            runs = in_turns(args, found, notes)
    except net_rig.Unavailable as problem:
        print(f"no rig on this machine: {problem}", file=sys.stderr)
        return net_rig.CANNOT
    medians = {name: {what: statistics.median(turn[what] for turn in turns) for what in turns[0]} for name, turns in runs.items()}
    if medians:
        print_table(medians)
    for note in notes:
        print(f"\n{note}")
    if args.out:
        pathlib.Path(args.out).write_text(json.dumps({"arguments": vars(args), "medians": medians, "runs": runs}, indent=1))
    return 0 if medians else 1


if __name__ == "__main__":
    sys.exit(main())
