/* SPDX-License-Identifier: Apache-2.0
 * plugins/device/binding_test.c - inputs and outputs of runs on the devices of the providers themselves: OpenCL, and
 * CUDA on the stand-in for a GPU. What is copied and allocated is counted below the provider, in the API. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/counting_alloc.h"
#include "support/ep_models.h"
#include "support/text_session.h"
#ifdef CUDA_STANDIN
#include "plugins/device/use_standin.h"
#endif

#define G "<ir_version: 8, opset_import: [\"\" : 17]> g "

typedef struct {
  const char *name, *plugin, *counts, *prefix; /* |counts|: the library that counts, by functions of that prefix */
  long (*copies)(int way);
  long (*allocations)(void);
} device;

static device devices[] = {
#ifdef OPENCL_PLUGIN
    {.name = "opencl", .plugin = OPENCL_PLUGIN, .counts = OPENCL_COUNTS, .prefix = "opencl"},
#endif
#ifdef CUDA_PLUGIN
    {.name = "cuda", .plugin = CUDA_PLUGIN, .counts = CUDA_STANDIN, .prefix = "standin"},
#endif
};

typedef struct {
  const device *on;
  counting_alloc count;
  ox_env *env;
  ox_session *s;
  ox_memory *memory;
} opened;

static ox_status *open_with(opened *o, const char *text, const char *limit, ox_memory *shared) {
  const char *key = "gpu_mem_limit";
  const ox_provider_spec spec = {o->on->name, {limit ? 1 : 0, &key, &limit}};
  ox_session_opts so;
  ox_session_opts_init(&so);
  so.n_threads = 1, so.providers = &spec, so.n_providers = 1, so.memories = &shared, so.n_memories = shared != NULL;
  return text_session(o->env, text, &so, &o->s);
}

static void open_text(opened *o, const char *text) { CHECK_OK(open_with(o, text, NULL, NULL)); }

static void open_env(opened *o, const device *on) {
  const ox_provider_spec spec = {on->name, {0}};
  *o = (opened){.on = on, .count.fail_at = -1};
  const ox_env_opts eo = {.struct_size = sizeof eo, .alloc = counting_alloc_of(&o->count)};
  CHECK_OK(ox_env_create(&eo, &o->env));
  CHECK_OK(ox_env_load_plugin(o->env, on->plugin));
  CHECK_OK(ox_memory_open(o->env, &spec, NULL, &o->memory));
}

static void close_all(opened *o) {
  ox_session_release(o->s);
  ox_memory_release(o->memory);
  ox_env_release(o->env);
  assert_int_equal(atomic_load(&o->count.live), 0);
}

static void forget_counts(const device *d) {
  for (int way = 0; way < 3; way++) (void)d->copies(way);
  (void)d->allocations();
}

static void check_counts(const device *d, const char *label, const long *copies, long allocations) {
  static const char *const ways[] = {"to the device", "back", "within"};
  for (int way = 0; way < 3; way++) {
    long n = d->copies(way);
    if (n != copies[way]) fail_msg("%s, %s: %ld copies %s, wanted %ld", d->name, label, n, ways[way], copies[way]);
  }
  long n = d->allocations();
  if (n != allocations) fail_msg("%s, %s: %ld allocations on the device", d->name, label, n);
}

/* ---- what a run copies ---- */

