/* SPDX-License-Identifier: Apache-2.0
 * plugins/device/attention_kernels_test.c - the kernels of attention beside sums in double: tiles and few rows, whole
 * and split, every mask, tails of all sizes, NaN and infinities. */
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/macros.h"
#include "plugins/device/kernel_calls.h"
#include "plugins/device/kernels/attention_params.h"
#include "support/check.h"

KERNEL_OF(attention64);
KERNEL_OF(attention128);
KERNEL_OF(attention256);
KERNEL_OF(attention_few);
KERNEL_OF(attention_combine);

enum { FEW, TILE };
enum { MASK_NONE, MASK_REAL, MASK_OTHER, MASK_BOOL, MASK_SHORT, MASK_KEYS, MASK_SQUARE, MASK_ENDS, MASK_SPANS };

typedef struct {
  const char *name;
  int batch, heads, kv_heads, q_len, kv_len, d, dv;
  int mask, left, right, offset, lens, sink, splits;
  float softcap, special; /* in K's first row; 0: none */
  int nan_to_zero;
} attention_case;

#define NO_BOUNDS .left = -1, .right = -1
static const attention_case cases[] = {
    {"one", 1, 1, 1, 1, 1, 1, 1, NO_BOUNDS},
    {"no keys", 2, 2, 1, 3, 0, 4, 4, NO_BOUNDS},
    {"a row", 1, 2, 2, 1, 70, 64, 64, NO_BOUNDS},
    {"odd", 2, 3, 3, 5, 67, 7, 9, NO_BOUNDS},
    {"odd, grouped", 2, 6, 2, 2, 130, 33, 35, NO_BOUNDS},
    {"more rows than one tile", 1, 2, 2, 70, 65, 16, 64, NO_BOUNDS},
    {"tiles over heads", 2, 4, 1, 30, 100, 20, 24, .left = -1, .right = 0, .offset = 70},
    {"wide", 1, 1, 1, 3, 66, 128, 128, NO_BOUNDS},
    {"wider", 1, 2, 1, 4, 129, 256, 256, NO_BOUNDS},
    {"a wide tail", 1, 1, 1, 9, 64, 80, 130, NO_BOUNDS},
    {"causal", 1, 2, 2, 66, 66, 8, 8, .left = -1, .right = 0},
    {"causal, rows that see nothing", 1, 1, 1, 6, 6, 8, 8, .left = -1, .right = 0, .offset = -3},
    {"a window", 1, 2, 1, 70, 140, 8, 12, .left = 5, .right = 3, .offset = 66},
    {"a window of a row", 1, 2, 1, 1, 300, 8, 12, .left = 5, .right = 0, .offset = 290},
    {"softcap", 1, 2, 2, 4, 90, 16, 16, NO_BOUNDS, .softcap = 3},
    {"a bias", 2, 2, 2, 5, 66, 8, 8, NO_BOUNDS, .mask = MASK_REAL},
    {"a bias of the other type", 2, 2, 2, 5, 66, 8, 8, NO_BOUNDS, .mask = MASK_OTHER},
    {"forbidden", 2, 2, 1, 5, 66, 8, 8, NO_BOUNDS, .mask = MASK_BOOL},
    {"a short mask", 2, 2, 1, 5, 66, 8, 8, NO_BOUNDS, .mask = MASK_SHORT},
    {"a mask of the last keys", 2, 2, 2, 5, 66, 8, 8, NO_BOUNDS, .mask = MASK_KEYS},
    {"a square mask", 2, 2, 2, 5, 66, 8, 8, NO_BOUNDS, .mask = MASK_SQUARE, .offset = 61},
    {"ends", 2, 2, 2, 5, 66, 8, 8, NO_BOUNDS, .mask = MASK_ENDS},
    {"spans", 2, 2, 2, 5, 66, 8, 8, NO_BOUNDS, .mask = MASK_SPANS},
    {"lengths", 3, 2, 2, 3, 66, 8, 8, .left = -1, .right = 0, .lens = 1},
    {"lengths of 64 bits", 3, 2, 1, 3, 66, 8, 8, .left = -1, .right = 0, .lens = 2},
    {"a sink", 1, 4, 2, 2, 66, 8, 8, NO_BOUNDS, .sink = 1},
    {"split", 2, 2, 1, 2, 300, 16, 20, NO_BOUNDS, .splits = 3, .sink = 1},
    {"split, causal", 1, 2, 2, 4, 300, 16, 20, .left = -1, .right = 0, .offset = 100, .splits = 5},
    {"split, lengths", 3, 2, 2, 2, 300, 16, 20, .left = -1, .right = 0, .lens = 1, .splits = 2},
    {"NaN", 1, 1, 1, 3, 66, 8, 8, NO_BOUNDS, .special = NAN},
    {"infinite", 1, 1, 1, 3, 66, 8, 8, NO_BOUNDS, .special = INFINITY},
    {"large", 1, 1, 1, 3, 66, 8, 8, NO_BOUNDS, .special = 30000},
    {"NaN, split", 1, 1, 1, 3, 300, 8, 8, NO_BOUNDS, .special = NAN, .splits = 2},
    {"NaN, guarded", 1, 2, 2, 3, 66, 8, 9, NO_BOUNDS, .special = NAN, .nan_to_zero = 1},
    {"infinite, guarded", 1, 2, 2, 3, 66, 8, 8, NO_BOUNDS, .special = INFINITY, .nan_to_zero = 1},
    {"NaN, split, guarded", 1, 2, 2, 3, 300, 8, 8, NO_BOUNDS, .special = NAN, .splits = 2, .nan_to_zero = 1},
};

