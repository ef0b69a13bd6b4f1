#!/bin/sh
# test_cpu_plugin.sh BUILD: the CPU provider out of the engine and back as a plug-in (cmake/cpu.cmake). The engine has
# no kernel of an operator then. Every test passes there, and the models of SHARED (default ../shared) give the same bits
# as with the engine in BUILD.
build=$1
plug=$build-cpu-plugin
shared=${SHARED:-../shared}
passed=0 failed=0 skipped=0
# shellcheck disable=SC2086
cmake -S . -G Ninja $CMAKE_FLAGS -B "$plug" -DONYX_TESTS=ON -DONYX_CPU=plugin >/dev/null || exit 1
cmake --build "$plug" -j "${JOBS:-2}" || exit 1
prepares() { # how many kernels of operators the objects of target $1 have
  find "$plug/CMakeFiles/$1.dir" -name '*.o' -exec nm {} + | grep -c ' t prepare'
}
if [ "$(prepares onyx_schemas)" != 0 ] || [ "$(prepares onyx_ops)" = 0 ]; then
  echo "FAILED: the engine without the CPU provider has kernels" && failed=1
fi
sh tools/run_tests.sh "$plug" || failed=$((failed + 1))
echo "== the same bits"
[ -d "$shared/models" ] || skipped=1
for model in "$shared"/models/*/; do
  [ -d "$model" ] || continue
  for engine in "$build" "$plug"; do
    rm -rf "$plug/bits/$engine" && mkdir -p "$plug/bits/$engine"
    "$engine/bin/onyx" run "$model" --output "$plug/bits/$engine" >/dev/null || echo "$engine failed" >"$plug/bits/$engine/failed"
  done
  if [ ! -e "$plug/bits/$build/failed" ] && diff -r "$plug/bits/$build" "$plug/bits/$plug" >/dev/null; then
    passed=$((passed + 1))
  else
    echo "FAILED $model: not the same bits" && failed=$((failed + 1))
  fi
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
