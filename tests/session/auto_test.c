/* SPDX-License-Identifier: Apache-2.0
 * session/auto_test.c - the provider "auto". The model's nodes are slow for what they do (the largest of a million
 * copies of a number); providers of the test know the answer at once, late, or wrongly. The clock is the test's: it
 * stands while others have the processor, so that a busy machine changes nothing. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/macros.h"
#include "onyx/onyx.h"
#include "support/check.h"
#include "support/text_session.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]> "

/* Two programs for who takes Expand and ReduceMax, with a node of the CPU's between. */
static const char model[] = HEAD
    "g (float[1] x) => (float[1] y) <int64[1] n = {3000000}> { a = Expand (x, n) b = ReduceMax <keepdims = 1> (a) "
    "c = Neg (b) d = Expand (c, n) y = ReduceMax <keepdims = 1> (d) }";

/* ---- the clock ---- */

/* In the place of the engine's (a file of its own in the library): what this thread, the only one, has computed; and
 * how late the providers pretend to be. That is far longer than the model takes, and less than what is never looked at
 * twice. */
static int64_t late_ns;
static const int64_t a_while = 400000000;

int64_t ox_clock_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec + late_ns;
}

/* ---- providers ---- */

enum { QUICK, LATE, WRONG, HALF, BROKEN };
struct ox_ep {
  ox_ep_host host;
  int kind;
};
struct ox_program {
  ox_ep *ep;
  bool late;
};

static int n_created[BROKEN + 1];

static ox_status *create(const ox_ep_host *h, int kind, ox_ep **out) {
  ox_ep *ep = *out = h->alloc.alloc(h->alloc.ctx, sizeof *ep, 16);
  if (!ep) return h->status_make(OX_OUT_OF_MEMORY, "out of memory");
  *ep = (ox_ep){*h, kind};
  n_created[kind]++;
  return NULL;
}

#define CREATE(name, kind)                                                                       \
  static ox_status *create_##name(const ox_ep_host *h, const ox_options *opts, ox_ep **out_ep) { \
    (void)opts;                                                                                  \
    return create(h, kind, out_ep);                                                              \
  }
CREATE(quick, QUICK)
CREATE(late, LATE)
CREATE(wrong, WRONG)
CREATE(half, HALF)
CREATE(broken, BROKEN)

static void destroy(ox_ep *ep) { ep->host.alloc.free(ep->host.alloc.ctx, ep, sizeof *ep); }

static ox_status *claim(ox_ep *ep, const ox_graph_view *g, ox_claims *claims) {
  const ox_ep_host *h = &ep->host;
  for (size_t i = 0; i < h->node_count(g); i++)
    if (strcmp(h->node_op(g, i), "Expand") == 0 || strcmp(h->node_op(g, i), "ReduceMax") == 0)
      h->claim_fused(claims, i);
  return NULL;
}

/* The second program is the one that makes y. */
static ox_status *compile(ox_ep *ep, const ox_graph_view *part, ox_program **out) {
  const ox_ep_host *h = &ep->host;
  if (ep->kind == BROKEN) return h->status_make(OX_FAIL, "it cannot compile");
  ox_program *p = *out = h->alloc.alloc(h->alloc.ctx, sizeof *p, 16);
  if (!p) return h->status_make(OX_OUT_OF_MEMORY, "out of memory");
  bool second = strcmp(h->value_name(part, h->io_value(part, 1, 0)), "y") == 0;
  *p = (ox_program){ep, ep->kind == LATE || (ep->kind == HALF && second)};
  return NULL;
}

static ox_status *run(ox_program *p, const ox_io *io) {
  float *out = io->out[0]->data;
  if (!out) out = io->alloc_output(io, 0, &io->in[0]->shape);
  if (!out) return p->ep->host.status_make(OX_OUT_OF_MEMORY, "out of memory");
  if (p->late) late_ns += a_while;
  *out = *(const float *)io->in[0]->data * (p->ep->kind == WRONG ? 2 : 1);
  return NULL;
}

static const char *place = "one device";
static const char *describe(ox_ep *ep) { return ep->kind == QUICK ? place : NULL; }

