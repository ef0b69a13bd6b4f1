#!/bin/sh
# Builds engine and CUDA provider and runs the tests of drivers and, if given, of models on a GPU. For a machine that has
# cmake, ninja and a C compiler, and NVIDIA's libraries where the system finds them or in python3's packages; no cmocka.
# Usage, from the source root: tests/plugins/device/on_gpu.sh [FOLDER OF onyx test]...
set -e
build=${BUILD:-build-gpu}
packages=$(python3 -c 'import nvidia; print("\n".join(nvidia.__path__))' 2>/dev/null || true)
for folder in $packages; do
  for lib in "$folder"/*/lib; do
    if [ -d "$lib" ]; then ONYX_CUDA_PATH="$ONYX_CUDA_PATH${ONYX_CUDA_PATH:+:}$lib"; fi
  done
done
export ONYX_CUDA_PATH
# libraries that load others by name find them there
export LD_LIBRARY_PATH="$ONYX_CUDA_PATH${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release >"$build.log" 2>&1 || { cat "$build.log"; exit 1; }
cmake --build "$build" --target onyx onyx_static onyx_cuda >>"$build.log" 2>&1 || { tail -40 "$build.log"; exit 1; }
for name in driver driver_order driver_faults driver_libraries; do
  [ -f "tests/plugins/device/${name}_test.c" ] || continue
  ${CC:-cc} -std=c11 -O2 -g -D_POSIX_C_SOURCE=200809L -DOX_TEST_CUDA -DCUDA_STANDIN='"none"' -Ddev_the_driver=dev_cuda_driver \
    -Itests/support/standin -Itests -Isrc -Iinclude -I"$build/generated" -o "$build/test.$name" \
    "tests/plugins/device/${name}_test.c" tests/plugins/device/rig.c tests/plugins/device/rig_cuda.c src/plugins/cuda/*.c src/plugins/device/fail.c \
    -Wl,--start-group "$build"/lib/libonyx*.a -Wl,--end-group -lm -ldl -lpthread
  echo "== $name"
  ONYX_TEST_GPU=1 "$build/test.$name"
done
status=0
for models in "$@"; do
  echo "== onyx test $models"
  case $models in # quanta that differ by one add up
    *_qdq | *_qdq/) tolerance='--cosine 0.995' ;;
    *) tolerance='--atol-max 1e-3' ;;
  esac
  "$build/bin/onyx" test "$models" --plugin "$build/lib/libonyx-cuda.so" --provider cuda $tolerance || status=1
done
exit $status
