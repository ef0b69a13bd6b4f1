/* SPDX-License-Identifier: Apache-2.0
 * base/file_map_test.c - one map per file, whatever it is called and whoever asks; a map goes with its last count. */
#define _XOPEN_SOURCE 700 /* mkdtemp, symlink */
#include "base/file_map.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/check.h"
#include "support/counting_alloc.h"

/* root/{a,b,empty}, link -> a, hard is a */
typedef struct {
  char root[64], path[5][96];
} folder;

enum { A, B, EMPTY, LINK, HARD };

static void put(const char *path, const char *text) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
  fclose(file);
}

static int setup(void **state) {
  static const char *const names[] = {"a", "b", "empty", "link", "hard"};
  folder *f = calloc(1, sizeof *f);
  strcpy(f->root, "/tmp/onyx-map-XXXXXX");
  if (!mkdtemp(f->root)) return 1;
  for (int i = 0; i < 5; i++) snprintf(f->path[i], sizeof f->path[i], "%s/%s", f->root, names[i]);
  put(f->path[A], "first"), put(f->path[B], "first"), put(f->path[EMPTY], "");
  *state = f;
  return symlink(f->path[A], f->path[LINK]) || link(f->path[A], f->path[HARD]);
}

static int teardown(void **state) {
  folder *f = *state;
  for (int i = 0; i < 5; i++) remove(f->path[i]);
  remove(f->root);
  free(f);
  return 0;
}

static ox_file_map *opened(ox_file_maps *maps, const char *path) {
  ox_file_map *m;
  CHECK_OK(ox_file_map_open(ox_alloc_heap(), maps, path, &m));
  return m;
}

static void test_a_file_is_mapped_once(void **state) {
  static const struct {
    int one, other;
    bool same;
  } cases[] = {{A, A, true}, {A, LINK, true}, {HARD, A, true}, {A, B, false}, {EMPTY, EMPTY, true}, {EMPTY, A, false}};
  const folder *f = *state;
  for (size_t i = 0; i < OX_COUNT(cases); i++) {
    ox_file_maps maps;
    ox_file_maps_init(&maps);
    ox_file_map *m = opened(&maps, f->path[cases[i].one]), *n = opened(&maps, f->path[cases[i].other]);
    if ((m == n) != cases[i].same) fail_msg("case %zu", i);
    ox_file_map_release(i % 2 ? m : n);
    ox_file_map *left = i % 2 ? n : m;
    if (ox_file_map_bytes(left)) assert_memory_equal(ox_file_map_data(left), "first", 5);
    ox_file_map_release(left);
    assert_null(maps.first);
    ox_file_maps_deinit(&maps);
  }
}

static void test_maps_of_ones_own_are_not_shared(void **state) {
  const folder *f = *state;
  ox_file_maps maps;
  ox_file_maps_init(&maps);
  ox_file_map *m = opened(&maps, f->path[A]), *n = opened(NULL, f->path[A]), *k = opened(NULL, f->path[A]);
  assert_true(m != n && m != k && n != k);
  ox_file_map_release(m), ox_file_map_release(n), ox_file_map_release(k);
  ox_file_maps_deinit(&maps);
}

/* Another file under the same name, and a longer one in the same file. */
static void test_a_new_file_is_mapped_anew(void **state) {
  const folder *f = *state;
  ox_file_maps maps;
  ox_file_maps_init(&maps);
  ox_file_map *m = opened(&maps, f->path[B]);
  remove(f->path[B]);
  put(f->path[B], "other");
  ox_file_map *n = opened(&maps, f->path[B]);
  put(f->path[B], "longer");
  ox_file_map *k = opened(&maps, f->path[B]);
  assert_memory_equal(ox_file_map_data(m), "first", 5);
  assert_true(n != m && k != n && k != m);
  assert_int_equal(ox_file_map_bytes(k), 6);
  ox_file_map_release(n), ox_file_map_release(m), ox_file_map_release(k); /* from the middle of the list, too */
  assert_null(maps.first);
  ox_file_maps_deinit(&maps);
}

