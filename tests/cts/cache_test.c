/* SPDX-License-Identifier: Apache-2.0
 * cts/cache_test.c - compiled programs on disk: what finds them again, in this process and in another, and what does
 * not; files that are damaged or foreign; folders that cannot be written. */
#include <dirent.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/device_ep.h"
#include "support/echo_ep.h"
#include "support/ep_models.h"
#include "support/ep_watch.h"
#include "support/temp_folder.h"
#include "support/text_session.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]> "

/* Two parts around the Relu, which is left to the CPU. */
static const char *const text = HEAD
    "g (float[N,4] x) => (float[N,4] y) <float[4] w = {1, 2, 3, 4}> { a = Mul (x, w) b = Sub (a, x) "
    "c = Relu (b) d = Neg (c) y = LeakyRelu <alpha = 0.25> (d) }";
static const char *const ops = "Mul|Sub|Neg|LeakyRelu|Sin|Exp";

static char folder[TEMP_FOLDER_BYTES];

typedef struct {
  long compiled, saved, loaded;
  atomic_int warnings;
  char last[512]; /* warning */
} seen;

static void note_warning(void *ctx, int level, const char *message) {
  seen *s = ctx;
  if (level < OX_LOG_LEVEL_WARNING) return;
  atomic_fetch_add(&s->warnings, 1);
  snprintf(s->last, sizeof s->last, "%s", message);
}

typedef struct {
  const char *text, *dir, *version, *seed, *provider;
} setting;

/* Makes a session and runs it; the outputs are right, whatever comes from where. */
static void use(const setting *with, seen *out) {
  *out = (seen){0};
  const char *keys[] = {"as", "ops", "seed"}, *values[] = {"programs", ops, with->seed ? with->seed : "0"};
  const ox_provider_spec spec = {with->provider ? with->provider : "echo", {3, keys, values}};
  ox_env_opts eo = {.struct_size = sizeof eo, .log = note_warning, .log_ctx = out, .log_level = OX_LOG_LEVEL_WARNING};
  ox_ep_api api = *echo_ep();
  ox_session_opts so;
  ox_env *env;
  ox_session *s;
  ep_inputs in;
  ep_outputs want, got;
  if (with->version) api.version = with->version;
  ox_session_opts_init(&so);
  so.optimize = OX_OPTIMIZE_NONE, so.providers = &spec, so.n_providers = 1, so.cache_dir = with->dir;
  long before[] = {ep_watch_count(EP_COMPILE), ep_watch_count(EP_SAVE), ep_watch_count(EP_LOAD)};
  CHECK_OK(ox_env_create(&eo, &env));
  CHECK_OK(ox_env_add_provider(env, &api));
  CHECK_OK(ox_env_add_provider(env, device_ep()));
  CHECK_OK(text_session(env, with->text, &so, &s));
  ep_inputs_make(env, s, 2, &in);
  CHECK_OK(ep_run(s, &in, &got));
  ep_cpu_outputs(with->text, OX_OPTIMIZE_NONE, 2, &want);
  ep_outputs_compare("from the cache", &want, &got, 0);
  ep_outputs_free(&want), ep_outputs_free(&got);
  ep_inputs_free(&in);
  ox_session_release(s);
  ox_env_release(env);
  out->compiled = ep_watch_count(EP_COMPILE) - before[0], out->saved = ep_watch_count(EP_SAVE) - before[1];
  out->loaded = ep_watch_count(EP_LOAD) - before[2];
}

static void check_seen(const char *what, const seen *s, long compiled, long saved, long loaded, int warnings) {
  if (s->compiled != compiled || s->saved != saved || s->loaded != loaded || atomic_load(&s->warnings) != warnings)
    fail_msg("%s: %ld compiled, %ld saved, %ld loaded, %d warnings: %s", what, s->compiled, s->saved, s->loaded,
             atomic_load(&s->warnings), s->last);
}

/* ---- the folder ---- */

