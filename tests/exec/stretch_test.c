/* SPDX-License-Identifier: Apache-2.0
 * exec/stretch_test.c - small steps that run apart: which do, that they give the bits of the list, and that no two that
 * may run at once touch the same memory. */
#include "exec/stretch.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/session.h"
#include "support/check.h"
#include "support/counting_alloc.h"
#include "support/text_session.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 21]> g "

/* ---- graphs: |width| branches, |depth| steps each, all from x ---- */

typedef struct {
  char text[1 << 16];
  size_t n;
} writer;

static void say(writer *w, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  w->n += (size_t)vsnprintf(w->text + w->n, sizeof w->text - w->n, fmt, args);
  va_end(args);
  assert_true(w->n < sizeof w->text);
}

/* One step of a branch, computing |to| from |from|. */
typedef void (*kind)(writer *w, int branch, int level, const char *to, const char *from);

static void softmax(writer *w, int branch, int level, const char *to, const char *from) {
  (void)branch, (void)level;
  say(w, " [n_%s] %s = Softmax <axis = -1> (%s)", to, to, from);
}
/* Overwrites its input where it may. */
static void leaky(writer *w, int branch, int level, const char *to, const char *from) {
  say(w, " %s = LeakyRelu <alpha = %g> (%s)", to, 0.01 + 0.01 * branch + 0.001 * level, from);
}
/* Two that do not wait for each other read the same value; both could overwrite it. */
static void entwined(writer *w, int branch, int level, const char *to, const char *from) {
  (void)branch;
  if (level % 2)
    say(w, " %s = Add (%s, x)", to, from);
  else
    say(w, " p%s = Exp (%s) t%s = Tanh (%s) %s = Mul (p%s, t%s)", to, from, to, from, to, to, to);
}
static void viewed(writer *w, int branch, int level, const char *to, const char *from) {
  (void)branch, (void)level;
  say(w, " f%s = Flatten <axis = 0> (%s) e%s = Exp (f%s) u%s = Reshape (e%s, shape) %s = Softmax <axis = -1> (u%s)", to,
      from, to, to, to, to, to, to);
}
static void products(writer *w, int branch, int level, const char *to, const char *from) {
  (void)branch, (void)level;
  say(w, " t%s = Transpose <perm = [1, 0]> (%s) s%s = MatMul (%s, t%s) %s = MatMul (s%s, %s)", to, from, to, from, to,
      to, to, from);
}
static void text_of_numbers(writer *w, int branch, int level, const char *to, const char *from) {
  (void)branch;
  say(w, level % 2 ? " %s = Cast <to = 1> (%s)" : " %s = Cast <to = 8> (%s)", to, from);
}
static void in_a_row(writer *w, int branch, int level, const char *to, const char *from) {
  (void)level;
  char before[32];
  snprintf(before, sizeof before, "b%d_%d", branch - 1, 3);
  say(w, " %s = Softmax <axis = -1> (%s)", to, branch && level == 0 ? before : from);
}

typedef struct {
  const char *name;
  kind step;
  int width, depth, rows, columns;
  bool apart; /* it is worth it */
} net;

static const net nets[] = {
    {"branches of softmax", softmax, 8, 4, 16, 128, true},
    {"two branches", softmax, 2, 14, 16, 128, true},
    {"in place", leaky, 8, 6, 16, 128, true},
    {"readers of one value", entwined, 8, 4, 16, 128, true},
    {"views in between", viewed, 6, 3, 16, 128, true},
    {"scratch", products, 8, 2, 16, 128, true},
    {"strings: kernels that take memory", text_of_numbers, 6, 2, 16, 128, true},
    {"one chain", softmax, 1, 32, 16, 128, false},
    {"branches that wait for each other", in_a_row, 8, 4, 16, 128, false},
    {"a few small ones", softmax, 4, 2, 1, 16, false},
    {"steps for all threads", softmax, 8, 4, 4096, 256, false},
    {"too much memory at once", softmax, 3, 1, 16, 20000, false},
};

/* All branches are outputs; the first also as a view. */
static const char *text_of(const net *n, writer *w) {
  w->n = 0;
  say(w, HEAD "(float[%d,%d] x) => (float[%d,%d] y", n->rows, n->columns, 1, n->rows * n->columns);
  for (int b = 0; b < n->width; b++) say(w, ", b%d_%d", b, n->depth - 1);
  say(w, ") <int64[2] shape = {%d, %d}, int64[2] flat = {1, -1}> {", n->rows, n->columns);
  for (int b = 0; b < n->width; b++)
    for (int k = 0; k < n->depth; k++) {
      char to[32], from[32] = "x";
      snprintf(to, sizeof to, "b%d_%d", b, k);
      if (k) snprintf(from, sizeof from, "b%d_%d", b, k - 1);
      n->step(w, b, k, to, from);
    }
  say(w, " y = Reshape (b0_%d, flat) }", n->depth - 1);
  return w->text;
}

