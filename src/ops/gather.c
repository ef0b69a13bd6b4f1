/* SPDX-License-Identifier: Apache-2.0
 * ops/gather.c - Gather, GatherElements, GatherND: picking by index. */
#include <string.h>

#include "graph/known.h"
#include "kern/move/gather_scatter.h"
#include "ops/move/deferred.h"

static ox_index index_of(const ox_tensor *t) { return (ox_index){t->data, t->dtype == OX_I64}; }

/* ---- Gather ---- */

typedef struct {
  int64_t axis;
} gather_attrs;
static const ox_attr_def gather_attr_defs[] = {OX_ATTR_INT_IN(gather_attrs, axis, 0, OX_AXIS_RANGE)};

static ox_status *gather_infer(ox_infer_ctx *c) {
  const gather_attrs *a = c->attrs;
  ox_shape s = ox_shape_unknown();
  if (!ox_infer_has(c, 0) || !ox_infer_has(c, 1)) return NULL;
  const ox_shape *data = &c->in[0]->shape, *index = &c->in[1]->shape;
  int axis = 0;
  if (data->rank >= 0 && !ox_axis_ok(a->axis, data->rank, &axis))
    return ox_fail(OX_INVALID_MODEL, "Gather: axis %lld is outside rank %d", (long long)a->axis, data->rank);
  if (data->rank >= 0 && index->rank >= 0) {
    s.rank = data->rank + index->rank - 1;
    if (s.rank > OX_MAX_RANK) return ox_fail(OX_LIMIT, "Gather: rank %d, at most %d", s.rank, OX_MAX_RANK);
    int n = 0;
    for (int i = 0; i < axis; i++) s.dim[n++] = data->dim[i];
    for (int i = 0; i < index->rank; i++) s.dim[n++] = index->dim[i];
    for (int i = axis + 1; i < data->rank; i++) s.dim[n++] = data->dim[i];
  }
  ox_infer_out(c, 0, c->in[0]->dtype, &s);
  return NULL;
}

static const ox_known *gather_known(const ox_known_ctx *c) {
  const ox_known *data = c->in[0], *at = ox_known_in(c, 1);
  int64_t axis = ((const gather_attrs *)c->attrs)->axis, i;
  ox_known_list l = {.n = 0};
  if (!data || data->scalar || !at || (axis != 0 && axis != -1)) return NULL;
  for (uint32_t k = 0; k < at->n; k++) {
    if (!ox_known_number(at, k, &i)) return NULL;
    i = i < 0 ? i + data->n : i;
    if (i < 0 || i >= data->n) return NULL; /* run reports it */
    ox_known_push(&l, data->v[i], data->kind[i]);
  }
  return ox_known_keep(c, data->dtype, at->scalar, &l);
}

static ox_status *gather_prepare(ox_kernel_ctx *c) {
  const gather_attrs *a = c->attrs;
  ox_gather *g = ox_ctx_alloc(c, sizeof *g);
  int64_t outer, dim, inner;
  if (!g) return ox_oom();
  OX_TRY(ox_axis_split(&c->in[0]->shape, a->axis, &outer, &dim, &inner));
  inner *= ox_dtype_bits(c->in[0]->dtype) / 8;
  ox_gather_init(g, outer, dim, inner, ox_shape_count(&c->in[1]->shape));
  if (inner == 0) g->units = 0;
  c->prep = g;
  return ox_ctx_plan(c, ox_move_tiles(g->outer * g->n * g->inner, g->units), 0);
}

static ox_status *gather_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  const ox_gather *g = c->prep;
  ox_index x = index_of(c->in[1]);
  ox_range u = ox_units_of(tiles, ox_move_tiles(g->outer * g->n * g->inner, g->units), g->units);
  return ox_gather_run(g, c->in[0]->data, &x, c->out[0]->data, u.begin, u.end);
}

/* ---- GatherElements ---- */

