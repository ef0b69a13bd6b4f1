#!/bin/sh
# test_backends.sh BUILD [BACK-END...]: builds the task pool with each back-end in BUILD-<back-end> and runs its tests on
# it; those that can also run on an executor do so as well. Ends with one closing line. CMAKE_FLAGS and JOBS are honoured.
build=$1
shift
[ $# -gt 0 ] || set -- own openmp none
passed=0 failed=0 skipped=0
for backend in "$@"; do
  dir=$build-$backend
  mkdir -p "$dir"
  log=$dir/task-tests.log
  echo "== back-end $backend"
  # shellcheck disable=SC2086
  if ! { cmake -S . -B "$dir" -G Ninja $CMAKE_FLAGS -DONYX_TESTS=ON -DONYX_POOL_BACKEND="$backend" >"$dir/build.log" 2>&1 &&
    cmake --build "$dir" -j "${JOBS:-2}" --target task_tests >>"$dir/build.log" 2>&1; }; then
    if grep -q 'Could NOT find OpenMP' "$dir/build.log"; then
      echo "skipped: the compiler has no OpenMP"
      skipped=$((skipped + 1))
    else
      tail -20 "$dir/build.log"
      failed=$((failed + 1))
    fi
    continue
  fi
  ctest --test-dir "$dir" -R '^task\.' -V >"$log" 2>&1
  all=$(sed -n 's/.*tests passed, [0-9]* tests* failed out of \([0-9]*\)/\1/p' "$log")
  bad=$(sed -n 's/.*tests passed, \([0-9]*\) tests* failed out of .*/\1/p' "$log")
  [ -n "$all" ] || bad=1 all=1
  skips=$(grep -c '\[  SKIPPED \] [a-z_]*$' "$log")
  echo "$((all - bad)) programs passed, $bad failed; $skips cases do not apply"
  [ "$bad" = 0 ] || grep -E '\[  FAILED|ERROR|LINE|Failed|Timeout' "$log" | head -40
  passed=$((passed + all - bad)) failed=$((failed + bad)) skipped=$((skipped + skips))
done
echo
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
