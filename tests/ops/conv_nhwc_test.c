/* SPDX-License-Identifier: Apache-2.0
 * ops/conv_nhwc_test.c - NhwcConv and NhwcFusedConv, channels last, against plain loops. */
#include "support/typed.h"

enum { B = 2, H = 5, W = 6, GROUPS = 2, IC = 4, OC = 6, KH = 3, KW = 2, OH = 4, OW = 3 };

/* Strides 1 and 2, a row of padding in front, a column behind. */
static void check(const char *op, uint32_t dtype, bool bias, bool relu) {
  one_node n;
  one_node_init(&n, "com.microsoft", op, 1, 1);
  one_node_int(&n, "group", GROUPS);
  one_node_ints(&n, "strides", 2, (int64_t[]){1, 2}), one_node_ints(&n, "pads", 4, (int64_t[]){1, 0, 0, 1});
  if (relu) one_node_str(&n, "activation", "Relu");
  const ox_tensor *x = typed_input(&n, dtype, 4, (int64_t[]){B, H, W, IC}, 1);
  const ox_tensor *w = typed_input(&n, dtype, 4, (int64_t[]){OC, IC / GROUPS, KH, KW}, 1);
  const ox_tensor *b = bias ? typed_input(&n, dtype, 1, (int64_t[]){OC}, 1) : NULL;
  CHECK_OK(one_node_run(&n));
  const ox_shape shape = ox_shape_of(4, (int64_t[]){B, OH, OW, OC});
  assert_true(ox_shape_equal(&n.out[0].shape, &shape));
  for (int64_t i = 0; i < B * OH * OW * OC; i++) {
    int64_t oc = i % OC, ow = i / OC % OW, oh = i / OC / OW % OH, image = i / OC / OW / OH, g = oc / (OC / GROUPS);
    double sum = b ? typed_at(b, oc) : 0;
    for (int64_t k = 0; k < IC / GROUPS * KH * KW; k++) {
      int64_t c = k / KW / KH, y = oh - 1 + k / KW % KH, z = 2 * ow + k % KW;
      if (y >= 0 && y < H && z < W)
        sum += typed_at(x, ((image * H + y) * W + z) * IC + g * (IC / GROUPS) + c) *
               typed_at(w, oc * (IC / GROUPS) * KH * KW + k);
    }
    typed_near(&n.out[0], i, relu && sum < 0 ? 0 : sum, 4);
  }
  one_node_deinit(&n);
}

static void test_both(void **state) {
  (void)state;
  static const uint32_t types[] = {OX_F32, OX_F16};
  for (size_t t = 0; t < OX_COUNT(types); t++)
    for (int bias = 0; bias < 2; bias++) {
      check("NhwcConv", types[t], bias, false);
      check("NhwcFusedConv", types[t], bias, true);
    }
  check("NhwcConv", OX_F64, false, false), check("NhwcConv", OX_F64, true, false);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_both),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