/* ---- the harness ---- */

enum { MOST_OUT = 16 };

typedef struct {
  counting_alloc count;
  ox_env *env;
  ox_session *s;
  ox_value *x;
} opened;

static void open_text(opened *o, const char *text, uint32_t threads, size_t limit) {
  ox_env_opts eo = {.struct_size = sizeof eo, .alloc = counting_alloc_of(&o->count)};
  ox_session_opts so;
  ox_session_opts_init(&so);
  so.optimize = OX_OPTIMIZE_NONE, so.n_threads = threads, so.max_workspace = limit;
  o->count = (counting_alloc){.fail_at = -1};
  CHECK_OK(ox_env_create(&eo, &o->env));
  CHECK_OK(text_session(o->env, text, &so, &o->s));
  ox_value_info info;
  CHECK_OK(ox_session_input(o->s, 0, &info));
  o->x = ramp_value(o->env, -0.9f, 0, (size_t)info.rank, info.dims);
  float *data = ox_value_data(o->x);
  for (int64_t i = 0; i < ox_tensor_count(ox_value_get(o->x)); i++) data[i] = (float)(i * 37 % 101) / 101.0f - 0.4f;
}

static void close_text(opened *o) {
  ox_value_release(o->x);
  ox_session_release(o->s);
  ox_env_release(o->env);
  assert_int_equal(atomic_load(&o->count.live), 0);
}

static ox_status *run(opened *o, const ox_run_opts *opts, ox_value **out) {
  const char *name = "x";
  memset(out, 0, MOST_OUT * sizeof *out);
  return ox_session_run(o->s, opts, &name, (const ox_value *const *)&o->x, 1, NULL, out, ox_session_output_count(o->s));
}

static void release(ox_value **out) {
  for (size_t i = 0; i < MOST_OUT; i++) ox_value_release(out[i]);
}

/* The context that the last run left. */
static ox_context *context_of(opened *o) { return o->s->idle[0]; }

/* Whether the next run comes soon, or late, whatever the clock says. */
static void set_pause(opened *o, bool soon) {
  ox_context *c = context_of(o);
  if (c->stretches) c->stretches->ended_ns = soon ? INT64_MAX / 2 : INT64_MIN / 2;
}

static bool equal(const ox_tensor *a, const ox_tensor *b) {
  if (a->bytes != b->bytes || a->dtype != b->dtype) return false;
  if (a->dtype != OX_STRING) return memcmp(a->data, b->data, a->bytes) == 0;
  for (size_t i = 0; i < a->bytes / sizeof(ox_str); i++) {
    const ox_str *s = (const ox_str *)a->data + i, *t = (const ox_str *)b->data + i;
    if (s->n != t->n || memcmp(s->p, t->p, s->n) != 0) return false;
  }
  return true;
}

/* ---- which, and the same bits ---- */

static void check_net(const net *n, const char *text) {
  opened list, o;
  ox_value *want[MOST_OUT], *got[MOST_OUT];
  open_text(&list, text, 1, 0);
  CHECK_OK(run(&list, NULL, want));
  assert_null(context_of(&list)->stretches);
  for (uint32_t threads = 2; threads <= 4; threads += 2) {
    open_text(&o, text, threads, 0);
    for (int turn = 0; turn < 40; turn++) {
      if (turn) set_pause(&o, turn % 8 != 0);
      ox_status *st = run(&o, NULL, got);
      if (st) fail_msg("%s: %s", n->name, ox_status_message(st));
      const ox_context *c = context_of(&o);
      if ((c->stretches != NULL) != n->apart) fail_msg("%s: %d stretches", n->name, c->stretches != NULL);
      if (turn && c->stretches) assert_int_equal(c->stretches->apart, turn % 8 != 0);
      for (size_t i = 0; i < ox_session_output_count(o.s); i++)
        if (!equal(ox_value_get(want[i]), ox_value_get(got[i])))
          fail_msg("%s, %u threads, turn %d: output %zu has other bits", n->name, threads, turn, i);
      release(got);
    }
    close_text(&o);
  }
  release(want);
  close_text(&list);
}

