/* SPDX-License-Identifier: Apache-2.0
 * ops/layer_norm.c - normalization of rows: LayerNormalization, RMSNormalization, the Simplified spelling of the
 * latter, and the Skip forms that add a residual first. A row is everything from the axis on. */
#include <math.h>
#include <string.h>

#include "kern/binary/broadcast.h"
#include "kern/norm/mean.h"
#include "kern/norm/norm.h"
#include "kern/quant/convert.h"
#include "ops/shared/tiles.h"

typedef struct {
  int64_t axis, stash_type;
  float epsilon;
} norm_attrs;

static const ox_attr_def layer_table[] = {
    OX_ATTR_INT_IN(norm_attrs, axis, -1, OX_AXIS_RANGE),
    OX_ATTR_INT(norm_attrs, stash_type, 1),
    OX_ATTR_FLOAT(norm_attrs, epsilon, 1e-5f),
};
static const ox_attr_def skip_table[] = {OX_ATTR_FLOAT(norm_attrs, epsilon, 1e-12f)};

/* Which input and output means what; 0 in |bias|, |skip| and so on: there is none. */
typedef struct {
  bool simplified; /* no mean is taken off */
  uint8_t skip, scale, bias, residual_bias;
  uint8_t mean, inverse, sum; /* outputs */
} layout;

static const struct {
  const char *op;
  layout at;
} layouts[] = {
    {"LayerNormalization", {false, 0, 1, 2, 0, 1, 2, 0}},
    {"RMSNormalization", {true, 0, 1, 0, 0, 0, 0, 0}},
    {"SimplifiedLayerNormalization", {true, 0, 1, 0, 0, 0, 1, 0}},
    {"SkipLayerNormalization", {false, 1, 2, 3, 4, 1, 2, 3}},
    {"SkipSimplifiedLayerNormalization", {true, 1, 2, 0, 3, 1, 2, 3}},
};

static const layout *layout_of(const char *op) {
  for (size_t i = 0; i < OX_COUNT(layouts); i++)
    if (strcmp(layouts[i].op, op) == 0) return &layouts[i].at;
  return NULL;
}

/* Checks that |s| broadcasts to |x|'s shape. */
static ox_status *fits(const ox_shape *s, const ox_shape *x, uint32_t input) {
  ox_shape sum;
  if (s->rank < 0 || x->rank < 0) return NULL;
  OX_TRY(ox_shape_broadcast(x, s, &sum));
  bool same = sum.rank == x->rank;
  for (int i = 0; same && i < x->rank; i++) same = x->dim[i] < 0 || sum.dim[i] < 0 || x->dim[i] == sum.dim[i];
  if (same) return NULL;
  char ts[OX_SHAPE_TEXT], tx[OX_SHAPE_TEXT];
  return ox_fail(OX_SHAPE_MISMATCH, "input %u of shape %s does not broadcast to %s", input, ox_shape_text(s, ts),
                 ox_shape_text(x, tx));
}

static ox_status *infer(ox_infer_ctx *c) {
  const norm_attrs *a = c->attrs;
  const layout *l = layout_of(c->op);
  const ox_shape *x = &c->in[0]->shape;
  ox_shape stats = *x;
  int k = 0;
  int64_t axis = l->skip ? -1 : a->axis;
  if (x->rank >= 0 && !ox_axis_ok(axis, x->rank, &k))
    return ox_fail(OX_INVALID_MODEL, "axis %lld is outside rank %d", (long long)axis, (int)x->rank);
  for (uint32_t i = 1; i < c->n_in; i++)
    if (c->in[i]) OX_TRY(fits(&c->in[i]->shape, x, i));
  for (int d = k; d < stats.rank; d++) stats.dim[d] = 1;
  /* the output of RMSNormalization has its scale's type */
  uint32_t to = l->simplified && !l->skip && c->in[1]->dtype ? c->in[1]->dtype : c->in[0]->dtype;
  uint32_t stash = !l->skip && a->stash_type == OX_BF16 ? OX_BF16 : OX_F32;
  ox_infer_out(c, 0, to, x);
  if (l->mean) ox_infer_out(c, l->mean, stash, &stats);
  if (l->inverse) ox_infer_out(c, l->inverse, stash, &stats);
  if (l->sum) ox_infer_out(c, l->sum, c->in[0]->dtype, x);
  return NULL;
}

