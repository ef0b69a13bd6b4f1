/* SPDX-License-Identifier: Apache-2.0
 * ops/matmul/product_shape.c - shapes and strides of batched products, and packing of constant right-hand sides. */
#include <string.h>

#include "base/cksize.h"

#include "ops/matmul/product.h"

/* A shape viewed as [batch.., rows, cols]: the tensor's dimension for each of these. */
typedef struct view {
  int rank;             /* of the batch */
  int dim[OX_MAX_RANK]; /* batch dimension i is the tensor's dimension dim[i] */
  int row, col;         /* -1: a 1-D operand does not have it */
} view;

static view view_of(int rank, bool trans, bool trans_batch, bool left) {
  view v = {.row = -1, .col = -1};
  if (rank == 1) {
    *(left ? &v.col : &v.row) = 0;
    return v;
  }
  v.rank = rank - 2;
  /* trans_batch: the tensor is [rows, batch.., cols] */
  for (int i = 0; i < v.rank; i++) v.dim[i] = trans_batch ? i + 1 : i;
  v.row = trans_batch ? 0 : rank - 2, v.col = rank - 1;
  if (trans) {
    int row = v.row;
    v.row = v.col, v.col = row;
  }
  return v;
}

static int64_t dim_at(const ox_shape *s, int d) { return d < 0 ? 1 : s->dim[d]; }

static ox_status *mismatch(const char *op, const ox_shape *a, const ox_shape *b) {
  char ta[OX_SHAPE_TEXT], tb[OX_SHAPE_TEXT];
  return ox_fail(OX_SHAPE_MISMATCH, "%s: %s and %s do not fit together", op, ox_shape_text(a, ta),
                 ox_shape_text(b, tb));
}

static ox_shape batch_shape(const ox_shape *s, const view *v) {
  ox_shape out = {.rank = v->rank};
  for (int i = 0; i < v->rank; i++) out.dim[i] = s->dim[v->dim[i]];
  return out;
}

ox_status *ox_product_infer(const char *op, const ox_shape *a, const ox_shape *b, const bool trans[4], ox_shape *out) {
  *out = ox_shape_unknown();
  if (a->rank == 0 || b->rank == 0) return ox_fail(OX_INVALID_MODEL, "%s of a scalar", op);
  if (a->rank < 0 || b->rank < 0) return NULL;
  view va = view_of(a->rank, trans[0], trans[2], true), vb = view_of(b->rank, trans[1], trans[3], false);
  int64_t ka = dim_at(a, va.col), kb = dim_at(b, vb.row);
  if (ka >= 0 && kb >= 0 && ka != kb) return mismatch(op, a, b);
  ox_shape ba = batch_shape(a, &va), bb = batch_shape(b, &vb);
  ox_status *st = ox_shape_broadcast(&ba, &bb, out);
  if (st) {
    ox_status_free(st);
    return mismatch(op, a, b);
  }
  if (va.row >= 0) out->dim[out->rank++] = a->dim[va.row];
  if (vb.col >= 0) out->dim[out->rank++] = b->dim[vb.col];
  return NULL;
}

/* One side's strides along the dimensions of the broadcast batch. */
static void batch_strides(const ox_shape *s, const view *v, const ox_product *p, const int64_t *strides, int64_t *out) {
  for (int i = 0; i < p->rank; i++) {
    int own = i - (p->rank - v->rank);
    out[i] = own < 0 || (s->dim[v->dim[own]] == 1 && p->batch[i] != 1) ? 0 : strides[v->dim[own]];
    if (p->batch[i] == 1) out[i] = 0;
  }
}

ox_status *ox_product_shape(ox_product *p, const ox_shape *a, const ox_shape *b, const bool trans[4]) {
  ox_shape batch;
  int64_t sa[OX_MAX_RANK], sb[OX_MAX_RANK];
  view va = view_of(a->rank, trans[0], trans[2], true), vb = view_of(b->rank, trans[1], trans[3], false);
  ox_shape ba = batch_shape(a, &va), bb = batch_shape(b, &vb);
  if (dim_at(a, va.col) != dim_at(b, vb.row)) return mismatch("product", a, b);
  OX_TRY(ox_shape_broadcast(&ba, &bb, &batch));
  ox_shape_strides(a, sa), ox_shape_strides(b, sb);
  p->rank = batch.rank;
  memcpy(p->batch, batch.dim, sizeof p->batch);
  batch_strides(a, &va, p, sa, p->a_batch), batch_strides(b, &vb, p, sb, p->b_batch);
  p->m = (size_t)dim_at(a, va.row), p->k = (size_t)dim_at(a, va.col), p->n = (size_t)dim_at(b, vb.col);
  p->has_row = va.row >= 0, p->has_col = vb.col >= 0;
  p->a_rs = va.row < 0 ? 0 : (ptrdiff_t)sa[va.row], p->a_ks = (ptrdiff_t)sa[va.col];
  p->b_ks = (ptrdiff_t)sb[vb.row], p->b_ns = vb.col < 0 ? 1 : (ptrdiff_t)sb[vb.col];
  return NULL;
}

ox_status *ox_product_term(ox_product *p, int i, int input, const ox_shape *shape, const ox_shape *result) {
  ox_shape both;
  int64_t strides[OX_MAX_RANK], full[OX_MAX_RANK] = {0};
  OX_TRY(ox_shape_broadcast(shape, result, &both));
  if (!ox_shape_equal(&both, result)) {
    char ts[OX_SHAPE_TEXT], tr[OX_SHAPE_TEXT];
    return ox_fail(OX_SHAPE_MISMATCH, "%s does not broadcast to the result %s", ox_shape_text(shape, ts),
                   ox_shape_text(result, tr));
  }
  ox_shape_strides(shape, strides);
  for (int d = 0; d < shape->rank; d++) full[result->rank - shape->rank + d] = shape->dim[d] == 1 ? 0 : strides[d];
  int at = result->rank;
  p->in_term[i] = input;
  p->epi.term[i].cs = p->has_col ? (ptrdiff_t)full[--at] : 0;
  p->epi.term[i].rs = p->has_row ? (ptrdiff_t)full[--at] : 0;
  memcpy(p->term_batch[i], full, (size_t)at * sizeof *full);
  return NULL;
}