static void test_same_bits_as_the_list(void **state) {
  static writer w;
  (void)state;
  for (size_t i = 0; i < OX_COUNT(nets); i++) check_net(&nets[i], text_of(&nets[i], &w));
}

/* ---- memory ---- */

/* reach[i * n + k]: step i waits for step k, or for one that does. */
static void find_order(const ox_context *c, bool *reach) {
  uint32_t n = c->n_steps;
  for (uint32_t i = 0; i < n; i++) {
    const ox_node *node = c->steps[i].node;
    for (uint32_t k = 0; k < i; k++)
      for (uint32_t o = 0; o < c->steps[k].node->n_out; o++)
        for (uint32_t j = 0; j < node->n_in; j++) {
          if (node->in[j] != c->steps[k].node->out[o] || node->in[j] == OX_NONE) continue;
          reach[i * n + k] = true;
          for (uint32_t m = 0; m < k; m++) reach[i * n + m] |= reach[k * n + m];
        }
  }
}

typedef struct {
  const char *at;
  size_t bytes;
} range;

static bool overlap(range a, range b) { return a.bytes && b.bytes && a.at < b.at + b.bytes && b.at < a.at + a.bytes; }

/* What |s| writes, then what it reads. */
static size_t ranges_of(const ox_step *s, range *out, size_t *out_written) {
  size_t n = 0;
  for (uint32_t k = 0; k < s->c.n_out; k++) out[n++] = (range){s->c.out[k]->data, s->c.out[k]->bytes};
  out[n++] = (range){s->c.shared, s->c.shared_bytes};
  out[n++] = (range){s->scratch, s->c.scratch_per_worker};
  *out_written = n;
  for (uint32_t k = 0; k < s->c.n_in; k++)
    if (s->c.in[k]->data) out[n++] = (range){s->c.in[k]->data, s->c.in[k]->bytes};
  return n;
}

static void check_pair(const char *name, const ox_step *a, const ox_step *b) {
  range of_a[16], of_b[16];
  size_t wa, wb, na = ranges_of(a, of_a, &wa), nb = ranges_of(b, of_b, &wb);
  for (size_t i = 0; i < na; i++)
    for (size_t k = 0; k < nb; k++)
      if ((i < wa || k < wb) && overlap(of_a[i], of_b[k]))
        fail_msg("%s: the steps of '%s' and '%s' may run at once and share memory", name, a->node->op, b->node->op);
}

static void test_steps_that_may_run_at_once_share_nothing(void **state) {
  static writer w;
  (void)state;
  for (size_t i = 0; i < OX_COUNT(nets); i++) {
    opened o;
    ox_value *out[MOST_OUT];
    if (!nets[i].apart) continue;
    open_text(&o, text_of(&nets[i], &w), 2, 0);
    CHECK_OK(run(&o, NULL, out));
    release(out);
    set_pause(&o, true);
    CHECK_OK(run(&o, NULL, out));
    const ox_context *c = context_of(&o);
    uint32_t n = c->n_steps, pairs = 0, areas = 0;
    bool *reach = calloc((size_t)n * n, sizeof *reach);
    find_order(c, reach);
    for (uint32_t b = 0; b < n; b++)
      for (uint32_t a = 0; a < b; a++) {
        const ox_step *s = &c->steps[a], *t = &c->steps[b];
        bool both = s->mode == OX_MODE_STATIC && t->mode == OX_MODE_STATIC && s->stretch && s->stretch == t->stretch;
        if (!both || reach[b * n + a]) continue;
        check_pair(nets[i].name, s, t);
        pairs++, areas += ox_step_area(s) && ox_step_area(t);
      }
    assert_true(pairs > 10 && (nets[i].step != products || areas));
    free(reach);
    release(out);
    close_text(&o);
  }
}

static void test_repeated_runs_allocate_nothing(void **state) {
  static writer w;
  (void)state;
  for (size_t i = 0; i < OX_COUNT(nets); i++) {
    opened o;
    ox_value *out[MOST_OUT];
    if (!nets[i].apart) continue;
    open_text(&o, text_of(&nets[i], &w), 2, 0);
    for (int turn = 0; turn < 8; turn++) {
      long before = atomic_load(&o.count.calls);
      if (turn) set_pause(&o, turn % 2);
      CHECK_OK(run(&o, NULL, out));
      release(out);
      if (turn > 1) assert_int_equal(atomic_load(&o.count.calls), before);
    }
    close_text(&o);
  }
}

