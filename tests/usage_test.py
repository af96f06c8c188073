#!/usr/bin/env python3
"""The command line: help, misspelled options, other programs' options, files of options, shells, the manual page.
Usage: usage_test.py REALIZAR."""
import os
import pathlib
import pty
import re
import shutil
import struct
import subprocess
import termios
import unittest
from fcntl import ioctl

import cli_test
from cli_test import MODEL, PROMPT, ROOT, realizar
from folders import temp_folder
from program import REALIZAR
from terminal import Terminal
from waiting import DEADLINE_S


class Help(cli_test.Case):
    def test_the_program_alone_prints_its_help(self):
        self.assertEqual(self.succeeds(), self.succeeds("--help"))
        self.assertEqual(self.succeeds("help", "run"), self.succeeds("run", "--help"))

    def test_each_page_fits_80_columns_and_has_two_examples(self):
        for command in cli_test.commands():
            for flag in ["--help", "--help-all"]:
                page = self.succeeds(command, flag)
                self.assertTrue(page.startswith(f"Usage: realizar {command}"), page)
                # Examples are not wrapped, so that they can be copied.
                text, examples = page.split("\nExamples:\n")
                self.assertLessEqual(max(map(len, text.splitlines())), 80, page)
                if command not in ("list", "rm", "cp", "prune", "devices"):
                    self.assertGreaterEqual(examples.count("realizar "), 2, page)

    def test_a_page_of_usual_options_fits_a_screen_and_says_how_many_there_are(self):
        most = {"run": 50, "chat": 50, "serve": 50, "quantize": 50}
        for command in cli_test.commands():
            short, full = self.succeeds(command, "--help"), self.succeeds(command, "--help-all")
            n_for_gpus = 6 if "--gpu-layers" in short else 0
            self.assertLessEqual(len(short.splitlines()), most.get(command, 34) + n_for_gpus, short)
            n_options = len(re.findall(r"(?m)^ {2}(?:-\w, | {4})+--?\w", full))
            self.assertTrue(short.endswith(f"\nrealizar {command} --help-all lists all {n_options} options.\n"), short)
            for flag in re.findall(r"(?m)^ {2}(?:-\w, | {4})+(--[\w-]+)", short):
                self.assertIn(f"{flag}", full)
            self.assertNotRegex(short, r"\be\.g\b(?!\.)")
            self.assertNotIn("--print-config", short)
            self.assertIn("--print-config", full)
        for command in ("list", "search", "pull", "rm", "cp", "prune", "devices", "completion"):
            self.assertLessEqual(len(self.succeeds(command, "--help").splitlines()), 24, command)

    def test_examples_are_understood(self):
        for command in cli_test.commands():
            for line in re.findall(r"(?m)^  .*realizar .*$", self.succeeds(command, "--help").split("\nExamples:\n")[1]):
                words = re.sub(r"^.*?realizar |[)<>].*$", "", line)
                script = f'"$0" {words} --print-config >/dev/null'
                result = subprocess.run(["bash", "-c", script, REALIZAR], capture_output=True, timeout=DEADLINE_S)
                self.assertEqual(result.returncode, 0, (line, result.stderr))

    def test_lines_are_as_long_as_the_terminal_is_wide(self):
        for n_columns in [60, 100]:
            try:
                parent, child = pty.openpty()
            except OSError as error:
                self.skipTest(f"there are no pseudo-terminals ({error})")
            ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, n_columns, 0, 0))
            process = subprocess.Popen([REALIZAR, "serve", "--help"], stdout=child, stdin=subprocess.DEVNULL)
            os.close(child)
            text = b""
            try:
                while piece := os.read(parent, 4096):
                    text += piece
            except OSError:  # the other end is closed
                pass
            os.close(parent)
            self.assertEqual(process.wait(DEADLINE_S), 0)
            longest = max(map(len, text.decode().split("Examples:")[0].split("\r\n")))
            self.assertTrue(n_columns - 15 < longest <= n_columns, text)

    def test_common_options_come_first_and_the_rest_on_demand(self):
        short, full = self.succeeds("run", "--help"), self.succeeds("run", "--help-all")
        self.assertIn("--ctx", short)
        self.assertNotIn("--batch-tokens", short)
        self.assertIn("--batch-tokens", full)
        self.assertIn("realizar run --help-all", short)
        self.assertIn("default: the model's own, else 0.8", " ".join(short.split()))

    @unittest.skipIf(os.path.exists("/dev/nvidiactl"), "this machine has a GPU")
    def test_options_of_gpus_are_shown_by_programs_that_can_use_one(self):
        has_cuda = "built without CUDA" not in self.succeeds("devices")
        self.assertEqual("--gpu-layers" in self.succeeds("run", "--help"), has_cuda)
        self.assertIn("--gpu-layers", self.succeeds("run", "--help-all"))

    def test_version(self):
        for word in ["--version", "-v", "-V", "version"]:
            self.assertRegex(self.succeeds(word), r"^realizar \d+\.\d+\.\d+\n$")


