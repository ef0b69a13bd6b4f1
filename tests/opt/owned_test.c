/* SPDX-License-Identifier: Apache-2.0
 * opt/owned_test.c - the phase of owners: nothing is rewritten across them, results stay what they were, and every node
 * tells what it does the work of. */
#include "opt/match.h"
#include "support/custom_rules.h"

enum { OWNERS = 3 };
static const ox_opt_owner all_cpu[OWNERS] = {{.name = "cpu"}, {.name = "cpu"}, {.name = "cpu"}};

#define W "float[3, 4] w = {1, -2, 3, 4, 5, 6, -7, 8, 9, 1, 2, 3}"
#define CONV_W "float[4, 1, 1, 2] w = {1, -2, 3, 4, 5, 6, -7, 8}"
#define Q                                                                                                             \
  "float s = {0.015}, uint8 z = {128}, float t = {0.04}, uint8 u = {100}, int8[3, 4] w = {1, -2, 3, 4, 5, 6, -7, 8, " \
  "9, 1, 2, 3}, float ws = {0.1}, int8 wz = {0}"

/* Networks with fusions of all kinds. */
static const struct {
  const char *text;
  double tolerance;
} graphs[] = {
    {HEAD "(float[1, 2, 3, 5] x, float[1, 4, 3, 4] v) => (float[1, 4, 3, 4] y) <" CONV_W
          "> { h = Conv <group = 2> (x, w) "
          "i = Add (h, v) a = Relu (i) p = Neg (a) q = Neg (a) b = Add (p, q) y = Sigmoid (b) }",
     1e-6},
    {HEAD "(float[2, 3] x, float[2, 4] r) => (float[2, 4] y) <" W ", float[4] b = {1, 2, 3, 4}, float c = {2}> "
          "{ h = MatMul (x, w) i = Mul (h, c) j = Add (i, b) k = Add (j, r) l = Relu (k) m = Identity (l) "
          "n = Transpose (m) o = Transpose (n) y = Tanh (o) }",
     1e-5},
    {HEAD "(float[2, 5, 12] a, float[2, 5, 12] b, float[2, 5, 12] c) => (float[2, 5, 12] y) "
          "<int64[4] s = {2, -1, 3, 4}, int64[3] t = {2, -1, 12}, float r = {2}> { q0 = Reshape (a, s) "
          "q = Transpose <perm = [0, 2, 1, 3]> (q0) k0 = Reshape (b, s) k = Transpose <perm = [0, 2, 3, 1]> (k0) "
          "v0 = Reshape (c, s) v = Transpose <perm = [0, 2, 1, 3]> (v0) m = MatMul (q, k) d = Div (m, r) "
          "p = Softmax <axis = -1> (d) x = MatMul (p, v) x1 = Transpose <perm = [0, 2, 1, 3]> (x) "
          "y = Reshape (x1, t) }",
     1e-5},
    {HEAD "(float[2, 3, 4] x) => (float[2, 3, 4] y) <float two = {2}, float e = {0.00001}, float[4] s = {1, 2, 3, 4}, "
          "float[4] b = {5, 6, 7, 8}, float i = {0.70710678}, float one = {1}, float h = {0.5}> "
          "{ m = ReduceMean <axes = [-1]> (x) d = Sub (x, m) q = Pow (d, two) w = ReduceMean <axes = [-1]> (q) "
          "a = Add (w, e) r = Sqrt (a) n = Div (d, r) z = Mul (n, s) o = Add (z, b) "
          "k = Mul (o, i) l = Erf (k) g = Add (l, one) t = Mul (o, g) y = Mul (t, h) }",
     1e-5},
    {HEAD "(float[2, 3] x) => (uint8[2, 4] y) <" Q "> { xq = QuantizeLinear (x, s, z) xd = DequantizeLinear (xq, s, z) "
          "wd = DequantizeLinear (w, ws, wz) m = MatMul (xd, wd) r = Relu (m) mq = QuantizeLinear (r, t, u) "
          "md = DequantizeLinear (mq, t, u) k = Sigmoid (md) y = QuantizeLinear (k, s, z) }",
     2},
    {HEAD "(float[1, 2, 3, 5] x) => (float[1, 4, 3, 4] y) <" CONV_W ", float[4] s = {1, 2, 3, 4}, "
          "float[4] b = {5, 6, 7, 8}, float[4] m = {0.1, 0.2, 0.3, 0.4}, float[4] v = {1, 2, 3, 4}> { "
          "h = Conv <group = 2> (x, w) i = BatchNormalization (h, s, b, m, v) j = Sigmoid (i) y = Mul (i, j) }",
     1e-5},
};

