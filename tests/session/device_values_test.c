/* SPDX-License-Identifier: Apache-2.0
 * session/device_values_test.c - inputs and outputs of runs in memories of devices: results are those of the host, and
 * nothing is copied that need not be. Each case runs with every mix of places, twice in one session. */
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "onyx/onyx.h"
#include "support/check.h"
#include "support/device_ep.h"
#include "support/device_memory.h"
#include "support/ep_models.h"
#include "support/ep_watch.h"
#include "support/text_session.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]> "

static const struct {
  const char *name, *ops; /* what the device takes; NULL: all */
  const char *text;
  /* copies in a run with everything on the device: to it, back, within */
  long to, back, within;
} cases[] = {
    {"all on the device", NULL, HEAD "g (float[2,3] x) => (float[2,3] y) { a = Abs (x) b = Neg (a) y = Exp (b) }", 0, 0,
     0},
    {"in place at the end", NULL, HEAD "g (float[6] x) => (float[6] y) { a = Exp (x) y = Neg (a) }", 0, 0, 0},
    {"a view of the result", NULL,
     HEAD "g (float[2,3] x) => (float[6] y) <int64[1] s = {6}> { a = Exp (x) y = Reshape (a, s) }", 0, 0, 1},
    {"the result is read on", NULL, HEAD "g (float[6] x) => (float[6] a, float[6] y) { a = Exp (x) y = Neg (a) }", 0, 0,
     0},
    {"the result is read on the host", "Exp",
     HEAD "g (float[6] x) => (float[6] a, float[6] y) { a = Exp (x) y = Neg (a) }", 1, 1, 0},
    {"the input is read on the host, too", "Exp",
     HEAD "g (float[6] x) => (float[6] a, float[6] y) { a = Exp (x) y = Neg (x) }", 1, 1, 0},
    {"only the host reads", "Sin", HEAD "g (float[6] x) => (float[6] y) { y = Neg (x) }", 1, 1, 0},
    {"an unknown shape", NULL,
     HEAD "g (float[6] x) => (float[k,n] y) { a = Abs (x) i = NonZero (a) f = Cast <to = 1> (i) y = Exp (f) }", 0, 0,
     0},
    {"the input is the result", NULL,
     HEAD "g (float[6] x) => (float[6] y, float[6] z) { z = Neg (x) y = Identity (x) }", 1, 1, 0},
    {"nothing in it", NULL, HEAD "g (float[0,3] x) => (float[0,3] y) { y = Neg (x) }", 0, 0, 0},
    {"a symbolic dimension", NULL, HEAD "g (float[N] x) => (float[N] y) { y = Neg (x) }", 0, 0, 0},
    {"through a body", "Neg|Exp",
     HEAD
     "g (float[2] x) => (float[2] y) <bool c = {1}> { a = Neg (x) y = If <then_branch = t () => (float[2] p) { p = "
     "Exp (a) }, else_branch = e () => (float[2] q) { q = Identity (a) }> (c) }",
     0, 0, 1},
    {"a branch reads the input, where it lies", "Neg|Exp",
     HEAD "g (float[2] x) => (float[2] y) <bool c = {1}> { y = If <then_branch = t () => (float[2] p) { p = Exp (x) }, "
          "else_branch = e () => (float[2] q) { q = Neg (x) }> (c) }",
     0, 0, 1},
    {"branches disagree", "Neg|Exp",
     HEAD
     "g (float[2] x) => (float[2] y) <bool c = {1}> { a = Neg (x) y = If <then_branch = t () => (float[2] p) { p = "
     "Exp (a) }, else_branch = e () => (float[2] q) { q = Abs (a) }> (c) }",
     1, 1, 0},
    {"what a branch makes is read on", "Neg|Exp",
     HEAD
     "g (float[2] x) => (float[2] y) <bool c = {0}> { a = Neg (x) b = If <then_branch = t () => (float[2] p) { p = "
     "Exp (a) }, else_branch = e () => (float[2] q) { q = Exp (x) }> (c) y = Neg (b) }",
     0, 0, 0},
    {"a branch in a branch", "Neg|Exp",
     HEAD
     "g (float[2] x) => (float[2] y) <bool c = {1}> { a = Neg (x) b = If <then_branch = t () => (float[2] p) { d = Exp "
     "(a) p = If <then_branch = u () => (float[2] r) { r = Neg (d) }, else_branch = w () => (float[2] z) { z = Exp (a) "
     "}> (c) }, else_branch = e () => (float[2] q) { q = Exp (x) }> (c) y = Neg (b) }",
     0, 0, 0},
    {"the value of a branch is read on the host, too", "Neg|Exp",
     HEAD "g (float[2] x) => (float[2] y, float[2] z) <bool c = {1}> { a = Neg (x) z = Abs (a) y = If <then_branch = t "
          "() => (float[2] p) { p = Exp (a) }, else_branch = e () => (float[2] q) { q = Neg (a) }> (c) }",
     1, 1, 1},
    {"two outputs of a branch are one", "Neg|Exp",
     HEAD "g (float[2] x) => (float[2] y, float[2] z) <bool c = {1}> { y, z = If <then_branch = t () => (float[2] p, "
          "float[2] p) { p = Exp (x) }, else_branch = e () => (float[2] q, float[2] r) { q = Neg (x) r = Abs (x) }> "
          "(c) }",
     2, 2, 0},
    {"a loop reads the input, where it lies", "Neg|Exp",
     HEAD
     "g (float[2] x) => (float[2] y) <int64 n = {3}, bool c = {1}, float[2] k = {1, 2}> { y = Loop <body = b (int64 i, "
     "bool d, float[2] s) => (bool e, float[2] t) { e = Identity (d) m = Exp (x) t = Add (s, m) }> (n, c, k) }",
     1, 3, 0},
};

