#!/usr/bin/env python3
"""The expected speed of one model shared by several machines (tensor split, one token at a time), by calculation: bytes
and messages per token, memory per node and tokens/s, as Markdown tables for docs/scale.md. Nothing here is measured.

  bench/scale_model.py [--nodes 1,2,4,8,16] [--bandwidth 40,200] [--context 4096] [--node-gb 64]
      [--network NAME:LATENCY_US:GBIT_PER_S]...

A node stores and reads 1/n of the matrices and of the keys and values, which are stored several times if there are more
nodes than KV heads; the embedding, of which a token reads one row, is on each. After the attention and after the ffn of
each layer the nodes join sums of d_model F32 per token. Short messages go from each node to every other (n - 1 messages
of the whole sum); if that is slower, each node first adds up its n-th part and then sends it to all (2 (n - 1) messages
of an n-th, two latencies). At the end the first node gets the others' logits.

  time of a token = bytes read on a node / memory bandwidth + sum over joins (latencies + bytes sent by a node / rate)

Nothing overlaps, and arithmetic, norms and barriers within a node cost nothing, so real machines are slower.
--bandwidth: GB/s that one node reads; --node-gb: its memory; a model that needs more is not run."""
import argparse
import dataclasses

F32 = KV_BYTES = 4  # KV_BYTES: a key and a value in F16
JOINS_PER_LAYER = 2
PROMPT_ROWS = 512
BLOCK_BYTES = {"Q4_K": 144 / 256, "Q6_K": 210 / 256, "Q8_0": 34 / 32}  # of one weight
GB = 1e9


@dataclasses.dataclass(frozen=True)
class Shape:
    name: str
    n_layers: int
    d_model: int
    d_ff: int
    n_heads: int
    n_kv_heads: int = 8
    head_dim: int = 128
    n_vocab: int = 128256


# From each model's config.json.
SHAPES = [
    Shape("Llama 3.1 8B", 32, 4096, 14336, 32),
    Shape("Llama 3.1 70B", 80, 8192, 28672, 64),
    Shape("Llama 3.1 405B", 126, 16384, 53248, 128),
]


@dataclasses.dataclass(frozen=True)
class Network:
    name: str
    latency_s: float
    bytes_per_s: float

    @staticmethod
    def parse(text):
        name, latency_us, gbit_per_s = text.rsplit(":", 2)
        return Network(name, float(latency_us) * 1e-6, float(gbit_per_s) * 1e9 / 8)


def keeps_more_bits(layer, n_layers):
    """Like make_model.cpp: layers whose attn_v and ffn_down are in Q6_K in the mix Q4_K_M."""
    return layer < n_layers // 8 or layer >= 7 * n_layers // 8 or (layer - n_layers // 8) % 3 == 2


def layer_bytes(shape, mix, layer):
    d_kv = shape.n_kv_heads * shape.head_dim
    plain = 2 * shape.d_model**2 + shape.d_model * d_kv + 2 * shape.d_model * shape.d_ff  # q, o, k, gate, up
    sensitive = shape.d_model * d_kv + shape.d_model * shape.d_ff  # v, down
    if mix == "Q8_0":
        return (plain + sensitive) * BLOCK_BYTES["Q8_0"]
    return plain * BLOCK_BYTES["Q4_K"] + sensitive * BLOCK_BYTES["Q6_K" if keeps_more_bits(layer, shape.n_layers) else "Q4_K"]


def matrix_bytes(shape, mix):
    """The weights read for each token: the layers and the output."""
    output = shape.n_vocab * shape.d_model * BLOCK_BYTES["Q8_0" if mix == "Q8_0" else "Q6_K"]
    return output + sum(layer_bytes(shape, mix, layer) for layer in range(shape.n_layers))


def embedding_bytes(shape, mix):
    return shape.n_vocab * shape.d_model * BLOCK_BYTES["Q8_0" if mix == "Q8_0" else "Q4_K"]


def kv_bytes(shape, n_tokens):
    return n_tokens * shape.n_layers * shape.n_kv_heads * shape.head_dim * KV_BYTES


def read_bytes(shape, mix, n_nodes, n_context):
    """The bytes that a node reads for a token."""
    return matrix_bytes(shape, mix) / n_nodes + kv_bytes(shape, n_context) / min(n_nodes, shape.n_kv_heads)


def node_bytes(shape, mix, n_nodes, n_context):
    return read_bytes(shape, mix, n_nodes, n_context) + embedding_bytes(shape, mix)


@dataclasses.dataclass(frozen=True)
class Join:
    """The messages of one node for one sum over all, and their time."""
    n_messages: int
    n_bytes: float
    seconds: float


