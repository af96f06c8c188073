#!/usr/bin/env python3
"""Two hosts on one machine: two network namespaces joined by a veth pair, each direction limited to --rate by a token
bucket. Each host has half of the processors that this process may use, and its own name. Everything is removed at the
end, also after an error or a signal. Needs root, ip, tc and unshare; without them it ends with status 77.

  bench/net_rig.py [--rate 10gbit] measure                    the actual rate and round-trip times, as a Markdown table
  bench/net_rig.py [--rate 10gbit] pair 'WORKER' 'COMMAND'    WORKER on the second host for as long as COMMAND runs on
  the first
  bench/net_rig.py [--rate 10gbit] mpi PROGRAM ARGUMENTS...   an Open MPI job with one rank per host

The hosts' addresses are 10.77.0.1 and 10.77.0.2. A shell runs the commands of `pair`; COMMAND waits for its worker
itself. --burst: bytes that pass unlimited after a pause; a smaller bucket limits short messages too, but timers may
then not reach the rate. Latency is the machine's own: a namespace has no slower wire."""
import argparse
import contextlib
import os
import pathlib
import shlex
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time

CANNOT = 77  # the status of a skipped test
N_HOSTS = 2
NETWORK = "10.77.0."
PORT = 5077
PREFIX = "rzrig"


class Unavailable(Exception):
    """This machine or user cannot create namespaces or token buckets."""


def run_tool(*command):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        raise Unavailable(f"'{shlex.join(command)}' failed: {result.stderr.strip() or result.returncode}")
    return result.stdout


def check_tools():
    if os.geteuid() != 0:
        raise Unavailable("namespaces need root")
    for tool in ("ip", "tc", "unshare", "taskset"):
        if shutil.which(tool) is None:
            raise Unavailable(f"there is no {tool}: install iproute2 and util-linux")


def is_running(pid):
    return pathlib.Path(f"/proc/{pid}").exists()


