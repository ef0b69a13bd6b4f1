/* SPDX-License-Identifier: Apache-2.0
 * ops/generate.c - Range and OneHot: tensors made from a few numbers. */
#include <math.h>
#include <string.h>

#include "base/cksize.h"
#include "ops/move/deferred.h"
#include "ops/move/number.h"

/* ---- Range ---- */

typedef struct range_plan {
  ox_deferred_head head; /* units: elements */
  double start, delta;
  int64_t istart, idelta;
} range_plan;

static bool is_int(uint32_t dtype) { return (OX_T_INT >> dtype & 1) != 0; }

/* How many values; -1: a parameter is no number to count with. */
static int64_t range_count(const ox_tensor *start, const ox_tensor *limit, const ox_tensor *delta) {
  if (is_int(start->dtype)) {
    int64_t s = ox_integer_at(start, 0), l = ox_integer_at(limit, 0), d = delta ? ox_integer_at(delta, 0) : 1;
    if (d == 0) return -1;
    if (d > 0 ? s >= l : s <= l) return 0;
    uint64_t span = d > 0 ? (uint64_t)l - (uint64_t)s : (uint64_t)s - (uint64_t)l;
    uint64_t step = d > 0 ? (uint64_t)d : (uint64_t)0 - (uint64_t)d, n = (span - 1) / step + 1;
    return n > INT64_MAX ? -1 : (int64_t)n;
  }
  double d = delta ? ox_number_at(delta, 0) : 1, span = ox_number_at(limit, 0) - ox_number_at(start, 0);
  if (start->dtype == OX_F32) span = (double)(float)span;
  double count = ceil(span / d);
  if (d == 0 || !(count < 0x1p62)) return -1;
  return OX_MAX(ox_i64_of(count), 0);
}

static ox_status *range_infer(ox_infer_ctx *c) {
  ox_shape s = {.rank = 1, .dim = {-1}};
  bool known = true;
  for (uint32_t i = 0; i < c->n_in && i < 3; i++) {
    if (!c->in[i]) continue;
    int64_t n = ox_shape_count(&c->in[i]->shape);
    if (n >= 0 && n != 1)
      return ox_fail(OX_SHAPE_MISMATCH, "Range: input %u has %lld elements, wanted 1", i, (long long)n);
    known &= c->in_data[i] && c->in_data[i]->data && n == 1;
  }
  if (known && ox_infer_has(c, 0) && ox_infer_has(c, 1)) {
    s.dim[0] = range_count(c->in_data[0], c->in_data[1], ox_infer_has(c, 2) ? c->in_data[2] : NULL);
    if (s.dim[0] < 0)
      return ox_fail(OX_INVALID_ARGUMENT, "Range: from %g to %g by %g", ox_number_at(c->in_data[0], 0),
                     ox_number_at(c->in_data[1], 0), ox_infer_has(c, 2) ? ox_number_at(c->in_data[2], 0) : 1);
  }
  ox_infer_out(c, 0, ox_infer_has(c, 0) ? c->in[0]->dtype : OX_UNDEFINED, &s);
  return NULL;
}

static ox_status *range_build(const ox_kernel_ctx *c, const ox_type *out, void *plan) {
  range_plan *p = plan;
  const ox_tensor *delta = ox_ctx_has(c, 2) ? c->in[2] : NULL;
  p->start = ox_number_at(c->in[0], 0), p->delta = delta ? ox_number_at(delta, 0) : 1;
  p->istart = ox_integer_at(c->in[0], 0), p->idelta = delta ? ox_integer_at(delta, 0) : 1;
  p->head.units = out[0].shape.dim[0], p->head.bytes = 8 * p->head.units;
  return NULL;
}

static ox_status *range_work(const ox_kernel_ctx *c, const void *plan, int64_t begin, int64_t end) {
  const range_plan *p = plan;
  uint32_t dtype = c->out[0]->dtype;
  void *out = c->out[0]->data;
  uint64_t v = (uint64_t)p->istart + (uint64_t)begin * (uint64_t)p->idelta, d = (uint64_t)p->idelta;
  switch (dtype) {
    case OX_I64:
      for (int64_t i = begin; i < end; i++, v += d) ((uint64_t *)out)[i] = v;
      break;
    case OX_I32:
      for (int64_t i = begin; i < end; i++, v += d) ((uint32_t *)out)[i] = (uint32_t)v;
      break;
    case OX_I16:
      for (int64_t i = begin; i < end; i++, v += d) ((uint16_t *)out)[i] = (uint16_t)v;
      break;
    case OX_F32:
      for (int64_t i = begin; i < end; i++) ((float *)out)[i] = (float)(p->start + (double)i * p->delta);
      break;
    case OX_F64:
      for (int64_t i = begin; i < end; i++) ((double *)out)[i] = p->start + (double)i * p->delta;
      break;
    default:
      for (int64_t i = begin; i < end; i++) ox_number_put(dtype, out, i, p->start + (double)i * p->delta);
  }
  return NULL;
}

/* ---- OneHot ---- */

typedef struct {
  int64_t axis;
} onehot_attrs;
static const ox_attr_def onehot_attr_defs[] = {OX_ATTR_INT_IN(onehot_attrs, axis, -1, OX_AXIS_RANGE)};

