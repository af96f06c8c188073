#!/usr/bin/env bash
# Checks the page: types, units, in Chromium and Firefox against scripted answers, and against the program: run.sh REALIZAR. Exit code
# 77: node 20, npm or Chromium is missing, and nothing was tested.
set -euo pipefail
REALIZAR_BIN=$(realpath "$1")
export REALIZAR_BIN
cd "$(dirname "$0")/.."

skip() {
  echo "page: skipped: $1" >&2
  exit 77
}
command -v npm >/dev/null || skip "there is no npm (Debian's packages nodejs and npm)"
command -v chromium >/dev/null || skip "there is no chromium (Debian's package chromium)"
[[ $(node -p 'process.versions.node.split(".")[0]') -ge 20 ]] || skip "the tools want node 20, this is $(node --version)"
if [[ ! node_modules/.package-lock.json -nt package-lock.json ]]; then
  npm ci --no-audit --no-fund --loglevel=error || skip "npm could not install the page's packages"
fi

npm run --silent check
npm test --silent
npm run --silent test:page
if [[ -x ${FIREFOX:-/usr/bin/firefox-esr} ]]; then
  PAGE_BROWSER=firefox node --test --test-concurrency=1 test/page.test.mjs test/composer.test.mjs test/models.test.mjs
else
  echo "page: skipped in Firefox: there is no firefox-esr (Debian's package)" >&2
fi
npm run --silent test:served
