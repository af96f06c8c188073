"""The bundled model, and a question with its answer."""
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
TINY = ROOT / "models/realizar-tiny/realizar-tiny-Q8_0.gguf"
MODEL = str(TINY)
QUESTION = "What is the capital of France?"
ANSWER = "The capital of France is Paris."
CHAT = {"messages": [{"role": "user", "content": QUESTION}], "temperature": 0}
