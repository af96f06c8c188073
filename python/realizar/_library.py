"""The functions and structs of include/realizar/realizar.h, declared for ctypes, and the loaded library.

The names of structs and fields are the header's; tests/test_declarations.py checks each field's offset against a C
compiler's.
"""
from __future__ import annotations

import ctypes
import pathlib
from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    c_char_p,
    c_double,
    c_float,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_uint32,
    c_uint64,
    c_void_p,
)
from typing import Any, Type, TypeVar

# Codes of rz_last_error_code.
INVALID_ARGUMENT, NOT_FOUND, FORMAT_ERROR, UNSUPPORTED = 1, 2, 3, 4
CONTEXT_LENGTH_EXCEEDED, RESOURCE_EXHAUSTED, CANCELLED, INTERNAL = 5, 6, 7, 8
# finish_reason of rz_result.
FINISH_REASONS = ("stop", "length", "context", "cancelled", "deadline", "error")
# Kinds of rz_part.
PART_KINDS = ("reasoning", "content", "call_begin", "call_arguments", "call_end")
# must_call and pooling of rz_request.
CALL_SOME, CALL_ONE = 1, 2
POOL_MODEL, POOL_RANK = 3, 4

ProgressCallback = CFUNCTYPE(c_int, c_uint64, c_uint64, c_void_p)
PullCallback = CFUNCTYPE(c_int, c_char_p, c_uint64, c_uint64, c_void_p)


class rz_load_options(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("backend", c_char_p),
        ("kv_type", c_char_p),
        ("n_threads", c_uint32),
        ("n_ctx", c_uint32),
        ("isa", c_char_p),
        ("devices", POINTER(c_uint32)),
        ("n_devices", c_size_t),
        ("split", c_char_p),
        ("n_gpu_layers", c_int32),
        ("gpu_memory_mb", c_uint64),
        ("host_cache_mb", c_int64),
        ("choose", c_char_p),
        ("check", c_int),
        ("max_seqs", c_uint32),
        ("max_batch_tokens", c_uint32),
        ("kv_tokens", c_uint32),
        ("draft_path", c_char_p),
        ("n_draft", c_uint32),
        ("host_memory_mb", c_uint64),
        ("layer_dir", c_char_p),
        ("max_prefill_tokens", c_uint32),
        ("n_contexts", c_uint32),
        ("no_idle_prefill", c_int),
        ("global_priority", c_int),
        ("warm_up", c_int),
        ("on_progress", ProgressCallback),
        ("on_progress_user", c_void_p),
        ("n_kept_states", c_uint32),
        ("loras", POINTER(c_char_p)),
        ("n_loras", c_size_t),
        ("max_loras", c_uint32),
        ("max_lora_rank", c_uint32),
        ("no_guesses", c_int),
        ("models_store", c_char_p),
        ("ends", POINTER(c_char_p)),
        ("n_ends", c_size_t),
        ("no_ends", POINTER(c_char_p)),
        ("n_no_ends", c_size_t),
        ("rope_scaling", c_char_p),
        ("rope_factor", c_double),
        ("rope_original_context", c_uint32),
    ]


class rz_pull_options(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("models_store", c_char_p),
        ("file", c_char_p),
        ("only_if_missing", c_int),
        ("mirror", c_char_p),
        ("token", c_char_p),
        ("ca_file", c_char_p),
        ("on_progress", PullCallback),
        ("on_progress_user", c_void_p),
    ]


class rz_model_info(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("path", c_char_p),
        ("name", c_char_p),
        ("arch", c_char_p),
        ("backend", c_char_p),
        ("gpu_refusal", c_char_p),
        ("check", c_char_p),
        ("n_layers", c_uint32),
        ("d_model", c_uint32),
        ("n_heads", c_uint32),
        ("n_kv_heads", c_uint32),
        ("head_dim", c_uint32),
        ("d_ff", c_uint32),
        ("n_vocab", c_uint32),
        ("n_ctx", c_uint32),
        ("n_ctx_train", c_uint32),
        ("n_params", c_uint64),
        ("file_bytes", c_uint64),
        ("weight_bytes", c_uint64),
        ("kv_bytes", c_uint64),
        ("has_chat_template", c_int),
        ("scratch_bytes", c_uint64),
        ("norm_eps", c_float),
        ("tie_word_embeddings", c_int),
        ("rope_base", c_double),
        ("n_rope_dims", c_uint32),
        ("rope_scale", c_float),
        ("quantization", c_char_p),
    ]


class rz_device(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("weight_bytes", c_uint64),
        ("kv_bytes", c_uint64),
        ("scratch_bytes", c_uint64),
        ("total_bytes", c_uint64),
        ("free_bytes", c_uint64),
    ]