static const struct {
  const char *name, *text;
  long copies[3]; /* in a run with everything on the device */
} cases[] = {
    {"a part", G "(float[N,8] x) => (float[N,8] y) { a = Abs (x) b = Exp (a) s = Softmax (b) y = Neg (s) }", {0}},
    {"weights",
     G "(float[N,2,6,6] x) => (float[N,2,6,6] y) <float[2,2,1,1] w = {1, 2, 3, -4}> "
       "{ c = Conv (x, w) y = Relu (c) }",
     {0}},
    {"several outputs",
     G "(float[N,4] x) => (float[N,4] y, float[N,8] z) { y = Exp (x) z = Concat <axis = 1> (x, y) }",
     {0}},
    {"shapes that follow from the batch",
     G "(float[N,3,4] x) => (float[M,4] y) <int64[2] to = {-1, 4}> { a = Relu (x) b = Reshape (a, to) y = Exp (b) }",
     {0}},
    {"a view of the result",
     G "(float[N,6] x) => (float[M] y) <int64[1] to = {-1}> { a = Exp (x) y = Reshape (a, to) }",
     {0}},
    {"the CPU makes an unknown shape, the device goes on",
     G "(float[N,6] x) => (float[2,K] y) { a = Relu (x) i = NonZero (a) f = Cast <to = 1> (i) y = Exp (f) }",
     {1, 1, 0}},
    {"the CPU makes the output", G "(float[N,6] x) => (int64[2,K] y) { a = Relu (x) y = NonZero (a) }", {1, 1, 0}},
    {"the input is the output", G "(float[N,6] x) => (float[N,6] y) { y = Identity (x) }", {0, 0, 1}},
};

enum { MADE_THERE, GIVEN };

static void run_there(opened *o, const char *label, const ep_inputs *in, const ep_outputs *want, int place,
                      const long *copies, int runs) {
  ox_value *x[EP_MOST_VALUES], *out[EP_MOST_VALUES];
  ox_memory *memories[EP_MOST_VALUES];
  ep_outputs got = {.n = want->n};
  for (size_t i = 0; i < in->n; i++) x[i] = value_copy(o->memory, in->value[i]);
  for (size_t i = 0; i < want->n; i++) memories[i] = o->memory, out[i] = value_like(o->memory, want->value[i]);
  const ox_run_opts ro = {.struct_size = sizeof ro, .output_memories = memories};
  for (int run = 0; run < runs; run++) {
    bool settled = run > 2; /* shapes have been seen, the plan is recorded */
    for (size_t i = 0; place == MADE_THERE && i < want->n; i++) ox_value_release(out[i]), out[i] = NULL;
    if (settled) forget_counts(o->on);
    long before = atomic_load(&o->count.calls);
    ox_status *st = ox_session_run(o->s, &ro, in->name, (const ox_value *const *)x, in->n, NULL, out, want->n);
    if (st) fail_msg("%s, %s: %s", o->on->name, label, ox_status_message(st));
    if (settled) check_counts(o->on, label, copies, 0);
    long n = atomic_load(&o->count.calls) - before;
    if (settled && n) fail_msg("%s, %s: %ld allocations of the host", o->on->name, label, n);
  }
  for (size_t i = 0; i < want->n; i++) {
    assert_ptr_equal(ox_value_memory(out[i]), o->memory);
    got.value[i] = value_copy(NULL, out[i]);
    ox_value_release(out[i]);
  }
  ep_outputs_compare(label, want, &got, 1e-5);
  ep_outputs_free(&got);
  for (size_t i = 0; i < in->n; i++) ox_value_release(x[i]);
}

static void test_only_what_differs_is_copied(void **state) {
  (void)state;
  for (size_t d = 0; d < OX_COUNT(devices); d++)
    for (size_t i = 0; i < OX_COUNT(cases); i++) {
      opened o;
      open_env(&o, &devices[d]);
      open_text(&o, cases[i].text);
      for (int64_t turn = 0; turn < 8; turn++) { /* batches come again */
        int64_t batch = 2 + turn / 2 % 2;
        int place = turn % 2 ? GIVEN : MADE_THERE;
        char label[128];
        ep_inputs in;
        ep_outputs want;
        snprintf(label, sizeof label, "%s, batch %d, outputs %s", cases[i].name, (int)batch, place ? "given" : "made");
        ep_inputs_make(o.env, o.s, batch, &in);
        ep_cpu_outputs(cases[i].text, OX_OPTIMIZE_ALL, batch, &want);
        run_there(&o, label, &in, &want, place, cases[i].copies, 6);
        ep_inputs_free(&in), ep_outputs_free(&want);
      }
      close_all(&o);
    }
}

