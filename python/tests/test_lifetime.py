"""Loading, errors, closing, and the ends of processes."""
import gc
import io
import os
import signal
import subprocess
import sys
import threading
import time
import unittest
import unittest.mock
import weakref

import realizar
from realizar import _progress
from support import ANSWER, DEADLINE_S, ENDLESS, MODEL, PARIS, ROOT, SLOW, load, recorded_ends


class Loading(unittest.TestCase):
    def test_what_a_model_is(self):
        with load(n_ctx=128, kv_type="q8_0") as model:
            info = model.info
            self.assertEqual((info.arch, info.n_ctx, info.n_layers, info.n_vocab), ("llama", 128, 5, 2048))
            self.assertEqual(info.path, str(MODEL))
            self.assertIs(info.has_chat_template, True)
            self.assertEqual(info.quantization, "Q8_0")
            self.assertEqual(repr(model), "<realizar.Model 'realizar-tiny', llama, Q8_0, n_ctx=128>")
        self.assertTrue(repr(model).endswith(" (closed)>"))

    def test_a_path_is_enough(self):
        with realizar.Model(MODEL, backend="cpu", n_ctx=64, n_threads=2) as model:
            self.assertEqual(model.info.n_ctx, 64)
            self.assertEqual(model.chat(PARIS, temperature=0).text, ANSWER)
        with self.assertRaisesRegex(FileNotFoundError, "^there is no file or folder /no/such"):
            realizar.Model("/no/such")
        with self.assertRaisesRegex(TypeError, "unknown option 'colour'"):
            realizar.Model(MODEL, colour=1)

    def test_errors_are_those_of_the_library(self):
        with self.assertRaisesRegex(FileNotFoundError, "^there is no file or folder /no/such") as raised:
            realizar.Model.load("/no/such")
        self.assertIsInstance(raised.exception, realizar.NotFoundError)
        with self.assertRaises(realizar.FormatError):
            realizar.Model.load(ROOT / "LICENSE")
        with self.assertRaisesRegex(realizar.InvalidArgumentError, "backend: expected one of auto, .*'abacus'"):
            load(backend="abacus")
        with self.assertRaisesRegex(realizar.InvalidArgumentError, "n_ctx"):
            load(n_ctx=2**40)
        with self.assertRaises(TypeError):
            load(colour=1)

    def test_progress_is_told(self):
        told = []
        load(progress=lambda done, total: told.append((done, total))).close()
        self.assertEqual(told, sorted(told))
        self.assertEqual({total for _, total in told}, {MODEL.stat().st_size})
        self.assertTrue(0.9 * told[-1][1] < told[-1][0] <= told[-1][1])

    def test_progress_may_end_it(self):
        with self.assertRaises(realizar.CancelledError):
            load(progress=lambda done, total: False)

        def fail(done, total):
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            load(progress=fail)

    def test_the_bar(self):
        to = io.StringIO()
        with unittest.mock.patch.object(_progress.time, "monotonic", side_effect=[0, 0.05, 0.2, 0.25, 2.25]):
            bar = _progress.ProgressBar("model", to)
            bar(0, 0)
            for done in (10, 20, 50):
                bar(done * 10**6, 10**8)
        bar.end(is_done=True)
        lines = to.getvalue().rstrip("\n").split("\r")
        self.assertEqual(lines.pop(0), "")
        self.assertEqual([line.rstrip() for line in lines], [
            f"model [{'#' * 3}{' ' * 27}]  10%  10 of 100 MB",
            f"model [{'#' * 15}{' ' * 15}]  50%  50 of 100 MB  20 MB/s",
            f"model [{'#' * 30}] 100%  100 of 100 MB",
        ])
        self.assertGreaterEqual(len(lines[2]), len(lines[1]))  # it covers the previous line
        self.assertTrue(to.getvalue().endswith("\n"))

    def test_a_bar_is_no_wider_than_the_terminal(self):
        to = io.StringIO()
        to.isatty = lambda: True
        with unittest.mock.patch.object(_progress, "_SHORTEST_S", 0), unittest.mock.patch.dict(os.environ, COLUMNS="40"):
            _progress.ProgressBar("a-model-with-a-long-name" * 3, to)(1, 2)
        self.assertEqual(len(to.getvalue()), len("\r") + 39)

    def test_a_bar_is_drawn_where_somebody_watches(self):
        for is_terminal, asked in ((True, {}), (False, {}), (True, {"progress": False}), (False, {"progress": True})):
            to = io.StringIO()
            to.isatty = lambda: is_terminal
            with unittest.mock.patch.object(_progress, "_SHORTEST_S", 0), unittest.mock.patch("sys.stderr", to):
                load(**asked).close()
            self.assertEqual("100%" in to.getvalue(), asked.get("progress", is_terminal), (is_terminal, asked))


