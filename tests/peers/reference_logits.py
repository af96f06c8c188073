#!/usr/bin/env python3
"""Logits of families that llama.cpp does not support, by the formulas of transformers' models, in double precision and
without any library: the reference of tests/data/conformance for them. Reads NAME.gguf, made by make_conformance, and
writes NAME.tokens.json and NAME.logits.npy next to it, like llama_logits.
Usage: reference_logits.py NAME [SEED]"""
import array
import json
import math
import random
import struct
import sys

N_TOKENS, N_ROWS = 48, 16


def read_gguf(path):
    """(keys, tensors): tensors as lists of numbers, of rows, or of matrices. All are F32."""
    with open(path, "rb") as file:
        data = file.read()
    at = 4 + 4
    n_tensors, n_keys = struct.unpack_from("<QQ", data, at)
    at += 16
    formats = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}

    def take(form):
        nonlocal at
        value = struct.unpack_from("<" + form, data, at)[0]
        at += struct.calcsize("<" + form)
        return value

    def text():
        nonlocal at
        n = take("Q")
        at += n
        return data[at - n:at].decode()

    def value(kind):
        if kind == 8:
            return text()
        if kind == 9:
            kind, n = take("I"), take("Q")
            return [value(kind) for _ in range(n)]
        return take(formats[kind])

    keys = {}
    for _ in range(n_keys):
        name = text()
        keys[name] = value(take("I"))
    found = []
    for _ in range(n_tensors):
        name = text()
        shape = [take("Q") for _ in range(take("I"))]
        kind, offset = take("I"), take("Q")
        assert kind == 0, "F32 alone"
        found.append((name, shape, offset))
    alignment = keys.get("general.alignment", 32)
    start = (at + alignment - 1) // alignment * alignment
    tensors = {}
    for name, shape, offset in found:
        n = math.prod(shape)
        tensor = list(struct.unpack_from(f"<{n}f", data, start + offset))
        for dim in shape[:-1]:
            tensor = [tensor[i:i + dim] for i in range(0, len(tensor), dim)]
        tensors[name] = tensor
    return keys, tensors


def dot(a, b):
    return math.fsum(x * y for x, y in zip(a, b))


def linear(weight, x, bias=None):
    y = [dot(row, x) for row in weight]
    return y if bias is None else [a + b for a, b in zip(y, bias)]


def layer_norm(x, weight, bias, eps):
    mean = math.fsum(x) / len(x)
    variance = math.fsum((a - mean) ** 2 for a in x) / len(x)
    return [(a - mean) / math.sqrt(variance + eps) * w + b for a, w, b in zip(x, weight, bias)]


def gelu_tanh(x):
    return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))


def gelu_erf(x):
    return 0.5 * x * (1 + math.erf(x / math.sqrt(2)))


def silu(x):
    return x / (1 + math.exp(-x))


def add(*rows):
    return [math.fsum(numbers) for numbers in zip(*rows)]


def softmax(x):
    most = max(x)
    weights = [math.exp(a - most) for a in x]
    total = math.fsum(weights)
    return [w / total for w in weights]


def attend(queries, keys, values, score, window=None):
    """One head of causal attention; score(q, k, i, j) of the query at i and the key at j. `window`: of keys that a
    query sees, its own included."""
    out = []
    for i, q in enumerate(queries):
        seen = range(max(0, i + 1 - (window or i + 1)), i + 1)
        weights = softmax([score(q, keys[j], i, j) for j in seen])
        out.append([math.fsum(w * values[j][d] for w, j in zip(weights, seen)) for d in range(len(values[0]))])
    return out


def heads_of(rows, n_heads):
    """[n_heads][n_tokens][head_dim]"""
    dim = len(rows[0]) // n_heads
    return [[row[h * dim:(h + 1) * dim] for row in rows] for h in range(n_heads)]


def merged(heads):
    return [[x for head in heads for x in head[i]] for i in range(len(heads[0]))]


