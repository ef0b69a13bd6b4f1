/* SPDX-License-Identifier: Apache-2.0
 * ops/quant_matmul.c - products of quantized tensors: MatMulInteger, QLinearMatMul, and com.microsoft's
 * MatMulIntegerToFloat, DynamicQuantizeMatMul, QGemm, MatMulInteger16. Rows differ in where their inputs are. */
#include <string.h>

#include "kern/quant/convert.h"
#include "ops/matmul/product_i8.h"

typedef struct quant_attrs {
  float alpha;
  int64_t transA, transB;
} quant_attrs;

static const ox_attr_def qgemm_attrs[] = {
    OX_ATTR_FLOAT(quant_attrs, alpha, 1.0f),
    OX_ATTR_INT(quant_attrs, transA, 0),
    OX_ATTR_INT(quant_attrs, transB, 0),
};

static const struct kind {
  const char *op;
  ox_product_i8_inputs in;
} kinds[] = {
    {"MatMulInteger", {0, 1, 2, 3, -1, -1, -1, -1, -1, -1}},
    {"QLinearMatMul", {0, 3, 2, 5, 1, 4, 6, 7, -1, -1}},
    {"MatMulIntegerToFloat", {0, 1, 4, 5, 2, 3, -1, -1, 6, -1}},
    {"DynamicQuantizeMatMul", {0, 1, -1, 3, -1, 2, -1, -1, 4, -1}},
    {"QGemm", {0, 3, 2, 5, 1, 4, 7, 8, -1, 6}},
    {"MatMulInteger16", {0, 1, -1, -1, -1, -1, -1, -1, -1, -1}},
};
enum { INTEGER, QLINEAR, TO_FLOAT, DYNAMIC, QGEMM, INTEGER16 };

static const struct kind *kind_of(const char *op) {
  for (size_t i = 0; i < OX_COUNT(kinds); i++)
    if (strcmp(kinds[i].op, op) == 0) return &kinds[i];
  return NULL;
}

static void flags(const quant_attrs *a, bool trans[4]) {
  trans[0] = a && a->transA, trans[1] = a && a->transB, trans[2] = trans[3] = false;
}

static bool has(const ox_infer_ctx *c, int i) { return i >= 0 && ox_infer_has(c, (uint32_t)i); }

static ox_status *infer(ox_infer_ctx *c) {
  const struct kind *k = kind_of(c->op);
  bool trans[4];
  ox_shape out;
  flags(c->attrs, trans);
  const ox_type *a = c->in[k->in.a], *b = c->in[k->in.b];
  if (k == &kinds[QGEMM] && ((a->shape.rank >= 0 && a->shape.rank != 2) || (b->shape.rank >= 0 && b->shape.rank != 2)))
    return ox_fail(OX_INVALID_MODEL, "QGemm: A and B must be matrices, got ranks %d and %d", a->shape.rank,
                   b->shape.rank);
  OX_TRY(ox_product_infer(c->op, &a->shape, &b->shape, trans, &out));
  uint32_t type = k == &kinds[INTEGER] || k == &kinds[INTEGER16] ? OX_I32 : OX_F32;
  if (has(c, k->in.y_zero))
    type = c->in[k->in.y_zero]->dtype;
  else if (has(c, k->in.y_scale))
    type = a->dtype;
  else if (k == &kinds[TO_FLOAT])
    type = c->in[k->in.a_scale]->dtype;
  ox_infer_out(c, 0, type, &out);
  return NULL;
}

static ox_status *load(ox_load_ctx *c) {
  const struct kind *k = kind_of(c->op);
  const quant_attrs *a = c->attrs;
  ox_product_i8_b *b = NULL;
  OX_TRY(ox_product_i8_pack(c, c->in_const[k->in.b], a && a->transB, &b));
  c->state = b;
  if (b) c->consumed |= (uint64_t)1 << k->in.b;
  return NULL;
}

static void unload(void *state, ox_alloc alloc) { ox_product_i8_unpack(state, alloc); }

/* ---- types without byte products (8-bit floats, 16-bit integers), plainly: a tile is a row of the result ---- */
enum { PLAIN_COLS = 256 };

