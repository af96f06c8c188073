"""Writes small models (about 2 MB) whose greedy answers are given texts, with any chat template: any model output can
be passed quickly through parsers, grammars and dialects.

Each token has one successor in a given state; a token of the prompt is followed by the first piece of an answer. A cue
is a word of the prompt that changes the state, and so the answer: an agent's loop first gets a call, and when the
result of the call contains the cue, a text. One attention head finds the cue, at any distance."""
from __future__ import annotations

import collections
import dataclasses
import math
import pathlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from small_model import CONTROL, NORMAL, Vocabulary, byte_letters, gguf_metadata, write_tensors

Matrix = tuple[tuple[int, ...], list[float]]  # shape, numbers
HEAD_DIM, D_FF = 64, 64
END = "<|scripted_end|>"
CUE_GAP = 30.0  # between the attention scores of two cues: the later one gets all attention
# Weights of a token that follows the last one, that belongs to the state, or to another state of the same answer: a
# prompt may end with a special token from the middle of an answer.
FOLLOWS, OF_STATE, OF_ANSWER = 4.0, 2.0, 1.0


@dataclasses.dataclass
class State:
    """The part of an answer written while `cue` is the latest token that changed the state. `pairs`: {token: its
    successor}; None is any token of the prompt."""
    answer: int
    cue: str | None
    pairs: dict[str | None, str] = dataclasses.field(default_factory=dict)


def letters_of(text: str) -> str:
    table = byte_letters()
    return "".join(table[byte] for byte in text.encode())


def split_new(text: str, used: set[str]) -> list[str]:
    """Pieces of two letters or more, as short as possible, that are not in `used`; the text unchanged if there are
    none."""
    pieces: list[str] = []
    while text:
        size = next((n for n in range(2, len(text) - 1) if text[:n] not in used | {*pieces}), len(text))
        pieces.append(text[:size])
        text = text[size:]
    while len(pieces) > 1 and pieces[-1] in used | {*pieces[:-1]}:
        last = pieces.pop()
        pieces[-1] += last
    return pieces


def parts_of(text: str, specials: Sequence[str], used: set[str]) -> list[list[str]]:
    """The tokens of the text: a special one, or the pieces between two of them, which are added to `used`."""
    marks = "|".join(map(re.escape, sorted(specials, key=len, reverse=True)))
    parts = []
    for part in filter(None, re.split(f"({marks})", text) if marks else [text]):
        parts.append([part] if part in specials else split_new(letters_of(part), used))
        used.update(piece for piece in parts[-1] if len(piece) > 1)
    return [*parts, [END]]


def states_of(answers: Mapping[str, str], specials: Sequence[str], used: set[str]) -> list[State]:
    """A state for each answer, and another one after each of its parts, so that special tokens may be repeated."""
    scripts = {cue: parts_of(text, specials, used) for cue, text in answers.items()}
    counts = collections.Counter(token for parts in scripts.values() for part in parts for token in part)
    states: list[State] = []
    for answer, (cue, parts) in enumerate(scripts.items()):
        states.append(State(answer, letters_of(cue) or None))
        before: str | None = None
        for part in parts:
            for piece in part:
                if states[-1].pairs.setdefault(before, piece) != piece:
                    raise ValueError(f"{before!r} is repeated too early in {answers[cue]!r}")
                before = piece
            if len(part[-1]) > 1 and part[-1] not in [*specials, END] and counts[part[-1]] == 1:
                states.append(State(answer, part[-1]))
    return states


def merges_of(cues: Sequence[str]) -> list[str]:
    """Merges that make a token of each cue, letter by letter, if none begins within another."""
    assert not any(one[:2] in other[one == other:] for one in cues for other in cues), cues
    return list(dict.fromkeys(f"{cue[:n]} {cue[n]}" for cue in cues for n in range(1, len(cue))))


def matrix(n_rows: int, n_columns: int, values: Mapping[tuple[int, int], float]) -> Matrix:
    """Zeros except for the given values."""
    numbers = [0.0] * (n_rows * n_columns)
    for (row, column), value in values.items():
        numbers[row * n_columns + column] = value
    return (n_rows, n_columns), numbers


