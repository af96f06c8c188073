#!/usr/bin/env python3
"""Processes started by mpirun exchange messages, and notice when one of them is lost. Usage: mpi_exchange_test.py
MPI_RANKS.

Exits with 77, which ctest shows as skipped, without Open MPI's mpirun."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

from waiting import DEADLINE_S, until

MPI_RANKS = ""
SKIPPED = 77
N_TRIES = 5


def exists(pid):
    """Whether the process runs; one that has ended and is not yet waited for does not."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


class Job:
    """`n` ranks of mpi_ranks."""

    def __init__(self, test, n, mode, *options):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        test.addCleanup(shutil.rmtree, self.folder)
        self.n = n
        self.output = open(self.folder / "output", "w+")
        test.addCleanup(self.output.close)
        root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        self.mpirun = subprocess.Popen(["mpirun", *root, "--oversubscribe", "--bind-to", "none", "-n", str(n), *options,
                                        MPI_RANKS, mode, self.folder], stdin=subprocess.DEVNULL, stdout=self.output,
                                       stderr=subprocess.STDOUT,
                                       # Memory that Open MPI keeps until the end is not our leak.
                                       env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
        test.addCleanup(self.kill)

    def lines(self, rank):
        try:
            return (self.folder / str(rank)).read_text().splitlines()
        except FileNotFoundError:
            return []

    def pid(self, rank):
        """The pid of a rank that is ready, otherwise None."""
        found = [line.split()[1] for line in self.lines(rank) if line.startswith("ready ")]
        return int(found[0]) if found else None

    def until_ready(self):
        def are_ready():
            if self.mpirun.poll() is not None:
                raise AssertionError(f"mpirun ended with {self.mpirun.returncode}: {self.said()}")
            return all(self.pid(rank) for rank in range(self.n))
        until(are_ready, "all ranks are ready")
        return self

    def said(self):
        logs = "\n".join(f"rank {rank}: {self.lines(rank)}" for rank in range(self.n))
        return f"{(self.folder / 'output').read_text(errors='replace')}\n{logs}"

    def signal(self, rank, number):
        os.kill(self.pid(rank), number)

    def end(self):
        """Waits for the end of all processes, and returns the exit code."""
        until(lambda: self.mpirun.poll() is not None, "mpirun ends")
        for rank in range(self.n):
            until(lambda rank=rank: not exists(self.pid(rank)), f"rank {rank} ends")
        return self.mpirun.returncode

    def losses(self):
        return [(rank, line) for rank in range(self.n) for line in self.lines(rank) if line.startswith(("lost: ", "failed: "))]

    def kill(self):
        if self.mpirun.poll() is None:
            self.mpirun.kill()
            self.mpirun.wait()
        for rank in range(self.n):
            pid = self.pid(rank)
            if pid and exists(pid) and MPI_RANKS.encode() in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(pid, signal.SIGKILL)


class Exchange(unittest.TestCase):
    def check(self, n, *options):
        job = Job(self, n, "exchange", *options)
        self.assertEqual(job.end(), 0, job.said())
        for rank in range(n):
            self.assertEqual(job.lines(rank)[1:], ["ended"], job.said())

    def test_of_two(self):
        self.check(2)

    def test_of_three(self):
        self.check(3)

    def test_over_tcp(self):
        self.check(2, "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "lo")


class Faults(unittest.TestCase):
    def expect_loss(self, job, lost_rank, pattern):
        """The job fails, and a survivor has named the rank."""
        self.assertNotEqual(job.end(), 0, job.said())
        named = [line for rank, line in job.losses() if rank != lost_rank and re.search(pattern, line)]
        self.assertTrue(named, job.said())

    def killed(self, rank, *options):
        job = Job(self, 3, "serve", *options).until_ready()
        job.signal(rank, signal.SIGKILL)
        self.expect_loss(job, rank, rf"rank {rank} \(\S+\)(:| has died| is gone| has been silent)")

    def test_a_follower_is_killed(self):
        self.killed(1)

    def test_rank_0_is_killed(self):
        self.killed(0)

    def test_a_follower_is_killed_over_tcp(self):
        self.killed(2, "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "lo")

    def test_a_follower_hangs(self):
        job = Job(self, 3, "serve").until_ready()
        job.signal(1, signal.SIGSTOP)
        self.expect_loss(job, 1, r"rank 1 \(\S+\) has been silent for 5 s: it died, hangs, or has lost its network")

    def test_a_follower_ends_early(self):
        self.expect_loss(Job(self, 2, "leave").until_ready(), 1, r"rank 1 \(\S+\) (has ended before the others|has died|has been silent)")

    def test_rank_0_ends_while_a_message_is_awaited(self):
        self.expect_loss(Job(self, 2, "abandon").until_ready(), 0, r"rank 0 \(\S+\) has ended while rank 1 \(\S+\) waits")

    def test_nobody_is_lost_when_someone_stops_the_job(self):
        def is_stopped_well():
            job = Job(self, 3, "serve").until_ready()
            job.mpirun.terminate()
            job.end()
            return not job.losses()
        # A rank that had no processor time for 0.2 s is then considered dead.
        self.assertTrue(any(is_stopped_well() for _ in range(N_TRIES)))


if __name__ == "__main__":
    MPI_RANKS = sys.argv.pop(1)
    if shutil.which("mpirun") is None:
        print("skipped: there is no mpirun (scripts/setup --mpi installs Open MPI)")
        sys.exit(SKIPPED)
    if "Open MPI" not in subprocess.run(["mpirun", "--version"], capture_output=True, text=True, timeout=DEADLINE_S).stdout:
        print("skipped: mpirun is not that of Open MPI")
        sys.exit(SKIPPED)
    unittest.main()
