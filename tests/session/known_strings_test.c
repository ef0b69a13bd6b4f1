/* SPDX-License-Identifier: Apache-2.0
 * session/known_strings_test.c - strings that follow from shapes and constants are made with a context and stay with
 * it: later runs, other shapes and other threads see the same ones. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/text_session.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 21]> "

/* y: the dimensions of x as text, with "-" behind; z: t twice. */
static const struct {
  const char *name, *text;
  bool any_shape;
} cases[] = {
    {"fixed shape",
     HEAD "g (float[2,3] x, string[K] t) => (string[2] y, string[K] z) <string d = {\"-\"}> { s = Shape (x)"
          " c = Cast <to = 8> (s) y = StringConcat (c, d) z = StringConcat (t, t) }",
     false},
    {"any shape",
     HEAD "g (float[N,M] x, string[K] t) => (string[2] y, string[K] z) <string d = {\"-\"}> { s = Shape (x)"
          " c = Cast <to = 8> (s) y = StringConcat (c, d) z = StringConcat (t, t) }",
     true},
    {"in a branch",
     HEAD "g (float[N,M] x, string[K] t) => (string[2] y, string[K] z) <string d = {\"-\"}, float zero = {-1}> { s ="
          " Shape (x) c = Cast <to = 8> (s) m = ReduceMax <keepdims = 0> (x) b = Greater (m, zero) y = If (b)"
          " <then_branch = h () => (p) { p = StringConcat (c, d) }, else_branch = e () => (q) { q = Identity (c) }>"
          " z = StringConcat (t, t) }",
     true},
};

enum { THREADS = 8, RUNS = 100 };

typedef struct {
  ox_env *env;
  ox_session *s;
  bool any_shape;
  int number; /* of the thread */
  char wrong[256];
} worker;

static bool is_text(const ox_value *v, size_t i, const char *want) {
  const ox_str *s = (const ox_str *)ox_value_get(v)->data + i;
  return s->n == strlen(want) && memcmp(s->p, want, s->n) == 0;
}

static bool run(worker *w, int64_t a, int64_t b) {
  static float zeros[64];
  const int64_t dims[] = {a, b};
  char text[64], rows[32], columns[32], twice[128];
  snprintf(text, sizeof text, "a text of thread %d, %d x %d", w->number, (int)a, (int)b);
  snprintf(twice, sizeof twice, "%s%s", text, text);
  snprintf(rows, sizeof rows, "%d-", (int)a), snprintf(columns, sizeof columns, "%d-", (int)b);
  ox_str t = {text, strlen(text)};
  ox_tensor tt = {
      .kind = OX_TENSOR, .dtype = OX_STRING, .data = &t, .bytes = sizeof t, .shape = {.rank = 1, .dim = {1}}};
  ox_value *in[2] = {NULL, NULL}, *out[2] = {NULL, NULL};
  const char *names[] = {"x", "t"};
  ox_status *st = ox_value_wrap(w->env, OX_F32, dims, 2, zeros, sizeof zeros, NULL, NULL, &in[0]);
  if (!st) st = ox_value_create_copy(w->env, &tt, &in[1]);
  if (!st) st = ox_session_run(w->s, NULL, names, (const ox_value *const *)in, 2, NULL, out, 2);
  if (st)
    snprintf(w->wrong, sizeof w->wrong, "%s", ox_status_message(st));
  else if (!is_text(out[0], 0, rows) || !is_text(out[0], 1, columns) || !is_text(out[1], 0, twice))
    snprintf(w->wrong, sizeof w->wrong, "thread %d, shape %d x %d: other texts", w->number, (int)a, (int)b);
  ox_status_free(st);
  for (int i = 0; i < 2; i++) ox_value_release(in[i]), ox_value_release(out[i]);
  return !*w->wrong;
}

static void *work(void *ctx) {
  worker *w = ctx;
  bool ok = true;
  for (int i = 0; ok && i < RUNS; i++) ok = w->any_shape ? run(w, 1 + (i + w->number) % 5, 1 + i % 3) : run(w, 2, 3);
  return NULL;
}

static void test_all_threads_see_the_same_strings(void **state) {
  (void)state;
  for (size_t k = 0; k < OX_COUNT(cases); k++)
    for (uint32_t level = OX_OPTIMIZE_NONE; level <= OX_OPTIMIZE_ALL; level += OX_OPTIMIZE_ALL) {
      ox_env *env;
      ox_session *s;
      ox_session_opts so;
      static worker workers[THREADS];
      pthread_t threads[THREADS];
      ox_session_opts_init(&so);
      so.optimize = level;
      CHECK_OK(ox_env_create(NULL, &env));
      ox_status *st = text_session(env, cases[k].text, &so, &s);
      if (st) fail_msg("%s: %s", cases[k].name, ox_status_message(st));
      for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){env, s, cases[k].any_shape, i, ""};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
      }
      for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
      for (int i = 0; i < THREADS; i++)
        if (*workers[i].wrong) fail_msg("%s, level %u: %s", cases[k].name, (unsigned)level, workers[i].wrong);
      ox_session_release(s);
      ox_env_release(env);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_threads_see_the_same_strings)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
