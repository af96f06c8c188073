#!/usr/bin/env python3
"""The program as used by a person and a script: every command, and its errors. Usage: cli_test.py REALIZAR."""
import functools
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import tempfile
import unittest

from bundled import MODEL, QUESTION as PROMPT, ROOT
from folders import temp_folder
import program
from program import REALIZAR
from terminal import Terminal
from waiting import DEADLINE_S

# Printed when the bundled model answers because no other was named.
NOTICE = "realizar: no model was named; realizar-tiny, a toy of 4.5 million parameters, answers\n"


realizar = functools.partial(program.run, text=False)


def commands():
    """The names of all commands, as the program lists them."""
    listed = realizar("--help").stdout.decode().split("\nCommands:\n")[1].split("\n\n")[0]
    return re.findall(r"(?m)^  (\w+)", listed)


class Case(unittest.TestCase):
    def fails(self, code, *args, naming="", stdin=None):
        """The command exits with `code`, prints nothing on stdout and one line containing `naming` on stderr, after the
        line about the bundled model, if there is one."""
        result = realizar(*args, stdin=stdin)
        stderr = result.stderr.decode().removeprefix(NOTICE)
        self.assertEqual(result.returncode, code, stderr)
        self.assertEqual(result.stdout, b"")
        self.assertEqual(stderr.count("\n"), 1, stderr)
        self.assertTrue(stderr.startswith("realizar: "), stderr)
        self.assertIn(naming, stderr)

    def succeeds(self, *args, stdin=None):
        result = realizar(*args, stdin=stdin)
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        return result.stdout.decode()


class Help(Case):
    def test_every_command_has_help(self):
        self.assertGreater(len(commands()), 20)
        for command in commands():
            self.assertIn("Usage:", self.succeeds(command, "--help"))

    def test_version(self):
        self.assertRegex(self.succeeds("--version"), r"^realizar \d+\.\d+\.\d+\n$")

    def test_wrong_usage_is_exit_code_2(self):
        self.fails(2, "--print-config", naming="command")
        self.fails(2, "fly", naming="fly")
        self.fails(2, "run", "--no-such-flag", naming="--no-such-flag")
        self.fails(2, "run", "--threads", "many", "x", naming="threads")
        self.fails(2, "inspect", naming="MODEL")
        self.fails(2, "run", "--kv-type", "q3", "x", naming="kv-type")

    def test_print_config_shows_every_option(self):
        text = self.succeeds("--print-config", "run", "--top-k", "7", PROMPT)
        self.assertIn("top-k = 7", text)
        self.assertIn("kv-type", text)


class ServerName(unittest.TestCase):
    def test_a_link_called_realizar_server_takes_the_words_of_llama_server(self):
        with tempfile.TemporaryDirectory() as folder:
            link = os.path.join(folder, "realizar-server")
            os.symlink(os.path.abspath(REALIZAR), link)
            for words, code, told in ((["--rpc", "host:1"], 2, "--rpc: other machines cannot help"),
                                      (["-m", "missing.gguf", "-c", "0", "--slots"], 1, "there is no file or folder missing.gguf"),
                                      (["-m", "missing.gguf", "-c", "0", "--slots"], 1, "--slots is always on")):
                result = subprocess.run([link, *words], capture_output=True, text=True, timeout=DEADLINE_S,
                                        stdin=subprocess.DEVNULL)
                self.assertEqual(result.returncode, code, result.stderr)
                self.assertIn(told, result.stderr)