/* ---- a result is the next input ---- */

static void test_results_are_fed_back(void **state) {
  static const char *const text =
      G "(float[N,6] x) => (float[N,6] y) <float[1] h = {0.5}> { a = Mul (x, h) y = Sigmoid (a) }";
  (void)state;
  for (size_t d = 0; d < OX_COUNT(devices); d++) {
    opened o;
    ep_inputs in;
    open_env(&o, &devices[d]);
    open_text(&o, text);
    ep_inputs_make(o.env, o.s, 4, &in);
    const ox_run_opts ro = {.struct_size = sizeof ro, .output_memories = &o.memory};
    ox_value *there = value_copy(o.memory, in.value[0]), *here = ox_value_retain(in.value[0]);
    for (int run = 0; run < 12; run++) {
      ox_value *next = NULL, *expected = NULL;
      if (run > 3) forget_counts(o.on);
      long before = atomic_load(&o.count.calls);
      CHECK_OK(ox_session_run(o.s, &ro, in.name, (const ox_value *const *)&there, 1, NULL, &next, 1));
      if (run > 3) check_counts(o.on, "fed back", (const long[]){0, 0, 0}, 0);
      if (run > 3) assert_int_equal(atomic_load(&o.count.calls), before);
      CHECK_OK(ox_session_run(o.s, NULL, in.name, (const ox_value *const *)&here, 1, NULL, &expected, 1));
      ox_value_release(there), ox_value_release(here);
      there = next, here = expected;
    }
    ox_value *back = value_copy(NULL, there);
    assert_memory_equal(ox_value_data(back), ox_value_data(here), ox_value_get(back)->bytes);
    ox_value_release(back), ox_value_release(there), ox_value_release(here);
    ep_inputs_free(&in);
    close_all(&o);
  }
}

/* ---- branches ---- */

/* What a branch reads and makes stays there, whatever its shape is; one of the two is fed to the next run. */
static void test_branches_of_two_shapes(void **state) {
  static const char *const text = G
      "(float[2,4] x, bool c) => (float[M,4] y) <float[3,2] w = {1, 2, 3, 4, 5, 6}> { a = Sigmoid (x) "
      "y = If <then_branch = t () => (float[3,4] p) { d = Neg (a) p = MatMul (w, d) }, "
      "else_branch = e () => (float[2,4] q) { s = Relu (a) q = Add (s, x) }> (c) }";
  (void)state;
  for (size_t d = 0; d < OX_COUNT(devices); d++) {
    opened o;
    ep_inputs in;
    open_env(&o, &devices[d]);
    open_text(&o, text);
    ep_inputs_make(o.env, o.s, 2, &in);
    size_t at = strcmp(in.name[0], "x") != 0;
    const ox_run_opts ro = {.struct_size = sizeof ro, .output_memories = &o.memory};
    ox_value *there = value_copy(o.memory, in.value[at]), *here = ox_value_retain(in.value[at]);
    for (int run = 0; run < 16; run++) {
      ox_value *next = NULL, *expected = NULL, *cond = in.value[!at];
      *(uint8_t *)ox_value_data(cond) = run % 2;
      const ox_value *on_device[] = {there, cond}, *on_host[] = {here, cond};
      const char *names[] = {in.name[at], in.name[!at]};
      if (run > 7) forget_counts(o.on);
      long before = atomic_load(&o.count.calls);
      CHECK_OK(ox_session_run(o.s, &ro, names, on_device, 2, NULL, &next, 1));
      if (run > 7) check_counts(o.on, "branches", (const long[]){0, 0, 1}, 0);
      if (run > 7) assert_int_equal(atomic_load(&o.count.calls), before);
      CHECK_OK(ox_session_run(o.s, NULL, names, on_host, 2, NULL, &expected, 1));
      ox_value *back = value_copy(NULL, next);
      assert_int_equal(ox_value_get(back)->shape.dim[0], run % 2 ? 3 : 2);
      assert_memory_equal(ox_value_data(back), ox_value_data(expected), ox_value_get(back)->bytes);
      ox_value_release(back);
      if (run % 2) {
        ox_value_release(next), ox_value_release(expected);
        continue;
      }
      ox_value_release(there), ox_value_release(here);
      there = next, here = expected;
    }
    ox_value_release(there), ox_value_release(here);
    ep_inputs_free(&in);
    close_all(&o);
  }
}

