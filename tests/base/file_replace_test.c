/* SPDX-License-Identifier: Apache-2.0
 * base/file_replace_test.c - the target has the old content or the new one, never a part, and no draft is left. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_replace.h"
#include "support/check.h"
#include "support/temp_folder.h"

static char folder[TEMP_FOLDER_BYTES];

static int make_folder(void **state) {
  (void)state;
  return temp_folder_make(folder) ? 0 : 1;
}

static int remove_folder(void **state) {
  (void)state;
  return temp_folder_remove(folder) ? 0 : 1;
}

static const char *in_folder(const char *name) {
  static char path[4][TEMP_FOLDER_BYTES + 64];
  static int next;
  char *p = path[next++ % 4];
  snprintf(p, sizeof path[0], "%s/%s", folder, name);
  return p;
}

static void put(const char *path, const char *text, bool keep) {
  ox_file_replace r;
  assert_true(ox_file_replace_open(&r, path));
  assert_true(fputs(text, r.file) >= 0);
  assert_true(ox_file_replace_close(&r, keep));
}

static void check_content(const char *path, const char *want) {
  char got[64];
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  size_t n = fread(got, 1, sizeof got - 1, f);
  fclose(f);
  got[n] = 0;
  assert_string_equal(got, want);
}

static size_t n_files(void) {
  size_t n = 0;
  DIR *d = opendir(folder);
  assert_non_null(d);
  for (struct dirent *e; (e = readdir(d));) n += e->d_name[0] != '.';
  closedir(d);
  return n;
}

static void test_a_new_file_and_an_old_one(void **state) {
  (void)state;
  const char *path = in_folder("a");
  put(path, "one", false);
  assert_int_equal(n_files(), 0);
  put(path, "one", true);
  check_content(path, "one");
  put(path, "two", false);
  check_content(path, "one");
  put(path, "", true);
  check_content(path, "");
  assert_int_equal(n_files(), 1);
  assert_int_equal(remove(path), 0);
}

static void test_a_mapped_file_keeps_its_bytes(void **state) {
  (void)state;
  const char *path = in_folder("mapped");
  put(path, "old bytes", true);
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  char *map = mmap(NULL, 9, PROT_READ, MAP_PRIVATE, fileno(f), 0);
  assert_true(map != MAP_FAILED);
  fclose(f);
  ox_file_replace r;
  assert_true(ox_file_replace_open(&r, path));
  assert_int_equal(fwrite(map, 1, 3, r.file), 3); /* what is read while it is written */
  assert_true(ox_file_replace_close(&r, true));
  assert_memory_equal(map, "old bytes", 9);
  check_content(path, "old");
  munmap(map, 9);
  assert_int_equal(remove(path), 0);
}

static void test_links_and_permissions_stay(void **state) {
  (void)state;
  const char *path = in_folder("file"), *link = in_folder("link");
  struct stat s;
  put(path, "one", true);
  assert_int_equal(chmod(path, 0600), 0);
  assert_int_equal(symlink("file", link), 0);
  put(link, "two", true);
  check_content(path, "two");
  assert_int_equal(lstat(link, &s), 0);
  assert_true(S_ISLNK(s.st_mode));
  assert_int_equal(stat(path, &s), 0);
  assert_int_equal(s.st_mode & 07777, 0600);
  assert_int_equal(remove(link), 0);
  assert_int_equal(remove(path), 0);
}

static void test_what_is_no_regular_file_is_written_in_place(void **state) {
  (void)state;
  struct stat s;
  put("/dev/null", "nothing", true);
  put("/dev/null", "nothing", false);
  assert_int_equal(stat("/dev/null", &s), 0);
  assert_true(S_ISCHR(s.st_mode));
}

static void test_errors_say_why(void **state) {
  (void)state;
  char too_long[2 * OX_REPLACE_PATH];
  memset(too_long, 'a', sizeof too_long - 1), too_long[sizeof too_long - 1] = 0;
  const struct {
    const char *path;
    int why;
  } rows[] = {{"/no/such/folder/x", ENOENT}, {"", ENOENT}, {folder, EISDIR}, {too_long, ENAMETOOLONG}};
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    ox_file_replace r;
    errno = 0;
    if (ox_file_replace_open(&r, rows[i].path) || errno != rows[i].why)
      fail_msg("row %zu: got errno %d, wanted %d", i, errno, rows[i].why);
  }
  FILE *full = fopen("/dev/full", "wb");
  if (!full) skip();
  fclose(full);
  ox_file_replace r;
  assert_true(ox_file_replace_open(&r, "/dev/full"));
  assert_true(fputs("no room", r.file) >= 0);
  assert_false(ox_file_replace_close(&r, true));
  assert_int_equal(errno, ENOSPC);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_new_file_and_an_old_one),
      cmocka_unit_test(test_a_mapped_file_keeps_its_bytes),
      cmocka_unit_test(test_links_and_permissions_stay),
      cmocka_unit_test(test_what_is_no_regular_file_is_written_in_place),
      cmocka_unit_test(test_errors_say_why),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