static float param(const ox_kernel_ctx *c, int in, size_t i, float absent) {
  const ox_tensor *t = in >= 0 && (uint32_t)in < c->n_in ? c->in[in] : NULL;
  float x = absent;
  if (t) ox_convert_select(c->isa)->load_f32[t->dtype](t->data, ox_shape_count(&t->shape) > 1 ? i : 0, 1, &x);
  return x;
}

/* Columns [j0, j0 + n) of a row, from A's row at |a| and B's matrix at |b|. */
static void plain_block(const ox_kernel_ctx *c, const ox_product_i8 *q, size_t row, size_t a, size_t b, size_t j0,
                        size_t n) {
  const ox_convert *conv = ox_convert_select(c->isa);
  const ox_tensor *ta = c->in[q->in.a], *tb = c->in[q->in.b], *y = c->out[0];
  static const ox_narrow_how how = {.saturate = true};
  size_t out = row * q->p.n + j0;
  if (y->dtype == OX_I32) { /* 16-bit integers: exact, wrapping */
    for (size_t j = 0; j < n; j++) {
      uint32_t sum = 0;
      for (size_t k = 0; k < q->p.k; k++)
        sum += (uint32_t)((const int16_t *)ta->data)[a + k] *
               (uint32_t)((const int16_t *)tb->data)[b + k * q->p.n + j0 + j];
      memcpy((int32_t *)y->data + out + j, &sum, 4);
    }
    return;
  }
  float sums[PLAIN_COLS] = {0}, x, w[PLAIN_COLS], zero[PLAIN_COLS];
  float za = param(c, q->in.a_zero, row % q->p.m, 0), sa = param(c, q->in.a_scale, row % q->p.m, 1);
  float sy = param(c, q->in.y_scale, 0, 1), zy = param(c, q->in.y_zero, 0, 0);
  for (size_t j = 0; j < n; j++) zero[j] = param(c, q->in.b_zero, j0 + j, 0);
  for (size_t k = 0; k < q->p.k; k++) {
    conv->load_f32[ta->dtype](ta->data, a + k, 1, &x);
    conv->load_f32[tb->dtype](tb->data, b + k * q->p.n + j0, n, w);
    for (size_t j = 0; j < n; j++) sums[j] += (x - za) * (w[j] - zero[j]);
  }
  for (size_t j = 0; j < n; j++) sums[j] = sums[j] * (sa * param(c, q->in.b_scale, j0 + j, 1) / sy) + zy;
  conv->store_f32[y->dtype](sums, y->data, out, n, &how);
}

static void run_plain(const ox_kernel_ctx *c, const ox_product_i8 *q, ox_range tiles) {
  const ox_product *p = &q->p;
  for (int64_t i = tiles.begin; i < tiles.end; i++) {
    int64_t batch = i / (int64_t)p->m, a = i % (int64_t)p->m * p->a_rs, b = 0;
    for (int d = p->rank - 1; d >= 0; d--) {
      a += batch % p->batch[d] * p->a_batch[d], b += batch % p->batch[d] * p->b_batch[d];
      batch /= p->batch[d];
    }
    for (size_t j = 0; j < p->n; j += PLAIN_COLS)
      plain_block(c, q, (size_t)i, (size_t)a, (size_t)b, j, OX_MIN((size_t)PLAIN_COLS, p->n - j));
  }
}

/* ---- prepare, run ---- */
static bool is_byte(uint32_t type) { return type == OX_U8 || type == OX_I8; }

static ox_status *prepare(ox_kernel_ctx *c, const struct kind *k) {
  const quant_attrs *a = c->attrs;
  ox_product_i8 *q = ox_ctx_alloc(c, sizeof *q);
  bool trans[4];
  if (!q) return ox_oom();
  c->prep = q;
  flags(a, trans);
  q->in = k->in, q->out_type = c->out[0]->dtype, q->alpha = a ? a->alpha : 1, q->dynamic = k == &kinds[DYNAMIC];
  if ((q->dynamic || is_byte(c->in[k->in.a]->dtype)) && is_byte(c->in[k->in.b]->dtype)) {
    if (q->out_type != OX_F32 && q->out_type != OX_I32 && !is_byte(q->out_type))
      return ox_fail(OX_NOT_IMPLEMENTED, "%s: no result of type %s", k->op, ox_dtype_name(q->out_type));
    return ox_product_i8_plan(c, q, c->state, trans);
  }
  OX_TRY(ox_product_shape(&q->p, &c->in[k->in.a]->shape, &c->in[k->in.b]->shape, trans));
  int64_t rows = (int64_t)q->p.m;
  for (int d = 0; d < q->p.rank; d++) rows *= q->p.batch[d];
  q->p.plain = true;
  return ox_ctx_plan(c, q->p.n ? rows : 0, 0);
}

