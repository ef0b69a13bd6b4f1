/* SPDX-License-Identifier: Apache-2.0
 * graph/node_activation.c - an activation by what its row says and what the node's attributes are. */
#include "graph/node_activation.h"

#include "base/macros.h"
#include "graph/registry.h"

bool ox_activation_read(const ox_graph *g, const ox_node *n, ox_activation *out) {
  const ox_schema *s = ox_node_schema(g->model, n, NULL);
  const ox_activation_def *def = s ? s->activation : NULL;
  if (!def || (!def->read && n->n_in != 1)) return false;
  *out = (ox_activation){.name = def->name};
  for (uint32_t i = 0; i < s->n_attrs; i++) {
    const ox_attr_def *d = &s->attrs[i];
    if (d->kind != OX_ATTR_FLOAT_KIND) continue;
    const ox_attr *a = ox_node_attr(n, d->name);
    if (out->n_params == OX_COUNT(out->params)) return false;
    out->params[out->n_params++] = a && a->v.kind == OX_ATTR_FLOAT_KIND ? a->v.f : d->f;
  }
  return !def->read || def->read(g, n, out);
}
