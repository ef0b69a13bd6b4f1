/* SPDX-License-Identifier: Apache-2.0
 * opt/query.c - the questions rules ask about values, constants and attributes, and their common edits. */
#include <math.h>
#include <string.h>

#include "opt/match.h"

ox_id ox_up(const ox_graph *g, ox_id v, const char *op) {
  if (v == OX_NONE || g->values[v].producer == OX_NONE || g->values[v].producer_slot) return OX_NONE;
  const ox_node *n = &g->nodes[g->values[v].producer];
  return n->n_in && n->in[0] != OX_NONE && ox_node_is(n, op, NULL) ? g->values[v].producer : OX_NONE;
}

ox_id ox_up1(const ox_graph *g, ox_id v, const char *op) {
  return v != OX_NONE && ox_graph_use_count(g, v) == 1 ? ox_up(g, v, op) : OX_NONE;
}

ox_id ox_only_user(const ox_graph *g, ox_id v) {
  return g->values[v].n_uses == 1 && ox_graph_use_count(g, v) == 1 ? g->values[v].uses[0].node : OX_NONE;
}

bool ox_used_only_by(const ox_graph *g, ox_id v, const ox_id *nodes, uint32_t n) {
  const ox_graph_value *value = &g->values[v];
  if (value->is_output || value->n_inner_uses) return false;
  for (uint32_t i = 0; i < value->n_uses; i++) {
    uint32_t k = 0;
    while (k < n && nodes[k] != value->uses[i].node) k++;
    if (k == n) return false;
  }
  return true;
}

uint32_t ox_dtype_of(const ox_graph *g, ox_id v) {
  return v != OX_NONE && g->values[v].type.kind == OX_TENSOR ? g->values[v].type.dtype : OX_UNDEFINED;
}

int64_t ox_attr_i(const ox_node *n, const char *name, int64_t absent) {
  const ox_attr *a = ox_node_attr(n, name);
  return a && a->v.kind == OX_ATTR_INT_KIND ? a->v.i : absent;
}

float ox_attr_f(const ox_node *n, const char *name, float absent) {
  const ox_attr *a = ox_node_attr(n, name);
  return a && a->v.kind == OX_ATTR_FLOAT_KIND ? a->v.f : absent;
}

bool ox_attr_is(const ox_node *n, const char *name, const char *text, bool absent) {
  const ox_attr *a = ox_node_attr(n, name);
  if (!a || a->v.kind != OX_ATTR_STRING_KIND) return absent;
  return a->v.s.n == strlen(text) && memcmp(a->v.s.p, text, a->v.s.n) == 0;
}

double ox_tensor_at(const ox_tensor *t, int64_t i) {
  const void *p = t->data;
  switch (t->dtype) {
    case OX_F32:
      return (double)((const ox_f32u *)p)[i];
    case OX_F64:
      return ((const ox_f64u *)p)[i];
    case OX_F16:
      return (double)ox_f16_to_f32(((const ox_u16u *)p)[i]);
    case OX_BF16:
      return (double)ox_bf16_to_f32(((const ox_u16u *)p)[i]);
    case OX_I64:
      return (double)((const ox_i64u *)p)[i];
    case OX_U64:
      return (double)(uint64_t)((const ox_i64u *)p)[i];
    case OX_I32:
      return ((const ox_i32u *)p)[i];
    case OX_U32:
      return ((const ox_u32u *)p)[i];
    case OX_I16:
      return (int16_t)((const ox_u16u *)p)[i];
    case OX_U16:
      return ((const ox_u16u *)p)[i];
    case OX_I8:
      return ((const int8_t *)p)[i];
    case OX_U8:
    case OX_BOOL:
      return ((const uint8_t *)p)[i];
    default:
      return NAN;
  }
}

bool ox_const_scalar(const ox_graph *g, ox_id v, double *out) {
  const ox_tensor *t = ox_graph_const(g, v);
  if (!t || t->kind != OX_TENSOR || !t->data || ox_shape_count(&t->shape) != 1) return false;
  *out = ox_tensor_at(t, 0);
  return !isnan(*out);
}

bool ox_const_near(const ox_graph *g, ox_id v, double want) {
  double got;
  if (!ox_const_scalar(g, v, &got)) return false;
  return want == 0 || want == 1 ? got == want : fabs(got - want) <= 1e-3 * fabs(want);
}