def head_weights(ids: Mapping[str, int], states: Sequence[State]) -> dict[tuple[int, int], float]:
    """{(successor, number of the stream): weight}."""
    written = {token for state in states for token in state.pairs.values() if len(token) > 1}
    prompt = [i for text, i in ids.items() if text not in written]
    weights: dict[tuple[int, int], float] = {}
    for rank, state in enumerate(states):
        ranks = [i for i, other in enumerate(states) if other.answer == state.answer]
        for before, after in state.pairs.items():
            weights |= {(ids[after], token): FOLLOWS for token in ([ids[before]] if before else prompt)}
            places = {(ids[after], len(ids) + i): OF_STATE if i == rank else OF_ANSWER for i in ranks}
            weights |= {place: max(weight, weights.get(place, 0.0)) for place, weight in places.items()}
    return weights


def tensors_of(vocabulary: Vocabulary, states: Sequence[State], d_model: int) -> dict[str, Matrix]:
    """Numbers of the stream: one for each token, then one for each state. The attention head's last number, which its
    rotation does not change, finds cues by their rank; its value is the state."""
    ids = {text: i for i, (text, _) in enumerate(vocabulary.pieces)}
    n_vocab, last = len(ids), HEAD_DIM - 1
    unit = 1 / math.sqrt(d_model)  # after the norm, a token's number is 1 / unit
    ranks = {ids[state.cue]: rank for rank, state in enumerate(states) if state.cue}
    wq = {(last, token): math.sqrt(HEAD_DIM) * unit for token in range(n_vocab)}
    wk = {(last, token): CUE_GAP * unit * rank for token, rank in ranks.items()}
    wv = {(ranks.get(token, 0), token): unit for token in range(n_vocab)}
    ones = (d_model,), [1.0] * d_model
    return {
        "token_embd": matrix(n_vocab, d_model, {(token, token): 1.0 for token in range(n_vocab)}),
        "output": matrix(n_vocab, d_model, head_weights(ids, states)),
        "output_norm": ones, "blk.0.attn_norm": ones, "blk.0.ffn_norm": ones,
        "blk.0.attn_q": matrix(HEAD_DIM, d_model, wq), "blk.0.attn_k": matrix(HEAD_DIM, d_model, wk),
        "blk.0.attn_v": matrix(HEAD_DIM, d_model, wv),
        "blk.0.attn_output": matrix(d_model, HEAD_DIM, {(n_vocab + rank, rank): 1.0 for rank in range(len(states))}),
        "blk.0.ffn_gate": matrix(D_FF, d_model, {}), "blk.0.ffn_up": matrix(D_FF, d_model, {}),
        "blk.0.ffn_down": matrix(d_model, D_FF, {})}


def metadata_of(vocabulary: Vocabulary, merges: Sequence[str], d_model: int, n_ctx: int) -> dict[str, Any]:
    return gguf_metadata(vocabulary) | {
        "general.name": "scripted", "llama.context_length": n_ctx, "llama.embedding_length": d_model,
        "llama.feed_forward_length": D_FF, "llama.attention.head_count": 1, "llama.attention.key_length": HEAD_DIM,
        "llama.attention.value_length": HEAD_DIM, "llama.rope.dimension_count": HEAD_DIM, "llama.rope.freq_base": 1e30,
        "tokenizer.ggml.merges": merges or ["t h"], "tokenizer.ggml.eos_token_id": vocabulary.id(END),
        "tokenizer.ggml.add_bos_token": False}


def write_scripted(path: str | pathlib.Path, template: str, answers: str | Mapping[str, str],
                   specials: Sequence[str] = (), n_ctx: int = 32768) -> str:
    """`answers`: {cue: text}, the first with the cue "", for prompts without one; if a prompt has several cues, the
    last one in `answers` counts. No cue contains the first two letters of another one. `specials`: tokens of the
    template and of the answers that no user can write."""
    texts = {"": answers} if isinstance(answers, str) else dict(answers)
    assert next(iter(texts)) == ""
    merges = merges_of([letters_of(cue) for cue in texts if cue])
    normal = {"th", *(merge.replace(" ", "") for merge in merges)}
    states = states_of(texts, specials, normal)
    assert len(states) <= HEAD_DIM, "the answers have too many parts"
    controls = [*dict.fromkeys([*specials, END])]
    pieces = [(text, CONTROL) for text in controls] + [(text, NORMAL) for text in sorted(normal - {"th", *controls})]
    vocabulary = Vocabulary("gpt2", pieces)
    d_model = (len(vocabulary.pieces) + len(states) + HEAD_DIM - 1) // HEAD_DIM * HEAD_DIM
    metadata = metadata_of(vocabulary, merges, d_model, n_ctx) | {"tokenizer.chat_template": template}
    tensors = tensors_of(vocabulary, states, d_model)
    write_tensors(path, metadata, {f"{name}.weight": tensor for name, tensor in tensors.items()})
    return str(path)
