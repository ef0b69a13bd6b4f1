/* SPDX-License-Identifier: Apache-2.0
 * plugins/device/core/kernel_cache_test.c - built kernels in a folder: where it lies, who may share it, what is found.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugins/device/kernel_cache.h"
#include "support/check.h"
#include "support/counting_alloc.h"
#include "support/set_variable.h"

enum { ROOM = 256 };

static char root[] = "/tmp/onyx_kernels_XXXXXX";
static counting_alloc heap = {.fail_at = -1};
static int logged;

static void log_text(const ox_ep_host *h, int level, const char *text) {
  (void)h, (void)level, (void)text;
  logged++;
}

static ox_ep_host host_make(void) {
  return (ox_ep_host){.struct_size = sizeof(ox_ep_host),
                      .abi_major = OX_EP_ABI_MAJOR,
                      .alloc = counting_alloc_of(&heap),
                      .status_make = ox_status_of_text,
                      .log_text = log_text};
}

static void path_to(const char *below, char *out) { snprintf(out, ROOM, "%s%s", root, below); }

static void path_or_word(const char *text, char *out) {
  if (text && *text == '/')
    path_to(text, out);
  else
    snprintf(out, ROOM, "%s", text ? text : "");
}

/* The number of files in |dir|, which are removed with it. */
static int clear(const char *dir) {
  DIR *d = opendir(dir);
  int n = 0;
  for (struct dirent *e; d && (e = readdir(d));) {
    char path[2 * ROOM];
    if (e->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
    n += remove(path) == 0;
  }
  if (d) closedir(d);
  rmdir(dir);
  return n;
}

/* ---- where ---- */

static const struct {
  const char *name, *caches, *home, *wish, *where; /* paths below the root; NULL: not set; "!": a relative path */
  int mode;                                        /* of "/c/onyx", which is there before; 0: it is not */
  const char *dir;                                 /* NULL: none */
} places[] = {
    {"a user's caches", "/c", "/h", NULL, "", 0, "/c/onyx"},
    {"no caches yet", "/d", "/h", NULL, "", 0, "/d/onyx"},
    {"caches in the home", NULL, "/h", NULL, "", 0, "/h/.cache/onyx"},
    {"neither", NULL, NULL, NULL, "", 0, NULL},
    {"no home", NULL, "/missing/h", NULL, "", 0, NULL},
    {"a relative path", "!", "/h", NULL, "", 0, NULL},
    {"a file in the way", "/file", "/h", NULL, "", 0, NULL},
    {"the user's alone", "/c", NULL, NULL, "", 0700, "/c/onyx"},
    {"others may read", "/c", NULL, NULL, "", 0755, "/c/onyx"},
    {"the group may write", "/c", NULL, NULL, "", 0770, NULL},
    {"others may write", "/c", NULL, NULL, "", 0707, NULL},
    {"none wanted", "/c", "/h", NULL, "none", 0, NULL},
    {"a folder by name", "/c", "/h", NULL, "/mine", 0, "/mine"},
    {"a folder by the variable", "/c", "/h", "/mine", "", 0, "/mine"},
    {"none by the variable", "/c", "/h", "none", "", 0, NULL},
    {"the option before the variable", "/c", "/h", "none", "/mine", 0, "/mine"},
};

static void test_where_it_lies(void **state) {
  (void)state;
  const ox_ep_host host = host_make();
  for (size_t i = 0; i < OX_COUNT(places); i++) {
    char caches[ROOM], home[ROOM], wish[ROOM], where[ROOM], onyx[ROOM], want[ROOM];
    dev_kernel_cache c;
    path_to(places[i].caches ? places[i].caches : "", caches);
    path_to(places[i].home ? places[i].home : "", home);
    path_or_word(places[i].wish, wish);
    path_or_word(places[i].where, where);
    path_to("/c/onyx", onyx);
    path_to(places[i].dir ? places[i].dir : "", want);
    if (places[i].mode && (mkdir(onyx, 0700) || chmod(onyx, (mode_t)places[i].mode))) fail_msg("%s", onyx);
    bool relative = places[i].caches && *places[i].caches == '!';
    set_variable("XDG_CACHE_HOME", !places[i].caches ? NULL : relative ? "caches" : caches);
    set_variable("HOME", places[i].home ? home : NULL);
    set_variable("ONYX_KERNEL_CACHE", places[i].wish ? wish : NULL);
    CHECK_OK(dev_kernel_cache_init(&c, &host, "device", where));
    if (!c.dir != !places[i].dir || (c.dir && strcmp(c.dir, want) != 0))
      fail_msg("%s: %s, wanted %s", places[i].name, c.dir ? c.dir : "none", places[i].dir ? want : "none");
    dev_kernel_cache_deinit(&c);
    clear(onyx);
    if (places[i].dir) clear(want);
    assert_int_equal(atomic_load(&heap.live), 0);
  }
}

static void test_a_folder_that_cannot_be_made(void **state) {
  (void)state;
  const ox_ep_host host = host_make();
  dev_kernel_cache c;
  char where[ROOM];
  path_to("/missing/folder", where);
  ox_status *st = dev_kernel_cache_init(&c, &host, "device", where);
  assert_int_equal(ox_status_code(st), OX_NO_SUCH_FILE);
  assert_non_null(strstr(ox_status_message(st), where));
  ox_status_free(st);
  dev_kernel_cache_deinit(&c);
}

/* ---- what is found ---- */

static bool finds(const dev_kernel_cache *c, const char *name, const char *text, const char *want) {
  size_t n = 0;
  char *bytes = dev_kernel_cache_read(c, name, text, &n);
  bool same = want ? bytes && n == strlen(want) && memcmp(bytes, want, n) == 0 : !bytes;
  free(bytes);
  return same;
}

static void test_what_is_found(void **state) {
  (void)state;
  const ox_ep_host host = host_make();
  dev_kernel_cache c, other;
  char where[ROOM];
  path_to("/mine", where);
  CHECK_OK(dev_kernel_cache_init(&c, &host, "device", where));
  CHECK_OK(dev_kernel_cache_init(&other, &host, "newer driver", where));
  assert_true(finds(&c, "add", "text", NULL));
  dev_kernel_cache_write(&c, "add", "text", "binary", 6);
  dev_kernel_cache_write(&other, "add", "text", "another", 7);
  assert_true(finds(&c, "add", "text", "binary"));
  assert_true(finds(&other, "add", "text", "another"));
  assert_true(finds(&c, "add", "changed text", NULL));
  assert_true(finds(&c, "sub", "text", NULL));
  dev_kernel_cache_write(&c, "add", "text", "again", 5);
  assert_true(finds(&c, "add", "text", "again"));
  assert_int_equal(logged, 0);
  assert_int_equal(clear(where), 2); /* and nothing half written beside them */
  dev_kernel_cache_write(&c, "add", "text", "binary", 6);
  assert_int_equal(logged, 1);
  dev_kernel_cache_deinit(&c), dev_kernel_cache_deinit(&other);
}

static void test_none(void **state) {
  (void)state;
  const ox_ep_host host = host_make();
  dev_kernel_cache c;
  CHECK_OK(dev_kernel_cache_init(&c, &host, "device", "none"));
  dev_kernel_cache_write(&c, "add", "text", "binary", 6);
  assert_true(finds(&c, "add", "text", NULL));
  dev_kernel_cache_deinit(&c);
}

static int make_root(void **state) {
  char path[ROOM];
  (void)state;
  if (!mkdtemp(root)) return 1;
  path_to("/c", path);
  if (mkdir(path, 0700)) return 1;
  path_to("/h", path);
  if (mkdir(path, 0700)) return 1;
  path_to("/file", path);
  FILE *f = fopen(path, "wb");
  return f ? fclose(f) : 1;
}

static int remove_root(void **state) {
  static const char *const folders[] = {"/h/.cache", "/h", "/c", "/d", ""};
  (void)state;
  for (size_t i = 0; i < OX_COUNT(folders); i++) {
    char path[ROOM];
    path_to(folders[i], path);
    clear(path);
  }
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_where_it_lies),
                                     cmocka_unit_test(test_a_folder_that_cannot_be_made),
                                     cmocka_unit_test(test_what_is_found), cmocka_unit_test(test_none)};
  return cmocka_run_group_tests(tests, make_root, remove_root);
}
