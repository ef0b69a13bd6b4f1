/* SPDX-License-Identifier: Apache-2.0
 * cts/device_test.c - devices: what is copied and what is not, nodes of two devices and the CPU mixed at random, work
 * on streams when runs are stopped, memory that the host must not touch.
 *
 * DEVICE_MIXES=N (200) random mixes from DEVICE_SEED=S (1) on. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/counting_alloc.h"
#include "support/device_ep.h"
#include "support/device_memory.h"
#include "support/ep_models.h"
#include "support/ep_watch.h"
#include "support/levels.h"
#include "support/text_session.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]> "

enum { MOST_PROVIDERS = 3, MOST_OPTIONS = 5 };

typedef struct {
  counting_alloc count;
  ox_env *env;
  ox_session *s;
  ep_inputs in;
} opened;

static void open_text(opened *o, const char *text, const ox_ep_api *extra, const ox_provider_spec *specs, size_t n) {
  const ox_ep_api *const all[] = {device_ep(), device_ep_other(), device_ep_plain(), device_ep_queue()};
  ox_session_opts so;
  *o = (opened){.count.fail_at = -1};
  ox_env_opts eo = {.struct_size = sizeof eo, .alloc = counting_alloc_of(&o->count)};
  ox_session_opts_init(&so);
  so.optimize = OX_OPTIMIZE_NONE, so.n_threads = 2, so.providers = specs, so.n_providers = n;
  CHECK_OK(ox_env_create(&eo, &o->env));
  for (size_t i = 0; i < OX_COUNT(all); i++) CHECK_OK(ox_env_add_provider(o->env, all[i]));
  if (extra) CHECK_OK(ox_env_add_provider(o->env, extra));
  CHECK_OK(text_session(o->env, text, &so, &o->s));
  ep_inputs_make(o->env, o->s, 3, &o->in);
}

static void close_text(opened *o) {
  ep_inputs_free(&o->in);
  ox_session_release(o->s);
  ox_env_release(o->env);
  assert_int_equal(atomic_load(&o->count.live), 0);
  assert_int_equal(atomic_load(&ep_watch.live), 0);
}

static void run_and_compare(opened *o, const char *label, const char *text) {
  ep_outputs want, got;
  ep_cpu_outputs(text, OX_OPTIMIZE_NONE, 3, &want);
  ox_status *st = ep_run(o->s, &o->in, &got);
  if (st) fail_msg("%s: %s", label, ox_status_message(st));
  ep_outputs_compare(label, &want, &got, 0);
  ep_outputs_free(&want);
  ep_outputs_free(&got);
}

/* ---- copies ---- */

