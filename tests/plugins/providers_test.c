/* SPDX-License-Identifier: Apache-2.0
 * plugins/providers_test.c - the templates in examples/providers, loaded as a user loads them: their outputs are the
 * CPU's, they run what they say, alone and together. */
#include <stdio.h>
#include <stdbool.h>
#include <string.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/counting_alloc.h"
#include "support/ep_models.h"
#include "support/text_session.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]> "

/* Two rows of Conv, Relu, MaxPool, the second with strides and pads of all sides; an Add of equal shapes and one that
 * broadcasts; a Relu of its own; a Gemm. */
#define NET(n)                                                                                                         \
  HEAD                                                                                                                 \
      "g (float[" n ",2,12,13] x, float[3,4] unused) => (float[" n                                                     \
      ",4] y, float[A,B,C,D] p2) <float[3,2,3,3] w = {0.5, -0.25, 0.125, 1,"                                           \
      " -1, 0.75, 0.3, -0.2, 0.1, 0.5, -0.25, 0.125, 1, -1, 0.75, 0.3, -0.2, 0.1, 0.4, 0.25, -0.125, 1, 1, -0.75, "    \
      "0.3,"                                                                                                           \
      " 0.2, 0.1, 0.5, -0.25, 0.125, -1, -1, 0.75, 0.3, -0.2, 0.1, 0.5, 0.25, -0.5, 1, -1, 0.5, 0.3, 0.2, 0.1, 0.5, "  \
      "1,"                                                                                                             \
      " 0.125, 1, -1, 0.25, 0.3, -0.2, 0.6}, float[3] b = {0.1, -0.2, 0.3}, float[3,3,1,1] v = {1, 0.5, -1, 0.25, 2,"  \
      " -0.5, 1, 1, 1}, float[1,3,1,1] s = {1, 2, 3}>"                                                                 \
      "{ c = Conv <pads = [1,1,1,1]> (x, w, b) r = Relu (c) p = MaxPool <kernel_shape = [3,2], strides = [2,2]> (r)"   \
      " a = Add (p, p) e = Add (a, s) c2 = Conv <group = 1, dilations = [1,1], strides = [1,2], kernel_shape = [1,1]," \
      " pads = [2,0,1,3]> (e, v) r2 = Relu (c2) p2 = MaxPool <kernel_shape = [2,3], strides = [2,1], ceil_mode = 0,"   \
      " pads = [1,0,0,2]> (r2) q = GlobalAveragePool (p2) f = Flatten (q) y0 = Gemm (f, unused) y = Relu (y0) }"

static const char *const nets[] = {NET("3"), NET("N")};

typedef struct {
  const char *first, *second; /* plug-ins; NULL: none */
  const char *names[2];
  const char *pieces; /* nodes and who has them, in order */
} loaded;

#define ROW "Conv:compile Relu:compile MaxPool:compile "

static const loaded cases[] = {
    {KERNELS, NULL, {"kernels"}, "Relu:kernels Add:kernels Relu:kernels Relu:kernels "},
    {COMPILE, NULL, {"compile"}, ROW "Add:compile " ROW},
    {COMPILE, KERNELS, {"compile", "kernels"}, ROW "Add:compile " ROW "Relu:kernels "},
    {COMPILE, KERNELS, {"kernels", "compile"}, "Relu:kernels Add:kernels Relu:kernels Relu:kernels "},
};

static void read_placement(const ox_session *s, char *out, size_t room) {
  ox_placement p;
  *out = 0;
  for (size_t i = 0; ox_session_placement(s, i, &p); i++) {
    bool program = strcmp(p.how, "program") == 0,
         theirs = strcmp(p.owner, "kernels") == 0 || strcmp(p.owner, "compile") == 0;
    if (!theirs) continue;
    if (!program) assert_string_equal(p.how, "kernel");
    assert_int_equal(program, strcmp(p.owner, "compile") == 0 && strcmp(p.op, "Add") != 0);
    assert_int_equal(*p.part != 0, program);
    snprintf(out + strlen(out), room - strlen(out), "%s:%s ", p.op, p.owner);
  }
}

