/* SPDX-License-Identifier: Apache-2.0
 * graph/registry_test.c - tables of operators: overlays, versions, domains, rows of other sizes, what is refused. */
#include "graph/registry.h"

#include <math.h>
#include <string.h>

#include "base/macros.h"
#include "support/check.h"

static ox_status *infer(ox_infer_ctx *c) {
  (void)c;
  return NULL;
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)c, (void)stage, (void)tiles, (void)scratch;
  return NULL;
}

#define ROW(op, dom, ver) \
  { OX_SCHEMA(.name = op, .domain = dom, .since = ver, .infer = infer), OX_KERNEL(.run = run) }

static ox_registry *table(const ox_registry *base, const ox_op *rows, size_t n) {
  ox_registry *r;
  CHECK_OK(ox_registry_create(ox_alloc_heap(), base, &r));
  CHECK_OK(ox_registry_add(r, rows, n));
  return r;
}

/* ---- lookups ---- */

static const ox_op standard[] = {ROW("Relu", NULL, 6), ROW("Relu", NULL, 14), ROW("Abs", "", 1),
                                 ROW("Relu", "other", 1)};
static const ox_op more[] = {ROW("Relu", NULL, 13), ROW("Relu", "mine", 2), ROW("Zzz", "ai.onnx", 1)};

static const struct {
  const char *domain, *op;
  int64_t version;
  const ox_op *want, *want_over; /* in |standard| alone; in |more| over it */
} lookups[] = {
    {"", "Relu", 5, NULL, NULL},
    {"", "Relu", 6, &standard[0], &standard[0]},
    {"ai.onnx", "Relu", 12, &standard[0], &standard[0]},
    {NULL, "Relu", 13, &standard[0], &more[0]},
    {"", "Relu", 14, &standard[1], &more[0]}, /* its own row serves from 13 on, though the base's is newer */
    {"", "Relu", INT32_MAX, &standard[1], &more[0]},
    {"", "Abs", 1, &standard[2], &standard[2]},
    {"other", "Relu", 1, &standard[3], &standard[3]},
    {"mine", "Relu", 1, NULL, NULL},
    {"mine", "Relu", 2, NULL, &more[1]},
    {"", "Zzz", 1, NULL, &more[2]},
    {"nobody", "Relu", 14, NULL, NULL},
    {"", "Rel", 14, NULL, NULL},
    {"", "", 14, NULL, NULL},
};

static void test_lookups(void **state) {
  (void)state;
  ox_registry *r = table(NULL, standard, OX_COUNT(standard)), *over = table(r, more, OX_COUNT(more));
  for (size_t i = 0; i < OX_COUNT(lookups); i++) {
    const char *domain = lookups[i].domain, *op = lookups[i].op;
    int64_t version = lookups[i].version;
    assert_null(ox_registry_find(NULL, domain, op, version));
    if (ox_registry_find(r, domain, op, version) != lookups[i].want) fail_msg("lookup %zu, in one table", i);
    if (ox_registry_find(over, domain, op, version) != lookups[i].want_over) fail_msg("lookup %zu, in two", i);
  }
  size_t n;
  const ox_op *const *rows = ox_registry_all(over, &n);
  assert_int_equal(n, 3);
  assert_ptr_equal(rows[0], &more[0]); /* sorted: domain "", then "mine" */
  assert_ptr_equal(rows[1], &more[2]);
  assert_ptr_equal(rows[2], &more[1]);
  ox_registry_destroy(over);
  ox_registry_destroy(r);
}

/* ---- rows of another size ---- */

typedef struct longer_attr_def {
  ox_attr_def first;
  uint64_t later[3];
} longer_attr_def;

typedef struct two_attrs {
  int64_t a, b;
} two_attrs;

/* As a plug-in of an older header wrote it: what lies behind its structs is not ours to read. */
static void test_older_rows_read_as_zero_behind_their_end(void **state) {
  (void)state;
  ox_schema schema;
  ox_kernel_def kernel;
  memset(&schema, 0x5a, sizeof schema), memset(&kernel, 0x5a, sizeof kernel);
  ox_schema head = {.struct_size = OX_SCHEMA_SIZE_1_0, .name = "Old", .since = 3, .infer = infer};
  ox_kernel_def kernel_head = {.struct_size = OX_KERNEL_SIZE_1_0, .inplace = 1, .run = run};
  memcpy(&schema, &head, OX_SCHEMA_SIZE_1_0), memcpy(&kernel, &kernel_head, OX_KERNEL_SIZE_1_0);
  ox_op row = {&schema, &kernel};
  ox_registry *r = table(NULL, &row, 1);
  const ox_op *op = ox_registry_find(r, "", "Old", 3);
  assert_non_null(op);
  assert_int_equal(op->kernel->inplace, 1);
  assert_true(op->kernel->run == run && op->schema->infer == infer);
  assert_true(op->kernel->flops == NULL);
  const char *bytes = (const char *)op->schema;
  for (size_t i = OX_SCHEMA_SIZE_1_0; i < sizeof schema; i++) assert_int_equal(bytes[i], 0);
  ox_registry_destroy(r);
}

