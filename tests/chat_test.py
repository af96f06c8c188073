#!/usr/bin/env python3
"""The chat as used by a person at a terminal, and by a script. Usage: chat_test.py REALIZAR."""
import json
import os
import pathlib
import re
import shutil
import signal
import stat
import unittest

from bundled import ANSWER, MODEL, QUESTION as PROMPT
from folders import temp_folder, written
from model_copies import write_thinker
import program
from program import REALIZAR
from terminal import Terminal
from waiting import ONE_THREAD

NO_LOCALE = {name: None for name in ["LANG", "LC_ALL", "LC_CTYPE"]}
UP = "\x10"  # Ctrl-P, equivalent to the arrow


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = temp_folder(self)
        self.env = {"XDG_STATE_HOME": str(self.folder), "HOME": str(self.folder), "NO_COLOR": "1"}
        self.history = self.folder / "realizar/history"

    def chat(self, *args, env=None, **options):
        return Terminal(self, REALIZAR, "run", "--temperature", "0", *ONE_THREAD, *args, env={**self.env, **(env or {})}, **options)

    def say(self, chat, text, *expected):
        """Types a line at the prompt, and reads the expected texts, in this order."""
        chat.read_until("> ")
        chat.send(text + "\n")
        return "".join(chat.read_until(part) for part in expected)

    def leave(self, chat):
        self.say(chat, "/quit")
        self.assertEqual(chat.exit_code(), 0)

    def saved(self, chat):
        """The conversation so far: roles' first letters and contents."""
        path = self.folder / "chat.json"
        self.say(chat, f"/save {path}", "saved in")
        return [(m["role"][0], m["content"]) for m in json.loads(path.read_text())["messages"]]

    def piped(self, text, *args):
        result = program.run("chat", *args, "--temperature", "0", *ONE_THREAD, stdin=text, env={**os.environ, **self.env})
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout, result.stderr