def as_bfloat16(x):
    """The nearest number with eight bits of mantissa, ties to even."""
    bits = struct.unpack("<I", struct.pack("<f", x))[0]
    bits = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def gptj(get, t, tokens):
    """GPTJModel: x + attention(ln_1(x)) + mlp(ln_1(x)); pairs (2i, 2i + 1) of the first rotary_dim are rotated."""
    n_heads, n_rot, eps = get("attention.head_count"), get("rope.dimension_count"), get("attention.layer_norm_epsilon")

    def rotated(head, pos):
        head = list(head)
        for i in range(0, n_rot, 2):
            angle = pos * 10000.0 ** (-i / n_rot)
            a, b = head[i], head[i + 1]
            head[i] = a * math.cos(angle) - b * math.sin(angle)
            head[i + 1] = b * math.cos(angle) + a * math.sin(angle)
        return head

    rows = [t["token_embd.weight"][token] for token in tokens]
    for layer in range(get("block_count")):
        w = {name: t.get(f"blk.{layer}.{name}") for name in (
            "attn_norm.weight", "attn_norm.bias", "attn_q.weight", "attn_k.weight", "attn_v.weight",
            "attn_output.weight", "ffn_up.weight", "ffn_up.bias", "ffn_down.weight", "ffn_down.bias")}
        normed = [layer_norm(x, w["attn_norm.weight"], w["attn_norm.bias"], eps) for x in rows]
        q, k, v = (heads_of([linear(w[f"attn_{part}.weight"], x) for x in normed], n_heads) for part in "qkv")
        heads = []
        for h in range(n_heads):
            own_q = [rotated(x, i) for i, x in enumerate(q[h])]
            own_k = [rotated(x, i) for i, x in enumerate(k[h])]
            scale = 1 / math.sqrt(len(own_q[0]))
            heads.append(attend(own_q, own_k, v[h], lambda a, b, i, j: dot(a, b) * scale))
        attended = [linear(w["attn_output.weight"], x) for x in merged(heads)]
        hidden = [[gelu_tanh(a) for a in linear(w["ffn_up.weight"], x, w["ffn_up.bias"])] for x in normed]
        fed = [linear(w["ffn_down.weight"], x, w["ffn_down.bias"]) for x in hidden]
        rows = [add(*parts) for parts in zip(rows, attended, fed)]
    rows = [layer_norm(x, t["output_norm.weight"], t["output_norm.bias"], eps) for x in rows]
    return [linear(t["output.weight"], x, t.get("output.bias")) for x in rows]


def falcon_rw(get, t, tokens):
    """FalconModel with alibi and without parallel_attn: the scores and ALiBi's numbers are divided by the root of
    head_dim together. transformers stores the slopes in bfloat16. It also rounds their products with positions, which
    is omitted here and in the program: it changes the conformance model's logits by 2e-3 of their range."""
    n_heads, eps = get("attention.head_count"), get("attention.layer_norm_epsilon")
    first = 2 ** math.floor(math.log2(n_heads))
    slopes = [2 ** (-8 / first * (h + 1)) for h in range(first)]
    slopes += [2 ** (-4 / first * (2 * h + 1)) for h in range(n_heads - first)]
    slopes = [as_bfloat16(slope) for slope in slopes]
    rows = [t["token_embd.weight"][token] for token in tokens]
    for layer in range(get("block_count")):
        def w(name):
            return t[f"blk.{layer}.{name}"]
        normed = [layer_norm(x, w("attn_norm.weight"), w("attn_norm.bias"), eps) for x in rows]
        fused = [linear(w("attn_qkv.weight"), x, w("attn_qkv.bias")) for x in normed]
        n = len(fused[0]) // 3
        q, k, v = (heads_of([row[part * n:(part + 1) * n] for row in fused], n_heads) for part in range(3))
        heads = []
        for h in range(n_heads):
            scale = 1 / math.sqrt(len(q[h][0]))
            heads.append(attend(q[h], k[h], v[h], lambda a, b, i, j: (dot(a, b) + slopes[h] * j) * scale))
        attended = [linear(w("attn_output.weight"), x, w("attn_output.bias")) for x in merged(heads)]
        rows = [add(*parts) for parts in zip(rows, attended)]
        normed = [layer_norm(x, w("ffn_norm.weight"), w("ffn_norm.bias"), eps) for x in rows]
        hidden = [[gelu_erf(a) for a in linear(w("ffn_up.weight"), x, w("ffn_up.bias"))] for x in normed]
        fed = [linear(w("ffn_down.weight"), x, w("ffn_down.bias")) for x in hidden]
        rows = [add(*parts) for parts in zip(rows, fed)]
    rows = [layer_norm(x, t["output_norm.weight"], t["output_norm.bias"], eps) for x in rows]
    return [linear(t.get("output.weight", t["token_embd.weight"]), x) for x in rows]


FAMILIES = {"gptj": gptj, "falcon-rw": falcon_rw}


def write_npy(path, rows):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({len(rows)}, {len(rows[0])}), }}"
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    with open(path, "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        array.array("f", [x for row in rows for x in row]).tofile(out)


def main():
    name = sys.argv[1]
    keys, tensors = read_gguf(name + ".gguf")
    family = keys["general.architecture"]
    chosen = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    n_vocab = len(tensors["token_embd.weight"])
    tokens = [chosen.randrange(n_vocab) for _ in range(N_TOKENS)]
    logits = FAMILIES[family](lambda key: keys[f"{family}.{key}"], tensors, tokens)
    write_npy(name + ".logits.npy", logits[-N_ROWS:])
    with open(name + ".tokens.json", "w") as out:
        out.write(json.dumps(tokens) + "\n")


if __name__ == "__main__":
    main()
