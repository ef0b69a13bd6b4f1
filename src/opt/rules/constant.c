/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/constant.c - Constant => a constant value. Shrinks the number of nodes. */
#include "base/status.h"
#include "onyx/rewrite.h"

static const ox_pat constant[] = {{.op = "Constant"}};

/* The attribute value, value_float, value_ints ... */
static const ox_attr_view *content(const ox_rewrite *g, ox_id node) {
  for (uint32_t i = 0; i < g->api->attr_count(g, node); i++) {
    const char *name = g->api->attr_name(g, node, i);
    if (strncmp(name, "value", 5) == 0) return ox_attr_of(g, node, name);
  }
  return NULL;
}

static int guard(const ox_rewrite *g, ox_match *m) {
  const ox_attr_view *a = content(g, m->node[0]);
  if (!a || ox_is_output(g, ox_out(g, m->node[0], 0))) return 0;
  switch (a->kind) {
    case OX_ATTR_TENSOR_KIND:
      return a->tensor && a->tensor->kind == OX_TENSOR;
    case OX_ATTR_INT_KIND:
    case OX_ATTR_FLOAT_KIND:
    case OX_ATTR_INTS_KIND:
    case OX_ATTR_FLOATS_KIND:
    case OX_ATTR_STRING_KIND:
    case OX_ATTR_STRINGS_KIND:
      return 1;
    default:
      return 0;
  }
}

/* |n| elements of |bytes| each as a list, or |n| 1 as a scalar. */
static ox_tensor view(uint32_t dtype, const void *data, size_t n, size_t bytes, int rank) {
  ox_tensor t = {.dtype = dtype, .data = (void *)data, .bytes = n * bytes, .shape = {.rank = rank}};
  if (rank) t.shape.dim[0] = (int64_t)n;
  return t;
}

/* Lists live in the attribute, hence as long as the model: they are borrowed. What is in the view itself is copied. */
static ox_status *apply(const ox_rewrite *g, const ox_match *m) {
  const ox_attr_view *from = content(g, m->node[0]);
  ox_attr_view *a = g->api->model_alloc(g, sizeof *a);
  if (!a) return ox_no_memory(g);
  *a = *from;
  ox_tensor t;
  switch (a->kind) {
    case OX_ATTR_TENSOR_KIND:
      t = *a->tensor;
      break;
    case OX_ATTR_INT_KIND:
      t = view(OX_I64, &a->i, 1, sizeof a->i, 0);
      break;
    case OX_ATTR_FLOAT_KIND:
      t = view(OX_F32, &a->f, 1, sizeof a->f, 0);
      break;
    case OX_ATTR_STRING_KIND:
      t = view(OX_STRING, &a->s, 1, sizeof a->s, 0);
      break;
    case OX_ATTR_INTS_KIND:
      t = view(OX_I64, a->ints, a->n, sizeof *a->ints, 1);
      break;
    case OX_ATTR_FLOATS_KIND:
      t = view(OX_F32, a->floats, a->n, sizeof *a->floats, 1);
      break;
    default:
      t = view(OX_STRING, a->strings, a->n, sizeof *a->strings, 1);
      break;
  }
  OX_TRY(g->api->make_const(g, ox_out(g, m->node[0], 0), &t));
  return ox_remove(g, m->node[0]);
}

static const ox_rule rules[] = {{OX_RULE("constant", OX_OPTIMIZE_BASIC, constant, guard, apply)}};
const ox_rule_set ox_rules_constant = OX_RULE_SET(rules);
