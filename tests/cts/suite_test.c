/* SPDX-License-Identifier: Apache-2.0
 * cts/suite_test.c - what holds for every provider, whatever it claims: the models' outputs are those of the CPU
 * provider, every node has an owner, repeated runs allocate nothing, any number of threads gives the same bits, many
 * threads can share a session, nothing is left behind.
 *
 * By default the providers of the tree and of the tests go through it. CTS_PROVIDER_LIB=FILE puts the provider of a
 * shared library through it instead, with CTS_OPTIONS=key=value,key=value and outputs up to CTS_TOLERANCE (1e-4).
 * CTS_PART=K/N runs every Nth of the tests from the Kth (0) on. */
#include <pthread.h>
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

enum { MOST_OPTIONS = 8 };

typedef struct {
  const char *label;
  const ox_ep_api *api; /* NULL: built in, or of |lib| */
  const char *lib, *name;
  const char *options; /* "key=value,key=value" */
  double tolerance;
} subject;

typedef struct {
  counting_alloc count;
  ox_env *env;
  ox_session *s;
} opened;

/* ---- opening ---- */

static uint32_t split_options(char *text, const char **keys, const char **values) {
  uint32_t n = 0;
  char *save = NULL;
  for (char *w = strtok_r(text, ",", &save); w && n < MOST_OPTIONS; w = strtok_r(NULL, ",", &save)) {
    char *eq = strchr(w, '=');
    if (!eq) fail_msg("option '%s' has no value", w);
    *eq = 0, keys[n] = w, values[n++] = eq + 1;
  }
  return n;
}

static void open_env(const subject *p, opened *o) {
  memset(o, 0, sizeof *o);
  o->count.fail_at = -1;
  ox_env_opts eo = {.struct_size = sizeof eo, .alloc = counting_alloc_of(&o->count)};
  CHECK_OK(ox_env_create(&eo, &o->env));
  if (p->api) CHECK_OK(ox_env_add_provider(o->env, p->api));
  if (p->lib) CHECK_OK(ox_env_load_plugin(o->env, p->lib));
}

/* The name of the provider under test: of a library, the one that was added last. */
static const char *name_of(const subject *p, const ox_env *env) {
  const char *name = p->name;
  for (size_t i = 0; !p->name && ox_env_provider_name(env, i); i++) name = ox_env_provider_name(env, i);
  return name;
}

static void open_model(const subject *p, const ep_model *m, uint32_t optimize, uint32_t threads, opened *o) {
  char text[256];
  const char *keys[MOST_OPTIONS], *values[MOST_OPTIONS];
  open_env(p, o);
  snprintf(text, sizeof text, "%s", p->options ? p->options : "");
  uint32_t n = split_options(text, keys, values);
  ox_provider_spec spec = {name_of(p, o->env), {n, keys, values}};
  ox_session_opts so;
  ox_session_opts_init(&so);
  so.optimize = optimize, so.n_threads = threads, so.providers = &spec, so.n_providers = 1;
  ox_status *st = text_session(o->env, m->text, &so, &o->s);
  if (st) fail_msg("%s, %s: %s", p->label, m->name, ox_status_message(st));
}

static void close_model(const subject *p, const ep_model *m, opened *o) {
  ox_session_release(o->s);
  ox_env_release(o->env);
  if (atomic_load(&o->count.live))
    fail_msg("%s, %s: %ld blocks leaked", p->label, m->name, atomic_load(&o->count.live));
  if (atomic_load(&ep_watch.live))
    fail_msg("%s, %s: %ld objects are alive", p->label, m->name, atomic_load(&ep_watch.live));
}

static void run_or_fail(const subject *p, const ep_model *m, opened *o, const ep_inputs *in, ep_outputs *out) {
  ox_status *st = ep_run(o->s, in, out);
  if (st) fail_msg("%s, %s: %s", p->label, m->name, ox_status_message(st));
}

/* ---- promises ---- */

