/* SPDX-License-Identifier: Apache-2.0
 * ops/gather_quantized.c - com.microsoft's GatherBlockQuantized: rows of a quantized table, dequantized as they leave.
 */
#include <math.h>
#include <string.h>

#include "kern/move/gather_scatter.h"
#include "kern/move/sub_byte.h"
#include "kern/quant/convert.h"
#include "ops/move/deferred.h"

typedef struct {
  int64_t bits, block_size, gather_axis, quantize_axis;
} quant_attrs;
static const ox_attr_def attr_defs[] = {OX_ATTR_INT_IN(quant_attrs, bits, 4, 2, 8),
                                        OX_ATTR_INT_IN(quant_attrs, block_size, 128, 0, OX_COUNT_MAX),
                                        OX_ATTR_INT_IN(quant_attrs, gather_axis, 0, OX_AXIS_RANGE),
                                        OX_ATTR_INT_IN(quant_attrs, quantize_axis, 1, OX_AXIS_RANGE)};

enum { SMALL_FLOATS = OX_T_FLOAT8 & ~OX_BIT(OX_F8E8M0) };
static bool is_small_float(uint32_t dtype) { return ((SMALL_FLOATS | OX_BIT(OX_F4E2M1)) >> dtype & 1) != 0; }

/* Bits of one value: uint8 data may hold several. */
static unsigned bits_of(const quant_attrs *a, uint32_t dtype) {
  return dtype == OX_U8 ? (unsigned)a->bits : ox_dtype_bits(dtype);
}

/* The shape of the values: uint8 data is packed along the last dimension. */
static ox_shape values_shape(const quant_attrs *a, uint32_t dtype, const ox_shape *data) {
  ox_shape s = *data;
  if (dtype == OX_U8 && s.rank > 0) s.dim[s.rank - 1] = ox_dim_mul(s.dim[s.rank - 1], 8 / a->bits);
  return s;
}

static ox_status *check_scales(const quant_attrs *a, uint32_t dtype, const ox_shape *values, const ox_shape *scales,
                               int axis) {
  int64_t block = a->block_size ? a->block_size : OX_MAX(values->dim[axis], 1);
  bool fits = scales->rank == values->rank;
  for (int i = 0; fits && i < values->rank; i++) {
    int64_t want = i == axis ? OX_CEIL_DIV(values->dim[i], block) : values->dim[i];
    if (scales->dim[i] < 0 || values->dim[i] < 0) continue;
    fits = scales->dim[i] == want || (i != axis && scales->dim[i] == 1 && is_small_float(dtype));
  }
  char t[OX_SHAPE_TEXT], w[OX_SHAPE_TEXT];
  return fits ? NULL
              : ox_fail(OX_SHAPE_MISMATCH, "GatherBlockQuantized: scales %s for values %s in blocks of %lld",
                        ox_shape_text(scales, t), ox_shape_text(values, w), (long long)block);
}

/* One for each scale, packed as the data is. */
static ox_status *check_zeros(const quant_attrs *a, uint32_t dtype, const ox_shape *zeros, const ox_shape *scales) {
  int64_t together = dtype == OX_U8 ? 8 / a->bits : 1;
  bool fits = zeros->rank == scales->rank;
  for (int i = 0; fits && i < scales->rank; i++) {
    int64_t want = i == scales->rank - 1 ? OX_CEIL_DIV(scales->dim[i], together) : scales->dim[i];
    fits = zeros->dim[i] < 0 || scales->dim[i] < 0 || zeros->dim[i] == want;
  }
  char t[OX_SHAPE_TEXT], w[OX_SHAPE_TEXT];
  return fits ? NULL
              : ox_fail(OX_SHAPE_MISMATCH, "GatherBlockQuantized: zero points %s for scales %s",
                        ox_shape_text(zeros, t), ox_shape_text(scales, w));
}

