"""Whole answers and streams in OpenAI's words, from the streams of a Model."""
from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, AsyncIterator, Callable, Generic, Iterator, List, Sequence, TypeVar, Union, cast

from ._openai_answers import Answers, Heard
from ._streams import AsyncStream, Stream

_Chunk = TypeVar("_Chunk")
_Whole = TypeVar("_Whole")


class ChunkStream(Generic[_Chunk]):
    """The chunks of an answer as they come; close(), or leaving a with block, ends its requests."""

    def __init__(self, answers: Answers[Any, _Chunk], streams: Sequence[Stream], tells_usage: bool) -> None:
        self._streams = streams
        self._chunks = self._tell(answers, tells_usage)

    def __iter__(self) -> Iterator[_Chunk]:
        return self

    def __next__(self) -> _Chunk:
        return cast(_Chunk, next(self._chunks))

    def close(self) -> None:
        for stream in self._streams:
            stream.close()
        self._chunks.close()

    def __enter__(self) -> ChunkStream[_Chunk]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _tell(self, answers: Answers[Any, _Chunk], tells_usage: bool) -> Any:
        choices = [Heard(index) for index in range(len(self._streams))]
        for heard, stream in zip(choices, self._streams):
            yield from answers.begin(heard.index)
            for piece in stream:
                heard.take(piece)
                yield from answers.piece(heard, piece)
            heard.generation = stream.generation or heard.generation
            yield from answers.end(heard)
        if tells_usage:
            yield answers.usage(choices)


class AsyncChunkStream(Generic[_Chunk]):
    """The same for `async for`."""

    def __init__(self, answers: Answers[Any, _Chunk], streams: Sequence[AsyncStream], tells_usage: bool) -> None:
        self._streams = streams
        self._chunks = self._tell(answers, tells_usage)

    def __aiter__(self) -> AsyncIterator[_Chunk]:
        return self

    async def __anext__(self) -> _Chunk:
        try:
            return cast(_Chunk, await self._chunks.__anext__())
        except asyncio.CancelledError:
            await self.close()
            raise

    async def close(self) -> None:
        for stream in self._streams:
            await stream.aclose()
        await self._chunks.aclose()

    async def __aenter__(self) -> AsyncChunkStream[_Chunk]:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _tell(self, answers: Answers[Any, _Chunk], tells_usage: bool) -> Any:
        choices = [Heard(index) for index in range(len(self._streams))]
        for heard, stream in zip(choices, self._streams):
            for chunk in answers.begin(heard.index):
                yield chunk
            async for piece in stream:
                heard.take(piece)
                for chunk in answers.piece(heard, piece):
                    yield chunk
            heard.generation = stream.generation or heard.generation
            for chunk in answers.end(heard):
                yield chunk
        if tells_usage:
            yield answers.usage(choices)


def _hear_all(answers: Answers[_Whole, Any], streams: Sequence[Stream]) -> _Whole:
    choices = []
    try:
        for index, stream in enumerate(streams):
            heard = Heard(index)
            for piece in stream:
                heard.take(piece)
            heard.generation = stream.generation or heard.generation
            choices.append(heard)
    finally:
        for stream in streams:
            stream.close()
    return answers.whole(choices)


async def _hear_all_async(answers: Answers[_Whole, Any], streams: Sequence[AsyncStream]) -> _Whole:
    choices = []
    try:
        for index, stream in enumerate(streams):
            heard = Heard(index)
            async for piece in stream:
                heard.take(piece)
            heard.generation = stream.generation or heard.generation
            choices.append(heard)
    finally:
        for stream in streams:
            await stream.aclose()
    return answers.whole(choices)


async def _begin_all(streams: Sequence[AsyncStream]) -> None:
    try:
        for stream in streams:
            await stream.begin()
    except BaseException:
        for stream in streams:
            await stream.aclose()
        raise


def _begin_each(make: Callable[[Any], Stream], options: Sequence[Any]) -> List[Stream]:
    streams: List[Stream] = []
    try:
        for one in options:
            streams.append(make(one))
    except BaseException:
        for stream in streams:
            stream.close()
        raise
    return streams


@dataclass
class Asked(Generic[_Whole, _Chunk]):
    """A request to a client: what builds its answer, and the options of each choice."""

    answers: Answers[_Whole, _Chunk]
    options: Sequence[Any]
    tells_usage: bool = False


def give(
    asked: Asked[_Whole, _Chunk], begin: Callable[[Any], Stream], is_stream: bool
) -> Union[_Whole, ChunkStream[_Chunk]]:
    """The answer, whole or in chunks. begin: starts a choice with its options."""
    streams = _begin_each(begin, asked.options)
    if is_stream:
        return ChunkStream(asked.answers, streams, asked.tells_usage)
    return _hear_all(asked.answers, streams)


async def give_async(
    asked: Asked[_Whole, _Chunk], begin: Callable[[Any], AsyncStream], is_stream: bool
) -> Union[_Whole, AsyncChunkStream[_Chunk]]:
    """The same for asyncio."""
    streams = [begin(one) for one in asked.options]
    await _begin_all(streams)
    if is_stream:
        return AsyncChunkStream(asked.answers, streams, asked.tells_usage)
    whole: _Whole = await _hear_all_async(asked.answers, streams)
    return whole
