/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp_ops_qlinear.c - com.microsoft's QLinear operators, which have scales and zero points as inputs. */
#include <string.h>

#include "xp_bytes.h"

static const char NOT_HAD[] = REASON("scales whose quotients the library computes with", "{inputs}");

/* ---- element-wise, one input ---- */

static const char *plan_unary(const xp_graph *g, size_t node, xp_bytes *x, uint32_t *type, xp_step *s) {
  const xp_byte_unary *u = xp_find_byte_unary(g->h->node_op(g->g, node) + strlen("QLinear"));
  const char *why = xp_bytes_inside(g, node, 1, x);
  *s = (xp_step){.kind = &xp_kind_unary, .which = (int)u->unary, .number = xp_attr_float(g, node, "alpha", 0.01f)};
  *type = u->type;
  return why ? why : xp_bytes_fit(g, x, NULL, u->type, s) ? NULL : NOT_HAD;
}

/* ---- element-wise, two inputs ---- */

static const char *plan_binary(const xp_graph *g, size_t node, xp_bytes *x, uint32_t *type, xp_step *s) {
  const char *why = xp_bytes_inside(g, node, 2, x);
  *s = (xp_step){.kind = &xp_kind_binary, .which = xp_is_op(g, node, "com.microsoft.QLinearAdd") ? XP_ADD : XP_MUL};
  *type = OX_I8;
  return why ? why : xp_bytes_fit(g, x, NULL, OX_I8, s) ? NULL : NOT_HAD;
}

/* ---- Softmax along the last axis ---- */

static const char *plan_softmax(const xp_graph *g, size_t node, xp_bytes *x, uint32_t *type, xp_step *s) {
  const char *why = xp_bytes_inside(g, node, 1, x);
  int rank = xp_rank(g, x->x[0]);
  int64_t axis = xp_attr_int(g, node, "axis", -1);
  *s = (xp_step){.kind = &xp_kind_softmax, .axis = rank - 1};
  *type = OX_U8;
  if (why) return why;
  if (rank < 1 || (axis != -1 && axis != rank - 1)) return REASON("the last axis", "{axis=-1}, {0}");
  return xp_bytes_fit(g, x, NULL, OX_U8, s) ? NULL : NOT_HAD;
}

/* ---- means ---- */

static const char *plan_global(const xp_graph *g, size_t node, xp_bytes *x, uint32_t *type, xp_step *s) {
  const char *why = xp_bytes_inside(g, node, 1, x);
  xp_dims d;
  uint64_t area = 1;
  *s = (xp_step){.kind = &xp_kind_global_average_pool};
  *type = OX_I8;
  if (why) return why;
  xp_shape(g, x->x[0], &d);
  if (d.rank != 3 && d.rank != 4) return REASON("3 or 4 axes", "{0}");
  if (xp_attr_int(g, node, "channels_last", 0)) return REASON("channels first", "{channels_last=0}");
  for (int i = 2; i < d.rank; i++) /* becomes 0 if a dimension is unknown */
    area *= d.d[i] < 0 ? 0 : (uint64_t)d.d[i];
  if (x->q_x[0].scale == x->q_y.scale && area % 2 == 0) return XP_TIES;
  return xp_bytes_fit(g, x, NULL, OX_I8, s) ? NULL : NOT_HAD;
}

static const char *plan_average(const xp_graph *g, size_t node, xp_bytes *x, uint32_t *type, xp_step *s) {
  const char *why = xp_bytes_inside(g, node, 1, x);
  *s = (xp_step){.kind = &xp_kind_average_pool};
  *type = OX_U8;
  if (!why) why = xp_check_pool(g, node, &s->window);
  if (why) return why;
  if (xp_attr_int(g, node, "channels_last", 0)) return REASON("channels first", "{channels_last=0}");
  if (!xp_averages_bytes(&s->window))
    return REASON("no pads and no dilations (the library counts pads of bytes)",
                  "{pads}, {auto_pad=NOTSET}, {dilations}");
  return xp_bytes_fit(g, x, NULL, OX_U8, s) ? NULL : NOT_HAD;
}

/* ---- check and emit ---- */

/* Plans the step |s| and the type of bytes it computes in. NULL, or why the library cannot. */
typedef const char *(*plan)(const xp_graph *g, size_t node, xp_bytes *x, uint32_t *type, xp_step *s);

#define OPERATOR(name, plan_it, is_last)                              \
  static const char *check_##name(const xp_graph *g, size_t node) {   \
    xp_bytes x;                                                       \
    uint32_t type;                                                    \
    xp_step s;                                                        \
    return plan_it(g, node, &x, &type, &s);                           \
  }                                                                   \
  static ox_status *emit_##name(xp_build *b, size_t node) {           \
    xp_bytes x;                                                       \
    uint32_t type;                                                    \
    xp_step s;                                                        \
    (void)plan_it(&b->g, node, &x, &type, &s); /* as the check did */ \
    return xp_bytes_add(b, node, &x, type, is_last, &s);              \
  }
OPERATOR(unary, plan_unary, xp_is_last(b, x.x[0]))
OPERATOR(binary, plan_binary, xp_are_last(b, x.x))
OPERATOR(softmax, plan_softmax, false)
OPERATOR(global, plan_global, true)
OPERATOR(average, plan_average, true)

#define QLINEAR "com.microsoft.QLinear"
const xp_operator xp_ops_qlinear[] = {{QLINEAR "Add", check_binary, emit_binary},
                                      {QLINEAR "AveragePool", check_average, emit_average},
                                      {QLINEAR "GlobalAveragePool", check_global, emit_global},
                                      {QLINEAR "LeakyRelu", check_unary, emit_unary},
                                      {QLINEAR "Mul", check_binary, emit_binary},
                                      {QLINEAR "Sigmoid", check_unary, emit_unary},
                                      {QLINEAR "Softmax", check_softmax, emit_softmax},
                                      {NULL, NULL, NULL}};
