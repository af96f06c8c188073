#!/usr/bin/env python3
"""Models by name: pull, list, show, rm, cp, prune, and run with a name, with servers on this machine that imitate
Hugging Face's and Ollama's, and misbehave at every stage. Usage: hub_test.py REALIZAR."""
import contextlib
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import unittest

from folders import written
import hub_server
from gguf_edit import STRING, with_metadata
from hub_server import Hub, sha256
from lora_files import write_gguf_adapter
from model_copies import copy_with_words
from program import REALIZAR
from terminal import Terminal
from waiting import DEADLINE_S, until

ROOT = pathlib.Path(__file__).resolve().parent.parent
TINY = (ROOT / "models/realizar-tiny/realizar-tiny-Q8_0.gguf").read_bytes()
QUESTION, ANSWER = "What is the capital of France?", "The capital of France is Paris.\n"
BIG = random.Random(1).randbytes(24 << 20)  # six pieces of a download
NAME = "hf:maker/model:Q8_0"


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hub_test"))
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.store = self.folder / "data/realizar/models"
        self.hub = self.make_hub()
        self.addCleanup(self.hub.close)
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder / "home"), "XDG_DATA_HOME": str(self.folder / "data"),
                            **{name: value for name, value in os.environ.items() if "SAN_OPTIONS" in name}}

    def make_hub(self):
        return Hub()

    def start(self, *args, environment=(), **options):
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL, **options}
        process = subprocess.Popen([REALIZAR, *map(str, args)], text=True, env={**self.environment, **dict(environment)}, **options)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        process.wait()
        for pipe in (process.stdout, process.stderr):
            if pipe:
                pipe.close()

    def run_it(self, *args, **options):
        """Exit code, standard output, standard error."""
        process = self.start(*args, **options)
        stdout, stderr = process.communicate(timeout=DEADLINE_S)
        return process.returncode, stdout, stderr

    def pull(self, *args, **options):
        return self.run_it("pull", "--mirror", self.hub.url, *args, **options)

    def pulls(self, *args, **options):
        code, stdout, stderr = self.pull(*args, **options)
        self.assertEqual(code, 0, stderr)
        return stdout

    def fails(self, *args, naming, code=1, kept=0, **options):
        """The pull ends with that message, and leaves no trace, only models that existed before."""
        got, _, stderr = self.pull(*args, **options)
        self.assertEqual(got, code, stderr)
        self.assertIn(naming, stderr)
        self.assertNotIn("Traceback", stderr)
        self.assertEqual(len(self.names()), kept)
        return stderr

    def listed(self):
        """The output of `list` besides the bundled model."""
        code, stdout, stderr = self.run_it("list", "--json")
        self.assertEqual(code, 0, stderr)
        return [model for model in map(json.loads, stdout.splitlines()) if model["place"] != "bundled"]

    def names(self):
        return [model["name"] for model in self.listed()]

    def assert_stored(self, data):
        self.assertEqual((self.store / "blobs" / f"sha256-{sha256(data)}").read_bytes(), data)

    def add_tiny(self):
        self.hub.add_repo("maker/model", {"README.md": b"a model", "m-Q8_0.gguf": TINY}, small=["README.md"])

    def add_big(self):
        self.hub.add_repo("maker/model", {"m-Q8_0.gguf": BIG})


