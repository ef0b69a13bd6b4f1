/* SPDX-License-Identifier: Apache-2.0
 * ops/max_pool_mask.c - com.microsoft's MaxpoolWithMask: maxima of the elements that a mask selects. The operator is
 * not documented; this does what ONNX Runtime does with a mask of one plane: the first zero in a row of the window
 * ends that row, and with two or more axes the image's first element counts whatever its mask. Plane i of the input
 * uses plane i modulo n of a mask of n planes. */
#include <float.h>

#include "ops/shared/check.h"
#include "ops/shared/spatial_attrs.h"

typedef struct mask_attrs {
  const char *auto_pad;
  ox_ints kernel_shape, pads, strides;
  int64_t storage_order; /* for indices; ignored, as this operator has none */
} mask_attrs;
static const ox_attr_def table[] = {
    OX_ATTR_STR(mask_attrs, auto_pad, NULL),
    OX_ATTR_INTS_REQUIRED_IN(mask_attrs, kernel_shape, 1, OX_COUNT_MAX),
    OX_ATTR_INTS(mask_attrs, pads),
    OX_ATTR_INTS_IN(mask_attrs, strides, 1, OX_COUNT_MAX),
    OX_ATTR_INT(mask_attrs, storage_order, 0),
};

enum { AXES = 3 };
typedef struct mask_prep {
  int64_t planes, masks, in_n, out_n;
  int axes;
  int64_t in[AXES], out[AXES], kernel[AXES], stride[AXES], lo[AXES]; /* missing axes come first, with extent 1 */
} mask_prep;

static ox_status *window_of(const mask_attrs *a, int axes, ox_spatial_attrs *w) {
  if (axes < 1 || axes > AXES) return ox_fail(OX_NOT_IMPLEMENTED, "MaxpoolWithMask over %d axes, wanted 1..3", axes);
  return ox_spatial_attrs_read(w, axes, a->kernel_shape, a->strides, (ox_ints){0}, a->pads, a->auto_pad);
}

static ox_status *infer(ox_infer_ctx *c) {
  ox_shape y = c->in[0]->shape, mask = y;
  ox_spatial_attrs w;
  if (y.rank >= 0) {
    OX_TRY(window_of(c->attrs, y.rank - 2, &w));
    for (int i = 0; i < w.axes; i++) {
      int64_t lo, hi;
      OX_TRY(ox_spatial_output(&w, i, mask.dim[i + 2], &y.dim[i + 2], &lo, &hi));
    }
    mask.dim[0] = mask.dim[1] = -1;
    OX_TRY(ox_infer_shape_is(c, 1, mask.rank, mask.dim));
    int64_t planes = ox_shape_span(&c->in[0]->shape, 0, 2), masks = -1;
    if (c->in[1]->shape.rank >= 2) masks = ox_shape_span(&c->in[1]->shape, 0, 2);
    if (planes > 0 && masks >= 0 && (masks == 0 || planes % masks))
      return ox_fail(OX_SHAPE_MISMATCH, "MaxpoolWithMask: %lld masks for %lld planes", (long long)masks,
                     (long long)planes);
  }
  ox_infer_out(c, 0, c->in[0]->dtype, &y);
  return NULL;
}

static ox_status *prepare(ox_kernel_ctx *c) {
  const ox_shape *x = &c->in[0]->shape, *y = &c->out[0]->shape;
  mask_prep *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  ox_spatial_attrs w;
  if (!p) return ox_oom();
  OX_TRY(window_of(c->attrs, x->rank - 2, &w));
  p->axes = w.axes;
  p->planes = ox_shape_span(x, 0, 2), p->masks = ox_shape_span(&c->in[1]->shape, 0, 2);
  p->in_n = ox_shape_span(x, 2, x->rank), p->out_n = ox_shape_span(y, 2, y->rank);
  for (int i = 0; i < AXES; i++) {
    int a = i - (AXES - w.axes);
    int64_t out, hi;
    p->in[i] = p->out[i] = p->kernel[i] = p->stride[i] = 1;
    if (a < 0) continue;
    OX_TRY(ox_spatial_output(&w, a, x->dim[a + 2], &out, &p->lo[i], &hi));
    p->in[i] = x->dim[a + 2], p->out[i] = y->dim[a + 2], p->kernel[i] = w.kernel[a], p->stride[i] = w.stride[a];
  }
  return ox_ctx_plan(c, p->out_n ? p->planes : 0, 0);
}

/* The part of the window of output |o| that lies in the input: [*from, result). */
static int64_t window(const mask_prep *p, int a, int64_t o, int64_t *from) {
  int64_t first = o * p->stride[a] - p->lo[a];
  *from = OX_MAX(first, 0);
  return OX_MIN(first + p->kernel[a], p->in[a]);
}

static float most(const mask_prep *p, const float *x, const int32_t *mask, int64_t od, int64_t oh, int64_t ow) {
  int64_t d, h0, w0, d_end = window(p, 0, od, &d), h_end = window(p, 1, oh, &h0), w_end = window(p, 2, ow, &w0);
  float best = -FLT_MAX;
  for (; d < d_end; d++)
    for (int64_t h = h0; h < h_end; h++)
      for (int64_t w = w0; w < w_end; w++) {
        int64_t at = (d * p->in[1] + h) * p->in[2] + w;
        if (mask[at] == 0 && (at > 0 || p->axes == 1)) break;
        if (x[at] > best) best = x[at];
      }
  return best;
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  const mask_prep *p = c->prep;
  for (int64_t plane = tiles.begin; plane < tiles.end; plane++) {
    const float *x = (const float *)c->in[0]->data + plane * p->in_n;
    const int32_t *mask = (const int32_t *)c->in[1]->data + plane % p->masks * p->in_n;
    float *y = (float *)c->out[0]->data + plane * p->out_n;
    for (int64_t d = 0; d < p->out[0]; d++)
      for (int64_t h = 0; h < p->out[1]; h++)
        for (int64_t w = 0; w < p->out[2]; w++) *y++ = most(p, x, mask, d, h, w);
  }
  return NULL;
}

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "MaxpoolWithMask", .domain = "com.microsoft", .since = 1,
               .types = {OX_BIT(OX_F32), OX_BIT(OX_I32)}, .min_in = 2, .max_in = 2, OX_ATTRS(table),
               .attrs_bytes = sizeof(mask_attrs), .infer = infer),
     OX_KERNEL(.prepare = prepare, .run = run)},
};
const ox_op_set ox_ops_max_pool_mask = {ops, OX_COUNT(ops)};
