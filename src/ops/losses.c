/* SPDX-License-Identifier: Apache-2.0
 * ops/losses.c - NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss. Samples are the positions of the target; a tile
 * sums its own in double, a second stage adds the tiles in order. */
#include <math.h>
#include <string.h>

#include "kern/quant/convert.h"
#include "kern/reduce/reduce.h"
#include "ops/shared/tiles.h"

typedef struct {
  int64_t ignore_index;
  const char *reduction;
  bool has_ignore_index;
} loss_attrs;

static const ox_attr_def attrs[] = {
    OX_ATTR_INT_HAS(loss_attrs, ignore_index, 0),
    OX_ATTR_STR(loss_attrs, reduction, "mean"),
};

typedef enum { NONE, SUM, MEAN } reduction;

static ox_status *reduction_of(const loss_attrs *a, reduction *out) {
  if (strcmp(a->reduction, "none") == 0)
    *out = NONE;
  else if (strcmp(a->reduction, "sum") == 0)
    *out = SUM;
  else if (strcmp(a->reduction, "mean") == 0)
    *out = MEAN;
  else
    return ox_fail(OX_INVALID_MODEL, "attribute 'reduction': wanted none, sum or mean, got '%s'", a->reduction);
  return NULL;
}

static bool differ(int64_t a, int64_t b) { return a >= 0 && b >= 0 && a != b; }

static ox_status *infer(ox_infer_ctx *c) {
  const ox_shape *x = &c->in[0]->shape, *t = &c->in[1]->shape;
  ox_shape scalar = ox_shape_scalar();
  reduction r = NONE;
  OX_TRY(reduction_of(c->attrs, &r));
  if (x->rank >= 0 && t->rank >= 0) {
    bool fit = x->rank >= 2 && t->rank == x->rank - 1 && !differ(x->dim[0], t->dim[0]);
    for (int d = 2; fit && d < x->rank; d++) fit = !differ(x->dim[d], t->dim[d - 1]);
    if (!fit) {
      char tx[OX_SHAPE_TEXT], tt[OX_SHAPE_TEXT];
      return ox_fail(OX_SHAPE_MISMATCH, "a target of shape %s does not fit scores of shape %s", ox_shape_text(t, tt),
                     ox_shape_text(x, tx));
    }
    if (ox_infer_has(c, 2) && c->in[2]->shape.rank >= 0 &&
        (c->in[2]->shape.rank != 1 || differ(c->in[2]->shape.dim[0], x->dim[1])))
      return ox_fail(OX_SHAPE_MISMATCH, "weights must be a list of %lld", (long long)x->dim[1]);
  }
  ox_infer_out(c, 0, c->in[0]->dtype, r == NONE ? t : &scalar);
  ox_infer_out(c, 1, c->in[0]->dtype, x);
  return NULL;
}

enum { COLUMNS = 64 };

typedef struct {
  int64_t classes, inner, pieces; /* positions of one batch item, groups of COLUMNS of them */
  reduction reduction;
  bool softmax;
} loss_prep;

typedef struct {
  double loss, weight;
} loss_sum;

static ox_status *prepare_as(ox_kernel_ctx *c, bool softmax) {
  const ox_shape *x = &c->in[0]->shape;
  loss_prep *p = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  OX_TRY(reduction_of(c->attrs, &p->reduction));
  p->classes = x->dim[1], p->inner = ox_shape_span(x, 2, x->rank);
  p->pieces = OX_CEIL_DIV(p->inner, COLUMNS), p->softmax = softmax;
  c->prep = p;
  c->n_stages = p->reduction == NONE ? 1 : 2;
  c->n_tiles[0] = x->dim[0] * p->pieces, c->n_tiles[1] = 1;
  c->shared_bytes = (size_t)c->n_tiles[0] * sizeof(loss_sum);
  return NULL;
}
static ox_status *prepare_nll(ox_kernel_ctx *c) { return prepare_as(c, false); }
static ox_status *prepare_sce(ox_kernel_ctx *c) { return prepare_as(c, true); }

/* log(sum(exp(x - high))) + high of |width| columns, and all log-probabilities if they are an output. */
static void log_sums(const ox_kernel_ctx *c, const loss_prep *p, int64_t at, size_t width, double *out) {
  const ox_convert *cv = ox_convert_select(c->isa);
  const ox_tensor *x = c->in[0];
  double high[COLUMNS], sum[COLUMNS], v[COLUMNS];
  for (size_t j = 0; j < width; j++) high[j] = -INFINITY, sum[j] = 0;
  for (int64_t k = 0; k < p->classes; k++) {
    cv->load_f64[x->dtype](x->data, (size_t)(at + k * p->inner), width, v);
    for (size_t j = 0; j < width; j++) high[j] = v[j] > high[j] ? v[j] : high[j];
  }
  for (int64_t k = 0; k < p->classes; k++) {
    cv->load_f64[x->dtype](x->data, (size_t)(at + k * p->inner), width, v);
    for (size_t j = 0; j < width; j++) sum[j] += exp(v[j] - high[j]);
  }
  for (size_t j = 0; j < width; j++) out[j] = log(sum[j]) + high[j];
  for (int64_t k = 0; ox_ctx_wants(c, 1) && k < p->classes; k++) {
    cv->load_f64[x->dtype](x->data, (size_t)(at + k * p->inner), width, v);
    for (size_t j = 0; j < width; j++) v[j] -= out[j];
    cv->store_f64[x->dtype](v, c->out[1]->data, (size_t)(at + k * p->inner), width, NULL);
  }
}