static void test_errors(void **state) {
  const folder *f = *state;
  counting_alloc none = {.fail_at = 0};
  ox_file_maps maps;
  ox_file_map *m;
  ox_file_maps_init(&maps);
  CHECK_FAILS(ox_file_map_open(ox_alloc_heap(), &maps, "no/such/file", &m), OX_NO_SUCH_FILE, "no/such/file: ");
  assert_null(m);
  CHECK_FAILS(ox_file_map_open(ox_alloc_heap(), &maps, f->root, &m), OX_NO_SUCH_FILE, "not a regular file");
  CHECK_FAILS(ox_file_map_open(counting_alloc_of(&none), &maps, f->path[A], &m), OX_OUT_OF_MEMORY, "");
  assert_null(maps.first);
  ox_file_maps_deinit(&maps);
}

/* Nobody writes into the pipe: opening it the usual way would wait for ever. */
static void test_pipes_and_devices_are_refused(void **state) {
  const folder *f = *state;
  char pipe[96];
  ox_file_map *m;
  snprintf(pipe, sizeof pipe, "%s/pipe", f->root);
  assert_int_equal(mkfifo(pipe, 0600), 0);
  CHECK_FAILS(ox_file_map_open(ox_alloc_heap(), NULL, pipe, &m), OX_NO_SUCH_FILE, "not a regular file");
  CHECK_FAILS(ox_file_map_open_beneath(ox_alloc_heap(), NULL, f->root, "pipe", &m), OX_NO_SUCH_FILE,
              "not a regular file");
  CHECK_FAILS(ox_file_map_open(ox_alloc_heap(), NULL, "/dev/zero", &m), OX_NO_SUCH_FILE, "not a regular file");
  remove(pipe);
}

/* A link in any place of the way beneath: to a file, to a folder, to nowhere. */
static void test_no_link_is_followed_beneath(void **state) {
  static const struct {
    const char *path, *error;
  } cases[] = {{"sub/a", NULL},          {"link", ""}, {"sub/out/a", ""}, {"sub/out", ""},
               {"sub/absent/a", "such"}, {"a/a", ""},  {"sub", "regular"}};
  const folder *f = *state;
  char sub[96], in[112], out[112];
  snprintf(sub, sizeof sub, "%s/sub", f->root), snprintf(in, sizeof in, "%s/a", sub),
      snprintf(out, sizeof out, "%s/out", sub);
  assert_int_equal(mkdir(sub, 0700), 0);
  put(in, "first");
  assert_int_equal(symlink("..", out), 0);
  for (size_t i = 0; i < OX_COUNT(cases); i++) {
    ox_file_map *m;
    ox_status *st = ox_file_map_open_beneath(ox_alloc_heap(), NULL, f->root, cases[i].path, &m);
    if (!st != !cases[i].error || (st && !strstr(ox_status_message(st), cases[i].error)))
      fail_msg("%s: \"%s\"", cases[i].path, ox_status_message(st));
    ox_status_free(st);
    ox_file_map_release(m);
  }
  remove(out), remove(in), remove(sub);
}

/* ---- opening and releasing at once ---- */

typedef struct {
  ox_file_maps *maps;
  const char *path;
} client;

static void *client_main(void *arg) {
  client *c = arg;
  for (int i = 0; i < 200; i++) {
    ox_file_map *m = NULL;
    ox_status *st = ox_file_map_open(ox_alloc_heap(), c->maps, c->path, &m);
    bool ok = !st && memcmp(ox_file_map_data(m), "first", 5) == 0;
    ox_status_free(st);
    ox_file_map_release(m);
    if (!ok) return c;
  }
  return NULL;
}

static void test_many_threads_share(void **state) {
  const folder *f = *state;
  ox_file_maps maps;
  pthread_t threads[4];
  client c = {&maps, f->path[A]};
  ox_file_maps_init(&maps);
  for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&threads[i], NULL, client_main, &c), 0);
  for (int i = 0; i < 4; i++) {
    void *failed;
    pthread_join(threads[i], &failed);
    assert_null(failed);
  }
  assert_null(maps.first);
  ox_file_maps_deinit(&maps);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_a_file_is_mapped_once, setup, teardown),
      cmocka_unit_test_setup_teardown(test_maps_of_ones_own_are_not_shared, setup, teardown),
      cmocka_unit_test_setup_teardown(test_a_new_file_is_mapped_anew, setup, teardown),
      cmocka_unit_test_setup_teardown(test_errors, setup, teardown),
      cmocka_unit_test_setup_teardown(test_pipes_and_devices_are_refused, setup, teardown),
      cmocka_unit_test_setup_teardown(test_no_link_is_followed_beneath, setup, teardown),
      cmocka_unit_test_setup_teardown(test_many_threads_share, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
