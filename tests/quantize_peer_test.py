#!/usr/bin/env python3
"""Files of realizar quantize and realizar imatrix in llama.cpp's programs, and the reverse.

usage: quantize_peer_test.py REALIZAR [--llama FOLDER] [--table]

FOLDER contains llama-server, llama-quantize and llama-imatrix; by default they are looked up on PATH, and if they are
missing the test prints a message and ends with 77, which ctest shows as skipped. --table prints the measurements.
"""
import array
import json
import math
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import urllib.request

from bundled import ROOT, TINY as MODEL
from folders import temp_folder
from gguf_edit import f32_tensors
from program import REALIZAR
from waiting import DEADLINE_S

TEXT = ROOT / "docs/guide.md"
PROGRAMS = ["llama-server", "llama-quantize", "llama-imatrix"]
LLAMA, TABLE = {}, False
NEEDS_IMPORTANCE = {"IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S"}
# Prompts of these lengths, each the beginning of the next.
LENGTHS = [1, 2, 7, 16, 33, 64, 100, 150]

# The largest difference of a program's logits from those of the same weights with F32 activations, as a share of their
# range. llama.cpp rounds activations to 16 bits for F16 and BF16, and both programs round them to 8 bits, in blocks, for
# quantized matrices: on this model that moves a logit by up to a fortieth of the range in the one program or the other.
BOUNDS = {"F32": 1e-3, "F16": 1e-3, "BF16": 5e-3}
ROUNDED_BOUND = 4e-2


def run(*command):
    result = subprocess.run([str(word) for word in command], capture_output=True, timeout=DEADLINE_S, stdin=subprocess.DEVNULL)
    if result.returncode != 0:
        raise AssertionError(f"{command[0]} ends with {result.returncode}: {result.stderr.decode(errors='replace')[-2000:]}")
    return result.stdout.decode()


def table(*cells):
    if TABLE:
        print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def read_npy(path):
    """The rows of a float32 matrix."""
    data = path.read_bytes()
    n_header, = struct.unpack_from("<H", data, 8)
    n_cols = int(re.search(r"'shape': \(\d+, (\d+)\)", data[10:10 + n_header].decode()).group(1))
    values = array.array("f", data[10 + n_header:])
    return [values[at:at + n_cols] for at in range(0, len(values), n_cols)]


def largest_share(values, exact):
    """The largest difference, as a share of the range of the exact values."""
    return max(abs(a - b) for a, b in zip(values, exact)) / (max(exact) - min(exact))


def log_softmax(logits):
    largest = max(logits)
    total = largest + math.log(math.fsum(math.exp(value - largest) for value in logits))
    return [value - total for value in logits]


class LlamaServer:
    """llama-server with one model, on a port that the system chooses."""

    def __init__(self, model):
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen([LLAMA["llama-server"], "-m", str(model), "--host", "127.0.0.1", "--port", "0", "-t", "1",
                                         "-c", "512", "--offline"], stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL)

    def __enter__(self):
        pattern = re.compile(rb"listening on (http://127\.0\.0\.1:\d+)")
        while self.process.poll() is None:
            found = pattern.search(self.messages())
            if found:
                self.url = found.group(1).decode()
                return self
            try:
                self.process.wait(0.02)
            except subprocess.TimeoutExpired:
                pass
        raise AssertionError(f"llama-server ended: {self.messages().decode(errors='replace')[-2000:]}")

    def messages(self):
        return os.pread(self.log.fileno(), 1 << 20, 0)

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.log.close()

    def log_probabilities(self, tokens, n_vocab):
        body = {"prompt": tokens, "n_predict": 1, "n_probs": n_vocab, "temperature": 0, "cache_prompt": False}
        request = urllib.request.Request(self.url + "/completion", json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=DEADLINE_S) as answer:
            top = json.load(answer)["completion_probabilities"][0]["top_logprobs"]
        values = [None] * n_vocab
        for entry in top:
            values[entry["id"]] = entry["logprob"]
        return values


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.at = temp_folder(cls)
        cls.source = cls.at / "source.gguf"
        run(REALIZAR, "quantize", MODEL, cls.source, "F16", "--allow-requantize")
        cls.own, cls.theirs, cls.dat = (cls.at / name for name in ["ours.gguf", "theirs.gguf", "theirs.dat"])
        run(REALIZAR, "imatrix", cls.source, TEXT, "-o", cls.own, "--ctx", 128, "--chunks", 8)
        common = [LLAMA["llama-imatrix"], "-m", cls.source, "-f", TEXT, "-c", 128, "-b", 128, "--chunks", 8, "-t", 1, "--no-ppl"]
        run(*common, "-o", cls.theirs)
        run(*common, "-o", cls.dat, "--output-format", "dat")