class WrongWords(cli_test.Case):
    def test_a_slip_is_answered_with_the_right_word(self):
        self.fails(2, "rnu", naming="there is no command 'rnu'; did you mean run? (see realizar --help)")
        self.fails(2, "serv", naming="did you mean serve?")
        self.fails(2, "run", "--temprature", "1", naming="did you mean --temperature? (see realizar run --help)")
        self.fails(2, "run", "-model", MODEL, naming="did you mean --model?")
        self.fails(2, "run", "--kv-type", "q8", naming="must be one of f32, f16, bf16, q8_0, fp8, q4_0; did you mean q8_0?")

    def test_one_letter_is_no_slip_of_another(self):
        for command, option in (("list", "-m"), ("show", "-f"), ("serve", "-x"), ("run", "-x")):
            self.fails(2, command, option, "x", naming=f"there is no option {option} (see realizar {command} --help)")

    def test_every_command_that_opens_a_model_takes_it_as_an_option_too(self):
        for command in ("run", "chat", "serve", "inspect", "show", "tokenize", "detokenize", "template", "embed", "rerank", "logits",
                        "perplexity", "quantize", "imatrix", "convert", "bench"):
            self.assertIn("-m, --model", " ".join(self.succeeds(command, "--help").split()), command)
        for words in (["show", "-m", MODEL], ["inspect", "--model", MODEL], ["tokenize", "-m", MODEL, "hi"]):
            self.succeeds(*words)
        self.assertIn(f"models = {MODEL}\n", self.succeeds("serve", "-m", MODEL, "--print-config"))
        for command in ("quantize", "convert"):
            words = [command, "-m", "missing.gguf", "out.gguf", *(["Q4_0"] if command == "quantize" else [])]
            self.fails(1, *words, naming="there is no file or folder missing.gguf")

    def test_a_value_that_cannot_be_is_wrong_usage(self):
        for args, naming in [(["run", "--top-p", "3"], "--top-p 3: must be from 0 to 1"),
                             (["run", "--threads", "5000"], "--threads 5000: must be from 0 to 1024"),
                             (["run", "--threads", "two"], "--threads two: must be a whole number"),
                             (["run", "--min-p", "nan"], "--min-p nan: must be"),
                             (["run", "--seed", "-1"], "--seed -1: must be a whole number from 0 to"),
                             (["serve", "--port", "80000"], "--port 80000: must be a whole number from 0 to 65535"),
                             (["run", "--device", "0,x"], "--device 0,x: 'x' must be a whole number"),
                             (["run", "--ctx"], "--ctx needs a value: --ctx N"),
                             (["run", "--model", "--json"], "--model needs a value, and --json is an option"),
                             (["run", "--ctx", "64", "-c", "128"], "--ctx is given twice, as 64 and as 128"),
                             (["run", "--json=maybe"], "must be true or false"),
                             (["run", "--logprobs", "3", PROMPT], "--logprobs only has an effect with --json"),
                             (["template", "--now", "noon", MODEL], "--now noon: must be a time"),
                             (["template", MODEL, "--template", "x"], "expected one of MODEL and --template"),
                             (["tokenize", MODEL, "x", "-f", "x"], "expected one of them"),
                             (["tokenize", MODEL, "x", "y"], "'y' is one word too many")]:
            self.fails(2, *args, naming=naming)

    def test_messages_begin_with_no_name_of_the_code(self):
        for args in [["run", "/no/such.gguf"], ["detokenize", MODEL, "99999"], ["inspect", "/"],
                     ["run", "--ctx", "16", PROMPT * 20]]:
            self.assertNotRegex(realizar(*args).stderr.decode(), r"(NotFound|InvalidArgument|FormatError|Unsupported|\w+ed):")

    def test_an_option_without_effect_is_answered(self):
        def says(text, *args):
            result = realizar("run", "-n", "1", *args, PROMPT)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn(text, result.stderr.decode())

        says("--ctx 99999: the model was trained for 1024 tokens", "--ctx", "99999")
        says("--gpu-layers has no effect: the model runs on the CPU", "--backend", "cpu", "--gpu-layers", "10")

    def test_a_word_after_two_dashes_is_no_option(self):
        self.assertEqual(self.succeeds("tokenize", MODEL, "--ids", "--", "--ids"),
                         self.succeeds("tokenize", MODEL, "--ids", "-f", "-", stdin=b"--ids"))
        self.assertEqual(self.succeeds("tokenize", "--ids", "-m", MODEL, "x"), self.succeeds("tokenize", MODEL, "x", "--ids"))


