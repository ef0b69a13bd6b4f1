/* SPDX-License-Identifier: Apache-2.0
 * session/bounded_test.c - time goes with data: shapes like [2^40, 0] and attributes of 65536 cost nothing, and what is
 * wrong beside them is still an error. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/macros.h"
#include "support/check.h"
#include "support/text_session.h"

#define MODEL(inputs, results)                                                                             \
  "<ir_version: 10, opset_import: [\"\" : 23, \"com.microsoft\" : 1, \"ai.onnx.preview\" : 1]> g (" inputs \
  ") => (" results ") "

typedef struct {
  ox_env *env;
  ox_session *s;
  ox_value *in[4], *out;
  const char *names[4];
  size_t n_in;
} opened;

/* Input elements are 1, 2, 3 ... Each input is as large as it is declared. */
static ox_status *run(opened *o, const char *text) {
  ox_session_opts so;
  ox_session_opts_init(&so);
  so.n_threads = 2;
  *o = (opened){.env = NULL};
  CHECK_OK(ox_env_create(NULL, &o->env));
  CHECK_OK(text_session(o->env, text, &so, &o->s));
  o->n_in = ox_session_input_count(o->s);
  for (size_t i = 0; i < o->n_in; i++) {
    ox_value_info info;
    CHECK_OK(ox_session_input(o->s, i, &info));
    o->names[i] = info.name;
    CHECK_OK(ox_value_create(o->env, info.dtype, info.dims, (size_t)info.rank, &o->in[i]));
    const ox_tensor *t = ox_value_get(o->in[i]);
    int64_t n = ox_tensor_count(t);
    for (int64_t k = 0; k < n && t->dtype == OX_F32; k++) ((float *)t->data)[k] = (float)(k + 1);
    for (int64_t k = 0; k < n && t->dtype == OX_F64; k++) ((double *)t->data)[k] = (double)(k + 1);
  }
  return ox_session_run(o->s, NULL, o->names, (const ox_value *const *)o->in, o->n_in, NULL, &o->out, 1);
}

static void finish(opened *o) {
  ox_value_release(o->out);
  for (size_t i = 0; i < o->n_in; i++) ox_value_release(o->in[i]);
  ox_session_release(o->s);
  ox_env_release(o->env);
}

/* ---- nothing ---- */

#define MANY "1099511627776"
#define MANY_HEADS "2147483647" /* the most that attributes allow */

