/* SPDX-License-Identifier: Apache-2.0
 * ops/ml_tree_ensemble5.c - TreeEnsemble of ai.onnx.ml 5: nodes and leaves in separate lists, sets as branch tests. */
#include <math.h>

#include "ops/ml/ml_trees.h"

typedef struct tree5_attrs {
  int64_t aggregate_function, post_transform, n_targets;
  ox_ints tree_roots, nodes_featureids, nodes_truenodeids, nodes_falsenodeids, nodes_trueleafs, nodes_falseleafs;
  ox_ints nodes_missing_value_tracks_true, leaf_targetids;
  const ox_tensor *nodes_splits, *nodes_modes, *leaf_weights, *membership_values;
} tree5_attrs;

static const ox_attr_def attrs[] = {
    OX_ATTR_INT_IN(tree5_attrs, aggregate_function, 1, 0, 3),
    OX_ATTR_INT_IN(tree5_attrs, post_transform, 0, 0, 4),
    OX_ATTR_INT_IN(tree5_attrs, n_targets, 0, 1, INT32_MAX - 1),
    OX_ATTR_INTS_REQUIRED(tree5_attrs, tree_roots),
    OX_ATTR_INTS_REQUIRED(tree5_attrs, nodes_featureids),
    OX_ATTR_INTS_REQUIRED(tree5_attrs, nodes_truenodeids),
    OX_ATTR_INTS_REQUIRED(tree5_attrs, nodes_falsenodeids),
    OX_ATTR_INTS_REQUIRED(tree5_attrs, nodes_trueleafs),
    OX_ATTR_INTS_REQUIRED(tree5_attrs, nodes_falseleafs),
    OX_ATTR_INTS(tree5_attrs, nodes_missing_value_tracks_true),
    OX_ATTR_INTS_REQUIRED(tree5_attrs, leaf_targetids),
    OX_ATTR_TENSOR(tree5_attrs, nodes_splits),
    OX_ATTR_TENSOR(tree5_attrs, nodes_modes),
    OX_ATTR_TENSOR(tree5_attrs, leaf_weights),
    OX_ATTR_TENSOR(tree5_attrs, membership_values),
};

/* Item |i| of a tensor of f16, f32 or f64. */
static double number_at(const ox_tensor *t, int64_t i) {
  if (t->dtype == OX_F64) return ((const ox_f64u *)t->data)[i];
  if (t->dtype == OX_F32) return ((const ox_f32u *)t->data)[i];
  return ox_f16_to_f32(((const ox_u16u *)t->data)[i]);
}

static ox_status *check_numbers(const char *what, const ox_tensor *t, int64_t wanted) {
  if (!t || (t->dtype != OX_F16 && t->dtype != OX_F32 && t->dtype != OX_F64))
    return ox_fail(OX_INVALID_MODEL, "%s must be a tensor of float16, float32 or float64", what);
  if (wanted >= 0 && ox_shape_count(&t->shape) != wanted)
    return ox_fail(OX_INVALID_MODEL, "%s has %lld items, wanted %lld", what, (long long)ox_shape_count(&t->shape),
                   (long long)wanted);
  return NULL;
}

static ox_status *check_lists(const tree5_attrs *a) {
  size_t n = a->nodes_featureids.n, missing = a->nodes_missing_value_tracks_true.n;
  if (a->nodes_truenodeids.n != n || a->nodes_falsenodeids.n != n || a->nodes_trueleafs.n != n ||
      a->nodes_falseleafs.n != n || (missing && missing != n))
    return ox_fail(OX_INVALID_MODEL, "the nodes_ lists differ in length (nodes_featureids has %zu items)", n);
  OX_TRY(check_numbers("nodes_splits", a->nodes_splits, (int64_t)n));
  OX_TRY(check_numbers("leaf_weights", a->leaf_weights, (int64_t)a->leaf_targetids.n));
  if (a->membership_values) OX_TRY(check_numbers("membership_values", a->membership_values, -1));
  if (!a->nodes_modes || a->nodes_modes->dtype != OX_U8 || ox_shape_count(&a->nodes_modes->shape) != (int64_t)n)
    return ox_fail(OX_INVALID_MODEL, "nodes_modes must be a uint8 tensor of %zu items", n);
  if (n >= INT32_MAX / 2 || a->leaf_targetids.n >= INT32_MAX / 2 || a->tree_roots.n >= INT32_MAX)
    return ox_fail(OX_INVALID_MODEL, "too many nodes: %zu", n);
  if (!a->n_targets) return ox_fail(OX_INVALID_MODEL, "there is no n_targets");
  return NULL;
}

