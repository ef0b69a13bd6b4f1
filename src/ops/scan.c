/* SPDX-License-Identifier: Apache-2.0
 * ops/scan.c - Scan (ONNX 8 with a batch dimension, 9 and later with axes and directions). */
#include <string.h>

#include "base/macros.h"
#include "ops/move/sequence_values.h"
#include "ops/shared/body_types.h"

typedef struct {
  ox_graph *body;
  int64_t num_scan_inputs;
  ox_ints directions; /* opset 8 */
  ox_ints scan_input_axes, scan_output_axes, scan_input_directions, scan_output_directions;
} scan_attrs;
static const ox_attr_def scan8_attr_defs[] = {OX_ATTR_GRAPH(scan_attrs, body),
                                              OX_ATTR_INT_REQUIRED_IN(scan_attrs, num_scan_inputs, 1, OX_COUNT_MAX),
                                              OX_ATTR_INTS_IN(scan_attrs, directions, 0, 1)};
static const ox_attr_def scan9_attr_defs[] = {
    OX_ATTR_GRAPH(scan_attrs, body),
    OX_ATTR_INT_REQUIRED_IN(scan_attrs, num_scan_inputs, 1, OX_COUNT_MAX),
    OX_ATTR_INTS_IN(scan_attrs, scan_input_axes, OX_AXIS_RANGE),
    OX_ATTR_INTS_IN(scan_attrs, scan_output_axes, OX_AXIS_RANGE),
    OX_ATTR_INTS_IN(scan_attrs, scan_input_directions, 0, 1),
    OX_ATTR_INTS_IN(scan_attrs, scan_output_directions, 0, 1),
};

/* ---- types ---- */

/* State may change shape from one step to the next, and scanned values lose a dimension, so only element types are
 * passed to the body. */
static void enter(const ox_type *const *in, uint32_t n_in, uint32_t op_version, uint32_t n_types, ox_type *types) {
  uint32_t first = op_version < 9 ? 1 : 0; /* sequence_lens */
  for (uint32_t i = 0; i < n_types && i + first < n_in; i++)
    if (in[i + first]) types[i] = ox_type_any_shape(in[i + first]);
}

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
      ox_infer_carried(c, i, i, ox_body_type(a->body, i));
    else
      OX_TRY(ox_infer_stacked(c, i, ox_body_type(a->body, i), k < a->scan_output_axes.n ? a->scan_output_axes.v[k] : 0,
                              length));
  }
  return NULL;
}

/* Opset 8: all values have a leading batch dimension, scanned values then the time. */
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
    const ox_type *t = ox_body_type(a->body, i);
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

/* ---- run ---- */

typedef struct {
  const scan_attrs *attrs;
  ox_body *body;
  uint32_t first_in; /* 1 for version 8: input 0 is sequence_lens */
  uint32_t n_state, n_scan_in, n_scan_out;
  bool batched;            /* version 8 */
  ox_tensor *state, *next; /* per state value: what goes into an iteration, what came out of it */
  ox_tensor *slices;       /* per scan input: the slice for this iteration */
  ox_stack *stacks;
  int64_t length;
} scan_state;

static int64_t list_at(const ox_ints *l, uint32_t i) { return i < l->n ? l->v[i] : 0; }

/* Copies slice |at| along |axis| of |t| to |dense| from element |first| on, or back: rows, one per outer index. */
static void copy_slice(const ox_tensor *t, int axis, int64_t at, void *dense, int64_t first, bool back) {
  int64_t outer = ox_shape_span(&t->shape, 0, axis), inner = ox_shape_span(&t->shape, axis + 1, t->shape.rank);
  for (int64_t o = 0; o < outer && inner; o++) {
    int64_t row = (o * t->shape.dim[axis] + at) * inner;
    if (back)
      ox_control_move(t->dtype, t->data, row, dense, first + o * inner, inner);
    else
      ox_control_move(t->dtype, dense, first + o * inner, t->data, row, inner);
  }
}

static ox_shape without_axis(const ox_shape *s, int axis) {
  ox_shape r = {.rank = s->rank - 1};
  for (int i = 0, k = 0; i < s->rank; i++)
    if (i != axis) r.dim[k++] = s->dim[i];
  return r;
}

