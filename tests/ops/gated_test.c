/* SPDX-License-Identifier: Apache-2.0
 * ops/gated_test.c - SwiGLU, BiasGelu and FastGelu against their formulas in double: rows beyond a block, biases that
 * end within one, no bias, types of 16, 32 and 64 bits. */
#include <math.h>
#include <string.h>

#include "base/macros.h"
#include "graph/dtype.h"
#include "kern/quant/convert.h"
#include "support/check.h"
#include "support/one_node.h"

enum { ROWS = 3, LONG = 1531 };

typedef struct form {
  const char *op, *domain;
  int version;
  int operands; /* 1: no bias */
  bool gate;
} form;

static const form forms[] = {{"SwiGLU", "", 28, 2, true},
                             {"BiasGelu", "com.microsoft", 1, 2, false},
                             {"FastGelu", "com.microsoft", 1, 2, false},
                             {"FastGelu", "com.microsoft", 1, 1, false}};

static double wanted(const form *f, double x, double other) {
  if (f->gate) return x / (1 + exp(-x)) * other;
  if (strcmp(f->op, "BiasGelu") == 0) return (x + other) * 0.5 * erfc(-(x + other) * sqrt(0.5));
  double v = x + other;
  return 0.5 * v * (1 + tanh(0.7978845608 * (v + 0.044715 * v * v * v)));
}

static void check(const form *f, uint32_t dtype, int64_t length, double tolerance) {
  static double x[ROWS * LONG], other[ROWS * LONG], got[ROWS * LONG], as_x[ROWS * LONG], as_other[ROWS * LONG];
  const ox_convert *cv = ox_convert_select(0);
  size_t n = (size_t)(ROWS * length);
  one_node node;
  for (size_t i = 0; i < n; i++) x[i] = (double)((int)(i * 37 % 201) - 100) / 16;
  for (size_t i = 0; i < n; i++) other[i] = (double)((int)(i * 13 % 31) - 15) / 8;
  cv->store_f64[dtype](x, as_x, 0, n, NULL), cv->store_f64[dtype](other, as_other, 0, n, NULL);
  one_node_init(&node, f->domain, f->op, f->version, 1);
  node.run_tiles = 1;
  one_node_input(&node, dtype, 2, (int64_t[]){ROWS, length}, as_x);
  if (f->gate)
    one_node_input(&node, dtype, 2, (int64_t[]){ROWS, length}, as_other);
  else if (f->operands == 2)
    one_node_input(&node, dtype, 1, &length, as_other);
  CHECK_OK(one_node_run(&node));
  cv->load_f64[dtype](node.out[0].data, 0, n, got);
  for (size_t i = 0; i < n; i++) {
    double want = wanted(f, x[i], f->gate ? other[i] : f->operands == 2 ? other[i % (size_t)length] : 0);
    if (!(fabs(got[i] - want) <= tolerance * (1 + fabs(want))))
      fail_msg("%s of %s, %d operands, rows of %d: [%zu] is %g, wanted %g", f->op, ox_dtype_name(dtype), f->operands,
               (int)length, i, got[i], want);
  }
  one_node_deinit(&node);
}

static void test_formulas(void **state) {
  (void)state;
  static const int64_t lengths[] = {1, 7, 511, 512, 513, LONG};
  for (size_t f = 0; f < OX_COUNT(forms); f++)
    for (size_t l = 0; l < OX_COUNT(lengths); l++) {
      check(&forms[f], OX_F32, lengths[l], 1e-6);
      check(&forms[f], OX_F16, lengths[l], 1e-3);
      check(&forms[f], OX_F64, lengths[l], 1e-9);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_formulas)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
