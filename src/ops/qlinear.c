/* SPDX-License-Identifier: Apache-2.0
 * ops/qlinear.c - com.microsoft's 8-bit element-wise operators: QLinearAdd, QLinearMul, QLinearSigmoid,
 * QLinearLeakyRelu, QLinearWhere. A function of one byte is a table of 256. */
#include <math.h>
#include <string.h>

#include "kern/binary/broadcast.h"
#include "kern/quant/quantize.h"
#include "kern/unary/unary.h"
#include "ops/shared/check.h"
#include "ops/shared/qparam.h"
#include "ops/shared/tiles.h"

typedef struct {
  float alpha;
} qlinear_attrs;

static const ox_attr_def leaky_table[] = {OX_ATTR_FLOAT(qlinear_attrs, alpha, 0.01f)};

enum { TILE = OX_TILE_CHEAP, BLOCK = 512 };

/* ---- one operand ---- */
static ox_status *infer_unary(ox_infer_ctx *c) {
  OX_TRY(ox_qparam_required(c, (const uint8_t[]){0, 1, 3}, 3));
  return ox_infer_same_as_input(c);
}

static ox_status *prepare_unary(ox_kernel_ctx *c) {
  OX_TRY(ox_qparam_check(c, (const uint8_t[]){1, 2, 3, 4}, 4));
  return ox_plan_elements(c, TILE);
}

static ox_status *run_table(const ox_kernel_ctx *c, ox_range tiles, ox_unary fn) {
  uint32_t t = c->in[0]->dtype;
  ox_qparam x = ox_qparam_of(c, 1, 2, t), y = ox_qparam_of(c, 3, 4, t);
  float v[256], p[OX_UNARY_PARAMS] = {c->attrs ? ((const qlinear_attrs *)c->attrs)->alpha : 0, 0};
  uint8_t table[256];
  int64_t begin, end;
  for (int i = 0; i < 256; i++) v[i] = ox_dequantize_byte(x, (uint8_t)i);
  ox_unary_f32_select(0)->fn[fn](v, v, 256, p); /* the same bits on every machine */
  for (int i = 0; i < 256; i++) table[i] = ox_quantize_byte(y, v[i]);
  ox_tile_span(tiles, TILE, ox_shape_count(&c->in[0]->shape), &begin, &end);
  const uint8_t *in = c->in[0]->data;
  ox_quantize_select(c->isa)->map(table, in + begin, (uint8_t *)c->out[0]->data + begin, (size_t)(end - begin));
  return NULL;
}

static ox_status *run_sigmoid(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  return run_table(c, tiles, OX_UN_SIGMOID);
}
static ox_status *run_leaky(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  return run_table(c, tiles, OX_UN_LEAKY_RELU);
}

/* ---- two operands, and a choice between two ---- */
static ox_status *infer_binary(ox_infer_ctx *c) {
  ox_shape s;
  OX_TRY(ox_qparam_required(c, (const uint8_t[]){0, 1, 3, 4, 6}, 5));
  if (c->in[0]->dtype && c->in[3]->dtype && c->in[0]->dtype != c->in[3]->dtype)
    return ox_fail(OX_INVALID_MODEL, "operands are %s and %s", ox_dtype_name(c->in[0]->dtype),
                   ox_dtype_name(c->in[3]->dtype));
  OX_TRY(ox_shape_broadcast(&c->in[0]->shape, &c->in[3]->shape, &s));
  ox_infer_out(c, 0, c->in[0]->dtype, &s);
  return NULL;
}

static ox_status *infer_where(ox_infer_ctx *c) {
  ox_shape s;
  if (c->in[7]->dtype && c->in[7]->dtype != OX_F32) return ox_fail(OX_INVALID_MODEL, "input 7 must be a float scale");
  if (c->in[1]->dtype && c->in[4]->dtype && c->in[1]->dtype != c->in[4]->dtype)
    return ox_fail(OX_INVALID_MODEL, "operands are %s and %s", ox_dtype_name(c->in[1]->dtype),
                   ox_dtype_name(c->in[4]->dtype));
  OX_TRY(ox_shape_broadcast(&c->in[0]->shape, &c->in[1]->shape, &s));
  OX_TRY(ox_shape_broadcast(&s, &c->in[4]->shape, &s));
  ox_infer_out(c, 0, c->in[1]->dtype, &s);
  return NULL;
}

