/* SPDX-License-Identifier: Apache-2.0
 * ops/max_unpool.c - MaxUnpool: zeros, with each input element at the position given by its index. */
#include <string.h>

#include "kern/quant/convert.h"
#include "ops/shared/conv_node.h"

typedef struct unpool_attrs {
  ox_ints kernel_shape, pads, strides;
} unpool_attrs;
static const ox_attr_def attr_rows[] = {OX_ATTR_INTS_REQUIRED_IN(unpool_attrs, kernel_shape, 1, OX_COUNT_MAX),
                                        OX_ATTR_INTS(unpool_attrs, pads),
                                        OX_ATTR_INTS_IN(unpool_attrs, strides, 1, OX_COUNT_MAX)};

/* The shape that undoes the pool, unknown where X is. */
static ox_status *natural_shape(const unpool_attrs *a, const ox_shape *x, ox_shape *y) {
  ox_spatial_attrs w;
  *y = *x;
  if (x->rank < 0) return NULL;
  if (x->rank < 3) return ox_fail(OX_INVALID_MODEL, "X has rank %d, wanted at least 3", x->rank);
  OX_TRY(ox_spatial_attrs_read(&w, x->rank - 2, a->kernel_shape, a->strides, (ox_ints){0, NULL}, a->pads, NULL));
  for (int i = 0; i < w.axes; i++) {
    int64_t n = x->dim[i + 2], full;
    y->dim[i + 2] = -1;
    if (n < 0) continue;
    if (n > INT32_MAX) return ox_fail(OX_LIMIT, "spatial axis %d is too long", i);
    full = (n - 1) * w.stride[i] - w.pad_lo[i] - w.pad_hi[i] + w.kernel[i];
    if (full < 0) return ox_fail(OX_SHAPE_MISMATCH, "spatial axis %d: padding leaves %lld", i, (long long)full);
    y->dim[i + 2] = full;
  }
  return NULL;
}

static ox_status *given_shape(const int64_t *v, int64_t n, const ox_shape *x, ox_shape *y) {
  if (x->rank >= 0 && n != x->rank)
    return ox_fail(OX_SHAPE_MISMATCH, "output_shape has %lld values for rank %d", (long long)n, x->rank);
  *y = ox_shape_of((int)n, v);
  for (int i = 0; i < y->rank; i++)
    if (y->dim[i] < 0) return ox_fail(OX_INVALID_MODEL, "output_shape[%d] is %lld", i, (long long)y->dim[i]);
  return NULL;
}

static ox_status *infer(ox_infer_ctx *c) {
  const ox_shape *x = &c->in[0]->shape;
  ox_shape y;
  int64_t v[OX_MAX_RANK];
  int n = 0, got = ox_infer_has(c, 2) ? ox_infer_ints(c, 2, v, OX_MAX_RANK, &n) : 0;
  OX_TRY(natural_shape(c->attrs, x, &y));
  if (got < 0) return ox_fail(OX_INVALID_MODEL, "output_shape must be at most %d integers", OX_MAX_RANK);
  if (got)
    OX_TRY(given_shape(v, n, x, &y));
  else if (ox_infer_has(c, 2))
    for (int i = 0; i < y.rank; i++) y.dim[i] = -1;
  ox_infer_out(c, 0, c->in[0]->dtype, &y);
  return NULL;
}

static ox_status *prepare(ox_kernel_ctx *c) {
  if (!ox_shape_equal(&c->in[0]->shape, &c->in[1]->shape))
    return ox_fail(OX_SHAPE_MISMATCH, "MaxUnpool: X and I differ in shape");
  return ox_ctx_plan(c, 1, 0);
}

/* The offset in the output |y| of an index into the natural shape |from|; -1: outside. */
static int64_t place_of(const ox_shape *from, const ox_shape *y, int64_t rest) {
  int64_t to = 0, pitch = 1;
  for (int a = y->rank; a-- > 0; rest /= from->dim[a]) {
    if (rest % from->dim[a] >= y->dim[a]) return -1;
    to += rest % from->dim[a] * pitch, pitch *= y->dim[a];
  }
  return to;
}

/* Writes |n| elements of |x| to the positions |index|, which must be below |all|; returns how many were valid. */
#define PUT(bits)                                                                                   \
  static int64_t put_##bits(const void *x, void *y, const int64_t *index, int64_t n, int64_t all) { \
    int64_t i = 0;                                                                                  \
    for (; i < n && index[i] >= 0 && index[i] < all; i++)                                           \
      ((uint##bits##_t *)y)[index[i]] = ((const uint##bits##_t *)x)[i];                             \
    return i;                                                                                       \
  }
PUT(16)
PUT(32)
PUT(64)

/* Indices refer to the natural shape; a larger output contains it in its first corner. */
static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)tiles, (void)scratch;
  ox_shape from, y = c->out[0]->shape;
  OX_TRY(natural_shape(c->attrs, &c->in[0]->shape, &from));
  if (!ox_shape_known(&y)) {
    OX_TRY(given_shape(c->in[2]->data, ox_shape_count(&c->in[2]->shape), &c->in[0]->shape, &y));
    if (!ox_ctx_output(c, 0, &y)) return ox_oom();
  }
  size_t elem = ox_dtype_bits(c->in[0]->dtype) / 8;
  int64_t n = ox_shape_count(&c->in[0]->shape), all = ox_shape_count(&from);
  const int64_t *index = c->in[1]->data;
  if (c->out[0]->bytes) memset(c->out[0]->data, 0, c->out[0]->bytes);
  const char *x = c->in[0]->data;
  char *out = c->out[0]->data;
  int64_t i = 0;
  if (ox_shape_equal(&from, &y)) {
    i = (elem == 2 ? put_16 : elem == 4 ? put_32 : put_64)(x, out, index, n, all);
  } else {
    for (; i < n && index[i] >= 0 && index[i] < all; i++) {
      int64_t to = place_of(&from, &y, index[i]);
      if (to >= 0) memcpy(out + (size_t)to * elem, x + (size_t)i * elem, elem);
    }
  }
  if (i == n) return NULL;
  return ox_fail(OX_SHAPE_MISMATCH, "MaxUnpool: index %lld is outside %lld elements", (long long)index[i],
                 (long long)all);
}

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "MaxUnpool", .since = 9, .types = {OX_T_FLOAT, OX_BIT(OX_I64), OX_BIT(OX_I64)}, .min_in = 2,
               .max_in = 3, .value_in = 4, OX_ATTRS(attr_rows), .attrs_bytes = sizeof(unpool_attrs), .infer = infer),
     OX_KERNEL(.prepare = prepare, .run = run)},
};
const ox_op_set ox_ops_max_unpool = {ops, OX_COUNT(ops)};