static const struct {
  const char *name, *text;
} nothings[] = {
    {"NGramRepeatBlock", MODEL("int64[" MANY ",0] x, float[" MANY ",0] s",
                               "float[M,N] y") "{ y = com.microsoft.NGramRepeatBlock <ngram_size = 2> (x, s) }"},
    {"FlexAttention",
     MODEL("float[" MANY ",4,6,0] x", "float[A,B,C,D] y") "{ y = ai.onnx.preview.FlexAttention (x, x, x) }"},
    {"FlexAttention with a body",
     MODEL("float[" MANY ",4,0,0] x",
           "float[A,B,C,D] y") "{ y = ai.onnx.preview.FlexAttention <score_mod = b (float[A,B,C,D] s) => "
                               "(float[A,B,C,D] t) { t = Abs (s) }> (x, x, x) }"},
    {"MultiHeadAttention",
     MODEL("float[1,1,0] x", "float[A,B,C] y") "{ y = com.microsoft.MultiHeadAttention <num_heads = " MANY_HEADS
                                               "> (x, x, x) }"},
    {"Attention", MODEL("float[1,1,0] x", "float[A,B,C] y") "{ y = Attention <q_num_heads = " MANY_HEADS
                                                            ", kv_num_heads = " MANY_HEADS "> (x, x, x) }"},
    {"Scan", MODEL("float[" MANY ",0] x", "float[A,0] y") "{ y = Scan <num_scan_inputs = 1, body = b (float[0] v) => "
                                                          "(float[0] w) { w = Abs (v) }> (x) }"},
    {"Scan with state",
     MODEL("float[0] s, float[" MANY ",0] x", "float[0] y") "{ y = Scan <num_scan_inputs = 1, body = b (float[0] a, "
                                                            "float[0] v) => (float[0] w) { w = Add (a, v) }> (s, x) }"},
    {"Softmax", MODEL("float[" MANY ",0] x", "float[A,0] y") "{ y = Softmax (x) }"},
    {"TopK", MODEL("float[" MANY ",0] x", "float[A,0] y, int64[A,0] i") "<int64[1] k = {0}> { y, i = TopK (x, k) }"},
    {"Gather", MODEL("float[" MANY ",4,0] x", "float[A,1,0] y") "<int64[1] i = {3}> { y = Gather <axis = 1> (x, i) }"},
    {"MatMul", MODEL("float[" MANY ",4,0] x, float[0,0] w", "float[A,4,0] y") "{ y = MatMul (x, w) }"},
    {"Concat", MODEL("float[" MANY ",0] x", "float[A,0] y") "{ y = Concat <axis = 1> (x, x) }"},
    {"Transpose", MODEL("float[" MANY ",4,0] x", "float[4,A,0] y") "{ y = Transpose <perm = [1,0,2]> (x) }"},
    {"LayerNormalization",
     MODEL("float[" MANY ",0] x, float[0] w", "float[A,0] y") "{ y = LayerNormalization (x, w) }"},
    {"Pad", MODEL("float[" MANY ",0] x", "float[A,0] y") "<int64[4] p = {1,0,1,0}> { y = Pad (x, p) }"},
    {"StringSplit", MODEL("string[" MANY ",0] x", "string[A,0,M] y, int64[A,0] n") "{ y, n = StringSplit (x) }"},
    {"CumSum", MODEL("float[" MANY ",0] x", "float[A,0] y") "<int64 a = {1}> { y = CumSum (x, a) }"},
    {"LSTM", MODEL("float[0,1099511627,2] x, float[1,8,2] w, float[1,8,2] r",
                   "float[A,1,B,2] y") "{ y = LSTM <hidden_size = 2> (x, w, r) }"},
};

static void test_nothing_takes_no_time(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(nothings); i++) {
    opened o;
    ox_status *st = run(&o, nothings[i].text);
    if (st) fail_msg("%s: %s", nothings[i].name, ox_status_message(st));
    if (ox_tensor_count(ox_value_get(o.out))) fail_msg("%s: an output with elements", nothings[i].name);
    finish(&o);
  }
}

static void test_what_is_wrong_stays_wrong(void **state) {
  (void)state;
  opened o;
  CHECK_FAILS(run(&o, MODEL("float[3,2,0] x", "float[3,2,0] y") "<int64[2] n = {4, 1}> { y = ReverseSequence (x, n) }"),
              OX_INVALID_ARGUMENT, "4");
  finish(&o);
  CHECK_FAILS(run(&o, MODEL("float[2,3,0] x, float[5] m",
                            "float[2,3,0] y") "{ y = Attention <q_num_heads = 1, kv_num_heads = 1> (x, x, x, m) }"),
              OX_SHAPE_MISMATCH, "attn_mask");
  finish(&o);
}

/* ---- windows ---- */

