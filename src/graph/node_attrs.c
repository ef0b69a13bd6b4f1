/* SPDX-License-Identifier: Apache-2.0
 * graph/node_attrs.c - reading and writing the attributes of a node. */
#include <string.h>

#include "base/macros.h"
#include "graph/graph.h"

const ox_attr *ox_node_attr(const ox_node *n, const char *name) {
  for (uint32_t i = 0; i < n->n_attrs; i++)
    if (strcmp(n->attrs[i].name, name) == 0) return &n->attrs[i];
  return NULL;
}

ox_status *ox_node_set_attr(ox_graph *g, ox_id node, const ox_attr *attr) {
  ox_node *n = &g->nodes[node];
  for (uint32_t i = 0; i < n->n_attrs; i++)
    if (strcmp(n->attrs[i].name, attr->name) == 0) {
      const char *name = n->attrs[i].name;
      n->attrs[i] = *attr, n->attrs[i].name = name;
      return NULL;
    }
  const char *name = ox_model_intern(g->model, attr->name);
  if (!name) return ox_oom();
  if (n->n_attrs >= n->cap_attrs) {
    uint32_t cap = n->n_attrs ? n->n_attrs * 2 : 2;
    ox_attr *attrs = OX_ARENA_ARRAY(&g->model->arena, ox_attr, cap);
    if (!attrs) return ox_oom();
    if (n->n_attrs) memcpy(attrs, n->attrs, n->n_attrs * sizeof *attrs);
    n->attrs = attrs, n->cap_attrs = cap;
  }
  n->attrs[n->n_attrs] = *attr, n->attrs[n->n_attrs++].name = name;
  return NULL;
}

ox_status *ox_node_set_int(ox_graph *g, ox_id node, const char *name, int64_t v) {
  return ox_node_set_attr(g, node, &(ox_attr){.name = name, .v = {.kind = OX_ATTR_INT_KIND, .i = v}});
}

ox_status *ox_node_set_float(ox_graph *g, ox_id node, const char *name, float v) {
  return ox_node_set_attr(g, node, &(ox_attr){.name = name, .v = {.kind = OX_ATTR_FLOAT_KIND, .f = v}});
}

ox_status *ox_node_set_str(ox_graph *g, ox_id node, const char *name, const char *v) {
  char *copy = ox_arena_str(&g->model->arena, v, strlen(v));
  if (!copy) return ox_oom();
  ox_attr a = {.name = name, .v = {.kind = OX_ATTR_STRING_KIND, .s = {copy, strlen(v)}}};
  return ox_node_set_attr(g, node, &a);
}

ox_status *ox_node_set_ints(ox_graph *g, ox_id node, const char *name, const int64_t *v, size_t n) {
  int64_t *copy = ox_arena_copy(&g->model->arena, v, n * sizeof *v);
  if (!copy) return ox_oom();
  return ox_node_set_attr(g, node, &(ox_attr){.name = name, .v = {.kind = OX_ATTR_INTS_KIND, .n = n, .ints = copy}});
}

ox_status *ox_node_set_floats(ox_graph *g, ox_id node, const char *name, const float *v, size_t n) {
  float *copy = ox_arena_copy(&g->model->arena, v, n * sizeof *v);
  if (!copy) return ox_oom();
  ox_attr a = {.name = name, .v = {.kind = OX_ATTR_FLOATS_KIND, .n = n, .floats = copy}};
  return ox_node_set_attr(g, node, &a);
}

void ox_node_remove_attr(ox_graph *g, ox_id node, const char *name) {
  ox_node *n = &g->nodes[node];
  for (uint32_t i = 0; i < n->n_attrs; i++)
    if (strcmp(n->attrs[i].name, name) == 0) {
      memmove(&n->attrs[i], &n->attrs[i + 1], (n->n_attrs - i - 1) * sizeof *n->attrs);
      n->n_attrs--;
      return;
    }
}
