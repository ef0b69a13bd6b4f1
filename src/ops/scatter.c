/* SPDX-License-Identifier: Apache-2.0
 * ops/scatter.c - Scatter, ScatterElements, ScatterND, TensorScatter: a copy of the data with some of it replaced.
 * Stage 0 copies (nothing to do in place), stage 1 writes the updates. Two updates that may have the same target are
 * written by one tile, in the order of the indices. */
#include <string.h>

#include "kern/move/sub_byte.h"
#include "ops/move/scatter_base.h"
#include "ops/move/scatter_reduce.h"

static ox_index index_of(const ox_tensor *t) { return (ox_index){t->data, t->dtype == OX_I64}; }

/* ---- ScatterElements ---- */

typedef struct {
  int64_t axis;
  const char *reduction;
} scatter_attrs;
static const ox_attr_def scatter_attr_defs[] = {OX_ATTR_INT_IN(scatter_attrs, axis, 0, OX_AXIS_RANGE)};
static const ox_attr_def scatter16_attr_defs[] = {OX_ATTR_INT_IN(scatter_attrs, axis, 0, OX_AXIS_RANGE),
                                                  OX_ATTR_STR(scatter_attrs, reduction, "none")};

static ox_status *scatter_infer(ox_infer_ctx *c) {
  const scatter_attrs *a = c->attrs;
  OX_TRY(ox_infer_same_as_input(c));
  if (!ox_infer_has(c, 0) || !ox_infer_has(c, 1) || !ox_infer_has(c, 2)) return NULL;
  const ox_shape *data = &c->in[0]->shape, *index = &c->in[1]->shape, *up = &c->in[2]->shape;
  int axis = 0;
  if (data->rank >= 0 && !ox_axis_ok(a->axis, data->rank, &axis))
    return ox_fail(OX_INVALID_MODEL, "ScatterElements: axis %lld is outside rank %d", (long long)a->axis, data->rank);
  if (data->rank < 0 || index->rank < 0 || up->rank < 0) return NULL;
  if (index->rank != data->rank || up->rank != data->rank)
    return ox_fail(OX_SHAPE_MISMATCH, "ScatterElements: data, indices, updates have ranks %d, %d, %d", data->rank,
                   index->rank, up->rank);
  for (int i = 0; i < data->rank; i++) {
    if (index->dim[i] >= 0 && up->dim[i] >= 0 && index->dim[i] != up->dim[i])
      return ox_fail(OX_SHAPE_MISMATCH, "ScatterElements: dimension %d is %lld in indices, %lld in updates", i,
                     (long long)index->dim[i], (long long)up->dim[i]);
    if (i != axis && data->dim[i] >= 0 && index->dim[i] > data->dim[i])
      return ox_fail(OX_SHAPE_MISMATCH, "ScatterElements: dimension %d is %lld in indices, %lld in data", i,
                     (long long)index->dim[i], (long long)data->dim[i]);
  }
  return NULL;
}

typedef struct elements_plan {
  ox_elements e;
  ox_combine combine;
  int64_t n_tiles;
} elements_plan;

static ox_status *scatter_prepare(ox_kernel_ctx *c) {
  const scatter_attrs *a = c->attrs;
  elements_plan *p = ox_ctx_alloc(c, sizeof *p);
  int axis;
  if (!p) return ox_oom();
  if (!ox_axis_ok(a->axis, c->in[0]->shape.rank, &axis)) return ox_fail(OX_INVALID_MODEL, "ScatterElements: axis");
  OX_TRY(ox_scatter_reduce_find(c, "ScatterElements", a->reduction, &p->combine));
  ox_elements_init(&p->e, c->in[0]->shape.rank, c->in[1]->shape.dim, c->in[0]->shape.dim, axis,
                   ox_dtype_bits(c->in[0]->dtype) / 8, true);
  p->n_tiles = ox_move_tiles(p->e.a * p->e.k * p->e.b * (p->e.elem + 8), p->e.units);
  if (p->combine.each && c->in[0]->dtype == OX_STRING) p->n_tiles = OX_MIN(p->n_tiles, 1);
  c->prep = p;
  ox_scatter_book(c, p->n_tiles);
  return NULL;
}

