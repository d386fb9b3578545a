#!/usr/bin/env bash
# Proves on a release build that code compiled for one instruction set cannot run in place of another's.
#   check_isa_leaks.sh BUILD_DIRECTORY
# The linker keeps one copy of a weak (COMDAT) function, from whichever object comes first: were it one built with AVX-512
# flags, every caller would need AVX-512. So
#   1. the units of src/kernels/isa define nothing weak, and nothing outside of their own namespace;
#   2. they call nothing but each other and the few C functions that compilers call by themselves;
#   3. no other object of the project holds an instruction on a ymm, zmm or mask register.
set -euo pipefail
export LC_ALL=C

build=${1:?usage: check_isa_leaks.sh BUILD_DIRECTORY}
units='(portable|avx2|avx512)(_products|_peaks)?\.cpp\.o'
failed=0
complain() {
  printf '%s\n' "$1" >&2
  failed=1
}

kernels=$build/liboxbow_kernels.a
[[ -f $kernels ]] || { printf '%s is missing: build it first\n' "$kernels" >&2; exit 2; }

# nm -A: "archive:member:address type name"; -P keeps each symbol on a line, names stay mangled.
symbols=$(nm -A -P "$kernels" | sed -E 's/^[^[]*\[([^]]*)\]: /\1 /')
count=$(awk '{print $1}' <<<"$symbols" | sort -u | grep -cE "^$units\$" || true)
((count >= 2)) || complain "found only $count units of isa/ in $kernels"

offending=$(awk -v units="^$units\$" '
  $1 ~ units {
    isa = $1; sub(/(_products|_peaks)?\.cpp\.o$/, "", isa)
    own = "^_ZN?K?5oxbow7kernels" length(isa) isa
    if ($3 ~ /^[WVuwv]$/) print $1 ": weak symbol " $2
    else if ($3 ~ /^[A-TX-Z]$/ && $3 != "U" && $2 !~ own) print $1 ": defines " $2
    else if ($3 == "U" && $2 !~ own && $2 !~ /^(mem(cpy|move|set|cmp)|sqrtf|_GLOBAL_OFFSET_TABLE_|__stack_chk_fail)$/)
      print $1 ": calls " $2
  }' <<<"$symbols")
[[ -z $offending ]] || complain "$(c++filt <<<"$offending")"

if [[ $(uname -m) == x86_64 ]]; then
  checked=0
  for library in "$build"/liboxbow_*.a; do
    checked=$((checked + 1))
    wide=$(objdump -d --no-show-raw-insn "$library" | awk -v units="^$units\$" '
      / file format / { member = $1; sub(/:$/, "", member); next }
      />:$/ { symbol = $2; next }
      member !~ units && /%[yz]mm|%k[0-7]/ { print member ": " symbol " " $0 }' | head -5)
    [[ -z $wide ]] || complain "wide registers in $library:"$'\n'"$(c++filt <<<"$wide")"
  done
  ((checked > 0)) || complain "no library found in $build"
fi

((failed == 0)) && printf 'isa leaks: none in %s units\n' "$count"
exit "$failed"
