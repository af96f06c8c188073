#!/usr/bin/env python3
"""llama.cpp's own tests of its server (tools/server/tests), run against a program with the name and the flags of
llama-server, without a network: each model that they would download is replaced by one made from the models of this
repository.
A test that llama-server itself fails this way depends on a certain model's answers, or on a download.
Needs pytest, pytest-timeout, requests, aiohttp and numpy.
Usage: llama_server_tests.py LLAMA_CPP PROGRAM OUT.xml [TEST...]   runs them; LLAMA_CPP is a checkout of its source
       llama_server_tests.py --table OURS.xml THEIRS.xml           counts them by file, and names those that only they
       pass"""
import collections
import math
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))
from gguf_edit import Reader, spelled, with_metadata  # noqa: E402

TINY = ROOT / "models/realizar-tiny/realizar-tiny-Q8_0.gguf"
N_POSITIONS, F32, UINT32 = 1024, 0, 4
UNUSED_TOKEN, FIM_TOKENS = 2040, {2044: "<|fim_prefix|>", 2045: "<|fim_suffix|>", 2046: "<|fim_middle|>"}

# Minimal replacements of packages that may be missing. A draft model is the only download with a replacement.
STUBS = {
    "filelock.py": """
import contextlib
@contextlib.contextmanager
def FileLock(path):
    yield
""",
    "wget.py": """
import os, shutil
def download(url, out=None):
    if "stories15M-q4_0.gguf" not in url:
        raise RuntimeError("no downloads here: " + url)
    shutil.copy(os.environ["LOCAL_MODELS"] + "/stories.gguf", out)
""",
    "openai.py": """
import json, types
import requests

def wrap(x):
    if isinstance(x, dict):
        return Obj(**{k: wrap(v) for k, v in x.items()})
    return [wrap(v) for v in x] if isinstance(x, list) else x

class Obj(types.SimpleNamespace):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
    @property
    def output_text(self):
        parts = [part for item in self.output or [] if item.type == "message" for part in item.content]
        return "".join(part.text for part in parts if part.type == "output_text")

class Create:
    def __init__(self, client, path):
        self.client, self.path = client, path
    def create(self, extra_body=None, encoding_format=None, **body):
        if encoding_format and self.path != "/embeddings":
            body["encoding_format"] = encoding_format
        reply = requests.post(self.client.base_url + self.path, json=body | (extra_body or {}), stream=bool(body.get("stream")),
                              headers={"Authorization": "Bearer " + self.client.api_key})
        if reply.status_code != 200:
            raise RuntimeError(f"{reply.status_code} {reply.text}")
        return self.events(reply) if body.get("stream") else wrap(reply.json())
    def events(self, reply):
        for line in reply.iter_lines():
            if line.startswith(b"data: ") and b"[DONE]" not in line:
                yield wrap(json.loads(line[6:]))

class OpenAI:
    def __init__(self, api_key="", base_url=""):
        self.api_key, self.base_url = api_key, base_url.rstrip("/")
        self.completions, self.embeddings = Create(self, "/completions"), Create(self, "/embeddings")
        self.responses = Create(self, "/responses")
        self.chat = types.SimpleNamespace(completions=Create(self, "/chat/completions"))
""",
}

# Put where the tests look for llama-server.
WRAPPER = """#!/usr/bin/env python3
import os, sys
program, models = os.environ["PROGRAM"], os.environ["LOCAL_MODELS"] + "/"
names = {"ggml-org/tinygemma3-GGUF:Q8_0": "tiny", "ggml-org/test-model-stories260K:F32": "stories",
         "ggml-org/test-model-stories260K-infill:F32": "infill"}
words, said, given = [], {}, iter(sys.argv[1:])
for word in given:
    if word in ("--hf-repo", "--hf-file", "--model-url", "--models-preset"):
        said[word] = next(given)
    elif word == "--model-draft":
        words += [word, models + "stories.gguf"]
        next(given)
    elif word != "--offline":
        words.append(word)
repo, file = said.get("--hf-repo", ""), said.get("--hf-file", "")
if "preset" in repo or "--models-preset" in said:
    sys.exit("this needs a download")
if repo:
    kinds = {"bge": "encoder", "rerank": "reranker", "infill": "infill", "tinygemma": "tiny"}
    words += ["-m", models + next((kinds[kind] for kind in kinds if kind in repo + file), "stories") + ".gguf"]
elif "--model" not in words and os.path.basename(program) == "realizar-server":
    words += [f"{name}={models}{file}.gguf" for name, file in names.items()]
elif "--model" not in words:
    with open(models + "preset.ini", "w") as preset:
        preset.writelines(f"[{name}]\\nmodel = {models}{file}.gguf\\n\\n" for name, file in names.items())
    words += ["--models-preset", preset.name]
os.execv(program, [program, *words])
"""


def story_models(folder):
    """The bundled model with a bos before every text and an end that it never writes, and one that supports gaps."""
    data = TINY.read_bytes()
    values = {"eos_token_id": struct.pack("<I", UNUSED_TOKEN), "bos_token_id": struct.pack("<I", 1), "add_bos_token": b"\x01"}

    def edit(key, value):
        return values.get(key.removeprefix("tokenizer.ggml."), value)

    def edit_words(key, value):
        if key != "tokenizer.ggml.tokens":
            return edit(key, value)
        return [FIM_TOKENS.get(i, word.decode()).encode() for i, word in enumerate(value)]

    roles = zip(("pre", "suf", "mid"), FIM_TOKENS)
    keys = [(f"tokenizer.ggml.fim_{role}_token_id", UINT32, struct.pack("<I", token)) for role, token in roles]
    (folder / "stories.gguf").write_bytes(with_metadata(data, edit))
    (folder / "infill.gguf").write_bytes(with_metadata(data, edit_words, keys))
    shutil.copy(TINY, folder / "tiny.gguf")


