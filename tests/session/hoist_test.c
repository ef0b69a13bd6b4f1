/* SPDX-License-Identifier: Apache-2.0
 * session/hoist_test.c - products of rows that loops take one by one move in front of them: how many nodes move, and
 * that the results are those of the model as it is written, for no, one and all steps. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "graph/shape.h"
#include "support/check.h"
#include "support/text_session.h"

enum { STEPS = 5, MOST_OUT = 2 };

/* x: STEPS rows of [2,32]; w, k: constant weights of [32,32] and [64,32]; h0: a state of zeros. */
#define MODEL(x_type, outs, nodes)                                                                                    \
  "<ir_version: 10, opset_import: [\"\" : 21]> g (" x_type " x, int64 n) => (" outs                                   \
  ") <bool go = {1}, int64 zero = {0}, "                                                                              \
  "int64 one = {1}, int64 last = {4}, int64[1] ax0 = {0}, float from = {0}, float to = {2048}, float by = {1}, "      \
  "int64[2] ks = {64, 32}, int64[2] ws = {32, 32}, int64[1] bs = {32}, int64[2] hs = {2, 32}, int64[1] b0 = {0}, "    \
  "int64[1] b1 = {32}, int64[1] b2 = {64}> { ra = Range (from, to, by) si = Sin (ra) k = Reshape (si, ks) w = Slice " \
  "(k, b0, b1, ax0) w2 = Slice (k, b1, b2, ax0) c = Cos (ra) bias = Slice (c, b0, b1, ax0) h0 = ConstantOfShape "     \
  "(hs) " nodes " }"
#define X "float[5,2,32]"
#define YH "float[A,B] y, float[N,C,D] s"
#define BODY "body = b (int64 i, bool c0, float[2,32] h) => (bool c0, float[2,32] u, float[2,32] v) "
#define LOOP(body) "y, s = Loop (n, go, h0) <" BODY "{ " body " v = Identity (u) }>"
#define STATE "q = MatMul (h, w2) t = Add (p, q) u = Tanh (t) "

typedef struct {
  const char *name, *text;
  uint64_t moved;
  uint32_t n_out;
} row;

