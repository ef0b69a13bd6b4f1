/* SPDX-License-Identifier: Apache-2.0
 * onnx/inline_test.c - calls of functions: attributes, defaults, names, nesting, bodies, versions, recursion. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnx/inline.h"
#include "ops/builtin.h"
#include "onnx/text.h"
#include "onnx/write.h"
#include "support/check.h"
#include "support/counting_alloc.h"

/* "y = Op(x, w) ..." of the live nodes in topological order; bodies in braces behind the node. */
static void describe(const ox_graph *g, char *to, size_t room) {
  ox_id *order;
  uint32_t n;
  size_t at = 0;
  to[0] = 0;
  CHECK_OK(ox_graph_order(g, ox_alloc_heap(), &order, &n));
  for (uint32_t i = 0; i < n; i++) {
    const ox_node *node = ox_graph_node(g, order[i]);
    at += (size_t)snprintf(to + at, room - at, "%s%s=%s(", i ? " " : "",
                           node->out[0] == OX_NONE ? "" : ox_graph_value_name(g, node->out[0]), node->op);
    for (uint32_t k = 0; k < node->n_in; k++)
      at += (size_t)snprintf(to + at, room - at, "%s%s", k ? "," : "",
                             node->in[k] == OX_NONE ? "" : ox_graph_value_name(g, node->in[k]));
    at += (size_t)snprintf(to + at, room - at, ")");
    ox_graph *b;
    for (uint32_t k = 0; (b = ox_node_body(node, k)); k++) {
      to[at++] = '{';
      describe(b, to + at, room - at - 2);
      at += strlen(to + at);
      to[at++] = '}', to[at] = 0;
    }
  }
  ox_delete(ox_alloc_heap(), order, g->n_nodes * sizeof *order);
}

static ox_model *read_text(ox_alloc alloc, const char *text) {
  ox_model *m;
  CHECK_OK(ox_text_read(alloc, ox_ops_builtin(), text, strlen(text), &m));
  return m;
}

static void check_inlined(const char *text, const char *want) {
  static char got[4096];
  ox_model *m = read_text(ox_alloc_heap(), text);
  CHECK_OK(ox_model_inline(m));
  CHECK_OK(ox_graph_verify(m->graph));
  CHECK_OK(ox_graph_compact(m->graph));
  CHECK_OK(ox_graph_verify(m->graph));
  describe(m->graph, got, sizeof got);
  assert_string_equal(got, want);
  ox_model_destroy(m);
}

#define HEAD "<ir_version: 9, opset_import: [\"\" : 17, \"f\" : 1]> "
#define FN "<opset_import: [\"\" : 17, \"f\" : 1], domain: \"f\"> "

static void test_a_call_becomes_the_body(void **state) {
  (void)state;
  check_inlined(HEAD "g (float[2] x, float[2] t) => (float[2] y) { y = f.sq(x) }" FN
                     "sq (a) => (b) { t = Abs(a) b = Mul(t, t) }",
                "t_3=Abs(x) y=Mul(t_3,t_3)");
}

static void test_two_calls_do_not_share_names(void **state) {
  (void)state;
  check_inlined(HEAD "g (float[2] x) => (float[2] y) { m = f.sq(x) y = f.sq(m) }" FN
                     "sq (a) => (b) { t = Abs(a) b = Mul(t, t) }",
                "t=Abs(x) m=Mul(t,t) t_4=Abs(m) y=Mul(t_4,t_4)");
}

static void test_nested_calls(void **state) {
  (void)state;
  check_inlined(HEAD "g (float[2] x) => (float[2] y) { y = f.outer(x) }" FN "inner (a) => (b) { b = Neg(a) }" FN
                     "outer (a) => (b) { c = f.inner(a) b = Abs(c) }",
                "c=Neg(x) y=Abs(c)");
}

