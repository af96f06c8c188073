#!/usr/bin/env python3
"""Every family's Hugging Face folder as GGUF, made by llama.cpp's converter and by realizar convert, and compared key
by key and tensor by tensor.

    convert_parity.py REALIZAR MAKE_HF_FOLDERS LLAMA_CPP [WORD ...]

LLAMA_CPP is llama.cpp's source folder; words select the families whose names contain one of them. Both programs write
F32 and F16. It needs numpy and torch, like the converter. The replacement of transformers below reads config.json
unchanged; the folders have no tokenizer, and vocabularies are not compared. Without any of these it prints a message
and exits with 77. A difference that is not in EXPLAINED is an error."""
import importlib
import json
import logging
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import types

SKIPPED = 77
ROUNDING = 2.0 ** -21  # exp() and products of F32, in parts of a value

# Lines of this comparison, by the family and the difference, and the reason for it.
EXPLAINED = [
    (r"^(bloom|codeshell|falcon|starcoder|refact|gemma3n)\S*: \S+feed_forward_length",
     "the converter takes it from the width of the model, and here it is that of the tensors"),
    (r"^refact\w*: blk", "the converter cuts a tensor of two at the width that published models have"),
    (r"^chatglm\w*: blk\S+attn_(q|k|v|qkv)\.", "here they are apart; llama.cpp reads both"),
    (r"^jina-bert-v2\w*: blk\S+ffn_(gate|up)\.", "here they are apart; llama.cpp reads both"),
    (r": \S+rope\.scaling\.(type|factor|finetuned): \S+ \(?.*(none|'linear'|1\.0|False)", "no scaling is the default"),
    (r"^(dbrx|olmoe|openelm)\w*: \S+epsilon", "the converter has a number for all models of the family, here the folder's"),
    (r"^(exaone_|qwen_|modern-bert|nemotron-h)\S*: \S+epsilon", "here it is the key that llama.cpp reads"),
    (r": \S+tensor_data_layout", "nothing reads it"),
    (r": \S+(expert_shared_count|expert_group_used_count|expert_count|expert_used_count): \S+ \S+ by llama.cpp, None",
     "llama.cpp does not need it here"),
    (r"^glm4-moe\w*: ", "layers that predict further tokens are left out here"),
    (r"^apertus\w*: xielu", "one number for all layers; llama.cpp reads both forms"),
    (r"^bailingmoe2\w*: \S+expert_shared_feed_forward_length", "the width of one expert, by which llama.cpp multiplies"),
    (r"^(bamba|nemotron-h)\S*: blk\S+attn_(q|k)\.weight", "the converter reorders rows that turn otherwise or not at all"),
    (r"^(granitehybrid|nemotron-h)\S*: \S+context_length", "here it is what config.json says"),
    (r"^granitehybrid_Granite\w*: ", "the converter knows no such model without experts"),
    (r"^kimi-linear\w*: blk\S+ssm_a", "here it has the shape that llama.cpp reads"),
    (r"^lfm2_\w*: (output\.weight|general\.size_label)", "the converter takes every head for the embedding"),
    (r"^modern-bert\w*: \S+sliding_window_pattern", "llama.cpp has this one by itself"),
    (r"^mamba_\w*: \S+dt_b_c_rms", "false is the default"),
    (r"^chatglm_Glm\w*: \S+(epsilon|context_length)", "the converter reads keys of older config.json files"),
    (r"^ernie4_5-moe\w*: \S+expert_shared_feed_forward_length", "here it is the width of the tensors"),
    (r"^gemma(-embedding|4)\S*: (general\.size_label|token_embd)", "the converter cuts it to the vocabulary, which is none"),
    (r"^gemma4\S*: blk\S+_exps", "here they are apart; llama.cpp reads both"),
    (r"^grok\S*: \S+router_logit_softcapping", "it is llama.cpp's default"),
    (r"^deepseek_\w*: \S+expert_weights_scale", "1 is the default"),
    (r"^(gemma3n|dbrx|kimi-linear)\w*: blk\S+(altup_router|ffn_gate_inp|ssm_f_a)\.weight: .* F16 by", "here it stays F32"),
    (r"^qwen35\w*: \S+(recurrent_layers|full_attention_interval)", "here it is the layers' kinds that say it"),
]

