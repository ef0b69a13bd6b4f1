/* SPDX-License-Identifier: Apache-2.0
 * abi/plugin_1_0_test.c - a plug-in that was compiled against 1.0 loads and runs, and what it knows of the structs
 * still lies where it was. */
#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/counting_alloc.h"
#include "support/ep_models.h"
#include "support/text_session.h"

/* The layout of today. */
typedef struct {
  const char *name;
  size_t offset;
} row;

static const row today[] = {
#define STRUCT(s) {#s, sizeof(s)},
#define MEMBER(s, m) {#s "." #m, offsetof(s, m)},
#include "abi/ep_1_0.inc"
    {NULL, 0}};

/* These do not carry their size: they cannot grow. */
static const char *const fixed[] = {"ox_shape",  "ox_str",     "ox_tensor",   "ox_alloc",
                                    "ox_kernel", "ox_options", "ox_attr_view"};

static void test_members_are_where_they_were(void **state) {
  void *lib = dlopen(ABI_1_0_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  (void)state;
  assert_non_null(lib);
  const row *then = dlsym(lib, "abi_1_0_rows");
  assert_non_null(then);
  size_t n = 0;
  for (; then[n].name; n++) {
    bool whole = !strchr(then[n].name, '.'), same = then[n].offset == today[n].offset;
    assert_string_equal(then[n].name, today[n].name);
    if (whole) {
      bool is_fixed = false;
      for (size_t i = 0; i < OX_COUNT(fixed); i++) is_fixed |= strcmp(fixed[i], then[n].name) == 0;
      same = is_fixed ? same : then[n].offset <= today[n].offset;
    }
    if (!same) fail_msg("%s: %zu in 1.0, %zu now", then[n].name, then[n].offset, today[n].offset);
  }
  assert_null(today[n].name);
  assert_true(n > 90);
  dlclose(lib);
}

static const char *const text =
    "<ir_version: 8, opset_import: [\"\" : 17]> g (float[N,100] x) => (float[N,100] y, float[M] z) <float zero = {0}> "
    "{ a = Neg (x) b = Abs (a) c = Sqrt (b) d = Sqrt (c) e = Relu (d) y = Neg (e) "
    "k = Greater (x, zero) i = NonZero (k) t = Transpose (i) v = GatherND (x, t) z = Sqrt (v) }";

typedef struct {
  counting_alloc count;
  ox_env *env;
  ox_session *s;
} opened;

static void open_first(opened *o, const ox_options *options) {
  const ox_provider_spec spec = {"first", *options};
  ox_session_opts so;
  *o = (opened){.count.fail_at = -1};
  ox_env_opts eo = {.struct_size = sizeof eo, .alloc = counting_alloc_of(&o->count)};
  ox_session_opts_init(&so);
  so.optimize = OX_OPTIMIZE_NONE, so.providers = &spec, so.n_providers = 1, so.n_threads = 2;
  CHECK_OK(ox_env_create(&eo, &o->env));
  CHECK_OK(ox_env_load_plugin(o->env, ABI_1_0_PLUGIN));
  CHECK_OK(text_session(o->env, text, &so, &o->s));
}

static void close_first(opened *o) {
  ox_session_release(o->s);
  ox_env_release(o->env);
  assert_int_equal(atomic_load(&o->count.live), 0);
}

static void test_it_runs(void **state) {
  opened o;
  ox_placement p;
  size_t kernels = 0, programs = 0;
  (void)state;
  open_first(&o, &(ox_options){0, NULL, NULL});
  for (size_t i = 0; ox_session_placement(o.s, i, &p); i++) {
    if (strcmp(p.owner, "first") != 0) continue;
    kernels += strcmp(p.how, "kernel") == 0, programs += strcmp(p.how, "program") == 0;
  }
  assert_int_equal(kernels, 2);
  assert_int_equal(programs, 4);
  for (int64_t batch = 0; batch < 40; batch += 13) {
    ep_inputs in;
    ep_outputs want, got;
    ep_cpu_outputs(text, OX_OPTIMIZE_NONE, batch, &want);
    ep_inputs_make(o.env, o.s, batch, &in);
    CHECK_OK(ep_run(o.s, &in, &got));
    ep_outputs_compare("1.0", &want, &got, 1e-6);
    ep_outputs_free(&got), ep_outputs_free(&want);
    ep_inputs_free(&in);
  }
  close_first(&o);
}

/* 1.0 declares no options: the host passes on what there is. */
static void test_its_errors_arrive(void **state) {
  const char *keys[] = {"fail", "unknown"}, *values[] = {"1", "x"};
  opened o;
  ep_inputs in;
  ep_outputs out;
  (void)state;
  open_first(&o, &(ox_options){2, keys, values});
  ep_inputs_make(o.env, o.s, 2, &in);
  CHECK_FAILS(ep_run(o.s, &in, &out), OX_FAIL, "provider 'first': told to fail by 1.0");
  ep_inputs_free(&in);
  close_first(&o);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_members_are_where_they_were), cmocka_unit_test(test_it_runs),
                                     cmocka_unit_test(test_its_errors_arrive)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