static void program_release(ox_program *p) { p->ep->host.alloc.free(p->ep->host.alloc.ctx, p, sizeof *p); }

#define TABLE(name_)                                                                                          \
  {                                                                                                           \
    .struct_size = sizeof(ox_ep_api), .abi_major = OX_EP_ABI_MAJOR, .name = #name_, .create = create_##name_, \
    .destroy = destroy, .claim = claim, .compile = compile, .run = run, .program_release = program_release,   \
    .describe = describe                                                                                      \
  }
static const ox_ep_api tables[] = {TABLE(quick), TABLE(late), TABLE(wrong), TABLE(half), TABLE(broken)};

/* ---- sessions ---- */

static ox_env *new_env(void) {
  ox_env *env;
  CHECK_OK(ox_env_create(NULL, &env));
  for (size_t i = 0; i < OX_COUNT(tables); i++) CHECK_OK(ox_env_add_provider(env, &tables[i]));
  memset(n_created, 0, sizeof n_created);
  return env;
}

static ox_status *open_auto(ox_env *env, const char *text, const char *among, const char *cache, ox_session **out) {
  const char *keys[] = {"among"};
  const ox_provider_spec spec = {"auto", {1, keys, &among}};
  ox_session_opts o;
  ox_session_opts_init(&o);
  o.optimize = OX_OPTIMIZE_NONE, o.providers = &spec, o.n_providers = 1, o.n_threads = 1, o.tune_cache = cache;
  return text_session(env, text, &o, out);
}

/* Who has the first and the second program: letters of the owners' names. */
static void check_owners(const ox_session *s, char first, char second) {
  ox_placement p;
  int n = 0;
  for (size_t i = 0; ox_session_placement(s, i, &p); i++) {
    if (strcmp(p.op, "ReduceMax") != 0) continue;
    assert_int_equal(*p.owner, n ? second : first);
    n++;
  }
  assert_int_equal(n, 2);
}

static void check_run(ox_env *env, ox_session *s) {
  ox_value *x = ramp_value(env, 3, 0, 1, (int64_t[]){1}), *y = NULL;
  const ox_value *in = x;
  CHECK_OK(ox_session_run(s, NULL, (const char *[]){"x"}, &in, 1, NULL, &y, 1));
  assert_true(ox_tensor_element(ox_value_get(y), 0) == -3);
  ox_value_release(x), ox_value_release(y);
}

static void test_who_is_chosen(void **state) {
  (void)state;
  static const struct {
    const char *among;
    char first, second;
  } rows[] = {
      {"quick", 'q', 'q'},
      {"late", 'c', 'c'},
      {"wrong", 'c', 'c'},  /* as fast as the first, but not right */
      {"broken", 'c', 'c'}, /* no session with it */
      {"late|quick|wrong|broken", 'q', 'q'},
      {"half", 'h', 'c'}, /* one program is worth it */
      {"nobody", 'c', 'c'},
      {"", 'c', 'c'},
  };
  ox_env *env = new_env();
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    ox_session *s;
    CHECK_OK(open_auto(env, model, rows[i].among, NULL, &s));
    check_owners(s, rows[i].first, rows[i].second);
    check_run(env, s);
    ox_session_release(s);
  }
  ox_env_release(env);
}

static void test_what_was_measured_stays(void **state) {
  (void)state;
  char path[] = "/tmp/onyx_auto_XXXXXX";
  int file = mkstemp(path);
  assert_true(file >= 0);
  close(file);
  unlink(path);
  for (int with_file = 0; with_file < 2; with_file++) {
    ox_env *env = new_env();
    ox_session *s;
    for (int i = 0; i < 3; i++) {
      if (with_file && i == 2) { /* another process, say */
        ox_env_release(env);
        env = new_env();
      }
      int before = n_created[LATE];
      CHECK_OK(open_auto(env, model, "half|late", with_file ? path : NULL, &s));
      check_owners(s, 'h', 'c');
      ox_session_release(s);
      if (i > 0) assert_int_equal(n_created[LATE] - before, with_file && i == 2); /* whether it works at all */
      if (i == 0) assert_true(n_created[LATE] > 1);
    }
    ox_env_release(env);
  }
  /* a file names providers that are not here: it can only make things slow */
  FILE *f = fopen(path, "r");
  char text[4096];
  size_t n = fread(text, 1, sizeof text - 1, f);
  fclose(f);
  text[n] = 0;
  char *way = strstr(text, "|half");
  assert_non_null(way);
  memcpy(way, "|hulf", 5);
  f = fopen(path, "w");
  fwrite(text, 1, n, f);
  fclose(f);
  ox_env *env = new_env();
  ox_session *s;
  CHECK_OK(open_auto(env, model, "half|late", path, &s));
  check_owners(s, 'c', 'c');
  ox_session_release(s);
  ox_env_release(env);
  unlink(path);
}

