#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# task/model/run.sh: checks the pool's protocols exhaustively with Spin (apt: spin). Prints one line per model.
set -e
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# check NAME WANTED-ERRORS [SPIN-FLAGS]
check() {
  spin -a $3 "$here/$1.pml" >/dev/null
  ${CC:-cc} -O2 -w -DSAFETY -DMEMLIM=2048 -DCOLLAPSE -o pan pan.c
  ./pan -m1000000 >out 2>&1 || true
  states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' out)
  errors=$(sed -n 's/.*errors: \([0-9]*\).*/\1/p' out)
  if grep -q 'max search depth too small\|out of memory' out; then errors="search not complete"; fi
  echo "$1 $3: $states states, errors: $errors (wanted $2)"
  [ "$errors" = "$2" ]
}

check park 0
check park 1 -DLOSE=1 # the model does find a lost wake
check lanes 0
check wait 0
