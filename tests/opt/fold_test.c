/* SPDX-License-Identifier: Apache-2.0
 * opt/fold_test.c - folding, merging and removing, by text before and operators after. */
#include <stdlib.h>
#include <unistd.h>

#include "onnx/model.h"
#include "onnx/write.h"

#include "support/build_graph.h"
#include "support/resident.h"
#include "support/run_graph.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]> g "

static void test_constants_are_folded(void **state) {
  (void)state;
  rg_check(HEAD
           "(float[3] x) => (float[3] y) <float[3] a = {1, 2, 3}, float b = {2}> {\n"
           " c = Mul (a, b) d = Neg (c) y = Add (x, d) }",
           OX_OPTIMIZE_BASIC, "fold", "Add", 0);
}

static void test_outputs_are_not_folded_away(void **state) {
  (void)state;
  rg_check(HEAD "(float[3] x) => (float[3] y, float[3] z) <float[3] a = {1, 2, 3}> { y = Neg (a) z = Relu (x) }",
           OX_OPTIMIZE_BASIC, "!fold", "Neg Relu", 0);
}

static void test_random_numbers_are_not_folded(void **state) {
  (void)state;
  ox_model *m = rg_read(HEAD
                        "(float[3] x) => (float[3] y) <float[3] a = {1, 2, 3}> { r = RandomNormalLike (a) "
                        "s = RandomNormalLike (a) t = Add (r, s) y = Add (x, t) }");
  ox_opt_options o = rg_options(OX_OPTIMIZE_BASIC);
  char ops[256];
  CHECK_OK(ox_optimize(m, &o));
  assert_string_equal(bg_ops(m->graph, ops), "RandomNormalLike RandomNormalLike Add Add");
  ox_model_destroy(m);
}

static void test_huge_results_are_not_folded(void **state) {
  (void)state;
  ox_model *m = rg_read(HEAD
                        "(float[1] x) => (float[N, M] y) <int64[2] s = {100000, 1000}> {\n"
                        "  c = ConstantOfShape (s) y = Add (x, c) }");
  ox_opt_options o = rg_options(OX_OPTIMIZE_BASIC);
  o.fold_bytes = 1 << 20;
  char ops[256];
  CHECK_OK(ox_optimize(m, &o));
  assert_string_equal(bg_ops(m->graph, ops), "ConstantOfShape Add");
  ox_model_destroy(m);
}

/* A constant of a file that was folded away is in memory as what was made of it alone. */
static void test_what_was_folded_leaves_memory(void **state) {
  (void)state;
  enum { N = 16 << 20 };
  char path[] = "/tmp/onyx-fold-XXXXXX";
  if (!resident()) skip();
  int file = mkstemp(path);
  float *w = calloc(N, sizeof *w);
  assert_true(w && file >= 0);
  for (size_t i = 0; i < N; i++) w[i] = (float)(i % 1000);
  ox_model *m = bg_model(17);
  m->ir_version = 8;
  bg_input(m->graph, "x", OX_F32, "1");
  bg_const(m->graph, "w", OX_F32, "16777216", w);
  bg_node(m->graph, "v = Neg(w)"), bg_node(m->graph, "y = Add(x, v)");
  bg_output(m->graph, "y");
  CHECK_OK(ox_model_write_file(m, path));
  ox_model_destroy(m);
  free(w);
  ox_read_opts opts = {.registry = ox_ops_cpu()};
  CHECK_OK(ox_model_read_file(ox_alloc_heap(), path, &opts, &m));
  ox_opt_options o = rg_options(OX_OPTIMIZE_BASIC);
  size_t before = resident();
  CHECK_OK(ox_optimize(m, &o));
  size_t more = resident() - before;
  char ops[256];
  assert_string_equal(bg_ops(m->graph, ops), "Add");
  if (more > (size_t)N * sizeof *w * 3 / 2) fail_msg("%zu bytes more for a constant of %zu", more, N * sizeof *w);
  ox_model_destroy(m);
  close(file), unlink(path);
}

/* Writes to what is offered, and counts that. */
static ox_status *eval_there(void *ctx, ox_graph *g, ox_id node, ox_tensor *outs) {
  ox_tensor offered = outs[0];
  outs[0] = (ox_tensor){0};
  OX_TRY(rg_eval(NULL, g, node, outs));
  if (!offered.data || strcmp(g->nodes[node].op, "Reshape") == 0) return NULL; /* a view has no memory of its own */
  assert_true(outs[0].bytes <= offered.bytes);
  outs[0].data = memcpy(offered.data, outs[0].data, outs[0].bytes);
  ++*(int *)ctx;
  return NULL;
}

