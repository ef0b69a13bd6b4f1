/* SPDX-License-Identifier: Apache-2.0
 * ops/multi_head_attention_test.c - separate, packed and headed inputs give one result; biases, masks and a cache
 * against doubles; buffers with room for more, beams. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/one_node.h"

enum { B = 2, H = 3, D = 5, MOST = 40 };
static float q[B * MOST * H * D], k[B * MOST * H * D], v[B * MOST * H * D], bias[3 * H * D], past[2][B * H * MOST * D];

static void fill(float *p, size_t n, int seed) {
  for (size_t i = 0; i < n; i++) p[i] = (float)((int)(i * 7919 + (size_t)seed * 104729) % 1009 - 504) / 300;
}

static void fill_all(void) {
  fill(q, OX_COUNT(q), 1), fill(k, OX_COUNT(k), 2), fill(v, OX_COUNT(v), 3), fill(bias, OX_COUNT(bias), 4);
  fill(past[0], OX_COUNT(past[0]), 5), fill(past[1], OX_COUNT(past[1]), 6);
}

typedef struct setup {
  int64_t len, kv, past;
  bool bias, causal;
  int mask; /* 0, or the rank of the mask */
} setup;

static int32_t mask_at(const setup *s, int64_t b, int64_t row, int64_t t) {
  if (s->mask == 1) return t < (b ? s->past + s->kv : 1);
  return (b * 31 + t * 7 + (s->mask == 3 ? row * 5 : 0)) % 3 != 0;
}

static double element(const setup *s, int which, int64_t b, int64_t h, int64_t t, int64_t i) {
  if (t < s->past) return past[which][((b * H + h) * s->past + t) * D + i];
  const float *from = which ? v : k;
  double add = s->bias ? bias[(which + 1) * H * D + h * D + i] : 0;
  return from[(b * s->kv + t - s->past) * H * D + h * D + i] + add;
}

static void naive(const setup *s, int64_t b, int64_t h, int64_t row, double *out) {
  int64_t total = s->past + s->kv;
  double *x = calloc((size_t)total, sizeof *x), most = -INFINITY, sum = 0;
  for (int64_t t = 0; t < total; t++) {
    for (int64_t i = 0; i < D; i++)
      x[t] += (q[(b * s->len + row) * H * D + h * D + i] + (s->bias ? bias[h * D + i] : 0)) * element(s, 0, b, h, t, i);
    x[t] /= sqrt(D);
    if (s->mask && !mask_at(s, b, row, t)) x[t] -= 50;
    if (s->causal && t > row + s->past) x[t] = -INFINITY;
    most = fmax(most, x[t]);
  }
  for (int64_t t = 0; t < total; t++) sum += x[t] = exp(x[t] - most);
  for (int64_t i = 0; i < D; i++) {
    out[i] = 0;
    for (int64_t t = 0; t < total; t++) out[i] += x[t] / sum * element(s, 1, b, h, t, i);
  }
  free(x);
}

static void add_mask(one_node *n, const setup *s) {
  static int32_t mask[B * MOST * MOST];
  int64_t total = s->past + s->kv, rows = s->mask == 3 ? s->len : 1;
  if (s->mask == 1) {
    one_node_input(n, OX_I32, 1, (int64_t[]){B}, (int32_t[]){1, (int32_t)total});
    return;
  }
  for (int64_t i = 0; i < B * rows * total; i++) mask[i] = mask_at(s, i / (rows * total), i / total % rows, i % total);
  if (s->mask == 2)
    one_node_input(n, OX_I32, 2, (int64_t[]){B, total}, mask);
  else if (s->mask == 3)
    one_node_input(n, OX_I32, 3, (int64_t[]){B, rows, total}, mask);
  else
    one_node_input(n, OX_I32, -1, NULL, NULL);
}

static void run(const setup *s, int64_t run_tiles) {
  one_node n;
  one_node_init(&n, "com.microsoft", "MultiHeadAttention", 1, s->past ? 3 : 1);
  n.run_tiles = run_tiles;
  one_node_int(&n, "num_heads", H);
  one_node_int(&n, "unidirectional", s->causal);
  one_node_float(&n, "mask_filter_value", -50);
  one_node_input(&n, OX_F32, 3, (int64_t[]){B, s->len, H * D}, q);
  one_node_input(&n, OX_F32, 3, (int64_t[]){B, s->kv, H * D}, k);
  one_node_input(&n, OX_F32, 3, (int64_t[]){B, s->kv, H * D}, v);
  one_node_input(&n, OX_F32, s->bias ? 1 : -1, (int64_t[]){3 * H * D}, bias);
  add_mask(&n, s);
  one_node_input(&n, OX_F32, -1, NULL, NULL);
  for (int i = 0; i < 2 && s->past; i++) one_node_input(&n, OX_F32, 4, (int64_t[]){B, H, s->past, D}, past[i]);
  CHECK_OK(one_node_run(&n));
  for (int64_t i = 0; i < B * H * s->len; i++) {
    int64_t b = i / (H * s->len), h = i / s->len % H, row = i % s->len;
    double want[D];
    naive(s, b, h, row, want);
    for (int64_t e = 0; e < D; e++) {
      double got = ((float *)n.out[0].data)[(b * s->len + row) * H * D + h * D + e];
      if (!(fabs(got - want[e]) < 1e-4))
        fail_msg("len %d kv %d past %d mask %d: got %g, wanted %g", (int)s->len, (int)s->kv, (int)s->past, s->mask, got,
                 want[e]);
    }
  }
  one_node_deinit(&n);
}

