/* SPDX-License-Identifier: Apache-2.0
 * ops/all_finite_test.c - IsAllFinite: one odd element anywhere decides, if it is of the kind that is looked for. */
#include <math.h>

#include "support/typed.h"

static bool ask(uint32_t dtype, const char *only, int64_t count, int64_t at, double odd) {
  static uint64_t memory[2000];
  const double fine = -1.5;
  one_node n;
  one_node_init(&n, "com.microsoft", "IsAllFinite", 1, 1);
  if (only) one_node_int(&n, only, 1);
  typed_input(&n, dtype, 2, (int64_t[]){3, 5}, 1);
  for (int64_t i = 0; i < count; i++)
    ox_convert_select(0)->store_f64[dtype](i == at ? &odd : &fine, memory, (size_t)i, 1, NULL);
  one_node_input(&n, dtype, 1, &count, memory);
  CHECK_OK(one_node_run(&n));
  bool yes = *(const uint8_t *)n.out[0].data;
  assert_int_equal(n.out[0].shape.rank, 0);
  one_node_deinit(&n);
  return yes;
}

static void test_odd_elements(void **state) {
  (void)state;
  static const uint32_t types[] = {OX_F32, OX_F64, OX_F16, OX_BF16};
  static const int64_t places[] = {0, 1, 511, 512, 1299};
  for (size_t t = 0; t < OX_COUNT(types); t++)
    for (size_t p = 0; p < OX_COUNT(places); p++) {
      assert_true(ask(types[t], NULL, 1300, places[p], 60000));
      for (int sign = -1; sign < 2; sign += 2) {
        assert_false(ask(types[t], NULL, 1300, places[p], sign * INFINITY));
        assert_false(ask(types[t], "isinf_only", 1300, places[p], sign * INFINITY));
        assert_true(ask(types[t], "isnan_only", 1300, places[p], sign * INFINITY));
      }
      assert_false(ask(types[t], NULL, 1300, places[p], NAN));
      assert_true(ask(types[t], "isinf_only", 1300, places[p], NAN));
      assert_false(ask(types[t], "isnan_only", 1300, places[p], NAN));
    }
  assert_true(ask(OX_F32, NULL, 0, 0, 0));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_odd_elements),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
