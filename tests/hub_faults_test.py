#!/usr/bin/env python3
"""Downloads from servers that misbehave: the result of each fault (docs/conformance.md has the table), and who gets a token.
Usage: hub_faults_test.py REALIZAR."""
import contextlib
import itertools
import random
import threading
import time
import unittest

from folders import written
import hub_server
import hub_test
from hub_server import Hub, sha256
from hub_test import BIG, NAME
from waiting import until


class Faults(hub_test.Case):
    """The result of each fault; docs/conformance.md has the table."""

    def test_connections_that_drop_at_each_stage_are_made_again(self):
        self.add_big()
        left = {"info": 2, "tree": 2, "resolve": 3}

        def fault(handler, stage, data):
            if left.get(stage, 0) > 0:
                left[stage] -= 1
                return handler.drop()
            return False
        self.hub.fault = fault
        self.pulls(NAME)
        self.assertEqual(set(left.values()), {0})
        self.assert_stored(BIG)

    def test_a_body_that_breaks_off_goes_on_where_it_was(self):
        self.add_big()

        @self.hub.at("blob")
        def fault(handler, data):
            first, end, is_range = handler.wanted(data)
            handler.head(data, first, end, is_range)
            handler.send_bytes(data, first, min(end, first + (1 << 20)))
            return end - first <= 1 << 20 or handler.drop()
        self.pulls(NAME)
        self.assert_stored(BIG)
        self.assertLessEqual(self.hub.sent(BIG), len(BIG) * 1.1)

    def test_a_server_that_always_drops_is_given_up_and_nothing_is_lost(self):
        self.add_big()
        allowed = threading.Semaphore(3)

        @self.hub.at("blob")
        def fault(handler, data):
            return not allowed.acquire(blocking=False) and handler.drop()
        self.fails(NAME, "--connections", "2", naming="closed the connection too early")
        self.hub.fault = None
        self.pulls(NAME)
        self.assert_stored(BIG)
        self.assertEqual(self.hub.sent(BIG), len(BIG))

    def test_a_stall_is_given_up_and_tried_again(self):
        self.add_big()
        # On a busy machine all tries may be too slow for such a time.
        until(self.outlives_a_stall, "a download that goes on after a stall")
        self.assert_stored(BIG)

    def outlives_a_stall(self):
        stalls = threading.Semaphore(1)

        @self.hub.at("blob")
        def fault(handler, data):
            if not stalls.acquire(blocking=False):
                return False
            first, end, is_range = handler.wanted(data)
            handler.head(data, first, end, is_range)
            handler.send_bytes(data, first, first + 100_000)
            handler.wfile.flush()
            self.hub.ends.wait()
            return True
        code, _, stderr = self.pull(NAME, "--timeout", "1")
        if code != 0:
            self.assertIn("no byte came for 1000 ms", stderr)
        has_stalled = not stalls.acquire(blocking=False)
        return code == 0 and has_stalled

    def test_a_server_that_drips_is_given_up(self):
        self.add_big()

        @self.hub.at("blob")
        def fault(handler, data):
            handler.head(data, *handler.wanted(data))
            with contextlib.suppress(OSError):
                while not self.hub.ends.wait(0.05):
                    handler.wfile.write(b"a")
                    handler.wfile.flush()
        # A server that is too busy to drip in time is given up too, as stalled.
        self.fails(NAME, "--timeout", "1", "--connections", "1", naming=" came ")

    def test_a_header_without_end_is_refused(self):
        self.add_big()

        @self.hub.at("blob")
        def fault(handler, data):
            with contextlib.suppress(OSError):
                handler.wfile.write(b"HTTP/1.1 200 OK\r\nX: " + b"a" * (30 << 20) + b"\r\n\r\n")
            return handler.drop()
        self.fails(NAME, "--connections", "1", naming="the header has")

    def test_parts_with_other_weak_tags_are_not_put_together(self):
        other = random.Random(3).randbytes(len(BIG))
        self.hub.links["m.gguf"] = BIG
        n_asked = itertools.count()

        @self.hub.at()
        def fault(handler, data):
            n = next(n_asked)
            version = BIG if n < 3 else other  # its length, and two pieces
            first, end, is_range = handler.wanted(version)
            handler.head(version, first, end, is_range, ETag=f'W/"{n < 3}"')
            handler.send_bytes(version, first, end)
        self.pulls(f"{self.hub.url}/m.gguf", "--connections", "1")
        self.assert_stored(other)

    def test_a_file_that_nothing_identifies_is_fetched_as_a_whole(self):
        self.hub.links["m.gguf"] = BIG
        ranges = []

        @self.hub.at()
        def fault(handler, data):
            ranges.append(handler.headers.get("Range"))
            handler.send_file(data, ETag="")
        self.pulls(f"{self.hub.url}/m.gguf")
        self.assert_stored(BIG)
        self.assertEqual((set(ranges[:-1]), ranges[-1]), ({"bytes=0-0"}, None))

    def test_wrong_bytes_are_refused_and_removed(self):
        self.add_big()
        wrong = BIG[:-1] + b"\0"

        @self.hub.at("blob")
        def fault(handler, data):
            handler.send_file(data, changed_bytes=wrong)
        stderr = self.fails(NAME, naming=sha256(BIG))
        self.assertIn(sha256(wrong), stderr)
        self.assertEqual(list((self.store / "blobs").iterdir()), [])
        self.assertEqual(list((self.store / "partial").iterdir()), [])
        self.hub.fault = None
        self.pulls(NAME)

    def test_wrong_bytes_of_a_small_file_are_refused(self):
        files = {"config.json": b"{}", "model.safetensors": b"weights"}
        self.hub.add_repo("maker/folder", files, small=["config.json"])

        @self.hub.at("resolve")
        def fault(handler, data):
            return handler.path.endswith("config.json") and handler.reply(200, b"[]")
        self.fails("hf:maker/folder", naming="git's SHA-1")

    def test_lengths_that_lie_are_refused(self):
        self.add_big()

        for changed, naming in (({"Content_Range": "bytes 0-9/10"}, "expected 25165824 bytes, the server's file has 10"),
                                ({"Content_Range": "nonsense"}, "nonsense"),
                                ({"Content_Range": f"bytes 0-99999999999/{len(BIG)}"}, "bytes 0-99999999999"),
                                ({"Content_Range": f"bytes 7-4194310/{len(BIG)}"}, "expected bytes"),
                                ({"Content_Length": len(BIG) * 2}, "more bytes than it announced")):
            @self.hub.at("blob")
            def fault(handler, data, changed=changed):
                first, end, is_range = handler.wanted(data)
                handler.head(data, first, end, is_range, **changed)
                with contextlib.suppress(OSError):
                    handler.send_bytes(data, first, end)
                    handler.wfile.write(b"more" * 5000)
            self.fails(NAME, "--connections", "1", naming=naming)

    def test_ranges_that_are_cut_short_are_completed(self):
        self.add_big()

        @self.hub.at("blob")
        def fault(handler, data):
            first, end, _ = handler.wanted(data)
            end = min(end, first + (1 << 20))
            handler.head(data, first, end, True)
            handler.send_bytes(data, first, end)
        self.pulls(NAME)
        self.assert_stored(BIG)
        self.assertEqual(self.hub.sent(BIG), len(BIG))

    def test_a_server_without_ranges_will_do(self):
        self.add_big()

        @self.hub.at("blob")
        def fault(handler, data):
            handler.head(data, 0, len(data), False)
            with contextlib.suppress(OSError):
                handler.send_bytes(data, 0, len(data))
        self.pulls(NAME)
        self.assert_stored(BIG)

    def test_a_file_that_changes_at_its_url_is_not_put_together(self):
        other = random.Random(2).randbytes(len(BIG))
        self.hub.links["m.gguf"] = BIG
        allowed = threading.Semaphore(3)  # the first byte, and two pieces
        self.hub.fault = lambda handler, stage, data: not allowed.acquire(blocking=False) and handler.drop()
        self.fails(f"{self.hub.url}/m.gguf", "--connections", "1", naming="too early")
        self.hub.fault = None
        self.hub.links["m.gguf"] = other
        self.pulls(f"{self.hub.url}/m.gguf")
        self.assert_stored(other)

    def test_statuses_say_what_to_do(self):
        self.add_tiny()
        for status, naming in ((401, "HF_TOKEN"), (403, "terms must be accepted"), (404, "does not have it"), (400, "status 400")):
            @self.hub.at()
            def fault(handler, data, status=status):
                handler.reply(status)
            self.hub.requests.clear()
            self.fails(NAME, naming=naming)
            self.assertEqual(len(self.hub.requests), 1, "such a status is final")
        self.hub.fault = None
        self.fails("hf:maker/none", naming="does not have it")
        self.fails("hf:maker/model:Q2_K", naming="there are: m-Q8_0.gguf")

    def test_retry_after_is_kept(self):
        self.add_tiny()
        for status, stage in ((429, "info"), (503, "blob")):
            times = []

            @self.hub.at(stage)
            def fault(handler, data, status=status, times=times):
                times.append(time.monotonic())
                return len(times) == 1 and handler.reply(status, Retry_After=1)
            self.pulls(NAME, "--connections", "1")
            self.assertGreaterEqual(times[1] - times[0], 1)
            self.assertEqual(self.run_it("rm", NAME)[0], 0)

        @self.hub.at()
        def patient(handler, data):
            handler.reply(429, Retry_After=99999)
        self.fails(NAME, naming="try again in 99999 s")

    def test_an_address_that_has_expired_is_asked_for_again(self):
        self.add_tiny()
        refused = threading.Semaphore(2)

        @self.hub.at("blob")
        def fault(handler, data):
            return refused.acquire(blocking=False) and handler.reply(403)
        self.pulls(NAME)

    def test_redirects_end(self):
        self.add_tiny()
        for location, naming in (("/loop", "redirects"), ("file:///etc/passwd", "expected https:// or http://"),
                                 ("ftp://127.0.0.1/x", "expected https:// or http://"), ("", "without a Location")):
            @self.hub.at()
            def fault(handler, data, location=location):
                handler.reply(302, **({"Location": location} if location else {}))
            self.fails(NAME, naming=naming)

    def test_answers_that_are_no_json_or_too_long_are_refused(self):
        self.add_tiny()
        for stage, body in (("info", b"<html>"), ("info", b'{"sha": 1}'), ("tree", b"{}"), ("tree", b"[" * 100_000)):
            @self.hub.at(stage)
            def fault(handler, data, body=body):
                handler.reply(200, body)
            self.fails(NAME, naming="realizar:")

        @self.hub.at()
        def endless(handler, data):
            handler.send_response(200)
            handler.send_header("Connection", "close")
            handler.end_headers()
            with contextlib.suppress(OSError):
                while not self.hub.ends.is_set():
                    handler.wfile.write(b" " * 65536)
            handler.close_connection = True
        self.fails(NAME, naming="expected at most")

    def test_a_proxy_of_the_environment_is_used(self):
        self.add_tiny()
        code, _, stderr = self.run_it("pull", NAME, "--mirror", "http://hub.invalid", environment={
            "http_proxy": self.hub.url, "no_proxy": "localhost"})
        self.assertEqual(code, 0, stderr)
        self.assertTrue(self.hub.requests[0][1].startswith("http://hub.invalid/api/"))


