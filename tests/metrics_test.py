#!/usr/bin/env python3
"""The server's report on itself: metrics, health, models, the operations of a request. Usage: metrics_test.py
REALIZAR."""
import json
import pathlib
import re
import time
import unittest
import urllib.request

from bundled import CHAT, ROOT
from program import REALIZAR
from served import Served
from waiting import DEADLINE_S, until

NAME = r"(?:vllm:|realizar_|process_)\w+"


class Case(unittest.TestCase):
    ARGS = ()

    @classmethod
    def setUpClass(cls):
        cls.started = time.time()
        cls.server = cls.enterClassContext(Served(REALIZAR, "realizar-tiny", *cls.ARGS))

    def chat(self, **headers):
        request = urllib.request.Request(self.server.url + "/v1/chat/completions", json.dumps(CHAT).encode(),
                                         {"Content-Type": "application/json", **headers})
        with urllib.request.urlopen(request, timeout=DEADLINE_S) as answer:
            return json.load(answer)

    def get(self, path):
        return self.server.ask("GET", path)[2].decode()

    def samples(self):
        """Value by name and labels, without the model's and the device's."""
        samples = {}
        for line in self.get("/metrics").splitlines():
            if line.startswith("#"):
                continue
            name, labels, value = re.fullmatch(r"([\w:]+)(?:\{(.*)\})? (\S+)", line).groups()
            pairs = re.findall(r'(\w+)="([^"]*)"', labels or "")
            samples[name, *(value for key, value in pairs if key not in ("model_name", "device"))] = float(value)
        return samples

    def samples_at_rest(self):
        """The samples after the engine has counted its work, which it does after its last answer."""
        until(lambda: self.samples()["vllm:num_requests_running",] == 0, "the engine's rest")
        return self.samples()


class Names(Case):
    def test_the_page_lists_every_metric_and_no_other(self):
        source = "".join(path.read_text() for path in (ROOT / "src/server/watch").glob("*metrics.cpp"))
        made = set(re.findall(rf'"({NAME})"', source)) | set(re.findall(rf"# TYPE ({NAME}) ", source))
        page = (ROOT / "docs/deploy.md").read_text()
        section = page[page.index("### Metrics"):page.index("## Security")]
        cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
        self.assertEqual(set(re.findall(f"`({NAME})`", "".join(cells))), made)

    def test_what_is_shown_is_listed(self):
        self.chat()
        shown = set(re.findall(rf"^# TYPE ({NAME}) ", self.get("/metrics"), re.M))
        page = (ROOT / "docs/deploy.md").read_text()
        self.assertGreater(len(shown), 35)
        self.assertEqual([name for name in sorted(shown) if f"`{name}`" not in page], [])


class PrefixCache(Case):
    ARGS = ("--no-idle-prefill",)

    def test_a_first_request_is_a_miss_and_the_same_again_a_hit(self):
        self.chat()
        first = self.samples_at_rest()
        self.assertEqual((first["realizar_prefix_requests_total", "miss"], first["realizar_prefix_requests_total", "hit"]),
                         (1, 0))
        self.assertGreater(first["realizar_prefix_inserted_blocks_total",], 0)
        self.assertEqual(first["realizar_prefix_blocks", "cache"], first["realizar_prefix_inserted_blocks_total",])
        self.assertEqual(first["realizar_prefix_blocks", "host"], 0)
        self.chat()
        second = self.samples_at_rest()
        self.assertEqual(second["realizar_prefix_requests_total", "hit"], 1)
        self.assertEqual(second["realizar_prefix_inserted_blocks_total",], first["realizar_prefix_inserted_blocks_total",])
        self.assertEqual(second["realizar_prefix_evicted_blocks_total",], 0)


class DeletedCache(Case):
    ARGS = ("--no-idle-prefill", "--manage-models")

    def test_it_has_no_blocks(self):
        self.chat()
        self.assertGreater(self.samples_at_rest()["realizar_prefix_blocks", "cache"], 0)
        self.assertEqual(self.server.ask("DELETE", "/cache")[0], 200)
        self.assertEqual(self.samples()["realizar_prefix_blocks", "cache"], 0)


