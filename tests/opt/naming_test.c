/* SPDX-License-Identifier: Apache-2.0
 * opt/naming_test.c - who keeps a name, who takes it over and who loses it, edit by edit; and that rules and passes go
 * through it. That names are true for every rule there is, is checked wherever a graph is run before and after
 * (support/run_graph.h). */
#include "opt/naming.h"

#include "opt/rewriter.h"
#include "support/counting_alloc.h"
#include "support/custom_rules.h"

typedef struct fixture {
  ox_model *m;
  ox_graph *g;
  ox_rewriter h;
  const ox_rewrite *rw;
} fixture;

static ox_id value(const fixture *f, const char *name) { return ox_graph_find(f->g, name); }
static ox_id maker(const fixture *f, const char *out) { return f->g->values[value(f, out)].producer; }

/* ---- one edit each of x -> Abs a -> Neg b -> Elu c -> Exp d -> Ceil y, where a body reads e ---- */

static const char net[] = HEAD
    "(float[2] x, bool k) => (float[2] y, float[2] z) { a = Abs (x) b = Neg (a) c = Elu (b) d = Exp (c) y = Ceil (d) "
    "e = Sin (x) f = Cos (e) z = If (k) <then_branch = t () => (float[2] p) { p = Neg (e) }, "
    "else_branch = s () => (float[2] q) { q = Neg (f) }> }";

static ox_status *step_aside(const fixture *f) { return ox_bypass(f->rw, maker(f, "c")); }

static ox_status *fuse(const fixture *f) {
  OX_TRY(ox_become(f->rw, maker(f, "b"), NULL, "Floor"));
  return ox_give_way(f->rw, maker(f, "c"), value(f, "b"));
}

static ox_status *fuse_then_edit(const fixture *f) {
  OX_TRY(ox_give_way(f->rw, maker(f, "c"), value(f, "b")));
  return ox_become(f->rw, maker(f, "b"), NULL, "Floor");
}

/* c's node takes over from both: d reads c. */
static ox_status *fuse_three(const fixture *f) {
  OX_TRY(ox_become(f->rw, maker(f, "b"), NULL, "Floor"));
  OX_TRY(ox_give_way(f->rw, maker(f, "c"), value(f, "b")));
  return ox_give_way(f->rw, maker(f, "d"), value(f, "b"));
}

static ox_status *remake_root(const fixture *f) {
  ox_id a = value(f, "a");
  return ox_remake(f->rw, maker(f, "c"), NULL, "Floor", &a, 1);
}

/* b is only between the two that were edited. */
static ox_status *edit_both(const fixture *f) {
  OX_TRY(ox_become(f->rw, maker(f, "b"), NULL, "Floor"));
  return ox_become(f->rw, maker(f, "c"), NULL, "Round");
}

/* The same, but f's Sin has a reader besides: the body. */
static ox_status *edit_both_above_bodies(const fixture *f) {
  OX_TRY(ox_become(f->rw, maker(f, "e"), NULL, "Floor"));
  return ox_become(f->rw, maker(f, "f"), NULL, "Round");
}

static ox_status *put_new_in_place(const fixture *f) {
  ox_id a = value(f, "a"), node, v, inner;
  OX_TRY(ox_emit(f->rw, NULL, "Round", &a, 1, &node, &inner));
  OX_TRY(ox_emit(f->rw, NULL, "Floor", &inner, 1, &node, &v));
  return ox_give_way(f->rw, maker(f, "c"), v);
}

static ox_status *fuse_into_output(const fixture *f) {
  OX_TRY(ox_become(f->rw, maker(f, "d"), NULL, "Floor"));
  return ox_give_way(f->rw, maker(f, "y"), value(f, "d"));
}

/* The input of the graph is another's to name; who takes its place gets a name of its own. */
static ox_status *in_place_of_an_input(const fixture *f) {
  ox_id node = maker(f, "a");
  OX_TRY(ox_become(f->rw, node, NULL, "Floor"));
  OX_TRY(ox_replace(f->rw, value(f, "x"), value(f, "a")));
  return ox_set_in(f->rw, node, 0, value(f, "x"));
}

static const struct {
  ox_status *(*edit)(const fixture *f);
  const char *name, *op; /* who makes |name| then; NULL: nobody */
} rows[] = {
    {step_aside, "b", "Neg"},
    {step_aside, "d", "Exp"},
    {fuse, "c", "Floor"},
    {fuse, "b", NULL},
    {fuse, "a", "Abs"},
    {fuse_then_edit, "c", "Floor"},
    {fuse_then_edit, "b", NULL},
    {fuse_three, "d", "Floor"},
    {fuse_three, "c", NULL},
    {fuse_three, "b", NULL},
    {remake_root, "c", "Floor"},
    {remake_root, "b", "Neg"},
    {edit_both, "c", "Round"},
    {edit_both, "b", NULL},
    {edit_both, "a", "Abs"},
    {edit_both_above_bodies, "e", "Floor"},
    {edit_both_above_bodies, "f", "Round"},
    {put_new_in_place, "c", "Floor"},
    {put_new_in_place, "b", "Neg"},
    {fuse_into_output, "y", "Floor"},
    {fuse_into_output, "d", NULL},
    {in_place_of_an_input, "x", NULL},
    {in_place_of_an_input, "a", NULL},
    {in_place_of_an_input, "b", "Neg"},
};

