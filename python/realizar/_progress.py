"""How far loading is."""
from __future__ import annotations

import sys
import time
from typing import Callable, Optional, TextIO, Union

# Bytes done and in all; False ends the loading with CancelledError.
Progress = Callable[[int, int], Optional[bool]]

_WIDTH = 30
_SHORTEST_S = 0.1  # between two drawings


class ProgressBar:
    """Draws a bar with plain characters, for terminals and notebooks. Loading that is short shows none."""

    def __init__(self, label: str, to: Optional[TextIO] = None) -> None:
        self._label = label
        self._to = sys.stderr if to is None else to
        self._drawn_at = time.monotonic()
        self._is_shown = False
        self._total_bytes = 0

    def __call__(self, done_bytes: int, total_bytes: int) -> None:
        self._total_bytes = total_bytes
        now = time.monotonic()
        if now - self._drawn_at < _SHORTEST_S:
            return
        self._drawn_at, self._is_shown = now, True
        self._draw(done_bytes, total_bytes)

    def end(self, is_loaded: bool) -> None:
        """Leaves the line. A file has more bytes than its weights, so that the full bar is drawn here."""
        if not self._is_shown:
            return
        if is_loaded:
            self._draw(self._total_bytes, self._total_bytes)
        self._to.write("\n")
        self._to.flush()

    def _draw(self, done_bytes: int, total_bytes: int) -> None:
        share = min(1.0, done_bytes / max(1, total_bytes))
        bar = "#" * round(share * _WIDTH)
        size = f"{done_bytes / 1e6:.0f} of {total_bytes / 1e6:.0f} MB"
        self._to.write(f"\r{self._label} [{bar:{_WIDTH}}] {share:4.0%}  {size}")
        self._to.flush()


def progress_of(asked: Union[bool, Progress], label: str) -> Optional[Progress]:
    if asked is True:
        return ProgressBar(label)
    return asked or None
