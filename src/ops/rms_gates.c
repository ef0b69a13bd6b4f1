/* SPDX-License-Identifier: Apache-2.0
 * ops/rms_gates.c - com.microsoft's RMS normalizations with extensions: GatedRMSNorm (times an activated gate),
 * BranchwiseRMSNorm (per branch), EngramGate (weights a value by the dot product of normalized key and query). */
#include <math.h>
#include <string.h>

#include "kern/norm/norm.h"
#include "kern/unary/unary.h"
#include "ops/shared/as_real.h"
#include "ops/shared/check.h"
#include "ops/shared/tiles.h"

enum { FLOATS = OX_BIT(OX_F32) | OX_T_FLOAT16S, ROW_WORK = 16384 };

typedef struct rms_attrs {
  const char *activation;
  int64_t num_branches;
  float epsilon;
} rms_attrs;

typedef struct rms_prep {
  int64_t rows, n, per_tile;
  int64_t branches; /* a row's scale: number row % branches; 1: one for all */
} rms_prep;

static ox_status *book(ox_kernel_ctx *c, int64_t rows, int64_t n, int64_t branches, size_t spare_rows) {
  rms_prep *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  size_t bytes;
  if (!p) return ox_oom();
  *p = (rms_prep){rows, n, OX_MAX(ROW_WORK / OX_MAX(n, 1), 1), branches};
  if (!ox_mul_ok((size_t)n, spare_rows * sizeof(float), &bytes)) return ox_fail(OX_LIMIT, "the rows are too long");
  return ox_ctx_plan(c, n ? ox_tile_count(rows, p->per_tile) : 0, bytes);
}

/* 1 / the root mean square of |x|. */
static float inverse_rms(const ox_norm_table *t, const float *x, int64_t n, float epsilon) {
  return (float)(1 / sqrt(t->mean_square(x, (size_t)n) + (double)epsilon));
}

/* ---- GatedRMSNorm ---- */

static const ox_attr_def gated_rows[] = {OX_ATTR_STR(rms_attrs, activation, "silu"),
                                         OX_ATTR_FLOAT(rms_attrs, epsilon, 1e-5f)};

static bool is_silu(const rms_attrs *a) {
  return strcmp(a->activation, "silu") == 0 || strcmp(a->activation, "swish") == 0;
}

static ox_status *gated_infer(ox_infer_ctx *c) {
  const rms_attrs *a = c->attrs;
  const ox_shape *x = &c->in[0]->shape;
  if (!is_silu(a) && strcmp(a->activation, "sigmoid") != 0)
    return ox_fail(OX_INVALID_MODEL, "GatedRMSNorm: activation is silu, swish or sigmoid, not \"%.40s\"",
                   a->activation);
  if (x->rank == 0) return ox_fail(OX_INVALID_MODEL, "GatedRMSNorm: X has no dimensions");
  OX_TRY(ox_infer_shape_is(c, 1, 1, (int64_t[]){-1}));
  if (x->rank > 0) OX_TRY(ox_infer_shape_is(c, 2, x->rank, x->dim));
  int64_t width = x->rank > 0 ? x->dim[x->rank - 1] : -1, n = ox_infer_dim(c, 1, 0);
  if (width >= 0 && n >= 0 && (n == 0 ? width != 0 : width % n != 0))
    return ox_fail(OX_SHAPE_MISMATCH, "GatedRMSNorm: rows of %lld do not divide into groups of %lld", (long long)width,
                   (long long)n);
  return ox_infer_same_as_input(c);
}

static ox_status *gated_prepare(ox_kernel_ctx *c) {
  int64_t n = c->in[1]->shape.dim[0];
  return book(c, n ? ox_shape_count(&c->in[0]->shape) / n : 0, n, 1, 3);
}

static ox_status *gated_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage;
  const rms_prep *p = c->prep;
  const rms_attrs *a = c->attrs;
  const ox_norm_table *t = ox_norm_select(c->isa);
  const float one[OX_UNARY_PARAMS] = {1, 0};
  ox_unary_f32_fn *act = ox_unary_f32_select(c->isa)->fn[is_silu(a) ? OX_UN_SWISH : OX_UN_SIGMOID];
  float *spare = scratch, *gate = spare + p->n, *y = spare;
  const float *scale = ox_as_float_in(c, 1, 0, p->n, gate + p->n);
  int64_t begin, end;
  ox_tile_span(tiles, p->per_tile, p->rows, &begin, &end);
  for (int64_t r = begin; r < end; r++) {
    const float *x = ox_as_float_in(c, 0, r * p->n, p->n, spare);
    act(ox_as_float_in(c, 2, r * p->n, p->n, gate), gate, (size_t)p->n, one);
    y = ox_as_float_out(c, 0, r * p->n, spare);
    t->apply(x, y, (size_t)p->n, 0, inverse_rms(t, x, p->n, a->epsilon), scale, NULL);
    for (int64_t i = 0; i < p->n; i++) y[i] *= gate[i];
    ox_as_float_done(c, 0, r * p->n, p->n, y);
  }
  return NULL;
}

