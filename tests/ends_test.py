#!/usr/bin/env python3
"""The ends of answers, the tools that templates support, and a model's recommendations: in a folder, and in the files
made from it by convert and quantize. Usage: ends_test.py REALIZAR."""
import json
import shutil
import struct
import unittest

from bundled import TINY
from folders import temp_folder, written
from gguf_edit import STRING, with_metadata
import program
from program import REALIZAR
from served import Served

U32, I32, F32 = 4, 5, 6
PLAIN = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
TOOLS = "TOOLS {% for t in tools %}{{ t.function.name }} {% endfor %}\n" + PLAIN
ASKED = {"messages": [{"role": "user", "content": "U"}]}
WITH_TOOLS = {**ASKED, "tools": [{"type": "function", "function": {"name": "get_weather", "parameters": {}}}]}


def realizar(*args, stdin=""):
    return program.run(*args, stdin=stdin)


def inspected(model):
    return json.loads(realizar("inspect", model, "--json").stdout)


def ends(model):
    return {end["id"] for end in inspected(model)["ends"]}


def answer(model, *args):
    """The ids of a greedy answer, and the reason of its end."""
    done = realizar("run", model, "--raw", "The capital of", "-n", "5", "--temperature", "0", "--json", *args)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    return [event["id"] for event in events if "id" in event], events[-1]["finish_reason"]


class EndsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = temp_folder(cls)
        cls.original = cls.root / "original"
        done = realizar("convert", TINY, cls.original)
        assert done.returncode == 0, done.stderr

    def folder(self, **files):
        """A copy of the model's folder. `files`: changes of the members of NAME.json."""
        folder = self.root / self.id()
        shutil.copytree(self.original, folder)
        for name, members in files.items():
            path = folder / f"{name}.json"
            old = json.loads(path.read_text()) if path.exists() else {}
            path.write_text(json.dumps({**old, **members}))
        return folder

    def file(self, *added):
        path = written(self.root / f"{self.id()}.gguf", with_metadata(TINY.read_bytes(), lambda key, value: value, added))
        return path

    def test_files_of_a_folder_end_where_it_does(self):
        folder = self.folder(generation_config={"eos_token_id": [300, 301]}, config={"eos_token_id": [302, 303]},
                             special_tokens_map={"eos_token": "e"})
        expected = ends(folder)
        self.assertLessEqual({300, 301, 302, 303}, expected)
        made, quantized, back = (self.root / name for name in ("made.gguf", "quantized.gguf", "back"))
        done = realizar("convert", folder, made)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("tokenizer.ggml.eos_token_ids", done.stderr)
        self.assertEqual(ends(made), expected)
        self.assertEqual(realizar("quantize", folder, quantized, "Q8_0").returncode, 0)
        self.assertEqual(ends(quantized), expected)
        self.assertEqual(realizar("convert", made, back).returncode, 0)
        self.assertEqual(ends(back), expected)

    def test_a_source_stands_beside_each_end(self):
        folder = self.folder(config={"eos_token_id": 300})
        end = next(end for end in inspected(folder)["ends"] if end["id"] == 300)
        self.assertEqual(end["from"], ["config.json: eos_token_id"])
        self.assertIn("config.json: eos_token_id", realizar("inspect", folder).stdout.replace("\n" + " " * 14, " "))

    def test_a_user_adds_an_end_and_takes_one_out(self):
        ids, reason = answer(TINY)
        self.assertEqual((len(ids), reason), (5, "length"))
        folder = self.folder(generation_config={"eos_token_id": ids[1]})
        tokens = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
        name = next(piece for piece, token_id in tokens.items() if token_id == ids[1])
        self.assertEqual(answer(folder), (ids[:1], "stop"))
        self.assertEqual(answer(folder, "--no-end", name), (ids, "length"))
        self.assertEqual(answer(TINY, "--end", name), (ids[:1], "stop"))
        for model, flag, to in ((TINY, "--end", "more.gguf"), (TINY, "--end", "more"), (folder, "--no-end", "less.gguf")):
            with self.subTest(to=to):
                done = realizar("convert", model, self.root / to, flag, name)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(ids[1] in ends(self.root / to), flag == "--end")

    def test_an_unknown_name_is_an_error(self):
        for args in (["run", TINY, "--raw", "x", "--end", "<|no|>"], ["run", TINY, "--raw", "x", "--no-end", "<|no|>"],
                     ["convert", TINY, self.root / "x.gguf", "--end", "<|no|>"]):
            done = realizar(*args)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("<|no|>", done.stderr)

    def test_a_known_name_that_a_user_denies_stays_denied(self):
        folder, made, back = self.folder(), self.root / "denied.gguf", self.root / "denied"
        eos = next(iter(inspected(folder)["ends"]))["token"]
        done = realizar("convert", folder, made, "--no-end", eos)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn(eos, [end["token"] for end in inspected(made)["ends"]])
        self.assertEqual(realizar("convert", made, back).returncode, 0)
        self.assertEqual(ends(back), ends(made))

    def test_ids_outside_the_vocabulary_are_told_of(self):
        folder = self.folder(generation_config={"eos_token_id": [300, 999999]})
        done = realizar("run", folder, "--raw", "x", "-n", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("generation_config.json: eos_token_id", done.stderr)
        file = self.file(("tokenizer.ggml.eom_token_id", U32, struct.pack("<I", 4000000000)),
                         ("tokenizer.ggml.mask_token_id", I32, struct.pack("<i", -1)))
        done = realizar("run", file, "--raw", "x", "-n", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        for key in ("eom_token_id", "mask_token_id"):
            self.assertIn(f"{file.name}: tokenizer.ggml.{key}", done.stderr)

    def test_recommendations_out_of_range_are_told_of(self):
        folder = self.folder(generation_config={"top_p": 7, "top_k": -1, "do_sample": True})
        done = realizar("run", folder, "--raw", "x", "-n", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("generation_config.json: top_p", done.stderr)
        self.assertNotIn("top_k", done.stderr)
        (folder / "generation_config.json").write_text('{"temperature": NaN, "min_p": 7}')
        done = realizar("run", folder, "--raw", "x", "-n", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("generation_config.json: min_p", done.stderr)
        file = self.file(("general.sampling.temp", F32, struct.pack("<f", -1)))
        done = realizar("run", file, "--raw", "x", "-n", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("general.sampling.temp", done.stderr)

    def check_templates(self, model):
        for asked, expected in ((ASKED, "user: U\n"), (WITH_TOOLS, "TOOLS get_weather user: U\n")):
            self.assertEqual(realizar("template", model, stdin=json.dumps(asked)).stdout, expected)
        explained = realizar("template", model, "--explain").stdout.splitlines()
        self.assertTrue(explained[0].startswith("without tools") and " default (" in explained[0], explained)
        self.assertTrue(explained[1].startswith("with tools") and " tool_use (" in explained[1], explained)
        self.assertIn("rag (", explained[2])

    def test_tools_take_their_own_template_in_every_form(self):
        named = [{"name": "default", "template": PLAIN}, {"name": "tool_use", "template": TOOLS},
                 {"name": "rag", "template": "R"}]
        listed = self.folder(tokenizer_config={"chat_template": named})
        (listed / "chat_template.jinja").unlink(missing_ok=True)
        self.check_templates(listed)
        made, back = self.root / "templates.gguf", self.root / "templates"
        self.assertEqual(realizar("convert", listed, made).returncode, 0)
        self.check_templates(made)
        self.assertEqual(realizar("convert", made, back).returncode, 0)
        self.assertTrue((back / "additional_chat_templates/tool_use.jinja").exists())
        self.check_templates(back)
        again = self.root / "again.gguf"
        self.assertEqual(realizar("quantize", back, again, "Q8_0").returncode, 0)
        self.check_templates(again)

    def test_a_server_renders_tools_by_their_template(self):
        file = self.file(("tokenizer.chat_template.tool_use", STRING, TOOLS.encode()))
        with Served(REALIZAR, file) as server:
            for asked, is_marked in ((ASKED, False), (WITH_TOOLS, True)):
                status, _, body = server.ask("POST", "/apply-template", asked, {})
                self.assertEqual((status, json.loads(body)["prompt"].startswith("TOOLS get_weather")), (200, is_marked))
            status, _, body = server.ask("GET", "/props", None, {})
            self.assertEqual((status, json.loads(body)["chat_template_tool_use"]), (200, TOOLS))

    def test_a_processors_template_is_read(self):
        folder = self.folder(chat_template={"chat_template": PLAIN})
        (folder / "chat_template.jinja").unlink(missing_ok=True)
        self.assertEqual(realizar("template", folder, stdin=json.dumps(ASKED)).stdout, "user: U\n")
        self.assertIn("chat_template.json", realizar("template", folder, "--explain").stdout)


if __name__ == "__main__":
    unittest.main()