class Commands(Case):
    def test_a_conversation(self):
        chat = self.chat()
        self.say(chat, "/help", "/reset ")
        self.say(chat, PROMPT, "Paris.")
        self.say(chat, "/set max_tokens 1")
        self.say(chat, "/set", "max_tokens 1")
        self.say(chat, "/fly", "There is no /fly")
        for command in ["/save", "/load", "/file"]:
            self.say(chat, command, f"{command} FILE: FILE is missing.")
        self.say(chat, "/reset", "The conversation is empty.")
        self.leave(chat)

    def test_the_model_is_never_replaced_by_the_conversation(self):
        model = written(self.folder / "own.gguf", pathlib.Path(MODEL).read_bytes())
        _, said = self.piped(f"/save {model}\n/quit\n", str(model))
        self.assertIn("would replace", said)
        self.assertEqual(model.read_bytes(), pathlib.Path(MODEL).read_bytes())

    def test_every_name_that_people_type_leaves(self):
        for word in ["/quit", "/quit now", "/exit", "/bye", "/q", "exit", "quit", "bye"]:
            self.assertEqual(self.piped(word + "\n/fly\n"), ("", "".join(self.piped("")[1].splitlines(True)[:2])), word)

    def test_help_and_clear_have_the_names_of_other_programs(self):
        self.assertIn("/regenerate", self.piped("/?")[1])
        self.assertIn("The conversation is empty.", self.piped("/clear")[1])

    def test_a_setting_that_is_refused_stays_as_it_was(self):
        for assignment in ["max_tokens banana", "temperature -1", "top_p 3", "top_k many", "colour 1"]:
            before, after = self.piped("/set")[1], self.piped(f"/set {assignment}\n/set")[1]
            self.assertIn(f"realizar: ", after)
            self.assertIn(assignment.split()[0], after)
            self.assertEqual([line for line in after.splitlines() if not line.startswith("realizar:")],
                             [line for line in before.splitlines() if not line.startswith("realizar:")])
        self.assertIn("Paris", self.piped(f"/set temperature -1\n{PROMPT}")[0])

    def stories(self, *lines, args=()):
        """The answers of a chat with these lines; "?" asks for a story. Each answer is a line."""
        text = "\n".join("Tell me a story." if line == "?" else line for line in lines)
        result = program.run("chat", MODEL, "--temperature", "2", "--top-k", "0", "--top-p", "1", "-n", "40", "--json", *args,
                             stdin=text, env={**os.environ, **self.env})
        self.assertEqual(result.returncode, 0, result.stderr)
        answers = [""]
        for event in map(json.loads, result.stdout.splitlines()):
            answers[-1] += event.get("text", "")
            if event["type"] == "done":
                answers.append("")
        return answers[:-1]

    def test_every_answer_draws_its_own_seed(self):
        for again in (["/reset", "?"], ["/undo", "?"], ["/regenerate"]):
            first, second = self.stories("?", *again)
            self.assertNotEqual(first, second, again)
        self.assertNotEqual(self.stories("?"), self.stories("?"))
        self.assertIn("\nseed none\n", self.piped("/set\n")[1])

    def test_a_seed_makes_a_chat_that_can_be_had_again(self):
        asked = ["?", "/reset", "?", "/undo", "?", "/regenerate"]
        given = self.stories(*asked, args=["--seed", "7"])
        self.assertEqual(given, self.stories(*asked, args=["--seed", "7"]))
        self.assertEqual(given, self.stories("/set seed 7", *asked))
        self.assertEqual(len(set(given)), 4, given)
        # Answer k has the seed N + k - 1.
        self.assertEqual(given[1:2], self.stories("?", args=["--seed", "8"]))
        self.assertEqual(given[:1] * 2, self.stories("/set seed 7", "?", "/reset", "/set seed 7", "?"))

    def test_answers_are_held_to_a_form(self):
        grammar = 'root ::= "no" | "yes"'
        out, err = self.piped(f"{PROMPT}\n/set\n/set format none\n{PROMPT}\n/set format xml\n/set", "--grammar", grammar)
        self.assertIn(out, [f"{word}\n{ANSWER}\n" for word in ("no", "yes")])
        self.assertIn("\nformat grammar\n", err)
        self.assertIn("format: expected json or none, actual 'xml'", err)
        self.assertTrue(err.split("\nformat ")[-1].startswith("none\n"))
        out, err = self.piped(f"/set format json\n/set\n{PROMPT}", "-n", "4")
        self.assertEqual(out[0], "{")
        self.assertIn("\nformat json\n", err)

    def test_settings_have_the_names_that_ollamas_users_type(self):
        def settings(*lines):
            told = self.piped("\n".join([*lines, "/set"]))[1]
            return dict(line.split(" ", 1) for line in told.splitlines() if re.fullmatch(r"[a-z_]+ \S+", line))

        self.assertEqual(settings("/set parameter top_k 7")["top_k"], "7")
        self.assertEqual(settings("/set parameter num_predict 5")["max_tokens"], "5")
        self.assertEqual(settings("/set format json", "/set noformat")["format"], "none")
        self.assertEqual(settings("/set nothink", "/set think")["reasoning_effort"], "default")
        self.assertIn("--ctx", self.piped("/set parameter num_ctx 4096")[1])
        out, told = self.piped(f"/set verbose\n{PROMPT}\n/set quiet\n{PROMPT}")
        self.assertEqual((out, told.count("tokens/s")), (2 * (ANSWER + "\n"), 2))
        path = self.folder / "chat.json"
        self.piped(f"/set system Be  brief.\n/save {path}")
        self.assertEqual(json.loads(path.read_text())["messages"], [{"role": "system", "content": "Be  brief."}])

    def test_show_tells_of_the_model_and_of_the_chat(self):
        told = self.piped("/show\n/show template\n/show system\n/show parameters\n/show nonsense", "--system", "Be brief.")[1]
        for expected in ["layers", "add_generation_prompt", "Be brief.\n", "temperature 0\n", "/show info, license"]:
            self.assertIn(expected, told)

    def test_load_takes_a_model_too(self):
        model = written(self.folder / "own.gguf", pathlib.Path(MODEL).read_bytes())
        self.assertIn("expected a JSON object", self.piped(f"/load {model}", "-n", "1")[1])
        self.assertIn("the conversation continues with", self.piped("/load realizar-tiny")[1])

    def test_tab_completes_commands_settings_and_paths(self):
        (self.folder / "notes.txt").write_text("The sky is green.")
        chat = self.chat()
        self.say(chat, "/he\t", "/reset ")
        self.say(chat, "/set max_\t 9")
        self.say(chat, "/set", "max_tokens 9")
        self.say(chat, f"/file {self.folder}/no\t", "notes.txt, 17 bytes")
        chat.read_until("> ")
        chat.send("/s\t")
        self.assertIn("/system  /save  /show  /set  /stats", chat.read_until("/stats"))
        chat.send("tats\n")
        chat.read_until("There is no answer yet.")
        self.leave(chat)

    def test_undo_regenerate_and_stats(self):
        chat = self.chat()
        self.say(chat, "/regenerate", "no answer yet")
        self.say(chat, "/undo", "nothing to undo")
        self.say(chat, PROMPT, "Paris.")
        self.say(chat, "/regenerate", "Paris.")
        self.assertEqual(self.saved(chat), [("u", PROMPT), ("a", ANSWER)])
        self.say(chat, "What is 2 plus 3?", "5.")
        self.say(chat, "/undo", "What is 2 plus 3?")
        self.assertEqual(self.saved(chat), [("u", PROMPT), ("a", ANSWER)])
        text = self.say(chat, "/stats", "tokens/s", "context", "1024 tokens")
        self.assertNotIn("load", text)
        self.leave(chat)

    def test_a_conversation_goes_on_in_another_chat(self):
        chat = self.chat("--system", "Be brief.")
        self.say(chat, PROMPT, "Paris.")
        turns = self.saved(chat)
        self.leave(chat)
        chat = self.chat()
        self.say(chat, f"/load {self.folder}/chat.json", "(1 question from")
        self.assertEqual(self.saved(chat), turns)
        self.assertEqual(turns[0], ("s", "Be brief."))
        self.say(chat, "/load /no/such/file", "/no/such/file")
        (self.folder / "other.json").write_text("[1]")
        self.say(chat, f"/load {self.folder}/other.json", "other.json")
        self.assertEqual(self.saved(chat), turns)
        self.leave(chat)

    def test_a_file_goes_with_the_next_message(self):
        (self.folder / "notes.txt").write_text("one\ntwo\n")
        chat = self.chat("-n", "1")
        self.say(chat, f"/file {self.folder}/notes.txt", "8 bytes")
        self.say(chat, "Sum it up.", "cut off after 1")
        self.say(chat, "And now?", "cut off after 1")
        turns = self.saved(chat)
        self.assertEqual(turns[0], ("u", f"{self.folder}/notes.txt:\n```\none\ntwo\n```\n\nSum it up."))
        self.assertEqual(turns[2], ("u", "And now?"))
        self.leave(chat)

    def test_another_model_takes_the_conversation_over(self):
        shutil.copy(MODEL, self.folder / "copy.gguf")
        chat = self.chat()
        self.say(chat, PROMPT, "Paris.")
        self.say(chat, "/set top_k 7")
        self.say(chat, "/model /no/such/model.gguf", "/no/such/model.gguf")
        self.say(chat, "What is 2 plus 3?", "5.")
        self.say(chat, f"/model {self.folder}/copy.gguf", "continues with")
        self.say(chat, "/model", "copy.gguf")
        self.say(chat, "/set", "top_k 7\r\n")
        self.say(chat, PROMPT, "Paris.")
        self.assertEqual(len(self.saved(chat)), 6)
        self.leave(chat)