static void test_the_workspace_is_planned(void **state) {
  static writer w;
  (void)state;
  opened o;
  ox_value *out[MOST_OUT];
  size_t before, after;
  ox_shape shape = {.rank = 2, .dim = {16, 128}};
  open_text(&o, text_of(&nets[0], &w), 2, 0);
  CHECK_OK(ox_session_plan(o.s, &shape, 1, &before));
  for (int turn = 0; turn < 3; turn++) {
    CHECK_OK(run(&o, NULL, out));
    release(out);
  }
  CHECK_OK(ox_session_plan(o.s, &shape, 1, &after));
  assert_int_equal(before, after);
  close_text(&o);
  open_text(&o, text_of(&nets[0], &w), 2, before); /* under a limit memory counts more than time */
  CHECK_OK(run(&o, NULL, out));
  assert_null(context_of(&o)->stretches);
  assert_true(context_of(&o)->slab_bytes < before);
  release(out);
  close_text(&o);
}

/* ---- the list where it must be ---- */

static void test_profiles_and_watched_runs_take_the_list(void **state) {
  static writer w;
  static const int never = 0;
  const ox_run_opts opts[] = {{.struct_size = sizeof opts[0], .cancel = &never},
                              {.struct_size = sizeof opts[0], .timeout_ms = 100000}};
  (void)state;
  opened o;
  ox_value *out[MOST_OUT];
  ox_node_time event;
  open_text(&o, text_of(&nets[0], &w), 2, 0);
  CHECK_OK(run(&o, NULL, out));
  release(out);
  for (int turn = 0; turn < 3; turn++) {
    set_pause(&o, true);
    if (turn == 2) ox_session_profile_start(o.s);
    CHECK_OK(run(&o, turn < 2 ? &opts[turn] : NULL, out));
    release(out);
    assert_false(context_of(&o)->stretches->apart);
  }
  assert_int_equal(ox_session_profile_event(o.s, 31, &event), 1);
  close_text(&o);
}

/* ---- errors ---- */

/* Two of six branches may fail; the context is as good as new afterwards. */
static void test_an_error_names_its_node(void **state) {
  static writer w;
  (void)state;
  opened o;
  ox_value *out[MOST_OUT];
  w.n = 0;
  say(&w, HEAD "(float[4000] x) => (float[4000] y) {");
  for (int b = 0; b < 6; b++)
    say(&w, " [cast%d] i%d = Cast <to = 7> (x) [gather%d] g%d = Gather (x, i%d) [s%d] s%d = Softmax (g%d)", b, b, b, b,
        b, b, b, b);
  say(&w, " y = Sum (s0, s1, s2, s3, s4, s5) }");
  open_text(&o, w.text, 2, 0);
  float *x = ox_value_data(o.x);
  for (int turn = 0; turn < 12; turn++) {
    bool bad = turn % 3 == 2;
    x[17] = bad ? 4000 : 0;
    if (turn) set_pause(&o, true);
    ox_status *st = run(&o, NULL, out);
    assert_true((st != NULL) == bad);
    if (turn) assert_true(context_of(&o)->stretches && context_of(&o)->stretches->apart);
    if (st && !strstr(ox_status_message(st), "node 'gather")) fail_msg("%s", ox_status_message(st));
    ox_status_free(st);
    release(out);
  }
  close_text(&o);
}

static void test_every_failed_allocation_is_an_error(void **state) {
  static writer w;
  (void)state;
  text_of(&nets[6], &w); /* strings */
  long at = 0;
  for (bool ok = false; !ok; at++) {
    opened o;
    ox_value *out[MOST_OUT];
    open_text(&o, w.text, 2, 0);
    o.count.fail_at = atomic_load(&o.count.calls) + at;
    ox_status *st = run(&o, NULL, out);
    release(out);
    if (!st) {
      set_pause(&o, true);
      st = run(&o, NULL, out);
      release(out);
    }
    ok = !st;
    if (st && ox_status_code(st) != OX_OUT_OF_MEMORY) fail_msg("allocation %ld: %s", at, ox_status_message(st));
    ox_status_free(st);
    close_text(&o);
  }
  assert_true(at > 20);
}

/* ---- bodies, dynamic steps, many threads ---- */

