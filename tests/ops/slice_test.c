/* SPDX-License-Identifier: Apache-2.0
 * ops/slice_test.c - Slice against index arithmetic on one axis, for every start, end and step around the edges. */
#include <string.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/one_node.h"

/* The standard's rule, index by index. */
static int64_t naive(const int64_t *x, int64_t dim, int64_t start, int64_t end, int64_t step, int64_t *out) {
  int64_t n = 0, lo = step < 0 ? -1 : 0, hi = step < 0 ? dim - 1 : dim;
  start += start < 0 ? dim : 0, end += end < 0 ? dim : 0;
  start = OX_MIN(OX_MAX(start, 0), hi), end = OX_MIN(OX_MAX(end, lo), hi);
  for (int64_t i = start; step > 0 ? i < end : i > end;) {
    out[n++] = x[i];
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  return n;
}

static void check(int64_t dim, int64_t start, int64_t end, int64_t step) {
  int64_t x[8] = {10, 11, 12, 13, 14, 15, 16, 17}, want[8], axis = 0;
  int64_t n = naive(x, dim, start, end, step, want);
  one_node node;
  one_node_init(&node, "", "Slice", 13, 1);
  one_node_input(&node, OX_I64, 1, &dim, x);
  one_node_input(&node, OX_I64, 1, (int64_t[]){1}, &start);
  one_node_const(&node, OX_I64, 1, (int64_t[]){1}, &end);
  one_node_input(&node, OX_I64, 1, (int64_t[]){1}, &axis);
  one_node_input(&node, OX_I64, 1, (int64_t[]){1}, &step);
  CHECK_OK(one_node_run(&node));
  if (node.out[0].shape.dim[0] != n || (n && memcmp(node.out[0].data, want, (size_t)n * 8) != 0))
    fail_msg("[%d:%d:%d] of %d: %d values, wanted %d", (int)start, (int)end, (int)step, (int)dim,
             (int)node.out[0].shape.dim[0], (int)n);
  one_node_deinit(&node);
}

static void test_every_bound_and_step(void **state) {
  (void)state;
  const int64_t dims[] = {1, 2, 5}, steps[] = {-3, -1, 1, 2, INT64_MIN, INT64_MAX};
  for (size_t d = 0; d < OX_COUNT(dims); d++)
    for (int64_t start = -dims[d] - 1; start <= dims[d] + 1; start++)
      for (int64_t end = -dims[d] - 1; end <= dims[d] + 1; end++)
        for (size_t s = 0; s < OX_COUNT(steps); s++) check(dims[d], start, end, steps[s]);
  check(5, INT64_MIN, INT64_MAX, 1);
  check(5, INT64_MAX, INT64_MIN, -1);
}

static void fails(const int64_t *axes, const int64_t *steps, const char *part) {
  one_node node;
  float x[6] = {0};
  one_node_init(&node, "", "Slice", 13, 1);
  one_node_input(&node, OX_F32, 2, (int64_t[]){2, 3}, x);
  one_node_input(&node, OX_I64, 1, (int64_t[]){2}, (int64_t[]){0, 0});
  one_node_input(&node, OX_I64, 1, (int64_t[]){2}, (int64_t[]){1, 1});
  one_node_input(&node, OX_I64, 1, (int64_t[]){2}, axes);
  one_node_input(&node, OX_I64, 1, (int64_t[]){2}, steps);
  CHECK_FAILS(one_node_run(&node), OX_INVALID_MODEL, part);
  one_node_deinit(&node);
}

static void test_bad_parameters_are_refused(void **state) {
  (void)state;
  fails((int64_t[]){0, 2}, (int64_t[]){1, 1}, "outside rank 2");
  fails((int64_t[]){1, -1}, (int64_t[]){1, 1}, "given twice");
  fails((int64_t[]){0, 1}, (int64_t[]){1, 0}, "step 0");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_bound_and_step),
      cmocka_unit_test(test_bad_parameters_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
