"""Clients with the interface of OpenAI's package, answered by a model in this process."""
from __future__ import annotations

import asyncio
import base64
import inspect
import os
import pathlib
import struct
import time
from typing import TYPE_CHECKING, Any, Dict, Generic, Literal, Optional, Sequence, TypeVar, Union, overload

from ._errors import NotFoundError
from ._messages import Messages
from ._model import Model, Prompt
from ._openai_fields import (
    Body,
    ChatFields,
    CompletionFields,
    ResponseFields,
    chat_body,
    completion_body,
    embedding_body,
    response_body,
)
from ._openai_streams import AsyncChunkStream, ChunkStream, give, give_async
from ._openai_types import (
    ChatCompletion,
    ChatCompletionChunk,
    Completion,
    CreateEmbeddingResponse,
    ModelObject,
    Page,
    Response,
    ResponseEvent,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

ResponseInput = Union[str, Sequence[Any]]
_Answer = TypeVar("_Answer")


def _name_of(model: Union[Model, str, "os.PathLike[str]"]) -> str:
    if isinstance(model, str) and not os.path.exists(model):
        return model
    path = pathlib.Path(model.info.path if isinstance(model, Model) else model)
    return path.stem if path.suffix in (".gguf", ".safetensors") else path.name


class _Client:
    """The common part of both clients: the model and its name."""

    def __init__(
        self, model: Union[Model, str, "os.PathLike[str]"], *, model_name: Optional[str] = None, **load_options: Any
    ) -> None:
        """model: a loaded one, which stays open when the client is closed, or the path or the name of one. model_name:
        its name in answers; by default its own, or its file's. load_options: see Model."""
        self._owns_model = not isinstance(model, Model)
        self._model = model if isinstance(model, Model) else Model.load(model, **load_options)
        self._name = model_name or _name_of(model)
        self._created = int(time.time())

    def _close(self) -> None:
        if self._owns_model:
            self._model.close()

    def _check(self, name: Optional[str]) -> None:
        if name is not None and name != self._name:
            raise NotFoundError(f"there is no model {name!r}; this client has {self._name!r}")

    def _give(self, name: Optional[str], body: Body, whole: Any, chunk: Any) -> Any:
        self._check(name)
        return give(self._model, self._name, body, whole, chunk)

    async def _give_async(self, name: Optional[str], body: Body, whole: Any, chunk: Any) -> Any:
        self._check(name)
        return await give_async(self._model, self._name, body, whole, chunk)

    def _models(self) -> Page[ModelObject]:
        return Page([ModelObject(self._name, self._created)])

    def _retrieve(self, name: str) -> ModelObject:
        self._check(name)
        return self._models().data[0]


class RawResponse(Generic[_Answer]):
    """The result of with_raw_response: parse() is the answer. Without HTTP there are no headers."""

    def __init__(self, answer: _Answer) -> None:
        self._answer = answer
        self.headers: Dict[str, str] = {}
        self.status_code = 200

    def parse(self) -> _Answer:
        return self._answer


class _Raw:
    """The methods of another object, whose answers are returned as RawResponse."""

    def __init__(self, methods: Any) -> None:
        self._methods = methods

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._methods, name)

        def call(**fields: Any) -> Any:
            return RawResponse(method(**fields))

        async def call_async(**fields: Any) -> Any:
            return RawResponse(await method(**fields))

        return call_async if inspect.iscoroutinefunction(method) else call


class _Of:
    def __init__(self, client: _Client) -> None:
        self._client = client

    @property
    def with_raw_response(self) -> Any:
        return _Raw(self)


class _ChatCompletions(_Of):
    @overload
    def create(
        self,
        *,
        messages: Messages,
        model: Optional[str] = None,
        stream: Literal[False] = False,
        **fields: Unpack[ChatFields],
    ) -> ChatCompletion:
        ...

    @overload
    def create(
        self, *, messages: Messages, model: Optional[str] = None, stream: Literal[True], **fields: Unpack[ChatFields]
    ) -> ChunkStream[ChatCompletionChunk]:
        ...

    def create(self, *, messages: Messages, model: Optional[str] = None, stream: bool = False, **fields: Any) -> Any:
        """Answers a conversation, at once or in chunks. For the fields see ChatFields."""
        return self._client._give(model, chat_body(messages, fields, stream), ChatCompletion, ChatCompletionChunk)

    def parse(self, *, messages: Messages, model: Optional[str] = None, **fields: Unpack[ChatFields]) -> ChatCompletion:
        """Like create, with a class as response_format: choices[0].message.parsed is an instance of it."""
        return self.create(messages=messages, model=model, **fields)