/* ---- between instances ---- */

/* Two sessions, and a memory that has nothing to do with either: what one leaves there the other reads there. */
static void test_sessions_pass_values_on(void **state) {
  static const char *const text = G "(float[N,6] x) => (float[N,6] y) { a = Neg (x) y = Sigmoid (a) }";
  (void)state;
  for (size_t d = 0; d < OX_COUNT(devices); d++) {
    opened o;
    ep_inputs in;
    open_env(&o, &devices[d]);
    open_text(&o, text);
    ox_session *first = o.s;
    open_text(&o, text);
    ep_inputs_make(o.env, o.s, 4, &in);
    const ox_run_opts ro = {.struct_size = sizeof ro, .output_memories = &o.memory};
    ox_value *x = value_copy(o.memory, in.value[0]), *a = NULL, *y = NULL, *want[2] = {NULL};
    for (int run = 0; run < 3; run++) {
      ox_value_release(a), ox_value_release(y);
      a = y = NULL;
      forget_counts(o.on);
      CHECK_OK(ox_session_run(first, &ro, in.name, (const ox_value *const *)&x, 1, NULL, &a, 1));
      CHECK_OK(ox_session_run(o.s, &ro, in.name, (const ox_value *const *)&a, 1, NULL, &y, 1));
      for (int way = 0; way < 3; way++) assert_int_equal(o.on->copies(way), 0);
    }
    CHECK_OK(ox_session_run(first, NULL, in.name, (const ox_value *const *)in.value, 1, NULL, &want[0], 1));
    CHECK_OK(ox_session_run(o.s, NULL, in.name, (const ox_value *const *)want, 1, NULL, &want[1], 1));
    ox_session_release(first), ox_session_release(o.s);
    o.s = NULL;
    ox_value *back = value_copy(NULL, y); /* the value outlives the sessions */
    assert_memory_equal(ox_value_data(back), ox_value_data(want[1]), ox_value_get(back)->bytes);
    ox_value_release(back), ox_value_release(x), ox_value_release(a), ox_value_release(y);
    ox_value_release(want[0]), ox_value_release(want[1]);
    ep_inputs_free(&in);
    close_all(&o);
  }
}

/* ---- arenas ---- */

/* The part needs 2 KiB a row, and weights of 128 KiB. */
static const char wide[] = G
    "(float[N,64] x, float[64,512] m) => (float[N,512] y) "
    "{ h = MatMul (x, m) t = Transpose (h) s = Softmax (t) u = Transpose (s) y = Add (u, h) }";
static const char heavy[] = G
    "(float[1,4] x) => (float[1,4] y) <float[4] w = {1, 2, 3, 4}> { a = Exp (x) "
    "b = Add (a, w) c = Transpose (b) d = Softmax (c) e = Transpose (d) y = Mul (e, w) }";

static ox_status *run_rows(opened *o, int64_t rows) {
  ep_inputs in;
  ep_outputs out;
  ep_inputs_make(o->env, o->s, rows, &in);
  ox_status *st = ep_run(o->s, &in, &out);
  if (!st) ep_outputs_free(&out);
  ep_inputs_free(&in);
  return st;
}