static void test_all_forms_against_doubles(void **state) {
  (void)state;
  static const setup setups[] = {
      {1, 1, 0, false, false, 0}, {3, 7, 0, true, false, 1}, {17, 17, 0, false, true, 2}, {33, 33, 0, true, true, 3},
      {1, 1, 20, false, true, 2}, {5, 5, 11, true, true, 0}, {1, 1, 33, true, false, 3},  {9, 2, 0, false, false, 2},
  };
  fill_all();
  for (size_t i = 0; i < OX_COUNT(setups); i++) run(&setups[i], 0), run(&setups[i], 1);
}

static void test_packed_inputs_are_the_same(void **state) {
  (void)state;
  enum { S = 6 };
  static float qkv[B * S * H * 3 * D], kv[B * S * H * 2 * D];
  float *plain = NULL;
  fill_all();
  for (int i = 0; i < B * S * H * D; i++) {
    int at = i / D, e = i % D;
    qkv[at * 3 * D + e] = q[i], qkv[at * 3 * D + D + e] = k[i], qkv[at * 3 * D + 2 * D + e] = v[i];
    kv[at * 2 * D + e] = k[i], kv[at * 2 * D + D + e] = v[i];
  }
  one_node n[3];
  for (int form = 0; form < 3; form++) {
    one_node_init(&n[form], "com.microsoft", "MultiHeadAttention", 1, 1);
    one_node_int(&n[form], "num_heads", H);
    if (form == 1)
      one_node_input(&n[form], OX_F32, 5, (int64_t[]){B, S, H, 3, D}, qkv);
    else
      one_node_input(&n[form], OX_F32, 3, (int64_t[]){B, S, H * D}, q);
    if (form == 2) one_node_input(&n[form], OX_F32, 5, (int64_t[]){B, S, H, 2, D}, kv);
    if (form == 0) one_node_input(&n[form], OX_F32, 3, (int64_t[]){B, S, H * D}, k);
    if (form == 0) one_node_input(&n[form], OX_F32, 3, (int64_t[]){B, S, H * D}, v);
    CHECK_OK(one_node_run(&n[form]));
    if (!plain) plain = n[form].out[0].data;
    assert_memory_equal(plain, n[form].out[0].data, n[form].out[0].bytes);
  }
  for (int form = 0; form < 3; form++) one_node_deinit(&n[form]);
}

/* ---- buffers that past and present share, beams ---- */
enum { ROOM = 9, PAST = 4, BEAMS = 2 };

/* |decoder|: DecoderMaskedMultiHeadAttention, whose inputs have another order. |ind|: NULL, or of each beam's rows. */
static void shared_inputs(one_node *n, bool decoder, int64_t len, const int32_t *mask, int32_t past_len,
                          const int32_t *ind) {
  one_node_init(n, "com.microsoft", decoder ? "DecoderMaskedMultiHeadAttention" : "MultiHeadAttention", 1, 3);
  one_node_int(n, "num_heads", H);
  if (decoder) one_node_int(n, "past_present_share_buffer", 1);
  one_node_input(n, OX_F32, 3, (int64_t[]){B, len, H * D}, q);
  one_node_input(n, OX_F32, 3, (int64_t[]){B, len, H * D}, k);
  one_node_input(n, OX_F32, 3, (int64_t[]){B, len, H * D}, v);
  if (!decoder) one_node_input(n, OX_F32, 1, (int64_t[]){3 * H * D}, bias);
  one_node_input(n, OX_I32, 2, (int64_t[]){B, PAST + len}, mask);
  one_node_input(n, OX_F32, -1, NULL, NULL);
  for (int i = 0; i < 2; i++) one_node_input(n, OX_F32, 4, (int64_t[]){B, H, ROOM, D}, past[i]);
  one_node_input(n, OX_I32, 1, (int64_t[]){1}, &past_len);
  if (decoder) one_node_input(n, OX_I32, ind ? 1 : -1, (int64_t[]){1}, (int32_t[]){BEAMS});
  one_node_input(n, OX_I32, ind ? 3 : -1, (int64_t[]){B / BEAMS, BEAMS, ROOM}, ind);
  if (decoder) one_node_input(n, OX_F32, 1, (int64_t[]){3 * H * D}, bias);
}

