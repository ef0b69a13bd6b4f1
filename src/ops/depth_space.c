/* SPDX-License-Identifier: Apache-2.0
 * ops/depth_space.c - DepthToSpace and SpaceToDepth: elements of any type move between channels and pixels. */
#include <string.h>

#include "kern/move/move.h"
#include "ops/shared/tiles.h"

typedef struct ds_attrs {
  int64_t blocksize;
  const char *mode;
} ds_attrs;
static const ox_attr_def attr_rows[] = {OX_ATTR_INT_REQUIRED_IN(ds_attrs, blocksize, 1, 1 << 15),
                                        OX_ATTR_STR(ds_attrs, mode, "DCR")};

typedef struct ds_prep {
  int64_t block, depth, height, width; /* of the deep side: channels / block^2, rows, columns */
  bool to_space, crd;
  int64_t per_tile; /* rows of the wide side, one channel */
} ds_prep;

static ox_status *infer(ox_infer_ctx *c, bool to_space) {
  const ds_attrs *a = c->attrs;
  ox_shape y = c->in[0]->shape;
  if (y.rank >= 0) {
    if (y.rank != 4) return ox_fail(OX_INVALID_MODEL, "input has rank %d, wanted 4", y.rank);
    int64_t b = a->blocksize, d[3] = {to_space ? b * b : 1, to_space ? 1 : b, to_space ? 1 : b};
    for (int i = 0; i < 3; i++)
      if (y.dim[i + 1] >= 0 && y.dim[i + 1] % d[i])
        return ox_fail(OX_SHAPE_MISMATCH, "axis %d of %lld is not a multiple of %lld", i + 1, (long long)y.dim[i + 1],
                       (long long)d[i]);
    y.dim[1] = y.dim[1] < 0 ? -1 : to_space ? y.dim[1] / (b * b) : ox_dim_mul(y.dim[1], b * b);
    for (int i = 2; i < 4; i++) y.dim[i] = y.dim[i] < 0 ? -1 : to_space ? ox_dim_mul(y.dim[i], b) : y.dim[i] / b;
  }
  ox_infer_out(c, 0, c->in[0]->dtype, &y);
  return NULL;
}
static ox_status *infer_to_space(ox_infer_ctx *c) { return infer(c, true); }
static ox_status *infer_to_depth(ox_infer_ctx *c) { return infer(c, false); }

static ox_status *prepare(ox_kernel_ctx *c, bool to_space) {
  const ds_attrs *a = c->attrs;
  const ox_shape *deep = to_space ? &c->in[0]->shape : &c->out[0]->shape;
  ds_prep *p = c->prep = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  p->crd = a->mode && strcmp(a->mode, "CRD") == 0;
  if (!p->crd && a->mode && strcmp(a->mode, "DCR") != 0)
    return ox_fail(OX_INVALID_MODEL, "mode is DCR or CRD, not \"%.40s\"", a->mode);
  p->to_space = to_space, p->block = a->blocksize;
  p->depth = deep->dim[1] / (p->block * p->block), p->height = deep->dim[2], p->width = deep->dim[3];
  int64_t rows = deep->dim[0] * p->depth * p->height * p->block;
  p->per_tile = OX_MAX(16384 / OX_MAX(p->width * p->block, 1), 1);
  return ox_ctx_plan(c, ox_shape_count(deep) ? OX_CEIL_DIV(rows, p->per_tile) : 0, 0);
}
static ox_status *prepare_to_space(ox_kernel_ctx *c) { return prepare(c, true); }
static ox_status *prepare_to_depth(ox_kernel_ctx *c) { return prepare(c, false); }

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  const ds_prep *p = c->prep;
  const ox_shape *deep = p->to_space ? &c->in[0]->shape : &c->out[0]->shape;
  int64_t b = p->block, rows = deep->dim[0] * p->depth * p->height * b;
  int64_t elem = ox_dtype_bits(c->in[0]->dtype) / 8;
  ox_transpose_fn weave = ox_transpose_select(elem, c->isa);
  for (int64_t r = tiles.begin * p->per_tile; r < OX_MIN(tiles.end * p->per_tile, rows); r++) {
    int64_t i = r % b, h = r / b % p->height, ch = r / b / p->height % p->depth, image = r / b / p->height / p->depth;
    int64_t slice = p->crd ? (ch * b + i) * b : i * b * p->depth + ch, next = p->crd ? 1 : p->depth;
    int64_t at = ((image * deep->dim[1] + slice) * p->height + h) * p->width, wide = r * p->width * b;
    int64_t apart =
        next * p->height * p->width * elem; /* the distance between the slices that are interleaved to a wide row */
    const char *in = c->in[0]->data;
    char *out = c->out[0]->data;
    if (p->to_space)
      weave(in + at * elem, apart, out + wide * elem, b * elem, b, p->width);
    else
      weave(in + wide * elem, b * elem, out + at * elem, apart, p->width, b);
  }
  return NULL;
}

#define ROW \
  .min_in = 1, .max_in = 1, OX_ATTRS(attr_rows), .attrs_bytes = sizeof(ds_attrs), .types = {OX_T_ALL & ~OX_T_SUBBYTE}
#define ROW_KERNEL .run = run
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "DepthToSpace", .since = 1, .infer = infer_to_space, ROW),
     OX_KERNEL(.prepare = prepare_to_space, ROW_KERNEL)},
    {OX_SCHEMA(.name = "SpaceToDepth", .since = 1, .infer = infer_to_depth, ROW),
     OX_KERNEL(.prepare = prepare_to_depth, ROW_KERNEL)},
};
const ox_op_set ox_ops_depth_space = {ops, OX_COUNT(ops)};
