#!/bin/bash
# Uses the downloads of scripts/package like a stranger, on a system with none of the other packages: scripts/bare-root
# SUITE --bind build/packages:/packages ... tests/package_test.sh /packages
set -euo pipefail
packages=$1
question="What is the capital of France?"

fail() {
  echo "package: $1" >&2
  exit 1
}
expect_paris() { [[ "$2" == *Paris* ]] || fail "$1 answered '$2'"; }

# carries_its_libraries PROGRAM FOLDER: all the libraries that it loads are glibc's or in the folder.
carries_its_libraries() {
  local outside
  outside=$(ldd "$1" | grep -vE -e "=> $2/" -e 'linux-vdso|ld-linux|lib(c|m|mvec|pthread|dl|rt|resolv|util)\.so' || true)
  [[ -z $outside ]] || fail "$1 wants more than glibc: $outside"
}

# get PORT PATH: the first line of the answer.
get() {
  local line
  exec 3<> "/dev/tcp/127.0.0.1/$1"
  printf 'GET %s HTTP/1.0\r\nAccept: text/html\r\n\r\n' "$2" >&3
  read -r line <&3
  exec 3>&-
  echo "${line%$'\r'}"
}

serves() {
  local port line
  coproc SERVER { exec "$1" serve --port 0 2> /tmp/server.log; }
  read -r line <&"${SERVER[0]}" || fail "the server ended: $(cat /tmp/server.log)"
  port=$(sed -n 's/.*127\.0\.0\.1:\([0-9]*\).*/\1/p' <<< "$line")
  until [[ $(get "$port" /readyz) == *" 200 "* ]]; do kill -0 "$SERVER_PID" || fail "the server ended"; done
  [[ $(get "$port" /) == *" 200 "* ]] || fail "the server has no chat page"
  kill "$SERVER_PID"
  wait "$SERVER_PID" || fail "the server did not end well"
}

mkdir -p "/opt/a folder"
tar -C "/opt/a folder" -xzf "$packages"/realizar-*.tar.gz
tree=$(echo "/opt/a folder"/realizar-*)
expect_paris "the tarball's program" "$("$tree/bin/realizar" run --temperature 0 "$question" </dev/null)"
carries_its_libraries "$tree/bin/realizar" "$tree"
carries_its_libraries "$tree/lib/librealizar.so" "$tree"
serves "$tree/bin/realizar"
[[ -x $tree/bin/realizar-server ]] || fail "the tarball lacks realizar-server"
for file in LICENSE third-party/{chat-page,nlohmann-json3-dev,libfmt9}; do
  [[ -s $tree/share/doc/realizar/$file ]] || fail "the licence $file is missing"
done
rm -rf "/opt/a folder"

dpkg -i "$packages"/realizar_*.deb > /dev/null
expect_paris "the .deb's program" "$(realizar run --temperature 0 "$question" </dev/null)"
[[ $(realizar-server --props 2>&1) == *"--props: what a server"* ]] || fail "the .deb's realizar-server is no llama-server"
[[ -f /usr/share/bash-completion/completions/realizar ]] || fail "the .deb lacks the completion for bash"
[[ -f /usr/share/man/man1/realizar.1.gz && -f /usr/lib/systemd/system/realizar.service ]] || fail "the .deb lacks a file"
[[ -x $(sed -n 's/^ExecStart=\([^ ]*\) .*/\1/p' /usr/lib/systemd/system/realizar.service) ]] || fail "the unit starts nothing"
dpkg -r realizar > /dev/null
[[ ! -e /usr/lib/realizar && ! -e /usr/bin/realizar && ! -e /usr/bin/realizar-server ]] || fail "removing the .deb leaves files"
echo "package: tarball and .deb work on $(sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' /etc/os-release)"
