/* SPDX-License-Identifier: Apache-2.0
 * device/ops/resize.c - Resize and Upsample with constant scales or sizes, one axis per launch. */
#include <string.h>

#include "plugins/device/emit.h"
#include "plugins/device/kernels/resize_params.h"

static bool has_in(const dev_node *n, size_t i) { return dev_in_count(n) > i && dev_in(n, i) != UINT32_MAX; }

static bool is_old(const dev_node *n) { return strcmp(dev_node_op(n), "Upsample") == 0 || dev_node_version(n) < 11; }

/* Reads the floats of a constant input and returns their number; -1: another type, or more than |max|. */
static int in_floats(const dev_node *n, size_t i, float *out, int max) {
  const ox_tensor *t = dev_in_constant(n, i);
  if (!t || t->dtype != OX_F32 || t->bytes > (size_t)max * sizeof *out) return -1;
  if (t->bytes) memcpy(out, t->data, t->bytes);
  return (int)(t->bytes / sizeof *out);
}

/* Per axis of X: the scale (0: follows from the sizes), and the region of interest. */
typedef struct plan_axes {
  float scale[OX_MAX_RANK], first[OX_MAX_RANK], last[OX_MAX_RANK];
} plan_axes;

static const char *read_axes(const dev_node *n, int rank, plan_axes *out) {
  int64_t axes[OX_MAX_RANK], sizes[OX_MAX_RANK];
  float scales[OX_MAX_RANK], region[2 * OX_MAX_RANK];
  size_t at = is_old(n) ? 1 : 2;
  int n_axes = is_old(n) ? 0 : (int)dev_attr_ints(n, "axes", axes, OX_MAX_RANK), count;
  if (n_axes == 0)
    for (n_axes = 0; n_axes < rank; n_axes++) axes[n_axes] = n_axes;
  for (int d = 0; d < rank; d++) out->scale[d] = 0, out->first[d] = 0, out->last[d] = 1;
  bool scaled = has_in(n, at) && (!dev_in_constant(n, at) || dev_in_constant(n, at)->bytes > 0);
  if (scaled) {
    count = in_floats(n, at, scales, OX_MAX_RANK);
    if (count != n_axes) return REASON("constant scales, one for each axis", "{1}, {2}");
  } else if (is_old(n) || dev_in_ints(n, 3, sizes, OX_MAX_RANK) != (size_t)n_axes) {
    return REASON("constant scales or sizes", "{inputs}");
  }
  bool crop = !is_old(n) && dev_attr_is(n, "coordinate_transformation_mode", "tf_crop_and_resize", "half_pixel");
  if (crop && in_floats(n, 1, region, 2 * OX_MAX_RANK) != 2 * n_axes) return REASON("a constant region", "{1}");
  for (int i = 0; i < n_axes; i++) {
    int d = dev_axis(axes[i], rank);
    if (d < 0) return REASON("axes of the input", "{axes}, {0}");
    if (scaled) out->scale[d] = scales[i];
    if (crop) out->first[d] = region[i], out->last[d] = region[n_axes + i];
  }
  return NULL;
}

static const char *takes(const dev_node *n) {
  plan_axes axes;
  if (dev_in_dtype(n, 0) != OX_F32 && dev_in_dtype(n, 0) != OX_F16) return REASON("float32 or float16", "{0}");
  if (dev_in_rank(n, 0) < 1) return REASON("a known rank of 1 or more", "{0}");
  if (strcmp(dev_node_op(n), "Upsample") == 0 && dev_node_version(n) < 9) return REASON("opset 9 or later", "{op}");
  if (dev_attr_int(n, "antialias", 0)) return REASON("no antialias", "{antialias}");
  if (!dev_attr_is(n, "keep_aspect_ratio_policy", "stretch", "stretch"))
    return REASON("the policy stretch", "{keep_aspect_ratio_policy}");
  return read_axes(n, dev_in_rank(n, 0), &axes);
}

