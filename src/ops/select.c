/* SPDX-License-Identifier: Apache-2.0
 * ops/select.c - NonZero and Compress: how much comes out is known only in the run. */
#include <string.h>

#include "ops/move/deferred.h"

/* ---- NonZero: stage 0 counts by tile, stage 1 asks for the output, stage 2 writes by tile ---- */

static ox_status *nonzero_infer(ox_infer_ctx *c) {
  ox_shape s = {.rank = 2, .dim = {-1, -1}};
  if (ox_infer_has(c, 0) && c->in[0]->shape.rank >= 0) s.dim[0] = c->in[0]->shape.rank;
  ox_infer_out(c, 0, OX_I64, &s);
  return NULL;
}

static ox_status *nonzero_prepare(ox_kernel_ctx *c) {
  int64_t n = ox_shape_count(&c->in[0]->shape), tiles = ox_move_tiles(8 * n, n);
  c->n_stages = 3, c->n_tiles[0] = tiles, c->n_tiles[1] = 1, c->n_tiles[2] = tiles;
  c->shared_bytes = (size_t)(tiles + 1) * sizeof(int64_t);
  return NULL;
}

/* Element |i| differs from zero: any bit set, but for a float's sign. NaN is not zero, an empty string is. */
static inline bool nonzero_at(const char *data, uint32_t dtype, int64_t i) {
  uint64_t w[2];
  switch (dtype) {
    case OX_F32:
      return (((const uint32_t *)(const void *)data)[i] & 0x7fffffff) != 0;
    case OX_F64:
      return ((const uint64_t *)(const void *)data)[i] << 1 != 0;
    case OX_F16:
    case OX_BF16:
      return (((const uint16_t *)(const void *)data)[i] & 0x7fff) != 0;
    case OX_STRING:
      return ((const ox_str *)(const void *)data)[i].n != 0;
    case OX_C64:
      memcpy(w, data + i * 8, 8);
      return (w[0] & 0x7fffffff7fffffff) != 0;
    case OX_C128:
      memcpy(w, data + i * 16, 16);
      return (w[0] | w[1]) << 1 != 0;
    case OX_I64:
    case OX_U64:
      return ((const uint64_t *)(const void *)data)[i] != 0;
    case OX_I32:
    case OX_U32:
      return ((const uint32_t *)(const void *)data)[i] != 0;
    case OX_I16:
    case OX_U16:
      return ((const uint16_t *)(const void *)data)[i] != 0;
    default:
      return data[i] != 0;
  }
}

static int64_t nonzero_count(const ox_tensor *t, int64_t begin, int64_t end) {
  int64_t n = 0;
  for (int64_t i = begin; i < end; i++) n += nonzero_at(t->data, t->dtype, i);
  return n;
}

/* Writes the coordinates of non-zeros in [begin, end) to columns from |column| on. */
static void nonzero_write(const ox_tensor *t, int64_t begin, int64_t end, int64_t *out, int64_t column,
                          int64_t columns) {
  const ox_shape *s = &t->shape;
  int64_t at[OX_MAX_RANK], rest = begin;
  for (int d = s->rank - 1; d >= 0; d--) at[d] = rest % s->dim[d], rest /= s->dim[d];
  for (int64_t i = begin; i < end; i++) {
    if (nonzero_at(t->data, t->dtype, i)) {
      for (int d = 0; d < s->rank; d++) out[d * columns + column] = at[d];
      column++;
    }
    for (int d = s->rank - 1; d >= 0 && ++at[d] == s->dim[d]; d--) at[d] = 0;
  }
}

