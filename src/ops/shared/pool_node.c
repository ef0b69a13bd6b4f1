/* SPDX-License-Identifier: Apache-2.0
 * ops/shared/pool_node.c - attributes and geometry of pools. */
#include "ops/shared/pool_node.h"

static ox_status *spatial_of(const ox_pool_attrs *a, int axes, ox_spatial_attrs *w) {
  OX_TRY(ox_spatial_attrs_read(w, axes, a->kernel_shape, a->strides, a->dilations, a->pads, a->auto_pad));
  w->ceil = a->ceil_mode != 0, w->clipped = true;
  return NULL;
}

ox_status *ox_pool_infer_shape(const ox_pool_attrs *a, const ox_shape *x, ox_shape *out) {
  ox_spatial_attrs w;
  *out = *x;
  if (x->rank < 0) return NULL;
  if (x->rank < 3) return ox_fail(OX_INVALID_MODEL, "X has rank %d, wanted at least 3", x->rank);
  OX_TRY(spatial_of(a, x->rank - 2, &w));
  for (int i = 0; i < x->rank - 2; i++) {
    int64_t lo, hi;
    OX_TRY(ox_spatial_output(&w, i, x->dim[i + 2], &out->dim[i + 2], &lo, &hi));
  }
  return NULL;
}

ox_status *ox_pool_make(const ox_pool_attrs *a, ox_pool_kind kind, const ox_shape *x, const ox_shape *y, ox_pool *out) {
  ox_spatial_attrs w;
  OX_TRY(spatial_of(a, x->rank - 2, &w));
  *out = (ox_pool){.kind = kind,
                   .axes = w.axes,
                   .include_pad = a->count_include_pad != 0,
                   .column_major = a->storage_order != 0,
                   .p = (double)a->p};
  for (int i = 0; i < w.axes; i++) {
    int64_t n;
    OX_TRY(ox_spatial_output(&w, i, x->dim[i + 2], &n, &out->lo[i], &out->hi[i]));
    out->in[i] = x->dim[i + 2], out->out[i] = y->dim[i + 2];
    out->kernel[i] = w.kernel[i], out->stride[i] = w.stride[i], out->dilation[i] = w.dilation[i];
  }
  return NULL;
}

bool ox_pool_has_taps(const ox_pool *p) {
  for (int i = 0; i < p->axes; i++)
    if (p->kernel[i] > 1 << 20) return false;
  return p->axes <= OX_CONV_AXES;
}

/* The range of taps that are inside the input for some output; one tap if there are none. */
static void taps_in_reach(const ox_pool *p, int a, int64_t *out_from, int64_t *out_to) {
  int64_t from, to;
  ox_pool_clip(p, a, 0, 0, p->in[a], &from, out_to);                        /* the first output determines their end, */
  ox_pool_clip(p, a, OX_MAX(p->out[a] - 1, 0), 0, p->in[a], out_from, &to); /* the last one their beginning */
  *out_to = OX_MIN(*out_to, p->kernel[a]);
  if (*out_from >= *out_to) *out_from = 0, *out_to = 1;
}

ox_status *ox_pool_inverse(ox_kernel_ctx *c, const ox_pool *p, float *inverse[OX_CONV_AXES]) {
  for (int i = 0; i < OX_CONV_AXES; i++) {
    int a = i - (OX_CONV_AXES - p->axes);
    int64_t n = a < 0 ? 1 : p->out[a];
    inverse[i] = ox_ctx_alloc(c, (size_t)n * sizeof(float) + 1);
    if (!inverse[i]) return ox_oom();
    for (int64_t o = 0; o < n; o++) inverse[i][o] = a < 0 ? 1.0f : 1.0f / (float)OX_MAX(ox_pool_count(p, a, o), 1);
  }
  return NULL;
}

ox_status *ox_pool_taps(ox_kernel_ctx *c, const ox_pool *p, int64_t planes, ox_conv_geom *g,
                        float *inverse[OX_CONV_AXES]) {
  *g = (ox_conv_geom){.batch = 1, .groups = planes, .ic = 1, .oc = 1};
  for (int i = 0; i < OX_CONV_AXES; i++) {
    int a = i - (OX_CONV_AXES - p->axes);
    int64_t from = 0, to = 1;
    if (a >= 0) taps_in_reach(p, a, &from, &to);
    int64_t n = to - from, *taps = ox_ctx_alloc(c, (size_t)n * sizeof *taps);
    if (!taps) return ox_oom();
    for (int64_t t = from; t < to && a >= 0; t++) taps[t - from] = t * p->dilation[a] - p->lo[a];
    g->n_taps[i] = n, g->tap[i] = taps;
    g->in[i] = a < 0 ? 1 : p->in[a], g->out[i] = a < 0 ? 1 : p->out[a], g->stride[i] = a < 0 ? 1 : p->stride[a];
  }
  return p->kind == OX_POOL_AVERAGE ? ox_pool_inverse(c, p, inverse) : NULL;
}
