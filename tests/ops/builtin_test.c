/* SPDX-License-Identifier: Apache-2.0
 * ops/builtin_test.c - every operator file is in the table, its rows are sound, versions pick the right one. */
#include "ops/builtin.h"

#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/counting_alloc.h"

static const char *domain_of(const ox_schema *s) { return s->domain ? s->domain : ""; }

static bool same_name(const ox_op *a, const ox_op *b) {
  return strcmp(a->schema->name, b->schema->name) == 0 && strcmp(domain_of(a->schema), domain_of(b->schema)) == 0;
}

/* The checks that rows of plug-ins go through, too. */
static void test_every_row_is_accepted(void **state) {
  (void)state;
  ox_registry *r;
  size_t n, shared;
  CHECK_OK(ox_registry_create(ox_alloc_heap(), NULL, &r));
  CHECK_OK(ox_ops_builtin_add(r));
  ox_registry_all(r, &n);
  ox_registry_all(ox_ops_builtin(), &shared);
  assert_true(n > 300);
  assert_int_equal(n, shared);
  CHECK_FAILS(ox_ops_builtin_add(r), OX_INVALID_ARGUMENT, "there twice");
  CHECK_OK(ox_ops_cpu_add(r));
  ox_registry_destroy(r);
}

static void test_rows_are_sorted_and_unique(void **state) {
  (void)state;
  size_t n;
  const ox_op *const *rows = ox_registry_all(ox_ops_builtin(), &n);
  for (size_t i = 1; i < n; i++) {
    const ox_schema *a = rows[i - 1]->schema, *b = rows[i]->schema;
    int c = strcmp(domain_of(a), domain_of(b));
    if (c == 0) c = strcmp(a->name, b->name);
    if (c == 0) c = (a->since > b->since) - (a->since < b->since);
    if (c >= 0) fail_msg("%s(%d) and %s(%d) are out of order or equal", a->name, a->since, b->name, b->since);
  }
}

static void test_something_runs_every_operator(void **state) {
  (void)state;
  size_t n;
  const ox_op *const *rows = ox_registry_all(ox_ops_builtin(), &n);
  for (size_t i = 0; i < n; i++) {
    const ox_schema *s = rows[i]->schema;
    if (!rows[i]->kernel && !(s->traits & (OX_VIEW | OX_CONTROL))) fail_msg("%s: nothing runs it", s->name);
    if (s->domain && strcmp(s->domain, "ai.onnx") == 0) fail_msg("%s: name ai.onnx by leaving it out", s->name);
  }
}

/* What only the CPU provider's rules make is in a table over the other one. */
static void test_own_operators_are_a_table_of_their_own(void **state) {
  (void)state;
  size_t n, n_own;
  const ox_registry *all = ox_ops_cpu(), *builtin = ox_ops_builtin();
  const ox_op *const *rows = ox_registry_all(builtin, &n), *const *own = ox_registry_all(all, &n_own);
  for (size_t i = 0; i < n; i++) assert_string_not_equal(domain_of(rows[i]->schema), "ai.onyx");
  for (size_t i = 0; i < n_own; i++) assert_string_equal(domain_of(own[i]->schema), "ai.onyx");
  assert_true(n_own >= 2);
  assert_non_null(ox_registry_find(all, "ai.onyx", "Linear", 1));
  assert_null(ox_registry_find(builtin, "ai.onyx", "Linear", 1));
  assert_ptr_equal(ox_registry_find(all, "", "MatMul", 13), ox_registry_find(builtin, "", "MatMul", 13));
}

static void test_versions(void **state) {
  (void)state;
  size_t n;
  const ox_registry *r = ox_ops_builtin();
  const ox_op *const *rows = ox_registry_all(r, &n);
  for (size_t i = 0; i < n; i++) {
    const ox_schema *s = rows[i]->schema;
    assert_ptr_equal(ox_registry_find(r, s->domain, s->name, s->since), rows[i]);
    bool last = i + 1 == n || !same_name(rows[i], rows[i + 1]);
    int64_t until = last ? 9999 : rows[i + 1]->schema->since - 1;
    assert_ptr_equal(ox_registry_find(r, s->domain, s->name, until), rows[i]);
    if (i == 0 || !same_name(rows[i], rows[i - 1])) assert_null(ox_registry_find(r, s->domain, s->name, s->since - 1));
  }
}

static void test_out_of_memory_leaks_nothing(void **state) {
  (void)state;
  ox_status *st = NULL;
  for (long fail_at = 0; fail_at == 0 || st; fail_at++) {
    counting_alloc c = {.fail_at = fail_at};
    ox_registry *r = NULL;
    ox_status_free(st);
    st = ox_registry_create(counting_alloc_of(&c), NULL, &r);
    if (!st) st = ox_ops_builtin_add(r);
    if (st) assert_int_equal(ox_status_code(st), OX_OUT_OF_MEMORY);
    ox_registry_destroy(r);
    assert_int_equal(c.live, 0);
    assert_true(fail_at < 100000);
  }
}

/* One line for each row: domain, name, since, least and most inputs, least and most outputs, type variables, the sets of
 * types as the row gives them. For check_schemas.py. */
static void print_row(const ox_schema *s) {
  printf("%s\t%s\t%d\t", domain_of(s), s->name, (int)s->since);
  printf("%u %u %u %u\t", s->min_in, s->max_in, ox_schema_min_out(s), s->max_out ? s->max_out : 1);
  printf("%s\t", s->vars ? s->vars : "");
  for (uint32_t i = 0; i < OX_TYPED_IN; i++) printf("%x ", s->types[i]);
  for (uint32_t i = OX_TYPED_IN; s->more_types && i < s->max_in; i++) printf("%x ", s->more_types[i - OX_TYPED_IN]);
  printf("\n");
}

static int print_rows(void) {
  const ox_registry *tables[] = {ox_ops_builtin(), ox_ops_cpu()};
  for (size_t t = 0; t < OX_COUNT(tables); t++) {
    size_t n;
    const ox_op *const *rows = ox_registry_all(tables[t], &n);
    for (size_t i = 0; i < n; i++) print_row(rows[i]->schema);
  }
  return 0;
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "rows") == 0) return print_rows();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_row_is_accepted),
      cmocka_unit_test(test_rows_are_sorted_and_unique),
      cmocka_unit_test(test_something_runs_every_operator),
      cmocka_unit_test(test_versions),
      cmocka_unit_test(test_own_operators_are_a_table_of_their_own),
      cmocka_unit_test(test_out_of_memory_leaks_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
