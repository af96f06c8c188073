"""An HTTP transport that a model in this process answers, for the package openai and packages built on it."""
from __future__ import annotations

import asyncio
import functools
import os
import sys
from typing import TYPE_CHECKING, Any, AsyncIterator, Iterator, Optional, Tuple, Union

from ._errors import NotFoundError, RealizarError
from ._model import Model
from ._openai import _Client
from ._requests import HttpRequest, OnEnd, Outcome
from ._streams import AsyncStream, Begin, Stream

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._loading import LoadOptions

# Status, content type and bytes.
_Part = Tuple[int, str, bytes]


class HttpTransport:
    """For clients of the package httpx or httpx2, which openai uses, and their AsyncClient: answers every request like
    `realizar serve`, whatever host it is sent to, without a server. It has the routes that a model answers
    (docs/api.md), except for Ollama's, and /v1/models. The body's model and the client's timeouts have no effect.
    Closing the client closes a model that the transport has loaded.

    >>> transport = realizar.HttpTransport("model.gguf")
    >>> client = openai.OpenAI(base_url="http://realizar/v1", api_key="none",
    http_client=httpx.Client(transport=transport)) """

    def __init__(
        self,
        model: Union[Model, str, "os.PathLike[str]"],
        *,
        model_name: Optional[str] = None,
        **load_options: Unpack[LoadOptions],
    ) -> None:
        """model: a loaded one, or the path or the name of one. model_name: its name in answers; by default its own, or
        its file's. load_options: see Model."""
        self._client = _Client(model, model_name=model_name, **load_options)

    # httpx calls these. Requests and answers are objects of its own.

    def handle_request(self, request: Any) -> Any:
        body, package = request.read(), _package_of(request)
        try:
            answer = self._answer_without_model(request, package)
            if answer is not None:
                return answer
            stream: Stream[_Part] = Stream(self._client._model, self._begin(request, body), _finish)
            status, content_type, text = next(stream)
        except RealizarError as error:
            return _refused(error, request, package)
        content = _bytes_class(package)(text, stream)
        return package.Response(status, headers={"content-type": content_type}, stream=content)

    async def handle_async_request(self, request: Any) -> Any:
        body, package = await request.aread(), _package_of(request)
        try:
            answer = self._answer_without_model(request, package)
            if answer is not None:
                return answer
            stream: AsyncStream[_Part] = AsyncStream(self._client._model, self._begin(request, body), _finish)
            status, content_type, text = await stream.__anext__()
        except RealizarError as error:
            return _refused(error, request, package)
        content = _async_bytes_class(package)(text, stream)
        return package.Response(status, headers={"content-type": content_type}, stream=content)

    def close(self) -> None:
        self._client._close()

    async def aclose(self) -> None:
        await asyncio.get_running_loop().run_in_executor(None, self.close)

    def __enter__(self) -> HttpTransport:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> HttpTransport:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _answer_without_model(self, request: Any, package: Any) -> Any:
        models, path = self._client._models(), request.url.path.rstrip("/")
        if request.method == "GET" and path == "/v1/models":
            return package.Response(200, json=models.model_dump())
        if request.method == "GET" and path == f"/v1/models/{models.data[0].id}":
            return package.Response(200, json=models.data[0].model_dump())
        if request.method != "POST":
            raise NotFoundError(f"there is no {request.method} {path} here")
        return None

    def _begin(self, request: Any, body: bytes) -> Begin:
        client, path = self._client, request.url.path

        def begin(on_bytes: Any, on_end: OnEnd) -> HttpRequest:
            begun = HttpRequest(client._model._engine, on_bytes, on_end)
            begun.begin_body(path, body, client._name, {})
            return begun

        return begin


def _package_of(request: Any) -> Any:
    """httpx or httpx2, whichever made the request, so that neither is imported here."""
    return sys.modules[type(request).__module__.partition(".")[0]]


def _finish(outcome: Outcome) -> Any:
    if isinstance(outcome, BaseException):
        raise outcome
    return None


def _refused(error: RealizarError, request: Any, package: Any) -> Any:
    if isinstance(error, NotFoundError):
        told = {"message": str(error), "type": "invalid_request_error", "param": None, "code": "not_found"}
        return package.Response(404, json={"error": told})
    raise package.ConnectError(str(error), request=request) from error


# The bytes of an answer, for the package's classes of streams.


@functools.lru_cache(maxsize=None)
def _bytes_class(package: Any) -> Any:
    return type("Bytes", (_Bytes, package.SyncByteStream), {})


@functools.lru_cache(maxsize=None)
def _async_bytes_class(package: Any) -> Any:
    return type("AsyncBytes", (_AsyncBytes, package.AsyncByteStream), {})


class _Bytes:
    def __init__(self, first: bytes, rest: "Stream[_Part]") -> None:
        self._first = first
        self._rest = rest

    def __iter__(self) -> Iterator[bytes]:
        yield self._first
        for _, _, text in self._rest:
            yield text

    def close(self) -> None:
        self._rest.close()


class _AsyncBytes:
    def __init__(self, first: bytes, rest: "AsyncStream[_Part]") -> None:
        self._first = first
        self._rest = rest

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._first
        async for _, _, text in self._rest:
            yield text

    async def aclose(self) -> None:
        await self._rest.aclose()