/* x is 1 .. 16 in four rows of four. Every window of 65536 covers it from (or to) somewhere; values by hand. */
static const struct {
  const char *name, *text;
  size_t at;
  double want;
} windows[] = {
    {"AveragePool",
     MODEL("float[1,1,4,4] x",
           "float[1,1,4,4] y") "{ y = AveragePool <kernel_shape = [65536,65536], auto_pad = \"SAME_LOWER\"> (x) }",
     5, 8.5},
    {"AveragePool of doubles",
     MODEL("double[1,1,4,4] x",
           "double[1,1,4,4] y") "{ y = AveragePool <kernel_shape = [65536,65536], auto_pad = \"SAME_LOWER\"> (x) }",
     15, 8.5},
    {"AveragePool, padding counts",
     MODEL("float[1,1,4,4] x", "float[1,1,4,4] y") "{ y = AveragePool <kernel_shape = [65536,65536], auto_pad = "
                                                   "\"SAME_UPPER\", count_include_pad = 1> (x) }",
     0, 136.0 / 65536 / 65536},
    {"MaxPool",
     MODEL("float[1,1,4,4] x",
           "float[1,1,4,4] y") "{ y = MaxPool <kernel_shape = [65536,65536], auto_pad = \"SAME_LOWER\"> (x) }",
     0, 16},
    {"MaxPool, dilated",
     MODEL("float[1,1,4,4] x", "float[1,1,4,4] y") "{ y = MaxPool <kernel_shape = [3,3], dilations = [65536,65536], "
                                                   "pads = [65536,65536,65536,65536]> (x) }",
     6, 7},
    {"MaxPool of bytes",
     MODEL("float[1,1,4,4] x", "float[1,1,4,4] y") "{ b = Cast <to = 2> (x) m = MaxPool <kernel_shape = [65536,65536], "
                                                   "auto_pad = \"SAME_LOWER\"> (b) y = Cast <to = 1> (m) }",
     3, 16},
    {"MaxPool with indices",
     MODEL("float[1,1,4,4] x", "float[1,1,4,4] y, int64[1,1,4,4] i") "{ y, i = MaxPool <kernel_shape = [65536,65536], "
                                                                     "auto_pad = \"SAME_LOWER\"> (x) }",
     0, 16},
    {"LpPool",
     MODEL("float[1,1,4,4] x",
           "float[1,1,4,4] y") "{ y = LpPool <kernel_shape = [65536,65536], auto_pad = \"SAME_UPPER\", p = 1> (x) }",
     9, 136},
    /* rows 65536 apart: of the kernel 1, 2 / 3, 4 each output sees one row */
    {"ConvTranspose",
     MODEL("float[1,1,4,4] x, float[1,1,2,2] w",
           "float[1,1,65540,5] y") "{ y = ConvTranspose <dilations = [65536,1]> (x, w) }",
     65536 * 5 + 1, 1 * 4 + 2 * 3},
    {"ConvTranspose of doubles",
     MODEL("double[1,1,4,4] x, double[1,1,2,2] w",
           "double[1,1,65540,5] y") "{ y = ConvTranspose <dilations = [65536,1]> (x, w) }",
     65536 * 5 + 1, 1 * 4 + 2 * 3},
    {"ConvTranspose, both axes",
     MODEL("float[1,1,4,4] x, float[1,1,2,2] w",
           "float[1,1,1028,1028] y") "{ y = ConvTranspose <dilations = [1024,1024]> (x, w) }",
     1025 * 1028 + 1025, 6 * 4},
    {"Conv",
     MODEL("float[1,1,4,4] x, float[1,1,3,3] w",
           "float[1,1,4,4] y") "{ y = Conv <dilations = [65536,65536], pads = [65536,65536,65536,65536]> (x, w) }",
     6, 7 * 5},
    {"Conv, several channels",
     MODEL("float[1,4,2,2] x, float[8,4,3,3] w",
           "float[1,8,2,2] y") "{ y = Conv <dilations = [65536,65536], pads = [65536,65536,65536,65536]> (x, w) }",
     0, 1 * 5 + 5 * 14 + 9 * 23 + 13 * 32},
    /* the region is 1 to 3 along the rows of 1 + x + 4 y, and 2 to 4 down; below row 3 there is row 3 */
    {"RoiAlign",
     MODEL("float[1,1,4,4] x, float[1,4] r, int64[1] b",
           "float[1,1,1,1] y") "{ y = RoiAlign <sampling_ratio = 65536, coordinate_transformation_mode = "
                               "\"output_half_pixel\"> (x, r, b) }",
     0, 1 + 2 + 4 * 2.75},
    {"RoiAlign, largest",
     MODEL("float[1,1,4,4] x, float[1,4] r, int64[1] b",
           "float[1,1,1,1] y") "{ y = RoiAlign <sampling_ratio = 65536, mode = \"max\", coordinate_transformation_mode "
                               "= \"output_half_pixel\"> (x, r, b) }",
     0, 16 * (1 - 1.0 / 65536)},
};

static void test_windows_are_clipped(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(windows); i++) {
    opened o;
    ox_status *st = run(&o, windows[i].text);
    if (st) fail_msg("%s: %s", windows[i].name, ox_status_message(st));
    const ox_tensor *t = ox_value_get(o.out);
    double got =
        t->dtype == OX_F64 ? ((const double *)t->data)[windows[i].at] : (double)((const float *)t->data)[windows[i].at];
    if (!(fabs(got - windows[i].want) <= 1e-6 * fabs(windows[i].want)))
      fail_msg("%s: got %.9g, wanted %.9g", windows[i].name, got, windows[i].want);
    finish(&o);
  }
}

