/* SPDX-License-Identifier: Apache-2.0
 * session/session_test.c - the promises of a session: right results, no allocation in a repeated run, the same bits for
 * any number of threads, errors that name what is wrong, nothing leaked when memory runs out at any point. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/counting_alloc.h"
#include "support/text_session.h"

/* ---- graphs of the kinds that real models are made of ---- */

typedef struct {
  const char *name, *text;
  size_t rank;
  int64_t dims[4];
} net;

static const net nets[] = {
    {"elementwise chain",
     "<ir_version: 8, opset_import: [\"\" : 17]> g (float[N,64] x) => (float[N,64] y)"
     "{ a = Exp (x) c = Tanh (a) d = Mul (c, x) e = Sigmoid (d) f = Sub (e, a) y = Abs (f) }",
     2,
     {37, 64, 0, 0}},
    {"convolutions",
     "<ir_version: 8, opset_import: [\"\" : 17]> g (float[N,3,20,20] x, float[16,3,3,3] w1, float[16,1,3,3] w2) => "
     "(float[N,16,10,10] y)"
     "{ c1 = Conv <pads = [1,1,1,1], strides = [2,2]> (x, w1) r1 = Relu (c1)"
     " c2 = Conv <pads = [1,1,1,1], group = 16> (r1, w2) r2 = Sigmoid (c2) y = Add (r1, r2) }",
     4,
     {2, 3, 20, 20}},
    {"products",
     "<ir_version: 8, opset_import: [\"\" : 17]> g (float[N,48] x, float[48,96] w1, float[96,33] w2) => (float[N,33] y)"
     "{ a = MatMul (x, w1) b = Relu (a) y = MatMul (b, w2) }",
     2,
     {65, 48, 0, 0}},
    {"a product in seven steps",
     "<ir_version: 8, opset_import: [\"\" : 17]> g (float[N,768] x) => (float[N,1536] y) <float begin = {0}, float end = "
     "{1179648}, float one = {1}, int64[2] shape = {768, 1536}>"
     "{ r = Range (begin, end, one) s = Sin (r) w = Reshape (s, shape) a = MatMul (x, w) y = Relu (a) }",
     2,
     {131, 768, 0, 0}},
    {"attention",
     "<ir_version: 8, opset_import: [\"\" : 17]> g (float[N,24,32] x) => (float[N,24,32] y)"
     "{ t = Transpose <perm = [0,2,1]> (x) s = MatMul (x, t) p = Softmax <axis = -1> (s) a = MatMul (p, x) y = Add (a, "
     "x) }",
     3,
     {3, 24, 32, 0}},
    {"a recurrent net whose steps are dealt to the threads",
     "<ir_version: 8, opset_import: [\"\" : 17]> g (float[9,1,24] x, float[1,1056,24] w, float[1,1056,352] r) => "
     "(float[9,1,1,352] y) { y = GRU <hidden_size = 352, linear_before_reset = 1> (x, w, r) }",
     3,
     {9, 1, 24, 0}},
    {"reductions",
     "<ir_version: 8, opset_import: [\"\" : 17]> g (float[N,129,17] x) => (float[N,129,17] y)"
     "{ m = ReduceMean <axes = [-1]> (x) d = Sub (x, m) q = Mul (d, d) v = ReduceMean <axes = [-1]> (q) s = Sqrt (v) y "
     "= Div (d, s) }",
     3,
     {5, 129, 17, 0}},
    {"shape arithmetic",
     "<ir_version: 8, opset_import: [\"\" : 17]> g (float[N,6,8] x) => (float[A,B] y) <int64[1] one = {1}, int64[1] "
     "zero = {0}, int64[1] minus = {-1}>"
     "{ s = Shape (x) n = Slice (s, zero, one, zero) t = Concat <axis = 0> (n, minus) r = Reshape (x, t) y = Relu (r) "
     "}",
     3,
     {4, 6, 8, 0}},
    {"data-dependent shapes",
     "<ir_version: 8, opset_import: [\"\" : 17]> g (float[N,9] x) => (float[M] y) <float zero = {0}, int64[1] minus = "
     "{-1}>{ c = Greater (x, zero) i = NonZero (c) t = Transpose (i) v = GatherND (x, t) y = Exp (v) }",
     2,
     {11, 9, 0, 0}},
};

enum { MOST_IN = 4 };