static uint32_t next_random(uint32_t *seed) {
  *seed = *seed * 1664525 + 1013904223;
  return *seed >> 16;
}

static ox_opt_options options(void) {
  ox_opt_options o = rg_options(OX_OPTIMIZE_ALL);
  o.owners = all_cpu, o.n_owners = OWNERS;
  return o;
}

static ox_status *optimize_all_owners(ox_model *m, ox_opt_options *o) {
  for (uint16_t owner = 1; owner <= OWNERS; owner++) OX_TRY(ox_optimize_owned(m, o, owner));
  return NULL;
}

/* ---- alternate owners ---- */

static void test_with_alternate_owners_nothing_is_fused(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(graphs); i++) {
    char before[1024];
    ox_model *m = rg_read(graphs[i].text);
    ox_opt_options o = options();
    o.eval = NULL; /* what is constant stays a node */
    CHECK_OK(ox_infer_graph(m->graph, &o, false));
    for (ox_id n = 0; n < m->graph->n_nodes; n++) m->graph->nodes[n].assigned.owner = (uint16_t)(1 + n % 2);
    uint32_t n_before = m->graph->n_nodes, has_identity = strstr(bg_ops(m->graph, before), "Identity") != NULL;
    CHECK_OK(optimize_all_owners(m, &o));
    CHECK_OK(ox_graph_verify(m->graph));
    assert_int_equal(m->graph->n_nodes, n_before - has_identity); /* which goes by itself */
    for (ox_id n = 0; n < m->graph->n_nodes; n++)
      if (*m->graph->nodes[n].domain || !strstr(before, m->graph->nodes[n].op))
        fail_msg("graph %zu: there is %s now", i, m->graph->nodes[n].op);
    ox_model_destroy(m);
  }
}

static void test_one_owner_fuses_the_same_graph(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(graphs); i++) {
    char before[1024], after[1024];
    ox_model *m = rg_read(graphs[i].text);
    ox_opt_options o = options();
    bg_ops(m->graph, before);
    CHECK_OK(rg_optimize(m, &o));
    if (strcmp(bg_ops(m->graph, after), before) == 0) fail_msg("graph %zu stayed %s", i, before);
    ox_model_destroy(m);
  }
}

/* ---- random owners ---- */

/* Owners by name of the node: what |from| names must have been the node's own owner's. */
typedef struct census {
  ox_map owner;
  const char *names[64];
  uint32_t n;
} census;

static void name_and_assign(ox_model *m, census *c, uint32_t *seed) {
  ox_graph *g = m->graph;
  c->n = 0;
  for (ox_id i = 0; i < g->n_nodes; i++) {
    ox_node *n = &g->nodes[i];
    uint32_t owner = 1 + next_random(seed) % OWNERS, part = next_random(seed) % 4 == 0;
    n->name = g->values[n->out[0]].name;
    n->assigned = (ox_assignment){(uint16_t)owner, 0, part};
    c->names[c->n++] = n->name;
    assert_true(ox_map_put(&c->owner, n->name, owner * 2 + part));
  }
}

static void check_origins(const ox_model *m, const census *c) {
  for (ox_id i = 0; i < m->graph->n_nodes; i++) {
    const ox_node *n = &m->graph->nodes[i];
    uint32_t mine = n->assigned.owner * 2u + n->assigned.part;
    for (uint32_t k = 0; k < n->n_from; k++)
      if (ox_map_find(&c->owner, n->from[k]) != mine)
        fail_msg("%s of owner %u stems from %s", n->op, n->assigned.owner, n->from[k]);
    if (!n->n_from && ox_map_find(&c->owner, n->name) != mine) fail_msg("%s: who is '%s'?", n->op, n->name);
  }
}

static void check_random_owners(size_t i, uint32_t seed) {
  enum { MOST = 4 };
  ox_tensor before[MOST], after[MOST];
  ox_arena a;
  census c;
  ox_arena_init(&a, ox_alloc_heap());
  ox_map_init(&c.owner, ox_alloc_heap());
  ox_model *m = rg_read(graphs[i].text);
  ox_opt_options o = options();
  CHECK_OK(rg_run(m, &a, before));
  CHECK_OK(ox_infer_graph(m->graph, &o, false));
  name_and_assign(m, &c, &seed);
  CHECK_OK(optimize_all_owners(m, &o));
  CHECK_OK(ox_graph_verify(m->graph));
  check_origins(m, &c);
  CHECK_OK(rg_run(m, &a, after));
  for (uint32_t k = 0; k < m->graph->n_outputs; k++)
    rg_compare(&before[k], &after[k], m->graph->values[m->graph->outputs[k]].name, graphs[i].tolerance);
  ox_map_deinit(&c.owner);
  ox_model_destroy(m);
  ox_arena_deinit(&a);
}

