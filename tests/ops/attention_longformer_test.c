/* SPDX-License-Identifier: Apache-2.0
 * ops/attention_longformer_test.c - LongformerAttention against doubles over all pairs of tokens. */
#include <string.h>

#include "support/typed.h"

enum { BATCH = 2, LEN = 8, HEADS = 2, D = 3, HIDDEN = HEADS * D };

typedef struct model {
  const ox_tensor *x, *w[2], *b[2];
} model;

static double part_at(const model *m, int global, int part, int64_t token, int64_t col) {
  double sum = typed_at(m->b[global], part * HIDDEN + col);
  for (int64_t k = 0; k < HIDDEN; k++)
    sum += typed_at(m->x, token * HIDDEN + k) * typed_at(m->w[global], k * 3 * HIDDEN + part * HIDDEN + col);
  return sum;
}

static double wanted(const model *m, const int32_t *flags, const double *mask, int64_t window, int64_t b, int64_t i,
                     int64_t col) {
  int g = flags[b * LEN + i];
  double sum = 0, y = 0;
  for (int64_t j = 0; j < LEN; j++) {
    if (!g && !flags[b * LEN + j] && (i - j > window || j - i > window)) continue;
    double s = 0;
    for (int64_t k = col / D * D; k < col / D * D + D; k++)
      s += part_at(m, g, 0, b * LEN + i, k) * part_at(m, g, 1, b * LEN + j, k) / sqrt(D);
    s = exp(s + mask[b * LEN + j]);
    sum += s, y += s * part_at(m, g, 2, b * LEN + j, col);
  }
  return y / sum;
}

static void check(uint32_t dtype, int64_t window, const int32_t *flags) {
  double mask[BATCH * LEN] = {0};
  uint32_t narrow[BATCH * LEN];
  mask[LEN - 1] = -10000;
  ox_convert_select(0)->store_f64[dtype](mask, narrow, 0, BATCH * LEN, NULL);
  model m;
  one_node n;
  one_node_init(&n, "com.microsoft", "LongformerAttention", 1, 1);
  one_node_int(&n, "num_heads", HEADS), one_node_int(&n, "window", window);
  m.x = typed_input(&n, dtype, 3, (int64_t[]){BATCH, LEN, HIDDEN}, 1);
  for (int g = 0; g < 2; g++) {
    m.w[g] = typed_input(&n, dtype, 2, (int64_t[]){HIDDEN, 3 * HIDDEN}, 1);
    m.b[g] = typed_input(&n, dtype, 1, (int64_t[]){3 * HIDDEN}, 1);
    if (!g) one_node_input(&n, dtype, 2, (int64_t[]){BATCH, LEN}, narrow);
  }
  one_node_input(&n, OX_I32, 2, (int64_t[]){BATCH, LEN}, flags);
  n.run_tiles = 1;
  CHECK_OK(one_node_run(&n));
  for (int64_t i = 0; i < BATCH * LEN * HIDDEN; i++)
    typed_near(&n.out[0], i, wanted(&m, flags, mask, window, i / HIDDEN / LEN, i / HIDDEN % LEN, i % HIDDEN), 4);
  one_node_deinit(&n);
}

static void test_windows_and_global_tokens(void **state) {
  (void)state;
  static const int32_t none[BATCH * LEN] = {0}, some[BATCH * LEN] = {1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  static const uint32_t types[] = {OX_F32, OX_F16};
  for (size_t t = 0; t < OX_COUNT(types); t++)
    for (int64_t window = 1; window <= LEN; window *= 2) check(types[t], window, none), check(types[t], window, some);
}

static void test_wrong_shapes(void **state) {
  (void)state;
  one_node n;
  one_node_init(&n, "com.microsoft", "LongformerAttention", 1, 1);
  one_node_int(&n, "num_heads", 4), one_node_int(&n, "window", 1);
  typed_input(&n, OX_F32, 3, (int64_t[]){1, 2, 6}, 1), typed_input(&n, OX_F32, 2, (int64_t[]){6, 18}, 1);
  typed_input(&n, OX_F32, 1, (int64_t[]){18}, 1), typed_input(&n, OX_F32, 2, (int64_t[]){1, 2}, 1);
  typed_input(&n, OX_F32, 2, (int64_t[]){6, 18}, 1), typed_input(&n, OX_F32, 1, (int64_t[]){18}, 1);
  one_node_input(&n, OX_I32, 2, (int64_t[]){1, 2}, (int32_t[]){0, 0});
  CHECK_FAILS(one_node_run(&n), OX_SHAPE_MISMATCH, "4 heads of 6");
  one_node_deinit(&n);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_windows_and_global_tokens),
      cmocka_unit_test(test_wrong_shapes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
