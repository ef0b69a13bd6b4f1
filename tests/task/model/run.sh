#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# task/model/run.sh: checks the pool's protocols exhaustively with Spin, two models at a time. One line each: states,
# seconds, outcome. A model is also run with each of its mistakes (LOSE), and must be found wrong.
# run.sh [MODEL...]: only these.
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
touch "$work/proved" "$work/mistakes"
cc=${CC:-cc}

# check NAME FLAGS WANTED: prints a line; makes a file "bad" unless the search was complete, or wrong if that is wanted.
check() {
  dir=$work/$(echo "$1$2" | tr -c 'a-zA-Z0-9\n' _)
  mkdir "$dir" && cd "$dir" || exit 1
  start=$(date +%s)
  # shellcheck disable=SC2086
  if spin -a $2 "$here/$1.pml" >spin.log 2>&1 && $cc -O1 -w -DSAFETY -DCOLLAPSE -DMEMLIM=4000 -o pan pan.c; then
    ./pan -m1000000 >out 2>&1
  else
    cat spin.log
  fi
  seconds=$(($(date +%s) - start))
  states=$(sed -n 's/^ *\([0-9]*\) states, stored.*/\1/p' out)
  errors=$(sed -n 's/.*errors: \([0-9]*\).*/\1/p' out)
  outcome="errors: ${errors:-?}"
  if [ "$3" = wrong ]; then
    if [ "$errors" = 1 ]; then
      outcome="found wrong, as it is"
      echo 1 >>"$work/mistakes"
    else
      touch "$work/bad"
    fi
  else
    # A search that gave up proves nothing; nor does one with bits for states.
    grep -q 'Full statespace search' out || outcome="search not complete"
    if grep -q 'max search depth too small\|out of memory\|MEMLIM\|Search not completed\|Bit statespace' out; then
      outcome="search not complete"
    fi
    if [ "$outcome" = "errors: 0" ]; then echo "$states" >>"$work/proved"; else touch "$work/bad"; fi
  fi
  printf '%-7s %-21s %10s states %4s s  %s\n' "$1" "$2" "${states:-?}" "$seconds" "$outcome"
}

list() {
  cat <<END
lanes -DBLOCKS=8 right
queue -DMIX=112 right
wait -DWORKER=0 right
wait -DWORKER=1 right
queue -DMIX=77 right
queue -DMIX=77,-DALL right
park - right
visit - right
graph - right
refs - right
END
  echo "queue -DMIX=112,-DLOSE=3 wrong"
  for k in 1 2 4 5; do echo "queue -DLOSE=$k wrong"; done
  for k in 1 2 3 4 5 6 7; do echo "lanes -DLOSE=$k wrong"; done
  for k in 1 2 3 4 5 6; do echo "park -DLOSE=$k wrong"; done
  for k in 1 2 3 4 5; do echo "visit -DLOSE=$k wrong"; done
  for k in 1 2 3; do echo "wait -DLOSE=$k wrong"; done
  echo "wait -DWORKER=1,-DLOSE=4 wrong"
  for k in 1 2 3 4 5 6 7 8 9; do echo "refs -DLOSE=$k wrong"; done
  for k in 1 2 3 4 5 6 7; do echo "graph -DLOSE=$k wrong"; done
}

# Two shells take the lines in turn.
list >"$work/list"
for part in 0 1; do
  awk "NR % 2 == $part" "$work/list" | while read -r name flags wanted; do
    [ -f "$here/$name.pml" ] || continue
    [ $# = 0 ] || echo " $* " | grep -q " $name " || continue
    check "$name" "$(echo "$flags" | sed 's/^-$//; s/,/ /g')" "$wanted"
  done &
done
wait
awk '{ n += $1 } END { printf "%d searches, complete and without errors: %d states", NR, n }' "$work/proved"
echo "; $(wc -l <"$work/mistakes") mistakes found."
[ ! -e "$work/bad" ] || { echo "make model: FAILED"; exit 1; }
