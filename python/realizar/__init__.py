"""realizar: loads a GGUF or SafeTensors language model and generates text with it, in this process.

>>> import realizar
>>> model = realizar.Model("model.gguf")
>>> print(model.chat("What is the capital of France?").text)

docs/python.md has more.
"""
from ._errors import (
    CancelledError,
    ContextLengthError,
    DeadlineError,
    FormatError,
    InternalError,
    InvalidArgumentError,
    NotFoundError,
    RealizarError,
    ResourceExhaustedError,
    UnsupportedError,
)
from ._http import HttpTransport
from ._library import lib as _lib
from ._loading import LoadOptions
from ._model import Model
from ._openai import AsyncOpenAI, OpenAI
from ._options import ChatOptions, Options, SamplerOptions
from ._pulling import pull
from ._results import (
    Device,
    Generation,
    ModelInfo,
    Piece,
    Token,
    ToolCall,
    Trace,
    TraceEvent,
    TracePhase,
    TraceRow,
)
from ._sampler import Sampler
from ._streams import AsyncStream, Stream

__version__: str = _lib.rz_version().decode()

__all__ = [
    "AsyncOpenAI",
    "AsyncStream",
    "CancelledError",
    "ChatOptions",
    "ContextLengthError",
    "DeadlineError",
    "Device",
    "FormatError",
    "Generation",
    "HttpTransport",
    "InternalError",
    "InvalidArgumentError",
    "LoadOptions",
    "Model",
    "ModelInfo",
    "NotFoundError",
    "OpenAI",
    "Options",
    "Piece",
    "RealizarError",
    "ResourceExhaustedError",
    "Sampler",
    "SamplerOptions",
    "Stream",
    "Token",
    "ToolCall",
    "Trace",
    "TraceEvent",
    "TracePhase",
    "TraceRow",
    "UnsupportedError",
    "pull",
]
