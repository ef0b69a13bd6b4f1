/* SPDX-License-Identifier: Apache-2.0
 * session/dump_test.c - the model before and after a rule or pass: to a callback that can read it back, or to the log.
 */
#include <stdio.h>
#include <string.h>

#include "onnx/text.h"
#include "support/check.h"
#include "support/counting_alloc.h"
#include "support/text_session.h"

/* Identity is of the whole model's phase, the activation of an owner's, cse and dce are built in. */
static const char net[] =
    "<ir_version: 8, opset_import: [\"\" : 17]> g (float[1, 1, 4, 4] x) => (float[1, 1, 2, 2] y) "
    "<float[1, 1, 3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}, float[20] u = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, "
    "15, 16, 17, 18, 19, 20.5}> "
    "{ i = Identity (x) c = Conv (i, w) r = Relu (c) n = Neg (u) s = ReduceSum (n) y = Add (r, s) }";

enum { ROOM = 1 << 16 };
typedef struct {
  char titles[256], last[ROOM];
  size_t n;
} seen;

static void take(void *ctx, const char *title, const char *text) {
  seen *s = ctx;
  s->n++;
  if (strlen(s->titles) + strlen(title) + 2 < sizeof s->titles) strcat(strcat(s->titles, title), ";");
  snprintf(s->last, sizeof s->last, "%s", text);
}

static ox_status *load(ox_env *env, const ox_session_opts *o) {
  ox_session *s = NULL;
  ox_status *st = text_session(env, net, o, &s);
  ox_session_release(s);
  return st;
}

static ox_session_opts options(const char *before, const char *after, seen *s) {
  ox_session_opts o;
  ox_session_opts_init(&o);
  *s = (seen){.n = 0};
  o.dump_before = before, o.dump_after = after, o.dump = take, o.dump_ctx = s;
  return o;
}

static void test_around_rules_and_passes(void **state) {
  (void)state;
  static const struct {
    const char *before, *after, *titles, *has, *lacks; /* in the last text */
  } rows[] = {
      {NULL, NULL, "", NULL, NULL},
      {NULL, "no-such", "", NULL, NULL},
      {"identity", NULL, "before 'identity';", "Identity (x)", NULL},
      {NULL, "identity", "after 'identity';", "Conv (x, w)", "Identity"},
      {"conv-activation", "conv-activation", "before 'conv-activation';after 'conv-activation';",
       "com.microsoft.FusedConv", "Relu (c)"},
      {"conv-activation", NULL, "before 'conv-activation';", "Relu (c)", "FusedConv"},
      {"identity", "conv-activation", "before 'identity';after 'conv-activation';", "FusedConv", NULL},
  };
  static seen s;
  ox_env *env;
  CHECK_OK(ox_env_create(NULL, &env));
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    ox_session_opts o = options(rows[i].before, rows[i].after, &s);
    CHECK_OK(load(env, &o));
    assert_string_equal(s.titles, rows[i].titles);
    if (rows[i].has) assert_non_null(strstr(s.last, rows[i].has));
    if (rows[i].lacks) assert_null(strstr(s.last, rows[i].lacks));
  }
  static const char *const built_in[] = {"infer-const", "invariant", "hoist", "fold", "cse", "dce"};
  for (size_t i = 0; i < OX_COUNT(built_in); i++) {
    ox_session_opts o = options(built_in[i], built_in[i], &s);
    CHECK_OK(load(env, &o));
    assert_true(s.n >= 2 && s.n % 2 == 0);
  }
  ox_session_opts o = options("identity", "identity", &s);
  o.optimize = OX_OPTIMIZE_NONE;
  CHECK_OK(load(env, &o));
  assert_int_equal(s.n, 0);
  ox_env_release(env);
}