# Keys that realizar writes in addition to the converter's.
FURTHER = re.compile(r"\.(vocab_size|file_type|rope\.\w+(\.\w+)?|expert_\w+|attention\.\w+|feed_forward_length|"
                     r"context_length|pooling_type|use_parallel_residual|leading_dense_block_count|"
                     r"interleave_moe_layer_step|token_shift_count|embedding_scale|logit_scale|residual_scale)$")


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def put_stand_ins(torch):
    """Replaces the modules that the converter imports."""
    class NoConfig:
        @staticmethod
        def from_pretrained(*_args, **_options):
            raise OSError("this stand-in leaves config.json to the converter")

    transformers = types.ModuleType("transformers")
    transformers.AutoConfig = transformers.AutoTokenizer = NoConfig
    safetensors = types.ModuleType("safetensors.torch")
    safetensors.load_file = None  # for folders with further parts, of which there are none
    sys.modules.update({"transformers": transformers, "safetensors": types.ModuleType("safetensors"),
                        "safetensors.torch": safetensors})
    for name in ["float8_e4m3fn", "float8_e5m2"]:  # torch before 2.1 lacks them
        if not hasattr(torch, name):
            setattr(torch, name, name)


class Converter:
    """llama.cpp's, without a vocabulary."""

    def __init__(self, source):
        sys.path[:0] = [str(source), str(source / "gguf-py")]
        self.conversion = importlib.import_module("conversion")
        self.gguf = importlib.import_module("gguf")

    def convert(self, folder, out, is_f16):
        """In a separate process, since a family changes the tables of those after it. Returns the error."""
        error = out.with_suffix(".error")
        if (child := os.fork()) == 0:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())  # it shows its progress there
            try:
                self.write(folder, out, is_f16)
            except BaseException as reason:
                error.write_text(f"{type(reason).__name__}: {reason}"[:200])
            os._exit(0)
        os.waitpid(child, 0)
        return error.read_text() if error.exists() else ""

    def write(self, folder, out, is_f16):
        base, text = self.conversion.ModelBase, self.conversion.ModelType.TEXT
        kind = self.conversion.get_model_class(
            self.conversion.get_model_architecture(base.load_hparams(folder, False), text))
        if hasattr(kind, "no_mtp"):
            kind.no_mtp = True
        index = base.index_tensors
        # The folders have a tensor that is not part of the model, to be ignored.
        base.index_tensors = lambda *args, **options: {
            name: tensor for name, tensor in index(*args, **options).items() if "linear_proj" not in name}
        types = self.gguf.LlamaFileType
        model = kind(folder, types.MOSTLY_F16 if is_f16 else types.ALL_F32, out, eager=True)
        model.set_vocab = lambda: model.gguf_writer.add_tokenizer_model("none")
        model.write()

    def read(self, path):
        reader = self.gguf.GGUFReader(path)
        keys = {name: ([kind.name for kind in field.types], field.contents())
                for name, field in reader.fields.items() if not name.startswith(("GGUF.", "tokenizer."))}
        return keys, {tensor.name: tensor for tensor in reader.tensors}


def complete(folder, n_vocab):
    """Adds what transformers would add to a config.json, and a file that two families require."""
    path = folder / "config.json"
    config = json.loads(path.read_text())
    text = config.get("text_config", config)
    text.setdefault("vocab_size", n_vocab)
    if "hidden_size_per_layer_input" in text:
        text.setdefault("vocab_size_per_layer_input", n_vocab)
    path.write_text(json.dumps(config))
    (folder / "tokenizer.json").write_text('{"added_tokens": [], "model": {"type": "WordPiece", "vocab": {}}}')


