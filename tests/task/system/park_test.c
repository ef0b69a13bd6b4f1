/* SPDX-License-Identifier: Apache-2.0
 * task/system/park_test.c - every parking back-end of this system: a turn is passed to and fro without losing a wake.
 */
#include "task/system/park.h"

#include <pthread.h>

#include "support/check.h"

typedef struct backend {
  void (*wait)(atomic_uint *, unsigned);
  void (*wake)(atomic_uint *, int);
} backend;
typedef struct game {
  const backend *b;
  atomic_uint turn;
} game;
enum { ROUNDS = 2000 };

static void play(game *g, unsigned me) {
  for (int i = 0; i < ROUNDS; i++) {
    while (atomic_load(&g->turn) != me) g->b->wait(&g->turn, !me);
    atomic_store(&g->turn, !me);
    g->b->wake(&g->turn, 0);
  }
}
static void *other(void *arg) {
  play(arg, 1);
  return NULL;
}

static void no_wake_is_lost(void **state) {
  game g = {*state, 0};
  pthread_t t;
  pthread_create(&t, NULL, other, &g);
  play(&g, 0);
  pthread_join(t, NULL);
  assert_int_equal(g.turn, 0);
}

static void a_changed_word_does_not_sleep(void **state) {
  const backend *b = *state;
  atomic_uint word = 5;
  b->wait(&word, 4);
  b->wake(&word, 1);
}

#if defined(_WIN32)
#define BACKENDS BACKEND(windows)
#elif defined(__linux__)
#define BACKENDS BACKEND(cond) BACKEND(futex)
#elif defined(__APPLE__)
#define BACKENDS BACKEND(cond) BACKEND(macos)
#elif defined(__wasm_atomics__)
#define BACKENDS BACKEND(cond) BACKEND(wasm)
#else
#define BACKENDS BACKEND(cond)
#endif

#define BACKEND(name) static backend name = {ox_park_##name##_wait, ox_park_##name##_wake};
BACKENDS
#undef BACKEND

int main(void) {
  const struct CMUnitTest tests[] = {
#define BACKEND(name) \
  cmocka_unit_test_prestate(no_wake_is_lost, &name), cmocka_unit_test_prestate(a_changed_word_does_not_sleep, &name),
      BACKENDS
#undef BACKEND
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
