/* SPDX-License-Identifier: Apache-2.0
 * base/tune_test.c - the table of measurements, its file, and files that are not what they should be. */
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/macros.h"
#include "base/tune.h"
#include "support/check.h"
#include "support/counting_alloc.h"
#include "support/temp_folder.h"

static char folder[TEMP_FOLDER_BYTES], path[TEMP_FOLDER_BYTES + 8];
static int n_logged;
static char logged[1024];

static void log_text(void *ctx, int level, const char *text) {
  (void)ctx, (void)level;
  n_logged++;
  snprintf(logged, sizeof logged, "%s", text);
}

static ox_tune *open_at(const char *where, bool measures) {
  ox_tune *t;
  n_logged = 0;
  CHECK_OK(ox_tune_open(&(ox_tune_opts){ox_alloc_heap(), OX_AVX2, where, measures, log_text, NULL}, &t));
  return t;
}

static void put(ox_tune *t, const char *task, const char *slow, const char *fast) {
  ox_tune_way ways[] = {{slow, 2000.4}, {fast, 1000}};
  ox_tune_put(t, task, ways, 2);
}

static void write_file(const char *where, const char *bytes, size_t n) {
  FILE *f = fopen(where, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(bytes, 1, n, f), n);
  fclose(f);
}

static size_t read_file(char *out, size_t most) {
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  size_t n = fread(out, 1, most - 1, f);
  out[n] = 0;
  fclose(f);
  return n;
}

/* ---- the table ---- */

static void test_the_fastest_is_found(void **state) {
  (void)state;
  ox_tune *t = open_at(NULL, true);
  assert_null(ox_tune_find(NULL, "a"));
  assert_false(ox_tune_measures(NULL));
  assert_true(ox_tune_measures(t));
  assert_null(ox_tune_find(t, "a"));
  put(t, "a", "slow way", "fast way");
  put(t, "a", "later", "even faster"); /* what was said once stays */
  ox_tune_put(t, "b", NULL, 0);
  assert_string_equal(ox_tune_find(t, "a"), "fast way");
  assert_string_equal(ox_tune_find(t, "b"), "none");
  assert_null(ox_tune_find(t, "c"));
  ox_tune_close(t);
  ox_tune_close(NULL);
}

static void count(void *ctx) { ++*(int *)ctx; }

static void test_time_is_taken_of_several_calls(void **state) {
  (void)state;
  int calls = 0;
  double ns = ox_tune_time(count, &calls);
  assert_true(ns >= 0 && ns < 1e6);
  assert_true(calls > 3);
}

/* ---- the file ---- */

static void test_what_is_written_is_read(void **state) {
  (void)state;
  char text[4096];
  unlink(path);
  ox_tune *t = open_at(path, true);
  assert_int_equal(n_logged, 0); /* a file that is to be made may be missing */
  put(t, "conv 3x3", "direct", "winograd 4x4");
  put(t, "conv 1x1", "winograd 4x4", "direct");
  ox_tune_close(t);
  read_file(text, sizeof text);
  assert_non_null(strstr(text, "\ntask conv 3x3|winograd 4x4 1000|direct 2000\ntask conv 1x1|direct 1000|"));
  t = open_at(path, false);
  assert_int_equal(n_logged, 0);
  assert_string_equal(ox_tune_find(t, "conv 3x3"), "winograd 4x4");
  assert_string_equal(ox_tune_find(t, "conv 1x1"), "direct");
  put(t, "more", "x", "y"); /* comes on top */
  ox_tune_close(t);
  t = open_at(path, true);
  assert_string_equal(ox_tune_find(t, "conv 1x1"), "direct");
  assert_string_equal(ox_tune_find(t, "more"), "y");
  ox_tune_close(t);
}

/* A file without tasks; its first two lines are what every file for this machine begins with. */
static size_t good_head(char *out, size_t most) {
  unlink(path);
  ox_tune_close(open_at(path, true));
  return read_file(out, most);
}

