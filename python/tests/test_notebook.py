"""The package in a notebook, run by Jupyter's own programs: bars, displayed answers, streams, await."""
import os
import tempfile
import unittest
import unittest.mock

from support import ANSWER, DEADLINE_S, MODEL, PARIS

try:
    import nbclient
    import nbformat
    from ipykernel import kernelspec
except ImportError:
    nbclient = None

CELLS = [
    f"""
import realizar
from realizar import _progress
_progress._SHORTEST_S = 0  # the model is small
model = realizar.Model({str(MODEL)!r}, n_threads=2)
""",
    f"model.chat({PARIS!r}, temperature=0)",
    "model",
    f"""
for piece in model.stream_chat({PARIS!r}, temperature=0):
    print(piece, end="", flush=True)
""",
    f"(await model.achat({PARIS!r}, temperature=0)).text",
    "realizar.Model('qwen3:1.7b')",
    "model.close()",
]


@unittest.skipUnless(nbclient, "Jupyter's nbclient and ipykernel are wanted")
class Notebook(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        names = ("HOME", "XDG_DATA_HOME", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS])
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.dict(os.environ, dict.fromkeys(names, folder)):
            kernelspec.install(user=True)  # of the Python that runs this
            nbclient.NotebookClient(notebook, timeout=DEADLINE_S, kernel_name="python3", allow_errors=True).execute()
        cls.outputs = [cell.outputs for cell in notebook.cells]

    def text(self, cell, kind):
        """The output of a cell ("stdout", "stderr"), or its value ("value")."""
        outputs = self.outputs[cell]
        if kind == "value":
            return "".join(output.data["text/plain"] for output in outputs if output.output_type == "execute_result")
        return "".join(output.text for output in outputs if output.output_type == "stream" and output.name == kind)

    def test_loading_draws_a_bar_in_one_line(self):
        drawn = self.text(0, "stderr")
        self.assertGreater(drawn.count("\r"), 1)
        self.assertEqual(drawn.count("\n"), 1)
        self.assertRegex(drawn, r"\rrealizar-tiny-Q8_0.gguf \[#{30}\] 100%  5 of 5 MB *\n$")

    def test_answers_and_models_are_shown_in_a_line(self):
        self.assertEqual(self.text(1, "value"), f"<realizar.Generation '{ANSWER}', stop, n_prompt=16, n_generated=9>")
        self.assertEqual(self.text(2, "value"), "<realizar.Model 'realizar-tiny', llama, Q8_0, n_ctx=1024>")

    def test_streams_and_asyncio(self):
        self.assertEqual(self.text(3, "stdout"), ANSWER)
        self.assertEqual(self.text(4, "value"), repr(ANSWER))

    def test_an_error_says_what_to_do_there(self):
        [error] = self.outputs[5]
        self.assertEqual(error.ename, "NotFoundError")
        self.assertTrue(error.evalue.endswith('to download it: realizar.pull("qwen3:1.7b")'), error.evalue)


if __name__ == "__main__":
    unittest.main()
