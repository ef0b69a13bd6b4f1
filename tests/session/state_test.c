/* SPDX-License-Identifier: Apache-2.0
 * session/state_test.c - a run with a state gives the bits of a run that is handed the values, and the state has those
 * of its outputs: for whatever is carried, from the first run on, with going back, and for several sequences at once.
 */
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/counting_alloc.h"
#include "support/text_session.h"

enum { MOST = 8, WIDTH = 64 };

#define MODEL(inputs, outputs) \
  "<ir_version: 10, opset_import: [\"\" : 23, \"com.microsoft\" : 1]> g (" inputs ") => (" outputs ") "
#define CACHE(b, h, d) "float[" b "," h ",P," d "] past_k, float[" b "," h ",P," d "] past_v"
#define AFTER(b, h, d) "float[" b "," h ",T," d "] present_k, float[" b "," h ",T," d "] present_v"

/* Inputs beside the state: P tokens are there, S are new, of B sequences. */
static const struct {
  const char *name, *text;
  bool grows;
} models[] = {
    {"a hidden state",
     MODEL("float[B,8] past, float[B,8] x",
           "float[B,8] y, float[B,8] present") "{ s = Add (past, x) "
                                               "present = Tanh (s) y = Neg (present) }",
     false},
    {"a counter",
     MODEL("int64 past, float[S] x", "float[S] y, int64 present") "<int64 one = {1}> { present = Add (past, one) "
                                                                  "y = Neg (x) }",
     false},
    {"rows",
     MODEL("float[P,8] past, float[S,8] x",
           "float[T,8] y, float[T,8] present") "{ present = Concat <axis = 0> (past, x) "
                                               "y = Neg (present) }",
     true},
    {"an output that is passed through",
     MODEL("float[P,8] past, float[S,8] x", "float[S,8] y, float[P,8] present") "{ present = "
                                                                                "Identity (past) y = Neg (x) }",
     false},
    {"Attention",
     MODEL(CACHE("B", "2", "8") ", float[B,4,S,8] q, float[B,2,S,8] k, float[B,2,S,8] v",
           "float[B,4,S,8] y, " AFTER("B", "2", "8")) "{ y, present_k, present_v = Attention <is_causal = 1> "
                                                      "(q, k, v, , past_k, past_v) }",
     true},
    {"Attention of rows",
     MODEL(CACHE("B", "2", "8") ", float[B,S,32] q, float[B,S,16] k, float[B,S,16] v",
           "float[B,S,32] y, " AFTER("B", "2", "8")) "{ y, present_k, present_v = Attention <is_causal = 1, "
                                                     "q_num_heads = 4, kv_num_heads = 2> (q, k, v, , past_k, past_v) }",
     true},
    {"Attention, written out",
     MODEL(CACHE("B", "2", "8") ", float[B,2,S,8] q, float[B,2,S,8] k, float[B,2,S,8] v",
           "float[B,2,S,8] y, " AFTER("B", "2", "8")) "<float scale = {0.35}> { present_k = Concat <axis = 2> (past_k, "
                                                      "k) present_v = Concat <axis = 2> (past_v, v) "
                                                      "t = Transpose <perm = [0,1,3,2]> (present_k) a = MatMul (q, t) "
                                                      "b = Mul (a, scale) w = Softmax <axis = -1> (b) "
                                                      "y = MatMul (w, present_v) }",
     true},
    {"MultiHeadAttention",
     MODEL(CACHE("B", "2", "8") ", float[B,S,16] q, float[B,S,16] k, float[B,S,16] v",
           "float[B,S,16] y, " AFTER("B", "2", "8")) "{ y, present_k, present_v = com.microsoft.MultiHeadAttention "
                                                     "<num_heads = 2, unidirectional = 1> (q, k, v, , , , past_k, "
                                                     "past_v) }",
     true},
    {"a cache that is read twice",
     MODEL(CACHE("B", "2", "8") ", float[B,2,S,8] q, float[B,2,S,8] k, float[B,2,S,8] v",
           "float[B,2,S,8] y, float[B,2,T,8] z, " AFTER("B", "2",
                                                        "8")) "{ y, present_k, present_v = Attention <is_causal = 1> "
                                                              "(q, k, v, , past_k, past_v) z = Neg (present_v) }",
     true},
    {"GroupQueryAttention",
     MODEL(CACHE("B", "2", "8") ", float[B,S,32] q, float[B,S,16] k, float[B,S,16] v, int32[B] lens, "
                                "int32 total",
           "float[B,S,32] y, " AFTER("B", "2", "8")) "{ y, present_k, present_v = com.microsoft.GroupQueryAttention "
                                                     "<num_heads = 4, kv_num_heads = 2> (q, k, v, past_k, past_v, "
                                                     "lens, total) }",
     true},
};

