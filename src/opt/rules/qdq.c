/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/qdq.c - DequantizeLinear -> operator -> QuantizeLinear runs in integers: QLinearConv, QLinearMatMul, QGemm,
 * QLinearAdd and their like. A Relu or Clip in between becomes a bound on the integers, which is exact since
 * quantization is monotonic; biases are quantized to the product of both scales, an error far below a quantum of the
 * result. */
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

/* A Relu or Clip in front of the quantization: its bounds in reals. */
typedef struct cut {
  double lo, hi;
} cut;

/* The node |ops| that feeds the QuantizeLinear |root|, looking through one Relu or Clip. */
static ox_id fed_by(const ox_graph *g, ox_id root, const char *ops, cut *c) {
  ox_id v = g->nodes[root].in[0], relu = ox_up1(g, v, "Relu"), clip = ox_up1(g, v, "Clip");
  *c = (cut){-INFINITY, INFINITY};
  if (relu != OX_NONE) c->lo = 0, v = g->nodes[relu].in[0];
  if (clip != OX_NONE) {
    const ox_node *n = &g->nodes[clip];
    if (ox_in(g, clip, 1) != OX_NONE && !ox_const_scalar(g, n->in[1], &c->lo)) return OX_NONE;
    if (ox_in(g, clip, 2) != OX_NONE && !ox_const_scalar(g, n->in[2], &c->hi)) return OX_NONE;
    c->lo = (double)ox_attr_f(n, "min", (float)c->lo), c->hi = (double)ox_attr_f(n, "max", (float)c->hi);
    if (!(c->lo <= c->hi)) return OX_NONE;
    v = n->in[0];
  }
  return ox_up1(g, v, ops);
}

/* What |x| quantizes to. */
static int quantize(const ox_graph *g, const quant *y, double x) {
  double z = ox_tensor_at(ox_graph_const(g, y->zero), 0), s = ox_tensor_at(ox_graph_const(g, y->scale), 0);
  double q = rint((double)(float)(x / s)) + z, least = y->dtype == OX_I8 ? -128 : 0;
  return (int)fmin(fmax(q, least), least + 255);
}

/* The bounds as integers; false for one that the type has anyway. */
static bool low_of(const ox_graph *g, const quant *y, const cut *c, int *q) {
  *q = quantize(g, y, c->lo);
  return *q > (y->dtype == OX_I8 ? -128 : 0);
}
static bool high_of(const ox_graph *g, const quant *y, const cut *c, int *q) {
  *q = quantize(g, y, c->hi);
  return *q < (y->dtype == OX_I8 ? 127 : 255);
}

static bool cut_ok(const ox_graph *g, const quant *y, const cut *c) {
  int q;
  return (!low_of(g, y, c, &q) || ox_op_serves(g, "", "Max", y->dtype)) &&
         (!high_of(g, y, c, &q) || ox_op_serves(g, "", "Min", y->dtype));
}

/* ---- bias ---- */

/* A bias in reals: float32, or int32 with scales. */
typedef struct reals {
  const ox_tensor *t, *scale; /* scale NULL: float32 */
} reals;

/* A constant bias of |n| elements that int32 quanta can express. */
static bool bias_read(const ox_graph *g, ox_id v, int64_t n, reals *r) {
  const ox_shape *s = ox_shape_at(g, v);
  if (s->rank != 1 || s->dim[0] != n || n < 1) return false;
  *r = (reals){ox_graph_const(g, v), NULL};
  if (r->t) return r->t->dtype == OX_F32;
  ox_id dq = ox_up(g, v, "DequantizeLinear");
  if (dq == OX_NONE || (ox_in(g, dq, 2) != OX_NONE && !ox_const_all(g, ox_in(g, dq, 2), 0, 1 << 20))) return false;
  *r = (reals){ox_graph_const(g, g->nodes[dq].in[0]), ox_graph_const(g, ox_in(g, dq, 1))};
  if (!r->t || !r->scale || r->t->dtype != OX_I32 || r->scale->dtype != OX_F32) return false;
  int64_t n_scales = ox_shape_count(&r->scale->shape);
  return n_scales == 1 || n_scales == n;
}

static double bias_at(const reals *r, int64_t i) {
  double x = ox_tensor_at(r->t, i);
  return r->scale ? x * ox_tensor_at(r->scale, ox_shape_count(&r->scale->shape) == 1 ? 0 : i) : x;
}

static bool bias_ok(const ox_graph *g, ox_id v, int64_t n) {
  reals r;
  return bias_read(g, v, n, &r);
}

