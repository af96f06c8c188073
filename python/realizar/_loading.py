"""Loading a model: the options, and the call."""
from __future__ import annotations

import ctypes
import os
import pathlib
from typing import Any, List, Mapping, Optional, Sequence, TypedDict, Union

from . import _library as c
from ._errors import InvalidArgumentError, last_error
from ._options import check_names, path_bytes, text_bytes
from ._progress import Progress, shown

Path = Union[str, "os.PathLike[str]"]

_TEXT_OPTIONS = ("backend", "kv_type", "isa", "split", "choose", "rope_scaling")
_LIST_OPTIONS = ("ends", "no_ends")
_PATH_OPTIONS = ("draft_path", "layer_dir", "models_store")
# Options of the package, which the library does not have.
_OWN_OPTIONS = ("max_queue", "progress")
_DEFAULT_MAX_SEQS = 16
# Whole contexts in the cache by default, as in `realizar serve`.
_DEFAULT_CONTEXTS = 4


class LoadOptions(TypedDict, total=False):
    """The keyword arguments of Model and Model.load.

    backend: "auto", "cpu", "cuda" or "reference". n_ctx: positions of the context; by default the model's own, at most
    8192. n_threads: by default all cores. max_seqs: requests that run together, by default 16; max_queue: how many more
    may wait, 256. loras: adapters that requests may choose with the option lora, each "[NAME=]PATH[:SCALE]", a GGUF
    file or a PEFT folder. progress: by default a bar is drawn on standard error in a terminal or a notebook; True:
    always; False: never; a function is called with bytes done and bytes in total, and ends the loading with
    CancelledError if it returns False.
    models_store: the folder of the models that were pulled; by default the user's own. rope_scaling: "none", "linear",
    "dynamic" or "yarn" instead of the file's setting; the last three require rope_factor, by which the context grows.
    ends, no_ends: tokens, by their names in the vocabulary, that end an answer in addition to those named in the
    model's files, and tokens that do not. The others are the fields of rz_load_options in realizar.h.
    """

    backend: Optional[str]
    n_ctx: Optional[int]
    n_threads: Optional[int]
    max_seqs: int
    max_queue: int
    kv_type: Optional[str]
    kv_tokens: Optional[int]
    n_contexts: Optional[int]
    max_batch_tokens: Optional[int]
    max_prefill_tokens: Optional[int]
    isa: Optional[str]
    devices: Optional[Sequence[int]]
    split: Optional[str]
    n_gpu_layers: Optional[int]
    gpu_memory_mb: Optional[int]
    host_memory_mb: Optional[int]
    host_cache_mb: Optional[int]
    layer_dir: Optional[Path]
    draft_path: Optional[Path]
    n_draft: Optional[int]
    no_guesses: bool
    n_kept_states: Optional[int]
    loras: Optional[Sequence[Path]]
    global_priority: bool
    warm_up: bool
    check: bool
    models_store: Optional[Path]
    ends: Optional[Sequence[str]]
    no_ends: Optional[Sequence[str]]
    rope_scaling: Optional[str]
    rope_factor: Optional[float]
    rope_original_context: Optional[int]
    progress: Union[bool, Progress, None]


def load_model(path: Path, options: Mapping[str, Any]) -> int:
    """An rz_model. Raises TypeError for an unknown option, and subclasses of RealizarError."""
    check_names(options, LoadOptions)
    label = pathlib.Path(path).name if os.path.exists(path) else str(path)
    with shown(options.get("progress"), label) as progress:
        return _load(path, _c_options(options), progress)


def _load(path: Path, options: c.rz_load_options, progress: Optional[Progress]) -> int:
    raised: List[BaseException] = []

    # Even without a progress function, this lets Ctrl-C end the loading.
    def on_progress(done_bytes: int, total_bytes: int, _user: Any) -> int:
        try:
            return 0 if progress is not None and progress(done_bytes, total_bytes) is False else 1
        except BaseException as error:
            raised.append(error)
            return 0

    options.on_progress = c.ProgressCallback(on_progress)
    model = c.lib.rz_load(path_bytes(path, "path"), ctypes.byref(options))
    if raised:
        c.lib.rz_free(model)
        raise raised[0]
    if not model:
        raise last_error()
    return int(model)


def _c_options(options: Mapping[str, Any]) -> c.rz_load_options:
    to = c.new_struct(c.rz_load_options)
    to.max_seqs = _DEFAULT_MAX_SEQS
    for name, value in options.items():
        if value is None or name in _OWN_OPTIONS:
            continue
        if name == "devices":
            to.devices, to.n_devices = (ctypes.c_uint32 * len(value))(*value), len(value)
        elif name == "loras":
            texts = [path_bytes(lora, name) for lora in value]
            to.loras, to.n_loras = (ctypes.c_char_p * max(1, len(texts)))(*texts), len(texts)
        elif name in _LIST_OPTIONS:
            texts = [text_bytes(text, name) for text in ([value] if isinstance(value, str) else value)]
            setattr(to, name, (ctypes.c_char_p * max(1, len(texts)))(*texts))
            setattr(to, f"n_{name}", len(texts))
        elif name in _TEXT_OPTIONS:
            setattr(to, name, text_bytes(value, name))
        elif name in _PATH_OPTIONS:
            setattr(to, name, path_bytes(value, name))
        elif name == "rope_factor":
            to.rope_factor = _positive(float(value), name)
        else:
            _set_number(to, name, int(value))
    if options.get("n_contexts") is None:
        to.n_contexts = min(_DEFAULT_CONTEXTS, to.max_seqs)
    return to


def _positive(value: float, name: str) -> float:
    if not value > 0 or value == float("inf"):  # 0 means the default in C
        raise InvalidArgumentError(f"{name}: expected a finite number above 0, actual {value}")
    return value


def _set_number(to: c.rz_load_options, name: str, value: int) -> None:
    setattr(to, name, value)
    if getattr(to, name) != value:  # ctypes truncates too large values
        raise InvalidArgumentError(f"{name}: {value} is out of range")