static void test_random_owners_keep_results(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(graphs); i++)
    for (uint32_t seed = 1; seed <= 60; seed++) check_random_owners(i, seed * 977);
}

/* ---- what stays apart ---- */

/* |text| with the owners of its nodes, in order, and the operators after the phases. */
static void check_owners(const char *text, const char *owners, const char *after) {
  char ops[256];
  ox_model *m = rg_read(text);
  ox_opt_options o = options();
  CHECK_OK(ox_infer_graph(m->graph, &o, false));
  for (ox_id i = 0; i < m->graph->n_nodes; i++) m->graph->nodes[i].assigned.owner = (uint16_t)(owners[i] - '0');
  CHECK_OK(optimize_all_owners(m, &o));
  if (strcmp(bg_ops(m->graph, ops), after) != 0) fail_msg("%s: got %s, wanted %s", owners, ops, after);
  ox_model_destroy(m);
}

static void test_merging_folding_and_removing_keep_to_one_owner(void **state) {
  (void)state;
  static const char twins[] =
      HEAD "(float[2] x) => (float[2] y) { a = Tanh (x) b = Tanh (x) c = Floor (a) y = Max (c, b) }";
  static const char consts[] =
      HEAD "(float[2] x) => (float[2] y) <float[2] c = {1, 2}> { a = Tanh (c) b = Floor (a) y = Max (x, b) }";
  check_owners(twins, "1111", "Tanh Floor Max");
  check_owners(twins, "1211", "Tanh Tanh Floor Max");
  check_owners(twins, "2122", "Tanh Tanh Floor Max");
  check_owners(consts, "1111", "Max");
  check_owners(consts, "1211", "Max"); /* each by its own owner, one after the other */
  ox_model *m = rg_read(consts);
  char ops[256];
  ox_opt_options o = options();
  CHECK_OK(ox_infer_graph(m->graph, &o, false));
  rg_own_all(m, 2);
  m->graph->nodes[1].assigned.owner = 1;
  CHECK_OK(ox_optimize_owned(m, &o, 1)); /* whose Floor has no constant to read yet */
  assert_string_equal(bg_ops(m->graph, ops), "Tanh Floor Max");
  ox_model_destroy(m);
  check_owners(HEAD "(float[2] x) => (float[2] y) { a = Tanh (x) b = Identity (a) y = Floor (x) }", "121",
               "Tanh Floor");
  check_owners(HEAD "(float[2] x) => (float[2] y) { a = Tanh (x) b = Identity (a) y = Floor (x) }", "111", "Floor");
}

static void test_shapes_that_inference_knows_become_constant_for_their_owner(void **state) {
  (void)state;
  for (uint16_t owner = 1; owner <= 2; owner++) {
    ox_model *m = rg_read(HEAD "(float[2, 3] x) => (int64[2] y) { s = Shape (x) i = Identity (s) y = Neg (i) }");
    ox_opt_options o = options();
    char ops[64];
    CHECK_OK(ox_infer_graph(m->graph, &o, false));
    rg_own_all(m, 2);
    CHECK_OK(ox_optimize_owned(m, &o, owner));
    assert_string_equal(bg_ops(m->graph, ops), owner == 2 ? "Neg" : "Shape Identity Neg");
    ox_model_destroy(m);
  }
}

static void test_an_owner_that_no_set_is_for_is_left_alone(void **state) {
  (void)state;
  static const char text[] =
      HEAD "(float[2] x) => (float[2] y) <float[2] c = {1, 2}> { a = Tanh (c) b = Identity (x) y = Max (a, b) }";
  static const ox_rule rules[] = {{OX_RULE("negs-ceil", OX_OPTIMIZE_BASIC, cr_two_negs, NULL, cr_to_ceil)}};
  static const ox_rule_set its = OX_OWNED_RULE_SET("npu", rules), everybodys = OX_OWNED_RULE_SET(NULL, rules);
  static const struct {
    const ox_rule_set *set;
    const char *after;
  } rows[] = {{NULL, "Tanh Identity Max"}, {&its, "Max"}, {&everybodys, "Max"}};
  static const ox_opt_owner npu = {.name = "npu"};
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    ox_model *m = rg_read(text);
    ox_opt_options o = rg_options(OX_OPTIMIZE_ALL);
    ox_rule_list lists[] = {o.rules[0], o.rules[1], {&rows[i].set, rows[i].set != NULL}};
    char ops[64];
    o.owners = &npu, o.rules = lists, o.n_rules = 3;
    CHECK_OK(ox_infer_graph(m->graph, &o, false));
    rg_own_all(m, 1);
    CHECK_OK(ox_optimize_owned(m, &o, 1));
    assert_string_equal(bg_ops(m->graph, ops), rows[i].after);
    ox_model_destroy(m);
  }
}