/* The same of floats, whose exponentials are summed up as ReduceLogSumExp does. */
static void log_sums_f32(const ox_kernel_ctx *c, const loss_prep *p, int64_t at, size_t width, double *out) {
  const ox_reduce_table *t = ox_reduce_select(c->isa);
  const float *x = (const float *)c->in[0]->data + at;
  size_t pitch = (size_t)p->inner, n = (size_t)p->classes;
  float high[COLUMNS], part[COLUMNS];
  double sum[COLUMNS] = {0};
  if (pitch == 1) {
    high[0] = (float)t->row[OX_FOLD_MAX](x, n, 0), sum[0] = t->row[OX_FOLD_EXP](x, n, high[0]);
  } else {
    for (size_t j = 0; j < width; j++) high[j] = -INFINITY;
    t->column[OX_FOLD_MAX](high, x, width, NULL, n, pitch);
    for (size_t k = 0; k < n; k += OX_FOLD_ROWS) {
      for (size_t j = 0; j < width; j++) part[j] = 0;
      t->column[OX_FOLD_EXP](part, x + k * pitch, width, high, OX_MIN(n - k, (size_t)OX_FOLD_ROWS), pitch);
      for (size_t j = 0; j < width; j++) sum[j] += (double)part[j];
    }
  }
  for (size_t j = 0; j < width; j++) out[j] = log(sum[j]) + (double)high[j];
  if (!ox_ctx_wants(c, 1)) return;
  float *y = (float *)c->out[1]->data + at;
  for (size_t k = 0; pitch == 1 && k < n; k++) y[k] = (float)((double)x[k] - out[0]);
  for (size_t k = 0; pitch > 1 && k < n; k++)
    for (size_t j = 0; j < width; j++) y[k * pitch + j] = (float)((double)x[k * pitch + j] - out[j]);
}

static int64_t target_at(const ox_tensor *t, int64_t i) {
  return t->dtype == OX_I32 ? ((const int32_t *)t->data)[i] : ((const int64_t *)t->data)[i];
}

static ox_status *piece(const ox_kernel_ctx *c, const loss_prep *p, int64_t tile, loss_sum *sum) {
  const loss_attrs *a = c->attrs;
  const ox_convert *cv = ox_convert_select(c->isa);
  uint32_t dtype = c->in[0]->dtype;
  int64_t item = tile / p->pieces, column = tile % p->pieces * COLUMNS;
  int64_t at = item * p->classes * p->inner + column, sample = item * p->inner + column;
  size_t width = (size_t)OX_MIN(p->inner - column, COLUMNS);
  double logs[COLUMNS] = {0}, losses[COLUMNS];
  if (p->softmax) (dtype == OX_F32 ? log_sums_f32 : log_sums)(c, p, at, width, logs);
  *sum = (loss_sum){0, 0};
  for (size_t j = 0; j < width; j++) {
    int64_t t = target_at(c->in[1], sample + (int64_t)j);
    double v = 0, weight = 1;
    if (a->has_ignore_index && t == a->ignore_index) {
      losses[j] = 0;
      continue;
    }
    if (t < 0 || t >= p->classes)
      return ox_fail(OX_INVALID_ARGUMENT, "target %lld is outside the %lld classes", (long long)t,
                     (long long)p->classes);
    cv->load_f64[dtype](c->in[0]->data, (size_t)(at + t * p->inner) + j, 1, &v);
    if (ox_ctx_has(c, 2)) cv->load_f64[c->in[2]->dtype](c->in[2]->data, (size_t)t, 1, &weight);
    losses[j] = (logs[j] - v) * weight;
    sum->loss += losses[j], sum->weight += weight;
  }
  if (p->reduction == NONE && ox_ctx_wants(c, 0))
    cv->store_f64[dtype](losses, c->out[0]->data, (size_t)sample, width, NULL);
  return NULL;
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)scratch;
  const loss_prep *p = c->prep;
  loss_sum *sums = c->shared, total = {0, 0};
  if (stage == 0) {
    for (int64_t t = tiles.begin; t < tiles.end; t++) OX_TRY(piece(c, p, t, &sums[t]));
    return NULL;
  }
  for (int64_t t = 0; t < c->n_tiles[0]; t++) total.loss += sums[t].loss, total.weight += sums[t].weight;
  double y = p->reduction == MEAN ? total.loss / total.weight : total.loss;
  if (ox_ctx_wants(c, 0)) ox_convert_select(c->isa)->store_f64[c->out[0]->dtype](&y, c->out[0]->data, 0, 1, NULL);
  return NULL;
}

#define ROW(op, outs, prepare_fn)                                                                                 \
  {                                                                                                               \
    OX_SCHEMA(.name = op, .since = 12, .types = {OX_T_FLOAT, OX_T_INDEX, OX_T_FLOAT}, .vars = "T.T", .min_in = 2, \
              .max_in = 3, .min_out = 1, .max_out = outs, .attrs_bytes = sizeof(loss_attrs), OX_ATTRS(attrs),     \
              .infer = infer),                                                                                    \
        OX_KERNEL(.prepare = prepare_fn, .run = run)                                                              \
  }

static const ox_op ops[] = {
    ROW("NegativeLogLikelihoodLoss", 1, prepare_nll),
    ROW("SoftmaxCrossEntropyLoss", 2, prepare_sce),
};
const ox_op_set ox_ops_losses = {ops, OX_COUNT(ops)};