class Refusals(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = cls.enterClassContext(load())

    def test_of_requests(self):
        for error, message, options in [
            (realizar.InvalidArgumentError, "temperature", {"temperature": -1}),
            (TypeError, "unknown option 'colour'; known are cache_salt", {"colour": 1}),
            (ValueError, "max_tokens", {"max_tokens": -1}),
            (ValueError, "seed", {"seed": -1}),
            (ValueError, "timeout", {"timeout": 0}),
            (ValueError, "stop: .* NUL", {"stop": "a\0b"}),
            (ValueError, "token ids", {"stop_tokens": [2**31]}),
            (ValueError, "tenant", {"tenant": -1}),
        ]:
            with self.subTest(options), self.assertRaisesRegex(error, message):
                self.model.generate("x", **options)
        with self.assertRaisesRegex(TypeError, "^'tools' is an option of chats: Model.chat takes it"):
            self.model.generate("x", tools=[])

    def test_of_texts(self):
        with self.assertRaisesRegex(ValueError, "NUL"):
            self.model.tokenize("a\0b")
        for options in ({"draft_path": "a\0b"}, {"loras": ["a\0b"]}, {"models_store": "a\0b"}):
            with self.subTest(options), self.assertRaisesRegex(ValueError, f"{next(iter(options))}: .* NUL"):
                load(**options)
        with self.assertRaisesRegex(ValueError, "path: .* NUL"):
            realizar.Model("model.gguf\0")

    def test_of_longer_contexts(self):
        for options in (
            {"rope_scaling": "yarn"},
            {"rope_scaling": "yarn", "rope_factor": 0},
            {"rope_scaling": "linear", "rope_factor": float("nan")},
            {"rope_factor": 2.0},
        ):
            with self.subTest(options), self.assertRaisesRegex(realizar.InvalidArgumentError, "rope_factor"):
                load(**options)
        with load(rope_scaling="linear", rope_factor=2.0) as model:
            self.assertEqual(model.info.n_ctx, min(8192, 2 * model.info.n_ctx_train))
        with self.assertRaises(realizar.InvalidArgumentError):
            self.model.generate([10**6])
        with self.assertRaises(ValueError):
            self.model.generate([-1])
        with self.assertRaises(realizar.InvalidArgumentError):
            self.model.generate("")

    def test_of_prompts_that_are_too_long(self):
        with self.assertRaises(realizar.ContextLengthError) as raised:
            self.model.generate([9] * 3000)
        self.assertEqual((raised.exception.n_prompt, raised.exception.n_ctx), (3000, 1024))
        self.assertIn("3000", str(raised.exception))

    def test_of_messages(self):
        for message, messages in [
            ("messages\\[0\\].role", [{"content": "x"}]),
            (
                "messages\\[1\\].content\\[0\\]",
                [{"role": "user", "content": "x"}, {"role": "user", "content": [{"type": "image_url"}]}],
            ),
            ("messages\\[0\\]: expected an object", ["x"]),
        ]:
            with self.subTest(message), self.assertRaisesRegex(ValueError, message):
                self.model.chat(messages)


class Closing(unittest.TestCase):
    def test_a_closed_model_says_so(self):
        model = load()
        with model:
            pass
        model.close()
        for call in [
            lambda: model.chat("x"),
            lambda: model.tokenize("x"),
            lambda: model.embed("x"),
            lambda: model.stream("x"),
        ]:
            with self.assertRaisesRegex(realizar.InvalidArgumentError, "closed"):
                call()
        self.assertIn("closed", repr(model))

    def test_closing_ends_what_runs(self):
        model = load(**SLOW)
        stream = model.stream_chat(PARIS, **ENDLESS)
        next(stream)
        model.close()
        with self.assertRaises(realizar.CancelledError) as raised:
            list(stream)
        self.assertLess(raised.exception.generation.n_generated, 1000)
        stream.close()

    def test_closing_from_another_thread(self):
        for _ in range(5):
            model = load(**SLOW)
            with recorded_ends() as ends:
                errors = []

                def ask():
                    try:
                        while True:
                            model.chat(PARIS, **ENDLESS)
                    except realizar.RealizarError as error:
                        errors.append(error)

                threads = [threading.Thread(target=ask) for _ in range(3)]
                for thread in threads:
                    thread.start()
                model.close()
                for thread in threads:
                    thread.join(DEADLINE_S)
            self.assertEqual(len(errors), 3)
            self.assertEqual(ends.qsize(), sum(isinstance(error, realizar.CancelledError) for error in errors))

    def test_a_stream_keeps_its_model(self):
        stream = load().stream_chat(PARIS, temperature=0)
        gc.collect()
        self.assertEqual("".join(map(str, stream)), ANSWER)

    def test_what_is_dropped_is_freed(self):
        model = load(**SLOW)
        engine = weakref.ref(model._engine)
        stream = model.stream_chat(PARIS, **ENDLESS)
        next(stream)
        stream.me = stream  # only the garbage collector drops these
        model.me = model
        del model, stream
        deadline = time.monotonic() + DEADLINE_S
        while engine() is not None and time.monotonic() < deadline:
            gc.collect()
        self.assertIsNone(engine())


class Processes(unittest.TestCase):
    def run_code(self, code):
        done = subprocess.run(
            [sys.executable, "-c", f"import realizar, os, sys\npath = {str(MODEL)!r}\n{code}"],
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
        )
        return done.returncode, done.stdout.strip(), done.stderr.strip()

    def test_one_may_end_while_requests_run(self):
        code = """
model = realizar.Model.load(path)
streams = [model.stream("x", ignore_eos=True) for _ in range(3)]
next(streams[0])
print("done")
"""
        self.assertEqual(self.run_code(code), (0, "done", ""))
        self.assertEqual(self.run_code(code + "sys.exit(3)"), (3, "done", ""))

    def test_one_may_end_with_threads_and_tasks(self):
        code = """
import asyncio, threading
model = realizar.Model.load(path)
def ask():
    try:
        model.generate("x", ignore_eos=True)
    except realizar.CancelledError:
        pass
threading.Thread(target=ask, daemon=True).start()
async def main():
    stream = model.astream("x", ignore_eos=True)
    await stream.__anext__()
    asyncio.ensure_future(model.agenerate("x", ignore_eos=True))
    await asyncio.sleep(0)
asyncio.run(main())
print("done")
"""
        self.assertEqual(self.run_code(code), (0, "done", ""))

    def test_an_interrupt_ends_one_that_waits(self):
        # A shell starts background processes with interrupts ignored, and Python does not change that.
        code = f"""
import realizar, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
model = realizar.Model.load({str(MODEL)!r}, backend="reference")
stream = model.stream("x", ignore_eos=True)
next(stream)
print("begun", flush=True)
list(stream)
print("to the end")
"""
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with subprocess.Popen([sys.executable, "-c", code], text=True, **pipes) as process:
            self.assertEqual(process.stdout.readline(), "begun\n")
            process.send_signal(signal.SIGINT)
            out, errors = process.communicate(timeout=DEADLINE_S)
        self.assertEqual((out, process.returncode), ("", -signal.SIGINT))
        self.assertTrue(errors.strip().endswith("KeyboardInterrupt"), errors)

    @unittest.skipUnless(hasattr(os, "fork"), "there is no fork")
    def test_a_fork_does_not_have_the_model(self):
        code = """
model = realizar.Model.load(path)
child = os.fork()
if child == 0:
    try:
        model.chat("x")
    except realizar.InvalidArgumentError as error:
        print(error, flush=True)
    del model
    sys.exit(0)
_, status = os.waitpid(child, 0)
print(status, model.chat("What is the capital of France?", temperature=0))
"""
        returned, out, _ = self.run_code(code)
        self.assertEqual(returned, 0)
        self.assertEqual(
            out.splitlines(), ["the model was loaded before a fork: load it in this process", f"0 {ANSWER}"]
        )

    def test_what_is_no_installation_says_so(self):
        code = """
import pathlib, shutil, tempfile
with tempfile.TemporaryDirectory() as folder:
    for file in pathlib.Path(realizar.__file__).parent.glob("*.py"):
        (pathlib.Path(folder) / "bare").mkdir(exist_ok=True)
        shutil.copy(file, pathlib.Path(folder) / "bare")
    sys.path.insert(0, folder)
    try:
        import bare
    except ImportError as error:
        print(error)
"""
        _, out, _ = self.run_code(code)
        self.assertIn("scripts/python-wheel builds one", out)
