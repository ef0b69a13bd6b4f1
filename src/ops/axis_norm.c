/* SPDX-License-Identifier: Apache-2.0
 * ops/axis_norm.c - LpNormalization and MeanVarianceNormalization: reduce (fold) some axes to a norm or to moments,
 * then scale the elements of each fold by these. */
#include <float.h>
#include <math.h>

#include "kern/binary/binary.h"
#include "kern/norm/mean.h"
#include "kern/norm/norm.h"
#include "kern/quant/convert.h"
#include "kern/reduce/fold.h"
#include "ops/shared/tiles.h"

typedef struct {
  int64_t axis, p;
  ox_ints axes;
} axis_attrs;

static const ox_attr_def lp_table[] = {OX_ATTR_INT_IN(axis_attrs, axis, -1, OX_AXIS_RANGE),
                                       OX_ATTR_INT_IN(axis_attrs, p, 2, 1, 2)};
static const ox_attr_def mvn_table[] = {OX_ATTR_INTS_IN(axis_attrs, axes, OX_AXIS_RANGE)};

static ox_status *infer_lp(ox_infer_ctx *c) {
  const axis_attrs *a = c->attrs;
  int k;
  if (c->in[0]->shape.rank >= 0 && !ox_axis_ok(a->axis, c->in[0]->shape.rank, &k))
    return ox_fail(OX_INVALID_MODEL, "axis %lld is outside rank %d", (long long)a->axis, (int)c->in[0]->shape.rank);
  return ox_infer_same_as_input(c);
}

static ox_status *fold_axes(const axis_attrs *a, int rank, bool *fold) {
  static const int64_t usual[] = {0, 2, 3};
  const int64_t *v = a->axes.n ? a->axes.v : usual;
  size_t n = a->axes.n ? a->axes.n : OX_COUNT(usual);
  for (int d = 0; d < OX_MAX_RANK; d++) fold[d] = false;
  for (size_t i = 0; i < n; i++) {
    int k;
    if (!ox_axis_ok(v[i], rank, &k))
      return ox_fail(OX_INVALID_MODEL, "axis %lld is outside rank %d", (long long)v[i], rank);
    fold[k] = true;
  }
  return NULL;
}

static ox_status *infer_mvn(ox_infer_ctx *c) {
  bool fold[OX_MAX_RANK];
  if (c->in[0]->shape.rank >= 0) OX_TRY(fold_axes(c->attrs, c->in[0]->shape.rank, fold));
  return ox_infer_same_as_input(c);
}

/* Folds of a tile, at most. */
enum { BATCH = 64 };
typedef struct {
  ox_fold_plan plan;
  int64_t per_tile;
} norm_prep;

static ox_status *plan(ox_kernel_ctx *c, const bool *fold) {
  enum { WORK = 16384 };
  norm_prep *p = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  ox_fold_plan_init(&p->plan, &c->in[0]->shape, fold);
  p->per_tile = OX_MAX(OX_MIN(WORK / OX_MAX(p->plan.length, 1), BATCH), p->plan.columns ? OX_FOLD_LANES : 1);
  c->prep = p;
  return ox_ctx_plan(c, p->plan.length ? ox_tile_count(p->plan.outputs, p->per_tile) : 0, 0);
}

static ox_status *prepare_lp(ox_kernel_ctx *c) {
  bool fold[OX_MAX_RANK] = {false};
  int k;
  if (ox_axis_ok(((const axis_attrs *)c->attrs)->axis, c->in[0]->shape.rank, &k)) fold[k] = true;
  return plan(c, fold);
}

static ox_status *prepare_mvn(ox_kernel_ctx *c) {
  bool fold[OX_MAX_RANK];
  OX_TRY(fold_axes(c->attrs, c->in[0]->shape.rank, fold));
  return plan(c, fold);
}

static int64_t offset(int64_t i, int n, const int64_t *dim, const int64_t *stride) {
  int64_t off = 0;
  if (n == 1) return i * stride[0]; /* inside that dimension */
  for (int d = 0; d < n; d++) off += i % dim[d] * stride[d], i /= dim[d];
  return off;
}

/* Floats whose folds consist of contiguous runs that are long enough for vectors. */
static bool has_runs(const ox_kernel_ctx *c, const ox_fold_plan *p) {
  return c->in[0]->dtype == OX_F32 && p->n_folded > 0 && p->folded_stride[0] == 1;
}

/* The run of fold |o|, whose first element is at |base|, that begins with its element |r|. */
static int64_t run_at(const ox_fold_plan *p, int64_t base, int64_t r) {
  return p->n_folded == 1 ? base + r : base + offset(r, p->n_folded, p->folded, p->folded_stride);
}