static void test_outputs_are_those_of_the_cpu(void **state) {
  const subject *p = *state;
  static const uint32_t levels[] = {OX_OPTIMIZE_NONE, OX_OPTIMIZE_BASIC, OX_OPTIMIZE_ALL};
  static const int64_t batches[] = {1, 3, 0};
  for (size_t i = 0; i < n_ep_models; i++)
    for (size_t l = 0; l < OX_COUNT(levels); l++) {
      /* above BASIC the CPU fuses the nodes that it owns, and a fused one rounds less often */
      double tolerance = levels[l] > OX_OPTIMIZE_BASIC ? OX_MAX(p->tolerance, 1e-5) : p->tolerance;
      opened o;
      open_model(p, &ep_models[i], levels[l], 2, &o);
      for (size_t b = 0; b < OX_COUNT(batches); b++) {
        char what[128];
        ep_inputs in;
        ep_outputs want, got;
        snprintf(what, sizeof what, "%s, %s, level %u, batch %d", p->label, ep_models[i].name, levels[l],
                 (int)batches[b]);
        ep_cpu_outputs(ep_models[i].text, levels[l], batches[b], &want);
        ep_inputs_make(o.env, o.s, batches[b], &in);
        for (int again = 0; again < 2; again++) {
          run_or_fail(p, &ep_models[i], &o, &in, &got);
          ep_outputs_compare(what, &want, &got, tolerance);
          ep_outputs_free(&got);
        }
        ep_inputs_free(&in);
        ep_outputs_free(&want);
      }
      close_model(p, &ep_models[i], &o);
    }
}

static bool is_provider(const ox_env *env, const char *name) {
  for (size_t i = 0; ox_env_provider_name(env, i); i++)
    if (strcmp(ox_env_provider_name(env, i), name) == 0) return true;
  return strcmp(name, "host") == 0;
}

static void test_every_node_has_an_owner(void **state) {
  const subject *p = *state;
  for (size_t i = 0; i < n_ep_models; i++) {
    opened o;
    ox_placement x;
    size_t n = 0;
    open_model(p, &ep_models[i], OX_OPTIMIZE_NONE, 1, &o);
    for (; ox_session_placement(o.s, n, &x); n++)
      if (!is_provider(o.env, x.owner))
        fail_msg("%s, %s: node '%s' belongs to '%s'", p->label, ep_models[i].name, x.name, x.owner);
    assert_true(n > 0);
    close_model(p, &ep_models[i], &o);
  }
}

/* Sequences and strings are handed over as copies, which are the caller's. */
static bool gives_copies(const ep_outputs *out) {
  bool copies = false;
  for (size_t i = 0; i < out->n; i++) {
    const ox_tensor *t = ox_value_get(out->value[i]);
    copies |= t->kind != OX_TENSOR || t->dtype == OX_STRING;
  }
  return copies;
}

static void test_repeated_runs_allocate_nothing(void **state) {
  const subject *p = *state;
  for (size_t i = 0; i < n_ep_models; i++) {
    opened o;
    ep_inputs in;
    ep_outputs out;
    open_model(p, &ep_models[i], OX_OPTIMIZE_ALL, 2, &o);
    ep_inputs_make(o.env, o.s, 3, &in);
    for (int k = 0; k < 2; k++) {
      run_or_fail(p, &ep_models[i], &o, &in, &out);
      if (gives_copies(&out)) k = 2;
      ep_outputs_free(&out);
    }
    ep_watch_reset();
    long before = atomic_load(&o.count.calls);
    run_or_fail(p, &ep_models[i], &o, &in, &out);
    long after = atomic_load(&o.count.calls);
    if (!gives_copies(&out) && after != before)
      fail_msg("%s, %s: %ld allocations in a repeated run", p->label, ep_models[i].name, after - before);
    if (ep_watch_count(EP_MEMORY_ALLOC))
      fail_msg("%s, %s: %ld allocations on the device", p->label, ep_models[i].name, ep_watch_count(EP_MEMORY_ALLOC));
    ep_outputs_free(&out);
    ep_inputs_free(&in);
    close_model(p, &ep_models[i], &o);
  }
}