static void test_large_results_in_a_row_share_memory(void **state) {
  (void)state;
  /* |e| has another reader and |r| the memory of |c|, so neither is overwritten while it is read */
  static const char text[] = HEAD
      "(float[1] x) => (float[32768] y, float[32768] z, float[32768] u) "
      "<float[1] one = {3}, int64[1] s = {32768}, int64[2] t = {128, 256}> {"
      "e = Expand (one, s) a = Neg (e) b = Exp (a) c = Sqrt (b) r = Reshape (c, t) "
      "d = Neg (r) f = Reshape (d, s) y = Add (x, f) z = Add (x, e) u = Add (x, c) }";
  ox_arena arena;
  ox_tensor before[3] = {{0}}, after[3] = {{0}};
  int offers = 0;
  char ops[256];
  ox_model *plain = rg_read(text), *m = rg_read(text);
  ox_opt_options o = rg_options(OX_OPTIMIZE_BASIC);
  o.eval = eval_there, o.eval_ctx = &offers;
  CHECK_OK(ox_optimize(m, &o));
  assert_string_equal(bg_ops(m->graph, ops), "Add Add Add");
  assert_int_equal(offers, 2); /* c where a was, d where b was */
  ox_arena_init(&arena, ox_alloc_heap());
  CHECK_OK(rg_run(plain, &arena, before));
  CHECK_OK(rg_run(m, &arena, after));
  for (int i = 0; i < 3; i++) rg_compare(&before[i], &after[i], "yzu" + i, 0);
  ox_arena_deinit(&arena);
  ox_model_destroy(plain);
  ox_model_destroy(m);
}

static void test_shapes_are_folded(void **state) {
  (void)state;
  rg_check(HEAD
           "(float[2, 6] x) => (float[A, B] y) <int64[1] i = {1}, int64[1] m = {-1}> {\n"
           " s = Shape (x) d = Gather (s, i) t = Concat <axis = 0> (d, m) y = Reshape (x, t) }",
           OX_OPTIMIZE_BASIC, NULL, "Reshape", 0);
}

static void test_equal_nodes_are_merged(void **state) {
  (void)state;
  rg_check(HEAD
           "(float[3] x) => (float[3] y) <float a = {2}, float b = {2}> {\n"
           " p = Mul (x, a) q = Mul (x, b) r = Neg (p) s = Neg (q) y = Add (r, s) }",
           OX_OPTIMIZE_BASIC, "cse", "Mul Neg Add", 0);
}

/* Two constants of |n| floats, of which those at |other| differ (n: none), become one or stay two. */
static bool merges(size_t n, size_t other, const char *shape_a, const char *shape_b) {
  float a[600], b[600];
  uint32_t merged = 0;
  for (size_t i = 0; i < n; i++) a[i] = b[i] = (float)(i % 7);
  if (other < n) b[other] += 0.5f;
  ox_model *m = bg_model(17);
  ox_graph *g = m->graph;
  bg_input(g, "x", OX_F32, NULL);
  bg_const(g, "a", OX_F32, shape_a, a), bg_const(g, "b", OX_F32, shape_b, b);
  bg_node(g, "y = Add(x, a)"), bg_node(g, "z = Add(x, b)");
  bg_output(g, "y"), bg_output(g, "z");
  CHECK_OK(ox_cse_graph(g, OX_NO_OWNER, &merged));
  bool one = g->nodes[0].in[1] == g->nodes[1].in[1];
  ox_model_destroy(m);
  return one;
}

static void test_equal_constants_are_merged(void **state) {
  (void)state;
  assert_true(merges(1, 1, "1", "1"));
  assert_true(merges(64, 64, "64", "64"));
  assert_true(merges(65, 65, "65", "65"));
  assert_true(merges(600, 600, "600", "600"));
  assert_false(merges(600, 600, "600", "20,30"));
  for (size_t i = 0; i < 600; i++) /* wherever they differ: only some places of a long one are hashed */
    if (merges(600, i, "600", "600")) fail_msg("differ at %zu, and are one", i);
  for (size_t i = 0; i < 65; i++)
    if (merges(65, i, "65", "65")) fail_msg("of 65, differ at %zu, and are one", i);
}

static void test_other_attributes_are_not_merged(void **state) {
  (void)state;
  rg_check(HEAD
           "(float[3, 4] x) => (float[3, 4] y, float[4, 3] z) {\n"
           " a = Transpose <perm = [0, 1]> (x) b = Transpose <perm = [1, 0]> (x) y = Neg (a) z = Neg (b) }",
           OX_OPTIMIZE_NONE, "!cse", "Transpose Transpose Neg Neg", 0);
}

/* Layers that share weights, also by an Identity or a Transpose of each, read one constant: they pack it once. The
 * weights are too large to be merged because they are equal. */
