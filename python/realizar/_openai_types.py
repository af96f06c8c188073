"""Objects with the attribute names of OpenAI's package: https://platform.openai.com/docs/api-reference"""
from __future__ import annotations

import dataclasses
import functools
import json
import typing
from dataclasses import dataclass, field
from typing import Any, Dict, Generic, Iterator, List, Optional, TypeVar, Union, cast

_T = TypeVar("_T")


def _plain(value: Any, exclude_none: bool) -> Any:
    if isinstance(value, Object):
        return value.model_dump(exclude_none=exclude_none)
    if isinstance(value, list):
        return [_plain(item, exclude_none) for item in value]
    return value


@dataclass
class Object:
    def model_dump(self, *, exclude_none: bool = False, **_: Any) -> Dict[str, Any]:
        """Its attributes as dicts and lists. Only exclude_none of the options of pydantic's method has an effect."""
        values = ((own.name, getattr(self, own.name)) for own in dataclasses.fields(self))
        return {name: _plain(value, exclude_none) for name, value in values if value is not None or not exclude_none}

    def model_dump_json(self, *, indent: Optional[int] = None, exclude_none: bool = False, **_: Any) -> str:
        return json.dumps(self.model_dump(exclude_none=exclude_none), indent=indent, ensure_ascii=False)

    def to_dict(self) -> Dict[str, Any]:
        """Without attributes that are None."""
        return self.model_dump(exclude_none=True)


@dataclass
class PromptTokensDetails(Object):
    cached_tokens: int = 0


@dataclass
class CompletionUsage(Object):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: PromptTokensDetails = field(default_factory=PromptTokensDetails)


@dataclass
class TopLogprob(Object):
    token: str
    logprob: float
    bytes: List[int]


@dataclass
class ChatCompletionTokenLogprob(Object):
    token: str
    logprob: float
    bytes: List[int]
    top_logprobs: List[TopLogprob]


@dataclass
class ChoiceLogprobs(Object):
    content: List[ChatCompletionTokenLogprob]
    refusal: None = None


@dataclass
class Function(Object):
    """name: None in the pieces of a stream after the first."""

    name: Optional[str]
    arguments: str


@dataclass
class ChatCompletionMessageToolCall(Object):
    id: str
    function: Function
    type: str = "function"


@dataclass
class ChatCompletionMessage(Object):
    """reasoning_content: the model's reasoning before it, if its chat template marks that. parsed: the document, if
    response_format requested one."""

    content: Optional[str]
    role: str = "assistant"
    refusal: None = None
    annotations: List[Any] = field(default_factory=list)
    tool_calls: Optional[List[ChatCompletionMessageToolCall]] = None
    reasoning_content: Optional[str] = None
    parsed: Any = None

    def model_dump(self, *, exclude_none: bool = False, **_: Any) -> Dict[str, Any]:
        """A message for the next request, without attributes that OpenAI's package only has in other cases."""
        dump = super().model_dump(exclude_none=exclude_none)
        dump.pop("parsed", None)
        for name in ("tool_calls", "reasoning_content"):
            if dump.get(name) is None:
                dump.pop(name, None)
        return dump


@dataclass
class Choice(Object):
    index: int
    message: ChatCompletionMessage
    finish_reason: str
    logprobs: Optional[ChoiceLogprobs] = None


@dataclass
class ChatCompletion(Object):
    id: str
    created: int
    model: str
    choices: List[Choice]
    usage: CompletionUsage
    system_fingerprint: str
    service_tier: str = "default"
    object: str = "chat.completion"


@dataclass
class ChoiceDeltaToolCall(Object):
    index: int
    function: Function
    id: Optional[str] = None
    type: Optional[str] = None


@dataclass
class ChoiceDelta(Object):
    content: Optional[str] = None
    role: Optional[str] = None
    refusal: None = None
    tool_calls: Optional[List[ChoiceDeltaToolCall]] = None
    reasoning_content: Optional[str] = None


@dataclass
class ChunkChoice(Object):
    index: int
    delta: ChoiceDelta
    finish_reason: Optional[str] = None
    logprobs: Optional[ChoiceLogprobs] = None


@dataclass
class ChatCompletionChunk(Object):
    id: str
    created: int
    model: str
    choices: List[ChunkChoice]
    system_fingerprint: str
    usage: Optional[CompletionUsage] = None
    service_tier: str = "default"
    object: str = "chat.completion.chunk"


@dataclass
class Logprobs(Object):
    tokens: List[str] = field(default_factory=list)
    token_logprobs: List[float] = field(default_factory=list)
    top_logprobs: List[Dict[str, float]] = field(default_factory=list)
    text_offset: List[int] = field(default_factory=list)


@dataclass
class CompletionChoice(Object):
    index: int
    text: str
    finish_reason: Optional[str] = None
    logprobs: Optional[Logprobs] = None


