#!/usr/bin/env python3
"""Time to the first token of a chat's second turn, after an answer of --answer tokens: the server need not recompute
the cached part of the first turn. realizar and llama.cpp's server take turns; prints the medians over --reps chats. Run
nothing else at the same time. Standard library only.

  bench/server/second_turn.py build/release/bin/realizar llama-server MODEL.gguf [--answer 500] [--pause 3] [--reps 5]
      [--threads 2] [--serve-options="--no-idle-prefill"] [--out FILE.json]
Without a peer ('-' for its path) only realizar is measured. --pause is the time between the turns, in which a person
reads the answer, and an idle server may prepare for the next question. The model must have a chat template, and write
as much as allowed: answer_tokens shows that. A model of random weights needs --words, since its answers are not texts
that would be split into the same tokens again."""
import argparse
import json
import pathlib
import shlex
import statistics
import time
import urllib.request

from run import Server, free_port

WORDS = "river stone winter market garden letter engine harbor museum forest bridge kitchen window journey mountain".split()


def question(seed, n_words):
    """Words in an order determined by the seed, so that no two chats share more than the template's beginning."""
    state, words = seed * 2654435761 + 1, []
    for _ in range(n_words):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        words.append(WORDS[(state >> 33) % len(WORDS)])
    return f"Story {seed}. Write a long story about these words: " + " ".join(words) + "."


def post(server, path, body):
    return urllib.request.urlopen(urllib.request.Request(server.url + path, json.dumps(body).encode(),
                                                         {"Content-Type": "application/json"}))


def bias_of(server, words):
    """The logit_bias that allows only the tokens of these words."""
    with post(server, "/tokenize", {"content": words, "add_special": False}) as answer:
        return {str(token): 100 for token in json.load(answer)["tokens"]}


def ask(server, messages, n_tokens, ignores_end=False, bias=None):
    """The streamed answer: its text, the time to its first piece, and the server's report on its cache."""
    body = {"messages": messages, "max_tokens": n_tokens, "temperature": 0, "ignore_eos": ignores_end, "stream": True,
            "stream_options": {"include_usage": True}, "cache_prompt": True}
    if bias:
        body["logit_bias"] = bias
    start, first_token_ms, text, usage = time.monotonic(), None, "", {}
    with post(server, "/v1/chat/completions", body) as answer:
        for line in answer:
            if not line.startswith(b"data: {"):
                continue
            event = json.loads(line[6:])
            usage = event.get("usage") or usage
            for choice in event.get("choices", []):
                delta = choice.get("delta", {})
                piece = (delta.get("reasoning_content") or "") + (delta.get("content") or "")
                if piece and first_token_ms is None:
                    first_token_ms = (time.monotonic() - start) * 1e3
                text += delta.get("content") or ""
    if first_token_ms is None:
        raise SystemExit(f"{server.url} gave no token")
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens")
    return text, {"first_token_ms": first_token_ms, "prompt_tokens": usage.get("prompt_tokens"),
                  "answer_tokens": usage.get("completion_tokens"), "cached_tokens": cached}


def chat(server, args, seed):
    messages = [{"role": "user", "content": question(seed, args.question)}]
    bias = bias_of(server, args.words) if args.words else None
    text, first = ask(server, messages, args.answer, args.ignore_eos, bias)
    time.sleep(args.pause)
    messages += [{"role": "assistant", "content": text}, {"role": "user", "content": "And what came of it in the end?"}]
    return {"first": first, "second": ask(server, messages, 8, bias=bias)[1]}


def programs_of(args):
    common = [args.model, "--port", "{port}", "--threads", str(args.threads)]
    programs = {"realizar": ([args.realizar, "serve", *common, "--ctx", str(args.ctx),
                              *shlex.split(args.serve_options)], "/readyz")}
    if args.peer != "-":
        programs["llama.cpp"] = ([args.peer, "-m", args.model, "--port", "{port}", "-t", str(args.threads), "-np", "1",
                                  "-c", str(args.ctx), "--no-webui", "--jinja"], "/health")
    return programs


def median_of(runs, turn, key):
    values = [run[turn][key] for run in runs if run[turn][key] is not None]
    return statistics.median(values) if values else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("realizar")
    parser.add_argument("peer")
    parser.add_argument("model")
    parser.add_argument("--answer", type=int, default=500, help="tokens of the first turn's answer")
    parser.add_argument("--ignore-eos", action="store_true",
                        help="for models that end too early; the answer's text may then be cut into other tokens than it had")
    parser.add_argument("--words", help="the answer's tokens are those of these words alone, e.g. ' a b c d e f g h'")
    parser.add_argument("--question", type=int, default=100, help="words of the first turn's question")
    parser.add_argument("--pause", type=float, default=3, help="seconds between the turns")
    parser.add_argument("--ctx", type=int, default=4096)
    parser.add_argument("--reps", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--serve-options", default="", help="further options of realizar serve")
    parser.add_argument("--out")
    args = parser.parse_args()

    runs = {}
    for name, (command, health) in programs_of(args).items():
        port = free_port()
        with Server([str(port) if part == "{port}" else part for part in command], port, health) as server:
            chat(server, args, 0)  # warms up
            runs[name] = [chat(server, args, seed) for seed in range(1, args.reps + 1)]
        print(f"{name}:")
        for turn in ("first", "second"):
            row = {key: median_of(runs[name], turn, key) for key in runs[name][0][turn]}
            print(f"  {turn} turn: " + ", ".join(f"{key} {value:.0f}" for key, value in row.items() if value is not None),
                  flush=True)
    if args.out:
        pathlib.Path(args.out).write_text(json.dumps({"arguments": vars(args), "runs": runs}, indent=1))


if __name__ == "__main__":
    main()