/* ---- inputs ---- */

static float number(uint32_t *seed) {
  *seed = *seed * 1664525u + 1013904223u;
  return (float)(*seed >> 8) / (float)(1 << 23) - 1;
}

typedef struct {
  int64_t batch, past, fresh;
} lengths;

static int64_t dim_of(const ox_value_info *info, int d, const lengths *n) {
  if (info->dims[d] >= 0) return info->dims[d];
  switch (info->dim_names[d][0]) {
    case 'B':
      return n->batch;
    case 'S':
      return n->fresh;
    default:
      return n->past;
  }
}

static ox_value *make_input(const ox_value_info *info, const lengths *n, uint32_t *seed) {
  ox_value *v;
  int64_t dims[OX_MAX_RANK];
  for (int d = 0; d < info->rank; d++) dims[d] = dim_of(info, d, n);
  CHECK_OK(ox_value_create(NULL, info->dtype, dims, (size_t)info->rank, &v));
  const ox_tensor *t = ox_value_get(v);
  for (int64_t i = 0; i < ox_tensor_count(t); i++) {
    if (t->dtype == OX_F32) ((float *)t->data)[i] = number(seed);
    if (t->dtype == OX_I32) ((int32_t *)t->data)[i] = (int32_t)(n->past + n->fresh - (info->rank == 1));
  }
  return v;
}

/* The values of one run. */
typedef struct {
  const char *in_names[MOST], *out_names[MOST];
  ox_value *in[MOST], *out[MOST];
  size_t n_in, n_out;
} values;

static bool is_past(const char *name) { return strncmp(name, "past", 4) == 0; }
static bool is_present(const char *name) { return strncmp(name, "present", 7) == 0; }

/* Inputs beside those of pairs, and the names of all outputs beside theirs. */
static void make_values(const ox_session *s, const lengths *n, uint32_t seed, values *v) {
  ox_value_info info;
  *v = (values){.n_in = 0};
  for (size_t i = 0; i < ox_session_input_count(s); i++) {
    CHECK_OK(ox_session_input(s, i, &info));
    if (is_past(info.name)) continue;
    v->in_names[v->n_in] = info.name, v->in[v->n_in++] = make_input(&info, n, &seed);
  }
  for (size_t i = 0; i < ox_session_output_count(s); i++) {
    CHECK_OK(ox_session_output(s, i, &info));
    if (!is_present(info.name)) v->out_names[v->n_out++] = info.name;
  }
}

static void release_values(values *v) {
  for (size_t i = 0; i < MOST; i++) ox_value_release(v->in[i]), ox_value_release(v->out[i]);
}

/* ---- by hand ---- */

/* What a caller without states carries from run to run. */
typedef struct {
  const char *in_names[MOST], *out_names[MOST];
  ox_value *held[MOST];
  size_t n;
} carried;

static void begin_by_hand(const ox_session *s, const ox_state *st, int64_t batch, carried *c) {
  ox_state_pair pair;
  uint32_t seed = 1;
  *c = (carried){.n = 0};
  for (; ox_state_pair_at(st, c->n, &pair); c->n++) {
    ox_value_info info;
    c->in_names[c->n] = pair.input, c->out_names[c->n] = pair.output;
    for (size_t i = 0; i < ox_session_input_count(s); i++) {
      CHECK_OK(ox_session_input(s, i, &info));
      if (strcmp(info.name, pair.input) != 0) continue;
      c->held[c->n] = make_input(&info, &(lengths){batch, 0, 0}, &seed);
      memset(ox_value_data(c->held[c->n]), 0, ox_value_get(c->held[c->n])->bytes);
    }
  }
}

