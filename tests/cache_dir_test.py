#!/usr/bin/env python3
"""Cached prefixes that outlive a server (--cache-dir): who owns them, when they are trusted, and what is written.
Usage: cache_dir_test.py REALIZAR."""
import resource
import shutil
import struct
import unittest

from bundled import TINY as MODEL
from folders import key_file, temp_folder, written
from prefix_server import LINE, PrefixServer
import program



class Server(PrefixServer):
    def __init__(self, *args, **options):
        super().__init__("--ctx", "512", *args, **options)

    def complete(self, key=None, **fields):
        """The answer with its log-probabilities, and how many tokens of the prompt were cached."""
        return super().complete(key, **{"prompt": LINE * 4, "max_tokens": 8, **fields})[:2]


def value_offset(gguf, key):
    """The offset of the value of a 32-bit float in the metadata."""
    at = gguf.index(struct.pack("<Q", len(key)) + key.encode()) + 8 + len(key)
    assert struct.unpack_from("<I", gguf, at)[0] == 6, "a float"
    return at + 4


class CacheDir(unittest.TestCase):
    def test_wiped_first_where_that_is_asked_for(self):
        self.folder.mkdir()
        for name in ("gone.prefixes", "model.prefixes.part17", ".model.prefixes.0123456789abcdef.part"):
            (self.folder / name).write_text("RZPREFIX secret")
        foreign = written(self.folder / "thesis.prefixes", "no cache")
        server = Server(self.model, "--cache-dir", self.folder, "--wipe-cache")
        self.servers.append(server)
        self.assertEqual(list(self.folder.iterdir()), [foreign])
        self.assertEqual(foreign.read_text(), "no cache")
        self.assertEqual(server.complete()[1], 0)
        self.assertEqual(server.stop(), 0)
        self.assertEqual(len(list(self.folder.iterdir())), 2, "kept anew")
        alone = program.run("serve", self.model, "--wipe-cache")
        self.assertEqual(alone.returncode, 1)
        self.assertIn("--cache-dir", alone.stderr)

    def setUp(self):
        self.root = temp_folder(self)
        self.folder = self.root / "prefixes"
        self.model = self.root / "model.gguf"
        shutil.copyfile(MODEL, self.model)
        self.servers = []
        self.addCleanup(lambda: [server.process.kill() for server in self.servers])

    def serve(self, *args, model=None, **options):
        server = Server(model or f"tiny={self.model}", "--cache-dir", self.folder, *args, **options)
        self.servers.append(server)
        return server

    def fill(self, *args, **fields):
        server = self.serve(*args)
        answer, n_cached = server.complete(**fields)
        self.assertEqual(n_cached, 0)
        self.assertEqual((server.stop(), server.stderr), (0, ""))
        return answer

    def answer_of_a_new_server(self, *args, **fields):
        server = self.serve(*args)
        answer = server.complete(**fields)
        self.assertEqual(server.stop(), 0)
        return answer

    def edit_model(self, edit):
        """In place, like rsync --inplace and cp."""
        data = bytearray(self.model.read_bytes())
        edit(data)
        with open(self.model, "r+b") as file:
            file.write(data)

    def overwrite_weights(self, data):
        # Tensor data is at the end of the file; the overwritten bytes are scales and quants far from any tensor's ends.
        middle = len(data) * 2 // 3
        data[middle:middle + 20_000] = data[middle - 20_400:middle - 400]

    def assert_not_believed(self):
        warm, n_cached = self.answer_of_a_new_server()
        self.assertEqual(n_cached, 0)
        cold = Server(f"tiny={self.model}")
        self.servers.append(cold)
        self.assertEqual(warm, cold.complete()[0])
        cold.stop()

    def test_the_next_server_goes_on_with_what_only_its_owner_may_read(self):
        expected = self.fill()
        file = self.folder / "tiny.prefixes"
        self.assertEqual([self.folder.stat().st_mode & 0o777, file.stat().st_mode & 0o777], [0o700, 0o600])
        answer, n_cached = self.answer_of_a_new_server()
        self.assertGreaterEqual(n_cached, 64)
        self.assertEqual(answer, expected)

    def test_a_cache_that_is_deleted_is_forgotten_in_memory_and_on_the_disk(self):
        self.fill()
        server = self.serve("--manage-models")
        answer, n_cached = server.complete()
        self.assertGreaterEqual(n_cached, 64)
        self.assertEqual(server.request("DELETE", "/cache"), (200, b'{"deleted":true}'))
        self.assertFalse((self.folder / "tiny.prefixes").exists())
        again, n_cached = server.complete()
        self.assertEqual((again, n_cached), (answer, 0))
        self.assertEqual(server.request("DELETE", "/cache")[0], 200)
        self.assertEqual((server.stop(), server.stderr), (0, ""))
        self.assertEqual(self.answer_of_a_new_server()[1], 0)

    def test_a_key_deletes_what_is_its_own(self):
        keys = key_file(self.root / "keys", "first\nsecond\n")
        server = self.serve("--api-keys", keys)
        for key in "first", "second":
            self.assertEqual(server.complete(key)[1], 0)
        self.assertEqual(server.request("DELETE", "/cache")[0], 401)
        self.assertEqual(server.request("DELETE", "/cache", key="first")[0], 200)
        self.assertGreaterEqual(server.complete("second")[1], 64)
        self.assertEqual(server.complete("first")[1], 0)
        self.assertEqual(server.stop(), 0)

    def test_a_model_that_guesses_has_no_part_in_what_is_kept(self):
        expected = self.fill("--draft", self.model)
        answer, n_cached = self.answer_of_a_new_server()
        self.assertGreaterEqual(n_cached, 64)
        self.assertEqual(answer, expected)

    def test_prefixes_of_other_metadata_are_not_believed(self):
        self.fill()
        self.edit_model(lambda data: struct.pack_into("<f", data, value_offset(data, "llama.rope.freq_base"), 15000.0))
        self.assert_not_believed()

    def test_prefixes_of_other_weights_are_not_believed(self):
        self.fill()
        self.edit_model(self.overwrite_weights)
        self.assert_not_believed()

    def test_prefixes_are_those_of_the_weights_that_were_loaded_not_of_the_file_at_the_end(self):
        server = self.serve()
        server.complete()
        self.edit_model(self.overwrite_weights)
        self.assertEqual(server.stop(), 0)
        self.assert_not_believed()

    def test_prefixes_of_another_arithmetic_are_not_believed(self):
        self.fill("--isa", "portable")
        self.assertEqual(self.answer_of_a_new_server("--isa", "portable", "--kv-type", "q8_0")[1], 0)
        self.assertEqual(self.answer_of_a_new_server("--backend", "reference", "--kv-type", "q8_0")[1], 0)

    def test_a_key_finds_its_own_prefixes_wherever_it_stands_in_the_file(self):
        keys = written(self.root / "keys", "one\ntwo\n")
        self.fill("--api-keys", keys, key="one")
        keys.write_text("two\none\n")
        server = self.serve("--api-keys", keys)
        self.assertEqual(server.complete(key="two")[1], 0)
        self.assertGreaterEqual(server.complete(key="one")[1], 64)
        self.assertEqual(server.complete(key="one", cache_salt="apart")[1], 0)
        server.stop()

    def test_ids_with_slashes_and_dots_stay_in_the_folder(self):
        for model_id in ("../escaped", "org/name"):
            model = f"{model_id}={self.model}"
            server = self.serve(model=model)
            server.complete()
            self.assertEqual(server.stop(), 0)
            server = self.serve(model=model)
            self.assertGreaterEqual(server.complete()[1], 64)
            server.stop()
        self.assertEqual(len(list(self.folder.iterdir())), 2)
        self.assertEqual({path.name for path in self.root.iterdir()}, {"prefixes", "model.gguf"})

    def test_a_folder_that_cannot_be_written_is_refused_at_the_start(self):
        for folder in (self.root / "not" / "there", self.model):
            run = program.run("serve", f"tiny={self.model}", "--port", "0", "--cache-dir", folder)
            self.assertNotEqual(run.returncode, 0)
            self.assertIn(str(folder), run.stderr)

    def test_a_disk_that_is_full_at_the_end_is_an_error_and_leaves_the_old_file(self):
        self.fill()
        file = self.folder / "tiny.prefixes"
        before = file.read_bytes()
        # With this limit every write beyond 1000 bytes fails.
        server = self.serve(restore_signals=False,
                            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)))
        server.complete()
        self.assertNotEqual(server.stop(), 0)
        self.assertIn(f"cannot write {file}: File too large", server.stderr)
        self.assertEqual(file.read_bytes(), before)
        self.assertEqual(list(self.folder.iterdir()), [file])


if __name__ == "__main__":
    unittest.main()
