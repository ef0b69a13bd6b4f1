/* SPDX-License-Identifier: Apache-2.0
 * opt/rewriter_test.c - the table that rules work through: what it says of ids that are none, edits that it refuses,
 * edits that it makes, and what is gone afterwards. */
#include "opt/rewriter.h"

#include "support/custom_rules.h"

typedef struct fixture {
  ox_model *m;
  ox_graph *g;
  ox_rewriter h;
  const ox_rewrite *rw;
} fixture;

static void begin(fixture *f, const char *text) {
  f->m = rg_read(text), f->g = f->m->graph;
  CHECK_OK(ox_infer_graph(f->g, NULL, false));
  ox_rewriter_init(&f->h, f->g, NULL);
  f->rw = &f->h.rw;
}

static void end(fixture *f) {
  CHECK_OK(ox_graph_verify(f->g));
  ox_rewriter_deinit(&f->h);
  ox_model_destroy(f->m);
}

static ox_id value(const fixture *f, const char *name) { return ox_graph_find(f->g, name); }
static ox_id node(const fixture *f, const char *out) { return f->g->values[value(f, out)].producer; }

static const char chain[] = HEAD
    "(float[2] x, int64[2] k) => (float[2] y) <float c = {2}> { a = Elu <alpha = 0.5> (x) b = Neg (a) y = Mul (b, c) }";

static void test_ids_that_are_none(void **state) {
  (void)state;
  fixture f;
  begin(&f, chain);
  const ox_graph_api *api = f.rw->api;
  const ox_id none[] = {OX_NONE, 1000};
  ox_id slot;
  for (size_t i = 0; i < OX_COUNT(none); i++) {
    ox_id n = none[i];
    assert_false(api->node_alive(f.rw, n) || api->node_is(f.rw, n, "Neg", NULL) || api->attr(f.rw, n, "alpha"));
    assert_true(*api->node_op(f.rw, n) == 0 && *api->node_domain(f.rw, n) == 0 && *api->node_name(f.rw, n) == 0);
    assert_true(*api->attr_name(f.rw, n, 0) == 0 && !api->attr_count(f.rw, n) && !api->node_body_count(f.rw, n));
    assert_true(!api->node_version(f.rw, n) && !api->node_owner(f.rw, n));
    assert_true(!ox_n_in(f.rw, n) && !ox_n_out(f.rw, n) && ox_in(f.rw, n, 0) == OX_NONE &&
                ox_out(f.rw, n, 0) == OX_NONE);
    assert_true(*api->value_name(f.rw, n) == 0 && !api->value_type(f.rw, n) && !ox_dtype_of(f.rw, n));
    assert_true(ox_shape_at(f.rw, n)->rank == -1 && !ox_const(f.rw, n) && ox_producer(f.rw, n) == OX_NONE);
    assert_true(!ox_uses(f.rw, n) && !api->user_count(f.rw, n) && api->user(f.rw, n, 0, &slot) == OX_NONE);
    assert_false(api->is_input(f.rw, n) || ox_is_output(f.rw, n) || ox_can_replace(f.rw, n, value(&f, "x")));
    assert_int_equal(api->io(f.rw, 0, n), OX_NONE);
    CHECK_OK(ox_remove_unused(f.rw, n));
  }
  assert_int_equal(api->user(f.rw, value(&f, "a"), 1, &slot), OX_NONE);
  assert_int_equal(ox_in(f.rw, node(&f, "y"), 2), OX_NONE);
  assert_true(isnan(api->element(&(ox_tensor){.dtype = OX_C64, .data = (float[]){1, 2}}, 0)));
  end(&f);
}

#define REFUSED(expr, text) CHECK_FAILS(expr, OX_INVALID_ARGUMENT, text)

