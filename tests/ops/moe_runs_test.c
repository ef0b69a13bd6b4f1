/* SPDX-License-Identifier: Apache-2.0
 * ops/moe_runs_test.c - mixtures of experts in sessions: the same bits on one thread and on two, run after run, with
 * packed weights and no allocation once they are packed; and nothing lost where memory runs out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/counting_alloc.h"
#include "support/text_session.h"

enum { E = 4, HIDDEN = 64, INTER = 160, MOST_TEXT = 1 << 20 };

/* |constants|: a letter for each, in the table below. */
typedef struct model {
  const char *name, *constants, *node;
} model;

static const model models[] = {
    {"floats", "wv", "com.microsoft.MoE <k = 2, activation_type = \"silu\"> (x, r, w, , v)"},
    {"codes", "cdst", "com.microsoft.QMoE <k = 2, activation_type = \"gelu\"> (x, r, c, s, , d, t)"},
};

static const struct {
  char name;
  const char *type, *shape;
  int n, modulo;
} constants[] = {
    {'w', "float", "4,160,64", E *INTER *HIDDEN, 7},
    {'v', "float", "4,64,160", E *INTER *HIDDEN, 5},
    {'c', "uint8", "4,160,32", E *INTER *HIDDEN / 2, 251},
    {'d', "uint8", "4,64,80", E *INTER *HIDDEN / 2, 239},
    {'s', "float", "4,160", E *INTER, 3},
    {'t', "float", "4,64", E *HIDDEN, 3},
};

/* The model in malloc'd memory. */
static char *text_of(const model *m) {
  char *text = malloc(MOST_TEXT);
  int at = snprintf(text, MOST_TEXT,
                    "<ir_version: 10, opset_import: [\"\" : 21, \"com.microsoft\" : 1]> "
                    "g (float[T,64] x, float[T,4] r) => (float[T,64] y) <");
  for (const char *p = m->constants; *p; p++) {
    size_t i = 0;
    while (constants[i].name != *p) i++;
    at += snprintf(text + at, MOST_TEXT - (size_t)at, "%s%s[%s] %c = {", p == m->constants ? "" : ", ",
                   constants[i].type, constants[i].shape, *p);
    for (int k = 0; k < constants[i].n; k++)
      at += snprintf(text + at, MOST_TEXT - (size_t)at, "%s%d", k ? "," : "", k * 31 % constants[i].modulo);
    at += snprintf(text + at, MOST_TEXT - (size_t)at, "}");
  }
  snprintf(text + at, MOST_TEXT - (size_t)at, "> { y = %s }", m->node);
  return text;
}

typedef struct opened {
  counting_alloc count;
  ox_env *env;
  ox_session *s;
  ox_value *in[2];
} opened;

static void open_model(opened *o, const char *text, uint32_t threads, int64_t tokens) {
  ox_env_opts eo = {.struct_size = sizeof eo, .alloc = counting_alloc_of(&o->count)};
  ox_session_opts so;
  o->count = (counting_alloc){.fail_at = -1};
  CHECK_OK(ox_env_create(&eo, &o->env));
  ox_session_opts_init(&so);
  so.n_threads = threads;
  CHECK_OK(text_session(o->env, text, &so, &o->s));
  o->in[0] = ramp_value(o->env, -1, 0.001f, 2, (int64_t[]){tokens, HIDDEN});
  o->in[1] = ramp_value(o->env, 0, 0, 2, (int64_t[]){tokens, E});
  for (int64_t i = 0; i < tokens * E; i++) ((float *)ox_value_data(o->in[1]))[i] = (float)(i * 37 % 11);
}

static void close_model(opened *o) {
  ox_value_release(o->in[0]), ox_value_release(o->in[1]);
  ox_session_release(o->s);
  ox_env_release(o->env);
  assert_int_equal(atomic_load(&o->count.live), 0);
}

static ox_status *run(opened *o, ox_value **out) {
  static const char *const names[] = {"x", "r"};
  return ox_session_run(o->s, NULL, names, (const ox_value *const *)o->in, 2, NULL, out, 1);
}

static void check_same(const char *name, const ox_value *a, const ox_value *b) {
  const ox_tensor *s = ox_value_get(a), *t = ox_value_get(b);
  assert_int_equal(s->bytes, t->bytes);
  if (memcmp(s->data, t->data, s->bytes)) fail_msg("%s: other bits", name);
}

static void check_runs(const model *m, const char *text, int64_t tokens) {
  opened one, two;
  ox_value *first = NULL;
  open_model(&one, text, 1, tokens), open_model(&two, text, 2, tokens);
  CHECK_OK(run(&one, &first));
  for (int turn = 0; turn < 5; turn++) {
    opened *o = turn % 2 ? &one : &two;
    ox_value *y = NULL;
    long before = atomic_load(&o->count.calls);
    CHECK_OK(run(o, &y));
    check_same(m->name, first, y);
    if (turn > 2 && atomic_load(&o->count.calls) != before) fail_msg("%s: a repeated run allocates", m->name);
    ox_value_release(y);
  }
  ox_value_release(first);
  close_model(&one), close_model(&two);
}

static void test_runs_have_the_same_bits(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(models); i++) {
    char *text = text_of(&models[i]);
    static const int64_t tokens[] = {1, 3, 50};
    for (size_t k = 0; k < OX_COUNT(tokens); k++) check_runs(&models[i], text, tokens[k]);
    free(text);
  }
}

static void test_memory_that_runs_out(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(models); i++) {
    char *text = text_of(&models[i]);
    long at = 0;
    for (bool ok = false; !ok; at++) {
      opened o;
      ox_value *y = NULL;
      open_model(&o, text, 2, 3);
      o.count.fail_at = atomic_load(&o.count.calls) + at;
      ox_status *st = run(&o, &y);
      ok = !st;
      if (st && ox_status_code(st) != OX_OUT_OF_MEMORY) fail_msg("%s: %s", models[i].name, ox_status_message(st));
      ox_status_free(st);
      o.count.fail_at = -1;
      ox_value_release(y), y = NULL;
      CHECK_OK(run(&o, &y));
      ox_value_release(y);
      close_model(&o);
    }
    assert_true(at > 3);
    free(text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_runs_have_the_same_bits),
      cmocka_unit_test(test_memory_that_runs_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
