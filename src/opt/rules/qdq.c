/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/qdq.c - DequantizeLinear -> operator -> QuantizeLinear runs in integers: QLinearConv, QLinearMatMul, QGemm,
 * QLinearAdd. A Relu in between becomes a maximum with the zero point, which is exact since quantization is monotonic;
 * biases are quantized to the product of both scales, an error far below a quantum of the result. */
#include <math.h>
#include <string.h>

#include "opt/match.h"

static const char ms[] = "com.microsoft";

/* A quantized value: its integers, scale and zero point. */
typedef struct quant {
  ox_id q, scale, zero;
  uint32_t dtype;
} quant;

static bool eight_bits(uint32_t dtype) { return dtype == OX_U8 || dtype == OX_I8; }

/* Constant float32 scales above zero: one, or with |channels| one for each along |axis|. */
static bool scale_ok(const ox_graph *g, ox_id node, int64_t channels, int64_t axis) {
  const ox_tensor *s = ox_graph_const(g, ox_in(g, node, 1));
  int64_t n = s ? ox_shape_count(&s->shape) : -1;
  if (n < 1 || s->dtype != OX_F32 || s->shape.rank > 1 || (n != 1 && n != channels)) return false;
  if (n != 1 && ox_attr_i(&g->nodes[node], "axis", 1) != axis) return false;
  for (int64_t i = 0; i < n; i++)
    if (!(ox_tensor_at(s, i) > 0) || isinf(ox_tensor_at(s, i))) return false;
  return !ox_attr_i(&g->nodes[node], "block_size", 0);
}

static bool zero_ok(const ox_graph *g, ox_id node) {
  ox_id z = ox_in(g, node, 2);
  return z != OX_NONE && ox_graph_const(g, z);
}

/* |v| is dequantized from 8 bits with constant parameters; |channels| as above (0: one scale). */
static bool dequantized(const ox_graph *g, ox_id v, int64_t channels, int64_t axis, quant *out) {
  ox_id n = ox_up(g, v, "DequantizeLinear");
  if (n == OX_NONE || !scale_ok(g, n, channels, axis) || !zero_ok(g, n) || ox_dtype_of(g, v) != OX_F32) return false;
  *out = (quant){g->nodes[n].in[0], g->nodes[n].in[1], g->nodes[n].in[2], ox_dtype_of(g, g->nodes[n].in[0])};
  return eight_bits(out->dtype);
}

static bool quantizes(const ox_graph *g, ox_id node, quant *out) {
  const ox_node *n = &g->nodes[node];
  if (!scale_ok(g, node, 0, 0) || !zero_ok(g, node)) return false;
  *out = (quant){n->out[0], n->in[1], n->in[2], ox_dtype_of(g, n->out[0])};
  return eight_bits(out->dtype) && ox_dtype_of(g, n->in[2]) == out->dtype;
}

/* The node |ops| that feeds the QuantizeLinear |root|, looking through one Relu. */
static ox_id fed_by(const ox_graph *g, ox_id root, const char *ops, bool *relu) {
  ox_id v = g->nodes[root].in[0], r = ox_up1(g, v, "Relu");
  *relu = r != OX_NONE;
  if (*relu) v = g->nodes[r].in[0];
  return ox_up1(g, v, ops);
}

/* ---- bias ---- */

/* The real bias |v| (float32, or DequantizeLinear of int32), or NULL; in |out| as doubles. */
static bool bias_at(const ox_graph *g, ox_id v, int64_t i, double *out) {
  const ox_tensor *t = ox_graph_const(g, v);
  if (t && t->dtype == OX_F32) return *out = ox_tensor_at(t, i), true;
  ox_id n = ox_up(g, v, "DequantizeLinear");
  const ox_tensor *q = n == OX_NONE ? NULL : ox_graph_const(g, g->nodes[n].in[0]);
  const ox_tensor *s = n == OX_NONE ? NULL : ox_graph_const(g, g->nodes[n].in[1]);
  if (!q || !s || q->dtype != OX_I32 || s->dtype != OX_F32) return false;
  ox_id z = ox_in(g, n, 2);
  if (z != OX_NONE && !ox_const_all(g, z, 0, 1 << 20)) return false;
  *out = ox_tensor_at(q, i) * ox_tensor_at(s, ox_shape_count(&s->shape) == 1 ? 0 : i);
  return true;
}

/* A bias of |n| elements can be expressed in int32 quanta. */
static bool bias_ok(const ox_graph *g, ox_id v, int64_t n) {
  const ox_shape *s = ox_shape_at(g, v);
  double x;
  return s->rank == 1 && s->dim[0] == n && n > 0 && bias_at(g, v, 0, &x);
}

