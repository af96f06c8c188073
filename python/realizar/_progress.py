"""Progress of loading and downloading."""
from __future__ import annotations

import contextlib
import shutil
import sys
import time
from typing import Callable, Iterator, Optional, TextIO, Union

# Bytes done and in total, both 0 while servers are asked; returning False ends it with CancelledError.
Progress = Callable[[int, int], Optional[bool]]

_WIDTH = 30
_SHORTEST_S = 0.1  # between two drawings


class ProgressBar:
    """Draws a bar with plain characters, for terminals and notebooks. Nothing is drawn for very short loads."""

    def __init__(self, label: str, to: Optional[TextIO] = None) -> None:
        self._label = label
        self._to = sys.stderr if to is None else to
        self._drawn_at = self._began_at = time.monotonic()
        self._n_drawn = 0  # characters of the line
        self._n_before = -1  # bytes from before, such as those of a download that is resumed
        self._total_bytes = 0

    def __call__(self, done_bytes: int, total_bytes: int) -> None:
        now = time.monotonic()
        if total_bytes > 0 and self._n_before < 0:
            self._n_before, self._began_at = done_bytes, now
        self._total_bytes = total_bytes
        if now - self._drawn_at < _SHORTEST_S:
            return
        self._drawn_at = now
        seconds = now - self._began_at
        rate = f"  {(done_bytes - self._n_before) / 1e6 / seconds:.0f} MB/s" if seconds >= 1 else ""
        self._draw(done_bytes, rate)

    def end(self, is_done: bool) -> None:
        """Finishes the line. A file has more bytes than its weights, so the full bar is drawn here."""
        if self._n_drawn == 0:
            return
        if is_done and self._total_bytes > 0:
            self._draw(self._total_bytes)
        self._to.write("\n")
        self._to.flush()

    def _draw(self, done_bytes: int, rate: str = "") -> None:
        if self._total_bytes == 0:
            line = f"{self._label}: asking the server"
        else:
            share = min(1.0, done_bytes / self._total_bytes)
            bar = "#" * round(share * _WIDTH)
            size = f"{done_bytes / 1e6:.0f} of {self._total_bytes / 1e6:.0f} MB"
            line = f"{self._label} [{bar:{_WIDTH}}] {share:4.0%}  {size}{rate}"
        if self._to.isatty():  # a line that wraps could not be redrawn
            line = line[: shutil.get_terminal_size().columns - 1]
        # Overwrites the rest of a longer previous line.
        self._to.write("\r" + line.ljust(self._n_drawn))
        self._to.flush()
        self._n_drawn = len(line)


def _is_watched() -> bool:
    """Whether standard error is a terminal or a notebook's, whose kernel has imported IPython."""
    if sys.stderr is None:
        return False
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return sys.stderr.isatty() or getattr(shell, "kernel", None) is not None


@contextlib.contextmanager
def shown(asked: Union[bool, Progress, None], label: str) -> Iterator[Optional[Progress]]:
    """The progress function to use, if any: the requested one, or by default a bar if a person is watching."""
    if callable(asked):
        yield asked
        return
    if not (_is_watched() if asked is None else asked):
        yield None
        return
    bar = ProgressBar(label)
    try:
        yield bar
    except BaseException:
        bar.end(is_done=False)
        raise
    bar.end(is_done=True)
