/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp_bytes.c - see xp_bytes.h. */
#include "xp_bytes.h"

#include <string.h>

bool xp_bytes_between(const xp_build *b, size_t node, uint32_t n, const xp_tail *tail, xp_bytes *out) {
  *out = (xp_bytes){.n = n, .y = tail->quantized, .q_y = tail->quant};
  for (uint32_t i = 0; i < n; i++) {
    const xp_value *x = &b->values[xp_in(&b->g, node, i)];
    if (!x->from_bytes) return false;
    out->x[i] = x->bytes, out->q_x[i] = x->quant;
  }
  return tail->quantized != UINT32_MAX;
}

/* Scale and zero point from inputs |at| and |at| + 1 of |node|, for the bytes |value|. */
static bool read_quant(const xp_graph *g, size_t node, size_t at, uint32_t value, xp_quant *out) {
  return xp_read_quant(g, xp_in(g, node, at), xp_in(g, node, at + 1), xp_type(g, value), out);
}

bool xp_bytes_around(const xp_graph *g, size_t node, xp_bytes *out) {
  uint32_t y = xp_out(g, node, 0);
  size_t from = xp_dequantizer(g, xp_in(g, node, 0)), to = 0, n = g->h->node_count(g->g);
  if (from == SIZE_MAX || g->h->value_const(g->g, xp_in(g, from, 0)) || g->h->value_use_count(g->g, y) != 1)
    return false;
  while (to < n && !(xp_in(g, to, 0) == y && xp_is_op(g, to, "QuantizeLinear"))) to++;
  if (to == n) return false;
  *out = (xp_bytes){.n = 1, .x = {xp_in(g, from, 0)}, .y = xp_out(g, to, 0)};
  return read_quant(g, from, 1, out->x[0], &out->q_x[0]) && read_quant(g, to, 1, out->y, &out->q_y);
}

const char *xp_bytes_inside(const xp_graph *g, size_t node, uint32_t n, xp_bytes *out) {
  *out = (xp_bytes){.n = n, .y = xp_out(g, node, 0)};
  for (uint32_t i = 0; i < n; i++) {
    out->x[i] = xp_in(g, node, 3 * i);
    if (xp_rank(g, out->x[i]) < 0) return REASON("known ranks of at most 6", "{inputs}");
    if (g->h->value_const(g->g, out->x[i])) return REASON("inputs that are not constant", "{inputs}");
    if (!read_quant(g, node, 3 * i + 1, out->x[i], &out->q_x[i]))
      return REASON("8-bit integers with one constant scale and zero point each", "{inputs}");
  }
  return read_quant(g, node, 3 * n, out->y, &out->q_y)
             ? NULL
             : REASON("8-bit integers with one constant scale and zero point each", "{inputs}");
}

bool xp_bytes_alike(const xp_graph *g, const xp_bytes *x) {
  return xp_type(g, x->x[0]) == xp_type(g, x->y) && x->q_x[0].scale == x->q_y.scale && x->q_x[0].zero == x->q_y.zero;
}

bool xp_bytes_fit(const xp_graph *g, const xp_bytes *x, const xp_tail *tail, uint32_t type, xp_step *s) {
  for (uint32_t i = 0; i < x->n; i++) s->q_in[i] = xp_quant_as(x->q_x[i], xp_type(g, x->x[i]), type);
  s->q_out = xp_quant_as(x->q_y, xp_type(g, x->y), type);
  s->q_lo = type == OX_I8 ? INT8_MIN : 0, s->q_hi = type == OX_I8 ? INT8_MAX : UINT8_MAX;
  if (tail && !xp_tail_bytes(tail, &s->q_out, type == OX_I8, &s->q_lo, &s->q_hi)) return false;
  return xp_is_possible(s, type);
}

ox_status *xp_bytes_add(xp_build *b, size_t node, const xp_bytes *x, uint32_t type, bool last, const xp_step *s) {
  uint32_t in[2];
  xp_step *added;
  for (uint32_t i = 0; i < x->n; i++) XP_TRY(xp_need(b, x->x[i], type, last, &in[i]));
  XP_TRY(xp_add(b, node, s->kind, in, x->n, x->y, type, last && b->p->tensors[in[0]].last, &added));
  const xp_step own = *added; /* keeps the fields that tie it to the program */
  *added = *s;
  added->op = own.op, added->name = own.name, added->n_in = own.n_in, added->in = own.in, added->out = own.out;
  return NULL;
}

const xp_byte_unary *xp_find_byte_unary(const char *op) {
  static const xp_byte_unary rows[] = {{"Clip", XP_CLAMP, OX_I8},           {"Elu", XP_ELU, OX_I8},
                                       {"LeakyRelu", XP_LEAKY_RELU, OX_U8}, {"Relu", XP_CLAMP, OX_I8},
                                       {"Sigmoid", XP_SIGMOID, OX_I8},      {"Tanh", XP_TANH, OX_I8}};
  for (size_t i = 0; i < XP_COUNT(rows); i++)
    if (strcmp(rows[i].op, op) == 0) return &rows[i];
  return NULL;
}