static ox_status *nonzero_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)scratch;
  const ox_tensor *in = c->in[0];
  int64_t n = ox_shape_count(&in->shape), n_tiles = ox_move_tiles(8 * n, n), *counts = c->shared;
  if (stage == 1) { /* counts become the first column of each tile */
    ox_shape s = {.rank = 2, .dim = {in->shape.rank, 0}};
    for (int64_t t = 0; t < n_tiles; t++) {
      int64_t count = counts[t];
      counts[t] = s.dim[1], s.dim[1] += count;
    }
    counts[n_tiles] = s.dim[1];
    void *out;
    return ox_output_at_run(c, 0, &s, &out);
  }
  for (int64_t t = tiles.begin; t < tiles.end; t++) {
    ox_range u = ox_units_of((ox_range){t, t + 1}, n_tiles, n);
    if (stage == 0)
      counts[t] = nonzero_count(in, u.begin, u.end);
    else if (u.begin < u.end)
      nonzero_write(in, u.begin, u.end, c->out[0]->data, counts[t], counts[n_tiles]);
  }
  return NULL;
}

/* ---- Compress ---- */

typedef struct {
  int64_t axis;
  bool has_axis;
} compress_attrs;
static const ox_attr_def compress_attr_defs[] = {OX_ATTR_INT_HAS_IN(compress_attrs, axis, 0, OX_AXIS_RANGE)};

static ox_status *compress_infer(ox_infer_ctx *c) {
  const compress_attrs *a = c->attrs;
  if (!ox_infer_has(c, 0)) return NULL;
  ox_shape s = {.rank = 1, .dim = {-1}};
  int axis;
  if (a->has_axis) s = c->in[0]->shape;
  if (a->has_axis && s.rank >= 0) {
    if (!ox_axis_ok(a->axis, s.rank, &axis))
      return ox_fail(OX_INVALID_MODEL, "Compress: axis %lld is outside rank %d", (long long)a->axis, s.rank);
    s.dim[axis] = -1;
  }
  if (ox_infer_has(c, 1) && c->in[1]->shape.rank >= 0 && c->in[1]->shape.rank != 1)
    return ox_fail(OX_SHAPE_MISMATCH, "Compress: condition has rank %d, wanted 1", c->in[1]->shape.rank);
  ox_infer_out(c, 0, c->in[0]->dtype, &s);
  return NULL;
}

static ox_status *compress_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)tiles, (void)scratch;
  const compress_attrs *a = c->attrs;
  ox_shape s = {.rank = 1, .dim = {ox_shape_count(&c->in[0]->shape)}};
  if (a->has_axis) s = c->in[0]->shape;
  int64_t outer, dim, inner, n = 0, elem = ox_dtype_bits(c->in[0]->dtype) / 8;
  const uint8_t *want = c->in[1]->data;
  int axis;
  OX_TRY(ox_axis_split(&s, a->has_axis ? a->axis : 0, &outer, &dim, &inner));
  (void)ox_axis_ok(a->has_axis ? a->axis : 0, s.rank, &axis);
  int64_t len = OX_MIN(c->in[1]->shape.dim[0], dim);
  for (int64_t i = 0; i < len; i++) n += want[i] != 0;
  s.dim[axis] = n, inner *= elem;
  void *data;
  OX_TRY(ox_output_at_run(c, 0, &s, &data));
  char *out = data;
  for (int64_t o = 0; o < outer && inner && n; o++)
    for (int64_t i = 0; i < len && !ox_ctx_stopped_each(c, i, 4096); i++)
      if (want[i]) {
        memcpy(out, (const char *)c->in[0]->data + (o * dim + i) * inner, (size_t)inner);
        out += inner;
      }
  return NULL;
}

enum { ANY = OX_T_ALL & ~OX_T_SUBBYTE };

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "NonZero", .since = 9, .types = {ANY}, .min_in = 1, .max_in = 1, .infer = nonzero_infer),
     OX_KERNEL(.prepare = nonzero_prepare, .run = nonzero_run)},
    {OX_SCHEMA(.name = "Compress", .since = 9, .types = {ANY, OX_BIT(OX_BOOL)}, .min_in = 2, .max_in = 2,
               OX_ATTRS(compress_attr_defs), .attrs_bytes = sizeof(compress_attrs), .infer = compress_infer),
     OX_KERNEL(.run = compress_run)},
};
const ox_op_set ox_ops_select = {ops, OX_COUNT(ops)};
