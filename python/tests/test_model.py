"""Generation, tokens, vectors, forms and tools, compared with the program's results."""
import base64
import hashlib
import importlib.metadata
import json
import pathlib
import platform
import subprocess
import sys
import unittest
from typing import Annotated, Any, Dict, List, Literal, Optional, Sequence, Union

import realizar
from realizar._tools import read_tools
from support import ANSWER, MODEL, PARIS, WEATHER, load, program, program_ids


class ModelCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = cls.enterClassContext(load())


class Generates(ModelCase):
    def test_the_tokens_of_the_program(self):
        answer = self.model.chat(PARIS, temperature=0)
        self.assertEqual(answer.text, ANSWER)
        self.assertEqual(answer.token_ids, program_ids("--temperature", "0", PARIS))
        self.assertEqual((answer.finish_reason, answer.n_generated, answer.n_prompt), ("stop", 9, 16))
        drawn = self.model.chat("Tell me about rain", temperature=1, seed=7)
        self.assertEqual(drawn.token_ids, program_ids("--temperature", "1", "--seed", "7", "Tell me about rain"))

    def test_samplers_and_their_order_are_the_programs(self):
        order = "dry;top_k;xtc;temperature"
        drawn = self.model.chat("Tell me about rain", temperature=2, seed=7, samplers=order.split(";"), top_k=20,
                                xtc_probability=1, xtc_threshold=0.05, dry_multiplier=2, dry_sequence_breakers=["."])
        flags = ["--samplers", order, "--top-k", "20", "--xtc-probability", "1", "--xtc-threshold", "0.05",
                 "--dry-multiplier", "2", "--dry-sequence-breaker", "."]
        asked = ["--temperature", "2", "--seed", "7", "Tell me about rain"]
        self.assertEqual(drawn.token_ids, program_ids(*flags, *asked))
        self.assertNotEqual(drawn.token_ids, program_ids("--top-k", "20", *asked))
        with self.assertRaisesRegex(realizar.InvalidArgumentError, "top_q"):
            self.model.chat("Hi", samplers=["top_q"])

    def test_a_prompt_as_it_is(self):
        expected = program_ids("--raw", "--temperature", "0", "--max-tokens", "12", "Once upon a time")
        self.assertEqual(self.model.generate("Once upon a time", temperature=0, max_tokens=12).token_ids, expected)
        ids = self.model.tokenize("Once upon a time")
        self.assertEqual(self.model.generate(ids, temperature=0, max_tokens=12).token_ids, expected)

    def test_without_a_seed_answers_differ(self):
        texts = {self.model.chat("Tell me a story", temperature=2, max_tokens=20).text for _ in range(4)}
        self.assertGreater(len(texts), 1)

    def test_limits_stops_and_biases_hold(self):
        cut = self.model.chat(PARIS, temperature=0, max_tokens=2)
        self.assertEqual((cut.n_generated, cut.finish_reason), (2, "length"))
        self.assertEqual(self.model.chat(PARIS, temperature=0, stop=" is").text, "The capital of France")
        self.assertEqual(self.model.chat(PARIS, temperature=0, stop=["of", "is"]).text, "The capital ")
        [is_id] = self.model.tokenize(" is", add_special=False)
        self.assertEqual(self.model.chat(PARIS, temperature=0, stop_tokens=[is_id]).text, "The capital of France")
        self.assertEqual(self.model.generate(PARIS, max_tokens=3, logit_bias={7: 1000}).token_ids, [7, 7, 7])
        never = self.model.chat(PARIS, temperature=0, logit_bias={is_id: -float("inf")})
        self.assertNotIn(is_id, never.token_ids)

    def test_no_tokens_are_none(self):
        for answer in (
            self.model.generate(PARIS, max_tokens=0),
            self.model.chat(PARIS, max_tokens=0),
            self.ended(self.model.stream(PARIS, max_tokens=0)),
        ):
            self.assertEqual((answer.text, answer.tokens, answer.finish_reason), ("", [], "length"))
        with realizar.OpenAI(self.model) as client:
            for asked in ({"max_tokens": 0}, {"max_completion_tokens": 0, "max_tokens": 9}):
                self.assertEqual(client.chat.completions.create(messages="Hi", **asked).usage.completion_tokens, 0)
            self.assertEqual(client.completions.create(prompt="Hi", max_tokens=0).choices[0].text, "")

    def ended(self, stream):
        self.assertEqual(list(stream), [])
        return stream.generation

    def test_a_prompt_of_the_whole_context_gives_one_token(self):
        n_ctx = self.model.info.n_ctx
        answer = self.model.generate([5] * n_ctx, temperature=0, ignore_eos=True)
        self.assertEqual((answer.n_generated, answer.finish_reason), (1, "context"))
        with self.assertRaises(realizar.ContextLengthError) as raised:
            self.model.generate([5] * (n_ctx + 1))
        self.assertEqual((raised.exception.n_prompt, raised.exception.n_ctx), (n_ctx + 1, n_ctx))

    def test_seeds_have_64_bits(self):
        drawn = lambda seed: self.model.chat("Tell me about rain", temperature=2, seed=seed, max_tokens=20).token_ids
        most = 2**64 - 1
        flags = ["--temperature", "2", "--seed", str(most), "--max-tokens", "20"]
        self.assertEqual(drawn(most), program_ids(*flags, "Tell me about rain"))
        self.assertNotEqual(drawn(2**53), drawn(2**53 + 1))
        for wrong in (-1, 2**64):
            with self.assertRaisesRegex(ValueError, f"seed: expected 0 to {most}, actual {wrong}"):
                drawn(wrong)

    def test_logprobs_are_told_where_asked_for(self):
        plain = self.model.chat(PARIS, temperature=0)
        self.assertTrue(all(token.logprob is None and token.top == () for token in plain.tokens))
        told = self.model.chat(PARIS, temperature=0, logprobs=3)
        for token in told.tokens:
            self.assertEqual(len(token.top), 3)
            self.assertEqual(token.top[0], (token.id, token.logprob))
            self.assertGreaterEqual(token.top[0][1], token.top[1][1])
        alone = self.model.chat(PARIS, temperature=0, logprobs=True)
        self.assertEqual([t.logprob for t in alone.tokens], [t.logprob for t in told.tokens])
        self.assertEqual(alone.tokens[0].top, ())

    def test_conversations(self):
        turns = [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": PARIS}]},
        ]
        ids = self.model.chat_prompt(turns)
        self.assertEqual(self.model.generate(ids, temperature=0).text, self.model.chat(turns, temperature=0).text)
        developer = [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": PARIS}]
        self.assertEqual(self.model.chat_prompt(developer), ids)
        spelt = program("detokenize", str(MODEL), "--special", *map(str, ids))
        self.assertIn("Be brief.<|im_end|>", spelt)

    def test_a_system_message_beside_the_others(self):
        turns = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": PARIS}]
        expected = self.model.chat(turns, temperature=0)
        self.assertEqual(self.model.chat(PARIS, system="Be brief.", temperature=0).token_ids, expected.token_ids)
        for asked in (PARIS, turns[1:]):
            self.assertEqual(self.model.chat_prompt(asked, system="Be brief."), self.model.chat_prompt(turns))
        with self.assertRaisesRegex(ValueError, "^system.content: expected a string"):
            self.model.chat(PARIS, system=5)
        for role in ("system", "developer"):
            with self.assertRaisesRegex(ValueError, "system: .*already"):
                self.model.chat([{"role": role, "content": "x"}, *turns[1:]], system="Be brief.")

    def test_wrong_messages_are_named(self):
        for message, wrong in [
            ({"role": "robot", "content": "hi"}, r"messages\[1\].role: expected one of system, .*actual 'robot'"),
            ({"content": "hi"}, r"messages\[1\].role"),
            ({"role": "user"}, r"messages\[1\].content: expected a string"),
            ({"role": "user", "content": 5}, r"messages\[1\].content: expected a string or a list of parts, actual int"),
            (5, r"messages\[1\]: expected an object"),
        ]:
            with self.subTest(wrong), self.assertRaisesRegex(ValueError, wrong):
                self.model.chat([{"role": "user", "content": "hi"}, message])

    def test_a_call_of_the_model_continues_a_text(self):
        expected = self.model.generate("Once upon a time", temperature=0, max_tokens=12)
        self.assertEqual(self.model("Once upon a time", temperature=0, max_tokens=12).token_ids, expected.token_ids)

    def test_answers_are_shown_in_a_line(self):
        answer = self.model.chat(PARIS, temperature=0)
        self.assertEqual(repr(answer), f"<realizar.Generation '{ANSWER}', stop, n_prompt=16, n_generated=9>")
        cut = repr(self.model.generate("Once", ignore_eos=True, seed=1, max_tokens=300))
        self.assertRegex(cut, r"\.\.\.', length, n_prompt=\d+, n_generated=300>$")
        self.assertLess(len(cut), 400)
        called = self.model.chat("Rome?", tools=[WEATHER], tool_choice="weather", temperature=0)
        self.assertEqual(repr(called).split(", ", 1)[1], 
                         f"calls of weather, stop, n_prompt={called.n_prompt}, n_generated={called.n_generated}>")
        piece = next(self.model.stream_chat(PARIS, temperature=0))
        self.assertEqual(repr(piece), "Piece(text='The', kind='content', call_idx=0)")

    def test_what_users_write_is_no_special_token(self):
        plain, special = self.model.chat_prompt("x"), self.model.chat_prompt("<|im_end|>")
        self.assertEqual([i for i in special if i < 5], [i for i in plain if i < 5])


class Tokens(ModelCase):
    def test_there_and_back(self):
        for text in ["Hello world", "", "naïve 日本語 🙂", " two  spaces\n"]:
            self.assertEqual(self.model.detokenize(self.model.tokenize(text, add_special=False)), text)
        long_text = "word " * 5000
        ids = self.model.tokenize(long_text, add_special=False)
        self.assertGreater(len(ids), 4000)
        self.assertEqual(self.model.detokenize(ids), long_text)

    def test_those_of_the_program(self):
        expected = program("tokenize", str(MODEL), "--ids", "Hello world").split()
        self.assertEqual(self.model.tokenize("Hello world"), list(map(int, expected)))

    def test_special_tokens_where_they_are_asked_for(self):
        self.assertEqual(len(self.model.tokenize("<|im_end|>", add_special=False, parse_special=True)), 1)
        self.assertGreater(len(self.model.tokenize("<|im_end|>", add_special=False)), 1)

    def test_bytes_of_tokens(self):
        ids = self.model.tokenize("日本語", add_special=False)
        self.assertEqual(b"".join(map(self.model.token_bytes, ids)).decode(), "日本語")


class Vectors(ModelCase):
    TEXTS = ["cat", "a much longer text about cats and dogs", "x"]

    def test_the_vectors_of_the_program(self):
        printed = program("embed", str(MODEL), "--json", *self.TEXTS)
        expected = [json.loads(line)["embedding"] for line in printed.splitlines()]
        vectors = self.model.embed(self.TEXTS)
        for vector, other in zip(vectors, expected):
            self.assertEqual(len(vector), self.model.info.d_model)
            self.assertLess(max(abs(a - b) for a, b in zip(vector, other)), 1e-6)

    def test_one_text_and_many(self):
        one = self.model.embed("cat")
        self.assertAlmostEqual(sum(x * x for x in one), 1, places=4)
        texts = [f"text {i % 7}" for i in range(150)]
        vectors = self.model.embed(texts)
        self.assertEqual(len(vectors), 150)
        self.assertTrue(all(vectors[i] == vectors[i % 7] for i in range(150)))
        self.assertNotEqual(vectors[0], vectors[1])
        self.assertEqual(self.model.embed([]), [])

    def test_a_text_that_is_too_long_is_an_error(self):
        with self.assertRaises(realizar.ContextLengthError):
            self.model.embed(["fits", "word " * 5000])


class Numbers(ModelCase):
    def test_the_info_has_the_config_and_the_devices_memory(self):
        info = self.model.info
        inspected = json.loads(program("inspect", str(MODEL), "--json"))["config"]
        self.assertAlmostEqual(info.norm_eps, inspected["norm_eps"], places=9)
        self.assertEqual(info.tie_word_embeddings, inspected["tie_word_embeddings"])
        rope = inspected["ropes"][0]
        self.assertEqual((info.rope_base, info.n_rope_dims, info.rope_scale), (rope["base"], rope["n_dims"], rope["scale"]))
        [device] = info.devices
        self.assertEqual((device.name, device.weight_bytes, device.kv_bytes), ("cpu", info.weight_bytes, info.kv_bytes))
        self.assertGreater(info.scratch_bytes, 0)

    def test_logits_are_what_tokens_are_drawn_from(self):
        ids = self.model.tokenize("Once upon a time")
        greedy = realizar.Sampler(self.model.info.n_vocab, temperature=0)
        drawn = realizar.Sampler(self.model.info.n_vocab, temperature=1.5, top_k=50, seed=2**64 - 1)
        for sampler, options in ((greedy, {"temperature": 0}), (drawn, {"temperature": 1.5, "top_k": 50, "seed": 2**64 - 1})):
            text = list(ids)
            expected = self.model.generate(ids, max_tokens=6, ignore_eos=True, **options).token_ids
            for _ in range(6):
                row = self.model.logits(text, n_prompt=len(ids))[0]
                text.append(sampler.sample(row, text))
            self.assertEqual(text[len(ids) :], expected)
        rows = self.model.logits(ids, n_last=3)
        self.assertEqual([len(row) for row in rows], [self.model.info.n_vocab] * 3)
        self.assertEqual(max(range(len(rows[2])), key=rows[2].__getitem__), greedy.sample(list(rows[2])))
        self.assertEqual(greedy.sample(memoryview(rows[2])), greedy.sample(rows[2]))
        for wrong in (0, 1000):
            with self.assertRaisesRegex(ValueError, "n_last"):
                self.model.logits(ids, n_last=wrong)

    def test_a_sampler_refuses_by_name(self):
        for options, name in (({"top_p": 7}, "top_p"), ({"samplers": "top_q"}, "top_q"), ({"logit_bias": {9: 1}}, "logit_bias")):
            with self.assertRaisesRegex(realizar.InvalidArgumentError, name):
                realizar.Sampler(4, **options)
        with self.assertRaisesRegex(TypeError, "colour"):
            realizar.Sampler(4, colour=1)
        sampler = realizar.Sampler(4, temperature=0, logit_bias={1: -float("inf")})
        self.assertEqual(sampler.sample([0, 9, 1, 0.5]), 2)
        for logits, history, message in (([0, 1], [], "expected 4, actual 2"), ([0, 1, 2, 3], [4], "history")):
            with self.assertRaisesRegex(realizar.InvalidArgumentError, message):
                sampler.sample(logits, history)
        with self.assertRaisesRegex(realizar.InternalError, "NaN"):
            sampler.sample([0, 1, float("nan"), 0])

    def test_a_trace_has_rows_events_and_totals(self):
        self.model.clear_cache()
        self.model.set_trace(True)
        answer = self.model.chat(PARIS, temperature=0)
        self.model.set_trace(False)
        trace = self.model.trace()
        self.assertEqual((trace.prefill.n_tokens, trace.decode.n_tokens), (answer.n_prompt, answer.n_generated))
        self.assertGreaterEqual(trace.decode.n_computed, trace.decode.n_tokens)
        self.assertEqual(trace.both.n_steps, trace.prefill.n_steps + trace.decode.n_steps)
        self.assertIn("attention", {row.op for row in trace.rows if row.is_decode})
        self.assertAlmostEqual(sum(row.total_ms for row in trace.rows), trace.both.total_ms, places=6)
        self.assertEqual(len({event.step for event in trace.events}), trace.both.n_steps)
        self.model.chat(PARIS, temperature=0)
        self.assertEqual(self.model.trace().both, trace.both)
        self.model.clear_trace()
        self.assertEqual((self.model.trace().rows, self.model.trace().events), ((), ()))

    def test_a_cleared_cache_is_computed_again(self):
        self.model.chat(PARIS, temperature=0)
        self.assertGreater(self.model.chat(PARIS, temperature=0).n_cached, 0)
        self.model.clear_cache()
        told = self.model.chat(PARIS, temperature=0)
        self.assertEqual((told.n_cached, told.n_preemptions), (0, 0))
        self.assertTrue(all(0 < token.device_ms < token.ms + 0.01 for token in told.tokens[:1]))


class Person:
    """The methods of a pydantic model class that the package uses."""

    SCHEMA = {
        "type": "object",
        "properties": {"name": {"enum": ["Ada", "Alan"]}, "age": {"type": "integer", "minimum": 1, "maximum": 99}},
        "required": ["name", "age"],
        "additionalProperties": False,
    }

    def __init__(self, name, age):
        self.name, self.age = name, age

    @classmethod
    def model_json_schema(cls):
        return cls.SCHEMA

    @classmethod
    def model_validate_json(cls, text):
        return cls(**json.loads(text))


class Forms(ModelCase):
    def test_a_schema_holds(self):
        for schema in [Person.SCHEMA, json.dumps(Person.SCHEMA)]:
            answer = self.model.chat("Who?", schema=schema, temperature=1)
            self.assertEqual(answer.parsed, json.loads(answer.text))
            self.assertIn(answer.parsed["name"], ["Ada", "Alan"])
            self.assertTrue(1 <= answer.parsed["age"] <= 99)
        person = self.model.generate("Who?", schema=Person).parsed
        self.assertIsInstance(person, Person)
        self.assertIn(person.name, ["Ada", "Alan"])

    def test_a_format_is_a_schema(self):
        for form, kind in [(Person.SCHEMA, dict), (Person, Person)]:
            asked = self.model.chat("Who?", format=form, seed=3)
            self.assertIsInstance(asked.parsed, kind)
            self.assertEqual(asked.text, self.model.chat("Who?", schema=form, seed=3).text)
        anything = self.model.chat("Who?", format="json", seed=2, max_tokens=300)
        self.assertTrue(anything.text.lstrip().startswith("{"), anything.text)
        if anything.finish_reason == "stop":
            self.assertIsInstance(anything.parsed, dict)
        with self.assertRaisesRegex(ValueError, "schema and format are two names of one option"):
            self.model.chat("Who?", format="json", schema=Person)

    def test_what_is_cut_is_not_parsed(self):
        answer = self.model.chat("Who?", schema=Person, max_tokens=2)
        self.assertEqual((answer.parsed, answer.finish_reason), (None, "length"))

    def test_an_answer_that_its_class_refuses_raises(self):
        class Refusing(Person):
            @classmethod
            def model_validate_json(cls, text):
                raise ZeroDivisionError(text)

        with self.assertRaises(ZeroDivisionError):
            self.model.chat("Who?", schema=Refusing)

    def test_what_no_grammar_holds(self):
        odd = {"type": "array", "uniqueItems": True}
        with self.assertRaisesRegex(realizar.UnsupportedError, "uniqueItems"):
            self.model.chat("?", schema=odd)
        self.assertEqual(self.model.chat("?", schema=odd, relaxed_schema=True, max_tokens=1).n_generated, 1)

    def test_a_grammar_holds(self):
        self.assertIn(self.model.chat(PARIS, grammar='root ::= "yes" | "no"').text, ["yes", "no"])
        with self.assertRaisesRegex(realizar.InvalidArgumentError, "line 1"):
            self.model.chat(PARIS, grammar="root ::= (")
        with self.assertRaisesRegex(realizar.InvalidArgumentError, "only one"):
            self.model.chat(PARIS, grammar='root ::= "a"', schema={})


class Tools(ModelCase):
    def test_required_calls(self):
        other = {"type": "function", "function": {"name": "time", "parameters": {"type": "object", "properties": {}}}}
        for choice in ["required", "weather"]:
            answer = self.model.chat(
                "Rome?", tools=[WEATHER, other], tool_choice=choice, parallel_tool_calls=False, temperature=0
            )
            self.assertEqual(len(answer.calls), 1)
            self.assertEqual(answer.text, "")
            self.assertIn(answer.calls[0].name, ["weather"] if choice == "weather" else ["weather", "time"])
        self.assertIn(answer.calls[0].arguments["city"], ["Paris", "Rome"])

    def test_a_call_and_its_result_are_turns(self):
        called = [
            {"role": "user", "content": "Rome?"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Rome"}'}}
                ],
            },
            {"role": "tool", "tool_call_id": "1", "content": "sunny"},
        ]
        text = self.model.detokenize(self.model.chat_prompt(called, tools=[WEATHER]))
        self.assertIn("sunny", text)
        self.assertIn("Rome", text.split("Rome?")[1])

    def test_none_leaves_the_tools_out(self):
        told = self.model.chat(PARIS, temperature=0, tools=[WEATHER], tool_choice="none")
        self.assertEqual(told.text, ANSWER)
        self.assertEqual(told.n_prompt, 16)

    def test_wrong_tools_are_errors(self):
        with self.assertRaisesRegex(ValueError, "tool_choice.*'colour'"):
            self.model.chat("?", tools=[WEATHER], tool_choice="colour")
        with self.assertRaises(realizar.RealizarError):
            self.model.chat("?", tools=[{"type": "function"}])
        with self.assertRaises(realizar.InvalidArgumentError):
            self.model.chat("?", tool_choice="required")


