"""Waiting for requests: for the whole answer or piece by piece, and both for asyncio."""
from __future__ import annotations

import asyncio
import contextlib
import functools
import queue
import threading
from typing import Any, AsyncIterator, Awaitable, Callable, Iterator, List, Optional, TypeVar, Union

from ._requests import OnEnd, OnPiece, Outcome, Request
from ._results import Generation

# Begins a request that reports its pieces, or bytes, and its end; `owner`, the model, lives as long as the waiter.
Begin = Callable[[Any, OnEnd], Request]
_Item = TypeVar("_Item")
# Converts a request's end for the caller, or raises it.
Finish = Callable[[Outcome], Any]


def wait(begin: Begin, finish: Finish, on_piece: Optional[OnPiece] = None) -> Any:
    """An exception here, such as KeyboardInterrupt, ends the request. on_piece: returning False ends the request
    too."""
    ends: "queue.SimpleQueue[Outcome]" = queue.SimpleQueue()
    request = begin(on_piece, ends.put)
    request.require_awaitable()
    try:
        outcome = ends.get()
    except BaseException:
        request.cancel()
        raise
    return finish(outcome)


async def _begin_async(begin: Callable[[], Request]) -> Request:
    """On a thread of the pool: compiling a schema would block the event loop. If it is cancelled, the request is ended
    by whichever comes second, that thread or this one."""
    begun: List[Request] = []
    is_left = threading.Event()

    def begin_and_look() -> Request:
        begun.append(begin())
        if is_left.is_set():
            begun[0].cancel()
        return begun[0]

    try:
        return await asyncio.shield(asyncio.get_running_loop().run_in_executor(None, begin_and_look))
    except asyncio.CancelledError:
        is_left.set()
        for request in begun:
            request.cancel()
        raise


def _teller(loop: asyncio.AbstractEventLoop, tell: Callable[[Any], Any]) -> Callable[[Any], None]:
    def on_session_thread(item: Any) -> None:
        # The loop may be closed, and then nobody waits.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(tell, item)

    return on_session_thread


async def wait_async(begin: Begin, finish: Finish, on_piece: Optional[OnPiece] = None) -> Any:
    """Cancelling the task ends the request. on_piece: see wait."""
    loop = asyncio.get_running_loop()
    end: "asyncio.Future[Outcome]" = loop.create_future()

    def tell(outcome: Outcome) -> None:
        if not end.done():
            end.set_result(outcome)

    request = await _begin_async(functools.partial(begin, on_piece, _teller(loop, tell)))
    request.require_awaitable()
    try:
        outcome = await end
    except BaseException:
        request.cancel()
        raise
    return finish(outcome)


class _End:
    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome


class Stream(Iterator[_Item]):
    """An answer's pieces as they are generated. It begins at once; close(), or dropping it, ends the request.

    generation: the whole answer, after the last piece.
    """

    def __init__(self, owner: Any, begin: Begin, finish: Finish) -> None:
        self._request: Optional[Request] = None
        self._owner = owner
        self._finish = finish
        self._news: "queue.SimpleQueue[Union[_Item, _End]]" = queue.SimpleQueue()
        self._is_over = False
        self.generation: Optional[Generation] = None
        news = self._news
        self._request = begin(news.put, lambda outcome: news.put(_End(outcome)))

    def __iter__(self) -> Stream[_Item]:
        return self

    def __next__(self) -> _Item:
        if self._is_over:
            raise StopIteration
        if self._request is not None:
            self._request.require_awaitable()
        item = self._news.get()
        if self._is_over:  # closed by another thread
            raise StopIteration
        if not isinstance(item, _End):
            return item
        self._is_over = True
        self.generation = self._finish(item.outcome)
        raise StopIteration

    def close(self) -> None:
        """Ends the request, from any thread. No further pieces follow."""
        if not self._is_over and self._request is not None:
            self._is_over = True
            self._request.cancel()

    def __enter__(self) -> Stream[_Item]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


class AsyncStream(AsyncIterator[_Item]):
    """The pieces for `async for`. It begins when the first piece is requested; cancelling a task that waits for a piece
    ends the request, as aclose() does."""

    def __init__(self, owner: Any, begin: Begin, finish: Finish) -> None:
        self._request: Optional[Request] = None
        self._owner = owner
        self._begin = begin
        self._finish = finish
        self._news: Optional["asyncio.Queue[Union[_Item, _End]]"] = None
        self._is_over = False
        self.generation: Optional[Generation] = None

    def __aiter__(self) -> AsyncStream[_Item]:
        return self

    async def __anext__(self) -> _Item:
        if self._is_over:
            raise StopAsyncIteration
        try:
            item = await self._next()
        except BaseException:
            self._close()
            raise
        if not isinstance(item, _End):
            return item
        self._is_over = True
        self.generation = self._finish(item.outcome)
        raise StopAsyncIteration

    async def begin(self) -> None:
        """Begins the request now, unless that was done before."""
        if self._news is None:
            self._news = asyncio.Queue()
            tell = _teller(asyncio.get_running_loop(), self._news.put_nowait)
            begin = functools.partial(self._begin, tell, lambda outcome: tell(_End(outcome)))
            self._request = await _begin_async(begin)

    async def _next(self) -> Union[_Item, _End]:
        await self.begin()
        assert self._news is not None and self._request is not None
        self._request.require_awaitable()
        return await self._news.get()

    def _close(self) -> None:
        if not self._is_over:
            self._is_over = True
            if self._request is not None:
                self._request.cancel()

    async def aclose(self) -> None:
        """Ends the request. No further pieces follow."""
        self._close()

    async def __aenter__(self) -> AsyncStream[_Item]:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._close()

    def __del__(self) -> None:
        self._close()


async def gather(waits: List[Awaitable[Any]]) -> List[Any]:
    """All results; if one fails, the others are cancelled."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
