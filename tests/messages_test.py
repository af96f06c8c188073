#!/usr/bin/env python3
"""Anthropic's Messages API over plain HTTP: the order of a stream's events, requests in Claude Code's format, errors in
their own format; and budgets of reasoning, in every dialect. Usage: messages_test.py REALIZAR."""
import concurrent.futures
import json
import os
import unittest

from bundled import ANSWER, QUESTION as CAPITAL
from folders import key_file, temp_folder
from model_copies import TINY, write_thinker
from program import REALIZAR
from served import Served

NAME_IT = "Name the capital of France."
WEATHER = {"name": "get_weather", "description": "Get the weather of a city",
           "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}
WEATHER_SAID = '{"city": "Abuja", "weather": "sunny", "degrees": 7}'
# Claude Code's first request, shortened.
CLAUDE_CODE = {
    "model": "claude-sonnet-4-5-20250929", "max_tokens": 200, "stream": True, "temperature": 0,
    "system": [{"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1.37.3a3; cc_entrypoint=cli; cch=00000;"},
               {"type": "text", "text": "You are Claude Code.", "cache_control": {"type": "ephemeral"}},
               {"type": "text", "text": "You help.", "cache_control": {"type": "ephemeral", "ttl": "1h"}}],
    "messages": [{"role": "user", "content": [
        {"type": "text", "text": "<system-reminder>Be brief.</system-reminder>"},
        {"type": "text", "text": CAPITAL, "cache_control": {"type": "ephemeral"}}]}],
    "tools": [WEATHER, {"name": "Bash", "description": "Runs a command",
                        "input_schema": {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
                                         "properties": {"command": {"type": "string"},
                                                        "timeout": {"type": "number", "exclusiveMinimum": 0}},
                                         "required": ["command"], "additionalProperties": False}},
              {"type": "web_search_20250305", "name": "web_search", "max_uses": 8}],
    "metadata": {"user_id": "user_1"}, "thinking": {"type": "enabled", "budget_tokens": 31999},
    "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
}


def text_of(message):
    return "".join(block["text"] for block in message["content"] if block["type"] == "text")


def events_of(body):
    """Each event's data; its name is the data's type."""
    events = []
    for event in body.decode().removesuffix("\n\n").split("\n\n"):
        name, data = event.split("\n")
        events.append(json.loads(data.removeprefix("data: ")))
        assert name == f"event: {events[-1]['type']}", event
    return events


def message_of(events):
    """The message as a client assembles it, like @anthropic-ai/sdk."""
    message = events[0]["message"]
    for event in events[1:]:
        if event["type"] == "content_block_start":
            assert event["index"] == len(message["content"])
            message["content"].append(event["content_block"] | {"json": ""})
        elif event["type"] == "content_block_delta":
            block, delta = message["content"][event["index"]], event["delta"]
            for field in ("text", "thinking", "signature"):
                block.update({field: block[field] + delta[field]} if field in delta else {})
            block["json"] += delta.get("partial_json", "")
        elif event["type"] == "message_delta":
            message |= event["delta"] | {"usage": message["usage"] | event["usage"]}
    for block in message["content"]:
        arguments = block.pop("json")
        block.update({"input": json.loads(arguments)} if block["type"] == "tool_use" else {})
    return message


class Case(unittest.TestCase):
    args = []

    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(Served(REALIZAR, "realizar-tiny", *cls.args))

    def post(self, path, body, headers=None):
        status, headers, text = self.server.ask("POST", path, body, headers)
        return status, headers, json.loads(text)

    def message(self, content=CAPITAL, **fields):
        status, _, message = self.post("/v1/messages", {"max_tokens": 64, "temperature": 0,
                                                        "messages": [{"role": "user", "content": content}], **fields})
        self.assertEqual(status, 200, message)
        return message

    def events(self, content=CAPITAL, **fields):
        body = {"max_tokens": 64, "temperature": 0, "stream": True,
                "messages": [{"role": "user", "content": content}], **fields}
        status, headers, text = self.server.ask("POST", "/v1/messages?beta=true", body)
        self.assertEqual((status, headers["Content-Type"].split(";")[0]), (200, "text/event-stream"), text)
        return events_of(text)


class Messages(Case):
    def test_a_whole_answer(self):
        message = self.message("Where is Paris, and what is its river?", cache_salt="fresh")
        usage = message.pop("usage")
        self.assertTrue(message.pop("id").startswith("msg_"))
        text = text_of(message)
        self.assertEqual(message, {"type": "message", "role": "assistant", "model": "realizar-tiny",
                                   "content": [{"type": "text", "text": text, "citations": None}],
                                   "stop_reason": "end_turn", "stop_sequence": None})
        self.assertEqual(usage | {"input_tokens": 0, "output_tokens": 0},
                         {"input_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
                          "cache_creation": None, "output_tokens": 0, "server_tool_use": None,
                          "service_tier": "standard"})
        chat = self.post("/v1/chat/completions", {"temperature": 0, "messages": [
            {"role": "user", "content": "Where is Paris, and what is its river?"}]})[2]
        self.assertEqual(text, chat["choices"][0]["message"]["content"])
        self.assertEqual(usage["input_tokens"], chat["usage"]["prompt_tokens"])
        self.assertEqual(usage["output_tokens"], chat["usage"]["completion_tokens"])

    def test_draws_as_a_chat_completion_does(self):
        fields = {"temperature": 1.5, "top_k": 50, "top_p": 0.95, "seed": 7, "max_tokens": 24}
        chat = self.post("/v1/chat/completions",
                         {"messages": [{"role": "system", "content": "S"}, {"role": "user", "content": CAPITAL}], **fields})
        self.assertEqual(text_of(self.message(system="S", **fields)), chat[2]["choices"][0]["message"]["content"])

    def test_what_the_cache_has_is_told_apart(self):
        content = "word " * 300
        first, second = (self.message(content, max_tokens=1, cache_salt="apart")["usage"] for _ in range(2))
        self.assertEqual(first["cache_read_input_tokens"], 0)
        self.assertGreater(second["cache_read_input_tokens"], 250)
        self.assertEqual(second["input_tokens"] + second["cache_read_input_tokens"], first["input_tokens"])

    def test_the_first_event_tells_what_the_cache_had(self):
        content = "stone " * 300
        for _ in range(2):
            events = self.events(content, max_tokens=2, cache_salt="first event")
            start, last = events[0]["message"]["usage"], events[-2]["usage"]
            self.assertEqual(start | {"output_tokens": last["output_tokens"]}, last)
        self.assertGreater(start["cache_read_input_tokens"], 250)
        prompt = {"messages": [{"role": "user", "content": content}]}
        counted = self.post("/v1/messages/count_tokens", prompt)[2]["input_tokens"]
        self.assertEqual(start["input_tokens"] + start["cache_read_input_tokens"], counted)

    def test_streams_that_share_a_prefix_tell_what_they_found(self):
        """The second waits for the first one's prefix: only then is it known how much it uses of it."""
        content = "river " * 300
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            streams = list(pool.map(lambda _: self.events(content, max_tokens=2, cache_salt="together"), range(8)))
        usages = [events[0]["message"]["usage"] for events in streams]
        last = [events[-2]["usage"] for events in streams]
        self.assertEqual([usage | {"output_tokens": end["output_tokens"]} for usage, end in zip(usages, last)], last)
        self.assertEqual(len({usage["input_tokens"] + usage["cache_read_input_tokens"] for usage in usages}), 1)
        self.assertEqual([e["type"] for e in streams[0]].count("message_start"), 1)

    def test_the_events_of_a_stream(self):
        events = self.events(cache_salt="stream")
        self.assertEqual([e["type"] for e in events[:2]], ["message_start", "content_block_start"])
        self.assertEqual({e["type"] for e in events[2:-3]}, {"content_block_delta"})
        self.assertEqual([e["type"] for e in events[-3:]], ["content_block_stop", "message_delta", "message_stop"])
        start = events[0]["message"]
        self.assertEqual((start["content"], start["stop_reason"], start["usage"]["output_tokens"]), ([], None, 0))
        self.assertGreater(start["usage"]["input_tokens"], 0)
        self.assertEqual(events[1]["content_block"], {"type": "text", "text": "", "citations": None})
        self.assertEqual(events[-2]["delta"], {"stop_reason": "end_turn", "stop_sequence": None})
        streamed, whole = message_of(events), self.message(cache_salt="whole")
        self.assertEqual(streamed | {"id": ""}, whole | {"id": ""})
        self.assertEqual(text_of(streamed), ANSWER)

    def test_tools(self):
        asked = {"content": "What is the weather in Abuja?", "tools": [WEATHER]}
        for message in (self.message(**asked), message_of(self.events(**asked))):
            self.assertEqual(message["stop_reason"], "tool_use")
            (call,) = message["content"]
            self.assertTrue(call["id"].startswith("toolu_"))
            self.assertEqual(call, {"type": "tool_use", "id": call["id"], "name": "get_weather", "input": {"city": "Abuja"}})
            said = {"type": "tool_result", "tool_use_id": call["id"], "content": [{"type": "text", "text": WEATHER_SAID}]}
            after = self.message(messages=[{"role": "user", "content": asked["content"]},
                                           {"role": "assistant", "content": [call]},
                                           {"role": "user", "content": [said]}], tools=[WEATHER])
            self.assertEqual(text_of(after), "It is sunny in Abuja, 7 degrees.")

    def test_a_call_is_forced_or_forbidden(self):
        for choice in ({"type": "any"}, {"type": "tool", "name": "get_weather"}):
            message = self.message(tools=[WEATHER], tool_choice={**choice, "disable_parallel_tool_use": True})
            self.assertEqual([block["type"] for block in message["content"]], ["tool_use"])
            self.assertIn("city", message["content"][0]["input"])
        none = self.message("What is the weather in Abuja?", tools=[WEATHER], tool_choice={"type": "none"})
        self.assertNotIn("tool_use", [block["type"] for block in none["content"]])

    def test_the_ends_of_an_answer(self):
        for ask in (self.message, lambda **fields: message_of(self.events(**fields))):
            stopped = ask(stop_sequences=["Nairobi", " Paris", "is Par"])
            self.assertEqual((text_of(stopped), stopped["stop_reason"], stopped["stop_sequence"]),
                             ("The capital of France ", "stop_sequence", "is Par"))
            cut = ask(max_tokens=2)
            self.assertEqual((cut["stop_reason"], cut["stop_sequence"], cut["usage"]["output_tokens"]),
                             ("max_tokens", None, 2))
            nothing = ask(max_tokens=0)
            self.assertEqual((nothing["content"], nothing["stop_reason"]), ([], "max_tokens"))
        full = self.message("In the beginning", max_tokens=100000, ignore_eos=True)
        self.assertEqual(full["stop_reason"], "model_context_window_exceeded")

    def test_an_answer_that_has_begun_is_continued(self):
        begun = self.message(messages=[{"role": "user", "content": CAPITAL},
                                       {"role": "assistant", "content": [{"type": "text", "text": "The capital of"}]}])
        self.assertEqual(text_of(begun), " France is Paris.")

    def test_an_answer_has_the_form_of_a_schema(self):
        schema = {"type": "object", "properties": {"n": {"enum": [1, 2]}}, "required": ["n"], "additionalProperties": False}
        asked = {"type": "json_schema", "schema": schema}
        for field in ({"output_config": {"format": asked}}, {"output_format": asked}):
            self.assertIn(json.loads(text_of(self.message(**field))), [{"n": 1}, {"n": 2}])
        status, _, error = self.post("/v1/messages", {
            "max_tokens": 9, "messages": [{"role": "user", "content": "x"}],
            "output_config": {"format": {"type": "json_schema", "schema": {"type": "array", "uniqueItems": True}}}})
        self.assertEqual((status, error["error"]["type"]), (400, "invalid_request_error"))
        self.assertTrue(error["error"]["message"].startswith("output_config.format"), error)

    def test_claude_code(self):
        status, headers, text = self.server.ask("POST", "/v1/messages?beta=true", CLAUDE_CODE, {
            "anthropic-version": "2023-06-01", "anthropic-beta": "claude-code-20250219,interleaved-thinking-2025-05-14",
            "x-api-key": "sk-ant-none", "x-app": "cli", "anthropic-dangerous-direct-browser-access": "true"})
        self.assertEqual(status, 200, text)
        self.assertIsNone(headers["X-Realizar-Warning"])
        self.assertTrue(headers["request-id"])
        message = message_of(events_of(text))
        self.assertIn(message["stop_reason"], ("end_turn", "tool_use", "max_tokens"))
        counted = {name: CLAUDE_CODE[name] for name in ("model", "system", "messages", "tools", "thinking")}
        usage = message["usage"]
        self.assertEqual(self.post("/v1/messages/count_tokens?beta=true", counted)[2],
                         {"input_tokens": usage["input_tokens"] + usage["cache_read_input_tokens"]})
        # The block that differs in each request does not prevent the rest from being found again.
        again = json.loads(json.dumps(CLAUDE_CODE).replace("cch=00000", "cch=11111"))
        usage = message_of(events_of(self.server.ask("POST", "/v1/messages", again)[2]))["usage"]
        self.assertGreater(usage["cache_read_input_tokens"], usage["input_tokens"])

    def test_claude_code_asks_more_than_messages(self):
        """The requests around its conversations, according to its contract."""
        headers = {"anthropic-version": "2023-06-01", "authorization": "Bearer none", "x-app": "cli"}
        self.assertEqual(self.server.ask("HEAD", "/", None, headers)[0], 200)
        quota = {"model": "claude-haiku-4-5-20251001", "max_tokens": 1, "metadata": {"user_id": "u"},
                 "messages": [{"role": "user", "content": "quota"}]}
        self.assertEqual(self.post("/v1/messages?beta=true", quota, headers)[0], 200)
        title = {"type": "json_schema", "schema": {"type": "object", "properties": {"title": {"enum": ["Capitals"]}},
                                                   "required": ["title"], "additionalProperties": False}}
        status, _, message = self.post("/v1/messages?beta=true", {
            **CLAUDE_CODE, "stream": False, "tools": [], "thinking": {"type": "disabled"},
            "output_config": {"format": title}}, headers)
        self.assertEqual((status, json.loads(text_of(message))), (200, {"title": "Capitals"}))

    def test_claude_code_goes_on_after_calls(self):
        """Thoughts between calls, several results in a message, one of them an error, and additional fields of
        betas."""
        tools = [*CLAUDE_CODE["tools"],
                 {"type": "bash_20250124", "name": "bash"},
                 {"type": "custom", "name": "Read", "input_schema": {"type": "object"}, "defer_loading": True,
                  "eager_input_streaming": True, "cache_control": {"type": "ephemeral"}},
                 *({"name": f"mcp__files__tool_{i}", "description": "Does it", "input_schema": {"type": "object"}}
                   for i in range(4))]
        body = {**CLAUDE_CODE, "max_tokens": 20, "thinking": {"type": "adaptive", "display": "summarized"}, "tools": tools,
                "output_config": {"effort": "xhigh"}, "cache_control": {"type": "ephemeral"}, "service_tier": "auto",
                "context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]}, "speed": "fast",
                "messages": [
                    CLAUDE_CODE["messages"][0],
                    {"role": "assistant", "content": [
                        {"type": "thinking", "thinking": "Look.", "signature": "EqQB"},
                        {"type": "text", "text": "I look."},
                        {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}, "caller": {"type": "direct"}},
                        {"type": "tool_use", "id": "toolu_2", "name": "Read", "input": {}}]},
                    {"role": "user", "content": [
                        {"type": "tool_result", "tool_use_id": "toolu_1", "content": "a.txt", "is_error": False},
                        {"type": "tool_result", "tool_use_id": "toolu_2", "is_error": True,
                         "content": [{"type": "text", "text": "<tool_use_error>No file.</tool_use_error>"}]},
                        {"type": "text", "text": "<system-reminder>Be brief.</system-reminder>"}]},
                    {"role": "assistant", "content": [{"type": "redacted_thinking", "data": "x"},
                                                      {"type": "thinking", "thinking": "Done.", "signature": "EqQC"},
                                                      {"type": "text", "text": "There is a.txt."}]},
                    {"role": "user", "content": CAPITAL}]}
        status, headers, text = self.server.ask("POST", "/v1/messages?beta=true", body, {
            "anthropic-version": "2023-06-01", "anthropic-beta": "interleaved-thinking-2025-05-14,effort-2025-11-24"})
        self.assertEqual((status, headers["X-Realizar-Warning"]), (200, None), text)
        self.assertEqual(message_of(events_of(text))["usage"]["output_tokens"], 20)

    def test_count_tokens(self):
        def count(**fields):
            status, _, counted = self.post("/v1/messages/count_tokens", {
                "messages": [{"role": "user", "content": CAPITAL}], **fields})
            self.assertEqual(status, 200, counted)
            self.assertEqual(list(counted), ["input_tokens"])
            return counted["input_tokens"]

        plain = count()
        self.assertEqual(plain, self.message(max_tokens=0, cache_salt="count")["usage"]["input_tokens"])
        self.assertGreater(count(system="S"), plain)
        self.assertGreater(count(tools=[WEATHER]), plain)

    def test_models(self):
        headers = {"anthropic-version": "2023-06-01"}
        _, got, text = self.server.ask("GET", "/v1/models?limit=1000", None, headers)
        self.assertTrue(got["request-id"])
        listed = json.loads(text)
        (model,) = listed["data"]
        self.assertRegex(model.pop("created_at"), r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertEqual(model, {"type": "model", "id": "realizar-tiny", "display_name": "realizar-tiny",
                                 "max_input_tokens": 1024, "max_tokens": 1024, "capabilities": None, "lifecycle": "active",
                                 "line": None, "deprecated_at": None, "retires_at": None})
        self.assertEqual((listed["has_more"], listed["first_id"], listed["last_id"]), (False, "realizar-tiny", "realizar-tiny"))
        _, _, one = self.server.ask("GET", "/v1/models/realizar-tiny", None, headers)
        self.assertEqual(json.loads(one)["display_name"], "realizar-tiny")
        self.assertEqual(json.loads(self.server.ask("GET", "/v1/models")[2])["object"], "list")


class Pages(unittest.TestCase):
    """The list of five models, in pages."""

    @classmethod
    def setUpClass(cls):
        folder = temp_folder(cls)
        for name in "abcde":
            os.symlink(TINY, folder / f"{name}.gguf")
        cls.server = cls.enterClassContext(Served(REALIZAR, "--models-dir", str(folder)))

    def page(self, query):
        status, _, text = self.server.ask("GET", f"/v1/models?{query}", None, {"anthropic-version": "2023-06-01"})
        return status, json.loads(text)

    def ids(self, query):
        status, listed = self.page(query)
        self.assertEqual(status, 200, listed)
        ids = [model["id"] for model in listed["data"]]
        self.assertEqual((listed["first_id"], listed["last_id"]), (ids[0], ids[-1]) if ids else (None, None))
        return "".join(ids), listed["has_more"]

    def test_pages(self):
        self.assertEqual(self.ids(""), ("abcde", False))
        self.assertEqual(self.ids("limit=5"), ("abcde", False))
        self.assertEqual(self.ids("limit=2"), ("ab", True))
        self.assertEqual(self.ids("limit=2&after_id=b"), ("cd", True))
        self.assertEqual(self.ids("limit=2&after_id=c"), ("de", False))
        self.assertEqual(self.ids("after_id=e"), ("", False))
        self.assertEqual(self.ids("limit=2&before_id=e"), ("cd", True))
        self.assertEqual(self.ids("limit=2&before_id=c"), ("ab", False))
        self.assertEqual(self.ids("before_id=a"), ("", False))

    def test_what_is_no_page_is_refused(self):
        for query, word in (("limit=0", "limit"), ("limit=1001", "limit"), ("limit=x", "limit"), ("limit=-1", "limit"),
                            ("limit=", "limit"), ("after_id=z", "after_id"), ("before_id=z", "before_id"),
                            ("after_id=a&before_id=c", "before_id")):
            status, error = self.page(query)
            self.assertEqual((status, error["type"], error["error"]["type"]), (400, "error", "invalid_request_error"), query)
            self.assertTrue(error["error"]["message"].startswith(word), error)
            self.assertTrue(error["request_id"])


class Refusals(Case):
    args = ["--strict-model-names"]

    def refused(self, status, kind, words, body, path="/v1/messages", headers=None):
        actual, headers, error = self.post(path, body, headers)
        self.assertEqual(actual, status, error)
        self.assertEqual(list(error), ["type", "error", "request_id"])
        self.assertEqual((error["type"], error["error"]["type"]), ("error", kind))
        self.assertIn(words, error["error"]["message"])
        self.assertEqual(error["request_id"], headers["request-id"])

    def test_bodies(self):
        user = {"messages": [{"role": "user", "content": "x"}]}
        wrong = "invalid_request_error"
        self.refused(400, wrong, "max_tokens", user)
        self.refused(400, wrong, "max_tokens", {**user, "max_tokens": "5"})
        self.refused(400, wrong, "messages", {"max_tokens": 5})
        self.refused(400, wrong, "not a JSON object", [])
        self.refused(400, wrong, "temperature", {**user, "max_tokens": 5, "temperature": "hot"})
        self.refused(400, wrong, "system[0]", {**user, "max_tokens": 5, "system": [5]})
        self.refused(400, wrong, "messages[0].content[0]: this model takes text only", {
            "max_tokens": 5, "messages": [{"role": "user", "content": [{"type": "image", "source": {}}]}]})
        self.refused(400, wrong, "there is no tool 'f'",
                     {**user, "max_tokens": 5, "tools": [WEATHER], "tool_choice": {"type": "tool", "name": "f"}})
        self.refused(400, wrong, "prompt is too long: ", {"max_tokens": 5, "messages": [{"role": "user", "content": "word " * 1500}]})
        self.refused(404, "not_found_error", "claude", {**user, "max_tokens": 5, "model": "claude-opus-4-5"})
        self.refused(400, wrong, "messages", {}, path="/v1/messages/count_tokens")

    def test_types_are_checked_everywhere(self):
        whole = {"max_tokens": 2, "temperature": 0, "top_p": 1, "top_k": 1, "stream": False, "stop_sequences": ["x"],
                 "system": "S", "metadata": {}, "thinking": {"type": "disabled"}, "tools": [WEATHER],
                 "tool_choice": {"type": "auto"}, "output_config": {"effort": "low"},
                 "messages": [{"role": "user", "content": "x"}]}
        self.assertEqual(self.post("/v1/messages", whole)[0], 200)
        n_refused = 0
        for field in whole:
            for value in (5.5, "x", True, [[]], {"x": []}, [{"type": []}], [{"role": {}, "content": {}}]):
                if (field, value) == ("stream", True):
                    continue
                status, _, answer = self.post("/v1/messages", {**whole, field: value})
                self.assertIn(status, (200, 400), (field, value, answer))
                self.assertEqual(answer["type"], "error" if status == 400 else "message")
                n_refused += status == 400
        self.assertGreater(n_refused, 60)

    def test_paths(self):
        headers = {"anthropic-version": "2023-06-01"}
        for extra in (headers, {}):
            self.refused(404, "not_found_error", "batches are not built", {"requests": []}, "/v1/messages/batches", extra)
            self.refused(404, "not_found_error", "batches are not built", {}, "/v1/messages/batches/msgbatch_1/cancel", extra)
        status, _, text = self.server.ask("GET", "/v1/models/no-such", None, headers)
        self.assertEqual((status, json.loads(text)["error"]["type"]), (404, "not_found_error"))
        status, got, text = self.server.ask("GET", "/v1/messages", None, headers)
        self.assertEqual((status, got["Allow"], json.loads(text)["type"]), (405, "POST, OPTIONS", "error"))


class Keys(Case):
    def test_a_key_comes_in_any_of_its_headers(self):
        body = {"max_tokens": 1, "messages": [{"role": "user", "content": "x"}]}
        keys = key_file(temp_folder(self) / "keys", "sk-ours\n")
        with Served(REALIZAR, "realizar-tiny", "--api-keys", keys) as server:
            for headers, status in (({"x-api-key": "sk-ours"}, 200), ({"api-key": "sk-ours"}, 200), ({"Authorization": "Bearer sk-ours"}, 200),
                                    ({"x-api-key": "sk-ours", "Authorization": "Bearer other"}, 200),
                                    ({"x-api-key": "sk-other"}, 401), ({"x-api-key": ""}, 401), ({}, 401)):
                actual, _, text = server.ask("POST", "/v1/messages", body, headers)
                self.assertEqual(actual, status, (headers, text))
                if status == 401:
                    self.assertEqual(json.loads(text)["error"]["type"], "authentication_error")
            chat = {"messages": body["messages"], "max_tokens": 1}
            self.assertEqual(server.ask("POST", "/v1/chat/completions", chat, {"x-api-key": "sk-ours"})[0], 200)


class Thinking(unittest.TestCase):
    """With a copy of the bundled model whose tokens "The" and " is" are the marks around reasoning: "The capital of
    France is Paris." becomes the thought "capital of France" and the answer "Paris."."""

    @classmethod
    def setUpClass(cls):
        file = write_thinker(temp_folder(cls) / "thinker.gguf")
        cls.plain = cls.enterClassContext(Served(REALIZAR, file))
        cls.drafting = cls.enterClassContext(Served(REALIZAR, file, "--draft-tokens", "4"))

    def chat(self, server=None, **fields):
        body = {"temperature": 0, "max_tokens": 40, "messages": [{"role": "user", "content": NAME_IT}], **fields}
        status, _, text = (server or self.plain).ask("POST", "/v1/chat/completions", body)
        self.assertEqual(status, 200, text)
        return json.loads(text)

    def said(self, **fields):
        message = self.chat(**fields)["choices"][0]["message"]
        return message.get("reasoning_content", ""), message["content"]

    def test_a_budget_ends_reasoning_and_the_answer_goes_on(self):
        self.assertEqual(self.said(), ("capital of France", "Paris."))
        tokens = {"prompt": " capital of France", "add_special_tokens": False}
        n_thoughts = json.loads(self.plain.ask("POST", "/tokenize", tokens)[2])["count"]
        for budget, thoughts in ((0, ""), (1, "capital"), (2, "capital of"), (n_thoughts - 1, "capital of F")):
            cut, answer = self.said(reasoning_budget=budget)
            self.assertEqual(cut, thoughts)
            self.assertNotEqual(answer, "")
        for budget in (n_thoughts, n_thoughts + 1, 1000, -1):
            self.assertEqual(self.said(reasoning_budget=budget), ("capital of France", "Paris."))

    def test_every_spelling(self):
        expected = self.said(reasoning_budget=2)
        for fields in ({"thinking_budget_tokens": 2}, {"reasoning_budget_tokens": 2}, {"thinking_token_budget": 2},
                       {"thinking_budget": 2}, {"thinking": {"type": "enabled", "budget_tokens": 2}},
                       {"reasoning_effort": "high", "reasoning_budget": 2}):
            self.assertEqual(self.said(**fields), expected, fields)
        off = self.said(reasoning_budget=0)
        for fields in ({"reasoning_effort": "none"}, {"enable_thinking": False}, {"thinking": {"type": "disabled"}},
                       {"chat_template_kwargs": {"enable_thinking": False}}):
            self.assertEqual(self.said(**fields), off, fields)
        status, _, text = self.plain.ask("POST", "/v1/responses", {"input": NAME_IT, "temperature": 0,
                                                                   "reasoning": {"effort": "none"}})
        self.assertEqual((status, json.loads(text)["output"][0]["type"]), (200, "message"))

    def test_the_same_in_batches_and_under_speculation(self):
        for fields in ({}, {"temperature": 1, "seed": 3}):
            expected = self.chat(reasoning_budget=2, **fields)["choices"][0]["message"]
            self.assertEqual(self.chat(self.drafting, reasoning_budget=2, **fields)["choices"][0]["message"], expected)
            several = self.chat(reasoning_budget=2, n=3, **fields)["choices"]
            self.assertEqual(several[0]["message"], expected)

    def test_a_form_binds_what_follows_the_reasoning(self):
        form = {"type": "json_schema", "json_schema": {"schema": {"enum": [1, 2]}}}
        thoughts, answer = self.said(reasoning_budget=2, response_format=form)
        self.assertNotEqual(thoughts, "")
        self.assertIn(json.loads(answer), (1, 2))

    def test_messages_have_blocks_of_thinking(self):
        body = {"temperature": 0, "max_tokens": 40, "messages": [{"role": "user", "content": NAME_IT}]}
        thinking = [{"type": "thinking", "thinking": "capital of France", "signature": ""}]
        text = [{"type": "text", "text": "Paris.", "citations": None}]

        def content(**fields):
            return json.loads(self.plain.ask("POST", "/v1/messages", {**body, **fields})[2])["content"]

        self.assertEqual(content(), thinking + text)
        events = events_of(self.plain.ask("POST", "/v1/messages", {**body, "stream": True})[2])
        self.assertEqual(message_of(events)["content"], thinking + text)
        deltas = [e["delta"]["type"] for e in events if e.get("index") == 0 and e["type"] == "content_block_delta"]
        self.assertEqual((set(deltas[:-1]), deltas[-1]), ({"thinking_delta"}, "signature_delta"))
        self.assertEqual(content(thinking={"type": "adaptive", "display": "omitted"}), [thinking[0] | {"thinking": ""}] + text)
        cut, answer = self.said(reasoning_budget=1)
        blocks = content(thinking={"type": "enabled", "budget_tokens": 1})
        self.assertEqual([block.get("thinking", block.get("text")) for block in blocks], [cut, answer])


if __name__ == "__main__":
    unittest.main()
