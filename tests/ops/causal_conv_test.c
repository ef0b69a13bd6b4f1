/* SPDX-License-Identifier: Apache-2.0
 * ops/causal_conv_test.c - CausalConvWithState of com.microsoft against doubles: dilations, both layouts, states of
 * several positions; the standard's own tests cover the rest. */
#include <string.h>

#include "support/typed.h"

#define DIMS(...) ((const int64_t[]){__VA_ARGS__})
enum { BATCH = 2 };
typedef struct row {
  int64_t channels, len, k, dilation, window; /* window 0: no dimension for it */
  bool last, bias, past, silu;
} row;

/* Position |t| of channel |ch| of a tensor of |n| positions. */
static int64_t index_of(const row *r, int64_t b, int64_t ch, int64_t t, int64_t n) {
  return r->last ? (b * n + t) * r->channels + ch : (b * r->channels + ch) * n + t;
}

/* The input with the last slot of the past before it; t from -state on. */
static double seen(const row *r, const ox_tensor *x, const ox_tensor *past, int64_t b, int64_t ch, int64_t t) {
  int64_t state = (r->k - 1) * r->dilation, slot = BATCH * r->channels * state;
  if (t >= 0) return typed_at(x, index_of(r, b, ch, t, r->len));
  return past ? typed_at(past, (r->window ? r->window - 1 : 0) * slot + index_of(r, b, ch, state + t, state)) : 0;
}

static const ox_tensor *add_tensor(one_node *n, const row *r, uint32_t dtype, int64_t positions, bool slots) {
  int64_t dims[4] = {r->window, BATCH, r->last ? positions : r->channels, r->last ? r->channels : positions};
  return slots && r->window ? typed_input(n, dtype, 4, dims, 2) : typed_input(n, dtype, 3, dims + 1, 2);
}

static void check(const row *r, uint32_t dtype) {
  int64_t state = (r->k - 1) * r->dilation, slots = r->window ? r->window : 1;
  one_node n;
  one_node_init(&n, "com.microsoft", "CausalConvWithState", 1, 2);
  one_node_int(&n, "dilation", r->dilation), one_node_int(&n, "channels_last", r->last);
  one_node_int(&n, "state_window", r->window), one_node_str(&n, "activation", r->silu ? "silu" : "none");
  const ox_tensor *x = add_tensor(&n, r, dtype, r->len, false);
  const ox_tensor *w = typed_input(&n, dtype, 3, DIMS(r->channels, 1, r->k), 1), *bias = NULL, *past = NULL;
  if (r->bias)
    bias = typed_input(&n, dtype, 1, &r->channels, 1);
  else
    one_node_input(&n, 0, -1, NULL, NULL);
  if (r->past) past = add_tensor(&n, r, dtype, state, true);
  n.run_tiles = 1;
  CHECK_OK(one_node_run(&n));
  for (int64_t b = 0; b < BATCH; b++)
    for (int64_t ch = 0; ch < r->channels; ch++) {
      for (int64_t t = 0; t < r->len; t++) {
        double sum = bias ? typed_at(bias, ch) : 0;
        for (int64_t j = 0; j < r->k; j++)
          sum += typed_at(w, ch * r->k + j) * seen(r, x, past, b, ch, t - (r->k - 1 - j) * r->dilation);
        typed_near(&n.out[0], index_of(r, b, ch, t, r->len), r->silu ? sum / (1 + exp(-sum)) : sum, 3);
      }
      for (int64_t s = 0; s < slots; s++) {
        int64_t end = r->len - slots + s + 1; /* positions before this one */
        for (int64_t t = 0; t < state; t++) {
          double want = end > 0 || s == slots - 1 ? seen(r, x, past, b, ch, end - state + t) : 0;
          int64_t at = s * BATCH * r->channels * state + index_of(r, b, ch, t, state);
          assert_true(typed_at(&n.out[1], at) == want);
        }
      }
    }
  one_node_deinit(&n);
}

static void test_every_form(void **state) {
  (void)state;
  static const int64_t lengths[] = {0, 1, 2, 5, 40}, dilations[] = {1, 3}, windows[] = {0, 1, 4};
  for (int bits = 0; bits < 16; bits++)
    for (size_t l = 0; l < OX_COUNT(lengths); l++)
      for (size_t d = 0; d < OX_COUNT(dilations); d++)
        for (size_t w = 0; w < OX_COUNT(windows); w++) {
          row r = {19, lengths[l], 3, dilations[d], windows[w], bits & 1, bits & 2, bits & 4, bits & 8};
          check(&r, OX_F32);
          r.k = 1, r.channels = 16;
          check(&r, OX_F32);
        }
}

static void test_narrow_types(void **state) {
  (void)state;
  static const row rows[] = {{5, 9, 4, 2, 0, false, true, true, true}, {33, 9, 4, 2, 3, true, true, true, true}};
  for (size_t i = 0; i < OX_COUNT(rows); i++) check(&rows[i], OX_F16), check(&rows[i], OX_BF16);
}

/* ---- axes in front of the causal one ---- */
typedef struct planes {
  int rank;             /* of the input */
  int64_t dim[3], k[3]; /* depth, height, length: axes that are missing have size 1 */
  int64_t dilation;
  bool past;
} planes;
enum { CHANNELS = 3 };