static const struct {
  const char *name, *ops; /* what the device takes; NULL: all that it can */
  const char *text;
  long constants, to_device, to_host; /* the last two of one run */
} copied[] = {
    {"values stay between nodes", NULL,
     HEAD "g (float[N,4] x) => (float[N,4] y) { a = Abs (x) b = Neg (a) c = Add (a, b) y = Exp (c) }", 0, 1, 1},
    {"views copy nothing, whoever owns them", "Neg|Exp|Add",
     HEAD "g (float[2,3] x) => (float[6] y) <int64[1] s = {6}> { a = Neg (x) b = Reshape (a, s) c = Exp (b) y = Add "
          "(c, c) }",
     0, 1, 1},
    {"a view of an input is copied behind it", "Exp",
     HEAD "g (float[2,3] x) => (float[6] y) <int64[1] s = {6}> { b = Reshape (x, s) y = Exp (b) }", 0, 1, 1},
    {"one copy for many readers", NULL,
     HEAD "g (float[4] x) => (float[4] y, float[4] z) { a = Abs (x) b = Neg (x) c = Add (x, x) y = Sum (a, b, c) z = "
          "Mul (a, x) }",
     0, 1, 2},
    {"a constant that two nodes read", "Add|Mul",
     HEAD "g (float[2] x) => (float[2] y) <float[2] k = {3, 4}> { a = Add (x, k) y = Mul (a, k) }", 1, 1, 1},
    {"what is an output and read on", NULL,
     HEAD "g (float[2] x) => (float[2] a, float[2] y) { a = Abs (x) y = Neg (a) }", 0, 1, 2},
    {"shapes on the host", "Expand|Neg",
     HEAD "g (float[1] x) => (float[5] y) <int64[1] k = {5}> { a = Neg (x) y = Expand (a, k) }", 0, 1, 1},
    {"there and back", "Neg",
     HEAD "g (float[4] x) => (float[4] y) { a = Neg (x) b = Abs (a) c = Neg (b) d = Abs (c) y = Neg (d) }", 0, 3, 3},
    {"branches read where a value lies", "Neg|Exp",
     HEAD "g (float[2] x) => (float[2] y) <bool c = {1}> { a = Neg (x) y = If <then_branch = t () => (float[2] p) "
          "{ p = Exp (a) }, else_branch = e () => (float[2] q) { q = Identity (a) }> (c) }",
     0, 1, 1},
    {"a shape, without the bytes", "Neg|Exp",
     HEAD "g (float[N,4] x) => (float[N,4] y, int64[2] s, int64 n) { a = Neg (x) y = Exp (a) s = Shape (a) n = Size "
          "(a) }",
     0, 1, 1},
    {"nothing to do", "Sin", HEAD "g (float[4] x) => (float[4] y) { y = Neg (x) }", 0, 0, 0},
    {"a constant, passed on", "Neg",
     HEAD "g (float[2] x) => (float[2] y, float[2] k) <float[2] k = {3, 4}> { y = Neg (x) }", 0, 1, 1},
};

static void test_copies(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(copied); i++) {
    const char *keys[] = {"no_bodies", "ops"}, *values[] = {"1", copied[i].ops};
    const ox_provider_spec spec = {"device", {copied[i].ops ? 2 : 1, keys, values}};
    opened o;
    memset(&device_counts, 0, sizeof device_counts);
    open_text(&o, copied[i].text, NULL, &spec, 1);
    for (int run = 0; run < 3; run++) {
      device_counts.to_device = device_counts.to_host = 0;
      run_and_compare(&o, copied[i].name, copied[i].text);
      long to = device_counts.to_device, from = device_counts.to_host;
      if (device_counts.constants != copied[i].constants || to != copied[i].to_device || from != copied[i].to_host)
        fail_msg("%s: %ld constants, %ld copies to the device, %ld back", copied[i].name, (long)device_counts.constants,
                 to, from);
    }
    close_text(&o);
  }
}

static void test_copies_are_seen(void **state) {
  const ox_provider_spec spec = {"device", {0}};
  opened o;
  ep_outputs out;
  ox_node_time t;
  ox_placement x;
  int copies = 0, placed = 0;
  (void)state;
  open_text(&o, copied[0].text, NULL, &spec, 1);
  for (size_t i = 0; ox_session_placement(o.s, i, &x); i++) {
    assert_string_equal(x.owner, "device");
    assert_string_equal(x.how, strcmp(x.op, "Copy") == 0 ? "copy" : "kernel");
    placed += strcmp(x.op, "Copy") == 0;
  }
  assert_int_equal(placed, 2);
  ox_session_profile_start(o.s);
  CHECK_OK(ep_run(o.s, &o.in, &out));
  for (size_t i = 0; ox_session_profile_event(o.s, i, &t); i++) copies += strcmp(t.op, "Copy") == 0;
  assert_int_equal(copies, 2);
  ep_outputs_free(&out);
  close_text(&o);
}