static ox_status *elements_infer(ox_infer_ctx *c) {
  const gather_attrs *a = c->attrs;
  if (!ox_infer_has(c, 0) || !ox_infer_has(c, 1)) return NULL;
  const ox_shape *data = &c->in[0]->shape, *index = &c->in[1]->shape;
  int axis = 0;
  if (data->rank >= 0 && !ox_axis_ok(a->axis, data->rank, &axis))
    return ox_fail(OX_INVALID_MODEL, "GatherElements: axis %lld is outside rank %d", (long long)a->axis, data->rank);
  if (data->rank >= 0 && index->rank >= 0 && data->rank != index->rank)
    return ox_fail(OX_SHAPE_MISMATCH, "GatherElements: indices have rank %d, the data %d", index->rank, data->rank);
  for (int i = 0; i < data->rank && i < index->rank; i++)
    if (i != axis && data->dim[i] >= 0 && index->dim[i] > data->dim[i])
      return ox_fail(OX_SHAPE_MISMATCH, "GatherElements: indices have dimension %d = %lld, the data %lld", i,
                     (long long)index->dim[i], (long long)data->dim[i]);
  ox_infer_out(c, 0, c->in[0]->dtype, index);
  return NULL;
}

static int64_t elements_bytes(const ox_elements *e) { return e->a * e->k * e->b * (e->elem + 8); }

static ox_status *elements_prepare(ox_kernel_ctx *c) {
  const gather_attrs *a = c->attrs;
  ox_elements *e = ox_ctx_alloc(c, sizeof *e);
  int axis;
  if (!e) return ox_oom();
  if (!ox_axis_ok(a->axis, c->in[0]->shape.rank, &axis)) return ox_fail(OX_INVALID_MODEL, "GatherElements: axis");
  ox_elements_init(e, c->in[0]->shape.rank, c->in[1]->shape.dim, c->in[0]->shape.dim, axis,
                   ox_dtype_bits(c->in[0]->dtype) / 8, false);
  c->prep = e;
  return ox_ctx_plan(c, ox_move_tiles(elements_bytes(e), e->units), 0);
}

static ox_status *elements_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  const ox_elements *e = c->prep;
  ox_index x = index_of(c->in[1]);
  ox_range u = ox_units_of(tiles, ox_move_tiles(elements_bytes(e), e->units), e->units);
  return ox_elements_gather(e, c->in[0]->data, &x, c->out[0]->data, u.begin, u.end);
}

/* ---- GatherND ---- */

typedef struct {
  int64_t batch_dims;
} nd_attrs;
static const ox_attr_def nd_attr_defs[] = {OX_ATTR_INT_IN(nd_attrs, batch_dims, 0, 0, OX_MAX_RANK)};

static ox_status *nd_infer(ox_infer_ctx *c) {
  const nd_attrs *a = c->attrs;
  ox_shape s = ox_shape_unknown();
  if (!ox_infer_has(c, 0) || !ox_infer_has(c, 1)) return NULL;
  const ox_shape *data = &c->in[0]->shape, *index = &c->in[1]->shape;
  int64_t batch = a ? a->batch_dims : 0, last = index->rank > 0 ? index->dim[index->rank - 1] : -1;
  if (index->rank == 0 || data->rank == 0) return ox_fail(OX_SHAPE_MISMATCH, "GatherND: data and indices need rank 1");
  if (data->rank > 0 && index->rank > 0) {
    if (batch < 0 || batch >= OX_MIN(data->rank, index->rank) || (last >= 0 && (last < 1 || last > data->rank - batch)))
      return ox_fail(OX_SHAPE_MISMATCH, "GatherND: %lld indices a tuple and batch_dims %lld do not fit ranks %d and %d",
                     (long long)last, (long long)batch, data->rank, index->rank);
    for (int i = 0; i < batch; i++)
      if (data->dim[i] >= 0 && index->dim[i] >= 0 && data->dim[i] != index->dim[i])
        return ox_fail(OX_SHAPE_MISMATCH, "GatherND: batch dimension %d is %lld in data, %lld in indices", i,
                       (long long)data->dim[i], (long long)index->dim[i]);
  }
  if (data->rank > 0 && last >= 0) {
    int from = (int)(batch + last);
    s.rank = index->rank - 1 + data->rank - from;
    if (s.rank > OX_MAX_RANK) return ox_fail(OX_LIMIT, "GatherND: rank %d, at most %d", s.rank, OX_MAX_RANK);
    for (int i = 0; i < index->rank - 1; i++) s.dim[i] = index->dim[i];
    for (int i = from; i < data->rank; i++) s.dim[index->rank - 1 + i - from] = data->dim[i];
  }
  ox_infer_out(c, 0, c->in[0]->dtype, &s);
  return NULL;
}

