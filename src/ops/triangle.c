/* SPDX-License-Identifier: Apache-2.0
 * ops/triangle.c - Trilu and ReverseSequence: row-wise rearrangements that keep the shape. */
#include <string.h>

#include "ops/move/deferred.h"

/* ---- Trilu ---- */

typedef struct {
  int64_t upper;
} trilu_attrs;
static const ox_attr_def trilu_attr_defs[] = {OX_ATTR_INT(trilu_attrs, upper, 1)};

static ox_status *trilu_infer(ox_infer_ctx *c) {
  if (ox_infer_has(c, 0) && c->in[0]->shape.rank >= 0 && c->in[0]->shape.rank < 2)
    return ox_fail(OX_SHAPE_MISMATCH, "Trilu: input has rank %d, wanted 2 or more", c->in[0]->shape.rank);
  return ox_infer_same_as_input(c);
}

static int64_t row_tiles(const ox_kernel_ctx *c, int dims, int64_t *rows) {
  const ox_shape *s = &c->in[0]->shape;
  *rows = ox_shape_span(s, 0, dims);
  return ox_move_tiles(ox_shape_count(s) * (ox_dtype_bits(c->in[0]->dtype) / 8), *rows);
}

static ox_status *trilu_prepare(ox_kernel_ctx *c) {
  int64_t rows;
  return ox_ctx_plan(c, row_tiles(c, c->in[0]->shape.rank - 1, &rows), 0);
}

static ox_status *trilu_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  const trilu_attrs *a = c->attrs;
  const ox_shape *s = &c->in[0]->shape;
  int64_t rows, n_tiles = row_tiles(c, s->rank - 1, &rows), m = s->dim[s->rank - 2], n = s->dim[s->rank - 1], k = 0;
  int64_t elem = ox_dtype_bits(c->in[0]->dtype) / 8;
  if (!rows || !n) return NULL;
  if (ox_ctx_has(c, 1)) {
    if (ox_shape_count(&c->in[1]->shape) != 1) return ox_fail(OX_SHAPE_MISMATCH, "Trilu: k is no scalar");
    k = ox_int_at(c->in[1], 0);
  }
  k = OX_MIN(OX_MAX(k, -m - 1), n + 1);
  ox_range u = ox_units_of(tiles, n_tiles, rows);
  for (int64_t r = u.begin; r < u.end; r++) {
    int64_t cut = OX_MIN(OX_MAX(r % m + k + (a->upper ? 0 : 1), 0), n); /* upper keeps [cut, n), lower [0, cut) */
    char *out = (char *)c->out[0]->data + r * n * elem;
    const char *in = (const char *)c->in[0]->data + r * n * elem;
    int64_t from = a->upper ? cut : 0, to = a->upper ? n : cut;
    if (in != out && from < to) memcpy(out + from * elem, in + from * elem, (size_t)((to - from) * elem));
    if (from > 0) memset(out, 0, (size_t)(from * elem));
    if (to < n) memset(out + to * elem, 0, (size_t)((n - to) * elem));
  }
  return NULL;
}

/* ---- ReverseSequence ---- */

typedef struct {
  int64_t batch_axis, time_axis;
} reverse_attrs;
static const ox_attr_def reverse_attr_defs[] = {OX_ATTR_INT_IN(reverse_attrs, batch_axis, 1, OX_AXIS_RANGE),
                                                OX_ATTR_INT_IN(reverse_attrs, time_axis, 0, OX_AXIS_RANGE)};

static ox_status *reverse_infer(ox_infer_ctx *c) {
  const reverse_attrs *a = c->attrs;
  if (!(a->batch_axis == 0 && a->time_axis == 1) && !(a->batch_axis == 1 && a->time_axis == 0))
    return ox_fail(OX_INVALID_MODEL, "ReverseSequence: batch_axis %lld and time_axis %lld, wanted 0 and 1",
                   (long long)a->batch_axis, (long long)a->time_axis);
  if (ox_infer_has(c, 0) && ox_infer_has(c, 1) && c->in[0]->shape.rank >= 0) {
    const ox_shape *s = &c->in[0]->shape, *lens = &c->in[1]->shape;
    if (s->rank < 2) return ox_fail(OX_SHAPE_MISMATCH, "ReverseSequence: input has rank %d, wanted 2 or more", s->rank);
    int64_t batch = s->dim[a->batch_axis];
    if (lens->rank >= 0 && (lens->rank != 1 || (batch >= 0 && lens->dim[0] >= 0 && lens->dim[0] != batch)))
      return ox_fail(OX_SHAPE_MISMATCH, "ReverseSequence: %lld lengths for a batch of %lld",
                     (long long)ox_shape_count(lens), (long long)batch);
  }
  return ox_infer_same_as_input(c);
}

static ox_status *reverse_prepare(ox_kernel_ctx *c) {
  int64_t rows;
  return ox_ctx_plan(c, row_tiles(c, 2, &rows), 0);
}

static ox_status *reverse_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  const reverse_attrs *a = c->attrs;
  const ox_shape *s = &c->in[0]->shape;
  int64_t rows, n_tiles = row_tiles(c, 2, &rows),
                inner = ox_shape_span(s, 2, s->rank) * (ox_dtype_bits(c->in[0]->dtype) / 8);
  ox_range u = ox_units_of(tiles, n_tiles, rows);
  for (int64_t r = u.begin; r < u.end; r++) {
    int64_t at[2] = {r / s->dim[1], r % s->dim[1]}, t = at[a->time_axis], b = at[a->batch_axis];
    int64_t len = ox_int_at(c->in[1], b), from = t < len ? len - 1 - t : t;
    if (len < 0 || len > s->dim[a->time_axis])
      return ox_fail(OX_INVALID_ARGUMENT, "ReverseSequence: length %lld of batch %lld exceeds %lld", (long long)len,
                     (long long)b, (long long)s->dim[a->time_axis]);
    at[a->time_axis] = from;
    if (inner)
      memcpy((char *)c->out[0]->data + r * inner, (const char *)c->in[0]->data + (at[0] * s->dim[1] + at[1]) * inner,
             (size_t)inner);
  }
  return NULL;
}

enum { ANY = OX_T_ALL & ~OX_T_SUBBYTE };
#define TRILU                                                                                           \
  .name = "Trilu", .types = {ANY, OX_BIT(OX_I64)}, .min_in = 1, .max_in = 2, OX_ATTRS(trilu_attr_defs), \
  .attrs_bytes = sizeof(trilu_attrs), .infer = trilu_infer
#define TRILU_KERNEL .inplace = 1, .prepare = trilu_prepare, .run = trilu_run

static const ox_op ops[] = {
    {OX_SCHEMA(TRILU, .since = 14), OX_KERNEL(TRILU_KERNEL)},
    {OX_SCHEMA(TRILU, .domain = "com.microsoft", .since = 1), OX_KERNEL(TRILU_KERNEL)},
    {OX_SCHEMA(.name = "ReverseSequence", .since = 10, .types = {ANY, OX_BIT(OX_I64)}, .min_in = 2, .max_in = 2,
               OX_ATTRS(reverse_attr_defs), .attrs_bytes = sizeof(reverse_attrs), .infer = reverse_infer),
     OX_KERNEL(.prepare = reverse_prepare, .run = reverse_run)},
};
const ox_op_set ox_ops_triangle = {ops, OX_COUNT(ops)};
