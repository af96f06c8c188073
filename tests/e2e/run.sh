#!/usr/bin/env bash
# Installs the pinned clients and runs the suites against the program: run.sh REALIZAR. Exit code 77: node 18 or npm is
# missing, or the registry cannot be reached, and nothing was tested.
set -euo pipefail
REALIZAR_BIN=$(realpath "$1")
export REALIZAR_BIN
cd "$(dirname "$0")"

skip() {
  echo "e2e: skipped: $1" >&2
  exit 77
}
command -v node >/dev/null || skip "there is no node (Debian's packages nodejs and npm)"
command -v npm >/dev/null || skip "there is no npm (Debian's packages nodejs and npm)"
node_major=$(node -p 'process.versions.node.split(".")[0]')
[[ $node_major -ge 18 ]] || skip "the clients want node 18 or newer, this is $(node --version)"
# Node 18 has a feature that LangChain needs only with a flag.
[[ $node_major -ge 20 ]] || export NODE_OPTIONS=--experimental-global-webcrypto

stamp=node_modules/.installed
if ! cmp -s package-lock.json "$stamp"; then
  npm ci --no-audit --no-fund --loglevel=error || skip "the clients could not be installed"
  cp package-lock.json "$stamp"
fi
exec npm test --silent
