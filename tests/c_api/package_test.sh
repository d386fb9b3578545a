#!/usr/bin/env bash
# Installs a finished build into an empty folder, moves it, and builds a C project against it from outside of the tree.
#   package_test.sh BUILD_DIRECTORY SOURCE_DIRECTORY
set -euo pipefail
export LC_ALL=C

build=${1:?usage: package_test.sh BUILD_DIRECTORY SOURCE_DIRECTORY}
source=${2:?usage: package_test.sh BUILD_DIRECTORY SOURCE_DIRECTORY}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
die() {
  printf '%s\n' "$*" >&2
  exit 1
}

cmake --install "$build" --prefix "$work/first" >"$work/install.log" || {
  cat "$work/install.log" >&2
  die 'installing failed'
}
mv "$work/first" "$work/prefix"
prefix=$work/prefix
[[ -x $prefix/bin/oxbow ]] || die 'the program is not installed'
[[ -f $prefix/include/oxbow/oxbow.h ]] || die 'the header is not installed'

# The shared library shows the functions of the header and nothing else.
library=$(find "$prefix" -name liboxbow.so)
[[ -n $library ]] || die 'liboxbow.so is not installed'
libraries=${library%/liboxbow.so}
[[ -f $libraries/liboxbow.a ]] || die 'liboxbow.a is not installed'
readelf -d "$library" | grep -Eq 'SONAME.*\[liboxbow\.so\.[0-9]+\.[0-9]+\]' || die 'the SONAME has no version'
nm -D --defined-only "$library" | awk '$2 != "A" {print $3}' | sort >"$work/shown"
grep -ohE '\boxbow_[a-z_]+\(' "$prefix/include/oxbow/oxbow.h" | tr -d '(' | sort -u >"$work/declared"
diff "$work/declared" "$work/shown" >&2 || die 'the header (<) and the symbols of liboxbow.so (>) differ'

model=$source/tests/golden/granitehybrid-dense.gguf
check() { # NAME COMMAND...
  local name=$1 output
  shift
  output=$("$@" "$model" 'A river moves on' ' and on' 2>&1) || die "$name: $output"
  [[ $output == *'reused '* ]] || die "$name said: $output"
  printf '%s: works\n' "$name"
}

mkdir "$work/project"
cp "$source/examples/complete.c" "$work/project/main.c"
cat >"$work/project/CMakeLists.txt" <<'TEXT'
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES C)
find_package(oxbow 0.1 REQUIRED)
foreach(kind oxbow oxbow_static)
  add_executable(user_${kind} main.c)
  target_link_libraries(user_${kind} PRIVATE oxbow::${kind})
endforeach()
TEXT
build_project() {
  cmake -S "$work/project" -B "$work/project/build" -DCMAKE_PREFIX_PATH="$prefix" &&
    cmake --build "$work/project/build"
}
build_project >"$work/cmake.log" 2>&1 || {
  cat "$work/cmake.log" >&2
  die 'the CMake project does not build'
}
check 'find_package, shared' "$work/project/build/user_oxbow"
check 'find_package, static' "$work/project/build/user_oxbow_static"

export PKG_CONFIG_PATH=$libraries/pkgconfig
pkg-config --exact-version="$("$prefix/bin/oxbow" --version | grep -oE '[0-9]+\.[0-9]+\.[0-9]+')" oxbow ||
  die 'oxbow.pc has another version than the program'
# shellcheck disable=SC2046  # lists of options
cc -std=c99 -o "$work/user_pc" "$work/project/main.c" $(pkg-config --cflags --libs oxbow)
check 'pkg-config, shared' env LD_LIBRARY_PATH="$libraries" "$work/user_pc"
# shellcheck disable=SC2046
cc -std=c99 -o "$work/user_pc_static" "$work/project/main.c" $(pkg-config --cflags oxbow) \
  -Wl,-Bstatic -L"$libraries" -loxbow -Wl,-Bdynamic $(pkg-config --libs-only-l --static oxbow | sed 's/-loxbow//')
check 'pkg-config, static' "$work/user_pc_static"
