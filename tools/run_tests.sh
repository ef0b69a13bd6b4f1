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
  s=$(echo "$line" | sed 's/.*failed, \([0-9]*\) skipped.*/\1/')
  # what the engine says it does not implement is a gap that is counted, anything else a failure
  g=0
  [ "$gaps" = gaps ] && g=$(grep -c 'operator not implemented' "$out")
  grep '^FAILED' "$out" | { [ "$gaps" = gaps ] && grep -v 'operator not implemented' || cat; } | head -40
  echo "$p passed, $((f - g)) failed, $g not implemented, $s skipped"
  add "$p" $((f - g)) $((g + s))
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

# Python: the same scripts on our packages and, where it is installed or ONYX_TEST_ORT names its site-packages, Microsoft's.
python=${PYTHON:-/usr/bin/python3}
if [ ! -e "$build/python/onyx/_onyx.abi3.so" ]; then
  echo "== Python: skipped, the packages were not built"
  add 0 0 1
elif ! "$python" -c 'import numpy, pytest' 2>/dev/null; then
  echo "== Python: skipped, $python has no numpy or no pytest"
  add 0 0 1
else
  echo "== Python"
  out=$build/python-tests.log
  PYTHONPATH=$build/python "$python" -B -m pytest -q -rs --tb=short -p no:cacheprovider python/tests >"$out" 2>&1 ||
    grep -E '^(E  |FAILED|ERROR)' "$out" | head -60
  grep '^SKIPPED' "$out" | sed 's/^SKIPPED \[\([0-9]*\)\] [^ ]* /\1 /' |
    awk '{ n = $1; $1 = ""; skips[$0] += n } END { for (why in skips) print skips[why] " skipped:" why }'
  count() { sed -n "\$s/.*\b\([0-9][0-9]*\) $1.*/\1/p" "$out" | tail -1; }
  p=$(count passed) f=$(count failed) e=$(count error) k=$(count skipped)
  [ -n "$p$f$e" ] || e=1
  echo "${p:-0} passed, $((${f:-0} + ${e:-0})) failed, ${k:-0} skipped"
  add "${p:-0}" $((${f:-0} + ${e:-0})) "${k:-0}"
fi

echo
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