static void test_edits_that_are_refused(void **state) {
  (void)state;
  fixture f;
  begin(&f, chain);
  const ox_graph_api *api = f.rw->api;
  const ox_rewrite *g = f.rw;
  ox_id b = node(&f, "b"), x = value(&f, "x"), v, n;
  float data[2] = {1, 2};
  ox_tensor t = {.dtype = OX_F32, .data = data, .bytes = 8, .shape = {.rank = 1, .dim = {2}}}, bad = t, open = t,
            text = t;
  bad.bytes = 4, open.shape.dim[0] = -1, text.dtype = OX_STRING, text.shape.rank = 0, text.bytes = sizeof(ox_str);
  REFUSED(api->set_in(g, 99, 0, x), "there is no node 99");
  REFUSED(api->set_in(g, b, 0, 99), "there is no value 99");
  REFUSED(api->set_in(g, b, 1 << 20, x), "input 1048576");
  REFUSED(api->set_out(g, b, 1 << 20, x), "output 1048576");
  REFUSED(api->become(g, b, NULL, ""), "without an operator");
  REFUSED(api->add_node(g, NULL, NULL, NULL, NULL, 0, NULL, 0, &n), "without an operator");
  REFUSED(api->add_node(g, NULL, "Neg", NULL, (ox_id[]){99}, 1, NULL, 0, &n), "there is no value 99");
  REFUSED(api->replace_uses(g, x, 99), "there is no value 99");
  REFUSED(api->replace_uses(g, value(&f, "a"), value(&f, "k")), "'k' of int64 cannot take the place of 'a' of float32");
  REFUSED(api->make_const(g, x, &t), "'x' cannot become a constant");
  REFUSED(api->make_const(g, value(&f, "a"), &bad), "constant 'a' has 4 bytes, its shape needs 8");
  REFUSED(api->add_const(g, "q", &open, &v), "type or shape is not known");
  open.shape.dim[0] = 2, open.dtype = OX_UNDEFINED;
  REFUSED(api->add_const(g, "q", &open, &v), "type or shape is not known");
  REFUSED(api->add_const(g, "q", &text, &v), "strings can only be borrowed");
  REFUSED(api->const_view(g, "q", &(ox_tensor){.kind = OX_SEQUENCE}, &v), "is no tensor");
  REFUSED(api->set_attr(g, b, "body", &(ox_attr_view){.kind = OX_ATTR_GRAPH_KIND}), "attribute 'body' is of kind 5");
  CHECK_FAILS(api->const_room(g, "q", OX_F32, &(ox_shape){2, {INT64_MAX / 2, 4}}, &(void *){NULL}, &v), OX_LIMIT,
              "constant 'q' of float32: too large");
  CHECK_OK(ox_give_way(g, b, value(&f, "a")));
  REFUSED(api->remove_node(g, b), "was removed");
  REFUSED(api->infer(g, b), "was removed");
  end(&f);
}

static void test_a_body_goes_with_its_node(void **state) {
  (void)state;
  fixture f;
  begin(&f, HEAD
        "(bool c, float[2] x) => (float[2] y) { y = If (c) <then_branch = t () => (float[2] p) { p = Neg (x) }, "
        "else_branch = e () => (float[2] q) { q = Relu (x) }> }");
  ox_id n = node(&f, "y");
  assert_int_equal(f.rw->api->node_body_count(f.rw, n), 2);
  REFUSED(ox_drop_attr(f.rw, n, "then_branch"), "holds a body");
  REFUSED(ox_drop_attr(f.rw, n, NULL), "holds a body");
  REFUSED(ox_set_int(f.rw, n, "then_branch", 1), "holds a body");
  end(&f);
}

