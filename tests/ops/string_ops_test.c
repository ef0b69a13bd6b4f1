/* SPDX-License-Identifier: Apache-2.0
 * ops/string_ops_test.c - splitting, normalizing and joining of strings, by hand. */
#include <string.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/one_node.h"

#define STR(s) \
  { s, sizeof(s) - 1 }

static void expect(const ox_tensor *t, size_t n, const char *const *want) {
  assert_int_equal(ox_shape_count(&t->shape), n);
  for (size_t i = 0; i < n; i++) {
    const ox_str *s = (const ox_str *)t->data + i;
    if (s->n != strlen(want[i]) || memcmp(s->p, want[i], s->n) != 0)
      fail_msg("string %zu is '%.*s', wanted '%s'", i, (int)s->n, s->p, want[i]);
  }
}

static void split(const char *delimiter, int64_t most, ox_str text, size_t n, const char *const *want) {
  one_node node;
  one_node_init(&node, "", "StringSplit", 20, 2);
  if (delimiter) one_node_str(&node, "delimiter", delimiter);
  if (most >= 0) one_node_int(&node, "maxsplit", most);
  one_node_input(&node, OX_STRING, 1, (int64_t[]){1}, &text);
  CHECK_OK(one_node_run(&node));
  expect(&node.out[0], n, want);
  assert_int_equal(*(const int64_t *)node.out[1].data, n);
  one_node_deinit(&node);
}

static void test_split(void **state) {
  (void)state;
  split(",", -1, (ox_str)STR("a,,b"), 3, (const char *const[]){"a", "", "b"});
  split(",", 1, (ox_str)STR("a,b,c"), 2, (const char *const[]){"a", "b,c"});
  split(",", -1, (ox_str)STR(""), 1, (const char *const[]){""});
  split("ab", -1, (ox_str)STR("abxab"), 3, (const char *const[]){"", "x", ""});
  split(NULL, -1, (ox_str)STR("  a \t b "), 2, (const char *const[]){"a", "b"});
  split(NULL, 1, (ox_str)STR(" a b c "), 2, (const char *const[]){"a", "b c "});
  split("", -1, (ox_str)STR("   "), 0, NULL);
}

static void normalize(const char *change, int64_t cased, size_t n, const char *const *want) {
  static const ox_str text[] = {STR("The"), STR("caf\xc3\x89"), STR("the")}, stop[] = {STR("the")};
  one_node node;
  one_node_init(&node, "", "StringNormalizer", 10, 1);
  one_node_str(&node, "case_change_action", change);
  one_node_int(&node, "is_case_sensitive", cased);
  one_node_strs(&node, "stopwords", 1, stop);
  one_node_input(&node, OX_STRING, 1, (int64_t[]){3}, text);
  CHECK_OK(one_node_run(&node));
  expect(&node.out[0], n, want);
  one_node_deinit(&node);
}

static void test_normalize(void **state) {
  (void)state;
  normalize("NONE", 1, 2, (const char *const[]){"The", "caf\xc3\x89"});
  normalize("LOWER", 0, 1, (const char *const[]){"caf\xc3\xa9"});
  normalize("UPPER", 1, 2, (const char *const[]){"THE", "CAF\xc3\x89"});
}

static void test_concat_broadcasts(void **state) {
  (void)state;
  static const ox_str x[] = {STR("a"), STR("b")}, y[] = {STR(""), STR("1"), STR("23")};
  one_node node;
  one_node_init(&node, "", "StringConcat", 20, 1);
  one_node_input(&node, OX_STRING, 2, (int64_t[]){2, 1}, x);
  one_node_input(&node, OX_STRING, 1, (int64_t[]){3}, y);
  CHECK_OK(one_node_run(&node));
  expect(&node.out[0], 6, (const char *const[]){"a", "a1", "a23", "b", "b1", "b23"});
  one_node_deinit(&node);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_split),
      cmocka_unit_test(test_normalize),
      cmocka_unit_test(test_concat_broadcasts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
