/* SPDX-License-Identifier: Apache-2.0
 * ops/ml_tree_ensemble_test.c - random trees of every mode against a walk over the attribute lists. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/one_node.h"

enum { MOST_NODES = 4096, FEATURES = 5, DEPTH = 6 };

typedef struct forest {
  size_t n, n_w;
  int64_t tree[MOST_NODES], node[MOST_NODES], feature[MOST_NODES], yes[MOST_NODES], no[MOST_NODES], nan[MOST_NODES];
  ox_str mode[MOST_NODES];
  float value[MOST_NODES];
  int64_t w_tree[MOST_NODES], w_node[MOST_NODES], w_id[MOST_NODES];
  float w[MOST_NODES];
} forest;

static uint32_t seed = 1;
static uint32_t rnd(void) { return seed = seed * 1664525u + 1013904223u, seed >> 8; }

static const char *const modes[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"};

static ox_str str(const char *s) { return (ox_str){s, strlen(s)}; }

/* Grows one subtree; returns its node id within the tree. Values are small integers, so that ties happen. */
static int64_t grow(forest *f, size_t first, int64_t tree, int depth, int64_t targets, int lo, int hi) {
  size_t i = f->n++;
  f->tree[i] = tree, f->node[i] = (int64_t)(i - first), f->feature[i] = rnd() % FEATURES;
  f->value[i] = (float)(rnd() % 7) - 3, f->nan[i] = hi > 0 && rnd() % 2;
  if (depth == 0 || (depth < DEPTH && rnd() % 5 == 0)) {
    f->mode[i] = str("LEAF");
    int64_t n = targets == 1 ? 1 : 1 + rnd() % targets, at = rnd() % targets;
    for (int64_t k = 0; k < n; k++) {
      f->w_tree[f->n_w] = tree, f->w_node[f->n_w] = f->node[i], f->w_id[f->n_w] = (at + k) % targets;
      f->w[f->n_w++] = (float)(rnd() % 17) - 8;
    }
    return f->node[i];
  }
  f->mode[i] = str(modes[lo + (int)(rnd() % (unsigned)(OX_MAX(hi, 0) + 1)) % (6 - lo)]);
  f->yes[i] = grow(f, first, tree, depth - 1, targets, lo, hi);
  f->no[i] = grow(f, first, tree, depth - 1, targets, lo, hi);
  return f->node[i];
}

static bool holds(const char *mode, double x, double v, bool nan) {
  if (nan && isnan(x)) return true;
  if (!strcmp(mode, "BRANCH_LEQ")) return x <= v;
  if (!strcmp(mode, "BRANCH_LT")) return x < v;
  if (!strcmp(mode, "BRANCH_GTE")) return x >= v;
  if (!strcmp(mode, "BRANCH_GT")) return x > v;
  if (!strcmp(mode, "BRANCH_EQ")) return x == v;
  return x != v;
}

static double naive(const forest *f, const double *x, int64_t target, const char *how, int trees) {
  double sum = 0, best = NAN;
  for (size_t i = 0; i < f->n; i++) {
    if (f->node[i] != 0) continue;
    size_t at = i;
    while (strcmp(f->mode[at].p, "LEAF"))
      at = i + (size_t)(holds(f->mode[at].p, x[f->feature[at]], f->value[at], f->nan[at]) ? f->yes[at] : f->no[at]);
    for (size_t w = 0; w < f->n_w; w++) {
      if (f->w_tree[w] != f->tree[at] || f->w_node[w] != f->node[at] || f->w_id[w] != target) continue;
      sum += f->w[w];
      if (isnan(best) || (!strcmp(how, "MIN") ? f->w[w] < best : f->w[w] > best)) best = f->w[w];
    }
  }
  if (!strcmp(how, "SUM")) return sum;
  if (!strcmp(how, "AVERAGE")) return sum / trees;
  return isnan(best) ? 0 : best;
}

static void set_nodes(one_node *n, const forest *f, const char *prefix[4]) {
  one_node_ints(n, "nodes_treeids", f->n, f->tree);
  one_node_ints(n, "nodes_nodeids", f->n, f->node);
  one_node_ints(n, "nodes_featureids", f->n, f->feature);
  one_node_ints(n, "nodes_truenodeids", f->n, f->yes);
  one_node_ints(n, "nodes_falsenodeids", f->n, f->no);
  one_node_ints(n, "nodes_missing_value_tracks_true", f->n, f->nan);
  one_node_strs(n, "nodes_modes", f->n, f->mode);
  one_node_floats(n, "nodes_values", f->n, f->value);
  one_node_ints(n, prefix[0], f->n_w, f->w_tree);
  one_node_ints(n, prefix[1], f->n_w, f->w_node);
  one_node_ints(n, prefix[2], f->n_w, f->w_id);
  one_node_floats(n, prefix[3], f->n_w, f->w);
}

