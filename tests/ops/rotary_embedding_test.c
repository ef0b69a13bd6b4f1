/* SPDX-License-Identifier: Apache-2.0
 * ops/rotary_embedding_test.c - pairs of both kinds, 3-D and 4-D inputs, partial rotation, positions out of range,
 * three positions per token. */
#include <math.h>
#include <string.h>

#include "support/check.h"
#include "support/one_node.h"

enum { B = 2, H = 3, S = 401, D = 8, MOST = 16 }; /* two tiles of rows, which meet inside a head */
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
  n.run_tiles = 1;
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

/* ---- MRotaryEmbedding ---- */

static void rotate_multi(bool four, bool pairs, bool in_turns, const int64_t *section) {
  enum { ROT = D, HALF = ROT / 2 };
  one_node n;
  int64_t where[3 * B * S];
  for (int i = 0; i < 3 * B * S; i++) where[i] = i * 5 % MOST;
  one_node_init(&n, "com.microsoft", "MRotaryEmbedding", 1, 1);
  one_node_int(&n, "interleaved", pairs), one_node_int(&n, "mrope_layout", in_turns);
  one_node_int(&n, "num_heads", H), one_node_ints(&n, "mrope_section", 3, section);
  if (four)
    one_node_input(&n, OX_F32, 4, (int64_t[]){B, H, S, D}, x);
  else
    one_node_input(&n, OX_F32, 3, (int64_t[]){B, S, H * D}, x);
  one_node_input(&n, OX_I64, 3, (int64_t[]){3, B, S}, where);
  one_node_input(&n, OX_F32, 2, (int64_t[]){MOST, HALF}, cosines);
  one_node_input(&n, OX_F32, 2, (int64_t[]){MOST, HALF}, sines);
  n.run_tiles = 1;
  CHECK_OK(one_node_run(&n));
  for (int64_t row = 0; row < B * H * S; row++) {
    int64_t b = row / H / S, h = row / S % H, s = row % S;
    const float *got = (const float *)n.out[0].data, *from = x;
    int64_t at = four ? ((b * H + h) * S + s) * D : ((b * S + s) * H + h) * D, stream[HALF] = {0};
    for (int64_t i = 0; i < HALF && !in_turns; i++)
      stream[i] = i < section[0] ? 0 : i < section[0] + section[1] ? 1 : 2;
    for (int64_t k = 1; k < 3 && in_turns; k++)
      for (int64_t i = k; i < 3 * section[k] && i < HALF; i += 3) stream[i] = k;
    for (int64_t i = 0; i < HALF; i++) {
      int64_t p = at + (pairs ? 2 * i : i), q = at + (pairs ? 2 * i + 1 : i + HALF);
      int64_t angle = where[(stream[i] * B + b) * S + s] * HALF + i;
      double c = cosines[angle], t = sines[angle];
      assert_true(fabs(got[p] - (from[p] * c - from[q] * t)) < 1e-6);
      assert_true(fabs(got[q] - (from[p] * t + from[q] * c)) < 1e-6);
    }
  }
  one_node_deinit(&n);
}

static void test_three_positions(void **state) {
  (void)state;
  static const int64_t sections[][3] = {{2, 1, 1}, {4, 0, 0}, {0, 0, 4}, {0, 4, 0}, {1, 2, 1}};
  fill();
  for (size_t i = 0; i < OX_COUNT(sections); i++)
    for (int form = 0; form < 8; form++) rotate_multi(form & 1, form & 2, form & 4, sections[i]);
}

static void test_sections_are_checked(void **state) {
  (void)state;
  static const struct {
    size_t n;
    int64_t section[3], at;
    const char *text;
  } rows[] = {{2, {2, 2}, 0, "2 numbers"},
              {3, {2, 2, 1}, 0, "sections of 5"},
              {3, {5, -1, 0}, 0, "mrope_section[1]"},
              {3, {INT64_MAX, 1, 4}, 0, "mrope_section[0]"},
              {3, {4, 0, 0}, MOST, "outside"},
              {3, {4, 0, 0}, -1, "outside"}};
  fill();
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    one_node n;
    one_node_init(&n, "com.microsoft", "MRotaryEmbedding", 1, 1);
    one_node_ints(&n, "mrope_section", rows[i].n, rows[i].section);
    one_node_input(&n, OX_F32, 4, (int64_t[]){1, 1, 1, D}, x);
    one_node_input(&n, OX_I64, 3, (int64_t[]){3, 1, 1}, (int64_t[]){rows[i].at, 0, 0});
    one_node_input(&n, OX_F32, 2, (int64_t[]){MOST, D / 2}, cosines);
    one_node_input(&n, OX_F32, 2, (int64_t[]){MOST, D / 2}, sines);
    CHECK_FAILS_WITH(one_node_run(&n), rows[i].text);
    one_node_deinit(&n);
  }
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
      cmocka_unit_test(test_three_positions),
      cmocka_unit_test(test_sections_are_checked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
