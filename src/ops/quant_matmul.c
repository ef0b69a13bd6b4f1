/* SPDX-License-Identifier: Apache-2.0
 * ops/quant_matmul.c - products of quantized tensors: MatMulInteger, QLinearMatMul, and com.microsoft's
 * MatMulIntegerToFloat, DynamicQuantizeMatMul, QGemm, MatMulInteger16. Rows differ in where their inputs are. */
#include <string.h>

#include "ops/matmul/product_plain.h"

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
  if (k == &kinds[INTEGER16] && a->dtype == OX_U16 && b->dtype == OX_U16) type = OX_U32;
  if (has(c, k->in.y_zero))
    type = c->in[k->in.y_zero]->dtype;
  else if (has(c, k->in.y_scale))
    type = a->dtype;
  else if (k == &kinds[TO_FLOAT])
    type = c->in[k->in.a_scale]->dtype;
  ox_infer_out(c, 0, type, &out);
  return NULL;
}

static bool is_byte(uint32_t type) { return type == OX_U8 || type == OX_I8; }

/* The product is one of bytes as far as the inputs' types tell. */
static bool of_bytes(const ox_load_ctx *c, const struct kind *k) {
  const ox_type *zero = k->in.y_zero >= 0 && (uint32_t)k->in.y_zero < c->n_in ? c->in_type[k->in.y_zero] : NULL;
  if (k == &kinds[TO_FLOAT] && c->in_type[k->in.a_scale]->dtype != OX_F32) return false;
  return (k == &kinds[DYNAMIC] || is_byte(c->in_type[k->in.a]->dtype)) && (!zero || is_byte(zero->dtype));
}

static ox_status *load(ox_load_ctx *c) {
  const struct kind *k = kind_of(c->op);
  const quant_attrs *a = c->attrs;
  ox_product_i8_b *b = NULL;
  if (!of_bytes(c, k)) return NULL;
  OX_TRY(ox_product_i8_pack(c, c->in_const[k->in.b], a && a->transB, &b));
  c->state = b;
  if (b) c->consumed |= (uint64_t)1 << k->in.b;
  return NULL;
}

static void unload(void *state, ox_alloc alloc) { ox_product_i8_unpack(state, alloc); }

/* ---- prepare, run ---- */
static ox_status *prepare(ox_kernel_ctx *c, const struct kind *k) {
  const quant_attrs *a = c->attrs;
  ox_product_i8 *q = ox_ctx_alloc(c, sizeof *q);
  bool trans[4];
  if (!q) return ox_oom();
  c->prep = q;
  flags(a, trans);
  q->in = k->in, q->out_type = c->out[0]->dtype, q->alpha = a ? a->alpha : 1, q->dynamic = k == &kinds[DYNAMIC];
  bool bytes = (q->dynamic || is_byte(c->in[k->in.a]->dtype)) && is_byte(c->in[k->in.b]->dtype);
  if (!bytes || (q->out_type != OX_F32 && q->out_type != OX_I32 && !is_byte(q->out_type)))
    return ox_product_plain_plan(c, q, trans);
  return ox_product_i8_plan(c, q, c->state, trans);
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
  ox_product_plain_run(c, q, tiles);
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
  HALVES = OX_BIT(OX_F32) | OX_BIT(OX_F16),
  SHORT = OX_BIT(OX_I16) | OX_BIT(OX_U16)
};
#define MICROSOFT .domain = "com.microsoft", .since = 1
#define COMMON .infer = infer
#define COMMON_KERNEL .load = load, .unload = unload, .run = run, .flops = flops

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "MatMulInteger", .since = 10, .types = {BYTES, BYTES, BYTES, BYTES}, .vars = "TUTU", .min_in = 2,
               .max_in = 4, COMMON),
     OX_KERNEL(.prepare = prepare_integer, COMMON_KERNEL)},
    {OX_SCHEMA(.name = "QLinearMatMul", .since = 10, .types = {SMALL, SCALE, SMALL, SMALL, SCALE, SMALL, SCALE, SMALL},
               .vars = "TUTVUVU", .min_in = 8, .max_in = 8, COMMON),
     OX_KERNEL(.prepare = prepare_qlinear, COMMON_KERNEL)},
    {OX_SCHEMA(.name = "MatMulIntegerToFloat", MICROSOFT, .types = {BYTES, BYTES, HALVES, HALVES, BYTES, BYTES, HALVES},
               .vars = "TUVVTUV", .min_in = 4, .max_in = 7, COMMON),
     OX_KERNEL(.prepare = prepare_to_float, COMMON_KERNEL)},
    {OX_SCHEMA(.name = "DynamicQuantizeMatMul", MICROSOFT, .types = {F32, BYTES, F32, BYTES, F32}, .vars = ".T.T",
               .min_in = 3, .max_in = 5, COMMON),
     OX_KERNEL(.prepare = prepare_dynamic, COMMON_KERNEL)},
    {OX_SCHEMA(.name = "QGemm", MICROSOFT, .types = {BYTES, F32, BYTES, BYTES, F32, BYTES, OX_BIT(OX_I32), F32},
               .vars = "T.TU.U", .more_types = (const uint32_t[]){BYTES}, .min_in = 6, .max_in = 9,
               OX_ATTRS(qgemm_attrs), .attrs_bytes = sizeof(quant_attrs), COMMON),
     OX_KERNEL(.prepare = prepare_qgemm, COMMON_KERNEL)},
    {OX_SCHEMA(.name = "MatMulInteger16", MICROSOFT, .types = {SHORT}, .min_in = 2, .max_in = 2, COMMON),
     OX_KERNEL(.prepare = prepare_integer16, COMMON_KERNEL)},
};
const ox_op_set ox_ops_quant_matmul = {ops, OX_COUNT(ops)};
