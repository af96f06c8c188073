"""Adapters of low rank, chosen by each request."""
import pathlib
import sys
import tempfile
import unittest

import realizar
from support import ANSWER, PARIS, ROOT, load, program_ids

sys.path.append(str(ROOT / "tests"))
from lora_files import write_adapter  # noqa: E402


class Adapters(unittest.TestCase):
    def test_are_chosen_by_each_request(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = [write_adapter(pathlib.Path(folder) / name, seed) for seed, name in enumerate("ab")]
            flags = ["--temperature", "0", "--max-tokens", "16", PARIS]
            expected = [program_ids("--lora", str(path), *flags) for path in paths]
            with load(loras=[f"a={paths[0]}", paths[1]]) as model:
                told = [model.chat(PARIS, temperature=0, max_tokens=16, lora=name).token_ids for name in "ab"]
                self.assertEqual(told, expected)
                self.assertEqual(model.chat(PARIS, temperature=0).text, ANSWER)
                self.assertEqual(model.chat(PARIS, temperature=0, max_tokens=16, lora="a", lora_scale=1.0).token_ids, expected[0])
                with self.assertRaisesRegex(realizar.RealizarError, "no adapter is called 'c'"):
                    model.chat(PARIS, lora="c")


if __name__ == "__main__":
    unittest.main()