static void test_same_bits_for_any_thread_count(void **state) {
  const subject *p = *state;
  static const uint32_t threads[] = {1, 2, 5};
  for (size_t i = 0; i < n_ep_models; i++) {
    opened o[OX_COUNT(threads)];
    ep_outputs out[OX_COUNT(threads)];
    for (size_t t = 0; t < OX_COUNT(threads); t++) {
      ep_inputs in;
      open_model(p, &ep_models[i], OX_OPTIMIZE_ALL, threads[t], &o[t]);
      ep_inputs_make(o[t].env, o[t].s, 7, &in);
      run_or_fail(p, &ep_models[i], &o[t], &in, &out[t]);
      ep_inputs_free(&in);
      ep_outputs_compare(ep_models[i].name, &out[0], &out[t], 0);
    }
    for (size_t t = 0; t < OX_COUNT(threads); t++) ep_outputs_free(&out[t]);
    ox_session_release(o[1].s), ox_env_release(o[1].env);
    ox_session_release(o[2].s), ox_env_release(o[2].env);
    close_model(p, &ep_models[i], &o[0]);
  }
}

/* ---- many threads ---- */

enum { CLIENTS = 8, TURNS = 6 };

typedef struct {
  const subject *p;
  const ep_model *m;
  opened *o;
  const ep_inputs *in;
  const ep_outputs *want;
  bool failed;
} client;

static bool same(const ep_outputs *a, const ep_outputs *b) {
  for (size_t i = 0; i < a->n; i++) {
    const ox_tensor *s = ox_value_get(a->value[i]), *t = ox_value_get(b->value[i]);
    if (s->kind != OX_TENSOR || s->dtype == OX_STRING || !s->bytes) continue;
    if (s->bytes != t->bytes || memcmp(s->data, t->data, s->bytes) != 0) return false;
  }
  return true;
}

static void *client_main(void *arg) {
  client *c = arg;
  for (int k = 0; k < TURNS && !c->failed; k++) {
    ep_outputs out;
    ox_status *st = ep_run(c->o->s, c->in, &out);
    c->failed = st || !same(c->want, &out);
    ox_status_free(st);
    ep_outputs_free(&out);
  }
  return NULL;
}

static void test_many_threads_share_a_session(void **state) {
  const subject *p = *state;
  for (size_t i = 0; i < n_ep_models; i++) {
    opened o;
    pthread_t threads[CLIENTS];
    client clients[CLIENTS];
    ep_inputs in[2];
    ep_outputs want[2];
    open_model(p, &ep_models[i], OX_OPTIMIZE_ALL, 2, &o);
    for (int b = 0; b < 2; b++) {
      ep_inputs_make(o.env, o.s, 2 + b, &in[b]);
      run_or_fail(p, &ep_models[i], &o, &in[b], &want[b]);
    }
    for (int k = 0; k < CLIENTS; k++) {
      clients[k] = (client){p, &ep_models[i], &o, &in[k % 2], &want[k % 2], false};
      assert_int_equal(pthread_create(&threads[k], NULL, client_main, &clients[k]), 0);
    }
    for (int k = 0; k < CLIENTS; k++) {
      pthread_join(threads[k], NULL);
      if (clients[k].failed) fail_msg("%s, %s: a run failed or gave other bits", p->label, ep_models[i].name);
    }
    for (int b = 0; b < 2; b++) ep_inputs_free(&in[b]), ep_outputs_free(&want[b]);
    close_model(p, &ep_models[i], &o);
  }
}

/* Sessions are made, used and released side by side. */
static void *session_main(void *arg) {
  client *c = arg;
  for (size_t i = 0; i < n_ep_models; i++) {
    opened o;
    ep_inputs in;
    ep_outputs out;
    open_model(c->p, &ep_models[i], OX_OPTIMIZE_ALL, 2, &o);
    ep_inputs_make(o.env, o.s, 2, &in);
    ox_status *st = ep_run(o.s, &in, &out);
    c->failed |= st != NULL;
    ox_status_free(st);
    ep_outputs_free(&out);
    ep_inputs_free(&in);
    ox_session_release(o.s);
    ox_env_release(o.env);
    c->failed |= atomic_load(&o.count.live) != 0;
  }
  return NULL;
}