class OtherPrograms(cli_test.Case):
    def config(self, *args):
        result = realizar(*args, "--print-config")
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.decode()

    def test_flags_that_exist_by_another_name_are_taken(self):
        config = self.config("run", "-ngl", "99", "-c", "64", "-t", "2", "-ctk", "q8_0", "-ctv", "q8_0", "-ub", "64", "-n5",
                             "--verbose", PROMPT)
        for line in ["gpu-layers = 99", "ctx = 64", "threads = 2", "kv-type = q8_0", "batch-tokens = 64", "max-tokens = 5",
                     "stats = true"]:
            self.assertIn(line + "\n", config)
        self.assertIn("max-seqs = 3\n", self.config("serve", "-np", "3"))
        self.fails(2, "run", "-ctk", "f16", "-ctv", "q8_0", PROMPT, naming="--kv-type is given twice")

    def test_flags_for_what_is_always_so_are_noted(self):
        result = realizar("run", "-n", "1", "-fa", "on", "--jinja", "--mlock", "--no-mmap", "-b", "64", PROMPT)
        self.assertEqual(result.returncode, 0, result.stderr)
        for note in ["-fa is always on", "--jinja is always on", "--mlock has no effect", "--no-mmap has no effect",
                     "-b has no effect: only --batch-tokens"]:
            self.assertIn(note, result.stderr.decode())
        self.assertEqual(realizar("run", "-n", "1", "-fa", PROMPT).returncode, 0)
        for words in (["--think"], ["--think=false"], ["--think", "low"]):
            result = realizar("run", "-n", "1", *words, PROMPT)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("unless --no-reasoning or --reasoning-effort", result.stderr.decode())
        self.assertIn("hide-reasoning = true\n", self.config("run", "--hidethinking", PROMPT))

    def test_what_is_done_differently_is_told(self):
        self.fails(2, "run", "-hf", "org/model", naming="name the model as")
        self.fails(2, "push", "llama", naming="not published")
        self.assertIn("runs here", self.succeeds("show", MODEL))


