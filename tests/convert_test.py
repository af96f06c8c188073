#!/usr/bin/env python3
"""realizar convert as used by a person and a script. Usage: convert_test.py REALIZAR."""
import contextlib
import ctypes
import functools
import hashlib
import json
import os
import pathlib
import resource
import select
import shutil
import signal
import struct
import subprocess
import unittest

from bundled import ROOT, TINY as MODEL
from folders import temp_folder, written
from gguf_edit import contents, with_metadata
import program
from program import REALIZAR
from waiting import DEADLINE_S, until, writes_into

PROSE = ROOT / "docs/guide.md"
MB = 1 << 20
F32, I32, STRING = 0, 5, 8
BLOCK_TYPES = [2, 8, 12, 20, 39]  # Q4_0, Q8_0, Q4_K, IQ4_NL, MXFP4


def convert_into_pipe(source, pipe):
    """The process, which waits for no reader, and the pipe's reader, which has noticed its writer."""
    os.mkfifo(pipe)
    reader = open(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0)
    process = subprocess.Popen([REALIZAR, "convert", source, pipe], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    until(lambda: select.select([reader], [], [], 0)[0] or process.poll() is not None, "the first bytes")
    os.set_blocking(reader.fileno(), True)
    return process, reader


realizar = functools.partial(program.run, text=False)


def digest(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def write_zeros(path, n_tensors, n_bytes):
    """A GGUF file of tensors of zeros, for which a file system allocates no space. Its architecture is unknown, so that
    any tensors are allowed."""
    def text(value):
        return struct.pack("<Q", len(value)) + value.encode()

    header = b"GGUF" + struct.pack("<IQQ", 3, n_tensors, 1)
    header += text("general.architecture") + struct.pack("<I", STRING) + text("zeros")
    for i in range(n_tensors):
        header += text(f"t{i}") + struct.pack("<IQQIQ", 2, 1024, n_bytes // 4096, F32, i * n_bytes)
    begin = (len(header) + 31) // 32 * 32
    with open(path, "wb") as file:
        file.write(header)
        file.truncate(begin + n_tensors * n_bytes)


@contextlib.contextmanager
def folder_events(folder):
    """A list that after the block contains the folder's removed and added names, in this order (inotify)."""
    libc, moved_to, created, deleted = ctypes.CDLL(None, use_errno=True), 0x80, 0x100, 0x200
    fd = libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
    events = []
    try:
        if fd < 0 or libc.inotify_add_watch(fd, os.fsencode(folder), moved_to | created | deleted) < 0:
            raise unittest.SkipTest("this system gives no inotify")
        yield events
        data = os.read(fd, MB)
        while data:
            _, mask, _, n_bytes = struct.unpack_from("<iIII", data)
            events.append((data[16:16 + n_bytes].rstrip(b"\0").decode(), "gone" if mask & deleted else "named"))
            data = data[16 + n_bytes:]
    finally:
        os.close(fd)


class Case(unittest.TestCase):
    def setUp(self):
        self.at = temp_folder(self)

    def succeeds(self, *args, **options):
        result = realizar("convert", *args, **options)
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        return result.stdout.decode()

    def fails(self, code, *args, naming, **options):
        """It reports the reason, and leaves existing files unchanged."""
        before = self.names()
        result = realizar("convert", *args, **options)
        stderr = result.stderr.decode()
        self.assertEqual(result.returncode, code, stderr)
        self.assertTrue(stderr.startswith("realizar: "), stderr)
        self.assertIn(naming, stderr)
        self.assertEqual(self.names(), before)

    def names(self):
        return sorted(str(path.relative_to(self.at)) for path in self.at.rglob("*"))

    def split(self, source=MODEL, name="part", size="2M"):
        self.succeeds(source, self.at / f"{name}.gguf", "--split-size", size)
        return sorted(self.at.glob(f"{name}-*.gguf"))

    def small_disk(self, n_bytes):
        disk = self.at / "disk"
        disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={n_bytes}", "none", disk], capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("mounting a small disk needs more rights")
        self.addCleanup(subprocess.run, ["umount", disk], check=True)
        return disk


class Parts(Case):
    def test_what_is_split_and_merged_has_the_same_bytes(self):
        parts = self.split()
        self.assertGreater(len(parts), 2)
        self.assertEqual([path.name for path in parts],
                         [f"part-{i + 1:05}-of-{len(parts):05}.gguf" for i in range(len(parts))])
        for path in parts:  # whichever is named, all are merged
            merged = self.at / "merged.gguf"
            self.succeeds(path, merged)
            self.assertEqual(digest(merged), digest(MODEL))
        shutil.copytree(self.at, self.at / "copy")
        self.succeeds(self.at / f"copy/{parts[0].name}", self.at / "again.gguf")
        self.assertEqual(digest(self.at / "again.gguf"), digest(MODEL))

    def test_parts_are_no_larger_than_asked_but_for_a_tensor_that_is(self):
        def n_tensors(path):
            with open(path, "rb") as file:
                return struct.unpack("<4xIQ", file.read(16))[1]

        for size, expected in [("1M", [1] * 6), ("2M", [1] * 6), ("2097152", [2] * 3), ("4M", [3] * 2), ("6M", [5, 1])]:
            with self.subTest(size=size):
                source = self.at / "zeros.gguf"
                write_zeros(source, 6, MB)
                self.assertEqual([n_tensors(path) for path in self.split(source, size=size)], expected)
                for path in self.at.glob("*.gguf"):
                    path.unlink()

    def test_parts_may_become_other_parts(self):
        few, many = self.split(name="few", size="4M"), self.split(name="many", size="1500000")
        self.assertLess(len(few), len(many))
        again = self.split(many[1], name="again", size="4M")
        self.assertEqual([digest(path) for path in again], [digest(path) for path in few])

    def test_a_size_that_holds_everything_leaves_one_file(self):
        self.assertEqual(self.split(size="1000G"), [])
        self.assertEqual(digest(self.at / "part.gguf"), digest(MODEL))

    def test_sizes_that_are_none_are_refused(self):
        for size in ["0", "-1", "-2G", "1", "999999", "1.5G", "2X", "G", "99999999999G", "1" * 40, "0x10M", "2 G"]:
            with self.subTest(size=size):
                self.fails(2, MODEL, self.at / "out.gguf", f"--split-size={size}", naming="--split-size")

    def test_a_missing_part_is_named(self):
        parts = self.split()
        parts[1].unlink()
        self.fails(1, parts[0], self.at / "merged.gguf", naming=parts[1].name)
        self.fails(1, parts[2], self.at / "merged.gguf", naming=parts[1].name)

    def test_parts_of_two_models_are_told_apart(self):
        write_zeros(self.at / "zeros.gguf", 6, MB)
        others = self.split(self.at / "zeros.gguf", "other", "2M")
        parts = self.split(size="3M")
        shutil.copy(others[1], self.at / f"part-00002-of-{len(parts):05}.gguf")
        self.fails(1, parts[0], self.at / "merged.gguf", naming="split")

    def test_parts_of_two_models_of_one_shape_are_told_apart(self):
        parts = self.split()
        other = bytearray(MODEL.read_bytes())
        other[-1] ^= 1
        (self.at / "changed.gguf").write_bytes(other)
        others = self.split(self.at / "changed.gguf", "other")
        self.assertEqual(len(parts), len(others))
        for path, another in zip(parts, others):
            whole = path.read_bytes()
            shutil.copy(another, path)
            self.fails(1, parts[0], self.at / "merged.gguf", naming="split.set_id")
            path.write_bytes(whole)
        self.succeeds(parts[0], self.at / "merged.gguf")

    def test_a_set_of_parts_begins_to_be_there_when_it_is_whole(self):
        parts = self.split()
        with folder_events(self.at) as events:
            self.split()
        first, others = parts[0].name, {path.name for path in parts[1:]}
        changes = [(name, kind) for name, kind in events if name in others | {first}]
        self.assertEqual(changes[0], (first, "gone"))
        self.assertEqual(changes[-1], (first, "named"))
        self.assertEqual(set(changes[1:-1]), {(name, "named") for name in others})

    def test_what_a_killed_process_left_goes_with_the_next_one(self):
        out, folder = self.at / "out.gguf", self.at / "folder"
        left = [self.at / f".{name}.0123456789abcdef.part" for name in ("out.gguf", "folder")]
        left[0].write_text("half a file")
        left[1].mkdir()
        (left[1] / "model.safetensors").write_text("half a file")
        self.succeeds(MODEL, out)
        self.succeeds(MODEL, folder)
        self.assertEqual(sorted(self.at.iterdir()), [folder, out])

    def test_a_part_is_never_replaced_by_what_is_made_of_it(self):
        parts = self.split()
        before = [digest(path) for path in parts]
        self.fails(1, parts[0], self.at / "part.gguf", "--split-size", "2M", naming="would replace")
        self.fails(1, parts[0], parts[1], naming="would replace")
        self.assertEqual([digest(path) for path in parts], before)

    def test_parts_of_a_folder_are_one_model_again(self):
        folder, back = self.at / "folder", self.at / "back"
        self.succeeds(MODEL, folder, "--split-size", "5M")
        self.assertTrue((folder / "model.safetensors.index.json").exists())
        self.succeeds(folder, self.at / "one.gguf")
        self.succeeds(MODEL, back)
        self.succeeds(back, self.at / "two.gguf")
        def tensors(path):
            return realizar("inspect", path, "--tensors", "--json").stdout.decode().replace(str(path), "")
        self.assertEqual(len(json.loads(tensors(self.at / "one.gguf"))["tensors"]),
                         len(json.loads(tensors(self.at / "two.gguf"))["tensors"]))


class Refusals(Case):
    def test_a_vector_in_blocks_is_refused_by_name_in_every_tool(self):
        whole = MODEL.read_bytes()
        for name in ["output_norm.weight", "blk.0.attn_norm.weight"]:
            at = whole.index(struct.pack("<Q", len(name)) + name.encode() + struct.pack("<IQI", 1, 256, F32)) + 8 + len(name) + 12
            for block_type in BLOCK_TYPES:
                path = written(self.at / "blocked.gguf", whole[:at] + struct.pack("<I", block_type) + whole[at + 4:])
                refused = realizar("run", path, "a", "-n", 1)
                self.assertEqual((refused.returncode, name in refused.stderr.decode()), (1, True), refused.stderr.decode())
                for command in [["convert", path, self.at / "folder"], ["convert", path, self.at / "out.gguf"],
                                ["quantize", path, self.at / "out.gguf", "Q4_0", "--allow-requantize"]]:
                    result = realizar(*command)
                    self.assertEqual(result.returncode, 1, (command, result.stderr.decode()))
                    self.assertIn(name, result.stderr.decode())
                    self.assertEqual(self.names(), ["blocked.gguf"])


    def test_what_run_refuses_is_refused_in_its_words_by_every_tool(self):
        def shape_at(data, name, n_dims):
            return data.index(struct.pack("<Q", len(name)) + name.encode() + struct.pack("<I", n_dims)) + 8 + len(name) + 4

        def turned(data, name):
            at = shape_at(data, name, 2)
            return data[:at] + data[at + 8:at + 16] + data[at:at + 8] + data[at + 16:]

        def shorter(data, name):
            at = shape_at(data, name, 1)
            return data[:at] + struct.pack("<Q", struct.unpack_from("<Q", data, at)[0] - 1) + data[at + 8:]

        def renamed(data, name):
            return data.replace(name.encode(), name.replace("attn", "attm").encode())

        def counted(data, key):
            return with_metadata(data, lambda k, value: struct.pack("<I", 3) if k.endswith(key) else value)

        ids = written(self.at / "ids.json", "[1]")
        for kind in ["F32", "F16", "BF16"]:
            whole = self.at / f"{kind}.gguf"
            made = realizar("quantize", MODEL, whole, kind, "--allow-requantize")
            self.assertEqual(made.returncode, 0, made.stderr.decode())
            data = whole.read_bytes()
            for edit, name in [(turned, "blk.0.ffn_up.weight"), (turned, "token_embd.weight"), (shorter, "output_norm.weight"),
                               (shorter, "blk.1.ffn_norm.weight"), (renamed, "blk.0.attn_q.weight"),
                               (counted, "attention.head_count"), (counted, "feed_forward_length")]:
                path = written(self.at / "spoiled.gguf", edit(data, name))
                self.assertNotEqual(path.read_bytes(), data)
                refused = realizar("run", path, "a", "-n", 1)
                self.assertEqual(refused.returncode, 1, (kind, name))
                before = self.names()
                for command in [["convert", path, self.at / "folder"], ["convert", path, self.at / "out.gguf"],
                                ["convert", path, self.at / "out.gguf", "--split-size", "1M"],
                                ["quantize", path, self.at / "out.gguf", "Q4_0"],
                                ["quantize", path, self.at / "out.gguf", kind], ["imatrix", path, PROSE, "-o", self.at / "out"],
                                ["logits", path, "--tokens", ids, "--out", self.at / "out.npy"]]:
                    result = realizar(*command)
                    self.assertEqual((result.returncode, result.stderr), (1, refused.stderr), command)
                self.assertEqual(self.names(), before)
            whole.unlink()

    def test_a_value_beyond_the_type_is_refused_by_name(self):
        exact = self.at / "exact.gguf"
        self.assertEqual(realizar("quantize", MODEL, exact, "F32", "--allow-requantize").returncode, 0)
        data = exact.read_bytes()
        _, tensors, begin = contents(data)
        name = "blk.1.ffn_up.weight"
        at = begin + tensors[name][2]
        exact.write_bytes(data[:at] + struct.pack("<f", 70000) + data[at + 4:])
        folder, out = self.at / "folder", self.at / "out.gguf"
        self.succeeds(exact, folder)
        self.fails(1, folder, out, "--type", "f16", naming=f"tensor '{name}': row 0 has values of up to 70000")
        self.fails(1, exact, self.at / "halves", "--type", "f16", naming="row 0 has values of up to 70000")
        quantized = realizar("quantize", exact, out, "F16")
        self.assertEqual((quantized.returncode, f"tensor '{name}': row 0" in quantized.stderr.decode()), (1, True))
        for command in [["convert", folder, out, "--type", "bf16"], ["convert", folder, out], ["quantize", exact, out, "Q8_0"]]:
            made = realizar(*command)
            self.assertEqual(made.returncode, 0, made.stderr.decode())
            self.assertEqual(realizar("run", out, "a", "-n", 1).returncode, 0)
            out.unlink()


class Places(Case):
    def test_the_model_that_is_read_is_never_replaced(self):
        own = self.at / "own.gguf"
        shutil.copy(MODEL, own)
        (self.at / "link.gguf").symlink_to(own)
        os.link(own, self.at / "hard.gguf")
        for out in [own, self.at / "link.gguf", self.at / "hard.gguf", self.at / "." / "own.gguf"]:
            self.fails(1, own, out, naming="would replace")
        self.assertEqual(digest(own), digest(MODEL))

    def test_a_file_that_is_there_is_replaced_when_the_new_one_is_complete(self):
        out = written(self.at / "out.gguf", "an older file")
        self.fails(1, self.at / "none.gguf", out, naming="none.gguf")
        self.assertEqual(out.read_text(), "an older file")
        self.succeeds(MODEL, out)
        self.assertEqual(digest(out), digest(MODEL))

    def test_a_folder_that_is_there_is_not_replaced(self):
        folder = self.at / "folder"
        folder.mkdir()
        self.succeeds(MODEL, folder)
        self.fails(1, MODEL, folder, naming="exists already")
        self.fails(1, folder, self.at / "other", naming="is a folder already")
        (self.at / "file").write_text("a file")
        self.fails(1, MODEL, self.at / "file", naming="exists already")

    def test_places_that_cannot_be_written_are_named(self):
        for out in [self.at / "no/such/out.gguf", self.at / "no/such/folder", "/proc/none/out.gguf", "/proc/none"]:
            self.fails(1, MODEL, out, naming=str(out))

    def test_a_folder_of_somebody_else_stays_as_it_is(self):
        place = self.at / "place"
        place.mkdir()
        options = {}
        if os.getuid() == 0:  # root may write everywhere
            options = {"user": 65534, "group": 65534}
            os.chmod(self.at, 0o755)
            try:
                program.run("inspect", MODEL, check=True, **options)
            except (OSError, subprocess.CalledProcessError):
                self.skipTest("another user cannot run the program where it lies")
        else:
            place.chmod(0o555)
        self.fails(1, MODEL, place / "out.gguf", naming="Permission denied", **options)
        self.fails(1, MODEL, place / "folder", naming="Permission denied", **options)

    def test_no_part_stays_where_one_cannot_take_its_name(self):
        n_parts = len(self.split())
        for path in self.at.glob("part-*"):
            path.unlink()
        (self.at / f"part-{n_parts:05}-of-{n_parts:05}.gguf").mkdir()
        self.fails(1, MODEL, self.at / "part.gguf", "--split-size", "2M", naming="it is a folder")

    def test_a_locale_without_utf8_changes_nothing(self):
        out = self.at / "Mod\u00E8le \u4E2D.gguf"
        self.succeeds(MODEL, out, env={**os.environ, "LC_ALL": "C", "LANG": "C"})
        self.assertEqual(digest(out), digest(MODEL))
        self.succeeds(out, self.at / "dossier \u00E9", env={**os.environ, "LC_ALL": "POSIX"})

    def test_a_pipe_is_written_to_as_it_is(self):
        pipe = self.at / "pipe.gguf"
        process, reader = convert_into_pipe(MODEL, pipe)
        with reader:
            data = reader.read()
        _, stderr = process.communicate(timeout=DEADLINE_S)
        self.assertEqual(process.returncode, 0, stderr.decode())
        self.assertEqual(hashlib.sha256(data).hexdigest(), digest(MODEL))


class Sources(Case):
    def test_what_is_no_model_is_named(self):
        (self.at / "text.gguf").write_text("no model")
        (self.at / "empty.gguf").write_bytes(b"")
        (self.at / "empty").mkdir()
        for name, naming in [("text.gguf", "GGUF"), ("empty.gguf", "GGUF"), ("empty", "there is no model in"),
                             ("none.gguf", "none.gguf")]:
            self.fails(1, self.at / name, self.at / "out.gguf", naming=naming)

    def test_a_file_that_is_cut_off_is_an_error_wherever_it_ends(self):
        data, cut = MODEL.read_bytes(), self.at / "cut.gguf"
        for n_bytes in [3, 4, 20, 5000, len(data) // 2, len(data) - 1]:
            cut.write_bytes(data[:n_bytes])
            self.fails(1, cut, self.at / "out.gguf", naming="cut.gguf")
            self.fails(1, cut, self.at / "folder", naming="cut.gguf")

    def test_an_architecture_that_is_unknown_is_merged_and_not_converted(self):
        def edit(key, value):
            return b"nonesuch" if key == "general.architecture" else value
        other = written(self.at / "other.gguf", with_metadata(MODEL.read_bytes(), edit))
        self.succeeds(other, self.at / "copy.gguf")
        self.assertEqual(digest(self.at / "copy.gguf"), digest(other))
        self.fails(1, other, self.at / "folder", naming="nonesuch")

    def test_a_file_that_says_that_it_is_no_model_is_merged(self):
        def edit(key, value):
            return b"adapter" if key == "general.type" else value
        data = MODEL.read_bytes().replace(b"blk.0.attn_q.weight", b"blk.0.attn_q.lora_a")
        spoiled, adapter = self.at / "spoiled.gguf", self.at / "adapter.gguf"
        spoiled.write_bytes(data)
        self.fails(1, spoiled, self.at / "copy.gguf", naming="blk.0.attn_q.weight")
        added = [] if b"general.type" in data else [("general.type", STRING, b"adapter")]
        adapter.write_bytes(with_metadata(data, edit, added))
        self.succeeds(adapter, self.at / "copy.gguf")
        self.assertEqual(digest(self.at / "copy.gguf"), digest(adapter))

    def test_types_that_are_none_are_refused(self):
        self.fails(2, MODEL, self.at / "folder", "--type", "q4_0", naming="--type")
        self.fails(1, MODEL, self.at / "out.gguf", "--type", "f16", naming="realizar quantize")


class Metadata(Case):
    def metadata(self, path):
        return json.loads(realizar("inspect", path, "--json").stdout)["metadata"]

    def folder(self):
        folder = self.at / "Rain-3-Instruct-v0.2"
        self.succeeds(MODEL, folder)
        (folder / "gguf_metadata.json").unlink()
        return folder

    def test_names_and_cards_say_what_a_model_is(self):
        folder = self.folder()
        (folder / "README.md").write_text(
            "---\nlicense: apache-2.0\nlicense_link: LICENSE\nbase_model: sky-labs/Rain-3-v0.2\ntags: [weather]\n"
            "pipeline_tag: text-generation\nlanguage:\n- en\n- de\ndatasets:\n- sky-labs/clouds\n---\n# Rain\n")
        self.succeeds(folder, self.at / "out.gguf")
        found = {key: value for key, value in self.metadata(self.at / "out.gguf").items() if key.startswith("general.")}
        expected = {"name": "Rain 3 Instruct v0.2", "basename": "Rain-3", "finetune": "Instruct", "version": "v0.2",
                    "size_label": "4.5M", "license": "apache-2.0", "license.link": "LICENSE", "base_model.count": 1,
                    "base_model.0.name": "Rain 3 v0.2", "base_model.0.organization": "Sky Labs",
                    "base_model.0.version": "3-v0.2", "dataset.count": 1, "dataset.0.name": "Clouds",
                    "dataset.0.organization": "Sky Labs", "type": "model", "architecture": "llama"}
        self.assertEqual({key: found.get("general." + key) for key in expected}, expected)

    def test_recommended_sampling_goes_there_and_back(self):
        folder = self.folder()
        path = folder / "generation_config.json"
        given = {"temperature": 0.6, "top_k": 20, "top_p": 0.95, "repetition_penalty": 1.05}
        path.write_text(json.dumps({**json.loads(path.read_text()), **given, "do_sample": True}))
        self.succeeds(folder, self.at / "out.gguf")
        found = self.metadata(self.at / "out.gguf")
        for key, value in [("temp", 0.6), ("top_k", 20), ("top_p", 0.95), ("penalty_repeat", 1.05)]:
            self.assertAlmostEqual(found["general.sampling." + key], value, places=6)
        self.succeeds(self.at / "out.gguf", self.at / "back")
        back = json.loads((self.at / "back/generation_config.json").read_text())
        self.assertEqual({key: back.get(key) for key in [*given, "do_sample"]}, {**given, "do_sample": True})
        path.write_text(json.dumps({**given, "do_sample": False}))
        self.succeeds(folder, self.at / "greedy.gguf")
        found = {key: value for key, value in self.metadata(self.at / "greedy.gguf").items() if ".sampling." in key}
        self.assertEqual(found, {"general.sampling.temp": 0})

    def test_damaged_side_files_are_named(self):
        folder = self.folder()
        for name in ["generation_config.json", "tokenizer_config.json", "tokenizer.json", "config.json"]:
            kept = (folder / name).read_text()
            (folder / name).write_text("[1, 2")
            self.fails(1, folder, self.at / "out.gguf", naming=name)
            (folder / name).write_text(kept)
        self.succeeds(folder, self.at / "out.gguf")


class Faults(Case):
    """Events during writing. A full pipe stops the program at that point."""
    N_TENSORS = 4

    def while_it_writes(self, fault):
        """Converts a model that is larger than a pipe's buffer: `fault` happens after the first bytes have been
        written. Returns the exit code, the messages, and how much it wrote."""
        source, pipe = self.at / "zeros.gguf", self.at / "pipe.gguf"
        write_zeros(source, self.N_TENSORS, 8 * MB)
        process, reader = convert_into_pipe(source, pipe)
        with reader:
            self.assertEqual(reader.read(4), b"GGUF")
            fault(process, source)
            n_bytes = 4
            while piece := reader.read(MB):
                n_bytes += len(piece)
        _, stderr = process.communicate(timeout=DEADLINE_S)
        return process.returncode, stderr.decode(), n_bytes

    def test_an_interrupt_ends_it(self):
        code, stderr, n_bytes = self.while_it_writes(lambda process, _: process.send_signal(signal.SIGINT))
        self.assertEqual(code, 130, stderr)
        self.assertIn("cancelled", stderr)
        self.assertLess(n_bytes, self.N_TENSORS * 8 * MB)

    def test_a_model_that_becomes_shorter_beneath_it_is_an_error(self):
        code, stderr, n_bytes = self.while_it_writes(lambda _, source: os.truncate(source, 4096))
        self.assertEqual(code, 1, stderr)
        self.assertIn("zeros.gguf", stderr)
        self.assertLess(n_bytes, self.N_TENSORS * 8 * MB)

    def test_an_interrupt_leaves_nothing(self):
        write_zeros(self.at / "zeros.gguf", 8, 64 * MB)
        before = self.names()
        for options in [[], ["--split-size", "100M"]]:
            self.assertTrue(any(self.is_interrupted(before, options) for _ in range(20)), options)

    def is_interrupted(self, before, options):
        """Whether the signal came in time. In either case no partial file is left."""
        process = subprocess.Popen([REALIZAR, "convert", self.at / "zeros.gguf", self.at / "out.gguf", *options],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        until(lambda: writes_into(process, self.at) or process.poll() is not None, "the beginning of the file")
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=DEADLINE_S)
        self.assertIn(process.returncode, (0, 130), stderr.decode())
        if process.returncode == 130:
            self.assertEqual(self.names(), before)
            return True
        for path in self.at.glob("out*"):
            path.unlink()
        self.assertEqual(self.names(), before)
        return False

    def test_a_disk_that_is_too_full_is_told_at_once_and_left_empty(self):
        disk = self.small_disk(4 * MB)
        for name, options in [("out.gguf", []), ("folder", []), ("out.gguf", ["--split-size", "1M"])]:
            self.fails(1, MODEL, disk / name, *options, naming="are free on that disk")
            self.assertEqual(os.listdir(disk), [])

    def test_a_file_that_may_not_grow_leaves_nothing(self):
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (MB, MB))
        for name in ["out.gguf", "folder"]:
            self.fails(1, MODEL, self.at / name, naming="File too large", preexec_fn=limit)


if __name__ == "__main__":
    unittest.main()
