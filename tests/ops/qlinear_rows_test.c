/* SPDX-License-Identifier: Apache-2.0
 * ops/qlinear_rows_test.c - QLinearSoftmax gives the bytes of exact shares: rows shorter and longer than the values
 * they may have, signs, an axis inside, on every instruction set. */
#include <math.h>

#include "support/check.h"
#include "support/levels.h"
#include "support/one_node.h"

typedef struct row {
  const char *name;
  uint32_t type;
  int64_t dims[3], axis;
  int opset;
  float scale, y_scale;
  int base, spread; /* of X: base and what is added to it */
} row;

static const row rows[] = {
    {"one", OX_U8, {2, 3, 1}, -1, 13, 0.1f, 1.0f / 256, 7, 100},
    {"short", OX_U8, {3, 5, 17}, 2, 13, 0.05f, 1.0f / 256, 0, 256},
    {"as long as its values", OX_U8, {1, 2, 256}, -1, 13, 0.02f, 1.0f / 2048, 0, 256},
    {"one less", OX_U8, {1, 2, 255}, -1, 13, 0.02f, 1.0f / 2048, 0, 256},
    {"long", OX_I8, {1, 2, 700}, -1, 13, 0.02f, 1.0f / 4096, -128, 256},
    {"small values", OX_I8, {2, 2, 40}, -1, 13, 0.2f, 1.0f / 256, -128, 12},
    {"axis inside", OX_I8, {2, 30, 3}, 1, 13, 0.03f, 1.0f / 512, -60, 100},
    {"flattened", OX_U8, {2, 30, 3}, 1, 12, 0.03f, 1.0f / 512, 20, 100},
    {"underflow", OX_U8, {1, 2, 33}, -1, 13, 40.0f, 1.0f / 256, 0, 256},
};

static void check_row(const row *r, uint32_t isa, const char *level) {
  static uint8_t x[1400];
  bool is_signed = r->type == OX_I8;
  int low = is_signed ? -128 : 0;
  uint8_t x_zero = 3, y_zero = (uint8_t)(low + 1);
  uint32_t seed = 11;
  int64_t all = r->dims[0] * r->dims[1] * r->dims[2], inner = r->axis == 1 && r->opset >= 13 ? r->dims[2] : 1;
  int64_t n = r->axis == 1 ? r->dims[1] * (r->opset < 13 ? r->dims[2] : 1) : r->dims[2];
  for (int64_t i = 0; i < all; i++) {
    seed = seed * 1664525u + 1013904223u;
    x[i] = (uint8_t)(r->base + (int)((seed >> 8) % (uint32_t)r->spread));
  }
  one_node o;
  one_node_init(&o, "com.microsoft", "QLinearSoftmax", 1, 1);
  o.isa = isa;
  one_node_int(&o, "axis", r->axis), one_node_int(&o, "opset", r->opset);
  one_node_input(&o, r->type, 3, r->dims, x);
  one_node_const(&o, OX_F32, 0, NULL, &r->scale), one_node_const(&o, r->type, 0, NULL, &x_zero);
  one_node_const(&o, OX_F32, 0, NULL, &r->y_scale), one_node_const(&o, r->type, 0, NULL, &y_zero);
  CHECK_OK(one_node_run(&o));
#define VALUE(at) (is_signed ? (int)(int8_t)x[at] : (int)x[at])
  for (int64_t i = 0; i < all; i++) {
    int64_t first = i / (n * inner) * n * inner + i % inner;
    double sum = 0;
    for (int64_t k = 0; k < n; k++) sum += exp((double)r->scale * (VALUE(first + k * inner) - VALUE(i)));
    double want = fmin(nearbyint(1 / sum / (double)r->y_scale) + low + 1, low + 255);
    int got = is_signed ? ((const int8_t *)o.out[0].data)[i] : ((const uint8_t *)o.out[0].data)[i];
    if (got != (int)want) fail_msg("%s, %s: [%d] is %d, wanted %g", level, r->name, (int)i, got, want);
  }
  one_node_deinit(&o);
}

static void test_shares_of_a_row(void **state) {
  (void)state;
  for (size_t l = 0; level_next(&l); l++)
    for (size_t i = 0; i < OX_COUNT(rows); i++) check_row(&rows[i], test_levels[l].have, test_levels[l].name);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_shares_of_a_row)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
