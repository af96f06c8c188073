"""`realizar serve` with the bundled model on a free port, for tests that just need a server."""
import json
import re
import subprocess
import urllib.error
import urllib.request

from waiting import DEADLINE_S, ONE_THREAD, until

DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # proxies must not be used for loopback


class Served:
    def __init__(self, realizar, *args, command=("serve",), **options):
        self.process = subprocess.Popen([realizar, *command, "--port", "0", *ONE_THREAD, *map(str, args)], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
        try:
            self.await_model()
        except BaseException:
            self.process.kill()
            self.process.communicate()
            raise

    def await_model(self):
        """Lines of programs that it has started may be in its log before the line with its address."""
        self.log, listening = "", None
        while not listening:
            line = self.process.stdout.readline()
            assert line, self.process.stderr.read()
            self.log += line
            listening = re.search(r"listens on (\S+), model (\S+)", line)
        self.url, self.model = listening.groups()
        until(lambda: self.ask("GET", "/readyz")[0] == 200, "the model")

    def ask(self, method, path, body=None, headers=None):
        """Status, headers and bytes of the answer."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json", **(headers or {})}, method=method)
        try:
            with DIRECT.open(request, timeout=DEADLINE_S) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.headers, error.read()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        code = self.stop()
        assert kind or code == 0, f"exit code {code}"

    def stop(self):
        """Ends it like an operator, and returns its exit code; `log` and `stderr` are then complete."""
        self.process.terminate()
        try:
            rest, self.stderr = self.process.communicate(timeout=DEADLINE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            rest, self.stderr = self.process.communicate()
        self.log += rest
        return self.process.returncode
