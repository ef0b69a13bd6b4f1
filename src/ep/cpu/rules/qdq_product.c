/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu/rules/qdq_product.c - DequantizeLinear -> Conv, MatMul or Gemm -> QuantizeLinear runs in integers:
 * QLinearConv, QLinearMatMul, QGemm; without the QuantizeLinear: MatMulIntegerToFloat, QGemm. Each removes two nodes or
 * more. */
#include "base/status.h"
#include "ep/cpu/quantized.h"

static const char ms[] = "com.microsoft";

/* Data and weights with |channels| scales along |axis|. */
static int operands(const ox_rewrite *g, ox_id node, int64_t channels, int64_t axis, ox_quant *x, ox_quant *w) {
  return ox_dequantized(g, ox_in(g, node, 0), 0, 0, x) && ox_dequantized(g, ox_in(g, node, 1), channels, axis, w);
}

/* Columns of a Gemm's or MatMul's constant-rank weights and where they are; 0: this build has no such product. */
static int columns(const ox_rewrite *g, ox_id node, int64_t *n, int *axis) {
  const ox_shape *w = ox_shape_at(g, ox_in(g, node, 1));
  *axis = !ox_attr_i(g, node, "transB", 0);
  *n = w->rank == 2 ? w->dim[*axis] : -1;
  return w->rank == 2 && ox_attr_f(g, node, "beta", 1) == 1 && ox_attr_f(g, node, "alpha", 1) == 1 &&
         !ox_attr_i(g, node, "transA", 0);
}

/* ---- between quantizations ---- */

static const ox_pat root[] = {{.op = "QuantizeLinear"}};

static int conv_guard(const ox_rewrite *g, ox_match *m) {
  ox_integer_op *o = OX_CAPTURE(m, ox_integer_op);
  ox_quant x, w;
  if (!ox_integer_op_find(g, m->node[0], "Conv", 1, o)) return 0;
  const ox_shape *s = ox_shape_at(g, ox_in(g, o->old, 1));
  int64_t n = s->rank > 2 ? s->dim[0] : -1;
  if (n < 1 || !operands(g, o->old, n, 0, &x, &w) || x.dtype != o->y.dtype) return 0;
  if (!ox_bias_read(g, ox_in(g, o->old, 2), n, &o->bias)) return 0;
  ox_integer_op_put(o, &x), ox_integer_op_put(o, &w);
  o->in[6] = o->y.scale, o->in[7] = o->y.zero, o->bias_at = 8, o->n_in = 9;
  o->domain = "", o->op = "QLinearConv";
  return ox_op_serves(g, o->domain, o->op, x.dtype);
}

static int matmul_guard(const ox_rewrite *g, ox_match *m) {
  ox_integer_op *o = OX_CAPTURE(m, ox_integer_op);
  ox_quant x, w;
  if (!ox_integer_op_find(g, m->node[0], "MatMul", 1, o)) return 0;
  const ox_shape *s = ox_shape_at(g, ox_in(g, o->old, 1));
  if (!operands(g, o->old, s->rank == 2 ? s->dim[1] : 0, 1, &x, &w) || x.dtype != o->y.dtype) return 0;
  ox_integer_op_put(o, &x), ox_integer_op_put(o, &w);
  o->in[6] = o->y.scale, o->in[7] = o->y.zero, o->n_in = 8;
  o->domain = "", o->op = "QLinearMatMul";
  return ox_op_serves(g, o->domain, o->op, x.dtype);
}

static int gemm_guard(const ox_rewrite *g, ox_match *m) {
  ox_integer_op *o = OX_CAPTURE(m, ox_integer_op);
  ox_quant x, w;
  int64_t n;
  int axis;
  if (!ox_integer_op_find(g, m->node[0], "Gemm", 1, o) || !columns(g, o->old, &n, &axis)) return 0;
  if (!operands(g, o->old, n, axis, &x, &w) || !ox_const(g, w.q) || x.dtype != o->y.dtype) return 0;
  if (!ox_bias_read(g, ox_in(g, o->old, 2), n, &o->bias)) return 0;
  ox_integer_op_put(o, &x), ox_integer_op_put(o, &w);
  o->bias_at = 6, o->in[7] = o->y.scale, o->in[8] = o->y.zero, o->n_in = 9;
  o->domain = ms, o->op = "QGemm";
  return ox_op_serves(g, o->domain, o->op, x.dtype);
}

/* ---- the result stays float ---- */

static const ox_pat product[] = {{.op = "MatMul|Gemm", .types = OX_BIT(OX_F32)}};

typedef struct floats {
  ox_quant x, w;
  ox_bias bias;
  int64_t trans;
} floats;

static const char *float_op(const ox_rewrite *g, ox_id node) {
  return ox_is(g, node, "Gemm") ? "QGemm" : "MatMulIntegerToFloat";
}

static int float_guard(const ox_rewrite *g, ox_match *m) {
  floats *f = OX_CAPTURE(m, floats);
  ox_id node = m->node[0];
  int64_t n;
  int axis;
  if (ox_is(g, ox_only_user(g, ox_out(g, node, 0)), "QuantizeLinear")) return 0; /* which makes the better root */
  if (!columns(g, node, &n, &axis) || !operands(g, node, n, axis, &f->x, &f->w) || !ox_const(g, f->w.q)) return 0;
  f->trans = ox_attr_i(g, node, "transB", 0);
  return ox_bias_read(g, ox_in(g, node, 2), n, &f->bias) && ox_op_serves(g, ms, float_op(g, node), f->x.dtype);
}

static ox_status *float_apply(const ox_rewrite *g, const ox_match *m) {
  const floats *f = OX_CAPTURED(m, floats);
  const ox_quant *x = &f->x, *w = &f->w;
  ox_id node = m->node[0], b;
  if (!ox_is(g, node, "Gemm")) {
    ox_id in[] = {x->q, w->q, x->scale, w->scale, x->zero, w->zero};
    return ox_remake(g, node, ms, "MatMulIntegerToFloat", in, 6);
  }
  OX_TRY(ox_bias_make(g, &f->bias, x->scale, w->scale, &b));
  ox_id in[] = {x->q, x->scale, x->zero, w->q, w->scale, w->zero, b};
  OX_TRY(ox_remake(g, node, ms, "QGemm", in, b == OX_NONE ? 6 : 7));
  return ox_set_int(g, node, "transB", f->trans);
}

static const ox_rule rules[] = {
    {OX_RULE("qdq-conv", OX_OPTIMIZE_EXTENDED, root, conv_guard, ox_integer_op_apply)},
    {OX_RULE("qdq-matmul", OX_OPTIMIZE_EXTENDED, root, matmul_guard, ox_integer_op_apply)},
    {OX_RULE("qdq-gemm", OX_OPTIMIZE_EXTENDED, root, gemm_guard, ox_integer_op_apply)},
    {OX_RULE("qdq-float", OX_OPTIMIZE_EXTENDED, product, float_guard, float_apply), .late = 1},
};
const ox_rule_set ox_cpu_rules_qdq_product = OX_OWNED_RULE_SET("cpu", rules);
