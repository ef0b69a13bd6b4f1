/* SPDX-License-Identifier: Apache-2.0
 * kern/ml/trees_build.c - orders nodes depth first (a walk touches few cache lines), and turns <, >, >=, == and != into
 * <= where that is exact, so that most models take the plain walk. */
#include "kern/ml/trees_build.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"

ox_status *ox_trees_raw_alloc(ox_trees_raw *raw, ox_arena *a) {
  uint32_t n = raw->n_nodes;
  raw->mode = OX_ARENA_ARRAY(a, uint8_t, n);
  raw->feature = OX_ARENA_ARRAY(a, uint32_t, n);
  raw->split = OX_ARENA_ARRAY(a, double, n);
  raw->on_true = OX_ARENA_ARRAY(a, uint32_t, n);
  raw->on_false = OX_ARENA_ARRAY(a, uint32_t, n);
  raw->roots = OX_ARENA_ARRAY(a, uint32_t, n);
  raw->weight_node = OX_ARENA_ARRAY(a, uint32_t, raw->n_weights);
  raw->weight_target = OX_ARENA_ARRAY(a, uint32_t, raw->n_weights);
  raw->weight = OX_ARENA_ARRAY(a, double, raw->n_weights);
  bool ok = raw->mode && raw->feature && raw->split && raw->on_true && raw->on_false && raw->roots &&
            raw->weight_node && raw->weight_target && raw->weight;
  return ok ? NULL : ox_oom();
}

static inline ox_tree_mode mode_of(const ox_trees_raw *raw, uint32_t i) { return (ox_tree_mode)(raw->mode[i] & 0x7f); }
static inline bool nan_true(const ox_trees_raw *raw, uint32_t i) { return raw->mode[i] >> 7; }

/* x == v is x <= v but not x <= the value below v: == and != take two nodes, the second right behind the first. */
static inline bool takes_two(const ox_trees_raw *raw, uint32_t i) {
  ox_tree_mode m = mode_of(raw, i);
  return m == OX_TREE_EQ || m == OX_TREE_NEQ;
}

/* ---- order ---- */
typedef struct ordering {
  uint32_t *id;  /* new number of an old node, the first if it takes two; or OX_NONE */
  uint32_t *old; /* and back */
  uint8_t *open; /* on the path from the root */
  uint32_t *path;
  uint8_t *step; /* children already seen, per path entry */
  uint32_t n;
} ordering;

static ox_status *enter(const ox_trees_raw *raw, ordering *o, uint32_t node, uint32_t *depth) {
  if (o->open[node]) return ox_fail(OX_INVALID_MODEL, "the tree has a cycle through node %u", (unsigned)node);
  if (o->id[node] != OX_NONE) return NULL; /* shared subtree: already placed */
  o->id[node] = o->n, o->old[o->n++] = node;
  if (takes_two(raw, node)) o->old[o->n++] = node;
  o->open[node] = 1;
  o->path[*depth] = node, o->step[*depth] = 0, *depth += 1;
  return NULL;
}

static ox_status *order_tree(const ox_trees_raw *raw, ordering *o, uint32_t root) {
  uint32_t depth = 0;
  OX_TRY(enter(raw, o, root, &depth));
  while (depth) {
    uint32_t node = o->path[depth - 1];
    uint8_t step = o->step[depth - 1]++;
    if (step == 2 || mode_of(raw, node) == OX_TREE_LEAF)
      o->open[node] = 0, depth--;
    else
      OX_TRY(enter(raw, o, step ? raw->on_false[node] : raw->on_true[node], &depth));
  }
  return NULL;
}

static ox_status *order_nodes(const ox_trees_raw *raw, ox_arena *temp, ordering *o) {
  size_t n = raw->n_nodes;
  if (n > UINT32_MAX / 2) return ox_fail(OX_LIMIT, "%zu nodes of trees are too many", n);
  *o = (ordering){.id = OX_ARENA_ARRAY(temp, uint32_t, n),
                  .old = OX_ARENA_ARRAY(temp, uint32_t, 2 * n),
                  .open = OX_ARENA_ARRAY(temp, uint8_t, n),
                  .path = OX_ARENA_ARRAY(temp, uint32_t, n),
                  .step = OX_ARENA_ARRAY(temp, uint8_t, n)};
  if (!o->id || !o->old || !o->open || !o->path || !o->step) return ox_oom();
  memset(o->id, 0xff, n * sizeof *o->id);
  for (uint32_t r = 0; r < raw->n_roots; r++) OX_TRY(order_tree(raw, o, raw->roots[r]));
  return NULL;
}

/* ---- comparisons ---- */
/* The largest value below |split| in the trees' type. */
static double below(bool f64, double split) {
  return f64 ? nextafter(split, -INFINITY) : (double)nextafterf((float)split, -INFINITY);
}

