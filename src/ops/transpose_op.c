/* SPDX-License-Identifier: Apache-2.0
 * ops/transpose_op.c - Transpose: any permutation, any element type. */
#include <string.h>

#include "kern/move/sub_byte.h"
#include "ops/move/deferred.h"

typedef struct {
  ox_ints perm;
} transpose_attrs;
static const ox_attr_def attr_defs[] = {OX_ATTR_INTS_IN(transpose_attrs, perm, 0, OX_MAX_RANK - 1)};

static ox_status *perm_of(const transpose_attrs *a, int rank, int *perm) {
  uint32_t seen = 0;
  if (a->perm.v && a->perm.n != (size_t)rank)
    return ox_fail(OX_INVALID_MODEL, "Transpose: perm has %zu entries, the input rank %d", a->perm.n, rank);
  for (int i = 0; i < rank; i++) {
    int64_t axis = a->perm.v ? a->perm.v[i] : rank - 1 - i;
    if (!ox_axis_ok(axis, rank, &perm[i]) || seen >> perm[i] & 1)
      return ox_fail(OX_INVALID_MODEL, "Transpose: perm[%d] is %lld, the input rank %d", i, (long long)axis, rank);
    seen |= 1U << perm[i];
  }
  return NULL;
}

static ox_status *infer(ox_infer_ctx *c) {
  if (!ox_infer_has(c, 0)) return NULL;
  const ox_shape *in = &c->in[0]->shape;
  ox_shape s = {.rank = in->rank};
  int perm[OX_MAX_RANK];
  if (in->rank >= 0) OX_TRY(perm_of(c->attrs, in->rank, perm));
  for (int i = 0; i < in->rank; i++) s.dim[i] = in->dim[perm[i]];
  ox_infer_out(c, 0, c->in[0]->dtype, &s);
  return NULL;
}

static ox_status *region_of(const ox_kernel_ctx *c, ox_region *r) {
  const ox_shape *in = &c->in[0]->shape;
  int64_t stride[OX_MAX_RANK];
  int perm[OX_MAX_RANK];
  ox_shape s = {.rank = in->rank};
  OX_TRY(perm_of(c->attrs, in->rank, perm));
  ox_shape_strides(in, stride);
  r->rank = in->rank;
  for (int i = 0; i < in->rank; i++) s.dim[i] = r->dim[i] = in->dim[perm[i]], r->is[i] = stride[perm[i]];
  ox_shape_strides(&s, r->os);
  return NULL;
}

static ox_status *prepare(ox_kernel_ctx *c) {
  ox_region r = {0};
  ox_move *m = ox_ctx_alloc(c, sizeof *m);
  if (!m) return ox_oom();
  c->prep = m;
  OX_TRY(region_of(c, &r));
  if (ox_dtype_bits(c->in[0]->dtype) < 8) return NULL;
  ox_move_init(m, ox_dtype_bits(c->in[0]->dtype) / 8, &r);
  return ox_ctx_plan(c, ox_move_tiles(m->total_bytes, m->units), 0);
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  const ox_move *m = c->prep;
  unsigned bits = ox_dtype_bits(c->in[0]->dtype);
  if (bits < 8) {
    ox_region r = {0};
    OX_TRY(region_of(c, &r));
    ox_sub_byte_copy(bits, &r, c->in[0]->data, c->out[0]->data);
    return NULL;
  }
  ox_range u = ox_units_of(tiles, ox_move_tiles(m->total_bytes, m->units), m->units);
  ox_move_run(m, c->isa, c->in[0]->data, c->out[0]->data, u.begin, u.end);
  return NULL;
}

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "Transpose", .since = 1, .types = {OX_T_ALL}, .min_in = 1, .max_in = 1, OX_ATTRS(attr_defs),
               .attrs_bytes = sizeof(transpose_attrs), .traits = OX_FOLD_LARGE_LATE, .infer = infer),
     OX_KERNEL(.prepare = prepare, .run = run)},
};
const ox_op_set ox_ops_transpose_op = {ops, OX_COUNT(ops)};
