/* SPDX-License-Identifier: Apache-2.0
 * ops/qlinear_rows.c - com.microsoft's QLinearSoftmax and QLinearConcat. Both map a byte through a table of 256. */
#include <math.h>
#include <string.h>

#include "kern/quant/quantize.h"
#include "kern/reduce/reduce.h"
#include "ops/shared/qparam.h"
#include "ops/shared/tiles.h"

typedef struct {
  int64_t axis, opset;
} rows_attrs;

static const ox_attr_def softmax_table[] = {OX_ATTR_INT_IN(rows_attrs, axis, -1, OX_AXIS_RANGE),
                                            OX_ATTR_INT(rows_attrs, opset, 13)};
static const ox_attr_def concat_table[] = {OX_ATTR_INT_REQUIRED_IN(rows_attrs, axis, OX_AXIS_RANGE)};

typedef struct {
  int64_t outer, n, inner;
} split;

/* ---- QLinearSoftmax ---- */
static ox_status *infer_softmax(ox_infer_ctx *c) {
  const rows_attrs *a = c->attrs;
  int k;
  OX_TRY(ox_qparam_required(c, (const uint8_t[]){0, 1, 3}, 3));
  if (c->in[0]->shape.rank >= 0 && !ox_axis_ok(a->axis, c->in[0]->shape.rank, &k))
    return ox_fail(OX_INVALID_MODEL, "axis %lld is outside rank %d", (long long)a->axis, (int)c->in[0]->shape.rank);
  return ox_infer_same_as_input(c);
}

static ox_status *prepare_softmax(ox_kernel_ctx *c) {
  const rows_attrs *a = c->attrs;
  split *p = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  OX_TRY(ox_qparam_check(c, (const uint8_t[]){1, 2, 3, 4}, 4));
  OX_TRY(ox_axis_split(&c->in[0]->shape, a->axis, &p->outer, &p->n, &p->inner));
  if (a->opset < 13) p->n *= p->inner, p->inner = 1; /* everything from the axis on is one row */
  c->prep = p;
  return ox_ctx_plan(c, p->n ? p->outer * p->inner : 0, 0);
}

enum { BYTES = 256 };

/* Converts |n| <= 256 floats to bytes of Y. */
static void to_bytes(const ox_kernel_ctx *c, ox_qparam y, const float *v, size_t n, uint8_t *to) {
  const ox_quantize_table *q = ox_quantize_select(c->isa);
  if (y.is_signed)
    q->f32_i8(v, (int8_t *)to, n, y.scale, y.zero);
  else
    q->f32_u8(v, to, n, y.scale, y.zero);
}

/* The largest of |n| bytes that lie |step| apart, in unsigned order. */
OX_INLINE int largest(const ox_kernel_ctx *c, const uint8_t *x, int64_t n, int64_t step, uint8_t flip) {
  uint8_t most = 0;
  if (step == 1) return (int)ox_reduce_select(c->isa)->most[c->in[0]->dtype](x, (size_t)n) + flip;
  for (int64_t i = 0; i < n; i++) most = OX_MAX(most, (uint8_t)(x[i * step] ^ flip));
  return most;
}

