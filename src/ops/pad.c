/* SPDX-License-Identifier: Apache-2.0
 * ops/pad.c - Pad in all its versions and modes, CenterCropPad. */
#include "kern/move/pad_rows.h"

#include <string.h>

#include "ops/move/deferred.h"

typedef struct {
  const char *mode;
  float value;
  ox_ints pads, paddings;
} pad_attrs;
static const ox_attr_def pad1_attr_defs[] = {OX_ATTR_STR(pad_attrs, mode, "constant"),
                                             OX_ATTR_FLOAT(pad_attrs, value, 0),
                                             OX_ATTR_INTS_REQUIRED(pad_attrs, paddings)};
static const ox_attr_def pad2_attr_defs[] = {OX_ATTR_STR(pad_attrs, mode, "constant"),
                                             OX_ATTR_FLOAT(pad_attrs, value, 0),
                                             OX_ATTR_INTS_REQUIRED(pad_attrs, pads)};
static const ox_attr_def pad11_attr_defs[] = {OX_ATTR_STR(pad_attrs, mode, "constant")};

static ox_status *mode_of(const pad_attrs *a, ox_pad_mode *mode) {
  static const char *const names[] = {"constant", "reflect", "edge", "wrap"};
  for (size_t i = 0; i < OX_COUNT(names); i++)
    if (strcmp(a->mode, names[i]) == 0) {
      *mode = (ox_pad_mode)i;
      return NULL;
    }
  return ox_fail(OX_INVALID_MODEL, "Pad: unknown mode '%s'", a->mode);
}

/* The pads by axis of |rank|. *known: are the inputs that have them known? */
static ox_status *pads_of(const ox_infer_ctx *c, int rank, int64_t *begin, int64_t *end, bool *known) {
  const pad_attrs *a = c->attrs;
  const ox_ints *given = a->pads.v ? &a->pads : a->paddings.v ? &a->paddings : NULL;
  int64_t list[2 * OX_MAX_RANK], axes[OX_MAX_RANK];
  int n = 0, n_axes = rank, r = 1;
  *known = false;
  for (int i = 0; i < rank; i++) begin[i] = end[i] = 0, axes[i] = i;
  if (ox_infer_has(c, 3)) {
    r = ox_infer_ints(c, 3, axes, OX_MAX_RANK, &n_axes);
    if (r < 0) return ox_fail(OX_INVALID_MODEL, "Pad: axes are no list of at most %d integers", OX_MAX_RANK);
    if (r == 0) return NULL;
  }
  if (given && given->n <= 2 * OX_MAX_RANK) {
    n = (int)given->n;
    for (int i = 0; i < n; i++) list[i] = given->v[i];
  } else if (!given && ox_infer_has(c, 1) && c->in_data[1] && c->in[1]->shape.rank == 2) { /* [1, 2r], contrib only */
    OX_TRY(ox_ints_of(c->in_data[1], "Pad: pads", list, 2 * OX_MAX_RANK, &n));
  } else {
    r = given ? -1 : ox_infer_ints(c, 1, list, 2 * OX_MAX_RANK, &n);
    if (r < 0) return ox_fail(OX_INVALID_MODEL, "Pad: pads are no list of at most %d integers", 2 * OX_MAX_RANK);
    if (r == 0) return NULL;
  }
  if (n != 2 * n_axes) return ox_fail(OX_SHAPE_MISMATCH, "Pad: %d pads for %d axes", n, n_axes);
  for (int i = 0; i < n_axes; i++) {
    int k;
    if (!ox_axis_ok(axes[i], rank, &k))
      return ox_fail(OX_INVALID_MODEL, "Pad: axis %lld is outside rank %d", (long long)axes[i], rank);
    begin[k] = list[i], end[k] = list[n_axes + i];
  }
  *known = true;
  return NULL;
}

static ox_status *pad_infer(ox_infer_ctx *c) {
  int64_t begin[OX_MAX_RANK], end[OX_MAX_RANK];
  ox_pad_mode mode = OX_PAD_CONSTANT;
  bool known;
  if (!ox_infer_has(c, 0)) return NULL;
  ox_shape s = c->in[0]->shape;
  OX_TRY(mode_of(c->attrs, &mode));
  if (s.rank >= 0) OX_TRY(pads_of(c, s.rank, begin, end, &known));
  for (int i = 0; i < s.rank; i++) {
    int64_t d = s.dim[i], out = -1;
    if (known && begin[i] == 0 && end[i] == 0) continue;
    if (known && d >= 0) {
      if (__builtin_add_overflow(d, begin[i], &out) || __builtin_add_overflow(out, end[i], &out) || out < 0 ||
          begin[i] < -d || end[i] < -d)
        return ox_fail(OX_SHAPE_MISMATCH, "Pad: pads %lld and %lld of axis %d do not fit dimension %lld",
                       (long long)begin[i], (long long)end[i], i, (long long)d);
      if (mode != OX_PAD_CONSTANT && d == 0 && out > 0)
        return ox_fail(OX_SHAPE_MISMATCH, "Pad: nothing to repeat on axis %d", i);
    }
    s.dim[i] = out;
  }
  ox_infer_out(c, 0, c->in[0]->dtype, &s);
  return NULL;
}