static void check(const loaded *l, const char *text, uint32_t level) {
  counting_alloc count = {.fail_at = -1};
  ox_env_opts eo = {.struct_size = sizeof eo, .alloc = counting_alloc_of(&count)};
  const ox_provider_spec specs[] = {{l->names[0], {0}}, {l->names[1], {0}}};
  ox_session_opts so;
  ox_env *env;
  ox_session *s;
  char pieces[1024];
  ox_session_opts_init(&so);
  so.providers = specs, so.n_providers = l->names[1] ? 2 : 1, so.optimize = level, so.n_threads = 2;
  CHECK_OK(ox_env_create(&eo, &env));
  CHECK_OK(ox_env_load_plugin(env, l->first));
  if (l->second) CHECK_OK(ox_env_load_plugin(env, l->second));
  CHECK_OK(text_session(env, text, &so, &s));
  read_placement(s, pieces, sizeof pieces);
  if (level == OX_OPTIMIZE_NONE && strcmp(pieces, l->pieces) != 0) fail_msg("%s have %s", l->names[0], pieces);
  assert_true(*pieces);
  for (int64_t batch = 3; batch >= 0; batch -= text == nets[0] ? 4 : 1) {
    ep_inputs in;
    ep_outputs want, got;
    ep_cpu_outputs(text, level, batch, &want);
    ep_inputs_make(env, s, batch, &in);
    for (int run = 0; run < 2; run++) {
      CHECK_OK(ep_run(s, &in, &got));
      ep_outputs_compare(l->names[0], &want, &got, 1e-5);
      ep_outputs_free(&got);
    }
    ep_outputs_free(&want);
    ep_inputs_free(&in);
  }
  ox_session_release(s);
  ox_env_release(env);
  assert_int_equal(atomic_load(&count.live), 0);
}

static void test_templates_compute_what_the_cpu_does(void **state) {
  static const uint32_t levels[] = {OX_OPTIMIZE_NONE, OX_OPTIMIZE_BASIC, OX_OPTIMIZE_ALL};
  (void)state;
  for (size_t i = 0; i < OX_COUNT(cases); i++)
    for (size_t n = 0; n < OX_COUNT(nets); n++)
      for (size_t k = 0; k < OX_COUNT(levels); k++) check(&cases[i], nets[n], levels[k]);
}

#define CONV_TO(out, conv, pool)                                             \
  HEAD "g (float[1,2,6,6] x, float[N,2,6,6] other) => (float[N,C,H,W] y" out \
       ") <float[2,2,1,1] w = {1, -1, 0.5, 2},"                              \
       " float[2,1,1,1] one = {1, -1}> { c = Conv " conv " r = Relu (c) y = MaxPool " pool " }"
#define CONV(conv, pool) CONV_TO("", conv, pool)
#define POOL "<kernel_shape = [2,2]> (r)"
#define ADD(types) HEAD "g (" types ") => (float[A,B] y) { z = Add (a, b) y = Cast <to = 1> (z) }"

/* What compile.c does not do, each beside something that it does. */
static const struct {
  const char *what, *text;
  size_t n_compiled;
} limits[] = {
    {"a row", CONV("(x, w)", POOL), 3},
    {"pads as wide as the window", CONV("<pads = [3,3,3,3]> (x, w)", "<kernel_shape = [2,2], pads = [2,1,1,2]> (r)"),
     3},
    {"pads that cut", CONV("<pads = [-1,0,0,-2]> (x, w)", POOL), 3},
    {"groups", CONV("<group = 2> (x, one)", POOL), 0},
    {"dilations of the Conv", CONV("<dilations = [1,2]> (x, w)", POOL), 0},
    {"dilations of the MaxPool", CONV("(x, w)", "<kernel_shape = [2,2], dilations = [2,1]> (r)"), 0},
    {"sizes rounded up", CONV("(x, w)", "<kernel_shape = [2,2], strides = [3,3], ceil_mode = 1> (r)"), 0},
    {"pads that follow from the shape", CONV("(x, w)", "<kernel_shape = [2,2], auto_pad = \"SAME_UPPER\"> (r)"), 0},
    {"another reader", CONV_TO(", float[N,C,H,W] r", "(x, w)", POOL), 0},
    {"a MaxPool of another value", CONV("(x, w)", "<kernel_shape = [2,2]> (other)"), 0},
    {"float16",
     HEAD "g (float16[1,1,3,3] x) => (float[N,C,H,W] y) <float16[1,1,1,1] w = {1}>"
          "{ c = Conv (x, w) r = Relu (c) p = MaxPool <kernel_shape = [2,2]> (r) y = Cast <to = 1> (p) }",
     0},
    {"one dimension",
     HEAD "g (float[1,1,6] x) => (float[N,C,W] y) <float[1,1,2] w = {1, -2}>"
          "{ c = Conv (x, w) r = Relu (c) y = MaxPool <kernel_shape = [2]> (r) }",
     0},
    {"weights of a run",
     HEAD "g (float[1,2,6,6] x, float[2,2,1,1] w) => (float[N,C,H,W] y)"
          "{ c = Conv (x, w) r = Relu (c) y = MaxPool <kernel_shape = [2,2]> (r) }",
     0},
    {"an Add", ADD("float[N,3] a, float[N,3] b"), 1},
    {"an Add of other types", ADD("int32[N,3] a, int32[N,3] b"), 0},
    {"an Add that broadcasts", ADD("float[N,3] a, float[1,3] b"), 0},
    {"an Add of other ranks", ADD("float[N,3] a, float[3] b"), 0},
    {"an Add of other symbols", ADD("float[N,3] a, float[M,3] b"), 0},
    {"an Add of unknown sizes", ADD("float[?,3] a, float[?,3] b"), 0},
    {"an Add of scalars", ADD("float a, float b"), 1},
};

