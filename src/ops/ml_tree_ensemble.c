/* SPDX-License-Identifier: Apache-2.0
 * ops/ml_tree_ensemble.c - TreeEnsembleClassifier and TreeEnsembleRegressor of ai.onnx.ml: their attributes. */
#include <stdlib.h>
#include <string.h>

#include "ops/ml/ml_trees.h"

typedef struct tree_attrs {
  const char *aggregate_function, *post_transform;
  int64_t n_targets;
  ox_ints nodes_treeids, nodes_nodeids, nodes_featureids, nodes_truenodeids, nodes_falsenodeids;
  ox_ints nodes_missing_value_tracks_true, w_treeids, w_nodeids, w_ids, classlabels_int64s;
  ox_strs nodes_modes, classlabels_strings;
  ox_floats nodes_values, base_values, w;
  const ox_tensor *nodes_values_as_tensor, *base_values_as_tensor, *w_as_tensor;
} tree_attrs;

#define NODE_ATTRS                                                                                             \
  OX_ATTR_INTS(tree_attrs, nodes_treeids), OX_ATTR_INTS(tree_attrs, nodes_nodeids),                            \
      OX_ATTR_INTS(tree_attrs, nodes_featureids), OX_ATTR_INTS(tree_attrs, nodes_truenodeids),                 \
      OX_ATTR_INTS(tree_attrs, nodes_falsenodeids), OX_ATTR_INTS(tree_attrs, nodes_missing_value_tracks_true), \
      OX_ATTR_STRS(tree_attrs, nodes_modes), OX_ATTR_FLOATS(tree_attrs, nodes_values),                         \
      OX_ATTR_FLOATS(tree_attrs, base_values), OX_ATTR_TENSOR(tree_attrs, nodes_values_as_tensor),             \
      OX_ATTR_TENSOR(tree_attrs, base_values_as_tensor), OX_ATTR_STR(tree_attrs, post_transform, "NONE")
#define NAMED(field, attr_name, kind) OX_ATTR_ROW_(tree_attrs, field, attr_name, kind, false, OX_NO_FIELD, .i = 0)

static const ox_attr_def regressor_attrs[] = {
    NODE_ATTRS,
    OX_ATTR_STR(tree_attrs, aggregate_function, "SUM"),
    OX_ATTR_INT_REQUIRED_IN(tree_attrs, n_targets, 1, OX_COUNT_MAX),
    NAMED(w_treeids, "target_treeids", OX_ATTR_INTS_KIND),
    NAMED(w_nodeids, "target_nodeids", OX_ATTR_INTS_KIND),
    NAMED(w_ids, "target_ids", OX_ATTR_INTS_KIND),
    NAMED(w, "target_weights", OX_ATTR_FLOATS_KIND),
    NAMED(w_as_tensor, "target_weights_as_tensor", OX_ATTR_TENSOR_KIND),
};
static const ox_attr_def classifier_attrs[] = {
    NODE_ATTRS,
    NAMED(w_treeids, "class_treeids", OX_ATTR_INTS_KIND),
    NAMED(w_nodeids, "class_nodeids", OX_ATTR_INTS_KIND),
    NAMED(w_ids, "class_ids", OX_ATTR_INTS_KIND),
    NAMED(w, "class_weights", OX_ATTR_FLOATS_KIND),
    NAMED(w_as_tensor, "class_weights_as_tensor", OX_ATTR_TENSOR_KIND),
    OX_ATTR_INTS(tree_attrs, classlabels_int64s),
    OX_ATTR_STRS(tree_attrs, classlabels_strings),
};

/* ---- lists of numbers ---- */
/* A list given as floats or as a tensor of f32, f64. */
static ox_status *read_numbers(const char *what, ox_floats v, const ox_tensor *t, ox_arena *a, double **out,
                               size_t *n) {
  if (t && t->dtype != OX_F32 && t->dtype != OX_F64)
    return ox_fail(OX_INVALID_MODEL, "%s must be float32 or float64, got %s", what, ox_dtype_name(t->dtype));
  int64_t count = t ? ox_shape_count(&t->shape) : (int64_t)v.n;
  if (count < 0 || (t && v.n)) return ox_fail(OX_INVALID_MODEL, "%s is given twice or has no size", what);
  *n = (size_t)count;
  if (!(*out = OX_ARENA_ARRAY(a, double, *n))) return ox_oom();
  for (size_t i = 0; i < *n; i++) {
    if (!t)
      (*out)[i] = v.v[i];
    else
      (*out)[i] = t->dtype == OX_F64 ? ((const ox_f64u *)t->data)[i] : (double)((const ox_f32u *)t->data)[i];
  }
  return NULL;
}

