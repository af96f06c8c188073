"""Downloading models by name."""
from __future__ import annotations

import ctypes
import os
from typing import Any, List, Optional, Union

from . import _library as c
from ._errors import last_error
from ._options import path_bytes, text_bytes
from ._progress import Progress, shown

_MAX_NAME_BYTES = 4096


def pull(
    name: str,
    *,
    file: Optional[str] = None,
    only_if_missing: bool = False,
    progress: Union[bool, Progress, None] = None,
    mirror: Optional[str] = None,
    token: Optional[str] = None,
    ca_file: Union[str, "os.PathLike[str]", None] = None,
    models_store: Union[str, "os.PathLike[str]", None] = None,
) -> str:
    """Downloads the missing parts of a model, like `realizar pull`, and returns its name for Model.

    name: a short name such as "qwen3:1.7b", "hf:OWNER/REPO[:QUANTIZATION or FILE]" for Hugging Face,
    "ollama:NAME[:TAG]" for Ollama's registry, or "https://HOST/FILE.gguf". file: in a Hugging Face repository, a
    pattern that only one GGUF file matches, such as "*q8_0*", ignoring case. only_if_missing: a model that is on this
    machine is used unchanged, without asking a server.

    progress: by default a bar is drawn on standard error in a terminal or a notebook; True: always; False: never; a
    function is called with bytes done and bytes in total, both 0 while servers are asked, and ends the download with
    CancelledError if it returns False. Received data is kept, and the next call resumes; the same holds after Ctrl-C.

    mirror: a server to ask instead of huggingface.co (or HF_ENDPOINT) or Ollama's registry. token: for Hugging Face, or
    for the mirror; by default HF_TOKEN, or the one that Hugging Face's programs keep, neither of which is sent to a
    mirror. ca_file: trusted certificates. models_store: the folder of pulled models; by default the user's own.

    Raises NotFoundError, ResourceExhaustedError for an unreachable server and for a full disk, InvalidArgumentError if
    a server refuses, FormatError for unexpected bytes, and UnsupportedError if this machine has no libcurl.
    """
    options = c.new_struct(c.rz_pull_options)
    options.only_if_missing = only_if_missing
    for field, text in (("file", file), ("mirror", mirror), ("token", token)):
        setattr(options, field, None if text is None else text_bytes(text, field))
    for field, path in (("ca_file", ca_file), ("models_store", models_store)):
        setattr(options, field, None if path is None else path_bytes(path, field))
    with shown(progress, name) as told:
        return _pull(name, options, told)


def _pull(name: str, options: c.rz_pull_options, progress: Optional[Progress]) -> str:
    raised: List[BaseException] = []

    # Even without a progress function, this lets Ctrl-C end the download.
    def on_progress(_file: bytes, done_bytes: int, total_bytes: int, _user: Any) -> int:
        try:
            return 0 if raised or (progress is not None and progress(done_bytes, total_bytes) is False) else 1
        except BaseException as error:
            raised.append(error)
            return 0

    options.on_progress = c.PullCallback(on_progress)
    room = ctypes.create_string_buffer(_MAX_NAME_BYTES)
    n_bytes = c.lib.rz_pull(text_bytes(name, "name"), ctypes.byref(options), room, len(room))
    if raised:
        raise raised[0]
    if n_bytes < 0:
        raise last_error()
    return room.raw[:n_bytes].decode()