/* Item |b| of the leading batch dimension: a view. */
static ox_tensor batch_item(const ox_tensor *t, int64_t b) {
  ox_tensor r = *t;
  r.shape = without_axis(&t->shape, 0);
  (void)ox_control_size(&r);
  r.data = (char *)t->data + (size_t)b * r.bytes;
  return r;
}

static ox_status *scan_axis(const scan_state *z, uint32_t i, const ox_tensor *t, int *axis) {
  if (ox_axis_ok(z->batched ? 0 : list_at(&z->attrs->scan_input_axes, i), t->shape.rank, axis)) return NULL;
  return ox_fail(OX_INVALID_MODEL, "Scan: input %u of rank %d has no such scan axis", i, (int)t->shape.rank);
}

static ox_status *set_up(const ox_control_ctx *c, scan_state *z) {
  const scan_attrs *a = z->attrs = c->node->attrs;
  uint32_t n_in = c->node->n_in;
  z->batched = c->node->op_version < 9, z->first_in = z->batched ? 1 : 0;
  z->body = ox_control_body(c, a->body);
  if (!z->body || a->num_scan_inputs < 0 || a->num_scan_inputs + z->first_in > n_in)
    return ox_fail(OX_INVALID_MODEL, "Scan lacks its body or has a wrong num_scan_inputs");
  const ox_graph *g = z->body->graph;
  z->n_scan_in = (uint32_t)a->num_scan_inputs, z->n_state = n_in - z->first_in - z->n_scan_in;
  if (z->body->n_inputs != z->n_state + z->n_scan_in || g->n_outputs < z->n_state)
    return ox_fail(OX_INVALID_MODEL,
                   "Scan: the body has %u inputs and %u outputs for %u state values and %u scan inputs",
                   z->body->n_inputs, g->n_outputs, z->n_state, z->n_scan_in);
  z->n_scan_out = g->n_outputs - z->n_state;
  z->state = ox_control_array(c, z->n_state, sizeof *z->state);
  z->next = ox_control_array(c, z->n_state, sizeof *z->next);
  z->slices = ox_control_array(c, z->n_scan_in, sizeof *z->slices);
  z->stacks = ox_control_array(c, z->n_scan_out, sizeof *z->stacks);
  if (!z->state || !z->next || !z->slices || !z->stacks) return ox_oom();
  for (uint32_t i = z->first_in; i < n_in; i++) {
    const ox_tensor *t = ox_control_in(c, i);
    if (!t || t->kind != OX_TENSOR || (z->batched && (t->shape.rank < 1 || ox_dtype_bits(t->dtype) < 8)))
      return ox_fail(OX_INVALID_MODEL, "Scan: input %u must be a tensor", i);
  }
  return NULL;
}

/* The inputs of one sequence: |ins| are the node's inputs, or one batch item of each. */
static ox_status *start_sequence(const ox_control_ctx *c, scan_state *z, const ox_tensor *ins) {
  for (uint32_t i = 0; i < z->n_state; i++) {
    OX_TRY(ox_control_copy(c, &ins[i], &z->state[i]));
    z->body->args[i] = &z->state[i];
  }
  for (uint32_t i = 0; i < z->n_scan_in; i++) {
    const ox_tensor *t = &ins[z->n_state + i];
    int axis;
    OX_TRY(scan_axis(z, i, t, &axis));
    if (i && t->shape.dim[axis] != z->length)
      return ox_fail(OX_SHAPE_MISMATCH, "Scan: input %u has %lld steps, the first %lld", i,
                     (long long)t->shape.dim[axis], (long long)z->length);
    z->length = t->shape.dim[axis];
    ox_tensor *slice = &z->slices[i];
    *slice = (ox_tensor){.kind = OX_TENSOR, .dtype = t->dtype, .shape = without_axis(&t->shape, axis)};
    OX_TRY(ox_control_room(c, slice));
    if (slice->bytes) ((char *)slice->data)[slice->bytes - 1] = 0; /* the bits behind the last packed element */
    z->body->args[z->n_state + i] = slice;
  }
  return NULL;
}