static void test_another_owners_nodes_are_not_there(void **state) {
  (void)state;
  fixture f;
  begin(&f, chain);
  const ox_rewrite *g = f.rw;
  ox_id a = node(&f, "a"), b = node(&f, "b"), y = node(&f, "y"), va = value(&f, "a"), vb = value(&f, "b"), slot, n,
        fresh;
  const ox_id *order;
  uint32_t n_order;
  rg_own_all(f.m, 1);
  f.g->nodes[b].assigned.owner = 2;
  f.h.assigned.owner = 1;
  assert_true(g->api->node_alive(g, a) && !g->api->node_alive(g, b) && ox_is(g, y, "Mul") && !ox_is(g, b, "Neg"));
  assert_true(ox_producer(g, vb) == OX_NONE && ox_only_user(g, va) == OX_NONE && ox_uses(g, va) == 1);
  assert_int_equal(g->api->user(g, va, 0, &slot), OX_NONE);
  CHECK_OK(g->api->order(g, &order, &n_order));
  assert_true(n_order == 2 && order[0] == a && order[1] == y);
  REFUSED(ox_set_int(g, b, "k", 1), "('', Neg) is not this owner's to edit");
  REFUSED(ox_replace(g, vb, value(&f, "x")), "is not this owner's to edit");
  REFUSED(ox_remove(g, b), "is not this owner's to edit");
  REFUSED(g->api->make_const(g, vb, &(ox_tensor){.dtype = OX_F32, .data = &(float){1}, .bytes = 4}),
          "not this owner's");
  assert_false(ox_can_replace(g, vb, value(&f, "x")));
  CHECK_OK(ox_remove_unused(g, b));
  CHECK_OK(ox_emit(g, NULL, "Abs", &va, 1, &n, &fresh));
  assert_int_equal(f.g->nodes[n].assigned.owner, 1);
  f.h.assigned.part = 3; /* another part of the same owner is as far away */
  assert_false(g->api->node_alive(g, a));
  end(&f);
}

static void test_edits(void **state) {
  (void)state;
  fixture f;
  begin(&f, chain);
  const ox_rewrite *g = f.rw;
  ox_id a = node(&f, "a"), y = node(&f, "y"), fresh, v, n;
  const ox_str words[] = {{"one", 3}, {"two", 2}};
  ox_attr_view strings = {.kind = OX_ATTR_STRINGS_KIND, .n = 2, .strings = words};
  int64_t list[] = {4, 5};
  CHECK_OK(g->api->set_attr(g, a, "words", &strings));
  const ox_attr_view *got = ox_attr_of(g, a, "words");
  assert_true(got->n == 2 && got->strings != words && got->strings[1].n == 2 &&
              memcmp(got->strings[1].p, "tw", 2) == 0);
  CHECK_OK(ox_copy_attrs(g, y, a));
  assert_true(ox_attr_f(g, y, "alpha", 0) == 0.5f && ox_attr_of(g, y, "words")->n == 2);
  CHECK_OK(ox_i64_const(g, list, 2, &v));
  list[0] = 0;
  assert_true(ox_dtype_of(g, v) == OX_I64 && ox_at(g, ox_const(g, v), 0) == 4);
  /* more inputs, then fewer; an output moves to another node */
  CHECK_OK(ox_set_in(g, y, 3, v));
  assert_int_equal(ox_n_in(g, y), 4);
  CHECK_OK(g->api->set_counts(g, y, 2, 1));
  assert_true(ox_n_in(g, y) == 2 && !ox_uses(g, v));
  CHECK_OK(g->api->add_tensor(g, "fresh", OX_F32, ox_shape_at(g, value(&f, "x")), &fresh));
  CHECK_OK(g->api->add_node(g, NULL, "Abs", "mine", (ox_id[]){value(&f, "a")}, 1, &fresh, 1, &n));
  assert_true(ox_is(g, n, "Neg|Abs") && strcmp(ox_name_of(g, n), "mine") == 0 && ox_producer(g, fresh) == n);
  CHECK_OK(g->api->infer(g, n));
  CHECK_OK(ox_set_in(g, y, 0, fresh));
  CHECK_OK(ox_remove_unused(g, node(&f, "b")));
  char ops[64];
  assert_string_equal(bg_ops(f.g, ops), "Elu Mul Abs");
  end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_ids_that_are_none),
      cmocka_unit_test(test_edits_that_are_refused),
      cmocka_unit_test(test_a_body_goes_with_its_node),
      cmocka_unit_test(test_another_owners_nodes_are_not_there),
      cmocka_unit_test(test_edits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
