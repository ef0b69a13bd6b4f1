/* SPDX-License-Identifier: Apache-2.0
 * ops/shared/scales.c - checks of scale shapes. */
#include "ops/shared/scales.h"

static ox_status *mismatch(const ox_shape *x, const ox_shape *scale) {
  char tx[OX_SHAPE_TEXT], ts[OX_SHAPE_TEXT];
  return ox_fail(OX_SHAPE_MISMATCH, "a scale of shape %s does not fit a tensor of shape %s", ox_shape_text(scale, ts),
                 ox_shape_text(x, tx));
}

static bool differ(int64_t a, int64_t b) { return a >= 0 && b >= 0 && a != b; }

ox_status *ox_scales_check(const ox_shape *x, const ox_shape *scale, int64_t axis, int64_t block_size) {
  if (x->rank < 0 || scale->rank < 0 || ox_shape_count(scale) == 1) return NULL;
  int k;
  if (!ox_axis_ok(axis, x->rank, &k))
    return ox_fail(OX_INVALID_MODEL, "axis %lld is outside rank %d", (long long)axis, (int)x->rank);
  if (block_size == 0) {
    if (scale->rank != 1) return scale->rank == 0 ? NULL : mismatch(x, scale);
    return differ(scale->dim[0], x->dim[k]) && scale->dim[0] != 1 ? mismatch(x, scale) : NULL;
  }
  if (scale->rank != x->rank) return mismatch(x, scale);
  for (int i = 0; i < x->rank; i++) {
    int64_t want = i == k && x->dim[i] >= 0 ? x->dim[i] / block_size + (x->dim[i] % block_size != 0) : x->dim[i];
    if (differ(scale->dim[i], want)) return mismatch(x, scale);
  }
  return NULL;
}

void ox_scales_init(ox_scales *s, const ox_shape *x, const ox_shape *scale, int64_t axis, int64_t block_size) {
  int k = 0;
  *s = (ox_scales){.axis = 1, .inner = 1, .block = 1};
  if (ox_shape_count(scale) == 1 || !ox_axis_ok(axis, x->rank, &k)) return;
  s->axis = x->dim[k], s->inner = ox_shape_span(x, k + 1, x->rank);
  if (block_size) s->block = block_size, s->blocks = scale->dim[k];
}

ox_status *ox_scale_pair_check(const ox_infer_ctx *c, int64_t axis, int64_t block_size) {
  for (uint32_t i = 2; i >= 1; i--)
    if (ox_infer_has(c, i)) OX_TRY(ox_scales_check(&c->in[0]->shape, &c->in[i]->shape, axis, block_size));
  return NULL;
}

void ox_scale_pair_init(ox_scale_pair *p, const ox_kernel_ctx *c, int64_t axis, int64_t block_size) {
  const ox_shape *x = &c->in[0]->shape;
  p->has_zeros = ox_ctx_has(c, 2);
  ox_scales_init(&p->scales, x, &c->in[1]->shape, axis, block_size);
  if (p->has_zeros) ox_scales_init(&p->zeros, x, &c->in[2]->shape, axis, block_size);
}
