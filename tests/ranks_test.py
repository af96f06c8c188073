#!/usr/bin/env python3
"""A model shared by the processes of an MPI job, from its users' view. Usage: ranks_test.py REALIZAR.

Exits with 77, which ctest shows as skipped, without Open MPI's mpirun."""
import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

from bundled import TINY as MODEL
from folders import written
from gguf_edit import with_metadata
import program
from program import REALIZAR
from served import DIRECT
from waiting import DEADLINE_S, ONE_THREAD, until

SKIPPED = 77
GREEDY = ("--raw", "--temperature", "0", "--ignore-eos", *ONE_THREAD)


def mpirun(n, *options):
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    return ["mpirun", *root, "--oversubscribe", "--bind-to", "none", "-n", str(n), *options]


# Open MPI keeps memory until the end, which is not our leak.
ENVIRONMENT = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}


def alone(*words, stdin=""):
    """The output of the program by itself."""
    return program.run(*words, stdin=stdin, check=True).stdout


def job(n, *words, stdin="", options=()):
    """The result of an MPI job."""
    return subprocess.run([*mpirun(n, *options), REALIZAR, *map(str, words)], input=stdin, capture_output=True, text=True,
                          timeout=DEADLINE_S, check=False, env=ENVIRONMENT)


def children_of(pid):
    return [int(child) for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children")
            for child in task.read_text().split()]


def rank_of(pid):
    """None if the process is not a rank, or has ended."""
    try:
        environment = pathlib.Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return None
    for variable in environment.split(b"\0"):
        name, _, value = variable.partition(b"=")
        if name == b"OMPI_COMM_WORLD_RANK":
            return int(value)
    return None


class Commands(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def text_of(self, n, split, *words, stdin=""):
        ended = job(n, "run", MODEL, *GREEDY, "--max-tokens", 24, "--split", split, *words, stdin=stdin)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        return ended.stdout.strip()

    def test_layers_give_the_text_of_one_process(self):
        expected = alone("run", MODEL, *GREEDY, "--max-tokens", 24, "In the beginning").strip()
        for n in (2, 3):
            self.assertEqual(self.text_of(n, "layer", "In the beginning"), expected)

    def test_the_prompt_may_come_through_a_pipe(self):
        expected = alone("run", MODEL, *GREEDY, "--max-tokens", 24, "In the beginning").strip()
        self.assertEqual(self.text_of(2, "layer", "-", stdin="In the beginning"), expected)

    def test_parts_of_layers_give_the_same_text_each_time(self):
        for split in ("tensor", "expert"):
            first = self.text_of(2, split, "In the beginning")
            self.assertTrue(first)
            self.assertEqual(self.text_of(2, split, "In the beginning", "--batch-tokens", 3), first)

    def test_logits_of_layers_have_the_bits_of_one_process(self):
        tokens = written(self.folder / "tokens.json", json.dumps([(i * 37) % 2000 for i in range(40)]))
        files = {name: self.folder / name for name in ("one.npy", "two.npy", "one.kv.npy", "two.kv.npy")}
        alone("logits", MODEL, "--tokens", tokens, *ONE_THREAD, "--out", files["one.npy"], "--kv", files["one.kv.npy"])
        ended = job(2, "logits", MODEL, "--tokens", tokens, *ONE_THREAD, "--out", files["two.npy"], "--kv",
                    files["two.kv.npy"])
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertEqual(files["one.npy"].read_bytes(), files["two.npy"].read_bytes())
        self.assertEqual(files["one.kv.npy"].read_bytes(), files["two.kv.npy"].read_bytes())

    def test_the_cache_of_all_heads_is_read(self):
        tokens = written(self.folder / "tokens.json", json.dumps([(i * 37) % 2000 for i in range(20)]))
        one, two = self.folder / "one.npy", self.folder / "two.npy"
        alone("logits", MODEL, "--tokens", tokens, *ONE_THREAD, "--out", self.folder / "l.npy", "--kv", one)
        ended = job(2, "logits", MODEL, "--tokens", tokens, *ONE_THREAD, "--split", "tensor", "--out",
                    self.folder / "l.npy", "--kv", two)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertEqual(one.stat().st_size, two.stat().st_size)

    def test_bench_tells_what_ranks_exchange(self):
        ended = job(2, "bench", MODEL, "-p", 16, "-n", 4, "-r", 1, *ONE_THREAD, "--split", "tensor", "--json")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        told = json.loads(ended.stdout)["exchange_per_token"]
        self.assertGreaterEqual(told["decode"]["messages"], 1)
        self.assertGreater(told["decode"]["bytes"], 0)
        self.assertGreater(told["prefill"]["bytes"], 0)

    def test_perplexity_of_layers_is_that_of_one_process(self):
        text = written(self.folder / "text", "In the beginning God created the heaven and the earth. " * 40)
        words = ("perplexity", MODEL, text, "--ctx", 64, *ONE_THREAD, "--json")
        ended = job(2, *words)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertEqual(json.loads(ended.stdout)["perplexity"], json.loads(alone(*words))["perplexity"])

    def test_what_ranks_cannot_do_is_refused_by_name(self):
        missing = self.folder / "none.gguf"
        for words, naming in (((MODEL, "--split", "row"), "--split"), ((missing, "--split", "tensor"), "none.gguf"),
                              ((MODEL, "--mpi", "perhaps"), "--mpi"), ((MODEL, "--lora", MODEL), "adapters")):
            ended = job(2, "run", *words, "hello")
            self.assertNotEqual(ended.returncode, 0, words)
            self.assertIn(naming, ended.stderr, words)
        ended = job(6, "run", MODEL, "--split", "layer", "hello")
        self.assertNotEqual(ended.returncode, 0)
        self.assertIn("5 ranks at most", ended.stderr)

    def test_a_file_that_differs_is_refused_by_name(self):
        """Each rank finds its own file under the same name, in its working folder."""
        folders = [self.folder / "a", self.folder / "b"]
        for folder in folders:
            folder.mkdir()
        shutil.copy(MODEL, folders[0] / "m.gguf")
        other_base = with_metadata(MODEL.read_bytes(), lambda key, value: struct.pack("<f", 5000)
                                   if key.endswith(".rope.freq_base") else value)
        (folders[1] / "m.gguf").write_bytes(other_base)
        words = [REALIZAR, "run", "m.gguf", "--split", "tensor", *GREEDY, "--max-tokens", "4", "hello"]
        command = [*mpirun(1, "-wdir", str(folders[0])), *words, ":", "-n", "1", "-wdir", str(folders[1]), *words]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, check=False, env=ENVIRONMENT)
        self.assertNotEqual(ended.returncode, 0)
        self.assertRegex(ended.stderr, r"rank 1 \(.*\): .*m\.gguf is another model here than on rank 0")

    def test_a_command_without_a_model_runs_once(self):
        ended = job(2, "inspect", MODEL, "--ranks", 2, "--json")
        self.assertEqual(ended.returncode, 0, ended.stderr)


