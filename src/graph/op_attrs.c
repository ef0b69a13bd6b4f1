/* SPDX-License-Identifier: Apache-2.0
 * graph/op_attrs.c - decodes attributes into an operator's struct, checks inputs against its row. */
#include <string.h>

#include "base/macros.h"
#include "graph/registry.h"

static const char *const kind_names[] = {"undefined", "float", "int",     "string", "tensor",       "graph",
                                         "floats",    "ints",  "strings", "tensors", "graphs", "sparse_tensor",
                                         "sparse_tensors", "type", "types"};

static const char *kind_name(uint32_t kind) { return kind < OX_COUNT(kind_names) ? kind_names[kind] : "unknown"; }

static ox_status *decode_one(const ox_attr_def *d, const ox_attr *a, ox_arena *arena, char *base) {
  void *field = base + d->offset;
  switch (d->kind) {
    case OX_ATTR_INT_KIND: *(int64_t *)field = a ? a->v.i : d->i; break;
    case OX_ATTR_FLOAT_KIND: *(float *)field = a ? a->v.f : d->f; break;
    case OX_ATTR_STRING_KIND: {
      const char *s = d->s;
      if (a && !(s = ox_arena_str(arena, a->v.s.p, a->v.s.n))) return ox_oom();
      *(const char **)field = s;
      break;
    }
    case OX_ATTR_INTS_KIND: *(ox_ints *)field = a ? (ox_ints){a->v.n, a->v.ints} : (ox_ints){0, NULL}; break;
    case OX_ATTR_FLOATS_KIND: *(ox_floats *)field = a ? (ox_floats){a->v.n, a->v.floats} : (ox_floats){0, NULL}; break;
    case OX_ATTR_STRINGS_KIND: *(ox_strs *)field = a ? (ox_strs){a->v.n, a->v.strings} : (ox_strs){0, NULL}; break;
    case OX_ATTR_TENSOR_KIND:
    case OX_ATTR_SPARSE_KIND: *(const ox_tensor **)field = a ? a->v.tensor : NULL; break;
    case OX_ATTR_GRAPH_KIND: *(ox_graph **)field = a ? a->graph : NULL; break;
    case OX_ATTR_TYPE_KIND: *(const ox_type **)field = a ? a->types : NULL; break;
    default: return ox_fail(OX_FAIL, "attribute '%s' has a kind no operator decodes", d->name);
  }
  if (d->has_offset != OX_NO_FIELD) *(uint8_t *)(base + d->has_offset) = a != NULL; /* 0 and 1 are a bool's bytes, too */
  return NULL;
}

ox_status *ox_attrs_decode(const ox_schema *schema, const ox_node *n, ox_arena *arena, void **out_attrs) {
  *out_attrs = NULL;
  if (!schema->attrs_bytes) return NULL;
  char *base = ox_arena_alloc(arena, schema->attrs_bytes);
  if (!base) return ox_oom();
  for (uint32_t i = 0; i < schema->n_attrs; i++) {
    const ox_attr_def *d = &schema->attrs[i];
    const ox_attr *a = ox_node_attr(n, d->name);
    if (!a && d->required)
      return ox_fail(OX_INVALID_MODEL, "%s needs the attribute '%s' (%s)", n->op, d->name, kind_name(d->kind));
    /* an empty list may be written without its kind's elements; a list of one may not stand for a scalar */
    if (a && a->v.kind != d->kind)
      return ox_fail(OX_INVALID_MODEL, "attribute '%s' of %s: wanted %s, got %s", d->name, n->op, kind_name(d->kind),
                     kind_name(a->v.kind));
    OX_TRY(decode_one(d, a, arena, base));
  }
  *out_attrs = base;
  return NULL;
}

static ox_status *check_count(const ox_node *n, const char *what, uint32_t got, uint32_t least, uint32_t most) {
  if (got >= least && (most == OX_VARIADIC || got <= most)) return NULL;
  if (most == OX_VARIADIC) return ox_fail(OX_INVALID_MODEL, "%s has %u %s, wanted at least %u", n->op, got, what, least);
  return ox_fail(OX_INVALID_MODEL, "%s has %u %s, wanted %u to %u", n->op, got, what, least, most);
}

static const char *const value_kinds[] = {"tensor", "sequence", "map", "none", "sparse tensor"};

static ox_status *check_input(const ox_schema *schema, const ox_node *n, uint32_t i, const ox_type *t) {
  uint32_t typed = 0, mask = 0;
  for (uint32_t k = 0; k < OX_TYPED_IN; k++)
    if (schema->types[k]) typed = k + 1;
  if (!(schema->traits & OX_ANY_KIND) && (t->kind != OX_TENSOR || t->optional))
    return ox_fail(OX_INVALID_MODEL, "%s: input %u is a%s %s, wanted a tensor", n->op, i, t->optional ? "n optional" : "",
                   t->kind < OX_COUNT(value_kinds) ? value_kinds[t->kind] : "value");
  for (uint32_t k = 0; k < typed && k <= i; k++)
    if (schema->types[k]) mask = schema->types[k];
  if (!mask && !(schema->traits & (OX_VIEW | OX_ANY_KIND))) mask = OX_T_ALL;
  if (!mask || t->kind != OX_TENSOR || t->dtype == OX_UNDEFINED || (mask & OX_BIT(t->dtype))) return NULL;
  char want[512];
  size_t at = 0;
  want[0] = 0;
  for (uint32_t d = 1; d < OX_DTYPE_COUNT; d++)
    if (mask & OX_BIT(d) && at + 24 < sizeof want) {
      size_t len = strlen(ox_dtype_name(d));
      if (at) want[at++] = ' ';
      memcpy(want + at, ox_dtype_name(d), len + 1), at += len;
    }
  return ox_fail(OX_INVALID_MODEL, "%s: input %u is %s, wanted one of: %s", n->op, i, ox_dtype_name(t->dtype), want);
}

ox_status *ox_op_check(const ox_schema *schema, const ox_node *n, const ox_type *const *in) {
  uint32_t least_out = schema->max_out ? schema->min_out : 1, most_out = schema->max_out ? schema->max_out : 1;
  OX_TRY(check_count(n, "inputs", n->n_in, schema->min_in, schema->max_in));
  OX_TRY(check_count(n, "outputs", n->n_out, least_out, most_out));
  for (uint32_t i = 0; i < n->n_in; i++) {
    if (in[i]) OX_TRY(check_input(schema, n, i, in[i]));
    else if (i < schema->min_in) return ox_fail(OX_INVALID_MODEL, "%s: input %u is required", n->op, i);
  }
  return NULL;
}
