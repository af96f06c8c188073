"""An MCP server for tests that uses standard input and output. Its first argument selects its behaviour, its optional
second one is a file for its pid."""
import json
import os
import subprocess
import sys

mode = sys.argv[1]
TOOLS = [{"name": name, "inputSchema": {"type": "object", "additionalProperties": False}} for name in ("environment", "die", "wait")]


def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def environment():
    return json.dumps({"names": sorted(os.environ), "token": os.environ.get("TOKEN"), "folder": os.getcwd(),
                       "group": os.getpgid(0) == os.getpid()})


def result_of(method, params):
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                "serverInfo": {"name": "program", "version": "1"}}
    if method == "tools/list":
        return {"tools": TOOLS}
    if params["name"] == "die":
        print("the disk is full", file=sys.stderr, flush=True)
        os._exit(3)
    return {"content": [{"type": "text", "text": environment()}]}


def main():
    if len(sys.argv) > 2:
        child = subprocess.Popen(["sleep", "100000"], stdin=subprocess.DEVNULL)
        with open(sys.argv[2] + ".part", "w") as pids:
            pids.write(f"{os.getpid()} {child.pid}")
        os.rename(sys.argv[2] + ".part", sys.argv[2])
    if mode == "dead":
        sys.exit("no such folder: /data")
    print("ready \x1b[31mred\x1b[0m", file=sys.stderr, flush=True)
    if mode == "noisy":
        print("[program] listening", flush=True)
    if mode == "endless":
        while True:
            sys.stdout.write("x" * 65536)
    for line in sys.stdin:
        message = json.loads(line)
        if mode == "silent" or "id" not in message:
            continue
        if message.get("params", {}).get("name") == "wait":
            continue
        send({"id": message["id"], "result": result_of(message["method"], message.get("params", {}))})
    if mode == "stubborn":
        while True:
            sys.stdin.read()


main()