static void test_what_compile_leaves_to_the_cpu(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(limits); i++) {
    const ox_provider_spec spec = {"compile", {0}};
    ox_session_opts so;
    ox_env *env;
    ox_session *s;
    ox_placement p;
    ep_inputs in;
    ep_outputs want, got;
    size_t n = 0;
    ox_session_opts_init(&so);
    so.providers = &spec, so.n_providers = 1, so.optimize = OX_OPTIMIZE_NONE;
    CHECK_OK(ox_env_create(NULL, &env));
    CHECK_OK(ox_env_load_plugin(env, COMPILE));
    CHECK_OK(text_session(env, limits[i].text, &so, &s));
    for (size_t k = 0; ox_session_placement(s, k, &p); k++) n += strcmp(p.owner, "compile") == 0;
    if (n != limits[i].n_compiled) fail_msg("%s: compile has %zu nodes", limits[i].what, n);
    ep_inputs_make(env, s, 1, &in);
    CHECK_OK(ep_run(s, &in, &got));
    ep_cpu_outputs(limits[i].text, OX_OPTIMIZE_NONE, 1, &want);
    ep_outputs_compare(limits[i].what, &want, &got, 1e-5);
    ep_outputs_free(&want), ep_outputs_free(&got);
    ep_inputs_free(&in);
    ox_session_release(s);
    ox_env_release(env);
  }
}

/* Every one of the other models, whether there is something for them in it or not. */
static void test_templates_leave_other_models_alone(void **state) {
  (void)state;
  for (size_t i = 0; i < n_ep_models; i++) {
    const ox_provider_spec specs[] = {{"compile", {0}}, {"kernels", {0}}};
    ox_session_opts so;
    ox_env *env;
    ox_session *s;
    ep_inputs in;
    ep_outputs want, got;
    ox_session_opts_init(&so);
    so.providers = specs, so.n_providers = 2;
    CHECK_OK(ox_env_create(NULL, &env));
    CHECK_OK(ox_env_load_plugin(env, COMPILE));
    CHECK_OK(ox_env_load_plugin(env, KERNELS));
    CHECK_OK(text_session(env, ep_models[i].text, &so, &s));
    ep_inputs_make(env, s, 3, &in);
    CHECK_OK(ep_run(s, &in, &got));
    ep_cpu_outputs(ep_models[i].text, OX_OPTIMIZE_ALL, 3, &want);
    ep_outputs_compare(ep_models[i].name, &want, &got, 1e-5);
    ep_outputs_free(&want), ep_outputs_free(&got);
    ep_inputs_free(&in);
    ox_session_release(s);
    ox_env_release(env);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_templates_compute_what_the_cpu_does),
                                     cmocka_unit_test(test_what_compile_leaves_to_the_cpu),
                                     cmocka_unit_test(test_templates_leave_other_models_alone)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
