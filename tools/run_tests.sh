#!/bin/sh
# run_tests.sh BUILD: unit tests, then ONNX's conformance data where it is to be found, then one closing line.
# SHARED (default ../shared) holds conformance tests and real models; without it they are counted as skipped.
build=$1
shared=${SHARED:-../shared}
passed=0 failed=0 skipped=0

add() { # "N passed, N failed, N skipped" into the sums
  passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
}

echo "== unit tests"
log=$build/unit-tests.log
ctest --test-dir "$build" --output-on-failure -j 2 >"$log" 2>&1
grep -E '\*\*\*|^\[  FAILED|Error|tests passed' "$log"
total=$(sed -n 's/.*tests passed, \([0-9]*\) tests* failed out of \([0-9]*\)/\1 \2/p' "$log")
bad=${total% *} all=${total#* }
[ -n "$total" ] || { bad=1 all=1; tail -40 "$log"; }
skips=$(grep -c '\*\*\*Skipped' "$log")
add $((all - bad - skips)) "$bad" "$skips"
[ "$bad" = 0 ] || grep -A 12 -E '^\[  FAILED|runtime error|ERROR:' "$log" | head -150

cases() { # cases TITLE LIST-OF-KNOWN-GAPS PATH [OPTION...]
  title=$1 gaps=$2 path=$3
  shift 3
  if [ ! -d "$path" ]; then
    echo "== $title: skipped, $path is not there"
    add 0 0 1
    return
  fi
  echo "== $title"
  out=$build/cases.log
  "$build/bin/onyx" test "$path" "$@" >"$out"
  line=$(tail -1 "$out")
  p=$(echo "$line" | sed 's/ passed.*//') f=$(echo "$line" | sed 's/.*passed, \([0-9]*\) failed.*/\1/')
  # what the engine says it does not implement is a gap that is counted, anything else a failure
  g=0
  [ "$gaps" = gaps ] && g=$(grep -c 'operator not implemented' "$out")
  grep '^FAILED' "$out" | { [ "$gaps" = gaps ] && grep -v 'operator not implemented' || cat; } | head -40
  echo "$p passed, $((f - g)) failed, $g not implemented"
  add "$p" $((f - g)) "$g"
}

image=$build/lib/libonyx_image.so
[ -e "$image" ] || echo "== the image plug-in was not built"
cases "ONNX node tests" gaps "$shared/onnx-tests/node" $([ -e "$image" ] && echo "--plugin $image")
cases "ONNX simple tests" all "$shared/onnx-tests/simple"
cases "PyTorch operators" gaps "$shared/onnx-tests/pytorch-operator"
cases "PyTorch models" gaps "$shared/onnx-tests/pytorch-converted"
cases "light models" all "$shared/onnx-tests/light" --atol-max 1e-3
for model in "$shared"/models/*/; do
  case $model in
    *_qdq/) cases "$(basename "$model")" all "$model" --cosine 0.995 ;;
    *) cases "$(basename "$model")" all "$model" --atol-max 1e-3 ;;
  esac
done
[ -d "$shared/models" ] || cases "real models" all "$shared/models"

echo "== values of optimized models"
for model in "$shared"/models/*/; do
  case $model in
    *'*'*) add 0 0 1; continue ;;
    *_qdq/) set -- --cosine 0.995 ;;
    *) set -- ;;
  esac
  if "$build/bin/onyx" optimize --verify "$model" "$@" >"$build/verify.log" 2>&1; then
    add 1 0 0
  else
    add 0 1 0
    echo "FAILED $model:" && cat "$build/verify.log"
  fi
done

echo
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