static void test_bodies_have_stretches_of_their_own(void **state) {
  static writer w;
  (void)state;
  opened o, list;
  ox_value *got[MOST_OUT], *want[MOST_OUT];
  w.n = 0;
  say(&w, HEAD
      "(float[16,128] x) => (float[16,128] y) <int64 m = {9}, bool go = {1}> { y = Loop <body = b (int64 i, bool c,"
      " float[16,128] v) => (bool d, float[16,128] z) { d = Identity (c)");
  for (int b = 0; b < 8; b++)
    say(&w, " l%d = LeakyRelu <alpha = %g> (v) s%d = Softmax (l%d) e%d = Exp (s%d)", b, 0.1 * (b + 1), b, b, b, b);
  say(&w, " z = Sum (e0, e1, e2, e3, e4, e5, e6, e7) }> (m, go, x) }");
  open_text(&list, w.text, 1, 0);
  open_text(&o, w.text, 3, 0);
  CHECK_OK(run(&list, NULL, want));
  for (int turn = 0; turn < 5; turn++) {
    CHECK_OK(run(&o, NULL, got));
    assert_true(equal(ox_value_get(got[0]), ox_value_get(want[0])));
    release(got);
  }
  release(want);
  close_text(&o), close_text(&list);
}

/* Dynamic steps before and after, and buffers of theirs that die while the stretch runs. */
static void test_dynamic_steps_around(void **state) {
  static writer w;
  (void)state;
  opened o;
  ox_value *out[MOST_OUT];
  w.n = 0;
  say(&w, HEAD
      "(float[16,128] x) => (float[16,128] y, float[16,128] z) { nz = NonZero (x) t = Cast <to = 1> (nz)"
      " r = ReduceMax <keepdims = 0> (t)");
  for (int b = 0; b < 8; b++)
    say(&w, " l%d = LeakyRelu <alpha = %g> (x) s%d = Softmax (l%d) e%d = Exp (s%d)", b, 0.1 * (b + 1), b, b, b, b);
  say(&w, " y = Sum (e0, e1, e2, e3, e4, e5, e6, e7) z = Mul (y, r) }");
  open_text(&o, w.text, 2, 0);
  for (int turn = 0; turn < 6; turn++) {
    if (turn) set_pause(&o, turn % 2);
    CHECK_OK(run(&o, NULL, out));
    assert_non_null(context_of(&o)->stretches);
    for (int64_t i = 0; i < 16 * 128; i += 77) {
      float want = (float)ox_tensor_element(ox_value_get(out[0]), i) * 127;
      assert_true((float)ox_tensor_element(ox_value_get(out[1]), i) == want);
    }
    release(out);
  }
  close_text(&o);
}

typedef struct {
  opened *o;
  ox_value **want;
  int failures;
} client;

static void *client_main(void *arg) {
  client *c = arg;
  ox_value *got[MOST_OUT];
  for (int i = 0; i < 50; i++) {
    ox_status *st = run(c->o, NULL, got);
    for (size_t k = 0; !st && k < ox_session_output_count(c->o->s); k++)
      c->failures += !equal(ox_value_get(got[k]), ox_value_get(c->want[k]));
    c->failures += st != NULL;
    ox_status_free(st);
    release(got);
  }
  return NULL;
}

static void test_many_threads_on_one_session(void **state) {
  static writer w;
  (void)state;
  opened o;
  pthread_t threads[4];
  client clients[4];
  ox_value *want[MOST_OUT];
  open_text(&o, text_of(&nets[2], &w), 3, 0);
  CHECK_OK(run(&o, NULL, want));
  for (int i = 0; i < 4; i++) {
    clients[i] = (client){&o, want, 0};
    assert_int_equal(pthread_create(&threads[i], NULL, client_main, &clients[i]), 0);
  }
  for (int i = 0; i < 4; i++) {
    pthread_join(threads[i], NULL);
    assert_int_equal(clients[i].failures, 0);
  }
  release(want);
  close_text(&o);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_same_bits_as_the_list),
      cmocka_unit_test(test_steps_that_may_run_at_once_share_nothing),
      cmocka_unit_test(test_repeated_runs_allocate_nothing),
      cmocka_unit_test(test_the_workspace_is_planned),
      cmocka_unit_test(test_profiles_and_watched_runs_take_the_list),
      cmocka_unit_test(test_an_error_names_its_node),
      cmocka_unit_test(test_every_failed_allocation_is_an_error),
      cmocka_unit_test(test_bodies_have_stretches_of_their_own),
      cmocka_unit_test(test_dynamic_steps_around),
      cmocka_unit_test(test_many_threads_on_one_session),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