class Logits(Case):
    def our_rows(self, model, tokens, *options):
        """Log probabilities after each length. A row only depends on the tokens before it, so one prompt gives all."""
        names, out = self.at / "tokens.json", self.at / "logits.npy"
        names.write_text(json.dumps(tokens))
        run(REALIZAR, "logits", model, "--tokens", names, "--out", out, "--threads", 1, *options)
        rows = read_npy(out)
        return [log_softmax(rows[n - 1]) for n in LENGTHS]

    def their_rows(self, model, tokens, n_vocab):
        with LlamaServer(model) as server:
            return [server.log_probabilities(tokens[:n], n_vocab) for n in LENGTHS]

    def test_every_mixture_predicts_the_same_in_both(self):
        mixtures = re.findall(r"([A-Z0-9_]+) \([\d.]+\)", run(REALIZAR, "quantize", "--help").replace("\n", " "))
        self.assertGreaterEqual(len(mixtures), 30)
        tokens = [int(word) for word in run(REALIZAR, "tokenize", MODEL, "--ids", "-f", TEXT).split()][:LENGTHS[-1]]
        table("type", "ours and llama.cpp's", "ours and exact", "llama.cpp's and exact")
        for mixture in mixtures:
            with self.subTest(mixture):
                model = self.at / f"{mixture}.gguf"
                extra = ["--imatrix", self.own] if mixture in NEEDS_IMPORTANCE else []
                run(REALIZAR, "quantize", self.source, model, mixture, *extra)
                exact = self.our_rows(model, tokens, "--backend", "reference")
                ours, theirs = self.our_rows(model, tokens), self.their_rows(model, tokens, len(exact[0]))
                model.unlink()
                between, own, other = (max(map(largest_share, *pair)) for pair in [(ours, theirs), (ours, exact), (theirs, exact)])
                table(mixture, *(f"{share:.1e}" for share in [between, own, other]))
                self.assertLess(max(own, other), BOUNDS.get(mixture, ROUNDED_BOUND))


class Importance(Case):
    def same_entries(self, first, second):
        first, second = f32_tensors(first.read_bytes()), f32_tensors(second.read_bytes())
        self.assertEqual(first.keys(), second.keys())
        return first, second

    def test_both_measure_the_same_importance(self):
        ours, theirs = self.same_entries(self.own, self.theirs)
        largest, total = {}, {}
        for name, values in ours.items():
            if name.endswith(".counts"):
                self.assertEqual(values, theirs[name], name)
                continue
            self.assertEqual(len(values), len(theirs[name]), name)
            largest[name] = max(abs(a - b) / max(b, 1e-30) for a, b in zip(values, theirs[name]))
            total[name] = abs(sum(values) - sum(theirs[name])) / sum(theirs[name])
        table("largest relative difference of a column", f"{max(largest.values()):.1e}")
        table("largest relative difference of a matrix's sum", f"{max(total.values()):.1e}")
        # F16 weights and keys and values in F16: both round, each in a different order.
        self.assertLess(max(total.values()), 2e-3)
        self.assertLess(max(largest.values()), 2e-2)

    def test_their_files_are_read(self):
        sums = self.at / "sum.gguf"
        for path in [self.theirs, self.dat]:
            out = self.at / "weighed.gguf"
            run(REALIZAR, "quantize", self.source, out, "IQ2_XS", "--imatrix", path)
            run(REALIZAR, "imatrix", "--add", path, "--add", path, "-o", sums)
        run(REALIZAR, "imatrix", "--add", self.theirs, "--add", self.own, "-o", sums)
        ours, theirs = self.same_entries(self.own, self.theirs)
        for name, values in f32_tensors(sums.read_bytes()).items():
            for a, b, both in zip(ours[name], theirs[name], values):
                self.assertAlmostEqual(a + b, both, delta=1e-6 * both)

    def test_a_dat_file_weighs_as_the_gguf_file_does(self):
        outs = [self.at / "of-gguf.gguf", self.at / "of-dat.gguf"]
        for path, out in zip([self.theirs, self.dat], outs):
            run(REALIZAR, "quantize", self.source, out, "Q2_K_S", "--imatrix", path)
        text = run(REALIZAR, "perplexity", outs[0], TEXT, "--ctx", 128, "--max-windows", 2, "--against", outs[1], "--json")
        self.assertLess(json.loads(text)["kl_divergence"], 1e-3)

    def test_they_read_our_files(self):
        out, copy = self.at / "their-weighed.gguf", self.at / "their-copy.gguf"
        run(LLAMA["llama-quantize"], "--imatrix", self.own, self.source, out, "IQ2_XS", 1)
        run(LLAMA["llama-imatrix"], "-m", self.source, "--in-file", self.own, "-o", copy)
        ours, theirs = self.same_entries(self.own, copy)
        self.assertEqual(ours, theirs)


def main():
    global TABLE
    words = sys.argv[1:]
    folder = words.pop(words.index("--llama") + 1) if "--llama" in words else None
    TABLE = "--table" in words
    words = [word for word in words if word not in {"--llama", "--table"}]
    for name in PROGRAMS:
        LLAMA[name] = shutil.which(name, path=folder)
    missing = [name for name in PROGRAMS if LLAMA[name] is None]
    if missing:
        print(f"skipped: {', '.join(missing)} of llama.cpp not found (--llama FOLDER, or PATH)")
        return 77
    return not unittest.main(argv=[sys.argv[0], *words], exit=False).result.wasSuccessful()


if __name__ == "__main__":
    sys.exit(main())