static ox_status *onehot_infer(ox_infer_ctx *c) {
  const onehot_attrs *a = c->attrs;
  ox_shape s = ox_shape_unknown();
  if (!ox_infer_has(c, 0) || !ox_infer_has(c, 1) || !ox_infer_has(c, 2)) return NULL;
  const ox_shape *in = &c->in[0]->shape, *values = &c->in[2]->shape;
  int64_t depth = -1, n_depth = ox_shape_count(&c->in[1]->shape), n_values = ox_shape_count(values);
  int axis;
  if (n_depth >= 0 && n_depth != 1)
    return ox_fail(OX_SHAPE_MISMATCH, "OneHot: depth has %lld elements", (long long)n_depth);
  if (n_values >= 0 && n_values != 2)
    return ox_fail(OX_SHAPE_MISMATCH, "OneHot: values has %lld elements", (long long)n_values);
  if (c->in_data[1] && c->in_data[1]->data && n_depth == 1) {
    depth = ox_integer_at(c->in_data[1], 0);
    if (depth < 1) return ox_fail(OX_INVALID_ARGUMENT, "OneHot: depth is %lld", (long long)depth);
  }
  if (in->rank >= 0) {
    s.rank = in->rank + 1;
    if (s.rank > OX_MAX_RANK) return ox_fail(OX_LIMIT, "OneHot: rank %d, at most %d", s.rank, OX_MAX_RANK);
    if (!ox_axis_ok(a->axis, s.rank, &axis))
      return ox_fail(OX_INVALID_MODEL, "OneHot: axis %lld is outside rank %d", (long long)a->axis, s.rank);
    for (int i = 0; i < s.rank; i++) s.dim[i] = i == axis ? depth : in->dim[i - (i > axis)];
  }
  ox_infer_out(c, 0, c->in[2]->dtype, &s);
  return NULL;
}

typedef struct onehot_plan {
  ox_deferred_head head; /* units: positions before the new axis */
  int64_t depth, suffix, elem;
} onehot_plan;

static ox_status *onehot_build(const ox_kernel_ctx *c, const ox_type *out, void *plan) {
  const onehot_attrs *a = c->attrs;
  onehot_plan *p = plan;
  int64_t prefix;
  OX_TRY(ox_axis_split(&out[0].shape, a->axis, &prefix, &p->depth, &p->suffix));
  p->elem = ox_dtype_bits(out[0].dtype) / 8;
  p->head.units = p->suffix ? prefix : 0, p->head.bytes = prefix * p->depth * p->suffix * p->elem;
  return NULL;
}

static ox_status *onehot_work(const ox_kernel_ctx *c, const void *plan, int64_t begin, int64_t end) {
  const onehot_plan *p = plan;
  const char *off = c->in[2]->data, *on = off + p->elem;
  ox_move fill;
  ox_move_init(&fill, p->elem,
               &(ox_region){.rank = 1, .dim = {(end - begin) * p->depth * p->suffix}, .is = {0}, .os = {1}});
  char *out = (char *)c->out[0]->data + begin * p->depth * p->suffix * p->elem;
  ox_move_run(&fill, c->isa, off, out, 0, fill.units);
  for (int64_t i = begin; i < end; i++, out += p->depth * p->suffix * p->elem)
    for (int64_t k = 0; k < p->suffix; k++) {
      int64_t v = ox_integer_at(c->in[0], i * p->suffix + k);
      if (v < 0) v += p->depth;
      if (v >= 0 && v < p->depth) memcpy(out + (v * p->suffix + k) * p->elem, on, (size_t)p->elem);
    }
  return NULL;
}

#define LATE(name, params, plan)                                                                           \
  static const ox_deferred_op name##_op = {params, sizeof(plan), name##_infer, name##_build, name##_work}; \
  static ox_status *name##_prepare(ox_kernel_ctx *c) { return ox_deferred_prepare(c, &name##_op); }        \
  static ox_status *name##_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {    \
    (void)scratch;                                                                                         \
    return ox_deferred_run(c, &name##_op, stage, tiles);                                                   \
  }
LATE(range, 7, range_plan)
LATE(onehot, 2, onehot_plan)

enum { RANGE = OX_T_FLOAT | OX_BIT(OX_I16) | OX_BIT(OX_I32) | OX_BIT(OX_I64), ANY = OX_T_ALL & ~OX_T_SUBBYTE };

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "Range", .since = 11, .types = {RANGE}, .vars = "TTT", .min_in = 3, .max_in = 3, .value_in = 7,
               .infer = range_infer),
     OX_KERNEL(.prepare = range_prepare, .run = range_run)},
    {OX_SCHEMA(.name = "Range", .domain = "com.microsoft", .since = 1, .types = {RANGE}, .vars = "TTT", .min_in = 2,
               .max_in = 3, .value_in = 7, .infer = range_infer),
     OX_KERNEL(.prepare = range_prepare, .run = range_run)},
    {OX_SCHEMA(.name = "OneHot", .since = 9, .types = {OX_T_NUMBER, OX_T_NUMBER, ANY}, .min_in = 3, .max_in = 3,
               .value_in = 2, OX_ATTRS(onehot_attr_defs), .attrs_bytes = sizeof(onehot_attrs), .infer = onehot_infer),
     OX_KERNEL(.prepare = onehot_prepare, .run = onehot_run)},
};
const ox_op_set ox_ops_generate = {ops, OX_COUNT(ops)};