def read_head(data):
    """Metadata, tensors as (name, dims, type, offset), and the offset of the tensors."""
    reader = Reader(data)
    reader.take(8)
    n_tensors, n_keys, metadata, tensors = reader.number("Q"), reader.number("Q"), {}, []
    for _ in range(n_keys):
        key, kind = reader.string().decode(), reader.number("I")
        metadata[key] = (kind, reader.value(kind))
    for _ in range(n_tensors):
        name = reader.string()
        dims = [reader.number("Q") for _ in range(reader.number("I"))]
        tensors.append((name, dims, reader.number("I"), reader.number("Q")))
    return metadata, tensors, (reader.at + 31) // 32 * 32


def write_encoder(path, source, words):
    """An encoder of the conformance suite with the vocabulary of another, and with room for the tests' texts."""
    data = source.read_bytes()
    metadata, tensors, base = read_head(data)
    n_words = len(words["tokenizer.ggml.tokens"][1])
    metadata = {key: value for key, value in metadata.items() if not key.startswith("tokenizer.")} | words
    metadata["bert.context_length"] = (UINT32, struct.pack("<I", N_POSITIONS))
    metadata["bert.vocab_size"] = (UINT32, struct.pack("<I", n_words))
    rows, draw, heads, blobs = {b"position_embd.weight": N_POSITIONS, b"token_embd.weight": n_words}, random.Random(1), b"", b""
    for name, dims, kind, offset in tensors:
        assert kind == F32, name
        if name in rows:
            dims = [dims[0], rows[name]]
            blob = struct.pack(f"<{math.prod(dims)}f", *(draw.gauss(0, 0.5) for _ in range(math.prod(dims))))
        else:
            blob = data[base + offset:base + offset + 4 * math.prod(dims)]
        heads += spelled(8, name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, kind, len(blobs))
        blobs += blob + bytes(-len(blob) % 32)
    out = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata))
    for key, (kind, value) in metadata.items():
        out += spelled(8, key.encode()) + struct.pack("<I", kind) + spelled(kind, value)
    out += heads
    path.write_bytes(out + bytes(-len(out) % 32) + blobs)


def run(llama_cpp, program, out, tests):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        shutil.copytree(llama_cpp / "tools/server/tests", folder / "tools/server/tests")
        (folder / "models").symlink_to(llama_cpp / "models")
        for part in ("stubs", "made", "bin", "tools/server/tests/tmp"):
            (folder / part).mkdir(exist_ok=True)
        for stub, text in STUBS.items():
            (folder / "stubs" / stub).write_text(text)
        story_models(folder / "made")
        vocabulary = read_head((llama_cpp / "models/ggml-vocab-bert-bge.gguf").read_bytes())[0]
        words = {key: value for key, value in vocabulary.items() if key.startswith("tokenizer.")}
        for model, source in (("encoder", "bert"), ("reranker", "bert-rank")):
            write_encoder(folder / f"made/{model}.gguf", ROOT / f"tests/data/conformance/{source}.gguf", words)
        (folder / "bin/llama-server").write_text(WRAPPER)
        (folder / "bin/llama-server").chmod(0o755)
        if program.name == "realizar":
            (folder / "bin/realizar-server").symlink_to(program)
            program = folder / "bin/realizar-server"
        environment = os.environ | {
            "PROGRAM": str(program), "LOCAL_MODELS": str(folder / "made"), "LLAMA_CACHE": str(folder / "cache"),
            "LLAMA_SERVER_BIN_PATH": str(folder / "bin/llama-server"), "PYTHONPATH": f"{folder / 'stubs'}:."}
        environment.setdefault("PORT", "18480")
        command = [sys.executable, "-m", "pytest", "-q", "-m", "not slow", "--timeout", "60", "-p", "no:cacheprovider",
                   "--junitxml", str(out), *tests]
        return subprocess.run(command, cwd=folder / "tools/server/tests", env=environment).returncode


def read_outcomes(path):
    """'passed', 'skipped' or the message of each (file, test)."""
    outcomes = {}
    for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
        ends = [child for child in case if child.tag in ("failure", "error", "skipped")]
        told = "passed" if not ends else "skipped" if ends[0].tag == "skipped" else " ".join(ends[0].get("message", "").split())
        outcomes[case.get("classname").split(".")[-1], case.get("name")] = told
    return outcomes


def print_table(ours, theirs):
    counts = collections.defaultdict(lambda: [0, 0, 0, 0])
    for (file, test), told in theirs.items():
        own = ours.get((file, test), "not run")
        count = (1, told == "passed", own == "passed", told == own == "passed")
        counts[file] = [a + b for a, b in zip(counts[file], count)]
    print("| file | tests | llama-server passes | realizar passes | both |\n|---|---|---|---|---|")
    for file, row in [*sorted(counts.items()), ("all", [sum(column) for column in zip(*counts.values())])]:
        print(f"| `{file}` | " + " | ".join(map(str, row)) + " |")
    for key, told in theirs.items():
        if told == "passed" and ours.get(key) != "passed":
            print(*key, "|", ours.get(key, "not run")[:160])


if __name__ == "__main__":
    if sys.argv[1:2] == ["--table"]:
        print_table(*map(read_outcomes, sys.argv[2:4]))
    elif len(sys.argv) < 4:
        sys.exit(__doc__)
    else:
        sys.exit(run(*(pathlib.Path(path).resolve() for path in sys.argv[1:4]), sys.argv[4:]))