class ConfigFile(cli_test.Case):
    def setUp(self):
        self.file = str(temp_folder(self) / "run.conf")

    def write(self, text):
        pathlib.Path(self.file).write_text(text)

    def test_what_was_printed_is_read_back(self):
        args = ["run", "--top-k", "7", "--stop", " two\nlines", "--stop", '"', "--json", "--device", "1,0", "--temp", "0.25",
                MODEL, PROMPT]
        printed = self.succeeds(*args, "--print-config")
        self.write(printed)
        self.assertEqual(self.succeeds("run", "--config", self.file, "--print-config"), printed)
        self.assertEqual(self.succeeds("--config", self.file, "run", "--print-config"), printed)
        self.assertNotIn("port", printed)

    def test_the_command_line_goes_before_the_file(self):
        self.write("# of mine\n\ntop-k = 7\nmax-tokens = 3\nwords = " + PROMPT)
        config = self.succeeds("run", "--config", self.file, "--top-k", "9", "--print-config")
        self.assertIn("top-k = 9\n", config)
        self.assertIn("max-tokens = 3\n", config)
        self.assertEqual(self.succeeds("run", "--config", self.file, "--temp", "0"),
                         self.succeeds("run", "-n", "3", "--temp", "0", PROMPT))

    def test_refusals_name_the_line(self):
        for text, naming in [("\ntreads = 2", f"{self.file}:2: run has no option 'treads'; did you mean threads?"),
                             ("threads", ":1: expected NAME = VALUE"),
                             ("stop = \"x", ":1: the quotes"),
                             ("ctx = 1\nctx = 2", ":2: 'ctx' is given twice"),
                             ("threads = many", "--threads many: must be a whole number")]:
            self.write(text)
            self.fails(2, "run", "--config", self.file, PROMPT, naming=naming)
        self.fails(2, "run", "--config", "/no/such", PROMPT, naming="/no/such")

    def test_a_variable_names_the_file_where_no_option_does(self):
        self.write("top-k = 7\nmax-tokens = 3\n")

        def run(*args, file=self.file):
            return realizar(*args, env={**os.environ, "REALIZAR_CONFIG": file})
        config = run("run", "--max-tokens", "5", "--print-config").stdout.decode()
        self.assertIn("top-k = 7\n", config)
        self.assertIn("max-tokens = 5\n", config)
        other = os.path.join(os.path.dirname(self.file), "other.conf")
        pathlib.Path(other).write_text("top-k = 9\n")
        config = run("run", "--config", other, "--print-config").stdout.decode()
        self.assertIn("top-k = 9\n", config)
        self.assertNotIn("max-tokens = 3\n", config)
        self.assertEqual(run("run", "--print-config", file="").stdout, realizar("run", "--print-config").stdout)
        for args, file, naming in ((["run", PROMPT], "/no/such", "REALIZAR_CONFIG: no such file: /no/such"),
                                   (["devices"], self.file, f"REALIZAR_CONFIG: {self.file}:1: devices has no option 'top-k'")):
            result = run(*args, file=file)
            self.assertEqual((result.returncode, result.stdout), (2, b""))
            self.assertIn(naming, result.stderr.decode())
        # A shell's completion, help and an explicit file ignore it.
        for args in (["complete", "--", "de"], ["run", "--help"], ["run", "--config", other, "--print-config"]):
            self.assertEqual((run(*args, file="/no/such").returncode, run(*args, file="/no/such").stderr), (0, b""), args)


# Makes Ctrl-X print the typed line, and start anew.
SHOW_LINE = {
    "bash": """show() { printf '<%s>\\n' "$READLINE_LINE"; READLINE_LINE=; }; bind -x '"\\C-x": show'
               source docs/completions/realizar""",
    "zsh": """show() { print -r -- "<$BUFFER>"; BUFFER=; zle reset-prompt }; zle -N show; bindkey '^X' show
              fpath=($PWD/docs/completions $fpath); autoload -Uz compinit; compinit -u -D""",
}
SHELLS = {"bash": ["bash", "--norc", "--noprofile", "-i"], "zsh": ["zsh", "-f", "-i"]}
MODELS = "models/realizar-tiny/realizar-tiny-Q8"


