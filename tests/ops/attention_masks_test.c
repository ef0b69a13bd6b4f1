/* SPDX-License-Identifier: Apache-2.0
 * ops/attention_masks_test.c - the standard's Attention with masks of every shape, against simple code in doubles. */
#include <math.h>
#include <string.h>

#include "kern/quant/convert.h"
#include "onyx/onyx.h"
#include "support/check.h"
#include "support/one_node.h"

enum { B = 2, H = 4, HK = 2, SQ = 3, PAST = 2, SK = 5, T = PAST + SK, D = 3, DV = 5, MOST = 3 * H * SQ * (T + 1) };

static const struct {
  const char *name;
  int version, rank;
  int64_t dims[4];
  bool causal;
} masks[] = {
    {"all", 23, 4, {B, H, SQ, T}, false},
    {"a row for all", 23, 1, {T}, false},
    {"a row for all, causal", 24, 1, {T}, true},
    {"rows", 24, 2, {SQ, T}, true},
    {"one row", 25, 2, {1, T}, true},
    {"heads", 23, 3, {H, SQ, T}, false},
    {"heads of one row", 25, 3, {H, 1, T}, true},
    {"batch items", 24, 4, {B, 1, SQ, T}, false},
    {"batch items of one row", 24, 4, {B, 1, 1, T}, true},
    {"keys that lack", 24, 4, {B, H, SQ, T - 2}, false},
    {"keys that lack, one row", 25, 3, {1, 1, 2}, true},
    {"version 23: one key for all", 23, 4, {B, 1, SQ, 1}, false},
    {"version 24: one key, others lack", 24, 4, {B, 1, SQ, 1}, false},
};

static const uint32_t types[] = {OX_F32, OX_BOOL, OX_I8, OX_F64}; /* of masks */

static double rnd(void) {
  static uint32_t seed = 11;
  return seed = seed * 1664525u + 1013904223u, (double)(seed >> 8) / (1 << 23) - 1;
}

/* A tensor of made-up numbers, which |dtype| holds exactly enough; what it holds, as doubles, in |out|. */
static void input(one_node *n, uint32_t dtype, int rank, const int64_t *dims, double *out) {
  static uint64_t bytes[MOST];
  const ox_convert *cv = ox_convert_select(0);
  ox_shape s = ox_shape_of(rank, dims);
  size_t count = (size_t)ox_shape_count(&s);
  assert_true(count <= MOST);
  bool is_real = OX_BIT(dtype) & OX_T_FLOAT, is_signed = OX_BIT(dtype) & OX_T_SINT;
  for (size_t i = 0; i < count; i++) {
    double x = rnd();
    out[i] = is_real ? x : dtype == OX_BOOL ? x > -0.4 : is_signed ? floor(3 * x) : floor(fabs(3 * x));
  }
  cv->store_f64[dtype](out, bytes, 0, count, &(ox_narrow_how){0});
  cv->load_f64[dtype](bytes, 0, count, out);
  one_node_input(n, dtype, rank, dims, bytes);
}

typedef struct values {
  double q[MOST], k[MOST], v[MOST], past_k[MOST], past_v[MOST], mask[MOST];
} values;

/* What the mask adds to key |t| of row |s|. */
static double mask_at(const double *mask, uint32_t dtype, size_t m, int b, int h, int s, int t) {
  int64_t dim[4] = {1, 1, 1, 1}, index[4] = {b, h, s, t}, at = 0;
  for (int i = 0; i < masks[m].rank; i++) dim[4 - masks[m].rank + i] = masks[m].dims[i];
  bool one_for_all = masks[m].version < 24 && dim[3] == 1;
  if (!one_for_all && t >= dim[3]) return -INFINITY;
  for (int i = 0; i < 4; i++) at = at * dim[i] + (dim[i] == 1 ? 0 : index[i]);
  return dtype != OX_BOOL ? mask[at] : mask[at] ? 0 : -INFINITY;
}