static void test_who_has_the_name(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    fixture f = {.m = rg_read(net)};
    f.g = f.m->graph;
    CHECK_OK(ox_infer_graph(f.g, NULL, false));
    ox_rewriter_init(&f.h, f.g, NULL);
    f.rw = &f.h.rw;
    CHECK_OK(rows[i].edit(&f));
    CHECK_OK(ox_naming_settle(&f.h.naming, f.g));
    CHECK_OK(ox_graph_verify(f.g));
    ox_id v = value(&f, rows[i].name), by = v == OX_NONE ? OX_NONE : f.g->values[v].producer;
    const char *op = by == OX_NONE ? "" : f.g->nodes[by].op;
    if (strcmp(op, rows[i].op ? rows[i].op : "") != 0)
      fail_msg("row %zu: '%s' is made by '%s', not by '%s'", i, rows[i].name, op, rows[i].op ? rows[i].op : "");
    assert_true(ox_graph_find(f.g, "x") != OX_NONE && f.g->values[ox_graph_find(f.g, "x")].is_input);
    ox_rewriter_deinit(&f.h);
    ox_model_destroy(f.m);
  }
}

/* ---- more nodes than any rule has ---- */

static void test_thousands_of_edits(void **state) {
  (void)state;
  enum { N = 3000 };
  ox_model *m;
  ox_naming n;
  char name[16], last[16] = "x";
  CHECK_OK(ox_model_create(ox_alloc_heap(), ox_ops_cpu(), &m));
  bg_input(m->graph, "x", OX_F32, "2");
  for (int i = 0; i < N; i++) {
    char text[64];
    snprintf(name, sizeof name, "h%d", i);
    snprintf(text, sizeof text, "%s = Neg(%s)", name, last);
    bg_node(m->graph, text);
    strcpy(last, name);
  }
  ox_naming_init(&n, ox_alloc_heap());
  ox_naming_start(&n, m->graph);
  for (ox_id i = 0; i < N; i += 2) CHECK_OK(ox_naming_touched(&n, N - 2 - i)); /* every other one: all stay */
  CHECK_OK(ox_naming_settle(&n, m->graph));
  assert_true(ox_graph_find(m->graph, "h0") != OX_NONE && ox_graph_find(m->graph, "h1500") != OX_NONE);
  ox_naming_start(&n, m->graph);
  for (ox_id i = 0; i < N; i++) CHECK_OK(ox_naming_touched(&n, i));
  for (ox_id i = 0; i < N; i++) CHECK_OK(ox_naming_touched(&n, i));
  CHECK_OK(ox_naming_settle(&n, m->graph));
  assert_true(ox_graph_find(m->graph, "h0") == OX_NONE && ox_graph_find(m->graph, "h1500") == OX_NONE);
  ox_naming_deinit(&n);
  ox_model_destroy(m);
}

/* ---- whoever edits goes through it ---- */

static ox_status *to_floor(const ox_rewrite *g, const ox_match *m) {
  OX_TRY(ox_become(g, m->node[CR_INNER], NULL, "Floor"));
  return ox_give_way(g, m->node[CR_OUTER], ox_out(g, m->node[CR_INNER], 0));
}

static ox_status *floor_pass(const ox_rewrite *g, uint32_t *out_changes) {
  const ox_id *order;
  uint32_t n;
  OX_TRY(g->api->order(g, &order, &n));
  for (uint32_t i = 0; i < n; i++) {
    ox_match m = {.node = {[CR_OUTER] = order[i]}};
    m.node[CR_INNER] = ox_is(g, order[i], "Neg") ? ox_up1(g, ox_in(g, order[i], 0), "Neg") : OX_NONE;
    if (m.node[CR_INNER] == OX_NONE) continue;
    OX_TRY(to_floor(g, &m));
    ++*out_changes;
  }
  return NULL;
}

static void test_rules_and_passes(void **state) {
  (void)state;
  static const ox_rule rule[] = {{OX_RULE("floor", OX_OPTIMIZE_BASIC, cr_two_negs, NULL, to_floor)}};
  static const ox_pass pass[] = {{sizeof(ox_pass), OX_OPTIMIZE_BASIC, "floor", floor_pass, 0, 0}};
  for (int by_pass = 0; by_pass < 2; by_pass++) {
    ox_rule_set set = {.struct_size = sizeof set};
    if (by_pass)
      set.passes = pass, set.n_passes = 1;
    else
      set.rules = rule, set.n_rules = 1;
    const ox_rule_set *sets[] = {&set};
    ox_rule_list list = {sets, 1};
    ox_opt_options o = rg_options(OX_OPTIMIZE_BASIC);
    o.rules = &list, o.n_rules = 1;
    ox_model *m = rg_read(HEAD "(float[2] x) => (float[2] y) { a = Neg (x) b = Neg (a) y = Abs (b) }");
    CHECK_OK(rg_optimize(m, &o));
    assert_true(ox_graph_find(m->graph, "a") == OX_NONE);
    assert_string_equal(m->graph->nodes[m->graph->values[ox_graph_find(m->graph, "b")].producer].op, "Floor");
    ox_model_destroy(m);
  }
}

static void test_out_of_memory(void **state) {
  (void)state;
  for (int64_t at = 0; at < 2; at++) {
    counting_alloc c = {.fail_at = at};
    ox_naming n;
    ox_naming_init(&n, counting_alloc_of(&c));
    ox_status *st = ox_naming_touched(&n, 1);
    if (!st) st = ox_naming_handed(&n, 1, 2);
    CHECK_FAILS(st, OX_OUT_OF_MEMORY, "");
    ox_naming_deinit(&n);
    assert_int_equal(c.live, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_who_has_the_name), cmocka_unit_test(test_thousands_of_edits),
                                     cmocka_unit_test(test_rules_and_passes), cmocka_unit_test(test_out_of_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