class Shells(cli_test.Case):
    """The result of pressing TAB in the shells themselves, with the files that are installed."""

    # A line, and the line after TAB.
    COMPLETED = {
        "realizar det": "realizar detokenize ",
        "realizar run --kv": "realizar run --kv-type ",
        "realizar run --kv-type b": "realizar run --kv-type bf16 ",
        "realizar run --kv-type=q8": "realizar run --kv-type=q8_0 ",
        "realizar completion z": "realizar completion zsh ",
        "realizar pull deepseek-r1:1.": "realizar pull deepseek-r1:1.5b ",
        "realizar pull nomic": "realizar pull nomic-embed-text ",
        "realizar inspect models/realizar-t": "realizar inspect models/realizar-tiny/",
        f"realizar run --threads 2 {MODELS}": f"realizar run --threads 2 {MODELS}_0.gguf ",
        f"realizar run --model={MODELS}": f"realizar run --model={MODELS}_0.gguf ",
        "realizar serve --models-dir mod": "realizar serve --models-dir models/",
        "realizar serve --models-dir READ": "realizar serve --models-dir READ",
        "realizar run --system mod": "realizar run --system mod",
        "~/bin/realizar run --kv-type b": "~/bin/realizar run --kv-type bf16 ",
    }

    def home(self):
        """A home with the program in its folder bin, and the environment of a shell there."""
        folder = temp_folder(self)
        program = folder / "bin/realizar"
        program.parent.mkdir()
        program.symlink_to(REALIZAR)
        return {"HOME": str(folder), "PATH": f"{program.parent}:{os.environ['PATH']}", "HISTFILE": "/dev/null"}

    def check_typed(self, shell):
        if not shutil.which(shell):
            self.skipTest(f"{shell} is not installed")
        # The shells edit their lines themselves if the terminal is capable of it.
        terminal = Terminal(self, shutil.which(shell), *SHELLS[shell][1:], env={**self.home(), "TERM": "xterm"})
        terminal.send(f"cd {ROOT}; {SHOW_LINE[shell]}; printf 'rea%s\\n' dy\n")
        terminal.read_until("ready")
        for line, completed in self.COMPLETED.items():
            terminal.send(line + "\t\x18")
            self.assertIn(f"<{completed}>", terminal.read_until(">\r\n"))

    def test_bash_completes_what_is_typed(self):
        self.check_typed("bash")

    def test_zsh_completes_what_is_typed(self):
        self.check_typed("zsh")

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish_completes_what_is_typed(self):
        # Fish prints TAB's completions of the last word.
        script = "set -p fish_complete_path docs/completions; for line in $argv; complete -C $line; echo; end"
        result = subprocess.run(["fish", "--no-config", "-c", script, *self.COMPLETED], capture_output=True, timeout=DEADLINE_S,
                                cwd=ROOT, env={**os.environ, **self.home()})
        offers = [offer.split("\t")[0] for offer in result.stdout.decode().split("\n")]
        expected = []
        for line, completed in self.COMPLETED.items():
            expected += [completed.split()[-1]] * (completed != line) + [""]
        self.assertEqual((result.returncode, offers[:-1]), (0, expected), result.stderr)

    def test_what_is_ambiguous_is_offered(self):
        def offered(*words):
            return [line.split("\t")[0] for line in self.succeeds("complete", "--", *words).splitlines()]
        self.assertEqual(offered("de"), ["detokenize", "devices"])
        self.assertEqual(offered("completion", ""), ["bash", "zsh", "fish"])
        self.assertEqual(offered("pull", "mine", "mistral-n"), ["mistral-nemo", "mistral-nemo:12b"])
        self.assertEqual(offered("pull", "mistral-nemo", ":"), ["mistral-nemo:12b"])

    def test_the_files_to_install_are_what_the_program_prints(self):
        for shell, file in [("bash", "realizar"), ("zsh", "_realizar"), ("fish", "realizar.fish")]:
            self.assertEqual(self.succeeds("completion", shell), (ROOT / "docs/completions" / file).read_text(),
                             f"write it anew: realizar completion {shell} > docs/completions/{file}")


class Manual(cli_test.Case):
    def test_the_file_is_what_the_program_prints(self):
        self.assertEqual(self.succeeds("manual"), (ROOT / "docs/realizar.1").read_text(),
                         "write it anew: realizar manual > docs/realizar.1")

    def test_it_names_every_command_and_option(self):
        text = self.succeeds("manual").replace("\\-", "-")
        for command in cli_test.commands():
            self.assertIn(f"\n.SS realizar {command} ", text)
            for name in re.findall(r"(?m)^ +(?:-\w, )*(--[a-z-]+)", self.succeeds(command, "--help-all")):
                self.assertIn(name, text)

    @unittest.skipUnless(shutil.which("groff"), "groff is not installed")
    def test_roff_has_nothing_to_complain_of(self):
        result = subprocess.run(["groff", "-man", "-Tutf8", "-wall", ROOT / "docs/realizar.1"], capture_output=True, timeout=DEADLINE_S)
        self.assertEqual((result.returncode, result.stderr), (0, b""))


if __name__ == "__main__":
    unittest.main()
