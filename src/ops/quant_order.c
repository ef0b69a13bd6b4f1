/* SPDX-License-Identifier: Apache-2.0
 * ops/quant_order.c - com.microsoft's QuantizeWithOrder and DequantizeWithOrder, which also change a matrix's order,
 * and QOrderedGelu and QOrderedLayerNormalization between bytes. One scale for all elements, no zero points. */
#include <math.h>
#include <string.h>

#include "kern/norm/norm.h"
#include "kern/quant/convert.h"
#include "ops/shared/check.h"
#include "ops/shared/matrix_order.h"
#include "ops/shared/qparam.h"
#include "ops/shared/tiles.h"

enum { I8 = OX_BIT(OX_I8), F32 = OX_BIT(OX_F32), HALVES = OX_BIT(OX_F32) | OX_BIT(OX_F16) };

static ox_qparam scale_at(const ox_kernel_ctx *c, uint32_t i) {
  return (ox_qparam){*(const ox_f32u *)c->in[i]->data, 0, true};
}

/* The scales among the inputs of bit set |which| are scalars. */
static ox_status *check_scales(const ox_infer_ctx *c, uint32_t which) {
  for (uint32_t i = 0; i < c->n_in; i++)
    if (which >> i & 1 && ox_infer_has(c, i) && ox_shape_count(&c->in[i]->shape) >= 0 &&
        ox_shape_count(&c->in[i]->shape) != 1)
      return ox_fail(OX_SHAPE_MISMATCH, "%s: input %u must be a scalar", c->op, i);
  return NULL;
}

/* ---- QuantizeWithOrder, DequantizeWithOrder ---- */

typedef struct {
  int64_t order_input, order_output, to;
} order_attrs;
static const ox_attr_def quantize_rows[] = {OX_ATTR_INT_REQUIRED(order_attrs, order_input),
                                            OX_ATTR_INT_REQUIRED(order_attrs, order_output)};
static const ox_attr_def dequantize_rows[] = {OX_ATTR_INT_REQUIRED(order_attrs, order_input),
                                              OX_ATTR_INT_REQUIRED(order_attrs, order_output),
                                              OX_ATTR_INT_REQUIRED(order_attrs, to)};

static ox_status *infer_as(ox_infer_ctx *c, uint32_t dtype) {
  const order_attrs *a = c->attrs;
  int64_t batch, rows, cols;
  ox_matrix_sizes(&c->in[0]->shape, &batch, &rows, &cols);
  OX_TRY(ox_matrix_order_ok(c->op, a->order_input, rows, cols));
  OX_TRY(ox_matrix_order_ok(c->op, a->order_output, rows, cols));
  OX_TRY(check_scales(c, 2));
  ox_infer_out(c, 0, dtype, &c->in[0]->shape);
  return NULL;
}
static ox_status *infer_quantize(ox_infer_ctx *c) { return infer_as(c, OX_I8); }
static ox_status *infer_dequantize(ox_infer_ctx *c) {
  int64_t to = ((const order_attrs *)c->attrs)->to;
  if (to != OX_F32 && to != OX_F16)
    return ox_fail(OX_INVALID_MODEL, "DequantizeWithOrder: attribute 'to' is %lld", (long long)to);
  return infer_as(c, (uint32_t)to);
}

/* A tile is a row of one of the matrices. */
static ox_status *prepare_rows(ox_kernel_ctx *c) {
  int64_t batch, rows, cols;
  ox_matrix_sizes(&c->in[0]->shape, &batch, &rows, &cols);
  return ox_ctx_plan(c, cols ? batch * rows : 0, (size_t)cols * 2 * sizeof(float));
}