typedef struct {
  attention_params p;
  numbers q, k, v, out, sink, real;
  int32_t ints[66 * 66], lens[8]; /* the most: a square mask of 66 keys */
  int64_t long_lens[8];
  uint8_t bools[4096];
} problem;

/* ---- the oracle ---- */

static double bias_of(const attention_case *c, const problem *x, int b, int s, int t) {
  int short_keys = c->kv_len - 3, at = (b * c->q_len + s) * c->kv_len + t;
  switch (c->mask) {
    case MASK_REAL:
    case MASK_OTHER:
      return (double)number_at(&x->real, at);
    case MASK_BOOL:
      return x->bools[at] ? 0 : -INFINITY;
    case MASK_SHORT:
      return t >= short_keys || !x->bools[b * short_keys + t] ? -INFINITY : 0;
    case MASK_KEYS: /* for the last |short_keys| */
      return t < 3 || x->ints[b * short_keys + t - 3] > 0 ? 0 : -100;
    case MASK_SQUARE: /* of kv_len rows */
      return x->ints[(OX_MIN(s + c->offset, c->kv_len - 1)) * c->kv_len + t] > 0 ? 0 : -100;
    case MASK_ENDS:
      return t < x->ints[b] ? 0 : -100;
    case MASK_SPANS:
      return t < x->ints[b] && t >= x->ints[c->batch + b] ? 0 : -100;
    default:
      return 0;
  }
}

static double score_of(const attention_case *c, const problem *x, int b, int h, int s, int t) {
  const attention_params *p = &x->p;
  int keys = c->lens ? x->lens[b] + 1 : c->kv_len, place = s + (c->lens ? keys - c->q_len : c->offset);
  double v = 0;
  for (int i = 0; i < c->d; i++)
    v += (double)number_at(&x->q, b * p->q_batch + h * p->q_head + s * p->q_row + i) *
         (double)number_at(&x->k, b * p->k_batch + h / p->per * p->k_head + t * p->k_row + i);
  v *= (double)p->scale;
  if (c->softcap != 0) v = (double)c->softcap * tanh(v / (double)c->softcap);
  if (t >= keys || (c->right >= 0 && t > place + c->right) || (c->left >= 0 && t < place - c->left)) return -INFINITY;
  return v + bias_of(c, x, b, s, t);
}

/* Row |s| in |out|, and the largest number that goes into it. */
static double row_of(const attention_case *c, const problem *x, int b, int h, int s, double *out) {
  double *w = malloc((size_t)(c->kv_len + 1) * sizeof *w), most = -INFINITY, sum = 0, size = 0;
  double sink = c->sink ? (double)number_at(&x->sink, h) : -INFINITY;
  for (int t = 0; t < c->kv_len; t++) w[t] = score_of(c, x, b, h, s, t), most = w[t] > most ? w[t] : most;
  most = sink > most ? sink : most;
  if (isfinite(sink)) sum = exp(sink - most);
  for (int t = 0; t < c->kv_len; t++) sum += w[t] = w[t] == -INFINITY ? 0 : exp(w[t] - most);
  for (int i = 0; i < c->dv; i++) {
    out[i] = 0;
    for (int t = 0; t < c->kv_len; t++) {
      double v = (double)number_at(&x->v, b * x->p.v_batch + h / x->p.per * x->p.v_head + t * x->p.v_row + i);
      out[i] += w[t] == 0 ? 0 : w[t] * v, size = fabs(v) > size ? fabs(v) : size;
    }
    out[i] = sum == 0 || (c->nan_to_zero && isnan(sum)) ? 0 : out[i] / sum;
  }
  free(w);
  return size;
}

