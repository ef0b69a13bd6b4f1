/* SPDX-License-Identifier: Apache-2.0
 * kern/act_test.c - activations by name, their defaults, and their values at the edges. The vector forms are held
 * against these by the kernels' tests. */
#include <math.h>

#include "kern/act.h"
#include "support/check.h"

static void test_names_and_defaults(void **state) {
  (void)state;
  static const struct {
    const char *name;
    uint32_t kind;
    float a, b;
  } cases[] = {{NULL, OX_ACT_NONE, 0, 0},
               {"", OX_ACT_NONE, 0, 0},
               {"Relu", OX_ACT_RELU, 0, 0},
               {"relu", OX_ACT_RELU, 0, 0},
               {"LeakyRelu", OX_ACT_LEAKY_RELU, 0.01f, 0},
               {"HardSigmoid", OX_ACT_HARD_SIGMOID, 0.2f, 0.5f},
               {"Elu", OX_ACT_ELU, 1, 0},
               {"Clip", OX_ACT_CLIP, -INFINITY, INFINITY},
               {"QuickGelu", OX_ACT_QUICK_GELU, 1.702f, 0}};
  ox_act act;
  for (size_t i = 0; i < OX_COUNT(cases); i++) {
    assert_true(ox_act_parse(cases[i].name, NULL, 0, &act));
    assert_int_equal(act.kind, cases[i].kind);
    assert_true(act.a == cases[i].a && act.b == cases[i].b);
  }
  assert_true(ox_act_parse("Clip", (const float[]){-1, 6}, 2, &act) && act.a == -1 && act.b == 6);
  assert_true(ox_act_parse("HardSigmoid", (const float[]){0.1f}, 1, &act) && act.a == 0.1f && act.b == 0.5f);
  assert_false(ox_act_parse("Relux", NULL, 0, &act));
  assert_false(ox_act_parse("Rel", NULL, 0, &act));
}

static void test_values(void **state) {
  (void)state;
  static const struct {
    ox_act act;
    double x, y;
  } cases[] = {{{OX_ACT_RELU, 0, 0}, -1, 0},
               {{OX_ACT_RELU, 0, 0}, 2, 2},
               {{OX_ACT_CLIP, -1, 1}, 5, 1},
               {{OX_ACT_LEAKY_RELU, 0.5f, 0}, -2, -1},
               {{OX_ACT_SIGMOID, 0, 0}, -INFINITY, 0},
               {{OX_ACT_SIGMOID, 0, 0}, 0, 0.5},
               {{OX_ACT_TANH, 0, 0}, INFINITY, 1},
               {{OX_ACT_HARD_SIGMOID, 0.25f, 0.5f}, -1, 0.25},
               {{OX_ACT_HARD_SWISH, 0, 0}, 3, 3},
               {{OX_ACT_GELU, 0, 0}, 0, 0},
               {{OX_ACT_ELU, 2, 0}, -INFINITY, -2},
               {{OX_ACT_AFFINE, 2, 1}, 3, 7},
               {{OX_ACT_THRESHOLDED_RELU, 1, 0}, 1, 0},
               {{OX_ACT_SCALED_TANH, 2, 0.5f}, INFINITY, 2},
               {{OX_ACT_SOFTSIGN, 0, 0}, 1, 0.5},
               {{OX_ACT_SOFTPLUS, 0, 0}, 800, 800}};
  for (size_t i = 0; i < OX_COUNT(cases); i++) {
    double y = ox_act_f64(cases[i].act, cases[i].x);
    if (!(fabs(y - cases[i].y) <= 1e-12))
      fail_msg("act %u of %g is %g, wanted %g", cases[i].act.kind, cases[i].x, y, cases[i].y);
  }
  for (uint32_t kind = 0; kind <= OX_ACT_SOFTPLUS; kind++) assert_true(isnan(ox_act_f64((ox_act){kind, 1, 1}, NAN)));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_names_and_defaults),
      cmocka_unit_test(test_values),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
