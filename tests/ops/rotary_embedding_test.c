/* SPDX-License-Identifier: Apache-2.0
 * ops/rotary_embedding_test.c - pairs of both kinds, 3-D and 4-D inputs, partial rotation, positions out of range. */
#include <math.h>
#include <string.h>

#include "support/check.h"
#include "support/one_node.h"

enum { B = 2, H = 3, S = 5, D = 8, MOST = 16 };
static float x[B * H * S * D], cosines[MOST * D / 2], sines[MOST * D / 2];
static int64_t positions[B * S];

static void fill(void) {
  for (size_t i = 0; i < OX_COUNT(x); i++) x[i] = (float)((int)(i * 37 % 101) - 50) / 20;
  for (size_t i = 0; i < OX_COUNT(cosines); i++) cosines[i] = cosf((float)i / 5), sines[i] = sinf((float)i / 5);
  for (int i = 0; i < B * S; i++) positions[i] = i * 7 % MOST;
}

static void rotate(bool four, int64_t rot, bool pairs) {
  one_node n;
  one_node_init(&n, "", "RotaryEmbedding", 23, 1);
  one_node_int(&n, "interleaved", pairs);
  one_node_int(&n, "num_heads", H);
  one_node_int(&n, "rotary_embedding_dim", rot == D ? 0 : rot);
  if (four)
    one_node_input(&n, OX_F32, 4, (int64_t[]){B, H, S, D}, x);
  else
    one_node_input(&n, OX_F32, 3, (int64_t[]){B, S, H * D}, x);
  one_node_input(&n, OX_F32, 2, (int64_t[]){MOST, rot / 2}, cosines);
  one_node_input(&n, OX_F32, 2, (int64_t[]){MOST, rot / 2}, sines);
  one_node_input(&n, OX_I64, 2, (int64_t[]){B, S}, positions);
  CHECK_OK(one_node_run(&n));
  for (int64_t b = 0; b < B; b++)
    for (int64_t h = 0; h < H; h++)
      for (int64_t s = 0; s < S; s++) {
        int64_t at = four ? ((b * H + h) * S + s) * D : ((b * S + s) * H + h) * D, half = rot / 2;
        const float *got = (const float *)n.out[0].data + at;
        for (int64_t i = 0; i < half; i++) {
          int64_t p = pairs ? 2 * i : i, q = pairs ? 2 * i + 1 : i + half, angle = positions[b * S + s] * half + i;
          double c = cosines[angle], t = sines[angle];
          assert_true(fabs(got[p] - (x[at + p] * c - x[at + q] * t)) < 1e-6);
          assert_true(fabs(got[q] - (x[at + p] * t + x[at + q] * c)) < 1e-6);
        }
        for (int64_t i = rot; i < D; i++) assert_true(got[i] == x[at + i]);
      }
  one_node_deinit(&n);
}

static void test_rotates_all_forms(void **state) {
  (void)state;
  fill();
  for (int form = 0; form < 8; form++) rotate(form & 1, form & 2 ? D : D / 2, form & 4);
}

static void test_positions_are_checked(void **state) {
  (void)state;
  static const int64_t bad[] = {-1, MOST, INT64_MAX, INT64_MIN};
  fill();
  for (size_t i = 0; i < OX_COUNT(bad); i++) {
    one_node n;
    one_node_init(&n, "com.microsoft", "RotaryEmbedding", 1, 1);
    one_node_input(&n, OX_F32, 4, (int64_t[]){1, 1, 1, D}, x);
    one_node_input(&n, OX_I64, 1, (int64_t[]){1}, &bad[i]);
    one_node_input(&n, OX_F32, 2, (int64_t[]){MOST, D / 2}, cosines);
    one_node_input(&n, OX_F32, 2, (int64_t[]){MOST, D / 2}, sines);
    CHECK_FAILS(one_node_run(&n), OX_INVALID_ARGUMENT, "outside the caches");
    one_node_deinit(&n);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rotates_all_forms),
      cmocka_unit_test(test_positions_are_checked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