def forecast(city: Literal["Paris", "Rome"], days: int = 1) -> str:
    """The weather of the next days.

    Args:
        city: Where,
            by its name
        days (int): How many
    """
    return f"{days} days of sun in {city}"


class ToolsOfFunctions(ModelCase):
    DESCRIBED = {
        "type": "function",
        "function": {
            "name": "forecast",
            "description": "The weather of the next days.",
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"enum": ["Paris", "Rome"], "description": "Where, by its name"},
                    "days": {"type": "integer", "description": "How many", "default": 1},
                },
                "required": ["city"],
            },
        },
    }

    def described(self, function):
        [tool] = read_tools([function])
        return tool["function"]

    def test_a_function_is_the_tool_that_its_description_is(self):
        self.assertEqual(read_tools([forecast]), [self.DESCRIBED])
        given, expected = ({"messages": "Rome?", "tools": [tool]} for tool in (forecast, self.DESCRIBED))
        self.assertEqual(self.model.chat_prompt(**given), self.model.chat_prompt(**expected))
        answer = self.model.chat("Rome?", tools=[forecast], tool_choice="forecast", temperature=0)
        self.assertEqual(answer.calls[0].name, "forecast")
        self.assertRegex(forecast(**answer.calls[0].arguments), "days of sun in (Paris|Rome)")
        with realizar.OpenAI(self.model) as client:
            chat = client.chat.completions.create(messages="Rome?", tools=[forecast], tool_choice="required")
            self.assertEqual(chat.choices[0].message.tool_calls[0].function.name, "forecast")
            response = client.responses.create(input="Rome?", tools=[forecast], tool_choice="required")
            self.assertEqual(response.output[0].name, "forecast")

    def test_types(self):
        def all_of_them(
            text: str,
            number: float,
            texts: List[str],
            pairs: Dict[str, int],
            either: Union[int, None],
            nested: Optional[List[bool]],
            anything: Any,
            said: Annotated[Sequence[int], "Numbers"],
            *,
            flag: bool = False,
        ):
            """:param text: A text
            :param float number: A number,
                perhaps a whole one
            :return: nothing"""

        told = self.described(all_of_them)
        self.assertEqual(told["description"], "")
        self.assertEqual(
            told["parameters"]["properties"],
            {
                "text": {"type": "string", "description": "A text"},
                "number": {"type": "number", "description": "A number, perhaps a whole one"},
                "texts": {"type": "array", "items": {"type": "string"}},
                "pairs": {"type": "object", "additionalProperties": {"type": "integer"}},
                "either": {"type": ["integer", "null"]},
                "nested": {"anyOf": [{"type": "array", "items": {"type": "boolean"}}, {"type": "null"}]},
                "anything": {},
                "said": {"type": "array", "items": {"type": "integer"}, "description": "Numbers"},
                "flag": {"type": "boolean", "default": False},
            },
        )
        self.assertNotIn("flag", told["parameters"]["required"])
        arguments = self.model.chat(
            "?", tools=[all_of_them], tool_choice="required", parallel_tool_calls=False, temperature=0, max_tokens=600
        ).calls[0]
        self.assertEqual(arguments.name, "all_of_them")

    def test_methods_and_functions_without_parameters(self):
        class Clock:
            def time(self) -> str:
                """The current time.

                More about that."""

        told = self.described(Clock().time)
        self.assertEqual((told["name"], told["description"]), ("time", "The current time.\n\nMore about that."))
        self.assertEqual(told["parameters"], {"type": "object", "properties": {}, "required": []})

    def test_what_is_no_tool_is_named(self):
        def bare(city):
            pass

        def odd(when: "datetime.date"):
            pass

        def strange(when: pathlib.Path):
            pass

        def rest(*cities: str):
            pass

        def by_place(city: str, /):
            pass

        def odd_default(city: str = pathlib.Path):
            pass

        def keyed(pairs: Dict[int, str]):
            pass

        for tool, message in [
            (bare, r"tools\[1\], bare, city: .*no type hint"),
            (odd, r"tools\[1\], odd: .*datetime"),
            (strange, r"tools\[1\], strange, when: its type is Path"),
            (rest, r"tools\[1\], rest, cities"),
            (by_place, r"tools\[1\], by_place, city"),
            (odd_default, r"odd_default, city: its default"),
            (keyed, r"keyed, pairs: its type is .*Dict\[int, str\]"),
            (lambda: None, r"tools\[1\]: <lambda> is not a"),
            (Person, r"tools\[1\]: expected a function .* actual type"),
            (5, r"tools\[1\]: expected a function .* actual int"),
        ]:
            with self.subTest(message), self.assertRaisesRegex(TypeError, message):
                self.model.chat("?", tools=[forecast, tool])
        with self.assertRaisesRegex(TypeError, "tools: expected a list of tools, actual function"):
            self.model.chat("?", tools=forecast)