class Run(Case):
    def test_the_bundled_model_answers_on_stdout_alone_and_is_told_of(self):
        result = realizar("run", "--temperature", "0", PROMPT)
        self.assertEqual(result.stdout.decode(), "The capital of France is Paris.\n")
        self.assertEqual(result.stderr.decode(), NOTICE)
        self.assertEqual(realizar("run", MODEL, "--temperature", "0", PROMPT).stderr, b"")
        self.assertIn(NOTICE, realizar("chat", stdin=b"/quit").stderr.decode())
        self.assertEqual(realizar("run", "--print-config").stderr, b"")

    def test_prompt_from_standard_input(self):
        self.assertIn("Paris", self.succeeds("run", "--temperature", "0", stdin=PROMPT.encode()))
        self.assertIn("Paris", self.succeeds("run", MODEL, "-", "--temperature", "0", stdin=PROMPT.encode()))

    def test_text_on_standard_input_goes_after_the_prompt(self):
        joined = self.succeeds("run", "--temperature", "0", f"Please answer.\n\n{PROMPT}")
        self.assertEqual(self.succeeds("run", "--temperature", "0", "Please answer.", stdin=PROMPT.encode() + b"\n"), joined)
        self.assertEqual(self.succeeds("run", "--temperature", "0", "-p", PROMPT, stdin=b""),
                         self.succeeds("run", "--temperature", "0", PROMPT))

    def test_prompt_from_a_file(self):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write(PROMPT + "\n")
            file.flush()
            self.assertEqual(self.succeeds("run", "--temperature", "0", "-f", file.name),
                             self.succeeds("run", "--temperature", "0", PROMPT))
            self.assertEqual(self.succeeds("run", "--temperature", "0", "-f", file.name, "Please answer."),
                             self.succeeds("run", "--temperature", "0", f"Please answer.\n\n{PROMPT}"))
        self.fails(1, "run", "-f", "/no/such/prompt", naming="/no/such/prompt")

    def test_a_prompt_after_a_model_needs_no_quotes_and_a_model_no_command(self):
        answer = self.succeeds("run", "--temperature", "0", PROMPT)
        self.assertEqual(self.succeeds("run", MODEL, *PROMPT.split(), "--temperature", "0"), answer)
        self.assertEqual(self.succeeds(MODEL, *PROMPT.split(), "--temperature", "0"), answer)
        self.fails(1, "llama3.gguf", "Hello", naming="llama3.gguf")

    def test_a_first_word_is_a_model_and_never_the_prompt_of_another(self):
        for words in (["deepseek-r1"], ["deepseek-r1", "Hello"], ["deepseek-r1", "Why is the sky blue?"],
                      ["deepseek-r1", "why", "is", "the", "sky", "blue"], ["--temperature", "0", "deepseek-r1", "hi"]):
            self.fails(1, "run", *words, naming="known tags: deepseek-r1:1.5b, ")
        self.fails(1, "deepseek-r1", naming="known tags: deepseek-r1:1.5b, ")
        self.fails(1, "run", "lama3", naming="did you mean llama3.1, llama3.2 or llama3.3? To download it: realizar pull lama3")
        self.fails(1, "run", "tinyllama", "hi", naming="realizar pull tinyllama")
        self.fails(1, "chat", "mistrl", naming="did you mean mistral")
        self.fails(1, "run", "hello", naming="; if it is a prompt: realizar run -p hello")
        self.fails(1, "run", *PROMPT.split(), naming=f'; if these words are a prompt: realizar run "{PROMPT}"')
        self.fails(1, "run", "Summarize:", stdin=b"text", naming="realizar run -p Summarize:")

    def test_every_command_says_so_of_a_name_that_is_not_here(self):
        with tempfile.TemporaryDirectory() as folder:
            ids = os.path.join(folder, "ids.json")
            pathlib.Path(ids).write_text("[1]")
            for command in (["inspect", "mistrl"], ["show", "mistrl"], ["serve", "mistrl"], ["serve", "x=mistrl"],
                            ["bench", "mistrl"], ["embed", "mistrl", "text"], ["rerank", "mistrl", "query", "text"],
                            ["tokenize", "mistrl", "text"], ["detokenize", "mistrl", "1"], ["template", "mistrl"],
                            ["logits", "mistrl", "--tokens", ids, "--out", ids + ".npy"], ["perplexity", "mistrl", ids],
                            ["perplexity", MODEL, ids, "--against", "mistrl"], ["imatrix", "mistrl", ids, "--out", ids + ".dat"],
                            ["quantize", "mistrl", ids + ".gguf", "Q4_0"], ["convert", "mistrl", ids + ".gguf"],
                            ["run", MODEL, "--draft", "mistrl", PROMPT], ["cp", "mistrl", "x"], ["rm", "mistrl"]):
                self.fails(1, *command, naming="'mistrl' on this machine; did you mean mistral or mistral-nemo?")

    def test_model_and_prompt_by_position_and_by_flag(self):
        self.assertIn("Paris", self.succeeds("run", MODEL, PROMPT, "--temperature", "0"))
        self.assertIn("Paris", self.succeeds("run", "-m", MODEL, "-p", PROMPT, "--temperature", "0"))

    def test_same_seed_same_bytes_on_any_number_of_threads(self):
        def text(*args):
            return self.succeeds("run", "--seed", "7", "--temperature", "1.5", "-n", "60", *args, "Tell me a story.")

        first = text("-t", "1")
        self.assertEqual(first, text("-t", "2"))
        self.assertEqual(first, text("-t", "3", "--batch-tokens", "5"))

    def test_max_tokens_and_stop_string(self):
        self.assertEqual(self.succeeds("run", "--temperature", "0", "-n", "0", PROMPT), "\n")
        self.assertEqual(self.succeeds("run", "--temperature", "0", "--stop", " is", PROMPT),
                         "The capital of France\n")

    def test_json_events(self):
        lines = self.succeeds("run", "--temperature", "0", "--json", "--logprobs", "2", PROMPT).splitlines()
        events = [json.loads(line) for line in lines]
        self.assertEqual("".join(e["text"] for e in events if e["type"] == "token"), "The capital of France is Paris.")
        self.assertEqual(len(events[0]["top_logprobs"]), 2)
        self.assertEqual(events[0]["top_logprobs"][0]["id"], events[0]["id"])
        self.assertEqual(events[-1]["type"], "done")
        self.assertEqual(events[-1]["finish_reason"], "stop")

    def test_stats_and_trace_go_to_stderr(self):
        with tempfile.TemporaryDirectory() as folder:
            trace = os.path.join(folder, "trace.json")
            result = realizar("run", "--temperature", "0", "--stats", "--trace", "--trace-file", trace, PROMPT)
            self.assertEqual(result.stdout.decode(), "The capital of France is Paris.\n")
            for word in ["load", "first token", "peak memory", "MB to compute in", "attention", "GB/s", "prefix lookup"]:
                self.assertIn(word, result.stderr.decode())
            events = json.loads(pathlib.Path(trace).read_text())["traceEvents"]
            durations = [e["dur"] for e in events if e["ph"] == "X"]
            self.assertTrue(len(durations) > 10 and min(durations) >= 0)

    def test_token_times_need_no_trace(self):
        result = realizar("run", "--temperature", "0", "--token-times", PROMPT)
        self.assertEqual(result.stdout.decode(), "The capital of France is Paris.\n")
        errors = result.stderr.decode()
        self.assertIn("time to the first token", errors)
        self.assertNotIn("attention", errors)
        table = [line.split() for line in errors.split("ms each\n")[1].splitlines()]
        self.assertEqual(table[0], ["position", "total", "device", "host", "tok/s"])
        rows = [[float(x) for x in row] for row in table[1:]]
        self.assertEqual([row[0] for row in rows], list(range(17, 25)))
        for _, total, device, host, *rate in rows:
            self.assertAlmostEqual(total, device + host, delta=0.002)
            for tokens_per_s in rate:
                self.assertAlmostEqual(1e3 / total / tokens_per_s, 1, delta=0.0006 / total + 0.06 / tokens_per_s)
        events = [json.loads(line) for line in
                  realizar("run", "--temperature", "0", "--json", PROMPT).stdout.decode().splitlines()]
        tokens = [event for event in events if event["type"] == "token" and "id" in event]
        self.assertTrue(all(event["ms"] >= 0 for event in tokens))
        done = events[-1]
        self.assertAlmostEqual(tokens[0]["ms"], done["first_token_ms"], places=3)
        self.assertLessEqual(sum(event["ms"] for event in tokens[1:]), done["decode_ms"] + 1e-3)

    def test_prompts_of_a_file_are_answered_in_its_order_each_with_its_end(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "prompts.jsonl")
            lines = [PROMPT, json.dumps({"prompt": "Hello", "max_tokens": 2}), "", "word " * 9000,
                     '{"promt": "x"}', "{broken", json.dumps({"prompt": PROMPT, "max_tokens": 1})]
            pathlib.Path(file).write_text("\n".join(lines) + "\n")
            for parallel in "1", "3":
                result = realizar("run", "--temperature", "0", "--ctx", "256", "--prompts", file, "--max-seqs", parallel)
                self.assertEqual(result.returncode, 1)
                answers = [json.loads(line) for line in result.stdout.decode().splitlines()]
                self.assertEqual([answer["index"] for answer in answers], list(range(6)))
                self.assertEqual(answers[0]["text"], "The capital of France is Paris.")
                self.assertEqual(answers[0]["finish_reason"], "stop")
                self.assertEqual((answers[1]["n_generated"], answers[1]["finish_reason"]), (2, "length"))
                self.assertEqual(answers[2]["error"]["code"], "ContextLengthExceeded")
                self.assertGreaterEqual(answers[2]["error"]["n_prompt_tokens"], 9000)
                self.assertEqual(answers[2]["error"]["n_ctx"], 256)
                self.assertIn("'promt' is unknown", answers[3]["error"]["message"])
                self.assertIn("not a JSON object", answers[4]["error"]["message"])
                self.assertEqual(answers[5]["text"], "The")
            sound = realizar("run", "--temperature", "0", "--prompts", "-", stdin=PROMPT.encode())
            self.assertEqual((sound.returncode, len(sound.stdout.splitlines())), (0, 1))
            self.fails(1, "run", "--prompts", file, "one more", naming="--prompts")
            self.fails(1, "run", "--prompts", "/no/such/file", naming="/no/such/file")

    def test_prompts_are_printed_as_they_finish_where_that_is_asked_for(self):
        lines = [json.dumps({"prompt": PROMPT, "max_tokens": n}) for n in (200, 1, 2, 3)]
        done = self.succeeds("run", "--prompts", "-", "--max-seqs", "4", "--order", "finished", "--temperature", "0",
                             stdin="\n".join(lines).encode())
        answers = [json.loads(line) for line in done.splitlines()]
        self.assertEqual(sorted(answer["index"] for answer in answers), [0, 1, 2, 3])
        self.assertEqual(answers[-1]["index"], 0, "the longest is the last")
        self.fails(2, "run", PROMPT, "--order", "finished", naming="--prompts")

    def test_prompts_are_resumed_and_half_a_line_is_made_anew(self):
        lines = [json.dumps({"prompt": f"{PROMPT} {i}", "max_tokens": 3}) for i in range(5)]
        with tempfile.TemporaryDirectory() as folder:
            prompts, out = pathlib.Path(folder, "in"), pathlib.Path(folder, "out")
            prompts.write_text("\n".join(lines))
            def run(preexec_fn=None):
                with open(out, "ab") as stdout:
                    return subprocess.run([REALIZAR, "run", "--temperature", "0", "--prompts", prompts, "--resume", out],
                                          stdout=stdout, stderr=subprocess.PIPE, timeout=DEADLINE_S, preexec_fn=preexec_fn,
                                          restore_signals=False, check=False)
            self.assertEqual(run().returncode, 0)
            whole = out.read_bytes()
            self.assertEqual(len(whole.splitlines()), 5)
            self.assertEqual(run().returncode, 0)
            self.assertEqual(out.read_bytes(), whole, "nothing is left to do")
            pieces = whole.splitlines(keepends=True)
            out.write_bytes(b"".join(pieces[:2]) + pieces[2][:-9])
            self.assertEqual(run().returncode, 0)
            def untimed(data):
                return [(answer["index"], answer["text"]) for answer in map(json.loads, data.splitlines())]
            self.assertEqual(untimed(out.read_bytes()), untimed(whole))
            # A disk that fills up in the middle of a line.
            out.write_bytes(b"")
            n_most = len(pieces[0]) + 20
            full = run(lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (n_most, n_most)))
            self.assertEqual(full.returncode, 1)
            self.assertIn(b"cannot write to standard output: File too large", full.stderr)
            self.assertEqual(untimed(out.read_bytes()), untimed(pieces[0]))
            self.assertEqual(run().returncode, 0)
            self.assertEqual(untimed(out.read_bytes()), untimed(whole))
            out.write_bytes(b'{"index":7}\n')
            self.assertIn(b"is of other prompts", run().stderr)

    def test_an_answer_is_held_to_a_form(self):
        schema = json.dumps({"type": "object", "properties": {"city": {"enum": ["Paris", "Rome"]}}, "required": ["city"],
                             "additionalProperties": False})
        grammar = 'root ::= "no" | "yes" " " "sir"'
        answers = [{"city": "Paris"}, {"city": "Rome"}]
        with tempfile.TemporaryDirectory() as folder:
            for option, source in (("--schema", schema), ("--grammar", grammar)):
                file = os.path.join(folder, option[2:])
                pathlib.Path(file).write_text(source)
                ask = ["run", MODEL, "--temperature", "0", PROMPT, option]
                answer = self.succeeds(*ask, source)
                self.assertEqual(self.succeeds(*ask, file), answer)
                self.assertEqual(self.succeeds("run", MODEL, "--temperature", "0", "--raw", PROMPT, option, file)[-1], "\n")
                if option == "--schema":
                    self.assertIn(json.loads(answer), answers)
                else:
                    self.assertIn(answer, ("no\n", "yes sir\n"))
        lines = self.succeeds("run", MODEL, "--temperature", "0", "--schema", schema, "--prompts", "-",
                              stdin=b"Where?\nWhat is the capital of Italy?\n").splitlines()
        self.assertEqual([json.loads(json.loads(line)["text"]) in answers for line in lines], [True, True])
        self.assertEqual(self.succeeds("run", MODEL, "-n", "4", "--temperature", "0", "--format", "json", PROMPT)[0], "{")
        # Other programs' options for it.
        for words in (["--json-schema", schema], ["-j", schema], ["--json-schema-file", "f"], ["-jf", "f"], ["--grammar-file", "f"]):
            target = "grammar = " if "grammar" in words[0] else "schema = "
            self.assertIn(target, self.succeeds("run", *words, "--print-config"))

    def test_a_form_that_is_wrong_is_told_before_the_model_is_looked_for(self):
        with tempfile.NamedTemporaryFile() as empty:
            for given, naming in ((["--schema", "/no/such"], "--schema: no such file: /no/such"),
                                  (["--grammar", empty.name], f"--grammar {empty.name}: the file is empty"),
                                  (["--schema", '{"type":'], "--schema, line 1, column 9: this is not JSON"),
                                  (["--schema", '{"type": "thing"}'], "--schema: #"),
                                  (["--grammar", "root ::= (" ], "--grammar: line 1, column ")):
                for command in (["run", "no-such-model", "hi"], ["chat", "no-such-model"], ["run", "--prompts", empty.name]):
                    self.fails(1, *command, *given, naming=naming)
        self.fails(2, "run", "--format", "yaml", PROMPT, naming="--format yaml: must be one of json")
        self.fails(2, "run", "--format", "json", "--schema", "{}", PROMPT, naming="expected one of --format, --schema and --grammar")
        self.fails(2, "run", "--format", "json", "--mcp", "a=http://127.0.0.1:9", PROMPT, naming="expected no --mcp")
        self.fails(2, "serve", "--grammar-file", "f", naming="in the field `grammar`")
        self.fails(2, "serve", "--json-schema", "{}", naming="in the field `response_format`")

    def test_each_prompt_of_a_file_draws_its_own_seed(self):
        def stories(*args):
            lines = self.succeeds("run", MODEL, "--prompts", "-", "--temperature", "2", "--top-k", "0", "--top-p", "1", "-n", "40",
                                  *args, stdin=b"Tell me a story.\n" * 2).splitlines()
            return [json.loads(line)["text"] for line in lines]
        self.assertNotEqual(*stories())
        self.assertEqual(*stories("--seed", "7"))

    def test_refusals(self):
        self.fails(1, "run", "/no/such/model.gguf", PROMPT, naming="/no/such/model.gguf")
        self.fails(1, "run", "", naming="empty")
        self.fails(2, "run", "--temperature", "-1", PROMPT, naming="--temperature -1: must be 0 or more")
        self.fails(2, "run", "--top-p", "2", PROMPT, naming="--top-p 2: must be from 0 to 1")
        self.fails(2, "run", "--mirostat", "3", PROMPT, naming="--mirostat 3: must be from 0 to 2")
        self.fails(2, "run", "--samplers", "top_k;warm", PROMPT, naming="actual 'warm'")
        self.fails(2, "run", "--sampler-seq", "kq", PROMPT, naming="actual 'q'")
        self.fails(2, "run", "--sampler-seq", "k", "--samplers", "top_k", PROMPT, naming="give one")
        self.fails(1, "run", "--dry-sequence-breaker", "", PROMPT, naming="dry_sequence_breakers")
        self.fails(2, "run", "--logit-bias", "x", PROMPT, naming="--logit-bias x: must be ID=VALUE")
        self.fails(1, "run", "--ctx", "16", PROMPT * 20, naming="16")

    def test_an_unreadable_or_broken_file_is_one_line(self):
        with tempfile.TemporaryDirectory() as folder:
            cut = os.path.join(folder, "cut.gguf")
            for n_bytes in [0, 3, 24, 5000, 100000, os.path.getsize(MODEL) - 1]:
                pathlib.Path(cut).write_bytes(pathlib.Path(MODEL).read_bytes()[:n_bytes])
                told = {0: "'GGUF'", 3: "'GGUF'", 5000: "it has 5.0 kB, and metadata 'tokenizer.ggml.tokens' at byte 922 needs"}.get(n_bytes, "download it again")
                self.fails(1, "run", cut, PROMPT, naming="cut.gguf: ")
                self.fails(1, "run", cut, PROMPT, naming=told)
            pathlib.Path(cut).write_bytes(pathlib.Path(MODEL).read_bytes()[:3000000])
            self.fails(1, "run", cut, PROMPT, naming="cut.gguf: the file is cut off: 3.0 MB of 4.")
            os.mkdir(os.path.join(folder, "empty"))
            self.fails(1, "run", os.path.join(folder, "empty"), PROMPT, naming="there is no model in")
            if os.geteuid() != 0:
                os.chmod(cut, 0)
                self.fails(1, "run", cut, PROMPT, naming="Permission denied")

    def test_a_full_disk_is_a_failure(self):
        with open("/dev/full", "wb") as full:
            result = subprocess.run([REALIZAR, "run", "--temperature", "0", PROMPT], stdout=full,
                                    stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=DEADLINE_S)
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"cannot write to standard output: No space left on device", result.stderr)

    def test_a_closed_pipe_ends_it_quietly_as_it_ends_other_filters(self):
        for args in [["run", MODEL, "--temperature", "1", "-n", "500", "Tell me a long story."], ["inspect", "--tensors", MODEL]]:
            process = subprocess.Popen([REALIZAR, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       stdin=subprocess.DEVNULL)
            process.stdout.close()
            self.assertEqual(process.wait(DEADLINE_S), -signal.SIGPIPE)
            self.assertEqual(process.stderr.read(), b"")
            process.stderr.close()

    def test_interrupt_keeps_the_text_so_far(self):
        args = ["run", "--temperature", "1", "--raw", "-n", "100000", "--logit-bias", "2041=-100",
                "--logit-bias", "2039=-100", "In the beginning"]
        process = subprocess.Popen([REALIZAR, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   stdin=subprocess.DEVNULL)
        first = process.stdout.read(1)
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=DEADLINE_S)
        self.assertIn(process.returncode, (130, 0))
        self.assertTrue((first + rest).endswith(b"\n"))


class Tokens(Case):
    def test_round_trip(self):
        ids = self.succeeds("tokenize", MODEL, "--ids", "Hello, wörld 🙂!")
        self.assertRegex(ids, r"^\d+( \d+)*\n$")
        self.assertEqual(self.succeeds("detokenize", MODEL, *ids.split()), "Hello, wörld 🙂!\n")

    def test_special_tokens_only_on_demand(self):
        plain = self.succeeds("tokenize", MODEL, "--ids", "<|im_end|>").split()
        special = self.succeeds("tokenize", MODEL, "--ids", "--special", "<|im_end|>").split()
        self.assertEqual(special, ["2041"])
        self.assertGreater(len(plain), 1)

    def test_from_file(self):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("two\nlines\n")
            file.flush()
            ids = self.succeeds("tokenize", MODEL, "--ids", "--file", file.name)
        self.assertEqual(ids, self.succeeds("tokenize", MODEL, "--ids", "two\nlines\n"))

    def test_refusals(self):
        self.fails(2, "tokenize", MODEL, naming="TEXT or --file FILE is missing")
        self.fails(1, "tokenize", MODEL, "--file", "/no/such", naming="/no/such")
        self.fails(1, "detokenize", MODEL, "99999", naming="99999")


class Template(Case):
    def test_renders_the_models_template(self):
        request = {"messages": [{"role": "user", "content": "Hi"}], "add_generation_prompt": True}
        text = self.succeeds("template", "--model", MODEL, "--input", "-", stdin=json.dumps(request).encode())
        self.assertEqual(text, "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n")

    def test_renders_a_file_at_a_given_time(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "t.jinja")
            pathlib.Path(path).write_text("{{ strftime_now('%d %B %Y %H:%M') }} {{ messages[0].content }} {{ extra }}")
            request = {"messages": [{"content": "Hi"}], "extra": 1.5}
            text = self.succeeds("template", "--template", path, "--now", "2026-07-26T12:00:00",
                                 stdin=json.dumps(request).encode())
        self.assertEqual(text, "26 July 2026 12:00 Hi 1.5")

    def test_refusals(self):
        self.fails(2, "template", "--input", "-", naming="--template")
        self.fails(1, "template", "--model", MODEL, stdin=b"[1]", naming="JSON object")
        self.fails(2, "template", "--model", MODEL, "--now", "noon", stdin=b"{}", naming="noon")


class Inspect(Case):
    def test_text_and_json(self):
        text = self.succeeds("inspect", MODEL)
        for words in ["runs here     yes (cpu, ", " MB GGUF, Q8_0 (8.5 bits a weight)", "4.5 million, 5 layers, llama",
                      "1,024 tokens; 1,024 by default (--ctx)", " KV cache at 1,024 tokens", " free here",
                      "template, with tools (object <tool_call>)", "licence       "]:
            self.assertIn(words, text)
        self.assertNotIn("token_embd.weight", text)
        self.assertLessEqual(max(map(len, text.splitlines())), 80)
        self.assertIn("token_embd.weight", self.succeeds("inspect", MODEL, "--tensors"))
        self.assertIn('general.architecture = "llama"', self.succeeds("inspect", MODEL, "--metadata"))
        info = json.loads(self.succeeds("inspect", MODEL, "--json", "--tensors"))
        self.assertEqual(info["config"]["arch"], "llama")
        self.assertEqual(info["config"]["n_layers"], 5)
        self.assertEqual(len(info["tensors"]), info["n_tensors"])
        self.assertEqual(info["weight_bytes"], sum(tensor["bytes"] for tensor in info["tensors"]))
        self.assertEqual(info["kv_bytes"], 2 * 2 * 5 * 1024 * info["config"]["n_kv_heads"] * info["config"]["head_dim"])
        self.assertTrue(info["runs_here"])
        self.assertEqual((info["tools"], info["tool_format"]), (True, "object <tool_call>"))

    def test_the_cache_is_counted_for_its_type_and_each_context(self):
        self.assertIn("in all", self.succeeds("inspect", MODEL))
        f16, q8 = (json.loads(self.succeeds("inspect", MODEL, "--json", "--kv-type", name)) for name in ["f16", "q8_0"])
        self.assertEqual([f16["kv_type"], q8["kv_type"]], ["f16", "q8_0"])
        self.assertEqual(q8["kv_bytes"] * 32, f16["kv_bytes"] * 17)  # 34 bytes for 32 numbers, and not 64
        self.assertEqual([context["n_ctx"] for context in f16["contexts"]], [1024])
        self.assertEqual(f16["contexts"][0]["total_bytes"], f16["weight_bytes"] + f16["kv_bytes"])
        self.assertTrue("refusal" in f16["gpu"] or f16["gpu"]["n_layers"] > 0)
        self.fails(2, "inspect", MODEL, "--kv-type", "q7", naming="q8_0")


class Folders(Case):
    def test_one_model_in_a_folder_is_taken_and_of_several_the_names_are_told(self):
        folder = os.path.dirname(MODEL)
        self.assertEqual(json.loads(self.succeeds("inspect", folder, "--json"))["path"], MODEL)
        self.assertIn("Paris", self.succeeds("run", folder, "--temperature", 0, PROMPT))
        with tempfile.TemporaryDirectory() as two:
            for name in ["b.gguf", "a.gguf", "mmproj-a.gguf", "a-00002-of-00002.gguf"]:
                os.symlink(MODEL, os.path.join(two, name))
            self.fails(1, "inspect", two, naming=f"there are several models in {two}, name one: a.gguf, b.gguf\n")

    def test_a_lone_safetensors_file_says_what_it_needs(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.safetensors")
            pathlib.Path(path).write_bytes(b"")
            self.fails(1, "inspect", path, naming="a .safetensors file needs config.json and tokenizer.json in its "
                                                  f"folder; {folder} has no config.json")


class Devices(Case):
    @unittest.skipIf(os.path.exists("/dev/nvidiactl"), "this machine has a GPU")
    def test_without_a_gpu_its_commands_say_so_and_auto_takes_the_cpu(self):
        self.assertRegex(self.succeeds("devices"), r"(?s)^cpu  .* cores? for this process, .* free\n.*portable.*\nno GPU: ")
        self.fails(1, "run", "--backend", "cuda", MODEL, "Hello", naming="GPU")
        result = realizar("run", "--backend", "auto", "--temperature", 0, "-n", 4, MODEL, PROMPT)
        self.assertEqual((result.returncode, result.stderr), (0, b""))

    def test_several_are_one_word_before_the_model(self):
        config = self.succeeds("run", "--device", "1,0", "--split", "tensor", MODEL, "--print-config")
        self.assertIn("device = 1,0\n", config)
        self.assertIn(f"words = {MODEL}\n", config)
        self.fails(2, "run", "--device", "0,first", MODEL, naming="--device")
        self.fails(2, "run", "--split", "rows", MODEL, naming="--split")

    @unittest.skipUnless(os.path.exists("/dev/nvidiactl"), "this machine has no GPU")
    def test_a_gpu_is_named_once_and_shares_with_others(self):
        self.fails(1, "run", "--backend", "cuda", "--device", "0,0", MODEL, "Hello", naming="0 twice")
        self.fails(1, "run", "--backend", "cuda", "--device", "99", MODEL, "Hello", naming="99")
        self.fails(1, "run", "--backend", "cuda", "--split", "tensor", MODEL, "Hello", naming="--device")

    @unittest.skipUnless(os.path.exists("/dev/nvidiactl"), "this machine has no GPU")
    def test_lists_gpus_and_answers_on_one(self):
        self.assertRegex(self.succeeds("devices"), r"(?m)^0  .* GB free")
        self.assertIn("Paris", self.succeeds("run", "--backend", "cuda", "--temperature", 0, MODEL, PROMPT))

    def test_check_compares_two_backends(self):
        result = realizar("run", "--backend", "cpu", "--check", "--temperature", 0, "-n", 4, MODEL, PROMPT)
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        self.assertIn("cpu and reference", result.stderr.decode())


class Numbers(Case):
    def test_logits(self):
        with tempfile.TemporaryDirectory() as folder:
            tokens, out = os.path.join(folder, "ids.json"), os.path.join(folder, "logits.npy")
            pathlib.Path(tokens).write_text("[1, 2, 3, 4, 5]")
            text = self.succeeds("logits", MODEL, "--tokens", tokens, "--out", out, "--last", "2")
            self.assertIn("count 4096\n", text)
            data = pathlib.Path(out).read_bytes()
            self.assertEqual(data[:6], b"\x93NUMPY")
            self.assertIn(b"'shape': (2, 2048)", data[:128])
            self.assertEqual(len(data), 128 + 4 * 4096)
            kv = os.path.join(folder, "kv.npy")
            self.succeeds("logits", MODEL, "--tokens", tokens, "--out", out, "--kv", kv)
            data = pathlib.Path(kv).read_bytes()
            self.assertIn(b"'shape': (2, 5, 5, 2, 64)", data[:128])
            self.assertEqual(len(data), 128 + 4 * 2 * 5 * 5 * 2 * 64)
            for name, naming in [("mistral4", "keep latent rows"), ("mamba", "no layer of this model keeps keys")]:
                model = ROOT / f"tests/data/conformance/{name}.gguf"
                self.fails(1, "logits", model, "--tokens", tokens, "--out", out, "--kv", kv, naming=naming)
            self.fails(1, "logits", MODEL, "--tokens", tokens, "--out", "/no/such/folder/x.npy", naming="cannot write")
            self.fails(1, "logits", MODEL, "--tokens", tokens, "--out", out, "--last", "6",
                       naming="--last 6: must be at most 5, the number of tokens in")
            pathlib.Path(tokens).write_text("[1, -2]")
            self.fails(1, "logits", MODEL, "--tokens", tokens, "--out", out, naming="-2")

    def test_json_that_is_none_is_told_with_its_place_and_where_it_came_from(self):
        for stdin, naming in ((b"", "standard input, line 1, column 1: this is not JSON"),
                              (b'{\n "messages" []}', "standard input, line 2, column 13: this is not JSON"),
                              (b"[1]", "standard input: expected a JSON object, actual array")):
            self.fails(1, "template", MODEL, stdin=stdin, naming=naming)
        for stdin, naming in ((b"[1, x]", "standard input, line 1, column 5: "), (b"{}", "standard input: expected a JSON array"),
                              (b"[-1]", "standard input: '-1' is not a token id")):
            self.fails(1, "logits", MODEL, "--tokens", "-", "--out", "/dev/null", stdin=stdin, naming=naming)
        self.fails(1, "run", MODEL, "--prompts", "-", stdin=b"\n", naming="standard input holds no prompt")
        self.fails(1, "perplexity", MODEL, "-", stdin=b"Hi", naming="standard input has 2 tokens")

    def test_perplexity(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "text.txt")
            pathlib.Path(path).write_text("In the beginning God created the heaven and the earth. " * 40)
            prefill = json.loads(self.succeeds("perplexity", MODEL, path, "--ctx", "64", "--json"))
            decode = json.loads(self.succeeds("perplexity", MODEL, path, "--ctx", "64", "--json", "--decode"))
            self.assertGreater(prefill["perplexity"], 1)
            self.assertLess(prefill["perplexity"], 10)
            self.assertAlmostEqual(decode["perplexity"] / prefill["perplexity"], 1, delta=0.02)
            self.fails(1, "perplexity", MODEL, path, "--ctx", "1024", naming="1024")

    def test_bench(self):
        lines = self.succeeds("bench", MODEL, "-p", "16", "-n", "4", "-r", "1", "-t", "1,2", "--json").splitlines()
        results = [json.loads(line) for line in lines]
        self.assertEqual([r["threads"] for r in results], [1, 2])
        for result in results:
            self.assertGreater(result["prefill_tok_s"]["median"], 0)
            self.assertGreater(result["decode_tok_s"]["median"], 0)
            self.assertEqual(result["decode_tok_s"]["deviation"], 0)  # of one repetition
            self.assertGreater(result["peak_read_gb_s"], 0)
        several = self.succeeds("bench", MODEL, "-p", "16", "-n", "4", "-r", "2", "-t", "1", "--json")
        spread = json.loads(several)["prefill_tok_s"]
        self.assertAlmostEqual(spread["mean"], (spread["min"] + spread["max"]) / 2, delta=1e-6 * spread["max"])
        self.assertAlmostEqual(spread["median"], spread["mean"], delta=1e-6 * spread["max"])
        self.assertAlmostEqual(spread["deviation"], (spread["max"] - spread["min"]) / 2 ** 0.5, delta=1e-6 * spread["max"])
        peaks = json.loads(self.succeeds("bench", "--peak", "-t", "1", "--json"))
        self.assertEqual(peaks["threads"], 1)
        self.assertGreater(peaks["read_gb_s"], 0)

    def test_bench_tells_a_person_rates_and_their_share_of_what_the_machine_can_do(self):
        text = self.succeeds("bench", "-p", "16", "-n", "4", "-r", "3", "-t", "1,2", "-b", "1,2")
        self.assertLessEqual(max(map(len, text.splitlines())), 80, text)
        rate = r"+(\d+\.\d) tokens/s \((\d+\.\d)-(\d+\.\d)\)\n {10}(.*)\n"
        run = rf"threads (\d), batch (\d)\n  prefill {rate}  decode {rate}"
        self.assertEqual(re.sub(run, "", text), "")
        runs = re.findall(run, text)
        self.assertEqual([found[:2] for found in runs], [("1", "1"), ("1", "2"), ("2", "1"), ("2", "2")])
        for _, _, prefill, slowest, fastest, arithmetic, decode, decode_slowest, decode_fastest, bandwidth in runs:
            self.assertTrue(0 < float(slowest) <= float(prefill) <= float(fastest), text)
            self.assertTrue(0 < float(decode_slowest) <= float(decode) <= float(decode_fastest), text)
            self.assert_share(arithmetic, r"(\d+\.\d) GFLOP/s, (\d+\.\d) % of (\d+) GFLOP/s")
            if "from the caches" in bandwidth:
                reached, memory = re.fullmatch(r"(\d+\.\d) GB/s, from the caches: memory gives (\d+\.\d) GB/s", bandwidth).groups()
                self.assertGreaterEqual(float(reached), float(memory))
            else:
                self.assert_share(bandwidth, r"(\d+\.\d) GB/s, (\d+\.\d) % of (\d+\.\d) GB/s")
        prefill = realizar("bench", "-p", "16", "-n", "0", "-r", "1", "-t", "1")
        self.assertNotIn("decode", prefill.stdout.decode())
        self.assertEqual(prefill.stderr.decode(), NOTICE.replace("answers", "is measured"))
        self.assertRegex(self.succeeds("bench", "--peak", "-t", "1"),
                         r"\Athreads 1\n  memory reads  +\d+\.\d GB/s\n  FMA in F32    +\d+ GFLOP/s\n"
                         r"  BF16 products +\d+ GFLOP/s\n  int8 products +\d+ GOP/s\n\Z")

    def assert_share(self, text, pattern):
        """The share in the text is that of the first number in the last, both of which were rounded."""
        reached, percent, peak = re.fullmatch(pattern, text).groups()
        half = {word: 0.5 * 10.0 ** -len(word.partition(".")[2]) for word in (reached, percent, peak)}
        least = 100 * (float(reached) - half[reached]) / (float(peak) + half[peak])
        most = 100 * (float(reached) + half[reached]) / (float(peak) - half[peak])
        self.assertTrue(least - half[percent] <= float(percent) <= most + half[percent], text)


class Files(Case):
    def setUp(self):
        self.folder = str(temp_folder(self))

    def path(self, name):
        return os.path.join(self.folder, name)

    def file(self, name, content):
        pathlib.Path(self.path(name)).write_bytes(content)
        return self.path(name)

    def test_a_fifo_is_refused_and_never_waited_for(self):
        fifo = self.path("pipe.gguf")
        os.mkfifo(fifo)
        for args in [["inspect", fifo], ["run", fifo, PROMPT], ["run", "--draft", fifo, PROMPT], ["tokenize", fifo, "x"],
                     ["perplexity", MODEL, fifo], ["template", "--template", fifo, "--input", fifo],
                     ["logits", MODEL, "--tokens", fifo, "--out", self.path("x.npy")],
                     ["run", "-n", "1", "--trace-file", fifo, PROMPT]]:
            result = realizar(*args)
            self.assertEqual(result.returncode, 1, args)
            self.assertIn(b"pipe.gguf", result.stderr)
        os.mkdir(self.path("model"))
        os.mkfifo(self.path("model/config.json"))
        self.fails(1, "run", self.path("model"), PROMPT, naming="config.json is not a regular file")

    def test_a_pipe_that_a_shell_made_is_read_to_its_end(self):
        reader, writer = os.pipe()
        os.write(writer, b"Hello")
        os.close(writer)
        result = realizar("tokenize", MODEL, "--ids", "-f", f"/dev/fd/{reader}", pass_fds=[reader])
        os.close(reader)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.decode(), self.succeeds("tokenize", MODEL, "--ids", "Hello"))

    def test_a_full_disk_leaves_no_half_of_a_file(self):
        tokens, out = self.file("ids.json", b"[1, 2, 3, 4, 5]"), self.path("logits.npy")
        def nearly_full():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
        result = realizar("logits", MODEL, "--tokens", tokens, "--out", out, preexec_fn=nearly_full)
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"cannot write " + out.encode() + b": File too large", result.stderr)
        result = realizar("run", "-n", "9", "--trace-file", self.path("t.json"), PROMPT, preexec_fn=nearly_full)
        self.assertIn(b"t.json: File too large", result.stderr)
        self.assertEqual(os.listdir(self.folder), ["ids.json"])

    def test_weights_that_are_no_numbers_are_refused_by_tensor(self):
        data = pathlib.Path(MODEL).read_bytes()
        damaged = self.file("damaged.gguf", data[:-136] + b"\xff" * 136)  # four blocks, including scales
        self.fails(1, "run", damaged, PROMPT, naming="holds NaN or an infinity")

    def test_escape_sequences_of_files_reach_no_terminal(self):
        escape = b"\x1b]0;owned\x07\xc2\x9b2J\x00"
        data = pathlib.Path(MODEL).read_bytes()
        at = data.index(b"token_embd.weight")
        self.assertGreater(len(b"token_embd.weight"), len(escape) - 1)
        name = (escape + b"x" * 17)[:17]
        evil = self.file("evil.gguf", data[:at] + name + data[at + 17:])
        for args in [["inspect", "--tensors", evil], ["run", evil, PROMPT], ["run", self.path("\x1b[2J.gguf"), PROMPT]]:
            result = realizar(*args)
            for raw in [b"\x1b", b"\x07", b"\xc2\x9b", b"\x00"]:
                self.assertNotIn(raw, result.stdout + result.stderr, args)
            if args[1] != evil:  # the error for a missing tensor names that one
                self.assertIn(b"\\x1b", result.stdout + result.stderr)

    def test_what_a_model_says_is_spelled_out_on_a_terminal_alone(self):
        ids = self.succeeds("tokenize", MODEL, "--ids", "a\x1b[2Jb").split()
        self.assertIn("\x1b[2J", self.succeeds("detokenize", MODEL, *ids))
        terminal = Terminal(self, REALIZAR, "detokenize", MODEL, *ids)
        self.assertIn("a\\x1b[2Jb", terminal.read_until("b\r\n"))
        self.assertEqual(terminal.exit_code(), 0)


if __name__ == "__main__":
    unittest.main()