typedef struct {
  ox_env *env;
  ox_session *s;
  ox_value *in[MOST_IN];
  const char *names[MOST_IN];
  size_t n_in;
} opened;

static void feed(opened *o, const net *n, int64_t batch) {
  o->n_in = ox_session_input_count(o->s);
  assert_true(o->n_in <= MOST_IN);
  for (size_t i = 0; i < o->n_in; i++) {
    ox_value_info info;
    int64_t dims[OX_MAX_RANK];
    CHECK_OK(ox_session_input(o->s, i, &info));
    for (int d = 0; d < info.rank; d++) dims[d] = info.dims[d] < 0 ? batch : info.dims[d];
    (void)n;
    o->in[i] = ramp_value(o->env, -0.7f, 0.0019f, (size_t)info.rank, dims);
    o->names[i] = info.name;
    float *data = ox_value_data(o->in[i]); /* a saw-tooth keeps exponentials in range */
    for (int64_t k = 0; k < ox_tensor_count(ox_value_get(o->in[i])); k++)
      data[k] = (float)((k * 37 + (int64_t)i * 11) % 101) / 101.0f - 0.4f;
  }
}

static void open_net(opened *o, const net *n, counting_alloc *count, uint32_t threads) {
  ox_env_opts eo = {.struct_size = sizeof eo, .alloc = counting_alloc_of(count)};
  ox_session_opts so;
  ox_session_opts_init(&so);
  so.n_threads = threads;
  memset(o, 0, sizeof *o);
  CHECK_OK(ox_env_create(&eo, &o->env));
  CHECK_OK(text_session(o->env, n->text, &so, &o->s));
}

static void close_net(opened *o, counting_alloc *count) {
  for (size_t i = 0; i < o->n_in; i++) ox_value_release(o->in[i]);
  ox_session_release(o->s);
  ox_env_release(o->env);
  if (atomic_load(&count->live)) fail_msg("%ld blocks leaked", atomic_load(&count->live));
}

static ox_value *run_once(opened *o) {
  ox_value *out = NULL;
  CHECK_OK(ox_session_run(o->s, NULL, o->names, (const ox_value *const *)o->in, o->n_in, NULL, &out, 1));
  return out;
}

static void test_repeated_run_allocates_nothing(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(nets); i++) {
    counting_alloc count = {.fail_at = -1};
    opened o;
    open_net(&o, &nets[i], &count, 2);
    feed(&o, &nets[i], nets[i].dims[0]);
    ox_value *first = run_once(&o);
    size_t bytes = ox_value_get(first)->bytes;
    void *copy = malloc(bytes);
    memcpy(copy, ox_value_get(first)->data, bytes);
    ox_value_release(first);
    long before = atomic_load(&count.calls);
    for (int k = 0; k < 5; k++) {
      ox_value *next = run_once(&o);
      assert_memory_equal(ox_value_get(next)->data, copy, bytes); /* also of weights that were not packed before */
      ox_value_release(next);
    }
    free(copy);
    if (atomic_load(&count.calls) != before)
      fail_msg("%s: %ld allocations in repeated runs", nets[i].name, atomic_load(&count.calls) - before);
    close_net(&o, &count);
  }
}

static void test_same_bits_for_any_thread_count(void **state) {
  static const uint32_t threads[] = {1, 2, 5};
  (void)state;
  for (size_t i = 0; i < OX_COUNT(nets); i++) {
    ox_value *first = NULL;
    for (size_t t = 0; t < OX_COUNT(threads); t++) {
      counting_alloc count = {.fail_at = -1};
      opened o;
      open_net(&o, &nets[i], &count, threads[t]);
      feed(&o, &nets[i], nets[i].dims[0]);
      ox_value *out = run_once(&o);
      const ox_tensor *got = ox_value_get(out);
      if (!first) {
        ox_env *plain;
        CHECK_OK(ox_env_create(NULL, &plain));
        CHECK_OK(ox_value_create_copy(plain, got, &first));
        ox_env_release(plain);
      }
      const ox_tensor *want = ox_value_get(first);
      assert_int_equal(got->bytes, want->bytes);
      if (memcmp(got->data, want->data, want->bytes) != 0)
        fail_msg("%s: %u threads give other bits", nets[i].name, threads[t]);
      ox_value_release(out);
      close_net(&o, &count);
    }
    ox_value_release(first);
  }
}

