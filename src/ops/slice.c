/* SPDX-License-Identifier: Apache-2.0
 * ops/slice.c - Slice: by attributes (opset 1) or inputs, with steps of either sign; DynamicSlice and Crop of old
 * models. */
#include "graph/known.h"
#include "ops/move/deferred.h"

typedef struct {
  ox_ints starts, ends, axes;
} slice_attrs;
static const ox_attr_def attr_defs[] = {OX_ATTR_INTS_REQUIRED(slice_attrs, starts),
                                        OX_ATTR_INTS_REQUIRED(slice_attrs, ends),
                                        OX_ATTR_INTS_IN(slice_attrs, axes, OX_AXIS_RANGE)};

/* The known parameters. n < 0: even their number is unknown. */
typedef struct params {
  int n;
  bool have_bounds, have_axes; /* starts, ends and steps; axes */
  int64_t start[OX_MAX_RANK], end[OX_MAX_RANK], step[OX_MAX_RANK], axis[OX_MAX_RANK];
} params;

static ox_status *copy_list(const ox_ints *from, const char *what, int64_t *out) {
  if (from->n > OX_MAX_RANK) return ox_fail(OX_LIMIT, "Slice: %zu %s, at most %d", from->n, what, OX_MAX_RANK);
  for (size_t i = 0; i < from->n; i++) out[i] = from->v[i];
  return NULL;
}

static ox_status *params_of_attrs(const slice_attrs *a, params *p) {
  OX_TRY(copy_list(&a->starts, "starts", p->start));
  OX_TRY(copy_list(&a->ends, "ends", p->end));
  OX_TRY(copy_list(&a->axes, "axes", p->axis));
  p->n = (int)a->starts.n, p->have_bounds = p->have_axes = true;
  if (a->ends.n != a->starts.n || (a->axes.n && a->axes.n != a->starts.n))
    return ox_fail(OX_INVALID_MODEL, "Slice: %zu starts, %zu ends, %zu axes", a->starts.n, a->ends.n, a->axes.n);
  for (int i = 0; i < p->n; i++) p->step[i] = 1, p->axis[i] = a->axes.n ? p->axis[i] : i;
  return NULL;
}

/* Reads input |i|; *known turns false if its content is not there. */
static ox_status *read_list(const ox_infer_ctx *c, uint32_t i, const char *what, params *p, int64_t *out, bool *known) {
  int n = 0, r = ox_infer_ints(c, i, out, OX_MAX_RANK, &n);
  if (r < 0) return ox_fail(OX_INVALID_MODEL, "Slice: %s are no list of at most %d integers", what, OX_MAX_RANK);
  if (r == 0) {
    *known = false;
    int64_t count = ox_shape_count(&c->in[i]->shape);
    if (count > OX_MAX_RANK)
      return ox_fail(OX_LIMIT, "Slice: %lld %s, at most %d", (long long)count, what, OX_MAX_RANK);
    n = count < 0 ? -1 : (int)count;
  }
  if (n >= 0 && p->n >= 0 && n != p->n) return ox_fail(OX_SHAPE_MISMATCH, "Slice: %d %s, wanted %d", n, what, p->n);
  if (n >= 0) p->n = n;
  return NULL;
}

static ox_status *params_of_inputs(const ox_infer_ctx *c, params *p) {
  p->n = -1, p->have_bounds = p->have_axes = true;
  if (!ox_infer_has(c, 1) || !ox_infer_has(c, 2))
    return ox_fail(OX_INVALID_MODEL, "Slice: starts and ends are required");
  OX_TRY(read_list(c, 1, "starts", p, p->start, &p->have_bounds));
  OX_TRY(read_list(c, 2, "ends", p, p->end, &p->have_bounds));
  if (ox_infer_has(c, 3))
    OX_TRY(read_list(c, 3, "axes", p, p->axis, &p->have_axes));
  else
    for (int i = 0; i < OX_MAX_RANK; i++) p->axis[i] = i;
  if (ox_infer_has(c, 4))
    OX_TRY(read_list(c, 4, "steps", p, p->step, &p->have_bounds));
  else
    for (int i = 0; i < OX_MAX_RANK; i++) p->step[i] = 1;
  return NULL;
}

/* numpy's rule for one dimension of |dim|: the first index and how many. */
static int64_t span_of(int64_t start, int64_t end, int64_t step, int64_t dim, int64_t *out_first) {
  int64_t lo = step < 0 ? -1 : 0, hi = step < 0 ? dim - 1 : dim;
  if (start < 0) start += dim;
  if (end < 0) end += dim;
  start = OX_MIN(OX_MAX(start, step < 0 && dim == 0 ? lo : 0), hi), end = OX_MIN(OX_MAX(end, lo), hi);
  *out_first = start;
  if (step > 0) return start < end ? 1 + (end - start - 1) / step : 0;
  return start > end ? 1 + (start - end - 1) / (step == INT64_MIN ? INT64_MAX : -step) : 0;
}

