"""Model: the main class of the package."""
from __future__ import annotations

import array
import asyncio
import functools
import json
import os
import queue
import weakref
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Mapping, Optional, Sequence, Union, cast, overload

from . import _library as c
from ._engine import Engine
from ._loading import LoadOptions, Path
from ._messages import Messages, read_messages
from ._options import (
    ChatOptions,
    Options,
    Schema,
    add_tools,
    asked_reasoning,
    asked_schema,
    check_names,
    offered_tools,
    pooled_request,
    text_request,
)
from ._pulling import pull
from ._requests import OnEnd, OnPiece, Outcome, Request, require_no_callback_of
from ._results import Generation, ModelInfo, Piece, Trace
from ._streams import AsyncStream, Begin, Finish, Stream, gather, wait, wait_async
from ._tools import Tool, read_tools

if TYPE_CHECKING:
    from typing_extensions import Unpack

Prompt = Union[str, Sequence[int]]

# Texts of one call of embed or rank that are queued at a time.
_NUMBERS_AT_ONCE = 64


def _finish_text(schema: Optional[Schema], outcome: Outcome) -> Generation:
    if isinstance(outcome, BaseException):
        raise outcome
    answer = cast(Generation, outcome)
    if schema is not None and answer.finish_reason == "stop":
        answer.parsed = schema.parse(answer.text)
    return answer


def _finish_vector(outcome: Outcome) -> List[float]:
    if isinstance(outcome, BaseException):
        raise outcome
    return cast("List[float]", outcome)


