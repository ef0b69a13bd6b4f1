/* SPDX-License-Identifier: Apache-2.0
 * ops/attention_onnx_test.c - Attention where V and the mask have types of their own, against sums in double. */
#include <math.h>
#include <string.h>

#include "base/macros.h"
#include "graph/dtype.h"
#include "kern/quant/convert.h"
#include "support/check.h"
#include "support/one_node.h"

enum { B = 2, H = 2, KV = 1, LEN = 3, FRESH = 4, PAST = 2, TOTAL = PAST + FRESH, D = 5, DV = 3 };

/* Eighths in [-2, 2), which every type of the tests holds; of masks, the whole numbers in [0, 4). */
static double value(int64_t i, int seed) { return (double)((i * 37 + seed * 53) % 32 - 16) / 8; }
static double mask_value(int64_t i) { return (double)((i * 5 + 1) % 4); }

typedef struct types {
  uint32_t q, v, mask; /* mask OX_UNDEFINED: none */
  double tolerance;
} types;

static const types cases[] = {
    {OX_F64, OX_F64, OX_UNDEFINED, 1e-14}, {OX_F64, OX_F64, OX_F64, 1e-14},  {OX_F64, OX_F64, OX_F32, 1e-14},
    {OX_F64, OX_F64, OX_F16, 1e-14},       {OX_F64, OX_F64, OX_BOOL, 1e-14}, {OX_F64, OX_F32, OX_U8, 1e-14},
    {OX_F64, OX_BF16, OX_F64, 1e-14},      {OX_F32, OX_F64, OX_F64, 1e-5},   {OX_F32, OX_F64, OX_UNDEFINED, 1e-5},
    {OX_F32, OX_F32, OX_F64, 1e-5},        {OX_F32, OX_F32, OX_I64, 1e-5},   {OX_F32, OX_F16, OX_I8, 1e-5},
    {OX_F32, OX_F32, OX_U16, 1e-5},        {OX_F16, OX_F64, OX_F64, 2e-3},   {OX_BF16, OX_F64, OX_I32, 2e-2},
};

static double wanted(const types *t, bool past, int64_t b, int64_t h, int64_t row, int64_t i) {
  double s[TOTAL], sum = 0, y = 0;
  int64_t keys = past ? TOTAL : FRESH, old = keys - FRESH;
  for (int64_t k = 0; k < keys; k++) {
    s[k] = 0;
    for (int64_t e = 0; e < D; e++) {
      double key = k < old ? value((b * PAST + k) * D + e, 4) : value((b * FRESH + k - old) * D + e, 2);
      s[k] += value(((b * H + h) * LEN + row) * D + e, 1) * key;
    }
    s[k] /= sqrt(D);
    double m = mask_value(row * keys + k);
    if (t->mask == OX_BOOL)
      s[k] = m != 0 ? s[k] : -INFINITY;
    else if (t->mask)
      s[k] += m;
    sum += exp(s[k]);
  }
  for (int64_t k = 0; k < keys; k++)
    y += exp(s[k]) / sum * (k < old ? value((b * PAST + k) * DV + i, 5) : value((b * FRESH + k - old) * DV + i, 3));
  return y;
}

static void add(one_node *n, uint32_t dtype, int64_t heads, int64_t rows, int64_t width, int seed, void *room) {
  double x[B * H * TOTAL * D];
  int64_t count = B * heads * rows * width;
  for (int64_t i = 0; i < count; i++) x[i] = value(i, seed);
  ox_convert_select(0)->store_f64[dtype](x, room, 0, (size_t)count, NULL);
  one_node_input(n, dtype, 4, (int64_t[]){B, heads, rows, width}, room);
}

static void add_mask(one_node *n, uint32_t dtype, int64_t keys, void *room) {
  double x[LEN * TOTAL];
  for (int64_t i = 0; i < LEN * keys; i++) x[i] = mask_value(i);
  if (dtype) ox_convert_select(0)->store_f64[dtype](x, room, 0, (size_t)(LEN * keys), NULL);
  one_node_input(n, dtype ? dtype : OX_F32, dtype ? 2 : -1, (int64_t[]){LEN, keys}, dtype ? room : NULL);
}

static void check(const types *t, bool past, uint32_t n_out, int64_t run_tiles) {
  static double room[6][B * H * TOTAL * D];
  one_node n;
  one_node_init(&n, "", "Attention", 23, n_out);
  n.run_tiles = run_tiles;
  add(&n, t->q, H, LEN, D, 1, room[0]), add(&n, t->q, KV, FRESH, D, 2, room[1]),
      add(&n, t->v, KV, FRESH, DV, 3, room[2]);
  add_mask(&n, t->mask, past ? TOTAL : FRESH, room[3]);
  if (past) add(&n, t->q, KV, PAST, D, 4, room[4]), add(&n, t->v, KV, PAST, DV, 5, room[5]);
  CHECK_OK(one_node_run(&n));
  assert_int_equal(n.out[0].dtype, t->q);
  for (int64_t i = 0; i < B * H * LEN * DV; i++) {
    double got, want = wanted(t, past, i / (H * LEN * DV), i / (LEN * DV) % H, i / DV % LEN, i % DV);
    ox_convert_select(0)->load_f64[t->q](n.out[0].data, (size_t)i, 1, &got);
    if (!(fabs(got - want) <= t->tolerance))
      fail_msg("Q %s, V %s, mask %s, past %d: [%d] is %.17g, wanted %.17g", ox_dtype_name(t->q), ox_dtype_name(t->v),
               ox_dtype_name(t->mask), past, (int)i, got, want);
  }
  if (n_out > 2) { /* the cache keeps V's own type */
    assert_int_equal(n.out[2].dtype, t->v);
    for (int64_t i = 0; i < B * FRESH * DV; i++) {
      double got;
      int64_t old = past ? PAST : 0, at = (i / (FRESH * DV) * (FRESH + old) + old) * DV + i % (FRESH * DV);
      ox_convert_select(0)->load_f64[t->v](n.out[2].data, (size_t)at, 1, &got);
      assert_true(got == value(i, 3));
    }
  }
  one_node_deinit(&n);
}

static void test_v_and_mask_have_types_of_their_own(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(cases); i++)
    for (int past = 0; past < 2; past++)
      for (uint32_t n_out = 1; n_out <= 3; n_out += 2)
        for (int64_t tiles = 0; tiles < 2; tiles++) check(&cases[i], past != 0, n_out, tiles);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_v_and_mask_have_types_of_their_own),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
