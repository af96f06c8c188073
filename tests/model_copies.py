"""Copies of existing small models, edited for tests."""
import pathlib
import struct

from gguf_edit import ARRAY, with_metadata

TESTS = pathlib.Path(__file__).resolve().parent
TINY = TESTS.parent / "models/realizar-tiny/realizar-tiny-Q8_0.gguf"
WORDS = ["rain", "sun", "what", "is", "water", "that", "falls", "a", "stone", "?", "."]
U32, I32 = 4, 5


def write_thinker(path, template=None):
    """The bundled model whose tokens "The" and " is" are the marks around reasoning: "The capital of France is Paris."
    becomes the thought "capital of France" and the answer "Paris.". `template`: replaces its own."""
    marks = {b"The": b"<think>", "Ġis".encode(): b"</think>"}

    def edited(key, value):
        if key == "tokenizer.chat_template":
            return (value if template is None else template.encode()) + b"{#- <think> #}"
        if key == "tokenizer.ggml.tokens":
            return [marks.get(token, token) for token in value]
        if key == "tokenizer.ggml.merges":
            return [merge for merge in value if not marks.keys() & {*merge.split(b" "), merge.replace(b" ", b"")}]
        return value

    pathlib.Path(path).write_bytes(with_metadata(TINY.read_bytes(), edited))
    return str(path)


def wordpiece(n_vocab):
    """The metadata of a vocabulary like BERT's."""
    words = ["\u2581" + word for word in WORDS]
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"] + words
    tokens += [f"[unused{i}]" for i in range(n_vocab - len(tokens))]
    types = [3 if token.startswith("[") else 1 for token in tokens]
    ids = [("unknown_token_id", 1), ("cls_token_id", 2), ("seperator_token_id", 3), ("padding_token_id", 0)]
    return [("tokenizer.ggml.tokens", ARRAY, [token.encode() for token in tokens]),
            ("tokenizer.ggml.token_type", ARRAY, struct.pack("<IQ", I32, n_vocab) + struct.pack(f"<{n_vocab}i", *types)),
            *((f"tokenizer.ggml.{key}", U32, struct.pack("<I", value)) for key, value in ids)]


def copy_with_words(name, folder):
    """A conformance model like BERT with a vocabulary of WORDS."""
    def edit(key, value):
        return b"bert" if key == "tokenizer.ggml.model" else value

    path = pathlib.Path(folder) / f"{name}.gguf"
    path.write_bytes(with_metadata((TESTS / f"data/conformance/{name}.gguf").read_bytes(), edit, wordpiece(64)))
    return str(path)


def write_infill(path):
    """The bundled model with marks around a gap among its tokens; it was not trained for them."""
    marks = {2044: b"<|fim_prefix|>", 2045: b"<|fim_suffix|>", 2046: b"<|fim_middle|>"}

    def edited(key, value):
        return [marks.get(i, token) for i, token in enumerate(value)] if key == "tokenizer.ggml.tokens" else value

    pathlib.Path(path).write_bytes(with_metadata(TINY.read_bytes(), edited))
    return str(path)
