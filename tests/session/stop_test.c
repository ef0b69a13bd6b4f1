/* SPDX-License-Identifier: Apache-2.0
 * session/stop_test.c - a deadline, or the caller's flag, ends a run inside its kernels, and soon; what it costs
 * others: nothing, not even a bit of a result. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/macros.h"
#include "support/check.h"
#include "support/text_session.h"

#define MODEL(inputs, results) \
  "<ir_version: 9, opset_import: [\"\" : 20, \"com.microsoft\" : 1]> g (" inputs ") => (" results ") "

/* Inputs are as large as they are declared. Each takes more than 60 ms. */
static const struct {
  const char *name, *text;
} models[] = {
    {"MatMul", MODEL("float[6000,6000] a, float[6000,6000] b", "float[6000,6000] y") "{ y = MatMul (a, b) }"},
    {"MatMul of doubles",
     MODEL("double[2000,2000] a, double[2000,2000] b", "double[2000,2000] y") "{ y = MatMul (a, b) }"},
    {"MatMulInteger",
     MODEL("uint8[4000,4000] a, uint8[4000,4000] b", "int32[4000,4000] y") "{ y = MatMulInteger (a, b) }"},
    {"Conv", MODEL("float[1,64,512,512] x, float[128,64,3,3] w",
                   "float[1,128,512,512] y") "{ y = Conv <pads = [1,1,1,1]> (x, w) }"},
    {"Conv, depthwise", MODEL("float[1,64,1024,1024] x, float[64,1,11,11] w",
                              "float[1,64,1024,1024] y") "{ y = Conv <pads = [5,5,5,5], group = 64> (x, w) }"},
    {"MaxPool with indices",
     MODEL("float[1,1,2000,2000] x",
           "float[1,1,M,N] y, int64[1,1,M,N] i") "{ y, i = MaxPool <kernel_shape = [15,15]> (x) }"},
    {"TopK, few of many",
     MODEL("float[1,10000000] x", "float[1,M] y, int64[1,M] i") "<int64[1] k = {500000}> { y, i = TopK (x, k) }"},
    {"TopK, all",
     MODEL("float[2000000] x", "float[M] y, int64[M] i") "<int64[1] k = {2000000}> { y, i = TopK (x, k) }"},
    {"Unique", MODEL("float[5000000] x", "float[M] y") "{ y = Unique (x) }"},
    {"Unique rows", MODEL("float[300000,16] x", "float[M,16] y") "{ y = Unique <axis = 0> (x) }"},
    {"RegexFullMatch", MODEL("string[2000000] x",
                             "bool[2000000] y") "{ y = RegexFullMatch <pattern = \"(\\\\w+\\\\b.?)*[0-9]+x*\"> (x) }"},
    {"StringNormalizer",
     MODEL("string[2000000] x",
           "string[M] y") "{ y = StringNormalizer <case_change_action = \"UPPER\", stopwords = [\"none\"]> (x) }"},
    {"StringSplit", MODEL("string[1000000] x",
                          "string[1000000,M] y, int64[1000000] n") "{ y, n = StringSplit <delimiter = \"a\"> (x) }"},
    {"StringSplit of one", MODEL("string[1] x", "string[1,M] y, int64[1] n") "{ y, n = StringSplit (x) }"},
    {"StringConcat", MODEL("string[2000000] x", "string[2000000] y") "{ y = StringConcat (x, x) }"},
    {"NonMaxSuppression", MODEL("float[1,40000,4] boxes, float[1,1,40000] scores",
                                "int64[M,3] y") "<int64 most = {40000}, float iou = {1.0}> { y = NonMaxSuppression "
                                                "(boxes, scores, most, iou) }"},
    {"LSTM", MODEL("float[2000,1,256] x, float[1,2048,256] w, float[1,2048,512] r",
                   "float[2000,1,1,512] y") "{ y = LSTM <hidden_size = 512> (x, w, r) }"},
    {"LSTM with weights to pack", MODEL("float[1,1,3000] x, float[1,12000,3000] w, float[1,12000,3000] r",
                                        "float[1,1,1,3000] y") "{ y = LSTM <hidden_size = 3000> (x, w, r) }"},
    {"GRU of doubles", MODEL("double[4000,1,64] x, double[1,384,64] w, double[1,384,128] r",
                             "double[4000,1,1,128] y") "{ y = GRU <hidden_size = 128> (x, w, r) }"},
    {"Loop that hands through", MODEL("float[1] x", "float[1] y") "<int64 most = {1099511627776}>"
                                                                  "{ y = Loop (most, \"\", x) <body = b (int64 i, bool "
                                                                  "c, float[1] v) => (bool c, float[1] v) { }> }"},
    {"Loop", MODEL("float[1] x", "float[1] y") "<int64 most = {1099511627776}> { y = Loop (most, \"\", x) <body = b "
                                               "(int64 i, bool c, float[1] v) => "
                                               "(bool d, float[1] w) { d = Identity (c) w = Add (v, v) }> }"},
    {"Scan",
     MODEL("float[8000000,1] x, float[1] s", "float[1] y") "{ y = Scan <num_scan_inputs = 1, body = b (float[1] a, "
                                                           "float[1] v) => (float[1] n) { n = Add (a, v) }> (s, x) }"},
    {"Softmax of one row", MODEL("float[40000000] x", "float[40000000] y") "{ y = Softmax (x) }"},
    {"LogSoftmax of one row of halves", MODEL("float16[60000000] x", "float16[60000000] y") "{ y = LogSoftmax (x) }"},
    {"Softmax of long columns", MODEL("float[1000000,40] x", "float[1000000,40] y") "{ y = Softmax <axis = 0> (x) }"},
    {"DFT of one line",
     MODEL("float[1,4000000,1] x", "float[1,4000000,2] y") "<int64 axis = {1}> { y = DFT (x, \"\", axis) }"},
    {"DFT of a length that is prime",
     MODEL("float[1,1000003,1] x", "float[1,1000003,2] y") "<int64 axis = {1}> { y = DFT (x, \"\", axis) }"},
    {"Det", MODEL("float[1,1500,1500] x", "float[1] y") "{ y = Det (x) }"},
    {"ScatterElements", MODEL("float[9000000] x, int64[9000000] i, float[9000000] u",
                              "float[9000000] y") "{ y = ScatterElements <reduction = \"add\"> (x, i, u) }"},
    {"RoiAlign", MODEL("float[1,4,64,64] x, float[1,4] r, int64[1] b",
                       "float[1,4,400,400] y") "{ y = RoiAlign <output_height = 400, output_width = 400, "
                                               "sampling_ratio = 3000> (x, r, b) }"},
};