static ox_status *load(ox_load_ctx *c) {
  c->state = (void *)layout_of(c->op);
  return c->state ? NULL : ox_fail(OX_FAIL, "%s is not a row normalization", c->op);
}

enum { PARTS = 4 }; /* skip, scale, bias, residual bias */
typedef struct {
  int64_t rows, n, per_tile;
  uint32_t part[PARTS]; /* their inputs; 0: absent */
  ox_bcast spread[PARTS];
  bool repeats[PARTS]; /* the same row serves all */
} norm_prep;

static ox_status *prepare(ox_kernel_ctx *c) {
  enum { WORK = 16384 };
  const layout *l = c->state;
  const norm_attrs *a = c->attrs;
  const ox_shape *x = &c->in[0]->shape;
  norm_prep *p = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  int k = 0;
  ox_axis_ok(l->skip ? -1 : a->axis, x->rank, &k);
  p->rows = ox_shape_span(x, 0, k), p->n = ox_shape_span(x, k, x->rank);
  if (p->n == 0) p->rows = 0;
  const uint8_t parts[PARTS] = {l->skip, l->scale, l->bias, l->residual_bias};
  for (int i = 0; i < PARTS; i++) {
    if (!parts[i] || !ox_ctx_has(c, parts[i])) continue;
    const ox_shape *s = &c->in[parts[i]]->shape;
    p->part[i] = parts[i];
    ox_bcast_init(&p->spread[i], x, 1, &s);
    p->repeats[i] = ox_shape_count(s) == p->n && s->rank <= x->rank - k;
  }
  p->per_tile = OX_MAX(WORK / OX_MAX(p->n, 1), 1);
  c->prep = p;
  /* the row itself, and each part that may have to be widened or spread */
  return ox_ctx_plan(c, ox_tile_count(p->rows, p->per_tile), (size_t)p->n * sizeof(double) * (2 + PARTS));
}

/* The float row of part |i| for row |r|: in place, or broadcast and widened into |spare|. */
static const float *part_f32(const ox_kernel_ctx *c, int i, int64_t r, float *spare, void *raw) {
  const norm_prep *p = c->prep;
  if (!p->part[i]) return NULL;
  const ox_tensor *t = c->in[p->part[i]];
  size_t size = ox_dtype_bits(t->dtype) / 8, at = p->repeats[i] ? 0 : (size_t)(r * p->n);
  const ox_convert *cv = ox_convert_select(c->isa);
  if (p->repeats[i] || p->spread[i].dense[0]) {
    if (t->dtype == OX_F32) return (const float *)t->data + at;
    cv->load_f32[t->dtype](t->data, at, (size_t)p->n, spare);
    return spare;
  }
  if (t->dtype == OX_F32) {
    ox_bcast_gather(&p->spread[i], 0, t->data, size, r * p->n, p->n, spare);
    return spare;
  }
  ox_bcast_gather(&p->spread[i], 0, t->data, size, r * p->n, p->n, raw);
  cv->load_f32[t->dtype](raw, 0, (size_t)p->n, spare);
  return spare;
}

static void put_stat(const ox_kernel_ctx *c, uint32_t output, int64_t r, double v) {
  if (!output || !ox_ctx_wants(c, output)) return;
  ox_convert_select(c->isa)->store_f64[c->out[output]->dtype](&v, c->out[output]->data, (size_t)r, 1, NULL);
}

