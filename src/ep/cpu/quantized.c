/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu/quantized.c - see quantized.h. A Relu or Clip in front of a quantization becomes a bound on the integers,
 * which is exact since quantization is monotonic; biases are quantized to the product of both scales, an error far
 * below a quantum of the result. */
#include "ep/cpu/quantized.h"

#include "base/status.h"

static int eight_bits(uint32_t dtype) { return dtype == OX_U8 || dtype == OX_I8; }

/* Constant float32 scales above zero: one, or with |channels| one for each along |axis|. */
static int scale_ok(const ox_rewrite *g, ox_id node, int64_t channels, int64_t axis) {
  const ox_tensor *s = ox_const(g, ox_in(g, node, 1));
  int64_t n = s ? ox_elements(&s->shape) : -1;
  if (n < 1 || s->dtype != OX_F32 || s->shape.rank > 1 || (n != 1 && n != channels)) return 0;
  int64_t along = ox_attr_i(g, node, "axis", 1);
  if (along < 0) along += ox_shape_at(g, ox_in(g, node, 0))->rank;
  if (n != 1 && along != axis) return 0;
  for (int64_t i = 0; i < n; i++)
    if (!(ox_at(g, s, i) > 0) || isinf(ox_at(g, s, i))) return 0;
  return !ox_attr_i(g, node, "block_size", 0);
}

static int zero_ok(const ox_rewrite *g, ox_id node) { return ox_const(g, ox_in(g, node, 2)) != NULL; }

int ox_dequantized(const ox_rewrite *g, ox_id v, int64_t channels, int64_t axis, ox_quant *out) {
  ox_id n = ox_up(g, v, "DequantizeLinear");
  if (n == OX_NONE || !scale_ok(g, n, channels, axis) || !zero_ok(g, n) || ox_dtype_of(g, v) != OX_F32) return 0;
  *out = (ox_quant){ox_in(g, n, 0), ox_in(g, n, 1), ox_in(g, n, 2), ox_dtype_of(g, ox_in(g, n, 0))};
  return eight_bits(out->dtype);
}

int ox_quantizes(const ox_rewrite *g, ox_id node, ox_quant *out) {
  if (!scale_ok(g, node, 0, 0) || !zero_ok(g, node)) return 0;
  *out = (ox_quant){ox_out(g, node, 0), ox_in(g, node, 1), ox_in(g, node, 2), ox_dtype_of(g, ox_out(g, node, 0))};
  return eight_bits(out->dtype) && ox_dtype_of(g, out->zero) == out->dtype;
}

/* ---- cuts ---- */

/* What |x| quantizes to. */
static int quantize(const ox_rewrite *g, const ox_quant *y, double x) {
  double z = ox_at(g, ox_const(g, y->zero), 0), s = ox_at(g, ox_const(g, y->scale), 0);
  double q = rint((double)(float)(x / s)) + z, least = y->dtype == OX_I8 ? -128 : 0;
  return (int)fmin(fmax(q, least), least + 255);
}

/* The bounds as integers; 0 for one that the type has anyway. */
static int low_of(const ox_rewrite *g, const ox_integer_op *o, int *q) {
  *q = quantize(g, &o->y, o->cut.lo);
  return *q > (o->y.dtype == OX_I8 ? -128 : 0);
}
static int high_of(const ox_rewrite *g, const ox_integer_op *o, int *q) {
  *q = quantize(g, &o->y, o->cut.hi);
  return *q < (o->y.dtype == OX_I8 ? 127 : 255);
}

static int cut_ok(const ox_rewrite *g, const ox_integer_op *o) {
  int q;
  return (!low_of(g, o, &q) || ox_op_serves(g, NULL, "Max", o->y.dtype)) &&
         (!high_of(g, o, &q) || ox_op_serves(g, NULL, "Min", o->y.dtype));
}

/* What is in front of the Relu or Clip that |v| comes from, if it does; else |v|. 0: bounds that are not constant. */
static int look_through(const ox_rewrite *g, ox_id *v, ox_cut *c) {
  ox_id relu = ox_up1(g, *v, "Relu"), clip = ox_up1(g, *v, "Clip");
  if (relu != OX_NONE) c->lo = 0, *v = ox_in(g, relu, 0);
  if (clip == OX_NONE) return 1;
  ox_id lo = ox_in(g, clip, 1), hi = ox_in(g, clip, 2);
  if (lo != OX_NONE && !ox_const_scalar(g, lo, &c->lo)) return 0;
  if (hi != OX_NONE && !ox_const_scalar(g, hi, &c->hi)) return 0;
  c->lo = (double)ox_attr_f(g, clip, "min", (float)c->lo), c->hi = (double)ox_attr_f(g, clip, "max", (float)c->hi);
  *v = ox_in(g, clip, 0);
  return c->lo <= c->hi;
}

