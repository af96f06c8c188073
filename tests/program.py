"""The program under test: the first argument of every test of it."""
import os
import shutil
import subprocess
import sys

from waiting import DEADLINE_S

if len(sys.argv) < 2 or not shutil.which(sys.argv[1]):
    sys.exit(f"usage: {sys.argv[0]} REALIZAR")
REALIZAR = os.path.abspath(shutil.which(sys.argv.pop(1)))


def run(*args, stdin=None, text=True, **options):
    """The program after its end, with its output. `stdin`: what it reads."""
    return subprocess.run([REALIZAR, *map(str, args)], input=stdin, capture_output=True, text=text, timeout=DEADLINE_S,
                          stdin=subprocess.DEVNULL if stdin is None else None, **options)