/* |lane| is one of the scratch's rows of n doubles. */
static void row_f32(const ox_kernel_ctx *c, int64_t r, double *lane) {
  const norm_prep *p = c->prep;
  const layout *l = c->state;
  const ox_convert *cv = ox_convert_select(c->isa);
  const ox_norm_table *t = ox_norm_select(c->isa);
  size_t n = (size_t)p->n, at = (size_t)(r * p->n);
  uint32_t in = c->in[0]->dtype, to = c->out[0]->dtype;
  float *own = (float *)lane;
  double *spare = lane + n, *raw = lane + (PARTS + 1) * n;
  const float *x = own;
  if (in == OX_F32)
    x = (const float *)c->in[0]->data + at;
  else
    cv->load_f32[in](c->in[0]->data, at, n, own);
  if (l->skip) {
    const float *skip = part_f32(c, 0, r, (float *)spare, raw), *b = part_f32(c, 3, r, (float *)(spare + 3 * n), raw);
    t->add(x, skip, b, own, n);
    x = own;
    if (ox_ctx_wants(c, l->sum)) cv->store_f32[c->out[l->sum]->dtype](own, c->out[l->sum]->data, at, n, NULL);
  }
  ox_moments m = l->simplified ? (ox_moments){0, t->mean_square(x, n)} : ox_norm_moments(t, x, n);
  double inverse = 1 / sqrt(m.variance + (double)((const norm_attrs *)c->attrs)->epsilon);
  const float *scale = part_f32(c, 1, r, (float *)(spare + n), raw);
  const float *bias = part_f32(c, 2, r, (float *)(spare + 2 * n), raw);
  if (ox_ctx_wants(c, 0)) {
    float *y = to == OX_F32 ? (float *)c->out[0]->data + at : own;
    t->apply(x, y, n, m.mean, (float)inverse, scale, bias);
    if (to != OX_F32) cv->store_f32[to](own, c->out[0]->data, at, n, NULL);
  }
  put_stat(c, l->mean, r, m.mean);
  put_stat(c, l->inverse, r, inverse);
}

static const double *part_f64(const ox_kernel_ctx *c, int i, int64_t r, double *spare, void *raw) {
  const norm_prep *p = c->prep;
  if (!p->part[i]) return NULL;
  const ox_tensor *t = c->in[p->part[i]];
  if (t->dtype == OX_F64 && p->repeats[i]) return t->data;
  ox_bcast_gather(&p->spread[i], 0, t->data, ox_dtype_bits(t->dtype) / 8, r * p->n, p->n, raw);
  ox_convert_select(c->isa)->load_f64[t->dtype](raw, 0, (size_t)p->n, spare);
  return spare;
}

static void row_f64(const ox_kernel_ctx *c, int64_t r, double *lane) {
  const norm_prep *p = c->prep;
  const layout *l = c->state;
  const ox_convert *cv = ox_convert_select(c->isa);
  size_t n = (size_t)p->n, at = (size_t)(r * p->n);
  double *x = lane, *spare = lane + n, *raw = lane + (PARTS + 1) * n;
  cv->load_f64[c->in[0]->dtype](c->in[0]->data, at, n, x);
  if (l->skip) {
    const double *skip = part_f64(c, 0, r, spare, raw), *b = part_f64(c, 3, r, spare + 3 * n, raw);
    for (size_t i = 0; i < n; i++) x[i] += skip[i] + (b ? b[i] : 0);
    if (ox_ctx_wants(c, l->sum)) cv->store_f64[c->out[l->sum]->dtype](x, c->out[l->sum]->data, at, n, NULL);
  }
  ox_mean mean = l->simplified ? (ox_mean){0, 0} : ox_mean_f64(x, n);
  double inverse = 1 / sqrt(ox_variance_f64(x, n, mean) + (double)((const norm_attrs *)c->attrs)->epsilon);
  const double *scale = part_f64(c, 1, r, spare + n, raw), *bias = part_f64(c, 2, r, spare + 2 * n, raw);
  for (size_t i = 0; i < n; i++) x[i] = ox_mean_deviation(x[i], mean) * inverse * scale[i] + (bias ? bias[i] : 0);
  if (ox_ctx_wants(c, 0)) cv->store_f64[c->out[0]->dtype](x, c->out[0]->data, at, n, NULL);
  put_stat(c, l->mean, r, mean.hi + mean.lo);
  put_stat(c, l->inverse, r, inverse);
}

