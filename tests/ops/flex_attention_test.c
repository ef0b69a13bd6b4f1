/* SPDX-License-Identifier: Apache-2.0
 * ops/flex_attention_test.c - FlexAttention's scale, also where it is 0: then all keys weigh the same. */
#include <math.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/one_node.h"

static void test_scale(void **state) {
  (void)state;
  const int64_t q_dims[] = {1, 1, 1, 2}, k_dims[] = {1, 1, 2, 2}, v_dims[] = {1, 1, 2, 1};
  const float q[] = {1, 2}, k[] = {3, 1, -1, 0.5f}, v[] = {10, 20}; /* scores 5 and 0 */
  const struct {
    bool given;
    float scale;
    double logit; /* of the first key, the second has 0 */
  } cases[] = {{false, 0, 5 / sqrt(2.0)}, {true, 1, 5}, {true, -0.5f, -2.5}, {true, 0, 0}};
  for (size_t i = 0; i < OX_COUNT(cases); i++) {
    one_node n;
    one_node_init(&n, "ai.onnx.preview", "FlexAttention", 1, 1);
    if (cases[i].given) one_node_float(&n, "scale", cases[i].scale);
    one_node_input(&n, OX_F32, 4, q_dims, q);
    one_node_input(&n, OX_F32, 4, k_dims, k);
    one_node_input(&n, OX_F32, 4, v_dims, v);
    CHECK_OK(one_node_run(&n));
    double w = exp(cases[i].logit) / (exp(cases[i].logit) + 1), got = (double)*(const float *)n.out[0].data;
    if (!(fabs(got - (10 * w + 20 * (1 - w))) < 1e-4)) fail_msg("case %zu: %g, wanted %g", i, got, 20 - 10 * w);
    one_node_deinit(&n);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_scale)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
