"""Draws from the caller's own logits."""
from __future__ import annotations

import array
import ctypes
import weakref
from typing import TYPE_CHECKING, Any, Iterable, Sequence, cast

from . import _library as c
from ._errors import last_error
from ._options import SamplerOptions, check_names, id_array, sampler_options

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Sampler:
    """Draws tokens from logits, with the same chain as generations: Sampler(n_vocab, temperature=0) chooses the
    likeliest, Sampler(n_vocab, top_k=40, seed=7) draws. For one text; one thread at a time.

    For the options see SamplerOptions; they have the usual defaults, and the seed is 0.
    """

    def __init__(self, n_vocab: int, **options: Unpack[SamplerOptions]) -> None:
        """n_vocab: numbers in a row of logits. Raises InvalidArgumentError for values out of range."""
        check_names(options, SamplerOptions)
        sampler = c.lib.rz_sampler_new(ctypes.byref(sampler_options(n_vocab, options)))
        if not sampler:
            raise last_error()
        self._sampler = sampler
        self._finalizer = weakref.finalize(self, c.lib.rz_sampler_free, sampler)

    def sample(self, logits: Iterable[float], history: Sequence[int] = ()) -> int:
        """The id of the drawn token. logits: n_vocab floats, fastest as an array of 32-bit floats. history: prompt and
        output so far, for penalties; its length is the position that, with the seed, determines the draw."""
        values = _floats(logits)
        room = (ctypes.c_float * len(values)).from_buffer(values)
        token = c.lib.rz_sample(self._sampler, room, len(values), id_array(history), len(history))
        if token < 0:
            raise last_error()
        return int(token)

    def reset(self) -> None:
        """Forgets earlier draws, for another text."""
        c.lib.rz_sampler_reset(self._sampler)


def _floats(logits: Any) -> "array.array[float]":
    if isinstance(logits, array.array) and logits.typecode == "f":
        return cast("array.array[float]", logits)
    values: "array.array[float]" = array.array("f")
    try:
        view = memoryview(logits)
    except TypeError:
        values.extend(logits)
        return values
    if view.format == "f" and view.contiguous:
        values.frombytes(view.tobytes())
    else:
        values.extend(view.tolist())
    return values
