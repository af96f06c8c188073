#!/usr/bin/env bash
# Installs a build into an empty folder, moves it, and uses it as strangers would: the program with its bundled model,
# the library through CMake and through pkg-config. Usage: tests/install_test.sh BUILD_DIR
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/first" >/dev/null
mv "$work/first" "$work/moved"
prefix=$work/moved
cd "$work"

answer=$("$prefix/bin/realizar" run --temperature 0 "What is the capital of France?")
[[ "$answer" == *Paris* ]] || { echo "install: the installed program answered '$answer'"; exit 1; }

model=$prefix/share/realizar/models/realizar-tiny/realizar-tiny-Q8_0.gguf
cmake -G Ninja -S "$root/examples" -B "$work/examples" -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
cmake --build "$work/examples" >/dev/null
for example in generate_cpp generate_c; do
  text=$("$work/examples/$example" "$model" "What is the capital of France?")
  [[ "$text" == *Paris* ]] || { echo "install: $example answered '$text'"; exit 1; }
done

export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
cc "$root/examples/generate.c" -o "$work/by_pkg_config" $(pkg-config --cflags --libs realizar)
text=$(LD_LIBRARY_PATH=$prefix/lib "$work/by_pkg_config" "$model" "What is the capital of France?")
[[ "$text" == *Paris* ]] || { echo "install: the pkg-config example answered '$text'"; exit 1; }
echo "install: program, CMake package and pkg-config work from a moved tree"