/* In full it can be read back; the short form is shorter. */
static void test_full_and_short(void **state) {
  (void)state;
  static seen s;
  ox_env *env;
  ox_model *m = NULL;
  CHECK_OK(ox_env_create(NULL, &env));
  ox_session_opts o = options("identity", NULL, &s);
  CHECK_OK(load(env, &o));
  assert_non_null(strstr(s.last, "20.5"));
  CHECK_OK(ox_text_read(ox_alloc_heap(), NULL, s.last, strlen(s.last), &m));
  assert_int_equal(m->graph->n_nodes, 4); /* those of constants are folded */
  ox_model_destroy(m);
  o = options("identity", NULL, &s);
  o.dump_short = 1;
  CHECK_OK(load(env, &o));
  assert_null(strstr(s.last, "20.5"));
  assert_non_null(strstr(s.last, "..."));
  ox_env_release(env);
}

/* ---- without a callback ---- */

typedef struct {
  char text[ROOM];
  int levels; /* a bit for each that came */
} log_seen;

static void log_line(void *ctx, int level, const char *text) {
  log_seen *l = ctx;
  l->levels |= 1 << level;
  assert_null(strchr(text, '\n'));
  if (strlen(l->text) + strlen(text) + 2 < sizeof l->text) strcat(strcat(l->text, text), "\n");
}

static void test_the_log_gets_it_line_by_line(void **state) {
  (void)state;
  static log_seen l;
  static seen s;
  for (int level = OX_LOG_LEVEL_INFO; level <= OX_LOG_LEVEL_OFF; level++) {
    ox_env *env;
    const ox_env_opts eo = {.struct_size = sizeof eo, .log = log_line, .log_ctx = &l, .log_level = level};
    l = (log_seen){.levels = 0};
    CHECK_OK(ox_env_create(&eo, &env));
    ox_session_opts o = options(NULL, "identity", &s);
    o.dump = NULL;
    CHECK_OK(load(env, &o));
    assert_int_equal(l.levels, level == OX_LOG_LEVEL_INFO ? 1 << OX_LOG_LEVEL_INFO : 0);
    const char *title = strstr(l.text, "after 'identity'\n<ir_version: 8");
    assert_true((title != NULL) == (level == OX_LOG_LEVEL_INFO));
    if (title) assert_non_null(strstr(title, "\n  c = Conv (x, w)\n"));
    o.dump_after = "no-such";
    CHECK_OK(load(env, &o));
    assert_true((strstr(l.text, "dump after: there is no rule or pass 'no-such'\n") != NULL) ==
                (level <= OX_LOG_LEVEL_WARNING));
    ox_env_release(env);
  }
}

/* A caller built before there were dumps. */
static void test_an_older_struct(void **state) {
  (void)state;
  static seen s;
  ox_env *env;
  CHECK_OK(ox_env_create(NULL, &env));
  ox_session_opts o = options("identity", "identity", &s);
  o.struct_size = offsetof(ox_session_opts, dump_before);
  CHECK_OK(load(env, &o));
  assert_int_equal(s.n, 0);
  ox_env_release(env);
}

static void test_every_allocation_may_fail(void **state) {
  (void)state;
  static seen s;
  for (int64_t n = 0;; n++) {
    counting_alloc count = {.fail_at = n};
    ox_env_opts eo = {.struct_size = sizeof eo, .alloc = counting_alloc_of(&count)};
    ox_env *env = NULL;
    ox_session_opts o = options("identity", "conv-activation", &s);
    ox_status *st = ox_env_create(&eo, &env);
    if (!st) st = load(env, &o);
    ox_env_release(env);
    assert_int_equal(atomic_load(&count.live), 0);
    if (!st) break;
    CHECK_FAILS(st, OX_OUT_OF_MEMORY, "");
    assert_true(n < 100000);
  }
  assert_int_equal(s.n, 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_around_rules_and_passes), cmocka_unit_test(test_full_and_short),
      cmocka_unit_test(test_the_log_gets_it_line_by_line), cmocka_unit_test(test_an_older_struct),
      cmocka_unit_test(test_every_allocation_may_fail)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