/* ---- the kernels ---- */

static void fill_bias(const attention_case *c, problem *x, int half) {
  attention_bias *a = &x->p.bias[c->softcap == 0]; /* either of the two */
  int short_keys = c->kv_len - 3;
  *a = (attention_bias){
      .batch = c->q_len * c->kv_len, .row = c->kv_len, .key = 1, .last_row = INT_MAX, .n = c->kv_len, .filter = -100};
  switch (c->mask) {
    case MASK_REAL:
    case MASK_OTHER:
      a->kind = half ^ (c->mask == MASK_OTHER) ? ATT_BIAS_F16 : ATT_BIAS_F32;
      break;
    case MASK_BOOL:
      a->kind = ATT_BIAS_BOOL;
      break;
    case MASK_SHORT:
      a->kind = ATT_BIAS_BOOL, a->batch = a->n = short_keys, a->row = 0;
      break;
    case MASK_KEYS:
      a->kind = ATT_BIAS_I32, a->batch = short_keys, a->row = 0, a->skip = 3;
      break;
    case MASK_SQUARE:
      a->kind = ATT_BIAS_I32, a->batch = 0, a->first_row = c->offset, a->last_row = c->kv_len - 1;
      break;
    case MASK_ENDS:
    case MASK_SPANS:
      a->kind = ATT_BIAS_LENGTHS, a->batch = c->batch, a->key = c->mask == MASK_SPANS;
      break;
    default:
      a->kind = ATT_BIAS_NONE;
  }
}

/* |flat|: [batch, rows, heads, width], else [batch, heads, rows, width]. */
static void lay_out(int flat, int heads, int rows, int width, int *batch, int *head, int *row) {
  *batch = heads * rows * width, *head = flat ? width : rows * width, *row = flat ? heads * width : width;
}

static void make(const attention_case *c, int half, int flat, problem *x) {
  attention_params *p = &x->p;
  memset(x, 0, sizeof *x);
  *p = (attention_params){.batch = c->batch,
                          .heads = c->heads,
                          .kv_heads = c->kv_heads,
                          .per = c->heads / c->kv_heads,
                          .q_len = c->q_len,
                          .kv_len = c->kv_len,
                          .d = c->d,
                          .dv = c->dv,
                          .scale = 0.375f,
                          .softcap = c->softcap,
                          .left = c->left,
                          .right = c->right,
                          .offset = c->offset,
                          .lens = c->lens,
                          .lens_add = 1,
                          .lens_offset = c->lens != 0,
                          .has_sink = c->sink,
                          .nan_to_zero = c->nan_to_zero,
                          .splits = OX_MAX(c->splits, 1)};
  p->split_keys = OX_ROUND_UP(OX_CEIL_DIV(c->kv_len, p->splits), ATT_KEYS);
  lay_out(flat, c->heads, c->q_len, c->d, &p->q_batch, &p->q_head, &p->q_row);
  lay_out(flat, c->kv_heads, c->kv_len, c->d, &p->k_batch, &p->k_head, &p->k_row);
  lay_out(flat, c->kv_heads, c->kv_len, c->dv, &p->v_batch, &p->v_head, &p->v_row);
  lay_out(flat, c->heads, c->q_len, c->dv, &p->o_batch, &p->o_head, &p->o_row);
  p->q_wide = p->k_wide = c->d % 4 == 0, p->v_wide = p->o_wide = c->dv % 4 == 0;
  x->q = numbers_make(c->batch * p->q_batch, half, 1), x->k = numbers_make(c->batch * p->k_batch, half, 2);
  x->v = numbers_make(c->batch * p->v_batch, half, 3), x->out = numbers_make(c->batch * p->o_batch, half, 4);
  x->sink = numbers_make(c->heads, half, 5);
  x->real = numbers_make(c->batch * c->q_len * c->kv_len, half ^ (c->mask == MASK_OTHER), 6);
  for (size_t i = 0; i < OX_COUNT(x->bools); i++) x->bools[i] = i % 3 != 1;
  for (int i = 0; i < (int)OX_COUNT(x->ints); i++) x->ints[i] = i % 5 - 1;
  for (int i = 0; i < 2 * c->batch && c->mask >= MASK_ENDS; i++) x->ints[i] = i < c->batch ? 40 + 9 * i : 11 * i;
  for (int i = 0; i < 8; i++) x->long_lens[i] = x->lens[i] = OX_MAX(c->kv_len - 1 - 31 * i, 0);
  if (c->special != 0) number_set(&x->k, 0, c->special);
  fill_bias(c, x, half);
}