static void test_files_that_are_not_used(void **state) {
  (void)state;
  static char head[1024], text[64 * 1024], longest[OX_TUNE_LINE + 64], ways[1024];
  good_head(head, sizeof head);
  memset(longest, 'x', sizeof longest - 1);
  for (size_t i = 0; i < OX_TUNE_WAYS + 1; i++) strcat(ways, i ? "|w 1" : "w 1");
  const struct {
    const char *what, *format; /* %h: the head */
    const char *why;           /* part of what the log says; NULL: the task "a" has way "b" */
  } rows[] = {
      {"good", "%stask a|b 1\n", NULL},
      {"no end of line", "%stask a|b 1", NULL},
      {"a time of 0", "%stask a|b 0|c 0\n", NULL},
      {"empty", "%.0s", "not a file of this version"},
      {"another version", "onyx tune 2\n%.0s", "not a file of this version"},
      {"one line", "onyx tune 1%.0s", "no machine"},
      {"no machine", "onyx tune 1\ntask a|b 1\n%.0s", "no machine"},
      {"another machine", "onyx tune 1\nmachine VAX, scalar, onyx 0.1.0\ntask a|b 1\n%.0s", "another machine"},
      {"more of the machine", "%.*s and more\ntask a|b 1\n", "another machine"},
      {"an empty line", "%s\ntask a|b 1\n", "no task"},
      {"another word", "%stask a|b 1\ntusk b|c 1\n", "no task"},
      {"no way", "%stask a\n", "without its ways"},
      {"an empty way", "%stask a|\n", "without its ways"},
      {"no name", "%stask a| 1\n", "without its ways"},
      {"no task", "%stask |b 1\n", "without its ways"},
      {"no time", "%stask a|b\n", "without its ways"},
      {"a time that is none", "%stask a|b x1\n", "without its ways"},
      {"a long time", "%stask a|b 1234567890123456789\n", "without its ways"},
      {"an end that is no way", "%stask a|b 1|\n", "without its ways"},
      {"a task twice", "%stask a|b 1\ntask a|c 1\n", "twice"},
      {"not text", "%stask a|b\x01 1\n", "no text"},
      {"another byte order", "%stask \xff\xfe|b 1\n", "no text"},
  };
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    size_t n = strstr(rows[i].format, "%.*s")
                   ? (size_t)snprintf(text, sizeof text, rows[i].format, (int)strlen(head) - 1, head)
                   : (size_t)snprintf(text, sizeof text, rows[i].format, head);
    write_file(path, text, n);
    ox_tune *t = open_at(path, false);
    const char *found = ox_tune_find(t, "a");
    if (!found != (rows[i].why != NULL)) fail_msg("%s: found %s", rows[i].what, found ? found : "nothing");
    if (n_logged != (rows[i].why != NULL)) fail_msg("%s: %d lines in the log", rows[i].what, n_logged);
    if (rows[i].why && !strstr(logged, rows[i].why)) fail_msg("%s: the log says '%s'", rows[i].what, logged);
    ox_tune_close(t);
  }
  const char *const lines[] = {longest, ways};
  for (size_t i = 0; i < OX_COUNT(lines); i++) {
    size_t n = (size_t)snprintf(text, sizeof text, "%stask a|%s\n", head, lines[i]);
    write_file(path, text, n);
    ox_tune *t = open_at(path, false);
    assert_null(ox_tune_find(t, "a"));
    assert_int_equal(n_logged, 1);
    ox_tune_close(t);
  }
  size_t n = (size_t)snprintf(text, sizeof text, "%stask a|b 1\n", head);
  text[n - 3] = 0; /* ends the text for C, not for us */
  write_file(path, text, n);
  ox_tune *t = open_at(path, false);
  assert_null(ox_tune_find(t, "a"));
  ox_tune_close(t);
}

/* A file that is not used is written anew by who measures, and left alone by who does not. */
static void test_a_broken_file_is_replaced_by_who_measures(void **state) {
  (void)state;
  char text[1024];
  write_file(path, "nothing", 7);
  ox_tune_close(open_at(path, false));
  assert_int_equal(read_file(text, sizeof text), 7);
  ox_tune_close(open_at(path, true));
  read_file(text, sizeof text);
  assert_int_equal(strncmp(text, "onyx tune 1\nmachine ", 20), 0);
}

static void test_places_that_are_no_files(void **state) {
  (void)state;
  char inside[96];
  ox_tune *t = open_at(folder, true);
  assert_int_equal(n_logged, 1);
  put(t, "a", "b", "c");
  ox_tune_close(t);
  assert_int_equal(n_logged, 2);
  snprintf(inside, sizeof inside, "%s/no/file", folder);
  t = open_at(inside, true);
  assert_int_equal(n_logged, 0);
  ox_tune_close(t);
  assert_int_equal(n_logged, 1);
  t = open_at(inside, false);
  assert_int_equal(n_logged, 1);
  ox_tune_close(t);
  snprintf(inside, sizeof inside, "%s/fifo", folder);
  assert_int_equal(mkfifo(inside, 0600), 0);
  ox_tune_close(open_at(inside, false)); /* nobody waits for a writer */
  assert_int_equal(n_logged, 1);
  unlink(inside);
}

static void test_each_allocation_may_fail(void **state) {
  (void)state;
  char head[1024], text[2048];
  good_head(head, sizeof head);
  size_t n = (size_t)snprintf(text, sizeof text, "%stask a|b 1\ntask c|d 1\n", head);
  write_file(path, text, n);
  for (long at = 0;; at++) {
    counting_alloc c = {.fail_at = at};
    ox_tune *t = NULL;
    ox_status *st = ox_tune_open(&(ox_tune_opts){counting_alloc_of(&c), OX_AVX2, path, false, log_text, NULL}, &t);
    if (!st) put(t, "e", "f", "g");
    ox_tune_close(t);
    assert_int_equal(c.live, 0);
    bool done = !st && c.calls <= at;
    if (st) assert_int_equal(ox_status_code(st), OX_OUT_OF_MEMORY);
    ox_status_free(st);
    if (done) break;
  }
}

static int make_folder(void **state) {
  (void)state;
  if (!temp_folder_make(folder)) return -1;
  snprintf(path, sizeof path, "%s/cache", folder);
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  unlink(path);
  return temp_folder_remove(folder) ? 0 : -1;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_fastest_is_found),
      cmocka_unit_test(test_time_is_taken_of_several_calls),
      cmocka_unit_test(test_what_is_written_is_read),
      cmocka_unit_test(test_files_that_are_not_used),
      cmocka_unit_test(test_a_broken_file_is_replaced_by_who_measures),
      cmocka_unit_test(test_places_that_are_no_files),
      cmocka_unit_test(test_each_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
