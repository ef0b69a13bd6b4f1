/* SPDX-License-Identifier: Apache-2.0
 * opt/steady.c - see steady.h. Everything on the way must be a whole number or a truth value, and what comes from
 * outside but one of them: a token that a table of floats led to is none. */
#include "opt/steady.h"

#include <string.h>

#include "base/macros.h"
#include "graph/shape.h"

enum { DEEPEST = 16 };

static bool whole(uint32_t dtype) { return dtype == OX_I64 || dtype == OX_I32 || dtype == OX_BOOL; }

static bool is_arithmetic(const ox_node *n) {
  static const char *const ops[] = {
      "Add",       "Sub", "Mul", "Div", "Mod",  "Neg",         "Min",     "Max",   "Cast",  "Identity",       "Squeeze",
      "Unsqueeze", "And", "Or",  "Not", "Less", "LessOrEqual", "Greater", "Equal", "Where", "GreaterOrEqual", "Concat",
      "Reshape"};
  for (size_t i = 0; i < OX_COUNT(ops) && !*n->domain; i++)
    if (strcmp(n->op, ops[i]) == 0) return true;
  return false;
}

static bool look(const ox_steady *s, ox_id v, int depth) {
  const ox_graph_value *value = v == OX_NONE ? NULL : &s->b->values[v];
  const ox_tensor *t = value ? ox_graph_const_type(s->b, v) : NULL;
  if (!value || value->type.kind != OX_TENSOR || depth > DEEPEST) return false;
  if (t) return whole(t->dtype);
  if (!whole(value->type.dtype)) return false;
  if (value->outer != OX_NONE) return ox_shape_count(&value->type.shape) == 1;
  for (uint32_t i = 0; i < s->c.body_in; i++) /* the operator's own: the iteration, and that there is one */
    if (s->b->inputs[i] == v) return true;
  for (uint32_t i = 0; i < s->c.n; i++)
    if (s->b->inputs[s->c.body_in + i] == v) return s->counter[i];
  if (value->producer == OX_NONE) return false;
  const ox_node *n = ox_graph_node(s->b, value->producer);
  if (!is_arithmetic(n)) return false;
  for (uint32_t i = 0; i < n->n_in; i++)
    if (n->in[i] != OX_NONE && !look(s, n->in[i], depth + 1)) return false;
  return true;
}

void ox_steady_init(ox_steady *s, const ox_graph *b, const ox_carried_values *c, bool *counter) {
  *s = (ox_steady){b, *c, counter};
  for (uint32_t i = 0; i < c->n; i++) counter[i] = true;
  for (bool again = true; again;) { /* one that is none takes those with it that are made of it */
    again = false;
    for (uint32_t i = 0; i < c->n; i++) {
      if (!counter[i] || look(s, b->outputs[c->body_out + i], 0)) continue;
      counter[i] = false, again = true;
    }
  }
}

bool ox_is_steady(const ox_steady *s, ox_id v) { return look(s, v, 0); }

bool ox_steady_end(const ox_steady *s) {
  for (uint32_t i = 0; i < s->c.body_out; i++)
    if (!look(s, s->b->outputs[i], 0)) return false;
  return true;
}