static ox_status *infer(ox_infer_ctx *c) {
  const quant_attrs *a = c->attrs;
  ox_shape s = ox_shape_unknown();
  if (!ox_infer_has(c, 0) || !ox_infer_has(c, 1) || !ox_infer_has(c, 2)) return NULL;
  uint32_t dtype = c->in[0]->dtype;
  if ((a->bits != 2 && a->bits != 4 && a->bits != 8) || (!a->block_size && !is_small_float(dtype)))
    return ox_fail(OX_INVALID_MODEL, "GatherBlockQuantized: bits %lld, block_size %lld", (long long)a->bits,
                   (long long)a->block_size);
  ox_shape values = values_shape(a, dtype, &c->in[0]->shape);
  const ox_shape *index = &c->in[1]->shape;
  int gather, axis;
  if (values.rank >= 0) {
    if (!ox_axis_ok(a->gather_axis, values.rank, &gather) || !ox_axis_ok(a->quantize_axis, values.rank, &axis) ||
        (dtype == OX_U8 && a->bits < 8 && gather == values.rank - 1))
      return ox_fail(OX_INVALID_MODEL, "GatherBlockQuantized: gather_axis %lld, quantize_axis %lld, rank %d",
                     (long long)a->gather_axis, (long long)a->quantize_axis, values.rank);
    if (c->in[2]->shape.rank >= 0) OX_TRY(check_scales(a, dtype, &values, &c->in[2]->shape, axis));
    if (ox_infer_has(c, 3) && c->in[3]->shape.rank >= 0 && c->in[2]->shape.rank >= 0)
      OX_TRY(check_zeros(a, dtype, &c->in[3]->shape, &c->in[2]->shape));
    if (index->rank >= 0) {
      if (values.rank + index->rank - 1 > OX_MAX_RANK)
        return ox_fail(OX_LIMIT, "GatherBlockQuantized: rank above %d", OX_MAX_RANK);
      s.rank = 0;
      for (int i = 0; i < gather; i++) s.dim[s.rank++] = values.dim[i];
      for (int i = 0; i < index->rank; i++) s.dim[s.rank++] = index->dim[i];
      for (int i = gather + 1; i < values.rank; i++) s.dim[s.rank++] = values.dim[i];
    }
  }
  ox_infer_out(c, 0, c->in[2]->dtype, &s);
  return NULL;
}

/* Rows of |inner| values; value v lies at quantized coordinate v / post % q, its scale at
 * (v / post / q * pre_step + coordinate / block * q_step + v % post * post_step). */
typedef struct quant_plan {
  int64_t outer, dim, inner, n, rows;
  int64_t q, post, block, pre_step, q_step, post_step;
  int64_t zero_row, zero_packed; /* last dimension of the zero points in values, and in scales */
  unsigned bits;
  uint32_t type;    /* of values, in bytes or not */
  float table[256]; /* values of 8 bits and less as floats, before the zero point */
} quant_plan;

/* Floats of 4 and 8 bits, by their fields. */
static float small_float(uint32_t dtype, unsigned v) {
  unsigned man_bits = dtype == OX_F4E2M1 ? 1 : dtype == OX_F8E4M3FN || dtype == OX_F8E4M3FNUZ ? 3 : 2;
  unsigned width = dtype == OX_F4E2M1 ? 3 : 7, exp_bits = width - man_bits;
  int bias = dtype == OX_F8E4M3FN     ? 7
             : dtype == OX_F8E4M3FNUZ ? 8
             : dtype == OX_F8E5M2     ? 15
             : dtype == OX_F8E5M2FNUZ ? 16
                                      : 1;
  unsigned man = v & ((1U << man_bits) - 1), exp = v >> man_bits & ((1U << exp_bits) - 1),
           mag = v & ((1U << width) - 1);
  float sign = v >> width & 1 ? -1.0f : 1.0f;
  if (dtype == OX_F8E4M3FN && mag == 0x7f) return NAN;
  if ((dtype == OX_F8E4M3FNUZ || dtype == OX_F8E5M2FNUZ) && v == 0x80) return NAN;
  if (dtype == OX_F8E5M2 && exp == 31) return man ? NAN : sign * INFINITY;
  float m = (float)man / (float)(1U << man_bits);
  return sign * (exp ? ldexpf(1 + m, (int)exp - bias) : ldexpf(m, 1 - bias));
}

