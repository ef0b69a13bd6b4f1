/* SPDX-License-Identifier: Apache-2.0
 * graph/registry.c - tables of operators: checked when rows come in, sorted by (domain, name, since). */
#include "graph/registry.h"

#include <string.h>

#include "base/macros.h"

struct ox_registry {
  ox_alloc alloc;
  ox_arena arena; /* rows of plug-ins with structs of another size, brought to ours */
  const ox_registry *base;
  const ox_op **rows;
  size_t n_rows, capacity;
};

static const char *domain_of(const char *domain) { return domain && strcmp(domain, "ai.onnx") != 0 ? domain : ""; }

/* strcmp, called where the first letters do not tell: each look-up is a dozen of these. */
static int compare_text(const char *a, const char *b) {
  return *a != *b ? (unsigned char)*a - (unsigned char)*b : *a ? strcmp(a, b) : 0;
}

static int compare_key(const char *domain, const char *name, const ox_schema *row) {
  int c = row->domain ? compare_text(domain, domain_of(row->domain)) : (unsigned char)*domain;
  return c ? c : compare_text(name, row->name);
}

/* How many rows come before or at (domain, op, version). */
static size_t count_up_to(const ox_registry *r, const char *domain, const char *op, int64_t version) {
  size_t lo = 0, hi = r->n_rows;
  while (lo < hi) {
    size_t mid = lo + (hi - lo) / 2;
    const ox_schema *row = r->rows[mid]->schema;
    int c = compare_key(domain, op, row);
    if (c > 0 || (c == 0 && row->since <= version))
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

/* ---- checks ---- */

static const struct {
  uint32_t kind, bytes;
} fields[] = {
    {OX_ATTR_INT_KIND, sizeof(int64_t)},        {OX_ATTR_FLOAT_KIND, sizeof(float)},
    {OX_ATTR_STRING_KIND, sizeof(char *)},      {OX_ATTR_TENSOR_KIND, sizeof(ox_tensor *)},
    {OX_ATTR_GRAPH_KIND, sizeof(ox_graph *)},   {OX_ATTR_FLOATS_KIND, sizeof(ox_floats)},
    {OX_ATTR_INTS_KIND, sizeof(ox_ints)},       {OX_ATTR_STRINGS_KIND, sizeof(ox_strs)},
    {OX_ATTR_SPARSE_KIND, sizeof(ox_tensor *)}, {OX_ATTR_TYPE_KIND, sizeof(ox_type *)},
};

static const ox_attr_def *attr_row(const ox_schema *s, uint32_t i) {
  return (const void *)((const char *)s->attrs + (size_t)i * s->attr_row_bytes);
}

static ox_status *check_attr(const ox_schema *s, const ox_attr_def *a, uint32_t i) {
  uint32_t bytes = 0;
  if (!a->name) return ox_fail(OX_INVALID_ARGUMENT, "attribute %u has no name", i);
  for (size_t k = 0; k < OX_COUNT(fields); k++)
    if (fields[k].kind == a->kind) bytes = fields[k].bytes;
  if (!bytes) return ox_fail(OX_INVALID_ARGUMENT, "attribute '%s': no field holds kind %u", a->name, a->kind);
  if (a->offset > s->attrs_bytes || bytes > s->attrs_bytes - a->offset)
    return ox_fail(OX_INVALID_ARGUMENT, "attribute '%s' at byte %u does not fit into the %u bytes of the struct",
                   a->name, a->offset, s->attrs_bytes);
  if (s->attr_row_bytes >= offsetof(ox_attr_def, f_hi) + sizeof a->f_hi && !(a->lo <= a->hi && a->f_lo <= a->f_hi))
    return ox_fail(OX_INVALID_ARGUMENT, "attribute '%s': its range ends before it begins", a->name);
  if (a->has_offset != OX_NO_FIELD && a->has_offset >= s->attrs_bytes)
    return ox_fail(OX_INVALID_ARGUMENT, "attribute '%s': its presence at byte %u is beyond the %u bytes of the struct",
                   a->name, a->has_offset, s->attrs_bytes);
  return NULL;
}

static bool counts_ok(uint8_t least, uint8_t most) { return most == OX_VARIADIC || least <= most; }

/* Whether |s|, by its size, has the field. */
#define HAS(s, field) ((s)->struct_size >= offsetof(ox_schema, field) + sizeof(s)->field)

static ox_status *check_vars(const ox_schema *s) {
  const char *vars = HAS(s, vars) ? s->vars : NULL;
  for (size_t i = 0; vars && vars[i]; i++) {
    if (vars[i] != '.' && (vars[i] < 'A' || vars[i] > 'Z'))
      return ox_fail(OX_INVALID_ARGUMENT, "vars \"%s\": wanted letters A to Z and '.'", vars);
    if (i >= s->max_in) return ox_fail(OX_INVALID_ARGUMENT, "vars \"%s\" for %u inputs", vars, s->max_in);
  }
  return NULL;
}

static ox_status *check_schema(const ox_schema *s) {
  if (s->since < 1) return ox_fail(OX_INVALID_ARGUMENT, "since is %d", (int)s->since);
  if (!s->infer) return ox_fail(OX_INVALID_ARGUMENT, "infer is NULL");
  if (!counts_ok(s->min_in, s->max_in)) return ox_fail(OX_INVALID_ARGUMENT, "%u to %u inputs", s->min_in, s->max_in);
  if (!counts_ok(s->min_out, s->max_out))
    return ox_fail(OX_INVALID_ARGUMENT, "%u to %u outputs", s->min_out, s->max_out);
  OX_TRY(check_vars(s));
  if (HAS(s, more_types) && s->more_types && (s->max_in <= OX_TYPED_IN || s->max_in == OX_VARIADIC))
    return ox_fail(OX_INVALID_ARGUMENT, "more_types for %u inputs", s->max_in);
  if (!s->n_attrs) return NULL;
  if (!s->attrs || s->attr_row_bytes < OX_ATTR_DEF_SIZE_1_0)
    return ox_fail(OX_INVALID_ARGUMENT, "%u attributes in rows of %u bytes, wanted a table in rows of at least %zu",
                   s->n_attrs, s->attr_row_bytes, OX_ATTR_DEF_SIZE_1_0);
  for (uint32_t i = 0; i < s->n_attrs; i++) OX_TRY(check_attr(s, attr_row(s, i), i));
  return NULL;
}

static ox_status *check_kernel(const ox_schema *s, const ox_kernel_def *k) {
  if (!k) return NULL;
  if (k->struct_size < OX_KERNEL_SIZE_1_0)
    return ox_fail(OX_INVALID_ARGUMENT, "ox_kernel_def: struct_size is %u", k->struct_size);
  if (!k->run && !(s->traits & OX_VIEW)) return ox_fail(OX_INVALID_ARGUMENT, "a kernel without run");
  return NULL;
}

static ox_status *check_row(const ox_op *op) {
  const ox_schema *s = op->schema;
  if (!s) return ox_fail(OX_INVALID_ARGUMENT, "an operator's schema is NULL");
  if (s->struct_size < OX_SCHEMA_SIZE_1_0)
    return ox_fail(OX_INVALID_ARGUMENT, "ox_schema: struct_size is %u, wanted at least %zu", s->struct_size,
                   OX_SCHEMA_SIZE_1_0);
  if (!s->name || !*s->name) return ox_fail(OX_INVALID_ARGUMENT, "an operator has no name");
  ox_status *st = check_schema(s);
  if (!st) st = check_kernel(s, op->kernel);
  const char *domain = domain_of(s->domain);
  return ox_status_note(st, "operator %s%s%s (since %d)", domain, *domain ? "." : "", s->name, (int)s->since);
}

/* ---- rows in our size: what a shorter struct lacks is zero ---- */

static ox_status *adopt(ox_registry *r, const ox_op *theirs, const ox_op **out) {
  const ox_schema *s = theirs->schema;
  const ox_kernel_def *k = theirs->kernel;
  bool same_rows = !s->n_attrs || s->attr_row_bytes == sizeof(ox_attr_def);
  *out = theirs;
  if (same_rows && s->struct_size >= sizeof *s && (!k || k->struct_size >= sizeof *k)) return NULL;
  ox_op *op = OX_ARENA_NEW(&r->arena, ox_op);
  ox_schema *schema = OX_ARENA_NEW(&r->arena, ox_schema);
  ox_kernel_def *kernel = OX_ARENA_NEW(&r->arena, ox_kernel_def);
  ox_attr_def *attrs = OX_ARENA_ARRAY(&r->arena, ox_attr_def, s->n_attrs);
  if (!op || !schema || !kernel || !attrs) return ox_oom();
  memcpy(schema, s, OX_MIN(s->struct_size, sizeof *schema));
  for (uint32_t i = 0; i < s->n_attrs; i++) memcpy(&attrs[i], attr_row(s, i), OX_MIN(s->attr_row_bytes, sizeof *attrs));
  if (k) memcpy(kernel, k, OX_MIN(k->struct_size, sizeof *kernel));
  schema->attrs = attrs;
  *op = (ox_op){schema, k ? kernel : NULL};
  *out = op;
  return NULL;
}

static ox_status *insert(ox_registry *r, const ox_op *op) {
  const ox_schema *s = op->schema;
  const char *domain = domain_of(s->domain);
  size_t at = count_up_to(r, domain, s->name, s->since);
  if (at && compare_key(domain, s->name, r->rows[at - 1]->schema) == 0 && r->rows[at - 1]->schema->since == s->since)
    return ox_fail(OX_INVALID_ARGUMENT, "operator %s%s%s (since %d) is there twice", domain, *domain ? "." : "",
                   s->name, (int)s->since);
  if (!ox_grow(r->alloc, (void **)(void *)&r->rows, &r->capacity, r->n_rows, sizeof *r->rows)) return ox_oom();
  memmove(&r->rows[at + 1], &r->rows[at], (r->n_rows - at) * sizeof *r->rows);
  r->rows[at] = op, r->n_rows++;
  return NULL;
}

static void take_out(ox_registry *r, const ox_op *op) {
  size_t n = 0;
  for (size_t i = 0; i < r->n_rows; i++)
    if (r->rows[i] != op) r->rows[n++] = r->rows[i];
  r->n_rows = n;
}

/* ---- the interface ---- */

ox_status *ox_registry_create(ox_alloc alloc, const ox_registry *base, ox_registry **out_registry) {
  *out_registry = NULL;
  ox_registry *r = ox_new_zeroed(alloc, sizeof *r);
  if (!r) return ox_oom();
  r->alloc = alloc, r->base = base;
  ox_arena_init(&r->arena, alloc);
  *out_registry = r;
  return NULL;
}

void ox_registry_destroy(ox_registry *r) {
  if (!r) return;
  ox_delete(r->alloc, (void *)r->rows, r->capacity * sizeof *r->rows);
  ox_arena_deinit(&r->arena);
  ox_delete(r->alloc, r, sizeof *r);
}

ox_status *ox_registry_add(ox_registry *r, const ox_op *rows, size_t n) {
  const ox_op **mine = ox_new_zeroed(r->alloc, n * sizeof *mine);
  ox_status *st = mine ? NULL : ox_oom();
  size_t done = 0;
  for (size_t i = 0; !st && i < n; i++) {
    st = check_row(&rows[i]);
    if (!st) st = adopt(r, &rows[i], &mine[i]);
    if (!st) st = insert(r, mine[i]);
    if (!st) done++;
  }
  for (size_t i = 0; st && i < done; i++) take_out(r, mine[i]);
  ox_delete(r->alloc, (void *)mine, n * sizeof *mine);
  return st;
}

const ox_op *ox_registry_find(const ox_registry *r, const char *domain, const char *op, int64_t version) {
  domain = domain_of(domain);
  for (; r; r = r->base) {
    size_t n = count_up_to(r, domain, op, version);
    if (n && compare_key(domain, op, r->rows[n - 1]->schema) == 0) return r->rows[n - 1];
  }
  return NULL;
}

const ox_op *const *ox_registry_all(const ox_registry *r, size_t *out_n) {
  *out_n = r->n_rows;
  return r->rows;
}

const ox_registry *ox_registry_base(const ox_registry *r) { return r->base; }

const ox_op *ox_node_op(const ox_model *m, const ox_node *n, uint32_t *out_version) {
  int64_t v = ox_node_version(m, n);
  if (v <= 0) v = 1; /* an operator of ours in a model that does not import its domain */
  if (v > INT32_MAX) v = INT32_MAX;
  if (out_version) *out_version = (uint32_t)v;
  const char *domain = strcmp(n->domain, OX_NHWC_DOMAIN) == 0 ? "" : n->domain;
  return ox_registry_find(m->registry, domain, n->op, v);
}

const ox_schema *ox_node_schema(const ox_model *m, const ox_node *n, uint32_t *out_version) {
  const ox_op *op = ox_node_op(m, n, out_version);
  return op ? op->schema : NULL;
}
