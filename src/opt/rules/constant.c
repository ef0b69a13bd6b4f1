/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/constant.c - Constant => a constant value. Shrinks the number of nodes. */
#include <string.h>

#include "opt/match.h"

static const ox_pat constant[] = {{.op = "Constant"}};

static const ox_attr *content(const ox_node *n) {
  for (uint32_t i = 0; i < n->n_attrs; i++)
    if (strncmp(n->attrs[i].name, "value", 5) == 0) return &n->attrs[i];
  return NULL;
}

static bool guard(const ox_graph *g, const ox_match *m) {
  const ox_node *n = &g->nodes[m->node[0]];
  const ox_attr *a = content(n);
  if (!a || g->values[n->out[0]].is_output) return false;
  switch (a->v.kind) {
    case OX_ATTR_TENSOR_KIND:
      return a->v.tensor && a->v.tensor->kind == OX_TENSOR;
    case OX_ATTR_INT_KIND:
    case OX_ATTR_FLOAT_KIND:
    case OX_ATTR_INTS_KIND:
    case OX_ATTR_FLOATS_KIND:
    case OX_ATTR_STRING_KIND:
    case OX_ATTR_STRINGS_KIND:
      return true;
    default:
      return false;
  }
}

/* Numbers and strings live in the attribute, hence in the arena or the mapped file: they are borrowed. */
static ox_status *apply(ox_graph *g, const ox_match *m) {
  const ox_node *n = &g->nodes[m->node[0]];
  ox_attr *a = ox_arena_copy(&g->model->arena, content(n), sizeof *a);
  if (!a) return ox_oom();
  ox_attr_view *v = &a->v;
  ox_shape list = ox_shape_of(1, (int64_t[]){(int64_t)v->n}), scalar = ox_shape_scalar();
  ox_tensor t;
  switch (v->kind) {
    case OX_ATTR_TENSOR_KIND:
      t = *v->tensor;
      break;
    case OX_ATTR_INT_KIND:
      t = ox_tensor_view(OX_I64, &scalar, &v->i);
      break;
    case OX_ATTR_FLOAT_KIND:
      t = ox_tensor_view(OX_F32, &scalar, &v->f);
      break;
    case OX_ATTR_STRING_KIND:
      t = ox_tensor_view(OX_STRING, &scalar, &v->s);
      break;
    case OX_ATTR_INTS_KIND:
      t = ox_tensor_view(OX_I64, &list, (void *)v->ints);
      break;
    case OX_ATTR_FLOATS_KIND:
      t = ox_tensor_view(OX_F32, &list, (void *)v->floats);
      break;
    default:
      t = ox_tensor_view(OX_STRING, &list, (void *)v->strings);
      break;
  }
  OX_TRY(ox_graph_make_const(g, n->out[0], &t));
  ox_graph_remove_node(g, m->node[0]);
  return NULL;
}

static const ox_rule rules[] = {{"constant", OX_LEVEL_BASIC, OX_PATTERN(constant), guard, apply, false}};
const ox_rule_set ox_rules_constant = {rules, OX_COUNT(rules)};
