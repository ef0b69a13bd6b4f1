/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu/activation.c - reads activation nodes of all operator set versions into a name and parameters. */
#include "ep/cpu/activation.h"

#include "base/status.h"

/* Bounds of Clip: attributes before operator set 11, inputs since. */
static int clip_bounds(const ox_rewrite *g, ox_id node, ox_activation *out) {
  double lo = -INFINITY, hi = INFINITY;
  if (ox_in(g, node, 1) != OX_NONE && !ox_const_scalar(g, ox_in(g, node, 1), &lo)) return 0;
  if (ox_in(g, node, 2) != OX_NONE && !ox_const_scalar(g, ox_in(g, node, 2), &hi)) return 0;
  out->params[0] = ox_attr_f(g, node, "min", (float)lo), out->params[1] = ox_attr_f(g, node, "max", (float)hi);
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

int ox_activation_of(const ox_rewrite *g, ox_id node, ox_activation *out) {
  *out = (ox_activation){.n_params = 0};
  if (ox_is(g, node, "Clip")) {
    out->name = "Clip";
    return clip_bounds(g, node, out);
  }
  if (ox_n_in(g, node) != 1) return 0; /* FastGelu with a bias */
  if (ox_is(g, node, "Gelu")) {
    out->name = ox_attr_is(g, node, "approximate", "tanh", 0) ? "FastGelu" : "Gelu";
    return 1;
  }
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    if (!ox_is_of(g, node, rows[i].op, rows[i].domain)) continue;
    out->name = rows[i].name;
    for (; out->n_params < 2 && rows[i].param[out->n_params]; out->n_params++)
      out->params[out->n_params] = ox_attr_f(g, node, rows[i].param[out->n_params], rows[i].dflt[out->n_params]);
    if (strcmp(out->name, "QuickGelu") == 0 && out->params[0] == 1) out->name = "Silu", out->n_params = 0;
    return 1;
  }
  return 0;
}

int ox_activation_free(const ox_rewrite *g, ox_id node) { return ox_attr_is(g, node, "activation", "", 1); }

ox_status *ox_activation_set(const ox_rewrite *g, ox_id node, const ox_activation *a) {
  OX_TRY(ox_set_str(g, node, "activation", a->name));
  return a->n_params ? ox_set_floats(g, node, "activation_params", a->params, a->n_params) : NULL;
}
