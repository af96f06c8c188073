"""How a model is loaded: the options, and the call that does it."""
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
# Whole contexts that the cache holds by default, as those of `realizar serve`.
_DEFAULT_CONTEXTS = 4


class LoadOptions(TypedDict, total=False):
    """What Model and Model.load take by keyword.

    backend: "auto", "cpu", "cuda" or "reference". n_ctx: positions of the context; the model's own, at most 8192, where
    left out. n_threads: all cores where left out. max_seqs: requests that run together, 16 where left out; max_queue:
    that may wait besides, 256. loras: adapters that requests may choose with the option lora, each
    "[NAME=]PATH[:SCALE]", a GGUF file or a folder of PEFT. progress: a bar is drawn on standard error where that is a
    terminal or a notebook's; True: always; False: never; a function is called with bytes done and bytes in all, and ends
    the loading with CancelledError where it gives False.
    models_store: the folder of the models that were pulled; the user's own where left out. rope_scaling: "none",
    "linear", "dynamic" or "yarn" in place of what the file says; the last three need rope_factor, by which the context
    grows. ends, no_ends: tokens, by their names in the vocabulary, that end an answer besides those that the model's
    files name, and that end none. The others are the fields of rz_load_options in realizar.h.
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
    """An rz_model. Raises TypeError for an unknown option, and what derives from RealizarError."""
    check_names(options, LoadOptions)
    label = pathlib.Path(path).name if os.path.exists(path) else str(path)
    with shown(options.get("progress"), label) as progress:
        return _load(path, _c_options(options), progress)


def _load(path: Path, options: c.rz_load_options, progress: Optional[Progress]) -> int:
    raised: List[BaseException] = []

    # Without a progress to tell, this still lets Ctrl-C end the loading.
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
    if not value > 0 or value == float("inf"):  # 0 stands for the default in C
        raise InvalidArgumentError(f"{name}: expected a finite number above 0, actual {value}")
    return value


def _set_number(to: c.rz_load_options, name: str, value: int) -> None:
    setattr(to, name, value)
    if getattr(to, name) != value:  # ctypes cuts what is too large
        raise InvalidArgumentError(f"{name}: {value} is out of range")
