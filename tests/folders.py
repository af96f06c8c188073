"""Folders and files that tests need for themselves."""
import pathlib
import tempfile


def temp_folder(case):
    """A new folder, deleted after the test, or after all tests of a class."""
    enter = case.enterClassContext if isinstance(case, type) else case.enterContext
    return pathlib.Path(enter(tempfile.TemporaryDirectory()))


def key_file(path, text):
    """A file of API keys, in the mode that the server wants."""
    path = pathlib.Path(path)
    path.write_text(text)
    path.chmod(0o600)
    return str(path)