typedef struct {
  ox_env *env;
  ox_session *s;
  ox_value *in[4];
  const char *names[4];
  size_t n_in;
} opened;

static uint32_t draw(uint32_t *state) { return *state = *state * 1664525u + 1013904223u; }

/* Numbers between 0 and 1, and of few bits, so that integers and bytes are as random. */
static void fill(ox_value *v, uint32_t dtype, int64_t n) {
  void *data = ox_value_data(v);
  uint32_t state = 7;
  for (int64_t i = 0; i < n; i++) {
    uint32_t r = draw(&state) >> 8;
    switch (dtype) {
      case OX_F32:
        ((float *)data)[i] = (float)r / (1 << 24);
        break;
      case OX_F64:
        ((double *)data)[i] = (double)r / (1 << 24);
        break;
      case OX_I64:
        ((int64_t *)data)[i] = n > 1 ? r % n : 0;
        break;
      case OX_I32:
        ((int32_t *)data)[i] = (int32_t)r;
        break;
      default:
        ((uint8_t *)data)[i] = dtype == OX_BOOL ? r & 1 : (uint8_t)r;
        break;
    }
  }
}

static void make_input(opened *o, size_t i) {
  ox_value_info info;
  CHECK_OK(ox_session_input(o->s, i, &info));
  o->names[i] = info.name;
  int64_t n = 1;
  for (int d = 0; d < info.rank; d++) n *= info.dims[d];
  if (info.dtype == OX_STRING && n == 1) { /* one long word */
    enum { LONG = 200 << 20 };
    char *text = malloc(LONG);
    ox_str word = {text, LONG};
    memset(text, 'a', LONG);
    ox_tensor t = {.kind = OX_TENSOR, .dtype = OX_STRING, .data = &word, .bytes = sizeof word, .shape = {1, {1}}};
    CHECK_OK(ox_value_create_copy(o->env, &t, &o->in[i]));
    free(text);
    return;
  }
  if (info.dtype == OX_STRING) { /* a view of ours, which is copied */
    ox_str *strings = malloc((size_t)n * sizeof *strings);
    static char text[64];
    uint32_t state = 7;
    for (size_t k = 0; k < sizeof text; k++) text[k] = (char)('a' + k % 7);
    for (int64_t k = 0; k < n; k++) strings[k] = (ox_str){text + k % 8, 30 + (draw(&state) >> 24) % 24};
    ox_tensor t = {.kind = OX_TENSOR,
                   .dtype = OX_STRING,
                   .data = strings,
                   .bytes = (size_t)n * sizeof *strings,
                   .shape = {.rank = 1, .dim = {n}}};
    CHECK_OK(ox_value_create_copy(o->env, &t, &o->in[i]));
    free(strings);
    return;
  }
  CHECK_OK(ox_value_create(o->env, info.dtype, info.dims, (size_t)info.rank, &o->in[i]));
  fill(o->in[i], info.dtype, n);
}