/* If no input or output of the body has elements, and its state has the same shapes again, one step stands for all.
 * Otherwise a shape like [2^40, 0] would need that many steps. */
static bool goes_on_like_this(const ox_control_ctx *c, const scan_state *z) {
  size_t bytes = 0;
  for (uint32_t i = 0; i < z->n_scan_in; i++) bytes += z->slices[i].bytes;
  for (uint32_t i = 0; i < z->n_scan_out; i++) bytes += (size_t)z->stacks[i].slice_n;
  for (uint32_t i = 0; i < z->n_state; i++) {
    const ox_tensor *next = ox_body_output(c, z->body, i), *now = &z->state[i];
    if (next->kind != OX_TENSOR || next->dtype != now->dtype || !ox_shape_equal(&next->shape, &now->shape))
      return false;
    bytes += now->bytes;
  }
  return !bytes;
}

static ox_status *run_sequence(const ox_control_ctx *c, scan_state *z, const ox_tensor *ins, int64_t length) {
  const ox_ints *directions = z->batched ? &z->attrs->directions : &z->attrs->scan_input_directions;
  ox_survivors survivors;
  OX_TRY(ox_survivors_init(c, &survivors, z->state, z->n_state, z->stacks, z->n_scan_out));
  for (int64_t t = 0; t < length; t++) {
    for (uint32_t i = 0; i < z->n_scan_in; i++) {
      const ox_tensor *in = &ins[z->n_state + i];
      int axis;
      OX_TRY(scan_axis(z, i, in, &axis));
      bool backward = list_at(directions, i) == 1;
      copy_slice(in, axis, backward ? length - 1 - t : t, z->slices[i].data, 0, false);
    }
    OX_TRY(ox_body_run(c, z->body));
    for (uint32_t i = 0; i < z->n_scan_out; i++)
      OX_TRY(ox_stack_push(c, &z->stacks[i], ox_body_output(c, z->body, z->n_state + i), z->length));
    if (!t && goes_on_like_this(c, z)) {
      for (uint32_t i = 0; i < z->n_scan_out; i++) z->stacks[i].n = length;
      return NULL;
    }
    for (uint32_t i = 0; i < z->n_state; i++) OX_TRY(ox_control_copy(c, ox_body_output(c, z->body, i), &z->next[i]));
    for (uint32_t i = 0; i < z->n_state; i++) {
      ox_control_drop(c, &z->state[i]);
      z->state[i] = z->next[i];
    }
    OX_TRY(ox_survivors_keep(c, &survivors));
  }
  return NULL;
}

/* Output |i| from its stack: slices move to the wanted axis, reversed if the direction says so. */
static ox_status *finish_output(const ox_control_ctx *c, scan_state *z, uint32_t i) {
  uint32_t at = z->n_state + i;
  OX_TRY(ox_stack_finish(c, at, &z->stacks[i], ox_body_type(z->body->graph, at)));
  ox_tensor *out = ox_control_out(c, at);
  int axis;
  bool backward = list_at(&z->attrs->scan_output_directions, i) == 1;
  if (!out) return NULL;
  if (!ox_axis_ok(list_at(&z->attrs->scan_output_axes, i), out->shape.rank, &axis))
    return ox_fail(OX_INVALID_MODEL, "Scan: output %u of rank %d has no such scan axis", i, (int)out->shape.rank);
  if (!axis && !backward) return NULL;
  ox_tensor moved = *out;
  int64_t n = out->shape.dim[0];
  for (int d = 0; d < axis; d++) moved.shape.dim[d] = out->shape.dim[d + 1];
  moved.shape.dim[axis] = n;
  OX_TRY(ox_control_room(c, &moved));
  if (moved.bytes) ((char *)moved.data)[moved.bytes - 1] = 0;
  for (int64_t k = 0; k < n && moved.bytes; k++)
    copy_slice(&moved, axis, backward ? n - 1 - k : k, out->data, k * z->stacks[i].slice_n, true);
  ox_control_drop(c, out);
  *out = moved;
  return NULL;
}