static ox_status *scatter_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)scratch;
  const elements_plan *p = c->prep;
  if (stage == 0) return ox_scatter_copy(c, tiles), NULL;
  ox_index x = index_of(c->in[1]);
  ox_range u = ox_units_of(tiles, p->n_tiles, p->e.units);
  ox_scatter_strings strings = {c, false};
  ox_elements e = p->e;
  e.stop = ox_ctx_stop(c);
  OX_TRY(ox_elements_scatter(&e, c->out[0]->data, &x, c->in[2]->data, &p->combine, &strings, u.begin, u.end));
  return strings.failed ? ox_oom() : NULL;
}

/* ---- ScatterND ---- */

typedef struct {
  const char *reduction;
} nd_attrs;
static const ox_attr_def nd_attr_defs[] = {OX_ATTR_STR(nd_attrs, reduction, "none")};

static ox_status *nd_infer(ox_infer_ctx *c) {
  OX_TRY(ox_infer_same_as_input(c));
  if (!ox_infer_has(c, 0) || !ox_infer_has(c, 1) || !ox_infer_has(c, 2)) return NULL;
  const ox_shape *data = &c->in[0]->shape, *index = &c->in[1]->shape, *up = &c->in[2]->shape;
  if (index->rank == 0 || data->rank == 0) return ox_fail(OX_SHAPE_MISMATCH, "ScatterND: data and indices need rank 1");
  if (data->rank < 0 || index->rank < 0) return NULL;
  int64_t k = index->dim[index->rank - 1];
  if (k < 0) return NULL;
  if (k > data->rank)
    return ox_fail(OX_SHAPE_MISMATCH, "ScatterND: %lld indices a tuple, the data has rank %d", (long long)k,
                   data->rank);
  ox_shape want = {.rank = index->rank - 1 + data->rank - (int)k};
  if (up->rank < 0) return NULL;
  if (want.rank > OX_MAX_RANK) return ox_fail(OX_LIMIT, "ScatterND: rank %d, at most %d", want.rank, OX_MAX_RANK);
  for (int i = 0; i < index->rank - 1; i++) want.dim[i] = index->dim[i];
  for (int i = (int)k; i < data->rank; i++) want.dim[index->rank - 1 + i - k] = data->dim[i];
  bool fits = up->rank == want.rank;
  for (int i = 0; fits && i < want.rank; i++) fits = up->dim[i] < 0 || want.dim[i] < 0 || up->dim[i] == want.dim[i];
  char t[OX_SHAPE_TEXT], w[OX_SHAPE_TEXT];
  return fits ? NULL
              : ox_fail(OX_SHAPE_MISMATCH, "ScatterND: updates have shape %s, wanted %s", ox_shape_text(up, t),
                        ox_shape_text(&want, w));
}

/* |rows| tuples of |k| indices; the slices they name are cut into |pieces|, each with one writer. */
typedef struct nd_plan {
  int64_t rows, k, inner, elem, pieces;
  ox_combine combine;
  int64_t dim[OX_MAX_RANK], stride[OX_MAX_RANK]; /* of the data; strides in elements */
} nd_plan;

static ox_status *nd_prepare(ox_kernel_ctx *c) {
  const nd_attrs *a = c->attrs;
  const ox_shape *data = &c->in[0]->shape, *index = &c->in[1]->shape;
  nd_plan *p = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  OX_TRY(ox_scatter_reduce_find(c, "ScatterND", a ? a->reduction : NULL, &p->combine));
  p->k = index->dim[index->rank - 1], p->rows = ox_shape_span(index, 0, index->rank - 1);
  p->elem = ox_dtype_bits(c->in[0]->dtype) / 8, p->inner = ox_shape_span(data, (int)p->k, data->rank);
  for (int i = 0; i < p->k; i++) p->dim[i] = data->dim[i], p->stride[i] = ox_shape_span(data, i + 1, data->rank);
  p->pieces = ox_move_tiles(p->rows * p->inner * p->elem, p->inner * p->elem / 1024);
  if (p->combine.each && c->in[0]->dtype == OX_STRING) p->pieces = OX_MIN(p->pieces, 1);
  c->prep = p;
  ox_scatter_book(c, p->pieces);
  return NULL;
}

