"""The ends of answers, changed by Model(ends=..., no_ends=...)."""
import unittest

import realizar
from support import PARIS, load


class Ends(unittest.TestCase):
    def test_a_token_that_is_added_ends_the_answer(self):
        with load() as model:
            usual = model.chat(PARIS, temperature=0)
            ids = [token.id for token in usual.tokens]
            pieces = [model.detokenize([token_id]) for token_id in ids]
        name = next(piece for piece in pieces if piece.isalpha() and pieces.count(piece) == 1)
        with load(ends=[name]) as model:
            shorter = model.chat(PARIS, temperature=0)
        self.assertEqual([token.id for token in shorter.tokens], ids[: pieces.index(name)])
        self.assertEqual(shorter.finish_reason, "stop")

    def test_a_token_that_is_taken_out_ends_nothing(self):
        with load() as model:
            usual = model.chat(PARIS, temperature=0)
        with load(no_ends=["<|im_end|>", "<|endoftext|>"]) as model:
            longer = model.chat(PARIS, temperature=0, max_tokens=len(usual.tokens) + 3)
        self.assertGreater(len(longer.tokens), len(usual.tokens))

    def test_an_unknown_name_is_an_error(self):
        for option in ("ends", "no_ends"):
            with self.assertRaisesRegex(realizar.InvalidArgumentError, option + ".*<.no.>"):
                load(**{option: ["<|no|>"]})


if __name__ == "__main__":
    unittest.main()
