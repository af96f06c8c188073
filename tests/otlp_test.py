#!/usr/bin/env python3
"""Traces that a server sends to an OpenTelemetry collector (OTLP over HTTP, in JSON): their contents, and what happens
to them if the collector is slow, unreachable or refuses them. Usage: otlp_test.py REALIZAR."""
import contextlib
import http.client
import http.server
import json
import re
import socket
import sys
import threading
import time
import unittest
import urllib.parse

import program
from program import REALIZAR
from served import Served
from waiting import DEADLINE_S, until

PROMPT = "What is the capital of France?"
CHAT = {"messages": [{"role": "user", "content": PROMPT}], "temperature": 0, "max_tokens": 12}
TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SERVER, INTERNAL = 2, 1  # SpanKind


class Collector:
    """Receives requests to /v1/traces. `answers`: (status, headers, body) of the next replies, then 200 for all others;
    `gate`: replies wait until it is set."""

    def __init__(self):
        self.bodies, self.answers, self.gate = [], [], threading.Event()
        self.gate.set()
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                assert self.path == "/v1/traces", self.path
                assert self.headers["Content-Type"] == "application/json"
                assert "Expect" not in self.headers
                collector.bodies.append(body)
                collector.gate.wait()
                status, headers, answer = collector.answers.pop(0) if collector.answers else (200, {}, b"{}")
                with contextlib.suppress(ConnectionError):  # a server that is stopping does not wait
                    self.send_response(status)
                    for name, value in {"Content-Type": "application/json", "Content-Length": len(answer), **headers}.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(answer)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                if not isinstance(sys.exc_info()[1], ConnectionError):
                    super().handle_error(*_)

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.gate.set()
        self.server.shutdown()
        self.server.server_close()

    def spans(self):
        """All spans, each with its attributes as a dictionary."""
        spans = []
        for body in list(self.bodies):
            resource, = json.loads(body)["resourceSpans"]
            own = attributes_of(resource["resource"])
            assert own["service.name"] == "realizar" and own["service.instance.id"] and own["service.version"], own
            scope, = resource["scopeSpans"]
            assert scope["scope"]["name"] == "realizar"
            spans += [{**span, "attributes": attributes_of(span)} for span in scope["spans"]]
        return spans

    def trace(self, trace_id):
        """The server's span of a trace and its children by name, when they have arrived."""
        def find():
            return [span for span in self.spans() if span["traceId"] == trace_id]
        found = until(find, f"the trace {trace_id}")
        root, = (span for span in found if span["kind"] == SERVER)
        children = {span["name"]: span for span in found if span["kind"] == INTERNAL}
        assert len(children) == len(found) - 1
        return root, children


def attributes_of(owner):
    attributes = {}
    for one in owner["attributes"]:
        (kind, value), = one["value"].items()
        if kind == "intValue":
            assert isinstance(value, str)
            value = int(value)
        if kind == "arrayValue":
            value = [item["stringValue"] for item in value["values"]]
        assert one["key"] not in attributes
        attributes[one["key"]] = value
    return attributes


def begin_ns(span):
    return int(span["startTimeUnixNano"])


def end_ns(span):
    return int(span["endTimeUnixNano"])


class Case(unittest.TestCase):
    """A server and its collector, for all tests of a class."""
    ARGS = ()
    n_traces = 0

    @classmethod
    def setUpClass(cls):
        cls.begin(cls.addClassCleanup)

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop() == 0

    @classmethod
    def begin(cls, add_cleanup):
        cls.collector = Collector()
        add_cleanup(cls.collector.close)
        cls.server = Served(REALIZAR, "realizar-tiny", "--otlp-endpoint", cls.collector.url, *cls.ARGS)

    def parent(self, flags="01", state=""):
        """Headers of a caller with a trace, a new one each time, and the trace's id."""
        Case.n_traces += 1
        trace = f"{Case.n_traces:032x}"
        headers = {"traceparent": f"00-{trace}-{SPAN}-{flags}", **({"tracestate": state} if state else {})}
        return headers, trace

    def post(self, path, body, status=200, headers=None):
        got, answered, data = self.server.ask("POST", path, body, headers)
        self.assertEqual(got, status, data)
        return answered, data

    def metric(self, name):
        text = self.server.ask("GET", "/metrics")[2].decode()
        return float(re.search(rf"^{name} (\S+)$", text, re.M)[1])

    def n_lost(self):
        return self.metric("realizar_trace_spans_lost_total")

    def n_sent(self):
        return self.metric("realizar_trace_spans_sent_total")

    def check_times(self, root, children):
        """Parts follow each other within the whole, and the times are current."""
        order = [children[name] for name in ("queue", "prefill", "decode") if name in children]
        self.assertLessEqual(begin_ns(root), end_ns(root))
        for child in order:
            self.assertEqual(child["parentSpanId"], root["spanId"])
            self.assertNotEqual(child["spanId"], root["spanId"])
            self.assertTrue(begin_ns(root) <= begin_ns(child) <= end_ns(child) <= end_ns(root), (root, child))
        for before, after in zip(order, order[1:]):
            self.assertEqual(end_ns(before), begin_ns(after))