static ox_status *run_plain(const ox_control_ctx *c, scan_state *z) {
  ox_tensor *ins = ox_control_array(c, c->node->n_in, sizeof *ins);
  if (!ins) return ox_oom();
  for (uint32_t i = 0; i < c->node->n_in; i++) ins[i] = *ox_control_in(c, i);
  OX_TRY(start_sequence(c, z, ins));
  OX_TRY(run_sequence(c, z, ins, z->length));
  for (uint32_t i = 0; i < z->n_state; i++) {
    ox_tensor *out = ox_control_out(c, i);
    if (out) *out = z->state[i];
  }
  for (uint32_t i = 0; i < z->n_scan_out; i++) OX_TRY(finish_output(c, z, i));
  return NULL;
}

/* ---- version 8: a batch of sequences, each of its own length; shorter ones are padded with zeros ---- */

/* Writes item |b| of the batched output |at|, which the first item allocates. */
static ox_status *store_item(const ox_control_ctx *c, uint32_t at, const ox_tensor *item, int64_t b, int64_t batch) {
  ox_tensor *out = ox_control_out(c, at);
  if (!out) return NULL;
  if (!b) {
    *out = *item;
    out->shape.rank = item->shape.rank + 1, out->shape.dim[0] = batch;
    for (int d = 0; d < item->shape.rank; d++) out->shape.dim[d + 1] = item->shape.dim[d];
    if (out->shape.rank > OX_MAX_RANK) return ox_fail(OX_LIMIT, "Scan: output %u has rank %d", at, out->shape.rank);
    OX_TRY(ox_control_room(c, out));
  }
  size_t room = out->bytes / (size_t)batch;
  if (item->bytes != room) return ox_fail(OX_SHAPE_MISMATCH, "Scan: output %u changes its shape within the batch", at);
  if (room) memcpy((char *)out->data + (size_t)b * room, item->data, room);
  return NULL;
}

static ox_status *run_batched(const ox_control_ctx *c, scan_state *z) {
  const ox_tensor *lens = ox_control_in(c, 0);
  int64_t batch = ox_control_in(c, 1)->shape.dim[0];
  ox_tensor *ins = ox_control_array(c, c->node->n_in, sizeof *ins);
  if (!ins) return ox_oom();
  if (lens && (lens->dtype != OX_I64 || ox_shape_count(&lens->shape) != batch))
    return ox_fail(OX_INVALID_MODEL, "Scan needs one int64 length per batch item");
  for (int64_t b = 0; b < batch; b++) {
    for (uint32_t i = 1; i < c->node->n_in; i++) {
      const ox_tensor *t = ox_control_in(c, i);
      if (t->shape.dim[0] != batch) return ox_fail(OX_SHAPE_MISMATCH, "Scan: input %u has another batch size", i);
      ins[i - 1] = batch_item(t, b);
    }
    OX_TRY(start_sequence(c, z, ins));
    int64_t length = lens ? ((const int64_t *)lens->data)[b] : z->length;
    if (length < 0 || length > z->length)
      return ox_fail(OX_INVALID_MODEL, "Scan: length %lld of %lld", (long long)length, (long long)z->length);
    for (uint32_t i = 0; i < z->n_scan_out; i++) z->stacks[i] = (ox_stack){.n = 0};
    OX_TRY(run_sequence(c, z, ins, length));
    for (uint32_t i = 0; i < z->n_state; i++) OX_TRY(store_item(c, i, &z->state[i], b, batch));
    for (uint32_t i = 0; i < z->n_scan_out; i++) {
      ox_stack *k = &z->stacks[i];
      ox_tensor item = k->t;
      item.shape.rank++, item.shape.dim[0] = z->length;
      for (int d = 0; d < k->t.shape.rank; d++) item.shape.dim[d + 1] = k->t.shape.dim[d];
      if (!k->n || item.shape.rank > OX_MAX_RANK || !ox_control_size(&item))
        return ox_fail(OX_NOT_IMPLEMENTED, "Scan 8 with an empty sequence");
      item.data = ox_ctx_run_alloc(c->node, item.bytes);
      if (!item.data) return ox_oom();
      ox_control_move(item.dtype, item.data, 0, k->t.data, 0, k->n * k->slice_n);
      OX_TRY(store_item(c, z->n_state + i, &item, b, batch));
    }
  }
  return NULL;
}