static ox_status *prepare(ox_kernel_ctx *c) {
  const quant_attrs *a = c->attrs;
  uint32_t dtype = c->in[0]->dtype;
  ox_shape values = values_shape(a, dtype, &c->in[0]->shape);
  const ox_shape *scales = &c->in[2]->shape;
  quant_plan *p = ox_ctx_alloc(c, sizeof *p);
  int axis;
  if (!p) return ox_oom();
  c->prep = p;
  OX_TRY(ox_axis_split(&values, a->gather_axis, &p->outer, &p->dim, &p->inner));
  (void)ox_axis_ok(a->quantize_axis, values.rank, &axis);
  OX_TRY(check_scales(a, dtype, &values, scales, axis));
  p->n = ox_shape_count(&c->in[1]->shape), p->rows = p->inner ? p->outer * p->n : 0;
  p->q = OX_MAX(values.dim[axis], 1), p->post = ox_shape_span(&values, axis + 1, values.rank);
  p->block = a->block_size ? a->block_size : p->q, p->bits = bits_of(a, dtype);
  p->type = dtype != OX_U8 || p->bits == 8 ? dtype : p->bits == 4 ? OX_U4 : OX_U2;
  int64_t scale_post = ox_shape_span(scales, axis + 1, scales->rank), scale_pre = ox_shape_span(scales, 0, axis);
  if ((scale_post != p->post && scale_post != 1) || (scale_pre != ox_shape_span(&values, 0, axis) && scale_pre != 1))
    return ox_fail(OX_NOT_IMPLEMENTED, "GatherBlockQuantized: scales broadcast along some axes only");
  p->post_step = scale_post == p->post, p->q_step = scale_post;
  p->pre_step = scale_pre == ox_shape_span(&values, 0, axis) ? scales->dim[axis] * scale_post : 0;
  if (ox_ctx_has(c, 3)) {
    OX_TRY(check_zeros(a, dtype, &c->in[3]->shape, scales));
    ox_shape zeros = values_shape(a, dtype, &c->in[3]->shape);
    p->zero_row = OX_MAX(zeros.dim[zeros.rank - 1], 1), p->zero_packed = OX_MAX(scales->dim[scales->rank - 1], 1);
  }
  bool is_signed = dtype == OX_I4;
  for (unsigned v = 0; v < 1U << p->bits; v++)
    p->table[v] = is_small_float(dtype) ? small_float(dtype, v) : (float)(is_signed && v > 7 ? (int)v - 16 : (int)v);
  return ox_ctx_plan(c, ox_move_tiles(p->rows * p->inner * 4, p->rows), 0);
}

static float zero_of(const ox_kernel_ctx *c, const quant_plan *p, int64_t scale) {
  if (!ox_ctx_has(c, 3)) return c->in[0]->dtype == OX_U8 ? (float)(1U << (p->bits - 1)) : 0;
  int64_t at = scale / p->zero_packed * p->zero_row + scale % p->zero_packed;
  return p->table[p->bits == 8 ? ((const uint8_t *)c->in[3]->data)[at] : ox_sub_byte_get(c->in[3]->data, p->bits, at)];
}

static float scale_of(const ox_tensor *t, int64_t i) {
  if (t->dtype == OX_F32) return ((const float *)t->data)[i];
  uint16_t h = ((const uint16_t *)t->data)[i];
  return t->dtype == OX_F16 ? ox_f16_to_f32(h) : ox_bf16_to_f32(h);
}

static void put(ox_tensor *t, int64_t i, float v) {
  if (t->dtype == OX_F32)
    ((float *)t->data)[i] = v;
  else
    ((uint16_t *)t->data)[i] = t->dtype == OX_F16 ? ox_f16_from_f32(v) : ox_bf16_from_f32(v);
}

