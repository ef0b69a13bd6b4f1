/* SPDX-License-Identifier: Apache-2.0
 * opt/custom_rules_test.c - rules and passes of somebody's: where and when they run, tables of another size, failures.
 */
#include "support/counting_alloc.h"
#include "support/custom_rules.h"

static const char negs[] = HEAD "(float[2] x) => (float[2] y) { a = Neg (x) b = Neg (a) y = Relu (b) }";

/* ---- places ---- */

static const ox_pat identity[] = {{.op = "Identity"}};

static ox_status *to_floor(const ox_rewrite *g, const ox_match *m) { return ox_become(g, m->node[0], NULL, "Floor"); }

static void test_places(void **state) {
  (void)state;
  static const ox_rule rules[] = {{OX_RULE("to-floor", OX_OPTIMIZE_BASIC, identity, NULL, to_floor)}};
  static const ox_rule early[] = {{OX_RULE("a-floor", OX_OPTIMIZE_BASIC, identity, NULL, to_floor)}};
  static const struct {
    ox_rule_set set;
    const char *ops;
  } rows[] = {
      {{.struct_size = sizeof(ox_rule_set), .place = OX_RULES_BEFORE, .rules = rules, .n_rules = 1}, "Floor Relu"},
      {{.struct_size = sizeof(ox_rule_set), .place = OX_RULES_AFTER, .rules = rules, .n_rules = 1}, "Relu"},
      {{.struct_size = sizeof(ox_rule_set), .place = OX_RULES_WITH, .rules = rules, .n_rules = 1}, "Relu"},
      {{.struct_size = sizeof(ox_rule_set), .place = OX_RULES_WITH, .rules = early, .n_rules = 1}, "Floor Relu"},
      {{.struct_size = sizeof(ox_rule_set), .place = OX_RULES_OWNED, .rules = early, .n_rules = 1}, "Relu"}};
  char ops[256];
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    CHECK_OK(
        cr_optimize(HEAD "(float[2] x) => (float[2] y) { a = Identity (x) y = Relu (a) }", &rows[i].set, NULL, ops));
    if (strcmp(ops, rows[i].ops) != 0) fail_msg("row %zu: got %s, wanted %s", i, ops, rows[i].ops);
  }
}

static const ox_rule ceil_rule[] = {{OX_RULE("negs-ceil", OX_OPTIMIZE_EXTENDED, cr_two_negs, NULL, cr_to_ceil)}};
static const ox_rule_set ceil_set = OX_RULE_SET(ceil_rule);

static void test_an_owners_rule_runs_for_that_owner_only(void **state) {
  (void)state;
  static const ox_rule_set cpu = OX_OWNED_RULE_SET("cpu", ceil_rule), gpu = OX_OWNED_RULE_SET("gpu", ceil_rule);
  char ops[256];
  CHECK_OK(cr_optimize(negs, &cpu, NULL, ops));
  assert_string_equal(ops, "Ceil Relu");
  CHECK_OK(cr_optimize(negs, &gpu, NULL, ops));
  assert_string_equal(ops, "Neg Neg Relu");
}

static void test_level_and_switch(void **state) {
  (void)state;
  static const char *const off[] = {"negs-ceil"};
  char ops[256];
  ox_opt_options basic = rg_options(OX_OPTIMIZE_BASIC), without = rg_options(OX_OPTIMIZE_ALL);
  CHECK_OK(cr_optimize(negs, &ceil_set, NULL, ops));
  assert_string_equal(ops, "Ceil Relu");
  CHECK_OK(cr_optimize(negs, &ceil_set, &basic, ops));
  assert_string_equal(ops, "Neg Neg Relu");
  without.disabled = off, without.n_disabled = 1;
  CHECK_OK(cr_optimize(negs, &ceil_set, &without, ops));
  assert_string_equal(ops, "Neg Neg Relu");
}

/* ---- tables of another size ---- */