/* ---- many threads on one session ---- */

enum { CLIENTS = 4, TURNS = 30 };

typedef struct {
  opened *o;
  const ox_value *in[MOST_IN];
  const unsigned char *want;
  size_t bytes;
  const char *failure;
} client;

static void *client_main(void *arg) {
  client *c = arg;
  for (int k = 0; k < TURNS && !c->failure; k++) {
    ox_value *out = NULL;
    ox_status *st = ox_session_run(c->o->s, NULL, c->o->names, c->in, c->o->n_in, NULL, &out, 1);
    if (st)
      c->failure = "a run failed";
    else if (ox_value_get(out)->bytes != c->bytes || memcmp(ox_value_get(out)->data, c->want, c->bytes) != 0)
      c->failure = "other bits";
    ox_status_free(st);
    ox_value_release(out);
  }
  return NULL;
}

static void test_many_threads_on_one_session(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(nets); i++) {
    counting_alloc count = {.fail_at = -1};
    opened o;
    pthread_t threads[CLIENTS];
    client clients[CLIENTS] = {0};
    ox_value *want[2], *in[2][MOST_IN];
    open_net(&o, &nets[i], &count, 2);
    for (int shape = 0; shape < 2; shape++) { /* two clients on each of two shapes */
      feed(&o, &nets[i], nets[i].dims[0] + shape);
      want[shape] = run_once(&o);
      memcpy(in[shape], o.in, sizeof in[shape]);
    }
    for (int k = 0; k < CLIENTS; k++) {
      clients[k].o = &o, clients[k].want = ox_value_get(want[k % 2])->data,
      clients[k].bytes = ox_value_get(want[k % 2])->bytes;
      for (size_t a = 0; a < o.n_in; a++) clients[k].in[a] = in[k % 2][a];
      assert_int_equal(pthread_create(&threads[k], NULL, client_main, &clients[k]), 0);
    }
    for (int k = 0; k < CLIENTS; k++) {
      pthread_join(threads[k], NULL);
      if (clients[k].failure) fail_msg("%s: %s", nets[i].name, clients[k].failure);
    }
    for (size_t a = 0; a < o.n_in; a++) ox_value_release(in[0][a]);
    ox_value_release(want[0]), ox_value_release(want[1]);
    close_net(&o, &count);
  }
}

static void test_many_shapes_in_turn(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(nets); i++) {
    counting_alloc count = {.fail_at = -1};
    opened o;
    open_net(&o, &nets[i], &count, 1);
    for (int64_t batch = 0; batch < 20; batch++) { /* an empty batch first */
      feed(&o, &nets[i], batch);
      ox_value_release(run_once(&o));
      for (size_t k = 0; k < o.n_in; k++) ox_value_release(o.in[k]);
    }
    o.n_in = 0;
    close_net(&o, &count);
  }
}

/* Everything from env to result, with the allocation number |fail_at| and all later ones failing. True on success. */
static bool try_all(const unsigned char *bytes, size_t n, const net *with, long fail_at) {
  counting_alloc count = {.fail_at = fail_at};
  ox_env_opts eo = {.struct_size = sizeof eo, .alloc = counting_alloc_of(&count)};
  ox_session_opts so;
  ox_env *env = NULL;
  ox_session *s = NULL;
  ox_value *in[MOST_IN] = {0}, *out = NULL;
  const char *names[MOST_IN];
  ox_session_opts_init(&so);
  so.n_threads = 1;
  ox_status *st = ox_env_create(&eo, &env);
  if (!st) st = ox_session_create(env, bytes, n, &so, &s);
  size_t n_in = st ? 0 : ox_session_input_count(s);
  for (size_t i = 0; i < n_in && !st; i++) {
    ox_value_info info;
    int64_t dims[OX_MAX_RANK];
    CHECK_OK(ox_session_input(s, i, &info));
    for (int d = 0; d < info.rank; d++) dims[d] = info.dims[d] < 0 ? with->dims[0] : info.dims[d];
    names[i] = info.name;
    st = ox_value_create(env, OX_F32, dims, (size_t)info.rank, &in[i]);
  }
  if (!st) st = ox_session_run(s, NULL, names, (const ox_value *const *)in, n_in, NULL, &out, 1);
  bool ok = st == NULL;
  if (st && ox_status_code(st) != OX_OUT_OF_MEMORY)
    fail_msg("%s, allocation %ld: %s", with->name, fail_at, ox_status_message(st));
  ox_status_free(st);
  ox_value_release(out);
  for (size_t i = 0; i < MOST_IN; i++) ox_value_release(in[i]);
  ox_session_release(s);
  ox_env_release(env);
  if (atomic_load(&count.live))
    fail_msg("%s: %ld blocks leaked when allocation %ld fails", with->name, atomic_load(&count.live), fail_at);
  return ok;
}