/* ---- what the provider has ---- */

static bool no_fused_conv(void *ctx, const char *domain, const char *op, uint32_t dtype) {
  (void)domain, (void)dtype;
  ++*(int *)ctx;
  return strcmp(op, "FusedConv") != 0;
}

static void test_a_rule_does_not_make_what_the_provider_lacks(void **state) {
  (void)state;
  static const char text[] =
      HEAD "(float[1, 2, 3, 5] x) => (float[1, 4, 3, 4] y) <" CONV_W "> { h = Conv <group = 2> (x, w) y = Relu (h) }";
  int asked = 0;
  ox_opt_owner lacking = {"cpu", no_fused_conv, &asked};
  ox_opt_options o = rg_options(OX_OPTIMIZE_ALL);
  char ops[256];
  ox_model *m = rg_read(text);
  o.owners = &lacking;
  CHECK_OK(rg_optimize(m, &o));
  assert_string_equal(bg_ops(m->graph, ops), "Conv Relu");
  assert_true(asked > 0);
  ox_model_destroy(m);
}

/* ---- origins ---- */

static void test_a_fused_node_tells_what_it_is_made_of(void **state) {
  (void)state;
  static const struct {
    const char *text, *op, *from; /* sorted by first appearance */
  } rows[] = {
      {HEAD "(float[1, 2, 3, 5] x, float[1, 4, 3, 4] v) => (float[1, 4, 3, 4] y) <" CONV_W "> { "
            "[c] h = Conv <group = 2> (x, w) [a] i = Add (h, v) [r] y = Relu (i) }",
       "FusedConv", "a c r "},
      {HEAD "(float[2, 3] x) => (float[2, 4] y) <" W "> { h = MatMul (x, w) [r] y = Relu (h) }", "Linear", "h r "},
      {HEAD "(float[2, 3] x) => (float[2, 3] y) { [i] h = Identity (x) [t] y = Tanh (h) }", "Tanh", ""},
      {HEAD "(float[2] x) => (float[2] y) { [p] a = Tanh (x) [q] b = Tanh (x) [m] y = Max (a, b) }", "Tanh", "p q "},
  };
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    ox_model *m = rg_read(rows[i].text);
    ox_opt_options o = options();
    char got[256] = "";
    CHECK_OK(rg_optimize(m, &o));
    for (ox_id n = 0; n < m->graph->n_nodes; n++)
      for (char c = 'a'; strcmp(m->graph->nodes[n].op, rows[i].op) == 0 && c <= 'z'; c++)
        for (uint32_t k = 0; k < m->graph->nodes[n].n_from; k++)
          if (m->graph->nodes[n].from[k][0] == c) strcat(strcat(got, m->graph->nodes[n].from[k]), " ");
    if (strcmp(got, rows[i].from) != 0)
      fail_msg("row %zu: %s stems from %s, wanted %s", i, rows[i].op, got, rows[i].from);
    ox_model_destroy(m);
  }
}

static void test_verify_wants_all_owners_or_none(void **state) {
  (void)state;
  ox_model *m = rg_read(graphs[0].text);
  CHECK_OK(ox_graph_verify(m->graph));
  rg_own_all(m, 1);
  CHECK_OK(ox_graph_verify(m->graph));
  m->graph->nodes[2].assigned.owner = OX_NO_OWNER;
  CHECK_FAILS(ox_graph_verify(m->graph), OX_INVALID_MODEL, "(Relu) has no owner");
  rg_own_all(m, OX_NO_OWNER);
  m->graph->nodes[2].assigned.owner = 1;
  CHECK_FAILS(ox_graph_verify(m->graph), OX_INVALID_MODEL, "(Relu) has an owner, others have none");
  ox_model_destroy(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_with_alternate_owners_nothing_is_fused),
      cmocka_unit_test(test_one_owner_fuses_the_same_graph),
      cmocka_unit_test(test_random_owners_keep_results),
      cmocka_unit_test(test_merging_folding_and_removing_keep_to_one_owner),
      cmocka_unit_test(test_shapes_that_inference_knows_become_constant_for_their_owner),
      cmocka_unit_test(test_an_owner_that_no_set_is_for_is_left_alone),
      cmocka_unit_test(test_a_rule_does_not_make_what_the_provider_lacks),
      cmocka_unit_test(test_a_fused_node_tells_what_it_is_made_of),
      cmocka_unit_test(test_verify_wants_all_owners_or_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