class Input(Case):
    def test_characters_need_no_locale(self):
        for locale in [NO_LOCALE, {**NO_LOCALE, "LANG": "en_XX.UTF-8"}, {**NO_LOCALE, "LC_ALL": "POSIX"}]:
            chat = self.chat("-n", "1", env=locale)
            self.say(chat, "hello 😀 日本語 é", "cut off")
            self.assertEqual(self.saved(chat)[0], ("u", "hello 😀 日本語 é"))
            self.leave(chat)

    def test_a_paste_of_several_lines_is_one_message(self):
        chat = self.chat("-n", "1", env={"TERM": "xterm"})
        chat.read_until("\x1b[?2004h")
        self.say(chat, "\x1b[200~def f():\r\treturn 1\r\r# end\r\x1b[201~ please", "cut off after 1")
        self.say(chat, "x\x1b[200~one\ntwo\x1b[31m\x1b[201~", "cut off after 1")
        turns = self.saved(chat)
        self.assertEqual([content for role, content in turns if role == "u"],
                         ["def f():\n\treturn 1\n\n# end please", "xone\ntwo[31m"])
        self.leave(chat)
        chat.read_until("\x1b[?2004l")

    def test_lines_between_quotes_and_after_a_backslash_are_one_message(self):
        out, _ = self.piped(f'"""\none\ntwo\n"""\nthree \\\nfour\n"""five"""\n/save {self.folder}/chat.json', "-n", "1")
        turns = json.loads((self.folder / "chat.json").read_text())["messages"]
        self.assertEqual([m["content"] for m in turns if m["role"] == "user"], ["one\ntwo", "three \nfour", "five"])

    def test_history_is_kept_for_the_next_chat_and_for_its_owner_alone(self):
        chat = self.chat()
        self.say(chat, PROMPT, "Paris.")
        self.leave(chat)
        self.assertEqual(stat.S_IMODE(self.history.stat().st_mode), 0o600)
        chat = self.chat()
        self.say(chat, UP + UP, "Paris.")
        self.leave(chat)

    def test_the_last_conversation_goes_on(self):
        chat = self.chat()
        self.say(chat, PROMPT, "Paris.")
        self.leave(chat)
        kept = self.folder / "realizar/conversation.json"
        self.assertEqual(stat.S_IMODE(kept.stat().st_mode), 0o600)
        chat = self.chat("--continue", "--system", "Be brief.")
        chat.read_until("(1 question from the last chat")
        self.assertEqual(self.saved(chat), [("s", "Be brief."), ("u", PROMPT), ("a", ANSWER)])
        self.leave(chat)

    def test_there_may_be_no_conversation_to_go_on_with(self):
        self.leave(self.chat("--no-history"))
        self.assertFalse((self.folder / "realizar/conversation.json").exists())
        for command, expected in [(["chat", "--continue"], "no chat was saved"),
                                  (["run", "--continue", "-p", "Hello there"], "expected no prompt")]:
            got = program.run(*command, env={**os.environ, **self.env})
            self.assertEqual(got.returncode, 1, got.stderr)
            self.assertIn(expected, got.stderr)

    def test_a_chat_goes_on_after_ctrl_z(self):
        chat = self.chat()
        chat.read_until("> ")
        chat.send("half")
        chat.read_until("half")
        os.kill(chat.pid, signal.SIGSTOP)
        os.kill(chat.pid, signal.SIGCONT)
        chat.read_until("> half")
        chat.send("\x15")
        chat.send("/quit\n")
        self.assertEqual(chat.exit_code(), 0)

    def test_history_can_be_switched_off_and_is_no_scripts(self):
        self.leave(self.chat("--no-history"))
        self.piped(PROMPT)
        self.assertFalse(self.history.exists())

    def test_a_history_that_cannot_be_kept_is_said_once(self):
        chat = self.chat(env={"XDG_STATE_HOME": "/proc/nowhere"})
        self.say(chat, PROMPT, "--no-history", "Paris.")
        self.assertNotIn("--no-history", self.say(chat, PROMPT, "Paris."))
        self.leave(chat)