/* Rows of |inner| bytes, one per tuple of |k| indices. */
typedef struct nd_plan {
  int64_t rows, per_batch, batch_bytes, inner, k;
  int64_t dim[OX_MAX_RANK], stride[OX_MAX_RANK]; /* of the data behind the batch dimensions; strides in bytes */
} nd_plan;

static ox_status *nd_prepare(ox_kernel_ctx *c) {
  const nd_attrs *a = c->attrs;
  const ox_shape *data = &c->in[0]->shape, *index = &c->in[1]->shape;
  int batch = a ? (int)a->batch_dims : 0;
  int64_t elem = ox_dtype_bits(c->in[0]->dtype) / 8;
  nd_plan *p = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  p->k = index->dim[index->rank - 1];
  p->rows = ox_shape_span(index, 0, index->rank - 1);
  p->per_batch = ox_shape_span(index, batch, index->rank - 1);
  p->batch_bytes = ox_shape_span(data, batch, data->rank) * elem;
  p->inner = ox_shape_span(data, batch + (int)p->k, data->rank) * elem;
  for (int i = 0; i < p->k; i++) {
    p->dim[i] = data->dim[batch + i];
    p->stride[i] = ox_shape_span(data, batch + i + 1, data->rank) * elem;
  }
  c->prep = p;
  return ox_ctx_plan(c, ox_move_tiles(p->rows * (p->inner + p->k * 8), p->rows), 0);
}

static ox_status *nd_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  const nd_plan *p = c->prep;
  ox_index x = index_of(c->in[1]);
  ox_range u = ox_units_of(tiles, ox_move_tiles(p->rows * (p->inner + p->k * 8), p->rows), p->rows);
  for (int64_t r = u.begin; r < u.end; r++) {
    int64_t at = r / p->per_batch * p->batch_bytes;
    for (int64_t i = 0; i < p->k; i++) {
      int64_t v = ox_index_in(&x, r * p->k + i, p->dim[i]);
      if (v < 0) return ox_index_error("GatherND", &x, r * p->k + i, p->dim[i]);
      at += v * p->stride[i];
    }
    if (p->inner) memcpy((char *)c->out[0]->data + r * p->inner, (const char *)c->in[0]->data + at, (size_t)p->inner);
  }
  return NULL;
}

enum { ANY = OX_T_ALL & ~OX_T_SUBBYTE };

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "Gather", .since = 1, .types = {ANY, OX_T_INDEX}, .min_in = 2, .max_in = 2,
               OX_ATTRS(gather_attr_defs), .attrs_bytes = sizeof(gather_attrs), .infer = gather_infer,
               .known = gather_known),
     OX_KERNEL(.unaligned_in = 1, .prepare = gather_prepare, .run = gather_run)},
    {OX_SCHEMA(.name = "GatherElements", .since = 11, .types = {ANY, OX_T_INDEX}, .min_in = 2, .max_in = 2,
               OX_ATTRS(gather_attr_defs), .attrs_bytes = sizeof(gather_attrs), .infer = elements_infer),
     OX_KERNEL(.unaligned_in = 1, .prepare = elements_prepare, .run = elements_run)},
    {OX_SCHEMA(.name = "GatherND", .since = 11, .types = {ANY, OX_BIT(OX_I64)}, .min_in = 2, .max_in = 2,
               OX_ATTRS(nd_attr_defs), .attrs_bytes = sizeof(nd_attrs), .infer = nd_infer),
     OX_KERNEL(.unaligned_in = 1, .prepare = nd_prepare, .run = nd_run)},
    /* its padding_idx and scale_grad_by_freq concern gradients only */
    {OX_SCHEMA(.name = "TorchEmbedding", .domain = "com.microsoft", .since = 1,
               .types = {OX_T_NUMBER, OX_BIT(OX_I64), OX_BIT(OX_I64), OX_BIT(OX_BOOL)}, .min_in = 2, .max_in = 4,
               OX_ATTRS(gather_attr_defs), .attrs_bytes = sizeof(gather_attrs), .infer = gather_infer),
     OX_KERNEL(.unaligned_in = 1, .prepare = gather_prepare, .run = gather_run)},
    {OX_SCHEMA(.name = "GatherND", .domain = "com.microsoft", .since = 1, .types = {ANY, OX_T_INDEX}, .min_in = 2,
               .max_in = 2, .infer = nd_infer),
     OX_KERNEL(.unaligned_in = 1, .prepare = nd_prepare, .run = nd_run)},
};
const ox_op_set ox_ops_gather = {ops, OX_COUNT(ops)};