class Rig:
    """The two hosts, for the duration of a with block."""

    def __init__(self, rate="10gbit", burst=256 << 10):
        self.rate, self.burst = rate, burst
        self.names = [f"{PREFIX}{os.getpid()}h{i + 1}" for i in range(N_HOSTS)]

    def __enter__(self):
        check_tools()
        remove_left_over()
        self.folder = tempfile.TemporaryDirectory(prefix=PREFIX)
        try:
            self._build()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for name in self.names:
            remove(name)
        self.folder.cleanup()

    def _build(self):
        for name in self.names:
            run_tool("ip", "netns", "add", name)
        run_tool("ip", "link", "add", "wire", "netns", self.names[0], "type", "veth", "peer", "name", "wire", "netns",
                 self.names[1])
        for i, name in enumerate(self.names):
            run_tool("ip", "-n", name, "address", "add", f"{self.address(i)}/24", "dev", "wire")
            for link in ("lo", "wire"):
                run_tool("ip", "-n", name, "link", "set", link, "up")
            run_tool("tc", "-n", name, "qdisc", "add", "dev", "wire", "root", "tbf", "rate", self.rate, "burst",
                     str(self.burst), "latency", "5ms")
            # A namespace may not choose every congestion control. BBR, which some machines use, is slow in both
            # directions at once.
            run_tool("ip", "netns", "exec", name, "sh", "-c", "echo reno > /proc/sys/net/ipv4/tcp_congestion_control")

    def address(self, host):
        return f"{NETWORK}{host + 1}"

    def shell(self, host, text):
        """A command that runs the shell's `text` on that host: on its share of the processors and under its name."""
        cpus = sorted(os.sched_getaffinity(0))
        share = cpus[len(cpus) * host // N_HOSTS:len(cpus) * (host + 1) // N_HOSTS] or cpus
        return ["ip", "netns", "exec", self.names[host], "taskset", "-c", ",".join(map(str, share)), "unshare", "--uts", "sh",
                "-c", f"hostname h{host + 1} && {text}"]

    def command(self, host, command):
        return self.shell(host, "exec " + shlex.join(command))

    def mpirun(self, command):
        """`command` as a job with one rank per host. mpirun and rank 0 are on the first; Open MPI reaches the other
        through a remote shell, which gets the host and the words of a command line."""
        agent = pathlib.Path(self.folder.name) / "agent"
        there = shlex.join(self.shell(1, 'eval "$COMMAND"'))
        agent.write_text(f'#!/bin/sh\nshift\nexport COMMAND="$*"\nexec {there}\n')
        agent.chmod(0o700)
        network = NETWORK + "0/24"
        hosts = ",".join(f"{self.address(i)}:1" for i in range(N_HOSTS))
        options = {"plm_rsh_agent": str(agent), "pml": "ob1", "btl": "tcp,self", "btl_tcp_if_include": network,
                   "oob_tcp_if_include": network}
        words = ["mpirun", "--allow-run-as-root", "-n", str(N_HOSTS), "--host", hosts, "--bind-to", "none"]
        for name, value in options.items():
            words += ["--mca", name, value]
        return self.command(0, words + list(command))


def remove(name):
    """Removes a namespace and its remaining processes, all of which this rig started."""
    pids = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True).stdout.split()
    for pid in map(int, pids):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    subprocess.run(["ip", "netns", "delete", name], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def remove_left_over():
    """Removes namespaces of a rig that was killed before it could clean up."""
    for line in run_tool("ip", "netns", "list").splitlines():
        name = line.split()[0]
        owner = name.removeprefix(PREFIX).split("h")[0]
        if name.startswith(PREFIX) and owner.isdigit() and not is_running(int(owner)):
            remove(name)


def receive_exactly(connection, view):
    while view:
        n = connection.recv_into(view)
        if n == 0:
            raise EOFError("the other side closed")
        view = view[n:]


def serve_measurement():
    """The second host: receives `n_bytes` and answers with one byte, for each request, until the first host closes."""
    with socket.create_server(("", PORT)) as listener:
        print("ready", flush=True)
        connection, _ = listener.accept()
    with connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        buffer = memoryview(bytearray(4 << 20))
        header = bytearray(8)
        while True:
            try:
                receive_exactly(connection, memoryview(header))
            except EOFError:
                return
            n_bytes, = struct.unpack("<Q", header)
            while n_bytes > 0:
                n_bytes -= connection.recv_into(buffer[:n_bytes])
            connection.sendall(b"\0")


def measure_from(address):
    """The first host: seconds of one large transfer, and of many round trips of each short length."""
    with socket.create_connection((address, PORT)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        answer = memoryview(bytearray(1))

        def seconds(payload, n_times=1):
            start = time.perf_counter()
            connection.sendall(struct.pack("<Q", len(payload) * n_times) + payload)
            for _ in range(n_times - 1):
                connection.sendall(payload)
            receive_exactly(connection, answer)
            return time.perf_counter() - start

        piece = bytes(4 << 20)
        seconds(piece, 8)
        n_pieces = 256
        print("| message | time | rate |\n|---|---|---|")
        took = seconds(piece, n_pieces)
        print(f"| {n_pieces * len(piece) >> 20} MiB | {took:.2f} s | {8e-9 * n_pieces * len(piece) / took:.2f} Gbit/s |")
        for n_bytes in (64, 8192, 65536, 1 << 20):
            took = statistics.median(seconds(bytes(n_bytes)) for _ in range(300))
            print(f"| {n_bytes} bytes and an answer | {1e6 * took:.0f} us | {8e-9 * n_bytes / took:.2f} Gbit/s |", flush=True)


def this_script(*arguments):
    return [sys.executable, str(pathlib.Path(__file__).resolve()), *arguments]


@contextlib.contextmanager
def running(command, **options):
    """A process that ends with the with block, also after an exception."""
    process = subprocess.Popen(command, **options)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def measure(rig):
    with running(rig.command(1, this_script("serve")), stdout=subprocess.PIPE, text=True) as server:
        if server.stdout.readline().strip() != "ready":
            raise SystemExit("the second host does not listen")
        return subprocess.run(rig.command(0, this_script("from", rig.address(1)))).returncode


def pair(rig, worker, command):
    with running(rig.shell(1, worker)):
        return subprocess.run(rig.shell(0, command)).returncode


def mpi(rig, command):
    if shutil.which("mpirun") is None:
        raise Unavailable("there is no mpirun: install openmpi-bin")
    return subprocess.run(rig.mpirun(command)).returncode


def end_on_signals():
    """Turns the signals that end a process into an exception, so that the rig is removed."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, lambda number, _: sys.exit(128 + number))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", default="10gbit", help="in tc's units")
    parser.add_argument("--burst", type=int, default=256 << 10)
    parser.add_argument("what", choices=["measure", "pair", "mpi", "serve", "from"], metavar="measure|pair|mpi")
    parser.add_argument("words", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    if args.what == "serve":
        return serve_measurement()
    if args.what == "from":
        return measure_from(args.words[0])
    if args.what == "pair" and len(args.words) != N_HOSTS:
        parser.error("expected two commands, each one word")
    end_on_signals()
    try:
        with Rig(args.rate, args.burst) as rig:
            if args.what == "measure":
                return measure(rig)
            return pair(rig, *args.words) if args.what == "pair" else mpi(rig, args.words)
    except Unavailable as problem:
        print(f"no rig on this machine: {problem}", file=sys.stderr)
        return CANNOT


if __name__ == "__main__":
    sys.exit(main())
