/* SPDX-License-Identifier: Apache-2.0
 * graph/op_attrs.c - decodes attributes into an operator's struct, checks them and the inputs against its row. */
#include <stdio.h>
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

/* ---- ranges ---- */

/* An element of a list is called by its place; a scalar, whose |at| is -1, is not. */
static void name_of(const ox_attr_def *d, int64_t at, char text[96]) {
  if (at < 0)
    snprintf(text, 96, "%.64s", d->name);
  else
    snprintf(text, 96, "%.64s[%lld]", d->name, (long long)at);
}

static ox_status *check_int(const ox_attr_def *d, int64_t v, int64_t at) {
  char name[96];
  if (v >= d->lo && v <= d->hi) return NULL;
  name_of(d, at, name);
  return ox_fail(OX_INVALID_MODEL, "attribute '%s' is %lld, wanted %lld to %lld", name, (long long)v, (long long)d->lo,
                 (long long)d->hi);
}

static ox_status *check_float(const ox_attr_def *d, float v, int64_t at) {
  char name[96];
  if (v >= d->f_lo && v <= d->f_hi) return NULL; /* not of a NaN */
  name_of(d, at, name);
  return ox_fail(OX_INVALID_MODEL, "attribute '%s' is %g, wanted %g to %g", name, (double)v, (double)d->f_lo,
                 (double)d->f_hi);
}

static ox_status *check_range(const ox_attr_def *d, const ox_attr *a) {
  bool ints = d->lo || d->hi, floats = d->f_lo != 0 || d->f_hi != 0;
  if (!ints && !floats) return NULL;
  if (ints && d->kind == OX_ATTR_INT_KIND) return check_int(d, a->v.i, -1);
  if (floats && d->kind == OX_ATTR_FLOAT_KIND) return check_float(d, a->v.f, -1);
  for (size_t i = 0; i < a->v.n; i++) {
    if (ints && d->kind == OX_ATTR_INTS_KIND) OX_TRY(check_int(d, a->v.ints[i], (int64_t)i));
    if (floats && d->kind == OX_ATTR_FLOATS_KIND) OX_TRY(check_float(d, a->v.floats[i], (int64_t)i));
  }
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
    if (a) OX_TRY(ox_status_note(check_range(d, a), "%s", n->op));
    OX_TRY(decode_one(d, a, arena, base));
  }
  *out_attrs = base;
  return NULL;
}

/* ---- inputs ---- */

static ox_status *check_count(const ox_node *n, const char *what, uint32_t got, uint32_t least, uint32_t most) {
  if (got >= least && (most == OX_VARIADIC || got <= most)) return NULL;
  if (most == OX_VARIADIC) return ox_fail(OX_INVALID_MODEL, "%s has %u %s, wanted at least %u", n->op, got, what, least);
  return ox_fail(OX_INVALID_MODEL, "%s has %u %s, wanted %u to %u", n->op, got, what, least, most);
}

static const char *const value_kinds[] = {"tensor", "sequence", "map", "none", "sparse tensor"};

/* The element types that input |i| takes; 0: the row does not say. */
static uint32_t types_of(const ox_schema *schema, uint32_t i) {
  uint32_t mask = 0;
  if (i >= OX_TYPED_IN && schema->more_types) return schema->more_types[i - OX_TYPED_IN];
  for (uint32_t k = 0; k < OX_TYPED_IN && k <= i; k++)
    if (schema->types[k]) mask = schema->types[k];
  return mask;
}

static ox_status *check_input(const ox_schema *schema, const ox_node *n, uint32_t i, const ox_type *t) {
  uint32_t mask = types_of(schema, i);
  if (!(schema->traits & OX_ANY_KIND) && (t->kind != OX_TENSOR || t->optional))
    return ox_fail(OX_INVALID_MODEL, "%s: input %u is a%s %s, wanted a tensor", n->op, i,
                   t->optional ? "n optional" : "", t->kind < OX_COUNT(value_kinds) ? value_kinds[t->kind] : "value");
  if (!mask && !(schema->traits & (OX_VIEW | OX_ANY_KIND))) mask = OX_T_ALL;
  bool numbers = t->kind == OX_TENSOR || t->kind == OX_SPARSE;
  if (!mask || !numbers || t->dtype == OX_UNDEFINED || (mask & OX_BIT(t->dtype))) return NULL;
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

/* What a type variable stands for; OX_UNDEFINED: not known here. */
static uint32_t element_type(const ox_type *t) {
  if (!t || t->kind == OX_MAP) return OX_UNDEFINED;
  if (t->kind != OX_SEQUENCE || !t->elem) return t->dtype;
  return t->elem->kind == OX_TENSOR ? t->elem->dtype : OX_UNDEFINED;
}

/* Inputs whose type variable is the same are of one element type. */
static ox_status *check_vars(const ox_schema *schema, const ox_node *n, const ox_type *const *in) {
  uint32_t first[OX_TYPE_VARS] = {0}; /* the first input with a known type of each variable, + 1 */
  const char *var = schema->vars;
  if (!var || !*var) return NULL;
  for (uint32_t i = 0; i < n->n_in; i++) {
    uint32_t dtype = element_type(in[i]);
    if (*var != '.' && dtype) {
      uint32_t *at = &first[*var - 'A'];
      if (!*at) *at = i + 1;
      uint32_t want = element_type(in[*at - 1]);
      if (want != dtype)
        return ox_fail(OX_INVALID_MODEL, "%s: input %u is %s, but input %u is %s; wanted the same type", n->op, *at - 1,
                       ox_dtype_name(want), i, ox_dtype_name(dtype));
    }
    if (var[1])
      var++;
    else if (schema->max_in != OX_VARIADIC)
      break;
  }
  return NULL;
}

ox_status *ox_op_check(const ox_schema *schema, const ox_node *n, const ox_type *const *in) {
  uint32_t least_out = ox_schema_min_out(schema), most_out = schema->max_out ? schema->max_out : 1;
  OX_TRY(check_count(n, "inputs", n->n_in, schema->min_in, schema->max_in));
  OX_TRY(check_count(n, "outputs", n->n_out, least_out, most_out));
  for (uint32_t i = 0; i < n->n_in; i++) {
    if (in[i]) OX_TRY(check_input(schema, n, i, in[i]));
    else if (i < schema->min_in) return ox_fail(OX_INVALID_MODEL, "%s: input %u is required", n->op, i);
  }
  return check_vars(schema, n, in);
}
