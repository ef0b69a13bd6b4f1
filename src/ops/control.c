/* SPDX-License-Identifier: Apache-2.0
 * ops/control.c - If, Loop, Scan, SequenceMap: attributes and types. The executor runs their bodies. */
#include "base/macros.h"
#include "ops/move/sequence_values.h"

static const ox_type *body_out(const ox_graph *g, uint32_t i) { return &ox_graph_value_at(g, g->outputs[i])->type; }

/* ---- If ---- */

typedef struct {
  ox_graph *then_branch, *else_branch;
} if_attrs;
static const ox_attr_def if_attr_defs[] = {OX_ATTR_GRAPH(if_attrs, then_branch), OX_ATTR_GRAPH(if_attrs, else_branch)};

static ox_status *if_infer(ox_infer_ctx *c) {
  const if_attrs *a = c->attrs;
  if (a->then_branch->n_outputs < c->n_out || a->else_branch->n_outputs < c->n_out)
    return ox_fail(OX_INVALID_MODEL, "If: branches give %u and %u outputs, wanted %u", a->then_branch->n_outputs,
                   a->else_branch->n_outputs, c->n_out);
  for (uint32_t i = 0; i < c->n_out; i++)
    c->out[i] = ox_type_common(c, body_out(a->then_branch, i), body_out(a->else_branch, i));
  return NULL;
}

/* ---- Loop ---- */

typedef struct {
  ox_graph *body;
} body_attrs;
static const ox_attr_def body_attr_defs[] = {OX_ATTR_GRAPH(body_attrs, body)};

/* A body output stacked along a new dimension |axis| of |length|. */
static ox_status *stacked(ox_infer_ctx *c, const char *op, uint32_t i, const ox_type *t, int64_t axis, int64_t length) {
  ox_shape s = ox_shape_unknown();
  int at;
  if (t->shape.rank >= OX_MAX_RANK) return ox_fail(OX_LIMIT, "%s: rank of output %u above %d", op, i, OX_MAX_RANK);
  if (t->shape.rank >= 0) {
    s.rank = t->shape.rank + 1;
    if (!ox_axis_ok(axis, s.rank, &at))
      return ox_fail(OX_INVALID_MODEL, "%s: axis %lld of output %u is outside rank %d", op, (long long)axis, i, s.rank);
    for (int d = 0; d < s.rank; d++) s.dim[d] = d == at ? length : t->shape.dim[d - (d > at)];
  }
  ox_infer_out(c, i, t->dtype, &s);
  return NULL;
}

/* A carried value: what holds before the first and after every iteration. */
static void carried(ox_infer_ctx *c, uint32_t i, uint32_t in, const ox_type *t) {
  c->out[i] = ox_infer_has(c, in) ? ox_type_common(c, c->in[in], t) : *t;
}

static ox_status *loop_infer(ox_infer_ctx *c) {
  const body_attrs *a = c->attrs;
  uint32_t n = c->n_in > 2 ? c->n_in - 2 : 0;
  if (a->body->n_inputs != n + 2 || a->body->n_outputs < n + 1 || c->n_out > a->body->n_outputs - 1)
    return ox_fail(OX_INVALID_MODEL, "Loop: body has %u inputs and %u outputs; the node %u and %u", a->body->n_inputs,
                   a->body->n_outputs, c->n_in, c->n_out);
  for (uint32_t i = 0; i < c->n_out; i++) {
    if (i < n)
      carried(c, i, 2 + i, body_out(a->body, 1 + i));
    else
      OX_TRY(stacked(c, "Loop", i, body_out(a->body, 1 + i), 0, -1));
  }
  return NULL;
}

/* ---- Scan ---- */

typedef struct {
  ox_graph *body;
  int64_t num_scan_inputs;
  ox_ints directions; /* opset 8 */
  ox_ints scan_input_axes, scan_output_axes, scan_input_directions, scan_output_directions;
} scan_attrs;
static const ox_attr_def scan8_attr_defs[] = {OX_ATTR_GRAPH(scan_attrs, body),
                                              OX_ATTR_INT_REQUIRED(scan_attrs, num_scan_inputs),
                                              OX_ATTR_INTS(scan_attrs, directions)};
static const ox_attr_def scan9_attr_defs[] = {
    OX_ATTR_GRAPH(scan_attrs, body),
    OX_ATTR_INT_REQUIRED(scan_attrs, num_scan_inputs),
    OX_ATTR_INTS(scan_attrs, scan_input_axes),
    OX_ATTR_INTS(scan_attrs, scan_output_axes),
    OX_ATTR_INTS(scan_attrs, scan_input_directions),
    OX_ATTR_INTS(scan_attrs, scan_output_directions),
};

/* Counts after |first| leading inputs: *out_states carried, the rest scanned. */
static ox_status *scan_counts(const ox_infer_ctx *c, uint32_t first, uint32_t *out_states) {
  const scan_attrs *a = c->attrs;
  int64_t inputs = (int64_t)c->n_in - first, states = -1;
  *out_states = 0;
  if (a->num_scan_inputs >= 1 && a->num_scan_inputs <= inputs) states = inputs - a->num_scan_inputs;
  if (states < 0 || a->body->n_inputs != inputs || a->body->n_outputs < states || c->n_out > a->body->n_outputs)
    return ox_fail(OX_INVALID_MODEL, "Scan: %lld scan inputs; body has %u inputs and %u outputs, the node %u and %u",
                   (long long)a->num_scan_inputs, a->body->n_inputs, a->body->n_outputs, c->n_in, c->n_out);
  *out_states = (uint32_t)states;
  return NULL;
}