static void test_limits_name_what_did_not_fit(void **state) {
  static const struct {
    const char *text, *limit;
    int64_t rows;
    const char *named[3]; /* parts of the message; NULL: it fits */
  } table[] = {{wide, "1000000", 16, {NULL}},
               {wide, "100000", 4, {"'m'", "131072 bytes", "the limit is 100000"}},
               {wide, "1000000", 256, {"'h'", "524288 bytes", "the limit is 1000000"}},
               {heavy, "512", 1, {"constant 'w'", "wanted 256 bytes", "the limit is 512"}}};
  (void)state;
  for (size_t d = 0; d < OX_COUNT(devices); d++)
    for (size_t i = 0; i < OX_COUNT(table); i++) {
      opened o;
      open_env(&o, &devices[d]);
      CHECK_OK(open_with(&o, table[i].text, table[i].limit, NULL));
      ox_status *st = run_rows(&o, table[i].rows);
      if (st && (!table[i].named[0] || ox_status_code(st) != OX_LIMIT))
        fail_msg("%s, %s: %s", devices[d].name, table[i].limit, ox_status_message(st));
      for (size_t k = 0; k < 3 && table[i].named[k]; k++)
        if (!st || !strstr(ox_status_message(st), table[i].named[k]))
          fail_msg("%s, %s: no %s in %s", devices[d].name, table[i].limit, table[i].named[k],
                   st ? ox_status_message(st) : "no error");
      ox_status_free(st);
      if (table[i].text == wide && table[i].rows > 4) CHECK_OK(run_rows(&o, 4)); /* others go on */
      close_all(&o);
    }
}

/* Each shape alone fits, all that are kept for do not. */
static void test_what_is_kept_makes_way(void **state) {
  (void)state;
  for (size_t d = 0; d < OX_COUNT(devices); d++) {
    opened o;
    open_env(&o, &devices[d]);
    CHECK_OK(open_with(&o, wide, "460000", NULL));
    for (int64_t turn = 0; turn < 9; turn++) CHECK_OK(run_rows(&o, 32 + turn % 3));
    close_all(&o);
  }
}

static void test_sessions_share_an_arena(void **state) {
  (void)state;
  for (size_t d = 0; d < OX_COUNT(devices); d++) {
    opened o;
    ox_session *s[2];
    ox_memory_stats all, one;
    open_env(&o, &devices[d]);
    for (int i = 0; i < 2; i++) {
      CHECK_OK(open_with(&o, wide, NULL, o.memory));
      CHECK_OK(run_rows(&o, 16));
      s[i] = o.s;
    }
    ox_memory_get_stats(o.memory, &all);
    assert_int_equal(ox_session_memory_stats(s[0], devices[d].name, NULL, &one), 1);
    assert_true(one.in_use == all.in_use && one.n_allocs == all.n_allocs && all.in_use > 0);
    (void)devices[d].allocations();
    CHECK_OK(run_rows(&o, 16));
    assert_int_equal(devices[d].allocations(), 0);
    for (int i = 0; i < 2; i++) ox_session_shrink(s[i]);
    ox_memory_get_stats(o.memory, &one);
    assert_true(one.total < all.total && one.n_shrinkages > 0 && one.max_in_use == all.max_in_use);
    CHECK_OK(run_rows(&o, 16));
    ox_session_release(s[0]);
    close_all(&o);
  }
}

/* ---- many threads ---- */

enum { CLIENTS = 4, TURNS = 6 };

typedef struct {
  opened *o; /* a session and a memory that all share */
  const ep_inputs *in;
  const ox_value *want;
  const char *failed; /* where */
} client;

static bool same_bits(const ox_value *there, const ox_value *want) {
  const ox_tensor *t = ox_value_get(want);
  ox_value *back = value_copy(NULL, there);
  bool same = ox_value_get(back)->bytes == t->bytes && memcmp(ox_value_data(back), t->data, t->bytes) == 0;
  ox_value_release(back);
  return same;
}

