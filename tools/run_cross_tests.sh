#!/bin/sh
# run_cross_tests.sh BUILD: the task library and its tests for other systems, each in a folder of BUILD, the engine for
# arm64 on ONNX's conformance data in SHARED (default ../shared) and in the tests of kernels and operators, and one
# closing line that counts test functions (of C++, programs) and cases.
build=$1
mkdir -p "$build"
build=$(cd "$build" && pwd)
passed=0 failed=0 skipped=0

count() { # count FOLDER: sums what the last run there printed
  log=$1/Testing/Temporary/LastTest.log
  programs=$(sed -n 's/.*tests passed, \([0-9]*\) tests* failed out of \([0-9]*\)/\1 \2/p' "$1/ctest.log")
  [ -n "$programs" ] || { echo "no tests were run, see $1/ctest.log"; failed=$((failed + 1)); return; }
  bad=${programs% *}
  p=$(grep -c '^\[       OK \]' "$log") s=$(grep -c '^\[  SKIPPED \]' "$log") plain=$(grep -c '^0 failures' "$log")
  echo "$((p + plain)) passed, $bad failed, $s skipped"
  passed=$((passed + p + plain)) failed=$((failed + bad)) skipped=$((skipped + s))
}

run() { # run TITLE FOLDER [CMAKE OPTION...]
  echo "== $1"
  at=$build/$2
  shift 2
  if ! cmake -S . -B "$at" -G Ninja -DONYX_TASK_ONLY=ON -DONYX_TESTS=ON -DONYX_WERROR=ON "$@" >"$at.log" 2>&1 ||
    ! cmake --build "$at" >>"$at.log" 2>&1; then
    grep -E 'Error|error:|warning:|undefined' "$at.log" | cut -c1-200 | head -40
    echo "cannot be built, see $at.log"
    failed=$((failed + 1))
    return
  fi
  if [ -n "$wine_prefix" ]; then # its first start takes seconds, and its servers keep ctest's pipes open
    WINEPREFIX=$wine_prefix wineboot -i >/dev/null 2>&1 </dev/null
    WINEPREFIX=$wine_prefix wineserver -p600 >/dev/null 2>&1 </dev/null
  fi
  (cd "$at" && ctest --output-on-failure --timeout 60 >ctest.log 2>&1)
  grep -E '\*\*\*|^\[  ERROR|^\[  FAILED' "$at/ctest.log"
  count "$at"
  [ -z "$wine_prefix" ] || WINEPREFIX=$wine_prefix wineserver -k >/dev/null 2>&1
}

kernels() { # kernels FOLDER: the tests of kernels and operators, less those that take minutes under an emulator
  slow='kern[.](attention|bconv|bottleneck|conv|winograd)|ops[.](matmul|rnn|greedy_search)' python='ops[.](arithmetic|vars)'
  names=$(cd "$1" && ctest -N -R '^(kern|ops)[.]' -E "^($slow|$python)\$" | sed -n 's/^ *Test *#.*: /test./p')
  # shellcheck disable=SC2086
  if ! cmake --build "$1" --target $names >>"$1.log" 2>&1; then
    echo "tests cannot be built, see $1.log"
    failed=$((failed + 1))
    return
  fi
  (cd "$1" && ctest --output-on-failure --timeout 300 -R '^(kern|ops)[.]' -E "^($slow|$python)\$" >ctest.log 2>&1)
  grep -E '\*\*\*|^\[  ERROR|^\[  FAILED' "$1/ctest.log"
  printf 'tests of kernels and operators: '
  count "$1"
}

engine() { # engine TOOLCHAIN EMULATOR...: what the command makes of ONNX's data
  at=$build/engine toolchain=$1
  shift
  echo "== the engine for arm64 (qemu)"
  if ! cmake -S . -B "$at" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$toolchain" -DONYX_TESTS=ON >"$at.log" 2>&1 ||
    ! cmake --build "$at" --target onyx >>"$at.log" 2>&1; then
    echo "cannot be built, see $at.log"
    failed=$((failed + 1))
    return
  fi
  for data in simple node pytorch-operator; do
    path=${SHARED:-../shared}/onnx-tests/$data
    if [ ! -d "$path" ]; then
      echo "$data: skipped, $path is not there"
      skipped=$((skipped + 1))
      continue
    fi
    "$@" "$at/bin/onyx" test "$path" >"$at/$data.log"
    g=$(grep -c 'operator not implemented' "$at/$data.log") # of plug-ins that are not built here
    p=$(sed -n '$s/ passed.*//p' "$at/$data.log") f=$(sed -n '$s/.*passed, \([0-9]*\) failed.*/\1/p' "$at/$data.log")
    grep '^FAILED' "$at/$data.log" | grep -v 'operator not implemented' | head -20
    echo "$data: ${p:-0} passed, $((${f:-1} - g)) failed, $g skipped"
    passed=$((passed + ${p:-0})) failed=$((failed + ${f:-1} - g)) skipped=$((skipped + g))
  done
  kernels "$at"
}

run "Linux, arm64 (qemu)" arm64 -DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/toolchains/aarch64-linux-gnu.cmake"
engine "$PWD/cmake/toolchains/aarch64-linux-gnu.cmake" qemu-aarch64 -L /usr/aarch64-linux-gnu
export WINEDEBUG=-all WINEDLLOVERRIDES=mscoree,mshtml= # no installers
wine_prefix=$build/windows/wine
run "Windows, x86-64 (wine)" windows -DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/toolchains/x86_64-w64-mingw32.cmake"
wine_prefix=
run "parking on conditions, this machine" cond -DCMAKE_C_FLAGS=-DOX_PARK_COND

if command -v emcmake >/dev/null 2>&1 && command -v node >/dev/null 2>&1; then
  # main() runs on a thread of its own; no shared library; node must not fetch files as a browser does
  emscripten=$(dirname "$(readlink -f "$(command -v emcmake)")")/cmake/Modules/Platform/Emscripten.cmake
  run "WebAssembly with threads (emscripten, node)" wasm -DCMAKE_TOOLCHAIN_FILE="$emscripten" -DCMAKE_C_FLAGS="-pthread -Wno-unused-command-line-argument" \
    -DCMAKE_CXX_FLAGS="-pthread -fexceptions" -DCMAKE_BUILD_TYPE=Debug \
    -DCMAKE_EXE_LINKER_FLAGS="-sPROXY_TO_PTHREAD -sEXIT_RUNTIME -sINITIAL_MEMORY=1GB -sABORTING_MALLOC=0 -g2" \
    "-DCMAKE_CROSSCOMPILING_EMULATOR=node;--no-experimental-fetch"
else
  echo "== WebAssembly: skipped, there is no emscripten"
  skipped=$((skipped + 1))
fi

echo "== syntax of park_wasm.c"
if command -v clang >/dev/null 2>&1; then
  if clang --target=wasm32 -ffreestanding -std=c11 -matomics -mbulk-memory -Wall -Wextra -Werror -fsyntax-only -Isrc \
    src/task/system/park_wasm.c; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
  fi
else
  echo "skipped: there is no clang"
  skipped=$((skipped + 1))
fi

echo
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