static ox_status *run(const ox_control_ctx *c) {
  scan_state z = {.length = 0};
  OX_TRY(set_up(c, &z));
  return z.batched ? run_batched(c, &z) : run_plain(c, &z);
}

/* Version 8 passes items of a batch to the body. */
static bool carried(const ox_node *n, ox_carried_values *c) {
  const ox_attr *scanned = ox_node_attr(n, "num_scan_inputs");
  if (!scanned || scanned->v.i < 1 || scanned->v.i >= n->n_in) return false;
  *c = (ox_carried_values){.n = n->n_in - (uint32_t)scanned->v.i};
  return true;
}

static int64_t axis_of(const ox_node *n, uint32_t k) {
  const ox_attr *axes = ox_node_attr(n, "scan_input_axes");
  return axes && k < axes->v.n ? axes->v.ints[k] : 0;
}

static bool sliced(const ox_node *n, uint32_t i, uint32_t *node_in, int64_t *axis) {
  ox_carried_values c;
  if (!carried(n, &c) || i < c.n || i >= n->n_in) return false;
  *node_in = i, *axis = axis_of(n, i - c.n);
  return true;
}

/* Appends a copy of number |like| to the list |name|, which has one number per scan input. A missing list is zeros. */
static ox_status *extend(ox_graph *g, ox_id node, const char *name, uint32_t n_scan_in, uint32_t like) {
  const ox_attr *a = ox_node_attr(&g->nodes[node], name);
  if (!a) return NULL;
  int64_t *v = OX_ARENA_ARRAY(&g->model->arena, int64_t, (size_t)n_scan_in + 1);
  if (!v) return ox_oom();
  for (uint32_t i = 0; i < n_scan_in; i++) v[i] = i < a->v.n ? a->v.ints[i] : 0;
  v[n_scan_in] = v[like];
  return ox_node_set_ints(g, node, name, v, (size_t)n_scan_in + 1);
}

static ox_status *slice_also(ox_graph *g, ox_id node, uint32_t like, ox_id v, ox_id *out_arg) {
  ox_graph *b = ox_node_body(&g->nodes[node], 0);
  uint32_t n_in = g->nodes[node].n_in, n_scan = (uint32_t)ox_node_attr(&g->nodes[node], "num_scan_inputs")->v.i;
  OX_TRY(extend(g, node, "scan_input_axes", n_scan, like - (n_in - n_scan)));
  OX_TRY(extend(g, node, "scan_input_directions", n_scan, like - (n_in - n_scan)));
  OX_TRY(ox_node_set_int(g, node, "num_scan_inputs", (int64_t)n_scan + 1));
  OX_TRY(ox_node_set_input(g, node, n_in, v));
  OX_TRY(ox_graph_add_value(b, NULL, out_arg));
  b->values[*out_arg].type = ox_type_any_shape(&g->values[v].type);
  return ox_graph_add_input(b, *out_arg);
}

static const ox_control_def control8 = {.enter = enter, .run = run};
static const ox_control_def control = {
    .enter = enter, .carried = carried, .sliced = sliced, .slice_also = slice_also, .run = run};
#define SCAN                                                                                                       \
  .name = "Scan", .max_in = OX_VARIADIC, .min_out = 1, .max_out = OX_VARIADIC, .traits = OX_CONTROL | OX_ANY_KIND, \
  .attrs_bytes = sizeof(scan_attrs)

static const ox_op ops[] = {
    {OX_SCHEMA(SCAN, .since = 8, .types = {OX_BIT(OX_I64), OX_T_ALL}, .min_in = 0, OX_ATTRS(scan8_attr_defs),
               .infer = scan8_infer, .control = &control8),
     NULL},
    {OX_SCHEMA(SCAN, .since = 9, .min_in = 1, OX_ATTRS(scan9_attr_defs), .infer = scan9_infer, .control = &control),
     NULL},
};
const ox_op_set ox_ops_scan = {ops, OX_COUNT(ops)};