static void run_by_hand(ox_session *s, values *v, carried *c) {
  const char *in_names[2 * MOST], *out_names[2 * MOST];
  const ox_value *in[2 * MOST];
  ox_value *out[2 * MOST] = {NULL};
  for (size_t i = 0; i < v->n_in; i++) in_names[i] = v->in_names[i], in[i] = v->in[i];
  for (size_t i = 0; i < v->n_out; i++) out_names[i] = v->out_names[i];
  for (size_t i = 0; i < c->n; i++) {
    in_names[v->n_in + i] = c->in_names[i], in[v->n_in + i] = c->held[i];
    out_names[v->n_out + i] = c->out_names[i];
  }
  CHECK_OK(ox_session_run(s, NULL, in_names, in, v->n_in + c->n, out_names, out, v->n_out + c->n));
  for (size_t i = 0; i < v->n_out; i++) v->out[i] = out[i];
  for (size_t i = 0; i < c->n; i++) {
    ox_value_release(c->held[i]);
    c->held[i] = out[v->n_out + i];
  }
}

static void end_by_hand(carried *c) {
  for (size_t i = 0; i < c->n; i++) ox_value_release(c->held[i]);
}

/* ---- with a state ---- */

static ox_status *run_with(ox_session *s, ox_state *st, values *v) {
  const ox_run_opts o = {.struct_size = sizeof o, .state = st};
  return ox_session_run(s, &o, v->in_names, (const ox_value *const *)v->in, v->n_in, v->out_names, v->out, v->n_out);
}

static void check_same(const char *what, const ox_value *want, const ox_value *got) {
  const ox_tensor *a = ox_value_get(want), *b = ox_value_get(got);
  if (a->dtype != b->dtype || a->bytes != b->bytes || a->shape.rank != b->shape.rank ||
      memcmp(a->shape.dim, b->shape.dim, (size_t)a->shape.rank * sizeof(int64_t)) != 0)
    fail_msg("%s has another shape: %zu bytes, %zu wanted", what, b->bytes, a->bytes);
  if (a->bytes && memcmp(a->data, b->data, a->bytes) != 0) fail_msg("%s differs", what);
}

static void check_state(const ox_state *st, const carried *c) {
  for (size_t i = 0; i < c->n; i++) {
    ox_value *v;
    CHECK_OK(ox_state_get(st, c->in_names[i], &v));
    check_same(c->in_names[i], c->held[i], v);
    ox_value_release(v);
  }
}

/* One step by hand and with the state. */
static void step(ox_session *s, ox_state *st, carried *c, const lengths *n) {
  values a, b;
  make_values(s, n, (uint32_t)(7 + n->past), &a);
  make_values(s, n, (uint32_t)(7 + n->past), &b);
  run_by_hand(s, &a, c);
  CHECK_OK(run_with(s, st, &b));
  for (size_t i = 0; i < a.n_out; i++) check_same(a.out_names[i], a.out[i], b.out[i]);
  release_values(&a), release_values(&b);
}

static void open_session(const char *text, ox_env **env, ox_session **s) {
  ox_session_opts so;
  ox_session_opts_init(&so);
  so.n_threads = 2;
  CHECK_OK(ox_env_create(NULL, env));
  CHECK_OK(text_session(*env, text, &so, s));
}

static const int64_t fresh[] = {5, 1, 1, 3, 1, 1, 7, 1, 1, 1, 30, 1, 1, 1, 1};