static ox_status *run_order(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  const order_attrs *a = c->attrs;
  const ox_convert *cv = ox_convert_select(c->isa);
  ox_qparam q = scale_at(c, 1);
  int64_t batch, rows, cols;
  ox_matrix_sizes(&c->in[0]->shape, &batch, &rows, &cols);
  for (int64_t t = tiles.begin; t < tiles.end; t++) {
    int64_t base = t / rows * rows * cols, r = t % rows;
    for (int64_t k = 0; k < cols; k++) {
      size_t from = (size_t)(base + ox_matrix_at(a->order_input, rows, cols, r, k));
      size_t to = (size_t)(base + ox_matrix_at(a->order_output, rows, cols, r, k));
      float v;
      cv->load_f32[c->in[0]->dtype](c->in[0]->data, from, 1, &v);
      if (c->out[0]->dtype == OX_I8) {
        ((uint8_t *)c->out[0]->data)[to] = ox_quantize_byte(q, v);
      } else {
        v *= q.scale;
        cv->store_f32[c->out[0]->dtype](&v, c->out[0]->data, to, 1, NULL);
      }
    }
  }
  return NULL;
}

/* ---- QOrderedGelu: a table of 256 results ---- */

typedef struct {
  int64_t order_X, order_Y, axis;
  float epsilon;
} ordered_attrs;
static const ox_attr_def gelu_rows[] = {OX_ATTR_INT(ordered_attrs, order_X, OX_ORDER_ROW),
                                        OX_ATTR_INT(ordered_attrs, order_Y, OX_ORDER_ROW)};

static ox_status *infer_gelu(ox_infer_ctx *c) {
  OX_TRY(check_scales(c, 6));
  return ox_infer_same_as_input(c);
}

static ox_status *prepare_gelu(ox_kernel_ctx *c) {
  c->n_stages = 2, c->n_tiles[0] = 1, c->shared_bytes = 256;
  c->n_tiles[1] = ox_tile_count(ox_shape_count(&c->in[0]->shape), OX_TILE_CHEAP);
  return NULL;
}

static ox_status *run_gelu(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)scratch;
  uint8_t *table = c->shared;
  int64_t begin, end;
  for (int i = 0; i < 256 && stage == 0; i++) {
    double x = (double)ox_dequantize_byte(scale_at(c, 1), (uint8_t)i);
    table[i] = ox_quantize_byte(scale_at(c, 2), (float)(x * 0.5 * erfc(-x / 1.41421356237309504880)));
  }
  if (stage == 0) return NULL;
  ox_tile_span(tiles, OX_TILE_CHEAP, ox_shape_count(&c->in[0]->shape), &begin, &end);
  for (int64_t i = begin; i < end; i++) ((uint8_t *)c->out[0]->data)[i] = table[((const uint8_t *)c->in[0]->data)[i]];
  return NULL;
}

/* ---- QOrderedLayerNormalization ---- */

enum { X, X_SCALE, GAMMA, BETA, Y_SCALE };
static const ox_attr_def layer_rows[] = {
    OX_ATTR_INT(ordered_attrs, order_X, OX_ORDER_ROW), OX_ATTR_INT(ordered_attrs, order_Y, OX_ORDER_ROW),
    OX_ATTR_INT_IN(ordered_attrs, axis, -1, OX_AXIS_RANGE), OX_ATTR_FLOAT(ordered_attrs, epsilon, 1e-5f)};

static ox_status *infer_layer(ox_infer_ctx *c) {
  static const uint8_t required[] = {X, X_SCALE, GAMMA, Y_SCALE};
  const ordered_attrs *a = c->attrs;
  OX_TRY(ox_qparam_required(c, required, OX_COUNT(required)));
  const ox_shape *x = &c->in[X]->shape;
  int64_t batch, rows, cols;
  int k;
  ox_matrix_sizes(x, &batch, &rows, &cols);
  if (a->order_X != a->order_Y)
    return ox_fail(OX_INVALID_MODEL, "%s: order_X is %lld, order_Y %lld", c->op, (long long)a->order_X,
                   (long long)a->order_Y);
  if (x->rank >= 0 && (!ox_axis_ok(a->axis, x->rank, &k) || k != x->rank - 1))
    return ox_fail(OX_INVALID_MODEL, "%s: axis %lld of rank %d, wanted the last one", c->op, (long long)a->axis,
                   x->rank);
  OX_TRY(ox_matrix_order_ok(c->op, a->order_X, rows, cols));
  OX_TRY(ox_infer_shape_is(c, GAMMA, 1, &cols));
  OX_TRY(ox_infer_shape_is(c, BETA, 1, &cols));
  OX_TRY(check_scales(c, 1u << X_SCALE | 1u << Y_SCALE));
  return ox_infer_same_as_input(c);
}

