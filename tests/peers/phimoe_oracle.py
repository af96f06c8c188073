#!/usr/bin/env python3
"""Computes the output of a Phi-3.5-MoE folder, from the formulas of its model in Hugging Face's transformers, in double
precision: LayerNorms, LongRoPE with its two factors, a sliding window, and SparseMixer's choice of experts.

usage: phimoe_oracle.py FOLDER
Reads phimoe.gguf (the weights, made by `make_conformance FOLDER/phimoe.gguf`) and phimoe.tokens.json, writes
phimoe-folder.logits.npy: float32 [16, n_vocab], the logits of the last 16 of 48 tokens. tests/hf_families_test.cpp
writes the folder with the settings below and compares. """
import json
import math
import pathlib
import sys

from reference_logits import (add, attend, dot, heads_of, layer_norm, linear, merged, read_gguf, silu, softmax,
                              write_npy)

N_HEADS, N_KV_HEADS, EPS, THETA = 4, 2, 1e-3, 10000.0
WINDOW, NOISE = 20, 0.3
LONG_FACTORS, LONG_MSCALE = [1.0, 1.5, 2.0, 4.0], 1.25  # 48 tokens are more than the original context of 32


def rotated(head, pos):
    half = len(head) // 2
    out = list(head)
    for i in range(half):
        angle = pos * THETA ** (-i / half) / LONG_FACTORS[i]
        c, s = math.cos(angle) * LONG_MSCALE, math.sin(angle) * LONG_MSCALE
        out[i] = head[i] * c - head[i + half] * s
        out[i + half] = head[i + half] * c + head[i] * s
    return out


def attention(rows, t, prefix):
    def project(name, n_heads):
        return heads_of([linear(t[f"{prefix}.{name}.weight"], x, t[f"{prefix}.{name}.bias"]) for x in rows], n_heads)

    def rotate(heads):
        return [[rotated(x, pos) for pos, x in enumerate(head)] for head in heads]

    def score(q, k, *_):
        return dot(q, k) / math.sqrt(len(q))

    q, k = rotate(project("attn_q", N_HEADS)), rotate(project("attn_k", N_KV_HEADS))
    v = project("attn_v", N_KV_HEADS)
    shared_by = N_HEADS // N_KV_HEADS
    heads = [attend(q[h], k[h // shared_by], v[h // shared_by], score, WINDOW) for h in range(N_HEADS)]
    return [linear(t[f"{prefix}.attn_output.weight"], x, t[f"{prefix}.attn_output.bias"]) for x in merged(heads)]


def sparse_mixer(logits):
    """[(expert, weight)] of the two chosen ones."""
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
    for e, weight in sparse_mixer(linear(t[f"{prefix}.ffn_gate_inp.weight"], x)):
        gate, up = linear(t[f"{prefix}.ffn_gate_exps.weight"][e], x), linear(t[f"{prefix}.ffn_up_exps.weight"][e], x)
        hidden = [silu(g) * u for g, u in zip(gate, up)]
        out = [o + weight * y for o, y in zip(out, linear(t[f"{prefix}.ffn_down_exps.weight"][e], hidden))]
    return out


def main():
    folder = pathlib.Path(sys.argv[1])
    _, t = read_gguf(folder / "phimoe.gguf")
    tokens = json.loads((folder / "phimoe.tokens.json").read_text())

    def norm(rows, name):
        return [layer_norm(x, t[f"{name}.weight"], t[f"{name}.bias"], EPS) for x in rows]

    rows = [t["token_embd.weight"][i] for i in tokens]
    for layer in range(2):
        prefix = f"blk.{layer}"
        attended = attention(norm(rows, f"{prefix}.attn_norm"), t, prefix)
        rows = [add(*parts) for parts in zip(rows, attended)]
        fed = [experts(x, t, prefix) for x in norm(rows, f"{prefix}.ffn_norm")]
        rows = [add(*parts) for parts in zip(rows, fed)]
    last = norm(rows[-16:], "output_norm")
    write_npy(folder / "phimoe-folder.logits.npy",
              [linear(t["output.weight"], x, t["output.bias"]) for x in last])


if __name__ == "__main__":
    main()