static ox_tree_walk choose_walk(const ox_trees_raw *raw, const ordering *o) {
  ox_tree_walk walk = OX_TREE_PLAIN;
  for (uint32_t k = 0; k < o->n; k++) {
    uint32_t i = o->old[k];
    ox_tree_mode m = mode_of(raw, i);
    double split = raw->f64 ? raw->split[i] : (double)(float)raw->split[i];
    if (m == OX_TREE_LEAF) continue;
    if (m > OX_TREE_NEQ || isnan(split) || split == -INFINITY) return OX_TREE_GENERAL;
    bool swapped = m == OX_TREE_GTE || m == OX_TREE_GT;
    if (nan_true(raw, i) != swapped && m != OX_TREE_NEQ) walk = OX_TREE_NAN; /* a NaN is unequal in any case */
  }
  return walk;
}

typedef struct flat_node {
  double split;
  uint32_t feature, next[2];
} flat_node;

/* The two nodes of == or !=. A NaN that counts as equal goes on to the second node, and from there as what is above the
 * value below does: as equal. */
static flat_node flatten_equal(const ox_trees_raw *raw, const ordering *o, uint32_t i, bool second) {
  bool equal = mode_of(raw, i) == OX_TREE_EQ;
  uint32_t same = o->id[equal ? raw->on_true[i] : raw->on_false[i]];
  uint32_t other = o->id[equal ? raw->on_false[i] : raw->on_true[i]];
  if (second) return (flat_node){below(raw->f64, raw->split[i]), raw->feature[i], {same, other}};
  uint32_t nan_bit = equal && nan_true(raw, i) ? UINT32_C(1) << 31 : 0;
  return (flat_node){raw->split[i], raw->feature[i] | nan_bit, {other, o->id[i] + 1}};
}

/* New node |k|, which is no leaf, ready for |walk|. */
static flat_node flatten(const ox_trees_raw *raw, const ordering *o, ox_tree_walk walk, uint32_t k) {
  uint32_t i = o->old[k];
  flat_node f = {raw->split[i], raw->feature[i], {o->id[raw->on_false[i]], o->id[raw->on_true[i]]}};
  ox_tree_mode m = mode_of(raw, i);
  if (walk == OX_TREE_GENERAL) return f;
  if (takes_two(raw, i)) return flatten_equal(raw, o, i, k != o->id[i]);
  if (m == OX_TREE_LT || m == OX_TREE_GTE) f.split = below(raw->f64, f.split);
  bool swapped = m == OX_TREE_GTE || m == OX_TREE_GT;
  if (swapped) f.next[0] = o->id[raw->on_true[i]], f.next[1] = o->id[raw->on_false[i]];
  if (walk == OX_TREE_NAN && nan_true(raw, i) != swapped) f.feature |= UINT32_C(1) << 31;
  return f;
}

static void store_node(ox_trees *t, uint32_t k, const flat_node *f, const uint32_t *bits) {
  if (t->f64) {
    ox_tree_node_f64 *n = (ox_tree_node_f64 *)t->nodes + k;
    *n = (ox_tree_node_f64){f->split, f->feature, {f->next[0], f->next[1]}};
    if (bits) memcpy(&n->split, &(uint64_t){*bits}, sizeof n->split);
  } else {
    ox_tree_node_f32 *n = (ox_tree_node_f32 *)t->nodes + k;
    *n = (ox_tree_node_f32){(float)f->split, f->feature, {f->next[0], f->next[1]}};
    if (bits) memcpy(&n->split, bits, sizeof n->split);
  }
}

static void store_value(bool f64, void *values, uint32_t i, double v) {
  if (f64)
    ((double *)values)[i] = v;
  else
    ((float *)values)[i] = (float)v;
}

/* ---- leaves ---- */
/* Groups the weights by leaf; |leaf_of| maps old nodes to leaves. */
static ox_status *build_leaves(const ox_trees_raw *raw, const ordering *o, ox_arena *arena, ox_arena *temp, ox_trees *t,
                               uint32_t **out_leaf_of) {
  uint32_t n_leaves = 0, *leaf_of = OX_ARENA_ARRAY(temp, uint32_t, raw->n_nodes);
  ox_tree_leaf *leaves = OX_ARENA_ARRAY(arena, ox_tree_leaf, o->n);
  uint32_t *targets = OX_ARENA_ARRAY(arena, uint32_t, raw->n_weights);
  void *weights = OX_ARENA_ARRAY(arena, double, raw->n_weights);
  if (!leaf_of || !leaves || !targets || !weights) return ox_oom();
  memset(leaf_of, 0xff, raw->n_nodes * sizeof *leaf_of);
  for (uint32_t k = 0; k < o->n; k++)
    if (mode_of(raw, o->old[k]) == OX_TREE_LEAF) leaf_of[o->old[k]] = n_leaves++;
  for (uint32_t w = 0; w < raw->n_weights; w++)
    if (leaf_of[raw->weight_node[w]] != OX_NONE) leaves[leaf_of[raw->weight_node[w]]].n++;
  uint32_t first = 0;
  t->dense = n_leaves > 0;
  for (uint32_t l = 0; l < n_leaves; l++) {
    leaves[l].first = first, first += leaves[l].n;
    t->dense = t->dense && leaves[l].n == t->n_targets;
    leaves[l].n = 0;
  }
  for (uint32_t w = 0; w < raw->n_weights; w++) {
    if (leaf_of[raw->weight_node[w]] == OX_NONE) continue;
    ox_tree_leaf *leaf = &leaves[leaf_of[raw->weight_node[w]]];
    t->dense = t->dense && raw->weight_target[w] == leaf->n;
    targets[leaf->first + leaf->n] = raw->weight_target[w];
    store_value(t->f64, weights, leaf->first + leaf->n++, raw->weight[w]);
  }
  t->leaves = leaves, t->targets = targets, t->weights = weights;
  *out_leaf_of = leaf_of;
  return NULL;
}