static void test_the_same_bits(void **state) {
  (void)state;
  for (size_t m = 0; m < OX_COUNT(models); m++) {
    ox_env *env;
    ox_session *s;
    ox_state *st;
    carried c;
    lengths n = {.batch = 2};
    print_message("%s\n", models[m].name);
    open_session(models[m].text, &env, &s);
    CHECK_OK(ox_state_create(s, NULL, 0, &st));
    begin_by_hand(s, st, n.batch, &c);
    for (size_t i = 0; i < OX_COUNT(fresh); i++) {
      n.fresh = fresh[i];
      step(s, st, &c, &n);
      n.past += n.fresh;
      assert_int_equal(ox_state_length(st), models[m].grows ? n.past : 0);
      if (i % 4 == 3) check_state(st, &c);
    }
    check_state(st, &c);
    end_by_hand(&c);
    ox_state_release(st);
    ox_session_release(s);
    ox_env_release(env);
  }
}

/* ---- going back ---- */

/* The first |n| rows of the cache [batch, 2, rows, 8] or [rows, 8]. */
static ox_value *first_rows(const ox_value *v, int64_t n) {
  const ox_tensor *t = ox_value_get(v);
  int axis = t->shape.rank - 2;
  int64_t dims[OX_MAX_RANK], outer = 1;
  ox_value *out;
  memcpy(dims, t->shape.dim, sizeof dims);
  for (int d = 0; d < axis; d++) outer *= dims[d];
  dims[axis] = n;
  CHECK_OK(ox_value_create(NULL, t->dtype, dims, (size_t)t->shape.rank, &out));
  size_t row = 8 * sizeof(float), to = (size_t)n * row, from = (size_t)t->shape.dim[axis] * row;
  for (int64_t i = 0; i < outer; i++)
    memcpy((char *)ox_value_data(out) + (size_t)i * to, (char *)t->data + (size_t)i * from, to);
  return out;
}

static void test_back(void **state) {
  (void)state;
  for (size_t m = 0; m < OX_COUNT(models); m++) {
    ox_env *env;
    ox_session *s;
    ox_state *st;
    carried c;
    lengths n = {.batch = 2, .fresh = 4};
    if (!models[m].grows) continue;
    open_session(models[m].text, &env, &s);
    CHECK_OK(ox_state_create(s, NULL, 0, &st));
    begin_by_hand(s, st, n.batch, &c);
    CHECK_OK(ox_state_truncate(st, 0));
    for (int i = 0; i < 4; i++, n.past += n.fresh) step(s, st, &c, &n);
    CHECK_FAILS(ox_state_truncate(st, n.past + 1), OX_INVALID_ARGUMENT, "16 tokens");
    CHECK_FAILS(ox_state_truncate(st, -1), OX_INVALID_ARGUMENT, "-1");
    CHECK_OK(ox_state_truncate(st, n.past));
    check_state(st, &c);
    for (n.past = 11, n.fresh = 2; n.past > 4; n.past -= 3) {
      CHECK_OK(ox_state_truncate(st, n.past));
      assert_int_equal(ox_state_length(st), n.past);
      for (size_t i = 0; i < c.n; i++) {
        ox_value *shorter = first_rows(c.held[i], n.past);
        ox_value_release(c.held[i]);
        c.held[i] = shorter;
      }
      check_state(st, &c);
      step(s, st, &c, &n);
      check_state(st, &c);
    }
    end_by_hand(&c);
    CHECK_OK(ox_state_truncate(st, 0)); /* a new sequence, of another batch */
    assert_int_equal(ox_state_length(st), 0);
    n = (lengths){.batch = 3, .fresh = 6};
    begin_by_hand(s, st, n.batch, &c);
    step(s, st, &c, &n);
    check_state(st, &c);
    end_by_hand(&c);
    ox_state_release(st);
    ox_session_release(s);
    ox_env_release(env);
  }
}

/* ---- several sequences ---- */

static void test_sequences(void **state) {
  (void)state;
  enum { N = 3 };
  for (size_t m = 0; m < OX_COUNT(models); m++) {
    ox_env *env;
    ox_session *s;
    ox_state *st[N];
    carried c[N];
    lengths n[N];
    open_session(models[m].text, &env, &s);
    for (int k = 0; k < N; k++) {
      CHECK_OK(ox_state_create(s, NULL, 0, &st[k]));
      n[k] = (lengths){.batch = 1 + k / 2, .fresh = 1 + k};
      begin_by_hand(s, st[k], n[k].batch, &c[k]);
    }
    for (int i = 0; i < 12; i++)
      for (int k = 0; k < N; k++) step(s, st[k], &c[k], &n[k]), n[k].past += n[k].fresh;
    for (int k = 0; k < N; k++) {
      check_state(st[k], &c[k]);
      end_by_hand(&c[k]);
      ox_state_release(st[k]);
    }
    ox_session_release(s);
    ox_env_release(env);
  }
}