static ox_status *nd_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)scratch;
  const nd_plan *p = c->prep;
  if (stage == 0) return ox_scatter_copy(c, tiles), NULL;
  ox_index x = index_of(c->in[1]);
  ox_range u = ox_units_of(tiles, p->pieces, p->inner);
  ox_scatter_strings strings = {c, false};
  for (int64_t r = 0; r < p->rows; r++) {
    int64_t at = u.begin;
    for (int64_t i = 0; i < p->k; i++) {
      int64_t v = ox_index_in(&x, r * p->k + i, p->dim[i]);
      if (v < 0) return ox_index_error("ScatterND", &x, r * p->k + i, p->dim[i]);
      at += v * p->stride[i];
    }
    if (u.begin == u.end) continue;
    char *to = (char *)c->out[0]->data + at * p->elem;
    const char *from = (const char *)c->in[2]->data + (r * p->inner + u.begin) * p->elem;
    if (p->combine.each)
      ox_combine_run(&p->combine, to, from, u.end - u.begin, &strings);
    else
      memcpy(to, from, (size_t)((u.end - u.begin) * p->elem));
  }
  return strings.failed ? ox_oom() : NULL;
}

/* ---- TensorScatter ---- */

typedef struct {
  int64_t axis;
  const char *mode;
} cache_attrs;
static const ox_attr_def cache_attr_defs[] = {OX_ATTR_INT_IN(cache_attrs, axis, -2, OX_AXIS_RANGE),
                                              OX_ATTR_STR(cache_attrs, mode, "linear")};

static ox_status *cache_infer(ox_infer_ctx *c) {
  const cache_attrs *a = c->attrs;
  OX_TRY(ox_infer_same_as_input(c));
  if (!ox_infer_has(c, 0) || !ox_infer_has(c, 1)) return NULL;
  const ox_shape *past = &c->in[0]->shape, *up = &c->in[1]->shape;
  int axis;
  if (strcmp(a->mode, "linear") != 0 && strcmp(a->mode, "circular") != 0)
    return ox_fail(OX_INVALID_MODEL, "TensorScatter: unknown mode '%s'", a->mode);
  if (past->rank < 0) return NULL;
  if (!ox_axis_ok(a->axis, past->rank, &axis) || axis == 0)
    return ox_fail(OX_INVALID_MODEL, "TensorScatter: axis %lld, rank %d", (long long)a->axis, past->rank);
  bool fits = up->rank < 0 || up->rank == past->rank;
  for (int i = 0; fits && i < up->rank; i++) {
    if (up->dim[i] < 0 || past->dim[i] < 0) continue;
    fits = i == axis ? up->dim[i] <= past->dim[i] : up->dim[i] == past->dim[i];
  }
  if (fits && ox_infer_has(c, 2) && c->in[2]->shape.rank >= 0) {
    const ox_shape *at = &c->in[2]->shape;
    fits = at->rank == 1 && (at->dim[0] < 0 || past->dim[0] < 0 || at->dim[0] == past->dim[0]);
  }
  char t[OX_SHAPE_TEXT], w[OX_SHAPE_TEXT];
  return fits ? NULL
              : ox_fail(OX_SHAPE_MISMATCH, "TensorScatter: the update %s does not fit the cache %s",
                        ox_shape_text(up, t), ox_shape_text(past, w));
}

static ox_status *cache_prepare(ox_kernel_ctx *c) {
  ox_scatter_book(c, ox_move_tiles(ox_shape_count(&c->in[1]->shape) * (ox_dtype_bits(c->in[0]->dtype) / 8),
                                   c->in[1]->shape.dim[0]));
  return NULL;
}

/* Adjacent elements share bytes, so one tile does everything. */
static void copy_packed(unsigned bits, void *out, int64_t to, const void *in, int64_t from, int64_t n) {
  for (int64_t i = 0; i < n; i++) ox_sub_byte_set(out, bits, to + i, ox_sub_byte_get(in, bits, from + i));
}