static const row rows[] = {
    {"by the iteration", MODEL(X, YH, LOOP("e = Gather (x, i) p = MatMul (e, w) " STATE)), 1, 2},
    {"along the second axis", MODEL("float[2,5,32]", YH, LOOP("e = Gather <axis = 1> (x, i) p = MatMul (e, w) " STATE)),
     1, 2},
    {"backwards", MODEL(X, YH, LOOP("j = Sub (last, i) e = Gather (x, j) p = MatMul (e, w) " STATE)), 1, 2},
    {"by a Slice, and squeezed",
     MODEL(X, YH,
           LOOP("j = Add (i, one) f = Unsqueeze (i, ax0) g0 = Unsqueeze (j, ax0) e0 = Slice (x, f, g0, ax0) e = "
                "Squeeze (e0, ax0) p = MatMul (e, w) " STATE)),
     1, 2},
    {"Gemm, transposed, with a bias", MODEL(X, YH, LOOP("e = Gather (x, i) p = Gemm <transB = 1> (e, w, bias) " STATE)),
     1, 2},
    {"Gemm with a factor", MODEL(X, YH, LOOP("e = Gather (x, i) p = Gemm <alpha = 2.0> (e, w, bias) " STATE)), 0, 2},
    {"with a bias, and what comes in front",
     MODEL(X, YH, LOOP("e = Gather (x, i) f = MatMul (e, w) m = Add (bias, f) o = Relu (m) p = MatMul (o, w) " STATE)),
     4, 2},
    {"no product behind it", MODEL(X, YH, LOOP("e = Gather (x, i) m = Add (e, bias) p = Relu (m) " STATE)), 0, 2},
    {"the row beside the state",
     MODEL(X, YH, LOOP("e = Gather (x, i) j = Concat <axis = 1> (e, h) t = MatMul (j, k) u = Tanh (t) ")), 2, 2},
    {"the state beside the row",
     MODEL(X, YH, LOOP("e = Gather (x, i) j = Concat <axis = -1> (h, e) t = MatMul (j, k) u = Tanh (t) ")), 2, 2},
    {"the row is read as it is, too", MODEL(X, YH, LOOP("e = Gather (x, i) p0 = MatMul (e, w) p = Add (p0, e) " STATE)),
     1, 2},
    {"out of a list of rows",
     MODEL(X, YH,
           "l = SplitToSequence <axis = 0, keepdims = 0> (x) " LOOP("e = SequenceAt (l, i) p = MatMul (e, w) " STATE)),
     2, 2},
    {"out of a list of columns, by what the state says",
     MODEL("float[2,5,32]", YH,
           "l = SplitToSequence <axis = -2, keepdims = 0> (x) " LOOP(
               "a = ReduceMean <keepdims = 0> (h) j0 = Abs (a) j = Cast <to = 7> (j0) e = SequenceAt (l, j) p = "
               "MatMul (e, w) " STATE)),
     1, 2},
    {"out of a list of pieces",
     MODEL(X, YH,
           "l = SplitToSequence <axis = 0> (x) " LOOP(
               "e0 = SequenceAt (l, i) e = Squeeze (e0, ax0) p = MatMul (e, w) " STATE)),
     0, 2},
    {"rows that are constant",
     MODEL(X, YH,
           "b5 = Constant <value = int64[1] {5}> () ct = Slice (k, b0, b5, ax0) " LOOP(
               "e = Gather (ct, i) p = MatMul (e, w) " STATE)),
     1, 2},
    {"weights that a run makes",
     MODEL(X, YH,
           "m = ReduceMax <keepdims = 0> (x) wv = Mul (w, m) " LOOP("e = Gather (x, i) p = MatMul (e, wv) " STATE)),
     1, 2},
    {"weights that the body makes",
     MODEL(X, YH,
           LOOP("wv = Add (w, w2) wh = MatMul (h, wv) e = Gather (x, i) wc = Concat "
                "<axis = 0> (h, wv) wd = Slice (wc, b0, bs, ax0) p0 = MatMul (e, wd) "
                "p = Add (p0, wh) " STATE)),
     0, 2},
    {"few weights",
     MODEL(X, YH,
           "ax1 = Constant <value = int64[1] {1}> () b8 = Constant <value = int64[1] {8}> () wt = "
           "Slice (w, b0, b8, ax1) " LOOP(
               "e = Gather (x, i) p0 = MatMul (e, wt) p = ReduceSum <keepdims = 0> (p0) " STATE)),
     0, 2},
    {"a counter of its own, and a limit",
     MODEL(X, "float[A,B] y",
           "lim = Cast <to = 6> (n) c1 = Cast <to = 6> (zero) d = Cast <to = 6> (one) f0 = Less (c1, lim) co, y = Loop "
           "(, f0, c1, h0) <body = b (int64 i, bool c0, int32 a, float[2,32] h) => (bool g0, int32 a1, float[2,32] u) "
           "{ e "
           "= Gather (x, a) p = MatMul (e, w) " STATE "a1 = Add (a, d) g0 = Less (a1, lim) }>"),
     1, 1},
    {"until the state says so",
     MODEL(X, "float[A,B] y",
           "y = Loop (n, go, h0) <body = b (int64 i, bool c0, float[2,32] h) => (bool g0, float[2,32] u) { e = Gather "
           "(x, "
           "i) p = MatMul (e, w) " STATE "a = ReduceMax <keepdims = 0> (u) g0 = Less (a, to) }>"),
     0, 1},
    {"what the state chooses",
     MODEL(X, YH,
           LOOP("a = ReduceMean <keepdims = 0> (h) j0 = Abs (a) j = Cast <to = 7> (j0) e = Gather (x, j) p = MatMul "
                "(e, w) " STATE)),
     0, 2},
    {"along the axis that is multiplied",
     MODEL("float[2,32,5]", YH, LOOP("e = Gather <axis = 2> (x, i) p = MatMul (e, w) " STATE)), 0, 2},
    {"as weights", MODEL("float[5,32,32]", YH, LOOP("e = Gather (x, i) p = MatMul (h, e) " STATE)), 0, 2},
    {"many rows at a time",
     MODEL("float[5,9,32]", "float[A,B] y, float[N,C,D] s",
           LOOP("e = Gather (x, i) p0 = MatMul (e, w) p = ReduceSum <keepdims = 0> (p0) " STATE)),
     0, 2},
    {"Scan",
     MODEL(X, YH,
           "y, s = Scan <num_scan_inputs = 1, body = b (float[2,32] h, float[2,32] e) => (float[2,32] u, "
           "float[2,32] v) { p = MatMul (e, w) " STATE "v = Identity (u) }> (h0, x)"),
     1, 2},
    {"Scan along the second axis, backwards, beside another",
     MODEL("float[2,5,32]", "float[A,B] y, float[N,C,D] s",
           "x2 = Transpose <perm = [1, 0, 2]> (x) y, s = Scan <num_scan_inputs = 2, scan_input_axes = [1, 0], "
           "scan_input_directions = [1, 0], body = b (float[2,32] h, float[2,32] e, float[2,32] f) => (float[2,32] u, "
           "float[2,32] v) { p0 = Gemm (e, w, bias) p = Add (p0, f) " STATE "v = Sub (u, e) }> (h0, x, x2)"),
     1, 2},
    {"both in a Scan",
     MODEL(X, YH,
           "y, s = Scan <num_scan_inputs = 1, body = b (float[2,32] h, float[2,32] e) => (float[2,32] u, "
           "float[2,32] v) { j = Concat <axis = 1> (e, h) t = MatMul (j, k) u = Sigmoid (t) v = Neg (u) }> (h0, x)"),
     2, 2},
    {"a loop in a loop",
     MODEL(
         X, "float[A,B] y",
         "y = Loop (one, go, h0) <body = o (int64 l, bool c1, float[2,32] g0) => (bool c1, float[2,32] g1) { xx = Add "
         "(x, g0) g1 = Loop (n, c1, g0) <body = b (int64 i, bool c0, float[2,32] h) => (bool c0, float[2,32] u) { e = "
         "Gather (xx, i) p = MatMul (e, w) " STATE "}> }>"),
     1, 1},
    {"it is what the body hands out",
     MODEL(X, "float[A,B] y, float[N,C,D] s",
           "y, s = Loop (n, go, h0) <body = b (int64 i, bool c0, float[2,32] h) => (bool c0, float[2,32] u, "
           "float[2,32] p)"
           " { e = Gather (x, i) p = MatMul (e, w) u = Add (h, p) }>"),
     1, 2},
};