static ox_status *same_count(const char *what, size_t got, size_t wanted) {
  if (got == wanted) return NULL;
  return ox_fail(OX_INVALID_MODEL, "%s has %zu items, there are %zu", what, got, wanted);
}

/* ---- node names: (tree, node) pairs ---- */
typedef struct node_key {
  int64_t tree, node;
  uint32_t index;
} node_key;

static int compare_keys(const void *a, const void *b) {
  const node_key *x = a, *y = b;
  if (x->tree != y->tree) return x->tree < y->tree ? -1 : 1;
  return (x->node > y->node) - (x->node < y->node);
}

typedef struct node_index {
  node_key *keys;   /* sorted */
  size_t n, start;  /* start: where the tree looked up last begins */
} node_index;

static ox_status *index_nodes(const tree_attrs *a, ox_arena *temp, node_index *out) {
  size_t n = a->nodes_treeids.n;
  node_key *keys = OX_ARENA_ARRAY(temp, node_key, n);
  if (!keys) return ox_oom();
  bool sorted = true;
  for (size_t i = 0; i < n; i++) {
    keys[i] = (node_key){a->nodes_treeids.v[i], a->nodes_nodeids.v[i], (uint32_t)i};
    sorted = sorted && (i == 0 || compare_keys(&keys[i - 1], &keys[i]) < 0);
  }
  if (!sorted) qsort(keys, n, sizeof *keys, compare_keys);
  for (size_t i = 1; !sorted && i < n; i++)
    if (!compare_keys(&keys[i - 1], &keys[i]))
      return ox_fail(OX_INVALID_MODEL, "node %lld of tree %lld is there twice", (long long)keys[i].node,
                     (long long)keys[i].tree);
  *out = (node_index){keys, n, 0};
  return NULL;
}

/* Nodes of a tree are nearly always numbered from 0 without gaps: a look at where the node must then be saves the
 * search. */
static ox_status *find_node(node_index *x, int64_t tree, int64_t node, uint32_t *out) {
  node_key key = {tree, node, 0};
  if (x->start < x->n && node >= 0 && (uint64_t)node < x->n - x->start &&
      !compare_keys(&key, &x->keys[x->start + (size_t)node])) {
    *out = x->keys[x->start + (size_t)node].index;
    return NULL;
  }
  const node_key *k = bsearch(&key, x->keys, x->n, sizeof key, compare_keys);
  if (!k) return ox_fail(OX_INVALID_MODEL, "tree %lld has no node %lld", (long long)tree, (long long)node);
  *out = k->index;
  size_t at = (size_t)(k - x->keys);
  x->start = node >= 0 && (uint64_t)node <= at ? at - (size_t)node : 0;
  return NULL;
}

/* ---- load ---- */
static bool find_mode(ox_str s, uint8_t *out) {
  static const char *const names[] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE", "BRANCH_GT",
                                      "BRANCH_EQ",  "BRANCH_NEQ", "",           "LEAF"};
  for (size_t i = 0; i < OX_COUNT(names); i++)
    if (s.n && s.n == strlen(names[i]) && !memcmp(s.p, names[i], s.n)) return *out = (uint8_t)i, true;
  return false;
}

static ox_status *check_counts(const tree_attrs *a, size_t n_values, size_t n_weights) {
  size_t n = a->nodes_treeids.n, missing = a->nodes_missing_value_tracks_true.n;
  OX_TRY(same_count("nodes_nodeids", a->nodes_nodeids.n, n));
  OX_TRY(same_count("nodes_featureids", a->nodes_featureids.n, n));
  OX_TRY(same_count("nodes_modes", a->nodes_modes.n, n));
  OX_TRY(same_count("nodes_truenodeids", a->nodes_truenodeids.n, n));
  OX_TRY(same_count("nodes_falsenodeids", a->nodes_falsenodeids.n, n));
  OX_TRY(same_count("nodes_values", n_values, n));
  if (missing) OX_TRY(same_count("nodes_missing_value_tracks_true", missing, n));
  OX_TRY(same_count("the weights' tree ids", a->w_treeids.n, n_weights));
  OX_TRY(same_count("the weights' node ids", a->w_nodeids.n, n_weights));
  OX_TRY(same_count("the weights' target ids", a->w_ids.n, n_weights));
  if (n >= INT32_MAX || n_weights >= INT32_MAX) return ox_fail(OX_INVALID_MODEL, "too many nodes: %zu", n);
  return NULL;
}

