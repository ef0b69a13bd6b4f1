#!/bin/sh
# install/run.sh BUILD - installs BUILD into a folder of its own and builds programs against it, as a stranger would:
# headers and libraries found by pkg-config or CMake alone. With NANOTHREAD_SOURCE set to a checkout of nanothread, its own tests
# too, unchanged (half a minute, as they sleep).
set -e
build=$1
here=$(cd "$(dirname "$0")" && pwd)
root=$(mktemp -d)
manifest=$build/install_manifest.txt
[ ! -e "$manifest" ] || cp "$manifest" "$root/manifest" # of the user's own installation
restore() {
  if [ -e "$root/manifest" ]; then cp "$root/manifest" "$manifest"; else rm -f "$manifest"; fi
  rm -rf "$root"
}
trap restore EXIT
DESTDIR=$root/staged cmake --install "$build" --prefix /usr >/dev/null
DESTDIR=$root/staged sh "$here/../../tools/uninstall.sh" "$build"
left=$(find "$root/staged" ! -type d -o -name onyx -o -name nanothread)
[ -z "$left" ] || { echo "uninstall: left behind: $left" && exit 1; }
echo "uninstall: ok"
cmake --install "$build" --prefix "$root/first" >/dev/null
mv "$root/first" "$root/prefix" # it may be moved afterwards
PKG_CONFIG_PATH=$(dirname "$(find "$root/prefix" -name onyx-task.pc)")
export PKG_CONFIG_PATH
LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_PATH")
export LD_LIBRARY_PATH
flags=$(pkg-config --cflags onyx-task)
libs=$(pkg-config --libs onyx-task)
archive="$LD_LIBRARY_PATH/libonyx-task.a $(pkg-config --static --libs-only-l onyx-task | sed 's/-lonyx-task//')"
warn="-O1 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Werror"

# try NAME SOURCE COMPILER FLAGS... ; LIBS says what to link
try() {
  name=$1 source=$2
  shift 2
  "$@" $flags "$source" -o "$root/program" $LIBS
  timeout "${LIMIT:-30}" "$root/program" >"$root/out" 2>&1 || {
    tail -n 20 "$root/out"
    echo "$name: failed"
    exit 1
  }
  echo "$name: ok"
}
has() { command -v "$1" >/dev/null; }

LIBS=$libs
for cc in gcc clang; do
  has $cc || continue
  for std in c99 c17; do try "$cc $std" "$here/loops_and_tasks.c" $cc -std=$std $warn; done
  LIBS=$archive
  try "$cc static" "$here/loops_and_tasks.c" $cc -std=c11 $warn
  LIBS=$libs
done
if [ -e "$root/prefix/include/onyx/op.h" ]; then # not in a build of the task library alone
  LIBS=
  for cc in gcc clang; do
    if has $cc; then try "operator $cc c99" "$here/operator.c" $cc -std=c99 $warn; fi
  done
  digits=$here/../../examples/digits/digits.onnx
  for std in c99 c17; do
    cc -std=$std $warn "$here/../../examples/hello.c" $(pkg-config --cflags --libs onyx) -o "$root/hello"
    "$root/hello" "$digits" >/dev/null && echo "hello cc $std: ok"
  done
  [ ! -e "$LD_LIBRARY_PATH/libonnxruntime.so.1" ] # not where it would take the place of another one unasked
  ortdir=$(pkg-config --variable=ortdir onyx)
  cc -std=c99 $warn "$here/ort_client.c" $(pkg-config --cflags onyx) -L"$ortdir" -lonnxruntime -o "$root/ort_client"
  ort_providers=$(find "$ortdir" -name 'libonyx-onednn.so' -o -name 'libonyx-xnnpack.so' | sed 's/.*libonyx-//; s/\.so//')
  LD_LIBRARY_PATH=$ortdir "$root/ort_client" "$digits" $ort_providers && echo "ONNX Runtime's ABI with" $ort_providers": ok"
  LIBS=$libs
fi
for cxx in g++ clang++; do
  has $cxx || continue
  standards="c++11 c++14 c++17"
  [ $cxx = g++ ] || standards=c++20
  for std in $standards; do try "$cxx $std" "$here/loops_and_tasks.cpp" $cxx -std=$std $warn -pthread; done
  try "$cxx without exceptions" "$here/no_exceptions.cpp" $cxx -std=c++11 $warn -pthread -fno-exceptions -fno-rtti
done

# By CMake's package: each library under its own name, and the usual one.
cat >"$root/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.20)
project(stranger LANGUAGES C)
find_package(onyx REQUIRED)
foreach(kind "" _shared _static)
  add_executable(task\${kind} "$here/loops_and_tasks.c")
  target_link_libraries(task\${kind} PRIVATE onyx::onyx_task\${kind})
  if(TARGET onyx::onyx)
    add_executable(hello\${kind} "$here/../../examples/hello.c")
    target_link_libraries(hello\${kind} PRIVATE onyx::onyx\${kind})
  endif()
endforeach()
if(TARGET onyx::onnxruntime)
  add_executable(hello_ort "$here/ort_client.c")
  target_link_libraries(hello_ort PRIVATE onyx::onnxruntime)
endif()
END
cmake -S "$root" -B "$root/cmake" -DCMAKE_PREFIX_PATH="$root/prefix" >/dev/null
cmake --build "$root/cmake" >/dev/null
for program in "$root"/cmake/task "$root"/cmake/task_* "$root"/cmake/hello*; do
  [ -x "$program" ] && [ -f "$program" ] || continue
  "$program" "$digits" >/dev/null || { echo "cmake: $program failed" && exit 1; }
done
echo "cmake: ok"

[ -n "$NANOTHREAD_SOURCE" ] && has g++ || exit 0
LIMIT=120
tests=$NANOTHREAD_SOURCE/tests
try "nanothread test_01.c" "$tests/test_01.c" gcc -O2
for std in 11 14 17; do
  for n in 02 03 04 05; do
    [ $n$std = 0311 ] || try "nanothread test_$n.cpp, C++$std" "$tests/test_$n.cpp" g++ -std=c++$std -O2 -pthread
  done
done