/* Without value_memory constants that inference reads lie on the device, too; the host has its own. */
static void test_inference_reads_the_hosts_constants(void **state) {
  static const char *const text = HEAD
      "g (float[2,6] x) => (float[A,B] y, float[C,D] z) <int64[2] from = {0, 1}, int64[2] to = {2, 5}, int64[4] pads = "
      "{0, 1, 0, 2}, int64[2] tiles = {2, 1}> { a = Neg (x) b = Slice (a, from, to) c = Pad (b, pads) y = Tile (c, "
      "tiles) "
      "z = Slice (x, from, to) }";
  ox_ep_api api = *device_ep();
  const ox_provider_spec spec = {"all on the device", {0}};
  opened o;
  (void)state;
  api.name = "all on the device", api.value_memory = NULL;
  open_text(&o, text, &api, &spec, 1);
  for (int run = 0; run < 2; run++) run_and_compare(&o, "constants on the device", text);
  close_text(&o);
}

/* A stream writes what nobody reads, too, and its place must not be somebody else's by then. */
static void test_outputs_that_nobody_reads(void **state) {
  static const char *const text = HEAD
      "g (float[3,64] x, float[3,32] z) => (float[3,32] y) <int64[2] h = {32, 32}> { d, q = Split <axis = 1> (x, h) "
      "a = Abs (z) b = Exp (a) c = Sin (b) e = Add (a, c) y = Mul (e, q) }";
  const char *keys[] = {"ops"}, *values[] = {"Split"};
  const ox_provider_spec spec = {"queue", {1, keys, values}};
  opened o;
  (void)state;
  open_text(&o, text, NULL, &spec, 1);
  for (int run = 0; run < 100; run++) run_and_compare(&o, "outputs that nobody reads", text);
  close_text(&o);
}

/* ---- mixes ---- */

static long number(const char *name, long otherwise) {
  const char *text = getenv(name);
  return text && *text ? atol(text) : otherwise;
}

static void check_mix(long seed) {
  static const char *const names[] = {"device", "other", "plain", "queue"};
  static const char *const picks[] = {"random", "second", "parts", "random", "but_one"};
  static const char *const kinds[] = {"kernels", "programs", "either", "kernels"};
  static const char *const keys[MOST_OPTIONS] = {"claims", "as", "seed", "no_bodies", "places"};
  uint32_t random = (uint32_t)seed * 2654435761u;
  test_random(&random);
#define DRAW(n) ((test_random(&random) >> 8) % (uint32_t)(n))
    const ep_model *m = &ep_models[seed % (long)n_ep_models];
    ox_provider_spec specs[MOST_PROVIDERS];
    const char *values[MOST_PROVIDERS][MOST_OPTIONS];
    char seeds[MOST_PROVIDERS][16], places[MOST_PROVIDERS][16], label[200];
    uint32_t n = 1 + DRAW(MOST_PROVIDERS), at = DRAW(OX_COUNT(names));
    int used = snprintf(label, sizeof label, "seed %ld: %s", seed, m->name);
    for (uint32_t i = 0; i < n; i++) {
      snprintf(seeds[i], sizeof seeds[i], "%u", DRAW(1 << 20));
      snprintf(places[i], sizeof places[i], "%u", DRAW(2) ? DRAW(1 << 20) : 0);
      const char *drawn[MOST_OPTIONS] = {picks[DRAW(OX_COUNT(picks))], kinds[DRAW(OX_COUNT(kinds))], seeds[i],
                                         DRAW(2) ? "1" : "0", places[i]};
      memcpy(values[i], drawn, sizeof drawn);
      specs[i] = (ox_provider_spec){names[(at + i) % OX_COUNT(names)], {MOST_OPTIONS, keys, values[i]}};
      used += snprintf(label + used, sizeof label - (size_t)used, "; %s %s as %s", specs[i].name, drawn[0], drawn[1]);
    }
#undef DRAW
    opened o;
    open_text(&o, m->text, NULL, specs, n);
    for (int run = 0; run < 3; run++) run_and_compare(&o, label, m->text);
    close_text(&o);
}