static ox_status *prepare_integer(ox_kernel_ctx *c) { return prepare(c, &kinds[INTEGER]); }
static ox_status *prepare_qlinear(ox_kernel_ctx *c) { return prepare(c, &kinds[QLINEAR]); }
static ox_status *prepare_to_float(ox_kernel_ctx *c) { return prepare(c, &kinds[TO_FLOAT]); }
static ox_status *prepare_dynamic(ox_kernel_ctx *c) { return prepare(c, &kinds[DYNAMIC]); }
static ox_status *prepare_qgemm(ox_kernel_ctx *c) { return prepare(c, &kinds[QGEMM]); }
static ox_status *prepare_integer16(ox_kernel_ctx *c) { return prepare(c, &kinds[INTEGER16]); }

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  const ox_product_i8 *q = c->prep;
  if (!q->p.plain) return ox_product_i8_run(c, q, stage, tiles, scratch);
  run_plain(c, q, tiles);
  return NULL;
}

static double flops(const ox_kernel_ctx *c) {
  return 2.0 * (double)ox_shape_count(&c->out[0]->shape) * (double)((const ox_product_i8 *)c->prep)->p.k;
}

enum {
  BYTES = OX_BIT(OX_U8) | OX_BIT(OX_I8),
  SMALL = BYTES | OX_BIT(OX_F8E4M3FN) | OX_BIT(OX_F8E4M3FNUZ) | OX_BIT(OX_F8E5M2) | OX_BIT(OX_F8E5M2FNUZ),
  SCALE = OX_BIT(OX_F32) | OX_T_FLOAT16S,
  F32 = OX_BIT(OX_F32),
  I16 = OX_BIT(OX_I16)
};
#define MICROSOFT .domain = "com.microsoft", .since = 1
#define COMMON .infer = infer
#define COMMON_KERNEL .load = load, .unload = unload, .run = run, .flops = flops

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "MatMulInteger", .since = 10, .types = {BYTES, BYTES, BYTES, BYTES}, .min_in = 2, .max_in = 4,
               COMMON),
     OX_KERNEL(.prepare = prepare_integer, COMMON_KERNEL)},
    {OX_SCHEMA(.name = "QLinearMatMul", .since = 10, .types = {SMALL, SCALE, SMALL, SMALL, SCALE, SMALL, SCALE, SMALL},
               .min_in = 8, .max_in = 8, COMMON),
     OX_KERNEL(.prepare = prepare_qlinear, COMMON_KERNEL)},
    {OX_SCHEMA(.name = "MatMulIntegerToFloat", MICROSOFT, .types = {BYTES, BYTES, F32, F32, BYTES, BYTES, F32},
               .min_in = 4, .max_in = 7, COMMON),
     OX_KERNEL(.prepare = prepare_to_float, COMMON_KERNEL)},
    {OX_SCHEMA(.name = "DynamicQuantizeMatMul", MICROSOFT, .types = {F32, BYTES, F32, BYTES, F32}, .min_in = 3,
               .max_in = 5, COMMON),
     OX_KERNEL(.prepare = prepare_dynamic, COMMON_KERNEL)},
    {OX_SCHEMA(.name = "QGemm", MICROSOFT, .types = {BYTES, F32, BYTES, BYTES, F32, BYTES, OX_BIT(OX_I32), F32 | BYTES},
               .min_in = 6, .max_in = 9, OX_ATTRS(qgemm_attrs), .attrs_bytes = sizeof(quant_attrs), COMMON),
     OX_KERNEL(.prepare = prepare_qgemm, COMMON_KERNEL)},
    {OX_SCHEMA(.name = "MatMulInteger16", MICROSOFT, .types = {I16}, .min_in = 2, .max_in = 2, COMMON),
     OX_KERNEL(.prepare = prepare_integer16, COMMON_KERNEL)},
};
const ox_op_set ox_ops_quant_matmul = {ops, OX_COUNT(ops)};
