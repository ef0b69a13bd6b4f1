/* SPDX-License-Identifier: Apache-2.0
 * kern/attention_test.c - every variant against softmax(qk)v in doubles: shapes around the tiles, masks that leave
 * nothing, windows, grouped heads, half types, all qk outputs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/dtype.h"
#include "kern/attention/attention.h"
#include "support/check.h"

typedef struct shape {
  const char *name;
  int64_t batch, heads, kv_heads, q_len, kv_len, d, dv;
} shape;

static const shape shapes[] = {
    {"one", 1, 1, 1, 1, 1, 1, 1},
    {"decode", 2, 3, 3, 1, 37, 64, 64},
    {"grouped decode", 1, 8, 2, 1, 300, 80, 48},
    {"few", 1, 6, 2, 2, 129, 17, 33},
    {"nine rows", 1, 1, 1, 9, 128, 8, 8},
    {"tile-1", 1, 1, 1, 31, 31, 64, 64},
    {"tile", 1, 2, 2, 32, 32, 64, 64},
    {"tile+1", 1, 1, 1, 33, 129, 64, 65},
    {"half", 1, 1, 1, 16, 257, 5, 3},
    {"primes", 3, 4, 2, 13, 41, 23, 19},
    {"long", 1, 2, 1, 17, 400, 32, 32},
    {"groups share", 3, 8, 8, 150, 131, 2, 3},
    {"no keys", 1, 2, 2, 3, 0, 4, 4},
    {"no rows", 1, 2, 2, 0, 5, 4, 4},
};

typedef struct options {
  bool causal, window, lens, bias, keep, short_bias, cap, sink;
  uint32_t dtype;
  ox_attn_qk qk;
  int shared;   /* rows of the bias: 0 each its own, 1 one for all, 2 one that also forbids */
  bool windows; /* what is kept is numbers, in turn for every other batch item */
} options;

static uint32_t seed = 7;
static double rnd(void) { return seed = seed * 1664525u + 1013904223u, (double)(seed >> 8) / (1 << 23) - 1; }

static size_t item(uint32_t dtype) { return dtype == OX_F64 ? 8 : dtype == OX_F32 ? 4 : dtype == OX_BOOL ? 1 : 2; }

static void put(uint32_t dtype, void *p, int64_t i, double x) {
  if (dtype == OX_F64)
    ((double *)p)[i] = x;
  else if (dtype == OX_F32)
    ((float *)p)[i] = (float)x;
  else if (dtype == OX_F16)
    ((uint16_t *)p)[i] = ox_f16_from_f32((float)x);
  else if (dtype == OX_BF16)
    ((uint16_t *)p)[i] = ox_bf16_from_f32((float)x);
  else
    ((uint8_t *)p)[i] = x > -0.2;
}

static double get(uint32_t dtype, const void *p, int64_t i) {
  if (dtype == OX_F64) return ((const double *)p)[i];
  if (dtype == OX_F32) return ((const float *)p)[i];
  if (dtype == OX_F16) return ox_f16_to_f32(((const uint16_t *)p)[i]);
  if (dtype == OX_BF16) return ox_bf16_to_f32(((const uint16_t *)p)[i]);
  return ((const uint8_t *)p)[i] ? 0 : -INFINITY;
}

/* [batch, rows, heads, width]: the layout of 3-D inputs, so that strides matter */
static ox_attn_mat matrix(uint32_t dtype, int64_t b, int64_t heads, int64_t rows, int64_t width) {
  int64_t n = b * heads * rows * width;
  void *p = malloc((size_t)n * item(dtype) + 64);
  for (int64_t i = 0; i < n; i++) put(dtype, p, i, rnd());
  return (ox_attn_mat){p, dtype, rows * heads * width, width, heads * width};
}