static ox_session *open_text(ox_env *env, const char *text, const ox_session_opts *o) {
  ox_session *s;
  CHECK_OK(text_session(env, text, o, &s));
  return s;
}

static void check_output(const row *r, int64_t steps, uint32_t at, const ox_tensor *a, const ox_tensor *b) {
  double most = 1;
  int64_t n = ox_tensor_count(a);
  if (!a->bytes && !b->bytes) return; /* nothing tells the size of what was not made */
  if (!ox_shape_equal(&a->shape, &b->shape))
    fail_msg("%s, %lld steps: shape of output %u", r->name, (long long)steps, at);
  for (int64_t i = 0; i < n; i++) most = fmax(most, fabs(ox_tensor_element(a, i)));
  for (int64_t i = 0; i < n; i++)
    if (!(fabs(ox_tensor_element(a, i) - ox_tensor_element(b, i)) <= 1e-5 * most))
      fail_msg("%s, %lld steps, output %u, element %lld: %g, not %g", r->name, (long long)steps, at, (long long)i,
               ox_tensor_element(b, i), ox_tensor_element(a, i));
}

/* The input's shape stands in the text. */
static ox_value *input_of(ox_env *env, const char *text) {
  int64_t dims[3] = {0};
  if (sscanf(strstr(text, "g (float["), "g (float[%" SCNd64 ",%" SCNd64 ",%" SCNd64, &dims[0], &dims[1], &dims[2]) != 3)
    fail_msg("no shape in %s", text);
  ox_value *x = ramp_value(env, 0, 1, 3, dims);
  float *v = ox_value_data(x);
  for (int64_t i = 0; i < dims[0] * dims[1] * dims[2]; i++) v[i] = sinf((float)(i * i % 1009));
  return x;
}

static void check_row(ox_env *env, const row *r) {
  static const int64_t steps[] = {0, 1, STEPS};
  const ox_session_opts plain = {.struct_size = sizeof plain, .optimize = OX_OPTIMIZE_NONE};
  ox_session *s[2] = {open_text(env, r->text, &plain), open_text(env, r->text, NULL)};
  ox_value *in[2] = {input_of(env, r->text), NULL};
  if (times_applied(s[1], "hoist") != r->moved)
    fail_msg("%s: %llu nodes moved", r->name, (unsigned long long)times_applied(s[1], "hoist"));
  CHECK_OK(ox_value_create(env, OX_I64, NULL, 0, &in[1]));
  for (size_t i = 0; i < OX_COUNT(steps); i++) {
    ox_value *out[2][MOST_OUT] = {{NULL}};
    memcpy(ox_value_data(in[1]), &steps[i], sizeof steps[i]);
    for (int k = 0; k < 2; k++)
      CHECK_OK(ox_session_run(s[k], NULL, (const char *[]){"x", "n"}, (const ox_value *const *)in, 2, NULL, out[k],
                              r->n_out));
    for (uint32_t o = 0; o < r->n_out; o++) {
      check_output(r, steps[i], o, ox_value_get(out[0][o]), ox_value_get(out[1][o]));
      ox_value_release(out[0][o]), ox_value_release(out[1][o]);
    }
  }
  for (int k = 0; k < 2; k++) ox_value_release(in[k]), ox_session_release(s[k]);
}

static void test_results_stay(void **state) {
  (void)state;
  ox_env *env;
  CHECK_OK(ox_env_create(NULL, &env));
  for (size_t i = 0; i < OX_COUNT(rows); i++) check_row(env, &rows[i]);
  ox_env_release(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_results_stay)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
