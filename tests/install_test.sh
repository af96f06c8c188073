#!/usr/bin/env bash
# Installs a build into an empty folder, moves it, and uses it like a stranger: the program with its bundled model, and
# the library by the commands and programs of docs/library.md and by examples/. Usage: tests/install_test.sh BUILD_DIR
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/first" >/dev/null
mkdir "$work/a folder"
mv "$work/first" "$work/a folder/moved"
prefix="$work/a folder/moved"
model=$prefix/share/realizar/models/realizar-tiny/realizar-tiny-Q8_0.gguf
question="What is the capital of France?"

fail() {
  echo "install: $1" >&2
  exit 1
}
expect_paris() { [[ "$2" == *Paris* ]] || fail "$1 answered '$2'"; }

expect_paris "the installed program" "$("$prefix/bin/realizar" run --temperature 0 "$question" </dev/null)"
[[ $("$prefix/bin/realizar-server" --props 2>&1) == *"--props: what a server"* ]] ||
  fail "realizar-server does not take llama-server's command line"
for file in LICENSE third-party/chat-page; do
  [[ -s $prefix/share/doc/realizar/$file ]] || fail "$file is missing"
done
for file in bash-completion/completions/realizar zsh/site-functions/_realizar fish/vendor_completions.d/realizar.fish; do
  [[ -s $prefix/share/$file ]] || fail "$file is missing"
done
needed=$(readelf -d "$prefix/lib/librealizar.so" | grep NEEDED)
[[ ! $needed =~ lib(curl|ssl|crypto) ]] || fail "the library is linked with what only downloads need: $needed"
for file in "$prefix/bin/realizar" "$prefix/lib/librealizar.so"; do
  ! grep -qF "$root/" "$file" || fail "$file holds the path of its source, $root"
done

# The library has the program's code, so that neither contains the other's.
strong_symbols() { nm "$@" | awk '$2 ~ /^[TDBR]$/ { sub(/@.*/, "", $3); print $3 }' | sort -u; }
twice=$(comm -12 <(strong_symbols --defined-only "$prefix/bin/realizar" | grep '^_ZN8realizar') \
  <(strong_symbols -D --defined-only "$prefix/lib/librealizar.so"))
[[ -z $twice ]] || fail "program and library both have $(head -3 <<< "$twice")"

# code LANGUAGE HEADING: the first block of that language below a heading of docs/library.md.
code() {
  awk -v language="$1" -v heading="## $2" '
    /^## / { in_section = $0 == heading }
    /^```/ {
      if (printing) exit
      is_open = !is_open
      printing = is_open && in_section && substr($0, 4) == language
      next
    }
    printing' "$root/docs/library.md"
}
mkdir "$work/cmake" "$work/pkg_config"
code cmake "C++, with CMake" > "$work/cmake/CMakeLists.txt"
code cpp "C++, with CMake" > "$work/cmake/hello.cpp"
code c "C, with pkg-config" > "$work/pkg_config/hello.c"
# The commands, with the folder and the question of the page.
commands() { code "" "$1" | sed -e "s#/opt/realizar#\$PREFIX#g"; }

# Unquoted paths in the page must not be split at the folder's space.
ln -s "$prefix" "$work/prefix"
export PREFIX=$work/prefix
text=$(cd "$work/cmake" && bash -euo pipefail -c "$(commands "C++, with CMake")" | tail -1)
expect_paris "docs/library.md's C++ program" "$text"
text=$(cd "$work/pkg_config" && bash -euo pipefail -c "$(commands "C, with pkg-config")" | tail -1)
expect_paris "docs/library.md's C program" "$text"
for hello in cmake/build/hello pkg_config/hello; do
  text=$(LD_LIBRARY_PATH=$PREFIX/lib "$work/$hello" nofile "$question" 2>&1) && fail "$hello takes a model that is not there"
  [[ $text == *"neither a file nor a model 'nofile'"* ]] || fail "$hello says of a model that is not there: $text"
  expect_paris "$hello with a name" "$(LD_LIBRARY_PATH=$PREFIX/lib "$work/$hello" realizar-tiny "$question")"
done

cmake -G Ninja -S "$root/examples" -B "$work/examples" -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
cmake --build "$work/examples" >/dev/null
for source in "$root"/examples/*.c{,pp}; do
  example=$(basename "${source/%.c*/}")_${source##*.}
  expect_paris $example "$("$work/examples/$example" "$model" "$question")"
  "$work/examples/$example" "$model" $'two\n"lines"' > /dev/null || fail "$example refuses a prompt of two lines"
done
echo "install: program, CMake package, pkg-config, the documentation's programs and the examples work from a moved tree"
