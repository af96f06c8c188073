"""How long a model reasons, with a copy of the bundled one that thinks "capital of France" and answers "Paris."."""
import pathlib
import sys
import tempfile
import unittest

import realizar
from support import ROOT, load

sys.path.insert(0, str(ROOT / "tests"))
from model_copies import write_thinker  # noqa: E402

QUESTION = "Name the capital of France."


class Reasons(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.model = cls.enterClassContext(realizar.Model.load(write_thinker(pathlib.Path(folder, "thinker.gguf")), backend="cpu"))

    def said(self, **options):
        answer = self.model.chat(QUESTION, temperature=0, max_tokens=40, **options)
        return answer.reasoning, answer.text

    def test_a_budget_ends_it_and_the_answer_goes_on(self):
        self.assertEqual(self.said(), ("capital of France", "Paris."))
        for budget, thoughts in ((1, "capital"), (2, "capital of"), (1000, "capital of France")):
            reasoning, text = self.said(reasoning_budget=budget)
            self.assertEqual(reasoning, thoughts)
            self.assertNotEqual(text, "")

    def test_it_can_be_left_out(self):
        off = self.said(reasoning=False)
        self.assertEqual(off[0], "")
        self.assertNotEqual(off[1], "")
        self.assertEqual(self.said(reasoning_budget=0), off)
        self.assertEqual(self.said(reasoning_effort="none"), off)
        self.assertEqual(self.said(reasoning=True, reasoning_effort="high"), self.said())

    def test_a_form_binds_what_follows_it(self):
        answer = self.model.chat(QUESTION, temperature=0, reasoning_budget=2, schema={"enum": [1, 2]})
        self.assertEqual(answer.reasoning, "capital of")
        self.assertIn(answer.parsed, (1, 2))

    def test_clients_of_openais_kind_have_the_effort(self):
        client = realizar.OpenAI(self.model)
        messages = [{"role": "user", "content": QUESTION}]
        answer = client.chat.completions.create(messages=messages, temperature=0, max_tokens=40, reasoning_effort="none")
        self.assertEqual(answer.choices[0].message.content, self.said(reasoning=False)[1])

    def test_what_it_cannot_be_is_refused(self):
        with self.assertRaisesRegex(realizar.InvalidArgumentError, "reasoning_effort: expected none"):
            self.said(reasoning_effort="much")
        with self.assertRaisesRegex(ValueError, "reasoning_budget"):
            self.said(reasoning_budget=-1)

    def test_a_model_that_does_not_reason_answers_as_ever(self):
        with load() as plain:
            expected = plain.chat("What is the capital of France?", temperature=0).text
            self.assertEqual(plain.chat("What is the capital of France?", temperature=0, reasoning_budget=1).text, expected)


if __name__ == "__main__":
    unittest.main()
