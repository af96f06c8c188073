"""Every kind of model that people download (tests/shapes.py), loaded here: answers end at the right place, and no byte
of a text is lost."""
import pathlib
import sys
import tempfile
import unittest

from support import ROOT

import realizar

sys.path.append(str(ROOT / "tests"))
from shapes import SHAPES, TEXTS  # noqa: E402


class Shapes(unittest.TestCase):
    def check(self, shape, model):
        for letter, token in shape.questions().items():
            ended = model.generate(letter, max_tokens=3, temperature=0).finish_reason == "stop"
            self.assertEqual(ended, token in shape.ends, token)
        for text in TEXTS:
            self.assertEqual(model.detokenize(model.tokenize(text, add_special=False)), text)

    def test_shapes(self):
        for shape in SHAPES:
            with self.subTest(shape=shape.name), tempfile.TemporaryDirectory() as folder:
                path = shape.write(pathlib.Path(folder) / "model")
                with realizar.Model(path, n_threads=1) as model:
                    self.check(shape, model)
