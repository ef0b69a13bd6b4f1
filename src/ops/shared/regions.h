/* SPDX-License-Identifier: Apache-2.0
 * ops/shared/regions.h - operators that make a plane of each region of an image: X [images, C, H, W] is input 0, the
 * regions are the rows of input 1, and the image that each is of may be an element of input 2. */
#ifndef OX_OPS_SHARED_REGIONS_H
#define OX_OPS_SHARED_REGIONS_H

#include "graph/op_def.h"

/* Output [regions, C, h, w]; a region has |cols| numbers. */
OX_NODISCARD static inline ox_status *ox_regions_infer(ox_infer_ctx *c, int64_t cols, int64_t h, int64_t w) {
  const ox_shape *x = &c->in[0]->shape, *r = &c->in[1]->shape;
  ox_shape y = {.rank = 4, .dim = {-1, -1, h, w}};
  if (x->rank >= 0 && x->rank != 4) return ox_fail(OX_INVALID_MODEL, "X has rank %d, wanted 4", x->rank);
  if (r->rank >= 0 && (r->rank != 2 || (r->dim[1] >= 0 && r->dim[1] != cols)))
    return ox_fail(OX_SHAPE_MISMATCH, "the regions must be [n,%lld]", (long long)cols);
  if (x->rank == 4) y.dim[1] = x->dim[1];
  if (r->rank == 2) y.dim[0] = r->dim[0];
  ox_infer_out(c, 0, c->in[0]->dtype, &y);
  return NULL;
}

/* In prepare; |indexed|: input 2 says which image a region is of. */
OX_NODISCARD static inline ox_status *ox_regions_check(const ox_kernel_ctx *c, bool indexed) {
  if (indexed && ox_shape_count(&c->in[2]->shape) != c->in[1]->shape.dim[0])
    return ox_fail(OX_SHAPE_MISMATCH, "batch indices must have one element per region");
  if (ox_shape_count(&c->in[0]->shape) == 0 && ox_shape_count(&c->out[0]->shape) != 0)
    return ox_fail(OX_SHAPE_MISMATCH, "X is empty");
  return NULL;
}

/* Whether there is an |image|, that of |region|. */
OX_NODISCARD static inline ox_status *ox_regions_image(const ox_kernel_ctx *c, int64_t region, int64_t image) {
  int64_t images = c->in[0]->shape.dim[0];
  if (image >= 0 && image < images) return NULL;
  return ox_fail(OX_SHAPE_MISMATCH, "region %lld is of image %lld, there are %lld", (long long)region, (long long)image,
                 (long long)images);
}

#endif