/* Values [from, from + inner) to output elements from |to| on; scale and zero point are kept while they hold. */
static void dequantize_each(const ox_kernel_ctx *c, const quant_plan *p, int64_t from, int64_t to) {
  const uint8_t *data = c->in[0]->data;
  int64_t known = -1;
  float scale = 0, zero = 0;
  for (int64_t i = 0; i < p->inner; i++) {
    int64_t v = from + i, rest = v / p->post;
    int64_t s = rest / p->q * p->pre_step + rest % p->q / p->block * p->q_step + v % p->post * p->post_step;
    if (s != known) known = s, scale = scale_of(c->in[2], s), zero = zero_of(c, p, s);
    float x = p->table[p->bits == 8 ? data[v] : ox_sub_byte_get(data, p->bits, v)];
    put(c->out[0], to + i, (x - zero) * scale);
  }
}

/* In pieces of known length, which compilers turn into vectors. */
static void shift_and_scale(float *y, int64_t n, float zero, float scale) {
  enum { PIECE = 16 };
  for (; n >= PIECE; n -= PIECE, y += PIECE)
    for (int i = 0; i < PIECE; i++) y[i] = (y[i] - zero) * scale;
  for (int64_t i = 0; i < n; i++) y[i] = (y[i] - zero) * scale;
}

/* The same where the quantized axis is the last: runs of one scale. */
static void dequantize_runs(const ox_kernel_ctx *c, const quant_plan *p, int64_t from, int64_t to) {
  const ox_convert *cv = ox_convert_select(c->isa);
  const bool floats = c->out[0]->dtype == OX_F32;
  float block[OX_CONVERT_BLOCK];
  for (int64_t i = 0, n; i < p->inner; i += n) {
    int64_t v = from + i, at = v % p->q, s = v / p->q * p->pre_step + at / p->block * p->q_step;
    n = OX_MIN(OX_MIN(p->block - at % p->block, p->q - at), OX_MIN(p->inner - i, OX_CONVERT_BLOCK));
    float scale = scale_of(c->in[2], s), zero = zero_of(c, p, s),
          *y = floats ? (float *)c->out[0]->data + to + i : block;
    cv->load_f32[p->type](c->in[0]->data, (size_t)v, (size_t)n, y);
    shift_and_scale(y, n, zero, scale);
    if (!floats) cv->store_f32[c->out[0]->dtype](y, c->out[0]->data, (size_t)(to + i), (size_t)n, NULL);
  }
}

static void dequantize_row(const ox_kernel_ctx *c, const quant_plan *p, int64_t from, int64_t to) {
  if (p->post == 1)
    dequantize_runs(c, p, from, to);
  else
    dequantize_each(c, p, from, to);
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  const quant_plan *p = c->prep;
  ox_index x = {c->in[1]->data, c->in[1]->dtype == OX_I64};
  ox_range u = ox_units_of(tiles, ox_move_tiles(p->rows * p->inner * 4, p->rows), p->rows);
  for (int64_t r = u.begin; r < u.end; r++) {
    int64_t at = ox_index_in(&x, r % p->n, p->dim);
    if (at >= 0)
      dequantize_row(c, p, (r / p->n * p->dim + at) * p->inner, r * p->inner);
    else /* an index outside gives zeros */
      for (int64_t i = 0; i < p->inner; i++) put(c->out[0], r * p->inner + i, 0);
  }
  return NULL;
}

enum {
  DATA = OX_BIT(OX_I4) | OX_BIT(OX_U4) | OX_BIT(OX_U8) | SMALL_FLOATS | OX_BIT(OX_F4E2M1),
  SCALE = OX_BIT(OX_F32) | OX_T_FLOAT16S
};

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "GatherBlockQuantized", .domain = "com.microsoft", .since = 1,
               .types = {DATA, OX_T_INDEX, SCALE, DATA}, .vars = "T..T", .min_in = 3, .max_in = 4, OX_ATTRS(attr_defs),
               .attrs_bytes = sizeof(quant_attrs), .infer = infer),
     OX_KERNEL(.prepare = prepare, .run = run)},
};
const ox_op_set ox_ops_gather_quantized = {ops, OX_COUNT(ops)};
