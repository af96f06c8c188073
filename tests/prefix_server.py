"""A server that is asked for completions of a long prompt, and how much of it was cached."""
import json

from program import REALIZAR
from served import Served

LINE = "Once upon a time a little bird sat in a tree and sang of the sea, the wind and the hills. "


class PrefixServer(Served):
    def __init__(self, *args, **options):
        super().__init__(REALIZAR, "--max-seqs", "4", *args, **options)

    def request(self, method, path, body=None, key=None):
        status, _, reply = self.ask(method, path, body, {"Authorization": f"Bearer {key}"} if key else {})
        return status, reply

    def complete(self, key=None, **fields):
        """The answer with its log-probabilities, how many tokens of the prompt were cached, and the length of the
        prompt."""
        status, reply = self.request("POST", "/v1/completions", {"temperature": 0, "logprobs": 1, **fields}, key)
        assert status == 200, reply
        reply = json.loads(reply)
        choice, usage = reply["choices"][0], reply["usage"]
        return (choice["text"], choice["logprobs"]["token_logprobs"]), usage["prompt_tokens_details"]["cached_tokens"], usage["prompt_tokens"]
