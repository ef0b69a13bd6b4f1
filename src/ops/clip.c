/* SPDX-License-Identifier: Apache-2.0
 * ops/clip.c - Clip: limits as attributes (versions 1 and 6) or as optional scalar inputs (from 11). */
#include <math.h>
#include <string.h>

#include "graph/node_activation.h"
#include "kern/quant/convert.h"
#include "kern/unary/unary.h"
#include "onyx/onyx.h"
#include "ops/shared/tiles.h"

typedef struct {
  float min, max;
} clip_attrs;

static const ox_attr_def attrs[] = {
    {.name = "min",
     .kind = OX_ATTR_FLOAT_KIND,
     .offset = offsetof(clip_attrs, min),
     .has_offset = OX_NO_FIELD,
     .f = -INFINITY},
    {.name = "max",
     .kind = OX_ATTR_FLOAT_KIND,
     .offset = offsetof(clip_attrs, max),
     .has_offset = OX_NO_FIELD,
     .f = INFINITY},
};

static ox_status *prepare(ox_kernel_ctx *c) {
  for (uint32_t i = 1; i < 3; i++)
    if (ox_ctx_has(c, i) && ox_shape_count(&c->in[i]->shape) != 1)
      return ox_fail(OX_SHAPE_MISMATCH, "Clip: %s must be a scalar, it has %lld elements", i == 1 ? "min" : "max",
                     (long long)ox_shape_count(&c->in[i]->shape));
  return ox_plan_elements(c, OX_TILE_CHEAP);
}

/* The limits as doubles: exact for every type but 64-bit integers. */
static void float_limits(const ox_kernel_ctx *c, const ox_convert *cv, double *limits) {
  const clip_attrs *a = c->attrs;
  limits[0] = a ? (double)a->min : -INFINITY, limits[1] = a ? (double)a->max : INFINITY;
  for (uint32_t i = 1; i < 3; i++)
    if (ox_ctx_has(c, i)) cv->load_f64[c->in[i]->dtype](c->in[i]->data, 0, 1, &limits[i - 1]);
}

/* {low, high} of |bytes| each; absent limits are the type's own. */
static void int_limits(const ox_kernel_ctx *c, size_t bytes, void *limits) {
  bool is_signed = ox_dtype_is_signed(c->in[0]->dtype);
  uint64_t all = ~(uint64_t)0 >> (64 - 8 * bytes), low = is_signed ? (all >> 1) + 1 : 0,
           high = is_signed ? all >> 1 : all;
  memcpy(limits, &low, bytes); /* little-endian */
  memcpy((char *)limits + bytes, &high, bytes);
  for (uint32_t i = 1; i < 3; i++)
    if (ox_ctx_has(c, i)) memcpy((char *)limits + (i - 1) * bytes, c->in[i]->data, bytes);
}

static void run_float(const ox_kernel_ctx *c, int64_t begin, int64_t end) {
  const ox_convert *cv = ox_convert_select(c->isa);
  ox_unary_f32_fn *clip = ox_unary_f32_select(c->isa)->fn[OX_UN_CLIP];
  uint32_t t = c->in[0]->dtype;
  double limits[2];
  float_limits(c, cv, limits);
  float p[2] = {(float)limits[0], (float)limits[1]}, block[OX_CONVERT_BLOCK];
  if (t == OX_F32) {
    clip((const float *)c->in[0]->data + begin, (float *)c->out[0]->data + begin, (size_t)(end - begin), p);
    return;
  }
  if (t == OX_F64) {
    ox_unary_f64_select(c->isa, OX_UN_CLIP)((const double *)c->in[0]->data + begin, (double *)c->out[0]->data + begin,
                                            (size_t)(end - begin), limits);
    return;
  }
  for (int64_t i = begin; i < end; i += OX_CONVERT_BLOCK) {
    size_t n = (size_t)OX_MIN(end - i, OX_CONVERT_BLOCK);
    cv->load_f32[t](c->in[0]->data, (size_t)i, n, block);
    clip(block, block, n, p);
    cv->store_f32[t](block, c->out[0]->data, (size_t)i, n, NULL);
  }
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  const ox_tensor *x = c->in[0];
  int64_t begin, end;
  ox_tile_span(tiles, OX_TILE_CHEAP, ox_shape_count(&x->shape), &begin, &end);
  if (begin >= end) return NULL;
  if (ox_dtype_is_float(x->dtype)) {
    run_float(c, begin, end);
    return NULL;
  }
  size_t bytes = ox_dtype_bits(x->dtype) / 8;
  uint64_t limits[2];
  int_limits(c, bytes, limits);
  ox_unary_int(c->isa, OX_UN_CLIP, (unsigned)bytes, ox_dtype_is_signed(x->dtype))(
      (const char *)x->data + (size_t)begin * bytes, (char *)c->out[0]->data + (size_t)begin * bytes,
      (size_t)(end - begin), limits);
  return NULL;
}

/* Limits that are constant and in order. */
static bool limits(const ox_graph *g, const ox_node *n, ox_activation *a) {
  (void)g, (void)n;
  a->n_params = 2;
  return a->params[0] <= a->params[1];
}

/* The same of inputs. */
static bool input_limits(const ox_graph *g, const ox_node *n, ox_activation *a) {
  a->params[0] = -INFINITY, a->params[1] = INFINITY;
  for (uint32_t i = 1; i < n->n_in && i < 3; i++) {
    const ox_tensor *t = ox_graph_const(g, n->in[i]);
    if (n->in[i] == OX_NONE) continue;
    if (!t || t->kind != OX_TENSOR || !t->data || ox_shape_count(&t->shape) != 1) return false;
    double limit = ox_tensor_element(t, 0);
    a->params[i - 1] = (float)limit;
    if ((double)a->params[i - 1] != limit) return false; /* of a double, or a large integer */
  }
  return limits(g, n, a);
}

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "Clip", .since = 1, .types = {OX_T_FLOAT}, .min_in = 1, .max_in = 1,
               .attrs_bytes = sizeof(clip_attrs), OX_ATTRS(attrs), .infer = ox_infer_same_as_input,
               OX_IS_ACTIVATION("Clip", limits)),
     OX_KERNEL(.inplace = 1, .prepare = prepare, .run = run)},
    {OX_SCHEMA(.name = "Clip", .since = 11, .types = {OX_T_NUMBER}, .vars = "TTT", .min_in = 1, .max_in = 3,
               .infer = ox_infer_same_as_input, OX_IS_ACTIVATION("Clip", input_limits)),
     OX_KERNEL(.inplace = 1, .prepare = prepare, .run = run)},
};
const ox_op_set ox_ops_clip = {ops, OX_COUNT(ops)};