static ox_status *prepare_binary(ox_kernel_ctx *c) {
  ox_bcast *b = ox_ctx_alloc(c, sizeof *b);
  if (!b) return ox_oom();
  OX_TRY(ox_qparam_check(c, (const uint8_t[]){1, 2, 4, 5, 6, 7}, 6));
  ox_bcast_init(b, &c->out[0]->shape, 2, (const ox_shape *[]){&c->in[0]->shape, &c->in[3]->shape});
  c->prep = b;
  return ox_plan_elements(c, TILE);
}

static ox_status *prepare_where(ox_kernel_ctx *c) {
  ox_bcast *b = ox_ctx_alloc(c, sizeof *b);
  if (!b) return ox_oom();
  OX_TRY(ox_qparam_check(c, (const uint8_t[]){2, 3, 5, 6, 7, 8}, 6));
  ox_bcast_init(b, &c->out[0]->shape, 3, (const ox_shape *[]){&c->in[0]->shape, &c->in[1]->shape, &c->in[4]->shape});
  c->prep = b;
  return ox_plan_elements(c, TILE);
}

/* Operand |k| of the broadcast, as bytes for outputs [at, at + n). */
static const uint8_t *bytes_of(const ox_bcast *b, int k, const void *data, int64_t at, int64_t n, uint8_t *spare) {
  if (b->dense[k]) return (const uint8_t *)data + at;
  ox_bcast_gather(b, k, data, 1, at, n, spare);
  return spare;
}

/* What QLinearAdd or QLinearMul makes of rows of bytes. */
typedef struct {
  const ox_quantize_table *q;
  bool is_product, is_signed;
  ox_byte_sum sum;
  ox_byte_product product;
} pairs;

static pairs pairs_of(const ox_kernel_ctx *c, bool is_product) {
  uint32_t t = c->in[0]->dtype;
  ox_qparam a = ox_qparam_of(c, 1, 2, t), b = ox_qparam_of(c, 4, 5, t), y = ox_qparam_of(c, 6, 7, t);
  return (pairs){ox_quantize_select(c->isa), is_product, y.is_signed,
                 ox_byte_sum_of(a.scale, a.zero, b.scale, b.zero, y.scale, y.zero),
                 ox_byte_product_of(a.scale, a.zero, b.scale, b.zero, y.scale, y.zero)};
}

static void both_rows(const pairs *p, const uint8_t *a, const uint8_t *b, uint8_t *y, size_t n) {
  const int8_t *u = (const int8_t *)a, *v = (const int8_t *)b;
  if (p->is_product && p->is_signed)
    p->q->mul_i8(u, v, (int8_t *)y, n, &p->product);
  else if (p->is_product)
    p->q->mul_u8(a, b, y, n, &p->product);
  else if (p->is_signed)
    p->q->add_i8(u, v, (int8_t *)y, n, &p->sum);
  else
    p->q->add_u8(a, b, y, n, &p->sum);
}

/* Operand |k| is one byte for all |n| outputs: where they are many, a table of what goes with it is less work. */
static void one_stays(const pairs *p, int k, uint8_t one, const uint8_t *x, uint8_t *y, int64_t n) {
  uint8_t same[BLOCK], table[BLOCK];
  const uint8_t *row[2];
  memset(same, one, (size_t)OX_MIN(n, BLOCK));
  row[k] = same, row[!k] = x;
  if (n <= BLOCK) {
    both_rows(p, row[0], row[1], y, (size_t)n);
    return;
  }
  for (int i = 0; i < 256; i++) table[i] = (uint8_t)i;
  row[!k] = table;
  both_rows(p, row[0], row[1], table, 256);
  p->q->map(table, x, y, (size_t)n);
}

/* Outputs |o| by runs in which both operands go on or one stays. */
static void by_runs(const pairs *p, const ox_bcast *b, const uint8_t *const in[2], uint8_t *out, ox_range o) {
  ox_bcast_run r;
  for (bool ok = ox_bcast_first(b, o.begin, o.end, &r); ok; ok = ox_bcast_next(b, &r)) {
    const uint8_t *u = in[0] + r.off[0], *v = in[1] + r.off[1];
    uint8_t *y = out + r.at;
    if (r.step[0] && r.step[1])
      both_rows(p, u, v, y, (size_t)r.n);
    else
      one_stays(p, r.step[0], r.step[0] ? *v : *u, r.step[0] ? u : v, y, r.n);
  }
}