static void naive_row(const values *x, size_t m, uint32_t mask_type, int b, int h, int s, double *y) {
  double p[T], most = -INFINITY, sum = 0;
  int hk = h / (H / HK);
  for (int t = 0; t < T; t++) {
    const double *k =
        t < PAST ? &x->past_k[((b * HK + hk) * PAST + t) * D] : &x->k[((b * HK + hk) * SK + t - PAST) * D];
    double bias = mask_at(x->mask, mask_type, m, b, h, s, t);
    p[t] = 0;
    for (int i = 0; i < D; i++) p[t] += x->q[((b * H + h) * SQ + s) * D + i] * k[i];
    p[t] = bias == -INFINITY || (masks[m].causal && t > s + PAST) ? -INFINITY : p[t] / sqrt(D) + bias;
    most = fmax(most, p[t]);
  }
  for (int t = 0; t < T; t++) sum += p[t] = p[t] == -INFINITY ? 0 : exp(p[t] - most);
  for (int i = 0; i < DV; i++) y[i] = 0;
  for (int t = 0; t < T && sum > 0; t++)
    for (int i = 0; i < DV; i++)
      y[i] +=
          p[t] / sum *
          (t < PAST ? x->past_v[((b * HK + hk) * PAST + t) * DV + i] : x->v[((b * HK + hk) * SK + t - PAST) * DV + i]);
}

static void check(size_t m, size_t k) {
  static values x;
  one_node n;
  uint32_t mask = types[k];
  one_node_init(&n, NULL, "Attention", masks[m].version, 3);
  one_node_int(&n, "is_causal", masks[m].causal);
  input(&n, OX_F32, 4, (int64_t[]){B, H, SQ, D}, x.q);
  input(&n, OX_F32, 4, (int64_t[]){B, HK, SK, D}, x.k);
  input(&n, OX_F32, 4, (int64_t[]){B, HK, SK, DV}, x.v);
  input(&n, mask, masks[m].rank, masks[m].dims, x.mask);
  input(&n, OX_F32, 4, (int64_t[]){B, HK, PAST, D}, x.past_k);
  input(&n, OX_F32, 4, (int64_t[]){B, HK, PAST, DV}, x.past_v);
  CHECK_OK(ox_status_note(one_node_run(&n), "%s of %s", masks[m].name, ox_dtype_name(mask)));
  for (int row = 0; row < B * H * SQ; row++) {
    double want[DV];
    naive_row(&x, m, mask, row / (H * SQ), row / SQ % H, row % SQ, want);
    for (int i = 0; i < DV; i++) {
      double got = ox_tensor_element(&n.out[0], row * DV + i);
      if (!(fabs(got - want[i]) <= 1e-5))
        fail_msg("%s of %s, row %d: got %g, wanted %g", masks[m].name, ox_dtype_name(mask), row, got, want[i]);
    }
  }
  one_node_deinit(&n);
}

static void test_masks_of_every_shape(void **state) {
  (void)state;
  for (size_t m = 0; m < OX_COUNT(masks); m++)
    for (size_t k = 0; k < OX_COUNT(types); k++) check(m, k);
}

static void test_masks_that_do_not_broadcast_are_refused(void **state) {
  static const int64_t dims[][4] = {{B, HK, SQ, T}, {B + 1, H, SQ, T}, {B, H, SQ - 1, T}, {B, H, SQ, T + 1}};
  static values x;
  (void)state;
  for (size_t i = 0; i < OX_COUNT(dims); i++) {
    one_node n;
    one_node_init(&n, NULL, "Attention", 24, 1);
    input(&n, OX_F32, 4, (int64_t[]){B, H, SQ, D}, x.q);
    input(&n, OX_F32, 4, (int64_t[]){B, HK, T, D}, x.k);
    input(&n, OX_F32, 4, (int64_t[]){B, HK, T, DV}, x.v);
    input(&n, OX_F32, 4, dims[i], x.mask);
    CHECK_FAILS(one_node_run(&n), OX_SHAPE_MISMATCH, "attn_mask");
    one_node_deinit(&n);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_masks_of_every_shape),
      cmocka_unit_test(test_masks_that_do_not_broadcast_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
