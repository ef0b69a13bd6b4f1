/* SPDX-License-Identifier: Apache-2.0
 * device/ops/roi.c - RoiAlign and MaxRoiPool, com.microsoft's CropAndResize. */
#include <string.h>

#include "plugins/device/emit.h"
#include "plugins/device/kernels/roi_params.h"

enum { MOST_SAMPLES = 64 };

static bool is_crop(const dev_node *n) { return strcmp(dev_node_op(n), "CropAndResize") == 0; }
static bool is_pool(const dev_node *n) { return strcmp(dev_node_op(n), "MaxRoiPool") == 0; }

static const char *takes_crop(const dev_node *n) {
  int64_t size[2];
  if (dev_in_dtype(n, 2) != OX_I32) return REASON("image numbers of int32", "{2}");
  if (dev_in_ints(n, 3, size, 2) != 2) return REASON("a constant crop_size", "{3}");
  return dev_attr_is(n, "mode", "bilinear", "bilinear") || dev_attr_is(n, "mode", "nearest", "bilinear")
             ? NULL
             : REASON("the mode bilinear or nearest", "{mode}");
}

static const char *takes(const dev_node *n) {
  const char *why = dev_takes_real(n, 4, 4);
  if (why) return why;
  if (dev_in_rank(n, 1) != 2) return REASON("regions of 2 axes", "{1}");
  if (is_crop(n)) return takes_crop(n);
  if (is_pool(n)) return NULL;
  if (dev_in_dtype(n, 2) != OX_I64) return REASON("image numbers of int64", "{2}");
  if (!dev_attr_is(n, "mode", "avg", "avg") && !dev_attr_is(n, "mode", "max", "avg"))
    return REASON("the mode avg or max", "{mode}");
  int64_t samples = dev_attr_int(n, "sampling_ratio", 0);
  return samples < 0 || samples > MOST_SAMPLES ? REASON("a sampling_ratio from 0 to 64", "{sampling_ratio}") : NULL;
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  const ox_shape *x = dev_shape(p, dev_in(n, 0)), *r = dev_shape(p, dev_in(n, 1)), *y = dev_shape(p, dev_out(n, 0));
  bool pool = is_pool(n), crop = is_crop(n);
  const char *coordinates = "coordinate_transformation_mode";
  roi_params q = {.n = (int)dev_count(p, dev_out(n, 0)),
                  .images = (int)x->dim[0],
                  .channels = (int)x->dim[1],
                  .in = {(int)x->dim[2], (int)x->dim[3]},
                  .out = {(int)y->dim[2], (int)y->dim[3]},
                  .samples = (int)dev_attr_int(n, "sampling_ratio", 0),
                  .largest = dev_attr_is(n, "mode", "max", "avg"),
                  .half_pixel = dev_node_version(n) >= 16 && dev_attr_is(n, coordinates, "half_pixel", "half_pixel"),
                  .scale = crop ? dev_attr_float(n, "extrapolation_value", 0) : dev_attr_float(n, "spatial_scale", 1),
                  .nearest = crop && dev_attr_is(n, "mode", "nearest", "bilinear")};
  if (!pool && !crop && dev_node_version(n) >= 16 && !q.half_pixel &&
      !dev_attr_is(n, coordinates, "output_half_pixel", "half_pixel"))
    return dev_refuse(p, "a coordinate_transformation_mode that is not known");
  if (r->dim[1] != (pool ? 5 : 4) || (!pool && dev_count(p, dev_in(n, 2)) != r->dim[0]))
    return dev_refuse(p, "regions that do not fit");
  if (q.n && !dev_count(p, dev_in(n, 0))) return dev_refuse(p, "X is empty");
  dev_call c = {.source = "roi",
                .kernel = pool   ? "roi_pool"
                          : crop ? "roi_crop"
                                 : "roi_align",
                .dtype = dev_dtype(p, dev_in(n, 0)),
                .n_buffers = 2,
                .buffers = {dev_value(p, dev_in(n, 0)), dev_value(p, dev_in(n, 1))},
                DEV_PARAMS(q)};
  if (!pool) c.buffers[c.n_buffers++] = dev_value(p, dev_in(n, 2));
  c.written = 1u << c.n_buffers;
  c.buffers[c.n_buffers++] = dev_value(p, dev_out(n, 0));
  return dev_emit_items(p, &c, q.n);
}

static const char *const names[] = {"RoiAlign", "MaxRoiPool", "com.microsoft:CropAndResize", NULL};
DEV_OP(roi) = {"", names, takes, emit};