static void test_every_failed_allocation_is_an_error(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(nets); i++) {
    size_t n;
    unsigned char *bytes = text_model_bytes(nets[i].text, &n);
    long at = 0;
    while (!try_all(bytes, n, &nets[i], at)) at++;
    assert_true(at > 5);
    free(bytes);
  }
}

/* ---- errors that name what is wrong ---- */

static const struct {
  const char *name, *text;
  ox_code code;
  const char *part;
} bad_models[] = {
    {"unknown operators, all at once",
     "<ir_version: 8, opset_import: [\"\" : 17, \"com.acme\" : 1]> g (float[2] x) => (float[2] y)"
     "{ a = com.acme.Fizz (x) b = NoSuchOp (a) y = com.acme.Fizz (b) }",
     OX_NOT_IMPLEMENTED, "com.acme.Fizz(1) x2, NoSuchOp(17) x1"},
    {"too many inputs", "<ir_version: 8, opset_import: [\"\" : 17]> g (float[2] x) => (float[2] y) { y = Relu (x, x) }",
     OX_INVALID_MODEL, "Relu"},
    {"a type the operator does not take",
     "<ir_version: 8, opset_import: [\"\" : 17]> g (string[2] x) => (string[2] y) { y = Sigmoid (x) }",
     OX_INVALID_MODEL, "input 0 is string"},
    {"shapes that do not broadcast",
     "<ir_version: 8, opset_import: [\"\" : 17]> g (float[2] x, float[3] z) => (float[2] y) { y = Add (x, z) }",
     OX_SHAPE_MISMATCH, "[2] and [3]"},
    {"an attribute of another kind",
     "<ir_version: 8, opset_import: [\"\" : 17]> g (float[2] x) => (float[2] y) { y = LeakyRelu <alpha = \"big\"> (x) "
     "}",
     OX_INVALID_MODEL, "alpha"},
};

static void test_bad_models_are_named(void **state) {
  (void)state;
  ox_env *env;
  CHECK_OK(ox_env_create(NULL, &env));
  for (size_t i = 0; i < OX_COUNT(bad_models); i++) {
    ox_session *s = NULL;
    ox_status *st = text_session(env, bad_models[i].text, NULL, &s);
    if (ox_status_code(st) != bad_models[i].code || !strstr(ox_status_message(st), bad_models[i].part))
      fail_msg("%s: got %s \"%s\"", bad_models[i].name, ox_code_name(ox_status_code(st)), ox_status_message(st));
    assert_null(s);
    ox_status_free(st);
  }
  ox_env_release(env);
}

static void test_files_that_are_missing_are_named_once(void **state) {
  (void)state;
  static const char path[] = "/nonexistent/model.onnx";
  ox_env *env;
  ox_session *s;
  CHECK_OK(ox_env_create(NULL, &env));
  ox_status *st = ox_session_create_file(env, path, NULL, &s);
  assert_int_equal(ox_status_code(st), OX_NO_SUCH_FILE);
  const char *first = strstr(ox_status_message(st), path);
  assert_non_null(first);
  assert_null(strstr(first + 1, path));
  ox_status_free(st);
  ox_env_release(env);
}