static ox_status *bias_make(ox_graph *g, ox_id v, int64_t n, ox_id x_scale, ox_id w_scale, ox_id *out) {
  *out = OX_NONE;
  if (v == OX_NONE) return NULL;
  const ox_tensor *ws = ox_graph_const(g, w_scale);
  double xs = ox_tensor_at(ox_graph_const(g, x_scale), 0), b;
  int32_t *q = OX_ARENA_ARRAY(&g->model->arena, int32_t, (size_t)n);
  if (!q) return ox_oom();
  for (int64_t i = 0; i < n; i++) {
    if (!bias_at(g, v, i, &b)) b = 0;
    double r = rint(b / (xs * ox_tensor_at(ws, ox_shape_count(&ws->shape) == 1 ? 0 : i)));
    q[i] = (int32_t)(r < INT32_MIN ? INT32_MIN : r > INT32_MAX ? INT32_MAX : r);
  }
  ox_shape s = ox_shape_of(1, &n);
  ox_tensor t = ox_tensor_view(OX_I32, &s, q);
  return ox_graph_add_const(g, NULL, &t, out);
}

/* ---- the integer operator takes the root's place ---- */

/* |root| becomes |op|; with |relu| a maximum with the zero point follows under the root's output. */
static ox_status *become(ox_graph *g, ox_id root, const char *domain, const char *op, const ox_id *in, uint32_t n_in,
                         bool relu, ox_id zero, ox_id attrs_of) {
  const ox_tensor *z = ox_graph_const(g, zero);
  double least = z->dtype == OX_I8 ? -128 : 0;
  ox_id node = root, out;
  if (relu && ox_tensor_at(z, 0) != least) {
    OX_TRY(ox_graph_add_value(g, NULL, &out));
    g->values[out].type = g->values[g->nodes[root].out[0]].type;
    OX_TRY(ox_graph_add_node(g, op, domain, g->nodes[attrs_of].name, in, n_in, &out, 1, &node));
    OX_TRY(ox_node_remake(g, root, "", "Max", (ox_id[]){out, zero}, 2));
  } else {
    OX_TRY(ox_node_remake(g, root, domain, op, in, n_in));
  }
  for (uint32_t i = 0; i < g->nodes[attrs_of].n_attrs; i++)
    OX_TRY(ox_node_set_attr(g, node, &g->nodes[attrs_of].attrs[i]));
  return ox_dce_from(g, attrs_of);
}

static bool relu_ok(const ox_graph *g, bool relu, const quant *y) {
  double least = y->dtype == OX_I8 ? -128 : 0;
  return !relu || ox_tensor_at(ox_graph_const(g, y->zero), 0) == least || ox_op_serves(g, "", "Max", y->dtype);
}

typedef struct found {
  quant x, w, y;
  ox_id node, bias;
  int64_t n; /* output channels */
  bool relu;
} found;

static const ox_pat root[] = {{.op = "QuantizeLinear"}};

/* ---- Conv ---- */

static bool conv_find(const ox_graph *g, ox_id q, found *f) {
  f->node = fed_by(g, q, "Conv", &f->relu);
  if (f->node == OX_NONE || !quantizes(g, q, &f->y)) return false;
  const ox_shape *w = ox_shape_at(g, ox_in(g, f->node, 1));
  f->n = w->rank > 2 ? w->dim[0] : -1;
  f->bias = ox_in(g, f->node, 2);
  return f->n > 0 && dequantized(g, g->nodes[f->node].in[0], 0, 0, &f->x) &&
         dequantized(g, g->nodes[f->node].in[1], f->n, 0, &f->w) && (f->bias == OX_NONE || bias_ok(g, f->bias, f->n)) &&
         f->x.dtype == f->y.dtype && relu_ok(g, f->relu, &f->y);
}

static bool conv_guard(const ox_graph *g, const ox_match *m) {
  found f;
  return conv_find(g, m->node[0], &f) && ox_op_serves(g, "", "QLinearConv", f.x.dtype);
}

static ox_status *conv_apply(ox_graph *g, const ox_match *m) {
  found f;
  ox_id b;
  conv_find(g, m->node[0], &f);
  OX_TRY(bias_make(g, f.bias, f.n, f.x.scale, f.w.scale, &b));
  ox_id in[] = {f.x.q, f.x.scale, f.x.zero, f.w.q, f.w.scale, f.w.zero, f.y.scale, f.y.zero, b};
  return become(g, m->node[0], "", "QLinearConv", in, b == OX_NONE ? 8 : 9, f.relu, f.y.zero, f.node);
}

/* ---- MatMul ---- */

static bool matmul_find(const ox_graph *g, ox_id q, found *f) {
  f->node = fed_by(g, q, "MatMul", &f->relu);
  if (f->node == OX_NONE || !quantizes(g, q, &f->y)) return false;
  const ox_shape *w = ox_shape_at(g, g->nodes[f->node].in[1]);
  int64_t n = w->rank == 2 ? w->dim[1] : 0;
  return dequantized(g, g->nodes[f->node].in[0], 0, 0, &f->x) && dequantized(g, g->nodes[f->node].in[1], n, 1, &f->w) &&
         f->x.dtype == f->y.dtype && relu_ok(g, f->relu, &f->y);
}

static bool matmul_guard(const ox_graph *g, const ox_match *m) {
  found f;
  return matmul_find(g, m->node[0], &f) && ox_op_serves(g, "", "QLinearMatMul", f.x.dtype);
}