static void open_model(opened *o, const char *text, uint32_t threads) {
  ox_session_opts so;
  ox_session_opts_init(&so);
  so.n_threads = threads;
  memset(o, 0, sizeof *o);
  CHECK_OK(ox_env_create(NULL, &o->env));
  CHECK_OK(text_session(o->env, text, &so, &o->s));
  o->n_in = ox_session_input_count(o->s);
  for (size_t i = 0; i < o->n_in; i++) make_input(o, i);
}

static void close_model(opened *o) {
  for (size_t i = 0; i < o->n_in; i++) ox_value_release(o->in[i]);
  ox_session_release(o->s);
  ox_env_release(o->env);
}

static ox_status *run(opened *o, const ox_run_opts *ro, ox_value **out) {
  return ox_session_run(o->s, ro, o->names, (const ox_value *const *)o->in, o->n_in, NULL, out, 1);
}

/* A run that ends late without CANCELLED never looked; what is printed says how often it does. The bound only finds
 * those that hardly look, whatever else runs and under every sanitizer: the best of a few turns counts. */
enum { TIMEOUT_MS = 20, MOST_LATE_MS = 2500 };

/* How late a run ends, in ms. */
static double lateness(opened *o, const char *name) {
  const ox_run_opts ro = {.struct_size = sizeof ro, .timeout_ms = TIMEOUT_MS};
  ox_value *out = NULL;
  int64_t start = ox_clock_ns();
  ox_status *st = run(o, &ro, &out);
  double ms = (double)(ox_clock_ns() - start) / 1e6;
  if (st ? ox_status_code(st) != OX_CANCELLED : ms > TIMEOUT_MS)
    fail_msg("%s: %s \"%s\" after %.1f ms", name, ox_code_name(ox_status_code(st)), ox_status_message(st), ms);
  ox_status_free(st);
  ox_value_release(out);
  return ms - TIMEOUT_MS;
}

static void test_a_deadline_ends_it_inside(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(models); i++) {
    opened o;
    double least = INFINITY;
    open_model(&o, models[i].text, 2);
    for (int turn = 0; turn < 5 && (turn < 2 || least > MOST_LATE_MS); turn++) {
      double late = lateness(&o, models[i].name);
      print_message("%-24s %6.2f ms late\n", models[i].name, late);
      least = OX_MIN(least, late);
    }
    if (least > MOST_LATE_MS) fail_msg("%s: %.1f ms late", models[i].name, least);
    close_model(&o);
  }
}

typedef struct {
  volatile int flag;
  int64_t set_ns;
} canceller;

static void *set_soon(void *arg) {
  canceller *c = arg;
  nanosleep(&(struct timespec){.tv_nsec = TIMEOUT_MS * 1000000}, NULL);
  c->set_ns = ox_clock_ns();
  __atomic_store_n(&c->flag, 1, __ATOMIC_RELAXED);
  return NULL;
}

static void test_a_flag_ends_it_inside(void **state) {
  (void)state;
  opened o;
  canceller c = {0};
  pthread_t thread;
  const ox_run_opts ro = {.struct_size = sizeof ro, .cancel = &c.flag};
  ox_value *out = NULL;
  open_model(&o, models[0].text, 2);
  assert_int_equal(pthread_create(&thread, NULL, set_soon, &c), 0);
  CHECK_FAILS(run(&o, &ro, &out), OX_CANCELLED, "cancelled by the caller");
  int64_t end = ox_clock_ns();
  pthread_join(thread, NULL);
  if (end - c.set_ns > MOST_LATE_MS * (int64_t)1000000) fail_msg("%.1f ms late", (double)(end - c.set_ns) / 1e6);
  close_model(&o);
}