/* ---- BranchwiseRMSNorm ---- */

static const ox_attr_def branch_rows[] = {OX_ATTR_INT_IN(rms_attrs, num_branches, 0, 0, OX_COUNT_MAX),
                                          OX_ATTR_FLOAT(rms_attrs, epsilon, 1e-5f)};

/* Branches and their length of |x|; -1: not known. */
static ox_status *branches_of(const rms_attrs *a, const ox_shape *x, int64_t *branches, int64_t *n) {
  *branches = *n = -1;
  if (x->rank < 0) return NULL;
  if (x->rank < 1 + (a->num_branches == 0))
    return ox_fail(OX_SHAPE_MISMATCH, "BranchwiseRMSNorm: X has rank %d", x->rank);
  int64_t last = x->dim[x->rank - 1];
  *branches = a->num_branches ? a->num_branches : x->dim[x->rank - 2];
  *n = a->num_branches && last >= 0 ? last / a->num_branches : last;
  if (a->num_branches && last >= 0 && last % a->num_branches)
    return ox_fail(OX_SHAPE_MISMATCH, "BranchwiseRMSNorm: %lld elements do not divide into %lld branches",
                   (long long)last, (long long)a->num_branches);
  return NULL;
}

static ox_status *branch_infer(ox_infer_ctx *c) {
  int64_t branches, n;
  OX_TRY(branches_of(c->attrs, &c->in[0]->shape, &branches, &n));
  if (ox_infer_has(c, 1) && branches >= 0 && n >= 0) {
    const ox_shape *s = &c->in[1]->shape;
    if (s->rank == 1 && s->dim[0] != n)
      OX_TRY(ox_infer_shape_is(c, 1, 1, (int64_t[]){branches * n}));
    else if (s->rank != 1)
      OX_TRY(ox_infer_shape_is(c, 1, 2, (int64_t[]){branches, n}));
  }
  return ox_infer_same_as_input(c);
}

static ox_status *branch_prepare(ox_kernel_ctx *c) {
  int64_t branches, n;
  OX_TRY(branches_of(c->attrs, &c->in[0]->shape, &branches, &n));
  bool shared = !ox_ctx_has(c, 1) || ox_shape_count(&c->in[1]->shape) == n;
  return book(c, n ? ox_shape_count(&c->in[0]->shape) / n : 0, n, shared ? 1 : branches, 2);
}

static ox_status *branch_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage;
  const rms_prep *p = c->prep;
  const ox_norm_table *t = ox_norm_select(c->isa);
  float *spare = scratch;
  int64_t begin, end;
  ox_tile_span(tiles, p->per_tile, p->rows, &begin, &end);
  for (int64_t r = begin; r < end; r++) {
    const float *x = ox_as_float_in(c, 0, r * p->n, p->n, spare);
    const float *scale = ox_ctx_has(c, 1) ? ox_as_float_in(c, 1, r % p->branches * p->n, p->n, spare + p->n) : NULL;
    float *y = ox_as_float_out(c, 0, r * p->n, spare);
    t->apply(x, y, (size_t)p->n, 0, inverse_rms(t, x, p->n, ((const rms_attrs *)c->attrs)->epsilon), scale, NULL);
    ox_as_float_done(c, 0, r * p->n, p->n, y);
  }
  return NULL;
}

/* ---- EngramGate ---- */

enum { KEY, QUERY, VALUE, KEY_SCALE, QUERY_SCALE, OUT_SCALE };
static const ox_attr_def engram_rows[] = {OX_ATTR_FLOAT(rms_attrs, epsilon, 1e-5f)};

static ox_status *engram_infer(ox_infer_ctx *c) {
  const ox_shape *key = &c->in[KEY]->shape;
  uint32_t dtype = ox_infer_dtype_of(c, KEY, OUT_SCALE);
  if (key->rank >= 0 && key->rank != 4) return ox_fail(OX_SHAPE_MISMATCH, "EngramGate: key has rank %d", key->rank);
  if (key->rank == 4) {
    OX_TRY(ox_infer_shape_is(c, QUERY, 4, key->dim));
    OX_TRY(ox_infer_shape_is(c, VALUE, 3, (int64_t[]){key->dim[0], key->dim[1], key->dim[3]}));
    for (uint32_t i = KEY_SCALE; i <= OUT_SCALE; i++) OX_TRY(ox_infer_shape_is(c, i, 2, key->dim + 2));
  }
  if (c->n_out > 1 && !ox_infer_has(c, OUT_SCALE))
    return ox_fail(OX_INVALID_MODEL, "EngramGate: output gated_value_normed needs input conv_norm_scale");
  ox_infer_out(c, 0, dtype, key);
  ox_infer_out(c, 1, dtype, key);
  return NULL;
}

