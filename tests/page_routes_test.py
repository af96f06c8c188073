#!/usr/bin/env python3
"""The chat page's requests besides OpenAI's routes. Usage: page_routes_test.py REALIZAR."""
import gzip
import json
import pathlib
import re
import tempfile
import time
import unittest

from folders import key_file
import server_rig
from server_rig import ANSWER, CHAT, Case, Server, post

MEASURED = ("time", "running", "waiting", "kv_use", "resident_bytes", "weight_bytes", "kv_bytes")


class History(Case):
    def history(self, query=""):
        return self.server.get("/metrics/history" + query)

    def test_it_begins_with_the_server(self):
        """A page that is opened later finds the earlier samples."""
        began = time.time() - self.server.get("/health").json()["uptime_s"]
        told = self.history().json()
        samples = told["samples"]
        self.assertEqual({len(values) for values in samples.values()}, {len(samples["time"])})
        self.assertGreater(len(samples["time"]), 0)
        for name in MEASURED:
            self.assertIsInstance(samples[name][0], (int, float), name)
        self.assertIsNone(samples["generated_tokens_per_s"][0], "a rate of one sample")
        self.assertTrue(began - 1 <= samples["time"][0] <= samples["time"][-1] <= time.time() + 1)
        self.assertEqual(told["span_s"], 3600)
        self.assertGreater(samples["resident_bytes"][-1], 1 << 20)

    def test_only_what_is_new_is_sent(self):
        times = self.history().json()["samples"]["time"]
        newer = self.history(f"?since={times[-1]!r}").json()["samples"]["time"]
        self.assertTrue(all(at > times[-1] for at in newer), newer)
        for query in ("?since=", "?since=x", "?until=3", "?since=1&since=2"):
            self.assertEqual(self.history(query).status, 400, query)

    def test_totals_count_requests_and_refusals(self):
        before = self.history().json()["totals"]
        self.assertEqual(self.server.exchange(post(CHAT)).answer(), ANSWER)
        self.server.get("/nothing")
        after = self.history().json()["totals"]
        self.assertEqual({name: after[name] - before[name] for name in ("requests", "refused", "failed")},
                         {"requests": 1, "refused": 1, "failed": 0})

    def test_a_later_sample_has_rates(self):
        self.server.exchange(post(CHAT))
        self.server.until(lambda: any(self.history().json()["samples"]["generated_tokens_per_s"][1:]), "a rate above 0")


class Access(unittest.TestCase):
    def serve(self, *args):
        server = Server(*args)
        self.addCleanup(server.stop)
        return server

    def test_the_history_wants_the_key_and_the_manifest_does_not(self):
        with tempfile.TemporaryDirectory() as folder:
            keys = key_file(pathlib.Path(folder, "keys"), "right\n")
            server = self.serve("--api-keys", str(keys))
            self.assertEqual(server.get("/metrics/history").status, 401)
            manifest = server.get("/manifest.webmanifest")
            self.assertEqual(server.get("/page/temml.js").status, 200)
        self.assertEqual((manifest.status, manifest.headers["content-type"]), (200, "application/manifest+json"))
        self.assertEqual(manifest.json()["start_url"], "./")

    def test_what_is_switched_off_is_not_there(self):
        server = self.serve("--no-metrics", "--no-page")
        for path in ("/metrics/history", "/manifest.webmanifest", "/page/temml.js"):
            self.assertEqual(server.get(path).status, 404, path)


class Files(Case):
    """The page, and the parts that it loads when it needs them."""

    def test_parts_are_those_of_the_repository(self):
        self.assertGreater(len(server_rig.PAGE_PARTS), 2)
        for part in server_rig.PAGE_PARTS:
            plain = self.server.get(f"/page/{part.name}?v=1")
            self.assertEqual((plain.status, plain.body), (200, part.read_bytes()), part.name)
            self.assertTrue(plain.headers["content-type"].startswith("text/javascript"))
            self.assertEqual(plain.headers["content-security-policy"], "default-src 'none'")
            packed = self.server.get(f"/page/{part.name}", "Accept-Encoding: gzip")
            self.assertEqual(gzip.decompress(packed.body), part.read_bytes(), part.name)
            known = self.server.get(f"/page/{part.name}", f"If-None-Match: {plain.headers['etag']}")
            self.assertEqual((known.status, known.body), (304, b""))

    def test_nothing_else_is_a_part(self):
        for name in ("none.js", "index.html", "licenses.txt", "..%2findex.html", "", "temml.js/x", "temml.js%00"):
            self.assertEqual(self.server.get(f"/page/{name}").status, 404, name)

    def test_all_of_them_carry_the_licences_of_their_packages(self):
        web = server_rig.PAGE.parent.parent
        licences = (web / "page/licenses.txt").read_text()
        copies = [server_rig.PAGE.read_text()] + [part.read_text() for part in server_rig.PAGE_PARTS]
        versions = json.loads((web / "package.json").read_text())["devDependencies"]
        sources = [path.read_text() for path in (web / "src").rglob("*.ts*")]
        imported = {name for text in sources for name in re.findall(r"(?:from|import) '([a-z@][\w.-]*)", text)}
        self.assertGreater(len(imported), 4)
        for name in imported:
            text = re.search(rf"(?ms)^{re.escape(name)} {re.escape(versions[name])}: .*?(?=^-{{80}}|\Z)", licences)
            self.assertRegex(text.group(0) if text else "", r"(?is)(copyright.*warrant|Apache License)", name)
            first_line = f"{name} {versions[name]}: "
            self.assertTrue(any(first_line in copy for copy in copies), name)


class Models(Case):
    def test_they_tell_what_a_request_gets_that_names_no_parameter(self):
        model = self.server.get("/v1/models").json()["data"][0]
        self.assertEqual(set(model["sampling"]), {"temperature", "top_p", "top_k", "min_p", "repetition_penalty",
                                                  "frequency_penalty", "presence_penalty"})
        self.assertEqual((model["sampling"]["temperature"], model["sampling"]["top_k"]), (0.8, 40))
        self.assertIs(model["has_thinking_switch"], False)

    def test_an_answer_that_was_cut_is_continued(self):
        whole = {**CHAT, "messages": [*CHAT["messages"], {"role": "assistant", "content": ANSWER[:14]}],
                 "continue_final_message": True}
        self.assertEqual(ANSWER[:14] + self.server.exchange(post(whole)).answer(), ANSWER)


if __name__ == "__main__":
    server_rig.main()
