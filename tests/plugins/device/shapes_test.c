/* SPDX-License-Identifier: Apache-2.0
 * plugins/device/shapes_test.c - shape arithmetic in parts, on the stand-in for a GPU beside the CPU provider: the host
 * computes it, so that one program remains, whatever the shapes are. GPU_PLUGIN is the provider, CUDA_STANDIN the
 * library in the place of NVIDIA's. */
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "plugins/device/use_standin.h"
#include "support/check.h"
#include "support/ep_models.h"
#include "support/text_session.h"

#define G "<ir_version: 10, opset_import: [\"\" : 18]> g "
/* |a| and |r| lie on the device; |s| is the shape of |a|, [N, 3, 4]. */
#define X G "(float[N,3,4] x) => "
#define A "a = Relu (x) s = Shape (a) r = Neg (a) "
#define CONSTANTS                                                                                                     \
  "<int64 zero = {0}, int64 one = {1}, int64 two = {2}, int64[1] at0 = {0}, int64[1] at1 = {1}, int64[1] at2 = {2}, " \
  "int64[1] far = {99}, int64[1] none = {-1}, int64[2] outer = {0, 1}, int64[2] ends = {2, 0}, int64[3] thrice = "    \
  "{2, 1, 3}>"
#define BODY(text) CONSTANTS " { " A text " }"

static const struct {
  const char *name, *text;
  int programs, of_cpu; /* nodes */
} rows[] = {
    {"Reshape to a joined axis",
     X "(float[M,4] y) " BODY("n = Gather (s, zero) c = Gather (s, one) m = Mul (n, c) u = Unsqueeze (m, at0) "
                              "t = Concat <axis = 0> (u, none) y = Reshape (r, t)"),
     1, 0},
    {"Reshape by a list that is cut, added and divided",
     X "(float[M,P,Q] y) " BODY("p = Slice (s, at0, at2) q = Slice (s, at2, far) b = Add (p, at1) d = Sub (b, at1) "
                                "e = Mul (q, at2) f = Div (e, at2) t = Concat <axis = 0> (d, f) y = Reshape (r, t)"),
     1, 0},
    {"lists that are taken apart, turned around and joined",
     X "(float[P,Q] y) " BODY("g = Gather (s, ends) l = Slice (g, at0, at1) k = Squeeze (l, at0) w = Reshape (k, none) "
                              "i = Identity (w) t = Concat <axis = 0> (i, none) y = Reshape (r, t)"),
     1, 0},
    {"types that go to and fro",
     X "(float[P] y) " BODY("n = Size (a) j = Cast <to = 6> (n) k = Cast <to = 7> (j) "
                            "t = Unsqueeze (k, at0) y = Reshape (r, t)"),
     1, 0},
    {"Expand", X "(float[N,3,4] y) " BODY("e = ReduceMean (r, at2) y = Expand (e, s)"), 1, 0},
    {"Tile", X "(float[A,B,C] y) " BODY("h = Div (s, s) t = Mul (h, thrice) y = Tile (r, t)"), 1, 0},
    {"Slice", X "(float[N,3,B] y) " BODY("e = Gather (s, at1) y = Slice (r, at1, e, at2)"), 1, 0},
    {"Split",
     X "(float[N,1,4] y, float[N,2,4] z) " BODY("c = Gather (s, at1) d = Sub (c, at1) k = Concat <axis = 0> "
                                                "(at1, d) y, z = Split <axis = 1> (r, k)"),
     1, 0},
    {"Pad", X "(float[A,B,C] y) " BODY("p = Sub (s, s) q = Add (p, at1) k = Concat <axis = 0> (p, q) y = Pad (r, k)"),
     1, 0},
    {"ConstantOfShape and Range",
     X "(float[N,3,4] y, float[N,3,C] z) " BODY("o = ConstantOfShape (s) y = Add (r, o) n = Gather (s, one) "
                                                "i = Range (zero, n, two) z = Gather <axis = 2> (r, i)"),
     1, 0},
    {"numbers that kernels read",
     X "(float[N,3,4] y) " BODY("n = Gather (s, one) f = Cast <to = 1> (n) q = Sqrt (f) y = Div (r, q)"), 1, 0},
    {"numbers that leave, with those of the device",
     X "(float[N,3,4] y, int64[3] s, int64[1] t) " BODY("y = Exp (r) n = Gather (s, at0) t = Add (n, at2)"), 1, 0},
    {"numbers that the CPU goes on with", X "(float[N,3,4] y, int64[3] t) " BODY("y = Exp (r) t = Max (s, far)"), 1, 1},
    {"a reader of a shape is none that a tail waits for",
     X "(float[N,3,4] y, int64[3] t) <int64[1] at0 = {0}> { a = Relu (x) s = Shape (a) t = Add (s, at0) y = Neg (a) }",
     1, 0},
    {"a shape that the caller gives",
     G "(float[N,3,4] x, int64[2] to) => (float[A,B] y) { a = Relu (x) b = Reshape (a, to) y = Neg (b) }", 1, 0},
    {"bounds that the caller gives, of an output of the same shape",
     G "(float[N,3,4] x, int64[1] from) => (float[N,3,2] y) <int64[1] two = {2}, int64[1] at2 = {2}> "
       "{ a = Relu (x) e = Add (from, two) b = Slice (a, from, e, at2) y = Neg (b) }",
     1, 1},
    {"Resize by scales, to sizes that are rounded",
     G "(float[N,3,4] x) => (float[N,P,Q] y, float[N,R,T] z) <float[3] s = {1, 1.5, 0.6}> "
       "{ y = Resize <mode = \"linear\", coordinate_transformation_mode = \"align_corners\"> (x, , s) "
       "z = Resize <mode = \"nearest\", coordinate_transformation_mode = \"align_corners\"> (x, , s) }",
     2, 0},
    {"MaxUnpool",
     G "(float[N,3,4] x) => (float[N,3,8] y) { b, i = MaxPool <kernel_shape = [1]> (x) c = Neg (b) "
       "y = MaxUnpool <kernel_shape = [2], strides = [2]> (c, i) }",
     1, 0},
    {"what the CPU has of its own",
     G "(float[N,3,4] x) => (float[A,4] y) <int64[1] none = {-1}, int64[1] at2 = {2}, "
       "int64[1] far = {99}> { s = Shape (x) l = Slice (s, at2, far) t = Concat <axis = 0> (none, l) a = Relu (x) "
       "b = Reshape (a, t) y = Neg (b) }",
     1, 3},
    {"branches of views alone, of two shapes",
     G "(float[N,3,4] x) => (float[P,Q] y) <int64 zero = {0}, int64 two = {2}, int64[2] t = {-1, 4}> { a = Relu (x) s "
       "= Shape (a) n = Gather (s, zero) w = Equal (n, two) b = If <then_branch = t () => (float[P,Q] p) { p = Flatten "
       "(a) }, else_branch = e () => (float[P,Q] q) { q = Reshape (a, t) }> (w) y = Neg (b) }",
     2, 1},
    {"a recurrent cell of what comes in two ranks",
     G
     "(float[N,3,4] x) => (float[1,3,1] y) <int64 zero = {0}, float[1,4,4] w = {0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,"
     "-0.1,-0.2,-0.3,-0.4,-0.5,-0.6,-0.7,-0.8}, float[1,4,1] r = {0.5,-0.5,0.25,-0.25}> { a = Relu (x) s = Shape (a) "
     "n = Gather (s, zero) c = GreaterOrEqual (n, zero) b = If <then_branch = t () => (float[N,3,4] p) { p = Identity "
     "(a) }, else_branch = e () => (float[N,12] q) { q = Flatten (a) }> (c) l, y = LSTM <hidden_size = 1> (b, w, r) "
     "}",
     2, 1},
};