/* A child: node |id|, or leaf |id| which follows the nodes. */
static ox_status *child(const ox_trees_raw *raw, uint32_t n_inner, int64_t id, bool leaf, uint32_t *out) {
  int64_t most = leaf ? (int64_t)raw->n_nodes - n_inner : (int64_t)n_inner;
  if (id < 0 || id >= most)
    return ox_fail(OX_INVALID_MODEL, "a branch leads to %s %lld of %lld", leaf ? "leaf" : "node", (long long)id,
                   (long long)most);
  *out = (uint32_t)id + (leaf ? n_inner : 0);
  return NULL;
}

static ox_status *read_inner(const tree5_attrs *a, uint32_t n_inner, ox_trees_raw *raw) {
  for (uint32_t i = 0; i < n_inner; i++) {
    uint8_t mode = ((const uint8_t *)a->nodes_modes->data)[i];
    int64_t feature = a->nodes_featureids.v[i];
    if (mode > OX_TREE_MEMBER || feature < 0 || feature >= INT32_MAX)
      return ox_fail(OX_INVALID_MODEL, "node %u has mode %u and feature %lld", (unsigned)i, mode, (long long)feature);
    raw->mode[i] = mode;
    if (a->nodes_missing_value_tracks_true.n && a->nodes_missing_value_tracks_true.v[i]) raw->mode[i] |= 0x80;
    raw->feature[i] = (uint32_t)feature;
    raw->split[i] = number_at(a->nodes_splits, i);
    OX_TRY(child(raw, n_inner, a->nodes_truenodeids.v[i], a->nodes_trueleafs.v[i] != 0, &raw->on_true[i]));
    OX_TRY(child(raw, n_inner, a->nodes_falsenodeids.v[i], a->nodes_falseleafs.v[i] != 0, &raw->on_false[i]));
  }
  return NULL;
}

static ox_status *read_leaves(const tree5_attrs *a, uint32_t n_inner, ox_trees_raw *raw) {
  for (uint32_t i = 0; i < raw->n_weights; i++) {
    int64_t target = a->leaf_targetids.v[i];
    if (target < 0 || target >= raw->n_targets)
      return ox_fail(OX_INVALID_MODEL, "leaf %u is for target %lld of %lld", (unsigned)i, (long long)target,
                     (long long)raw->n_targets);
    raw->mode[n_inner + i] = OX_TREE_LEAF;
    raw->weight_node[i] = n_inner + i, raw->weight_target[i] = (uint32_t)target;
    raw->weight[i] = number_at(a->leaf_weights, i);
  }
  return NULL;
}

