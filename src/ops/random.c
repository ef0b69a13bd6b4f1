/* SPDX-License-Identifier: Apache-2.0
 * ops/random.c - RandomUniform, RandomNormal, their Like forms, Bernoulli, Multinomial. With a seed, every run gives
 * the same numbers; without one, every run gives different ones: stage 0 draws the run's key. */
#include "kern/quant/convert.h"
#include "ops/shared/random.h"
#include "ops/shared/tiles.h"

typedef struct {
  int64_t dtype, sample_size;
  float seed, low, high, mean, scale;
  ox_ints shape;
  bool has_dtype, has_seed;
} random_attrs;

#define SEED OX_ATTR_FLOAT_HAS(random_attrs, seed, 0)
#define DTYPE(d) OX_ATTR_INT_HAS(random_attrs, dtype, d)
#define UNIFORM OX_ATTR_FLOAT(random_attrs, low, 0), OX_ATTR_FLOAT(random_attrs, high, 1)
#define NORMAL OX_ATTR_FLOAT(random_attrs, mean, 0), OX_ATTR_FLOAT(random_attrs, scale, 1)
static const ox_attr_def uniform_table[] = {SEED, DTYPE(OX_F32), UNIFORM,
                                            OX_ATTR_INTS_REQUIRED_IN(random_attrs, shape, 0, INT64_MAX)};
static const ox_attr_def normal_table[] = {SEED, DTYPE(OX_F32), NORMAL,
                                           OX_ATTR_INTS_REQUIRED_IN(random_attrs, shape, 0, INT64_MAX)};
static const ox_attr_def uniform_like_table[] = {SEED, DTYPE(0), UNIFORM};
static const ox_attr_def normal_like_table[] = {SEED, DTYPE(0), NORMAL};
static const ox_attr_def bernoulli_table[] = {SEED, DTYPE(0)};
static const ox_attr_def multinomial_table[] = {SEED, DTYPE(OX_I32),
                                                OX_ATTR_INT_IN(random_attrs, sample_size, 1, 1, OX_COUNT_MAX)};

static ox_status *check_dtype(int64_t dtype, uint32_t allowed) {
  if (dtype == OX_UNDEFINED || (dtype > 0 && dtype < OX_DTYPE_COUNT && (OX_BIT(dtype) & allowed))) return NULL;
  return ox_fail(OX_INVALID_MODEL, "attribute 'dtype': %lld is no type for this operator", (long long)dtype);
}

static ox_status *infer_shape(ox_infer_ctx *c) {
  const random_attrs *a = c->attrs;
  OX_TRY(check_dtype(a->dtype, OX_T_FLOAT));
  if (a->shape.n > OX_MAX_RANK) return ox_fail(OX_INVALID_MODEL, "attribute 'shape' has %zu dimensions", a->shape.n);
  ox_shape s = ox_shape_of((int)a->shape.n, a->shape.v);
  if (ox_shape_count(&s) < 0) return ox_fail(OX_LIMIT, "attribute 'shape' has too many elements");
  ox_infer_out(c, 0, (uint32_t)a->dtype, &s);
  return NULL;
}

static ox_status *infer_like_of(ox_infer_ctx *c, uint32_t allowed) {
  const random_attrs *a = c->attrs;
  uint32_t to = a->has_dtype ? (uint32_t)a->dtype : c->in[0]->dtype;
  if (a->has_dtype && a->dtype <= 0) return check_dtype(-1, allowed);
  OX_TRY(check_dtype((int64_t)to, allowed));
  ox_infer_out(c, 0, to, &c->in[0]->shape);
  return NULL;
}
static ox_status *infer_like(ox_infer_ctx *c) { return infer_like_of(c, OX_T_FLOAT); }
static ox_status *infer_bernoulli(ox_infer_ctx *c) { return infer_like_of(c, OX_T_NUMBER | OX_BIT(OX_BOOL)); }

static ox_status *infer_multinomial(ox_infer_ctx *c) {
  const random_attrs *a = c->attrs;
  const ox_shape *x = &c->in[0]->shape;
  OX_TRY(check_dtype(a->dtype, OX_T_INDEX));
  if (x->rank >= 0 && x->rank != 2) return ox_fail(OX_INVALID_MODEL, "wanted 2 dimensions, got %d", (int)x->rank);
  if (x->rank == 2 && x->dim[1] == 0 && x->dim[0] != 0) return ox_fail(OX_SHAPE_MISMATCH, "no outcomes to draw from");
  ox_shape s = {.rank = 2, .dim = {x->rank == 2 ? x->dim[0] : -1, a->sample_size}};
  ox_infer_out(c, 0, (uint32_t)a->dtype, &s);
  return NULL;
}

static ox_status *plan(ox_kernel_ctx *c, int64_t tiles, size_t scratch) {
  c->n_stages = 2;
  c->n_tiles[0] = 1, c->n_tiles[1] = tiles;
  c->scratch_per_worker = scratch, c->shared_bytes = sizeof(uint64_t);
  return NULL;
}

static ox_status *prepare(ox_kernel_ctx *c) {
  return plan(c, ox_tile_count(ox_shape_count(&c->out[0]->shape), OX_TILE_SLOW), 0);
}