static void rescale_runs(const ox_kernel_ctx *c, const ox_fold_plan *p, int64_t o, double center, double factor) {
  const ox_norm_table *t = ox_norm_select(c->isa);
  int64_t base = offset(o, p->n_kept, p->kept, p->kept_stride), run = p->folded[0];
  for (int64_t r = 0; r < p->length; r += run) {
    int64_t at = run_at(p, base, r);
    t->apply((const float *)c->in[0]->data + at, (float *)c->out[0]->data + at, (size_t)run, center, (float)factor,
             NULL, NULL);
  }
}

/* Mean and variance of fold |o|, as by ox_norm_moments. */
static ox_moments moments_of_runs(const ox_kernel_ctx *c, const ox_fold_plan *p, int64_t o) {
  const ox_norm_table *t = ox_norm_select(c->isa);
  const float *x = (const float *)c->in[0]->data;
  int64_t base = offset(o, p->n_kept, p->kept, p->kept_stride), run = p->folded[0];
  double share = (double)run / (double)p->length, rough = 0, squares = 0, off = 0;
  for (int64_t r = 0; r < p->length; r += run) rough += share * t->mean(x + run_at(p, base, r), (size_t)run);
  for (int64_t r = 0; r < p->length; r += run) {
    double rest;
    squares += share * t->deviation(x + run_at(p, base, r), (size_t)run, (float)rough, &rest);
    off += share * rest;
  }
  double variance = squares - off * off;
  if (off != off) return (ox_moments){rough, off};
  return (ox_moments){(double)(float)rough + off, variance < 0 ? 0 : variance};
}

/* y = (x - mean) * factor over the elements of fold |o|. Runs of the innermost folded dimension are contiguous unless
 * a kept one lies inside; then they have its pitch. */
static void rescale(const ox_kernel_ctx *c, const ox_fold_plan *p, int64_t o, ox_mean mean, double factor) {
  const ox_convert *cv = ox_convert_select(c->isa);
  uint32_t t = c->in[0]->dtype;
  int64_t base = offset(o, p->n_kept, p->kept, p->kept_stride);
  int64_t run = p->n_folded && p->folded_stride[0] == 1 ? p->folded[0] : 1;
  double block[OX_CONVERT_BLOCK];
  for (int64_t r = 0; r < p->length; r += run) {
    int64_t at = base + offset(r, p->n_folded, p->folded, p->folded_stride);
    for (int64_t i = 0; i < run; i += OX_CONVERT_BLOCK) {
      size_t n = (size_t)OX_MIN(run - i, OX_CONVERT_BLOCK);
      cv->load_f64[t](c->in[0]->data, (size_t)(at + i), n, block);
      for (size_t k = 0; k < n; k++) block[k] = ox_mean_deviation(block[k], mean) * factor;
      cv->store_f64[t](block, c->out[0]->data, (size_t)(at + i), n, NULL);
    }
  }
}

/* The sum of deviations from the mean, or of their squares, in a pass of its own. */
static double sum_deviations(const ox_kernel_ctx *c, const ox_fold_plan *p, int64_t o, ox_mean mean, bool squared) {
  const ox_convert *cv = ox_convert_select(c->isa);
  int64_t base = offset(o, p->n_kept, p->kept, p->kept_stride);
  int64_t run = p->n_folded && p->folded_stride[0] == 1 ? p->folded[0] : 1;
  double sum = 0, block[OX_CONVERT_BLOCK];
  for (int64_t r = 0; r < p->length; r += run) {
    int64_t at = base + offset(r, p->n_folded, p->folded, p->folded_stride);
    for (int64_t i = 0; i < run; i += OX_CONVERT_BLOCK) {
      size_t n = (size_t)OX_MIN(run - i, OX_CONVERT_BLOCK);
      cv->load_f64[c->in[0]->dtype](c->in[0]->data, (size_t)(at + i), n, block);
      for (size_t k = 0; k < n; k++) {
        double d = ox_mean_deviation(block[k], mean);
        sum += squared ? d * d : d;
      }
    }
  }
  return sum;
}

/* The standard's body adds 1e-9 to the deviation. */
static void normalize_mvn(const ox_kernel_ctx *c, const ox_fold_plan *p, int64_t o, double sum) {
  double count = (double)p->length;
  if (has_runs(c, p)) {
    ox_moments m = moments_of_runs(c, p, o);
    rescale_runs(c, p, o, m.mean, 1 / (sqrt(m.variance) + 1e-9));
    return;
  }
  ox_mean mean = {sum / count, 0};
  mean.lo = ox_mean_low(sum_deviations(c, p, o, mean, false), count);
  rescale(c, p, o, mean, 1 / (sqrt(sum_deviations(c, p, o, mean, true) / count) + 1e-9));
}

