#!/usr/bin/env python3
"""The Responses API as used by its clients: stored responses, references to their items, tools of agents, answers that
are cut. Usage: responses_test.py REALIZAR."""
import json
import unittest
import urllib.request

from bundled import ANSWER, QUESTION as CAPITAL
from folders import key_file, temp_folder
from program import REALIZAR
from served import DIRECT, Served
from waiting import until

WEATHER = {"type": "function", "name": "get_weather", "description": "Get the weather of a city", "strict": False,
           "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}
WEATHER_SAID = '{"city": "Abuja", "weather": "sunny", "degrees": 7}'
RULES = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
# Codex CLI's first request, shortened.
CODEX = {
    "model": "realizar-tiny", "instructions": "You are Codex, a coding agent.", "stream": True, "store": False,
    "input": [{"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "<permissions>"}]},
              {"type": "message", "role": "user", "content": [{"type": "input_text", "text": CAPITAL}]}],
    "tools": [{"type": "function", "name": "exec_command", "description": "Runs a command", "strict": False,
               "parameters": {"type": "object", "properties": {"cmd": {"type": "string"}, "rules": RULES},
                              "required": ["cmd"], "additionalProperties": False}},
              {"type": "custom", "name": "apply_patch", "description": "Edits files",
               "format": {"type": "grammar", "syntax": "lark", "definition": "start: /.+/"}},
              {"type": "namespace", "name": "mcp__files", "description": "Files",
               "tools": [{"type": "function", "name": "read", "parameters": {"type": "object", "properties": {}}}]},
              {"type": "web_search", "external_web_access": False}],
    "tool_choice": "auto", "parallel_tool_calls": False, "reasoning": None, "include": [],
    "prompt_cache_key": "019a", "text": {"verbosity": "medium"}, "client_metadata": {"x": "y"}}


def text_of(response):
    return "".join(part["text"] for item in response["output"] if item["type"] == "message" for part in item["content"])


def events_of(body):
    return [json.loads(line[6:]) for line in body.decode().split("\n") if line.startswith("data: {")]


class Case(unittest.TestCase):
    args = []

    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(Served(REALIZAR, *cls.args))

    def ask(self, method, path, body=None, key=None):
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        status, _, text = self.server.ask(method, path, body, headers)
        return status, json.loads(text) if text.startswith(b"{") else text

    def respond(self, key=None, **fields):
        status, response = self.ask("POST", "/v1/responses", {"temperature": 0, **fields}, key)
        self.assertEqual(status, 200, response)
        return response

    def refused(self, status, param, body, path="/v1/responses", key=None, code=None):
        actual, response = self.ask("POST", path, body, key)
        self.assertEqual((actual, response["error"]["param"], response["error"]["code"]), (status, param, code), response)
        return response["error"]["message"]

    def refused_after(self, response, key=None):
        """The response and its items are not found."""
        self.refused(400, "previous_response_id", {"input": CAPITAL, "previous_response_id": response["id"]}, key=key,
                     code="previous_response_not_found")
        reference = {"type": "item_reference", "id": response["output"][0]["id"]}
        message = self.refused(404, "input[0].id", {"input": [reference]}, key=key, code="not_found")
        self.assertIn("store", message)
        self.assert_gone(response["id"], key)

    def assert_gone(self, response_id, key=None):
        for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/input_items"), ("POST", "/cancel")):
            status, answer = self.ask(method, f"/v1/responses/{response_id}{path}", None, key)
            self.assertEqual((status, answer["error"]["code"]), (404, "not_found"), (method, path))
            self.assertIn(f"'{response_id}'", answer["error"]["message"])

    def stream(self, path="/v1/responses", **fields):
        status, body = self.ask("POST", path, {"temperature": 0, "stream": True, **fields})
        self.assertEqual(status, 200, body)
        return events_of(body)


class Stored(Case):
    def test_a_response_goes_on_with_the_one_before(self):
        first = self.respond(input="My name is Eva.")
        self.assertIs(first["store"], True)
        second = self.respond(input="What is my name?", previous_response_id=first["id"])
        self.assertEqual(second["previous_response_id"], first["id"])
        whole = self.respond(input=[{"role": "user", "content": "My name is Eva."}, *first["output"],
                                    {"role": "user", "content": "What is my name?"}])
        self.assertEqual(text_of(second), text_of(whole))
        self.assertEqual(second["usage"]["input_tokens"], whole["usage"]["input_tokens"])
        third = self.respond(input=CAPITAL, previous_response_id=second["id"])
        self.assertGreater(third["usage"]["input_tokens"], second["usage"]["input_tokens"])

    def test_items_are_found_by_their_ids(self):
        for streamed in (False, True):
            question = {"role": "user", "content": "What is the weather in Abuja?"}
            fields = {"input": [question], "tools": [WEATHER]}
            first = self.stream(**fields)[-1]["response"] if streamed else self.respond(**fields)
            call = first["output"][0]
            self.assertEqual(call["type"], "function_call")
            said = {"type": "function_call_output", "call_id": call["call_id"], "output": WEATHER_SAID}
            second = self.respond(input=[question, {"type": "item_reference", "id": call["id"]}, said], tools=[WEATHER])
            self.assertEqual(text_of(second), "It is sunny in Abuja, 7 degrees.")

    def test_what_is_not_stored_is_refused(self):
        unstored = self.respond(input=CAPITAL, store=False)
        self.assertIs(unstored["store"], False)
        self.refused_after(unstored)


    def test_a_stored_response_comes_back_as_it_was_answered(self):
        for streamed in (False, True):
            fields = {"input": CAPITAL, "metadata": {"of": "Eva"}}
            answered = self.stream(**fields)[-1]["response"] if streamed else self.respond(**fields)
            self.assertEqual(self.ask("GET", f"/v1/responses/{answered['id']}"), (200, answered))

    def test_what_is_deleted_is_gone(self):
        response, other = self.respond(input=CAPITAL), self.respond(input=CAPITAL)
        deleted = {"id": response["id"], "object": "response", "deleted": True}
        self.assertEqual(self.ask("DELETE", f"/v1/responses/{response['id']}"), (200, deleted))
        self.refused_after(response)
        self.assertEqual(self.ask("GET", f"/v1/responses/{other['id']}")[0], 200)

    def test_input_items_are_all_that_the_response_was_made_from(self):
        first = self.respond(input="My name is Eva.")
        reference = {"type": "item_reference", "id": first["output"][0]["id"]}
        second = self.respond(input=[{"role": "user", "content": "What is my name?"}, reference],
                              previous_response_id=first["id"])
        path = f"/v1/responses/{second['id']}/input_items"
        _, newest = self.ask("GET", path)
        _, oldest = self.ask("GET", path + "?order=asc&limit=100")
        self.assertEqual(newest["data"], oldest["data"][::-1])
        items = oldest["data"]
        self.assertEqual([item["content"][0]["text"] for item in items],
                         ["My name is Eva.", text_of(first), "What is my name?", text_of(first)])
        self.assertEqual([item["role"] for item in items], ["user", "assistant"] * 2)
        self.assertEqual((oldest["first_id"], oldest["last_id"]), (items[0]["id"], items[-1]["id"]))
        _, page = self.ask("GET", f"{path}?limit=1&after={newest['data'][1]['id']}")
        self.assertEqual((page["data"], page["has_more"]), ([newest["data"][2]], True))
        # Items of the input have ids, and can be referenced.
        again = self.respond(input=[{"type": "item_reference", "id": items[0]["id"]}])
        self.assertEqual(text_of(again), text_of(first))
        self.assertEqual(again["usage"]["input_tokens"], first["usage"]["input_tokens"])

    def test_a_list_of_items_says_what_is_wrong_with_its_query(self):
        path = f"/v1/responses/{self.respond(input=CAPITAL)['id']}/input_items"
        for query, param in (("limit=0", "limit"), ("order=up", "order"), ("after=msg_x", "after")):
            status, answer = self.ask("GET", f"{path}?{query}")
            self.assertEqual((status, answer["error"]["param"]), (400, param), answer)

    def test_tokens_are_counted_before_they_are_asked(self):
        fields = {"input": [{"role": "user", "content": CAPITAL}], "instructions": "Be brief.", "tools": [WEATHER]}
        status, counted = self.ask("POST", "/v1/responses/input_tokens", fields)
        self.assertEqual((status, counted["object"]), (200, "response.input_tokens"))
        self.assertEqual(counted["input_tokens"], self.respond(**fields)["usage"]["input_tokens"])
        self.refused(400, "input[0].role", {"input": [{"role": "king", "content": "U"}]}, "/v1/responses/input_tokens")
        self.refused(400, "input", {"input": 5}, "/v1/responses/input_tokens")

    def test_only_responses_in_the_background_are_cancelled_or_streamed_again(self):
        path = f"/v1/responses/{self.respond(input=CAPITAL)['id']}"
        for method, rest in (("POST", "/cancel"), ("GET", "?stream=true")):
            status, answer = self.ask(method, path + rest)
            self.assertEqual((status, answer["error"]["type"]), (400, "invalid_request_error"))
            self.assertIn("background", answer["error"]["message"])
        self.assertEqual(self.ask("GET", path)[0], 200)


LONG = {"input": CAPITAL, "temperature": 1, "seed": 3, "ignore_eos": True, "max_output_tokens": 900}
ENDLESS = {**LONG, "max_output_tokens": 90_000}


class Background(Case):
    args = ["--ctx", "100000"]

    def start(self, **fields):
        status, response = self.ask("POST", "/v1/responses", {"background": True, "temperature": 0, **fields})
        self.assertEqual(status, 200, response)
        self.assertIs(response["background"], True)
        return response

    def over(self, response_id):
        """The response, when it is over."""
        def poll():
            status, response = self.ask("GET", f"/v1/responses/{response_id}")
            self.assertEqual(status, 200, response)
            return response if response["status"] not in ("queued", "in_progress") else None
        return until(poll, "the end of the response")

    def test_a_response_is_made_while_nobody_waits(self):
        begun = self.start(input=CAPITAL, metadata={"of": "Eva"})
        self.assertEqual((begun["status"], begun["output"], begun["completed_at"]), ("queued", [], None))
        done = self.over(begun["id"])
        self.assertEqual((done["status"], text_of(done), done["metadata"]), ("completed", ANSWER, {"of": "Eva"}))
        self.assertGreaterEqual(done["completed_at"], done["created_at"])
        later = self.respond(input="What is my name?", previous_response_id=begun["id"])
        self.assertEqual(later["previous_response_id"], begun["id"])

    def test_its_stream_can_be_read_again_from_any_event(self):
        events = self.stream(input=CAPITAL, background=True)
        kinds = [event["type"] for event in events]
        self.assertEqual(kinds[:4], ["response.created", "response.queued", "response.in_progress", "response.output_item.added"])
        self.assertEqual(kinds[-1], "response.completed")
        self.assertEqual([event["sequence_number"] for event in events], list(range(len(events))))
        path = f"/v1/responses/{events[0]['response']['id']}?stream=true"
        for after in (None, 0, 3, len(events) - 2, len(events) - 1, len(events) + 5):
            status, body = self.ask("GET", path + ("" if after is None else f"&starting_after={after}"))
            self.assertEqual(status, 200)
            self.assertEqual(events_of(body), events[0 if after is None else after + 1:])
        status, answer = self.ask("GET", path + "&starting_after=x")
        self.assertEqual((status, answer["error"]["param"]), (400, "starting_after"))

    def test_it_goes_on_when_its_client_leaves(self):
        body = json.dumps({**LONG, "background": True, "stream": True}).encode()
        with DIRECT.open(urllib.request.Request(self.server.url + "/v1/responses", body, method="POST")) as reply:
            first = next(json.loads(line[6:]) for line in reply if line.startswith(b"data: "))
        done = self.over(first["response"]["id"])
        self.assertEqual((done["status"], done["usage"]["output_tokens"]), ("incomplete", 900))

    def test_it_can_be_cancelled(self):
        begun = self.start(**ENDLESS)
        path = f"/v1/responses/{begun['id']}"
        message = self.refused(400, "previous_response_id", {"input": CAPITAL, "previous_response_id": begun["id"]})
        self.assertIn("still being made", message)
        status, cancelled = self.ask("POST", path + "/cancel")
        self.assertEqual((status, cancelled["status"], cancelled["error"]), (200, "cancelled", None))
        self.assertEqual(self.ask("POST", path + "/cancel"), (200, cancelled))
        self.assertEqual(self.ask("GET", path), (200, cancelled))
        kinds = [event["type"] for event in events_of(self.ask("GET", path + "?stream=true")[1])]
        self.assertEqual(kinds[:2], ["response.created", "response.queued"])
        self.assertNotIn("response.completed", kinds)

    def test_what_is_deleted_ends(self):
        begun = self.start(**ENDLESS)
        path = f"/v1/responses/{begun['id']}"
        self.assertEqual(self.ask("DELETE", path)[0], 200)
        self.assert_gone(begun["id"], None)
        self.assertEqual(self.respond(input=CAPITAL)["status"], "completed")

    def test_it_wants_to_be_stored(self):
        self.refused(400, "background", {"input": CAPITAL, "background": True, "store": False})
        self.refused(400, "background", {"input": CAPITAL, "background": "yes"})
        self.refused(400, "input[0].role", {"input": [{"role": "king", "content": "U"}], "background": True})


class Keys(Case):
    @classmethod
    def setUpClass(cls):
        cls.args = ["--api-keys", key_file(temp_folder(cls) / "keys", "ann\nbob\n")]
        super().setUpClass()

    def test_nobody_sees_what_is_stored_for_another_key(self):
        response = self.respond("ann", input=CAPITAL)
        self.refused_after(response, "bob")
        self.respond("ann", input=CAPITAL, previous_response_id=response["id"])


class LittleRoom(Case):
    args = ["--stored-responses-bytes", "12000"]  # 3000 for each client

    def test_what_was_not_used_for_longest_makes_room(self):
        first, *others = [self.respond(input=CAPITAL) for _ in range(4)]
        self.refused_after(first)
        self.assertEqual(self.ask("GET", f"/v1/responses/{others[-1]['id']}"), (200, others[-1]))


class NothingStored(Case):
    args = ["--stored-responses-bytes", "0"]

    def test_a_server_may_keep_nothing(self):
        self.refused_after(self.respond(input=CAPITAL))
        self.refused(400, "background", {"input": CAPITAL, "background": True})


class Agents(Case):
    def test_codex_is_answered(self):
        events = self.stream(**CODEX)
        self.assertEqual(events[-1]["type"], "response.completed")
        self.assertEqual(events[-1]["response"]["tools"], CODEX["tools"])
        self.assertIs(events[-1]["response"]["parallel_tool_calls"], False)

    def test_its_later_requests_are_too(self):
        turn = [{"type": "custom_tool_call", "call_id": "c1", "name": "apply_patch", "input": "*** Begin Patch"},
                {"type": "custom_tool_call_output", "call_id": "c1", "output": "Success."},
                {"type": "local_shell_call", "call_id": "c2", "status": "completed",
                 "action": {"type": "exec", "command": ["ls"]}},
                {"type": "function_call_output", "call_id": "c2", "output": "a.txt"},
                {"type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "x"}},
                {"type": "function_call", "call_id": "c3", "name": "exec_command", "arguments": '{"cmd": "l'},
                {"type": "function_call_output", "call_id": "c3", "output": "the arguments are no JSON"}]
        self.respond(**{**CODEX, "stream": False, "input": [*CODEX["input"], *turn], "max_output_tokens": 5})

    def test_functions_of_a_namespace_are_called_and_told_back_as_they_came(self):
        fields = {**CODEX, "stream": False, "temperature": 1, "seed": 1, "max_output_tokens": 300,
                  "tool_choice": {"type": "function", "name": "read"}}
        call = self.respond(**fields)["output"][0]
        self.assertEqual((call["type"], call["namespace"], call["name"]), ("function_call", "mcp__files", "read"))
        events = self.stream(**{**fields, "stream": True})
        done = [event for event in events if event["type"] == "response.function_call_arguments.done"]
        self.assertEqual([event["name"] for event in done], ["read"])
        added = [event["item"] for event in events if event["type"] == "response.output_item.added"]
        self.assertEqual([(item["namespace"], item["name"]) for item in added], [("mcp__files", "read")])
        said = {"type": "function_call_output", "call_id": call["call_id"], "output": "a.txt"}
        later = self.respond(**{**CODEX, "stream": False, "input": [*CODEX["input"], call, said], "max_output_tokens": 5})
        self.assertEqual(later["tools"], CODEX["tools"])
        plain = self.respond(**{**fields, "tool_choice": {"type": "function", "name": "exec_command"}})["output"][0]
        self.assertNotIn("namespace", plain)

    def test_custom_tools_are_called_with_text_that_follows_their_grammar(self):
        formats = {"regex": "[0-9]{3}-[a-c]{1,4}", "lark": "start: PART (\",\" PART)~0..3\nPART: /[xy]{2}/ | \"\\\"\""}
        for syntax, definition in formats.items():
            tool = {"type": "custom", "name": "note", "description": "Notes a code",
                    "format": {"type": "grammar", "syntax": syntax, "definition": definition}}
            fields = {"input": "Note it.", "tools": [tool, WEATHER], "tool_choice": {"type": "custom", "name": "note"},
                      "temperature": 1, "seed": 5, "max_output_tokens": 60}
            response = self.respond(**fields)
            call = response["output"][0]
            self.assertEqual((call["type"], call["name"], call["status"]), ("custom_tool_call", "note", "completed"), response)
            self.assertRegex(call["input"], "^[0-9]{3}-[a-c]{1,4}$" if syntax == "regex" else '^([xy]{2}|")(,([xy]{2}|"))*$')
            self.assertEqual(response["tools"], fields["tools"])
            events = self.stream(**fields)
            of_type = lambda kind: [event for event in events if event["type"] == kind]
            pieces = "".join(event["delta"] for event in of_type("response.custom_tool_call_input.delta"))
            self.assertEqual([pieces], [event["input"] for event in of_type("response.custom_tool_call_input.done")])
            self.assertEqual(pieces, call["input"])
            added = of_type("response.output_item.added")[0]["item"]
            self.assertEqual((added["type"], added["input"]), ("custom_tool_call", ""))
            self.assertTrue(added["id"].startswith("ctc_"))
            said = {"type": "custom_tool_call_output", "call_id": call["call_id"], "output": "noted"}
            self.respond(input=[{"role": "user", "content": "Note it."}, call, said], tools=[tool], max_output_tokens=5)
            chat = {"messages": [{"role": "user", "content": "Note it."}], "temperature": 1, "seed": 5, "max_tokens": 60,
                    "tools": [{"type": "custom", "custom": {"name": "note", "description": "Notes a code", "format": {
                        "type": "grammar", "grammar": {"syntax": syntax, "definition": definition}}}},
                              {"type": "function", "function": {k: v for k, v in WEATHER.items() if k != "type"}}],
                    "tool_choice": {"type": "custom", "custom": {"name": "note"}}}
            message = self.ask("POST", "/v1/chat/completions", chat)[1]["choices"][0]["message"]
            self.assertEqual([(one["type"], one["custom"]) for one in message["tool_calls"]],
                             [("custom", {"name": "note", "input": call["input"]})])
            deltas = [event["choices"][0]["delta"] for event in self.stream("/v1/chat/completions", **chat)]
            calls = [one for delta in deltas for one in delta.get("tool_calls", [])]
            self.assertEqual((calls[0]["type"], calls[0]["custom"]["name"]), ("custom", "note"))
            self.assertEqual("".join(one["custom"]["input"] for one in calls), call["input"])
            self.assertEqual(deltas[0], {"role": "assistant", "content": None})

    def test_a_call_that_was_not_asked_for_follows_the_grammar_too(self):
        tool = {"type": "custom", "name": "get_weather", "description": WEATHER["description"],
                "format": {"type": "grammar", "syntax": "regex", "definition": "[A-Z][a-z]+!"}}
        question = "What is the weather in Abuja?"
        free = self.respond(input=question, tools=[{**tool, "format": {"type": "text"}}], max_output_tokens=60)
        held = self.respond(input=question, tools=[tool], max_output_tokens=60)
        self.assertEqual([item["type"] for item in held["output"]], [item["type"] for item in free["output"]])
        for item in held["output"]:
            if item["type"] == "custom_tool_call":
                self.assertRegex(item["input"], "^[A-Z][a-z]+!$")

    def test_only_allowed_tools_are_called(self):
        code = {"type": "custom", "name": "code"}
        fields = {"input": "What is the weather in Abuja?", "tools": [WEATHER, code], "max_output_tokens": 60}
        allowed = {"type": "allowed_tools", "mode": "required", "tools": [{"type": "custom", "name": "code"}]}
        response = self.respond(**fields, tool_choice=allowed)
        self.assertEqual([item["name"] for item in response["output"]], ["code"])
        self.assertEqual(response["tool_choice"], allowed)
        self.refused(400, "tool_choice", {**fields, "tool_choice": {"type": "custom", "name": "other"}})
        self.refused(400, "tool_choice.type", {**fields, "tool_choice": {"type": "web_search"}})

    def test_a_grammar_that_cannot_be_held_is_refused(self):
        for syntax, definition, field in (("lark", "start: a{b}", "definition"), ("lark", "start: /(?<=a)b/", "definition"),
                                          ("regex", "(", "definition"), ("ebnf", "x", "syntax")):
            tool = {"type": "custom", "name": "t", "format": {"type": "grammar", "syntax": syntax, "definition": definition}}
            self.refused(400, f"tools[1].format.{field}", {"input": "U", "tools": [WEATHER, tool]})
        self.refused(400, "tools[0].name", {"input": "U", "tools": [{"type": "custom", "name": 'a"b'}]})

    def test_a_forced_call_relaxes_what_no_grammar_holds_unless_it_is_strict(self):
        fields = {**CODEX, "stream": False, "temperature": 1, "seed": 1, "max_output_tokens": 300,
                  "tool_choice": {"type": "function", "name": "exec_command"}}
        response = self.respond(**fields)
        self.assertEqual([item["name"] for item in response["output"]], ["exec_command"])
        strict = [{**CODEX["tools"][0], "strict": True}]
        message = self.refused(400, "tools[0].parameters", {**fields, "tools": strict})
        self.assertIn("uniqueItems", message)

    def test_a_reference_to_nothing_is_400(self):
        parameters = {"type": "object", "properties": {"a": {"$ref": "#/$defs/nothing"}}}
        tools = [{"type": "function", "name": "f", "parameters": parameters}]
        self.refused(400, "tools[0].parameters", {"input": CAPITAL, "tools": tools, "tool_choice": "required"})
        text = {"format": {"type": "json_schema", "name": "n", "schema": parameters}}
        self.refused(400, "text.format.schema#/properties/a/$ref", {"input": CAPITAL, "text": text})

    def test_a_call_that_was_cut_does_not_end_the_conversation(self):
        for arguments in ('{"city": "Ab', "", "no JSON at all"):
            call = {"id": "1", "type": "function", "function": {"name": "get_weather", "arguments": arguments}}
            messages = [{"role": "user", "content": "What is the weather in Abuja?"},
                        {"role": "assistant", "content": None, "tool_calls": [call]},
                        {"role": "tool", "tool_call_id": "1", "content": WEATHER_SAID}]
            status, answer = self.ask("POST", "/v1/chat/completions", {"messages": messages, "temperature": 0})
            self.assertEqual(status, 200, answer)


class Answers(Case):
    def test_an_item_cut_at_the_limit_is_incomplete(self):
        fields = {"input": CAPITAL, "max_output_tokens": 3}
        events = self.stream(**fields)
        self.assertEqual(events[-1]["type"], "response.incomplete")
        done = next(event for event in events if event["type"] == "response.output_item.done")
        self.assertEqual(done["item"]["status"], "incomplete")
        for response in (self.respond(**fields), events[-1]["response"]):
            self.assertEqual(response["status"], "incomplete")
            self.assertEqual(response["incomplete_details"], {"reason": "max_output_tokens"})
            self.assertEqual([item["status"] for item in response["output"]], ["incomplete"])
        whole = self.respond(input=CAPITAL)
        self.assertEqual([item["status"] for item in whole["output"]], ["completed"])

    def test_so_is_a_call(self):
        fields = {"input": CAPITAL, "tools": [WEATHER], "tool_choice": "required", "max_output_tokens": 16}
        for response in (self.respond(**fields), self.stream(**fields)[-1]["response"]):
            self.assertEqual(response["status"], "incomplete")
            self.assertEqual([(item["type"], item["status"]) for item in response["output"]], [("function_call", "incomplete")])
        chat = {"messages": [{"role": "user", "content": CAPITAL}], "temperature": 0, "max_tokens": 16, "tool_choice": "required",
                "tools": [{"type": "function", "function": WEATHER}]}
        choice = self.ask("POST", "/v1/chat/completions", chat)[1]["choices"][0]
        self.assertEqual(choice["finish_reason"], "length")
        self.assertEqual(choice["message"]["tool_calls"][0]["function"]["name"], "get_weather")

    def test_a_conversation_that_is_too_long_may_lose_its_beginning(self):
        history = [{"role": role, "content": f"Number {i}. " + "word " * 60} for i in range(8) for role in ("user", "assistant")]
        fields = {"input": [*history, {"role": "user", "content": CAPITAL}], "instructions": "You are realizar-tiny."}
        self.refused(400, "input", fields, code="context_length_exceeded")
        response = self.respond(**fields, truncation="auto", max_output_tokens=20)
        self.assertEqual(response["truncation"], "auto")
        self.assertLess(response["usage"]["input_tokens"], 1024)
        self.assertGreater(response["usage"]["input_tokens"], 700)
        self.refused(400, "truncation", {"input": "U", "truncation": "some"})

    def test_metadata_is_small_and_text(self):
        for wrong in ([], {"a": 1}, {"k" * 65: "v"}, {"k": "v" * 513}, {str(i): "" for i in range(17)}):
            self.refused(400, "metadata", {"input": "U", "metadata": wrong})
        self.refused(400, "max_tool_calls", {"input": "U", "max_tool_calls": 0})

    def test_what_is_absent_or_null_comes_back_as_its_default(self):
        defaults = {"metadata": {}, "tools": [], "tool_choice": "auto", "text": {"format": {"type": "text"}},
                    "parallel_tool_calls": True, "previous_response_id": None, "background": False,
                    "reasoning": {"effort": None, "summary": None}, "service_tier": "default", "truncation": "disabled"}
        for fields in ({}, {name: None for name in defaults}):
            response = self.respond(input=CAPITAL, max_output_tokens=1, **fields)
            self.assertEqual({name: response[name] for name in defaults}, defaults)
        given = {"metadata": {"a": "b"}, "parallel_tool_calls": False, "text": {"format": {"type": "json_object"}}}
        response = self.respond(input=CAPITAL, max_output_tokens=1, **given)
        self.assertEqual({name: response[name] for name in given}, given)

    def test_errors_name_what_the_client_sent(self):
        image = {"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}
        message = self.refused(400, "input[1].content[0]", {"instructions": "S", "input": [{"role": "user", "content": "U"}, image]})
        self.assertTrue(message.startswith("input[1].content[0]:"), message)
        self.refused(400, "input[0].role", {"input": [{"role": "king", "content": "U"}]})
        self.refused(400, "tools[0].name", {"input": "U", "tools": [{"type": "function", "name": 'a"b'}]})
        self.refused(400, "text.format.type", {"input": "U", "text": {"format": {"type": "yaml"}}})

    def test_log_probabilities_leave_the_stop_string_out(self):
        chat = {"messages": [{"role": "user", "content": CAPITAL}], "logprobs": True, "temperature": 0, "stop": " capital of"}
        choice = self.ask("POST", "/v1/chat/completions", chat)[1]["choices"][0]
        self.assertEqual(choice["message"]["content"], "The")
        self.assertEqual([token["token"] for token in choice["logprobs"]["content"]], ["The"])
        chunks = [event["choices"][0] for event in self.stream("/v1/chat/completions", **chat) if event["choices"]]
        streamed = [token for chunk in chunks for token in (chunk["logprobs"] or {"content": []})["content"]]
        self.assertEqual(streamed, choice["logprobs"]["content"])
        # Text that might have become a stop string but did not is sent at the end.
        all_of = self.ask("POST", "/v1/chat/completions", {**chat, "stop": "Paris.?"})[1]["choices"][0]
        self.assertEqual("".join(token["token"] for token in all_of["logprobs"]["content"]), ANSWER)

    def test_log_probabilities_come_where_they_are_included(self):
        fields = {"input": CAPITAL, "include": ["message.output_text.logprobs", "reasoning.encrypted_content"],
                  "top_logprobs": 2}
        response = self.respond(**fields)
        self.assertEqual(response["top_logprobs"], 2)
        logprobs = response["output"][0]["content"][0]["logprobs"]
        self.assertEqual("".join(token["token"] for token in logprobs), ANSWER)
        chat = {"messages": [{"role": "user", "content": CAPITAL}], "temperature": 0, "logprobs": True, "top_logprobs": 2}
        choice = self.ask("POST", "/v1/chat/completions", chat)[1]["choices"][0]
        self.assertEqual(logprobs, choice["logprobs"]["content"])
        events = self.stream(**fields)
        of_type = lambda kind: [event for event in events if event["type"] == kind]
        deltas = of_type("response.output_text.delta")
        self.assertEqual([token for event in deltas for token in event["logprobs"]], logprobs)
        for event in deltas:
            self.assertEqual(event["delta"].strip(), "".join(token["token"] for token in event["logprobs"]).strip())
        self.assertEqual(of_type("response.output_text.done")[0]["logprobs"], logprobs)
        self.assertEqual(of_type("response.content_part.done")[0]["part"]["logprobs"], logprobs)
        self.assertEqual(events[-1]["response"]["output"][0]["content"][0]["logprobs"], logprobs)

    def test_a_long_answer_is_kept_as_it_was_told(self):
        fields = {**LONG, "include": ["message.output_text.logprobs"], "top_logprobs": 20}
        for more in ({}, {"background": True}):
            events = self.stream(**fields, **more)
            told = events[-1]["response"]
            logprobs = told["output"][0]["content"][0]["logprobs"]
            self.assertEqual([event["sequence_number"] for event in events], list(range(len(events))))
            self.assertEqual([token for event in events if event["type"] == "response.output_text.delta"
                              for token in event["logprobs"]], logprobs)
            self.assertGreater(len(json.dumps(logprobs)), 500_000)
            path = f"/v1/responses/{told['id']}"
            self.assertEqual(self.ask("GET", path), (200, told))
            if more:
                self.assertEqual(events_of(self.ask("GET", path + "?stream=true")[1]), events)
        whole = self.respond(**fields)
        self.assertEqual(self.ask("GET", f"/v1/responses/{whole['id']}"), (200, whole))

    def test_they_are_of_the_text_alone(self):
        fields = {"input": "What is the weather in Abuja?", "tools": [WEATHER], "include": ["message.output_text.logprobs"]}
        self.assertEqual([item["type"] for item in self.respond(**fields)["output"]], ["function_call"])
        for event in self.stream(**fields):
            self.assertFalse(event.get("logprobs"), event)
        without = self.respond(input=CAPITAL, top_logprobs=2)
        self.assertEqual(without["output"][0]["content"][0]["logprobs"], [])

    def test_what_cannot_be_included_is_refused(self):
        self.refused(400, "include[1]", {"input": "U", "include": ["web_search_call.results", "everything"]})
        self.refused(400, "include[0]", {"input": "U", "include": [5]})
        self.refused(400, "include", {"input": "U", "include": "message.output_text.logprobs"})
        self.refused(400, "top_logprobs", {"input": "U", "top_logprobs": 21})

    def test_an_answer_ends_where_the_context_does(self):
        """The last token needs no position: a prompt of exactly the context's size gives one."""
        for n_prompt in (1000, 1023, 1024):
            body = {"prompt": [9] * n_prompt, "max_tokens": 100, "ignore_eos": True}
            status, answer = self.ask("POST", "/v1/completions", body)
            self.assertEqual(status, 200, answer)
            self.assertEqual(answer["usage"]["total_tokens"], max(1024, n_prompt + 1))
            self.assertEqual(answer["choices"][0]["finish_reason"], "length")

    def test_completions_tell_the_system_s_fingerprint(self):
        answer = self.ask("POST", "/v1/completions", {"prompt": "In", "max_tokens": 2})[1]
        self.assertTrue(answer["system_fingerprint"].startswith("realizar-"))
        for event in self.stream("/v1/completions", prompt="In", max_tokens=2):
            self.assertEqual(event["system_fingerprint"], answer["system_fingerprint"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
