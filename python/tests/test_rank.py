"""Rerankers: how well documents answer a query, compared with the program's results."""
import asyncio
import concurrent.futures
import json
import sys
import tempfile
import unittest

import realizar
from support import ROOT, load, program

sys.path.insert(0, str(ROOT / "tests"))
from model_copies import copy_with_words  # noqa: E402

QUERY = "what is rain?"
DOCUMENTS = ["water that falls.", "a stone.", "sun", "rain is water"]


class Ranks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.path = copy_with_words("bert-rank", cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.model = cls.enterClassContext(realizar.Model.load(cls.path, backend="cpu", n_threads=2))

    def test_the_scores_of_the_program(self):
        lines = program("rerank", self.path, QUERY, *DOCUMENTS, "--json", text="").splitlines()
        told = {row["index"]: row["relevance_score"] for row in map(json.loads, lines)}
        scores = self.model.rank(QUERY, DOCUMENTS)
        for i, score in enumerate(scores):
            self.assertTrue(0 < score < 1)
            self.assertAlmostEqual(score, told[i], places=6)
        self.assertEqual(len(set(scores)), len(DOCUMENTS))

    def test_alone_together_and_by_tasks_they_are_the_same(self):
        scores = self.model.rank(QUERY, DOCUMENTS)
        self.assertEqual([self.model.rank(QUERY, [document])[0] for document in DOCUMENTS], scores)
        self.assertEqual(asyncio.run(self.model.arank(QUERY, iter(DOCUMENTS))), scores)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            for several in pool.map(lambda _: self.model.rank(QUERY, DOCUMENTS * 30), range(4)):
                self.assertEqual(several, scores * 30)

    def test_nothing_has_no_scores(self):
        self.assertEqual(self.model.rank(QUERY, []), [])

    def test_what_cannot_be_is_refused(self):
        with self.assertRaisesRegex(realizar.UnsupportedError, "reranker"):
            self.model.embed("rain")
        with load() as writer, self.assertRaisesRegex(realizar.UnsupportedError, "not a reranker"):
            writer.rank(QUERY, DOCUMENTS)
        with self.assertRaises(realizar.ContextLengthError):
            self.model.rank(QUERY, ["rain " * 10000])
        with self.assertRaisesRegex(ValueError, "NUL"):
            self.model.rank(QUERY, ["a\0b"])


if __name__ == "__main__":
    unittest.main()
