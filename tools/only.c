/* SPDX-License-Identifier: Apache-2.0
 * only.c - preloaded into a test program, runs only those of its tests with the environment's ONLY in their name. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

typedef int run_fn(const char *, const struct CMUnitTest *, const size_t, CMFixtureFunction, CMFixtureFunction);

int _cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests, const size_t n, CMFixtureFunction setup,
                            CMFixtureFunction teardown) {
  run_fn *run = (run_fn *)dlsym(RTLD_NEXT, __func__);
  const char *only = getenv("ONLY");
  struct CMUnitTest *kept = calloc(n + 1, sizeof *kept);
  size_t n_kept = 0;
  if (!run || !kept) return 1;
  for (size_t i = 0; i < n; i++)
    if (!only || strstr(tests[i].name, only)) kept[n_kept++] = tests[i];
  int failed = n_kept ? run(name, kept, n_kept, setup, teardown) : 0;
  free(kept);
  return failed;
}
