#!/usr/bin/env bash
# Checks that need no build: module order, formatting, shell scripts, file lengths, left-over markers.
#   lint.sh             reports and fails
#   lint.sh --format    formats the C++ files in place
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly longest=600
# The project's format is that of release 14; others break lines differently.
formatter=$(command -v clang-format-14 || command -v clang-format)
mapfile -t cpp < <(git ls-files -- '*.h' '*.cpp' '*.inc')
mapfile -t scripts < <(git ls-files -- dev .ci/run '*.sh')
mapfile -t sources < <(git ls-files -- '*.h' '*.cpp' '*.inc' '*.py' '*.sh' '*.mjs' '*.cmake' 'CMakeLists.txt' dev .ci/run)

if [[ ${1-} == --format ]]; then
  "$formatter" -i "${cpp[@]}"
  exit
fi

failed=()
# check NAME COMMAND...: runs it; its output says what is wrong.
check() {
  local name=$1
  shift
  "$@" || failed+=("$name")
}

format_is_clean() {
  local dirty
  dirty=$("$formatter" --dry-run "${cpp[@]}" 2>&1 | sed -n 's/^\([^:]*\):[0-9]*:[0-9]*: warning:.*/\1: not formatted/p' | sort -u)
  [[ -z $dirty ]] || {
    printf '%s\n' "$dirty"
    return 1
  }
}

files_are_short() {
  awk -v longest=$longest '
    FNR == longest + 1 {print FILENAME ": longer than " longest " lines"; bad = 1}
    END {exit bad}' "${sources[@]}"
}

no_markers() {
  local words='TO''DO|FIX''ME|X''XX|HA''CK'
  ! git grep -nE "\\b($words)\\b" -- src tests tools fuzz bench dev .ci cmake CMakeLists.txt docs README.md
}

check 'module order' /usr/bin/env PATH="/usr/bin:$PATH" python3 tools/check_modules.py
check 'tests of the module check' /usr/bin/env PATH="/usr/bin:$PATH" python3 -m unittest -q tests/tools/check_modules_test.py
check 'formatting (./dev format)' format_is_clean
check 'shell scripts' shellcheck "${scripts[@]}"
check 'file lengths' files_are_short
check 'markers' no_markers

if ((${#failed[@]})); then
  printf 'lint: failed: %s\n' "$(IFS=';'; printf '%s' "${failed[*]}")"
  exit 1
fi
printf 'lint: clean (%d C++ files, %d scripts)\n' "${#cpp[@]}" "${#scripts[@]}"