static ox_status *read_nodes(const tree_attrs *a, node_index *index, const double *values, ox_trees_raw *raw) {
  for (uint32_t i = 0; i < raw->n_nodes; i++) {
    int64_t tree = a->nodes_treeids.v[i];
    if (i == 0 || tree != a->nodes_treeids.v[i - 1]) raw->roots[raw->n_roots++] = i;
    if (!find_mode(a->nodes_modes.v[i], &raw->mode[i]))
      return ox_fail(OX_INVALID_MODEL, "unknown node mode \"%.*s\"", (int)OX_MIN(a->nodes_modes.v[i].n, 40),
                     a->nodes_modes.v[i].p);
    raw->split[i] = values[i];
    if (raw->mode[i] == OX_TREE_LEAF) continue;
    int64_t feature = a->nodes_featureids.v[i];
    if (feature < 0 || feature >= INT32_MAX)
      return ox_fail(OX_INVALID_MODEL, "node %u has the feature id %lld", (unsigned)i, (long long)feature);
    raw->feature[i] = (uint32_t)feature;
    OX_TRY(find_node(index, tree, a->nodes_truenodeids.v[i], &raw->on_true[i]));
    OX_TRY(find_node(index, tree, a->nodes_falsenodeids.v[i], &raw->on_false[i]));
    if (a->nodes_missing_value_tracks_true.n && a->nodes_missing_value_tracks_true.v[i]) raw->mode[i] |= 0x80;
  }
  return NULL;
}

static ox_status *read_weights(const tree_attrs *a, node_index *index, const double *w, ox_trees_raw *raw) {
  for (uint32_t i = 0; i < raw->n_weights; i++) {
    OX_TRY(find_node(index, a->w_treeids.v[i], a->w_nodeids.v[i], &raw->weight_node[i]));
    if (a->w_ids.v[i] < 0 || a->w_ids.v[i] >= raw->n_targets)
      return ox_fail(OX_INVALID_MODEL, "a weight is for target %lld of %lld", (long long)a->w_ids.v[i],
                     (long long)raw->n_targets);
    raw->weight_target[i] = (uint32_t)a->w_ids.v[i];
    raw->weight[i] = w[i];
  }
  return NULL;
}