typedef struct {
  ox_env *env;
  ox_session *s;
  ox_memory *memory;
  ep_inputs in;
  ep_outputs want;
} opened;

static void open_case(opened *o, size_t i, const char *provider) {
  const ox_ep_api *const all[] = {device_ep(), device_ep_other(), device_ep_plain()};
  const char *keys[] = {"no_bodies", "ops"}, *values[] = {"1", cases[i].ops};
  const ox_provider_spec spec = {provider, {cases[i].ops ? 2 : 1, keys, values}}, place = {provider, {0}};
  ox_session_opts so;
  ox_session_opts_init(&so);
  so.optimize = OX_OPTIMIZE_NONE, so.providers = &spec, so.n_providers = 1;
  CHECK_OK(ox_env_create(NULL, &o->env));
  for (size_t k = 0; k < OX_COUNT(all); k++) CHECK_OK(ox_env_add_provider(o->env, all[k]));
  CHECK_OK(text_session(o->env, cases[i].text, &so, &o->s));
  CHECK_OK(ox_memory_open(o->env, &place, NULL, &o->memory));
  ep_inputs_make(o->env, o->s, 3, &o->in);
  ep_cpu_outputs(cases[i].text, OX_OPTIMIZE_NONE, 3, &o->want);
}

static void close_case(opened *o) {
  ep_inputs_free(&o->in);
  ep_outputs_free(&o->want);
  ox_memory_release(o->memory);
  ox_session_release(o->s);
  ox_env_release(o->env);
  assert_int_equal(atomic_load(&ep_watch.live), 0);
}

enum { ON_HOST, MADE_THERE, GIVEN, N_PLACES };

static void clear_counts(void) {
  device_counts.constants = device_counts.to_device = device_counts.to_host = device_counts.within = 0;
}

