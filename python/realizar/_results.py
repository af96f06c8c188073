"""What requests give."""
from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, List, Literal, Optional, Tuple

PieceKind = Literal["reasoning", "content", "call_begin", "call_arguments", "call_end"]
FinishReason = Literal["stop", "length", "context", "cancelled", "deadline"]


@dataclass(frozen=True)
class Token:
    """A generated token.

    logprob: natural logarithm of its probability; None where it was not asked for. top: the likeliest tokens and their
    logprobs, likeliest first. ms: since the token before it; of the first: since the request. device_ms: of that, what
    the device computed for; the host took the rest.
    """

    id: int
    logprob: Optional[float] = None
    top: Tuple[Tuple[int, float], ...] = ()
    ms: float = 0.0
    device_ms: float = 0.0


@dataclass(frozen=True)
class Piece:
    """A piece of an answer; str(piece) is its text.

    kind: what the text is of: "reasoning", "content", or of a tool call its name ("call_begin"), a piece of its
    arguments' JSON ("call_arguments") or nothing ("call_end"). call_idx: which call, from 0. tokens: those that have
    come since the piece before.
    """

    text: str
    kind: PieceKind = "content"
    call_idx: int = 0
    tokens: Tuple[Token, ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        return self.text


@dataclass
class ToolCall:
    """arguments_json: a JSON object; of a call that was cut, as far as it came."""

    name: str
    arguments_json: str = ""

    @property
    def arguments(self) -> Any:
        """The arguments as an object. Raises ValueError where the call was cut."""
        return json.loads(self.arguments_json or "{}")


_SHOWN_CHARACTERS = 80


@dataclass(repr=False)
class Generation:
    """A whole answer.

    finish_reason: "stop" (an end token or a stop string), "length" (max_tokens) or "context" (it is full). parsed: with
    schema=, the document: an instance of the model class, or what json.loads gives; None where the answer was cut.
    n_cached: how many of the prompt's n_prompt tokens came from the cache. n_preemptions: times that it was preempted
    for want of memory.
    """

    text: str = ""
    reasoning: str = ""
    calls: List[ToolCall] = field(default_factory=list)
    tokens: List[Token] = field(default_factory=list)
    finish_reason: FinishReason = "stop"
    parsed: Any = None
    n_prompt: int = 0
    n_cached: int = 0
    n_generated: int = 0
    queue_ms: float = 0.0
    prefill_ms: float = 0.0
    first_token_ms: float = 0.0
    decode_ms: float = 0.0
    n_preemptions: int = 0
    prefix_lookup_ms: float = 0.0

    @property
    def token_ids(self) -> List[int]:
        return [token.id for token in self.tokens]

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        text = self.text
        if len(text) > _SHOWN_CHARACTERS:
            text = text[: _SHOWN_CHARACTERS - 3] + "..."
        calls = f", calls of {', '.join(call.name for call in self.calls)}" if self.calls else ""
        counts = f"n_prompt={self.n_prompt}, n_generated={self.n_generated}"
        return f"<realizar.Generation {text!r}{calls}, {self.finish_reason}, {counts}>"


@dataclass(frozen=True)
class Device:
    """What a device holds of a model. total_bytes and free_bytes: of the device, whoever uses it, once the model was
    loaded; 0, which means unknown, for the host's own memory."""

    name: str
    weight_bytes: int
    kv_bytes: int
    scratch_bytes: int
    total_bytes: int
    free_bytes: int


@dataclass(frozen=True)
class TraceRow:
    """The operations of one name in the steps of one phase. bytes: of weights and cache that they had to read; flops:
    multiplications and additions that they had to do."""

    op: str
    is_decode: bool
    count: int
    total_ms: float
    bytes: float
    flops: float


@dataclass(frozen=True)
class TraceEvent:
    """One operation of a step. start_us: since the load began. layer: -1: of none. step: counted from 0 since the trace
    was cleared; n_tokens: that it computed."""

    op: str
    is_decode: bool
    layer: int
    start_us: float
    duration_us: float
    step: int
    n_tokens: int


@dataclass(frozen=True)
class TracePhase:
    """n_tokens: that came of the steps, read of prompts or generated; n_computed: with wrong guesses."""

    n_steps: int
    n_tokens: int
    total_ms: float
    n_computed: int


@dataclass(frozen=True)
class Trace:
    """What traced steps have recorded. note: how they differ from others; "": not at all."""

    rows: Tuple[TraceRow, ...]
    events: Tuple[TraceEvent, ...]
    prefill: TracePhase
    decode: TracePhase
    both: TracePhase
    note: str


@dataclass(frozen=True)
class ModelInfo:
    """What a loaded model is. backend: device, kernels and threads, for people. quantization: "Q4_K_M" where the file
    names its mixture of types, else the type that most of its bytes have. scratch_bytes: activations, and what
    else steps compute in. rope_base, n_rope_dims, rope_scale: how positions rotate queries and keys in the layers that
    see the whole context."""

    path: str
    name: str
    arch: str
    backend: str
    gpu_refusal: str
    check: str
    n_layers: int
    d_model: int
    n_heads: int
    n_kv_heads: int
    head_dim: int
    d_ff: int
    n_vocab: int
    n_ctx: int
    n_ctx_train: int
    n_params: int
    file_bytes: int
    weight_bytes: int
    kv_bytes: int
    has_chat_template: bool
    scratch_bytes: int
    norm_eps: float
    tie_word_embeddings: bool
    rope_base: float
    n_rope_dims: int
    rope_scale: float
    quantization: str
    devices: Tuple[Device, ...]
