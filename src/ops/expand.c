/* SPDX-License-Identifier: Apache-2.0
 * ops/expand.c - Expand and Tile: copies that repeat the input. */
#include "base/cksize.h"
#include "graph/known.h"
#include "ops/move/deferred.h"

static ox_status *list_of(ox_infer_ctx *c, const char *op, const char *what, int64_t *list, int *n, int *known) {
  if (ox_infer_has(c, 1) && c->in[1]->shape.rank > 1)
    return ox_fail(OX_SHAPE_MISMATCH, "%s: %s has rank %d, wanted 1", op, what, c->in[1]->shape.rank);
  *known = ox_infer_ints(c, 1, list, OX_MAX_RANK, n);
  return *known < 0 ? ox_fail(OX_INVALID_MODEL, "%s: %s is no list of at most %d integers", op, what, OX_MAX_RANK)
                    : NULL;
}

/* ---- Expand ---- */

static ox_status *expand_infer(ox_infer_ctx *c) {
  int64_t dims[OX_MAX_RANK];
  int n = 0, known;
  ox_shape s = ox_shape_unknown();
  if (!ox_infer_has(c, 0)) return NULL;
  const ox_shape *in = &c->in[0]->shape;
  OX_TRY(list_of(c, "Expand", "shape", dims, &n, &known));
  if (known) {
    for (int i = 0; i < n; i++)
      if (dims[i] < 0) return ox_fail(OX_SHAPE_MISMATCH, "Expand: dimension %d is %lld", i, (long long)dims[i]);
    ox_shape to = ox_shape_of(n, dims);
    OX_TRY(ox_shape_broadcast(in, &to, &s));
  } else if (in->rank >= 0 && ox_infer_has(c, 1) && c->in[1]->shape.rank == 1 && c->in[1]->shape.dim[0] >= 0) {
    int64_t len = c->in[1]->shape.dim[0];
    if (len > OX_MAX_RANK) return ox_fail(OX_LIMIT, "Expand: rank %lld, at most %d", (long long)len, OX_MAX_RANK);
    s.rank = OX_MAX(in->rank, (int32_t)len);
    for (int i = 0; i < s.rank; i++) {
      int k = i - (s.rank - in->rank);
      s.dim[i] = k >= 0 && in->dim[k] > 1 ? in->dim[k] : -1;
    }
  }
  ox_infer_out(c, 0, c->in[0]->dtype, &s);
  return NULL;
}

static void expand_refine(const ox_known_ctx *c, ox_shape *out) {
  const ox_known *k = ox_known_in(c, 1);
  if (!k || k->scalar || k->n > OX_MAX_RANK) return;
  ox_shape to = {.rank = (int32_t)k->n}, both;
  for (uint32_t i = 0; i < k->n; i++) to.dim[i] = ox_known_dim(k, i);
  ox_status *st = ox_shape_broadcast(&c->types[0]->shape, &to, &both);
  if (!st && both.rank >= 0) ox_known_fill(out, &both);
  ox_status_free(st); /* the operator itself reports what does not fit */
}

static ox_status *expand_build(const ox_kernel_ctx *c, const ox_type *out, void *plan) {
  const ox_shape *in = &c->in[0]->shape, *to = &out[0].shape;
  ox_region r = {.rank = to->rank};
  int64_t stride[OX_MAX_RANK];
  ox_shape_strides(in, stride);
  ox_shape_strides(to, r.os);
  for (int i = 0; i < to->rank; i++) {
    int k = i - (to->rank - in->rank);
    r.dim[i] = to->dim[i], r.is[i] = k >= 0 && in->dim[k] != 1 ? stride[k] : 0;
  }
  ox_move_plan_init(plan, c->in[0]->dtype, &r);
  return NULL;
}

/* ---- Tile ---- */

static ox_status *tile_by(ox_infer_ctx *c, const int64_t *repeats) {
  ox_shape s = c->in[0]->shape;
  for (int i = 0; i < s.rank; i++) {
    if (repeats[i] < 0) return ox_fail(OX_SHAPE_MISMATCH, "Tile: repeats[%d] is %lld", i, (long long)repeats[i]);
    s.dim[i] = repeats[i] == 0 ? 0 : ox_dim_mul(s.dim[i], repeats[i]);
  }
  ox_infer_out(c, 0, c->in[0]->dtype, &s);
  return NULL;
}