static void run(const attention_case *c, problem *x, int how, int half) {
  attention_params *p = &x->p;
  int rows = p->per * c->q_len, tiles = how == FEW ? 1 : OX_CEIL_DIV(rows, ATT_ROWS),
      groups = tiles * c->batch * c->kv_heads;
  size_t n = (size_t)(p->splits * c->batch * c->heads * c->q_len * (c->dv + 2));
  float *partial = malloc(n * sizeof *partial);
  kernel_fn *fn = c->dv <= 64    ? half ? attention64_f16 : attention64_f32
                  : c->dv <= 128 ? half ? attention128_f16 : attention128_f32
                  : half         ? attention256_f16
                                 : attention256_f32;
  if (how == FEW) fn = half ? attention_few_f16 : attention_few_f32;
  void *mask = c->mask == MASK_NONE    ? NULL
               : c->mask <= MASK_OTHER ? x->real.data
               : c->mask <= MASK_SHORT ? (void *)x->bools
                                       : (void *)x->ints;
  void *lens = c->lens == ATT_LENS_I64 ? (void *)x->long_lens : (void *)x->lens;
  void *buffers[] = {x->q.data,
                     x->k.data,
                     x->v.data,
                     p->splits > 1 ? partial : x->out.data,
                     c->softcap != 0 ? mask : NULL,
                     c->softcap != 0 ? NULL : mask,
                     lens,
                     x->sink.data};
  for (int split = p->splits - 1; split >= 0; split--)
    for (int i = groups - 1; i >= 0; i--)
      fn((char *const *)buffers, p, (const int[6]){i, split, 0, groups, p->splits, 1});
  if (p->splits > 1)
    run_groups(half ? attention_combine_f16 : attention_combine_f32,
               OX_CEIL_DIV(c->batch * c->heads * c->q_len * c->dv, 256), (void *[]){partial, x->out.data}, p);
  free(partial);
}

static void check(const attention_case *c, int how, int half, int flat) {
  problem x;
  double wanted[ATT_WIDEST];
  make(c, half, flat, &x);
  if (half && fabsf(c->special) > 1000 && isfinite(c->special)) number_set(&x.k, 0, 1000);
  run(c, &x, how, half);
  for (int row = 0; row < c->batch * c->heads * c->q_len; row++) {
    int s = row % c->q_len, h = row / c->q_len % c->heads, b = row / c->q_len / c->heads;
    double size = row_of(c, &x, b, h, s, wanted);
    for (int i = 0; i < c->dv; i++) {
      double got = (double)number_at(&x.out, b * x.p.o_batch + h * x.p.o_head + s * x.p.o_row + i);
      double tolerance = half ? size / 1000 : size * 4e-6;
      if (isnan(wanted[i]) ? !isnan(got) : !(fabs(got - wanted[i]) <= tolerance))
        fail_msg("%s, how %d, half %d, flat %d: batch %d, head %d, row %d, %d is %g, wanted %g", c->name, how, half,
                 flat, b, h, s, i, got, wanted[i]);
    }
  }
  free(x.q.data), free(x.k.data), free(x.v.data), free(x.out.data), free(x.sink.data), free(x.real.data);
}

static void test_attention(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(cases); i++)
    for (int form = 0; form < 4; form++) {
      const attention_case *c = &cases[i];
      bool few =
          c->heads / c->kv_heads * c->q_len <= ATT_FEW && OX_CEIL_DIV(c->kv_len, OX_MAX(c->splits, 1)) <= ATT_RANGE;
      check(c, TILE, form & 1, form >> 1);
      if (few) check(c, FEW, form & 1, form >> 1);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_attention)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