static void test_outputs_passed_on_and_left_out(void **state) {
  (void)state;
  check_inlined(HEAD "g (float[2] x) => (float[2] y, float[2] z) { y, z = f.id(x) }" FN
                     "id (a) => (b, a) { b = Neg(a) }",
                "z=Identity(x) y=Neg(x)");
  check_inlined(HEAD "g (float[2] x) => (float[2] z) { \"\", z = f.id(x) }" FN
                     "id (a) => (b, c) { b = Neg(a) c = Abs(b) }",
                "b=Neg(x) z=Abs(b)");
  check_inlined(HEAD "g (float[2] x) => (float[2] y, float[2] z) { y, z = f.d(x) }" FN "d (a) => (b, b) { b = Neg(a) }",
                "y=Neg(x) z=Identity(y)");
}

static void test_omitted_inputs_stay_omitted(void **state) {
  (void)state;
  check_inlined(HEAD "g (float[2] x) => (float[2] y) { y = f.clip(x) }" FN
                     "clip (a, lo, hi) => (b) { b = Clip(a, lo, hi) }",
                "y=Clip(x,,)");
}

static void test_bodies_are_copied(void **state) {
  (void)state;
  check_inlined(HEAD "g (bool c, float[2] x) => (float[2] y) { y = f.pick(c, x) }" FN
                     "pick (c, a) => (b) { d = Abs(a) b = If (c) <then_branch = t () => (u) { u = Add(a, d) },"
                     " else_branch = e () => (v) { v = Neg(d) }> }",
                "d=Abs(x) y=If(c){u=Add(x,d)}{v=Neg(d)}");
}

static void test_calls_inside_bodies(void **state) {
  (void)state;
  check_inlined(HEAD
                "g (bool c, float[2] x) => (float[2] y) { y = If (c) <then_branch = t () => (u) { u = f.n(x) },"
                " else_branch = e () => (v) { v = f.n(x) }> }" FN "n (a) => (b) { w = Neg(a) b = Abs(w) }",
                "y=If(c){w=Neg(x) u=Abs(w)}{w=Neg(x) v=Abs(w)}");
}

static const ox_attr *attr_of(const ox_model *m, const char *op, const char *attr) {
  for (ox_id i = 0; i < m->graph->n_nodes; i++)
    if (!m->graph->nodes[i].dead && strcmp(m->graph->nodes[i].op, op) == 0)
      return ox_node_attr(&m->graph->nodes[i], attr);
  fail_msg("no %s", op);
  return NULL;
}

static void test_attributes_are_filled_in(void **state) {
  (void)state;
  static const char *const text =
      HEAD "g (float[2] x) => (float[2] y) { y = f.act<alpha = 0.5>(x) }" FN
           "act<alpha, beta: float = 0.25, none> (a) => (b) { t = LeakyRelu<alpha: float = @alpha>(a)"
           " u = Elu<alpha: float = @beta>(t) b = Selu<gamma: float = @none>(u) }";
  ox_model *m = read_text(ox_alloc_heap(), text);
  CHECK_OK(ox_model_inline(m));
  assert_true(attr_of(m, "LeakyRelu", "alpha")->v.f == 0.5f);
  assert_null(attr_of(m, "LeakyRelu", "alpha")->ref);
  assert_true(attr_of(m, "Elu", "alpha")->v.f == 0.25f);
  assert_null(attr_of(m, "Selu", "gamma"));
  ox_model_destroy(m);
}

static void test_graph_attributes_read_around_the_call(void **state) {
  (void)state;
  check_inlined(HEAD
                "g (bool c, float[2] x, float[2] d) => (float[2] y) {"
                " y = f.both<br = t () => (u) { u = Add(x, d) }>(c, x) }" FN
                "both<br> (c, a) => (b) { d = Abs(a) e = If<then_branch: graph = @br, else_branch: graph = @br>(c)"
                " b = Add(d, e) }",
                "d_4=Abs(x) e=If(c){u=Add(x,d)}{u=Add(x,d)} y=Add(d_4,e)");
}

static void test_overloads_differ(void **state) {
  (void)state;
  check_inlined(HEAD
                "g (float[2] x) => (float[2] y) { m = f.o:one(x) y = f.o:two(m) }"
                "<opset_import: [\"\" : 17], domain: \"f\", overload: \"one\"> o (a) => (b) { b = Neg(a) }"
                "<opset_import: [\"\" : 17], domain: \"f\", overload: \"two\"> o (a) => (b) { b = Abs(a) }",
                "m=Neg(x) y=Abs(m)");
}