/* Sets lie one after the other in membership_values, each ended by a NaN, in the order of the nodes that use them. */
static ox_status *read_sets(const tree5_attrs *a, uint32_t n_inner, ox_arena *temp, ox_trees_raw *raw) {
  bool any = false;
  for (uint32_t i = 0; i < n_inner; i++) any = any || (raw->mode[i] & 0x7f) == OX_TREE_MEMBER;
  if (!any) return NULL;
  int64_t n = a->membership_values ? ox_shape_count(&a->membership_values->shape) : 0, at = 0;
  if (n < 0 || n >= INT32_MAX) return ox_fail(OX_INVALID_MODEL, "membership_values is too long");
  double *v = OX_ARENA_ARRAY(temp, double, (size_t)n);
  raw->set = OX_ARENA_ARRAY(temp, ox_tree_leaf, raw->n_nodes);
  if (!v || !raw->set) return ox_oom();
  for (int64_t k = 0; k < n; k++) v[k] = number_at(a->membership_values, k);
  for (uint32_t i = 0; i < n_inner; i++) {
    if ((raw->mode[i] & 0x7f) != OX_TREE_MEMBER) continue;
    raw->set[i].first = (uint32_t)at;
    while (at < n && !isnan(v[at])) at++, raw->set[i].n++;
    at++;
  }
  raw->members = v;
  return NULL;
}

static ox_status *read_roots(const tree5_attrs *a, uint32_t n_inner, ox_arena *temp, ox_trees_raw *raw) {
  raw->n_roots = (uint32_t)a->tree_roots.n;
  if (!(raw->roots = OX_ARENA_ARRAY(temp, uint32_t, raw->n_roots))) return ox_oom();
  for (uint32_t i = 0; i < raw->n_roots; i++)
    OX_TRY(ox_status_note(child(raw, n_inner, a->tree_roots.v[i], false, &raw->roots[i]), "tree_roots"));
  return NULL;
}

static ox_status *load_into(ox_load_ctx *c, ml_trees *m, ox_arena *temp) {
  const tree5_attrs *a = c->attrs;
  OX_TRY(check_lists(a));
  uint32_t n_inner = (uint32_t)a->nodes_featureids.n, n_leaves = (uint32_t)a->leaf_targetids.n;
  ox_trees_raw raw = {.f64 = c->in_type[0]->dtype == OX_F64,
                      .aggregate = (ox_tree_aggregate)a->aggregate_function,
                      .n_nodes = n_inner + n_leaves,
                      .n_weights = n_leaves,
                      .n_targets = a->n_targets};
  m->transform = (ox_ml_transform)a->post_transform;
  OX_TRY(ox_trees_raw_alloc(&raw, temp));
  OX_TRY(read_inner(a, n_inner, &raw));
  OX_TRY(read_leaves(a, n_inner, &raw));
  OX_TRY(read_sets(a, n_inner, temp, &raw));
  OX_TRY(read_roots(a, n_inner, temp, &raw));
  return ox_trees_build(&raw, &m->arena, temp, &m->t);
}

static ox_status *load(ox_load_ctx *c) {
  ml_trees *m;
  ox_arena temp;
  OX_TRY(ox_ml_trees_create(c, &m));
  ox_arena_init(&temp, c->alloc);
  ox_status *st = load_into(c, m, &temp);
  ox_arena_deinit(&temp);
  if (st)
    ox_arena_deinit(&m->arena);
  else
    c->state = m;
  return st;
}

static ox_status *infer(ox_infer_ctx *c) {
  const tree5_attrs *a = c->attrs;
  int64_t rows, features;
  OX_TRY(ox_ml_rows(&c->in[0]->shape, &rows, &features));
  ox_shape y = ox_shape_of(2, (int64_t[]){rows, a->n_targets > 0 ? a->n_targets : -1});
  ox_infer_out(c, 0, c->in[0]->dtype, &y);
  return NULL;
}

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "TreeEnsemble", .domain = "ai.onnx.ml", .since = 5, .min_in = 1, .max_in = 1, OX_ATTRS(attrs),
               .types = {OX_BIT(OX_F32) | OX_BIT(OX_F64) | OX_BIT(OX_F16)}, .attrs_bytes = sizeof(tree5_attrs),
               .infer = infer),
     OX_KERNEL(.load = load, .unload = ox_unload_arena, .prepare = ox_ml_trees_prepare, .run = ox_ml_trees_run)},
};
const ox_op_set ox_ops_ml_tree_ensemble5 = {ops, OX_COUNT(ops)};