static ox_status *matmul_apply(ox_graph *g, const ox_match *m) {
  found f;
  matmul_find(g, m->node[0], &f);
  ox_id in[] = {f.x.q, f.x.scale, f.x.zero, f.w.q, f.w.scale, f.w.zero, f.y.scale, f.y.zero};
  return become(g, m->node[0], "", "QLinearMatMul", in, 8, f.relu, f.y.zero, f.node);
}

/* ---- MatMul and Gemm whose result stays float ---- */

static const ox_pat product[] = {{.op = "MatMul|Gemm", .types = OX_BIT(OX_F32)}};

static bool gemm_find(const ox_graph *g, ox_id node, found *f) {
  const ox_node *n = &g->nodes[node];
  const ox_shape *w = ox_shape_at(g, n->in[1]);
  bool trans = ox_attr_i(n, "transB", 0) != 0, gemm = ox_node_is(n, "Gemm", NULL);
  if (w->rank != 2) return false;
  f->n = w->dim[!trans], f->bias = ox_in(g, node, 2);
  if (gemm && (ox_attr_f(n, "beta", 1) != 1 || ox_attr_f(n, "alpha", 1) != 1 || ox_attr_i(n, "transA", 0)))
    return false;
  return dequantized(g, n->in[0], 0, 0, &f->x) && dequantized(g, n->in[1], f->n, !trans, &f->w) &&
         ox_graph_const(g, f->w.q) && (f->bias == OX_NONE || bias_ok(g, f->bias, f->n));
}

static const char *float_op(const ox_node *n) { return ox_node_is(n, "Gemm", NULL) ? "QGemm" : "MatMulIntegerToFloat"; }

static bool float_guard(const ox_graph *g, const ox_match *m) {
  found f;
  const ox_node *n = &g->nodes[m->node[0]];
  ox_id user = ox_only_user(g, n->out[0]); /* a QuantizeLinear behind it makes the better root */
  if (user != OX_NONE && ox_node_is(&g->nodes[user], "QuantizeLinear", NULL)) return false;
  return gemm_find(g, m->node[0], &f) && ox_op_serves(g, ms, float_op(n), f.x.dtype);
}

static ox_status *float_apply(ox_graph *g, const ox_match *m) {
  found f;
  ox_id node = m->node[0], b;
  gemm_find(g, node, &f);
  int64_t trans = ox_attr_i(&g->nodes[node], "transB", 0);
  if (!ox_node_is(&g->nodes[node], "Gemm", NULL)) {
    ox_id in[] = {f.x.q, f.w.q, f.x.scale, f.w.scale, f.x.zero, f.w.zero};
    return ox_node_remake(g, node, ms, "MatMulIntegerToFloat", in, 6);
  }
  OX_TRY(bias_make(g, f.bias, f.n, f.x.scale, f.w.scale, &b));
  ox_id in[] = {f.x.q, f.x.scale, f.x.zero, f.w.q, f.w.scale, f.w.zero, b};
  OX_TRY(ox_node_remake(g, node, ms, "QGemm", in, b == OX_NONE ? 6 : 7));
  return ox_node_set_int(g, node, "transB", trans);
}

/* ---- Add ---- */

static bool add_find(const ox_graph *g, ox_id q, found *f) {
  f->node = fed_by(g, q, "Add", &f->relu);
  return f->node != OX_NONE && quantizes(g, q, &f->y) && dequantized(g, g->nodes[f->node].in[0], 0, 0, &f->x) &&
         dequantized(g, g->nodes[f->node].in[1], 0, 0, &f->w) && f->x.dtype == f->y.dtype && f->w.dtype == f->y.dtype &&
         relu_ok(g, f->relu, &f->y);
}

static bool add_guard(const ox_graph *g, const ox_match *m) {
  found f;
  return add_find(g, m->node[0], &f) && ox_op_serves(g, ms, "QLinearAdd", f.x.dtype);
}

static ox_status *add_apply(ox_graph *g, const ox_match *m) {
  found f;
  add_find(g, m->node[0], &f);
  ox_id in[] = {f.x.q, f.x.scale, f.x.zero, f.w.q, f.w.scale, f.w.zero, f.y.scale, f.y.zero};
  return become(g, m->node[0], ms, "QLinearAdd", in, 8, f.relu, f.y.zero, f.node);
}

static const ox_rule rules[] = {
    {"qdq-conv", OX_LEVEL_EXTENDED, OX_PATTERN(root), conv_guard, conv_apply, false},
    {"qdq-matmul", OX_LEVEL_EXTENDED, OX_PATTERN(root), matmul_guard, matmul_apply, false},
    {"qdq-add", OX_LEVEL_EXTENDED, OX_PATTERN(root), add_guard, add_apply, false},
    {"qdq-float", OX_LEVEL_EXTENDED, OX_PATTERN(product), float_guard, float_apply, true},
};
const ox_rule_set ox_rules_qdq = {rules, OX_COUNT(rules)};