static double naive_score(const ox_attn *a, int64_t b, int64_t h, int64_t s, int64_t t, bool allowed, double *qk) {
  double x = 0, bias = allowed ? 0 : -INFINITY;
  int64_t hk = h / (a->heads / a->kv_heads);
  for (int64_t i = 0; i < a->d; i++)
    x += get(a->q.dtype, a->q.p, b * a->q.batch + h * a->q.head + s * a->q.row + i) *
         get(a->k.dtype, a->k.p, b * a->k.batch + hk * a->k.head + t * a->k.row + i);
  x *= a->scale;
  if (a->qk_mode == OX_ATTN_QK_RAW) *qk = x;
  if (a->softcap > 0) x = tanh(x / a->softcap) * a->softcap;
  if (a->qk_mode == OX_ATTN_QK_CAPPED) *qk = x;
  for (int k = 0; k < 2; k++) {
    const ox_attn_bias *m = &a->bias[k];
    if (m->p)
      bias += t >= m->n ? -INFINITY
                        : get(m->dtype, m->p,
                              (m->period ? b % m->period : b) * m->batch + h * m->head + s * m->row + t * m->key);
  }
  x = bias == -INFINITY ? bias : x + bias;
  if (a->qk_mode == OX_ATTN_QK_BIASED) *qk = x == -INFINITY ? (double)a->qk_forbidden : x;
  return x;
}

static void naive_row(const ox_attn *a, int64_t b, int64_t h, int64_t s, double *out, double *qk) {
  double *x = calloc((size_t)a->kv_len + 1, sizeof *x), most = a->sink ? a->sink[h] : -INFINITY, sum = 0;
  int64_t at = s + (a->offsets ? a->offsets[b] : a->offset);
  for (int64_t t = 0; t < a->kv_len; t++) {
    bool ok = (a->left < 0 || t >= at - a->left) && (a->right < 0 || t <= at + a->right) &&
              (!a->kv_lens || t < a->kv_lens[b]);
    x[t] = naive_score(a, b, h, s, t, ok, &qk[t]);
    most = fmax(most, x[t]);
  }
  if (a->sink) sum = exp(a->sink[h] - most);
  for (int64_t t = 0; t < a->kv_len; t++) sum += x[t] = x[t] == -INFINITY ? 0 : exp(x[t] - most);
  for (int64_t i = 0; i < a->dv; i++) out[i] = 0;
  for (int64_t t = 0; t < a->kv_len; t++) {
    x[t] = sum > 0 ? x[t] / sum : 0;
    if (a->qk_mode == OX_ATTN_QK_SOFTMAX) qk[t] = x[t];
    int64_t hk = h / (a->heads / a->kv_heads);
    for (int64_t i = 0; i < a->dv; i++)
      out[i] += x[t] * get(a->v.dtype, a->v.p, b * a->v.batch + hk * a->v.head + t * a->v.row + i);
  }
  free(x);
}

static void compare(const ox_attn *a, const char *variant, const char *name, const options *o) {
  double *out = calloc((size_t)a->dv + 1, sizeof *out), *qk = calloc((size_t)a->kv_len + 1, sizeof *qk);
  double tol = o->dtype == OX_F64 ? 1e-6 : o->dtype == OX_F32 ? 2e-5 : o->dtype == OX_F16 ? 3e-3 : 2e-2;
  for (int64_t b = 0; b < a->batch; b++)
    for (int64_t h = 0; h < a->heads; h++)
      for (int64_t s = 0; s < a->q_len; s++) {
        naive_row(a, b, h, s, out, qk);
        for (int64_t i = 0; i < a->dv; i++) {
          double got = get(a->out.dtype, a->out.p, b * a->out.batch + h * a->out.head + s * a->out.row + i);
          if (!(fabs(got - out[i]) <= tol))
            fail_msg("%s, %s: b %d h %d s %d i %d: got %g, wanted %g (causal %d window %d lens %d bias %d keep %d)",
                     variant, name, (int)b, (int)h, (int)s, (int)i, got, out[i], o->causal, o->window, o->lens, o->bias,
                     o->keep);
        }
        for (int64_t t = 0; a->qk_mode != OX_ATTN_QK_NONE && t < a->kv_len; t++) {
          double got = get(o->dtype, a->qk, ((b * a->heads + h) * a->q_len + s) * a->kv_len + t);
          if (!(got == qk[t] || fabs(got - qk[t]) <= 4 * tol))
            fail_msg("%s, %s: qk %d of row %d: got %g, wanted %g", variant, name, (int)t, (int)s, got, qk[t]);
        }
      }
  free(out), free(qk);
}

