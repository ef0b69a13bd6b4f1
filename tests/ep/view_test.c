/* SPDX-License-Identifier: Apache-2.0
 * ep/view_test.c - what a provider can ask about the model behind a view; asked beyond the end, it reads as nothing. */
#include "ep/view.h"

#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/run_graph.h"

static const char text[] =
    "<ir_version: 8, opset_import: [\"\" : 17, \"com.example\" : 3], producer_name: \"maker\", model_version: 5,"
    " metadata_props: [\"key\" : \"value\"]>"
    " outside (bool c, float[N] x, seq(float[2]) s) => (float[N] y, float[2] e) <int64 at = {1}> {"
    "  y = If (c) <then_branch = yes () => (float[N] t) { t = Neg (x) },"
    "              else_branch = no () => (float[N] f) { f = Abs (x) }>"
    "  e = SequenceAt (s, at) }";

typedef struct {
  ox_model *m;
  ox_arena arena;
  ox_graph_view *g;
} fixture;

static int setup(void **state) {
  fixture *f = calloc(1, sizeof *f);
  f->m = rg_read(text);
  ox_arena_init(&f->arena, f->m->alloc);
  CHECK_OK(ox_view_create(f->m->graph, &f->arena, NULL, &f->g));
  *state = f;
  return 0;
}

static int teardown(void **state) {
  fixture *f = *state;
  ox_arena_deinit(&f->arena);
  ox_model_destroy(f->m);
  free(f);
  return 0;
}

static void test_the_model_is_told(void **state) {
  const ox_graph_view *g = ((fixture *)*state)->g;
  ox_model_info info = {.struct_size = sizeof info};
  int64_t version;
  const char *value;
  ox_view_model_info(g, &info);
  assert_int_equal(info.ir_version, 8), assert_int_equal(info.model_version, 5);
  assert_string_equal(info.producer_name, "maker");
  assert_string_equal(info.path, ""), assert_string_equal(info.doc, ""), assert_string_equal(info.domain, "");
  assert_string_equal(info.graph_doc, "");
  assert_string_equal(info.graph_name, "outside");
  assert_int_equal(info.n_opsets, 2), assert_int_equal(info.n_props, 1);
  assert_string_equal(ox_view_model_opset(g, 0, &version), ""), assert_int_equal(version, 17);
  assert_string_equal(ox_view_model_opset(g, 1, &version), "com.example"), assert_int_equal(version, 3);
  assert_null(ox_view_model_opset(g, 2, &version));
  assert_string_equal(ox_view_model_prop(g, 0, &value), "key"), assert_string_equal(value, "value");
  assert_null(ox_view_model_prop(g, 1, &value));
  assert_string_equal(ox_view_graph_name(g), "outside");
}

static void test_a_shorter_struct_stays_whole(void **state) {
  const ox_graph_view *g = ((fixture *)*state)->g;
  ox_model_info info = {.struct_size = offsetof(ox_model_info, path), .path = "mine"};
  ox_view_model_info(g, &info);
  assert_int_equal(info.n_opsets, 2);
  assert_string_equal(info.path, "mine");
}

static void test_types_are_told_in_full(void **state) {
  const fixture *f = *state;
  const ox_type *t = ox_view_value_full_type(f->g, ox_graph_find(f->m->graph, "s"));
  assert_int_equal(t->kind, OX_SEQUENCE);
  assert_int_equal(t->elem->dtype, OX_F32);
  assert_int_equal(t->elem->shape.dim[0], 2);
  assert_null(ox_view_value_full_type(f->g, OX_NONE));
}

static void test_a_body_knows_its_node(void **state) {
  const fixture *f = *state;
  const ox_graph_view *body = ox_view_node_body(f->g, 0, "else_branch");
  assert_null(ox_view_graph_parent(f->g));
  assert_string_equal(ox_view_graph_name(body), "no");
  const ox_graph_view *parent = ox_view_graph_parent(body);
  assert_int_equal(ox_view_node_count(parent), 1);
  assert_string_equal(ox_view_node_op(parent, 0), "If");
  assert_non_null(ox_view_node_body(parent, 0, "then_branch"));
  /* asked on its own, too */
  ox_graph_view *alone;
  CHECK_OK(ox_view_create(body->graph, &((fixture *)*state)->arena, NULL, &alone));
  assert_string_equal(ox_view_node_op(ox_view_graph_parent(alone), 0), "If");
}

static void test_what_is_in_no_file_has_none(void **state) {
  const fixture *f = *state;
  uint64_t offset;
  assert_null(ox_view_value_file(f->g, ox_graph_find(f->m->graph, "at"), &offset));
  assert_null(ox_view_value_file(f->g, ox_graph_find(f->m->graph, "x"), &offset));
  assert_null(ox_view_value_file(f->g, OX_NONE, &offset));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_model_is_told), cmocka_unit_test(test_a_shorter_struct_stays_whole),
      cmocka_unit_test(test_types_are_told_in_full), cmocka_unit_test(test_a_body_knows_its_node),
      cmocka_unit_test(test_what_is_in_no_file_has_none)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
