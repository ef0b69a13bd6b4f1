/* SPDX-License-Identifier: Apache-2.0
 * support/small_nets.c - see small_nets.h. */
#include "support/small_nets.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "support/text_session.h"

/* ---- graphs ---- */

void say(writer *w, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  w->n += (size_t)vsnprintf(w->text + w->n, sizeof w->text - w->n, fmt, args);
  va_end(args);
  assert_true(w->n < sizeof w->text);
}

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

const net nets[] = {
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
const size_t n_nets = OX_COUNT(nets);

const net *net_named(const char *name) {
  for (size_t i = 0; i < n_nets; i++)
    if (strcmp(nets[i].name, name) == 0) return &nets[i];
  fail_msg("no net is named '%s'", name);
  return NULL;
}

const char *net_text(const net *n, writer *w) {
  w->n = 0;
  say(w, NET_HEAD "(float[%d,%d] x) => (float[%d,%d] y", n->rows, n->columns, 1, n->rows * n->columns);
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

/* ---- sessions ---- */

void open_text(opened *o, const char *text, uint32_t threads, size_t limit) {
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

void close_text(opened *o) {
  ox_value_release(o->x);
  ox_session_release(o->s);
  ox_env_release(o->env);
  assert_int_equal(atomic_load(&o->count.live), 0);
}

ox_status *run_opened(opened *o, const ox_run_opts *opts, ox_value **out) {
  const char *name = "x";
  memset(out, 0, MOST_OUT * sizeof *out);
  return ox_session_run(o->s, opts, &name, (const ox_value *const *)&o->x, 1, NULL, out, ox_session_output_count(o->s));
}

void release_outputs(ox_value **out) {
  for (size_t i = 0; i < MOST_OUT; i++) ox_value_release(out[i]);
}

ox_context *context_of(opened *o) { return o->s->idle[0]; }

void set_pause(opened *o, bool soon) {
  ox_stretches *all = context_of(o)->stretches;
  if (!all) return;
  all->ended_ns = soon ? INT64_MAX / 2 : INT64_MIN / 2;
  all->ways = (ox_two_ways){.preferred = 1, .turn = 64};
}

bool same_tensor(const ox_tensor *a, const ox_tensor *b) {
  if (a->bytes != b->bytes || a->dtype != b->dtype) return false;
  if (a->dtype != OX_STRING) return memcmp(a->data, b->data, a->bytes) == 0;
  for (size_t i = 0; i < a->bytes / sizeof(ox_str); i++) {
    const ox_str *s = (const ox_str *)a->data + i, *t = (const ox_str *)b->data + i;
    if (s->n != t->n || memcmp(s->p, t->p, s->n) != 0) return false;
  }
  return true;
}
