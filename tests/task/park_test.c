/* SPDX-License-Identifier: Apache-2.0
 * task/park_test.c - both parking back-ends: a turn is passed to and fro without losing a wake. */
#include "task/park.h"

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

int main(void) {
  static backend cond = {ox_park_cond_wait, ox_park_cond_wake};
#if defined(__linux__)
  static backend futex = {ox_park_futex_wait, ox_park_futex_wake};
#endif
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_prestate(no_wake_is_lost, &cond),
    cmocka_unit_test_prestate(a_changed_word_does_not_sleep, &cond),
#if defined(__linux__)
    cmocka_unit_test_prestate(no_wake_is_lost, &futex),
    cmocka_unit_test_prestate(a_changed_word_does_not_sleep, &futex),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