/* Tiles are shares of the batch. */
static ox_status *cache_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)scratch;
  const cache_attrs *a = c->attrs;
  if (stage == 0) return ox_scatter_copy(c, tiles), NULL;
  const ox_shape *past = &c->in[0]->shape, *up = &c->in[1]->shape;
  int64_t outer, seq, inner, elem = ox_dtype_bits(c->in[0]->dtype) / 8, batch = up->dim[0];
  int axis;
  (void)ox_axis_ok(a->axis, past->rank, &axis);
  OX_TRY(ox_axis_split(up, a->axis, &outer, &seq, &inner));
  if (!outer || !seq || !inner) return NULL;
  bool circular = strcmp(a->mode, "circular") == 0;
  unsigned bits = ox_dtype_bits(c->in[0]->dtype);
  int64_t max = past->dim[axis], per_batch = outer / batch;
  ox_range u = ox_units_of(tiles, ox_move_tiles(outer * seq * inner * elem, batch), batch);
  for (int64_t o = u.begin * per_batch; o < u.end * per_batch; o++) {
    int64_t at = ox_ctx_has(c, 2) ? ((const int64_t *)c->in[2]->data)[o / per_batch] : 0;
    if (at < 0 || (!circular && at > max - seq))
      return ox_fail(OX_INVALID_ARGUMENT, "TensorScatter: write index %lld of batch %lld with %lld rows exceeds %lld",
                     (long long)at, (long long)(o / per_batch), (long long)seq, (long long)max);
    at %= max;
    for (int64_t s = 0; s < seq;) {
      int64_t n = OX_MIN(seq - s, max - at);
      if (bits < 8)
        copy_packed(bits, c->out[0]->data, (o * max + at) * inner, c->in[1]->data, (o * seq + s) * inner, n * inner);
      else
        memcpy((char *)c->out[0]->data + (o * max + at) * inner * elem,
               (const char *)c->in[1]->data + (o * seq + s) * inner * elem, (size_t)(n * inner * elem));
      s += n, at = 0;
    }
  }
  return NULL;
}

enum { ANY = OX_T_ALL & ~OX_T_SUBBYTE };
#define SCATTER                                                                                                   \
  .types = {ANY, OX_T_INDEX, ANY}, .vars = "T.T", .min_in = 3, .max_in = 3, .attrs_bytes = sizeof(scatter_attrs), \
  .infer = scatter_infer
#define SCATTER_KERNEL .inplace = 1, .prepare = scatter_prepare, .run = scatter_run
#define SCATTER_ND \
  .name = "ScatterND", .types = {ANY, OX_BIT(OX_I64), ANY}, .vars = "T.T", .min_in = 3, .max_in = 3, .infer = nd_infer
#define SCATTER_ND_KERNEL .inplace = 1, .prepare = nd_prepare, .run = nd_run

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "Scatter", .since = 9, SCATTER, OX_ATTRS(scatter_attr_defs)), OX_KERNEL(SCATTER_KERNEL)},
    {OX_SCHEMA(.name = "ScatterElements", .since = 11, SCATTER, OX_ATTRS(scatter_attr_defs)),
     OX_KERNEL(SCATTER_KERNEL)},
    {OX_SCHEMA(.name = "ScatterElements", .since = 16, SCATTER, OX_ATTRS(scatter16_attr_defs)),
     OX_KERNEL(SCATTER_KERNEL)},
    {OX_SCHEMA(.since = 11, SCATTER_ND), OX_KERNEL(SCATTER_ND_KERNEL)},
    {OX_SCHEMA(.since = 16, SCATTER_ND, OX_ATTRS(nd_attr_defs), .attrs_bytes = sizeof(nd_attrs)),
     OX_KERNEL(SCATTER_ND_KERNEL)},
    {OX_SCHEMA(.name = "TensorScatter", .since = 24, .types = {OX_T_ALL, OX_T_ALL, OX_BIT(OX_I64)}, .vars = "TT",
               .min_in = 2, .max_in = 3, OX_ATTRS(cache_attr_defs), .attrs_bytes = sizeof(cache_attrs),
               .infer = cache_infer),
     OX_KERNEL(.inplace = 1, .prepare = cache_prepare, .run = cache_run)},
};
const ox_op_set ox_ops_scatter = {ops, OX_COUNT(ops)};
