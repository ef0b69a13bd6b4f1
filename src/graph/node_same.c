/* SPDX-License-Identifier: Apache-2.0
 * graph/node_same.c - see node_same.h. */
#include "graph/node_same.h"

#include <string.h>

static bool attr_equal(const ox_attr *a, const ox_attr *b) {
  const ox_attr_view *x = &a->v, *y = &b->v;
  if (x->kind != y->kind) return false;
  switch (x->kind) {
    case OX_ATTR_INT_KIND:
      return x->i == y->i;
    case OX_ATTR_FLOAT_KIND:
      return memcmp(&x->f, &y->f, sizeof x->f) == 0;
    case OX_ATTR_STRING_KIND:
      return x->s.n == y->s.n && (!x->s.n || memcmp(x->s.p, y->s.p, x->s.n) == 0);
    case OX_ATTR_INTS_KIND:
      return x->n == y->n && (!x->n || memcmp(x->ints, y->ints, x->n * sizeof *x->ints) == 0);
    case OX_ATTR_FLOATS_KIND:
      return x->n == y->n && (!x->n || memcmp(x->floats, y->floats, x->n * sizeof *x->floats) == 0);
    default:
      return false; /* tensors, graphs and the like are not compared */
  }
}

bool ox_node_attrs_same(const ox_node *a, const ox_node *b) {
  if (a->n_attrs != b->n_attrs) return false;
  for (uint32_t i = 0; i < a->n_attrs; i++) {
    const ox_attr *other = ox_node_attr(b, a->attrs[i].name);
    if (!other || !attr_equal(&a->attrs[i], other)) return false;
  }
  return true;
}
