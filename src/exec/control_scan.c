/* SPDX-License-Identifier: Apache-2.0
 * exec/control_scan.c - Scan (ONNX 8 with a batch dimension, 9 and later with axes and directions). */
#include <string.h>

#include "base/macros.h"
#include "exec/bodies.h"

typedef struct {
  ox_body *body;
  uint32_t first_in;               /* 1 for version 8: input 0 is sequence_lens */
  uint32_t n_state, n_scan_in, n_scan_out;
  bool batched;                    /* version 8 */
  ox_tensor *state, *slices;       /* per state value; per scan input: the slice for this iteration */
  ox_stack *stacks;
  int64_t length;
} scan_state;

static int64_t list_at(const ox_step *s, const ox_context *c, const char *name, uint32_t i, int64_t dflt) {
  const ox_attr *a = ox_node_attr(ox_graph_node(c->plan->graph, s->unit->node), name);
  return a && i < a->v.n ? a->v.ints[i] : dflt;
}

/* Copies slice |at| along |axis| of |t| to |to|: rows of |inner| bytes, one per outer index. */
static void copy_slice(const ox_tensor *t, int axis, int64_t at, char *to, bool scatter) {
  size_t item = ox_dtype_bits(t->dtype) / 8;
  int64_t outer = ox_shape_span(&t->shape, 0, axis), n = t->shape.dim[axis];
  size_t inner = (size_t)ox_shape_span(&t->shape, axis + 1, t->shape.rank) * item;
  char *base = (char *)t->data + (size_t)at * inner;
  for (int64_t o = 0; o < outer && inner; o++) {
    char *row = base + (size_t)o * (size_t)n * inner;
    if (scatter) memcpy(row, to + (size_t)o * inner, inner);
    else memcpy(to + (size_t)o * inner, row, inner);
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
  (void)ox_tensor_size(&r);
  r.data = (char *)t->data + (size_t)b * r.bytes;
  return r;
}

static ox_status *scan_axis(const ox_context *c, const ox_step *s, const scan_state *z, uint32_t i, const ox_tensor *t, int *axis) {
  if (ox_axis_ok(z->batched ? 0 : list_at(s, c, "scan_input_axes", i, 0), t->shape.rank, axis)) return NULL;
  return ox_fail(OX_INVALID_MODEL, "Scan: input %u of rank %d has no such scan axis", i, (int)t->shape.rank);
}

static ox_status *set_up(ox_context *c, ox_step *s, scan_state *z) {
  ox_arena *arena = c->env->run_arena;
  const ox_attr *count = ox_node_attr(ox_graph_node(c->plan->graph, s->unit->node), "num_scan_inputs");
  z->batched = s->unit->op_version < 9, z->first_in = z->batched ? 1 : 0;
  z->body = ox_control_body(c, s, "body");
  if (!z->body || !count || count->v.i < 0 || count->v.i + z->first_in > s->c.n_in)
    return ox_fail(OX_INVALID_MODEL, "Scan lacks its body or has a wrong num_scan_inputs");
  const ox_graph *g = z->body->plan->graph;
  z->n_scan_in = (uint32_t)count->v.i, z->n_state = s->c.n_in - z->first_in - z->n_scan_in;
  if (z->body->n_inputs != z->n_state + z->n_scan_in || g->n_outputs < z->n_state)
    return ox_fail(OX_INVALID_MODEL, "Scan: the body has %u inputs and %u outputs for %u state values and %u scan inputs",
                   z->body->n_inputs, g->n_outputs, z->n_state, z->n_scan_in);
  z->n_scan_out = g->n_outputs - z->n_state;
  z->state = ox_arena_array(arena, z->n_state, sizeof *z->state);
  z->slices = ox_arena_array(arena, z->n_scan_in, sizeof *z->slices);
  z->stacks = ox_arena_array(arena, z->n_scan_out, sizeof *z->stacks);
  if (!z->state || !z->slices || !z->stacks) return ox_oom();
  for (uint32_t i = 0; i < s->c.n_in - z->first_in; i++) {
    const ox_tensor *t = ox_control_input(c, s, i + z->first_in);
    if (!t || t->kind != OX_TENSOR || ox_dtype_bits(t->dtype) < 8 || (z->batched && t->shape.rank < 1))
      return ox_fail(OX_INVALID_MODEL, "Scan: input %u must be a tensor", i + z->first_in);
  }
  return NULL;
}

/* The inputs of one sequence: |ins| are the node's inputs, or one batch item of each. */
static ox_status *start_sequence(ox_context *c, ox_step *s, scan_state *z, const ox_tensor *ins) {
  for (uint32_t i = 0; i < z->n_state; i++) {
    OX_TRY(ox_control_copy(c, &ins[i], &z->state[i]));
    z->body->args[i] = &z->state[i];
  }
  for (uint32_t i = 0; i < z->n_scan_in; i++) {
    const ox_tensor *t = &ins[z->n_state + i];
    int axis;
    OX_TRY(scan_axis(c, s, z, i, t, &axis));
    if (i && t->shape.dim[axis] != z->length)
      return ox_fail(OX_SHAPE_MISMATCH, "Scan: input %u has %lld steps, the first %lld", i, (long long)t->shape.dim[axis],
                     (long long)z->length);
    z->length = t->shape.dim[axis];
    ox_tensor *slice = &z->slices[i];
    *slice = (ox_tensor){.kind = OX_TENSOR, .dtype = t->dtype, .shape = without_axis(&t->shape, axis)};
    if (!ox_tensor_size(slice)) return ox_fail(OX_LIMIT, "Scan: input %u is too large", i);
    slice->data = ox_dynpool_take(&c->dyn, slice->bytes);
    if (!slice->data) return ox_oom();
    z->body->args[z->n_state + i] = slice;
  }
  return NULL;
}

static ox_status *run_sequence(ox_context *c, ox_step *s, scan_state *z, const ox_tensor *ins, int64_t length) {
  const char *directions = z->batched ? "directions" : "scan_input_directions";
  for (int64_t t = 0; t < length; t++) {
    for (uint32_t i = 0; i < z->n_scan_in; i++) {
      const ox_tensor *in = &ins[z->n_state + i];
      int axis;
      OX_TRY(scan_axis(c, s, z, i, in, &axis));
      bool backward = list_at(s, c, directions, i, 0) == 1;
      copy_slice(in, axis, backward ? length - 1 - t : t, z->slices[i].data, false);
    }
    OX_TRY(ox_body_run(c, z->body));
    for (uint32_t i = 0; i < z->n_scan_out; i++)
      OX_TRY(ox_stack_push(c, &z->stacks[i], ox_body_output(z->body, z->n_state + i), z->length));
    ox_tensor *next = ox_arena_array(c->env->run_arena, z->n_state, sizeof *next);
    if (!next) return ox_oom();
    for (uint32_t i = 0; i < z->n_state; i++) OX_TRY(ox_control_copy(c, ox_body_output(z->body, i), &next[i]));
    for (uint32_t i = 0; i < z->n_state; i++) {
      ox_dynpool_give(&c->dyn, z->state[i].data);
      z->state[i] = next[i];
    }
  }
  return NULL;
}

/* Output |i| from its stack: slices move to the wanted axis, reversed if the direction says so. */
static ox_status *finish_output(ox_context *c, ox_step *s, scan_state *z, uint32_t i) {
  const ox_graph *g = z->body->plan->graph;
  uint32_t at = z->n_state + i;
  OX_TRY(ox_stack_finish(c, s, at, &z->stacks[i], &g->values[g->outputs[at]].type));
  ox_tensor *out = ox_control_output(c, s, at);
  int axis;
  bool backward = list_at(s, c, "scan_output_directions", i, 0) == 1;
  if (!out) return NULL;
  if (!ox_axis_ok(list_at(s, c, "scan_output_axes", i, 0), out->shape.rank, &axis))
    return ox_fail(OX_INVALID_MODEL, "Scan: output %u of rank %d has no such scan axis", i, (int)out->shape.rank);
  if (!axis && !backward) return NULL;
  ox_tensor moved = *out;
  int64_t n = out->shape.dim[0];
  for (int d = 0; d < axis; d++) moved.shape.dim[d] = out->shape.dim[d + 1];
  moved.shape.dim[axis] = n;
  moved.data = ox_dynpool_take(&c->dyn, moved.bytes);
  if (!moved.data) return ox_oom();
  size_t slice = n ? out->bytes / (size_t)n : 0;
  for (int64_t k = 0; k < n; k++)
    copy_slice(&moved, axis, backward ? n - 1 - k : k, (char *)out->data + (size_t)k * slice, true);
  ox_dynpool_give(&c->dyn, out->data);
  *out = moved;
  return NULL;
}

static ox_status *run_plain(ox_context *c, ox_step *s, scan_state *z) {
  ox_tensor *ins = ox_arena_array(c->env->run_arena, s->c.n_in, sizeof *ins);
  if (!ins) return ox_oom();
  for (uint32_t i = 0; i < s->c.n_in; i++) ins[i] = *ox_control_input(c, s, i);
  OX_TRY(start_sequence(c, s, z, ins));
  OX_TRY(run_sequence(c, s, z, ins, z->length));
  for (uint32_t i = 0; i < z->n_state; i++) {
    ox_tensor *out = ox_control_output(c, s, i);
    if (out) *out = z->state[i];
  }
  for (uint32_t i = 0; i < z->n_scan_out; i++) OX_TRY(finish_output(c, s, z, i));
  return NULL;
}

/* ---- version 8: a batch of sequences, each of its own length; shorter ones are padded with zeros ---- */

/* Writes item |b| of the batched output |at|, which the first item allocates. */
static ox_status *store_item(ox_context *c, ox_step *s, uint32_t at, const ox_tensor *item, int64_t b, int64_t batch) {
  ox_tensor *out = ox_control_output(c, s, at);
  if (!out) return NULL;
  if (!b) {
    *out = *item;
    out->shape.rank = item->shape.rank + 1, out->shape.dim[0] = batch;
    for (int d = 0; d < item->shape.rank; d++) out->shape.dim[d + 1] = item->shape.dim[d];
    if (out->shape.rank > OX_MAX_RANK || !ox_tensor_size(out)) return ox_fail(OX_LIMIT, "Scan: output %u is too large", at);
    out->data = ox_dynpool_take(&c->dyn, out->bytes);
    if (!out->data) return ox_oom();
  }
  size_t room = out->bytes / (size_t)batch;
  if (item->bytes != room) return ox_fail(OX_SHAPE_MISMATCH, "Scan: output %u changes its shape within the batch", at);
  if (room) memcpy((char *)out->data + (size_t)b * room, item->data, room);
  return NULL;
}

static ox_status *run_batched(ox_context *c, ox_step *s, scan_state *z) {
  const ox_tensor *lens = ox_control_input(c, s, 0);
  int64_t batch = ox_control_input(c, s, 1)->shape.dim[0];
  ox_tensor *ins = ox_arena_array(c->env->run_arena, s->c.n_in, sizeof *ins);
  if (!ins) return ox_oom();
  if (lens && (lens->dtype != OX_I64 || ox_shape_count(&lens->shape) != batch))
    return ox_fail(OX_INVALID_MODEL, "Scan wants one int64 length per batch item");
  for (int64_t b = 0; b < batch; b++) {
    for (uint32_t i = 1; i < s->c.n_in; i++) {
      const ox_tensor *t = ox_control_input(c, s, i);
      if (t->shape.dim[0] != batch) return ox_fail(OX_SHAPE_MISMATCH, "Scan: input %u has another batch size", i);
      ins[i - 1] = batch_item(t, b);
    }
    OX_TRY(start_sequence(c, s, z, ins));
    int64_t length = lens ? ((const int64_t *)lens->data)[b] : z->length;
    if (length < 0 || length > z->length)
      return ox_fail(OX_INVALID_MODEL, "Scan: length %lld of %lld", (long long)length, (long long)z->length);
    for (uint32_t i = 0; i < z->n_scan_out; i++) z->stacks[i] = (ox_stack){.n = 0};
    OX_TRY(run_sequence(c, s, z, ins, length));
    for (uint32_t i = 0; i < z->n_state; i++) OX_TRY(store_item(c, s, i, &z->state[i], b, batch));
    for (uint32_t i = 0; i < z->n_scan_out; i++) {
      ox_stack *k = &z->stacks[i];
      ox_tensor item = k->t;
      item.shape.rank++, item.shape.dim[0] = z->length;
      for (int d = 0; d < k->t.shape.rank; d++) item.shape.dim[d + 1] = k->t.shape.dim[d];
      if (!k->n || item.shape.rank > OX_MAX_RANK || !ox_tensor_size(&item))
        return ox_fail(OX_NOT_IMPLEMENTED, "Scan 8 with an empty sequence");
      item.data = ox_arena_alloc(c->env->run_arena, item.bytes);
      if (!item.data) return ox_oom();
      memcpy(item.data, k->t.data, (size_t)k->n * k->slice_bytes);
      OX_TRY(store_item(c, s, z->n_state + i, &item, b, batch));
    }
  }
  return NULL;
}

ox_status *ox_scan_run(ox_context *c, ox_step *s) {
  scan_state z = {.length = 0};
  OX_TRY(set_up(c, s, &z));
  return z.batched ? run_batched(c, s, &z) : run_plain(c, s, &z);
}