static void test_any_mix_gives_the_same_outputs(void **state) {
  static const long odd[] = {366}; /* one whose stream reads memory of another device, which is used again */
  long first = number("DEVICE_SEED", 1), end = first + number("DEVICE_MIXES", 200);
  (void)state;
  for (size_t i = 0; i < OX_COUNT(odd); i++) check_mix(odd[i]);
  for (long seed = first; seed < end; seed++) check_mix(seed);
}

/* ---- stopping ---- */

static void sleep_us(long us) {
  const struct timespec t = {0, us * 1000};
  nanosleep(&t, NULL);
}

typedef struct {
  volatile int flag;
  long after_us;
} canceller;

static void *cancel_main(void *arg) {
  canceller *c = arg;
  sleep_us(c->after_us);
  __atomic_store_n(&c->flag, 1, __ATOMIC_RELAXED);
  return NULL;
}

/* When a run returns, nothing is left on its streams, however it ended. */
static void check_idle(const char *how) {
  long done = ep_watch_count(EP_LATER);
  sleep_us(2000);
  if (ep_watch_count(EP_LATER) != done) fail_msg("%s: %ld jobs went on", how, ep_watch_count(EP_LATER) - done);
}

static void test_nothing_goes_on_after_a_run(void **state) {
  const char *keys[] = {"claims"}, *values[] = {"second"};
  const ox_provider_spec spec = {"device", {1, keys, values}};
  const ep_model *m = ep_model_named("lattice");
  opened o;
  int cancelled = 0;
  (void)state;
  ep_watch_reset();
  open_text(&o, m->text, NULL, &spec, 1);
  run_and_compare(&o, "first", m->text);
  check_idle("a good run");
  for (long i = 0; i < 60; i++) {
    canceller c = {0, i * 20};
    pthread_t thread;
    ox_run_opts ro = {.struct_size = sizeof ro, .cancel = &c.flag};
    ep_outputs out = {.n = ox_session_output_count(o.s)};
    assert_int_equal(pthread_create(&thread, NULL, cancel_main, &c), 0);
    ox_status *st =
        ox_session_run(o.s, &ro, o.in.name, (const ox_value *const *)o.in.value, o.in.n, NULL, out.value, out.n);
    if (st) assert_int_equal(ox_status_code(st), OX_CANCELLED), cancelled++;
    check_idle(st ? "a cancelled run" : "a run in time");
    ox_status_free(st);
    pthread_join(thread, NULL);
    ep_outputs_free(&out);
  }
  for (long i = 0; i < 10; i++) {
    ep_outputs out;
    ep_watch_fail(EP_KERNEL_RUN, i);
    ox_status *st = ep_run(o.s, &o.in, &out);
    check_idle("a failed run");
    ox_status_free(st);
    ep_outputs_free(&out);
  }
  ep_watch_reset();
  print_message("%d of 60 runs were cancelled\n", cancelled);
  run_and_compare(&o, "last", m->text);
  close_text(&o);
}

/* ---- the pretence ---- */

static void test_the_host_cannot_touch_the_device(void **state) {
  char *p = device_memory_take(64, 256);
  (void)state;
  assert_non_null(p);
  ((char *)device_memory_open(p))[3] = 5;
  pid_t child = fork();
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL), signal(SIGBUS, SIG_DFL);
    _exit(((volatile char *)p)[3] == 5 ? 0 : 1);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status));
  device_memory_give(p, 64);
}

static int reset(void **state) {
  (void)state;
  ep_watch_reset();
  atomic_store(&ep_watch.live, 0);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test_setup(test_copies, reset),
                                     cmocka_unit_test_setup(test_copies_are_seen, reset),
                                     cmocka_unit_test_setup(test_inference_reads_the_hosts_constants, reset),
                                     cmocka_unit_test_setup(test_outputs_that_nobody_reads, reset),
                                     cmocka_unit_test_setup(test_any_mix_gives_the_same_outputs, reset),
                                     cmocka_unit_test_setup(test_nothing_goes_on_after_a_run, reset),
                                     cmocka_unit_test_setup(test_the_host_cannot_touch_the_device, reset)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
