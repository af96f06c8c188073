"""The program under test: the first argument of every test of it."""
import os
import shutil
import sys

if len(sys.argv) < 2 or not shutil.which(sys.argv[1]):
    sys.exit(f"usage: {sys.argv[0]} REALIZAR")
REALIZAR = os.path.abspath(shutil.which(sys.argv.pop(1)))