static ox_status *run_pairs(const ox_kernel_ctx *c, ox_range tiles, bool is_product) {
  enum { BOTH = 64, ONE = 256 }; /* shorter runs, of both operands or one, are gathered into blocks */
  const ox_bcast *b = c->prep;
  const uint8_t *in[2] = {c->in[0]->data, c->in[3]->data};
  uint8_t sa[BLOCK], sb[BLOCK], *out = c->out[0]->data;
  pairs p = pairs_of(c, is_product);
  int64_t begin, end;
  ox_tile_span(tiles, TILE, b->count, &begin, &end);
  int last = b->rank - 1;
  if (b->dim[last] >= (b->stride[0][last] && b->stride[1][last] ? BOTH : ONE)) {
    by_runs(&p, b, in, out, (ox_range){begin, end});
    return NULL;
  }
  for (int64_t i = begin; i < end; i += BLOCK) {
    int64_t n = OX_MIN(end - i, BLOCK);
    both_rows(&p, bytes_of(b, 0, in[0], i, n, sa), bytes_of(b, 1, in[1], i, n, sb), out + i, (size_t)n);
  }
  return NULL;
}

static ox_status *run_add(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  return run_pairs(c, tiles, false);
}
static ox_status *run_mul(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  return run_pairs(c, tiles, true);
}

static ox_status *run_where(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  const ox_bcast *b = c->prep;
  uint32_t t = c->in[1]->dtype;
  ox_qparam px = ox_qparam_of(c, 2, 3, t), py = ox_qparam_of(c, 5, 6, t), pz = ox_qparam_of(c, 7, 8, t);
  uint8_t from_x[256], from_y[256], sc[BLOCK], sx[BLOCK], sy[BLOCK], *out = c->out[0]->data;
  int64_t begin, end;
  for (int i = 0; i < 256; i++) {
    from_x[i] = ox_quantize_byte(pz, ox_dequantize_byte(px, (uint8_t)i));
    from_y[i] = ox_quantize_byte(pz, ox_dequantize_byte(py, (uint8_t)i));
  }
  ox_tile_span(tiles, TILE, b->count, &begin, &end);
  for (int64_t i = begin; i < end; i += BLOCK) {
    int64_t n = OX_MIN(end - i, BLOCK);
    const uint8_t *cond = bytes_of(b, 0, c->in[0]->data, i, n, sc);
    const uint8_t *x = bytes_of(b, 1, c->in[1]->data, i, n, sx), *y = bytes_of(b, 2, c->in[4]->data, i, n, sy);
    for (int64_t k = 0; k < n; k++) out[i + k] = cond[k] ? from_x[x[k]] : from_y[y[k]];
  }
  return NULL;
}

enum { Q8 = OX_BIT(OX_U8) | OX_BIT(OX_I8), F = OX_BIT(OX_F32) };
#define ROW(op, least, most, infer_fn, prepare_fn, run_fn, ...)                                                      \
  {                                                                                                                  \
    OX_SCHEMA(.name = op, .domain = "com.microsoft", .since = 1, .min_in = least, .max_in = most, .infer = infer_fn, \
              __VA_ARGS__),                                                                                          \
        OX_KERNEL(.prepare = prepare_fn, .run = run_fn)                                                              \
  }

static const ox_op ops[] = {
    ROW("QLinearAdd", 2, 8, infer_binary, prepare_binary, run_add, .types = {Q8, F, Q8, Q8, F, Q8, F, Q8},
        .vars = "T.TT.T.T"),
    ROW("QLinearMul", 2, 8, infer_binary, prepare_binary, run_mul, .types = {Q8, F, Q8, Q8, F, Q8, F, Q8},
        .vars = "T.TT.T.T"),
    ROW("QLinearSigmoid", 2, 5, infer_unary, prepare_unary, run_sigmoid, .types = {Q8, F, Q8, F, Q8}, .vars = "T.T.T"),
    ROW("QLinearLeakyRelu", 2, 5, infer_unary, prepare_unary, run_leaky, .types = {Q8, F, Q8, F, Q8}, .vars = "T.T.T",
        .attrs_bytes = sizeof(qlinear_attrs), OX_ATTRS(leaky_table)),
    ROW("QLinearWhere", 9, 9, infer_where, prepare_where, run_where,
        .types = {OX_BIT(OX_BOOL), Q8, F, Q8, Q8, F, Q8, F}, .vars = ".T.TT.T.T", .more_types = (const uint32_t[]){Q8}),
};
const ox_op_set ox_ops_qlinear = {ops, OX_COUNT(ops)};
