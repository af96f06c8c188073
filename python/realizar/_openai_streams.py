"""Whole answers and streams in OpenAI's classes, from a session's answers to their bodies."""
from __future__ import annotations

import asyncio
import json
from collections import deque
from typing import Any, AsyncIterator, Deque, Generic, Iterator, List, Type, TypeVar, Union, cast

from ._model import Model
from ._openai_fields import Body
from ._openai_types import ChatCompletion, Object, Response, ResponseEvent, read
from ._options import Schema
from ._requests import BodyRequest, OnEnd, Outcome
from ._streams import AsyncStream, Begin, Stream, wait, wait_async

_Chunk = TypeVar("_Chunk", bound=Object)
_Whole = TypeVar("_Whole", bound=Object)


def _begin(model: Model, name: str, body: Body) -> Begin:
    text = body.text()

    def begin(on_bytes: Any, on_end: OnEnd) -> BodyRequest:
        request = BodyRequest(model._engine, on_bytes, on_end)
        request.begin_body(body.path, text, name, body.beside)
        return request

    return begin


def _finish(outcome: Outcome) -> Any:
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


class _Events(Generic[_Chunk]):
    """Chunks from a stream's bytes. If a stream fails, its last event is raised as an exception."""

    def __init__(self, kind: Type[_Chunk], schema: Union[Schema, None]) -> None:
        self._kind = kind
        self._schema = schema
        self._rest = b""

    def take(self, data: bytes) -> List[_Chunk]:
        *events, self._rest = (self._rest + data).split(b"\n\n")
        lines = [line for event in events for line in event.split(b"\n") if line.startswith(b"data: {")]
        told = [json.loads(line[len(b"data: ") :]) for line in lines]
        return [self._read(event) for event in told if "error" not in event or "type" in event]

    def _read(self, event: Any) -> _Chunk:
        chunk = cast(_Chunk, read(self._kind, event))
        if isinstance(chunk, ResponseEvent) and chunk.response is not None:
            _parse(chunk.response, self._schema)
        return chunk


class ChunkStream(Generic[_Chunk]):
    """The chunks of an answer as they are generated; close(), or leaving a with block, ends its requests."""

    def __init__(self, stream: "Stream[bytes]", events: _Events[_Chunk]) -> None:
        self._stream = stream
        self._events = events
        self._chunks: Deque[_Chunk] = deque()

    def __iter__(self) -> Iterator[_Chunk]:
        return self

    def __next__(self) -> _Chunk:
        while not self._chunks:
            self._chunks.extend(self._events.take(next(self._stream)))
        return self._chunks.popleft()

    def close(self) -> None:
        self._stream.close()
        self._chunks.clear()

    def __enter__(self) -> ChunkStream[_Chunk]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncChunkStream(Generic[_Chunk]):
    """The chunks for `async for`."""

    def __init__(self, stream: "AsyncStream[bytes]", events: _Events[_Chunk]) -> None:
        self._stream = stream
        self._events = events
        self._chunks: Deque[_Chunk] = deque()

    def __aiter__(self) -> AsyncIterator[_Chunk]:
        return self

    async def __anext__(self) -> _Chunk:
        while not self._chunks:
            self._chunks.extend(self._events.take(await self._stream.__anext__()))
        return self._chunks.popleft()

    async def close(self) -> None:
        await self._stream.aclose()
        self._chunks.clear()

    async def __aenter__(self) -> AsyncChunkStream[_Chunk]:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def _whole(kind: Type[_Whole], body: Body, text: bytes) -> _Whole:
    answer = cast(_Whole, read(kind, json.loads(text)))
    _parse(answer, body.schema)
    return answer


def _parse(answer: Any, schema: Union[Schema, None]) -> None:
    """Parses the documents that a class or a schema requested."""
    if schema is None:
        return
    if isinstance(answer, Response) and answer.status == "completed":
        answer.output_parsed = schema.parse(answer.output_text)
    elif isinstance(answer, ChatCompletion):
        for choice in answer.choices:
            if choice.finish_reason == "stop" and choice.message.content is not None:
                choice.message.parsed = schema.parse(choice.message.content)


def give(
    model: Model, name: str, body: Body, whole: Type[_Whole], chunk: Type[_Chunk]
) -> Union[_Whole, ChunkStream[_Chunk]]:
    """The answer, whole or in chunks."""
    begin = _begin(model, name, body)
    if not body.json.get("stream"):
        return _whole(whole, body, wait(begin, _finish))
    stream: Stream[bytes] = Stream(model, begin, _finish)
    next(stream)  # its head: a refused body has none
    return ChunkStream(stream, _Events(chunk, body.schema))


async def give_async(
    model: Model, name: str, body: Body, whole: Type[_Whole], chunk: Type[_Chunk]
) -> Union[_Whole, AsyncChunkStream[_Chunk]]:
    """The answer for asyncio, whole or in chunks. Cancelling the task ends the requests."""
    begin = _begin(model, name, body)
    if not body.json.get("stream"):
        return _whole(whole, body, await wait_async(begin, _finish))
    stream: AsyncStream[bytes] = AsyncStream(model, begin, _finish)
    await stream.__anext__()
    return AsyncChunkStream(stream, _Events(chunk, body.schema))