static void regress(const char *how, int64_t targets, int64_t rows, int trees, int lo, int hi, uint32_t dtype) {
  static forest f;
  f.n = f.n_w = 0;
  for (int t = 0; t < trees; t++) grow(&f, f.n, t * 3, DEPTH, targets, lo, hi);
  double x[64 * FEATURES];
  float x32[64 * FEATURES];
  int64_t x64[64 * FEATURES];
  for (int64_t i = 0; i < rows * FEATURES; i++) {
    x[i] = (double)(rnd() % 9) - 4;
    x64[i] = (int64_t)x[i];
    if (dtype != OX_I64 && rnd() % 11 == 0) x[i] = NAN;
    x32[i] = (float)x[i];
  }
  for (int64_t run_tiles = 0; run_tiles < 2; run_tiles++) {
    one_node n;
    one_node_init(&n, "ai.onnx.ml", "TreeEnsembleRegressor", 3, 1);
    n.run_tiles = run_tiles;
    set_nodes(&n, &f, (const char *[]){"target_treeids", "target_nodeids", "target_ids", "target_weights"});
    one_node_int(&n, "n_targets", targets);
    one_node_str(&n, "aggregate_function", how);
    one_node_input(&n, dtype, 2, (int64_t[]){rows, FEATURES},
                   dtype == OX_F32   ? (void *)x32
                   : dtype == OX_I64 ? (void *)x64
                                     : (void *)x);
    CHECK_OK(one_node_run(&n));
    assert_int_equal(n.out[0].shape.dim[1], targets);
    for (int64_t r = 0; r < rows; r++)
      for (int64_t k = 0; k < targets; k++) {
        double want = naive(&f, x + r * FEATURES, k, how, trees), got = ((float *)n.out[0].data)[r * targets + k];
        if (!(fabs(got - want) <= 1e-5 * (1 + fabs(want))))
          fail_msg("%s, row %d, target %d: got %g, wanted %g", how, (int)r, (int)k, got, want);
      }
    one_node_deinit(&n);
  }
}

static void test_scores_are_those_of_a_naive_walk(void **state) {
  (void)state;
  static const char *const hows[] = {"SUM", "AVERAGE", "MIN", "MAX"};
  static const int64_t rows[] = {0, 1, 3, 7, 8, 9, 10, 11, 12, 61};
  for (size_t h = 0; h < OX_COUNT(hows); h++)
    for (size_t r = 0; r < OX_COUNT(rows); r++)
      for (int mode = 0; mode < 6; mode++)
        for (int64_t targets = 1; targets <= 3; targets += 2) {
          regress(hows[h], targets, rows[r], 3, mode, 0, OX_F32);
          regress(hows[h], targets, rows[r], 11, 0, mode, mode % 2 ? OX_F64 : OX_I64);
        }
}

/* One node of |mode|: every edge against every edge and a NaN. */
static void compare_edges(const char *mode, int64_t nan) {
  const float edges[] = {-INFINITY, -FLT_MAX, -1, -FLT_MIN, -0.0f, 0, FLT_MIN, 1, FLT_MAX, INFINITY, NAN};
  for (size_t v = 0; v + 1 < OX_COUNT(edges); v++) {
    static forest f;
    f = (forest){.n = 3, .n_w = 2, .node = {0, 1, 2}, .yes = {1}, .no = {2}, .nan = {nan}, .value = {edges[v]}};
    f.mode[0] = str(mode), f.mode[1] = f.mode[2] = str("LEAF");
    f.w_node[0] = 1, f.w_node[1] = 2, f.w[0] = 5, f.w[1] = 7;
    one_node n;
    one_node_init(&n, "ai.onnx.ml", "TreeEnsembleRegressor", 3, 1);
    set_nodes(&n, &f, (const char *[]){"target_treeids", "target_nodeids", "target_ids", "target_weights"});
    one_node_int(&n, "n_targets", 1);
    one_node_input(&n, OX_F32, 2, (int64_t[]){OX_COUNT(edges), 1}, edges);
    CHECK_OK(one_node_run(&n));
    for (size_t r = 0; r < OX_COUNT(edges); r++) {
      double want = holds(mode, edges[r], edges[v], nan) ? 5 : 7, got = ((float *)n.out[0].data)[r];
      if (got != want) fail_msg("%g %s %g, nan %d: got %g", edges[r], mode, edges[v], (int)nan, got);
    }
    one_node_deinit(&n);
  }
}

