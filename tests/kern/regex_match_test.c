/* SPDX-License-Identifier: Apache-2.0
 * kern/regex_match_test.c - patterns and texts, what must match and what must not; patterns that are refused. */
#include <stdlib.h>
#include <string.h>

#include "kern/text/regex.h"
#include "support/check.h"

static const struct {
  const char *pattern, *text;
  bool matches;
} cases[] = {
    {"", "", true},
    {"", "a", false},
    {"a*", "", true},
    {"a|", "a", true},
    {"(a|ab)(c|bcd)", "abcd", true},
    {"a{2,3}", "a", false},
    {"a{2,3}", "aaa", true},
    {"a{2,3}", "aaaa", false},
    {"x{,3}", "x{,3}", true},
    {"[]a]+", "]a]", true},
    {"[^a-c]", "b", false},
    {"[a-]+", "a-a", true},
    {"\\d+\\.\\d{2}", "12.50", true},
    {"\\D\\S\\W", "ab!", true},
    {"[[:alpha:]_]+", "ab_", true},
    {"[[:^digit:]]", "1", false},
    {"\\bfoo\\b.*", "foo bar", true},
    {"fo\\Bo", "foo", true},
    {"^a$", "a", true},
    {".", "\n", false},
    {"(?s).", "\n", true},
    {"(?m)^a$\n^b$", "a\nb", true},
    {"(?i)stra\xc3\x9f"
     "e",
     "STRA\xc3\x9f"
     "E",
     true},
    {"(?i:\xc3\xa9)x", "\xc3\x89x", true},
    {"(?i:a)b", "AB", false},
    {"caf.", "caf\xc3\xa9", true},
    {"\\x41\\x{e9}\\101",
     "A\xc3\xa9"
     "A",
     true},
    {"\\Qa.b\\E+", "a.bbb", true},
    {"(?P<name>a)(?:b)", "ab", true},
    {"(a*)*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac", false},
};

static bool full_match(const char *pattern, const char *text) {
  ox_arena arena;
  ox_regex *r;
  ox_arena_init(&arena, ox_alloc_heap());
  CHECK_OK(ox_regex_compile(&arena, pattern, strlen(pattern), &r));
  void *scratch = malloc(ox_regex_scratch(r));
  ox_regex_work w = ox_regex_work_on(strlen(text), scratch, (ox_stop){NULL, NULL});
  bool got = ox_regex_full_match(r, text, strlen(text), &w);
  free(scratch);
  ox_arena_deinit(&arena);
  return got;
}

static void test_full_matches(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    if (full_match(cases[i].pattern, cases[i].text) != cases[i].matches)
      fail_msg("'%s' and '%s': wanted %d", cases[i].pattern, cases[i].text, cases[i].matches);
}

static void test_longest_match_from_a_place(void **state) {
  (void)state;
  ox_arena arena;
  ox_regex *r;
  ox_arena_init(&arena, ox_alloc_heap());
  CHECK_OK(ox_regex_compile(&arena, "a|ab|abc", 8, &r));
  void *scratch = malloc(ox_regex_scratch(r));
  ox_regex_work w = ox_regex_work_on(5, scratch, (ox_stop){NULL, NULL});
  assert_int_equal(ox_regex_longest_at(r, "xabcd", 5, 1, &w), 3);
  assert_true(ox_regex_longest_at(r, "xabcd", 5, 0, &w) == SIZE_MAX);
  free(scratch);
  ox_arena_deinit(&arena);
}

/* 1300 times (a|b)* is no small automaton, and thousands of its instructions are alive at each character. A search that
 * begins anew at each 'a' and finds its end at none looks at half a text of texts. */
static void test_hopeless_work_is_given_up(void **state) {
  (void)state;
  enum { TURNS = 1300, TEXT = 200000 };
  static const char turn[] = "(a|b)*";
  char *pattern = malloc(TURNS * (sizeof turn - 1)), *text = malloc(TEXT);
  for (int i = 0; i < TURNS; i++) memcpy(pattern + (size_t)i * (sizeof turn - 1), turn, sizeof turn - 1);
  memset(text, 'a', TEXT);
  for (int search = 0; search < 2; search++) {
    ox_arena arena;
    ox_regex *r;
    size_t len;
    ox_arena_init(&arena, ox_alloc_heap());
    CHECK_OK(search ? ox_regex_compile(&arena, "a+b", 3, &r)
                    : ox_regex_compile(&arena, pattern, TURNS * (sizeof turn - 1), &r));
    void *scratch = malloc(ox_regex_scratch(r));
    ox_regex_work w = ox_regex_work_on(TEXT, scratch, (ox_stop){NULL, NULL});
    if (search)
      (void)ox_regex_find(r, text, TEXT, 0, &len, &w);
    else
      (void)ox_regex_full_match(r, text, TEXT, &w);
    CHECK_FAILS(ox_regex_work_status(&w, TEXT), OX_LIMIT, "200000 bytes");
    free(scratch);
    ox_arena_deinit(&arena);
  }
  free(pattern), free(text);
}

static void test_bad_patterns_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *pattern;
    ox_code code;
    const char *part;
  } bad[] = {
      {"(", OX_INVALID_MODEL, "missing )"},           {")", OX_INVALID_MODEL, "unexpected )"},
      {"[a", OX_INVALID_MODEL, "missing ]"},          {"*a", OX_INVALID_MODEL, "nothing to repeat"},
      {"a{3,2}", OX_INVALID_MODEL, "repetition"},     {"a{2000}", OX_INVALID_MODEL, "repetition"},
      {"\\", OX_INVALID_MODEL, "backslash"},          {"[z-a]", OX_INVALID_MODEL, "backwards"},
      {"\\pL", OX_NOT_IMPLEMENTED, "Unicode"},        {"((((){1000}){1000}){1000}){1000}", OX_LIMIT, "steps"},
      {"((a{1000}){1000}){1000}", OX_LIMIT, "steps"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    ox_arena arena;
    ox_regex *r;
    ox_arena_init(&arena, ox_alloc_heap());
    CHECK_FAILS(ox_regex_compile(&arena, bad[i].pattern, strlen(bad[i].pattern), &r), bad[i].code, bad[i].part);
    ox_arena_deinit(&arena);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_full_matches),
      cmocka_unit_test(test_longest_match_from_a_place),
      cmocka_unit_test(test_hopeless_work_is_given_up),
      cmocka_unit_test(test_bad_patterns_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