class rz_result(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("finish_reason", c_int),
        ("error_code", c_int),
        ("n_prompt", c_uint32),
        ("n_cached", c_uint32),
        ("n_generated", c_uint32),
        ("n_drafted", c_uint32),
        ("n_accepted", c_uint32),
        ("queue_ms", c_double),
        ("prefill_ms", c_double),
        ("first_token_ms", c_double),
        ("decode_ms", c_double),
        ("embedding", POINTER(c_float)),
        ("n_embedding", c_size_t),
        ("n_preemptions", c_uint32),
        ("prefix_lookup_ms", c_double),
    ]


class rz_logprob(Structure):
    _fields_ = [("id", c_int32), ("logprob", c_float)]


# Texts with a length are void pointers here: c_char_p would end them at a NUL.
class rz_token(Structure):
    _fields_ = [
        ("id", c_int32),
        ("index", c_uint32),
        ("ms", c_double),
        ("logprob", c_float),
        ("top", POINTER(rz_logprob)),
        ("n_top", c_size_t),
        ("text", c_void_p),
        ("n_text_bytes", c_size_t),
        ("device_ms", c_double),
    ]


class rz_parameter(Structure):
    _fields_ = [("name", c_char_p), ("value", c_double)]


class rz_logit_bias(Structure):
    _fields_ = [("id", c_int32), ("bias", c_float)]


class rz_sampler_chain(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("samplers", c_char_p),
        ("dry_breakers", POINTER(c_char_p)),
        ("n_dry_breakers", c_size_t),
    ]


class rz_request(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("ids", POINTER(c_int32)),
        ("n_ids", c_size_t),
        ("parameters", POINTER(rz_parameter)),
        ("n_parameters", c_size_t),
        ("max_tokens", c_uint32),
        ("stop", POINTER(c_char_p)),
        ("n_stop", c_size_t),
        ("stop_tokens", POINTER(c_int32)),
        ("n_stop_tokens", c_size_t),
        ("ignore_eos", c_int),
        ("logprobs", c_int),
        ("n_logprobs", c_uint32),
        ("split_reasoning", c_int),
        ("tools_json", c_char_p),
        ("json_schema", c_char_p),
        ("gbnf", c_char_p),
        ("priority", c_int32),
        ("timeout_ms", c_uint32),
        ("logit_bias", POINTER(rz_logit_bias)),
        ("n_logit_bias", c_size_t),
        ("tenant", c_uint64),
        ("cache_salt", c_uint64),
        ("relaxed_schema", c_int),
        ("must_call", c_int),
        ("pooling", c_int),
        ("chain", POINTER(rz_sampler_chain)),
        ("has_reasoning_budget", c_int),
        ("reasoning_budget", c_uint32),
        ("lora", c_char_p),
        ("lora_scale", c_float),
        ("has_max_tokens", c_int),
        ("has_seed", c_int),
        ("seed", c_uint64),
    ]


class rz_reasoning(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("enabled", c_int),
        ("effort", c_char_p),
        ("budget", c_uint32),
    ]


class rz_respond_options(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("model_name", c_char_p),
        ("tenant", c_uint64),
        ("timeout_ms", c_uint32),
        ("lora", c_char_p),
        ("lora_scale", c_float),
    ]


class rz_response(Structure):
    _fields_ = [("status", c_int), ("content_type", c_char_p)]


class rz_part(Structure):
    _fields_ = [
        ("kind", c_int),
        ("call_idx", c_size_t),
        ("text", c_void_p),
        ("n_bytes", c_size_t),
        ("token", POINTER(rz_token)),
    ]


class rz_sampler_options(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("n_vocab", c_uint32),
        ("parameters", POINTER(rz_parameter)),
        ("n_parameters", c_size_t),
        ("logit_bias", POINTER(rz_logit_bias)),
        ("n_logit_bias", c_size_t),
        ("chain", POINTER(rz_sampler_chain)),
        ("model", c_void_p),
        ("has_seed", c_int),
        ("seed", c_uint64),
    ]


class rz_trace_row(Structure):
    _fields_ = [
        ("op", c_char_p),
        ("is_decode", c_int),
        ("count", c_uint64),
        ("total_ms", c_double),
        ("bytes", c_double),
        ("flops", c_double),
    ]


class rz_trace_phase(Structure):
    _fields_ = [("n_steps", c_uint64), ("n_tokens", c_uint64), ("total_ms", c_double), ("n_computed", c_uint64)]


class rz_trace_totals(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("prefill", rz_trace_phase),
        ("decode", rz_trace_phase),
        ("both", rz_trace_phase),
    ]


class rz_trace_event(Structure):
    _fields_ = [
        ("op", c_char_p),
        ("is_decode", c_int),
        ("layer", c_int32),
        ("start_us", c_double),
        ("duration_us", c_double),
        ("step", c_uint64),
        ("n_tokens", c_uint32),
    ]