static void test_wrong_inputs_are_named(void **state) {
  (void)state;
  counting_alloc count = {.fail_at = -1};
  opened o;
  open_net(&o, &nets[0], &count, 1);
  int64_t wrong[] = {3, 63}, right[] = {3, 64};
  ox_value *v = ramp_value(o.env, 0, 1, 2, wrong), *ok = ramp_value(o.env, 0, 1, 2, right), *out = NULL, *ints;
  CHECK_OK(ox_value_create(o.env, OX_I64, right, 2, &ints));
  const char *name = "x", *other = "z";
  const ox_value *const in[] = {v}, *const good[] = {ok}, *const typed[] = {ints};
  CHECK_FAILS(ox_session_run(o.s, NULL, &name, in, 1, NULL, &out, 1), OX_SHAPE_MISMATCH,
              "wanted shape [N,64], got [3,63]");
  CHECK_FAILS(ox_session_run(o.s, NULL, &name, typed, 1, NULL, &out, 1), OX_SHAPE_MISMATCH,
              "wanted float32, got int64");
  CHECK_FAILS(ox_session_run(o.s, NULL, &other, good, 1, NULL, &out, 1), OX_INVALID_ARGUMENT, "input 'x' is missing");
  CHECK_FAILS(ox_session_run(o.s, NULL, NULL, NULL, 0, NULL, &out, 1), OX_INVALID_ARGUMENT, "'x'");
  CHECK_FAILS(ox_session_run(o.s, NULL, &name, good, 1, &other, &out, 1), OX_INVALID_ARGUMENT, "no output 'z'");
  int cancel = 1;
  ox_run_opts stop = {.struct_size = sizeof stop, .cancel = &cancel};
  CHECK_FAILS(ox_session_run(o.s, &stop, &name, good, 1, NULL, &out, 1), OX_CANCELLED, "cancelled");
  assert_null(out);
  ox_value_release(v), ox_value_release(ok), ox_value_release(ints);
  close_net(&o, &count);
}

/* Strings that are known when a context is made must outlive the run that made it: their characters, too. */
static void test_known_strings_stay_known(void **state) {
  static char many[900];
  (void)state;
  ox_env *env;
  ox_session *s;
  ox_session_opts so;
  ox_session_opts_init(&so);
  so.optimize = OX_OPTIMIZE_NONE;
  memset(many, 'x', sizeof many);
  CHECK_OK(ox_env_create(NULL, &env));
  CHECK_OK(text_session(env,
                        "<ir_version: 9, opset_import: [\"\" : 20]> g (string[N] x) => (string[1] y, string[M] z)"
                        "<string[1] a = {\"left\"}, string[1] b = {\"right\"}> { y = StringConcat (a, b) z = "
                        "StringConcat (x, x) }",
                        &so, &s));
  for (int turn = 0; turn < 3; turn++) {
    ox_str text = {many, turn ? sizeof many : 1};
    ox_tensor t = {.kind = OX_TENSOR, .dtype = OX_STRING, .data = &text, .bytes = sizeof text, .shape = {.rank = 1, .dim = {1}}};
    ox_value *x, *out[2] = {NULL};
    const char *name = "x";
    CHECK_OK(ox_value_create_copy(env, &t, &x));
    CHECK_OK(ox_session_run(s, NULL, &name, (const ox_value *const *)&x, 1, NULL, out, 2));
    const ox_str *y = ox_value_get(out[0])->data;
    assert_int_equal(y->n, 9);
    assert_memory_equal(y->p, "leftright", 9);
    ox_value_release(out[0]), ox_value_release(out[1]), ox_value_release(x);
  }
  ox_session_release(s);
  ox_env_release(env);
}

static void test_plan_tells_the_workspace(void **state) {
  (void)state;
  counting_alloc count = {.fail_at = -1};
  opened o;
  open_net(&o, &nets[0], &count, 1);
  size_t small, large;
  ox_shape a = {.rank = 2, .dim = {10, 64}}, b = {.rank = 2, .dim = {1000, 64}}, unknown = {.rank = 2, .dim = {-1, 64}};
  CHECK_OK(ox_session_plan(o.s, &a, 1, &small));
  CHECK_OK(ox_session_plan(o.s, &b, 1, &large));
  assert_true(large >= 1000 * 64 * 4 && large > small);
  CHECK_FAILS(ox_session_plan(o.s, &unknown, 1, &small), OX_INVALID_ARGUMENT, "not concrete");
  close_net(&o, &count);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_repeated_run_allocates_nothing),
      cmocka_unit_test(test_same_bits_for_any_thread_count),
      cmocka_unit_test(test_many_shapes_in_turn),
      cmocka_unit_test(test_every_failed_allocation_is_an_error),
      cmocka_unit_test(test_bad_models_are_named),
      cmocka_unit_test(test_files_that_are_missing_are_named_once),
      cmocka_unit_test(test_wrong_inputs_are_named),
      cmocka_unit_test(test_plan_tells_the_workspace),
      cmocka_unit_test(test_known_strings_stay_known),
      cmocka_unit_test(test_many_threads_on_one_session),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