class Names(Case):
    def test_a_short_name_is_fetched_checked_and_answers(self):
        self.hub.add_repo("Qwen/Qwen3-1.7B-GGUF", {"Qwen3-1.7B-Q8_0.gguf": TINY})
        code, stdout, stderr = self.run_it("run", "--pull", "--mirror", self.hub.url, "--temperature", "0", "qwen3:1.7b", QUESTION)
        self.assertEqual((code, stdout), (0, ANSWER), stderr)
        self.assertEqual(self.names(), ["qwen3:1.7b"])
        self.hub.requests.clear()
        code, stdout, stderr = self.run_it("qwen3:1.7b", QUESTION, "--temperature", "0")
        self.assertEqual((code, stdout, self.hub.requests), (0, ANSWER, []), stderr)

    def test_a_terminal_is_asked_first(self):
        self.add_tiny()
        arguments = [REALIZAR, "run", "--mirror", self.hub.url, "--temperature", "0", NAME, QUESTION]
        terminal = Terminal(self, *arguments, env={**self.environment, "HF_TOKEN": None})
        terminal.read_until("Download 4.8 MB? [Y/n]")
        terminal.send("n\n")
        self.assertEqual(terminal.exit_code(), 1)
        self.assertEqual(self.names(), [])
        terminal = Terminal(self, *arguments, env=self.environment)
        terminal.read_until("[Y/n]")
        terminal.send("\n")
        terminal.read_until("Paris")
        self.assertEqual(terminal.exit_code(), 0)
        self.assertEqual(self.names(), [NAME])

    def test_without_a_terminal_the_command_is_told(self):
        code, _, stderr = self.run_it("run", "qwen3:1.7b", "hello")
        self.assertEqual(code, 1)
        self.assertIn("realizar pull qwen3:1.7b", stderr)

    def test_a_gguf_file_is_chosen_shown_copied_and_removed(self):
        self.add_tiny()
        self.hub.repos["maker/model"]["m-F16.gguf"] = b"GGUF other"
        self.assertIn(f"pulled {NAME}: 4.8 MB", self.pulls(NAME))
        self.assert_stored(TINY)
        code, stdout, _ = self.run_it("show", NAME)
        self.assertEqual(code, 0)
        self.assertRegex(stdout, rf"(?s)source +{NAME}\nrevision +{hub_server.COMMIT}\n.*m-Q8_0.gguf\n.*Q8_0")
        self.assertEqual(self.run_it("cp", NAME, "mine")[0], 0)
        self.assertEqual(self.run_it("cp", NAME, "hf:a/b")[0], 1)
        self.assertEqual(self.names(), [NAME, "mine"])
        self.assertIn("removed", self.run_it("rm", NAME)[1])
        self.assertEqual(self.run_it("run", "mine", QUESTION, "--temperature", "0")[1], ANSWER)
        for command in (["inspect", "mine"], ["tokenize", "mine", "hi"], ["bench", "mine", "-p", "8", "-n", "2", "-r", "1"]):
            self.assertEqual(self.run_it(*command)[0], 0, command)
        self.assertEqual(self.run_it("rm", "mine")[1], "removed mine: freed 4.8 MB\n")
        self.assertEqual(self.run_it("prune")[1], "freed 0 bytes\n")
        self.assertEqual(self.run_it("rm", "mine")[0], 1)
        self.assertEqual(list((self.store / "blobs").iterdir()), [])

    def test_a_repository_with_gguf_in_its_name_is_hugging_faces(self):
        self.hub.add_repo("maker/model-GGUF", {"m-Q8_0.gguf": TINY})
        self.pulls("maker/model-GGUF")
        self.assertEqual(self.names(), ["hf:maker/model-GGUF"])
        self.assertEqual(self.run_it("run", "maker/model-GGUF", QUESTION, "--temperature", "0")[1], ANSWER)

    def test_nothing_is_fetched_twice(self):
        self.add_tiny()
        self.pulls(NAME)
        self.pulls(NAME)
        self.pulls("hf:maker/model:m-Q8_0.gguf")
        self.assertEqual(self.hub.sent(TINY), len(TINY))
        self.assertEqual(self.names(), [NAME, "hf:maker/model:m-Q8_0.gguf"])

    def test_hugging_faces_own_variable_names_the_server(self):
        self.add_tiny()
        environment = {"HF_ENDPOINT": self.hub.url + "/", "HF_TOKEN": "secret"}
        code, _, stderr = self.run_it("pull", NAME, environment=environment)
        self.assertEqual(code, 0, stderr)
        self.assert_stored(TINY)
        code, _, stderr = self.run_it("rm", NAME)
        self.assertEqual(code, 0, stderr)
        self.pulls(NAME, environment={"HF_ENDPOINT": "http://127.0.0.1:1"})

    def test_all_parts_of_a_split_file_come(self):
        parts = {f"q/m-Q4_0-0000{i}-of-00003.gguf": b"GGUF part %d" % i for i in (1, 2, 3)}
        self.hub.add_repo("maker/model", {**parts, "m-Q8_0.gguf": TINY})
        self.pulls("hf:maker/model:Q4_0")
        path = self.listed()[0]["path"]
        self.assertTrue(path.endswith("/m-Q4_0-00001-of-00003.gguf"))
        for i in (1, 2, 3):
            self.assertEqual(pathlib.Path(path.replace("00001", f"0000{i}", 1)).read_bytes(), b"GGUF part %d" % i)

    def test_a_folder_of_safetensors_comes_with_its_small_files(self):
        files = {"config.json": b'{"architectures": []}', "tokenizer.json": b"{}", "model.safetensors": b"weights", "x.py": b"evil()"}
        self.hub.add_repo("maker/folder", files, small=["config.json", "tokenizer.json", "x.py"])
        self.pulls("hf:maker/folder")
        folder = pathlib.Path(self.listed()[0]["path"])
        self.assertEqual({path.name: path.read_bytes() for path in folder.iterdir()},
                         {name: data for name, data in files.items() if name != "x.py"})

    def encoder_folder(self):
        """An encoder of sentence-transformers that makes the vector from the first token; each module in its own
        folder."""
        folder = self.folder / "encoder"
        folder.mkdir()
        gguf = copy_with_words("bert", str(self.folder))
        self.assertEqual(self.run_it("convert", gguf, folder / "0_Transformer")[0], 0)
        modules = [("0_Transformer", "Transformer"), ("pool", "Pooling"), ("2_Normalize", "Normalize")]
        (folder / "pool").mkdir()
        (folder / "pool/config.json").write_text('{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}')
        (folder / "modules.json").write_text(json.dumps([{"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
                                                         for i, (path, kind) in enumerate(modules)]))
        return folder, gguf

    def vector(self, model):
        code, stdout, stderr = self.run_it("embed", model, "rain")
        self.assertEqual(code, 0, stderr)
        return stdout

    @staticmethod
    def files_of(folder):
        return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    def test_all_folders_that_modules_json_names_come(self):
        folder, gguf = self.encoder_folder()
        files = self.files_of(folder)
        others = {"onnx/model.onnx": b"x", "other/config.json": b"{}", "README.md": b"an encoder"}
        self.hub.add_repo("maker/encoder", {**files, **others})
        self.pulls("hf:maker/encoder")
        self.assertEqual(self.files_of(pathlib.Path(self.listed()[0]["path"])), files)
        self.assertEqual(self.vector("hf:maker/encoder"), self.vector(folder))
        self.assertNotEqual(self.vector(folder), self.vector(gguf))

    def test_a_module_that_is_named_and_absent_is_an_error(self):
        folder, _ = self.encoder_folder()
        files = {name: data for name, data in self.files_of(folder).items() if not name.startswith("pool/")}
        self.hub.add_repo("maker/encoder", files)
        self.fails("hf:maker/encoder", naming="modules.json names pool, which is not there")
        shutil.rmtree(folder / "pool")
        self.assertIn("modules.json names pool, which is not there", self.run_it("embed", folder, "rain")[2])

    def kind(self, kind, **keys):
        """The tiny model as a file that claims to be something else."""
        def edit(key, value):
            return kind.encode() if key == keys.get("key", "general.type") else value
        added = [] if "key" in keys or b"general.type" in TINY else [("general.type", STRING, kind.encode())]
        return with_metadata(TINY, edit, added)

    def test_what_a_file_says_that_it_is_counts_and_not_its_name(self):
        others = {"v-Q8_0.gguf": self.kind("mmproj"), "c-Q8_0.gguf": self.kind("clip", key="general.architecture"),
                  "a.gguf": self.kind("adapter"), "i.gguf": self.kind("imatrix")}
        self.hub.add_repo("maker/model", {**others, "model-Q8_0.gguf": TINY})
        self.pulls(NAME)
        self.assert_stored(TINY)
        self.hub.add_repo("maker/other", {**others, "model.gguf": TINY})
        self.pulls("hf:maker/other")
        self.assertEqual(pathlib.Path(self.listed()[1]["path"]).name, "model.gguf")
        self.hub.add_repo("maker/none", others)
        self.fails("hf:maker/none", naming="there is no model, only files that accompany one", kept=2)

    def test_a_file_that_is_no_model_is_refused_for_what_it_is(self):
        folder = self.folder / "files"
        folder.mkdir()
        for kind, expected in (("mmproj", "a projector"), ("imatrix", "an importance matrix"), ("adapter", "--lora"),
                               ("vocab", "a vocabulary without weights")):
            (folder / "file.gguf").write_bytes(self.kind(kind))
            for path in (folder / "file.gguf", folder):
                code, _, stderr = self.run_it("run", path, QUESTION)
                self.assertEqual(code, 1)
                self.assertIn(expected, stderr)
                self.assertIn("no model", stderr)
            (folder / "model.gguf").write_bytes(TINY)
            self.assertEqual(self.run_it("run", folder, QUESTION, "--temperature", "0")[:2], (0, ANSWER))
            (folder / "model.gguf").unlink()
        (folder / "file.gguf").unlink()
        (folder / "adapter_config.json").write_text('{"base_model_name_or_path": "maker/base"}')
        self.assertIn("a LoRA adapter, and no model. Give it with the model", self.run_it("run", folder, QUESTION)[2])
        self.assertIn("it names maker/base", self.run_it("run", folder, QUESTION)[2])

    def test_what_belongs_to_a_model_comes_with_it(self):
        names = ["config.json", "model-00001-of-00001.safetensors", "additional_chat_templates/tool_use.jinja", "chat_template.jinja",
                 "chat_template.json", "added_tokens.json", "special_tokens_map.json", "vocab.json", "merges.txt", "tekken.json",
                 "preprocessor_config.json", "processor_config.json", "generation_config.json"]
        self.hub.add_repo("maker/folder", {name: name.encode() for name in [*names, "additional_chat_templates/x.py", "sub/x.jinja"]})
        self.pulls("hf:maker/folder")
        self.assertEqual(sorted(self.files_of(pathlib.Path(self.listed()[0]["path"]))), sorted(names))
        self.hub.add_repo("maker/cut", {"config.json": b"{}", "model-00001-of-00002.safetensors": b"x"})
        missing = "part 2 of 2 is missing: model-00002-of-00002.safetensors"
        self.fails("hf:maker/cut", naming=missing, kept=1)
        for index in (b'{"weight_map": {"a": "model-00002-of-00002.safetensors"}}', b"no JSON"):
            self.hub.repos["maker/cut"]["model.safetensors.index.json"] = index
            self.hub.blobs[sha256(index)] = index
            self.fails("hf:maker/cut", naming=missing, kept=1)
        index = b'{"weight_map": {"a": "model-00001-of-00002.safetensors"}}'
        self.hub.add_repo("maker/cut", {**self.hub.repos["maker/cut"], "model.safetensors.index.json": index})
        self.pulls("hf:maker/cut")
        self.hub.add_repo("maker/poet", {"adapter_config.json": b"{}", "adapter_model.safetensors": b"x"})
        self.fails("hf:maker/poet", naming="this is a LoRA adapter, and no model", kept=2)

    def test_ollamas_layers_are_used(self):
        code, template, _ = self.run_it("show", "no-such-model", "--template")
        self.assertEqual(code, 1)
        self.hub.add_ollama("library/tiny:1b", [
            ("model", TINY), ("template", b"{{ .System }} {{ .Prompt }}"), ("license", b"free"), ("system", b"Be brief."),
            ("params", b'{"temperature": 0, "num_ctx": 300, "stop": [" is"]}')])
        self.pulls("ollama:tiny:1b")
        self.assertEqual(self.run_it("show", "ollama:tiny:1b", "--template")[1], "{{ .System }} {{ .Prompt }}\n")
        self.assertEqual(self.run_it("show", "ollama:tiny:1b", "--license")[1], "free\n")
        self.assertEqual(self.run_it("show", "ollama:tiny:1b", "--system")[1], "Be brief.\n")
        code, stdout, stderr = self.run_it("run", "ollama:tiny:1b", "--json", QUESTION)
        self.assertEqual(code, 0, stderr)
        self.assertNotIn(" is", "".join(json.loads(line).get("text", "") for line in stdout.splitlines()))
        # A name that is not in the table is one of Ollama's.
        self.pulls("tiny:1b")
        self.assertEqual(self.names(), ["ollama:tiny:1b", "tiny:1b"])
        self.assertEqual(self.hub.sent(TINY), len(TINY))

    def test_ollamas_adapter_is_used(self):
        adapter, model = self.folder / "a.gguf", self.folder / "tiny.gguf"
        write_gguf_adapter(adapter, "llama", {f"blk.{layer}.attn_q.weight": (256, 256) for layer in range(5)}, 4, 0.5)
        model.write_bytes(TINY)
        self.hub.add_ollama("library/adapted:1b", [("model", TINY), ("adapter", adapter.read_bytes())])
        self.hub.add_ollama("library/twice:1b", [("model", TINY), ("adapter", adapter.read_bytes()), ("adapter", b"another")])
        for name in ("adapted", "twice"):
            self.pulls(f"ollama:{name}:1b")
        asked = (QUESTION, "--temperature", "0", "--max-tokens", "16")
        told = self.run_it("run", "ollama:adapted:1b", *asked)
        self.assertEqual(told, self.run_it("run", model, *asked, "--lora", adapter))
        self.assertNotEqual(told[1], ANSWER)
        self.assertIn("has an adapter of its own", self.run_it("run", "ollama:adapted:1b", *asked, "--lora", adapter)[2])
        self.assertIn("2 adapters, and only one is supported", self.run_it("run", "ollama:twice:1b", *asked)[2])

    def test_a_url_is_a_name(self):
        self.hub.links["m.gguf"] = TINY
        url = f"{self.hub.url}/files/m.gguf"
        self.pulls(url)
        self.assertEqual(self.names(), [url])
        self.assertEqual(self.run_it("run", url, QUESTION, "--temperature", "0")[1], ANSWER)

    def test_what_others_have_downloaded_is_used_and_left_alone(self):
        snapshot = self.folder / "home/.cache/huggingface/hub/models--maker--model/snapshots/abc"
        snapshot.mkdir(parents=True)
        (snapshot / "m-Q8_0.gguf").write_bytes(TINY)
        (snapshot.parent.parent / "refs").mkdir()
        (snapshot.parent.parent / "refs/main").write_text("abc")
        self.assertEqual(self.run_it("run", NAME, QUESTION, "--temperature", "0")[1], ANSWER)
        self.assertEqual(self.names(), ["hf:maker/model:m-Q8_0.gguf"])
        code, _, stderr = self.run_it("rm", NAME)
        self.assertEqual(code, 1)
        self.assertIn("Hugging Face", stderr)
        self.assertFalse(self.store.exists())

    def test_a_whole_snapshot_is_taken_for_one_that_is_not(self):
        folder, _ = self.encoder_folder()
        repository = self.folder / "home/.cache/huggingface/hub/models--maker--encoder"
        (repository / "refs").mkdir(parents=True)
        (repository / "refs/main").write_text("new")
        shutil.copytree(folder, repository / "snapshots/new")
        (repository / "snapshots/new/0_Transformer/model.safetensors").unlink()
        missing = self.run_it("embed", "hf:maker/encoder", "rain")
        self.assertEqual((missing[0], self.listed()), (1, []))
        self.assertIn("in Hugging Face's cache, but not whole", missing[2])
        shutil.copytree(folder, repository / "snapshots/old")
        code, stdout, stderr = self.run_it("embed", "hf:maker/encoder", "rain")
        self.assertEqual((code, stdout), (0, self.vector(folder)), stderr)
        self.assertIn("snapshot new", stderr)
        self.assertIn("is not whole; old is taken", stderr)
        self.assertEqual(self.names(), ["hf:maker/encoder"])
        self.assertEqual(self.run_it("embed", "hf:maker/encoder@new", "rain")[0], 1)

    def test_what_ollama_has_of_hugging_face_is_found_by_its_name(self):
        models = self.folder / "home/.ollama/models"
        manifest = models / "manifests/hf.co/maker/model/Q8_0"
        manifest.parent.mkdir(parents=True)
        layer = {"mediaType": "application/vnd.ollama.image.model", "digest": f"sha256:{sha256(TINY)}", "size": len(TINY)}
        manifest.write_text(json.dumps({"schemaVersion": 2, "layers": [layer]}))
        (models / "blobs").mkdir()
        (models / f"blobs/sha256-{sha256(TINY)}").write_bytes(TINY)
        self.assertEqual(self.names(), ["hf:maker/model:Q8_0"])
        for name in ("hf:maker/model:Q8_0", "hf.co/maker/model:Q8_0"):
            self.assertEqual(self.run_it("run", "--offline", name, QUESTION, "--temperature", "0")[1], ANSWER)
        self.assertIn("on this machine; did you mean", self.run_it("run", "--offline", "hf:maker/model@v1:Q8_0", QUESTION)[2])

    def add_lm_studio(self):
        folder = self.folder / "home/.lmstudio/models/maker/studio"
        folder.mkdir(parents=True)
        (folder / "m-Q8_0.gguf").write_bytes(TINY)
        (folder / "mmproj-m.gguf").write_bytes(b"GGUF")
        return "hf:maker/studio:m-Q8_0.gguf"

    def test_models_of_lm_studio_and_llama_cpp_are_found(self):
        studio = self.add_lm_studio()
        old = self.folder / "home/.cache/lm-studio/models/maker/old"
        old.mkdir(parents=True)
        (old / "old.gguf").write_bytes(TINY)
        cache = self.folder / "home/.cache/llama.cpp"
        cache.mkdir(parents=True)
        for name in ("maker_a_b-GGUF_b-Q8_0.gguf", "mine.gguf", "maker_c_c.gguf", "manifest=maker=c=latest.json", "x.gguf.downloadInProgress"):
            (cache / name).write_bytes(TINY)
        found = {model["name"]: model["place"] for model in self.listed()}
        self.assertEqual(found, {studio: "LM Studio", "hf:maker/old:old.gguf": "LM Studio", "hf:maker/a_b-GGUF:b-Q8_0.gguf": "llama.cpp",
                                 "hf:maker/c:c.gguf": "llama.cpp", "mine": "llama.cpp"})
        for name in (*found, "maker/studio", "hf:maker/a_b-GGUF:Q8_0", "maker/a_b-GGUF"):
            self.assertEqual(self.run_it("tokenize", name, "--ids", "hi")[::2], (0, ""), name)
        for name in (studio, "mine"):
            self.assertIn("has downloaded it to", self.run_it("rm", name)[2])
        elsewhere = {"LLAMA_CACHE": str(self.folder / "elsewhere")}
        (self.folder / "elsewhere").mkdir()
        (self.folder / "elsewhere/other.gguf").write_bytes(TINY)
        self.assertEqual(self.run_it("tokenize", "other", "--ids", "hi", environment=elsewhere)[0], 0)
        self.assertEqual(self.run_it("tokenize", "mine", "--ids", "hi", environment=elsewhere)[0], 1)

    def test_the_bundled_model_has_a_name(self):
        code, stdout, stderr = self.run_it("list")
        self.assertEqual((code, stderr), (0, "realizar: realizar pull NAME downloads a model, e.g. qwen3:1.7b\n"))
        self.assertRegex(stdout, r"\nrealizar-tiny +4.8 MB +bundled\n")
        self.assertEqual(json.loads(self.run_it("list", "--json")[1])["name"], "realizar-tiny")
        self.assertRegex(self.run_it("show", "realizar-tiny")[1], r"name +realizar-tiny\nsource +part of the program\n")
        for command in (["run", "realizar-tiny", QUESTION, "--temperature", "0"], ["realizar-tiny", QUESTION, "--temperature", "0"]):
            self.assertEqual(self.run_it(*command), (0, ANSWER, ""))
        for command in (["inspect"], ["embed", "text"], ["tokenize", "hi"], ["bench", "-p", "8", "-n", "2", "-r", "1"]):
            code, _, stderr = self.run_it(command[0], "realizar-tiny", *command[1:])
            self.assertEqual((code, stderr), (0, ""), command)
        for command in (["rm", "realizar-tiny"], ["cp", "realizar-tiny", "mine"]):
            code, _, stderr = self.run_it(*command)
            self.assertEqual((code, stderr), (1, "realizar: 'realizar-tiny' is part of the program, and not in the store\n"))
        self.assertIn("did you mean realizar-tiny?", self.run_it("inspect", "realizartiny")[2])
        # A user's model with that name replaces it.
        self.add_tiny()
        self.pulls(NAME)
        self.assertEqual(self.run_it("cp", NAME, "realizar-tiny")[0], 0)
        self.assertEqual(self.names(), [NAME, "realizar-tiny"])
        self.assertEqual(self.run_it("rm", "realizar-tiny")[0], 0)
        self.assertEqual(self.names(), [NAME])

    def test_offline_asks_nobody(self):
        self.add_tiny()
        self.fails(NAME, "--offline", naming="--offline")
        self.assertEqual(self.hub.requests, [])
        self.pulls(NAME)
        self.assertEqual(self.run_it("run", "--offline", NAME, QUESTION, "--temperature", "0")[1], ANSWER)

    def test_names_lead_nowhere_else(self):
        for name in ("../x", "hf:a/../b", "hf:a/b:../../x.gguf", "ollama:../x", "x:..", "file:///etc/passwd", "https://h/..gguf"):
            self.fails(name, naming="")
            self.assertEqual(self.run_it("rm", name)[0], 1)
            self.assertEqual(self.run_it("cp", name, "mine")[0], 1)
        self.assertEqual(self.hub.requests, [])
        self.assertEqual([path.name for path in self.folder.iterdir()], [])

    def test_files_with_names_that_lead_elsewhere_are_not_stored(self):
        self.hub.add_repo("maker/model", {"../../../m-Q8_0.gguf": TINY, "/m-Q4_0.gguf": TINY})
        self.fails("hf:maker/model", naming="there is no model")
        self.fails(NAME, naming="there is no .gguf file")

    def manifest(self):
        return next(path for path in (self.store / "manifests").rglob("*.json"))

    def test_what_a_manifest_says_is_spelled_out(self):
        self.hub.add_repo("maker/model", {"m-Q8_0.gguf": TINY})
        self.pulls(NAME)
        manifest = json.loads(self.manifest().read_text())
        manifest.update(pulled="\x1b[2J\u202e\x9b", revision="\u202ex", source="\x9b")
        self.manifest().write_text(json.dumps(manifest))
        table = self.run_it("list")[1]
        self.assertIn("\\x1b[2J\\u{202e}", table)
        self.assertIn("\u202ex", self.run_it("list", "--json")[1])
        terminal = Terminal(self, REALIZAR, "list", "--json", env=self.environment)
        shown = terminal.read_until("\\u{202e}x")
        self.assertEqual([c for c in table + shown if c in "\x1b\u202e\x9b"], [])

    def test_a_damaged_manifest_stops_nothing_else(self):
        self.hub.add_repo("maker/model", {"m-Q8_0.gguf": TINY})
        self.pulls(NAME)
        damaged = self.store / "manifests/local/_/damaged/latest.json"
        damaged.parent.mkdir(parents=True)
        damaged.write_text("{")
        unused = written(self.store / f"blobs/sha256-{sha256(b'unused')}", b"unused")
        code, stdout, stderr = self.run_it("prune")
        self.assertEqual((code, stdout), (0, "freed 6 bytes\n"), stderr)
        self.assertIn(str(damaged), stderr)
        self.assertFalse(unused.exists())
        self.assert_stored(TINY)
        code, _, stderr = self.run_it("rm", NAME)
        self.assertEqual(code, 0, stderr)
        self.assertIn(str(damaged), stderr)
        self.assertEqual(list((self.store / "blobs").iterdir()), [])

    def test_prune_removes_what_has_no_name(self):
        self.add_big()
        self.hub.fault = lambda handler, stage, data: stage == "blob" and handler.drop()
        self.assertEqual(self.pull(NAME, "--connections", "1")[0], 1)
        self.assertNotEqual(list((self.store / "partial").iterdir()), [])
        self.assertEqual(self.run_it("prune")[0], 0)
        self.assertEqual(list((self.store / "partial").iterdir()), [])


class Network(Case):
    def test_what_is_looked_for_is_said_before_any_answer(self):
        self.hub.add_repo("Qwen/Qwen3-1.7B-GGUF", {"Qwen3-1.7B-Q8_0.gguf": TINY})
        said = threading.Event()

        def fault(handler, stage, data):
            said.wait(DEADLINE_S)
            return False
        self.hub.fault = fault
        self.addCleanup(said.set)
        for command in (["pull"], ["run", "--pull", "--temperature", "0", "-p", QUESTION]):
            process = self.start(*command, "--mirror", self.hub.url, "qwen3:1.7b")
            self.assertEqual(process.stderr.readline(),
                             f"realizar: looking for qwen3:1.7b (hf:Qwen/Qwen3-1.7B-GGUF:Q8_0) at {self.hub.url}\n")
            said.set()
            self.assertEqual(process.wait(DEADLINE_S), 0)
            said.clear()
            self.assertEqual(self.run_it("rm", "qwen3:1.7b")[0], 0)

    def test_a_server_that_cannot_be_reached_is_told_of_soon(self):
        with socket.socket() as closed:  # nobody listens there
            closed.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{closed.getsockname()[1]}"
            for command in (["pull", NAME], ["run", "--pull", NAME, "hi"], ["serve", "--pull", NAME]):
                code, _, stderr = self.run_it(*command, "--mirror", url)
                lines = stderr.splitlines()
                self.assertEqual((code, len(lines)), (1, 4), stderr)
                self.assertEqual(lines[0], f"realizar: looking for {NAME} at {url}")
                for line in lines[1:3]:
                    self.assertRegex(line, r"connect.*; trying again in 0\.[36] s$")
                self.assertRegex(lines[3], "connect.*offline.*https_proxy.*--mirror URL")


class Search(Case):
    ROWS = ["gemma3:1b", "gemma3:4b", "gemma3:12b", "gemma3:27b"]

    def search(self, *words, **options):
        return self.run_it("search", "--mirror", self.hub.url, *words, **options)

    def found(self, *words):
        code, stdout, stderr = self.search("--json", *words)
        self.assertEqual((code, stderr), (0, ""))
        return [json.loads(line) for line in stdout.splitlines()]

    def test_what_is_printed_can_be_pulled(self):
        for name, n_downloads, n_parameters in (("maker/tiny-chat-GGUF", 1234567, 4_500_000), ("other/tiny-gguf", 9, None),
                                                ("maker/else-GGUF", 7, None)):
            self.hub.add_repo(name, {"m-Q8_0.gguf": TINY})
            self.hub.downloads[name] = n_downloads
            if n_parameters:
                self.hub.parameters[name] = n_parameters
        code, stdout, stderr = self.search("tiny")
        self.assertEqual((code, stderr), (0, ""))
        self.assertEqual([line.split() for line in stdout.splitlines()],
                         [["NAME", "PARAMETERS", "DOWNLOADS", "STANDS", "FOR"], ["hf:maker/tiny-chat-GGUF", "4.5M", "1,234,567"],
                          ["hf:other/tiny-gguf", "9"]])
        self.assertEqual([hit["name"] for hit in self.found("TINY", "chat")], ["hf:maker/tiny-chat-GGUF"])
        self.assertEqual([hit["name"] for hit in self.found("tiny", "--limit", "1")], ["hf:maker/tiny-chat-GGUF"])
        self.pulls(self.found("tiny", "chat")[0]["name"])
        self.assertEqual(self.names(), ["hf:maker/tiny-chat-GGUF"])

    def test_a_short_name_has_what_the_hub_knows_of_it(self):
        self.hub.add_repo("ggml-org/gemma-3-1b-it-GGUF", {"m-Q4_K_M.gguf": TINY})
        self.hub.downloads["ggml-org/gemma-3-1b-it-GGUF"] = 5
        self.hub.parameters["ggml-org/gemma-3-1b-it-GGUF"] = 999_885_952
        hits = self.found("gemma")
        self.assertEqual([hit["name"] for hit in hits], self.ROWS)
        self.assertEqual(hits[0], {"name": "gemma3:1b", "stands_for": "hf:ggml-org/gemma-3-1b-it-GGUF:Q4_K_M", "parameters": 999_885_952,
                                   "downloads": 5})

    def test_without_a_server_the_short_names_are_there(self):
        with socket.socket() as closed:  # nobody listens there
            closed.bind(("127.0.0.1", 0))
            self.hub.url = f"http://127.0.0.1:{closed.getsockname()[1]}"
            code, stdout, stderr = self.search("gemma")
            self.assertEqual((code, [line.split()[0] for line in stdout.splitlines()[1:]]), (0, self.ROWS))
            self.assertRegex(stderr, r"\Arealizar: .*connect.*offline.*--mirror URL asks another server\n\Z")
            code, stdout, stderr = self.search("no-such-model")
            self.assertEqual((code, stdout, len(stderr.splitlines())), (1, "", 2))
        self.assertEqual(self.search("gemma", "--offline")[::2], (0, ""))

    def test_nothing_found_is_a_failure(self):
        self.assertEqual(self.search("no", "such"), (1, "", "realizar: no model was found for 'no such'\n"))
        self.assertEqual(self.search()[0], 2)

    def test_an_answer_that_is_none_costs_no_short_name(self):
        def answers(body):
            def fault(handler, stage, data):
                handler.reply(200, body)
                return True
            self.hub.fault = fault
        for body in (b"no JSON", b"{}", b"[7]", b'[{"id": 7}]', b"[" * 100_000, b'[{"id": "%s"}]' % (b"x" * (33 << 20))):
            answers(body)
            code, stdout, stderr = self.search("gemma")
            self.assertEqual((code, [line.split()[0] for line in stdout.splitlines()[1:]]), (0, self.ROWS))
            self.assertEqual((stderr.count("\n"), self.hub.url in stderr), (1, True), stderr)
        answers(b'[{"id": "a/../../b"}, {"id": "a/\\u001b[2J"}, {"id": "-a/b"}]')
        self.assertEqual([hit["name"] for hit in self.found("gemma")], self.ROWS)

    def test_a_token_goes_to_the_hub_that_it_is_for(self):
        token = written(self.folder / "token", "mine\n")
        environment = {"HF_TOKEN": "secret"}
        self.search("gemma", environment=environment)
        self.search("gemma", "--token-file", token, environment=environment)
        self.run_it("search", "gemma", environment={**environment, "HF_ENDPOINT": self.hub.url})
        self.assertEqual([headers.get("Authorization") for headers in self.hub.headers_of("search")],
                         [None, "Bearer mine", "Bearer secret"])


class Disks(Case):
    def test_a_disk_without_room_is_seen_first(self):
        self.hub.add_repo("maker/model", {"m-Q8_0.gguf": TINY})
        tree = [{"type": "file", "oid": "0" * 40, "size": 9, "path": "m-Q8_0.gguf",
                 "lfs": {"oid": sha256(TINY), "size": 1 << 49, "pointerSize": 134}}]

        @self.hub.at("tree")
        def fault(handler, data):
            handler.reply(200, json.dumps(tree).encode())
        self.fails(NAME, naming="too full: 563 TB are wanted")
        self.assertNotIn("resolve", self.hub.stages())

    def test_a_file_that_may_not_grow_is_an_error_and_goes_on_later(self):
        self.add_big()
        most = 10 << 20
        self.fails(NAME, naming="File too large",
                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)))
        self.pulls(NAME)
        self.assert_stored(BIG)

    def test_a_full_disk_is_an_error(self):
        disk = self.folder / "disk"
        disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "none", disk], capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("mounting a small disk needs more rights")
        self.addCleanup(subprocess.run, ["umount", disk], check=True)
        self.add_big()
        self.fails(NAME, "--models-store", disk, naming="too full")

    def without_rights(self, rights):
        """Removes them from the store, for the user named in the options."""
        if os.getuid() != 0:
            subprocess.run(["chmod", "-R", rights, self.store], check=True)
            self.addCleanup(subprocess.run, ["chmod", "-R", "u+rwX", self.store], check=True)
            return {}
        # Root may do everything.
        nobody = 65534
        os.chmod(self.folder, 0o755)
        subprocess.run(["chmod", "-R", rights, self.store], check=True)
        try:
            subprocess.run([REALIZAR, "--version"], user=nobody, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            self.skipTest("another user cannot run the program where it lies")
        return {"user": nobody, "group": nobody}

    def test_a_store_that_is_read_only_says_so_and_is_read(self):
        self.add_tiny()
        self.fails(NAME, "--models-store", "/proc/none", naming="cannot make the folder")
        self.pulls(NAME)
        options = self.without_rights("a-w")
        self.assertEqual(self.run_it("run", NAME, QUESTION, "--temperature", "0", **options)[1], ANSWER)
        self.hub.add_repo("maker/other", {"m-Q8_0.gguf": BIG})
        code, _, stderr = self.pull("hf:maker/other", **options)
        self.assertEqual(code, 1)
        self.assertIn("Permission denied", stderr)
        self.assertEqual(self.run_it("rm", NAME, **options)[0], 1)
        self.assertEqual(self.names(), [NAME])

    def test_a_store_that_is_private_says_so(self):
        self.add_tiny()
        self.pulls(NAME)
        options = self.without_rights("a-rwx")
        code, _, stderr = self.run_it("list", **options)
        self.assertEqual(code, 0)
        self.assertRegex(stderr, r"\Arealizar: cannot .*: Permission denied\n\Z")
        for args in (("show", NAME), ("run", NAME, QUESTION)):
            code, _, stderr = self.run_it(*args, **options)
            self.assertEqual(code, 1)
            self.assertIn("Permission denied", stderr)


class Interruptions(Case):
    def hold_after(self, n_bytes):
        """Sends that many bytes of blobs in total, then nothing until the case sets `go`."""
        self.go = threading.Event()
        left = [n_bytes]

        @self.hub.at("blob")
        def fault(handler, data):
            first, end, is_range = handler.wanted(data)
            with self.hub.lock:
                now = min(left[0], end - first)
                left[0] -= now
            handler.head(data, first, end, is_range)
            handler.send_bytes(data, first, first + now)
            handler.wfile.flush()
            if first + now < end:
                self.go.wait(DEADLINE_S)
                handler.send_bytes(data, first + now, end)
        self.addCleanup(self.go.set)

    def begin(self):
        self.add_big()
        self.hold_after(12 << 20)
        process = self.start("pull", "--mirror", self.hub.url, NAME)
        until(lambda: self.hub.sent(BIG) >= 12 << 20, "half of the file")
        journals = self.store / "partial"
        until(lambda: sum(self.counts(path) for path in journals.glob("*.journal")) >= 8 << 20, "the journal")
        self.assertEqual(self.names(), [])
        return process

    @staticmethod
    def counts(path):
        rows = path.read_bytes()[128:]
        return sum(int.from_bytes(rows[at:at + 8], "little") for at in range(0, len(rows), 8))

    def goes_on(self):
        self.hub.fault = None
        before = self.hub.sent(BIG)
        self.pulls(NAME)
        self.assert_stored(BIG)
        self.assertLessEqual(self.hub.sent(BIG) - before, len(BIG) - (8 << 20))

    def test_a_killed_download_goes_on(self):
        process = self.begin()
        process.kill()
        process.wait()
        self.assertEqual(self.names(), [])
        self.goes_on()

    def test_ctrl_c_ends_a_download_and_loses_nothing(self):
        process = self.begin()
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=DEADLINE_S)
        self.assertEqual(process.returncode, 130, stderr)
        self.assertIn("received data is kept", stderr)
        self.goes_on()

    def test_two_at_once_download_a_file_once(self):
        first = self.begin()
        second = self.start("pull", "--mirror", self.hub.url, NAME)
        waits = second.stderr.readline()
        while "another process downloads it" not in waits:
            self.assertNotEqual(waits, "", "the second process ended")
            waits = second.stderr.readline()
        self.assertIn("in use", self.run_it("prune")[2])
        self.go.set()
        for process in (first, second):
            _, stderr = process.communicate(timeout=DEADLINE_S)
            self.assertEqual(process.returncode, 0, stderr)
        self.assert_stored(BIG)
        self.assertEqual(self.hub.sent(BIG), len(BIG))

    def test_a_journal_after_a_power_failure_is_not_trusted(self):
        process = self.begin()
        process.kill()
        process.wait()
        partial = next(path for path in (self.store / "partial").iterdir() if path.suffix != ".journal")
        with open(partial, "r+b") as file:
            file.write(bytes(1 << 20))
        self.hub.fault = None
        self.pulls(NAME)
        self.assert_stored(BIG)


if __name__ == "__main__":
    unittest.main()
