#!/usr/bin/env bash
# The steps of a newcomer on an empty machine, from README.md: clone, the two commands, install; then the same as a user
# without root. CI runs it in a bare root: scripts/bare-root bookworm ... tests/fresh_machine.sh REPOSITORY
# [--without-tests]. A compiler cache is used if CCACHE_DIR names one, and its hits are counted.
set -euo pipefail
repository=$1
here=$(cd "$(dirname "$0")/.." && pwd)
with_tests=${2:-}
clone=/root/realizar

fail() {
  echo "fresh machine: $1" >&2
  exit 1
}
say() { printf 'fresh machine: %s\n' "$*"; }
cache_hits() {
  [[ -n ${CCACHE_DIR:-} ]] || { echo 0; return; }
  ccache --print-stats | awk '/^(direct|preprocessed)_cache_hit/ { n += $2 } END { print n + 0 }'
}
# Sets cpu_s to the seconds of processor time used so far. A subshell would only know its own.
read_cpu_s() {
  times > /tmp/times
  cpu_s=$(awk -F'[ms ]' 'NR == 2 { printf "%d\n", $1 * 60 + $2 + $4 * 60 + $5 }' /tmp/times)
}
used_mb() { du -sxm --exclude="$clone" --exclude=/var/lib/apt/lists / 2>/dev/null | cut -f1; }

# The commands in the block below "## Two commands".
mapfile -t commands < <(awk '/^## / { here = $0 == "## Two commands" }
  here && /^```/ { if (is_open) exit; is_open = 1; next }
  here && is_open && NF' "$here/README.md")
[[ ${#commands[@]} -eq 2 ]] || fail "README.md has ${#commands[@]} commands instead of two"

# Without root, the command for an administrator is printed.
useradd --create-home someone
mkdir -p /tmp/scripts
cp "$here/scripts/setup" /tmp/scripts/
if said=$(su someone -c /tmp/scripts/setup 2>&1); then fail "setup installs without root: $said"; fi
grep -qE '^apt-get update && apt-get install [^;&|]* g\+\+ [^;&|]*$' <<< "$said" || fail "setup names no command for an administrator: $said"

# A clone needs git; the other packages are for the checks.
apt-get update -q > /dev/null
DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends git ${CCACHE_DIR:+ccache} > /dev/null
rm -rf /var/cache/apt/archives/*.deb
before_mb=$(used_mb)
# The repository belongs to another user than those who clone it here.
git config --system --add safe.directory '*'
hits_before=$(cache_hits)

export CCACHE_BASEDIR=$clone
started=$SECONDS
read_cpu_s
cpu_before_s=$cpu_s
git clone -q "$repository" "$clone"
cd "$clone"
say "\$ ${commands[0]}"
answer=$(bash -c "${commands[0]}" < /dev/null 2> /tmp/log) || { cat /tmp/log; fail "the first command failed"; }
[[ $answer == *Paris* ]] || fail "the first command answered '$answer'"
took=$((SECONDS - started))
read_cpu_s
say "answered '$answer'"
say "from clone to the first answer: $took s ($(nproc) cores, $((cpu_s - cpu_before_s)) s of processor time; compilations taken from a cache: $(($(cache_hits) - hits_before)))"
say "installed: $(($(used_mb) - before_mb)) MB of packages beside git; clone and build: $(du -sm "$clone" | cut -f1) MB"
for folder in .npm .cache; do [[ ! -e /root/$folder ]] || fail "the first command has made /root/$folder"; done
for tool in node npm python3 chromium sudo; do ! command -v $tool || fail "the first command has installed $tool"; done
! dpkg-query -W libgtest-dev 2> /dev/null || fail "the first command has installed the test libraries"
! grep -q REALIZAR_TESTS:BOOL=ON build/release/CMakeCache.txt || fail "the first command has configured the tests"

# If nothing is to be done, the only line says who answers.
expect_silence() {
  local said
  said=$(bash -c "${commands[0]}" 2>&1 > /dev/null)
  [[ $said == "realizar: no model was named; "* && $said != *$'\n'* ]] || fail "the first command says, where nothing is to be done: $said"
}
expect_silence

tests/install_test.sh build/release

# The commands without root, in a folder with a space, from a separate clone.
cat > /tmp/as_someone.sh <<END
set -euo pipefail
${CCACHE_DIR:+export CCACHE_DIR=$CCACHE_DIR CCACHE_READONLY=1 CCACHE_TEMPDIR=/tmp CCACHE_NOHASHDIR=1}
export CCACHE_BASEDIR="\$HOME/a folder"
git clone -q "$repository" "\$HOME/a folder"
cd "\$HOME/a folder"
${commands[0]}
END
answer=$(su someone -c "bash /tmp/as_someone.sh" < /dev/null 2> /tmp/log) || { cat /tmp/log; fail "the first command failed without root"; }
[[ $answer == *Paris* ]] || fail "without root the first command answered '$answer'"
say "the same without root, where the packages are there: answered"

[[ $with_tests != --without-tests ]] || exit 0
say "\$ ${commands[1]}"
bash -c "${commands[1]}"
expect_silence
say "from the first command to the end of the tests: $((SECONDS - started)) s"
