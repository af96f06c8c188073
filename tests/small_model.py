"""Small models with known answers: a token in `answers` is followed by the one named there, whatever came before, and
any other by the letter z. Written as a GGUF file or as a Hugging Face folder, with the metadata of any maker."""
import json
import pathlib
import random
import struct

from gguf_edit import ARRAY, STRING
from lora_files import write_safetensors

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
D_MODEL, D_FF, N_HEADS, N_CTX = 64, 32, 2, 128
U32, I32, F32, BOOL = 4, 5, 6, 7
LETTERS = [chr(code) for code in range(33, 127)]


def byte_letters():
    """The character for each byte in vocabularies like GPT-2's."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(byte) if byte in plain else chr(next(others)) for byte in range(256)]


class Vocabulary:
    """`pieces`: [(text, type)] by id. `kind`: "gpt2", byte letters without merges; "llama", SentencePiece's BPE."""

    def __init__(self, kind, specials):
        self.kind = kind
        if kind == "gpt2":
            self.pieces = [(letter, NORMAL) for letter in byte_letters()] + [("th", NORMAL)] + list(specials)
        else:
            head = [("<unk>", UNKNOWN), ("<s>", CONTROL), ("</s>", CONTROL)]
            named = dict(specials)
            self.pieces = [(text, named.pop(text, own)) for text, own in head]
            self.pieces += [(f"<0x{byte:02X}>", BYTE) for byte in range(256)]
            self.pieces += [(letter, NORMAL) for letter in ["\u2581", *LETTERS]]
            self.pieces += [(text, own) for text, own in specials if text in named]

    def id(self, text):
        return [piece for piece, _ in self.pieces].index(text)

    def specials(self):
        """[(id, text, type)] of all that are more than letters and bytes."""
        return [(i, text, own) for i, (text, own) in enumerate(self.pieces)
                if own in (UNKNOWN, CONTROL, USER_DEFINED) or (own == NORMAL and len(text) > 2)]


def weights(vocabulary, answers):
    """{Hugging Face's name: (shape, numbers)} of a Llama whose layer adds nothing: the head of a token that follows
    another equals that one's embedding."""
    draw = random.Random(7)
    n_vocab = len(vocabulary.pieces)
    rows = [[draw.gauss(0, 1) for _ in range(D_MODEL)] for _ in range(n_vocab)]
    last = vocabulary.id("z")
    follows = {vocabulary.id(text): vocabulary.id(after) for text, after in answers.items()}
    head = [[0.0] * D_MODEL for _ in range(n_vocab)]
    # Only the first number leads to z as the next one.
    for token in range(n_vocab):
        rows[token][0] = 0.0 if token in follows else 40.0
        if token in follows:
            head[follows[token]] = [a + b for a, b in zip(head[follows[token]], rows[token])]
    head[last][0] = 8.0
    zeros = {"self_attn.q_proj": (D_MODEL, D_MODEL), "self_attn.k_proj": (D_MODEL, D_MODEL),
             "self_attn.v_proj": (D_MODEL, D_MODEL), "self_attn.o_proj": (D_MODEL, D_MODEL),
             "mlp.gate_proj": (D_FF, D_MODEL), "mlp.up_proj": (D_FF, D_MODEL), "mlp.down_proj": (D_MODEL, D_FF)}
    tensors = {"model.embed_tokens.weight": ((n_vocab, D_MODEL), sum(rows, [])),
               "lm_head.weight": ((n_vocab, D_MODEL), sum(head, [])),
               "model.norm.weight": ((D_MODEL,), [1.0] * D_MODEL)}
    for norm in ("input_layernorm", "post_attention_layernorm"):
        tensors[f"model.layers.0.{norm}.weight"] = ((D_MODEL,), [1.0] * D_MODEL)
    for name, shape in zeros.items():
        tensors[f"model.layers.0.{name}.weight"] = (shape, [0.0] * (shape[0] * shape[1]))
    return tensors


