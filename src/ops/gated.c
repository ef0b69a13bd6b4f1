/* SPDX-License-Identifier: Apache-2.0
 * ops/gated.c - a unary function with one more operand: SwiGLU multiplies by it, BiasGelu and FastGelu add a bias row
 * first. Blocks stay in the first-level cache between the steps. */
#include <string.h>

#include "graph/node_activation.h"
#include "kern/binary/binary.h"
#include "kern/quant/convert.h"
#include "kern/unary/unary.h"
#include "ops/shared/check.h"
#include "ops/shared/tiles.h"

typedef struct {
  float alpha;
} gated_attrs;

static const ox_attr_def swiglu_table[] = {OX_ATTR_FLOAT(gated_attrs, alpha, 1.0f)};

static ox_status *infer_swiglu(ox_infer_ctx *c) {
  uint32_t dtype = ox_infer_dtype_of(c, 0, 1);
  const ox_shape *a = &c->in[0]->shape, *b = &c->in[1]->shape;
  bool same = a->rank < 0 || b->rank < 0 || a->rank == b->rank;
  for (int i = 0; same && i < a->rank && i < b->rank; i++)
    same = a->dim[i] < 0 || b->dim[i] < 0 || a->dim[i] == b->dim[i];
  if (!same) {
    char ta[OX_SHAPE_TEXT], tb[OX_SHAPE_TEXT];
    return ox_fail(OX_SHAPE_MISMATCH, "shapes %s and %s must be equal", ox_shape_text(a, ta), ox_shape_text(b, tb));
  }
  ox_infer_out(c, 0, dtype, a->rank >= 0 ? a : b);
  return NULL;
}

/* A bias is a row as long as the last dimension. */
static ox_status *infer_bias(ox_infer_ctx *c) {
  const ox_shape *x = &c->in[0]->shape;
  if (ox_infer_has(c, 1) && x->rank >= 0 && c->in[1]->shape.rank >= 0) {
    const ox_shape *b = &c->in[1]->shape;
    int64_t last = x->rank ? x->dim[x->rank - 1] : 1;
    if (b->rank != 1 || (last >= 0 && b->dim[0] >= 0 && b->dim[0] != last)) {
      char tx[OX_SHAPE_TEXT], tb[OX_SHAPE_TEXT];
      return ox_fail(OX_SHAPE_MISMATCH, "a bias of shape %s does not fit the rows of %s", ox_shape_text(b, tb),
                     ox_shape_text(x, tx));
    }
  }
  return ox_infer_same_as_input(c);
}

static ox_status *prepare(ox_kernel_ctx *c) { return ox_plan_elements(c, OX_TILE_MATH); }

/* Elements [at, at + n) of operand 1: its own, or those of the bias row, over and over. */
static void operand(const ox_kernel_ctx *c, bool is_row, int64_t at, size_t n, float *f, double *d) {
  const ox_convert *cv = ox_convert_select(c->isa);
  const ox_tensor *t = c->in[1];
  int64_t period = is_row ? t->shape.dim[0] : INT64_MAX;
  for (size_t i = 0; i < n;) {
    int64_t from = (at + (int64_t)i) % period;
    size_t m = (size_t)OX_MIN(period - from, (int64_t)(n - i));
    if (f)
      cv->load_f32[t->dtype](t->data, (size_t)from, m, f + i);
    else
      cv->load_f64[t->dtype](t->data, (size_t)from, m, d + i);
    i += m;
  }
}

static void block_f64(const ox_kernel_ctx *c, ox_unary fn, bool gate, int64_t at, size_t n) {
  double other[OX_CONVERT_BLOCK], p[OX_UNARY_PARAMS] = {gate ? (double)((const gated_attrs *)c->attrs)->alpha : 0, 0};
  const double *x = (const double *)c->in[0]->data + at;
  double *y = (double *)c->out[0]->data + at;
  bool has = ox_ctx_has(c, 1);
  if (has) operand(c, !gate, at, n, NULL, other);
  if (gate || !has) ox_unary_f64_select(c->isa, fn)(x, y, n, p);
  for (size_t i = 0; has && i < n; i++) y[i] = gate ? y[i] * other[i] : x[i] + other[i];
  if (!gate && has) ox_unary_f64_select(c->isa, fn)(y, y, n, p);
}