/* Calls |fn| (may be NULL) for each file; their number. */
static int each_file(void (*fn)(const char *path, void *ctx), void *ctx) {
  DIR *d = opendir(folder);
  int n = 0;
  assert_non_null(d);
  for (struct dirent *e; (e = readdir(d));) {
    char path[600];
    if (e->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    assert_non_null(strstr(e->d_name, ".oxprogram"));
    assert_string_equal(strstr(e->d_name, ".oxprogram"), ".oxprogram"); /* drafts are gone */
    n++;
    if (fn) fn(path, ctx);
  }
  closedir(d);
  return n;
}

static void drop_file(const char *path, void *ctx) {
  (void)ctx;
  if (remove(path)) (void)rmdir(path);
}

static int open_folder(void **state) {
  (void)state;
  ep_watch_reset();
  return temp_folder_make(folder) ? 0 : -1;
}

static int close_folder(void **state) {
  (void)state;
  each_file(drop_file, NULL);
  assert_int_equal(atomic_load(&ep_watch.live), 0);
  return temp_folder_remove(folder) ? 0 : -1;
}

/* ---- found again ---- */

static void test_programs_are_found_again(void **state) {
  const setting with = {.text = text, .dir = folder};
  seen s;
  (void)state;
  use(&with, &s);
  check_seen("the first session", &s, 2, 2, 0, 0);
  assert_int_equal(each_file(NULL, NULL), 2);
  for (int again = 0; again < 2; again++) {
    use(&with, &s);
    check_seen("the next session", &s, 0, 0, 2, 0);
  }
  use(&(setting){.text = text}, &s);
  check_seen("without a folder", &s, 2, 0, 0, 0);
  use(&(setting){.text = text, .dir = folder, .provider = "device"}, &s);
  check_seen("a provider that saves nothing", &s, 2, 0, 0, 0);
  assert_int_equal(each_file(NULL, NULL), 2);
}

static const char *program; /* this one */

static void test_another_process_finds_them(void **state) {
  const setting with = {.text = text, .dir = folder};
  seen s;
  (void)state;
  use(&with, &s);
  pid_t child = fork();
  if (child == 0) {
    execl(program, program, "child", folder, (char *)NULL);
    _exit(9);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
}

static int child_main(const char *dir) {
  const setting with = {.text = text, .dir = dir};
  seen s;
  use(&with, &s);
  return s.compiled || s.saved || s.loaded != 2 || atomic_load(&s.warnings);
}

static void test_programs_in_bodies(void **state) {
  const setting with = {
      .text = HEAD
      "g (float[N,2] x) => (float[N,2] y) <bool c = {1}> { a = Relu (x) y = If <then_branch = t () => (float[N,2] p) "
      "{ p = Exp (a) }, else_branch = e () => (float[N,2] q) { q = Sin (a) }> (c) }",
      .dir = folder};
  seen s;
  (void)state;
  use(&with, &s);
  check_seen("bodies, at first", &s, 2, 2, 0, 0);
  use(&with, &s);
  check_seen("bodies, again", &s, 0, 0, 2, 0);
}

/* ---- what the key holds ---- */

static const struct {
  const char *name;
  setting with;
  long loaded; /* of two parts */
} changed[] = {
    {"another seed", {.text = text, .seed = "1"}, 0},
    {"another version", {.text = text, .version = "2"}, 0},
    {"other weights",
     {.text = HEAD "g (float[N,4] x) => (float[N,4] y) <float[4] w = {1, 2, 3, 5}> { a = Mul (x, w) b = Sub (a, x) "
                   "c = Relu (b) d = Neg (c) y = LeakyRelu <alpha = 0.25> (d) }"},
     1},
    {"another operator",
     {.text = HEAD "g (float[N,4] x) => (float[N,4] y) <float[4] w = {1, 2, 3, 4}> { a = Mul (x, w) b = Sin (a) "
                   "c = Relu (b) d = Neg (c) y = LeakyRelu <alpha = 0.25> (d) }"},
     1},
    {"another attribute",
     {.text = HEAD "g (float[N,4] x) => (float[N,4] y) <float[4] w = {1, 2, 3, 4}> { a = Mul (x, w) b = Sub (a, x) "
                   "c = Relu (b) d = Neg (c) y = LeakyRelu <alpha = 0.5> (d) }"},
     1},
    {"an attribute left out",
     {.text = HEAD "g (float[N,4] x) => (float[N,4] y) <float[4] w = {1, 2, 3, 4}> { a = Mul (x, w) b = Sub (a, x) "
                   "c = Relu (b) d = Neg (c) y = LeakyRelu (d) }"},
     1},
    {"inputs the other way round",
     {.text = HEAD "g (float[N,4] x) => (float[N,4] y) <float[4] w = {1, 2, 3, 4}> { a = Mul (x, w) b = Sub (x, a) "
                   "c = Relu (b) d = Neg (c) y = LeakyRelu <alpha = 0.25> (d) }"},
     1},
    {"another type",
     {.text = HEAD "g (double[N,4] x) => (double[N,4] y) <double[4] w = {1, 2, 3, 4}> { a = Mul (x, w) b = Sub (a, x) "
                   "c = Relu (b) d = Neg (c) y = LeakyRelu <alpha = 0.25> (d) }"},
     0},
    {"another shape",
     {.text = HEAD "g (float[2,4] x) => (float[2,4] y) <float[4] w = {1, 2, 3, 4}> { a = Mul (x, w) b = Sub (a, x) "
                   "c = Relu (b) d = Neg (c) y = LeakyRelu <alpha = 0.25> (d) }"},
     0},
    {"another opset",
     {.text =
          "<ir_version: 8, opset_import: [\"\" : 15]> g (float[N,4] x) => (float[N,4] y) <float[4] w = {1, 2, 3, 4}> "
          "{ a = Mul (x, w) b = Sub (a, x) c = Relu (b) d = Neg (c) y = LeakyRelu <alpha = 0.25> (d) }"},
     0},
    {"an output more",
     {.text = HEAD "g (float[N,4] x) => (float[N,4] y, float[N,4] d) <float[4] w = {1, 2, 3, 4}> { a = Mul (x, w) "
                   "b = Sub (a, x) c = Relu (b) d = Neg (c) y = LeakyRelu <alpha = 0.25> (d) }"},
     1},
    {"other names",
     {.text = HEAD "other (float[N,4] u) => (float[N,4] v) <float[4] k = {1, 2, 3, 4}> { o = Mul (u, k) p = Sub (o, u) "
                   "q = Relu (p) r = Neg (q) v = LeakyRelu <alpha = 0.25> (r) }"},
     2},
};

static void test_the_key_holds_what_matters(void **state) {
  seen s;
  (void)state;
  use(&(setting){.text = text, .dir = folder}, &s);
  for (size_t i = 0; i < OX_COUNT(changed); i++) {
    setting with = changed[i].with;
    with.dir = folder;
    use(&with, &s);
    check_seen(changed[i].name, &s, 2 - changed[i].loaded, 2 - changed[i].loaded, changed[i].loaded, 0);
    use(&with, &s);
    check_seen(changed[i].name, &s, 0, 0, 2, 0);
  }
}

/* ---- damage ---- */

static char files[2][600];

static void note_file(const char *path, void *ctx) { snprintf(files[(*(int *)ctx)++], sizeof files[0], "%s", path); }

static size_t read_file(const char *path, char *bytes, size_t room) {
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  size_t n = fread(bytes, 1, room, f);
  fclose(f);
  return n;
}

static void write_file(const char *path, const char *bytes, size_t n) {
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(bytes, 1, n, f), n);
  assert_int_equal(fclose(f), 0);
}

/* With the first file damaged it is compiled anew, with a warning, and written again. */
static void check_damage(const char *what, size_t at) {
  const setting with = {.text = text, .dir = folder};
  char label[64];
  seen s;
  snprintf(label, sizeof label, "%s %zu", what, at);
  use(&with, &s);
  check_seen(label, &s, 1, 1, 1, 1);
  assert_non_null(strstr(s.last, files[0]));
  assert_non_null(strstr(s.last, "provider 'echo'"));
  use(&with, &s);
  check_seen(label, &s, 0, 0, 2, 0);
}

static void test_damaged_files_are_compiled_anew(void **state) {
  char bytes[1024], changed_bytes[1024];
  int n_files = 0;
  seen s;
  (void)state;
  use(&(setting){.text = text, .dir = folder}, &s);
  each_file(note_file, &n_files);
  assert_int_equal(n_files, 2);
  size_t n = read_file(files[0], bytes, sizeof bytes - 1);
  assert_true(n > 48 && n < sizeof bytes - 1);
  for (size_t at = 0; at < n; at++) {
    memcpy(changed_bytes, bytes, n);
    changed_bytes[at] ^= (char)(1 << at % 8);
    write_file(files[0], changed_bytes, n);
    check_damage("bit flipped in byte", at);
    write_file(files[0], bytes, at);
    check_damage("cut to", at);
  }
  bytes[n] = 'x';
  write_file(files[0], bytes, n + 1);
  check_damage("longer by", 1);
  size_t other = read_file(files[1], changed_bytes, sizeof changed_bytes);
  write_file(files[0], changed_bytes, other);
  check_damage("the other part's file", other);
  assert_int_equal(remove(files[0]), 0);
  use(&(setting){.text = text, .dir = folder}, &s);
  check_seen("a file less", &s, 1, 1, 1, 0);
}

static void test_a_folder_in_its_place(void **state) {
  int n_files = 0;
  seen s;
  (void)state;
  use(&(setting){.text = text, .dir = folder}, &s);
  each_file(note_file, &n_files);
  assert_int_equal(remove(files[0]), 0);
  assert_int_equal(mkdir(files[0], 0700), 0);
  use(&(setting){.text = text, .dir = folder}, &s);
  check_seen("a folder in its place", &s, 1, 1, 1, 2); /* it is neither read nor replaced */
}

/* ---- failing calls and folders ---- */

static void test_failing_calls_are_warnings(void **state) {
  const setting with = {.text = text, .dir = folder};
  seen s;
  (void)state;
  ep_watch_fail(EP_SAVE, 1);
  use(&with, &s);
  check_seen("a save that fails", &s, 2, 2, 0, 1);
  assert_non_null(strstr(s.last, "told to fail in save"));
  assert_int_equal(each_file(NULL, NULL), 1);
  use(&with, &s);
  check_seen("the save again", &s, 1, 1, 1, 0);
  ep_watch_fail(EP_LOAD, 0);
  use(&with, &s);
  check_seen("a load that fails", &s, 1, 1, 2, 1);
  assert_non_null(strstr(s.last, "told to fail in load"));
}

static void test_folders_that_cannot_be_written(void **state) {
  char missing[300], file[300];
  seen s;
  (void)state;
  snprintf(missing, sizeof missing, "%s/no/such/folder", folder);
  use(&(setting){.text = text, .dir = missing}, &s);
  check_seen("a folder that is not there", &s, 2, 0, 0, 2);
  snprintf(file, sizeof file, "%s/file.oxprogram", folder);
  write_file(file, "x", 1);
  use(&(setting){.text = text, .dir = file}, &s);
  check_seen("a file", &s, 2, 0, 0, 2);
  char *deep = malloc(10000);
  memset(deep, 'a', 9999), deep[0] = '/', deep[9999] = 0;
  use(&(setting){.text = text, .dir = deep}, &s);
  check_seen("a path that is too long", &s, 2, 0, 0, 2);
  free(deep);
}

/* ---- at the same time ---- */

static void *use_main(void *arg) {
  seen s;
  use(arg, &s);
  return NULL;
}

static void test_many_sessions_write_at_once(void **state) {
  setting with = {.text = text, .dir = folder};
  pthread_t threads[8];
  seen s;
  (void)state;
  for (size_t i = 0; i < OX_COUNT(threads); i++)
    assert_int_equal(pthread_create(&threads[i], NULL, use_main, &with), 0);
  for (size_t i = 0; i < OX_COUNT(threads); i++) pthread_join(threads[i], NULL);
  assert_int_equal(each_file(NULL, NULL), 2);
  use(&with, &s);
  check_seen("after many", &s, 0, 0, 2, 0);
}

int main(int argc, char **argv) {
  program = argv[0];
  if (argc == 3 && strcmp(argv[1], "child") == 0) return child_main(argv[2]);
#define CACHE_TEST(fn) cmocka_unit_test_setup_teardown(fn, open_folder, close_folder)
  const struct CMUnitTest tests[] = {CACHE_TEST(test_programs_are_found_again),
                                     CACHE_TEST(test_another_process_finds_them),
                                     CACHE_TEST(test_programs_in_bodies),
                                     CACHE_TEST(test_the_key_holds_what_matters),
                                     CACHE_TEST(test_damaged_files_are_compiled_anew),
                                     CACHE_TEST(test_a_folder_in_its_place),
                                     CACHE_TEST(test_failing_calls_are_warnings),
                                     CACHE_TEST(test_folders_that_cannot_be_written),
                                     CACHE_TEST(test_many_sessions_write_at_once)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
