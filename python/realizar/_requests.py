"""Running requests, as reported by the session's callbacks."""
from __future__ import annotations

import itertools
import json
import math
import threading
from dataclasses import replace
from typing import Any, Callable, Dict, List, Mapping, Optional, Union

from . import _library as c
from ._errors import (
    CancelledError,
    ContextLengthError,
    DeadlineError,
    InvalidArgumentError,
    RealizarError,
    error_of,
)
from ._options import respond_options
from ._results import Generation, Piece, Token, ToolCall

# The end of a request: a Generation, a vector or an answer's JSON, or an exception to raise.
Outcome = Union[Generation, List[float], bytes, BaseException]
OnPiece = Callable[[Piece], object]
OnBytes = Callable[[Any], object]
OnEnd = Callable[[Outcome], None]

# Fields of Generation that rz_result has too.
_NUMBERS = (
    "n_prompt",
    "n_cached",
    "n_generated",
    "n_preemptions",
    "queue_ms",
    "prefix_lookup_ms",
    "prefill_ms",
    "first_token_ms",
    "decode_ms",
)

_open: Dict[int, "Request"] = {}
_keys = itertools.count(1)
_callback = threading.local()


def in_callback() -> bool:
    """Whether this is a session's thread, on which no session may be closed."""
    return getattr(_callback, "engine", None) is not None


def require_no_callback_of(engine: Any) -> None:
    """Raises on the thread that calls the engine's callbacks: waiting for the engine on it would never end."""
    if getattr(_callback, "engine", None) == id(engine):
        raise InvalidArgumentError("a callback cannot wait for another answer of its own model, or close it")


class Request:
    """on_piece and on_end are called on the session's thread; on_end once, perhaps before begin returns."""

    def __init__(self, engine: Any, on_piece: Optional[OnPiece], on_end: OnEnd) -> None:
        self._engine = engine
        self._on_piece = on_piece
        self._on_end = on_end
        self._answer = Generation()
        self._new_tokens: List[Token] = []
        self._failure: Optional[BaseException] = None
        self._is_refused = False
        self._number = 0

    def begin(self, request: c.rz_request) -> None:
        self._begin(lambda key: int(self._engine.submit(request, _ON_PART, _ON_END, key)))

    def _begin(self, submit: Callable[[int], int]) -> None:
        key = next(_keys)
        _open[key] = self
        try:
            self._number = submit(key)
        except BaseException:
            _open.pop(key, None)
            raise

    def require_awaitable(self) -> None:
        """Raises, and ends the request, if this thread is the one that would report its end."""
        try:
            require_no_callback_of(self._engine)
        except InvalidArgumentError:
            self.cancel()
            raise

    def cancel(self) -> None:
        """Ends it within a step of the engine. Any thread; does nothing if it is over."""
        if self._number > 0:
            self._engine.cancel(self._number)

    def take(self, part: c.rz_part) -> bool:
        """Stores a part and reports it. False if no more are wanted."""
        _callback.engine = id(self._engine)
        if self._failure is not None:
            return False
        try:
            self._keep(part)
        except BaseException as error:  # raised by the call that waits for the request's end
            self._failure = error
        return self._failure is None and not self._is_refused

    def end(self, text: str, result: c.rz_result) -> None:
        _callback.engine = id(self._engine)
        self._on_end(self._outcome(text, result))

    def _keep(self, part: c.rz_part) -> None:
        if part.token:
            token = _token(part.token.contents)
            self._answer.tokens.append(token)
            self._new_tokens.append(token)
        text = c.bytes_at(part.text, part.n_bytes).decode("utf-8", "replace")
        kind = c.PART_KINDS[part.kind]
        if kind == "reasoning":
            self._answer.reasoning += text
        elif kind == "call_begin":
            self._answer.calls.append(ToolCall(text))
        elif kind == "call_arguments":
            self._answer.calls[-1].arguments_json += text
        if self._on_piece is None or (not text and kind in ("reasoning", "content")):
            return
        tokens, self._new_tokens = tuple(self._new_tokens), []
        piece = Piece(text, kind, part.call_idx, tokens)  # type: ignore[arg-type]
        self._is_refused = self._on_piece(piece) is False

    def _outcome(self, text: str, result: c.rz_result) -> Outcome:
        if self._failure is not None:
            return self._failure
        reason = c.FINISH_REASONS[result.finish_reason]
        if reason == "error":
            return error_of(result.error_code, text)
        answer = self._answer
        answer.text = text
        answer.finish_reason = reason  # type: ignore[assignment]
        for name in _NUMBERS:
            setattr(answer, name, getattr(result, name))
        if reason in ("cancelled", "deadline") and not self._is_refused:
            return _cut(answer)
        if result.embedding:
            return list(result.embedding[: result.n_embedding])
        return answer