bool ox_const_all(const ox_graph *g, ox_id v, double want, int64_t limit) {
  const ox_tensor *t = ox_graph_const(g, v);
  int64_t n = t && t->kind == OX_TENSOR && t->data ? ox_shape_count(&t->shape) : -1;
  if (n < 1 || n > limit) return false;
  for (int64_t i = 0; i < n; i++)
    if (!(ox_tensor_at(t, i) == want)) return false;
  return true;
}

bool ox_const_ints(const ox_graph *g, ox_id v, int64_t *out, int max, int *out_n) {
  const ox_tensor *t = ox_graph_const(g, v);
  int64_t n = t && t->kind == OX_TENSOR ? ox_shape_count(&t->shape) : -1;
  if (n < 0 || n > max || (n && !t->data) || (t->dtype != OX_I64 && t->dtype != OX_I32)) return false;
  for (int64_t i = 0; i < n; i++)
    out[i] = t->dtype == OX_I64 ? ((const ox_i64u *)t->data)[i] : ((const ox_i32u *)t->data)[i];
  *out_n = (int)n;
  return true;
}

bool ox_list_of(const ox_graph *g, ox_id node, const char *name, uint32_t slot, int64_t *out, int max, int *out_n) {
  const ox_attr *a = ox_node_attr(&g->nodes[node], name);
  *out_n = -1;
  if (a && a->v.kind == OX_ATTR_INTS_KIND) {
    if (a->v.n > (size_t)max) return false;
    for (size_t i = 0; i < a->v.n; i++) out[i] = a->v.ints[i];
    *out_n = (int)a->v.n;
    return true;
  }
  ox_id v = ox_in(g, node, slot);
  return v == OX_NONE || ox_const_ints(g, v, out, max, out_n);
}

bool ox_op_serves(const ox_graph *g, const char *domain, const char *op, uint32_t dtype) {
  ox_node n = {.op = op, .domain = domain ? domain : ""};
  const ox_schema *def = ox_node_schema(g->model, &n, NULL);
  return def && dtype && (!def->types[0] || (def->types[0] & OX_BIT(dtype)));
}

/* ---- edits ---- */

ox_status *ox_node_remake(ox_graph *g, ox_id node, const char *domain, const char *op, const ox_id *in, uint32_t n_in) {
  ox_node *n = &g->nodes[node];
  OX_TRY(ox_node_become(g, node, domain, op));
  n->n_attrs = 0;
  for (uint32_t i = n_in; i < n->n_in; i++) OX_TRY(ox_node_set_input(g, node, i, OX_NONE));
  for (uint32_t i = 0; i < n_in; i++) OX_TRY(ox_node_set_input(g, node, i, in[i]));
  if (n->n_in > n_in) n->n_in = n_in;
  return NULL;
}

ox_status *ox_graph_emit(ox_graph *g, const char *op, const char *domain, const ox_id *in, uint32_t n_in,
                         ox_id *out_node, ox_id *out_value) {
  OX_TRY(ox_graph_add_value(g, NULL, out_value));
  OX_TRY(ox_graph_add_node(g, op, domain, "", in, n_in, out_value, 1, out_node));
  return ox_infer_node(g, *out_node);
}

ox_status *ox_graph_f32_room(ox_graph *g, const char *name, int rank, const int64_t *dims, float **out_data,
                             ox_id *out_value) {
  ox_shape s = ox_shape_of(rank, dims);
  size_t bytes;
  if (!ox_dtype_bytes(OX_F32, ox_shape_count(&s), &bytes)) return ox_fail(OX_LIMIT, "constant is too large");
  *out_data = ox_arena_alloc(&g->model->arena, bytes);
  if (!*out_data) return ox_oom();
  ox_tensor t = ox_tensor_view(OX_F32, &s, *out_data);
  return ox_graph_add_const(g, name, &t, out_value);
}

ox_status *ox_graph_f32_const(ox_graph *g, const char *name, int rank, const int64_t *dims, const double *data,
                              ox_id *out_value) {
  float *p;
  OX_TRY(ox_graph_f32_room(g, name, rank, dims, &p, out_value));
  int64_t n = ox_shape_count(ox_shape_at(g, *out_value));
  for (int64_t i = 0; i < n; i++) p[i] = (float)data[i];
  return NULL;
}