/* As rule.h had them first, and as a later one might. */
typedef struct old_pat {
  const char *op, *domain;
  ox_pat_in in[OX_PAT_INS];
  uint32_t types;
  uint8_t single_use, uses, commutative, unknown;
} old_pat;

typedef struct old_rule {
  uint32_t struct_size, level;
  const char *name;
  const ox_pat *pat;
  uint32_t n_pat, pat_row_bytes;
  int (*guard)(const ox_rewrite *g, ox_match *m);
  ox_status *(*apply)(const ox_rewrite *g, const ox_match *m);
} old_rule;

typedef struct new_pat {
  ox_pat pat;
  void *more;
} new_pat;

typedef struct new_rule {
  ox_rule rule;
  void *more[3];
} new_rule;

static void test_tables_of_an_older_and_a_newer_header(void **state) {
  (void)state;
  static const ox_pat relu[] = {{.op = "Relu"}};
  static const old_pat old_negs[] = {{.op = "Neg", .single_use = 1}, {.op = "Neg", .in = {OX_FROM(0)}}};
  static const old_rule old[] = {
      {sizeof(old_rule), OX_OPTIMIZE_BASIC, "old-ceil", (const ox_pat *)(const void *)old_negs, 2, sizeof(old_pat),
       NULL, cr_to_ceil},
      {sizeof(old_rule), OX_OPTIMIZE_BASIC, "old-floor", relu, 1, sizeof(ox_pat), NULL, to_floor}};
  static const new_pat big_negs[] = {{{.op = "Neg", .single_use = 1}, NULL}, {{.op = "Neg", .in = {OX_FROM(0)}}, NULL}};
  static const new_pat big_relu[] = {{{.op = "Relu"}, NULL}};
  static const new_rule new[] = {
      {{sizeof(new_rule), OX_OPTIMIZE_BASIC, "new-ceil", &big_negs[0].pat, 2, sizeof(new_pat), NULL, cr_to_ceil, 1},
       {0}},
      {{sizeof(new_rule), OX_OPTIMIZE_BASIC, "new-floor", &big_relu[0].pat, 1, sizeof(new_pat), NULL, to_floor, 0},
       {0}}};
  ox_rule_set set = {.struct_size = sizeof set, .rules = (const ox_rule *)(const void *)old, .n_rules = 2};
  char ops[256];
  CHECK_OK(cr_optimize(negs, &set, NULL, ops));
  assert_string_equal(ops, "Ceil Floor");
  set.rules = &new[0].rule;
  CHECK_OK(cr_optimize(negs, &set, NULL, ops));
  assert_string_equal(ops, "Ceil Floor");
}

/* ---- what a rule finds and makes ---- */

typedef struct found {
  double factor;
  char tail[OX_CAPTURE_BYTES - 2 * sizeof(double)];
  double last;
} found;

static const ox_pat scaled[] = {{.op = "Mul", .in = {OX_ARG(0), OX_CONST(1)}, .commutative = 1}};

static int find_factor(const ox_rewrite *g, ox_match *m) {
  found *f = OX_CAPTURE(m, found);
  double *room = (double *)g->api->scratch(g, sizeof *room);
  return room && ox_const_scalar(g, m->arg[1], &f->factor) && f->factor == 2 && (f->last = *room = 7) == 7;
}

static ox_status *to_sum(const ox_rewrite *g, const ox_match *m) {
  const found *f = OX_CAPTURED(m, found);
  ox_id in[] = {m->arg[0], m->arg[0]};
  if (f->factor != 2 || f->last != 7) return g->api->status_make(OX_FAIL, "the capture was lost");
  return ox_remake(g, m->node[0], NULL, "Add", in, 2);
}

static void test_captures_and_scratch(void **state) {
  (void)state;
  static const ox_rule rules[] = {{OX_RULE("double", OX_OPTIMIZE_BASIC, scaled, find_factor, to_sum)}};
  static const ox_rule_set set = OX_RULE_SET(rules);
  char ops[256];
  CHECK_OK(cr_optimize(HEAD "(float[2] x) => (float[2] y) <float c = {2}, float d = {3}> "
                            "{ a = Mul (c, x) b = Mul (a, d) y = Mul (b, c) }",
                       &set, NULL, ops));
  assert_string_equal(ops, "Add Mul Add");
}

