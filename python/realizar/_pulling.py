"""Models that are downloaded by their names."""
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
    """Downloads what this machine lacks of a model, as `realizar pull` does, and gives the name that Model takes for it.

    name: a short name such as "qwen3:1.7b", "hf:OWNER/REPO[:QUANTIZATION or FILE]" of Hugging Face, "ollama:NAME[:TAG]"
    of Ollama's registry, or "https://HOST/FILE.gguf". file: of a repository of Hugging Face the one GGUF file that this
    matches, such as "*q8_0*"; upper and lower case are the same. only_if_missing: a model that is on this machine is
    taken as it is, and no server is asked.

    progress: a bar is drawn on standard error where that is a terminal or a notebook's; True: always; False: never; a
    function is called with bytes done and bytes in all, which are 0 while servers are asked, and ends the download with
    CancelledError where it gives False. What has arrived by then is kept, and the next call resumes; so it is after
    Ctrl-C.

    mirror: a server that is asked in place of huggingface.co (or HF_ENDPOINT) or of Ollama's registry. token: for
    Hugging Face, or for the mirror; where left out HF_TOKEN, or the one that Hugging Face's programs keep, of which a
    mirror gets neither. ca_file: certificates that are trusted. models_store: the folder of pulled models; the user's
    own where left out.

    Raises NotFoundError, ResourceExhaustedError for a server that cannot be reached and for a full disk,
    InvalidArgumentError for what a server refuses, FormatError for bytes that are not what was promised, and
    UnsupportedError where this machine has no libcurl.
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

    # Without a progress to tell, this still lets Ctrl-C end the download.
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
