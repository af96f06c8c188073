#!/usr/bin/env bash
# Installs the wheel into a virtual environment, like a user, and runs the tests there; exits with 77 without venv.
# Usage: python/tests/run.sh REALIZAR LIBRARY [TEST...], with the built program and librealizar.so
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
REALIZAR_PROGRAM=$(realpath "$1")
library=$(realpath "$2")
shift 2
if ! python3 -c 'import ensurepip, tomllib, venv' 2> /dev/null; then
  echo "skipped: the tests of the Python package want Python 3.11 with the package python3-venv"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
wheel=$("$root/scripts/python-wheel" "$work/wheel" "$library")
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-index --disable-pip-version-check "$wheel"
# Outside of the folder of the package's source.
cd "$work"
export REALIZAR_PROGRAM
if [[ $# -eq 0 ]]; then set -- discover -s "$root/python/tests" -t "$root/python/tests"; fi
export PYTHONDONTWRITEBYTECODE=1
PYTHONPATH=$root/python/tests "$work/venv/bin/python" -W error -m unittest "$@"
# Other packages that work with this one are tried with the Pythons that have them.
site=$(echo "$work"/venv/lib/python*/site-packages)
for tests in pydantic:test_pydantic "httpx:test_http test_docs" nbclient:test_notebook; do
  package=${tests%%:*} has_run=
  for python in $(type -ap python3 | xargs -n 1 readlink -f | sort -u); do
    "$python" -c "import $package" 2> /dev/null || continue
    PYTHONPATH=$site:$root/python/tests "$python" -m unittest ${tests#*:}
    has_run=1
  done
  [[ -n $has_run ]] || echo "skipped: ${tests#*:}, since no Python here has $package"
done