static void check_owners(size_t i, const ox_session *s) {
  ox_placement at;
  int programs = 0, of_cpu = 0;
  char part[128] = "";
  for (size_t k = 0; ox_session_placement(s, k, &at); k++) {
    programs += *at.part && strcmp(at.part, part) != 0;
    of_cpu += strcmp(at.owner, "cpu") == 0;
    snprintf(part, sizeof part, "%s", at.part);
  }
  if (programs != rows[i].programs || of_cpu != rows[i].of_cpu)
    fail_msg("%s: %d programs and %d nodes of the CPU", rows[i].name, programs, of_cpu);
}

/* What a run is given: a batch, and the integers of inputs, which fit a tensor of [batch, 3, 4]. */
static const struct {
  int64_t batch, to[2];
} runs[] = {{2, {6, 4}}, {2, {6, 4}}, {2, {6, 4}}, {5, {0, 12}}, {1, {2, 6}}, {1, {1, 12}}, {0, {0, 4}}, {2, {1, -1}}};

static void make_inputs(ox_env *env, ox_session *s, size_t run, ep_inputs *out) {
  ep_inputs_make(env, s, runs[run].batch, out);
  for (size_t i = 0; i < out->n; i++) {
    const ox_tensor *t = ox_value_get(out->value[i]);
    int64_t one[1] = {runs[run].to[0] % 3};
    if (t->dtype == OX_I64) memcpy(t->data, t->bytes == sizeof one ? one : runs[run].to, t->bytes);
  }
}

static void test_one_program(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    const ox_provider_spec spec = {"cuda", {0}};
    ox_session_opts so, plain;
    ox_env *env;
    ox_session *s, *cpu;
    ep_outputs want, got;
    ep_inputs in;
    ox_session_opts_init(&so), ox_session_opts_init(&plain);
    so.n_threads = plain.n_threads = 1, so.providers = &spec, so.n_providers = 1;
    plain.optimize = so.optimize = OX_OPTIMIZE_NONE;
    CHECK_OK(ox_env_create(NULL, &env));
    CHECK_OK(ox_env_load_plugin(env, GPU_PLUGIN));
    ox_status *st = text_session(env, rows[i].text, &so, &s);
    if (st) fail_msg("%s: %s", rows[i].name, ox_status_message(st));
    CHECK_OK(text_session(env, rows[i].text, &plain, &cpu));
    check_owners(i, s);
    for (size_t run = 0; run < OX_COUNT(runs); run++) { /* the third is a record */
      char what[160];
      snprintf(what, sizeof what, "%s, run %zu", rows[i].name, run);
      make_inputs(env, s, run, &in);
      CHECK_OK(ep_run(cpu, &in, &want));
      st = ep_run(s, &in, &got);
      if (st) fail_msg("%s: %s", what, ox_status_message(st));
      ep_outputs_compare(what, &want, &got, 1e-6);
      ep_outputs_free(&want), ep_outputs_free(&got), ep_inputs_free(&in);
    }
    ox_session_release(s), ox_session_release(cpu);
    ox_env_release(env);
  }
}

int main(void) {
#ifndef GPU_PLUGIN
  puts("skipped: there is no provider");
  return 0;
#else
  use_standin();
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_program)};
  return cmocka_run_group_tests(tests, NULL, NULL);
#endif
}
