#!/usr/bin/env python3
"""scripts/gpu-check with fake programs: without a GPU it skips and does not fail; a hanging stage is ended, and its
output so far counts; past the deadline stages are named; the report is complete after each stage."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import unittest

from folders import temp_folder
from waiting import DEADLINE_S, until

GPU_CHECK = pathlib.Path(__file__).resolve().parent.parent / "scripts/gpu-check"
ROW = {"batch": 1, "prompt": 512, "depth": 0, "prefill_tok_s": {"median": 9000.0}, "prefill_gflop_s": 150000.0,
       "peak_gflop_s": 600000.0, "decode_tok_s": {"median": 400.0}, "decode_gb_s": 2000.0, "peak_read_gb_s": 4000.0}
PASSES = "echo '[  PASSED  ] 3 tests.'"
TEST_PROGRAMS = set(re.findall(r'"tests/(\w+)_test"', GPU_CHECK.read_text()))


class GpuCheck(unittest.TestCase):
    def setUp(self):
        self.root = temp_folder(self)
        self.program("bin/realizar", "case $1 in devices) echo '0  A GPU  1.0 of 2.0 GB free';; esac")
        for name in TEST_PROGRAMS:
            self.program(f"tests/{name}_test", PASSES)
        self.program("bench/make_model", 'for last; do :; done; echo model > "$last"')
        self.program("bench/cuda_bench", "echo 'linear Q4_K 12.5 us'")

    def program(self, name, script):
        path = self.root / "build" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def command(self, what, limit_s, *more):
        return [sys.executable, GPU_CHECK, what, "--build", self.root / "build", "--out", self.root / "out", "--work",
                self.root / "work", "--until", str(limit_s), *more]

    def check(self, what, limit_s=DEADLINE_S, *more):
        result = subprocess.run(self.command(what, limit_s, *more), capture_output=True, text=True, timeout=DEADLINE_S)
        self.assertLessEqual(len(list((self.root / "out").iterdir())), 4)
        self.report = json.loads((self.root / "out/report.json").read_text())
        self.text = (self.root / "out/report.md").read_text()
        self.results = {stage["stage"]: stage["result"] for stage in self.report["stages"]}
        return result.returncode

    def test_without_a_gpu_every_stage_is_skipped(self):
        self.program("bin/realizar", "echo 'no GPU: this machine has no NVIDIA GPU, or no driver for it'")
        self.assertEqual(self.check("all"), 0)
        self.assertGreater(len(self.results), 25)
        self.assertEqual(set(self.results.values()), {"skipped: no GPU"})

    def test_a_program_that_does_not_start_is_a_failure(self):
        self.program("bin/realizar", "echo 'error while loading shared libraries: libfmt.so.9' >&2; exit 127")
        self.assertEqual(self.check("tests"), 1)
        self.assertEqual(self.results["devices"], "FAILED (127)")
        self.assertIn("libfmt.so.9", self.text)

    def test_a_filter_that_finds_no_test_is_a_failure(self):
        self.program("tests/cuda_linear_test", "echo '[  PASSED  ] 0 tests.'")
        self.assertEqual(self.check("tests"), 1)
        self.assertEqual(self.results["products"], "FAILED (no test ran)")
        self.assertEqual(self.results["attention"], "ok")

    def test_a_stage_that_hangs_is_ended_and_its_lines_count(self):
        self.program("bin/realizar", f"""case "$*" in
          devices) echo '0  A GPU';;
          *--json*) echo '{json.dumps(ROW)}'; printf '{{"batch": 1'; sleep 10000;;
        esac""")
        for limit_s in (8, 30, 120):
            status = self.check("bench", limit_s)
            if self.report["bench"]:  # a busy machine may not get this far in the shortest time
                break
        self.assertEqual(status, 1)
        first = next(name for name in self.results if name.startswith("bench qwen"))
        self.assertRegex(self.results[first], r"FAILED \(no end after \d+ s\)")
        self.assertEqual(len(self.report["bench"]), 1)
        self.assertIn("| qwen2.5-1.5b | Q4_K_M | 1 | 512 | 0 | 9000 | 25 % | - | - | 400.0 | 50 % |", self.text)
        self.assertIn("12.5 us", self.text)
        later = [result for name, result in self.results.items() if name.startswith("bench llama")]
        self.assertEqual(set(later), {"skipped: past --until"})

    def test_a_peer_measures_the_same_tokens(self):
        self.program("bin/realizar", f"""case "$*" in
          devices) echo '0  A GPU';;
          *--json*) echo '{json.dumps(ROW)}';;
        esac""")
        self.program("peer", """echo "$*" >> "$0.calls"
          case "$*" in *"-p 0 "*) echo '{"avg_ts": 200.0}';; *) echo '{"avg_ts": 6000.0}';; esac""")
        peer = self.root / "build/peer"
        self.check("bench", DEADLINE_S, "--llama-bench", peer)
        calls = (self.root / "build/peer.calls").read_text()
        self.assertIn("-p 512 -n 0 -d 0 ", calls)
        self.assertIn("-p 0 -n 64 -d 1024 ", calls)  # after as many tokens of context and of the prompt
        self.assertIn("| llama-3.1-8b | Q4_K_M | 512 | 0 | 6000 | 1.50 | 200.0 | 2.00 |", self.text)
        self.assertEqual(self.report["llama_bench"][0]["decode_tok_s"], 200.0)

    def test_a_run_that_is_killed_leaves_its_report(self):
        started = self.root / "started"
        self.program("tests/operations_test", f"echo $$ > {started}.new; mv {started}.new {started}; exec sleep 10000")
        process = subprocess.Popen(self.command("tests", DEADLINE_S), stdout=subprocess.DEVNULL)
        until(lambda: started.exists() or process.poll() is not None, "the stage that hangs")
        process.kill()
        process.wait()
        os.kill(int(started.read_text()), signal.SIGKILL)
        report = json.loads((self.root / "out/report.json").read_text())
        self.assertEqual([stage["stage"] for stage in report["stages"]], ["devices", "peaks"])


if __name__ == "__main__":
    unittest.main()
