#!/usr/bin/env python3
"""The output of --trace and --trace-file for a run and for a chat. Usage: trace_test.py REALIZAR."""
import json
import pathlib
import re
import tempfile
import unittest

from cli_test import PROMPT, Case, Terminal, realizar
from program import REALIZAR

ROW = re.compile(r"^(prefill|decode) +(\S+) +([\d.]+) +([\d.]+)% +([\d.]+) +(\d+) *(?:([\d.]+) (GB|GFLOP)/s)?$", re.M)
TOTAL = re.compile(r"^(prefill|decode|both) +total +([\d.]+) +100.0% +(\d+) tokens in (\d+) steps, ([\d.]+) tok/s(?:; (\d+) tokens were computed)?$", re.M)
MATRICES = {"linear.qkv", "linear.o", "linear.gate_up", "linear.down", "linear.head"}


class Table(Case):
    def setUp(self):
        result = realizar("run", "realizar-tiny", "--no-guesses", "--temperature", "0", "-n", "6", "--trace", PROMPT)
        self.assertEqual(result.returncode, 0)
        self.text = result.stderr.decode()

    def test_its_head_says_what_ran(self):
        head = "\n".join(self.text.splitlines()[:2])
        for words in ["realizar-tiny (llama)", "5 layers", "d_model 256", "2 KV heads of 64", "vocabulary 2048", "cpu (",
                      "threads", "context 1024", "16 prompt tokens, 0 of them cached", "6 tokens generated of at most 6"]:
            self.assertIn(words, head)

    def test_every_matrix_has_a_row_in_each_phase(self):
        rows = ROW.findall(self.text)
        for phase in ["prefill", "decode"]:
            self.assertLessEqual(MATRICES, {row[1] for row in rows if row[0] == phase})
        counts = {row[1]: int(row[5]) for row in rows if row[0] == "prefill"}
        self.assertEqual([counts[name] for name in sorted(MATRICES)], [5, 5, 1, 5, 15])

    def test_a_phase_s_rows_add_up_to_its_total(self):
        rows, totals = ROW.findall(self.text), TOTAL.findall(self.text)
        self.assertEqual([(phase, int(n), int(steps), computed) for phase, _, n, steps, _, computed in totals],
                         [("prefill", 16, 1, ""), ("decode", 5, 5, ""), ("both", 21, 6, "")])
        self.assertAlmostEqual(sum(float(total[1]) for total in totals[:2]), float(totals[2][1]), delta=0.02)
        for phase, total_ms, n_tokens, _, rate, _ in totals[:2]:
            mine = [row for row in rows if row[0] == phase]
            rounding = 0.005 * (len(mine) + 1)  # of each printed number
            self.assertAlmostEqual(sum(float(row[2]) for row in mine), float(total_ms), delta=rounding)
            self.assertAlmostEqual(sum(float(row[3]) for row in mine), 100, delta=0.05 * (len(mine) + 1))
            self.assertAlmostEqual(int(n_tokens) / float(total_ms) * 1e3 / float(rate), 1, delta=0.005 / float(total_ms) + 0.05 / float(rate))

    def test_rates_count_the_tokens_that_came_and_not_rejected_drafts(self):
        result = realizar("run", "realizar-tiny", "-t", "1", "--temperature", "0", "--trace", PROMPT)
        [decode] = [total for total in TOTAL.findall(result.stderr.decode()) if total[0] == "decode"]
        self.assertEqual(int(decode[2]), 9)  # eight tokens after the first, and the one that ends the answer
        if decode[5]:
            self.assertGreater(int(decode[5]), 9)

    def test_no_rate_where_no_time_or_no_work_was_measured(self):
        for phase, name, total_ms, *_, rate, _ in ROW.findall(self.text):
            if float(total_ms) < 0.01 or name.startswith(("norm", "embed", "rope", "select")):
                self.assertEqual(rate, "", f"{phase} {name}")


class File(Case):
    def test_it_says_what_each_event_is(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "trace.json"
            self.succeeds("run", "--no-guesses", "--temperature", "0", "-n", "3", "--trace-file", path, PROMPT)
            trace = json.loads(path.read_text())
        events = trace["traceEvents"]
        names = {(e["name"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M"}
        self.assertIn("realizar", names["process_name", 0])
        self.assertEqual({names["thread_name", lane] for lane in (1, 2)}, {"steps", "operations"})
        steps = [e for e in events if e["ph"] == "X" and e["tid"] == 1]
        operations = [e for e in events if e["ph"] == "X" and e["tid"] == 2]
        self.assertEqual([(s["name"], s["args"]) for s in steps],
                         [("prefill", {"step": 0, "tokens": 16}), ("decode", {"step": 1, "tokens": 1}),
                          ("decode", {"step": 2, "tokens": 1})])
        for event in operations:
            step = steps[event["args"]["step"]]
            self.assertEqual(event["args"]["phase"], step["name"])
            self.assertGreaterEqual(event["ts"] + 1e-3, step["ts"])
            self.assertLessEqual(event["ts"] + event["dur"], step["ts"] + step["dur"] + 1e-3)
        layers = {e["args"].get("layer") for e in operations if e["name"] == "linear.o"}
        self.assertEqual(layers, {0, 1, 2, 3, 4})
        self.assertEqual({e["args"].get("layer") for e in operations if e["name"] == "linear.head"}, {None})
        expected = {"architecture": "llama", "n_layers": 5, "d_model": 256, "n_prompt": 16, "n_generated": 3,
                    "max_tokens": 3}
        self.assertLessEqual(expected.items(), trace["metadata"].items())


class Chat(Case):
    def test_each_answer_is_followed_by_its_own_trace(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "trace.json"
            chat = Terminal(self, REALIZAR, "run", "--no-guesses", "--temperature", "0", "-n", "4", "--trace",
                            "--trace-file", str(path))
            for _ in range(2):
                chat.read_until("> ")
                chat.send(PROMPT + "\n")
                told = chat.read_until(", ms each")
                self.assertEqual(told.count("4 tokens generated"), 1)
                self.assertEqual(TOTAL.findall(told.replace("\r", ""))[1][2:4], ("3", "3"))
                chat.read_until("\n")
            chat.read_until("> ")
            chat.send("/quit\n")
            self.assertEqual(chat.exit_code(), 0)
            steps = [e for e in json.loads(path.read_text())["traceEvents"] if e["ph"] == "X" and e["tid"] == 1]
            self.assertEqual([s["name"] for s in steps], ["prefill"] + 3 * ["decode"])


if __name__ == "__main__":
    unittest.main()