static int choose(const dev_node *n, const char *name, const char *otherwise, const char *const *values) {
  int i = 0;
  while (values[i] && !dev_attr_is(n, name, values[i], otherwise)) i++;
  return i;
}

static ox_status *read_modes(const dev_plan *p, const dev_node *n, resize_params *r) {
  static const char *const modes[] = {"nearest", "linear", "cubic", NULL};
  static const char *const places[] = {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                                       "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize", NULL};
  static const char *const roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil", NULL};
  r->mode = choose(n, "mode", "nearest", modes);
  r->coordinates = is_old(n) ? RESIZE_ASYMMETRIC : choose(n, "coordinate_transformation_mode", "half_pixel", places);
  r->rounding = is_old(n) ? RESIZE_FLOOR : choose(n, "nearest_mode", "round_prefer_floor", roundings);
  r->cubic = dev_attr_float(n, "cubic_coeff_a", -0.75f);
  r->exclude_outside = dev_attr_int(n, "exclude_outside", 0) != 0;
  r->extrapolation = dev_attr_float(n, "extrapolation_value", 0);
  bool known = modes[r->mode] && r->coordinates <= RESIZE_CROP && roundings[r->rounding];
  return known ? NULL : dev_refuse(p, "an unknown mode");
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  const ox_shape *x = dev_shape(p, dev_in(n, 0)), *y = dev_shape(p, dev_out(n, 0));
  uint32_t dtype = dev_dtype(p, dev_in(n, 0));
  int passes = 0, resized[OX_MAX_RANK];
  resize_params params;
  plan_axes axes;
  ox_shape s = *x;
  memset(&params, 0, sizeof params);
  if (read_axes(n, x->rank, &axes)) return dev_refuse(p, "sizes that do not fit");
  DEV_TRY(read_modes(p, n, &params));
  if (dev_count(p, dev_out(n, 0)) == 0) return NULL;
  if (dev_count(p, dev_in(n, 0)) == 0) return dev_refuse(p, "there is nothing to resize");
  for (int d = 0; d < x->rank; d++) {
    bool whole = params.coordinates != RESIZE_CROP || (axes.first[d] == 0 && axes.last[d] == 1);
    if (x->dim[d] != y->dim[d] || !whole || (axes.scale[d] != 0 && axes.scale[d] != 1)) resized[passes++] = d;
  }
  if (passes == 0) return dev_emit_view(p, dev_out(n, 0), dev_in(n, 0));
  dev_ref from = dev_value(p, dev_in(n, 0));
  for (int i = 0; i < passes; i++) {
    int d = resized[i];
    params.in = (int)s.dim[d], params.out = (int)y->dim[d], s.dim[d] = y->dim[d];
    params.inner = (int)dev_span(&s, d + 1, s.rank), params.n = (int)dev_span(&s, 0, s.rank);
    bool scaled = axes.scale[d] != 0;
    params.num = scaled ? 1 : (float)params.in, params.den = scaled ? axes.scale[d] : (float)params.out;
    params.spread = (float)((scaled ? (double)axes.scale[d] * params.in : params.out) - 1);
    params.first = axes.first[d], params.last = axes.last[d];
    dev_ref to =
        i + 1 == passes ? dev_value(p, dev_out(n, 0)) : dev_temp(p, (size_t)params.n * (dtype == OX_F16 ? 2 : 4));
    dev_call c = {.source = "resize",
                  .kernel = "resize",
                  .dtype = dtype,
                  .n_buffers = 2,
                  .buffers = {from, to},
                  .written = 1u << 1,
                  DEV_PARAMS(params)};
    DEV_TRY(dev_emit_items(p, &c, params.n));
    from = to;
  }
  return NULL;
}

static const char *const names[] = {"Resize", "Upsample", NULL};
DEV_OP(resize) = {"", names, takes, emit};