static void test_operator_sets(void **state) {
  (void)state;
  ox_model *m = read_text(
      ox_alloc_heap(), HEAD
      "g (float[2,3] x) => (y) { y = f.s(x) }"
      "<opset_import: [\"\" : 11, \"other\" : 3], domain: \"f\"> s (a) => (b) { t = Softmax(a) b = other.Op(t) }");
  CHECK_OK(ox_model_inline(m));
  assert_int_equal(ox_model_opset(m, "other"), 3);
  assert_int_equal(ox_model_opset(m, ""), 17);
  for (ox_id i = 0; i < m->graph->n_nodes; i++)
    if (!m->graph->nodes[i].dead && strcmp(m->graph->nodes[i].op, "Op") == 0)
      assert_int_equal(ox_node_version(m, &m->graph->nodes[i]), 3);
  ox_model_destroy(m);
}

static void test_an_older_operator_keeps_its_version(void **state) {
  (void)state;
  ox_model *m = read_text(ox_alloc_heap(),
                          "<opset_import: [\"\" : 17, \"f\" : 1]> g (float[2,3] x) => (y) { y = f.s(x) }"
                          "<opset_import: [\"\" : 11], domain: \"f\"> s (a) => (b) { t = Abs(a) b = Softmax(t) }");
  CHECK_OK(ox_model_inline(m));
  for (ox_id i = 0; i < m->graph->n_nodes; i++) { /* Softmax changed in 13, Abs did not */
    const ox_node *n = &m->graph->nodes[i];
    bool changed = ox_registry_find(m->registry, "", n->op, 11) != ox_registry_find(m->registry, "", n->op, 17);
    if (!n->dead) assert_int_equal(ox_node_version(m, n), changed ? 11 : 17);
    if (!n->dead && strcmp(n->op, "Softmax") == 0) assert_true(changed);
  }
  CHECK_FAILS(ox_model_write(m, (ox_sink){NULL, NULL}), OX_NOT_IMPLEMENTED, "operator set 11");
  ox_model_destroy(m);
}

static const struct {
  const char *what, *text, *error;
} bad[] = {
    {"itself", HEAD "g (float[2] x) => (float[2] y) { y = f.r(x) }" FN "r (a) => (b) { b = f.r(a) }", "calls itself"},
    {"each other",
     HEAD "g (float[2] x) => (float[2] y) { y = f.p(x) }" FN "p (a) => (b) { b = f.q(a) }" FN
          "q (a) => (b) { b = f.p(a) }",
     "calls itself"},
    {"too many inputs", HEAD "g (float[2] x) => (float[2] y) { y = f.r(x, x) }" FN "r (a) => (b) { b = Neg(a) }",
     "2 inputs"},
    {"twice",
     HEAD "g (float[2] x) => (float[2] y) { y = f.r(x) }" FN "r (a) => (b) { b = Neg(a) }" FN
          "r (a) => (b) { b = Neg(a) }",
     "defined twice"},
    {"wrong kind",
     HEAD "g (float[2] x) => (float[2] y) { y = f.r<k = 1>(x) }" FN "r<k> (a) => (b) { b = Elu<alpha: float = @k>(a) }",
     "is of kind 2"},
};

static void test_errors(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(bad); i++) {
    ox_model *m = read_text(ox_alloc_heap(), bad[i].text);
    CHECK_FAILS(ox_model_inline(m), OX_INVALID_MODEL, bad[i].error);
    ox_model_destroy(m);
  }
}

/* A model whose calls, 40 deep, each stand for two of the next kind: |head|, then |level| for each i with i, i + 1, i + 1
 * in it, then |leaf|. */