/* ---- sets of BRANCH_MEMBER ---- */
static int compare_f32(const void *a, const void *b) {
  float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

static int compare_f64(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static ox_status *build_sets(const ox_trees_raw *raw, ox_arena *arena, ox_trees *t) {
  if (!raw->set) return NULL;
  uint32_t total = 0;
  for (uint32_t i = 0; i < raw->n_nodes; i++) total += raw->set[i].n;
  ox_tree_leaf *sets = OX_ARENA_ARRAY(arena, ox_tree_leaf, raw->n_nodes);
  char *members = ox_arena_array(arena, total, sizeof(double));
  if (!sets || !members) return ox_oom();
  uint32_t at = 0;
  for (uint32_t i = 0; i < raw->n_nodes; i++) {
    sets[i] = (ox_tree_leaf){at, raw->set[i].n};
    for (uint32_t k = 0; k < raw->set[i].n; k++)
      store_value(t->f64, members, at++, raw->members[raw->set[i].first + k]);
    size_t item = t->f64 ? sizeof(double) : sizeof(float);
    qsort(members + sets[i].first * item, sets[i].n, item, t->f64 ? compare_f64 : compare_f32);
  }
  t->sets = sets, t->members = members;
  return NULL;
}

static ox_status *fill_nodes(const ox_trees_raw *raw, const ordering *o, const uint32_t *leaf_of, ox_arena *arena,
                             ox_trees *t) {
  uint8_t *modes = t->walk == OX_TREE_GENERAL ? OX_ARENA_ARRAY(arena, uint8_t, o->n) : NULL;
  t->nodes = t->f64 ? (void *)OX_ARENA_ARRAY(arena, ox_tree_node_f64, o->n)
                    : (void *)OX_ARENA_ARRAY(arena, ox_tree_node_f32, o->n);
  if (!t->nodes || (t->walk == OX_TREE_GENERAL && !modes)) return ox_oom();
  for (uint32_t k = 0; k < o->n; k++) {
    uint32_t i = o->old[k];
    ox_tree_mode m = mode_of(raw, i);
    if (modes) modes[k] = m == OX_TREE_LEAF ? OX_TREE_LEAF : raw->mode[i];
    if (m != OX_TREE_LEAF) {
      flat_node f = flatten(raw, o, t->walk, k);
      store_node(t, k, &f, m == OX_TREE_MEMBER ? &i : NULL);
      t->n_features = OX_MAX(t->n_features, raw->feature[i] + 1);
      continue;
    }
    uint32_t leaf = leaf_of[i];
    bool direct = t->dense && t->n_targets == 1;
    flat_node f = {0, 0, {k, k}};
    if (direct) {
      uint32_t first = t->leaves[leaf].first;
      f.split = t->f64 ? ((const double *)t->weights)[first] : (double)((const float *)t->weights)[first];
    }
    store_node(t, k, &f, direct ? NULL : &leaf);
  }
  t->modes = modes;
  return NULL;
}

ox_status *ox_trees_build(const ox_trees_raw *raw, ox_arena *arena, ox_arena *temp, ox_trees *t) {
  ordering o;
  uint32_t *leaf_of = NULL, *roots;
  *t = (ox_trees){.f64 = raw->f64,
                  .aggregate = raw->aggregate,
                  .n_trees = raw->n_roots,
                  .n_features = 1,
                  .n_targets = raw->n_targets};
  OX_TRY(order_nodes(raw, temp, &o));
  t->n_nodes = o.n;
  t->walk = choose_walk(raw, &o);
  OX_TRY(build_leaves(raw, &o, arena, temp, t, &leaf_of));
  OX_TRY(build_sets(raw, arena, t));
  OX_TRY(fill_nodes(raw, &o, leaf_of, arena, t));
  roots = OX_ARENA_ARRAY(arena, uint32_t, raw->n_roots);
  if (!roots) return ox_oom();
  for (uint32_t r = 0; r < raw->n_roots; r++) roots[r] = o.id[raw->roots[r]];
  t->roots = roots;
  return NULL;
}