static void block_f32(const ox_kernel_ctx *c, ox_unary fn, bool gate, int64_t at, size_t n) {
  const ox_convert *cv = ox_convert_select(c->isa);
  const ox_binary_table *b = ox_binary_select(c->isa);
  ox_unary_f32_fn *f = ox_unary_f32_select(c->isa)->fn[fn];
  float block[OX_CONVERT_BLOCK], other[OX_CONVERT_BLOCK];
  float p[OX_UNARY_PARAMS] = {gate ? ((const gated_attrs *)c->attrs)->alpha : 0, 0};
  uint32_t t = c->in[0]->dtype;
  bool has = ox_ctx_has(c, 1);
  const float *x = t == OX_F32 ? (const float *)c->in[0]->data + at : block;
  float *y = t == OX_F32 ? (float *)c->out[0]->data + at : block;
  if (x == block) cv->load_f32[t](c->in[0]->data, (size_t)at, n, block);
  if (has) operand(c, !gate, at, n, other, NULL);
  if (!gate && has) b->fn[OX_BIN_ADD][OX_F32](x, other, other, n, 0);
  f(!gate && has ? other : x, y, n, p);
  if (gate) b->fn[OX_BIN_MUL][OX_F32](y, other, y, n, 0);
  if (y == block) cv->store_f32[t](block, c->out[0]->data, (size_t)at, n, NULL);
}

static void run_blocks(const ox_kernel_ctx *c, ox_range tiles, ox_unary fn, bool gate) {
  int64_t begin, end;
  ox_tile_span(tiles, OX_TILE_MATH, ox_shape_count(&c->in[0]->shape), &begin, &end);
  for (int64_t i = begin; i < end; i += OX_CONVERT_BLOCK)
    (c->in[0]->dtype == OX_F64 ? block_f64 : block_f32)(c, fn, gate, i, (size_t)OX_MIN(end - i, OX_CONVERT_BLOCK));
}

static ox_status *run_swiglu(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  run_blocks(c, tiles, OX_UN_SWISH, true);
  return NULL;
}

static ox_status *run_bias_gelu(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  run_blocks(c, tiles, OX_UN_GELU, false);
  return NULL;
}

static ox_status *run_fast_gelu(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  run_blocks(c, tiles, OX_UN_GELU_TANH, false);
  return NULL;
}

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "SwiGLU", .since = 28, .types = {OX_T_FLOAT}, .vars = "TT", .min_in = 2, .max_in = 2,
               .attrs_bytes = sizeof(gated_attrs), OX_ATTRS(swiglu_table), .infer = infer_swiglu),
     OX_KERNEL(.inplace = 3, .prepare = prepare, .run = run_swiglu)},
    {OX_SCHEMA(.name = "BiasGelu", .domain = "com.microsoft", .since = 1, .types = {OX_T_FLOAT}, .vars = "TT",
               .min_in = 2, .max_in = 2, .infer = infer_bias),
     OX_KERNEL(.inplace = 1, .prepare = prepare, .run = run_bias_gelu)},
    {OX_SCHEMA(.name = "FastGelu", .domain = "com.microsoft", .since = 1, .types = {OX_T_FLOAT}, .vars = "TT",
               .min_in = 1, .max_in = 2, .infer = infer_bias, OX_IS_ACTIVATION("FastGelu", NULL)),
     OX_KERNEL(.inplace = 1, .prepare = prepare, .run = run_fast_gelu)},
};
const ox_op_set ox_ops_gated = {ops, OX_COUNT(ops)};