/* Floats where adjacent elements belong to different folds: multiplies those of |n| folds from |o| on, all of one row,
 * by their factors. False: a factor is not representable as a float. */
static bool rescale_columns(const ox_kernel_ctx *c, const ox_fold_plan *p, int64_t o, int64_t n, const double *factor) {
  const ox_norm_table *t = ox_norm_select(c->isa);
  float f[BATCH];
  if (c->in[0]->dtype != OX_F32 || !p->columns || p->n_folded != 1) return false;
  for (int64_t k = 0; k < n; k++) {
    if (!(factor[k] <= (double)FLT_MAX)) return false;
    f[k] = (float)factor[k];
  }
  int64_t at = offset(o, p->n_kept, p->kept, p->kept_stride);
  for (int64_t r = 0; r < p->length; r++, at += p->folded_stride[0])
    t->apply((const float *)c->in[0]->data + at, (float *)c->out[0]->data + at, (size_t)n, 0, 1, f, NULL);
  return true;
}

/* Floats whose folds are contiguous rows. */
static bool rescale_flat(const ox_kernel_ctx *c, const ox_fold_plan *p, int64_t o, int64_t n, const double *factor) {
  ox_binary_fn *mul = ox_binary_select(c->isa)->fn[OX_BIN_MUL][OX_F32];
  if (!has_runs(c, p) || p->n_folded != 1 || p->n_kept > 1) return false;
  const float *x = (const float *)c->in[0]->data + o * p->length;
  float *y = (float *)c->out[0]->data + o * p->length;
  for (int64_t k = 0; k < n; k++, x += p->length, y += p->length) {
    float by = (float)factor[k];
    mul(x, &by, y, (size_t)p->length, OX_BIN_B_SCALAR);
  }
  return true;
}

/* Divides the elements of |n| folds from |o| on by their norms. */
static void normalize_lp(const ox_kernel_ctx *c, const ox_fold_plan *p, int64_t o, int64_t n, const ox_fold_acc *acc,
                         bool squares) {
  double factor[BATCH];
  for (int64_t k = 0; k < n; k++) {
    double norm = squares ? sqrt(acc[k].f) : acc[k].f;
    factor[k] = norm == 0 ? 0 : 1 / norm;
  }
  if (rescale_columns(c, p, o, n, factor) || rescale_flat(c, p, o, n, factor)) return;
  for (int64_t k = 0; k < n; k++)
    if (has_runs(c, p))
      rescale_runs(c, p, o + k, 0, factor[k]);
    else
      rescale(c, p, o + k, (ox_mean){0, 0}, factor[k]);
}

static ox_status *run_batches(const ox_kernel_ctx *c, ox_range tiles, ox_fold f, bool mvn) {
  const norm_prep *prep = c->prep;
  const ox_fold_plan *p = &prep->plan;
  ox_fold_job j = {p, c->in[0]->data, c->in[0]->dtype, c->isa};
  ox_fold_acc acc[BATCH] = {{0}};
  int64_t begin, end;
  ox_tile_span(tiles, prep->per_tile, p->outputs, &begin, &end);
  for (int64_t o = begin, n; o < end; o += n) {
    n = OX_MIN(end - o, BATCH);
    if (p->columns && p->n_kept) n = OX_MIN(n, p->kept[0] - o % p->kept[0]); /* of one row */
    if (!mvn || !has_runs(c, p)) ox_fold_run(&j, f, o, n, 0, p->length, NULL, acc);
    for (int64_t k = 0; k < n && mvn; k++) normalize_mvn(c, p, o + k, acc[k].f);
    if (!mvn) normalize_lp(c, p, o, n, acc, f == OX_FOLD_SQUARE);
  }
  return NULL;
}

static ox_status *run_lp(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  return run_batches(c, tiles, ((const axis_attrs *)c->attrs)->p == 1 ? OX_FOLD_ABS : OX_FOLD_SQUARE, false);
}

static ox_status *run_mvn(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  return run_batches(c, tiles, OX_FOLD_SUM, true);
}

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "LpNormalization", .since = 1, .types = {OX_T_FLOAT}, .min_in = 1, .max_in = 1,
               .attrs_bytes = sizeof(axis_attrs), OX_ATTRS(lp_table), .infer = infer_lp),
     OX_KERNEL(.prepare = prepare_lp, .run = run_lp)},
    {OX_SCHEMA(.name = "MeanVarianceNormalization", .since = 9, .types = {OX_T_FLOAT}, .min_in = 1, .max_in = 1,
               .attrs_bytes = sizeof(axis_attrs), OX_ATTRS(mvn_table), .infer = infer_mvn),
     OX_KERNEL(.prepare = prepare_mvn, .run = run_mvn)},
};
const ox_op_set ox_ops_axis_norm = {ops, OX_COUNT(ops)};
