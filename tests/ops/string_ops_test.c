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

/* Long strings are worked on in pieces: what lies where one ends must not show. */
enum { LONG = 20000 };

static void test_long_strings_are_split_anywhere(void **state) {
  (void)state;
  static char text[LONG];
  static const char *const by[] = {NULL, ";;"};
  for (size_t k = 0; k < OX_COUNT(by); k++)
    for (size_t at = 4080; at < 8200; at += at == 4110 ? 4070 : 1) {
      memset(text, ';', LONG); /* of which every second may be the beginning of a delimiter */
      for (size_t i = 0; i < LONG; i += 2) text[i] = 'x';
      memcpy(text + at, k ? ";;" : "  ", 2);
      text[at - 1] = 'x', text[at + 2] = 'x';
      one_node node;
      ox_str in = {text, LONG};
      one_node_init(&node, "", "StringSplit", 20, 2);
      if (by[k]) one_node_str(&node, "delimiter", by[k]);
      one_node_input(&node, OX_STRING, 1, (int64_t[]){1}, &in);
      CHECK_OK(one_node_run(&node));
      assert_int_equal(*(const int64_t *)node.out[1].data, 2);
      const ox_str *part = node.out[0].data;
      assert_ptr_equal(part[0].p, text);
      assert_int_equal(part[0].n, at);
      assert_ptr_equal(part[1].p, text + at + 2);
      assert_int_equal(part[1].n, LONG - at - 2);
      one_node_deinit(&node);
    }
}

static void test_long_strings_change_case_everywhere(void **state) {
  (void)state;
  static char text[LONG], want[LONG];
  for (size_t first = 0; first < 3; first++) { /* two bytes each, from |first| on */
    for (size_t i = 0; i < LONG; i++) text[i] = 'a', want[i] = 'A';
    for (size_t i = first; i + 2 <= LONG; i += 2) memcpy(text + i, "\xc3\xa9", 2), memcpy(want + i, "\xc3\x89", 2);
    one_node node;
    ox_str in[3] = {{text, LONG}, STR(""), STR("b")};
    one_node_init(&node, "", "StringNormalizer", 10, 1);
    one_node_str(&node, "case_change_action", "UPPER");
    one_node_input(&node, OX_STRING, 1, (int64_t[]){3}, in);
    CHECK_OK(one_node_run(&node));
    const ox_str *out = node.out[0].data;
    assert_int_equal(out[0].n, LONG);
    assert_memory_equal(out[0].p, want, LONG);
    assert_int_equal(out[1].n, 0);
    assert_true(out[2].n == 1 && out[2].p[0] == 'B');
    one_node_deinit(&node);
  }
}

/* Many strings, a few of which are longer than all the others. */
static void test_many_strings_are_joined(void **state) {
  enum { N = 300 };
  (void)state;
  static char text[5000];
  static ox_str x[N];
  memset(text, 'x', sizeof text);
  for (size_t i = 0; i < N; i++) x[i] = (ox_str){text, i % 97 ? i : sizeof text};
  static const ox_str y[] = {STR("!")};
  one_node node;
  one_node_init(&node, "", "StringConcat", 20, 1);
  one_node_input(&node, OX_STRING, 1, (int64_t[]){N}, x);
  one_node_input(&node, OX_STRING, 1, (int64_t[]){1}, y);
  CHECK_OK(one_node_run(&node));
  const ox_str *out = node.out[0].data;
  for (size_t i = 0; i < N; i++) {
    assert_int_equal(out[i].n, x[i].n + 1);
    assert_memory_equal(out[i].p, text, x[i].n);
    assert_int_equal(out[i].p[x[i].n], '!');
  }
  one_node_deinit(&node);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_split),
      cmocka_unit_test(test_normalize),
      cmocka_unit_test(test_concat_broadcasts),
      cmocka_unit_test(test_long_strings_are_split_anywhere),
      cmocka_unit_test(test_long_strings_change_case_everywhere),
      cmocka_unit_test(test_many_strings_are_joined),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