static ox_status *run_layer(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage;
  const ordered_attrs *a = c->attrs;
  const ox_convert *cv = ox_convert_select(c->isa);
  ox_qparam from = scale_at(c, X_SCALE), to = scale_at(c, Y_SCALE);
  int64_t batch, rows, cols;
  ox_matrix_sizes(&c->in[X]->shape, &batch, &rows, &cols);
  float *x = scratch, *gamma = x + cols;
  for (int64_t t = tiles.begin; t < tiles.end; t++) {
    int64_t base = t / rows * rows * cols, r = t % rows;
    for (int64_t k = 0; k < cols; k++)
      x[k] = ox_dequantize_byte(from,
                                ((const uint8_t *)c->in[X]->data)[base + ox_matrix_at(a->order_X, rows, cols, r, k)]);
    ox_moments m = ox_norm_moments(ox_norm_select(c->isa), x, (size_t)cols);
    double factor = 1 / sqrt(m.variance + (double)a->epsilon);
    cv->load_f32[c->in[GAMMA]->dtype](c->in[GAMMA]->data, 0, (size_t)cols, gamma);
    for (int64_t k = 0; k < cols; k++) x[k] = (float)(((double)x[k] - m.mean) * factor * (double)gamma[k]);
    if (ox_ctx_has(c, BETA)) {
      cv->load_f32[c->in[BETA]->dtype](c->in[BETA]->data, 0, (size_t)cols, gamma);
      for (int64_t k = 0; k < cols; k++) x[k] += gamma[k];
    }
    for (int64_t k = 0; k < cols; k++)
      ((uint8_t *)c->out[0]->data)[base + ox_matrix_at(a->order_Y, rows, cols, r, k)] = ox_quantize_byte(to, x[k]);
  }
  return NULL;
}

#define MS .domain = "com.microsoft", .since = 1
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "QuantizeWithOrder", MS, .types = {HALVES, F32}, .min_in = 2, .max_in = 2,
               OX_ATTRS(quantize_rows), .attrs_bytes = sizeof(order_attrs), .infer = infer_quantize),
     OX_KERNEL(.prepare = prepare_rows, .run = run_order)},
    {OX_SCHEMA(.name = "DequantizeWithOrder", MS, .types = {I8, F32}, .min_in = 2, .max_in = 2,
               OX_ATTRS(dequantize_rows), .attrs_bytes = sizeof(order_attrs), .infer = infer_dequantize),
     OX_KERNEL(.prepare = prepare_rows, .run = run_order)},
    {OX_SCHEMA(.name = "QOrderedGelu", MS, .types = {I8, F32, F32}, .min_in = 3, .max_in = 3, OX_ATTRS(gelu_rows),
               .attrs_bytes = sizeof(ordered_attrs), .infer = infer_gelu),
     OX_KERNEL(.prepare = prepare_gelu, .run = run_gelu)},
    {OX_SCHEMA(.name = "QOrderedLayerNormalization", MS, .types = {I8, F32, HALVES, HALVES, F32}, .vars = "..TT",
               .min_in = 3, .max_in = 5, OX_ATTRS(layer_rows), .attrs_bytes = sizeof(ordered_attrs),
               .infer = infer_layer),
     OX_KERNEL(.prepare = prepare_rows, .run = run_layer)},
};
const ox_op_set ox_ops_quant_order = {ops, OX_COUNT(ops)};
