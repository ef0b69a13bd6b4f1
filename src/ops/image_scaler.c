/* SPDX-License-Identifier: Apache-2.0
 * ops/image_scaler.c - ImageScaler and GivenTensorFill, experimental operators of old models. */
#include <string.h>

#include "base/cksize.h"
#include "kern/quant/convert.h"
#include "kern/unary/unary.h"
#include "ops/move/number.h"
#include "ops/shared/check.h"
#include "ops/shared/tiles.h"

/* ---- ImageScaler: each channel times the scale, plus its bias ---- */

typedef struct {
  ox_floats bias;
  float scale;
} scaler_attrs;
static const ox_attr_def scaler_rows[] = {OX_ATTR_FLOATS(scaler_attrs, bias), OX_ATTR_FLOAT(scaler_attrs, scale, 1)};

static ox_status *scaler_infer(ox_infer_ctx *c) {
  const scaler_attrs *a = c->attrs;
  int64_t channels = ox_infer_dim(c, 0, 1);
  OX_TRY(ox_infer_shape_is(c, 0, 4, (int64_t[]){-1, -1, -1, -1}));
  if (a->bias.n && channels >= 0 && a->bias.n != (size_t)channels)
    return ox_fail(OX_SHAPE_MISMATCH, "ImageScaler: %zu biases for %lld channels", a->bias.n, (long long)channels);
  return ox_infer_same_as_input(c);
}

static ox_status *scaler_prepare(ox_kernel_ctx *c) { return ox_plan_elements(c, OX_TILE_CHEAP); }

static ox_status *scaler_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  const scaler_attrs *a = c->attrs;
  const ox_shape *x = &c->in[0]->shape;
  const ox_convert *cv = ox_convert_select(c->isa);
  uint32_t t = c->in[0]->dtype;
  int64_t begin, end, plane = x->dim[2] * x->dim[3];
  ox_tile_span(tiles, OX_TILE_CHEAP, ox_shape_count(x), &begin, &end);
  for (int64_t at = begin, n; at < end; at += n) {
    double v[OX_CONVERT_BLOCK], bias = a->bias.n ? (double)a->bias.v[at / plane % x->dim[1]] : 0;
    n = OX_MIN(OX_MIN(end - at, plane - at % plane), OX_CONVERT_BLOCK);
    cv->load_f64[t](c->in[0]->data, (size_t)at, (size_t)n, v);
    for (int64_t i = 0; i < n; i++) v[i] = v[i] * (double)a->scale + bias;
    cv->store_f64[t](v, c->out[0]->data, (size_t)at, (size_t)n, NULL);
  }
  return NULL;
}

/* ---- GivenTensorFill: the values, in a shape of attributes or of the input ---- */

typedef struct {
  ox_floats values;
  ox_ints shape, extra_shape;
  int64_t input_as_shape;
} fill_attrs;
static const ox_attr_def fill_rows[] = {OX_ATTR_FLOATS(fill_attrs, values), OX_ATTR_INTS(fill_attrs, shape),
                                        OX_ATTR_INTS(fill_attrs, extra_shape),
                                        OX_ATTR_INT(fill_attrs, input_as_shape, 0)};

static ox_status *append(ox_shape *s, int64_t dim) {
  if (s->rank == OX_MAX_RANK) return ox_fail(OX_LIMIT, "GivenTensorFill: more than %d dimensions", OX_MAX_RANK);
  if (dim < 0) return ox_fail(OX_INVALID_MODEL, "GivenTensorFill: dimension %lld", (long long)dim);
  s->dim[s->rank++] = dim;
  return NULL;
}

/* *known: false if it is an input's content that is not there yet. */
static ox_status *fill_shape(const ox_infer_ctx *c, const fill_attrs *a, ox_shape *out, bool *known) {
  *out = ox_shape_scalar(), *known = true;
  if (!ox_infer_has(c, 0)) {
    for (size_t i = 0; i < a->shape.n; i++) OX_TRY(append(out, a->shape.v[i]));
  } else if (a->input_as_shape) {
    int64_t n = ox_shape_count(&c->in[0]->shape);
    *known = n >= 0 && c->in_data[0] && (c->in_data[0]->data || n == 0);
    for (int64_t i = 0; *known && i < n; i++) OX_TRY(append(out, ox_integer_at(c->in_data[0], i)));
  } else {
    *out = c->in[0]->shape, *known = ox_shape_known(out);
  }
  for (size_t i = 0; *known && i < a->extra_shape.n; i++) OX_TRY(append(out, a->extra_shape.v[i]));
  return NULL;
}

static ox_status *fill_infer(ox_infer_ctx *c) {
  const fill_attrs *a = c->attrs;
  ox_shape s;
  bool known;
  OX_TRY(fill_shape(c, a, &s, &known));
  if (known && ox_shape_count(&s) != (int64_t)a->values.n) {
    char text[OX_SHAPE_TEXT];
    return ox_fail(OX_INVALID_MODEL, "GivenTensorFill: %zu values for shape %s", a->values.n, ox_shape_text(&s, text));
  }
  uint32_t dtype = ox_infer_has(c, 0) ? c->in[0]->dtype : OX_F32;
  ox_infer_out(c, 0, dtype, known ? &s : NULL);
  return NULL;
}

static ox_status *fill_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)tiles, (void)scratch;
  const ox_floats *v = &((const fill_attrs *)c->attrs)->values;
  if (v->n) ox_convert_select(c->isa)->store_f32[c->out[0]->dtype](v->v, c->out[0]->data, 0, v->n, NULL);
  return NULL;
}

#define FLOATS (OX_BIT(OX_F16) | OX_BIT(OX_F32) | OX_BIT(OX_F64))
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "ImageScaler", .since = 1, .types = {FLOATS}, .min_in = 1, .max_in = 1, OX_ATTRS(scaler_rows),
               .attrs_bytes = sizeof(scaler_attrs), .infer = scaler_infer),
     OX_KERNEL(.inplace = 1, .prepare = scaler_prepare, .run = scaler_run)},
    {OX_SCHEMA(.name = "GivenTensorFill", .since = 1, .types = {FLOATS}, .min_in = 0, .max_in = 1, OX_ATTRS(fill_rows),
               .attrs_bytes = sizeof(fill_attrs), .value_in = 1, .infer = fill_infer),
     OX_KERNEL(.run = fill_run)},
};
const ox_op_set ox_ops_image_scaler = {ops, OX_COUNT(ops)};