class Unloaded(Case):
    ARGS = ("--no-idle-prefill", "--no-guesses", "--manage-models")

    def counters(self):
        lines = self.get("/metrics").splitlines()
        counters = {line.split()[2] for line in lines if line.startswith("# TYPE") and line.endswith(" counter")}
        pairs = [line.rsplit(" ", 1) for line in lines if not line.startswith("#")]
        return {name: float(value) for name, value in pairs if name.split("{")[0] in counters and "http" not in name}

    def test_counters_live_as_long_as_the_server(self):
        self.chat()
        self.samples_at_rest()
        first = self.counters()
        self.assertGreater(sum(value for name, value in first.items() if name.startswith("vllm:generation_tokens")), 0)
        self.assertEqual(self.server.ask("POST", "/models/unload", {"model": self.server.model})[0], 200)
        until(lambda: not json.loads(self.get("/v1/models"))["data"][0]["loaded"], "the model to be unloaded")
        self.assertEqual(self.counters(), first)
        self.chat()
        self.samples_at_rest()
        second = self.counters()
        for name, value in first.items():
            self.assertGreaterEqual(second[name], value, name)
        for name in ("vllm:generation_tokens_total", "llamacpp:tokens_predicted_total", "vllm:prompt_tokens_total"):
            key = next(key for key in first if key.split("{")[0] == name)
            self.assertEqual(second[key], 2 * first[key], name)


class Values(Case):
    def test_steps_have_a_mean_and_a_deviation_by_phase(self):
        self.chat()
        samples = self.samples_at_rest()
        for phase in ["prefill", "decode"]:
            n = samples["realizar_backend_steps_total", phase]
            total = samples["realizar_backend_step_seconds_total", phase]
            squares = samples["realizar_step_seconds_sumsq", phase]
            shortest, longest = samples["realizar_step_seconds_min", phase], samples["realizar_step_seconds_max", phase]
            self.assertGreater(n, 0)
            self.assertTrue(0 < shortest <= total / n <= longest)
            self.assertTrue((total / n) ** 2 * (1 - 1e-4) <= squares / n <= longest ** 2 * (1 + 1e-4))
        steps = sum(samples["realizar_backend_steps_total", phase] for phase in ["prefill", "decode"])
        self.assertEqual(samples["realizar_step_seconds_count",], steps)

    def test_memory_and_start(self):
        samples = self.samples()
        for kind in ["weights", "kv_cache", "scratch"]:
            self.assertGreater(samples["realizar_memory_bytes", kind], 0)
        resident = samples["process_resident_memory_bytes",]
        status = pathlib.Path(f"/proc/{self.server.process.pid}/status").read_text()
        self.assertLess(abs(resident - 1024 * int(re.search(r"VmRSS:\s+(\d+)", status).group(1))), 0.5 * resident)
        self.assertTrue(self.started - 1 < samples["process_start_time_seconds",] < time.time() + 1)
        uptime_s = json.loads(self.get("/health"))["uptime_s"]
        self.assertTrue(0 < uptime_s < time.time() - self.started + 1)

    def test_a_model_says_what_it_runs_on(self):
        model = json.loads(self.get("/v1/models"))["data"][0]
        self.assertIn("1 thread", model["backend"])
        self.assertGreater(model["scratch_bytes"], 0)
        refused = [name for name in self.samples() if name[0] == "realizar_backend_refused"]
        self.assertEqual([name[1] for name in refused], [model["gpu_refusal"]] if "gpu_refusal" in model else [])


class Operations(Case):
    ARGS = ("--trace-operations", "--no-guesses")  # whose rows would count as tokens

    def test_a_request_can_ask_for_the_time_of_its_operations(self):
        plain = self.chat(**{"X-Trace": "1"})
        self.assertNotIn("operations", plain["trace"])
        traced = self.chat(**{"X-Trace": "operations"})
        self.assertEqual(traced["choices"], plain["choices"])
        trace = traced["trace"]
        self.assertEqual(trace["steps"]["decode"]["n_tokens"], trace["n_generated"])
        self.assertEqual(trace["steps"]["prefill"]["n_tokens"], trace["n_prompt"] - trace["n_cached"])
        for phase in ["prefill", "decode"]:
            mine = [row for row in trace["operations"] if row["phase"] == phase]
            self.assertLessEqual({"linear.qkv", "linear.o", "linear.gate_up", "linear.down", "linear.head", "attention"},
                                 {row["name"] for row in mine})
            self.assertAlmostEqual(sum(row["total_ms"] for row in mine), trace["steps"][phase]["total_ms"], places=6)
        self.assertNotIn("operations", self.chat(**{"X-Trace": "1"})["trace"])


class NoOperations(Case):
    def test_a_server_that_was_not_told_to_trace_refuses(self):
        with self.assertRaises(urllib.error.HTTPError) as refused:
            self.chat(**{"X-Trace": "operations"})
        with refused.exception as answer:
            self.assertEqual(answer.code, 403)
            self.assertIn("--trace-operations", json.load(answer)["error"]["message"])


if __name__ == "__main__":
    unittest.main()
