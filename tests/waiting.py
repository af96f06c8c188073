"""Tests wait for an event, however long it takes. The deadline ends a hanging test, and nothing else depends on it."""
import os
import pathlib
import re
import time

DEADLINE_S = 300
# For programs whose speed is not tested: threads that wait for each other also wait for whatever else the machine runs.
ONE_THREAD = ("--threads", "1")


def until(probe, what):
    """Calls `probe` until it returns something true, which is the result."""
    end = time.monotonic() + DEADLINE_S
    while not (answer := probe()):
        if time.monotonic() > end:
            raise AssertionError(f"waited {DEADLINE_S} s in vain for: {what}")
        time.sleep(0.01)
    return answer


def whole_lines(path):
    """The lines of a file that may be in the process of being written: an unfinished one does not count. A missing file
    has none."""
    path = pathlib.Path(path)
    text = path.read_text() if path.exists() else ""
    return [line for line in text.splitlines(keepends=True) if line.endswith("\n")]


def writes_into(process, folder):
    """Whether a process has a file in a folder open for writing: such a file may have no name until it is complete."""
    for link in pathlib.Path(f"/proc/{process.pid}/fd").glob("*"):
        try:
            flags = re.search(r"flags:\s*(\d+)", (link.parent.parent / "fdinfo" / link.name).read_text())
            if os.readlink(link).startswith(f"{folder}/") and int(flags.group(1), 8) & os.O_ACCMODE != os.O_RDONLY:
                return True
        except OSError:
            pass  # it was closed meanwhile, or the process ended
    return False