static ox_status *engram_prepare(ox_kernel_ctx *c) {
  const ox_shape *key = &c->in[KEY]->shape;
  return book(c, ox_shape_span(key, 0, 3), key->dim[3], key->dim[2], 4);
}

/* The gate of row |r|: sigmoid(sign(dot) sqrt(|dot|)), where dot is the product of both normalized rows divided by
 * sqrt(n). */
static float engram_gate(const ox_kernel_ctx *c, const rms_prep *p, int64_t r, float *spare) {
  const ox_norm_table *t = ox_norm_select(c->isa);
  float epsilon = ((const rms_attrs *)c->attrs)->epsilon;
  int64_t n = p->n, scale_at = r % p->branches * n;
  const float *k = ox_as_float_in(c, KEY, r * n, n, spare), *q = ox_as_float_in(c, QUERY, r * n, n, spare + n);
  const float *ks = ox_as_float_in(c, KEY_SCALE, scale_at, n, spare + 2 * n);
  const float *qs = ox_as_float_in(c, QUERY_SCALE, scale_at, n, spare + 3 * n);
  double dot = 0, factor = (double)inverse_rms(t, k, n, epsilon) * (double)inverse_rms(t, q, n, epsilon);
  for (int64_t i = 0; i < n; i++) dot += (double)(k[i] * ks[i]) * (double)(q[i] * qs[i]);
  dot *= factor / sqrt((double)n);
  double root = sqrt(fmax(fabs(dot), 1e-6));
  return (float)(1 / (1 + exp(dot > 0 ? -root : dot < 0 ? root : dot)));
}

static ox_status *engram_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage;
  const rms_prep *p = c->prep;
  const ox_norm_table *t = ox_norm_select(c->isa);
  float *spare = scratch, *y = spare + p->n;
  int64_t begin, end, n = p->n;
  ox_tile_span(tiles, p->per_tile, p->rows, &begin, &end);
  for (int64_t r = begin; r < end; r++) {
    float gate = engram_gate(c, p, r, spare);
    const float *v = ox_as_float_in(c, VALUE, r / p->branches * n, n, spare);
    for (int64_t i = 0; i < n; i++) y[i] = gate * v[i];
    if (c->out[0])
      ox_convert_select(c->isa)->store_f32[c->out[0]->dtype](y, c->out[0]->data, (size_t)(r * n), (size_t)n, NULL);
    if (!ox_ctx_wants(c, 1)) continue;
    const float *scale = ox_as_float_in(c, OUT_SCALE, r % p->branches * n, n, spare + 2 * n);
    float *z = ox_as_float_out(c, 1, r * n, spare);
    t->apply(y, z, (size_t)n, 0, inverse_rms(t, y, n, ((const rms_attrs *)c->attrs)->epsilon), scale, NULL);
    ox_as_float_done(c, 1, r * n, n, z);
  }
  return NULL;
}

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "GatedRMSNorm", .domain = "com.microsoft", .since = 1, .types = {FLOATS}, .vars = "TTT",
               .min_in = 3, .max_in = 3, OX_ATTRS(gated_rows), .attrs_bytes = sizeof(rms_attrs), .infer = gated_infer),
     OX_KERNEL(.prepare = gated_prepare, .run = gated_run)},
    {OX_SCHEMA(.name = "BranchwiseRMSNorm", .domain = "com.microsoft", .since = 1, .types = {FLOATS, FLOATS},
               .min_in = 1, .max_in = 2, OX_ATTRS(branch_rows), .attrs_bytes = sizeof(rms_attrs),
               .infer = branch_infer),
     OX_KERNEL(.inplace = 1, .prepare = branch_prepare, .run = branch_run)},
    {OX_SCHEMA(.name = "EngramGate", .domain = "com.microsoft", .since = 1, .types = {FLOATS}, .vars = "TTTTTT",
               .min_in = 5, .max_in = 6, .min_out = 1, .max_out = 2, OX_ATTRS(engram_rows),
               .attrs_bytes = sizeof(rms_attrs), .infer = engram_infer),
     OX_KERNEL(.prepare = engram_prepare, .run = engram_run)},
};
const ox_op_set ox_ops_rms_gates = {ops, OX_COUNT(ops)};
