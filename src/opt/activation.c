/* SPDX-License-Identifier: Apache-2.0
 * opt/activation.c - reads activation nodes of all operator set versions into a name and parameters. */
#include "opt/activation.h"

#include <math.h>
#include <string.h>

/* Bounds of Clip: attributes before operator set 11, inputs since. */
static bool clip_bounds(const ox_graph *g, ox_id node, ox_activation *out) {
  const ox_node *n = &g->nodes[node];
  double lo = -INFINITY, hi = INFINITY;
  if (ox_in(g, node, 1) != OX_NONE && !ox_const_scalar(g, n->in[1], &lo)) return false;
  if (ox_in(g, node, 2) != OX_NONE && !ox_const_scalar(g, n->in[2], &hi)) return false;
  out->params[0] = ox_attr_f(n, "min", (float)lo), out->params[1] = ox_attr_f(n, "max", (float)hi);
  out->n_params = 2;
  return out->params[0] <= out->params[1];
}

static const struct {
  const char *op, *domain, *name, *param[2];
  float dflt[2];
} rows[] = {
    {"Relu", "", "Relu", {0}, {0, 0}},
    {"LeakyRelu", "", "LeakyRelu", {"alpha"}, {0.01f, 0}},
    {"Sigmoid", "", "Sigmoid", {0}, {0, 0}},
    {"Tanh", "", "Tanh", {0}, {0, 0}},
    {"HardSigmoid", "", "HardSigmoid", {"alpha", "beta"}, {0.2f, 0.5f}},
    {"HardSwish", "", "HardSwish", {0}, {0, 0}},
    {"Elu", "", "Elu", {"alpha"}, {1, 0}},
    {"Swish", "", "QuickGelu", {"alpha"}, {1, 0}},
    {"Gelu", "com.microsoft", "Gelu", {0}, {0, 0}},
    {"FastGelu", "com.microsoft", "FastGelu", {0}, {0, 0}},
    {"QuickGelu", "com.microsoft", "QuickGelu", {"alpha"}, {1.702f, 0}},
};

bool ox_activation_of(const ox_graph *g, ox_id node, ox_activation *out) {
  const ox_node *n = &g->nodes[node];
  *out = (ox_activation){.n_params = 0};
  if (ox_node_is(n, "Clip", NULL)) {
    out->name = "Clip";
    return clip_bounds(g, node, out);
  }
  if (n->n_in != 1) return false; /* FastGelu with a bias */
  if (ox_node_is(n, "Gelu", NULL)) {
    out->name = ox_attr_is(n, "approximate", "tanh", false) ? "FastGelu" : "Gelu";
    return true;
  }
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    if (!ox_node_is(n, rows[i].op, rows[i].domain)) continue;
    out->name = rows[i].name;
    for (; out->n_params < 2 && rows[i].param[out->n_params]; out->n_params++)
      out->params[out->n_params] = ox_attr_f(n, rows[i].param[out->n_params], rows[i].dflt[out->n_params]);
    if (strcmp(out->name, "QuickGelu") == 0 && out->params[0] == 1) out->name = "Silu", out->n_params = 0;
    return true;
  }
  return false;
}

bool ox_activation_free(const ox_node *n) { return ox_attr_is(n, "activation", "", true); }

ox_status *ox_activation_set(ox_graph *g, ox_id node, const ox_activation *a) {
  OX_TRY(ox_node_set_str(g, node, "activation", a->name));
  return a->n_params ? ox_node_set_floats(g, node, "activation_params", a->params, a->n_params) : NULL;
}
