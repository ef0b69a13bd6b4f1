/* SPDX-License-Identifier: Apache-2.0
 * base/json_test.c - the text that each call writes. With "rows" as its argument it prints documents for json_rows.py,
 * which reads them back with Python's json. */
#include "base/json.h"

#include <float.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"

typedef struct {
  char text[4096];
  size_t n, calls, fail_at; /* fail_at: the call that fails, from 1; 0: none */
} memory;

static int write_memory(void *ctx, const void *bytes, size_t n) {
  memory *m = ctx;
  if (++m->calls == m->fail_at || n >= sizeof m->text - m->n) return 1;
  memcpy(m->text + m->n, bytes, n);
  m->text[m->n += n] = 0;
  return 0;
}

static int write_stdout(void *ctx, const void *bytes, size_t n) { return fwrite(bytes, 1, n, ctx) != n; }

#define TEXT(s) s, sizeof(s) - 1

static const struct {
  const char *bytes;
  size_t n;
  const char *want;
} strings[] = {
    {TEXT(""), "\"\""},
    {TEXT("plain"), "\"plain\""},
    {TEXT("\""), "\"\\\"\""},
    {TEXT("\\"), "\"\\\\\""},
    {TEXT("a\"b\\c/d"), "\"a\\\"b\\\\c/d\""},
    {TEXT("\0"), "\"\\u0000\""},
    {TEXT("\x01"), "\"\\u0001\""},
    {TEXT("\b\t\n\v\f\r"), "\"\\b\\t\\n\\u000b\\f\\r\""},
    {TEXT("\x1f\x20\x7f"), "\"\\u001f \x7f\""},
    /* every length, at its first and last character */
    {TEXT("\xc2\x80\xdf\xbf"), "\"\xc2\x80\xdf\xbf\""},
    {TEXT("\xe0\xa0\x80\xef\xbf\xbf"), "\"\xe0\xa0\x80\xef\xbf\xbf\""},
    {TEXT("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"), "\"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\""},
    {TEXT("\xed\x9f\xbf\xee\x80\x80"), "\"\xed\x9f\xbf\xee\x80\x80\""}, /* around the surrogates */
    /* what is no UTF-8 */
    {TEXT("\x80"), "\"\xef\xbf\xbd\""},
    {TEXT("a\xff\"b"), "\"a\xef\xbf\xbd\\\"b\""},
    {TEXT("\xc0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\""},                                 /* a long NUL */
    {TEXT("\xe0\x9f\xbf"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},                 /* a long form */
    {TEXT("\xed\xa0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},                 /* a lone surrogate */
    {TEXT("\xf4\x90\x80\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""}, /* above U+10FFFF */
    {TEXT("\xe2\x82"), "\"\xef\xbf\xbd\""},                                             /* cut at the end */
    {TEXT("\xf0\x9f\x98x"), "\"\xef\xbf\xbdx\""},                                       /* cut by a letter */
    {TEXT("\xe2\x82\n\xe2\x82\xac"), "\"\xef\xbf\xbd\\n\xe2\x82\xac\""},
};

static void test_strings(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(strings); i++) {
    memory m = {.n = 0};
    ox_json j = ox_json_to(write_memory, &m);
    ox_json_text(&j, strings[i].bytes, strings[i].n);
    assert_string_equal(m.text, strings[i].want);
    assert_false(j.failed);
  }
}

static const int64_t ints[] = {0, 1, -1, INT32_MIN, (INT64_C(1) << 53) + 1, INT64_MAX, INT64_MIN};
static const uint64_t uints[] = {0, 1, UINT32_MAX, UINT64_MAX};

static const struct {
  double v;
  const char *want;
} doubles[] = {
    {0, "0"},
    {-0.0, "-0.0"},
    {1, "1"},
    {-2.5, "-2.5"},
    {0.1, "0.1"},
    {0.1 + 0.2, "0.30000000000000004"},
    {1.0 / 3, "0.3333333333333333"},
    {9007199254740992.0, "9007199254740992"},
    {1e22, "1e+22"},
    {5e-324, "4.94065645841247e-324"},
    {DBL_MAX, "1.7976931348623157e+308"},
    {DBL_MIN, "2.2250738585072014e-308"},
    {NAN, "null"},
    {INFINITY, "null"},
    {-INFINITY, "null"},
};

static void check_doubles(void) {
  for (size_t i = 0; i < OX_COUNT(doubles); i++) {
    memory m = {.n = 0};
    ox_json j = ox_json_to(write_memory, &m);
    ox_json_double(&j, doubles[i].v);
    assert_string_equal(m.text, doubles[i].want);
  }
}

static void test_doubles(void **state) {
  (void)state;
  check_doubles();
}

/* Any locale whose decimal point is none will do; the test is skipped where there is no such locale. */
static void test_doubles_whatever_the_locale(void **state) {
  static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "ps_AF.UTF-8", "ps_AF"};
  (void)state;
  bool found = false;
  for (size_t i = 0; i < OX_COUNT(names); i++) {
    if (!setlocale(LC_NUMERIC, names[i]) || strcmp(localeconv()->decimal_point, ".") == 0) continue;
    found = true;
    check_doubles();
  }
  setlocale(LC_NUMERIC, "C");
  if (!found) skip();
}

static void test_integers(void **state) {
  (void)state;
  memory m = {.n = 0};
  ox_json j = ox_json_to(write_memory, &m);
  ox_json_begin_array(&j);
  for (size_t i = 0; i < OX_COUNT(ints); i++) ox_json_int(&j, ints[i]);
  for (size_t i = 0; i < OX_COUNT(uints); i++) ox_json_uint(&j, uints[i]);
  ox_json_end_array(&j);
  assert_string_equal(m.text,
                      "[0, 1, -1, -2147483648, 9007199254740993, 9223372036854775807, -9223372036854775808, "
                      "0, 1, 4294967295, 18446744073709551615]");
}

/* Empty ones, first and later items, one in the other, names that need escapes, lines. */
static void nested(ox_json *j) {
  ox_json_begin_object(j);
  ox_json_begin_object(ox_json_key(j, ""));
  ox_json_end_object(j);
  ox_json_begin_array(ox_json_key(j, "a\"\n\xff"));
  ox_json_begin_array(j);
  ox_json_end_array(j);
  ox_json_begin_object(j);
  ox_json_bool(ox_json_key(j, "yes"), true);
  ox_json_bool(ox_json_key(j, "no"), false);
  ox_json_end_object(j);
  ox_json_string(j, NULL);
  ox_json_double(j, 1.5);
  ox_json_end_array(j);
  ox_json_begin_array(ox_json_key(j, "lines"));
  for (int i = 0; i < 3; i++) {
    ox_json_line(j);
    ox_json_int(j, i);
  }
  ox_json_end_array(j);
  ox_json_end_object(j);
}

static const char *const nested_text =
    "{\"\": {}, \"a\\\"\\n\xef\xbf\xbd\": [[], {\"yes\": true, \"no\": false}, null, 1.5], \"lines\": [\n0,\n1,\n2]}\n";

static void test_nested(void **state) {
  (void)state;
  memory m = {.n = 0};
  ox_json j = ox_json_to(write_memory, &m);
  nested(&j);
  assert_true(ox_json_end(&j));
  assert_string_equal(m.text, nested_text);
}

static void test_documents_follow_each_other(void **state) {
  (void)state;
  memory m = {.n = 0};
  ox_json j = ox_json_to(write_memory, &m);
  for (int i = 0; i < 2; i++) {
    ox_json_begin_array(&j);
    ox_json_end_array(&j);
    assert_true(ox_json_end(&j));
  }
  assert_string_equal(m.text, "[]\n[]\n");
}

/* Whichever call of the function fails: it is the last one, and the end tells. */
static void test_every_write_may_fail(void **state) {
  (void)state;
  for (size_t at = 1;; at++) {
    memory m = {.fail_at = at};
    ox_json j = ox_json_to(write_memory, &m);
    nested(&j);
    bool ok = ox_json_end(&j);
    assert_memory_equal(m.text, nested_text, m.n);
    if (m.calls < at) {
      assert_true(ok);
      assert_true(at > 20);
      return;
    }
    assert_false(ok);
    assert_int_equal(m.calls, at);
  }
}

/* ---- rows: {"hex": bytes, "text": string} or {"bits": double, "number": ...}, a line each ---- */

static void print_text(const unsigned char *bytes, size_t n) {
  char hex[65] = "";
  for (size_t i = 0; i < n; i++) snprintf(hex + 2 * i, sizeof hex - 2 * i, "%02x", bytes[i]);
  ox_json j = ox_json_to(write_stdout, stdout);
  ox_json_begin_object(&j);
  ox_json_string(ox_json_key(&j, "hex"), hex);
  ox_json_text(ox_json_key(&j, "text"), (const char *)bytes, n);
  ox_json_end_object(&j);
  ox_json_end(&j);
}

static void print_double(uint64_t bits) {
  char hex[24];
  double v;
  memcpy(&v, &bits, sizeof v);
  snprintf(hex, sizeof hex, "%016" PRIx64, bits);
  ox_json j = ox_json_to(write_stdout, stdout);
  ox_json_begin_object(&j);
  ox_json_string(ox_json_key(&j, "bits"), hex);
  ox_json_double(ox_json_key(&j, "number"), v);
  ox_json_end_object(&j);
  ox_json_end(&j);
}

static uint64_t next(uint64_t *state) { /* SplitMix64 */
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

static int print_rows(void) {
  /* where UTF-8's rules change, and letters that need escapes */
  static const unsigned char edges[] = {0x00, 0x1f, 0x22, 0x5c, 0x7f, 0x80, 0x8f, 0x90, 0x9f,
                                        0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec,
                                        0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff};
  enum { N = sizeof edges };
  uint64_t state = 1;
  for (size_t i = 0; i < OX_COUNT(strings); i++) print_text((const unsigned char *)strings[i].bytes, strings[i].n);
  for (unsigned a = 0; a < 256; a++) print_text(&(unsigned char){(unsigned char)a}, 1);
  for (unsigned i = 0; i < N * N * N; i++)
    print_text((const unsigned char[]){edges[i / (N * N)], edges[i / N % N], edges[i % N]}, 3);
  for (unsigned i = 0; i < 20000; i++) {
    unsigned char s[8];
    uint64_t r = next(&state);
    for (unsigned k = 0; k < 8; k++) s[k] = edges[(r >> 8 * k & 255) % N];
    print_text(s, 4 + i % 5);
  }
  for (size_t i = 0; i < OX_COUNT(doubles); i++) {
    uint64_t bits;
    memcpy(&bits, &doubles[i].v, sizeof bits);
    print_double(bits);
  }
  for (unsigned i = 0; i < 20000; i++) print_double(next(&state));
  return fflush(stdout) == 0 ? 0 : 1;
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "rows") == 0) return print_rows();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_strings),
      cmocka_unit_test(test_doubles),
      cmocka_unit_test(test_doubles_whatever_the_locale),
      cmocka_unit_test(test_integers),
      cmocka_unit_test(test_nested),
      cmocka_unit_test(test_documents_follow_each_other),
      cmocka_unit_test(test_every_write_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
