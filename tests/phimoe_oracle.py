#!/usr/bin/env python3
"""Computes what a folder of Phi-3.5-MoE gives, from the formulas of its model in Hugging Face's transformers, in double
precision: LayerNorms, LongRoPE with its two factors, a sliding window, and SparseMixer's choice of experts.

usage: phimoe_oracle.py tests/data/conformance
Reads phimoe.gguf (the weights) and phimoe.tokens.json, writes phimoe-folder.logits.npy: float32 [16, n_vocab], the
logits of the last 16 of 48 tokens. tests/hf_families_test.cpp writes the folder with the settings below and compares.
"""
import json
import math
import pathlib
import struct
import sys

N_HEADS, N_KV_HEADS, EPS, THETA = 4, 2, 1e-3, 10000.0
WINDOW, NOISE = 20, 0.3
LONG_FACTORS, LONG_MSCALE = [1.0, 1.5, 2.0, 4.0], 1.25  # 48 tokens are more than the original context of 32


def read_gguf(path):
    """The tensors of a GGUF file of F32, by name: lists of rows, or of numbers."""
    data = path.read_bytes()
    at = 4

    def read(form):
        nonlocal at
        value = struct.unpack_from("<" + form, data, at)[0]
        at += struct.calcsize("<" + form)
        return value

    def read_string():
        nonlocal at
        n = read("Q")
        at += n
        return data[at - n:at].decode()

    def read_value(kind):
        if kind == 8:
            return read_string()
        if kind == 9:
            kind, n = read("I"), read("Q")
            return [read_value(kind) for _ in range(n)]
        return read({0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}[kind])

    read("I")
    n_tensors, n_keys = read("Q"), read("Q")
    for _ in range(n_keys):
        read_string()
        read_value(read("I"))
    infos = []
    for _ in range(n_tensors):
        name = read_string()
        shape = [read("Q") for _ in range(read("I"))][::-1]
        assert read("I") == 0, name
        infos.append((name, shape, read("Q")))
    start = (at + 31) // 32 * 32

    def nested(values, shape):
        if len(shape) == 1:
            return list(values)
        n = len(values) // shape[0]
        return [nested(values[i * n:(i + 1) * n], shape[1:]) for i in range(shape[0])]

    return {name: nested(struct.unpack_from(f"<{math.prod(shape)}f", data, start + offset), shape)
            for name, shape, offset in infos}


def dot(a, b):
    return math.fsum(x * y for x, y in zip(a, b))


def linear(x, weight, bias=None):
    y = [dot(row, x) for row in weight]
    return y if bias is None else [a + b for a, b in zip(y, bias)]


def layer_norm(x, weight, bias):
    mean = math.fsum(x) / len(x)
    variance = math.fsum((v - mean) ** 2 for v in x) / len(x)
    return [(v - mean) / math.sqrt(variance + EPS) * w + b for v, w, b in zip(x, weight, bias)]


def softmax(x):
    top = max(x)
    e = [math.exp(v - top) for v in x]
    total = math.fsum(e)
    return [v / total for v in e]


def rotated(head, pos):
    half = len(head) // 2
    out = list(head)
    for i in range(half):
        angle = pos * THETA ** (-i / half) / LONG_FACTORS[i]
        c, s = math.cos(angle) * LONG_MSCALE, math.sin(angle) * LONG_MSCALE
        out[i] = head[i] * c - head[i + half] * s
        out[i + half] = head[i + half] * c + head[i] * s
    return out


def heads_of(x, n):
    size = len(x) // n
    return [x[i * size:(i + 1) * size] for i in range(n)]


def attention(rows, t, prefix):
    def project(name):
        return [linear(x, t[f"{prefix}.{name}.weight"], t[f"{prefix}.{name}.bias"]) for x in rows]

    q = [[rotated(h, p) for h in heads_of(x, N_HEADS)] for p, x in enumerate(project("attn_q"))]
    k = [[rotated(h, p) for h in heads_of(x, N_KV_HEADS)] for p, x in enumerate(project("attn_k"))]
    v = [heads_of(x, N_KV_HEADS) for x in project("attn_v")]
    out = []
    for p in range(len(rows)):
        seen = range(max(0, p - WINDOW + 1), p + 1)
        mixed = []
        for h in range(N_HEADS):
            g = h // (N_HEADS // N_KV_HEADS)
            weights = softmax([dot(q[p][h], k[j][g]) / math.sqrt(len(q[p][h])) for j in seen])
            mixed += [math.fsum(w * v[j][g][i] for w, j in zip(weights, seen)) for i in range(len(v[0][0]))]
        out.append(linear(mixed, t[f"{prefix}.attn_output.weight"], t[f"{prefix}.attn_output.bias"]))
    return out


def sparse_mixer(logits):
    """[(expert, weight)] of the two that are chosen."""
    chosen = []
    for _ in range(2):
        left = [e for e in range(len(logits)) if e not in [c for c, _ in chosen]]
        best = max(left, key=lambda e: logits[e])
        top = logits[best]

        def is_masked(x):
            factor = max(abs(x), top)
            return factor > 0 and (top - x) / factor > 2 * NOISE

        near = [e for e in left if not is_masked(logits[e])]
        chosen.append((best, softmax([logits[e] for e in near])[near.index(best)]))
    return chosen


def experts(x, t, prefix):
    out = [0.0] * len(x)
    for e, weight in sparse_mixer(linear(x, t[f"{prefix}.ffn_gate_inp.weight"])):
        gate, up = linear(x, t[f"{prefix}.ffn_gate_exps.weight"][e]), linear(x, t[f"{prefix}.ffn_up_exps.weight"][e])
        hidden = [g / (1 + math.exp(-g)) * u for g, u in zip(gate, up)]
        out = [o + weight * y for o, y in zip(out, linear(hidden, t[f"{prefix}.ffn_down_exps.weight"][e]))]
    return out


def added(a, b):
    return [[x + y for x, y in zip(p, q)] for p, q in zip(a, b)]


def main():
    folder = pathlib.Path(sys.argv[1])
    t = read_gguf(folder / "phimoe.gguf")
    tokens = json.loads((folder / "phimoe.tokens.json").read_text())
    tokens = tokens["tokens"] if isinstance(tokens, dict) else tokens
    rows = [list(t["token_embd.weight"][i]) for i in tokens]
    for layer in range(2):
        prefix = f"blk.{layer}"
        normed = [layer_norm(x, t[f"{prefix}.attn_norm.weight"], t[f"{prefix}.attn_norm.bias"]) for x in rows]
        rows = added(rows, attention(normed, t, prefix))
        normed = [layer_norm(x, t[f"{prefix}.ffn_norm.weight"], t[f"{prefix}.ffn_norm.bias"]) for x in rows]
        rows = added(rows, [experts(x, t, prefix) for x in normed])
    last = [layer_norm(x, t["output_norm.weight"], t["output_norm.bias"]) for x in rows[-16:]]
    logits = [linear(x, t["output.weight"], t["output.bias"]) for x in last]
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': (16, {len(logits[0])}), }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    flat = [v for row in logits for v in row]
    (folder / "phimoe-folder.logits.npy").write_bytes(
        b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(flat)}f", *flat))


if __name__ == "__main__":
    main()
