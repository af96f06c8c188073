"""Clients that are used as those of OpenAI's package are, with a model in this process behind them."""
from __future__ import annotations

import asyncio
import base64
import math
import os
import pathlib
import struct
import time
from typing import TYPE_CHECKING, Any, List, Literal, Mapping, Optional, Sequence, Union, cast, overload

from . import _library as c
from ._errors import NotFoundError
from ._messages import Messages
from ._model import Model, Prompt
from ._openai_answers import ChatAnswers, CompletionAnswers
from ._openai_fields import ChatFields, CompletionFields, chat_options, completion_options, of_choices, wants_usage
from ._openai_responses import ResponseAnswers, ResponseFields, messages_of, response_options
from ._openai_streams import AsyncChunkStream, Asked, ChunkStream, give, give_async
from ._openai_types import (
    ChatCompletion,
    ChatCompletionChunk,
    Completion,
    CreateEmbeddingResponse,
    Embedding,
    EmbeddingUsage,
    ModelObject,
    Page,
    Response,
    ResponseEvent,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

ResponseInput = Union[str, Sequence[Any]]


def _name_of(model: Union[Model, str, "os.PathLike[str]"]) -> str:
    if isinstance(model, str) and not os.path.exists(model):
        return model
    path = pathlib.Path(model.info.path if isinstance(model, Model) else model)
    return path.stem if path.suffix in (".gguf", ".safetensors") else path.name


class _Client:
    """What both clients share: the model and its name."""

    def __init__(
        self, model: Union[Model, str, "os.PathLike[str]"], *, model_name: Optional[str] = None, **load_options: Any
    ) -> None:
        """model: a loaded one, which stays open when the client is closed, or the path or the name of one. model_name:
        what answers call it; by default its name, or that of its file. load_options: of Model."""
        self._owns_model = not isinstance(model, Model)
        self._model = model if isinstance(model, Model) else Model.load(model, **load_options)
        self._name = model_name or _name_of(model)
        self._created = int(time.time())
        self._fingerprint = f"realizar-{c.lib.rz_version().decode()}"

    def _close(self) -> None:
        if self._owns_model:
            self._model.close()

    def _check(self, name: Optional[str]) -> None:
        if name is not None and name != self._name:
            raise NotFoundError(f"there is no model {name!r}; this client has {self._name!r}")

    def _asked_chat(self, name: Optional[str], fields: Mapping[str, Any]) -> Asked[ChatCompletion, ChatCompletionChunk]:
        self._check(name)
        answers = ChatAnswers(self._model, self._name, self._fingerprint)
        return Asked(answers, of_choices(chat_options(fields), fields), wants_usage(fields))

    def _asked_completion(self, name: Optional[str], fields: Mapping[str, Any]) -> Asked[Completion, Completion]:
        self._check(name)
        answers = CompletionAnswers(self._model, self._name, self._fingerprint)
        return Asked(answers, of_choices(completion_options(fields), fields), wants_usage(fields))

    def _asked_response(self, name: Optional[str], fields: Mapping[str, Any]) -> Asked[Response, ResponseEvent]:
        self._check(name)
        return Asked(ResponseAnswers(self._model, self._name, fields), [response_options(fields)])

    def _models(self) -> Page[ModelObject]:
        return Page([ModelObject(self._name, self._created)])

    def _retrieve(self, name: str) -> ModelObject:
        self._check(name)
        return self._models().data[0]


class _Of:
    def __init__(self, client: _Client) -> None:
        self._client = client
        self._model = client._model


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
        """Answers a conversation, at once or in chunks. Fields are those of ChatFields."""
        asked = self._client._asked_chat(model, fields)
        return give(asked, lambda one: self._model.stream_chat(messages, **one), stream)

    def parse(self, *, messages: Messages, model: Optional[str] = None, **fields: Unpack[ChatFields]) -> ChatCompletion:
        """create, where response_format is a class: choices[0].message.parsed is an instance of it."""
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
        asked = self._client._asked_chat(model, fields)
        return await give_async(asked, lambda one: self._model.astream_chat(messages, **one), stream)

    async def parse(
        self, *, messages: Messages, model: Optional[str] = None, **fields: Unpack[ChatFields]
    ) -> ChatCompletion:
        """create, where response_format is a class: choices[0].message.parsed is an instance of it."""
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
        """Continues a text, or token ids, at once or in chunks. Fields are those of CompletionFields."""
        asked = self._client._asked_completion(model, fields)
        return give(asked, lambda one: self._model.stream(prompt, **one), stream)


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
        asked = self._client._asked_completion(model, fields)
        return await give_async(asked, lambda one: self._model.astream(prompt, **one), stream)


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
        """Answers a text or a list of items, at once or event by event. Fields are those of ResponseFields."""
        asked = self._client._asked_response(model, fields)
        messages = messages_of(input, fields.get("instructions"))
        return give(asked, lambda one: self._model.stream_chat(messages, **one), stream)

    def parse(self, *, input: ResponseInput, model: Optional[str] = None, **fields: Unpack[ResponseFields]) -> Response:
        """create, where text_format is a class: output_parsed is an instance of it."""
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
        asked = self._client._asked_response(model, fields)
        messages = messages_of(input, fields.get("instructions"))
        return await give_async(asked, lambda one: self._model.astream_chat(messages, **one), stream)

    async def parse(
        self, *, input: ResponseInput, model: Optional[str] = None, **fields: Unpack[ResponseFields]
    ) -> Response:
        """create, where text_format is a class: output_parsed is an instance of it."""
        return await self.create(input=input, model=model, **fields)


class _Vectors(_Of):
    def _texts(self, given: Any) -> List[Prompt]:
        is_one = isinstance(given, str) or (len(given) > 0 and isinstance(given[0], int))
        prompts: List[Prompt] = [given] if is_one else list(given)
        if not prompts:
            raise ValueError("input: expected text, actual nothing")
        return prompts

    def _response(
        self, prompts: Sequence[Prompt], vectors: Sequence[List[float]], dimensions: Optional[int], encoding: str
    ) -> CreateEmbeddingResponse:
        if encoding not in ("float", "base64"):
            raise ValueError(f"encoding_format: expected float or base64, actual {encoding!r}")
        data = [Embedding(i, _encoded(_shortened(vector, dimensions), encoding)) for i, vector in enumerate(vectors)]
        n_tokens = sum(len(self._model.tokenize(p) if isinstance(p, str) else p) for p in prompts)
        return CreateEmbeddingResponse(data, self._client._name, EmbeddingUsage(n_tokens, n_tokens))


class _Embeddings(_Vectors):
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
        """Vectors of the length 1. dimensions: the first values of each. timeout: seconds for each text."""
        self._client._check(model)
        prompts = self._texts(input)
        return self._response(prompts, self._model.embed(prompts, timeout=timeout), dimensions, encoding_format)


class _AsyncEmbeddings(_Vectors):
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
        """Vectors of the length 1. dimensions: the first values of each. timeout: seconds for each text."""
        self._client._check(model)
        prompts = self._texts(input)
        vectors = cast("List[List[float]]", await self._model.aembed(prompts, timeout=timeout))
        return self._response(prompts, vectors, dimensions, encoding_format)


def _shortened(vector: List[float], dimensions: Optional[int]) -> List[float]:
    """The first values, of the length 1 again."""
    if dimensions is None:
        return vector
    if not 1 <= dimensions <= len(vector):
        raise ValueError(f"dimensions: expected 1 to {len(vector)}, actual {dimensions}")
    first = vector[:dimensions]
    length = math.sqrt(sum(x * x for x in first)) or 1.0
    return [x / length for x in first]


def _encoded(vector: List[float], encoding: str) -> Union[List[float], str]:
    if encoding == "float":
        return vector
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


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
    """A client as that of OpenAI's package: chat.completions, completions, responses, embeddings, models."""

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
        """Closes the model where the client has loaded it."""
        self._close()

    def __enter__(self) -> OpenAI:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()


class AsyncOpenAI(_Client):
    """The same for asyncio."""

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
        """Closes the model where the client has loaded it."""
        await asyncio.get_running_loop().run_in_executor(None, self._close)

    async def __aenter__(self) -> AsyncOpenAI:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