class Installed(unittest.TestCase):
    def test_the_wheel_is_what_runs_and_its_version_is_the_programs(self):
        self.assertIn(sys.prefix, realizar.__file__)
        self.assertIn(realizar.__version__, program("--version"))
        self.assertTrue(pathlib.Path(realizar.__file__).with_name("py.typed").is_file())

    def test_files_are_as_the_wheel_records_them(self):
        wheel = importlib.metadata.distribution("realizar")
        self.assertRegex(wheel.read_text("WHEEL"), rf"Tag: py3-none-manylinux_2_\d+_{platform.machine()}\n")
        recorded = [file for file in wheel.files if file.hash is not None]
        self.assertGreater(len(recorded), 20)
        for file in recorded:
            digest = base64.urlsafe_b64encode(hashlib.sha256(file.read_binary()).digest()).rstrip(b"=").decode()
            self.assertEqual((file.hash.mode, file.hash.value), ("sha256", digest), file)

    @unittest.skipUnless(sys.version_info >= (3, 10), "Python 3.10 knows the names of its own modules")
    def test_importing_needs_no_other_package(self):
        # -S: without site-packages, which the path adds later.
        folder = str(pathlib.Path(realizar.__file__).parent.parent)
        code = f"import sys; sys.path.append({folder!r}); import realizar; print(*sys.modules)"
        names = subprocess.run([sys.executable, "-S", "-c", code], check=True, capture_output=True, text=True).stdout
        known = set(sys.stdlib_module_names) | {"realizar", "__main__"}
        self.assertEqual({name.split(".")[0] for name in names.split()} - known, set())
