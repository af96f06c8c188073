"""Servers for the examples of the pages that want another model or other flags than the bundled model's server: a block
names one as server=NAME."""
import contextlib
import pathlib
import shutil
import types

from hub_server import Hub
from lora_files import write_adapter
from mcp_servers import McpServers
from model_copies import TINY, copy_with_words, write_infill
from served import Served


class Servers:
    """Starts each when it is first asked for. `folder`: where their files go."""

    def __init__(self, realizar, folder):
        self.realizar, self.folder = realizar, pathlib.Path(folder)
        self.started, self.helpers = {}, contextlib.ExitStack()

    def url(self, name):
        if name not in self.started:
            self.started[name] = Served(self.realizar, *getattr(self, name)())
        return self.started[name].url

    def stop(self):
        """Their exit codes."""
        codes = {name: server.stop() for name, server in self.started.items()}
        self.helpers.close()
        return codes

    def bundled(self):
        return "realizar-tiny", "--slot-save-path", str(self.folder / "slots")

    def reranker(self):
        return ("bge-reranker=" + copy_with_words("bert-rank", self.folder),)

    def infill(self):
        return ("coder=" + write_infill(self.folder / "coder.gguf"),)

    def adapters(self):
        for seed, name in enumerate(("poet", "jurist")):
            write_adapter(self.folder / "adapters" / name, seed)
        return f"model={TINY}", "--lora", f"poet={self.folder / 'adapters/poet'}", "--lora-dir", str(self.folder / "adapters")

    def managed(self):
        """Two files of a folder, a store, and a hub whose model is the bundled one under another's name."""
        hub = Hub()
        hub.add_repo("Qwen/Qwen3-1.7B-GGUF", {"Qwen3-1.7B-Q8_0.gguf": TINY.read_bytes()})
        self.helpers.callback(hub.close)
        models = self.folder / "models"
        models.mkdir()
        for name in ("small", "large"):
            shutil.copy(TINY, models / f"{name}.gguf")
        return ("--models-dir", str(models), "--delete-models", "--manage-models", "--models-store", str(self.folder / "store"),
                "--mirror", hub.url)

    def tools(self):
        servers = McpServers(types.SimpleNamespace(addCleanup=self.helpers.callback))
        return "realizar-tiny", "--mcp", "weather=" + servers.url("weather")
