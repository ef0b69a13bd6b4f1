/* SPDX-License-Identifier: Apache-2.0
 * base/cpu_kind_test.c - what a processor is made like has bits of its own, and is the same whenever asked. */
#include "support/check.h"

#include "base/cpu_kind.h"

static void test_bits(void **state) {
  (void)state;
  ox_isa kind = ox_cpu_kind(), others = ox_isa_cap(~0u, "neon") | OX_PRECISION_TF32 | OX_PRECISION_BF16 | OX_PLAIN_SUMS;
  assert_true(kind == 0 || kind == OX_AVX512_HALVES || kind == OX_SLOW_L3); /* of one maker */
  assert_true(((OX_AVX512_HALVES | OX_SLOW_L3) & others) == 0);
  for (int i = 0; i < 3; i++) assert_true(ox_cpu_kind() == kind);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_bits)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
