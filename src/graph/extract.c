/* SPDX-License-Identifier: Apache-2.0
 * graph/extract.c - see extract.h. */
#include "graph/extract.h"

#include <string.h>

#include "base/macros.h"

typedef struct {
  ox_graph *g, *part;
  const ox_id *nodes;
  size_t n;
  ox_id *image;    /* per value of g: the value of the part that stands for it, or OX_NONE */
  uint8_t *moved;  /* per node of g */
  ox_id *in, *out; /* values of g, for the new node */
  uint32_t n_in, n_out;
} extraction;

ox_graph *ox_node_part(const ox_node *n) {
  return strcmp(n->op, OX_PART_OP) == 0 && strcmp(n->domain, "ai.onyx") == 0 ? ox_node_body(n, 0) : NULL;
}

static ox_status *new_value(extraction *x, ox_id v) {
  OX_TRY(ox_graph_add_value(x->part, x->g->values[v].name, &x->image[v]));
  x->part->values[x->image[v]].type = x->g->values[v].type;
  return NULL;
}

/* The part's value for |v|, which a node of it reads. */
static ox_status *read_value(extraction *x, ox_id v) {
  const ox_tensor *constant = ox_graph_const(x->g, v);
  if (x->image[v] != OX_NONE) return NULL;
  if (constant) return ox_graph_add_const(x->part, x->g->values[v].name, constant, &x->image[v]);
  OX_TRY(new_value(x, v));
  x->in[x->n_in++] = v;
  return ox_graph_add_input(x->part, x->image[v]);
}

/* Stand-ins of the node's bodies now stand for values of the part. */
static ox_status *move_bodies(extraction *x, const ox_node *n) {
  ox_graph *b;
  for (uint32_t k = 0; (b = ox_node_body(n, k)); k++) {
    for (ox_id v = 0; v < b->n_values; v++) {
      ox_id outer = b->values[v].dead ? OX_NONE : b->values[v].outer;
      if (outer == OX_NONE) continue;
      OX_TRY(read_value(x, outer));
      b->values[v].outer = x->image[outer];
      x->g->values[outer].n_inner_uses--, x->part->values[x->image[outer]].n_inner_uses++;
    }
    b->parent = x->part;
  }
  return NULL;
}

static ox_status *move_edges(extraction *x, const ox_node *n, ox_id *in, ox_id *out) {
  for (uint32_t k = 0; k < n->n_in; k++) {
    in[k] = OX_NONE;
    if (n->in[k] == OX_NONE) continue;
    OX_TRY(read_value(x, n->in[k]));
    in[k] = x->image[n->in[k]];
  }
  for (uint32_t k = 0; k < n->n_out; k++) {
    out[k] = OX_NONE;
    if (n->out[k] == OX_NONE) continue;
    OX_TRY(new_value(x, n->out[k]));
    out[k] = x->image[n->out[k]];
  }
  return NULL;
}

static ox_status *move_node(extraction *x, ox_id id) {
  ox_node *n = &x->g->nodes[id];
  ox_id node;
  size_t edges = (size_t)n->n_in + n->n_out;
  ox_id *in = ox_new(x->g->model->alloc, (edges + 1) * sizeof *in);
  ox_status *st = in ? move_edges(x, n, in, in + n->n_in) : ox_oom();
  if (!st) st = ox_graph_add_node(x->part, n->op, n->domain, n->name, in, n->n_in, in + n->n_in, n->n_out, &node);
  ox_delete(x->g->model->alloc, in, (edges + 1) * sizeof *in);
  OX_TRY(st);
  OX_TRY(move_bodies(x, n));
  ox_node *to = &x->part->nodes[node];
  to->attrs = n->attrs, to->n_attrs = n->n_attrs, to->cap_attrs = n->cap_attrs;
  to->version = n->version, to->overload = n->overload;
  to->assigned = n->assigned, to->refusals = n->refusals, to->from = n->from, to->n_from = n->n_from;
  n->attrs = NULL, n->n_attrs = n->cap_attrs = 0;
  return NULL;
}

/* Something other than the moved nodes reads |v|. By now bodies that moved along do not count any more. */
static bool read_outside(const extraction *x, ox_id v) {
  const ox_graph_value *value = &x->g->values[v];
  if (value->is_output || value->n_inner_uses) return true;
  for (uint32_t i = 0; i < value->n_uses; i++)
    if (!x->moved[value->uses[i].node]) return true;
  return false;
}

static ox_status *list_outputs(extraction *x) {
  for (size_t i = 0; i < x->n; i++) {
    const ox_node *n = &x->g->nodes[x->nodes[i]];
    for (uint32_t k = 0; k < n->n_out; k++) {
      if (n->out[k] == OX_NONE || !read_outside(x, n->out[k])) continue;
      x->out[x->n_out++] = n->out[k];
      OX_TRY(ox_graph_add_output(x->part, x->image[n->out[k]]));
    }
  }
  return NULL;
}

static ox_status *replace_nodes(extraction *x, const char *name, ox_id *out_node) {
  for (size_t i = 0; i < x->n; i++) ox_graph_remove_node(x->g, x->nodes[i]);
  OX_TRY(ox_graph_add_node(x->g, OX_PART_OP, "ai.onyx", name, x->in, x->n_in, x->out, x->n_out, out_node));
  const ox_attr body = {.name = "body", .v = {.kind = OX_ATTR_GRAPH_KIND}, .graph = x->part};
  return ox_node_set_attr(x->g, *out_node, &body);
}

static ox_status *extract(extraction *x, const char *name, ox_id *out_node) {
  OX_TRY(ox_graph_create(x->g->model, x->g, name, &x->part));
  for (size_t i = 0; i < x->n; i++) x->moved[x->nodes[i]] = 1;
  for (size_t i = 0; i < x->n; i++) OX_TRY(move_node(x, x->nodes[i]));
  OX_TRY(list_outputs(x));
  return replace_nodes(x, name, out_node);
}

ox_status *ox_graph_extract(ox_graph *g, const char *name, const ox_id *nodes, size_t n, ox_id *out_node) {
  extraction x = {.g = g, .nodes = nodes, .n = n};
  ox_alloc a = g->model->alloc;
  size_t n_values = g->n_values, bytes = 3 * (n_values + 1) * sizeof(ox_id) + g->n_nodes;
  x.image = ox_new(a, bytes);
  if (!x.image) return ox_oom();
  memset(x.image, 0xff, n_values * sizeof(ox_id)); /* OX_NONE */
  x.in = x.image + n_values + 1, x.out = x.in + n_values + 1, x.moved = (uint8_t *)(x.out + n_values + 1);
  memset(x.moved, 0, g->n_nodes);
  ox_status *st = extract(&x, name, out_node);
  ox_delete(a, x.image, bytes);
  return st;
}
