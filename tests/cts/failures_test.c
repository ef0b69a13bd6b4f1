/* SPDX-License-Identifier: Apache-2.0
 * cts/failures_test.c - every call of a provider fails once, at its first, second ... Nth time, and so does every
 * allocation: the error names provider and node, the next run is right again, nothing leaks and nothing stays alive. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/counting_alloc.h"
#include "support/device_ep.h"
#include "support/echo_ep.h"
#include "support/ep_models.h"
#include "support/ep_watch.h"
#include "support/text_session.h"

typedef struct {
  const char *label, *name;
  const char *claims, *as, *seed;
} subject;

static const subject subjects[] = {{"kernels", "echo", "all", "kernels", "0"},
                                   {"programs", "echo", "all", "programs", "0"},
                                   {"parts", "echo", "parts", "programs", "2"},
                                   {"device, kernels", "device", "all", "kernels", "0"},
                                   {"device, programs", "device", "second", "programs", "1"},
                                   {"device, every second", "device", "second", "either", "0"},
                                   {"device without streams", "plain", "second", "kernels", "0"}};

static const char *const models[] = {"diamond",
                                     "outputs inside",
                                     "shapes from data",
                                     "branches",
                                     "nested bodies",
                                     "views",
                                     "constants and inputs as outputs",
                                     "labels"};

typedef struct {
  const subject *p;
  const ep_model *m;
  counting_alloc count;
  ox_env *env;
  ox_session *s;
  ep_inputs in;
  char label[160];
} attempt;

/* From the env to a session with inputs. */
static ox_status *begin(attempt *a, const subject *p, const ep_model *m, long fail_at) {
  static const char *const keys[] = {"claims", "as", "seed"};
  const char *values[] = {p->claims, p->as, p->seed};
  ox_provider_spec spec = {p->name, {3, keys, values}};
  ox_session_opts so;
  *a = (attempt){.p = p, .m = m, .count.fail_at = fail_at};
  snprintf(a->label, sizeof a->label, "%s, %s", p->label, m->name);
  ox_env_opts eo = {.struct_size = sizeof eo, .alloc = counting_alloc_of(&a->count)};
  ox_session_opts_init(&so);
  so.optimize = OX_OPTIMIZE_NONE, so.n_threads = 2, so.providers = &spec, so.n_providers = 1;
  OX_TRY(ox_env_create(&eo, &a->env));
  CHECK_OK(ox_env_add_provider(a->env, echo_ep()));
  CHECK_OK(ox_env_add_provider(a->env, device_ep()));
  CHECK_OK(ox_env_add_provider(a->env, device_ep_plain()));
  return text_session(a->env, m->text, &so, &a->s);
}

static void end(attempt *a) {
  ep_inputs_free(&a->in);
  ox_session_release(a->s);
  ox_env_release(a->env);
  if (atomic_load(&a->count.live)) fail_msg("%s: %ld blocks leaked", a->label, atomic_load(&a->count.live));
  if (atomic_load(&ep_watch.live)) fail_msg("%s: %ld objects are alive", a->label, atomic_load(&ep_watch.live));
}

static ox_status *run_once(attempt *a, const ep_outputs *want) {
  ep_outputs out;
  ox_status *st = ep_run(a->s, &a->in, &out);
  if (!st) ep_outputs_compare(a->label, want, &out, 0);
  if (st)
    for (size_t i = 0; i < out.n; i++) assert_null(out.value[i]);
  ep_outputs_free(&out);
  return st;
}

/* ---- calls ---- */

static bool names_a_node(ep_call call) {
  return call != EP_CREATE && call != EP_CLAIM && call != EP_STREAM_CREATE && call != EP_STREAM_SYNC &&
         call != EP_LATER && call != EP_MEMORY_ALLOC;
}

static void check_error(const attempt *a, ep_call call, const ox_status *st) {
  const char *text = ox_status_message(st);
  char provider[64], told[64];
  snprintf(provider, sizeof provider, "provider '%s'", a->p->name);
  snprintf(told, sizeof told, "told to fail in %s", ep_call_name(call));
  bool tells = strstr(text, told) || (call == EP_MEMORY_ALLOC && ox_status_code(st) == OX_OUT_OF_MEMORY);
  if (!tells || !strstr(text, provider) || (names_a_node(call) && !strstr(text, "node ")))
    fail_msg("%s, %s: the error is \"%s\"", a->label, ep_call_name(call), text);
}

