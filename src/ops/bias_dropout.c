/* SPDX-License-Identifier: Apache-2.0
 * ops/bias_dropout.c - com.microsoft's forms of Dropout: BiasDropout, drop(data + bias) + residual, and BitmaskDropout
 * and BitmaskBiasDropout, whose mask has a bit for each element, in words of 32. */
#include <string.h>

#include "kern/quant/convert.h"
#include "ops/shared/check.h"
#include "ops/shared/random.h"
#include "ops/shared/tiles.h"

enum { BLOCK = OX_CONVERT_BLOCK, WORD = 32 };

typedef struct {
  int64_t seed;
  bool has_seed;
} drop_attrs;
static const ox_attr_def rows[] = {OX_ATTR_INT_HAS(drop_attrs, seed, 0)};

/* Indices of inputs; 0: none. */
typedef struct {
  const char *op;
  uint8_t bias, residual, ratio, training;
  bool bits;
} form;
static const form forms[] = {
    {"BiasDropout", 1, 2, 3, 4, false}, {"BitmaskBiasDropout", 1, 2, 3, 4, true}, {"BitmaskDropout", 0, 0, 1, 2, true}};

static const form *form_of(const char *op) {
  for (size_t i = 0; i + 1 < OX_COUNT(forms); i++)
    if (strcmp(forms[i].op, op) == 0) return &forms[i];
  return &forms[OX_COUNT(forms) - 1];
}

static ox_status *infer(ox_infer_ctx *c) {
  const form *f = form_of(c->op);
  const ox_shape *x = &c->in[0]->shape;
  int64_t n = ox_shape_count(x);
  if (f->bias && x->rank >= 0) {
    const ox_shape *b = &c->in[f->bias]->shape;
    if (x->rank == 0 || b->rank == 1)
      OX_TRY(ox_infer_shape_is(c, f->bias, 1, (int64_t[]){x->rank ? x->dim[x->rank - 1] : 1}));
    else
      OX_TRY(ox_infer_shape_is(c, f->bias, x->rank, x->dim));
    OX_TRY(ox_infer_shape_is(c, f->residual, x->rank, x->dim));
  }
  for (uint32_t i = f->ratio; i <= f->training; i++)
    if (ox_infer_has(c, i) && ox_shape_count(&c->in[i]->shape) > 1)
      return ox_fail(OX_SHAPE_MISMATCH, "%s: %s must be a scalar", c->op, i == f->ratio ? "ratio" : "training_mode");
  ox_shape words = ox_shape_of(1, (int64_t[]){n < 0 ? -1 : OX_CEIL_DIV(n, WORD)});
  ox_infer_out(c, 1, f->bits ? OX_U32 : OX_BOOL, f->bits ? &words : x);
  return ox_infer_same_as_input(c);
}

static ox_status *load(ox_load_ctx *c) {
  c->state = (void *)form_of(c->op);
  return NULL;
}

static ox_status *prepare(ox_kernel_ctx *c) {
  const form *f = c->state;
  for (uint32_t i = f->ratio; i <= f->training; i++)
    if (ox_ctx_has(c, i) && ox_shape_count(&c->in[i]->shape) != 1)
      return ox_fail(OX_SHAPE_MISMATCH, "%s must be a scalar", i == f->ratio ? "ratio" : "training_mode");
  c->n_stages = 2;
  c->n_tiles[0] = 1, c->n_tiles[1] = ox_tile_count(ox_shape_count(&c->in[0]->shape), OX_TILE_MATH);
  c->shared_bytes = sizeof(uint64_t);
  return NULL;
}

/* 0 unless training */
static double ratio_now(const ox_kernel_ctx *c, const form *f) {
  double ratio = 0.5;
  if (!ox_ctx_has(c, f->training) || !*(const uint8_t *)c->in[f->training]->data) return 0;
  if (ox_ctx_has(c, f->ratio))
    ox_convert_select(c->isa)->load_f64[c->in[f->ratio]->dtype](c->in[f->ratio]->data, 0, 1, &ratio);
  return ratio;
}