static double plane_at(const planes *r, const ox_tensor *x, const ox_tensor *past, int64_t bc, int64_t d, int64_t h,
                       int64_t t) {
  int64_t state = (r->k[2] - 1) * r->dilation, at = (bc * r->dim[0] + d) * r->dim[1] + h;
  if (d < 0 || h < 0 || d >= r->dim[0] || h >= r->dim[1]) return 0;
  if (t >= 0) return typed_at(x, at * r->dim[2] + t);
  return past ? typed_at(past, at * state + state + t) : 0;
}

static void check_planes(const planes *r) {
  const int64_t *n = r->dim, *k = r->k;
  int64_t state = (k[2] - 1) * r->dilation, dims[5] = {BATCH, CHANNELS}, kernel[5] = {CHANNELS, 1}, kept[5];
  memcpy(dims + 2, n + 5 - r->rank, sizeof n[0] * (size_t)(r->rank - 2));
  memcpy(kernel + 2, k + 5 - r->rank, sizeof k[0] * (size_t)(r->rank - 2));
  memcpy(kept, dims, sizeof kept), kept[r->rank - 1] = state;
  one_node node;
  one_node_init(&node, "com.microsoft", "CausalConvWithState", 1, 2);
  one_node_int(&node, "ndim", r->rank - 2), one_node_int(&node, "dilation", r->dilation);
  const ox_tensor *x = typed_input(&node, OX_F32, r->rank, dims, 2),
                  *w = typed_input(&node, OX_F32, r->rank, kernel, 1);
  const ox_tensor *bias = typed_input(&node, OX_F32, 1, DIMS(CHANNELS), 1), *past = NULL;
  if (r->past) past = typed_input(&node, OX_F32, r->rank, kept, 2);
  CHECK_OK(one_node_run(&node));
  for (int64_t at = 0; at < BATCH * CHANNELS * n[0] * n[1]; at++) {
    int64_t h = at % n[1], d = at / n[1] % n[0], bc = at / n[1] / n[0];
    for (int64_t t = 0; t < n[2]; t++) {
      double sum = typed_at(bias, bc % CHANNELS);
      for (int64_t i = 0; i < k[0] * k[1] * k[2]; i++)
        sum += typed_at(w, bc % CHANNELS * k[0] * k[1] * k[2] + i) *
               plane_at(r, x, past, bc, d + i / k[2] / k[1] - (k[0] - 1) / 2, h + i / k[2] % k[1] - (k[1] - 1) / 2,
                        t - (k[2] - 1 - i % k[2]) * r->dilation);
      typed_near(&node.out[0], at * n[2] + t, sum, 3);
    }
    for (int64_t t = 0; t < state; t++)
      assert_true(typed_at(&node.out[1], at * state + t) == plane_at(r, x, past, bc, d, h, n[2] - state + t));
  }
  one_node_deinit(&node);
}

static void test_more_axes(void **state) {
  (void)state;
  static const planes rows[] = {{4, {1, 1, 1}, {1, 1, 1}, 1, false}, {4, {1, 4, 6}, {1, 3, 3}, 1, true},
                                {4, {1, 5, 2}, {1, 2, 4}, 2, true},  {5, {3, 4, 5}, {3, 1, 2}, 1, true},
                                {5, {2, 3, 7}, {5, 3, 3}, 2, false}, {5, {0, 3, 7}, {1, 3, 3}, 1, true}};
  for (size_t i = 0; i < OX_COUNT(rows); i++) check_planes(&rows[i]);
}

static void fails(const char *attr, int64_t v, int rank, const int64_t *past, const char *text) {
  one_node n;
  one_node_init(&n, "com.microsoft", "CausalConvWithState", 1, 2);
  if (attr) one_node_int(&n, attr, v);
  typed_input(&n, OX_F32, 3, DIMS(2, 3, 5), 1), typed_input(&n, OX_F32, 3, DIMS(3, 1, 4), 1);
  typed_input(&n, OX_F32, 1, DIMS(3), 1);
  typed_input(&n, OX_F32, rank, past, 1);
  CHECK_FAILS_WITH(one_node_run(&n), text);
  one_node_deinit(&n);
}

static void test_wrong_models(void **state) {
  (void)state;
  fails(NULL, 0, 3, DIMS(2, 3, 4), "input 3");
  fails("dilation", 2, 3, DIMS(2, 3, 3), "input 3");
  fails("state_window", 2, 3, DIMS(2, 3, 3), "input 3");
  fails("channels_last", 1, 3, DIMS(2, 3, 3), "channels");
  fails("dilation", 0, 3, DIMS(2, 3, 3), "'dilation' is 0");
  fails("state_window", 9, 3, DIMS(2, 3, 3), "'state_window' is 9");
  fails("ndim", 2, 3, DIMS(2, 3, 3), "rank 3, wanted 4");
  fails("ndim", 4, 3, DIMS(2, 3, 3), "'ndim' is 4");
  fails("dilation", OX_COUNT_MAX, 3, DIMS(2, 3, 3), "input 3");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_form),
      cmocka_unit_test(test_narrow_types),
      cmocka_unit_test(test_more_axes),
      cmocka_unit_test(test_wrong_models),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
