/* SPDX-License-Identifier: Apache-2.0
 * ops/select_test.c - NonZero of all types and shapes around words of bits, against a loop over the elements. */
#include <stdlib.h>
#include <string.h>

#include "kern/quant/convert.h"
#include "support/check.h"
#include "support/levels.h"
#include "support/one_node.h"

enum { MOST = 3 * 1 * 100 * 70 };

/* One of |one_in| elements is not zero; zeros of both signs, and what only looks like one. */
static double value_of(uint32_t *state, uint32_t one_in, bool is_float) {
  if (test_random(state) % 65536 % one_in) return is_float && test_random(state) >> 31 ? -0.0 : 0;
  static const double odd[] = {1, 0x1p-14, NAN, INFINITY, 3};
  return odd[is_float ? test_random(state) >> 16 & 3 : 4];
}

static void check(uint32_t dtype, int rank, const int64_t *dims, uint32_t one_in) {
  const ox_convert *cv = ox_convert_select(0);
  ox_shape s = ox_shape_of(rank, dims);
  int64_t count = ox_shape_count(&s), found = 0;
  double *v = malloc((MOST + 1) * sizeof *v), *data = malloc((MOST + 1) * sizeof *data);
  one_node n;
  assert_true(v && data && count <= MOST);
  uint32_t state = one_in;
  for (int64_t i = 0; i < count; i++) v[i] = value_of(&state, one_in, ox_dtype_is_float(dtype));
  cv->store_f64[dtype](v, data, 0, (size_t)count, NULL);
  one_node_init(&n, "", "NonZero", 13, 1);
  one_node_input(&n, dtype, rank, dims, data);
  n.run_tiles = 1;
  CHECK_OK(one_node_run(&n));
  const int64_t *got = n.out[0].data, columns = n.out[0].shape.dim[1];
  assert_int_equal(n.out[0].shape.dim[0], rank);
  for (int64_t i = 0; i < count; i++) {
    if (v[i] == 0) continue;
    assert_true(found < columns);
    int64_t rest = i;
    for (int d = rank - 1; d >= 0; rest /= dims[d--])
      if (got[d * columns + found] != rest % dims[d])
        fail_msg("%s, rank %d, 1 of %u: axis %d of element %d", ox_dtype_name(dtype), rank, one_in, d, (int)i);
    found++;
  }
  assert_int_equal(found, columns);
  one_node_deinit(&n);
  free(v), free(data);
}

static void test_nonzero(void **state) {
  (void)state;
  static const struct {
    int rank;
    int64_t dims[4];
  } shapes[] = {{1, {0}},        {1, {1}},      {1, {63}},     {1, {64}},   {1, {65}},   {1, {20000}},
                {0, {0}},        {2, {300, 1}}, {2, {1, 300}}, {2, {9, 7}}, {2, {0, 5}}, {4, {3, 1, 100, 70}},
                {3, {2, 64, 64}}};
  static const uint32_t types[] = {OX_F32, OX_F64, OX_F16, OX_BF16, OX_I8,  OX_U8,  OX_I16,
                                   OX_U16, OX_I32, OX_U32, OX_I64,  OX_U64, OX_BOOL};
  for (size_t t = 0; t < OX_COUNT(types); t++)
    for (size_t i = 0; i < OX_COUNT(shapes); i++)
      for (uint32_t one_in = 1; one_in <= 1000; one_in *= 10) check(types[t], shapes[i].rank, shapes[i].dims, one_in);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_nonzero)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
