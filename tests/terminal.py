"""Programs as used by a person at a terminal, for tests."""
import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
import unittest

from waiting import DEADLINE_S


class Terminal:
    """A program in a pseudo-terminal; `test` ends it if it is still running. `stdout`: a file descriptor in place of
    the terminal; `env`: changes to the environment, None to remove a variable."""

    def __init__(self, test, *args, stdout=None, env=None, n_columns=80):
        self.unread = b""
        self.has_ended = False
        try:
            self.pid, self.fd = pty.fork()
        except OSError as error:
            raise unittest.SkipTest(f"there are no pseudo-terminals ({error}): mount devpts at /dev/pts")
        if self.pid == 0:
            for name, value in {"TERM": "dumb", **(env or {})}.items():
                os.environ.pop(name, None) if value is None else os.environ.update({name: value})
            if stdout is not None:
                os.dup2(stdout, 1)
            os.execv(args[0], args)
        test.addCleanup(self.close)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, n_columns, 0, 0))

    def read_until(self, text):
        """The output up to and including `text`; the rest is kept for the next call."""
        end = time.monotonic() + DEADLINE_S
        while text.encode() not in self.unread:
            ready, _, _ = select.select([self.fd], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise AssertionError(f"no {text!r} in {self.unread!r}")
            self.unread += os.read(self.fd, 4096)
        end = self.unread.index(text.encode()) + len(text.encode())
        got, self.unread = self.unread[:end], self.unread[end:]
        return got.decode(errors="replace")

    def send(self, text):
        os.write(self.fd, text.encode())

    def close(self):
        """Hangs up, and waits for the end: files that a program still writes then, such as a shell's history, would
        prevent removing its folder."""
        os.close(self.fd)
        if self.has_ended:
            return
        process = os.pidfd_open(self.pid)
        if not select.select([process], [], [], DEADLINE_S)[0]:
            signal.pidfd_send_signal(process, signal.SIGKILL)
        os.close(process)
        os.waitpid(self.pid, 0)

    def exit_code(self):
        process = os.pidfd_open(self.pid)
        has_ended = bool(select.select([process], [], [], DEADLINE_S)[0])
        os.close(process)
        if not has_ended:
            raise AssertionError(f"the program goes on; it said {self.unread!r}")
        self.has_ended = True
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