static ox_status *find_aggregate(const char *name, ox_tree_aggregate *out) {
  static const char *const names[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  for (size_t i = 0; i < OX_COUNT(names); i++)
    if (!strcmp(name, names[i])) return *out = (ox_tree_aggregate)i, NULL;
  return ox_fail(OX_INVALID_MODEL, "unknown aggregate_function \"%.40s\"", name);
}

static void read_class_facts(const tree_attrs *a, const double *w, size_t n_weights, ml_trees *m) {
  m->classifier = true;
  m->int_labels = a->classlabels_int64s, m->str_labels = a->classlabels_strings;
  m->all_positive = true;
  bool one_class = n_weights > 0;
  for (size_t i = 0; i < n_weights; i++) {
    m->all_positive = m->all_positive && w[i] >= 0;
    one_class = one_class && a->w_ids.v[i] == a->w_ids.v[0];
  }
  m->binary = m->t.n_targets == 2 && one_class;
}

static int64_t class_count(const tree_attrs *a) {
  return (int64_t)(a->classlabels_strings.n ? a->classlabels_strings.n : a->classlabels_int64s.n);
}

static ox_status *load_into(ox_load_ctx *c, bool classifier, ml_trees *m, ox_arena *temp) {
  const tree_attrs *a = c->attrs;
  size_t n_values, n_weights;
  double *values, *w, *base;
  node_index index = {NULL, 0, 0};
  OX_TRY(read_numbers("nodes_values", a->nodes_values, a->nodes_values_as_tensor, temp, &values, &n_values));
  OX_TRY(read_numbers("the weights", a->w, a->w_as_tensor, temp, &w, &n_weights));
  OX_TRY(read_numbers("base_values", a->base_values, a->base_values_as_tensor, &m->arena, &base, &m->n_base));
  m->base = base;
  OX_TRY(check_counts(a, n_values, n_weights));
  ox_trees_raw raw = {.f64 = c->in_type[0]->dtype == OX_F64,
                      .aggregate = OX_TREE_SUM,
                      .n_nodes = (uint32_t)n_values,
                      .n_weights = (uint32_t)n_weights,
                      .n_targets = classifier ? class_count(a) : a->n_targets};
  if (raw.n_targets <= 0 || raw.n_targets >= INT32_MAX)
    return ox_fail(OX_INVALID_MODEL, "%lld %s", (long long)raw.n_targets, classifier ? "class labels" : "targets");
  if (classifier && (int64_t)m->n_base > raw.n_targets && m->n_base != 2)
    return ox_fail(OX_INVALID_MODEL, "%zu base_values for %lld classes", m->n_base, (long long)raw.n_targets);
  if (!classifier) OX_TRY(find_aggregate(a->aggregate_function, &raw.aggregate));
  if (!ox_ml_transform_find(a->post_transform, &m->transform))
    return ox_fail(OX_INVALID_MODEL, "unknown post_transform \"%.40s\"", a->post_transform);
  OX_TRY(ox_trees_raw_alloc(&raw, temp));
  OX_TRY(index_nodes(a, temp, &index));
  OX_TRY(read_nodes(a, &index, values, &raw));
  OX_TRY(read_weights(a, &index, w, &raw));
  OX_TRY(ox_trees_build(&raw, &m->arena, temp, &m->t));
  if (classifier) read_class_facts(a, w, n_weights, m);
  return NULL;
}

static ox_status *load(ox_load_ctx *c, bool classifier) {
  ml_trees *m;
  ox_arena temp;
  OX_TRY(ox_ml_trees_create(c, &m));
  ox_arena_init(&temp, c->alloc);
  ox_status *st = load_into(c, classifier, m, &temp);
  ox_arena_deinit(&temp);
  if (st)
    ox_arena_deinit(&m->arena);
  else
    c->state = m;
  return st;
}

static ox_status *load_regressor(ox_load_ctx *c) { return load(c, false); }
static ox_status *load_classifier(ox_load_ctx *c) { return load(c, true); }

/* ---- inference ---- */
static ox_status *infer_regressor(ox_infer_ctx *c) {
  const tree_attrs *a = c->attrs;
  int64_t rows, features;
  OX_TRY(ox_ml_rows(&c->in[0]->shape, &rows, &features));
  ox_shape y = ox_shape_of(2, (int64_t[]){rows, a->n_targets > 0 ? a->n_targets : -1});
  ox_infer_out(c, 0, OX_F32, &y);
  return NULL;
}

static ox_status *infer_classifier(ox_infer_ctx *c) {
  const tree_attrs *a = c->attrs;
  int64_t rows, features;
  OX_TRY(ox_ml_rows(&c->in[0]->shape, &rows, &features));
  ox_shape y = ox_shape_of(1, &rows), z = ox_shape_of(2, (int64_t[]){rows, class_count(a)});
  ox_infer_out(c, 0, a->classlabels_strings.n ? OX_STRING : OX_I64, &y);
  ox_infer_out(c, 1, OX_F32, &z);
  return NULL;
}

#define TREE_ROW(op, attr_table, outs, infer_fn, load_fn)                                                              \
  {                                                                                                                    \
    OX_SCHEMA(.name = op, .domain = "ai.onnx.ml", .since = 1, .min_in = 1, .max_in = 1, .min_out = 1, .max_out = outs, \
              OX_ATTRS(attr_table), .types = {OX_BIT(OX_F32) | OX_BIT(OX_F64) | OX_BIT(OX_I32) | OX_BIT(OX_I64)},      \
              .attrs_bytes = sizeof(tree_attrs), .infer = infer_fn),                                                   \
        OX_KERNEL(.load = load_fn, .unload = ox_unload_arena, .prepare = ox_ml_trees_prepare,                       \
                  .run = ox_ml_trees_run)                                                                              \
  }

static const ox_op ops[] = {
    TREE_ROW("TreeEnsembleClassifier", classifier_attrs, 2, infer_classifier, load_classifier),
    TREE_ROW("TreeEnsembleRegressor", regressor_attrs, 1, infer_regressor, load_regressor),
};
const ox_op_set ox_ops_ml_tree_ensemble = {ops, OX_COUNT(ops)};