static void test_shared_weights_stay_shared(void **state) {
  (void)state;
  enum { SIDE = 65 };
  static const char *const models[][5] = {
      {"i = Identity(w)", "a = MatMul(x, w)", "y = MatMul(a, i)"},
      {"i = Identity(w)", "j = Identity(i)", "a = MatMul(x, j)", "y = MatMul(a, i)"},
      {"i = Transpose(w)", "j = Transpose(w)", "a = MatMul(x, i)", "y = MatMul(a, j)"},
      {"i = Identity(w)", "j = Transpose(i)", "k = Transpose(w)", "a = MatMul(x, j)", "y = MatMul(a, k)"},
  };
  float *weights = calloc(SIDE * SIDE, sizeof *weights);
  assert_non_null(weights);
  for (size_t i = 0; i < OX_COUNT(models); i++) {
    ox_model *m = bg_model(17);
    ox_graph *g = m->graph;
    ox_opt_options o = rg_options(OX_OPTIMIZE_BASIC);
    char ops[256];
    bg_input(g, "x", OX_F32, "1,65");
    bg_const(g, "w", OX_F32, "65,65", weights);
    for (size_t k = 0; k < OX_COUNT(models[i]) && models[i][k]; k++) bg_node(g, models[i][k]);
    bg_output(g, "y");
    CHECK_OK(ox_optimize(m, &o));
    assert_string_equal(bg_ops(g, ops), "MatMul MatMul");
    ox_id w = OX_NONE;
    for (ox_id n = 0; n < g->n_nodes; n++) {
      if (g->nodes[n].dead) continue;
      if (w != OX_NONE && g->nodes[n].in[1] != w) fail_msg("model %zu: two constants", i);
      w = g->nodes[n].in[1];
    }
    ox_model_destroy(m);
  }
  free(weights);
}

static void test_unread_nodes_are_removed(void **state) {
  (void)state;
  rg_check(HEAD "(float[3] x) => (float[3] y) { a = Relu (x) b = Neg (a) y = Neg (x) }", OX_OPTIMIZE_BASIC, "dce",
           "Neg", 0);
}

/* Before fusions, what these still want to see stays: quantized weights, and weights too large to have twice. */
static void test_what_fusion_wants_is_folded_late(void **state) {
  (void)state;
  const struct {
    const char *node;
    bool held;
  } cases[] = {{"c = Neg(large)", false},
               {"c = Transpose(small)", false},
               {"c = Transpose(large)", true},
               {"c = DequantizeLinear(bytes, scale)", true},
               {"c = Neg(small)", false}};
  enum { SIDE = 513 }; /* SIDE x SIDE floats are a little more than 1 MiB */
  float *large = calloc(SIDE * SIDE, sizeof *large);
  assert_non_null(large);
  for (size_t i = 0; i < OX_COUNT(cases); i++)
    for (int early = 0; early < 2; early++) {
      ox_model *m = bg_model(17);
      ox_graph *g = m->graph;
      bg_input(g, "x", OX_F32, NULL);
      bg_const(g, "large", OX_F32, "513,513", large);
      bg_const(g, "small", OX_F32, "1,2", (float[]){1, 2});
      bg_const(g, "bytes", OX_I8, "2", (int8_t[]){3, -4});
      bg_f32(g, "scale", 0.5f);
      bg_node(g, cases[i].node), bg_node(g, "y = Add(x, c)");
      bg_output(g, "y");
      CHECK_OK(ox_infer_graph(g, NULL, false));
      ox_opt_options o = rg_options(OX_OPTIMIZE_BASIC);
      size_t budget = 1 << 24;
      uint32_t folded = 0, held = 0;
      CHECK_OK(ox_fold_graph(g, &o, OX_NO_OWNER, early, &budget, &folded, &held));
      bool stays = early && cases[i].held;
      if (held != stays || folded != !stays) fail_msg("%s, early %d: %u folded", cases[i].node, early, folded);
      ox_model_destroy(m);
    }
  free(large);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_constants_are_folded),
      cmocka_unit_test(test_outputs_are_not_folded_away),
      cmocka_unit_test(test_random_numbers_are_not_folded),
      cmocka_unit_test(test_huge_results_are_not_folded),
      cmocka_unit_test(test_what_was_folded_leaves_memory),
      cmocka_unit_test(test_large_results_in_a_row_share_memory),
      cmocka_unit_test(test_shapes_are_folded),
      cmocka_unit_test(test_what_fusion_wants_is_folded_late),
      cmocka_unit_test(test_equal_nodes_are_merged),
      cmocka_unit_test(test_equal_constants_are_merged),
      cmocka_unit_test(test_other_attributes_are_not_merged),
      cmocka_unit_test(test_shared_weights_stay_shared),
      cmocka_unit_test(test_unread_nodes_are_removed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
