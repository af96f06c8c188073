#!/usr/bin/env python3
"""realizar quantize and realizar imatrix as used by a person and a script. Usage: quantize_test.py REALIZAR."""
import functools
import hashlib
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import struct
import subprocess
import unittest

from bundled import ROOT, TINY as MODEL
from folders import temp_folder
from gguf_edit import f32_tensors
import program
from program import REALIZAR
from waiting import DEADLINE_S, until, writes_into

TEXT = ROOT / "docs/guide.md"

# The largest divergence from the F32 model, in nats per token on a text that this model knows little of. Each bound is
# about twice the actual value: it detects a wrong scale or a lost bit, not a better search.
KL_BOUNDS = {
    "F32": 1e-12, "F16": 1e-6, "BF16": 2e-5, "Q8_0": 5e-4, "MXFP4_MOE": 5e-4, "Q6_K": 3e-3, "Q5_1": 7e-3, "Q5_0": 8e-3,
    "Q5_K_M": 7e-3, "Q5_K_S": 7e-3, "Q4_1": 0.025, "Q4_0": 0.03, "Q4_K_M": 0.02, "Q4_K_S": 0.02, "IQ4_NL": 0.03,
    "IQ4_XS": 0.03, "MXFP4": 0.06, "Q3_K_L": 0.07, "Q3_K_M": 0.07, "Q3_K_S": 0.12, "Q2_K": 0.22, "Q2_K_S": 0.33,
    "IQ3_M": 0.07, "IQ3_S": 0.07, "IQ3_XS": 0.12, "IQ3_XXS": 0.15, "IQ2_M": 0.25, "IQ2_S": 0.3, "IQ2_XS": 0.35,
    "IQ2_XXS": 0.47, "IQ1_M": 0.7, "IQ1_S": 0.8, "TQ1_0": 1.1, "TQ2_0": 1.1,
}
NEEDS_IMPORTANCE = {"IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S"}


realizar = functools.partial(program.run, text=False)