class Output(Case):
    def piped_chat(self, *args, **options):
        """A chat whose standard output is a pipe: (terminal, the pipe's end to read)."""
        reader, writer = os.pipe()
        chat = self.chat(*args, stdout=writer, **options)
        os.close(writer)
        self.addCleanup(os.close, reader)
        return chat, reader

    def all_of(self, reader):
        text = b""
        while piece := os.read(reader, 65536):
            text += piece
        return text.decode()

    def test_a_pipe_gets_the_answers_alone_and_the_chat_goes_on_as_ever(self):
        chat, reader = self.piped_chat()
        self.say(chat, PROMPT, "\r\n")
        self.assertEqual(os.read(reader, 3), b"The")
        chat.read_until("> ")
        chat.send("\x03")
        chat.read_until("leaves")
        chat.read_until("> ")
        chat.send("\x04")
        self.assertEqual(chat.exit_code(), 0)
        self.assertEqual(self.all_of(reader), ANSWER[3:] + "\n")

    def test_json_is_alone_on_standard_output(self):
        chat, reader = self.piped_chat("--json")
        self.say(chat, "/set", "temperature")
        self.say(chat, PROMPT)
        self.leave(chat)
        events = [json.loads(line) for line in self.all_of(reader).splitlines()]
        self.assertEqual("".join(e["text"] for e in events if e["type"] == "token"), ANSWER)
        self.assertEqual(events[-1]["type"], "done")

    def test_words_are_not_broken_at_the_terminals_edge(self):
        story = [MODEL, "--max-tokens", "60", "Tell me a story."]
        whole = program.run("run", "--temperature", "0", *story).stdout
        terminal = self.chat(*story, env={"TERM": "xterm"}, n_columns=20)
        shown = terminal.read_until(whole.split()[-1])
        terminal.read_until("\n")
        shown = re.sub("(\r[^\r\n]*)+\r\x1b\\[K", "", shown)  # the spinner, and the share of the model loaded so far
        lines = [""]
        for part in re.split("(\x1b\\[[0-9]+D\x1b\\[K|\r\n)", shown):
            if part == "\r\n":
                lines.append("")
            elif part.startswith("\x1b"):
                lines[-1] = lines[-1][:-int(part[2:part.index("D")])]
            else:
                lines[-1] += part
        self.assertGreater(len(lines), 5)
        self.assertLess(max(map(len, lines)), 20)
        self.assertEqual(" ".join(lines).split(), whole.split())

    def test_a_long_prompt_shows_a_sign_of_life_until_it_is_interrupted(self):
        chat = self.chat(MODEL, "--backend", "reference", "word " * 900, env={"TERM": "xterm"})
        shown = chat.read_until(" tokens, ")
        self.assertRegex(shown, "\r[|/\\\\-] reading [0-9]+ tokens, $")
        chat.send("\x03")
        chat.read_until("\r\x1b[K")
        self.assertEqual(chat.exit_code(), 130)

    def test_each_answer_has_its_trace(self):
        trace = ("--trace", "--no-guesses")  # whose steps are used when they pay off
        _, once = self.piped(PROMPT, *trace)
        _, twice = self.piped(f"{PROMPT}\n/reset\n{PROMPT}", *trace)
        self.assertEqual(twice.count("decode "), 2 * once.count("decode "))
        self.assertGreater(once.count("decode "), 2)

    def test_errors_are_red_on_a_terminal(self):
        for env, head in [({"NO_COLOR": None}, "\x1b[31mrealizar:\x1b[0m "), ({}, "realizar: ")]:
            chat = self.chat("-m", "/no/such.gguf", "Hello", env={"TERM": "xterm", **env})
            self.assertTrue(chat.read_until("/no/such.gguf").startswith(head))

    def test_a_full_context_leaves_the_oldest_turns_out(self):
        chat = self.chat("--ctx", "64", "--system", "Be brief.")
        self.say(chat, PROMPT, "Paris.")
        self.say(chat, "What is the capital of Spain?", "context of 64 tokens is full: the oldest question and its answer are dropped)", "Madrid.")
        self.assertEqual([role for role, _ in self.saved(chat)], list("suaua"))
        self.say(chat, "Hello there. " * 40, "ctx")
        self.assertEqual(len(self.saved(chat)), 5)
        self.say(chat, PROMPT, "Paris.")
        self.leave(chat)

    def test_without_shifting_a_full_context_is_refused(self):
        chat = self.chat("--ctx", "40", "--no-shift")
        self.say(chat, PROMPT, "Paris.")
        self.say(chat, PROMPT, "40", "/reset starts a new conversation")
        self.say(chat, "/reset")
        self.say(chat, PROMPT, "Paris.")
        self.leave(chat)

    def test_an_answer_that_the_context_cuts_off_is_said_to_be(self):
        chat = self.chat("--ctx", "40", "--logit-bias", "2041=-100", "--logit-bias", "2039=-100")
        self.say(chat, "Tell me a story.", "cut off: the context of 40 tokens is full")
        self.leave(chat)


