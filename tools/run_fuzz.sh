#!/bin/sh
# run_fuzz.sh BUILD SECONDS: runs every fuzzer of BUILD/bin/fuzz that long, each over a corpus of its own in BUILD/corpus
# that is seeded with small models. Fails if one finds a crash, a leak or a hang.
build=$1 seconds=$2 failed=0
for fuzzer in "$build"/bin/fuzz/*; do
  name=$(basename "$fuzzer")
  corpus=$build/corpus/$name
  mkdir -p "$corpus"
  case $name in
    *text*|*mutation*) ;;
    *) cp examples/digits/digits.onnx "$corpus/" 2>/dev/null
       for model in "${SHARED:-../shared}"/onnx-tests/simple/*/model.onnx; do
         [ -f "$model" ] && cp "$model" "$corpus/$(basename "$(dirname "$model")").onnx"
       done ;;
  esac
  echo "== $name for $seconds s"
  "$fuzzer" "$corpus" -max_total_time="$seconds" -timeout=25 -rss_limit_mb=4096 -max_len=65536 -verbosity=0 \
    -print_final_stats=1 -artifact_prefix="$build/$name-" 2>"$build/$name.log" || failed=1
  grep -E 'stat::number_of_executed_units|ERROR|SUMMARY' "$build/$name.log"
done
[ $failed = 0 ] && echo "fuzzing: clean"
exit $failed
