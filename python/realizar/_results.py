"""The results of requests."""
from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, List, Literal, Optional, Tuple

PieceKind = Literal["reasoning", "content", "call_begin", "call_arguments", "call_end"]
FinishReason = Literal["stop", "length", "context", "cancelled", "deadline"]


@dataclass(frozen=True)
class Token:
    """A generated token.

    logprob: natural logarithm of its probability; None unless requested. top: the likeliest tokens and their logprobs,
    likeliest first. ms: time since the previous token; for the first: since the request. device_ms: the part of it in
    which the device computed; the host used the rest.
    """

    id: int
    logprob: Optional[float] = None
    top: Tuple[Tuple[int, float], ...] = ()
    ms: float = 0.0
    device_ms: float = 0.0


@dataclass(frozen=True)
class Piece:
    """A piece of an answer; str(piece) is its text.

    kind: the kind of its text: "reasoning", "content", or for a tool call its name ("call_begin"), a piece of its
    arguments' JSON ("call_arguments") or nothing ("call_end"). call_idx: the index of the call. tokens: those since the
    previous piece.
    """

    text: str
    kind: PieceKind = "content"
    call_idx: int = 0
    tokens: Tuple[Token, ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        return self.text


@dataclass
class ToolCall:
    """arguments_json: a JSON object; incomplete if the call was cut."""

    name: str
    arguments_json: str = ""

    @property
    def arguments(self) -> Any:
        """The arguments as an object. Raises ValueError if the call was cut."""
        return json.loads(self.arguments_json or "{}")


_SHOWN_CHARACTERS = 80


@dataclass(repr=False)
class Generation:
    """A whole answer.

    finish_reason: "stop" (an end token or a stop string), "length" (max_tokens) or "context" (it is full). parsed: with
    schema=, the document: an instance of the model class, or the result of json.loads; None if the answer was cut.
    n_cached: how many of the prompt's n_prompt tokens came from the cache. n_preemptions: how often it was preempted
    from lack of memory.
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
    """A device's memory for a model. total_bytes and free_bytes: of the whole device, after the model was loaded; 0,
    which means unknown, for the host's own memory."""

    name: str
    weight_bytes: int
    kv_bytes: int
    scratch_bytes: int
    total_bytes: int
    free_bytes: int


@dataclass(frozen=True)
class TraceRow:
    """The operations of one name in the steps of one phase. bytes: weights and cache that they had to read; flops:
    multiplications and additions that they had to do."""

    op: str
    is_decode: bool
    count: int
    total_ms: float
    bytes: float
    flops: float


@dataclass(frozen=True)
class TraceEvent:
    """One operation of a step. start_us: since the load began. layer: -1: none. step: counted from 0 since the trace
    was cleared; n_tokens: computed in it."""

    op: str
    is_decode: bool
    layer: int
    start_us: float
    duration_us: float
    step: int
    n_tokens: int


@dataclass(frozen=True)
class TracePhase:
    """n_tokens: results of the steps, read from prompts or generated; n_computed: including rejected drafts."""

    n_steps: int
    n_tokens: int
    total_ms: float
    n_computed: int


@dataclass(frozen=True)
class Trace:
    """The recording of traced steps. note: how they differ from others; "": not at all."""

    rows: Tuple[TraceRow, ...]
    events: Tuple[TraceEvent, ...]
    prefill: TracePhase
    decode: TracePhase
    both: TracePhase
    note: str


@dataclass(frozen=True)
class ModelInfo:
    """A loaded model's properties. backend: device, kernels and threads, for people. quantization: "Q4_K_M" if the file
    names its mixture of types, otherwise the type of most of its bytes. scratch_bytes: activations, and other memory
    for computing steps. rope_base, n_rope_dims, rope_scale: how positions rotate queries and keys in the layers that
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