/* ---- what a run is given counts ---- */

static void test_given(void **state) {
  (void)state;
  ox_env *env;
  ox_session *s;
  ox_state *st;
  carried c;
  values v;
  lengths n = {.batch = 2, .fresh = 2};
  open_session(models[4].text, &env, &s);
  CHECK_OK(ox_state_create(s, NULL, 0, &st));
  begin_by_hand(s, st, n.batch, &c);
  for (int i = 0; i < 3; i++, n.past += n.fresh) step(s, st, &c, &n);
  ox_state_release(st);
  CHECK_OK(ox_state_create(s, NULL, 0, &st)); /* goes on from values of another one */
  make_values(s, &n, 3, &v);
  for (size_t i = 0; i < c.n; i++) {
    v.in_names[v.n_in] = c.in_names[i];
    v.in[v.n_in++] = ox_value_retain(c.held[i]);
  }
  CHECK_OK(run_with(s, st, &v));
  release_values(&v);
  assert_int_equal(ox_state_length(st), n.past + n.fresh);
  make_values(s, &n, 3, &v);
  run_by_hand(s, &v, &c);
  release_values(&v);
  check_state(st, &c);
  n.past += n.fresh;
  step(s, st, &c, &n);
  check_state(st, &c);
  end_by_hand(&c);
  ox_state_release(st);
  ox_session_release(s);
  ox_env_release(env);
}

/* ---- errors ---- */

static void test_errors(void **state) {
  (void)state;
  static const struct {
    ox_state_pair pairs[2];
    size_t n;
    const char *part;
  } wrong[] = {
      {{{"present_k", "nothing"}}, 1, "no input 'nothing'"},
      {{{"nothing", "past_k"}}, 1, "no output 'nothing'"},
      {{{"present_k", "past_k"}, {"present_k", "past_v"}}, 2, "in two pairs"},
      {{{"present_k", "past_k"}, {"present_v", "past_k"}}, 2, "in two pairs"},
  };
  ox_env *env;
  ox_session *s;
  ox_state *st;
  ox_value *v;
  values run;
  carried c;
  lengths n = {.batch = 1, .fresh = 2};
  open_session(models[4].text, &env, &s);
  for (size_t i = 0; i < OX_COUNT(wrong); i++)
    CHECK_FAILS(ox_state_create(s, wrong[i].pairs, wrong[i].n, &st), OX_INVALID_ARGUMENT, wrong[i].part);
  CHECK_OK(ox_state_create(s, NULL, 0, &st));
  CHECK_FAILS(ox_state_get(st, "past_k", &v), OX_INVALID_ARGUMENT, "nothing for input 'past_k'");
  CHECK_FAILS(ox_state_get(st, "q", &v), OX_INVALID_ARGUMENT, "no pair with input 'q'");
  begin_by_hand(s, st, n.batch, &c);
  make_values(s, &n, 1, &run);
  run.out_names[run.n_out++] = "present_k";
  CHECK_FAILS(run_with(s, st, &run), OX_INVALID_ARGUMENT, "'present_k' stays in the state");
  run.n_out--, run.n_in--; /* an input is missing: the state stays empty, and may be of another batch */
  CHECK_FAILS(run_with(s, st, &run), OX_INVALID_ARGUMENT, "missing");
  run.n_in++;
  release_values(&run);
  end_by_hand(&c);
  n.batch = 2;
  begin_by_hand(s, st, n.batch, &c);
  step(s, st, &c, &n);
  n.past += n.fresh;
  make_values(s, &(lengths){3, n.past, 1}, 1, &run); /* another batch than the state's */
  CHECK_FAILS(run_with(s, st, &run), OX_SHAPE_MISMATCH, "");
  release_values(&run);
  check_state(st, &c);
  step(s, st, &c, &n);
  check_state(st, &c);
  end_by_hand(&c);
  ox_state_release(st);
  ox_session_release(s);
  ox_env_release(env);
  open_session(MODEL("float[4] x", "float[4] y") "{ y = Neg (x) }", &env, &s);
  CHECK_FAILS(ox_state_create(s, NULL, 0, &st), OX_INVALID_ARGUMENT, "name the pairs");
  ox_session_release(s);
  ox_env_release(env);
}

