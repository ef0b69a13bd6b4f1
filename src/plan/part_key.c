/* SPDX-License-Identifier: Apache-2.0
 * plan/part_key.c - see part_key.h. */
#include "plan/part_key.h"

#include "base/macros.h"

static void add_type(ox_digest *h, const ox_type *t) {
  ox_digest_u64(h,
                t->kind | (uint64_t)t->dtype << 8 | (uint64_t)t->key_dtype << 16 | (uint64_t)(t->optional != 0) << 24);
  ox_digest_u64(h, (uint64_t)(int64_t)t->shape.rank);
  for (int d = 0; d < t->shape.rank; d++) ox_digest_u64(h, (uint64_t)t->shape.dim[d]);
  if (t->elem) add_type(h, t->elem);
}

static void add_tensor(ox_digest *h, const ox_tensor *t) {
  const ox_type type = {.kind = t->kind, .dtype = t->dtype, .shape = t->shape};
  add_type(h, &type);
  if (t->kind == OX_SPARSE) {
    for (int i = 0; i < 2; i++) add_tensor(h, (const ox_tensor *)t->data + i);
  } else if (t->dtype == OX_STRING) {
    const ox_str *s = t->data;
    for (size_t i = 0; i < t->bytes / sizeof *s; i++) ox_digest_bytes(h, s[i].p, s[i].n);
  } else {
    ox_digest_bytes(h, t->data, t->data ? t->bytes : 0);
  }
}

static void add_attr(ox_digest *h, const ox_attr *a) {
  ox_digest_text(h, a->name);
  ox_digest_u64(h, a->v.kind);
  ox_digest_u64(h, (uint64_t)a->v.i);
  ox_digest_bytes(h, &a->v.f, sizeof a->v.f);
  ox_digest_bytes(h, a->v.s.p, a->v.s.n);
  ox_digest_u64(h, a->v.n);
  for (size_t i = 0; a->v.ints && i < a->v.n; i++) ox_digest_u64(h, (uint64_t)a->v.ints[i]);
  if (a->v.floats) ox_digest_bytes(h, a->v.floats, a->v.n * sizeof *a->v.floats);
  for (size_t i = 0; a->v.strings && i < a->v.n; i++) ox_digest_bytes(h, a->v.strings[i].p, a->v.strings[i].n);
  bool many = a->v.kind == OX_ATTR_TENSORS_KIND || a->v.kind == OX_ATTR_SPARSES_KIND;
  for (size_t i = 0; a->v.tensor && i < (many ? a->v.n : 1); i++) add_tensor(h, &a->v.tensor[i]);
  for (size_t i = 0; a->types && i < OX_MAX(a->v.n, 1); i++) add_type(h, &a->types[i]);
  if (a->graph) ox_part_digest(h, a->graph);
  for (size_t i = 0; a->graphs && i < a->v.n; i++) ox_part_digest(h, a->graphs[i]);
}

static void add_ids(ox_digest *h, const ox_id *ids, uint32_t n) {
  ox_digest_u64(h, n);
  for (uint32_t i = 0; i < n; i++) ox_digest_u64(h, ids[i]);
}

void ox_part_digest(ox_digest *h, const ox_graph *part) {
  for (ox_id i = 0; i < part->n_nodes; i++) {
    const ox_node *n = &part->nodes[i];
    if (n->dead) continue;
    ox_digest_text(h, n->domain);
    ox_digest_text(h, n->op);
    ox_digest_u64(h, (uint64_t)ox_node_version(part->model, n));
    add_ids(h, n->in, n->n_in);
    add_ids(h, n->out, n->n_out);
    for (uint32_t k = 0; k < n->n_attrs; k++) add_attr(h, &n->attrs[k]);
  }
  for (ox_id v = 0; v < part->n_values; v++) {
    const ox_graph_value *value = &part->values[v];
    if (value->dead) continue;
    add_type(h, &value->type);
    ox_digest_u64(h, value->outer);
    if (value->init) add_tensor(h, ox_graph_init(part, v));
  }
  add_ids(h, part->inputs, part->n_inputs);
  add_ids(h, part->outputs, part->n_outputs);
}