static ox_status *scan9_infer(ox_infer_ctx *c) {
  const scan_attrs *a = c->attrs;
  uint32_t states;
  int64_t length = -1;
  OX_TRY(scan_counts(c, 0, &states));
  for (uint32_t k = 0; k < a->num_scan_inputs; k++) {
    const ox_shape *s = ox_infer_has(c, states + k) ? &c->in[states + k]->shape : NULL;
    int64_t axis = k < a->scan_input_axes.n ? a->scan_input_axes.v[k] : 0;
    int at;
    if (!s || s->rank < 0) continue;
    if (!ox_axis_ok(axis, s->rank, &at))
      return ox_fail(OX_INVALID_MODEL, "Scan: axis %lld of scan input %u is outside rank %d", (long long)axis, k,
                     s->rank);
    if (length >= 0 && s->dim[at] >= 0 && s->dim[at] != length)
      return ox_fail(OX_SHAPE_MISMATCH, "Scan: scan input %u is %lld long, wanted %lld", k, (long long)s->dim[at],
                     (long long)length);
    if (length < 0) length = s->dim[at];
  }
  for (uint32_t i = 0; i < c->n_out; i++) {
    uint32_t k = i - states;
    if (i < states)
      carried(c, i, i, body_out(a->body, i));
    else
      OX_TRY(stacked(c, "Scan", i, body_out(a->body, i), k < a->scan_output_axes.n ? a->scan_output_axes.v[k] : 0,
                     length));
  }
  return NULL;
}

/* Opset 8: everything has a batch dimension in front, scanned values the time behind it. */
static ox_status *scan8_infer(ox_infer_ctx *c) {
  const scan_attrs *a = c->attrs;
  uint32_t states;
  int64_t batch = -1, length = -1;
  OX_TRY(scan_counts(c, 1, &states));
  for (uint32_t i = 1; i < c->n_in; i++) {
    const ox_shape *s = ox_infer_has(c, i) ? &c->in[i]->shape : NULL;
    if (s && s->rank > 0 && batch < 0) batch = s->dim[0];
    if (s && s->rank > 1 && i > states && length < 0) length = s->dim[1];
  }
  for (uint32_t i = 0; i < c->n_out; i++) {
    const ox_type *t = body_out(a->body, i);
    ox_shape s = ox_shape_unknown();
    int lead = i < states ? 1 : 2;
    if (t->shape.rank > OX_MAX_RANK - lead)
      return ox_fail(OX_LIMIT, "Scan: rank of output %u above %d", i, OX_MAX_RANK);
    if (t->shape.rank >= 0) {
      s.rank = t->shape.rank + lead, s.dim[0] = batch;
      if (lead == 2) s.dim[1] = length;
      for (int d = 0; d < t->shape.rank; d++) s.dim[d + lead] = t->shape.dim[d];
    }
    if (i < states && ox_infer_has(c, 1 + i)) s = ox_shape_common(&s, &c->in[1 + i]->shape);
    ox_infer_out(c, i,
                 t->dtype                               ? t->dtype
                 : i < states && ox_infer_has(c, 1 + i) ? c->in[1 + i]->dtype
                                                        : OX_UNDEFINED,
                 &s);
  }
  return NULL;
}

/* ---- SequenceMap ---- */

static ox_status *map_infer(ox_infer_ctx *c) {
  const body_attrs *a = c->attrs;
  if (a->body->n_inputs != c->n_in || a->body->n_outputs < c->n_out)
    return ox_fail(OX_INVALID_MODEL, "SequenceMap: body has %u inputs and %u outputs; the node %u and %u",
                   a->body->n_inputs, a->body->n_outputs, c->n_in, c->n_out);
  for (uint32_t i = 0; i < c->n_out; i++) c->out[i] = ox_type_sequence(c, body_out(a->body, i));
  return NULL;
}

#define CONTROL .min_out = 1, .max_out = OX_VARIADIC, .traits = OX_CONTROL | OX_ANY_KIND

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "If", .since = 1, CONTROL, .types = {OX_BIT(OX_BOOL)}, .min_in = 1, .max_in = 1,
               OX_ATTRS(if_attr_defs), .attrs_bytes = sizeof(if_attrs), .infer = if_infer),
     NULL},
    {OX_SCHEMA(.name = "Loop", .since = 1, CONTROL, .types = {OX_BIT(OX_I64), OX_BIT(OX_BOOL), OX_T_ALL}, .min_in = 0,
               .max_in = OX_VARIADIC, OX_ATTRS(body_attr_defs), .attrs_bytes = sizeof(body_attrs), .infer = loop_infer),
     NULL},
    {OX_SCHEMA(.name = "Scan", .since = 8, CONTROL, .types = {OX_BIT(OX_I64), OX_T_ALL}, .min_in = 0,
               .max_in = OX_VARIADIC, OX_ATTRS(scan8_attr_defs), .attrs_bytes = sizeof(scan_attrs),
               .infer = scan8_infer),
     NULL},
    {OX_SCHEMA(.name = "Scan", .since = 9, CONTROL, .min_in = 1, .max_in = OX_VARIADIC, OX_ATTRS(scan9_attr_defs),
               .attrs_bytes = sizeof(scan_attrs), .infer = scan9_infer),
     NULL},
    {OX_SCHEMA(.name = "SequenceMap", .since = 17, CONTROL, .min_in = 1, .max_in = OX_VARIADIC,
               OX_ATTRS(body_attr_defs), .attrs_bytes = sizeof(body_attrs), .infer = map_infer),
     NULL},
};
const ox_op_set ox_ops_control = {ops, OX_COUNT(ops)};