static void one(const ox_attn_variant *v, const shape *p, const options *o) {
  ox_attn a = {.batch = p->batch,
               .heads = p->heads,
               .kv_heads = p->kv_heads,
               .q_len = p->q_len,
               .kv_len = p->kv_len,
               .d = p->d,
               .dv = p->dv,
               .scale = 0.7f,
               .softcap = o->cap ? 1.5f : 0,
               .left = o->window ? 3 : -1,
               .right = o->causal   ? 0
                        : o->window ? 2
                                    : -1,
               .offset = p->kv_len - p->q_len,
               .qk_forbidden = -7,
               .qk_mode = o->qk};
  a.q = matrix(o->dtype, p->batch, p->heads, p->q_len, p->d);
  a.k = matrix(o->dtype, p->batch, p->kv_heads, p->kv_len, p->d);
  a.v = matrix(o->dtype, p->batch, p->kv_heads, p->kv_len, p->dv);
  a.out = matrix(o->dtype, p->batch, p->heads, p->q_len, p->dv);
  int32_t lens[3] = {(int32_t)p->kv_len, (int32_t)p->kv_len / 2, 0}, offsets[3] = {0, 5, -2};
  float sink[8] = {0, 1, -1, 0.5f, 3, -30, 0, 0};
  if (o->lens) a.kv_lens = lens, a.offsets = offsets;
  if (o->sink) a.sink = sink;
  int64_t n = o->short_bias ? p->kv_len / 3 : p->kv_len;
  uint32_t kept = o->windows ? o->dtype : OX_BOOL;
  ox_attn_mat m0 = matrix(kept, OX_MAX(p->batch, 2), 1, p->q_len, n),
              m1 = matrix(o->dtype, 1, p->heads, p->q_len, p->kv_len);
  if (o->keep) a.bias[0] = (ox_attn_bias){m0.p, kept, m0.batch, 0, m0.row, 1, n, o->windows ? 2 : 0};
  if (o->bias) a.bias[1] = (ox_attn_bias){m1.p, o->dtype, 0, m1.head, m1.row, 1, p->kv_len, 0};
  if (o->shared) a.bias[1].head = a.bias[1].row = 0;
  for (int64_t t = 0; o->shared == 2 && p->q_len && t < p->kv_len; t += 3) put(o->dtype, m1.p, t, -INFINITY);
  a.qk = malloc((size_t)(p->batch * p->heads * p->q_len * p->kv_len) * item(o->dtype) + 64);
  size_t bytes = ox_attn_scratch(&a, v);
  char *scratch = malloc(bytes + 64);
  for (int64_t t = 0; t < ox_attn_tiles(&a, v); t++) {
    memset(scratch, 0xff, bytes + 64);
    v->run(&a, t, scratch);
    for (int i = 0; i < 64; i++) assert_int_equal((unsigned char)scratch[bytes + i], 0xff);
  }
  compare(&a, v->name, p->name, o);
  free(a.q.p), free(a.k.p), free(a.v.p), free(a.out.p), free(m0.p), free(m1.p), free(a.qk), free(scratch);
}

static void all_shapes(const ox_attn_variant *v, const uint32_t *dtypes, size_t n_dtypes) {
  for (size_t i = 0; i < OX_COUNT(shapes); i++)
    for (uint32_t bits = 0; bits < 256; bits++) {
      if (shapes[i].q_len * shapes[i].kv_len > 2000 && bits % 3) continue;
      options o = {bits & 1,
                   bits >> 1 & 1,
                   bits >> 2 & 1,
                   bits >> 3 & 1,
                   bits >> 4 & 1,
                   bits >> 5 & 1,
                   bits >> 6 & 1,
                   bits >> 7 & 1,
                   dtypes[(bits ^ i) % n_dtypes],
                   (ox_attn_qk)((int)(bits % 6) - 1),
                   (int)((bits >> 4 ^ bits ^ i) % 3),
                   (bits >> 2 ^ bits >> 6) & 1};
      if (o.qk > OX_ATTN_QK_SOFTMAX) o.qk = OX_ATTN_QK_NONE;
      one(v, &shapes[i], &o);
    }
}