/* Applies the parameters to |in|. |first| and |step| may be NULL. Dimensions not known stay or become -1. */
static ox_status *slice_shape(const params *p, const ox_shape *in, ox_shape *out, int64_t *first, int64_t *step) {
  uint32_t seen = 0;
  *out = *in;
  if (in->rank < 0) return NULL;
  if (p->n < 0 || !p->have_axes) {
    for (int i = 0; i < in->rank; i++) out->dim[i] = -1;
    return NULL;
  }
  for (int i = 0; i < p->n; i++) {
    int k;
    if (!ox_axis_ok(p->axis[i], in->rank, &k))
      return ox_fail(OX_INVALID_MODEL, "Slice: axis %lld is outside rank %d", (long long)p->axis[i], in->rank);
    if (seen >> k & 1) return ox_fail(OX_INVALID_MODEL, "Slice: axis %lld is given twice", (long long)p->axis[i]);
    seen |= 1U << k;
    int64_t at, d = in->dim[k];
    if (!p->have_bounds) {
      out->dim[k] = -1;
      continue;
    }
    if (p->step[i] == 0) return ox_fail(OX_INVALID_MODEL, "Slice: step 0 on axis %d", k);
    if (d < 0) { /* all of an unknown dimension is that dimension */
      if (p->start[i] != 0 || p->end[i] < INT32_MAX || p->step[i] != 1) out->dim[k] = -1;
      continue;
    }
    out->dim[k] = span_of(p->start[i], p->end[i], p->step[i], d, &at);
    if (first) first[k] = at, step[k] = p->step[i];
  }
  return NULL;
}

static ox_status *params_of(const ox_infer_ctx *c, params *p) {
  return c->attrs ? params_of_attrs(c->attrs, p) : params_of_inputs(c, p);
}

static ox_status *infer(ox_infer_ctx *c) {
  params p;
  ox_shape s;
  if (!ox_infer_has(c, 0)) return NULL;
  OX_TRY(params_of(c, &p));
  OX_TRY(slice_shape(&p, &c->in[0]->shape, &s, NULL, NULL));
  ox_infer_out(c, 0, c->in[0]->dtype, &s);
  return NULL;
}

static ox_status *build(const ox_kernel_ctx *c, const ox_type *out, void *plan) {
  (void)out;
  params p;
  ox_shape s, in = c->in[0]->shape;
  ox_region r = {.rank = in.rank};
  int64_t first[OX_MAX_RANK] = {0}, step[OX_MAX_RANK], stride[OX_MAX_RANK];
  ox_type types[5];
  const ox_type *in_types[5] = {NULL};
  for (uint32_t i = 0; i < c->n_in && i < 5; i++)
    if (c->in[i]) types[i] = ox_type_tensor(c->in[i]->dtype, &c->in[i]->shape), in_types[i] = &types[i];
  ox_infer_ctx ic = {.attrs = c->attrs, .n_in = c->n_in, .in = in_types, .in_data = c->in};
  OX_TRY(params_of(&ic, &p));
  for (int i = 0; i < in.rank; i++) step[i] = 1;
  OX_TRY(slice_shape(&p, &in, &s, first, step));
  ox_shape_strides(&in, stride);
  ox_shape_strides(&s, r.os);
  for (int i = 0; i < in.rank; i++) {
    r.dim[i] = s.dim[i];
    r.is[i] = s.dim[i] > 1 ? stride[i] * step[i] : 0;
    if (s.dim[i] > 0) r.in_off += first[i] * stride[i];
  }
  ox_move_plan_init(plan, c->in[0]->dtype, &r);
  return NULL;
}

static const ox_deferred_op slice_op = {0x1e, sizeof(ox_move_plan), infer, build, ox_move_plan_work};
static ox_status *prepare(ox_kernel_ctx *c) { return ox_deferred_prepare(c, &slice_op); }
static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)scratch;
  return ox_deferred_run(c, &slice_op, stage, tiles);
}

/* ---- Crop: removes the borders of an image, or selects an area of given size after the upper left ones ---- */

typedef struct {
  ox_ints border, scale; /* left, top, right, bottom; height, width */
} crop_attrs;
static const ox_attr_def crop_rows[] = {OX_ATTR_INTS(crop_attrs, border), OX_ATTR_INTS(crop_attrs, scale)};

static ox_status *crop_axis(const crop_attrs *a, int axis, int64_t in, int64_t *out) {
  int64_t lo = a->border.v[1 - axis], hi = a->border.v[3 - axis];
  int64_t want = a->scale.n ? a->scale.v[axis] : in < 0 ? -1 : in - lo - hi;
  *out = want < 0 ? -1 : want;
  if (in >= 0 && (want < 0 || want > in - lo))
    return ox_fail(OX_SHAPE_MISMATCH, "Crop: %lld from %lld on of %lld pixels", (long long)want, (long long)lo,
                   (long long)in);
  return NULL;
}