/* ---- memory ---- */

/* Allocation |n| of a step fails, n = 0, 1, 2 ...: the state has what it had. */
static void test_out_of_memory(void **state) {
  (void)state;
  for (size_t m = 0; m < OX_COUNT(models); m++) {
    counting_alloc count = {.fail_at = -1};
    const ox_env_opts eo = {.struct_size = sizeof eo, .alloc = counting_alloc_of(&count)};
    ox_session_opts so;
    ox_env *env;
    ox_session *s;
    ox_state *st;
    carried c;
    values v;
    lengths n = {.batch = 2, .fresh = 3};
    ox_session_opts_init(&so);
    so.n_threads = 1;
    CHECK_OK(ox_env_create(&eo, &env));
    CHECK_OK(text_session(env, models[m].text, &so, &s));
    CHECK_OK(ox_state_create(s, NULL, 0, &st));
    begin_by_hand(s, st, n.batch, &c);
    for (int i = 0; i < 3; i++) {
      bool done = false;
      for (long k = 0; !done; k++) {
        make_values(s, &n, (uint32_t)(7 + n.past), &v);
        ox_session_shrink(s); /* so that the step allocates */
        count.fail_at = atomic_load(&count.calls) + k;
        ox_status *status = run_with(s, st, &v);
        count.fail_at = -1;
        done = !status;
        if (status && ox_status_code(status) != OX_OUT_OF_MEMORY) fail_msg("%s", ox_status_message(status));
        ox_status_free(status);
        if (!done && i) check_state(st, &c);
        assert_int_equal(ox_state_length(st), models[m].grows ? n.past + (done ? n.fresh : 0) : 0);
        if (done) {
          values hand;
          make_values(s, &n, (uint32_t)(7 + n.past), &hand);
          run_by_hand(s, &hand, &c);
          for (size_t o = 0; o < v.n_out; o++) check_same(v.out_names[o], hand.out[o], v.out[o]);
          release_values(&hand);
        }
        release_values(&v);
      }
      check_state(st, &c);
      n.past += n.fresh;
    }
    end_by_hand(&c);
    ox_state_release(st);
    ox_session_release(s);
    ox_env_release(env);
    assert_int_equal(atomic_load(&count.live), 0);
  }
}

/* An allocator of blocks full of NaN, which counts the large ones. */
typedef struct {
  counting_alloc count;
  atomic_long large, large_bytes;
} nan_alloc;

enum { LARGE = 128 << 10 };

static void *take_nan(void *ctx, size_t bytes, size_t align) {
  nan_alloc *a = ctx;
  void *p = counting_alloc_fn(&a->count, bytes, align);
  if (p) memset(p, 0xff, bytes);
  if (p && bytes >= LARGE) atomic_fetch_add(&a->large, 1), atomic_fetch_add(&a->large_bytes, (long)bytes);
  return p;
}

static void give_nan(void *ctx, void *p, size_t bytes) {
  nan_alloc *a = ctx;
  if (bytes >= LARGE) atomic_fetch_sub(&a->large_bytes, (long)bytes);
  counting_free_fn(&a->count, p, bytes);
}

#define MANY_HEADS(node)                                                                                         \
  MODEL(CACHE("B", "2", "32") ", float[B,S,64] q, float[B,S,64] k, float[B,S,64] v, int32[B] lens, int32 total", \
        "float[B,S,64] y, " AFTER("B", "2", "32"))                                                               \
  "{ y, present_k, present_v = " node " }"