static int measured(ox_env *env, const char *among, const char *cache) {
  int before = n_created[QUICK];
  ox_session *s;
  CHECK_OK(open_auto(env, model, among, cache, &s));
  ox_session_release(s);
  return n_created[QUICK] - before > 2; /* its check and the session's own */
}

static void test_what_was_measured_elsewhere_does_not_count(void **state) {
  (void)state;
  static const char *const places[] = {"one device", "one device", "another", "one device"};
  static const bool want[] = {true, false, true, false};
  char path[] = "/tmp/onyx_auto_XXXXXX";
  int file = mkstemp(path);
  assert_true(file >= 0);
  close(file);
  unlink(path);
  for (size_t i = 0; i < OX_COUNT(places); i++) {
    place = places[i];
    ox_env *env = new_env();
    assert_int_equal(measured(env, "quick", path), want[i]);
    ox_env_release(env);
  }
  unlink(path);
}

/* Lists say what is tried, under any name, and what is not is told. */
static void keep_log(void *ctx, int level, const char *text) {
  if (level == 2) snprintf(ctx, 1024, "%s", text);
}

static void test_names_of_the_list(void **state) {
  (void)state;
  static const struct {
    const char *among, *warning;
  } rows[] = {
      {"quick|cpu", ""},
      {"|quick||CPUExecutionProvider|", ""},
      {"quick|nobody", "not tried: there is no provider 'nobody'"},
      {"quick|CoreML", "not tried: there is no provider 'CoreML': its maker"},
  };
  char text[1024];
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    ox_env_opts o = {.struct_size = sizeof o, .log = keep_log, .log_ctx = text};
    ox_env *env;
    ox_session *s;
    *text = 0;
    CHECK_OK(ox_env_create(&o, &env));
    CHECK_OK(ox_env_add_provider(env, &tables[QUICK]));
    CHECK_OK(open_auto(env, model, rows[i].among, NULL, &s));
    check_owners(s, 'q', 'q');
    if (*rows[i].warning ? !strstr(text, rows[i].warning) : *text) fail_msg("%s: '%s'", rows[i].among, text);
    ox_session_release(s);
    ox_env_release(env);
  }
}

static void test_what_cannot_be_measured(void **state) {
  (void)state;
  static const char *const texts[] = {
      HEAD "g (string[1] x) => (string[1] y) { y = Identity (x) }",
      HEAD "g (float[N] x, float[M] w) => (float[K] y) { y = Add (x, w) }", /* fits with any sizes: measured */
  };
  ox_env *env = new_env();
  ox_session *s;
  for (size_t i = 0; i < OX_COUNT(texts); i++) {
    CHECK_OK(open_auto(env, texts[i], "quick", NULL, &s));
    ox_session_release(s);
  }
  const ox_provider_spec wrong = {"auto", {1, (const char *[]){"amung"}, (const char *[]){"x"}}};
  ox_session_opts o;
  ox_session_opts_init(&o);
  o.providers = &wrong, o.n_providers = 1;
  CHECK_FAILS(text_session(env, model, &o, &s), OX_INVALID_ARGUMENT, "no option 'amung'");
  CHECK_OK(ox_env_check_provider(env, "auto"));
  ox_env_release(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_who_is_chosen),
      cmocka_unit_test(test_what_was_measured_stays),
      cmocka_unit_test(test_what_was_measured_elsewhere_does_not_count),
      cmocka_unit_test(test_names_of_the_list),
      cmocka_unit_test(test_what_cannot_be_measured),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