static ox_status *crop_infer(ox_infer_ctx *c) {
  const crop_attrs *a = c->attrs;
  ox_shape y = c->in[0]->shape;
  if (a->border.n != 4 || (a->scale.n && a->scale.n != 2))
    return ox_fail(OX_INVALID_MODEL, "Crop: border has %zu numbers, wanted 4, scale %zu, wanted 2", a->border.n,
                   a->scale.n);
  for (size_t i = 0; i < 4; i++)
    if (a->border.v[i] < 0 || a->border.v[i] > INT32_MAX || (i < a->scale.n && a->scale.v[i] < 0))
      return ox_fail(OX_INVALID_MODEL, "Crop: border[%zu] or scale[%zu] is out of range", i, i);
  if (y.rank >= 0 && y.rank != 4) return ox_fail(OX_SHAPE_MISMATCH, "Crop needs an image, got rank %d", y.rank);
  for (int i = 0; i < 2 && y.rank == 4; i++) OX_TRY(crop_axis(a, i, c->in[0]->shape.dim[i + 2], &y.dim[i + 2]));
  ox_infer_out(c, 0, c->in[0]->dtype, &y);
  return NULL;
}

static ox_status *crop_build(const ox_kernel_ctx *c, const ox_type *out, void *plan) {
  const crop_attrs *a = c->attrs;
  ox_region r = {.rank = 4};
  ox_shape_strides(&c->in[0]->shape, r.is);
  ox_shape_strides(&out[0].shape, r.os);
  for (int i = 0; i < 4; i++) r.dim[i] = out[0].shape.dim[i];
  r.in_off = a->border.v[1] * r.is[2] + a->border.v[0] * r.is[3];
  ox_move_plan_init(plan, c->in[0]->dtype, &r);
  return NULL;
}

static const ox_deferred_op crop_op = {0, sizeof(ox_move_plan), crop_infer, crop_build, ox_move_plan_work};
static ox_status *crop_prepare(ox_kernel_ctx *c) { return ox_deferred_prepare(c, &crop_op); }
static ox_status *crop_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)scratch;
  return ox_deferred_run(c, &crop_op, stage, tiles);
}

/* Along the only axis of a list. */
static const ox_known *part(const ox_known_ctx *c, int64_t from, int64_t to, int64_t axis) {
  const ox_known *k = c->in[0];
  ox_known_list l = {.n = 0};
  if (!k || k->scalar || (axis != 0 && axis != -1)) return NULL;
  int64_t n = k->n;
  from = OX_MAX(OX_MIN(from < 0 ? from + n : from, n), 0);
  to = OX_MAX(OX_MIN(to < 0 ? to + n : to, n), 0);
  for (int64_t i = from; i < to; i++) ox_known_push(&l, k->v[i], k->kind[i]);
  return ox_known_keep(c, k->dtype, false, &l);
}

static const ox_known *known1(const ox_known_ctx *c) {
  const slice_attrs *a = c->attrs;
  if (a->starts.n != 1 || a->ends.n != 1 || a->axes.n > 1) return NULL;
  return part(c, a->starts.v[0], a->ends.v[0], a->axes.n ? a->axes.v[0] : 0);
}

static const ox_known *known(const ox_known_ctx *c) {
  int64_t from, to, step = 1, axis = 0;
  const ox_known *starts = ox_known_in(c, 1);
  if (!ox_known_number(starts, 0, &from) || !ox_known_number(ox_known_in(c, 2), 0, &to) || starts->n != 1) return NULL;
  if (c->n_in > 3 && c->types[3] && !ox_known_number(c->in[3], 0, &axis)) return NULL;
  if (c->n_in > 4 && c->types[4] && !ox_known_number(c->in[4], 0, &step)) return NULL;
  return step == 1 ? part(c, from, to, axis) : NULL;
}

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "Slice", .since = 1, .types = {OX_T_ALL & ~OX_T_SUBBYTE}, .min_in = 1, .max_in = 1,
               OX_ATTRS(attr_defs), .attrs_bytes = sizeof(slice_attrs), .infer = infer, .known = known1),
     OX_KERNEL(.prepare = prepare, .run = run)},
    {OX_SCHEMA(.name = "Slice", .since = 10, .types = {OX_T_ALL & ~OX_T_SUBBYTE, OX_T_INDEX}, .vars = ".TTTT",
               .min_in = 3, .max_in = 5, .value_in = 0x1e, .infer = infer, .known = known),
     OX_KERNEL(.prepare = prepare, .run = run)},
    {OX_SCHEMA(.name = "DynamicSlice", .since = 1, .types = {OX_T_ALL & ~OX_T_SUBBYTE, OX_T_INDEX}, .vars = "TIII",
               .min_in = 3, .max_in = 4, .value_in = 0xe, .infer = infer, .known = known),
     OX_KERNEL(.prepare = prepare, .run = run)},
    {OX_SCHEMA(.name = "Crop", .since = 1, .types = {OX_T_FLOAT}, .min_in = 1, .max_in = 1, OX_ATTRS(crop_rows),
               .attrs_bytes = sizeof(crop_attrs), .infer = crop_infer),
     OX_KERNEL(.prepare = crop_prepare, .run = crop_run)},
};
const ox_op_set ox_ops_slice = {ops, OX_COUNT(ops)};