static void check_doubling(const char *head, const char *level, const char *leaf, const char *part) {
  static char text[1 << 17];
  size_t at = (size_t)snprintf(text, sizeof text, HEAD "%s", head);
  for (int i = 0; i < 40; i++) {
    at += (size_t)snprintf(text + at, sizeof text - at, FN "f%d", i);
    for (const char *p = level; *p; p++) /* '#' stands for the next function */
      at += (size_t)snprintf(text + at, sizeof text - at, *p == '#' ? "f.f%d" : "%c", *p == '#' ? i + 1 : *p);
  }
  snprintf(text + at, sizeof text - at, FN "f40%s", leaf);
  counting_alloc count = {.fail_at = -1};
  ox_model *m = read_text(counting_alloc_of(&count), text);
  CHECK_FAILS(ox_model_inline(m), OX_LIMIT, part);
  ox_model_destroy(m);
  assert_int_equal(count.live, 0);
  if (count.peak_bytes > 512l << 20) fail_msg("%s: %ld bytes", head, (long)count.peak_bytes);
}

/* |pattern| with a hundred names more at each place. */
static const char *few_nodes_many_values(const char *pattern) {
  static char texts[2][4096], names[3][1024];
  static int turn;
  for (int k = 0; k < 3; k++)
    for (int i = 0, at = 0; i < 100; i++) at += sprintf(names[k] + at, ", %c%d", "pqp"[k], i);
  char *text = texts[turn++ % 2];
  snprintf(text, sizeof texts[0], pattern, names[0], names[1], names[2]);
  return text;
}

static void test_doubling_calls_hit_the_limit(void **state) {
  (void)state;
  const char *graph = "g (bool c, float[2] x) => (float[2] y) { y = f.f0(x) }";
  check_doubling(graph, " (a) => (b) { c = #(a) b = #(c) }", " (a) => (b) { b = Neg(a) }", "expanding function 'f");
  check_doubling(graph, few_nodes_many_values(" (a) => (b%s) { c%s = #(a) b%s = #(c) }"),
                 few_nodes_many_values(" (a) => (b%s) { b%s = Split (a) c%s = Split (a) }"), "values more");
  /* no node of a function is cloned often, but the graph that one call hands to the next doubles */
  check_doubling("g (bool c, float[2] x) => (float[2] y) { y = f.f0<br = t () => (u) { u = Neg (x) }>(c) }",
                 "<br> (c) => (b) { b = #<br = t () => (u) { u = If<then_branch: graph = @br, else_branch: graph ="
                 " @br>(c) }>(c) }",
                 "<br> (c) => (b) { b = If<then_branch: graph = @br, else_branch: graph = @br>(c) }", "expanding function 'f");
}

static void test_every_failed_allocation_is_clean(void **state) {
  (void)state;
  static const char *const text = HEAD
      "g (bool c, float[2] x) => (float[2] y) { z = f.pick<k = 1.0>(c, x) y = f.pick<k = 2.0>(c, z) }" FN
      "pick<k> (c, a) => (b) { d = Elu<alpha: float = @k>(a) b = If (c) <then_branch = t () => (u) { u = Add(a, d) },"
      " else_branch = e () => (v) { v = Neg(d) }> }";
  for (long n = 0;; n++) {
    counting_alloc c = {.fail_at = -1};
    ox_model *m = read_text(counting_alloc_of(&c), text);
    c.fail_at = atomic_load(&c.calls) + n;
    ox_status *st = ox_model_inline(m);
    ox_model_destroy(m);
    assert_int_equal(c.live, 0);
    if (!st) break;
    assert_int_equal(ox_status_code(st), OX_OUT_OF_MEMORY);
    ox_status_free(st);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_call_becomes_the_body),
      cmocka_unit_test(test_two_calls_do_not_share_names),
      cmocka_unit_test(test_nested_calls),
      cmocka_unit_test(test_outputs_passed_on_and_left_out),
      cmocka_unit_test(test_omitted_inputs_stay_omitted),
      cmocka_unit_test(test_bodies_are_copied),
      cmocka_unit_test(test_calls_inside_bodies),
      cmocka_unit_test(test_attributes_are_filled_in),
      cmocka_unit_test(test_graph_attributes_read_around_the_call),
      cmocka_unit_test(test_overloads_differ),
      cmocka_unit_test(test_operator_sets),
      cmocka_unit_test(test_an_older_operator_keeps_its_version),
      cmocka_unit_test(test_errors),
      cmocka_unit_test(test_doubling_calls_hit_the_limit),
      cmocka_unit_test(test_every_failed_allocation_is_clean),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