static void test_an_operator_that_nobody_knows_can_be_replaced(void **state) {
  (void)state;
  static const ox_pat known[] = {{.op = "Twice", .domain = "my.own", .in = {OX_ARG(0)}}};
  static const ox_pat unknown[] = {{.op = "Twice", .domain = "my.own", .in = {OX_ARG(0)}, .unknown = 1}};
  static const char text[] =
      "<ir_version: 8, opset_import: [\"\" : 17, \"my.own\" : 1]> g (float[2] x) => (float[2] y) "
      "{ a = my.own.Twice (x) y = Neg (a) }";
  ox_rule rules[] = {{OX_RULE("twice", OX_OPTIMIZE_BASIC, unknown, NULL, NULL)}};
  rules[0].apply = to_floor;
  ox_rule_set set = OX_RULE_SET(rules);
  char ops[256];
  CHECK_OK(cr_optimize(text, &set, NULL, ops));
  assert_string_equal(ops, "Floor Neg");
  rules[0].pat = known;
  CHECK_OK(cr_optimize(text, &set, NULL, ops));
  assert_string_equal(ops, "Twice Neg");
}

/* ---- passes ---- */

/* Turns every Relu into Floor; bodies are graphs of their own. */
static ox_status *relus(const ox_rewrite *g, uint32_t *out_changes) {
  const ox_id *order;
  uint32_t n;
  OX_TRY(g->api->order(g, &order, &n));
  for (uint32_t i = 0; i < n; i++) {
    if (!ox_is(g, order[i], "Relu")) continue;
    OX_TRY(ox_become(g, order[i], NULL, "Floor"));
    ++*out_changes;
  }
  return NULL;
}

static const ox_pass relu_pass[] = {{sizeof(ox_pass), OX_OPTIMIZE_BASIC, "relus", relus, 0, 0}};

static void test_a_pass_sees_the_graph_and_its_bodies(void **state) {
  (void)state;
  ox_rule_set set = {.struct_size = sizeof set, .passes = relu_pass, .n_passes = 1};
  const ox_rule_set *sets[] = {&set};
  for (uint32_t place = OX_RULES_WITH; place <= OX_RULES_OWNED; place++) {
    ox_model *m = rg_read(HEAD
                          "(bool c, float[2] x) => (float[2] y) { h = Relu (x)\n"
                          "  y = If (c) <then_branch = t () => (float[2] p) { a = Relu (h) p = Neg (a) },\n"
                          "              else_branch = e () => (float[2] q) { q = Relu (h) }>\n}");
    ox_opt_options o = rg_options(OX_OPTIMIZE_BASIC);
    ox_rule_list list = {sets, 1};
    char ops[256];
    set.place = place, o.rules = &list, o.n_rules = 1;
    CHECK_OK(rg_optimize(m, &o));
    assert_string_equal(bg_ops(m->graph, ops), "Floor If");
    assert_string_equal(bg_ops(ox_node_body(&m->graph->nodes[1], 0), ops), "Floor Neg");
    assert_string_equal(bg_ops(ox_node_body(&m->graph->nodes[1], 1), ops), "Floor");
    assert_int_equal(o.n_counts, 1);
    assert_string_equal(o.counts[0].rule, "relus");
    assert_int_equal(o.counts[0].n, 3);
    ox_model_destroy(m);
  }
}

/* ---- failures name who failed ---- */

static ox_status *no_edit(const ox_rewrite *g, const ox_match *m) {
  return g->api->status_make(OX_FAIL, ox_op_of(g, m->node[CR_OUTER]));
}

static int bad_guard(const ox_rewrite *g, ox_match *m) {
  (void)m;
  g->api->guard_failed(g, g->api->status_make(OX_LIMIT, "first"));
  g->api->guard_failed(g, g->api->status_make(OX_LIMIT, "second"));
  return 1;
}