/* The same with a past of its own that holds what the beams read. */
static void plain_inputs(one_node *n, int64_t len, const int32_t *mask, const int32_t *ind) {
  static float own[B * H * PAST * D];
  one_node_init(n, "com.microsoft", "MultiHeadAttention", 1, 3);
  one_node_int(n, "num_heads", H);
  one_node_input(n, OX_F32, 3, (int64_t[]){B, len, H * D}, q);
  one_node_input(n, OX_F32, 3, (int64_t[]){B, len, H * D}, k);
  one_node_input(n, OX_F32, 3, (int64_t[]){B, len, H * D}, v);
  one_node_input(n, OX_F32, 1, (int64_t[]){3 * H * D}, bias);
  one_node_input(n, OX_I32, 2, (int64_t[]){B, PAST + len}, mask);
  one_node_input(n, OX_F32, -1, NULL, NULL);
  for (int i = 0; i < 2; i++) {
    for (int at = 0; at < B * H * PAST; at++) {
      int b = at / (H * PAST), h = at / PAST % H, t = at % PAST, from = ind ? ind[b * ROOM + t] : b;
      memcpy(own + at * D, past[i] + ((from * H + h) * ROOM + t) * D, D * sizeof(float));
    }
    one_node_input(n, OX_F32, 4, (int64_t[]){B, H, PAST, D}, own);
  }
}

static void test_a_buffer_with_room_gives_the_same(void **state) {
  static const int32_t mask[] = {1, 1, 0, 1, 1, 1, 1, 0, 1, 1, 1, 1, 0, 1},
                       ind[B * ROOM] = {1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0};
  (void)state;
  fill_all();
  for (int f = 0; f < 8; f++) {
    bool decoder = f & 1, beams = f & 2;
    int64_t len = decoder || f & 4 ? 1 : 3;
    one_node a, b;
    shared_inputs(&a, decoder, len, mask, PAST, beams ? ind : NULL);
    plain_inputs(&b, len, mask, beams ? ind : NULL);
    CHECK_OK(one_node_run(&a));
    CHECK_OK(one_node_run(&b));
    assert_int_equal(a.out[0].bytes, b.out[0].bytes);
    for (int i = 0; i < B * len * H * D; i++)
      assert_true(fabsf(((float *)a.out[0].data)[i] - ((float *)b.out[0].data)[i]) < 1e-6f);
    for (int i = 0; i < 2; i++)
      for (int row = 0; row < B * H * ROOM; row++) { /* the buffer, with the new rows in their place */
        int t = row % ROOM;
        const float *want = past[i] + row * D;
        if (t >= PAST && t < PAST + len) want = (float *)b.out[1 + i].data + (row / ROOM * (PAST + len) + t) * D;
        assert_memory_equal((float *)a.out[1 + i].data + row * D, want, D * sizeof(float));
      }
    one_node_deinit(&a), one_node_deinit(&b);
  }
}

static void test_what_does_not_fit_the_buffer_is_refused(void **state) {
  static const int32_t mask[B * (PAST + 1)] = {1}, ind[B * ROOM] = {0, 1, 2}, lens[] = {-1, ROOM, ROOM + 1, PAST};
  (void)state;
  for (size_t i = 0; i < OX_COUNT(lens); i++) {
    one_node n;
    shared_inputs(&n, true, 1, mask, lens[i], lens[i] == PAST ? ind : NULL);
    CHECK_FAILS(one_node_run(&n), OX_INVALID_ARGUMENT, lens[i] == PAST ? "beam 2" : "past");
    one_node_deinit(&n);
  }
}

static void test_a_row_of_query_key_and_value(void **state) {
  static float rows[B * 3 * H * D];
  one_node n[2];
  (void)state;
  fill_all();
  for (int b = 0; b < B; b++)
    for (int i = 0; i < 3; i++)
      memcpy(rows + (b * 3 + i) * H * D, (i == 0 ? q : i == 1 ? k : v) + b * H * D, H * D * sizeof(float));
  for (int form = 0; form < 2; form++) {
    one_node_init(&n[form], "com.microsoft", "DecoderMaskedMultiHeadAttention", 1, 3);
    one_node_int(&n[form], "num_heads", H);
    one_node_input(&n[form], OX_F32, 3, (int64_t[]){B, 1, (form ? 1 : 3) * H * D}, form ? q : rows);
    one_node_input(&n[form], OX_F32, form ? 3 : -1, (int64_t[]){B, 1, H * D}, k);
    one_node_input(&n[form], OX_F32, form ? 3 : -1, (int64_t[]){B, 1, H * D}, v);
    for (int i = 0; i < 2; i++) one_node_input(&n[form], OX_F32, -1, NULL, NULL);
    for (int i = 0; i < 2; i++) one_node_input(&n[form], OX_F32, 4, (int64_t[]){B, H, PAST, D}, past[i]);
    CHECK_OK(one_node_run(&n[form]));
  }
  for (int i = 0; i < 3; i++) assert_memory_equal(n[0].out[i].data, n[1].out[i].data, n[0].out[i].bytes);
  one_node_deinit(&n[0]), one_node_deinit(&n[1]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_all_forms_against_doubles),
      cmocka_unit_test(test_packed_inputs_are_the_same),
      cmocka_unit_test(test_a_buffer_with_room_gives_the_same),
      cmocka_unit_test(test_what_does_not_fit_the_buffer_is_refused),
      cmocka_unit_test(test_a_row_of_query_key_and_value),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
