/* SPDX-License-Identifier: Apache-2.0
 * ops/shared/resize_shape.c - Resize and Upsample: from attributes and inputs to one description per axis. */
#include "ops/shared/resize_shape.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/cksize.h"
#include "kern/quant/convert.h"

/* The attributes and inputs, for inference and kernels. Tensors are NULL if they are absent or their data unknown. */
typedef struct source {
  const ox_resize_attrs *a;
  uint32_t version;
  bool wide; /* coordinates in double */
  const ox_shape *x;
  const ox_tensor *roi, *scales, *sizes;
} source;

static int find(const char *text, const char *const *names, int n) {
  for (int i = 0; i < n; i++)
    if (text && strcmp(text, names[i]) == 0) return i;
  return -1;
}

static ox_status *read_modes(const source *s, ox_resize_spec *spec) {
  static const char *const modes[] = {"nearest", "linear", "cubic"};
  static const char *const coords[] = {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                                       "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"};
  static const char *const rounds[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
  const ox_resize_attrs *a = s->a;
  int mode = find(a->mode, modes, 3), coord = OX_COORD_ASYMMETRIC, round = OX_ROUND_SIMPLE;
  if (mode < 0 && a->mode && strcmp(a->mode, "bilinear") == 0) mode = OX_RESIZE_LINEAR; /* Upsample 1 */
  if (mode < 0) return ox_fail(OX_INVALID_MODEL, "mode \"%.40s\" is not nearest, linear or cubic", a->mode);
  if (a->coordinate_transformation_mode) { /* since version 11 */
    coord = find(a->coordinate_transformation_mode, coords, OX_COUNT(coords));
    round = find(a->nearest_mode, rounds, OX_COUNT(rounds));
    if (coord < 0)
      return ox_fail(OX_INVALID_MODEL, "unknown coordinate_transformation_mode \"%.40s\"",
                     a->coordinate_transformation_mode);
    if (round < 0) return ox_fail(OX_INVALID_MODEL, "unknown nearest_mode \"%.40s\"", a->nearest_mode);
  }
  spec->mode = (ox_resize_mode)mode;
  spec->antialias = a->antialias != 0 && mode != OX_RESIZE_NEAREST;
  for (int i = 0; i < OX_MAX_RANK; i++)
    spec->axis[i] = (ox_resize_axis){.scale = 1,
                                     .roi_end = 1,
                                     .mode = spec->mode,
                                     .coord = (ox_resize_coord)coord,
                                     .round = (ox_resize_round)round,
                                     .wide = s->wide && mode != OX_RESIZE_NEAREST,
                                     .antialias = spec->antialias,
                                     .exclude_outside = a->exclude_outside != 0,
                                     .cubic_a = a->cubic_coeff_a};
  return NULL;
}

/* The axes that scales, sizes and roi refer to. */
static ox_status *read_axes(const source *s, int *axes, int *n) {
  int rank = s->x->rank;
  uint32_t seen = 0;
  *n = s->a->axes.n ? (int)s->a->axes.n : rank;
  if (*n > rank) return ox_fail(OX_INVALID_MODEL, "axes has %d values for rank %d", *n, rank);
  for (int i = 0; i < *n; i++) {
    axes[i] = i;
    if (s->a->axes.n && !ox_axis_ok(s->a->axes.v[i], rank, &axes[i]))
      return ox_fail(OX_INVALID_MODEL, "axis %lld is outside rank %d", (long long)s->a->axes.v[i], rank);
    if (seen & 1u << axes[i]) return ox_fail(OX_INVALID_MODEL, "axis %d twice in axes", axes[i]);
    seen |= 1u << axes[i];
  }
  return NULL;
}

static ox_status *read_floats(const ox_tensor *t, const char *name, int64_t n, double *out) {
  int64_t have = ox_shape_count(&t->shape);
  if (t->kind != OX_TENSOR ||
      (t->dtype != OX_F32 && t->dtype != OX_F64 && t->dtype != OX_F16 && t->dtype != OX_I64 && t->dtype != OX_BF16))
    return ox_fail(OX_INVALID_MODEL, "%s has a type it cannot have", name);
  if (have != n)
    return ox_fail(OX_SHAPE_MISMATCH, "%s has %lld elements, wanted %lld", name, (long long)have, (long long)n);
  double aligned[2 * OX_MAX_RANK]; /* a constant may lie at any address */
  assert(t->bytes <= sizeof aligned);
  if (t->bytes) memcpy(aligned, t->data, t->bytes);
  ox_convert_select(0)->load_f64[t->dtype](aligned, 0, (size_t)n, out);
  return NULL;
}

static ox_status *use_scales(const double *v, const int *axes, int n, ox_resize_spec *spec, ox_shape *y) {
  for (int i = 0; i < n; i++) {
    float s = (float)v[i];
    if (!(s > 0) || isinf(s)) return ox_fail(OX_INVALID_MODEL, "scales[%d] is %g, wanted above 0", i, v[i]);
    spec->axis[axes[i]].scale = (double)s;
    if (y->dim[axes[i]] < 0) {
      if (s != 1) y->dim[axes[i]] = -1; /* scale 1 keeps a symbolic dimension */
      continue;
    }
    double out = floor((double)(s * (float)y->dim[axes[i]]));
    if (y->dim[axes[i]] > 1 << 24) out = floor((double)s * (double)y->dim[axes[i]]);
    if (out > 9e15) return ox_fail(OX_LIMIT, "scales[%d] of %g makes axis %d too long", i, v[i], axes[i]);
    y->dim[axes[i]] = ox_i64_of(out);
  }
  return NULL;
}

static ox_status *use_sizes(const source *s, const double *v, const int *axes, int n, ox_resize_spec *spec,
                            ox_shape *y) {
  const char *policy = s->a->keep_aspect_ratio_policy;
  bool larger = policy && strcmp(policy, "not_smaller") == 0,
       keep = larger || (policy && strcmp(policy, "not_larger") == 0);
  if (policy && !keep && strcmp(policy, "stretch") != 0)
    return ox_fail(OX_INVALID_MODEL, "unknown keep_aspect_ratio_policy \"%.40s\"", policy);
  double best = 0, exact = 0; /* the same ratio, rounded to float and not */
  bool known = true;
  for (int i = 0; i < n; i++) {
    if (v[i] < 0 || v[i] > 9e15) return ox_fail(OX_INVALID_MODEL, "sizes[%d] is %g", i, v[i]);
    int64_t in = y->dim[axes[i]];
    if (in <= 0) known &= in == 0;
    double ratio = in > 0 ? v[i] / (double)in : 1, scale = (double)(float)ratio;
    spec->axis[axes[i]].scale = ratio;
    if (i == 0 || (larger ? scale > best : scale < best)) best = scale, exact = ratio;
  }
  for (int i = 0; i < n; i++) {
    int64_t in = y->dim[axes[i]];
    if (!keep) {
      y->dim[axes[i]] = ox_i64_of(v[i]);
    } else if (!known || in < 0) {
      y->dim[axes[i]] = -1;
    } else {
      spec->axis[axes[i]].scale = exact;
      y->dim[axes[i]] = ox_i64_of(round(best * (double)in));
    }
  }
  return NULL;
}

static ox_status *use_roi(const source *s, const int *axes, int n, ox_resize_spec *spec) {
  double v[2 * OX_MAX_RANK];
  if (spec->axis[0].coord != OX_COORD_TF_CROP_AND_RESIZE || !s->roi) return NULL;
  OX_TRY(read_floats(s->roi, "roi", 2 * n, v));
  for (int i = 0; i < n; i++) {
    ox_resize_axis *x = &spec->axis[axes[i]];
    x->roi_begin = x->wide ? v[i] : (double)(float)v[i], x->roi_end = x->wide ? v[n + i] : (double)(float)v[n + i];
  }
  return NULL;
}

/* The whole description; *known: the output's extents are. */
static ox_status *describe(const source *s, ox_resize_spec *spec, ox_shape *y, bool *known) {
  int axes[OX_MAX_RANK], n;
  double v[OX_MAX_RANK] = {0};
  *known = true, *y = *s->x;
  OX_TRY(read_modes(s, spec));
  OX_TRY(read_axes(s, axes, &n));
  if (s->a->scales.n || s->a->height_scale > 0 || s->a->width_scale > 0) { /* Upsample before 9 */
    if (s->a->scales.n && s->a->scales.n != (size_t)s->x->rank)
      return ox_fail(OX_INVALID_MODEL, "scales has %zu values for rank %d", s->a->scales.n, s->x->rank);
    if (!s->a->scales.n && s->x->rank != 4) return ox_fail(OX_INVALID_MODEL, "X has rank %d, wanted 4", s->x->rank);
    for (int i = 0; i < n; i++)
      v[i] = s->a->scales.n ? (double)s->a->scales.v[i]
             : i == 2       ? (double)s->a->height_scale
             : i == 3       ? (double)s->a->width_scale
                            : 1;
    OX_TRY(use_scales(v, axes, n, spec, y));
  } else if (s->sizes) {
    OX_TRY(read_floats(s->sizes, "sizes", n, v));
    OX_TRY(use_sizes(s, v, axes, n, spec, y));
  } else if (s->scales) {
    OX_TRY(read_floats(s->scales, "scales", n, v));
    OX_TRY(use_scales(v, axes, n, spec, y));
  } else {
    *known = false;
    for (int i = 0; i < n; i++) y->dim[axes[i]] = -1;
  }
  if (*known) OX_TRY(use_roi(s, axes, n, spec));
  for (int i = 0; i < s->x->rank; i++) {
    spec->axis[i].in = s->x->dim[i], spec->axis[i].out = y->dim[i];
    if (s->x->dim[i] == 0 && y->dim[i] > 0) return ox_fail(OX_SHAPE_MISMATCH, "Resize: axis %d grows from nothing", i);
    if (y->dim[i] > INT32_MAX) return ox_fail(OX_LIMIT, "Resize: axis %d of %lld", i, (long long)y->dim[i]);
  }
  spec->done = true;
  return NULL;
}

/* |t| if its data are known; an empty tensor counts as absent. */
static const ox_tensor *content(const ox_tensor *t) { return t && t->data && ox_shape_count(&t->shape) > 0 ? t : NULL; }

ox_status *ox_resize_infer(ox_infer_ctx *c) {
  ox_resize_spec spec;
  ox_shape y = ox_shape_unknown();
  bool known, modern = ((const ox_resize_attrs *)c->attrs)->coordinate_transformation_mode != NULL;
  if (c->in[0]->shape.rank >= 0) {
    source s = {.a = c->attrs, .version = c->op_version, .x = &c->in[0]->shape};
    uint32_t at = modern ? 2 : 1;
    s.scales = at < c->n_in ? content(c->in_data[at]) : NULL;
    s.sizes = modern && c->n_in > 3 ? content(c->in_data[3]) : NULL;
    s.roi = modern && c->n_in > 1 ? content(c->in_data[1]) : NULL;
    /* while sizes are unknown, scales that may turn out to be empty are ignored */
    OX_TRY(describe(&s, &spec, &y, &known));
  }
  ox_infer_out(c, 0, c->in[0]->dtype, &y);
  return NULL;
}

ox_status *ox_resize_spec_ctx(const ox_kernel_ctx *c, ox_resize_spec *spec, ox_shape *y, bool *known) {
  bool modern = ((const ox_resize_attrs *)c->attrs)->coordinate_transformation_mode != NULL;
  uint32_t at = modern ? 2 : 1;
  source s = {
      .a = c->attrs, .version = c->op_version, .wide = ox_resize_is_wide(c->in[0]->dtype), .x = &c->in[0]->shape};
  s.scales = ox_ctx_has(c, at) ? content(c->in[at]) : NULL;
  s.sizes = modern && ox_ctx_has(c, 3) ? content(c->in[3]) : NULL;
  s.roi = modern && ox_ctx_has(c, 1) ? content(c->in[1]) : NULL;
  OX_TRY(describe(&s, spec, y, known));
  /* the region's data may not be known yet */
  if (spec->axis[0].coord == OX_COORD_TF_CROP_AND_RESIZE && modern && ox_ctx_has(c, 1) && !s.roi &&
      ox_shape_count(&c->in[1]->shape) > 0)
    *known = false;
  return NULL;
}
