/* SPDX-License-Identifier: Apache-2.0
 * ops/ml_tree_ensemble5_test.c - leaves apart from nodes, sets of members, a tree that is one leaf, bad links. */
#include <math.h>
#include <string.h>

#include "support/check.h"
#include "support/one_node.h"

/* Tree 0: x0 in {1, 3} ? 10 : (x1 < 2 ? 20 : 30). Tree 1: always 100. */
static void make(one_node *n, const int64_t *on_true, const double *x, int64_t rows) {
  static const int64_t roots[] = {0, 2}, features[] = {0, 1, 0}, on_false[] = {1, 2, 3}, true_leaf[] = {1, 1, 1},
                       false_leaf[] = {0, 1, 1}, targets[] = {0, 0, 0, 0};
  static double splits[] = {0, 2, 0}, weights[] = {10, 20, 30, 100}, members[] = {3, 1, NAN};
  static uint8_t modes[] = {6, 1, 0};
  static ox_tensor t[4];
  ox_shape three = ox_shape_of(1, (int64_t[]){3}), four = ox_shape_of(1, (int64_t[]){4});
  members[2] = NAN;
  t[0] = ox_tensor_view(OX_F64, &three, splits), t[1] = ox_tensor_view(OX_U8, &three, modes);
  t[2] = ox_tensor_view(OX_F64, &four, weights), t[3] = ox_tensor_view(OX_F64, &three, members);
  one_node_init(n, "ai.onnx.ml", "TreeEnsemble", 5, 1);
  one_node_int(n, "n_targets", 1);
  one_node_ints(n, "tree_roots", 2, roots);
  one_node_ints(n, "nodes_featureids", 3, features);
  one_node_ints(n, "nodes_truenodeids", 3, on_true);
  one_node_ints(n, "nodes_falsenodeids", 3, on_false);
  one_node_ints(n, "nodes_trueleafs", 3, true_leaf);
  one_node_ints(n, "nodes_falseleafs", 3, false_leaf);
  one_node_ints(n, "leaf_targetids", 4, targets);
  one_node_tensor(n, "nodes_splits", &t[0]);
  one_node_tensor(n, "nodes_modes", &t[1]);
  one_node_tensor(n, "leaf_weights", &t[2]);
  one_node_tensor(n, "membership_values", &t[3]);
  one_node_input(n, OX_F64, 2, (int64_t[]){rows, 2}, x);
}

static void test_sets_and_single_leaves(void **state) {
  (void)state;
  static const int64_t on_true[] = {0, 1, 3};
  static const double want[] = {110, 110, 120, 130, 120, 130};
  const double x[] = {1, 0, 3, 9, 2, 1, 2, 2, NAN, 0, 1.5, NAN};
  for (int64_t rows = 1; rows <= 6; rows += 5) {
    one_node n;
    make(&n, on_true, x, rows);
    CHECK_OK(one_node_run(&n));
    for (int64_t r = 0; r < rows; r++) assert_true(((double *)n.out[0].data)[r] == want[r]);
    one_node_deinit(&n);
  }
}

static void test_links_out_of_range_are_refused(void **state) {
  (void)state;
  static const int64_t bad[] = {0, 4, 3};
  static const double x[2];
  one_node n;
  make(&n, bad, x, 1);
  CHECK_FAILS(one_node_run(&n), OX_INVALID_MODEL, "leads to leaf 4 of 4");
  one_node_deinit(&n);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sets_and_single_leaves),
      cmocka_unit_test(test_links_out_of_range_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
