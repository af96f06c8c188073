"""Folders and files that tests need for themselves."""
import pathlib
import tempfile


def temp_folder(case):
    """A new folder, deleted after the test, or after all tests of a class."""
    enter = case.enterClassContext if isinstance(case, type) else case.enterContext
    return pathlib.Path(enter(tempfile.TemporaryDirectory()))


def written(path, content):
    """The path of a new file with this text, or these bytes."""
    path = pathlib.Path(path)
    path.write_bytes(content if isinstance(content, (bytes, bytearray)) else content.encode())
    return path


def key_file(path, text):
    """A file of API keys, in the mode that the server wants."""
    written(path, text).chmod(0o600)
    return str(path)
