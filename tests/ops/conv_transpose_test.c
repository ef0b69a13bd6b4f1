/* SPDX-License-Identifier: Apache-2.0
 * ops/conv_transpose_test.c - ConvTransposeWithDynamicPads gives what ConvTranspose does with those pads. */
#include <string.h>

#include "support/typed.h"

#define DIMS(...) ((const int64_t[]){__VA_ARGS__})
typedef struct row {
  int axes;
  int64_t x[5], w[5], pads[6], strides[3], group;
  bool bias, constant;
} row;
static const row rows[] = {
    {2, {2, 2, 4, 5}, {2, 3, 3, 3}, {1, 0, 1, 1}, {2, 2}, 1, true, false},
    {2, {2, 2, 4, 5}, {2, 3, 3, 3}, {1, 0, 1, 1}, {2, 1}, 1, false, true},
    {2, {1, 4, 7, 3}, {4, 3, 2, 2}, {-1, 0, 0, 2}, {1, 1}, 2, true, true},
    {1, {1, 2, 7}, {2, 3, 3}, {1, 0}, {3}, 1, true, false},
    {3, {1, 2, 4, 4, 3}, {2, 3, 3, 3, 2}, {1, 0, 1, 0, 0, 1}, {1, 2, 1}, 1, true, true},
};

static void run_one(one_node *n, const row *r, uint32_t dtype, bool dynamic) {
  one_node_init(n, dynamic ? "com.microsoft" : "", dynamic ? "ConvTransposeWithDynamicPads" : "ConvTranspose",
                dynamic ? 1 : 11, 1);
  one_node_ints(n, "strides", (size_t)r->axes, r->strides), one_node_int(n, "group", r->group);
  typed_input(n, dtype, r->axes + 2, r->x, 2);
  typed_input(n, dtype, r->axes + 2, r->w, 2);
  n->constant[1] = r->constant;
  if (!dynamic) one_node_ints(n, "pads", 2 * (size_t)r->axes, r->pads);
  if (dynamic) one_node_input(n, OX_I64, 1, DIMS(2 * r->axes), r->pads);
  int64_t filters = r->w[1] * r->group;
  uint8_t bias[64];
  const double v[] = {1, -2, 0.5, 3, 4, -5};
  ox_convert_select(0)->store_f64[dtype](v, bias, 0, (size_t)filters, NULL);
  if (r->bias) one_node_input(n, dtype, 1, &filters, bias);
  CHECK_OK(one_node_run(n));
}

static void test_pads_as_input(void **state) {
  (void)state;
  static const uint32_t types[] = {OX_F32, OX_F16, OX_F64};
  for (size_t i = 0; i < OX_COUNT(rows); i++)
    for (size_t t = 0; t < OX_COUNT(types); t++) {
      one_node a, b;
      run_one(&a, &rows[i], types[t], false), run_one(&b, &rows[i], types[t], true);
      assert_true(ox_shape_equal(&a.out[0].shape, &b.out[0].shape));
      assert_memory_equal(a.out[0].data, b.out[0].data, a.out[0].bytes);
      one_node_deinit(&a), one_node_deinit(&b);
    }
}

static void test_wrong_pads(void **state) {
  (void)state;
  static const int64_t pads[40] = {0, 9, 0, 9};
  static const struct {
    int64_t n;
    const char *text;
  } bad[] = {{3, "pads has 3"}, {40, "Pads"}, {4, "padding leaves"}};
  for (size_t i = 0; i < OX_COUNT(bad); i++) {
    one_node n;
    one_node_init(&n, "com.microsoft", "ConvTransposeWithDynamicPads", 1, 1);
    typed_input(&n, OX_F32, 4, DIMS(1, 1, 3, 3), 1), typed_input(&n, OX_F32, 4, DIMS(1, 1, 2, 2), 1);
    one_node_input(&n, OX_I64, 1, &bad[i].n, pads);
    ox_status *st = one_node_run(&n);
    assert_non_null(st);
    if (!strstr(ox_status_message(st), bad[i].text)) fail_msg("row %zu: \"%s\"", i, ox_status_message(st));
    ox_status_free(st);
    one_node_deinit(&n);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pads_as_input),
      cmocka_unit_test(test_wrong_pads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
