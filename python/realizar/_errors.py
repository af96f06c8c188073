"""The exceptions of this package: one class for each code of the C interface, each with the library's message."""
from __future__ import annotations

import re
from typing import TYPE_CHECKING, Callable, Dict, Optional

from . import _library as c

if TYPE_CHECKING:
    from ._results import Generation


class RealizarError(Exception):
    """Base class: the library refused a call, or failed."""


class InvalidArgumentError(RealizarError, ValueError):
    """The request or an option is wrong, or the model is closed."""


class NotFoundError(RealizarError, FileNotFoundError):
    """A file, or something in it, does not exist."""

    # OSError would show an error number.
    __str__ = Exception.__str__


class FormatError(RealizarError, ValueError):
    """A file breaks its format."""


class UnsupportedError(RealizarError, NotImplementedError):
    """The request is well formed, but the library or the model does not support it."""


class ContextLengthError(RealizarError, ValueError):
    """Prompt and answer do not fit into the context.

    n_prompt: the prompt's tokens; n_ctx: the maximum. 0 if a number is unknown.
    """

    def __init__(self, message: str, n_prompt: int = 0, n_ctx: int = 0) -> None:
        super().__init__(message)
        self.n_prompt = n_prompt
        self.n_ctx = n_ctx


class ResourceExhaustedError(RealizarError, RuntimeError):
    """Memory ran out, or too many requests wait."""


class CancelledError(RealizarError):
    """The model was closed, or loading was stopped. `generation`: a request's answer so far."""

    generation: Optional[Generation] = None


class DeadlineError(RealizarError, TimeoutError):
    """A request's timeout expired, and it was ended. `generation`: the answer so far."""

    __str__ = Exception.__str__
    generation: Optional[Generation] = None


class InternalError(RealizarError, RuntimeError):
    """A fault of the library or of a device."""


_CLASSES: Dict[int, Callable[[str], RealizarError]] = {
    c.INVALID_ARGUMENT: InvalidArgumentError,
    c.NOT_FOUND: NotFoundError,
    c.FORMAT_ERROR: FormatError,
    c.UNSUPPORTED: UnsupportedError,
    c.CONTEXT_LENGTH_EXCEEDED: ContextLengthError,
    c.RESOURCE_EXHAUSTED: ResourceExhaustedError,
    c.CANCELLED: CancelledError,
    c.INTERNAL: InternalError,
}


# Advice in messages for the command line, and its equivalent in Python.
_ADVICE = [
    (re.compile(r"realizar pull (\S+)"), r'realizar.pull("\1")'),
    (re.compile(r"--mirror URL"), "mirror=URL"),
    (re.compile(r"--raw uses"), "Model.generate uses"),
]


def error_of(code: int, message: str) -> RealizarError:
    for pattern, here in _ADVICE:
        message = pattern.sub(here, message)
    return _CLASSES.get(code, InternalError)(message)


def last_error() -> RealizarError:
    """The error of the calling thread's last call, which has failed."""
    code = c.lib.rz_last_error_code()
    message = c.lib.rz_last_error().decode("utf-8", "replace")
    if code == c.CONTEXT_LENGTH_EXCEEDED:
        return ContextLengthError(message, c.lib.rz_last_error_n_prompt(), c.lib.rz_last_error_n_ctx())
    return error_of(code, message)