static void test_newer_rows_are_taken_as_far_as_they_are_known(void **state) {
  (void)state;
  static const longer_attr_def attrs[] = {{.first = OX_ATTR_INT(two_attrs, a, 3), .later = {1, 2, 3}},
                                          {.first = OX_ATTR_INT(two_attrs, b, 4), .later = {4, 5, 6}}};
  struct {
    ox_schema s;
    uint64_t later[4];
  } schema = {{.struct_size = sizeof schema,
               .name = "New",
               .since = 1,
               .attrs = &attrs[0].first,
               .n_attrs = 2,
               .attr_row_bytes = sizeof attrs[0],
               .attrs_bytes = sizeof(two_attrs),
               .infer = infer},
              {1, 2, 3, 4}};
  ox_op row = {&schema.s, NULL};
  ox_registry *r = table(NULL, &row, 1);
  const ox_op *op = ox_registry_find(r, "", "New", 1);
  assert_non_null(op);
  assert_null(op->kernel);
  assert_string_equal(op->schema->attrs[1].name, "b");
  assert_int_equal(op->schema->attrs[1].i, 4);
  ox_arena arena;
  void *decoded;
  ox_node node = {.op = "New"};
  ox_arena_init(&arena, ox_alloc_heap());
  CHECK_OK(ox_attrs_decode(op->schema, &node, &arena, &decoded));
  assert_int_equal(((two_attrs *)decoded)->a, 3);
  assert_int_equal(((two_attrs *)decoded)->b, 4);
  ox_arena_deinit(&arena);
  ox_registry_destroy(r);
}

/* ---- rows that are refused ---- */

static const ox_attr_def nameless[] = {{.kind = OX_ATTR_INT_KIND, .has_offset = OX_NO_FIELD}};
static const ox_attr_def odd_kind[] = {{.name = "x", .kind = OX_ATTR_GRAPHS_KIND, .has_offset = OX_NO_FIELD}};
static const ox_attr_def second[] = {OX_ATTR_INT(two_attrs, b, 0)};
static const ox_attr_def far_flag[] = {{.name = "x", .kind = OX_ATTR_INT_KIND, .has_offset = sizeof(two_attrs)}};

static const ox_attr_def backwards[] = {OX_ATTR_INT_IN(two_attrs, a, 0, 2, 1)};
static const ox_attr_def no_share[] = {
    {.name = "a", .kind = OX_ATTR_FLOAT_KIND, .has_offset = OX_NO_FIELD, .f_lo = 1, .f_hi = NAN}};
static const uint32_t more_sets[] = {OX_T_ALL};

#define BAD(...) \
  { OX_SCHEMA(.name = "Bad", .domain = "d", .since = 7, .infer = infer, __VA_ARGS__), NULL }
static const struct {
  ox_op row;
  const char *error;
} refused[] = {
    {{NULL, NULL}, "schema is NULL"},
    {{&(const ox_schema){.struct_size = OX_SCHEMA_SIZE_1_0 - 1, .name = "Bad"}, NULL}, "ox_schema: struct_size"},
    {{OX_SCHEMA(.since = 1, .infer = infer), NULL}, "no name"},
    {{OX_SCHEMA(.name = "", .since = 1, .infer = infer), NULL}, "no name"},
    {{OX_SCHEMA(.name = "Bad", .since = 0, .infer = infer), NULL}, "operator Bad (since 0)"},
    {{OX_SCHEMA(.name = "Bad", .domain = "d", .since = 7), NULL}, "operator d.Bad (since 7)"},
    {{OX_SCHEMA(.name = "Bad", .domain = "d", .since = 7), NULL}, "infer is NULL"},
    {BAD(.min_in = 2, .max_in = 1), "2 to 1 inputs"},
    {BAD(.min_out = 3, .max_out = 2), "3 to 2 outputs"},
    {BAD(.n_attrs = 1, .attr_row_bytes = sizeof(ox_attr_def)), "1 attributes"},
    {BAD(.attrs = second, .n_attrs = 1, .attr_row_bytes = OX_ATTR_DEF_SIZE_1_0 - 1), "wanted a table"},
    {BAD(OX_ATTRS(nameless), .attrs_bytes = sizeof(two_attrs)), "attribute 0 has no name"},
    {BAD(OX_ATTRS(odd_kind), .attrs_bytes = sizeof(two_attrs)), "'x': no field holds kind 10"},
    {BAD(OX_ATTRS(second), .attrs_bytes = sizeof(two_attrs) - 1), "'b' at byte 8 does not fit into the 15 bytes"},
    {BAD(OX_ATTRS(second), .attrs_bytes = 4), "'b' at byte 8 does not fit"},
    {BAD(OX_ATTRS(far_flag), .attrs_bytes = sizeof(two_attrs)), "presence at byte 16"},
    {BAD(OX_ATTRS(backwards), .attrs_bytes = sizeof(two_attrs)), "'a': its range ends before it begins"},
    {BAD(OX_ATTRS(no_share), .attrs_bytes = sizeof(two_attrs)), "'a': its range ends before it begins"},
    {BAD(.min_in = 1, .max_in = 1, .vars = "TT"), "vars \"TT\" for 1 inputs"},
    {BAD(.min_in = 1, .max_in = 3, .vars = "T1"), "vars \"T1\": wanted letters A to Z"},
    {BAD(.min_in = 1, .max_in = 3, .vars = "t"), "vars \"t\": wanted letters"},
    {BAD(.min_in = 1, .max_in = OX_TYPED_IN, .more_types = more_sets), "more_types for 8 inputs"},
    {BAD(.min_in = 1, .max_in = OX_VARIADIC, .more_types = more_sets), "more_types for 255 inputs"},
    {{OX_SCHEMA(.name = "Bad", .since = 1, .infer = infer), OX_KERNEL(.inplace = 1)}, "without run"},
    {{OX_SCHEMA(.name = "Bad", .since = 1, .infer = infer),
      &(const ox_kernel_def){.struct_size = OX_KERNEL_SIZE_1_0 - 1, .run = run}},
     "ox_kernel_def: struct_size"},
    {ROW("Relu", NULL, 14), "operator Relu (since 14) is there twice"},
    {ROW("Relu", "other", 1), "operator other.Relu (since 1) is there twice"},
};