class Served(unittest.TestCase):
    def serve(self, n, *options):
        self.log = tempfile.TemporaryFile("w+")
        self.addCleanup(self.log.close)
        self.mpirun = subprocess.Popen([*mpirun(n), REALIZAR, "serve", str(MODEL), "--port", "0", *ONE_THREAD, *options],
                                       stdout=self.log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=ENVIRONMENT)
        self.addCleanup(self.end)
        self.url = until(self.listens, "the server listens")
        until(self.is_ready, "the model is loaded")
        self.pids = {rank_of(pid): pid for pid in children_of(self.mpirun.pid)}

    def listens(self):
        if self.mpirun.poll() is not None:
            raise AssertionError(self.said())
        found = re.search(r"listens on (http://\S+),", self.said())
        return found and found.group(1)

    def is_ready(self):
        try:
            with DIRECT.open(self.url + "/readyz", timeout=DEADLINE_S) as answer:
                return answer.status == 200
        except urllib.error.HTTPError:
            return False

    def said(self):
        self.log.seek(0)
        return self.log.read()

    def end(self):
        if self.mpirun.poll() is None:
            self.mpirun.kill()
            self.mpirun.wait()

    def post(self, body):
        return DIRECT.open(urllib.request.Request(self.url + "/v1/completions", json.dumps(body).encode()), timeout=DEADLINE_S)

    def complete(self, prompt, n_tokens=24):
        with self.post({"prompt": prompt, "max_tokens": n_tokens, "temperature": 0, "ignore_eos": True}) as answer:
            return json.load(answer)["choices"][0]["text"]

    def test_answers_are_the_same_whatever_else_runs(self):
        prompts = [f"In the {word} " * (1 + i) for i, word in enumerate(("beginning", "end", "house", "land", "day"))]
        for split in ("tensor", "layer"):
            self.serve(2, "--split", split)
            apart = [self.complete(prompt) for prompt in prompts]
            with ThreadPoolExecutor(len(prompts)) as pool:
                self.assertEqual(list(pool.map(self.complete, prompts)), apart)
            self.end()

    def lose_rank(self, number):
        """A client's view of an answer during which a rank gets the signal."""
        self.serve(3, "--split", "tensor")
        body = {"prompt": "In the beginning", "max_tokens": 1000, "ignore_eos": True, "stream": True}
        with self.post(body) as answer:
            lines = [answer.readline()]
            os.kill(self.pids[1], number)
            lines += answer.readlines()
        until(lambda: self.mpirun.poll() is not None, "the job ends")
        self.assertNotEqual(self.mpirun.returncode, 0)
        return b"".join(lines).decode()

    def test_a_rank_that_is_killed_ends_open_answers_with_its_name(self):
        self.assertRegex(self.lose_rank(signal.SIGKILL), r'"message":"(rank 2 \(.*\) says: )?rank 1 \(')

    def test_a_rank_that_hangs_ends_open_answers_with_its_name(self):
        self.assertRegex(self.lose_rank(signal.SIGSTOP), r'"message":"(rank 2 \(.*\) says: )?rank 1 \(')
        self.assertRegex(self.said(), r"realizar: (rank 2 \(.*\) says: )?rank 1 \(")

    def test_a_job_that_is_told_to_stop_ends(self):
        self.serve(2, "--split", "layer")
        self.mpirun.terminate()
        until(lambda: self.mpirun.poll() is not None, "the job ends")
        for rank, pid in self.pids.items():
            until(lambda pid=pid: rank_of(pid) is None, f"rank {rank} ends")


if __name__ == "__main__":
    if shutil.which("mpirun") is None or "Open MPI" not in subprocess.run(["mpirun", "--version"], capture_output=True,
                                                                          text=True, check=False).stdout:
        print("skipped: there is no mpirun of Open MPI (scripts/setup --mpi)")
        sys.exit(SKIPPED)
    unittest.main(verbosity=0)