/* Are rows short floats with one scale and bias for all, and the outputs floats? */
static bool are_short(const ox_kernel_ctx *c) {
  const norm_prep *p = c->prep;
  const layout *l = c->state;
  bool alike = c->in[0]->dtype == OX_F32 && c->out[0]->dtype == OX_F32 && !l->skip && ox_ctx_wants(c, 0);
  for (int i = 1; i < 3; i++) alike = alike && (!p->part[i] || (p->repeats[i] && c->in[p->part[i]]->dtype == OX_F32));
  for (uint32_t o = 1; o < c->n_out; o++) alike = alike && (!c->out[o] || c->out[o]->dtype == OX_F32);
  return alike && (size_t)p->n <= ox_norm_select(c->isa)->short_most;
}

/* NULL: input or output |i| is not there. Outputs from row |r| on. */
static const float *given(const ox_kernel_ctx *c, uint32_t i) { return i ? c->in[i]->data : NULL; }
static float *wanted(const ox_kernel_ctx *c, uint32_t i, int64_t r) {
  return i && ox_ctx_wants(c, i) ? (float *)c->out[i]->data + r : NULL;
}

static void short_rows(const ox_kernel_ctx *c, int64_t begin, int64_t end) {
  const norm_prep *p = c->prep;
  const layout *l = c->state;
  const norm_attrs *a = c->attrs;
  size_t n = (size_t)p->n, at = (size_t)begin * n;
  ox_norm_select(c->isa)->short_rows((const float *)c->in[0]->data + at, (float *)c->out[0]->data + at,
                                     (size_t)(end - begin), n, (double)a->epsilon, l->simplified, given(c, p->part[1]),
                                     given(c, p->part[2]), wanted(c, l->mean, begin), wanted(c, l->inverse, begin));
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage;
  const norm_prep *p = c->prep;
  int64_t begin, end;
  ox_tile_span(tiles, p->per_tile, p->rows, &begin, &end);
  if (begin < end && are_short(c)) {
    short_rows(c, begin, end);
    return NULL;
  }
  for (int64_t r = begin; r < end; r++) (c->in[0]->dtype == OX_F64 ? row_f64 : row_f32)(c, r, scratch);
  return NULL;
}

#define ROW(op, dom, ver, letters, least, most, outs, table)                                                     \
  {                                                                                                              \
    OX_SCHEMA(.name = op, .domain = dom, .since = ver, .types = {OX_T_FLOAT}, .vars = letters, .min_in = least,  \
              .max_in = most, .min_out = 1, .max_out = outs, .attrs_bytes = sizeof(norm_attrs), OX_ATTRS(table), \
              .infer = infer),                                                                                   \
        OX_KERNEL(.load = load, .prepare = prepare, .run = run)                                                  \
  }

static const ox_op ops[] = {
    /* ONNX has one type from 17 on; before, ONNX Runtime's may scale halves by floats */
    ROW("LayerNormalization", NULL, 1, ".TT", 2, 3, 3, layer_table),
    ROW("RMSNormalization", NULL, 23, NULL, 2, 2, 1, layer_table),
    ROW("SimplifiedLayerNormalization", NULL, 1, NULL, 2, 2, 2, layer_table),
    ROW("LayerNormalization", "com.microsoft", 1, ".TT", 2, 3, 3, layer_table),
    ROW("SimplifiedLayerNormalization", "com.microsoft", 1, NULL, 2, 2, 2, layer_table),
    ROW("SkipLayerNormalization", "com.microsoft", 1, "TTTTT", 3, 5, 4, skip_table),
    ROW("SkipSimplifiedLayerNormalization", "com.microsoft", 1, "TTTT", 3, 4, 4, skip_table),
};
const ox_op_set ox_ops_layer_norm = {ops, OX_COUNT(ops)};
