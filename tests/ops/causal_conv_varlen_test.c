/* SPDX-License-Identifier: Apache-2.0
 * ops/causal_conv_varlen_test.c - VarlenCausalConvWithState against doubles: each sequence sees its own state and
 * tokens alone. */
#include <string.h>

#include "support/typed.h"

enum { BATCH = 4, TOKENS = 13 };
static const int32_t ends[BATCH + 1] = {0, 1, 3, 3, 13}, captures[BATCH] = {9, 1, 2, -1};

typedef struct row {
  int64_t channels, k, dilation, capacity;
  bool bias, silu;
} row;

static double seen(const row *r, const ox_tensor *x, const ox_tensor *state, int64_t b, int64_t ch, int64_t t) {
  int64_t n = (r->k - 1) * r->dilation;
  return t >= 0 ? typed_at(x, (ends[b] + t) * r->channels + ch) : typed_at(state, (b * r->channels + ch) * n + n + t);
}

static void check(const row *r, uint32_t dtype) {
  int64_t n_state = (r->k - 1) * r->dilation;
  one_node n;
  one_node_init(&n, "com.microsoft", "VarlenCausalConvWithState", 1, r->capacity ? 3 : 2);
  one_node_int(&n, "dilation", r->dilation), one_node_int(&n, "state_update_capacity", r->capacity);
  one_node_str(&n, "activation", r->silu ? "silu" : "none");
  const ox_tensor *x = typed_input(&n, dtype, 2, (int64_t[]){TOKENS, r->channels}, 2);
  const ox_tensor *w = typed_input(&n, dtype, 3, (int64_t[]){r->channels, 1, r->k}, 1), *bias = NULL;
  one_node_input(&n, OX_I32, 1, (int64_t[]){BATCH + 1}, ends);
  if (r->bias)
    bias = typed_input(&n, dtype, 1, &r->channels, 1);
  else
    one_node_input(&n, dtype, -1, NULL, NULL);
  const ox_tensor *state = typed_input(&n, dtype, 3, (int64_t[]){BATCH, r->channels, n_state}, 2);
  if (r->capacity) one_node_input(&n, OX_I32, 1, (int64_t[]){BATCH}, captures);
  n.run_tiles = 1;
  CHECK_OK(one_node_run(&n));
  for (int64_t b = 0; b < BATCH; b++) {
    int64_t len = ends[b + 1] - ends[b];
    for (int64_t ch = 0; ch < r->channels; ch++) {
      for (int64_t t = 0; t < len; t++) {
        double sum = bias ? typed_at(bias, ch) : 0;
        for (int64_t j = 0; j < r->k; j++)
          sum += typed_at(w, ch * r->k + j) * seen(r, x, state, b, ch, t - (r->k - 1 - j) * r->dilation);
        typed_near(&n.out[0], (ends[b] + t) * r->channels + ch, r->silu ? sum / (1 + exp(-sum)) : sum, 3);
      }
      for (int64_t s = 0; s < n_state; s++)
        assert_true(typed_at(&n.out[1], (b * r->channels + ch) * n_state + s) ==
                    seen(r, x, state, b, ch, len - n_state + s));
      for (int64_t s = 0; s < r->capacity; s++)
        assert_true(typed_at(&n.out[2], (b * r->capacity + s) * r->channels + ch) ==
                    (s < captures[b] && s < len ? seen(r, x, state, b, ch, s) : 0));
    }
  }
  one_node_deinit(&n);
}

static void test_every_form(void **state) {
  (void)state;
  static const row rows[] = {
      {3, 4, 1, 0, true, false}, {70, 3, 2, 2, false, true}, {64, 1, 1, 8, true, false}, {1, 5, 4, 3, true, true}};
  static const uint32_t types[] = {OX_F32, OX_F16, OX_BF16};
  for (size_t i = 0; i < OX_COUNT(rows); i++)
    for (size_t t = 0; t < OX_COUNT(types); t++) check(&rows[i], types[t]);
}

static void test_wrong_lengths(void **state) {
  (void)state;
  static const int32_t wrong[][3] = {{0, 3, 4}, {1, 3, 5}, {0, 6, 5}};
  for (size_t i = 0; i < OX_COUNT(wrong); i++) {
    one_node n;
    one_node_init(&n, "com.microsoft", "VarlenCausalConvWithState", 1, 2);
    typed_input(&n, OX_F32, 2, (int64_t[]){5, 2}, 1), typed_input(&n, OX_F32, 3, (int64_t[]){2, 1, 2}, 1);
    one_node_input(&n, OX_I32, 1, (int64_t[]){3}, wrong[i]), one_node_input(&n, OX_F32, -1, NULL, NULL);
    typed_input(&n, OX_F32, 3, (int64_t[]){2, 2, 1}, 1);
    CHECK_FAILS(one_node_run(&n), OX_INVALID_ARGUMENT, "cumulative_sequence_length");
    one_node_deinit(&n);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_form),
      cmocka_unit_test(test_wrong_lengths),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
