"""A loaded model with its session, through the C interface."""
from __future__ import annotations

import array
import contextlib
import ctypes
import json
import os
import threading
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from . import _library as c
from ._errors import InvalidArgumentError, last_error
from ._loading import Path, load_model
from ._options import id_array, text_bytes
from ._requests import in_callback
from ._results import Device, ModelInfo, Trace, TraceEvent, TracePhase, TraceRow

_DEFAULT_MAX_QUEUE = 256


class Engine:
    """Any thread may call any method. A closed engine's methods raise InvalidArgumentError, except for close and
    cancel."""

    def __init__(self, path: Path, options: Mapping[str, Any]) -> None:
        model = load_model(path, options)
        max_queue = options.get("max_queue", _DEFAULT_MAX_QUEUE)
        session = c.lib.rz_session_open(model, max_queue)
        if not session:
            error = last_error()
            c.lib.rz_free(model)
            raise error
        self._model, self._session = model, session
        self._pid = os.getpid()
        self._condition = threading.Condition()
        self._n_users = 0
        self._is_closed = False

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    @contextlib.contextmanager
    def _used(self) -> Iterator[None]:
        """Prevents the engine from being freed during a with block."""
        with self._condition:
            if self._is_closed:
                raise InvalidArgumentError("the model is closed")
            if os.getpid() != self._pid:
                raise InvalidArgumentError("the model was loaded before a fork: load it in this process")
            self._n_users += 1
        try:
            yield
        finally:
            with self._condition:
                self._n_users -= 1
                self._condition.notify_all()

    def close(self) -> None:
        """Cancels running requests, and returns when every end was reported; does nothing if it is closed."""
        if os.getpid() != self._pid:
            return
        with self._condition:
            if self._is_closed:
                return
            self._is_closed = True
            while self._n_users > 0:
                self._condition.wait()
        c.lib.rz_session_free(self._session)
        c.lib.rz_free(self._model)

    def discard(self) -> None:
        """Closes it from wherever the last reference to it was dropped."""
        if in_callback():  # possibly of this very session, which would wait for itself
            threading.Thread(target=self.close).start()
        else:
            self.close()

    def info(self) -> ModelInfo:
        info = c.new_struct(c.rz_model_info)
        with self._used():
            if c.lib.rz_get_info(self._model, ctypes.byref(info)) < 0:
                raise last_error()
            values: Dict[str, Any] = {name: getattr(info, name) for name, _ in info._fields_[1:]}
            devices = self._told(c.DeviceCallback, c.lib.rz_devices)
        for name in ("has_chat_template", "tie_word_embeddings"):
            values[name] = bool(values[name])
        values["devices"] = tuple(Device(**device) for device in devices)
        for name, value in values.items():
            if isinstance(value, bytes):
                values[name] = value.decode("utf-8", "replace")
        return ModelInfo(**values)

    def _told(self, kind: Any, function: Any) -> "List[Dict[str, Any]]":
        """The fields of each struct that a function passes to a callback."""
        told: List[Dict[str, Any]] = []

        def tell(item: Any, _user: Any) -> None:
            values = {name: getattr(item.contents, name) for name, _ in item.contents._fields_}
            told.append({n: v.decode("utf-8", "replace") if isinstance(v, bytes) else v for n, v in values.items()})

        if function(self._model, kind(tell), None) < 0:
            raise last_error()
        return told

    def _checked(self, result: int) -> int:
        if result < 0:
            raise last_error()
        return result

    def clear_cache(self) -> None:
        with self._used():
            self._checked(c.lib.rz_session_clear_cache(self._session))

    def logits(self, ids: Sequence[int], n_prompt: int, n_last: int, n_vocab: int) -> "array.array[float]":
        values = array.array("f", bytes(4 * n_last * n_vocab))
        room = (ctypes.c_float * len(values)).from_buffer(values)
        with self._used():
            given = (id_array(ids), len(ids), n_prompt, n_last, room, len(values))
            self._checked(c.lib.rz_session_logits(self._session, *given))
        return values

    def set_trace(self, on: bool) -> None:
        with self._used():
            self._checked(c.lib.rz_session_set_trace(self._session, on))

    def clear_trace(self) -> None:
        with self._used():
            self._checked(c.lib.rz_clear_trace(self._model))

    def trace(self) -> Trace:
        totals = c.new_struct(c.rz_trace_totals)
        note = ctypes.create_string_buffer(4096)
        with self._used():
            rows = self._told(c.TraceRowCallback, c.lib.rz_trace)
            events = self._told(c.TraceEventCallback, c.lib.rz_trace_events)
            self._checked(c.lib.rz_get_trace_totals(self._model, ctypes.byref(totals)))
            n_note = self._checked(c.lib.rz_trace_note(self._model, note, len(note)))
        prefill, decode, both = (
            TracePhase(*(getattr(part, name) for name, _ in part._fields_))
            for part in (totals.prefill, totals.decode, totals.both)
        )
        for told in (*rows, *events):
            told["is_decode"] = bool(told["is_decode"])
        return Trace(
            rows=tuple(TraceRow(**row) for row in rows),
            events=tuple(TraceEvent(**event) for event in events),
            prefill=prefill,
            decode=decode,
            both=both,
            note=note.raw[:n_note].decode("utf-8", "replace"),
        )

    def tokenize(self, text: str, add_special: bool, parse_special: bool) -> List[int]:
        return self._ids("rz_tokenize", text_bytes(text, "text"), add_special, parse_special)

    def apply_chat_template(self, variables_json: str) -> List[int]:
        return self._ids("rz_apply_chat_template", text_bytes(variables_json, "messages"))

    def rank_prompt(self, query: str, document: str) -> List[int]:
        return self._ids("rz_rank_prompt", text_bytes(query, "query"), text_bytes(document, "document"))

    def plan_reasoning(self, asked: c.rz_reasoning) -> "Tuple[Dict[str, Any], Optional[int]]":
        """Variables of the chat template, and the budget of tokens, if any."""
        budget = ctypes.c_int64(-1)
        room = ctypes.create_string_buffer(1024)
        with self._used():
            n_bytes = c.lib.rz_plan_reasoning(self._model, ctypes.byref(asked), room, len(room), ctypes.byref(budget))
        if n_bytes < 0:
            raise last_error()
        if n_bytes > len(room):
            raise InvalidArgumentError("reasoning_effort: expected a word, actual a long text")
        return json.loads(room.raw[:n_bytes]), None if budget.value < 0 else budget.value

    def _ids(self, function: str, *arguments: Any) -> List[int]:
        """The ids of a function that writes as many as there is room for, and returns their total number."""
        n_room = 512
        with self._used():
            while True:
                room = (ctypes.c_int32 * n_room)()
                n_ids = getattr(c.lib, function)(self._model, *arguments, room, n_room)
                if n_ids < 0:
                    raise last_error()
                if n_ids <= n_room:
                    return room[:n_ids]
                n_room = n_ids

    def detokenize(self, ids: Sequence[int]) -> bytes:
        array = id_array(ids)
        n_room = 16 * len(ids) + 64
        with self._used():
            while True:
                room = ctypes.create_string_buffer(n_room)
                n_bytes = c.lib.rz_detokenize(self._model, array, len(ids), room, n_room)
                if n_bytes < 0:
                    raise last_error()
                if n_bytes <= n_room:
                    return room.raw[:n_bytes]
                n_room = n_bytes

    def submit(self, request: c.rz_request, on_part: Any, on_end: Any, key: int) -> int:
        with self._used():
            number = c.lib.rz_session_submit(self._session, ctypes.byref(request), on_part, on_end, key)
            if number < 0:
                raise last_error()
            return int(number)

    def respond(self, path: str, body: bytes, options: c.rz_respond_options, callbacks: Tuple[Any, ...], key: int) -> int:
        with self._used():
            given = (path.encode(), body, len(body), ctypes.byref(options), *callbacks)
            return self._checked(c.lib.rz_session_respond(self._session, *given, key))

    def cancel(self, number: int) -> None:
        # Closing has already cancelled it.
        with contextlib.suppress(InvalidArgumentError), self._used():
            c.lib.rz_session_cancel(self._session, number)