/* One run, and its outputs compared. The copies are those of the run alone. */
static void run_mixed(opened *o, const char *name, bool in_there, int place, bool count, const long *want_copies) {
  ox_value *in[EP_MOST_VALUES], *out[EP_MOST_VALUES] = {NULL};
  ox_memory *memories[EP_MOST_VALUES];
  ep_outputs got = {.n = o->want.n};
  char label[128];
  snprintf(label, sizeof label, "%s: input %d, output %d", name, in_there, place);
  for (size_t i = 0; i < o->in.n; i++)
    in[i] = in_there ? value_copy(o->memory, o->in.value[i]) : ox_value_retain(o->in.value[i]);
  for (size_t i = 0; i < o->want.n; i++) {
    memories[i] = place == MADE_THERE ? o->memory : NULL;
    if (place == GIVEN) out[i] = value_like(o->memory, o->want.value[i]);
  }
  const ox_run_opts ro = {.struct_size = sizeof ro, .output_memories = memories};
  clear_counts();
  ox_status *st = ox_session_run(o->s, &ro, o->in.name, (const ox_value *const *)in, o->in.n, NULL, out, o->want.n);
  if (st) fail_msg("%s: %s", label, ox_status_message(st));
  long to = device_counts.to_device + device_counts.constants, back = device_counts.to_host;
  if (count && (to != want_copies[0] || back != want_copies[1] || device_counts.within != want_copies[2]))
    fail_msg("%s: %ld copies to the device, %ld back, %ld within", label, to, back, (long)device_counts.within);
  for (size_t i = 0; i < o->want.n; i++) {
    if (place == ON_HOST)
      assert_null(ox_value_memory(out[i]));
    else
      assert_ptr_equal(ox_value_memory(out[i]), o->memory);
    const ox_tensor *t = ox_value_get(out[i]);
    assert_true(place == ON_HOST || !t->bytes || device_memory_holds(t->data));
    CHECK_OK(ox_value_create(o->env, t->dtype, t->shape.dim, (size_t)t->shape.rank, &got.value[i]));
    CHECK_OK(ox_value_copy_to(out[i], got.value[i]));
  }
  ep_outputs_compare(label, &o->want, &got, 0);
  for (size_t i = 0; i < o->in.n; i++) {
    ox_value *again = in_there ? value_like(NULL, in[i]) : NULL; /* a run leaves its inputs alone */
    if (again) CHECK_OK(ox_value_copy_to(in[i], again));
    if (again) assert_memory_equal(ox_value_data(again), ox_value_data(o->in.value[i]), ox_value_get(again)->bytes);
    ox_value_release(again);
    ox_value_release(in[i]);
  }
  for (size_t i = 0; i < o->want.n; i++) ox_value_release(out[i]);
  ep_outputs_free(&got);
}

static void test_every_mix_of_places(void **state) {
  (void)state;
  static const char *const providers[] = {"device", "plain", "other"};
  for (size_t i = 0; i < OX_COUNT(cases); i++)
    for (size_t p = 0; p < OX_COUNT(providers); p++) {
      opened o;
      open_case(&o, i, providers[p]);
      for (int turn = 0; turn < 2; turn++)
        for (int mix = 0; mix < 2 * N_PLACES; mix++) {
          bool all = mix / N_PLACES == 1 && mix % N_PLACES != ON_HOST;
          long want[] = {cases[i].to, cases[i].back, cases[i].within};
          run_mixed(&o, cases[i].name, mix / N_PLACES == 1, mix % N_PLACES, all && p == 0, want);
        }
      close_case(&o);
    }
}

static void test_wrong_ones(void **state) {
  (void)state;
  opened o;
  ox_memory *none;
  ox_value *v, *w;
  open_case(&o, 0, "device");
  const ox_provider_spec cpu = {"cpu", {0}}, nobody = {"nobody", {0}}, device = {"device", {0}};
  CHECK_FAILS(ox_memory_open(o.env, &cpu, NULL, &none), OX_INVALID_ARGUMENT, "'cpu' has no memory of its own");
  CHECK_FAILS(ox_memory_open(o.env, &nobody, NULL, &none), OX_INVALID_ARGUMENT, "nobody");
  CHECK_FAILS(ox_memory_open(o.env, &device, "there", &none), OX_INVALID_ARGUMENT, "no memory 'there'");
  CHECK_FAILS(ox_value_create_in(o.memory, OX_STRING, NULL, 0, &v), OX_INVALID_ARGUMENT, "strings");
  CHECK_FAILS(ox_value_create_in(o.memory, OX_F32, (int64_t[]){1 << 30}, 1, &v), OX_OUT_OF_MEMORY,
              "4294967296 bytes of its memory 'far'");
  CHECK_OK(ox_value_create_in(o.memory, OX_F32, (int64_t[]){7}, 1, &v));
  CHECK_OK(ox_value_create(o.env, OX_F32, (int64_t[]){6}, 1, &w));
  CHECK_FAILS(ox_value_copy_to(v, w), OX_INVALID_ARGUMENT, "one tensor");
  CHECK_FAILS(ox_session_run(o.s, NULL, o.in.name, (const ox_value *const *)o.in.value, 1, NULL, &v, 1),
              OX_SHAPE_MISMATCH, "output 'y': the given value is float32[7], the result float32[2,3]");
  CHECK_FAILS(ox_session_run(o.s, NULL, o.in.name, (const ox_value *const *)&v, 1, NULL, &w, 1), OX_SHAPE_MISMATCH,
              "input 'x'");
  CHECK_FAILS(ox_value_serialize(v, "v", NULL, NULL), OX_INVALID_ARGUMENT, "device");
  ox_value_release(v), ox_value_release(w);
  close_case(&o);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_mix_of_places), cmocka_unit_test(test_wrong_ones)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
