/* SPDX-License-Identifier: Apache-2.0
 * exec/two_ways_test.c - what choosing costs, beside always taking the way that is faster. */
#include "exec/two_ways.h"

#include "base/macros.h"
#include "support/check.h"

enum { TURNS = 4000 };

/* What the ways take, by turn. */
typedef struct {
  const char *name;
  int64_t (*ns)(int way, int turn);
  double most; /* of all turns, against the faster way in each of them */
} course;

static int64_t list_wins(int way, int turn) {
  (void)turn;
  return way ? 300 : 100;
}
static int64_t apart_wins(int way, int turn) {
  (void)turn;
  return way ? 55 : 100;
}
static int64_t equal(int way, int turn) {
  (void)way, (void)turn;
  return 100;
}
/* Every seventh turn somebody else had the processor. */
static int64_t interrupted(int way, int turn) { return turn % 7 == 3 ? 5000 : way ? 55 : 100; }
/* Others come for 1000 turns and go: whoever needs two processors waits then. */
static int64_t others_come(int way, int turn) {
  bool busy = turn / 1000 % 2;
  return way ? (busy ? 250 : 55) : (busy ? 110 : 100);
}
static int64_t noisy(int way, int turn) { return (way ? 60 : 100) + turn * 7919 % 13; }

static const course courses[] = {
    {"list wins", list_wins, 1.07},     {"apart wins", apart_wins, 1.04},   {"equal", equal, 1.0},
    {"interrupted", interrupted, 1.04}, {"others come", others_come, 1.09}, {"noisy", noisy, 1.04}};

static void test_choosing_costs_little(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(courses); i++) {
    const course *c = &courses[i];
    ox_two_ways w = {0};
    double took = 0, best = 0;
    for (int turn = 0; turn < TURNS; turn++) {
      int way = ox_two_ways_next(&w);
      int64_t ns = c->ns(way, turn);
      ox_two_ways_note(&w, way, ns);
      took += (double)ns, best += (double)OX_MIN(c->ns(0, turn), c->ns(1, turn));
    }
    if (took > c->most * best) fail_msg("%s: %.3f of the best", c->name, took / best);
  }
}

/* Turns whose time says nothing, and those right after them, change nothing. */
static void test_a_cold_turn_does_not_count(void **state) {
  (void)state;
  ox_two_ways w = {.preferred = 1, .turn = 8};
  for (int i = 0; i < 20; i++) {
    ox_two_ways_break(&w);
    ox_two_ways_note(&w, 1, 1000000);
  }
  assert_int_equal(w.n[0] + w.n[1], 0);
  ox_two_ways_note(&w, 1, 10);
  assert_int_equal(w.n[1], 1);
  assert_int_equal(w.preferred, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_choosing_costs_little),
      cmocka_unit_test(test_a_cold_turn_does_not_count),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