def short(value):
    text = repr(value)
    return text if len(text) < 120 else text[:117] + "..."


def shape_of(tensor):
    """Without the outer dimensions of 1, which a file does not distinguish from missing ones."""
    shape = [int(size) for size in tensor.shape]
    while shape and shape[-1] == 1:
        shape.pop()
    return shape


def different_keys(theirs, ours):
    for key in sorted(theirs.keys() | ours.keys()):
        a, b = theirs.get(key), ours.get(key)
        if a != b and not (a is None and FURTHER.search(key)):
            yield f"{key}: {short(a)} by llama.cpp, {short(b)} here"


def different_tensors(numpy, theirs, ours):
    for name in sorted(theirs.keys() | ours.keys()):
        a, b = theirs.get(name), ours.get(name)
        if a is None or b is None:
            yield f"{name}: {'only here' if a is None else 'only by llama.cpp'}"
        elif shape_of(a) != shape_of(b) or a.tensor_type != b.tensor_type:
            yield f"{name}: {shape_of(a)} {a.tensor_type.name} by llama.cpp, {shape_of(b)} {b.tensor_type.name} here"
        elif not numpy.allclose(a.data.ravel(), b.data.ravel(), rtol=ROUNDING, atol=0):
            yield f"{name}: values differ by {numpy.abs(a.data.ravel() - b.data.ravel()).max():.2e} at most"


def compare(numpy, converter, realizar, folder, place, is_f16):
    """The lines that differ, or None and the reason why the converter refuses the folder."""
    ours, theirs = place / "ours.gguf", place / "theirs.gguf"
    for path in place.glob("theirs*"):
        path.unlink()
    subprocess.run([realizar, "convert", folder, ours, "--type", "f16" if is_f16 else "f32"], check=True,
                   capture_output=True)
    ours_keys, ours_tensors = converter.read(ours)
    completed = shutil.copytree(folder, place / "completed" / folder.name, dirs_exist_ok=True)
    complete(completed, int(ours_tensors["token_embd.weight"].shape[1]))
    if refusal := converter.convert(completed, theirs, is_f16):
        return None, refusal
    keys, tensors = converter.read(theirs)
    lines = [*different_keys(keys, ours_keys), *different_tensors(numpy, tensors, ours_tensors)]
    return [f"{folder.name}: {line}" for line in lines], ""


def main():
    realizar, make_folders, source, *words = sys.argv[1:]
    source = pathlib.Path(source)
    if not (source / "conversion" / "base.py").is_file():
        skip(f"no sources of llama.cpp's converter in {source}")
    try:
        import numpy
        import torch
    except ImportError as error:
        skip(str(error))
    put_stand_ins(torch)
    logging.disable(logging.CRITICAL)
    converter = Converter(source)
    n_same, n_explained, n_refused, unexplained = 0, 0, 0, []
    with tempfile.TemporaryDirectory() as place, torch.inference_mode():
        place = pathlib.Path(place)
        subprocess.run([make_folders, place / "folders"], check=True)
        for folder in sorted((place / "folders").iterdir()):
            if words and not any(word in folder.name for word in words):
                continue
            lines, refusal = compare(numpy, converter, realizar, folder, place, False)
            if lines is None:
                print(f"{folder.name}: llama.cpp's converter refuses it: {refusal}")
                n_refused += 1
                continue
            lines += [line for line in compare(numpy, converter, realizar, folder, place, True)[0] if line not in lines]
            new = [line for line in lines if not any(re.search(what, line) for what, _ in EXPLAINED)]
            n_same, n_explained = n_same + (not lines), n_explained + bool(lines and not new)
            unexplained += new
            print("\n".join(new), end="\n" if new else "")
    print(f"{n_same} families are the same, {n_explained} differ in what is explained, "
          f"{n_refused} are refused by llama.cpp's converter")
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