class BodyRequest(Request):
    """A body of OpenAI's API. on_bytes is called with a stream's events; otherwise the outcome is the whole answer."""

    def __init__(self, engine: Any, on_bytes: Optional[OnBytes], on_end: OnEnd) -> None:
        super().__init__(engine, None, on_end)
        self._on_bytes = on_bytes
        self._text = b""

    def begin_body(self, path: str, body: bytes, name: str, beside: Mapping[str, Any]) -> None:
        options = respond_options(name, beside)
        callbacks = (_ON_BYTES, _ON_RESULT, _ON_END)
        self._begin(lambda key: int(self._engine.respond(path, body, options, callbacks, key)))

    def take_bytes(self, status: int, _content_type: str, text: bytes) -> None:
        _callback.engine = id(self._engine)
        if self._on_bytes is None or status != 200:
            self._text += text
        else:
            self._on_bytes(text)

    def take_result(self, result: c.rz_result) -> None:
        """The end of one of its choices."""
        self._answer = Generation()
        self._outcome("", result)

    def end(self, text: str, result: c.rz_result) -> None:
        _callback.engine = id(self._engine)
        reason = c.FINISH_REASONS[result.finish_reason]
        if reason == "error":
            self._on_end(self._error(text, result.error_code))
        elif reason in ("cancelled", "deadline"):
            self._on_end(_cut(replace(self._answer, finish_reason=reason)))
        else:
            self._on_end(self._text)

    def _error(self, message: str, code: int) -> RealizarError:
        if code == c.CONTEXT_LENGTH_EXCEEDED:
            told = json.loads(self._text)["error"]
            return ContextLengthError(message, told.get("n_prompt_tokens", 0), told.get("n_ctx", 0))
        # A reference in the body to something that is not stored.
        return error_of(c.INVALID_ARGUMENT if code == c.NOT_FOUND else code, message)


class HttpRequest(BodyRequest):
    """A body whose answer is returned as over HTTP, including refusals: on_bytes is called with status, content type
    and bytes, and the outcome is empty."""

    def take_bytes(self, status: int, content_type: str, text: bytes) -> None:
        _callback.engine = id(self._engine)
        assert self._on_bytes is not None
        self._on_bytes((status, content_type, text))

    def end(self, text: str, result: c.rz_result) -> None:
        if c.FINISH_REASONS[result.finish_reason] == "cancelled":
            super().end(text, result)
        else:
            _callback.engine = id(self._engine)
            self._on_end(b"")


def _cut(answer: Generation) -> RealizarError:
    error: Union[CancelledError, DeadlineError]
    if answer.finish_reason == "deadline":
        error = DeadlineError("the request's timeout has passed")
    else:
        error = CancelledError("the request was cancelled")
    error.generation = answer
    return error


def _token(token: c.rz_token) -> Token:
    top = tuple((token.top[i].id, token.top[i].logprob) for i in range(token.n_top))
    return Token(token.id, None if math.isnan(token.logprob) else token.logprob, top, token.ms, token.device_ms)


def _on_part(part: Any, key: int) -> int:
    request = _open.get(key)
    return 1 if request is not None and request.take(part.contents) else 0


def _on_end(text: Optional[int], n_bytes: int, result: Any, key: int) -> None:
    request = _open.pop(key, None)
    if request is not None:
        request.end(c.bytes_at(text, n_bytes).decode("utf-8", "replace"), result.contents)


def _on_bytes(response: Any, text: Optional[int], n_bytes: int, key: int) -> int:
    request = _open.get(key)
    if not isinstance(request, BodyRequest):
        return 0
    head = response.contents
    request.take_bytes(head.status, head.content_type.decode(), c.bytes_at(text, n_bytes))
    return 1


def _on_result(_idx: int, _text: Optional[int], _n_bytes: int, result: Any, key: int) -> None:
    request = _open.get(key)
    if isinstance(request, BodyRequest):
        request.take_result(result.contents)


# One pair of callbacks serves all requests, since callbacks must outlive their calls: the key identifies the request.
_ON_PART = c.PartCallback(_on_part)
_ON_END = c.EndCallback(_on_end)
_ON_BYTES = c.ResponseCallback(_on_bytes)
_ON_RESULT = c.ResultCallback(_on_result)