static void test_comparisons_at_the_edges(void **state) {
  (void)state;
  for (size_t m = 0; m < OX_COUNT(modes); m++)
    for (int64_t nan = 0; nan < 2; nan++) compare_edges(modes[m], nan);
}

static void classify(const char *post, const float *want, const int64_t *labels, float x0) {
  /* one stump: x <= 0 ? -1.5 : 2; two labels, weights for one of them */
  static const int64_t zero[3], ids[] = {0, 1, 2}, yes[] = {1, 0, 0}, no[] = {2, 0, 0};
  const ox_str modes3[] = {str("BRANCH_LEQ"), str("LEAF"), str("LEAF")};
  static const float values[3], w[] = {-1.5f, 2.0f};
  one_node n;
  one_node_init(&n, "ai.onnx.ml", "TreeEnsembleClassifier", 1, 2);
  one_node_ints(&n, "nodes_treeids", 3, zero);
  one_node_ints(&n, "nodes_nodeids", 3, ids);
  one_node_ints(&n, "nodes_featureids", 3, zero);
  one_node_ints(&n, "nodes_truenodeids", 3, yes);
  one_node_ints(&n, "nodes_falsenodeids", 3, no);
  one_node_strs(&n, "nodes_modes", 3, modes3);
  one_node_floats(&n, "nodes_values", 3, values);
  one_node_ints(&n, "class_treeids", 2, zero);
  one_node_ints(&n, "class_nodeids", 2, ids + 1);
  one_node_ints(&n, "class_ids", 2, zero);
  one_node_floats(&n, "class_weights", 2, w);
  one_node_ints(&n, "classlabels_int64s", 2, labels);
  one_node_str(&n, "post_transform", post);
  one_node_input(&n, OX_F32, 2, (int64_t[]){1, 1}, &x0);
  CHECK_OK(one_node_run(&n));
  assert_int_equal(((int64_t *)n.out[0].data)[0], labels[x0 > 0]);
  for (int k = 0; k < 2; k++) assert_true(fabsf(((float *)n.out[1].data)[k] - want[k]) < 1e-6f);
  one_node_deinit(&n);
}

static void test_binary_classifier_writes_both_scores(void **state) {
  (void)state;
  static const int64_t labels[] = {10, 20};
  classify("NONE", (float[]){-2, 2}, labels, 1);
  classify("NONE", (float[]){1.5f, -1.5f}, labels, -1);
  classify("LOGISTIC", (float[]){0.119202922f, 0.880797078f}, labels, 1);
}

static void test_bad_trees_are_refused(void **state) {
  (void)state;
  static const int64_t zero[3], ids[] = {0, 1, 2}, loop[] = {1, 0, 0}, gone[] = {7, 0, 0}, no[] = {2, 0, 0};
  const ox_str inner[] = {str("BRANCH_LEQ"), str("BRANCH_LEQ"), str("LEAF")};
  static const float values[3], x[2];
  for (int bad = 0; bad < 3; bad++) {
    one_node n;
    one_node_init(&n, "ai.onnx.ml", "TreeEnsembleRegressor", 1, 1);
    one_node_int(&n, "n_targets", 1);
    one_node_ints(&n, "nodes_treeids", bad == 2 ? 2 : 3, zero);
    one_node_ints(&n, "nodes_nodeids", 3, ids);
    one_node_ints(&n, "nodes_featureids", 3, zero);
    one_node_ints(&n, "nodes_truenodeids", 3, bad == 1 ? gone : loop);
    one_node_ints(&n, "nodes_falsenodeids", 3, no);
    one_node_strs(&n, "nodes_modes", 3, inner);
    one_node_floats(&n, "nodes_values", 3, values);
    one_node_input(&n, OX_F32, 2, (int64_t[]){1, 2}, x);
    CHECK_FAILS(one_node_run(&n), OX_INVALID_MODEL, bad == 0 ? "cycle" : bad == 1 ? "no node 7" : "has 3 items");
    one_node_deinit(&n);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_scores_are_those_of_a_naive_walk),
      cmocka_unit_test(test_comparisons_at_the_edges),
      cmocka_unit_test(test_binary_classifier_writes_both_scores),
      cmocka_unit_test(test_bad_trees_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
