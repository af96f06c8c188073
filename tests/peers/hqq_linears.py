#!/usr/bin/env python3
"""Linear layers as hqq (github.com/mobiusml/hqq) quantizes and saves them, and the values that it computes from them:
the folder tests/data/hqq. Each layer `x` has the tensors of its state_dict(), and x.expected F32, its dequantized
weights. Needs torch and hqq; written with hqq 0.2.8.
Usage: hqq_linears.py OUT"""
import json
import os
import struct
import sys

import torch
from hqq.core.quantize import BaseQuantizeConfig, HQQLinear, Quantizer

N_ROWS, N_COLS = 16, 32
# name: nbits, group_size, axis, view_as_float, compute_dtype
LINEARS = {
    "bits8": (8, 32, 1, False, torch.float16), "bits5": (5, 32, 1, False, torch.bfloat16),
    "bits4": (4, 32, 1, False, torch.float16), "bits4_across_rows": (4, 64, 1, True, torch.bfloat16),
    "bits4_axis0": (4, 8, 0, False, torch.float16), "bits3": (3, None, 1, False, torch.float32),
    "bits3_axis0": (3, None, 0, True, torch.float16), "bits2": (2, 16, 1, False, torch.float16),
    "ternary": (1.58, 32, 1, False, torch.float16), "bits1": (1, 8, 0, False, torch.float16),
}
DTYPES = {torch.uint8: "U8", torch.int32: "I32", torch.int64: "I64", torch.float16: "F16", torch.bfloat16: "BF16",
          torch.float32: "F32"}


def layer(nbits, group_size, axis, view_as_float, dtype):
    linear = torch.nn.Linear(N_COLS, N_ROWS, bias=False)
    config = BaseQuantizeConfig(nbits=nbits, group_size=group_size, axis=axis, view_as_float=view_as_float)
    quantized = HQQLinear(linear, config, compute_dtype=dtype, device="cpu", del_orig=False)
    meta = {**quantized.meta, "compute_dtype": torch.float32}
    meta.update({key: meta[key].float() for key in ("scale", "zero")})
    return {**quantized.state_dict(), "expected": Quantizer.dequantize(quantized.W_q, meta)}


def main(out):
    torch.manual_seed(1)
    header, data = {}, b""
    for name, kind in LINEARS.items():
        for key, tensor in layer(*kind).items():
            content = bytes(tensor.detach().contiguous().reshape(-1).view(torch.uint8).tolist())
            header[f"{name}.{key}"] = {"dtype": DTYPES[tensor.dtype], "shape": list(tensor.shape),
                                       "data_offsets": [len(data), len(data) + len(content)]}
            data += content
    text = json.dumps(header, separators=(",", ":")).encode()
    with open(os.path.join(out, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)
    with open(os.path.join(out, "config.json"), "w", encoding="utf-8") as file:
        file.write("{}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