typedef struct pad_plan {
  ox_deferred_head head;
  ox_pad pad;
} pad_plan;

static void plan_pad(pad_plan *p, ox_pad_mode mode, uint32_t dtype, const ox_shape *in, const ox_shape *out,
                     const int64_t *begin) {
  unsigned bits = ox_dtype_bits(dtype);
  ox_pad_init(&p->pad, mode, bits < 8 ? 1 : bits / 8, in->rank, in->dim, out->dim, begin);
  p->head.units = bits < 8 ? p->pad.units > 0 : p->pad.units;
  p->head.bytes = p->pad.total_bytes;
}

static ox_status *pad_build(const ox_kernel_ctx *c, const ox_type *out, void *plan) {
  const ox_shape *in = &c->in[0]->shape;
  int64_t begin[OX_MAX_RANK], end[OX_MAX_RANK];
  ox_type types[4];
  const ox_type *in_types[4] = {NULL};
  ox_pad_mode mode = OX_PAD_CONSTANT;
  bool known;
  for (uint32_t i = 0; i < c->n_in && i < 4; i++)
    if (c->in[i]) types[i] = ox_type_tensor(c->in[i]->dtype, &c->in[i]->shape), in_types[i] = &types[i];
  ox_infer_ctx ic = {.attrs = c->attrs, .n_in = c->n_in, .in = in_types, .in_data = c->in};
  OX_TRY(mode_of(c->attrs, &mode));
  OX_TRY(pads_of(&ic, in->rank, begin, end, &known));
  plan_pad(plan, mode, c->in[0]->dtype, in, &out[0].shape, begin);
  return NULL;
}

/* The constant: input 2, the attribute of old versions, or zero. 16 bytes. */
static ox_status *value_of(const ox_kernel_ctx *c, char *value) {
  const pad_attrs *a = c->attrs;
  uint32_t dtype = c->in[0]->dtype;
  unsigned bits = ox_dtype_bits(dtype);
  memset(value, 0, 16);
  if (dtype == OX_STRING) memcpy(value, &(ox_str){"", 0}, sizeof(ox_str));
  if (ox_ctx_has(c, 2)) {
    if (c->in[2]->dtype != dtype || ox_shape_count(&c->in[2]->shape) < 1)
      return ox_fail(OX_SHAPE_MISMATCH, "Pad: constant_value is no %s", ox_dtype_name(dtype));
    memcpy(value, c->in[2]->data, bits < 8 ? 1 : bits / 8);
  } else if (a && a->value != 0) {
    uint16_t h = dtype == OX_F16 ? ox_f16_from_f32(a->value) : ox_bf16_from_f32(a->value);
    double d = (double)a->value;
    if (dtype == OX_F32)
      memcpy(value, &a->value, 4);
    else if (dtype == OX_F64)
      memcpy(value, &d, 8);
    else if (bits == 16)
      memcpy(value, &h, 2);
  }
  return NULL;
}

static ox_status *pad_work(const ox_kernel_ctx *c, const void *plan, int64_t begin, int64_t end) {
  const pad_plan *p = plan;
  unsigned bits = ox_dtype_bits(c->in[0]->dtype);
  char value[16];
  OX_TRY(value_of(c, value));
  if (bits < 8)
    ox_pad_sub_byte(&p->pad, bits, c->in[0]->data, (unsigned char)value[0] & ((1U << bits) - 1), c->out[0]->data);
  else
    ox_pad_run(&p->pad, c->in[0]->data, value, c->out[0]->data, begin, end);
  return NULL;
}

static const ox_deferred_op pad_op = {0xa, sizeof(pad_plan), pad_infer, pad_build, pad_work};
static ox_status *pad_prepare(ox_kernel_ctx *c) { return ox_deferred_prepare(c, &pad_op); }
static ox_status *pad_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)scratch;
  return ox_deferred_run(c, &pad_op, stage, tiles);
}

/* ---- CenterCropPad ---- */

typedef struct {
  ox_ints axes;
} crop_attrs;
static const ox_attr_def crop_attr_defs[] = {OX_ATTR_INTS_IN(crop_attrs, axes, OX_AXIS_RANGE)};