def digest(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.at = temp_folder(cls)
        cls.source = cls.at / "source.gguf"
        made = realizar("quantize", MODEL, cls.source, "F32", "--allow-requantize")
        assert made.returncode == 0, made.stderr.decode()

    def succeeds(self, *args, **options):
        result = realizar(*args, **options)
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        return result.stdout.decode()

    def fails(self, code, *args, naming, **options):
        result = realizar(*args, **options)
        stderr = result.stderr.decode()
        self.assertEqual(result.returncode, code, stderr)
        self.assertTrue(stderr.startswith("realizar: "), stderr)
        self.assertIn(naming, stderr)

    def divergence(self, path):
        text = self.succeeds("perplexity", path, TEXT, "--ctx", 128, "--max-windows", 2, "--against", self.source, "--json")
        return json.loads(text)["kl_divergence"]

    def types(self, path):
        return {t["name"]: t["type"] for t in json.loads(self.succeeds("inspect", path, "--tensors", "--json"))["tensors"]}

    def importance(self):
        path = self.at / "all.imatrix"
        if not path.exists():
            self.succeeds("imatrix", self.source, TEXT, "-o", path, "--ctx", 128, "--chunks", 8)
        return path

    def names(self):
        return set(os.listdir(self.at))


class Types(Case):
    def test_what_a_type_holds_comes_back_exactly(self):
        out = self.at / "again.gguf"
        self.succeeds("quantize", self.source, out, "Q8_0")
        text = self.succeeds("perplexity", out, TEXT, "--ctx", 128, "--max-windows", 1, "--against", MODEL, "--json")
        self.assertLess(json.loads(text)["kl_divergence"], 1e-12)

    def test_every_mixture_makes_a_file_that_predicts_as_its_bits_allow(self):
        listed = set(re.findall(r"([A-Z0-9_]+) \([\d.]+\)", self.succeeds("quantize", "--help").replace("\n", " ")))
        self.assertGreaterEqual(len(listed), 30)
        last = {}
        for name in sorted(listed):
            out = self.at / f"{name}.gguf"
            extra = ["--imatrix", self.importance()] if name in NEEDS_IMPORTANCE else []
            self.succeeds("quantize", self.source, out, "--type", name, *extra)
            last[name] = self.divergence(out)
            self.assertLess(last[name], KL_BOUNDS[name], name)
            out.unlink()
        self.assertLess(last["Q4_K_M"], last["Q2_K"])
        self.assertLess(last["Q6_K"], last["Q4_K_M"])
        self.assertLess(last["Q3_K_L"], last["Q3_K_S"] * 1.05)

    def test_importance_brings_a_small_file_nearer(self):
        plain, weighed = self.at / "plain.gguf", self.at / "weighed.gguf"
        self.succeeds("quantize", self.source, plain, "Q2_K_S")
        self.succeeds("quantize", self.source, weighed, "Q2_K_S", "--imatrix", self.importance())
        self.assertLess(self.divergence(weighed), self.divergence(plain))
        metadata = json.loads(self.succeeds("inspect", weighed, "--json"))["metadata"]
        self.assertEqual(metadata["quantize.imatrix.chunks_count"], 8)
        self.assertEqual(metadata["general.file_type"], 21)

    def test_patterns_and_parts_have_the_types_that_are_asked_for(self):
        out = self.at / "parts.gguf"
        self.succeeds("quantize", self.source, out, "Q4_0", "--tensor-type", r"blk\.[01]\.ffn_down=Q8_0", "--tensor-type",
                      "ffn_down=q5_1", "--token-embedding-type", "Q5_0", "--output-tensor-type", "Q8_0")
        types = self.types(out)
        self.assertEqual(types["blk.0.ffn_down.weight"], "Q8_0")
        self.assertEqual(types["blk.2.ffn_down.weight"], "Q5_1")
        self.assertEqual(types["blk.2.ffn_up.weight"], "Q4_0")
        self.assertEqual(types["token_embd.weight"], "Q8_0" if "output.weight" not in types else "Q5_0")
        self.assertEqual({kind for name, kind in types.items() if "norm" in name}, {"F32"})

    def test_metadata_is_kept_as_it_is(self):
        def kept(path):
            data = json.loads(self.succeeds("inspect", path, "--json"))["metadata"]
            return {key: value for key, value in data.items() if key not in {"general.file_type", "general.quantization_version"}}
        self.assertEqual(kept(self.source), kept(MODEL))


class Sources(Case):
    def test_a_folder_gives_the_file_that_its_gguf_form_gives(self):
        for folder in sorted((ROOT / "tests/data/conformance").glob("*-hf")):
            form, whole, direct = (self.at / f"{folder.name}-{part}.gguf" for part in ["form", "whole", "direct"])
            self.succeeds("convert", folder, form)
            self.succeeds("quantize", form, whole, "Q4_K_M")
            self.succeeds("quantize", folder, direct, "Q4_K_M", "--threads", 3)
            self.assertEqual(digest(direct), digest(whole), folder.name)

    def test_a_folder_made_of_a_file_gives_the_same_weights(self):
        folder, whole, direct = self.at / "folder", self.at / "whole.gguf", self.at / "direct.gguf"
        self.succeeds("convert", self.source, folder, "--type", "f32")
        self.succeeds("quantize", self.source, whole, "Q4_K_M")
        self.succeeds("quantize", folder, direct, "Q4_K_M")
        self.assertEqual(self.types(direct), self.types(whole))
        text = self.succeeds("perplexity", direct, TEXT, "--ctx", 128, "--max-windows", 1, "--against", whole, "--json")
        self.assertLess(json.loads(text)["kl_divergence"], 1e-12)
        # The tensors of a folder from which a matrix is made have importance under the matrix's GGUF name.
        self.succeeds("quantize", folder, direct, "IQ2_XS", "--imatrix", self.importance())
        self.assertIn("IQ2_XS", self.types(direct).values())

    def test_a_value_of_a_folder_that_is_no_number_is_named_by_its_tensor(self):
        folder = self.at / "damaged"
        self.succeeds("convert", self.source, folder, "--type", "f32")
        weights = folder / "model.safetensors"
        data = bytearray(weights.read_bytes())
        n_header, = struct.unpack_from("<Q", data)
        begin, _ = json.loads(data[8:8 + n_header])["model.layers.1.mlp.down_proj.weight"]["data_offsets"]
        struct.pack_into("<f", data, 8 + n_header + begin, float("inf"))
        weights.write_bytes(data)
        self.fails(1, "quantize", folder, self.at / "out.gguf", "Q4_0", naming="tensor 'blk.1.ffn_down.weight': row 0")
        self.assertNotIn("out.gguf", self.names())

    def test_what_is_no_model_is_refused(self):
        empty = self.at / "empty"
        empty.mkdir(exist_ok=True)
        self.fails(1, "quantize", empty, self.at / "out.gguf", "Q4_0", naming="empty")
        self.fails(1, "quantize", "hf:nobody/nothing", self.at / "out.gguf", "Q4_0", naming="realizar pull")
        self.assertNotIn("out.gguf", self.names())

    def test_a_model_is_taken_by_its_name(self):
        home = self.at / "home"
        snapshot = home / ".cache/huggingface/hub/models--maker--model/snapshots/abc"
        snapshot.mkdir(parents=True)
        (snapshot / "m-Q8_0.gguf").symlink_to(MODEL)
        (snapshot.parent.parent / "refs").mkdir()
        (snapshot.parent.parent / "refs/main").write_text("abc")
        named, given = self.at / "named.gguf", self.at / "given.gguf"
        environment = {"PATH": os.environ["PATH"], "HOME": str(home),
                       **{name: value for name, value in os.environ.items() if "SAN_OPTIONS" in name}}
        self.succeeds("quantize", "hf:maker/model:Q8_0", named, "Q4_0", "--allow-requantize", env=environment)
        self.succeeds("quantize", MODEL, given, "Q4_0", "--allow-requantize")
        self.assertEqual(digest(named), digest(given))


    def test_matrices_whose_rows_do_not_fit_are_told_of_in_a_line_for_each_type(self):
        result = realizar("quantize", ROOT / "tests/data/conformance/qwen3-hf", self.at / "narrow.gguf", "Q4_K_M")
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        lines = [line for line in result.stderr.decode().splitlines() if "not a multiple of" in line]
        for line in lines:
            self.assertRegex(line, r"^realizar: (\S+ becomes|\d+ matrices, the first of them \S+, become) [A-Z0-9_]+: rows of \d+ ")
        self.assertEqual(len(lines), len({line.split("become")[1] for line in lines}))
        self.assertTrue(lines)


class Runs(Case):
    def test_any_number_of_threads_makes_the_same_file(self):
        digests = set()
        for n_threads in [1, 2, 5]:
            out = self.at / "threads.gguf"
            self.succeeds("quantize", self.source, out, "Q3_K_M", "--threads", n_threads)
            digests.add(digest(out))
        self.assertEqual(len(digests), 1)

    def test_a_dry_run_tells_sizes_and_writes_nothing(self):
        before = self.names()
        text = self.succeeds("quantize", self.source, self.at / "none.gguf", "Q4_K_M", "--dry-run")
        self.assertIn("token_embd.weight", text)
        self.assertRegex(text, r"[\d.]+ MB of [\d.]+ MB: \d\.\d\d bits a weight\n$")
        self.assertEqual(self.names(), before)

    def test_the_file_that_is_read_is_never_replaced(self):
        before = digest(self.source)
        self.fails(1, "quantize", self.source, self.source, "Q8_0", naming="would replace")
        link = self.at / "link.gguf"
        link.symlink_to(self.source)
        self.fails(1, "quantize", self.source, link, "Q8_0", naming="would replace")
        link.unlink()
        self.assertEqual(digest(self.source), before)

    def test_no_command_writes_over_what_it_reads(self):
        model, ids, text = self.at / "read.gguf", self.at / "ids.json", self.at / "text.txt"
        shutil.copy(MODEL, model)
        ids.write_text("[1, 2]")
        text.write_text("The capital of France is Paris. " * 40)
        importance, link = self.at / "read.imatrix", self.at / "other.gguf"
        self.succeeds("imatrix", model, text, "-o", importance, "--ctx", 32)
        os.link(model, link)
        logits = ["logits", model, "--tokens", ids, "--last", 1, "--out"]
        collect = ["imatrix", model, text, "--ctx", 32, "-o"]
        run = ["run", model, "--raw", "ab", "-n", 1, "--trace-file"]
        before = {path: digest(path) for path in (model, ids, text, importance)}
        for command in [collect + [model], collect + [link], collect + [text], logits + [model], logits + [ids],
                        logits + [self.at / "out.npy", "--kv", model], run + [model], ["chat", model, "--trace-file", model],
                        ["run", "-f", text, "-m", model, "--trace-file", text],
                        ["run", model, "a", "--lora", f"{importance}=0.5", "--trace-file", importance],
                        ["bench", model, "--trace-file", model],
                        ["serve", f"id={model}", "--port", 0, "--access-log", model],
                        ["imatrix", "--add", importance, "-o", importance],
                        ["quantize", model, importance, "Q4_0", "--imatrix", importance]]:
            self.fails(1, *command, naming="would replace")
        self.fails(1, *logits, self.at / "same", "--kv", self.at / "." / "same", naming="written twice")
        self.assertEqual({path: digest(path) for path in before}, before)
        link.unlink()

    def test_no_log_is_written_over_what_a_server_finds_in_its_folders(self):
        models, adapters, store = self.at / "models", self.at / "adapters", self.at / "store"
        files = [models / "inner" / "a.GGUF", models / "hf" / "model.safetensors", models / "hf" / "config.json",
                 adapters / "one" / "adapter_model.safetensors", adapters / "one" / "adapter_config.json",
                 store / "blobs" / f"sha256-{64 * '0'}"]
        for file in files:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("weights")
        link = self.at / "log"
        os.link(files[0], link)
        for log in [*files, link]:
            self.fails(1, "serve", "--models-dir", models, "--lora-dir", adapters, "--models-store", store, "--port", 0,
                       "--access-log", log, naming="would replace")
            self.assertEqual(log.read_text(), "weights")
        link.unlink()
        # A log in the models' folder is not a model.
        for log in (models / "access.log", models / "log.json"):
            log.write_text("")
            result = realizar("serve", "--models-dir", models, "--port", 0, "--tls-cert", self.at / "none", "--tls-key",
                              self.at / "none", "--access-log", log)
            self.assertIn("none", result.stderr.decode())
            self.assertNotIn("would replace", result.stderr.decode())

    def test_no_part_of_what_is_read_is_replaced(self):
        self.succeeds("convert", self.source, self.at / "m.gguf", "--split-size", "8M")
        parts = sorted(self.at.glob("m-*-of-*.gguf"))
        before = [digest(part) for part in parts]
        self.fails(1, "quantize", parts[0], parts[1], "Q8_0", naming="would replace")
        self.fails(1, "quantize", parts[1], parts[0], "Q8_0", naming="would replace")
        self.fails(1, "run", parts[0], "a", "--trace-file", parts[-1], naming="would replace")
        self.assertEqual([digest(part) for part in parts], before)

    def test_no_file_of_a_folder_that_is_read_is_replaced(self):
        folder = self.at / "folder"
        self.succeeds("convert", MODEL, folder)
        before = {path.name: digest(path) for path in folder.iterdir()}
        for name in before:
            self.fails(1, "quantize", folder, folder / name, "Q8_0", naming="would replace")
        self.assertEqual({path.name: digest(path) for path in folder.iterdir()}, before)
        for _ in range(2):
            self.succeeds("quantize", folder, folder / "small.gguf", "Q8_0")

    def test_a_file_that_may_not_grow_leaves_nothing(self):
        before = self.names()
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        self.fails(1, "quantize", self.source, self.at / "large.gguf", "Q8_0", naming="File too large", preexec_fn=limit)
        self.assertEqual(self.names(), before)

    def test_an_interrupt_leaves_nothing(self):
        self.assertTrue(any(self.is_interrupted(self.names()) for _ in range(20)))

    def is_interrupted(self, before):
        """Whether the signal came in time. In either case no partial file is left."""
        out = self.at / "interrupted.gguf"
        process = subprocess.Popen([REALIZAR, "quantize", str(self.source), str(out), "IQ3_S", "--threads", "1"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        until(lambda: writes_into(process, self.at) or process.poll() is not None, "the beginning of the file")
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=DEADLINE_S)
        if process.returncode == 0:
            out.unlink()
            return False
        self.assertEqual(process.returncode, 130, stderr.decode())
        self.assertIn("interrupted", stderr.decode())
        self.assertEqual(self.names(), before)
        return True

    def test_a_value_that_is_no_number_is_named_by_its_tensor(self):
        damaged = self.at / "nan.gguf"
        data = bytearray(self.source.read_bytes())
        shapes = json.loads(self.succeeds("inspect", self.source, "--tensors", "--json"))["tensors"]
        # The last matrix begins before the tensors after it, each padded to 32 bytes.
        end = len(data)
        for tensor in reversed(shapes):
            end -= (tensor["bytes"] + 31) // 32 * 32
            if len(tensor["shape"]) == 2 and "norm" not in tensor["name"]:
                break
        data[end:end + 4] = struct.pack("<f", float("nan"))
        damaged.write_bytes(data)
        self.fails(1, "quantize", damaged, self.at / "out.gguf", "Q4_0", naming=f"tensor '{tensor['name']}': row 0")
        self.assertNotIn("out.gguf", self.names())
        damaged.unlink()

    def test_what_cannot_be_is_refused(self):
        out = self.at / "refused.gguf"
        self.fails(2, "quantize", self.source, out, "Q4_K_XL", naming="Q4_K_M")
        self.fails(2, "quantize", self.source, out, "Q4_0", "--tensor-type", "ffn", naming="PATTERN=TYPE")
        self.fails(2, "quantize", self.source, out, "Q4_0", "--tensor-type", "(=Q8_0", naming="regular expression")
        self.fails(2, "quantize", self.source, out, "Q4_0", "--output-tensor-type", "Q8_K", naming="--output-tensor-type")
        self.fails(1, "quantize", MODEL, out, "Q4_0", naming="--allow-requantize")
        self.fails(1, "quantize", self.source, out, "IQ2_XXS", naming="--imatrix")
        self.fails(1, "quantize", TEXT, out, "Q4_0", naming="guide.md")
        self.fails(1, "quantize", self.source, self.at / "no/such/out.gguf", "Q8_0", naming="No such file")
        self.assertFalse(out.exists())


class Importance(Case):
    def test_an_interrupted_run_is_resumed_to_the_same_file(self):
        whole, parts = self.at / "whole.imatrix", self.at / "parts.imatrix"
        options = ["--ctx", 64]
        self.succeeds("imatrix", self.source, TEXT, "-o", whole, "--chunks", 6, *options)
        self.succeeds("imatrix", self.source, TEXT, "-o", parts, "--chunks", 2, *options)
        self.fails(1, "imatrix", self.source, TEXT, "-o", parts, "--resume", "--ctx", 32, naming="cannot be resumed")
        text = self.succeeds("imatrix", self.source, TEXT, "-o", parts, "--chunks", 6, "--resume", *options)
        self.assertIn("6 chunks", text)
        first, second = (f32_tensors(path.read_bytes()) for path in [whole, parts])
        self.assertEqual(first.keys(), second.keys())
        for name, values in first.items():  # sums of an interrupted run are rounded once more
            for a, b in zip(values, second[name]):
                self.assertAlmostEqual(a, b, delta=1e-6 * abs(a) + 1e-12)

    def test_it_has_a_sum_for_each_column_of_each_matrix(self):
        tensors = f32_tensors(self.importance().read_bytes())
        matrices = {t["name"]: t["shape"] for t in json.loads(self.succeeds("inspect", self.source, "--tensors", "--json"))["tensors"]
                    if len(t["shape"]) == 2 and t["name"].startswith("blk.")}
        self.assertEqual({name for name in tensors if name.endswith(".in_sum2")}, {name + ".in_sum2" for name in matrices})
        for name, shape in matrices.items():
            self.assertEqual(len(tensors[name + ".in_sum2"]), shape[1])
            self.assertEqual(tensors[name + ".counts"], (8 * 128,))
        # Query, key and value have the same input rows.
        self.assertEqual(tensors["blk.0.attn_q.weight.in_sum2"], tensors["blk.0.attn_k.weight.in_sum2"])

    def test_any_number_of_threads_gives_the_same_sums(self):
        digests = set()
        for n_threads in [1, 3]:
            out = self.at / "threads.imatrix"
            self.succeeds("imatrix", self.source, TEXT, "-o", out, "--chunks", 2, "--ctx", 64, "--threads", n_threads)
            digests.add(digest(out))
        self.assertEqual(len(digests), 1)

    def test_sums_of_several_files_are_added(self):
        path, both = self.importance(), self.at / "both.imatrix"
        self.succeeds("imatrix", "--add", path, "--add", path, "-o", both)
        one, two = f32_tensors(path.read_bytes()), f32_tensors(both.read_bytes())
        self.assertEqual({name: tuple(2 * value for value in values) for name, values in one.items()}, two)

    def test_what_is_missing_is_named(self):
        out = self.at / "none.imatrix"
        self.fails(2, "imatrix", "-o", out, naming="model")
        self.fails(2, "imatrix", self.source, "-o", out, naming="text")
        self.fails(1, "imatrix", "--add", TEXT, "-o", out, naming="importance matrix")
        self.assertFalse(out.exists())


if __name__ == "__main__":
    unittest.main()
