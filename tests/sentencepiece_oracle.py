#!/usr/bin/env python3
"""Trains small SentencePiece models and writes SentencePiece's own results for difficult texts.

usage: sentencepiece_oracle.py TEXT.txt OUT_FOLDER   (needs Debian's python3-sentencepiece)
Writes NAME.model and expected.json: {"texts": [..], "models": {NAME: {"ids": [[..]..], "decoded": [..]}}}. The table of
characters in most models is only stored in bpe.model; sentencepiece_test.cpp puts it back into the others.
"""
import json
import pathlib
import sys

import sentencepiece

TEXTS = [
    "", " ", "   ", "\n", "\t", "a", " a", "a ", "  a  b  ", "Hello, world!", "hello   world", "line\nbreak\r\nand\ttab",
    "The quick brown fox jumps over the lazy dog.", "1234567890 3.14 1,000,000", "don't can't won't I'll",
    "na\u00efve caf\u00e9", "e\u0301 a\u0308", "\ufb01nance \u00bd \u2122 \u2460", "\uff28\uff45\uff4c\uff4c\uff4f",
    "\uff71\uff9e \u30a2\u309b", "\u4f60\u597d\uff0c\u4e16\u754c", "\u3053\u3093\u306b\u3061\u306f", "\uc548\ub155",
    "\u0928\u092e\u0938\u094d\u0924\u0947", "\u0645\u0631\u062d\u0628\u0627", "\u05e9\u05dc\u05d5\u05dd", "\U0001f600\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "\u2581lower\u2581block", "\u00a0nbsp\u00a0", "zero\u200bwidth", "\ufeffbom", "x" * 300, "ab" * 100, " " * 50, "\u00e9" * 40,
    "<s>text</s>", "<unk>", "<user>hi<user> there <user>", "a<user>b", "A\u0130\u0131\u00df", "\u0000nul", "\u0007bell", "\u2028sep",
    "if (x > 0) { return x * 2; }", "https://example.org/a?b=c&d=e", "\u1e9e\u0323\u0307", "\uac00\u11a8",
]

MODELS = {
    "unigram": dict(model_type="unigram"),
    "unigram_bytes": dict(model_type="unigram", byte_fallback=True, vocab_size=700, normalization_rule_name="identity"),
    "unigram_user": dict(model_type="unigram", user_defined_symbols=["<user>", "of the"], remove_extra_whitespaces=False),
    "unigram_bare": dict(model_type="unigram", add_dummy_prefix=False, normalization_rule_name="nfkc_cf"),
    "bpe": dict(model_type="bpe"),
    "bpe_bytes": dict(model_type="bpe", byte_fallback=True, vocab_size=700, normalization_rule_name="identity",
                      remove_extra_whitespaces=False),
    "bpe_user": dict(model_type="bpe", user_defined_symbols=["<user>"], add_dummy_prefix=False),
}


def cut_tables(out):
    before_table = b"\x0a\x08nmt_nfkc\x12\xf9\xbf\x0e"  # its name and its length
    whole = (out / "bpe.model").read_bytes()
    begin = whole.index(before_table) + len(before_table)
    table = whole[begin:begin + (0x79 | 0x3f << 7 | 0x0e << 14)]
    for name in MODELS.keys() - {"bpe"}:
        file = out / f"{name}.model"
        file.write_bytes(file.read_bytes().replace(table, b""))


def main():
    text, out = sys.argv[1], pathlib.Path(sys.argv[2])
    models = {}
    for name, options in MODELS.items():
        settings = dict(vocab_size=400, character_coverage=0.9995, input=text, input_sentence_size=4000,
                        shuffle_input_sentence=False, num_threads=1, minloglevel=2) | options
        sentencepiece.SentencePieceTrainer.train(model_prefix=str(out / name), **settings)
        (out / f"{name}.vocab").unlink()
        processor = sentencepiece.SentencePieceProcessor(model_file=str(out / f"{name}.model"))
        ids = [processor.encode(t) for t in TEXTS]
        models[name] = {"ids": ids, "decoded": [processor.decode(i) for i in ids]}
    cut_tables(out)
    (out / "expected.json").write_text(json.dumps({"texts": TEXTS, "models": models}, separators=(",", ":")))


if __name__ == "__main__":
    main()