GGUF_NAMES = {"model.embed_tokens": "token_embd", "lm_head": "output", "model.norm": "output_norm",
              "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q",
              "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
              "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}


def gguf_name(name):
    stem = name.removesuffix(".weight")
    layer = stem.removeprefix("model.layers.0.")
    return f"blk.0.{GGUF_NAMES[layer]}.weight" if layer != stem else f"{GGUF_NAMES[stem]}.weight"


def text_bytes(text):
    return struct.pack("<Q", len(text.encode())) + text.encode()


def spelled(value):
    """A value's kind and bytes in GGUF."""
    if isinstance(value, bool):
        return struct.pack("<I?", BOOL, value)
    if isinstance(value, int):
        return struct.pack("<II", U32, value) if value >= 0 else struct.pack("<Ii", I32, value)
    if isinstance(value, float):
        return struct.pack("<If", F32, value)
    if isinstance(value, str):
        return struct.pack("<I", STRING) + text_bytes(value)
    if value and isinstance(value[0], str):
        return struct.pack("<IIQ", ARRAY, STRING, len(value)) + b"".join(map(text_bytes, value))
    code, kind = ("f", F32) if value and isinstance(value[0], float) else ("i", I32)
    return struct.pack("<IIQ", ARRAY, kind, len(value)) + struct.pack(f"<{len(value)}{code}", *value)


def gguf_metadata(vocabulary):
    texts, types = zip(*vocabulary.pieces)
    metadata = {"general.architecture": "llama", "llama.context_length": N_CTX, "llama.embedding_length": D_MODEL,
                "llama.block_count": 1, "llama.feed_forward_length": D_FF, "llama.attention.head_count": N_HEADS,
                "llama.attention.layer_norm_rms_epsilon": 1e-5, "llama.rope.dimension_count": D_MODEL // N_HEADS,
                "tokenizer.ggml.model": vocabulary.kind, "tokenizer.ggml.tokens": list(texts),
                "tokenizer.ggml.token_type": list(types)}
    if vocabulary.kind == "gpt2":
        return metadata | {"tokenizer.ggml.pre": "gpt-2", "tokenizer.ggml.merges": ["t h"]}
    return metadata | {"tokenizer.ggml.scores": [-float(i) for i in range(len(texts))]}


def write_tensors(path, metadata, tensors):
    """A GGUF file of `tensors`: {name: (shape, numbers)}."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata))
    head += b"".join(text_bytes(key) + spelled(value) for key, value in metadata.items())
    data = b""
    for name, (shape, numbers) in tensors.items():
        head += text_bytes(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *reversed(shape), 0, len(data))
        data += struct.pack(f"<{len(numbers)}f", *numbers)
        data += bytes(-len(data) % 32)
    pathlib.Path(path).write_bytes(head + bytes(-len(head) % 32) + data)
    return path


def write_gguf(path, vocabulary, answers, metadata):
    """`metadata` is merged into such a model's; None removes a key."""
    keys = {key: value for key, value in (gguf_metadata(vocabulary) | metadata).items() if value is not None}
    return write_tensors(path, keys, {gguf_name(name): tensor for name, tensor in weights(vocabulary, answers).items()})


def added_token(i, text, own, **flags):
    return {"id": i, "content": text, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
            "special": own == CONTROL} | flags


def tokenizer_json(vocabulary, **parts):
    added = [added_token(*special) for special in vocabulary.specials() if special[2] != NORMAL]
    model = {"type": "BPE", "vocab": {text: i for i, (text, _) in enumerate(vocabulary.pieces)}, "merges": []}
    if vocabulary.kind == "gpt2":
        model["merges"] = ["t h"]
        byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
        kind = {"normalizer": None, "pre_tokenizer": byte_level, "decoder": byte_level}
    else:
        model |= {"unk_token": "<unk>", "byte_fallback": True, "fuse_unk": True}
        spaces = {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}
        back = {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}
        kind = {"normalizer": spaces, "pre_tokenizer": None,
                "decoder": {"type": "Sequence", "decoders": [back, {"type": "ByteFallback"}, {"type": "Fuse"}]}}
    return {"version": "1.0", "added_tokens": added, "post_processor": None, "model": model} | kind | parts


def with_bos(vocabulary, bos):
    """A post-processor that puts this token before a text."""
    sequence = {"Sequence": {"id": "A", "type_id": 0}}
    first = {"SpecialToken": {"id": bos, "type_id": 0}}
    return {"type": "TemplateProcessing", "single": [first, sequence],
            "pair": [first, sequence, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {bos: {"id": bos, "ids": [vocabulary.id(bos)], "tokens": [bos]}}}


def sentencepiece_model(vocabulary):
    """tokenizer.model: a protobuf of pieces, with the trainer's BPE and byte fallback."""
    def varint(value):
        out = b""
        while value > 127:
            out += bytes([value & 127 | 128])
            value >>= 7
        return out + bytes([value])

    def number(field, value):
        return varint(field << 3) + varint(value)

    def nested(field, value):
        return varint(field << 3 | 2) + varint(len(value)) + value

    out = b""
    for i, (text, own) in enumerate(vocabulary.pieces):
        score = varint(2 << 3 | 5) + struct.pack("<f", -i)
        out += nested(1, nested(1, text.encode()) + score + number(3, own))
    trainer = number(3, 2) + number(35, 1)
    normalizer = nested(1, b"identity") + number(3, 1) + number(4, 0) + number(5, 1)
    return out + nested(2, trainer) + nested(3, normalizer)


def config_json(vocabulary, **settings):
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": D_MODEL,
              "intermediate_size": D_FF, "num_hidden_layers": 1, "num_attention_heads": N_HEADS,
              "num_key_value_heads": N_HEADS, "vocab_size": len(vocabulary.pieces), "max_position_embeddings": N_CTX,
              "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "hidden_act": "silu", "tie_word_embeddings": False,
              "torch_dtype": "float32"} | settings
    return {key: value for key, value in config.items() if value is not None}


def write_folder(path, vocabulary, answers, files):
    """`files`: {name: JSON, text or bytes}, where "config.json" has the additions to a Llama's; None omits one. By
    default there is a tokenizer.json."""
    folder = pathlib.Path(path)
    folder.mkdir(parents=True)
    write_safetensors(folder / "model.safetensors", weights(vocabulary, answers))
    tokenizers = {"tokenizer.json", "tokenizer.model", "tekken.json", "vocab.json"}
    if not tokenizers & files.keys():
        files = files | {"tokenizer.json": tokenizer_json(vocabulary)}
    config = files.get("config.json", {})
    if isinstance(config, dict):
        files = files | {"config.json": config_json(vocabulary, **config)}
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            continue
        if not isinstance(content, (bytes, str)):
            content = json.dumps(content, ensure_ascii=False)
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return folder