static ox_status *bad_pass(const ox_rewrite *g, uint32_t *out_changes) {
  (void)out_changes;
  return g->api->status_make(OX_FAIL, "no such thing");
}

static void test_failures_name_the_rule(void **state) {
  (void)state;
  static const ox_rule edit[] = {{OX_RULE("my-edit", OX_OPTIMIZE_BASIC, cr_two_negs, NULL, no_edit)}};
  static const ox_rule guard[] = {{OX_RULE("my-guard", OX_OPTIMIZE_BASIC, cr_two_negs, bad_guard, cr_to_ceil)}};
  static const ox_pass pass[] = {{sizeof(ox_pass), OX_OPTIMIZE_BASIC, "my-pass", bad_pass, 0, 0}};
  static const ox_rule_set edits = OX_RULE_SET(edit), guards = OX_RULE_SET(guard);
  static const ox_rule_set passes = {.struct_size = sizeof passes, .passes = pass, .n_passes = 1};
  char ops[256];
  CHECK_FAILS(cr_optimize(negs, &edits, NULL, ops), OX_FAIL, "rule 'my-edit': Neg");
  CHECK_FAILS(cr_optimize(negs, &guards, NULL, ops), OX_LIMIT, "guard of rule 'my-guard': first");
  CHECK_FAILS(cr_optimize(negs, &passes, NULL, ops), OX_FAIL, "pass 'my-pass': no such thing");
}

/* ---- memory runs out ---- */

static void test_out_of_memory_leaks_nothing(void **state) {
  (void)state;
  static const ox_rule old[] = {{OX_RULE("negs-ceil", OX_OPTIMIZE_EXTENDED, cr_two_negs, NULL, cr_to_ceil)}};
  static const ox_rule_set set = {
      .struct_size = sizeof set, .rules = old, .n_rules = 1, .passes = relu_pass, .n_passes = 1};
  static const ox_rule_set *const sets[] = {&set};
  for (long n = 0;; n++) {
    counting_alloc c = {.fail_at = -1};
    ox_model *m;
    CHECK_OK(ox_model_create(counting_alloc_of(&c), ox_ops_cpu(), &m));
    CHECK_OK(ox_model_set_opset(m, "", 17));
    bg_input(m->graph, "x", OX_F32, "2,N"), bg_weight(m->graph, "w", "3,4"), bg_input(m->graph, "v", OX_F32, "2,3");
    bg_node(m->graph, "a = Neg(x)"), bg_node(m->graph, "b = Neg(a)"), bg_node(m->graph, "p = Relu(b)");
    bg_node(m->graph, "h = MatMul(v, w)"), bg_node(m->graph, "i = Add(h, h)"), bg_node(m->graph, "q = Tanh(h)");
    bg_output(m->graph, "p"), bg_output(m->graph, "q"), bg_output(m->graph, "i");
    ox_opt_options o = rg_options(OX_OPTIMIZE_ALL);
    ox_rule_list lists[3] = {o.rules[0], o.rules[1], {sets, 1}};
    o.rules = lists, o.n_rules = 3;
    c.calls = 0;
    c.fail_at = n;
    ox_status *st = rg_optimize(m, &o);
    ox_model_destroy(m);
    assert_int_equal(c.live, 0);
    if (!st) break;
    assert_int_equal(ox_status_code(st), OX_OUT_OF_MEMORY);
    ox_status_free(st);
    assert_true(n < 10000);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_places),
      cmocka_unit_test(test_an_owners_rule_runs_for_that_owner_only),
      cmocka_unit_test(test_level_and_switch),
      cmocka_unit_test(test_tables_of_an_older_and_a_newer_header),
      cmocka_unit_test(test_captures_and_scratch),
      cmocka_unit_test(test_an_operator_that_nobody_knows_can_be_replaced),
      cmocka_unit_test(test_a_pass_sees_the_graph_and_its_bodies),
      cmocka_unit_test(test_failures_name_the_rule),
      cmocka_unit_test(test_out_of_memory_leaks_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
