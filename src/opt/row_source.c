/* SPDX-License-Identifier: Apache-2.0
 * opt/row_source.c - see row_source.h. */
#include "opt/row_source.h"

#include "graph/shape.h"
#include "opt/opt.h"

const ox_shape *ox_shape_of_value(const ox_graph *g, ox_id v) {
  const ox_tensor *t = ox_graph_const_type(g, v);
  return t ? &t->shape : &g->values[v].type.shape;
}

static int64_t whole_at(const ox_tensor *t, int64_t i) {
  return t->dtype == OX_I32 ? ((const ox_i32u *)t->data)[i] : ((const ox_i64u *)t->data)[i];
}

/* The list of axes leaves the last of |rank| axes alone. |*out_first|: the first in it. */
static bool last_stays(const ox_loop_site *s, const ox_node *n, uint32_t slot, int rank, int *out_first) {
  const ox_attr *a = ox_node_attr(n, "axes");
  const ox_tensor *t = slot < n->n_in ? ox_graph_const(s->b, n->in[slot]) : NULL;
  int64_t count = a ? (int64_t)a->v.n : t ? ox_shape_count(&t->shape) : 0;
  if (rank < 1 || count < 1 || (t && t->dtype != OX_I64 && t->dtype != OX_I32)) return false;
  for (int64_t i = 0; i < count; i++) {
    int64_t axis = a ? a->v.ints[i] : whole_at(t, i);
    int at;
    if (!ox_axis_ok(axis, rank, &at) || at == rank - 1) return false;
    if (!i) *out_first = at;
  }
  return true;
}

static bool takes_rows(const ox_loop_site *s, const ox_node *n, int *out_axis) {
  if (!ox_node_is(n, "Gather") && !ox_node_is(n, "Slice")) return false;
  ox_id x = n->in[0];
  if (x == OX_NONE || s->b->values[x].outer == OX_NONE) return false;
  int rank = ox_shape_of_value(s->b, x)->rank;
  if (ox_node_is(n, "Slice")) {
    for (uint32_t i = 1; i < n->n_in; i++)
      if (n->in[i] != OX_NONE && !ox_is_steady(&s->steady, n->in[i])) return false;
    return n->n_in > 3 && last_stays(s, n, 3, rank, out_axis);
  }
  const ox_attr *axis = ox_node_attr(n, "axis");
  return rank > 1 && ox_axis_ok(axis ? axis->v.i : 0, rank, out_axis) && *out_axis != rank - 1 &&
         ox_is_steady(&s->steady, n->in[1]);
}

static bool is_slice_of(const ox_loop_site *s, ox_id v, ox_row_source *r) {
  uint32_t from;
  int64_t axis;
  for (uint32_t i = 0; s->def->sliced && i < s->b->n_inputs; i++) {
    if (s->b->inputs[i] != v || !s->def->sliced(&s->g->nodes[s->node], i, &from, &axis)) continue;
    ox_id all = s->g->nodes[s->node].in[from];
    if (all == OX_NONE) return false;
    int rank = ox_shape_of_value(s->g, all)->rank;
    r->all = all, r->take = OX_NONE, r->arg = i;
    return rank > 1 && ox_axis_ok(axis, rank, &r->axis) && r->axis != rank - 1;
  }
  return false;
}

bool ox_row_source_find(const ox_loop_site *s, ox_id v, ox_row_source *r) {
  *r = (ox_row_source){.all = OX_NONE, .take = OX_NONE};
  for (;;) {
    const ox_graph_value *value = v == OX_NONE ? NULL : &s->b->values[v];
    if (!value) return false;
    if (value->producer == OX_NONE) return is_slice_of(s, v, r);
    const ox_node *n = ox_graph_node(s->b, value->producer);
    if (ox_node_is(n, "Squeeze") || ox_node_is(n, "Unsqueeze")) {
      int rank = ox_shape_of_value(s->b, ox_node_is(n, "Squeeze") ? n->in[0] : v)->rank;
      if (r->n_views == OX_MOST_VIEWS || !last_stays(s, n, 1, rank, &r->axis)) return false;
      r->views[r->n_views++] = value->producer, v = n->in[0];
      continue;
    }
    if (!takes_rows(s, n, &r->axis)) return false;
    r->all = s->b->values[n->in[0]].outer, r->take = value->producer;
    return true;
  }
}

ox_status *ox_row_of_list(const ox_loop_site *s, ox_id node, bool *out_done) {
  const ox_node at = s->b->nodes[node];
  ox_id list = at.n_in == 2 && at.n_out == 1 && at.in[0] != OX_NONE ? s->b->values[at.in[0]].outer : OX_NONE;
  ox_id from = list == OX_NONE ? OX_NONE : s->g->values[list].producer, in[2] = {OX_NONE, at.in[1]}, out, made;
  *out_done = false;
  if (!ox_node_is(&at, "SequenceAt") || from == OX_NONE || !ox_node_is(&s->g->nodes[from], "SplitToSequence"))
    return NULL;
  const ox_node *split = ox_graph_node(s->g, from);
  const ox_attr *kept = ox_node_attr(split, "keepdims"), *axis = ox_node_attr(split, "axis");
  int64_t along = axis ? axis->v.i : 0;
  bool rows = kept && !kept->v.i && (split->n_in < 2 || split->in[1] == OX_NONE);
  if (!rows || s->g->values[split->in[0]].type.kind != OX_TENSOR) return NULL;
  OX_TRY(ox_graph_stand_in(s->b, split->in[0], &in[0]));
  OX_TRY(ox_graph_add_value(s->b, NULL, &out));
  OX_TRY(ox_graph_add_node(s->b, "Gather", "", at.name, in, 2, &out, 1, &made));
  OX_TRY(ox_node_set_int(s->b, made, "axis", along));
  OX_TRY(ox_infer_node(s->b, made));
  OX_TRY(ox_graph_replace_uses(s->b, at.out[0], out));
  ox_graph_remove_node(s->b, node);
  *out_done = true;
  return NULL;
}