class _AsyncChatCompletions(_Of):
    @overload
    async def create(
        self,
        *,
        messages: Messages,
        model: Optional[str] = None,
        stream: Literal[False] = False,
        **fields: Unpack[ChatFields],
    ) -> ChatCompletion:
        ...

    @overload
    async def create(
        self, *, messages: Messages, model: Optional[str] = None, stream: Literal[True], **fields: Unpack[ChatFields]
    ) -> AsyncChunkStream[ChatCompletionChunk]:
        ...

    async def create(
        self, *, messages: Messages, model: Optional[str] = None, stream: bool = False, **fields: Any
    ) -> Any:
        """Answers a conversation, at once or in chunks. Cancelling the task ends the requests."""
        return await self._client._give_async(model, chat_body(messages, fields, stream), ChatCompletion, ChatCompletionChunk)

    async def parse(
        self, *, messages: Messages, model: Optional[str] = None, **fields: Unpack[ChatFields]
    ) -> ChatCompletion:
        """Like create, with a class as response_format: choices[0].message.parsed is an instance of it."""
        return await self.create(messages=messages, model=model, **fields)


class _Completions(_Of):
    @overload
    def create(
        self,
        *,
        prompt: Prompt,
        model: Optional[str] = None,
        stream: Literal[False] = False,
        **fields: Unpack[CompletionFields],
    ) -> Completion:
        ...

    @overload
    def create(
        self, *, prompt: Prompt, model: Optional[str] = None, stream: Literal[True], **fields: Unpack[CompletionFields]
    ) -> ChunkStream[Completion]:
        ...

    def create(self, *, prompt: Prompt, model: Optional[str] = None, stream: bool = False, **fields: Any) -> Any:
        """Continues a text, or token ids, at once or in chunks. For the fields see CompletionFields."""
        return self._client._give(model, completion_body(prompt, fields, stream), Completion, Completion)


class _AsyncCompletions(_Of):
    @overload
    async def create(
        self,
        *,
        prompt: Prompt,
        model: Optional[str] = None,
        stream: Literal[False] = False,
        **fields: Unpack[CompletionFields],
    ) -> Completion:
        ...

    @overload
    async def create(
        self, *, prompt: Prompt, model: Optional[str] = None, stream: Literal[True], **fields: Unpack[CompletionFields]
    ) -> AsyncChunkStream[Completion]:
        ...

    async def create(self, *, prompt: Prompt, model: Optional[str] = None, stream: bool = False, **fields: Any) -> Any:
        """Continues a text, or token ids, at once or in chunks. Cancelling the task ends the requests."""
        return await self._client._give_async(model, completion_body(prompt, fields, stream), Completion, Completion)


class _Responses(_Of):
    @overload
    def create(
        self,
        *,
        input: ResponseInput,
        model: Optional[str] = None,
        stream: Literal[False] = False,
        **fields: Unpack[ResponseFields],
    ) -> Response:
        ...

    @overload
    def create(
        self,
        *,
        input: ResponseInput,
        model: Optional[str] = None,
        stream: Literal[True],
        **fields: Unpack[ResponseFields],
    ) -> ChunkStream[ResponseEvent]:
        ...

    def create(self, *, input: ResponseInput, model: Optional[str] = None, stream: bool = False, **fields: Any) -> Any:
        """Answers a text or a list of items, at once or event by event. For the fields see ResponseFields."""
        return self._client._give(model, response_body(input, fields, stream), Response, ResponseEvent)

    def parse(self, *, input: ResponseInput, model: Optional[str] = None, **fields: Unpack[ResponseFields]) -> Response:
        """Like create, with a class as text_format: output_parsed is an instance of it."""
        return self.create(input=input, model=model, **fields)