@dataclass
class Completion(Object):
    """usage: None in a stream except for the last chunk, if stream_options request it."""

    id: str
    created: int
    model: str
    choices: List[CompletionChoice]
    system_fingerprint: str
    usage: Optional[CompletionUsage] = None
    object: str = "text_completion"


@dataclass
class Embedding(Object):
    """embedding: with encoding_format "base64" the text of little-endian floats."""

    index: int
    embedding: Union[List[float], str]
    object: str = "embedding"


@dataclass
class EmbeddingUsage(Object):
    prompt_tokens: int
    total_tokens: int


@dataclass
class CreateEmbeddingResponse(Object):
    data: List[Embedding]
    model: str
    usage: EmbeddingUsage
    object: str = "list"


@dataclass
class ResponseOutputText(Object):
    text: str
    annotations: List[Any] = field(default_factory=list)
    type: str = "output_text"


@dataclass
class ResponseOutputMessage(Object):
    id: str
    content: List[ResponseOutputText]
    status: str = "completed"
    role: str = "assistant"
    type: str = "message"


@dataclass
class ResponseReasoningText(Object):
    text: str
    type: str = "reasoning_text"


@dataclass
class ResponseReasoningItem(Object):
    id: str
    content: List[ResponseReasoningText]
    summary: List[Any] = field(default_factory=list)
    status: str = "completed"
    type: str = "reasoning"


@dataclass
class ResponseFunctionToolCall(Object):
    id: str
    call_id: str
    name: str
    arguments: str
    status: str = "completed"
    type: str = "function_call"


@dataclass
class InputTokensDetails(Object):
    cached_tokens: int = 0


@dataclass
class ResponseUsage(Object):
    input_tokens: int
    output_tokens: int
    total_tokens: int
    input_tokens_details: InputTokensDetails = field(default_factory=InputTokensDetails)


@dataclass
class IncompleteDetails(Object):
    reason: str


ResponseItem = Union[ResponseOutputMessage, ResponseReasoningItem, ResponseFunctionToolCall]


@dataclass
class Response(Object):
    id: str
    created_at: float
    model: str
    output: List[ResponseItem]
    status: str
    usage: Optional[ResponseUsage] = None
    incomplete_details: Optional[IncompleteDetails] = None
    instructions: Optional[str] = None
    max_output_tokens: Optional[int] = None
    temperature: Optional[float] = None
    top_p: Optional[float] = None
    metadata: Dict[str, str] = field(default_factory=dict)
    output_parsed: Any = None
    error: None = None
    object: str = "response"

    @property
    def output_text(self) -> str:
        messages = (item for item in self.output if isinstance(item, ResponseOutputMessage))
        return "".join(part.text for message in messages for part in message.content)


@dataclass
class ResponseEvent(Object):
    """An event of a stream: its type determines which attributes it has, the others are None."""

    type: str
    sequence_number: int
    response: Optional[Response] = None
    item: Optional[ResponseItem] = None
    part: Optional[ResponseOutputText] = None
    item_id: Optional[str] = None
    output_index: Optional[int] = None
    content_index: Optional[int] = None
    delta: Optional[str] = None
    text: Optional[str] = None
    arguments: Optional[str] = None


@dataclass
class ModelObject(Object):
    id: str
    created: int
    owned_by: str = "realizar"
    object: str = "model"


@dataclass
class Page(Object, Generic[_T]):
    data: List[_T]
    object: str = "list"

    def __iter__(self) -> Iterator[_T]:
        return iter(self.data)


def read(kind: Any, value: Any) -> Any:
    """The value as an object of that type, if there is one, without fields that the type does not know."""
    arguments = typing.get_args(kind)
    if value is None or kind is float:
        return value if value is None else float(value)
    if typing.get_origin(kind) is list and isinstance(value, list):
        return [read(arguments[0], item) for item in value]
    if typing.get_origin(kind) is Union:
        return read(_meant(arguments, value), value)
    if not (isinstance(kind, type) and issubclass(kind, Object)):
        return value
    hints: Dict[str, Any] = _hints(cast(Any, kind))
    own = [one for one in dataclasses.fields(kind) if one.name in value or _is_required(one)]
    return kind(**{one.name: read(hints[one.name], value.get(one.name)) for one in own})


@functools.lru_cache(maxsize=None)
def _hints(kind: Any) -> Dict[str, Any]:
    return typing.get_type_hints(kind)


def _is_required(own: "dataclasses.Field[Any]") -> bool:
    return own.default is dataclasses.MISSING and own.default_factory is dataclasses.MISSING


def _meant(kinds: Any, value: Any) -> Any:
    """The class among several whose type is the value's."""
    classes = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Object)]
    if len(classes) > 1:
        classes = [kind for kind in classes if getattr(kind, "type", None) == value.get("type")]
    others = [kind for kind in kinds if typing.get_origin(kind) is not None]
    return classes[0] if classes else others[0] if others else None