static ox_status *bias_make(ox_graph *g, ox_id v, int64_t n, ox_id x_scale, ox_id w_scale, ox_id *out) {
  reals real;
  *out = OX_NONE;
  if (v == OX_NONE || !bias_read(g, v, n, &real)) return NULL;
  const ox_tensor *ws = ox_graph_const(g, w_scale);
  double xs = ox_tensor_at(ox_graph_const(g, x_scale), 0);
  int32_t *q = OX_ARENA_ARRAY(&g->model->arena, int32_t, (size_t)n);
  if (!q) return ox_oom();
  for (int64_t i = 0; i < n; i++) {
    double r = rint(bias_at(&real, i) / (xs * ox_tensor_at(ws, ox_shape_count(&ws->shape) == 1 ? 0 : i)));
    q[i] = (int32_t)(r < INT32_MIN ? INT32_MIN : r > INT32_MAX ? INT32_MAX : r);
  }
  ox_shape s = ox_shape_of(1, &n);
  ox_tensor t = ox_tensor_view(OX_I32, &s, q);
  return ox_graph_add_const(g, NULL, &t, out);
}

/* ---- the integer operator takes the root's place ---- */

/* Puts Max or Min with |bound| in front of |root|'s output: |root| becomes it, what it was goes to a node of its own.
 */
static ox_status *bound_by(ox_graph *g, ox_id root, const char *op, const quant *y, int bound, ox_id *inner) {
  uint8_t byte = (uint8_t)bound;
  ox_id out, limit, node = root;
  OX_TRY(ox_graph_add_const_copy(g, NULL, y->dtype, 0, NULL, &byte, &limit));
  OX_TRY(ox_graph_add_value(g, NULL, &out));
  g->values[out].type = g->values[g->nodes[root].out[0]].type;
  OX_TRY(ox_graph_add_node(g, g->nodes[root].op, g->nodes[root].domain, "", g->nodes[root].in, g->nodes[root].n_in,
                           &out, 1, &node));
  for (uint32_t i = 0; i < g->nodes[root].n_attrs; i++) OX_TRY(ox_node_set_attr(g, node, &g->nodes[root].attrs[i]));
  *inner = node;
  return ox_node_remake(g, root, "", op, (ox_id[]){out, limit}, 2);
}

/* |root| becomes |op| with the attributes of |old|, bounded by |c| under the root's output. */
static ox_status *become(ox_graph *g, ox_id root, const char *domain, const char *op, const ox_id *in, uint32_t n_in,
                         const quant *y, const cut *c, ox_id old) {
  int q;
  ox_id inner = root;
  OX_TRY(ox_node_remake(g, root, domain, op, in, n_in));
  for (uint32_t i = 0; i < g->nodes[old].n_attrs; i++) OX_TRY(ox_node_set_attr(g, root, &g->nodes[old].attrs[i]));
  if (low_of(g, y, c, &q)) OX_TRY(bound_by(g, root, "Max", y, q, &inner));
  if (high_of(g, y, c, &q)) OX_TRY(bound_by(g, root, "Min", y, q, &inner));
  return ox_dce_from(g, old);
}

typedef struct found {
  quant x, w, y;
  ox_id node, bias;
  int64_t n; /* output channels */
  cut c;
} found;

static const ox_pat root[] = {{.op = "QuantizeLinear"}};

/* ---- Conv ---- */

static bool conv_find(const ox_graph *g, ox_id q, found *f) {
  f->node = fed_by(g, q, "Conv", &f->c);
  if (f->node == OX_NONE || !quantizes(g, q, &f->y)) return false;
  const ox_shape *w = ox_shape_at(g, ox_in(g, f->node, 1));
  f->n = w->rank > 2 ? w->dim[0] : -1;
  f->bias = ox_in(g, f->node, 2);
  return f->n > 0 && dequantized(g, g->nodes[f->node].in[0], 0, 0, &f->x) &&
         dequantized(g, g->nodes[f->node].in[1], f->n, 0, &f->w) && (f->bias == OX_NONE || bias_ok(g, f->bias, f->n)) &&
         f->x.dtype == f->y.dtype && cut_ok(g, &f->y, &f->c);
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
  return become(g, m->node[0], "", "QLinearConv", in, b == OX_NONE ? 8 : 9, &f.y, &f.c, f.node);
}

/* ---- MatMul ---- */

