/* SPDX-License-Identifier: Apache-2.0
 * ops/shape_op.c - Shape and Size: a tensor's dimensions, and their product, as data. */
#include <string.h>

#include "base/macros.h"
#include "graph/known.h"
#include "graph/op_def.h"

typedef struct {
  int64_t start, end;
  bool has_end;
} shape_attrs;
static const ox_attr_def shape_attr_defs[] = {OX_ATTR_INT(shape_attrs, start, 0), OX_ATTR_INT_HAS(shape_attrs, end, 0)};

/* The dimensions [begin, end) that Shape gives. */
static void shape_span(const shape_attrs *a, int rank, int *out_begin, int *out_end) {
  int64_t begin = 0, end = rank;
  if (a) {
    begin = a->start < 0 ? a->start + rank : a->start;
    if (a->has_end) end = a->end < 0 ? a->end + rank : a->end;
  }
  begin = OX_MIN(OX_MAX(begin, 0), rank), end = OX_MIN(OX_MAX(end, 0), rank);
  *out_begin = (int)begin, *out_end = (int)OX_MAX(begin, end);
}

static ox_status *shape_infer(ox_infer_ctx *c) {
  ox_shape s = {.rank = 1, .dim = {-1}};
  if (ox_infer_has(c, 0) && c->in[0]->shape.rank >= 0) {
    int begin, end;
    shape_span(c->attrs, c->in[0]->shape.rank, &begin, &end);
    s.dim[0] = end - begin;
  }
  ox_infer_out(c, 0, OX_I64, &s);
  return NULL;
}

static const ox_known *shape_known(const ox_known_ctx *c) {
  const ox_type *t = c->types[0];
  ox_known_list l = {.n = 0};
  int begin, end;
  if (t->kind != OX_TENSOR || t->shape.rank < 0) return NULL;
  shape_span(c->attrs, t->shape.rank, &begin, &end);
  for (int i = begin; i < end; i++) ox_known_push_dim(&l, t->shape.dim[i]);
  return ox_known_keep(c, OX_I64, false, &l);
}

static ox_status *shape_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)tiles, (void)scratch;
  int begin, end;
  shape_span(c->attrs, c->in[0]->shape.rank, &begin, &end);
  if (begin < end) memcpy(c->out[0]->data, c->in[0]->shape.dim + begin, (size_t)(end - begin) * sizeof(int64_t));
  return NULL;
}

static ox_status *size_infer(ox_infer_ctx *c) {
  ox_shape s = ox_shape_scalar();
  ox_infer_out(c, 0, OX_I64, &s);
  return NULL;
}

static const ox_known *size_known(const ox_known_ctx *c) {
  int64_t n = c->types[0]->kind == OX_TENSOR ? ox_shape_count(&c->types[0]->shape) : -1;
  ox_known_list l = {.n = 0};
  if (n < 0) return NULL;
  ox_known_push(&l, n, OX_KNOWN_NUMBER);
  return ox_known_keep(c, OX_I64, true, &l);
}

static ox_status *size_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)tiles, (void)scratch;
  *(int64_t *)c->out[0]->data = ox_shape_count(&c->in[0]->shape);
  return NULL;
}

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "Shape", .since = 1, .min_in = 1, .max_in = 1, .traits = OX_SHAPE_ONLY, .infer = shape_infer,
               .known = shape_known),
     OX_KERNEL(.run = shape_run)},
    {OX_SCHEMA(.name = "Shape", .since = 15, .min_in = 1, .max_in = 1, OX_ATTRS(shape_attr_defs),
               .attrs_bytes = sizeof(shape_attrs), .traits = OX_SHAPE_ONLY, .infer = shape_infer, .known = shape_known),
     OX_KERNEL(.run = shape_run)},
    {OX_SCHEMA(.name = "Size", .since = 1, .min_in = 1, .max_in = 1, .traits = OX_SHAPE_ONLY, .infer = size_infer,
               .known = size_known),
     OX_KERNEL(.run = size_run)},
};
const ox_op_set ox_ops_shape_op = {ops, OX_COUNT(ops)};