/* One session and two runs while call |at| fails. */
static void fail_once(const subject *p, const ep_model *m, ep_call call, long at, const ep_outputs *want) {
  attempt a;
  ep_watch_fail(call, at);
  ox_status *st = begin(&a, p, m, -1);
  bool made = !st, failed = st != NULL;
  if (made) ep_inputs_make(a.env, a.s, 2, &a.in);
  for (int run = 0; made && run < 2; run++) {
    ox_status *run_st = run_once(&a, want);
    if (run_st && failed) fail_msg("%s: two errors: %s", a.label, ox_status_message(run_st));
    if (run_st) st = run_st, failed = true;
  }
  if (failed) check_error(&a, call, st);
  if (!failed && ep_watch_count(call) > at && call != EP_LATER)
    fail_msg("%s: call %ld of %s failed unseen", a.label, at, ep_call_name(call));
  ox_status_free(st);
  end(&a);
}

static void test_every_call_may_fail(void **state) {
  const subject *p = *state;
  for (size_t i = 0; i < OX_COUNT(models); i++) {
    const ep_model *m = ep_model_named(models[i]);
    ep_outputs want;
    attempt a;
    long counts[EP_CALLS];
    ep_cpu_outputs(m->text, OX_OPTIMIZE_NONE, 2, &want);
    ep_watch_reset();
    CHECK_OK(begin(&a, p, m, -1));
    ep_inputs_make(a.env, a.s, 2, &a.in);
    for (int run = 0; run < 2; run++) CHECK_OK(run_once(&a, &want));
    for (int call = 0; call < EP_CALLS; call++) counts[call] = ep_watch_count((ep_call)call);
    end(&a);
    for (int call = 0; call < EP_CALLS; call++)
      for (long at = 0; at < counts[call]; at += 1 + at / 8) fail_once(p, m, (ep_call)call, at, &want);
    ep_outputs_free(&want);
  }
}

/* ---- allocations ---- */

/* True if nothing failed. */
static bool fail_allocation(const subject *p, const ep_model *m, long at, const ep_outputs *want) {
  attempt a;
  ox_status *st = begin(&a, p, m, at);
  if (!st) { /* inputs are the test's own matter */
    a.count.fail_at = -1;
    long before = atomic_load(&a.count.calls);
    ep_inputs_make(a.env, a.s, 2, &a.in);
    a.count.fail_at = at + atomic_load(&a.count.calls) - before;
    st = run_once(&a, want);
  }
  bool fine = !st;
  if (st && ox_status_code(st) != OX_OUT_OF_MEMORY)
    fail_msg("%s, allocation %ld: %s", a.label, at, ox_status_message(st));
  ox_status_free(st);
  end(&a);
  return fine;
}

static void test_every_allocation_may_fail(void **state) {
  const subject *p = *state;
  ep_watch_reset();
  for (size_t i = 0; i < OX_COUNT(models); i++) {
    const ep_model *m = ep_model_named(models[i]);
    ep_outputs want;
    ep_cpu_outputs(m->text, OX_OPTIMIZE_NONE, 2, &want);
    for (long at = 0; !fail_allocation(p, m, at, &want);) at += 1 + at / 20;
    ep_outputs_free(&want);
  }
}

static int reset(void **state) {
  (void)state;
  ep_watch_reset();
  atomic_store(&ep_watch.live, 0);
  return 0;
}

int main(void) {
  struct CMUnitTest tests[2 * OX_COUNT(subjects)];
  static char names[OX_COUNT(tests)][96];
  for (size_t i = 0; i < OX_COUNT(tests); i++) {
    const subject *p = &subjects[i / 2];
    snprintf(names[i], sizeof names[i], "%s: every %s may fail", p->label, i % 2 ? "allocation" : "call");
    tests[i] = (struct CMUnitTest){names[i], i % 2 ? test_every_allocation_may_fail : test_every_call_may_fail, reset,
                                   NULL, (void *)p};
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
