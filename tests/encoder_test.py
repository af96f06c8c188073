#!/usr/bin/env python3
"""`realizar embed`, `realizar rerank` and their routes with tiny encoders. Usage: encoder_test.py REALIZAR."""
import json
import math
import unittest

from folders import temp_folder
from model_copies import copy_with_words
import program
from program import REALIZAR
from served import Served



def run(*args, text=""):
    return program.run(*args, stdin=text)


class Files(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = temp_folder(cls)
        cls.encoder = copy_with_words("bert", str(folder))
        cls.reranker = copy_with_words("bert-rank", str(folder))


class Commands(Files):
    def vectors(self, *args, text=""):
        done = run("embed", self.encoder, *args, text=text)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.splitlines()

    def test_a_vector_a_line_of_the_length_1(self):
        lines = self.vectors("rain", "what is rain?")
        self.assertEqual(len(lines), 2)
        for line in lines:
            self.assertAlmostEqual(sum(float(x) ** 2 for x in line.split()), 1, places=4)
        self.assertNotEqual(*lines)

    def test_lines_of_standard_input_and_json(self):
        plain = self.vectors("rain", "sun")
        objects = [json.loads(line) for line in self.vectors("--json", text="rain\n\nsun\n")]
        self.assertEqual([one["index"] for one in objects], [0, 1])
        for line, one in zip(plain, objects):
            for x, y in zip(line.split(), one["embedding"], strict=True):
                self.assertAlmostEqual(float(x), y, places=5)

    def test_texts_in_one_batch_have_the_vectors_that_they_have_alone(self):
        texts = ["rain", "what is water that falls?", "a stone", "sun sun sun"]
        self.assertEqual(self.vectors(*texts), [self.vectors(text)[0] for text in texts])

    def test_documents_come_in_the_order_of_their_scores(self):
        documents = ["water that falls.", "a stone.", "sun"]
        done = run("rerank", self.reranker, "what is rain?", *documents, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        results = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual({result["index"] for result in results}, {0, 1, 2})
        scores = [result["relevance_score"] for result in results]
        self.assertEqual(scores, sorted(scores, reverse=True))
        for result in results:
            self.assertEqual(result["document"], documents[result["index"]])
            self.assertTrue(0 < result["relevance_score"] < 1)
        best = run("rerank", self.reranker, "what is rain?", "--top", "1", text="\n".join(documents))
        self.assertIn(f"{scores[0]:.4f}  {results[0]['index']}  ", best.stdout)
        self.assertEqual(len(best.stdout.splitlines()), 1)

    def test_inspect_tells_what_a_model_gives(self):
        self.assertIn("vectors of texts, by the mean of all tokens", run("inspect", self.encoder).stdout)
        self.assertIn("realizar rerank", run("inspect", self.reranker).stdout)

    def test_vectors_agree_with_the_reference_backend(self):
        checked = run("embed", self.encoder, "rain", "--check")
        self.assertEqual(checked.returncode, 0, checked.stderr)
        self.assertIn("the vectors of a text differ by at most", checked.stderr)

    def test_what_a_model_does_not_do_is_refused_with_the_command_that_does(self):
        for args, words in ((("run", self.encoder, "rain"), ("encoder", "realizar embed")),
                            (("run", self.reranker, "rain"), ("encoder", "realizar rerank")),
                            (("embed", self.reranker, "rain"), ("reranker", "cannot make vectors")),
                            (("rerank", self.encoder, "rain", "sun"), ("not a reranker",))):
            done = run(*args)
            self.assertEqual(done.returncode, 1, args)
            for word in words:
                self.assertIn(word, done.stderr)


class Routes(Files):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.embedder = cls.enterClassContext(Served(REALIZAR, cls.encoder))
        cls.ranker = cls.enterClassContext(Served(REALIZAR, cls.reranker))

    def ask(self, served, path, body, status=200):
        actual, _, answer = served.ask("POST", path, body)
        self.assertEqual(actual, status, answer)
        return json.loads(answer)

    def test_embeddings(self):
        answer = self.ask(self.embedder, "/v1/embeddings", {"input": ["rain", "what is rain?"]})
        vectors = [item["embedding"] for item in answer["data"]]
        self.assertEqual(answer["usage"]["prompt_tokens"], 3 + 6)
        for vector, line in zip(vectors, run("embed", self.encoder, "rain", "what is rain?").stdout.splitlines()):
            self.assertAlmostEqual(math.hypot(*vector), 1, places=4)
            for x, y in zip(vector, line.split(), strict=True):
                self.assertAlmostEqual(x, float(y), places=5)

    def test_rerank(self):
        body = {"query": "what is rain?", "documents": ["a stone.", {"text": "water that falls."}, "sun"]}
        answer = self.ask(self.ranker, "/v1/rerank", body)
        scores = [result["relevance_score"] for result in answer["results"]]
        self.assertEqual(scores, sorted(scores, reverse=True))
        self.assertEqual({result["index"] for result in answer["results"]}, {0, 1, 2})
        self.assertNotIn("document", answer["results"][0])
        self.assertEqual(answer["usage"]["prompt_tokens"], (6 + 4) + (6 + 5) + (6 + 2))
        best = self.ask(self.ranker, "/rerank", body | {"top_n": 1, "return_documents": True})["results"]
        self.assertEqual([result["relevance_score"] for result in best], scores[:1])
        self.assertIn(best[0]["document"]["text"], ("a stone.", "water that falls.", "sun"))

    def test_texts_are_ranked_as_text_embeddings_inference_does(self):
        texts = ["a stone.", "water that falls."]
        expected = self.ask(self.ranker, "/rerank", {"query": "what is rain?", "documents": texts})["results"]
        ask = {"query": "what is rain?", "texts": texts}
        scores = [{"index": result["index"], "score": result["relevance_score"]} for result in expected]
        self.assertEqual(self.ask(self.ranker, "/rerank", ask), scores)
        told = self.ask(self.ranker, "/rerank", ask | {"return_text": True})
        self.assertEqual([result["text"] for result in told], [texts[score["index"]] for score in scores])
        self.assertIn("texts[1]", self.ask(self.ranker, "/rerank", ask | {"texts": ["a", 3]}, 400)["error"]["message"])

    def test_ranks_in_coheres_form(self):
        body = {"query": "what is rain?", "documents": ["a stone.", "water that falls."]}
        expected = self.ask(self.ranker, "/rerank", body)
        answer = self.ask(self.ranker, "/v2/rerank", body)
        self.assertEqual(answer["results"], expected["results"])
        self.assertEqual(answer["meta"]["tokens"]["input_tokens"], expected["usage"]["prompt_tokens"])

    def test_scores_as_vllm_does(self):
        texts = ["a stone.", "water that falls."]
        ranked = self.ask(self.ranker, "/rerank", {"query": "what is rain?", "documents": texts})
        expected = [{"index": result["index"], "object": "score", "score": result["relevance_score"]}
                    for result in sorted(ranked["results"], key=lambda result: result["index"])]
        for path, body in (("/v1/score", {"text_1": "what is rain?", "text_2": texts}),
                           ("/score", {"text_1": ["what is rain?"] * 2, "text_2": texts}),
                           ("/score", {"queries": "what is rain?", "documents": texts})):
            answer = self.ask(self.ranker, path, body)
            self.assertEqual(answer["data"], expected)
            n_prompt = ranked["usage"]["prompt_tokens"]
            self.assertEqual(answer["usage"], {"prompt_tokens": n_prompt, "total_tokens": n_prompt, "completion_tokens": 0,
                                               "prompt_tokens_details": None})
        for body, field in (({"text_2": "a"}, "text_1"), ({"text_1": "a"}, "text_2"), ({"text_1": ["a"] * 3, "text_2": texts}, "text_1"),
                            ({"text_1": "a", "text_2": [1]}, "text_2"), ({"text_1": [], "text_2": "a"}, "text_1"),
                            ({"text_1": "a", "text_2": "a " * 100}, "text_2")):
            self.assertIn(field, self.ask(self.ranker, "/score", body, 400)["error"]["message"])
        self.ask(self.embedder, "/score", {"text_1": "a", "text_2": "a"}, 400)

    def test_wrong_requests_are_refused_by_field(self):
        for body, param in (({"documents": ["a"]}, "query"), ({"query": "a"}, "documents"),
                            ({"query": "a", "documents": []}, "documents"),
                            ({"query": "a", "documents": ["a", 3]}, "documents[1]"),
                            ({"query": "a", "documents": ["a " * 100]}, "documents[0]"),
                            ({"query": "a", "documents": ["a"], "top_n": 0}, "top_n")):
            error = self.ask(self.ranker, "/v1/rerank", body, 400)["error"]
            self.assertTrue(error["param"].startswith(param.split("[")[0]), error)
            self.assertIn(param, error["message"])

    def test_routes_that_generate_text_say_where_to_go(self):
        chat = {"messages": [{"role": "user", "content": "rain"}]}
        for path, body in (("/v1/chat/completions", chat), ("/v1/completions", {"prompt": "rain"}),
                           ("/v1/responses", {"input": "rain"})):
            error = self.ask(self.embedder, path, body, 400)["error"]
            self.assertIn("encoder", error["message"])
            self.assertIn("/v1/embeddings", error["message"])
        self.assertIn("/v1/rerank", self.ask(self.ranker, "/v1/chat/completions", chat, 400)["error"]["message"])
        self.assertIn("/v1/rerank", self.ask(self.ranker, "/v1/embeddings", {"input": "rain"}, 400)["error"]["message"])


if __name__ == "__main__":
    unittest.main()