/* Tiles go out in other pieces when somebody watches. */
static void test_watching_changes_no_bit(void **state) {
  (void)state;
  static const char *const texts[] = {
      MODEL("float[1,8,96,96] x, float[16,8,3,3] w, float[16,1,3,3] d", "float[1,16,96,96] y")
      "{ c = Conv <pads = [1,1,1,1]> (x, w) r = Relu (c) e = Conv <pads = [1,1,1,1], group = 16> (r, d) y = Softmax (e) }",
      MODEL("float[300,300] a, float[300,300] b", "float[300,300] y") "<int64[1] k = {300}>"
      "{ c = MatMul (a, b) d = ReduceMean <axes = [-1]> (c) s = Sub (c, d) t, i = TopK (s, k) y = MatMul (t, b) }",
      MODEL("float[60,3,64] x, float[1,256,64] w, float[1,256,64] r", "float[60,1,3,64] y")
      "{ y = LSTM <hidden_size = 64> (x, w, r) }",
  };
  int never = 0;
  const ox_run_opts opts[] = {{.struct_size = sizeof opts[0]},
                              {.struct_size = sizeof opts[0], .cancel = &never},
                              {.struct_size = sizeof opts[0], .timeout_ms = INT64_MAX}};
  for (size_t i = 0; i < OX_COUNT(texts); i++) {
    opened o;
    ox_value *out[OX_COUNT(opts)] = {NULL};
    open_model(&o, texts[i], 3);
    for (size_t k = 0; k < OX_COUNT(opts); k++) CHECK_OK(run(&o, &opts[k], &out[k]));
    const ox_tensor *first = ox_value_get(out[0]);
    for (size_t k = 1; k < OX_COUNT(opts); k++) {
      assert_int_equal(ox_value_get(out[k])->bytes, first->bytes);
      assert_memory_equal(ox_value_get(out[k])->data, first->data, first->bytes);
    }
    for (size_t k = 0; k < OX_COUNT(opts); k++) ox_value_release(out[k]);
    close_model(&o);
  }
}

/* ---- loading ---- */

/* So many nodes that loading takes much longer than the deadline; half of them are folded. */
static char *large_model(void) {
  enum { NODES = 40000 };
  char *text = malloc(NODES * 60 + 1000), *to = text;
  assert_non_null(text);
  to += sprintf(
      to, "<ir_version: 8, opset_import: [\"\" : 17]> g (float[4] x) => (float[4] y%d) <float[4] w0 = {1,2,3,4}> {",
      NODES - 1);
  to += sprintf(to, "y0 = Neg (x) ");
  for (int i = 1; i < NODES; i++) to += sprintf(to, "w%d = Exp (w%d) y%d = Add (y%d, w%d) ", i, i - 1, i, i - 1, i);
  strcpy(to, "}");
  return text;
}

static void test_loading_ends_early(void **state) {
  (void)state;
  ox_env *env;
  ox_session *s;
  ox_session_opts so;
  size_t n;
  int flag = 1;
  char *text = large_model();
  unsigned char *bytes = text_model_bytes(text, &n);
  CHECK_OK(ox_env_create(NULL, &env));
  double least = INFINITY;
  for (int turn = 0; turn < 5 && (turn < 2 || least > MOST_LATE_MS); turn++) {
    ox_session_opts_init(&so);
    so.timeout_ms = TIMEOUT_MS;
    int64_t start = ox_clock_ns();
    CHECK_FAILS(ox_session_create(env, bytes, n, &so, &s), OX_CANCELLED, "deadline");
    assert_null(s);
    double late = (double)(ox_clock_ns() - start) / 1e6 - TIMEOUT_MS;
    print_message("%-24s %6.2f ms late\n", "loading", late);
    least = OX_MIN(least, late);
  }
  if (least > MOST_LATE_MS) fail_msg("%.1f ms late", least);
  ox_session_opts_init(&so);
  so.cancel = &flag;
  CHECK_FAILS(ox_session_create(env, bytes, n, &so, &s), OX_CANCELLED, "cancelled by the caller");
  flag = 0;
  CHECK_OK(ox_session_create(env, bytes, n, &so, &s));
  ox_session_release(s);
  ox_env_release(env);
  free(bytes), free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_deadline_ends_it_inside), cmocka_unit_test(test_a_flag_ends_it_inside),
      cmocka_unit_test(test_watching_changes_no_bit), cmocka_unit_test(test_loading_ends_early)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