static bool matmul_find(const ox_graph *g, ox_id q, found *f) {
  f->node = fed_by(g, q, "MatMul", &f->c);
  if (f->node == OX_NONE || !quantizes(g, q, &f->y)) return false;
  const ox_shape *w = ox_shape_at(g, g->nodes[f->node].in[1]);
  int64_t n = w->rank == 2 ? w->dim[1] : 0;
  return dequantized(g, g->nodes[f->node].in[0], 0, 0, &f->x) && dequantized(g, g->nodes[f->node].in[1], n, 1, &f->w) &&
         f->x.dtype == f->y.dtype && cut_ok(g, &f->y, &f->c);
}

static bool matmul_guard(const ox_graph *g, const ox_match *m) {
  found f;
  return matmul_find(g, m->node[0], &f) && ox_op_serves(g, "", "QLinearMatMul", f.x.dtype);
}

static ox_status *matmul_apply(ox_graph *g, const ox_match *m) {
  found f;
  matmul_find(g, m->node[0], &f);
  ox_id in[] = {f.x.q, f.x.scale, f.x.zero, f.w.q, f.w.scale, f.w.zero, f.y.scale, f.y.zero};
  return become(g, m->node[0], "", "QLinearMatMul", in, 8, &f.y, &f.c, f.node);
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

/* ---- Gemm between quantizations ---- */

static bool qgemm_find(const ox_graph *g, ox_id q, found *f) {
  f->node = fed_by(g, q, "Gemm", &f->c);
  return f->node != OX_NONE && quantizes(g, q, &f->y) && gemm_find(g, f->node, f) && f->x.dtype == f->y.dtype &&
         cut_ok(g, &f->y, &f->c);
}

static bool qgemm_guard(const ox_graph *g, const ox_match *m) {
  found f;
  return qgemm_find(g, m->node[0], &f) && ox_op_serves(g, ms, "QGemm", f.x.dtype);
}

static ox_status *qgemm_apply(ox_graph *g, const ox_match *m) {
  found f;
  ox_id b;
  qgemm_find(g, m->node[0], &f);
  OX_TRY(bias_make(g, f.bias, f.n, f.x.scale, f.w.scale, &b));
  ox_id in[] = {f.x.q, f.x.scale, f.x.zero, f.w.q, f.w.scale, f.w.zero, b, f.y.scale, f.y.zero};
  return become(g, m->node[0], ms, "QGemm", in, 9, &f.y, &f.c, f.node);
}

/* ---- quantized again by the same scale: nothing changes ---- */

static bool again_guard(const ox_graph *g, const ox_match *m) {
  quant x, y;
  const ox_node *q = &g->nodes[m->node[0]];
  return quantizes(g, m->node[0], &y) && dequantized(g, q->in[0], 0, 0, &x) && x.dtype == y.dtype &&
         ox_tensor_at(ox_graph_const(g, x.scale), 0) == ox_tensor_at(ox_graph_const(g, y.scale), 0) &&
         ox_tensor_at(ox_graph_const(g, x.zero), 0) == ox_tensor_at(ox_graph_const(g, y.zero), 0) &&
         ox_graph_can_replace(g, q->out[0], x.q);
}

static ox_status *again_apply(ox_graph *g, const ox_match *m) {
  const ox_node *q = &g->nodes[m->node[0]];
  ox_id dq = g->values[q->in[0]].producer;
  OX_TRY(ox_graph_replace_uses(g, q->out[0], g->nodes[dq].in[0]));
  ox_graph_remove_node(g, m->node[0]);
  return ox_dce_from(g, dq);
}

/* ---- Add, Mul ---- */

static bool binary_find(const ox_graph *g, ox_id q, found *f) {
  f->node = fed_by(g, q, "Add|Mul", &f->c);
  return f->node != OX_NONE && quantizes(g, q, &f->y) && dequantized(g, g->nodes[f->node].in[0], 0, 0, &f->x) &&
         dequantized(g, g->nodes[f->node].in[1], 0, 0, &f->w) && f->x.dtype == f->y.dtype && f->w.dtype == f->y.dtype &&
         cut_ok(g, &f->y, &f->c);
}

static const char *binary_op(const ox_graph *g, ox_id node) {
  return ox_node_is(&g->nodes[node], "Add", NULL) ? "QLinearAdd" : "QLinearMul";
}

static bool binary_guard(const ox_graph *g, const ox_match *m) {
  found f;
  return binary_find(g, m->node[0], &f) && ox_op_serves(g, ms, binary_op(g, f.node), f.x.dtype);
}

static ox_status *binary_apply(ox_graph *g, const ox_match *m) {
  found f;
  binary_find(g, m->node[0], &f);
  ox_id in[] = {f.x.q, f.x.scale, f.x.zero, f.w.q, f.w.scale, f.w.zero, f.y.scale, f.y.zero};
  return become(g, m->node[0], ms, binary_op(g, f.node), in, 8, &f.y, &f.c, f.node);
}

/* ---- Sigmoid, LeakyRelu ---- */

static bool unary_find(const ox_graph *g, ox_id q, found *f) {
  f->node = ox_up1(g, g->nodes[q].in[0], "Sigmoid|LeakyRelu");
  f->c = (cut){-INFINITY, INFINITY};
  return f->node != OX_NONE && quantizes(g, q, &f->y) && dequantized(g, g->nodes[f->node].in[0], 0, 0, &f->x) &&
         f->x.dtype == f->y.dtype;
}

static const char *unary_op(const ox_graph *g, ox_id node) {
  return ox_node_is(&g->nodes[node], "Sigmoid", NULL) ? "QLinearSigmoid" : "QLinearLeakyRelu";
}

static bool unary_guard(const ox_graph *g, const ox_match *m) {
  found f;
  return unary_find(g, m->node[0], &f) && ox_op_serves(g, ms, unary_op(g, f.node), f.x.dtype);
}

static ox_status *unary_apply(ox_graph *g, const ox_match *m) {
  found f;
  unary_find(g, m->node[0], &f);
  ox_id in[] = {f.x.q, f.x.scale, f.x.zero, f.y.scale, f.y.zero};
  return become(g, m->node[0], ms, unary_op(g, f.node), in, 5, &f.y, &f.c, f.node);
}

/* ---- Concat ---- */

enum { MAX_CONCAT = 32 };

static bool concat_find(const ox_graph *g, ox_id q, found *f, ox_id *in, uint32_t *n_in) {
  f->node = ox_up1(g, g->nodes[q].in[0], "Concat");
  f->c = (cut){-INFINITY, INFINITY};
  if (f->node == OX_NONE || g->nodes[f->node].n_in > MAX_CONCAT || !quantizes(g, q, &f->y)) return false;
  *n_in = 0;
  in[(*n_in)++] = f->y.scale, in[(*n_in)++] = f->y.zero;
  for (uint32_t i = 0; i < g->nodes[f->node].n_in; i++) {
    if (!dequantized(g, g->nodes[f->node].in[i], 0, 0, &f->x) || f->x.dtype != f->y.dtype) return false;
    in[(*n_in)++] = f->x.q, in[(*n_in)++] = f->x.scale, in[(*n_in)++] = f->x.zero;
  }
  return true;
}

static bool concat_guard(const ox_graph *g, const ox_match *m) {
  found f;
  ox_id in[2 + 3 * MAX_CONCAT];
  uint32_t n;
  return concat_find(g, m->node[0], &f, in, &n) && ox_op_serves(g, ms, "QLinearConcat", OX_F32);
}

static ox_status *concat_apply(ox_graph *g, const ox_match *m) {
  found f;
  ox_id in[2 + 3 * MAX_CONCAT];
  uint32_t n;
  concat_find(g, m->node[0], &f, in, &n);
  return become(g, m->node[0], ms, "QLinearConcat", in, n, &f.y, &f.c, f.node);
}

static const ox_rule rules[] = {
    {"qdq-conv", OX_LEVEL_EXTENDED, OX_PATTERN(root), conv_guard, conv_apply, false},
    {"qdq-matmul", OX_LEVEL_EXTENDED, OX_PATTERN(root), matmul_guard, matmul_apply, false},
    {"qdq-add", OX_LEVEL_EXTENDED, OX_PATTERN(root), binary_guard, binary_apply, false},
    {"qdq-gemm", OX_LEVEL_EXTENDED, OX_PATTERN(root), qgemm_guard, qgemm_apply, false},
    {"qdq-again", OX_LEVEL_EXTENDED, OX_PATTERN(root), again_guard, again_apply, false},
    {"qdq-unary", OX_LEVEL_EXTENDED, OX_PATTERN(root), unary_guard, unary_apply, false},
    {"qdq-concat", OX_LEVEL_EXTENDED, OX_PATTERN(root), concat_guard, concat_apply, false},
    {"qdq-float", OX_LEVEL_EXTENDED, OX_PATTERN(product), float_guard, float_apply, true},
};
const ox_rule_set ox_rules_qdq = {rules, OX_COUNT(rules)};
