#!/usr/bin/env python3
"""Compares the effect of a LoRA adapter with llama.cpp's: a random adapter in GGUF for every matrix of a model's
attention and ffns, loaded by both servers with the same model. Each program continues texts greedily, without the
adapter and with it at several scales; compares the tokens, and the log probabilities of the likeliest ones at each
position.

  bench/quality/lora.py build/release/bin/realizar /path/to/llama-server MODEL.gguf [--rank 16] [--tokens 24]

Use a file in F32 or F16: quantized arithmetic differs between the programs by more than an adapter's effect."""
import argparse
import json
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tests")]
from lora import shapes_of  # noqa: E402
from lora_files import write_gguf_adapter  # noqa: E402

TEXTS = ("The little dog ran into the", "Once upon a time there was a little girl who", "In the beginning God created",
         "And the king said unto the people,")
SCALES = (0.0, 1.0, 0.5, -1.0)
DEADLINE_S = 120


def ask(url, body):
    request = urllib.request.Request(url + "/completion", json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=DEADLINE_S) as answer:
        return json.load(answer)


def await_ready(url, process):
    end = time.monotonic() + DEADLINE_S
    while True:
        try:
            with urllib.request.urlopen(url + "/health", timeout=5) as answer:
                if answer.status == 200:
                    return
        except (urllib.error.URLError, ConnectionError):
            pass
        assert process.poll() is None, "the server has ended"
        assert time.monotonic() < end, "the server is not ready"
        time.sleep(0.05)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Program:
    def __init__(self, *command):
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.process = subprocess.Popen([*command, "--port", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        await_ready(self.url, self.process)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(timeout=DEADLINE_S)

    def continued(self, text, scale, n_tokens):
        """The ids of the tokens, and for each position {id: log probability} of the likeliest."""
        body = {"prompt": text, "temperature": 0, "n_predict": n_tokens, "n_probs": 8, "cache_prompt": False, "seed": 1,
                "samplers": ["temperature"], "lora": [{"id": 0, "scale": scale}]}
        places = ask(self.url, body)["completion_probabilities"]
        return [place["id"] for place in places], [{p["id"]: p["logprob"] for p in place["top_logprobs"]} for place in places]


def compare(ours, peers):
    """How many tokens are equal from the beginning, of how many, and the largest difference of a log probability
    there."""
    (own_ids, own), (peer_ids, peer) = ours, peers
    n_tokens = min(len(own_ids), len(peer_ids))
    # an end token may be reported
    assert max(len(own_ids), len(peer_ids)) <= n_tokens + 1, "one has ended long before the other"
    n_same = next((i for i, (a, b) in enumerate(zip(own_ids, peer_ids)) if a != b), n_tokens)
    apart = 0.0
    for a, b in zip(own[:n_same + 1], peer[:n_same + 1]):
        apart = max([apart, *(abs(a[token] - b[token]) for token in a.keys() & b.keys())])
    return n_same, n_tokens, apart


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("realizar")
    parser.add_argument("llama_server")
    parser.add_argument("model")
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--tokens", type=int, default=24)
    parser.add_argument("--size", type=float, default=0.05, help="of the adapter's numbers")
    args = parser.parse_args()
    architecture, shapes = shapes_of(args.model)
    with tempfile.TemporaryDirectory() as folder:
        adapter = str(pathlib.Path(folder) / "lora.gguf")
        write_gguf_adapter(adapter, architecture, shapes, args.rank, args.size)
        with Program(args.realizar, "serve", args.model, "--lora", adapter, "--ctx", "512", "--backend", "cpu", "--kv-type",
                     "f32") as own, \
                Program(args.llama_server, "-m", args.model, "--lora", adapter, "--ctx-size", "512", "--parallel", "1", "-ctk",
                        "f32", "-ctv", "f32") as peer:
            print("| scale | texts | tokens that are the same | largest difference of a log probability |\n|---|---|---|---|")
            first = {}
            for scale in SCALES:
                results = [(own.continued(t, scale, args.tokens), peer.continued(t, scale, args.tokens)) for t in TEXTS]
                compared = [compare(*result) for result in results]
                first[scale] = [result[0][0] for result in results]
                n_same, n_tokens, _ = map(sum, zip(*compared))
                print(f"| {scale} | {len(TEXTS)} | {n_same} of {n_tokens} | {max(apart for *_, apart in compared):.1e} |")
            assert first[0.0] != first[1.0], "the adapter has changed nothing: choose a larger --size"


if __name__ == "__main__":
    main()
