#!/usr/bin/env bash
# Installs the protocol's own SDK, pinned, and runs the program as a client of its servers: run.sh REALIZAR. Exit code
# 77: node 18 or npm is missing, or the registry cannot be reached, and nothing was tested.
set -euo pipefail
REALIZAR_BIN=$(realpath "$1")
export REALIZAR_BIN
cd "$(dirname "$0")"

skip() {
  echo "mcp: skipped: $1" >&2
  exit 77
}
command -v node >/dev/null || skip "there is no node (Debian's packages nodejs and npm)"
command -v npm >/dev/null || skip "there is no npm (Debian's packages nodejs and npm)"
[[ $(node -p 'process.versions.node.split(".")[0]') -ge 18 ]] || skip "the SDK wants node 18, this is $(node --version)"
# Node 18 has the web's cryptography only with a flag.
[[ $(node -p 'process.versions.node.split(".")[0]') -ge 20 ]] || export NODE_OPTIONS=--experimental-global-webcrypto

stamp=node_modules/.installed
if ! cmp -s package-lock.json "$stamp"; then
  npm ci --no-audit --no-fund --loglevel=error || skip "the SDK could not be installed"
  cp package-lock.json "$stamp"
fi
exec npm test --silent