static ox_status *tile_infer(ox_infer_ctx *c) {
  int64_t repeats[OX_MAX_RANK];
  int n = 0, known;
  if (!ox_infer_has(c, 0)) return NULL;
  ox_shape s = c->in[0]->shape;
  OX_TRY(list_of(c, "Tile", "repeats", repeats, &n, &known));
  if (known && s.rank >= 0) {
    if (n != s.rank) return ox_fail(OX_SHAPE_MISMATCH, "Tile: %d repeats, the input has rank %d", n, s.rank);
    return tile_by(c, repeats);
  }
  for (int i = 0; i < s.rank; i++) s.dim[i] = -1;
  ox_infer_out(c, 0, c->in[0]->dtype, &s);
  return NULL;
}

/* A number that opset 1 passes as a tensor of the data's own type. */
static bool number_of(const ox_tensor *t, int64_t *out) {
  if (!t || !t->data || ox_shape_count(&t->shape) != 1) return false;
  switch (t->dtype) {
    case OX_F32:
      *out = ox_i64_of((double)*(const ox_f32u *)t->data);
      return true;
    case OX_F64:
      *out = ox_i64_of(*(const ox_f64u *)t->data);
      return true;
    case OX_F16:
      *out = ox_i64_of((double)ox_f16_to_f32(*(const ox_u16u *)t->data));
      return true;
    case OX_I64:
      *out = *(const ox_i64u *)t->data;
      return true;
    case OX_I32:
      *out = *(const ox_i32u *)t->data;
      return true;
    default:
      return false;
  }
}

static ox_status *tile1_infer(ox_infer_ctx *c) {
  int64_t repeats[OX_MAX_RANK], axis = 0, tiles = 0;
  if (!ox_infer_has(c, 0)) return NULL;
  ox_shape s = c->in[0]->shape;
  if (s.rank >= 0 && number_of(c->in_data[1], &tiles) && number_of(c->in_data[2], &axis)) {
    int k;
    if (!ox_axis_ok(axis, s.rank, &k))
      return ox_fail(OX_SHAPE_MISMATCH, "Tile: axis %lld is outside rank %d", (long long)axis, s.rank);
    for (int i = 0; i < s.rank; i++) repeats[i] = i == k ? tiles : 1;
    return tile_by(c, repeats);
  }
  for (int i = 0; i < s.rank; i++) s.dim[i] = -1;
  ox_infer_out(c, 0, c->in[0]->dtype, &s);
  return NULL;
}

static ox_status *tile_build(const ox_kernel_ctx *c, const ox_type *out, void *plan) {
  const ox_shape *in = &c->in[0]->shape, *to = &out[0].shape;
  ox_region r = {.rank = 2 * in->rank};
  int64_t is[OX_MAX_RANK], os[OX_MAX_RANK];
  ox_shape_strides(in, is);
  ox_shape_strides(to, os);
  for (int i = 0; i < in->rank; i++) {
    r.dim[2 * i] = in->dim[i] ? to->dim[i] / in->dim[i] : 0, r.is[2 * i] = 0, r.os[2 * i] = os[i] * in->dim[i];
    r.dim[2 * i + 1] = in->dim[i], r.is[2 * i + 1] = is[i], r.os[2 * i + 1] = os[i];
  }
  ox_move_plan_init(plan, c->in[0]->dtype, &r);
  return NULL;
}

#define LATE(name, params, infer, build)                                                                   \
  static const ox_deferred_op name##_op = {params, sizeof(ox_move_plan), infer, build, ox_move_plan_work}; \
  static ox_status *name##_prepare(ox_kernel_ctx *c) { return ox_deferred_prepare(c, &name##_op); }        \
  static ox_status *name##_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {    \
    (void)scratch;                                                                                         \
    return ox_deferred_run(c, &name##_op, stage, tiles);                                                   \
  }
LATE(expand, 2, expand_infer, expand_build)
LATE(tile1, 6, tile1_infer, tile_build)
LATE(tile, 2, tile_infer, tile_build)

enum { ANY = OX_T_ALL & ~OX_T_SUBBYTE };

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "Expand", .since = 8, .types = {ANY, OX_BIT(OX_I64)}, .min_in = 2, .max_in = 2, .value_in = 2,
               .infer = expand_infer, .refine = expand_refine),
     OX_KERNEL(.prepare = expand_prepare, .run = expand_run)},
    {OX_SCHEMA(.name = "Tile", .since = 1, .types = {ANY}, .vars = "TTT", .min_in = 3, .max_in = 3, .value_in = 6,
               .infer = tile1_infer),
     OX_KERNEL(.prepare = tile1_prepare, .run = tile1_run)},
    {OX_SCHEMA(.name = "Tile", .since = 6, .types = {ANY, OX_BIT(OX_I64)}, .min_in = 2, .max_in = 2, .value_in = 2,
               .infer = tile_infer),
     OX_KERNEL(.prepare = tile_prepare, .run = tile_run)},
};
const ox_op_set ox_ops_expand = {ops, OX_COUNT(ops)};