static ox_status *crop_infer(ox_infer_ctx *c) {
  const crop_attrs *a = c->attrs;
  int64_t want[OX_MAX_RANK];
  int n = 0;
  if (!ox_infer_has(c, 0)) return NULL;
  ox_shape s = c->in[0]->shape;
  int known = ox_infer_ints(c, 1, want, OX_MAX_RANK, &n);
  if (known < 0)
    return ox_fail(OX_INVALID_MODEL, "CenterCropPad: shape is no list of at most %d integers", OX_MAX_RANK);
  size_t n_axes = a->axes.v ? a->axes.n : s.rank < 0 ? 0 : (size_t)s.rank;
  if (s.rank >= 0 && known && (size_t)n != n_axes)
    return ox_fail(OX_SHAPE_MISMATCH, "CenterCropPad: %d dimensions for %zu axes", n, n_axes);
  for (size_t i = 0; s.rank >= 0 && i < n_axes; i++) {
    int k = (int)i;
    if (a->axes.v && !ox_axis_ok(a->axes.v[i], s.rank, &k))
      return ox_fail(OX_INVALID_MODEL, "CenterCropPad: axis %lld is outside rank %d", (long long)a->axes.v[i], s.rank);
    if (known && want[i] < 0) return ox_fail(OX_SHAPE_MISMATCH, "CenterCropPad: dimension %lld", (long long)want[i]);
    s.dim[k] = known ? want[i] : -1;
  }
  ox_infer_out(c, 0, c->in[0]->dtype, &s);
  return NULL;
}

static ox_status *crop_build(const ox_kernel_ctx *c, const ox_type *out, void *plan) {
  const ox_shape *in = &c->in[0]->shape, *to = &out[0].shape;
  int64_t begin[OX_MAX_RANK];
  for (int i = 0; i < in->rank; i++) /* half the difference, rounded down, on the left */
    begin[i] = to->dim[i] >= in->dim[i] ? (to->dim[i] - in->dim[i]) / 2 : -((in->dim[i] - to->dim[i]) / 2);
  plan_pad(plan, OX_PAD_CONSTANT, c->in[0]->dtype, in, to, begin);
  return NULL;
}

static ox_status *crop_work(const ox_kernel_ctx *c, const void *plan, int64_t begin, int64_t end) {
  const pad_plan *p = plan;
  char value[16] = {0};
  if (c->in[0]->dtype == OX_STRING) memcpy(value, &(ox_str){"", 0}, sizeof(ox_str));
  ox_pad_run(&p->pad, c->in[0]->data, value, c->out[0]->data, begin, end);
  return NULL;
}

static const ox_deferred_op crop_op = {2, sizeof(pad_plan), crop_infer, crop_build, crop_work};
static ox_status *crop_prepare(ox_kernel_ctx *c) { return ox_deferred_prepare(c, &crop_op); }
static ox_status *crop_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)scratch;
  return ox_deferred_run(c, &crop_op, stage, tiles);
}

enum { ANY = OX_T_ALL };
#define PAD .name = "Pad", .attrs_bytes = sizeof(pad_attrs), .infer = pad_infer
#define PAD_KERNEL .prepare = pad_prepare, .run = pad_run

static const ox_op ops[] = {
    {OX_SCHEMA(PAD, .since = 1, .types = {OX_T_FLOAT}, .min_in = 1, .max_in = 1, OX_ATTRS(pad1_attr_defs)),
     OX_KERNEL(PAD_KERNEL)},
    {OX_SCHEMA(PAD, .since = 2, .types = {OX_T_FLOAT}, .min_in = 1, .max_in = 1, OX_ATTRS(pad2_attr_defs)),
     OX_KERNEL(PAD_KERNEL)},
    {OX_SCHEMA(PAD, .since = 11, .types = {ANY, OX_BIT(OX_I64), ANY, OX_T_INDEX}, .vars = "T.T", .min_in = 2,
               .max_in = 4, .value_in = 0xa, OX_ATTRS(pad11_attr_defs)),
     OX_KERNEL(PAD_KERNEL)},
    {OX_SCHEMA(PAD, .domain = "com.microsoft", .since = 1, .types = {OX_T_FLOAT, OX_BIT(OX_I64), OX_T_FLOAT},
               .vars = "T.T", .min_in = 2, .max_in = 3, .value_in = 2, OX_ATTRS(pad11_attr_defs)),
     OX_KERNEL(PAD_KERNEL)},
    {OX_SCHEMA(.name = "CenterCropPad", .since = 18, .types = {ANY & ~OX_T_SUBBYTE, OX_T_INDEX}, .min_in = 2,
               .max_in = 2, .value_in = 2, OX_ATTRS(crop_attr_defs), .attrs_bytes = sizeof(crop_attrs),
               .infer = crop_infer),
     OX_KERNEL(.prepare = crop_prepare, .run = crop_run)},
};
const ox_op_set ox_ops_pad = {ops, OX_COUNT(ops)};