class Thinking(Case):
    """With a copy of the bundled model that thinks "capital of France" and answers "Paris."."""
    PROMPT = "Name the capital of France."

    def setUp(self):
        super().setUp()
        self.model = write_thinker(self.folder / "thinks.gguf")

    def run_it(self, *args, stdin=None):
        result = program.run(*args, stdin=stdin, text=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.decode()

    def test_is_marked_in_a_pipe_and_can_be_hidden(self):
        ask = ["run", self.model, "--temperature", "0", self.PROMPT]
        self.assertEqual(self.run_it(*ask), "<think>\ncapital of France\n</think>\n\nParis.\n")
        self.assertEqual(self.run_it(*ask, "--hide-reasoning"), "Paris.\n")
        events = [json.loads(line) for line in self.run_it(*ask, "--json").splitlines()][:-1]
        self.assertEqual("".join(e["text"] for e in events if e.get("reasoning")), "capital of France")
        self.assertEqual("".join(e["text"] for e in events if not e.get("reasoning")), "Paris.")

    def test_has_a_budget_an_effort_and_a_switch(self):
        ask = ["run", self.model, "--temperature", "0", self.PROMPT]
        for given, thoughts in ((["--reasoning-budget", "2"], "capital of"), (["--reasoning-budget", "-1"], "capital of France"),
                                (["--reasoning-effort", "high"], "capital of France")):
            self.assertTrue(self.run_it(*ask, *given).startswith(f"<think>\n{thoughts}\n</think>\n\n"), given)
        off = [self.run_it(*ask, *given) for given in
               (["--no-reasoning"], ["--reasoning-budget", "0"], ["--reasoning-effort", "none"])]
        self.assertNotIn("<think>", off[0])
        self.assertEqual(len(set(off)), 1)
        lines = self.run_it("run", self.model, "--temperature", "0", "--prompts", "-", "--reasoning-budget", "2",
                            stdin=self.PROMPT.encode())
        self.assertEqual(json.loads(lines)["reasoning"], "capital of")
        for wrong, naming in ((["--reasoning-effort", "much"], "expected none, minimal"), (["--reasoning-budget", "-2"], "-1"),
                              (["--no-reasoning", "--reasoning-budget", "3"], "expected one of"),
                              (["--raw", "--no-reasoning"], "--raw")):
            result = program.run(*ask, *wrong)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(naming, result.stderr)

    def test_is_set_in_a_chat(self):
        out, err = self.piped(f"/set reasoning_budget 2\n{self.PROMPT}\n/reset\n/set reasoning_budget none\n"
                              f"/set reasoning_effort none\n{self.PROMPT}\n/set reasoning_effort much\n/set\n", self.model)
        self.assertTrue(out.startswith("<think>\ncapital of\n</think>\n\n"), out)
        self.assertEqual(out.count("<think>"), 1)
        self.assertIn("expected none, minimal", err)
        self.assertIn("reasoning_budget none\nreasoning_effort none\n", err)

    def test_is_dim_on_a_terminal(self):
        chat = self.chat(self.model, env={"TERM": "xterm", "NO_COLOR": None})
        chat.read_until("\x1b[1m>\x1b[0m ")
        chat.send(self.PROMPT + "\n")
        chat.read_until("\x1b[2mcapital of France\x1b[0m\r\n\r\nParis.")
        chat.send("\x04")
        self.assertEqual(chat.exit_code(), 0)
        plain = self.chat(self.model, env={"TERM": "xterm", "NO_COLOR": "1"})
        self.say(plain, self.PROMPT, "<think>\r\ncapital of France\r\n</think>\r\n\r\nParis.")

    def test_is_no_part_of_the_next_prompt(self):
        out, _ = self.piped(f"{self.PROMPT}\nAgain.\n/save {self.folder}/chat.json", self.model, "--json")
        n_prompt = [json.loads(line) for line in out.splitlines() if '"done"' in line][1]["n_prompt"]
        messages = json.loads((self.folder / "chat.json").read_text())["messages"]
        self.assertEqual(messages[1], {"role": "assistant", "content": "Paris.", "reasoning_content": "capital of France"})
        del messages[1]["reasoning_content"]
        request = json.dumps({"messages": messages[:3], "add_generation_prompt": True})
        text = self.run_it("template", "--model", self.model, "--input", "-", stdin=request.encode())
        ids = self.run_it("tokenize", self.model, "--ids", "--special", text)
        self.assertEqual(n_prompt, len(ids.split()))


class Interrupts(Case):
    def endless_story(self, *args):
        """A chat in the middle of an answer that does not end by itself."""
        chat = Terminal(self, REALIZAR, "run", *ONE_THREAD, "--temperature", "1", "--seed", "2", "--ctx", "100000", "--logit-bias",
                        "2041=-100", "--logit-bias", "2039=-100", *args, env=self.env)
        chat.read_until("\n> ")
        chat.send("Tell me a story.\n")
        chat.read_until("story.\r\n")
        chat.read_until(" ")
        return chat

    def test_interrupt_stops_the_answer_and_not_the_chat(self):
        chat = self.endless_story()
        chat.send("\x03")
        chat.read_until("\n> ")
        chat.send("\x03")
        chat.read_until("leaves")
        chat.read_until("\n> ")
        chat.send("\x04")
        self.assertEqual(chat.exit_code(), 0)

    def test_nothing_more_of_an_answer_is_shown_after_an_interrupt(self):
        # A slow backend is in the middle of a token's step.
        chat = self.endless_story("--backend", "reference")
        chat.send("\x03")
        chat.read_until("^C")
        self.assertEqual(chat.read_until("\n> "), "\r\n> ")
        chat.send("\x04")
        self.assertEqual(chat.exit_code(), 0)

    def test_what_is_typed_during_an_answer_is_read_after_it(self):
        chat = self.endless_story()
        chat.send("/set\n\x03")
        chat.read_until("temperature")
        chat.read_until("\n> ")
        chat.send("\x04")
        self.assertEqual(chat.exit_code(), 0)
        chat = self.endless_story()
        chat.send("\x04\x03\x03")
        self.assertEqual(chat.exit_code(), 0)


if __name__ == "__main__":
    unittest.main()