def join(network, n_nodes, n_bytes):
    if n_nodes == 1:
        return Join(0, 0, 0)
    others = n_nodes - 1
    direct = Join(others, others * n_bytes, network.latency_s + others * n_bytes / network.bytes_per_s)
    parts = 2 * others * n_bytes / n_nodes
    in_parts = Join(2 * others, parts, 2 * network.latency_s + parts / network.bytes_per_s)
    return min(direct, in_parts, key=lambda way: way.seconds)


def joins_of(shape, network, n_nodes, n_rows=1):
    """All sums of a step."""
    one = join(network, n_nodes, n_rows * shape.d_model * F32)
    n = JOINS_PER_LAYER * shape.n_layers
    return Join(n * one.n_messages, n * one.n_bytes, n * one.seconds)


def logits_seconds(shape, network, n_nodes):
    received = shape.n_vocab * F32 * (n_nodes - 1) / n_nodes
    return network.latency_s + received / network.bytes_per_s if n_nodes > 1 else 0


def token_seconds(args, shape, mix, network, bandwidth, n_nodes):
    read = read_bytes(shape, mix, n_nodes, args.context)
    return read / (bandwidth * GB) + joins_of(shape, network, n_nodes).seconds + logits_seconds(shape, network, n_nodes)


def print_head(cells):
    print("\n| " + " | ".join(cells) + " |\n|" + "---|" * len(cells))


def print_row(cells):
    print("| " + " | ".join(cells) + " |")


def columns(args):
    return [f"{n} node{'s' if n > 1 else ''}" for n in args.nodes]


def memory_table(args):
    print(f"\nMemory a node, with keys and values of {args.context:,} tokens in F16:")
    print_head(["model"] + columns(args))
    for shape in SHAPES:
        for mix in ("Q4_K_M", "Q8_0"):
            sizes = [node_bytes(shape, mix, n, args.context) for n in args.nodes]
            print_row([f"{shape.name} {mix}"] + [f"{size / GB:.1f} GB" for size in sizes])


def traffic_table(args):
    print(f"\nSums that a node sends for each token, messages / bytes; and the time of all sums of a prompt of {PROMPT_ROWS} "
          "tokens in one step:")
    for network in args.network:
        print_head([network.name] + [f"{n} nodes" for n in args.nodes if n > 1])
        for shape in SHAPES:
            cells = []
            for n in (n for n in args.nodes if n > 1):
                sent, prompt = joins_of(shape, network, n), joins_of(shape, network, n, PROMPT_ROWS)
                cells.append(f"{sent.n_messages:,} / {sent.n_bytes / 1e6:.1f} MB; {prompt.seconds:.2f} s")
            print_row([shape.name] + cells)


def speed_row(args, shape, mix, network, bandwidth):
    """tokens/s, and the ratio to the fewest nodes on which the model fits."""
    cells, first = [], None
    for n in args.nodes:
        if node_bytes(shape, mix, n, args.context) > args.node_gb * GB:
            cells.append("-")
            continue
        rate = 1 / token_seconds(args, shape, mix, network, bandwidth, n)
        first = first or rate
        cells.append(f"{rate:.1f} ({rate / first:.2f} x)")
    return cells


def speed_table(args):
    print(f"\nDecode, tokens/s of one sequence at {args.context:,} tokens (times the fewest nodes that hold the model; -: a "
          f"node has less than it needs, {args.node_gb:g} GB):")
    for network in args.network:
        print_head([f"{network.name}: model, memory bandwidth of a node"] + columns(args))
        for shape in SHAPES:
            for mix in ("Q4_K_M", "Q8_0"):
                for bandwidth in args.bandwidth:
                    print_row([f"{shape.name} {mix}, {bandwidth:g} GB/s"] + speed_row(args, shape, mix, network, bandwidth))


def main():
    def numbers(kind):
        return lambda text: [kind(word) for word in text.split(",")]

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=numbers(int), default=[1, 2, 4, 8, 16])
    parser.add_argument("--bandwidth", type=numbers(float), default=[40, 200])
    parser.add_argument("--context", type=int, default=4096)
    parser.add_argument("--node-gb", type=float, default=64)
    parser.add_argument("--network", type=Network.parse, action="append")
    args = parser.parse_args()
    args.network = args.network or [Network.parse("10 GbE (20 us):20:10"), Network.parse("InfiniBand (2 us):2:200")]
    print("By arithmetic, not measured (`bench/scale_model.py`): " + "; ".join(
        f"{n.name}: {n.latency_s * 1e6:g} us and {n.bytes_per_s * 8e-9:g} Gbit/s" for n in args.network) + ".")
    memory_table(args)
    traffic_table(args)
    speed_table(args)


if __name__ == "__main__":
    main()
