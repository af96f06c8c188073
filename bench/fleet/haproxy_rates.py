#!/usr/bin/env python3
"""Hit rates of several servers behind the HAProxy of deploy/, with the same conversations for each policy in turn:
round robin, and consistent hashing with bounded load, by the conversation's number (a header) or the body's first
kilobyte. As Markdown. Needs HAProxy and openssl.

  bench/fleet/haproxy_rates.py build/release/bin/realizar WORKLOAD.jsonl [--servers 3] [--clients 6] [--ctx 2048]
      [--kv-tokens 8192] [--max-seqs 8] [--policies round-robin,conversation,kilobyte] [--balance-factor 200] [--weight
      64]
      [--model realizar-tiny] [--backend reference]

A line of the workload is a request: {"conversation": id, "turn": n, "arrival_s": t, "tenant": name, "prompt_tokens":
[ids...], "output_tokens": n}. The replay has no clock: each client takes the next conversation in the order of the
file, sends its turns one after the other, each as soon as the previous one is answered, and takes the next
conversation. Prompts are sent as they are in the file, so no later prompt contains a server's answer. Servers share
this machine: the times do not apply to servers with machines of their own."""
import argparse
import json
import pathlib
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))
import proxy_rig  # noqa: E402
from waiting import until  # noqa: E402

POLICIES = ["round-robin", "conversation", "kilobyte"]


def read_workload(path):
    """(name, turns) of each conversation, in the order in which they begin in the file."""
    conversations = {}
    for line in path.read_text().splitlines():
        request = json.loads(line)
        conversations.setdefault(request["conversation"], []).append(request)
    return list(conversations.items())


class Replay:
    """A workload through one proxy, once."""

    def __init__(self, port, tls, conversations, has_names):
        self.port, self.tls, self.has_names = port, tls, has_names
        self.waiting = iter(conversations)
        self.lock = threading.Lock()
        self.results = []  # (prompt tokens, cached tokens, seconds to the first token)
        self.failures = []

    def run(self, n_clients):
        clients = [threading.Thread(target=self.client) for _ in range(n_clients)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()

    def client(self):
        connection = proxy_rig.connect(self.port, self.tls)
        while True:
            with self.lock:
                name, turns = next(self.waiting, (None, ()))
            if name is None:
                return connection.close()
            for request in turns:
                try:
                    self.results.append(self.ask(connection, name, request))
                except Exception as fault:  # reported at the end; the client continues with a new connection
                    self.failures.append(f"conversation {name}, turn {request['turn']}: {fault!r}")
                    connection.close()

    def ask(self, connection, name, request):
        start = time.monotonic()
        body = {"prompt": request["prompt_tokens"], "max_tokens": request["output_tokens"], "ignore_eos": True,
                "temperature": 0, "stream": True, "stream_options": {"include_usage": True}}
        proxy_rig.send(connection, "/v1/completions", body, {"X-Session-Id": str(name)} if self.has_names else {})
        answer = connection.getresponse()
        if answer.status != 200:
            raise RuntimeError(f"status {answer.status}: {answer.read()[:200]}")
        first_s, usage = None, None
        for line in answer:
            if line.startswith(b"data: {"):
                first_s = first_s or time.monotonic() - start
                usage = json.loads(line[6:]).get("usage") or usage
        if usage is None:
            raise RuntimeError("the stream ended early")
        if usage["completion_tokens"] != request["output_tokens"]:
            raise RuntimeError(f"{usage['completion_tokens']} tokens, not {request['output_tokens']}")
        return usage["prompt_tokens"], usage["prompt_tokens_details"]["cached_tokens"], first_s


def changes_of(args, policy):
    """Replacements in deploy/haproxy.cfg."""
    if policy == "round-robin":
        return proxy_rig.ROUND_ROBIN
    return {"hash-balance-factor 200": f"hash-balance-factor {args.balance_factor}", "weight 64": f"weight {args.weight}"}


def measure(args, conversations, policy):
    """The row of a policy."""
    servers, proxy = [], None
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        try:
            tls = proxy_rig.make_certificate(folder)
            for _ in range(args.servers):
                servers.append(proxy_rig.Server(args.realizar, 0, "--max-seqs", str(args.max_seqs), model=args.model,
                                                backend=args.backend, ctx=args.ctx, kv_tokens=args.kv_tokens))
            ports = proxy_rig.free_port(), proxy_rig.free_port()
            proxy = proxy_rig.HaProxy(folder, servers, *ports, changes_of(args, policy))
            until(lambda: proxy_rig.get(ports[1], "/readyz", tls)[0] == 200, "the proxy is ready")
            replay = Replay(ports[1], tls, conversations, policy == "conversation")
            start = time.monotonic()
            replay.run(args.clients)
            took_s = time.monotonic() - start
            n_requests = [int(server.metric("vllm:request_success_total")) for server in servers]
            n_preempted = sum(int(server.metric("vllm:num_preemptions_total")) for server in servers)
        finally:
            if proxy:
                proxy.process.terminate()
                proxy.process.wait()
            for server in servers:
                server.stop()
    for failure in replay.failures[:10]:
        print(failure, file=sys.stderr)
    if not replay.results:
        raise SystemExit("no request was answered")
    n_prompt, n_cached, _ = map(sum, zip(*replay.results))
    first_ms = sorted(1000 * result[2] for result in replay.results)
    p50_ms, p99_ms = (first_ms[int(share * (len(first_ms) - 1))] for share in (0.5, 0.99))
    return (f"| {policy} | {len(replay.results)} | {len(replay.failures)} | {n_prompt:,} | {n_cached:,} | "
            f"{100 * n_cached / n_prompt:.1f} % | {' '.join(map(str, n_requests))} | {n_preempted} | "
            f"{p50_ms:.0f} ms / {p99_ms:.0f} ms | {took_s:.0f} s |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("realizar")
    parser.add_argument("workload", type=pathlib.Path)
    parser.add_argument("--servers", type=int, default=3)
    parser.add_argument("--clients", type=int, default=6)
    parser.add_argument("--ctx", type=int, default=2048)
    parser.add_argument("--kv-tokens", type=int, default=8192)
    parser.add_argument("--max-seqs", type=int, default=8)
    parser.add_argument("--policies", default=",".join(POLICIES))
    parser.add_argument("--balance-factor", type=int, default=200)
    parser.add_argument("--weight", type=int, default=64, help="a sixteenth of a server's points on the ring")
    parser.add_argument("--model", default="realizar-tiny")
    parser.add_argument("--backend", default="reference")
    args = parser.parse_args()
    policies = args.policies.split(",")
    if not set(policies) <= set(POLICIES):
        parser.error(f"--policies: expected some of {','.join(POLICIES)}")
    conversations = read_workload(args.workload)
    print(f"{args.servers} servers with {args.kv_tokens} tokens of cache, {args.clients} clients, "
          f"{len(conversations)} conversations\n", flush=True)
    print("| policy | answered | failed | prompt tokens | cached | hit rate | requests by server | preempted | "
          "first token p50 / p99 | took |\n|---|---|---|---|---|---|---|---|---|---|", flush=True)
    for policy in policies:
        print(measure(args, conversations, policy), flush=True)


if __name__ == "__main__":
    main()
