#!/usr/bin/env python3
"""Logits of the CUDA backend compared with transformers in float32, for the Hugging Face folders in the test data.
Usage: torch_parity.py REALIZAR. Needs torch and transformers."""
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy
import torch
import transformers

FOLDER = pathlib.Path(__file__).resolve().parent / "data/conformance"
DTYPE = "dtype" if tuple(map(int, transformers.__version__.split(".")[:2])) >= (4, 56) else "torch_dtype"
TOLERANCE = 2e-2  # as a share of the logits' range


def main():
    worst = 0.0
    for model in sorted(path.parent for path in FOLDER.glob("*/config.json")):
        tokens = json.loads((FOLDER / f"{model.name}.tokens.json").read_text())
        tokens = tokens if isinstance(tokens, list) else tokens["tokens"]
        reference = transformers.AutoModelForCausalLM.from_pretrained(
            model, attn_implementation="eager", **{DTYPE: torch.float32})
        assert all(p.dtype == torch.float32 for p in reference.parameters()), f"{model.name} was not loaded in float32"
        with torch.no_grad():
            expected = reference(torch.tensor([tokens])).logits[0].numpy()
        with tempfile.TemporaryDirectory() as folder:
            ids, out = pathlib.Path(folder) / "ids.json", pathlib.Path(folder) / "logits.npy"
            ids.write_text(json.dumps(tokens))
            subprocess.run([sys.argv[1], "logits", "--backend", "cuda", "--tokens", ids, "--out", out, model], check=True)
            actual = numpy.load(out)
        difference = float(numpy.abs(actual - expected).max() / (expected.max() - expected.min()))
        print(f"{model.name}: {difference:.2e} of the range")
        worst = max(worst, difference)
    return 0 if worst <= TOLERANCE else 1


if __name__ == "__main__":
    sys.exit(main())