static ox_status *prepare_multinomial(ox_kernel_ctx *c) {
  return plan(c, c->in[0]->shape.dim[0], (size_t)c->in[0]->shape.dim[1] * sizeof(double));
}

/* Stage 0: true when this call only drew the key. */
static bool drew_key(const ox_kernel_ctx *c, uint32_t stage) {
  const random_attrs *a = c->attrs;
  if (stage > 0) return false;
  uint32_t bits;
  __builtin_memcpy(&bits, &a->seed, sizeof bits);
  *(uint64_t *)c->shared = a->has_seed ? bits : ox_ctx_random_key(c);
  return true;
}

typedef enum { DRAW_UNIFORM, DRAW_NORMAL, DRAW_BERNOULLI } draw;

static ox_status *fill(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, draw d) {
  if (drew_key(c, stage)) return NULL;
  const random_attrs *a = c->attrs;
  const ox_convert *cv = ox_convert_select(c->isa);
  uint64_t key = *(const uint64_t *)c->shared;
  double block[OX_CONVERT_BLOCK], p[OX_CONVERT_BLOCK];
  int64_t begin, end;
  ox_tile_span(tiles, OX_TILE_SLOW, ox_shape_count(&c->out[0]->shape), &begin, &end);
  for (int64_t i = begin; i < end; i += OX_CONVERT_BLOCK) {
    size_t n = (size_t)OX_MIN(end - i, OX_CONVERT_BLOCK);
    if (d == DRAW_BERNOULLI) cv->load_f64[c->in[0]->dtype](c->in[0]->data, (size_t)i, n, p);
    for (size_t k = 0; k < n; k++) {
      uint64_t at = (uint64_t)i + k;
      if (d == DRAW_UNIFORM)
        block[k] = (double)a->low + ((double)a->high - (double)a->low) * ox_random_uniform(key, at);
      else if (d == DRAW_NORMAL)
        block[k] = (double)a->mean + (double)a->scale * ox_random_normal(key, at);
      else
        block[k] = ox_random_uniform(key, at) < p[k];
    }
    cv->store_f64[c->out[0]->dtype](block, c->out[0]->data, (size_t)i, n, NULL);
  }
  return NULL;
}

static ox_status *run_uniform(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)scratch;
  return fill(c, stage, tiles, DRAW_UNIFORM);
}
static ox_status *run_normal(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)scratch;
  return fill(c, stage, tiles, DRAW_NORMAL);
}
static ox_status *run_bernoulli(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)scratch;
  return fill(c, stage, tiles, DRAW_BERNOULLI);
}

/* Per batch row: running sums of the probabilities, then a search for each draw. */
static ox_status *run_multinomial(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  if (drew_key(c, stage)) return NULL;
  const ox_convert *cv = ox_convert_select(c->isa);
  uint64_t key = *(const uint64_t *)c->shared;
  int64_t classes = c->in[0]->shape.dim[1], draws = c->out[0]->shape.dim[1];
  double *sum = scratch;
  for (int64_t b = tiles.begin; b < tiles.end; b++) {
    cv->load_f64[c->in[0]->dtype](c->in[0]->data, (size_t)(b * classes), (size_t)classes, sum);
    double high = sum[0], total = 0;
    for (int64_t k = 1; k < classes; k++) high = OX_MAX(high, sum[k]);
    for (int64_t k = 0; k < classes; k++) sum[k] = total += exp(sum[k] - high);
    for (int64_t i = 0; i < draws; i++) {
      double u = ox_random_uniform(key, (uint64_t)(b * draws + i)) * total;
      int64_t lo = 0, hi = classes - 1;
      while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (sum[mid] > u)
          hi = mid;
        else
          lo = mid + 1;
      }
      cv->store_i64[c->out[0]->dtype](&lo, c->out[0]->data, (size_t)(b * draws + i), 1, NULL);
    }
  }
  return NULL;
}

#define ROW(op, ver, mask, n_inputs, table, infer_fn, prepare_fn, run_fn)                                              \
  {                                                                                                                    \
    OX_SCHEMA(.name = op, .since = ver, .types = {mask}, .min_in = n_inputs, .max_in = n_inputs,                       \
              .attrs_bytes = sizeof(random_attrs), OX_ATTRS(table), .traits = OX_NONDETERMINISTIC, .infer = infer_fn), \
        OX_KERNEL(.prepare = prepare_fn, .run = run_fn)                                                                \
  }

static const ox_op ops[] = {
    ROW("Bernoulli", 15, OX_T_FLOAT, 1, bernoulli_table, infer_bernoulli, prepare, run_bernoulli),
    ROW("Multinomial", 7, OX_T_FLOAT, 1, multinomial_table, infer_multinomial, prepare_multinomial, run_multinomial),
    ROW("RandomNormal", 1, 0, 0, normal_table, infer_shape, prepare, run_normal),
    ROW("RandomNormalLike", 1, OX_T_ALL, 1, normal_like_table, infer_like, prepare, run_normal),
    ROW("RandomUniform", 1, 0, 0, uniform_table, infer_shape, prepare, run_uniform),
    ROW("RandomUniformLike", 1, OX_T_ALL, 1, uniform_like_table, infer_like, prepare, run_uniform),
};
const ox_op_set ox_ops_random = {ops, OX_COUNT(ops)};