/* Scores so large that their multiples round by more than an exponent can hold: the largest takes all. */
static void huge_scores(const ox_attn_variant *v, int64_t rows) {
  enum { KEYS = 9, MOST = 40 };
  float q[MOST], k[KEYS], values[KEYS], out[MOST];
  for (int i = 0; i < MOST; i++) q[i] = 1e9f * (float)(i + 1);
  for (int i = 0; i < KEYS; i++) k[i] = (float)(i * 4 % KEYS) + 3, values[i] = (float)i;
  ox_attn a = {.batch = 1, .heads = 1, .kv_heads = 1, .q_len = rows, .kv_len = KEYS, .d = 1, .dv = 1, .scale = 0.7f};
  a.q = (ox_attn_mat){.p = q, .dtype = OX_F32, .batch = rows, .head = rows, .row = 1};
  a.k = (ox_attn_mat){.p = k, .dtype = OX_F32, .batch = KEYS, .head = KEYS, .row = 1};
  a.v = (ox_attn_mat){.p = values, .dtype = OX_F32, .batch = KEYS, .head = KEYS, .row = 1};
  a.out = (ox_attn_mat){.p = out, .dtype = OX_F32, .batch = rows, .head = rows, .row = 1};
  a.left = a.right = -1, a.qk_mode = OX_ATTN_QK_NONE;
  char *scratch = malloc(ox_attn_scratch(&a, v) + 64);
  for (int64_t t = 0; t < ox_attn_tiles(&a, v); t++) v->run(&a, t, scratch);
  for (int64_t i = 0; i < rows; i++) assert_true(out[i] == 2); /* 2 * 4 is the largest residue */
  free(scratch);
}

/* A row with a score of NaN or inf is NaN, or zeros if asked; its neighbours are not touched. */
static void not_numbers(const ox_attn_variant *v, uint32_t dtype, int64_t rows, bool to_zero) {
  enum { KEYS = 300, MOST = 40, WIDTH = 3 };
  const double odd[] = {NAN, INFINITY, -INFINITY};
  ox_attn a = {.batch = 1, .heads = 1, .kv_heads = 1, .q_len = rows, .kv_len = KEYS, .d = 1, .dv = WIDTH};
  a.scale = 1, a.left = a.right = -1, a.qk_mode = OX_ATTN_QK_NONE, a.nan_to_zero = to_zero;
  a.q = matrix(dtype, 1, 1, rows, 1), a.k = matrix(dtype, 1, 1, KEYS, 1);
  a.v = matrix(dtype, 1, 1, KEYS, WIDTH), a.out = matrix(dtype, 1, 1, rows, WIDTH);
  ox_attn_mat bias = matrix(dtype, 1, 1, MOST, KEYS);
  a.bias[0] = (ox_attn_bias){bias.p, dtype, 0, 0, KEYS, 1, KEYS, 0};
  for (int64_t s = 0; s < rows; s += 2) put(dtype, bias.p, s * KEYS + s * 37 % KEYS, odd[s / 2 % 3]);
  char *scratch = malloc(ox_attn_scratch(&a, v) + 64);
  for (int64_t t = 0; t < ox_attn_tiles(&a, v); t++) v->run(&a, t, scratch);
  for (int64_t i = 0; i < rows * WIDTH; i++) {
    double x = get(dtype, a.out.p, i);
    if (i / WIDTH % 2 || isinf(odd[i / WIDTH / 2 % 3]) < 0)
      assert_true(fabs(x) < 1 && x != 0);
    else
      assert_true(to_zero ? x == 0 : isnan(x));
  }
  free(a.q.p), free(a.k.p), free(a.v.p), free(a.out.p), free(bias.p), free(scratch);
}

static void all_not_numbers(const ox_attn_variant *v, uint32_t dtype) {
  for (int64_t rows = 1; rows <= 40; rows++) not_numbers(v, dtype, rows, true), not_numbers(v, dtype, rows, false);
}

static void check(void **state) {
  const ox_attn_variant *v = *state;
  if (v->needs & ~ox_isa_host()) skip();
  huge_scores(v, 1), huge_scores(v, 40);
  all_not_numbers(v, OX_F32), all_not_numbers(v, OX_F16);
  all_shapes(v, (const uint32_t[]){OX_F32, OX_F32, OX_F16, OX_BF16}, 4);
}

static void check_f64(void **state) {
  (void)state;
  all_shapes(ox_attn_select(OX_F64, 0), (const uint32_t[]){OX_F64}, 1);
  all_not_numbers(ox_attn_select(OX_F64, 0), OX_F64);
}

int main(void) {
  static ox_attn_variant variants[] = {
#define OX_ATTN(needs, lanes, symbol) {needs, lanes, #symbol, symbol},
#include "kern/attention/attention_variants.inc"
#undef OX_ATTN
  };
  struct CMUnitTest tests[OX_COUNT(variants) + 1];
  for (size_t i = 0; i < OX_COUNT(variants); i++)
    tests[i] = (struct CMUnitTest){variants[i].name, check, NULL, NULL, &variants[i]};
  tests[OX_COUNT(variants)] = (struct CMUnitTest)cmocka_unit_test(check_f64);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
