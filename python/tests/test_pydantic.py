"""Classes of pydantic versions 1 and 2 as forms of answers."""
import enum
import unittest
from typing import List, Optional

import realizar
from support import load

try:
    import pydantic
except ImportError:
    pydantic = None

if pydantic is not None:

    class Size(str, enum.Enum):
        small = "small"
        large = "large"

    class Person(pydantic.BaseModel):
        name: str = pydantic.Field(max_length=12)
        age: int = pydantic.Field(ge=1, le=99)

    class Town(pydantic.BaseModel):
        size: Size
        mayor: Person
        rivers: List[Size]
        twin: Optional[Person] = None


@unittest.skipUnless(pydantic, "pydantic is wanted")
class Classes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = cls.enterClassContext(load())

    def test_answers_are_instances(self):
        n_whole = 0
        for seed in range(8):
            answer = self.model.chat("Tell me of a town.", schema=Town, seed=seed, max_tokens=400)
            if answer.finish_reason != "stop":
                self.assertIsNone(answer.parsed)
                continue
            n_whole += 1
            self.assertIsInstance(answer.parsed, Town)
            self.assertIsInstance(answer.parsed.size, Size)
            self.assertTrue(1 <= answer.parsed.mayor.age <= 99)
        self.assertGreater(n_whole, 0)

    def test_a_format_is_a_class_too(self):
        answer = self.model.chat("Name a person.", format=Person, seed=1)
        self.assertIsInstance(answer.parsed, Person)
        self.assertEqual(answer.parsed, self.model.chat("Name a person.", schema=Person, seed=1).parsed)

    def test_clients_of_openais_kind_parse_them(self):
        client = realizar.OpenAI(self.model)
        messages = [{"role": "user", "content": "Name a person."}]
        answer = client.chat.completions.parse(messages=messages, response_format=Person, seed=1)
        self.assertIsInstance(answer.choices[0].message.parsed, Person)
        response = client.responses.parse(input=messages, text_format=Person, seed=1)
        self.assertEqual(response.output_parsed, answer.choices[0].message.parsed)


if __name__ == "__main__":
    unittest.main()