class _AsyncResponses(_Of):
    @overload
    async def create(
        self,
        *,
        input: ResponseInput,
        model: Optional[str] = None,
        stream: Literal[False] = False,
        **fields: Unpack[ResponseFields],
    ) -> Response:
        ...

    @overload
    async def create(
        self,
        *,
        input: ResponseInput,
        model: Optional[str] = None,
        stream: Literal[True],
        **fields: Unpack[ResponseFields],
    ) -> AsyncChunkStream[ResponseEvent]:
        ...

    async def create(
        self, *, input: ResponseInput, model: Optional[str] = None, stream: bool = False, **fields: Any
    ) -> Any:
        """Answers a text or a list of items, at once or event by event. Cancelling the task ends the request."""
        return await self._client._give_async(model, response_body(input, fields, stream), Response, ResponseEvent)

    async def parse(
        self, *, input: ResponseInput, model: Optional[str] = None, **fields: Unpack[ResponseFields]
    ) -> Response:
        """Like create, with a class as text_format: output_parsed is an instance of it."""
        return await self.create(input=input, model=model, **fields)


def _vectors(answer: CreateEmbeddingResponse, encoding_format: str) -> CreateEmbeddingResponse:
    for one in answer.data:
        if encoding_format == "float" and isinstance(one.embedding, str):
            data = base64.b64decode(one.embedding)
            one.embedding = list(struct.unpack(f"<{len(data) // 4}f", data))
    return answer


class _Embeddings(_Of):
    def create(
        self,
        *,
        input: Union[Prompt, Sequence[Prompt]],
        model: Optional[str] = None,
        dimensions: Optional[int] = None,
        encoding_format: str = "float",
        user: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> CreateEmbeddingResponse:
        """Normalized vectors. dimensions: only the first values of each. timeout: seconds for each text."""
        body = embedding_body(input, dimensions, encoding_format, timeout)
        return _vectors(self._client._give(model, body, CreateEmbeddingResponse, None), encoding_format)


class _AsyncEmbeddings(_Of):
    async def create(
        self,
        *,
        input: Union[Prompt, Sequence[Prompt]],
        model: Optional[str] = None,
        dimensions: Optional[int] = None,
        encoding_format: str = "float",
        user: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> CreateEmbeddingResponse:
        """Normalized vectors. dimensions: only the first values of each. timeout: seconds for each text."""
        body = embedding_body(input, dimensions, encoding_format, timeout)
        answer = await self._client._give_async(model, body, CreateEmbeddingResponse, None)
        return _vectors(answer, encoding_format)


class _Models(_Of):
    def list(self) -> Page[ModelObject]:
        return self._client._models()

    def retrieve(self, model: str) -> ModelObject:
        return self._client._retrieve(model)


class _AsyncModels(_Of):
    async def list(self) -> Page[ModelObject]:
        return self._client._models()

    async def retrieve(self, model: str) -> ModelObject:
        return self._client._retrieve(model)


class _Chat:
    def __init__(self, client: _Client) -> None:
        self.completions = _ChatCompletions(client)


class _AsyncChat:
    def __init__(self, client: _Client) -> None:
        self.completions = _AsyncChatCompletions(client)


class OpenAI(_Client):
    """A client like that of OpenAI's package: chat.completions, completions, responses, embeddings, models."""

    def __init__(
        self, model: Union[Model, str, "os.PathLike[str]"], *, model_name: Optional[str] = None, **load_options: Any
    ) -> None:
        super().__init__(model, model_name=model_name, **load_options)
        self.chat = _Chat(self)
        self.completions = _Completions(self)
        self.responses = _Responses(self)
        self.embeddings = _Embeddings(self)
        self.models = _Models(self)

    def close(self) -> None:
        """Closes the model if the client has loaded it."""
        self._close()

    def __enter__(self) -> OpenAI:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()


class AsyncOpenAI(_Client):
    """The client for asyncio."""

    def __init__(
        self, model: Union[Model, str, "os.PathLike[str]"], *, model_name: Optional[str] = None, **load_options: Any
    ) -> None:
        super().__init__(model, model_name=model_name, **load_options)
        self.chat = _AsyncChat(self)
        self.completions = _AsyncCompletions(self)
        self.responses = _AsyncResponses(self)
        self.embeddings = _AsyncEmbeddings(self)
        self.models = _AsyncModels(self)

    async def close(self) -> None:
        """Closes the model if the client has loaded it."""
        await asyncio.get_running_loop().run_in_executor(None, self._close)

    async def __aenter__(self) -> AsyncOpenAI:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