static void test_many_sessions_at_once(void **state) {
  const subject *p = *state;
  pthread_t threads[CLIENTS];
  client clients[CLIENTS];
  for (int k = 0; k < CLIENTS; k++) {
    clients[k] = (client){.p = p};
    assert_int_equal(pthread_create(&threads[k], NULL, session_main, &clients[k]), 0);
  }
  for (int k = 0; k < CLIENTS; k++) {
    pthread_join(threads[k], NULL);
    if (clients[k].failed) fail_msg("%s: a session failed or leaked", p->label);
  }
  assert_int_equal(atomic_load(&ep_watch.live), 0);
}

/* ---- subjects ---- */

static const struct {
  const char *name;
  void (*fn)(void **state);
} promises[] = {{"outputs are those of the CPU", test_outputs_are_those_of_the_cpu},
                {"every node has an owner", test_every_node_has_an_owner},
                {"repeated runs allocate nothing", test_repeated_runs_allocate_nothing},
                {"same bits for any thread count", test_same_bits_for_any_thread_count},
                {"many threads share a session", test_many_threads_share_a_session},
                {"many sessions at once", test_many_sessions_at_once}};

/* What a failed test left behind is not the next one's. */
static int begin(void **state) {
  (void)state;
  ep_watch_reset();
  atomic_store(&ep_watch.live, 0);
  return 0;
}

int main(void) {
  subject subjects[] = {
      {"cpu", NULL, NULL, "cpu", NULL, 0},
      {"null", NULL, NULL, "null", NULL, 0},
      {"echo, kernels", echo_ep(), NULL, "echo", NULL, 0},
      {"echo, programs", echo_ep(), NULL, "echo", "as=programs", 0},
      {"echo, a program per graph, bodies by the host", echo_ep(), NULL, "echo", "as=programs,no_bodies=1", 0},
      {"echo, parts", echo_ep(), NULL, "echo", "claims=parts,as=programs,seed=3", 0},
      {"echo, every second", echo_ep(), NULL, "echo", "claims=second,as=either", 0},
      {"device, kernels", device_ep(), NULL, "device", NULL, 0},
      {"device, programs", device_ep(), NULL, "device", "as=programs", 0},
      {"device, every second", device_ep(), NULL, "device", "claims=second,as=either,seed=1", 0},
      {"device, places 1", device_ep(), NULL, "device", "places=1", 0},
      {"device, places 2, every second", device_ep(), NULL, "device", "claims=second,places=2", 0},
      {"a device without streams", device_ep_plain(), NULL, "plain", "claims=random,as=either,seed=5,places=3", 0},
      {"streams without memory", device_ep_queue(), NULL, "queue", NULL, 0},
      {"streams without memory, every second", device_ep_queue(), NULL, "queue", "claims=second", 0}};
  const char *tolerance = getenv("CTS_TOLERANCE");
  subject library = {
      "library", NULL, getenv("CTS_PROVIDER_LIB"), NULL, getenv("CTS_OPTIONS"), tolerance ? atof(tolerance) : 1e-4};
  struct CMUnitTest tests[OX_COUNT(subjects) * OX_COUNT(promises)];
  static char names[OX_COUNT(tests)][128];
  size_t n_subjects = library.lib ? 1 : OX_COUNT(subjects), n = 0;
  const char *text = getenv("CTS_PART");
  unsigned part = 0, parts = 1;
  if (text && (sscanf(text, "%u/%u", &part, &parts) != 2 || part >= parts)) {
    fprintf(stderr, "CTS_PART is '%s', not K/N with K < N\n", text);
    return 2;
  }
  for (size_t i = 0; i < n_subjects; i++)
    for (size_t k = 0; k < OX_COUNT(promises); k++) {
      if ((i * OX_COUNT(promises) + k) % parts != part) continue;
      subject *p = library.lib ? &library : &subjects[i];
      snprintf(names[n], sizeof names[n], "%s: %s", p->label, promises[k].name);
      tests[n] = (struct CMUnitTest){names[n], promises[k].fn, begin, NULL, p};
      n++;
    }
  return _cmocka_run_group_tests("cts.suite", tests, n, NULL, NULL);
}