class Model:
    """A loaded model. Any thread may call any method; concurrent requests of threads and tasks run in one batch, and
    each gives the same tokens as it would by itself. Use it as a context manager, or close() it.

    For the options of text see Options, for those of chats see ChatOptions; both are keyword arguments.
    """

    def __init__(self, path: Path, **options: Unpack[LoadOptions]) -> None:
        """Loads a .gguf file, a Hugging Face folder, a .safetensors file next to its config, or a model of this machine
        by its name, as `realizar list` shows it. It does not download anything; use pull or from_pretrained for that.
        For the options see LoadOptions.

        Raises NotFoundError, which suggests similar names and how to download a model, FormatError, UnsupportedError
        and other subclasses of RealizarError.
        """
        self._engine = Engine(path, options)
        self._finalizer = weakref.finalize(self, self._engine.discard)
        self.info: ModelInfo = self._engine.info()

    @classmethod
    def load(cls, path: Path, **options: Unpack[LoadOptions]) -> Model:
        """Equivalent to Model(path)."""
        return cls(path, **options)

    @classmethod
    def from_pretrained(
        cls,
        repo_id: str,
        filename: Optional[str] = None,
        *,
        revision: Optional[str] = None,
        token: Optional[str] = None,
        **options: Unpack[LoadOptions],
    ) -> Model:
        """Loads a model from Hugging Face's repository "OWNER/REPO", downloading it first unless this machine has it.
        filename: the GGUF file, or a pattern that only one matches, such as "*q8_0*", ignoring case; by default the
        usual choice for the repository. revision: a branch, tag or commit. token: see pull. options: see LoadOptions.
        """
        name = pull(
            f"hf:{repo_id}@{revision}" if revision else f"hf:{repo_id}",
            file=filename,
            only_if_missing=True,
            progress=options.get("progress"),
            token=token,
            models_store=options.get("models_store"),
        )
        return cls(name, **options)

    def close(self) -> None:
        """Ends running requests with CancelledError, and frees the model. It may be called again. Raises
        InvalidArgumentError in a callback of the model."""
        require_no_callback_of(self._engine)
        self._finalizer.detach()
        self._engine.close()

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = " (closed)" if self._engine.is_closed else ""
        name = self.info.name or os.path.basename(self.info.path)
        return f"<realizar.Model {name!r}, {self.info.arch}, {self.info.quantization}, n_ctx={self.info.n_ctx}{state}>"

    # Text and ids.

    def tokenize(self, text: str, *, add_special: bool = True, parse_special: bool = False) -> List[int]:
        """The text's tokens. add_special: with those that the model expects around a text. parse_special: spellings of
        special tokens become these tokens."""
        return self._engine.tokenize(text, add_special, parse_special)

    def detokenize(self, ids: Sequence[int]) -> str:
        """The text of tokens; control tokens give none."""
        return self._engine.detokenize(ids).decode("utf-8", "replace")

    def token_bytes(self, token_id: int) -> bytes:
        """The text of one token, which may be a part of a character."""
        return self._engine.detokenize([token_id])

    def chat_prompt(
        self,
        messages: Messages,
        *,
        system: Optional[str] = None,
        tools: Optional[Sequence[Tool]] = None,
        **variables: Any,
    ) -> List[int]:
        """The prompt that asks for the next turn of a conversation. system and tools: see ChatOptions. variables:
        further ones for the chat template."""
        given: Dict[str, Any] = {**variables, "messages": read_messages(messages, system)}
        if tools:
            given["tools"] = read_tools(tools)
        return self._engine.apply_chat_template(json.dumps(given))

    # Completions of a prompt, a text or token ids, without a template.

    def __call__(self, prompt: Prompt, *, on_piece: Optional[OnPiece] = None, **options: Unpack[Options]) -> Generation:
        """Equivalent to generate."""
        return self.generate(prompt, on_piece=on_piece, **options)

    def generate(self, prompt: Prompt, *, on_piece: Optional[OnPiece] = None, **options: Unpack[Options]) -> Generation:
        """Continues the prompt. Raises subclasses of RealizarError; ValueError and TypeError for invalid options.

        on_piece: called with each piece as it is generated, on a thread of the model. If it returns False, the answer
        ends, with finish_reason "cancelled"; if it raises an exception, the answer ends too, and the exception is
        raised here.
        """
        return cast(Generation, wait(*self._text(prompt, options), on_piece))

    async def agenerate(
        self, prompt: Prompt, *, on_piece: Optional[OnPiece] = None, **options: Unpack[Options]
    ) -> Generation:
        """generate for asyncio. Cancelling the task ends the request."""
        return cast(Generation, await wait_async(*self._text(prompt, options), on_piece))

    def stream(self, prompt: Prompt, **options: Unpack[Options]) -> Stream[Piece]:
        """The pieces of generate's text as they are generated."""
        return Stream(self, *self._text(prompt, options))

    def astream(self, prompt: Prompt, **options: Unpack[Options]) -> AsyncStream[Piece]:
        """stream for asyncio: `async for piece in model.astream(...)`."""
        return AsyncStream(self, *self._text(prompt, options))

    # Chats.

    def chat(
        self, messages: Messages, *, on_piece: Optional[OnPiece] = None, **options: Unpack[ChatOptions]
    ) -> Generation:
        """Answers a conversation: a text, or messages in the format of OpenAI's API. on_piece: see generate."""
        return cast(Generation, wait(*self._chat(messages, options), on_piece))

    async def achat(
        self, messages: Messages, *, on_piece: Optional[OnPiece] = None, **options: Unpack[ChatOptions]
    ) -> Generation:
        """chat for asyncio. Cancelling the task ends the request."""
        return cast(Generation, await wait_async(*self._chat(messages, options), on_piece))

    def stream_chat(self, messages: Messages, **options: Unpack[ChatOptions]) -> Stream[Piece]:
        """The pieces of chat's answer as they are generated: reasoning, content and calls of tools."""
        return Stream(self, *self._chat(messages, options))

    def astream_chat(self, messages: Messages, **options: Unpack[ChatOptions]) -> AsyncStream[Piece]:
        """stream_chat for asyncio."""
        return AsyncStream(self, *self._chat(messages, options))

    # Numbers.

    def logits(
        self, prompt: Prompt, *, n_prompt: Optional[int] = None, n_last: int = 1
    ) -> "List[array.array[float]]":
        """The logits after each of the last n_last tokens of a text or of token ids: arrays of info.n_vocab floats.
        n_prompt: how many tokens run as a prompt, by default all; the others run one at a time."""
        require_no_callback_of(self._engine)
        ids, n_vocab = self._ids(prompt), self.info.n_vocab
        if not 1 <= n_last <= max(1, len(ids)):
            raise ValueError(f"n_last: expected 1 to {len(ids)}, actual {n_last}")
        values = self._engine.logits(ids, len(ids) if n_prompt is None else n_prompt, n_last, n_vocab)
        return [values[i : i + n_vocab] for i in range(0, len(values), n_vocab)]

    def clear_cache(self) -> None:
        """Removes cached prefixes, and overwrites with zeroes what ended requests have left in memory."""
        self._engine.clear_cache()

    def set_trace(self, on: bool) -> None:
        """Starts or stops recording the time of every operation in the following steps."""
        require_no_callback_of(self._engine)
        self._engine.set_trace(on)

    def trace(self) -> Trace:
        """The recording since the last clear_trace."""
        return self._engine.trace()

    def clear_trace(self) -> None:
        """Discards the recording."""
        self._engine.clear_trace()

    # Vectors.

    @overload
    def embed(self, texts: str, *, timeout: Optional[float] = None) -> List[float]:  # type: ignore[misc]
        ...

    @overload
    def embed(self, texts: Iterable[Prompt], *, timeout: Optional[float] = None) -> List[List[float]]:
        ...

    def embed(
        self, texts: Union[str, Iterable[Prompt]], *, timeout: Optional[float] = None
    ) -> Union[List[float], List[List[float]]]:
        """A normalized vector for each text, or list of token ids; for a single text its vector. timeout: seconds for
        each text."""
        if isinstance(texts, str):
            return cast("List[float]", wait(self._vector(texts, timeout), _finish_vector))
        return self._numbers_of([self._vector(text, timeout) for text in texts])

    async def aembed(
        self, texts: Union[str, Iterable[Prompt]], *, timeout: Optional[float] = None
    ) -> Union[List[float], List[List[float]]]:
        """embed for asyncio. Cancelling the task ends the requests."""
        if isinstance(texts, str):
            return cast("List[float]", await wait_async(self._vector(texts, timeout), _finish_vector))
        return await self._anumbers_of([self._vector(text, timeout) for text in texts])

    # Relevance.

    def rank(self, query: str, documents: Iterable[str], *, timeout: Optional[float] = None) -> List[float]:
        """How well each document answers the query, from 0 to 1, in the order of the documents; for rerankers. timeout:
        seconds for each document."""
        pairs = [self._pair(query, document, timeout) for document in documents]
        return [numbers[0] for numbers in self._numbers_of(pairs)]

    async def arank(self, query: str, documents: Iterable[str], *, timeout: Optional[float] = None) -> List[float]:
        """rank for asyncio. Cancelling the task ends the requests."""
        pairs = [self._pair(query, document, timeout) for document in documents]
        return [numbers[0] for numbers in await self._anumbers_of(pairs)]

    async def _anumbers_of(self, begins: Sequence[Begin]) -> List[List[float]]:
        gate = asyncio.Semaphore(_NUMBERS_AT_ONCE)

        async def one(begin: Begin) -> Any:
            async with gate:
                return await wait_async(begin, _finish_vector)

        return await gather([one(begin) for begin in begins])

    def _numbers_of(self, begins: Sequence[Begin]) -> List[List[float]]:
        ends: "queue.SimpleQueue[Any]" = queue.SimpleQueue()
        numbers: List[List[float]] = [[] for _ in begins]
        requests: List[Request] = []

        def begin(i: int) -> None:
            requests.append(begins[i](None, lambda outcome: ends.put((i, outcome))))
            requests[i].require_awaitable()

        def take_end() -> None:
            i, outcome = ends.get()
            numbers[i] = _finish_vector(outcome)

        try:
            for i in range(len(begins)):
                if i >= _NUMBERS_AT_ONCE:
                    take_end()
                begin(i)
            for _ in range(min(len(begins), _NUMBERS_AT_ONCE)):
                take_end()
        except BaseException:
            for request in requests:
                request.cancel()
            raise
        return numbers

    # Functions that begin requests. All hold the model, so that it is not closed by being dropped during one.

    def _text(self, prompt: Prompt, options: Mapping[str, Any]) -> "tuple[Begin, Finish]":
        check_names(options, Options)
        schema = asked_schema(options)

        def begin(on_piece: Optional[OnPiece], on_end: OnEnd) -> Request:
            return self._begin(text_request(self._ids(prompt), options, schema), on_piece, on_end)

        return begin, functools.partial(_finish_text, schema)

    def _chat(self, messages: Messages, options: Mapping[str, Any]) -> "tuple[Begin, Finish]":
        check_names(options, ChatOptions)
        schema = asked_schema(options)
        tools = offered_tools(options)

        def begin(on_piece: Optional[OnPiece], on_end: OnEnd) -> Request:
            variables = dict(options.get("template_variables") or {})
            asked, budget = asked_reasoning(options), None
            if asked is not None:
                planned, budget = self._engine.plan_reasoning(asked)
                variables = {**planned, **variables}
            ids = self.chat_prompt(messages, system=options.get("system"), tools=tools, **variables)
            request = text_request(ids, options, schema)
            if budget is not None:
                request.has_reasoning_budget, request.reasoning_budget = 1, budget
            add_tools(request, tools, options)
            return self._begin(request, on_piece, on_end)

        return begin, functools.partial(_finish_text, schema)

    def _vector(self, text: Prompt, timeout: Optional[float]) -> Begin:
        def begin(on_piece: Optional[OnPiece], on_end: OnEnd) -> Request:
            return self._begin(pooled_request(self._ids(text), c.POOL_MODEL, timeout), on_piece, on_end)

        return begin

    def _pair(self, query: str, document: str, timeout: Optional[float]) -> Begin:
        def begin(on_piece: Optional[OnPiece], on_end: OnEnd) -> Request:
            ids = self._engine.rank_prompt(query, document)
            return self._begin(pooled_request(ids, c.POOL_RANK, timeout), on_piece, on_end)

        return begin

    def _ids(self, prompt: Prompt) -> Sequence[int]:
        return self.tokenize(prompt) if isinstance(prompt, str) else prompt

    def _begin(self, request: c.rz_request, on_piece: Optional[OnPiece], on_end: OnEnd) -> Request:
        begun = Request(self._engine, on_piece, on_end)
        begun.begin(request)
        return begun