/* None of a batch is added if one row is refused, wherever it stands. */
static void test_what_is_refused(void **state) {
  (void)state;
  ox_registry *r = table(NULL, standard, OX_COUNT(standard));
  for (size_t i = 0; i < OX_COUNT(refused); i++) {
    const ox_op batch[] = {ROW("Aaa", "d", 1), refused[i].row, ROW("Zzz", "d", 1)};
    size_t n;
    CHECK_FAILS(ox_registry_add(r, batch, OX_COUNT(batch)), OX_INVALID_ARGUMENT, refused[i].error);
    const ox_op *const *rows = ox_registry_all(r, &n);
    assert_int_equal(n, OX_COUNT(standard));
    assert_ptr_equal(rows[0], &standard[2]); /* Abs */
    assert_ptr_equal(rows[3], &standard[3]);
  }
  const ox_op twice[] = {ROW("Relu", "d", 1), ROW("Relu", "d", 2), ROW("Relu", "d", 1)};
  CHECK_FAILS(ox_registry_add(r, twice, OX_COUNT(twice)), OX_INVALID_ARGUMENT, "d.Relu (since 1) is there twice");
  CHECK_OK(ox_registry_add(r, twice, 2));
  CHECK_OK(ox_registry_add(r, NULL, 0));
  ox_registry_destroy(r);
}

static void test_views_may_say_how_they_are_read_without_a_run(void **state) {
  (void)state;
  ox_op view = {OX_SCHEMA(.name = "V", .since = 1, .traits = OX_VIEW, .infer = infer), OX_KERNEL(.unaligned_in = 1)};
  ox_registry *r = table(NULL, &view, 1);
  assert_ptr_equal(ox_registry_find(r, "", "V", 1), &view);
  ox_registry_destroy(r);
}

/* ---- nodes ---- */

static void test_a_node_without_an_imported_domain_counts_as_version_1(void **state) {
  (void)state;
  ox_registry *r = table(NULL, standard, OX_COUNT(standard));
  ox_model *m;
  uint32_t version;
  CHECK_OK(ox_model_create(ox_alloc_heap(), r, &m));
  CHECK_OK(ox_model_set_opset(m, "", 13));
  ox_node relu = {.op = "Relu", .domain = ""}, own = {.op = "Relu", .domain = "other"};
  ox_node pinned = {.op = "Relu", .domain = "", .version = 14}, unknown = {.op = "Nope", .domain = ""};
  assert_ptr_equal(ox_node_op(m, &relu, &version), &standard[0]);
  assert_int_equal(version, 13);
  assert_ptr_equal(ox_node_op(m, &own, &version), &standard[3]);
  assert_int_equal(version, 1);
  assert_ptr_equal(ox_node_schema(m, &pinned, &version), standard[1].schema);
  assert_int_equal(version, 14);
  assert_null(ox_node_schema(m, &unknown, NULL));
  ox_model_destroy(m);
  ox_registry_destroy(r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lookups),
      cmocka_unit_test(test_older_rows_read_as_zero_behind_their_end),
      cmocka_unit_test(test_newer_rows_are_taken_as_far_as_they_are_known),
      cmocka_unit_test(test_what_is_refused),
      cmocka_unit_test(test_views_may_say_how_they_are_read_without_a_run),
      cmocka_unit_test(test_a_node_without_an_imported_domain_counts_as_version_1),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