/* Runs the session that all share and one of its own, from and to the memory that all share. */
static void *client_main(void *arg) {
  client *c = arg;
  opened own = {.on = c->o->on, .env = c->o->env, .s = c->o->s, .memory = c->o->memory}; /* without what others count */
  const ox_run_opts ro = {.struct_size = sizeof ro, .output_memories = &c->o->memory};
  for (int turn = 0; turn < TURNS && !c->failed; turn++) {
    ox_value *x = value_copy(c->o->memory, c->in->value[0]), *y[2] = {NULL};
    ox_status *st = open_with(&own, wide, NULL, c->o->memory);
    for (int i = 0; i < 2 && !st; i++) {
      const ox_value *values[] = {x, c->in->value[1]};
      st = ox_session_run(i ? own.s : c->o->s, &ro, c->in->name, values, 2, NULL, &y[i], 1);
      if (!st && !same_bits(y[i], c->want)) c->failed = "other bits";
      if (turn % 2) ox_session_shrink(i ? own.s : c->o->s);
    }
    if (st) c->failed = "an error";
    ox_status_free(st);
    ox_memory_shrink(c->o->memory);
    if (own.s != c->o->s) ox_session_release(own.s);
    own.s = c->o->s;
    ox_value_release(x), ox_value_release(y[0]), ox_value_release(y[1]);
  }
  return NULL;
}

static void test_many_threads_share_memory_and_session(void **state) {
  (void)state;
  for (size_t d = 0; d < OX_COUNT(devices); d++) {
    opened o;
    pthread_t threads[CLIENTS];
    client clients[CLIENTS];
    ep_inputs in;
    ep_outputs want;
    open_env(&o, &devices[d]);
    CHECK_OK(open_with(&o, wide, NULL, o.memory));
    ep_inputs_make(o.env, o.s, 5, &in);
    assert_string_equal(in.name[0], "x");
    CHECK_OK(ep_run(o.s, &in, &want));
    for (int i = 0; i < CLIENTS; i++) {
      clients[i] = (client){&o, &in, want.value[0], NULL};
      assert_int_equal(pthread_create(&threads[i], NULL, client_main, &clients[i]), 0);
    }
    for (int i = 0; i < CLIENTS; i++) {
      pthread_join(threads[i], NULL);
      if (clients[i].failed) fail_msg("%s: %s", devices[d].name, clients[i].failed);
    }
    ep_outputs_free(&want), ep_inputs_free(&in);
    close_all(&o);
  }
}

static void *symbol(void *library, const char *prefix, const char *rest) {
  char name[64];
  snprintf(name, sizeof name, "%s_%s", prefix, rest);
  void *found = dlsym(library, name);
  if (!found) fail_msg("%s", dlerror());
  return found;
}

static int find_devices(void **state) {
  (void)state;
#ifdef CUDA_STANDIN
  use_standin();
#endif
  for (size_t d = 0; d < OX_COUNT(devices); d++) {
    void *library = dlopen(devices[d].counts, RTLD_NOW | RTLD_LOCAL);
    if (!library) return 1;
    *(void **)(void *)&devices[d].copies = symbol(library, devices[d].prefix, "copies");
    *(void **)(void *)&devices[d].allocations = symbol(library, devices[d].prefix, "allocations");
  }
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_only_what_differs_is_copied),
                                     cmocka_unit_test(test_results_are_fed_back),
                                     cmocka_unit_test(test_branches_of_two_shapes),
                                     cmocka_unit_test(test_sessions_pass_values_on),
                                     cmocka_unit_test(test_limits_name_what_did_not_fit),
                                     cmocka_unit_test(test_what_is_kept_makes_way),
                                     cmocka_unit_test(test_sessions_share_an_arena),
                                     cmocka_unit_test(test_many_threads_share_memory_and_session)};
  return cmocka_run_group_tests(tests, find_devices, NULL);
}
