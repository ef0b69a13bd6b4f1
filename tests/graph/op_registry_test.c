/* SPDX-License-Identifier: Apache-2.0
 * graph/op_registry_test.c - every operator file is registered, rows are sound, versions pick the right one. */
#include <string.h>

#include "graph/op_def.h"
#include "support/check.h"

static void test_rows_are_sorted_and_unique(void **state) {
  (void)state;
  size_t n;
  const ox_op_def *const *rows = ox_op_all(&n);
  assert_true(n > 100);
  for (size_t i = 1; i < n; i++) {
    const ox_op_def *a = rows[i - 1], *b = rows[i];
    int c = strcmp(a->domain ? a->domain : "", b->domain ? b->domain : "");
    if (c == 0) c = strcmp(a->name, b->name);
    if (c == 0) c = (a->since > b->since) - (a->since < b->since);
    if (c >= 0) fail_msg("%s(%d) and %s(%d) are out of order or equal", a->name, a->since, b->name, b->since);
  }
}

static void test_rows_are_sound(void **state) {
  (void)state;
  size_t n;
  const ox_op_def *const *rows = ox_op_all(&n);
  for (size_t i = 0; i < n; i++) {
    const ox_op_def *d = rows[i];
    if (d->since < 1) fail_msg("%s: since %d", d->name, d->since);
    if (d->max_in != OX_VARIADIC && d->min_in > d->max_in) fail_msg("%s: inputs", d->name);
    if (d->max_out != OX_VARIADIC && d->min_out > d->max_out) fail_msg("%s: outputs", d->name);
    if (!d->infer) fail_msg("%s: no inference", d->name);
    if (!d->run && !(d->traits & (OX_VIEW | OX_CONTROL))) fail_msg("%s: nothing runs it", d->name);
    if (d->n_attrs && !d->attrs_bytes) fail_msg("%s: attributes without a struct", d->name);
    for (uint32_t k = 0; k < d->n_attrs; k++)
      if (d->attrs[k].offset >= d->attrs_bytes) fail_msg("%s: attribute %s", d->name, d->attrs[k].name);
    if (d->domain && strcmp(d->domain, "ai.onnx") == 0) fail_msg("%s: name ai.onnx by leaving it out", d->name);
  }
}

static void test_versions(void **state) {
  (void)state;
  size_t n;
  const ox_op_def *const *rows = ox_op_all(&n);
  for (size_t i = 0; i < n; i++) {
    const ox_op_def *d = rows[i], *next = i + 1 < n ? rows[i + 1] : NULL;
    assert_ptr_equal(ox_op_find(d->domain, d->name, d->since), d);
    bool last = !next || strcmp(next->name, d->name) != 0 ||
                strcmp(next->domain ? next->domain : "", d->domain ? d->domain : "") != 0;
    assert_ptr_equal(ox_op_find(d->domain, d->name, last ? 9999 : next->since - 1), d);
    bool first = i == 0 || strcmp(rows[i - 1]->name, d->name) != 0 ||
                 strcmp(rows[i - 1]->domain ? rows[i - 1]->domain : "", d->domain ? d->domain : "") != 0;
    if (first) assert_null(ox_op_find(d->domain, d->name, d->since - 1));
  }
}

static void test_domains(void **state) {
  (void)state;
  assert_non_null(ox_op_find("", "Relu", 17));
  assert_ptr_equal(ox_op_find("", "Relu", 17), ox_op_find("ai.onnx", "Relu", 17));
  assert_ptr_equal(ox_op_find(NULL, "Relu", 17), ox_op_find("ai.onnx", "Relu", 17));
  assert_null(ox_op_find("nobody", "Relu", 17));
  assert_null(ox_op_find("", "NoSuchOperator", 17));
  assert_null(ox_op_find("", "", 17));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rows_are_sorted_and_unique),
      cmocka_unit_test(test_rows_are_sound),
      cmocka_unit_test(test_versions),
      cmocka_unit_test(test_domains),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