DeviceCallback = CFUNCTYPE(None, POINTER(rz_device), c_void_p)
TraceRowCallback = CFUNCTYPE(None, POINTER(rz_trace_row), c_void_p)
TraceEventCallback = CFUNCTYPE(None, POINTER(rz_trace_event), c_void_p)
PartCallback = CFUNCTYPE(c_int, POINTER(rz_part), c_void_p)
EndCallback = CFUNCTYPE(None, c_void_p, c_size_t, POINTER(rz_result), c_void_p)
ResponseCallback = CFUNCTYPE(c_int, POINTER(rz_response), c_void_p, c_size_t, c_void_p)
ResultCallback = CFUNCTYPE(None, c_size_t, c_void_p, c_size_t, POINTER(rz_result), c_void_p)

# The result and the parameters of each function. Models and sessions are void pointers.
_FUNCTIONS = {
    "rz_version": (c_char_p, []),
    "rz_last_error": (c_char_p, []),
    "rz_last_error_code": (c_int, []),
    "rz_last_error_n_prompt": (c_uint32, []),
    "rz_last_error_n_ctx": (c_uint32, []),
    "rz_load": (c_void_p, [c_char_p, POINTER(rz_load_options)]),
    "rz_pull": (c_int64, [c_char_p, POINTER(rz_pull_options), c_void_p, c_size_t]),
    "rz_free": (None, [c_void_p]),
    "rz_get_info": (c_int, [c_void_p, POINTER(rz_model_info)]),
    "rz_tokenize": (c_int64, [c_void_p, c_char_p, c_int, c_int, POINTER(c_int32), c_size_t]),
    "rz_detokenize": (c_int64, [c_void_p, POINTER(c_int32), c_size_t, c_void_p, c_size_t]),
    "rz_apply_chat_template": (c_int64, [c_void_p, c_char_p, POINTER(c_int32), c_size_t]),
    "rz_rank_prompt": (c_int64, [c_void_p, c_char_p, c_char_p, POINTER(c_int32), c_size_t]),
    "rz_plan_reasoning": (c_int64, [c_void_p, POINTER(rz_reasoning), c_char_p, c_size_t, POINTER(c_int64)]),
    "rz_session_open": (c_void_p, [c_void_p, c_uint32]),
    "rz_session_free": (None, [c_void_p]),
    "rz_session_submit": (c_int64, [c_void_p, POINTER(rz_request), PartCallback, EndCallback, c_void_p]),
    "rz_session_respond": (
        c_int64,
        [
            c_void_p,
            c_char_p,
            c_char_p,
            c_size_t,
            POINTER(rz_respond_options),
            ResponseCallback,
            ResultCallback,
            EndCallback,
            c_void_p,
        ],
    ),
    "rz_session_cancel": (c_int, [c_void_p, c_int64]),
    "rz_session_clear_cache": (c_int, [c_void_p]),
    "rz_session_logits": (
        c_int64,
        [c_void_p, POINTER(c_int32), c_size_t, c_uint32, c_uint32, POINTER(c_float), c_size_t],
    ),
    "rz_session_set_trace": (c_int, [c_void_p, c_int]),
    "rz_devices": (c_int64, [c_void_p, DeviceCallback, c_void_p]),
    "rz_trace": (c_int64, [c_void_p, TraceRowCallback, c_void_p]),
    "rz_trace_events": (c_int64, [c_void_p, TraceEventCallback, c_void_p]),
    "rz_get_trace_totals": (c_int, [c_void_p, POINTER(rz_trace_totals)]),
    "rz_trace_note": (c_int64, [c_void_p, c_char_p, c_size_t]),
    "rz_clear_trace": (c_int, [c_void_p]),
    "rz_sampler_new": (c_void_p, [POINTER(rz_sampler_options)]),
    "rz_sample": (c_int64, [c_void_p, POINTER(c_float), c_size_t, POINTER(c_int32), c_size_t]),
    "rz_sampler_reset": (c_int, [c_void_p]),
    "rz_sampler_free": (None, [c_void_p]),
}

_S = TypeVar("_S", bound=Structure)


def new_struct(kind: Type[_S]) -> _S:
    """A struct of zeroes, which mean the defaults, with its size set."""
    return kind(struct_size=ctypes.sizeof(kind))


def bytes_at(address: int | None, n_bytes: int) -> bytes:
    return ctypes.string_at(address, n_bytes) if address else b""


def _load() -> Any:
    path = pathlib.Path(__file__).parent / "lib" / "librealizar.so.0"
    if not path.is_file():
        raise ImportError(f"{path} is missing: this is not an installed wheel; scripts/python-wheel builds one")
    library = ctypes.CDLL(str(path))
    for name, (gives, takes) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype = gives
        function.argtypes = takes
    return library


# Its calls release the GIL; callbacks from its threads take it.
lib = _load()