/* Caches that grow where they are. Their memory doubles: no step but six or so takes any of that size, or has two. */
static const char *const growing[] = {
    MANY_HEADS("Attention <is_causal = 1, q_num_heads = 2, kv_num_heads = 2> (q, k, v, , past_k, past_v)"),
    MANY_HEADS("com.microsoft.MultiHeadAttention <num_heads = 2, unidirectional = 1> (q, k, v, , , , past_k, past_v)"),
    MANY_HEADS(
        "com.microsoft.GroupQueryAttention <num_heads = 2, kv_num_heads = 2> (q, k, v, past_k, past_v, lens, total)"),
};

static void test_growing(void **state) {
  (void)state;
  enum { STEPS = 400, CACHE_BYTES = STEPS * 2 * 2 * 32 * 4 * 2, WORKSPACE = 160 << 10 /* at most */ };
  for (size_t m = 0; m < 2 * OX_COUNT(growing); m++) {
    nan_alloc nan = {.count = {.fail_at = -1}};
    const ox_env_opts eo = {.struct_size = sizeof eo, .alloc = {take_nan, give_nan, &nan}};
    bool reserved = m >= OX_COUNT(growing);
    ox_env *env;
    ox_session *s;
    ox_state *st;
    carried c;
    CHECK_OK(ox_env_create(&eo, &env));
    CHECK_OK(text_session(env, growing[m % OX_COUNT(growing)], NULL, &s));
    CHECK_OK(ox_state_create(s, NULL, 0, &st));
    if (reserved) ox_state_reserve(st, STEPS);
    long large = atomic_load(&nan.large);
    lengths n = {.batch = 2, .fresh = 1};
    for (; n.past < STEPS; n.past += n.fresh) {
      values v;
      make_values(s, &n, (uint32_t)(7 + n.past), &v);
      CHECK_OK(run_with(s, st, &v));
      release_values(&v);
    }
    if (atomic_load(&nan.large) - large > (reserved ? 2 : 4) + 1) /* and one workspace */
      fail_msg("%ld large blocks", atomic_load(&nan.large) - large);
    if (atomic_load(&nan.large_bytes) > (reserved ? 1 : 2) * (CACHE_BYTES + (64 << 10)) + WORKSPACE)
      fail_msg("%ld bytes", atomic_load(&nan.large_bytes));
    begin_by_hand(s, st, n.batch, &c);
    for (n.past = 0; n.past < STEPS; n.past += n.fresh) {
      values v;
      make_values(s, &n, (uint32_t)(7 + n.past), &v);
      run_by_hand(s, &v, &c);
      release_values(&v);
    }
    check_state(st, &c);
    end_by_hand(&c);
    ox_state_release(st);
    ox_session_release(s);
    ox_env_release(env);
    assert_int_equal(atomic_load(&nan.count.live), 0);
  }
}

/* What does not grow takes no memory from the third run on. */
static void test_allocations(void **state) {
  (void)state;
  counting_alloc count = {.fail_at = -1};
  const ox_env_opts eo = {.struct_size = sizeof eo, .alloc = counting_alloc_of(&count)};
  ox_env *env;
  ox_session *s;
  ox_state *st;
  long before = 0;
  CHECK_OK(ox_env_create(&eo, &env));
  CHECK_OK(text_session(env, models[0].text, NULL, &s));
  CHECK_OK(ox_state_create(s, NULL, 0, &st));
  for (int i = 0; i < 6; i++) {
    values v;
    make_values(s, &(lengths){2, 0, 0}, 1, &v);
    if (i == 3) before = atomic_load(&count.calls);
    CHECK_OK(run_with(s, st, &v));
    release_values(&v);
  }
  assert_int_equal(atomic_load(&count.calls), before);
  ox_state_release(st);
  ox_session_release(s);
  ox_env_release(env);
  assert_int_equal(atomic_load(&count.live), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_same_bits), cmocka_unit_test(test_back),    cmocka_unit_test(test_sequences),
      cmocka_unit_test(test_given),         cmocka_unit_test(test_errors),  cmocka_unit_test(test_out_of_memory),
      cmocka_unit_test(test_allocations),   cmocka_unit_test(test_growing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