class Tls(hub_test.Case):
    def make_hub(self):
        self.certificate = hub_server.make_certificate(self.folder)
        return Hub(self.certificate)

    def test_a_certificate_must_be_trusted(self):
        self.add_tiny()
        self.fails(NAME, naming="certificate is not trusted")
        self.pulls(NAME, "--ca-file", self.certificate[0])
        self.assertEqual(self.run_it("rm", NAME)[0], 0)
        self.pulls(NAME, environment={"SSL_CERT_FILE": self.certificate[0]})

    def test_a_token_goes_to_its_own_host_alone(self):
        self.add_tiny()
        self.hub.token = "hf_secret"
        token = written(self.folder / "token", "hf_secret\n")
        trust = ["--ca-file", self.certificate[0]]
        # The user's token is for Hugging Face and not for a mirror.
        self.fails(NAME, *trust, naming="requires a token", environment={"HF_TOKEN": "hf_secret"})
        self.assertTrue(all("Authorization" not in headers for stage in ("info", "tree") for headers in self.hub.headers_of(stage)))
        self.pulls(NAME, *trust, "--token-file", token)
        self.assertEqual(self.hub.headers_of("resolve")[-1]["Authorization"], "Bearer hf_secret")
        self.assertTrue(self.hub.headers_of("blob"))
        self.assertTrue(all("Authorization" not in headers for headers in self.hub.headers_of("blob")))
        token.write_text("two words")
        self.assertEqual(self.pull("hf:maker/model", *trust, "--token-file", token)[0], 1)

    def test_nothing_leaves_encryption(self):
        self.add_tiny()
        plain = Hub()
        self.addCleanup(plain.close)

        @self.hub.at("resolve")
        def fault(handler, data):
            handler.reply(302, Location=f"{plain.url}/x.gguf")
        self.fails(NAME, "--ca-file", self.certificate[0], naming="not encrypted")
        self.assertEqual(plain.requests, [])


if __name__ == "__main__":
    unittest.main()