/* The sum of the entries of |of| at these bytes, as four independent sums. */
OX_INLINE double sum_at(const double *of, const uint8_t *x, int64_t n, int64_t step, uint8_t flip) {
  double sum[4] = {0};
  int64_t i = 0;
  for (; i + 4 <= n; i += 4, x += 4 * step) OX_UNROLL for (int k = 0; k < 4; k++) sum[k] += of[x[k * step] ^ flip];
  for (; i < n; i++, x += step) sum[0] += of[*x ^ flip];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* A row: e[largest - x] divided by their sum. In a short row each element is computed, else each of the 256 values.
 * |flip| maps signed order to unsigned order; |backwards|: e[BYTES - 1 - i], so that a byte indexes it from a fixed
 * offset. */
OX_INLINE void softmax_row(const ox_kernel_ctx *c, int64_t n, const int64_t step, const double *backwards, uint8_t flip,
                           const uint8_t *in, uint8_t *out) {
  ox_qparam y = ox_qparam_of(c, 3, 4, c->in[0]->dtype);
  float share[BYTES];
  uint8_t byte[BYTES];
  int high = largest(c, in, n, step, flip);
  const double *e = backwards + (BYTES - 1 - high);
  double each = 1 / sum_at(e, in, n, step, flip);
  if (n <= high) {
    for (int64_t i = 0; i < n; i++) share[i] = (float)(e[in[i * step] ^ flip] * each);
    to_bytes(c, y, share, (size_t)n, step == 1 ? out : byte);
    for (int64_t i = 0; step != 1 && i < n; i++) out[i * step] = byte[i];
    return;
  }
  for (int i = 0; i <= high; i++) share[i] = (float)(e[i] * each);
  to_bytes(c, y, share, (size_t)high + 1, byte);
  if (step == 1) {
    uint8_t table[BYTES];
    for (int i = 0; i < BYTES; i++) table[i] = byte[OX_MIN(i ^ flip, high)];
    ox_quantize_select(c->isa)->map(table, in, out, (size_t)n);
    return;
  }
  for (int64_t i = 0; i < n; i++) out[i * step] = byte[in[i * step] ^ flip];
}

/* exp(scale * (x - largest x)) takes 256 values at most: the zero point cancels. */
static ox_status *run_softmax(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  const split *p = c->prep;
  ox_qparam x = ox_qparam_of(c, 1, 2, c->in[0]->dtype);
  double e[BYTES] = {1, exp(-(double)x.scale)}, backwards[BYTES];
  for (int i = 2; i < BYTES; i++) e[i] = e[i / 2] * e[i - i / 2]; /* within 8 units in the last place */
  for (int i = 0; i < BYTES; i++) backwards[i] = e[BYTES - 1 - i];
  uint8_t flip = x.is_signed ? 128 : 0, *out = c->out[0]->data;
  const uint8_t *in = c->in[0]->data;
  for (int64_t r = tiles.begin; r < tiles.end; r++) {
    int64_t at = r / p->inner * p->n * p->inner + r % p->inner;
    if (p->inner == 1)
      softmax_row(c, p->n, 1, backwards, flip, in + at, out + at);
    else
      softmax_row(c, p->n, p->inner, backwards, flip, in + at, out + at);
  }
  return NULL;
}

/* ---- QLinearConcat: output scale and zero point, then tensor, scale, zero point of each part ---- */
static ox_status *infer_concat(ox_infer_ctx *c) {
  const rows_attrs *a = c->attrs;
  int k = 0;
  if (c->n_in < 5 || (c->n_in - 2) % 3 != 0)
    return ox_fail(OX_INVALID_MODEL, "%u inputs are not 2 and groups of 3", c->n_in);
  for (uint32_t i = 0; i < c->n_in; i++)
    if (!c->in[i]) return ox_fail(OX_INVALID_MODEL, "input %u is required", i);
  for (uint32_t i = 0; i < c->n_in; i++)
    if (c->in[i]->dtype && (c->in[i]->dtype == OX_F32) != (i % 3 == 0))
      return ox_fail(OX_INVALID_MODEL, "input %u is %s", i, ox_dtype_name(c->in[i]->dtype));
  ox_shape s = c->in[2]->shape;
  if (s.rank >= 0 && !ox_axis_ok(a->axis, s.rank, &k))
    return ox_fail(OX_INVALID_MODEL, "axis %lld is outside rank %d", (long long)a->axis, (int)s.rank);
  for (uint32_t i = 5; i < c->n_in; i += 3) {
    const ox_shape *part = &c->in[i]->shape;
    if (part->rank < 0 || s.rank < 0) {
      s = ox_shape_unknown();
      break;
    }
    bool fit = part->rank == s.rank;
    for (int d = 0; fit && d < s.rank; d++)
      fit = d == k || part->dim[d] < 0 || s.dim[d] < 0 || part->dim[d] == s.dim[d];
    if (!fit) return ox_fail(OX_SHAPE_MISMATCH, "input %u does not fit beside input 2 along axis %d", i, k);
    s.dim[k] = ox_dim_add(s.dim[k], part->dim[k]);
  }
  ox_infer_out(c, 0, c->in[1]->dtype, &s);
  return NULL;
}

static ox_status *prepare_concat(ox_kernel_ctx *c) {
  split *p = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  for (uint32_t i = 0; i < c->n_in; i++)
    if ((i < 2 || i % 3 != 2) && ox_shape_count(&c->in[i]->shape) != 1)
      return ox_fail(OX_NOT_IMPLEMENTED, "input %u must be a scalar", i);
  OX_TRY(ox_axis_split(&c->out[0]->shape, ((const rows_attrs *)c->attrs)->axis, &p->outer, &p->n, &p->inner));
  c->prep = p;
  return ox_ctx_plan(c, (c->n_in - 2) / 3, 0); /* a tile per part */
}

static ox_status *run_concat(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  const split *p = c->prep;
  ox_qparam y = ox_qparam_of(c, 0, 1, c->out[0]->dtype);
  const ox_quantize_table *quantize = ox_quantize_select(c->isa);
  int axis = 0;
  ox_axis_ok(((const rows_attrs *)c->attrs)->axis, c->out[0]->shape.rank, &axis);
  int64_t before = 0;
  for (int64_t t = 0; t < tiles.end; t++) {
    const ox_tensor *x = c->in[2 + 3 * t];
    int64_t row = x->shape.dim[axis] * p->inner;
    if (t >= tiles.begin) {
      ox_qparam q = ox_qparam_of(c, (uint32_t)(3 + 3 * t), (uint32_t)(4 + 3 * t), x->dtype);
      bool same = q.scale == y.scale && q.zero == y.zero && q.is_signed == y.is_signed;
      uint8_t table[256];
      for (int i = 0; i < 256 && !same; i++) table[i] = ox_quantize_byte(y, ox_dequantize_byte(q, (uint8_t)i));
      for (int64_t o = 0; o < p->outer; o++) {
        const uint8_t *in = (const uint8_t *)x->data + o * row;
        uint8_t *out = (uint8_t *)c->out[0]->data + o * p->n * p->inner + before;
        if (same)
          memcpy(out, in, (size_t)row);
        else
          quantize->map(table, in, out, (size_t)row);
      }
    }
    before += row;
  }
  return NULL;
}

enum { Q8 = OX_BIT(OX_U8) | OX_BIT(OX_I8), F = OX_BIT(OX_F32) };
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "QLinearSoftmax", .domain = "com.microsoft", .since = 1, .types = {Q8, F, Q8, F, Q8},
               .vars = "T.T.T", .min_in = 2, .max_in = 5, .attrs_bytes = sizeof(rows_attrs), OX_ATTRS(softmax_table),
               .infer = infer_softmax),
     OX_KERNEL(.inplace = 1, .prepare = prepare_softmax, .run = run_softmax)},
    {OX_SCHEMA(.name = "QLinearConcat", .domain = "com.microsoft", .since = 1, .types = {F, Q8, Q8 | F}, .min_in = 5,
               .max_in = OX_VARIADIC, .attrs_bytes = sizeof(rows_attrs), OX_ATTRS(concat_table), .infer = infer_concat),
     OX_KERNEL(.prepare = prepare_concat, .run = run_concat)},
};
const ox_op_set ox_ops_qlinear_rows = {ops, OX_COUNT(ops)};
