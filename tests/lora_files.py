"""Adapters of low rank with random weights, in PEFT's format for the bundled model and as GGUF files for any model."""
import array
import json
import pathlib
import random
import struct

N_LAYERS, D_MODEL, D_KV, D_FF = 5, 256, 128, 768
SIZES = {"self_attn.q_proj": (D_MODEL, D_MODEL), "self_attn.k_proj": (D_KV, D_MODEL), "self_attn.v_proj": (D_KV, D_MODEL),
         "self_attn.o_proj": (D_MODEL, D_MODEL), "mlp.gate_proj": (D_FF, D_MODEL), "mlp.up_proj": (D_FF, D_MODEL),
         "mlp.down_proj": (D_MODEL, D_FF)}


def write_safetensors(path, tensors):
    """{name: (shape, floats)} as F32."""
    header, data = {}, b""
    for name, (shape, values) in tensors.items():
        own = array.array("f", values).tobytes()
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(own)]}
        data += own
    text = json.dumps(header).encode()
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + data)


def write_adapter(folder, seed, rank=4, size=0.5, modules=("self_attn.q_proj", "self_attn.v_proj", "mlp.down_proj"), **config):
    """A PEFT folder; `size`: the magnitude of its numbers. Returns its path."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    draw = random.Random(seed)
    tensors = {}
    for layer in range(N_LAYERS):
        for module in modules:
            n_out, n_in = SIZES[module]
            at = f"base_model.model.model.layers.{layer}.{module}"
            tensors[f"{at}.lora_A.weight"] = ([rank, n_in], [draw.uniform(-size, size) for _ in range(rank * n_in)])
            tensors[f"{at}.lora_B.weight"] = ([n_out, rank], [draw.uniform(-size, size) for _ in range(n_out * rank)])
    write_safetensors(folder / "adapter_model.safetensors", tensors)
    settings = {"peft_type": "LORA", "r": rank, "lora_alpha": 2 * rank, "bias": "none", "task_type": "CAUSAL_LM", **config}
    (folder / "adapter_config.json").write_text(json.dumps(settings))
    return folder


def gguf_string(value):
    return struct.pack("<Q", len(value)) + value.encode()


def write_gguf_adapter(path, architecture, shapes, rank, size=0.01):
    """In the format of convert_lora_to_gguf.py, for the matrices of `shapes`, {name: (columns, rows)}; `size`: the
    magnitude of its numbers, the same few thousand again and again."""
    string_kind, f32_kind, f32_type, alignment = 8, 6, 0, 32
    draw = random.Random(1)
    pool = array.array("f", [draw.uniform(-size, size) for _ in range(4099)]).tobytes()
    infos, data, at = b"", [], 0
    for name, (n_cols, n_rows) in shapes.items():
        for end, shape in ((".lora_a", (n_cols, rank)), (".lora_b", (rank, n_rows))):
            infos += gguf_string(name + end) + struct.pack("<IQQIQ", 2, *shape, f32_type, at)
            n_bytes = 4 * shape[0] * shape[1]
            data.append((pool * (n_bytes // len(pool) + 1))[:n_bytes] + bytes(-n_bytes % alignment))
            at += len(data[-1])
    keys = b"".join(gguf_string(key) + struct.pack("<I", string_kind) + gguf_string(value) for key, value in
                    (("general.type", "adapter"), ("adapter.type", "lora"), ("general.architecture", architecture)))
    keys += gguf_string("adapter.lora.alpha") + struct.pack("<If", f32_kind, 2.0 * rank)
    head = b"GGUF" + struct.pack("<IQQ", 3, 2 * len(shapes), 4) + keys + infos
    pathlib.Path(path).write_bytes(head + bytes(-len(head) % alignment) + b"".join(data))