class Contents(Case):
    def check_answer(self, trace, usage, reason):
        root, children = self.collector.trace(trace)
        self.assertEqual(set(children), {"queue", "prefill", "decode"})
        self.check_times(root, children)
        own = root["attributes"]
        self.assertEqual(own["gen_ai.usage.input_tokens"], usage["prompt_tokens"])
        self.assertEqual(own["gen_ai.usage.output_tokens"], usage["completion_tokens"])
        self.assertEqual(own["gen_ai.usage.cache_read.input_tokens"], usage["prompt_tokens_details"]["cached_tokens"])
        self.assertEqual(children["prefill"]["attributes"]["gen_ai.usage.input_tokens"], usage["prompt_tokens"])
        self.assertEqual(children["decode"]["attributes"]["gen_ai.usage.output_tokens"], usage["completion_tokens"])
        self.assertEqual(own["gen_ai.response.finish_reasons"], [reason])
        self.assertEqual(own["http.response.status_code"], 200)
        self.assertEqual(own["gen_ai.response.model"], self.server.model)
        self.assertNotIn("status", root)
        return root, children

    def test_a_whole_answer_is_in_its_callers_trace(self):
        headers, trace = self.parent(state="vendor=value")
        before = time.time_ns()
        answered, data = self.post("/v1/chat/completions", CHAT, headers={**headers, "X-Request-Id": "mine"})
        root, _ = self.check_answer(trace, json.loads(data)["usage"], "stop")
        self.assertEqual(root["name"], "POST /v1/chat/completions")
        self.assertEqual(root["parentSpanId"], SPAN)
        self.assertEqual(root["traceState"], "vendor=value")
        self.assertEqual(root["attributes"]["gen_ai.operation.name"], "chat")
        self.assertEqual(root["attributes"]["gen_ai.request.id"], "mine")
        self.assertEqual(answered["traceparent"], headers["traceparent"])
        # All times are from one clock, which must not be set during the test.
        self.assertTrue(before <= begin_ns(root) <= end_ns(root) <= time.time_ns(), (before, root))

    def test_a_streams_trace_has_the_same(self):
        headers, trace = self.parent()
        body = {**CHAT, "stream": True, "stream_options": {"include_usage": True}, "max_tokens": 2}
        _, data = self.post("/v1/chat/completions", body, headers=headers)
        usage = json.loads(data.decode().split("data: ")[-2])["usage"]
        self.check_answer(trace, usage, "length")

    def test_the_traces_times_are_those_of_the_requests_own_trace(self):
        headers, trace = self.parent()
        _, data = self.post("/v1/chat/completions", CHAT, headers={**headers, "X-Trace": "1"})
        own = json.loads(data)["trace"]
        _, children = self.collector.trace(trace)
        for name, ms in (("queue", own["queue_ms"]), ("decode", own["decode_ms"])):
            self.assertAlmostEqual((end_ns(children[name]) - begin_ns(children[name])) / 1e6, ms, places=2)
        first_ms = (begin_ns(children["decode"]) - begin_ns(children["queue"])) / 1e6
        self.assertAlmostEqual(first_ms, own["first_token_ms"], places=2)

    def test_a_request_without_a_trace_begins_one(self):
        for headers in ({}, {"traceparent": f"00-{TRACE}-{'0' * 16}-01"}, {"traceparent": "rubbish", "tracestate": "a=b"}):
            answered, _ = self.post("/v1/completions", {"prompt": PROMPT, "max_tokens": 2}, headers=headers)
            version, trace, span, flags = answered["traceparent"].split("-")
            self.assertEqual((version, flags), ("00", "01"))
            self.assertNotEqual(trace, TRACE)
            root, _ = self.collector.trace(trace)
            self.assertEqual(root["spanId"], span)
            self.assertNotIn("parentSpanId", root)
            self.assertNotIn("traceState", root)
            self.assertEqual(root["attributes"]["gen_ai.operation.name"], "text_completion")

    def test_what_the_caller_does_not_sample_is_not_sent(self):
        unsampled, hidden = self.parent(flags="00")
        answered, _ = self.post("/v1/chat/completions", CHAT, headers=unsampled)
        self.assertEqual(answered["traceparent"], unsampled["traceparent"])
        sampled, shown = self.parent()
        self.post("/v1/chat/completions", CHAT, headers=sampled)
        self.collector.trace(shown)
        self.assertEqual([span for span in self.collector.spans() if span["traceId"] == hidden], [])

    def test_probes_and_lists_are_not_traced(self):
        for path in ("/readyz", "/metrics", "/v1/models"):
            self.server.ask("GET", path, headers=self.parent()[0])
        headers, trace = self.parent()
        self.post("/v1/completions", {"prompt": PROMPT, "max_tokens": 1}, headers=headers)
        self.collector.trace(trace)
        self.assertEqual([span["name"] for span in self.collector.spans() if " GET " in f" {span['name']} "], [])

    def test_errors_are_traced_too(self):
        for path, body, status in (("/v1/chat/completions", {"messages": 1}, 400),
                                   ("/v1/completions", {"prompt": "x", "model": "none", "max_tokens": -5}, 400)):
            headers, trace = self.parent()
            self.post(path, body, status, headers)
            root, children = self.collector.trace(trace)
            self.assertEqual(children, {})
            self.assertEqual(root["attributes"]["http.response.status_code"], status)
            self.assertEqual(root["name"], f"POST {path}")
            self.assertNotIn("status", root, "a client's error is none of the server's span")

    def test_a_client_that_leaves_ends_its_span(self):
        headers, trace = self.parent()
        at = urllib.parse.urlsplit(self.server.url)
        connection = http.client.HTTPConnection(at.hostname, at.port, timeout=DEADLINE_S)
        body = {**CHAT, "stream": True, "ignore_eos": True, "max_tokens": 100_000}
        connection.request("POST", "/v1/chat/completions", json.dumps({**body, "max_tokens": 4000}), headers)
        answer = connection.getresponse()
        while b'"content":"' not in answer.readline():
            pass
        connection.sock.shutdown(socket.SHUT_RDWR)
        connection.close()
        root, children = self.collector.trace(trace)
        own = root["attributes"]
        self.assertEqual((own["http.response.status_code"], own["error.type"]), (499, "client_closed_request"))
        self.assertGreater(own["gen_ai.usage.output_tokens"], 0)
        self.assertIn("decode", children)
        self.check_times(root, children)

    def test_several_choices_are_one_request(self):
        headers, trace = self.parent()
        _, data = self.post("/v1/chat/completions", {**CHAT, "n": 3, "temperature": 1, "seed": 1}, headers=headers)
        answer = json.loads(data)
        root, children = self.collector.trace(trace)
        self.check_times(root, children)
        self.assertEqual(set(children), {"queue", "prefill", "decode"})
        self.assertEqual(root["attributes"]["gen_ai.usage.output_tokens"], answer["usage"]["completion_tokens"])
        self.assertEqual(sorted(root["attributes"]["gen_ai.response.finish_reasons"]),
                         sorted(choice["finish_reason"] for choice in answer["choices"]))

    def test_vectors_have_no_decode(self):
        headers, trace = self.parent()
        self.post("/v1/embeddings", {"input": PROMPT}, headers=headers)
        root, children = self.collector.trace(trace)
        self.check_times(root, children)
        self.assertEqual(set(children), {"queue", "prefill"})
        self.assertEqual(root["attributes"]["gen_ai.operation.name"], "embeddings")

    def test_a_response_in_the_background_is_traced_once(self):
        headers, trace = self.parent()
        self.post("/v1/responses", {"input": PROMPT, "background": True, "max_output_tokens": 5}, headers=headers)
        root, _ = self.collector.trace(trace)
        self.assertEqual(root["attributes"]["gen_ai.operation.name"], "chat")