/* ---- many ---- */

enum { MANY_OUTPUTS = 50000, MOST_SECONDS = 60 }; /* takes one; what was quadratic took two minutes, each */

static char *repeat(char *to, const char *format, int n, const char *between) {
  for (int i = 0; i < n; i++) {
    to += sprintf(to, format, i, i);
    if (i + 1 < n) to += sprintf(to, "%s", between);
  }
  return to;
}

/* |node|: the line that makes output %d; |inputs|: NULL, or what declares input %d. */
static char *many_text(const char *inputs, const char *output, const char *node) {
  char *text = malloc((size_t)MANY_OUTPUTS * 120 + 1000), *to = text;
  assert_non_null(text);
  to += sprintf(to, "<ir_version: 8, opset_import: [\"\" : 17]> g (float[1] x%s", inputs ? ", " : "");
  if (inputs) to = repeat(to, inputs, MANY_OUTPUTS, ", ");
  to += sprintf(to, ") => (");
  to = repeat(to, output, MANY_OUTPUTS, ", ");
  to += sprintf(to, ") { ");
  to = repeat(to, node, MANY_OUTPUTS, "\n");
  strcpy(to, " }");
  return text;
}

/* All inputs and outputs by name, last one first. */
static void run_backwards(ox_env *env, ox_session *s) {
  size_t n_in = ox_session_input_count(s), n = ox_session_output_count(s);
  const char **in_names = calloc(n_in, sizeof *in_names), **names = calloc(n, sizeof *names);
  const ox_value **in = calloc(n_in, sizeof *in);
  ox_value **out = calloc(n, sizeof *out), *one = ramp_value(env, 1, 0, 1, (int64_t[]){1});
  assert_true(in_names && names && in && out);
  ox_value_info info;
  for (size_t i = 0; i < n_in; i++) {
    CHECK_OK(ox_session_input(s, n_in - 1 - i, &info));
    in_names[i] = info.name, in[i] = one;
  }
  for (size_t i = 0; i < n; i++) {
    CHECK_OK(ox_session_output(s, n - 1 - i, &info));
    names[i] = info.name;
  }
  for (int turn = 0; turn < 2; turn++) {
    CHECK_OK(ox_session_run(s, NULL, in_names, in, n_in, names, out, n));
    for (size_t i = 0; i < n; i++) {
      assert_non_null(out[i]);
      ox_value_release(out[i]);
      out[i] = NULL;
    }
  }
  ox_value_release(one);
  free(in_names), free(names), free(in), free(out);
}

static void test_many_outputs_take_linear_time(void **state) {
  (void)state;
  static const struct {
    const char *name, *inputs, *output, *node;
  } cases[] = {
      {"equal nodes", NULL, "float[1] y%d", "y%d = Neg (x)"},
      {"nodes that are left out", NULL, "float[1] y%d", "y%d = Identity (x)"},
      {"as many inputs", "float[1] x%d", "float[1] y%d", "y%d = Neg (x%d)"},
      {"dynamic ones", NULL, "int64[1,M%d] y%d", "y%d = NonZero (x)"},
  };
  for (size_t i = 0; i < OX_COUNT(cases); i++) {
    ox_env *env;
    ox_session *s;
    int64_t start = ox_clock_ns();
    char *text = many_text(cases[i].inputs, cases[i].output, cases[i].node);
    CHECK_OK(ox_env_create(NULL, &env));
    CHECK_OK(text_session(env, text, NULL, &s));
    run_backwards(env, s);
    ox_session_release(s);
    ox_env_release(env);
    free(text);
    double seconds = (double)(ox_clock_ns() - start) / 1e9;
    print_message("%-24s %.1f s\n", cases[i].name, seconds);
    if (seconds > MOST_SECONDS) fail_msg("%s: %.0f s", cases[i].name, seconds);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_nothing_takes_no_time), cmocka_unit_test(test_what_is_wrong_stays_wrong),
      cmocka_unit_test(test_windows_are_clipped), cmocka_unit_test(test_many_outputs_take_linear_time)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