/* x += elements [at, at + n) of input |i|, which is a row that repeats if it is shorter. */
static void add(const ox_kernel_ctx *c, uint32_t i, int64_t at, int64_t n, double *x) {
  double y[BLOCK];
  const ox_tensor *t = c->in[i];
  int64_t length = ox_shape_count(&t->shape);
  for (int64_t done = 0; done < n;) {
    int64_t from = (at + done) % length, m = OX_MIN(n - done, length - from);
    ox_convert_select(c->isa)->load_f64[t->dtype](t->data, (size_t)from, (size_t)m, y);
    for (int64_t k = 0; k < m; k++) x[done + k] += y[k];
    done += m;
  }
}

static void put_mask(const ox_kernel_ctx *c, const form *f, int64_t at, int64_t n, const uint8_t *keep) {
  if (!ox_ctx_wants(c, 1)) return;
  if (!f->bits) {
    memcpy((uint8_t *)c->out[1]->data + at, keep, (size_t)n);
    return;
  }
  uint32_t *words = (uint32_t *)c->out[1]->data + at / WORD;
  for (int64_t i = 0; i < n; i++) {
    if (i % WORD == 0) words[i / WORD] = 0;
    words[i / WORD] |= (uint32_t)keep[i] << i % WORD;
  }
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)scratch;
  const form *f = c->state;
  const drop_attrs *a = c->attrs;
  const ox_convert *cv = ox_convert_select(c->isa);
  if (stage == 0) {
    *(uint64_t *)c->shared = a->has_seed ? (uint64_t)a->seed : ox_ctx_random_key(c);
    return NULL;
  }
  uint64_t key = *(const uint64_t *)c->shared;
  double ratio = ratio_now(c, f), x[BLOCK];
  uint8_t keep[BLOCK];
  int64_t begin, end;
  ox_tile_span(tiles, OX_TILE_MATH, ox_shape_count(&c->in[0]->shape), &begin, &end);
  for (int64_t at = begin; at < end; at += BLOCK) {
    int64_t n = OX_MIN(end - at, BLOCK);
    cv->load_f64[c->in[0]->dtype](c->in[0]->data, (size_t)at, (size_t)n, x);
    if (f->bias) add(c, f->bias, at, n, x);
    for (int64_t i = 0; i < n; i++) {
      keep[i] = ratio == 0 || ox_random_uniform(key, (uint64_t)(at + i)) >= ratio;
      x[i] = keep[i] ? x[i] / (1 - ratio) : 0;
    }
    if (f->residual && ox_ctx_has(c, f->residual)) add(c, f->residual, at, n, x);
    if (ox_ctx_wants(c, 0)) cv->store_f64[c->out[0]->dtype](x, c->out[0]->data, (size_t)at, (size_t)n, NULL);
    put_mask(c, f, at, n, keep);
  }
  return NULL;
}

#define ROW(op, letters, least, most, ...)                                                                \
  {                                                                                                       \
    OX_SCHEMA(.name = op, .domain = "com.microsoft", .since = 1, .types = {__VA_ARGS__}, .vars = letters, \
              .min_in = least, .max_in = most, .min_out = 1, .max_out = 2, OX_ATTRS(rows),                \
              .attrs_bytes = sizeof(drop_attrs), .traits = OX_NONDETERMINISTIC, .infer = infer),          \
        OX_KERNEL(.load = load, .prepare = prepare, .run = run)                                           \
  }
#define F OX_T_FLOAT
static const ox_op ops[] = {
    ROW("BiasDropout", "TTT", 2, 5, F, F, F, F, OX_BIT(OX_BOOL)),
    ROW("BitmaskBiasDropout", "TTT", 2, 5, F, F, F, F, OX_BIT(OX_BOOL)),
    ROW("BitmaskDropout", "T", 1, 3, F, F, OX_BIT(OX_BOOL)),
};
const ox_op_set ox_ops_bias_dropout = {ops, OX_COUNT(ops)};