class Texts(Case):
    """The access log may contain prompts; traces contain none."""
    ARGS = ("--log-prompts", "--access-log", "/dev/null")

    def test_no_text_of_prompts_or_answers_is_sent(self):
        headers, trace = self.parent()
        self.post("/v1/chat/completions", CHAT, headers=headers)
        self.collector.trace(trace)
        for body in self.collector.bodies:
            self.assertNotRegex(body, b"capital|France|Paris")


class Keys(Case):
    ARGS = ("--api-key", "secret", "--open-metrics")

    def test_who_has_no_key_is_traced_with_the_refusal(self):
        headers, trace = self.parent()
        self.post("/v1/chat/completions", CHAT, 401, headers)
        root, children = self.collector.trace(trace)
        self.assertEqual((root["attributes"]["http.response.status_code"], children), (401, {}))
        self.assertNotIn(b"secret", b"".join(self.collector.bodies))


class Faults(Case):
    """Each test has its own server."""

    @classmethod
    def setUpClass(cls):
        pass

    tearDownClass = setUpClass

    def setUp(self):
        self.begin(self.addCleanup)
        self.is_stopped = False
        self.addCleanup(self.stop)

    def stop(self):
        if not self.is_stopped:
            self.is_stopped = True
            self.assertEqual(self.server.stop(), 0)

    def ask(self):
        headers, trace = self.parent()
        self.post("/v1/completions", {"prompt": PROMPT, "max_tokens": 2}, headers=headers)
        return trace

    def test_spans_that_are_taken_are_counted(self):
        self.ask()
        until(lambda: self.n_sent() == 4, "four spans")
        self.assertEqual(self.n_lost(), 0)

    def test_a_refusal_is_not_tried_again(self):
        self.collector.answers = [(400, {}, b'{"message": "bad data"}')]
        self.ask()
        until(lambda: self.n_lost() == 4, "the loss to be counted")
        self.collector.trace(self.ask())
        until(lambda: self.n_sent() == 4, "the next ones")
        self.assertEqual(len(self.collector.bodies), 2)

    def test_a_collector_that_cannot_now_is_asked_again(self):
        self.collector.answers = [(503, {"Retry-After": "1"}, b""), (429, {}, b"<html>")]
        self.ask()
        until(lambda: self.n_sent() == 4, "the third try")
        self.assertEqual((len(self.collector.bodies), len(set(self.collector.bodies)), self.n_lost()), (3, 1, 0))

    def test_spans_that_are_rejected_are_lost(self):
        self.collector.answers = [(200, {}, b'{"partialSuccess": {"rejectedSpans": "3", "errorMessage": "full"}}')]
        self.ask()
        until(lambda: (self.n_sent(), self.n_lost()) == (1, 3), "the counts")

    def test_a_reply_that_is_rubbish_does_no_harm(self):
        self.collector.answers = [(200, {}, b"\xff\x00rubbish"), (200, {}, b"[" * 100_000), (204, {}, b"")]
        for n_sent in (4, 8, 12):
            self.ask()
            until(lambda: self.n_sent() == n_sent, "the next ones")

    def test_a_reply_without_end_is_given_up(self):
        self.collector.answers = [(200, {}, b"x" * (4 << 20))]
        self.ask()
        until(lambda: self.n_lost() == 4, "the loss")

    def test_a_redirect_is_not_followed(self):
        self.collector.answers = [(307, {"Location": "/elsewhere"}, b"")]
        self.ask()
        until(lambda: self.n_lost() == 4, "the loss")
        self.assertEqual(len(self.collector.bodies), 1)

    def test_a_collector_that_hangs_holds_up_no_request_and_no_end(self):
        self.collector.gate.clear()
        for _ in range(3):
            self.ask()
        until(lambda: self.collector.bodies, "the collector to be asked")
        self.ask()
        self.stop()  # while the collector still hangs

    def test_the_queue_has_a_bound(self):
        self.collector.gate.clear()
        self.ask()
        until(lambda: self.collector.bodies, "the collector to be asked")
        at = urllib.parse.urlsplit(self.server.url)
        with contextlib.closing(http.client.HTTPConnection(at.hostname, at.port, timeout=DEADLINE_S)) as connection:
            for _ in range(2100):
                connection.request("POST", "/v1/completions", b"{")
                answer = connection.getresponse()
                answer.read()
                self.assertEqual(answer.status, 400)
        self.assertGreater(self.n_lost(), 0)
        self.assertEqual(self.n_sent(), 0)

    def test_what_waits_is_sent_at_the_end(self):
        trace = self.ask()
        self.stop()
        self.assertIn(trace, {span["traceId"] for span in self.collector.spans()})

    def test_a_collector_that_is_gone_holds_up_nothing(self):
        self.collector.close()
        for _ in range(3):
            self.ask()
        self.stop()


class Address(unittest.TestCase):
    def test_one_that_cannot_be_is_refused_at_the_start(self):
        for url in ("localhost:4318", "grpc://localhost:4317", "http://", "http://user@localhost:4318"):
            done = program.run("serve", "realizar-tiny", "--port", "0", "--otlp-endpoint", url)
            self.assertNotEqual(done.returncode, 0, url)
            self.assertIn("--otlp-endpoint", done.stderr)
            self.assertIn("http://localhost:4318", done.stderr)


if __name__ == "__main__":
    unittest.main()
