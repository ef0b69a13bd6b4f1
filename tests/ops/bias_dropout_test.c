/* SPDX-License-Identifier: Apache-2.0
 * ops/bias_dropout_test.c - BiasDropout, BitmaskDropout and BitmaskBiasDropout: nothing is dropped but in training;
 * then the mask says what was, a fair share of all, and the rest is scaled. */
#include <string.h>

#include "support/typed.h"

enum { ROWS = 37, LENGTH = 70, COUNT = ROWS * LENGTH };
static const int64_t dims[] = {ROWS, LENGTH};
typedef struct form {
  const char *op;
  bool has_bias, whole_bias, residual;
} form;
static const form forms[] = {{"BiasDropout", true, false, true},
                             {"BiasDropout", true, true, false},
                             {"BitmaskBiasDropout", true, false, true},
                             {"BitmaskBiasDropout", true, true, false},
                             {"BitmaskDropout", false, false, false}};

static bool kept(const form *f, const ox_tensor *mask, int64_t i) {
  if (strncmp(f->op, "Bitmask", 7) != 0) return ((const uint8_t *)mask->data)[i];
  assert_int_equal(mask->dtype, OX_U32);
  assert_int_equal(mask->shape.dim[0], (COUNT + 31) / 32);
  return ((const uint32_t *)mask->data)[i / 32] >> i % 32 & 1;
}

static void check(const form *f, uint32_t dtype, bool training) {
  const float ratio = 0.25f;
  const uint8_t yes = training;
  one_node n;
  one_node_init(&n, "com.microsoft", f->op, 1, 2);
  one_node_int(&n, "seed", 7);
  const ox_tensor *x = typed_input(&n, dtype, 2, dims, 2), *bias = NULL, *residual = NULL;
  if (f->has_bias) {
    bias = typed_input(&n, dtype, f->whole_bias ? 2 : 1, f->whole_bias ? dims : dims + 1, 1);
    if (f->residual)
      residual = typed_input(&n, dtype, 2, dims, 1);
    else
      one_node_input(&n, dtype, -1, NULL, NULL);
  }
  one_node_input(&n, OX_F32, 0, NULL, &ratio), one_node_input(&n, OX_BOOL, 0, NULL, &yes);
  n.run_tiles = 1;
  CHECK_OK(one_node_run(&n));
  int dropped = 0;
  for (int64_t i = 0; i < COUNT; i++) {
    bool keep = kept(f, &n.out[1], i);
    double want = typed_at(x, i) + (bias ? typed_at(bias, f->whole_bias ? i : i % LENGTH) : 0);
    want = (keep ? training ? want / 0.75 : want : 0) + (residual ? typed_at(residual, i) : 0);
    typed_near(&n.out[0], i, want, 1);
    dropped += !keep;
  }
  double share = (double)dropped / COUNT; /* six standard deviations */
  assert_true(training ? fabs(share - 0.25) < 6 * sqrt(0.25 * 0.75 / COUNT) : share == 0);
  one_node_deinit(&n);
}

static void test_every_form(void **state) {
  (void)state;
  static const uint32_t types[] = {OX_F32, OX_F64, OX_F16, OX_BF16};
  for (size_t f = 0; f < OX_COUNT(forms); f++)
    for (size_t t = 0; t < OX_COUNT(types); t++) check(&forms[f], types[t], false), check(&forms[f], types[t], true);
}

static void test_wrong_shapes(void **state) {
  (void)state;
  one_node n;
  one_node_init(&n, "com.microsoft", "BiasDropout", 1, 2);
  typed_input(&n, OX_F32, 2, dims, 1), typed_input(&n, OX_F32, 1, dims, 1);
  CHECK_FAILS(one_node_run(&n), OX_SHAPE_MISMATCH, "input 1");
  one_node_deinit(&n);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_form),
      cmocka_unit_test(test_wrong_shapes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