int ox_integer_op_find(const ox_rewrite *g, ox_id root, const char *ops, int cuts, ox_integer_op *out) {
  ox_id v = ox_in(g, root, 0);
  out->n_in = 0, out->bias_at = OX_NONE;
  out->cut = (ox_cut){-INFINITY, INFINITY};
  if (cuts && !look_through(g, &v, &out->cut)) return 0;
  out->old = ox_up1(g, v, ops);
  return out->old != OX_NONE && ox_quantizes(g, root, &out->y) && cut_ok(g, out);
}

/* ---- bias ---- */

int ox_bias_read(const ox_rewrite *g, ox_id v, int64_t n, ox_bias *out) {
  const ox_shape *s = ox_shape_at(g, v);
  *out = (ox_bias){ox_const(g, v), NULL, n};
  if (v == OX_NONE) return 1;
  if (s->rank != 1 || s->dim[0] != n || n < 1) return 0;
  if (out->t) return out->t->dtype == OX_F32;
  ox_id dq = ox_up(g, v, "DequantizeLinear"), zero = ox_in(g, dq, 2);
  if (dq == OX_NONE || (zero != OX_NONE && !ox_const_all(g, zero, 0, 1 << 20))) return 0;
  out->t = ox_const(g, ox_in(g, dq, 0)), out->scale = ox_const(g, ox_in(g, dq, 1));
  if (!out->t || !out->scale || out->t->dtype != OX_I32 || out->scale->dtype != OX_F32) return 0;
  int64_t n_scales = ox_elements(&out->scale->shape);
  return n_scales == 1 || n_scales == n;
}

static double per_channel(const ox_rewrite *g, const ox_tensor *t, int64_t i) {
  return ox_at(g, t, ox_elements(&t->shape) == 1 ? 0 : i);
}

ox_status *ox_bias_make(const ox_rewrite *g, const ox_bias *b, ox_id x_scale, ox_id w_scale, ox_id *out) {
  *out = OX_NONE;
  if (!b->t) return NULL;
  const ox_tensor *ws = ox_const(g, w_scale);
  double xs = ox_at(g, ox_const(g, x_scale), 0);
  ox_shape s = {.rank = 1, .dim = {b->n}};
  void *room;
  OX_TRY(g->api->const_room(g, NULL, OX_I32, &s, &room, out));
  int32_t *q = room;
  for (int64_t i = 0; i < b->n; i++) {
    double x = ox_at(g, b->t, i) * (b->scale ? per_channel(g, b->scale, i) : 1);
    double r = rint(x / (xs * per_channel(g, ws, i)));
    q[i] = (int32_t)(r < INT32_MIN ? INT32_MIN : r > INT32_MAX ? INT32_MAX : r);
  }
  return NULL;
}

/* ---- the integer operator takes the root's place ---- */

/* Puts Max or Min with |bound| in front of |root|'s output: |root| becomes it, what it was goes to a node of its own.
 */
static ox_status *bound_by(const ox_rewrite *g, ox_id root, const char *op, uint32_t dtype, int bound) {
  uint8_t byte = (uint8_t)bound;
  ox_tensor t = {.dtype = dtype, .data = &byte, .bytes = 1};
  ox_id out, limit, node, in[OX_INTEGER_OP_IN];
  uint32_t n_in = ox_n_in(g, root);
  for (uint32_t i = 0; i < n_in; i++) in[i] = ox_in(g, root, i);
  OX_TRY(g->api->add_const(g, NULL, &t, &limit));
  OX_TRY(g->api->add_value(g, NULL, g->api->value_type(g, ox_out(g, root, 0)), &out));
  OX_TRY(g->api->add_node(g, ox_domain_of(g, root), ox_op_of(g, root), "", in, n_in, &out, 1, &node));
  OX_TRY(ox_copy_attrs(g, node, root));
  return ox_remake(g, root, NULL, op, (ox_id[]){out, limit}, 2);
}

void ox_integer_op_put(ox_integer_op *o, const ox_quant *x) {
  o->in[o->n_in++] = x->q, o->in[o->n_in++] = x->scale, o->in[o->n_in++] = x->zero;
}

ox_status *ox_integer_op_apply(const ox_rewrite *g, const ox_match *m) {
  const ox_integer_op *o = OX_CAPTURED(m, ox_integer_op);
  ox_id in[OX_INTEGER_OP_IN], root = m->node[0];
  uint32_t n_in = o->n_in;
  int q;
  memcpy(in, o->in, n_in * sizeof *in);
  if (o->bias_at != OX_NONE) OX_TRY(ox_bias_make(g, &o->bias, in[1], in[4], &in[o->bias_at]));
  while (n_in && in[n_in - 1] == OX_NONE) n_in--;
  OX_TRY(ox_remake(g, root, o->domain, o->op, in, n_in));
  OX_TRY(ox_copy_attrs(g, root, o->old));
  if (low_of(g, o, &q)) OX_TRY(bound_by(g, root, "Max", o->y.dtype, q));
  if (high_of(g, o, &q)) OX_TRY(bound_by(g, root, "Min", o->y.dtype, q));
  return ox_remove_unused(g, o->old);
}
