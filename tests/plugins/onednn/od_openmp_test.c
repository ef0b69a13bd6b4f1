/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_openmp_test.c - the OpenMP that libdnnl is given, with a host made of plain threads: every member
 * of a region comes once, whatever the host can give, and barriers hold in teams alone. */
#include "../../../src/plugins/onednn/od_openmp.c"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/macros.h"
#include "support/check.h"

/* ---- a host ---- */

enum { MOST = 8, REGIONS = 3 };

static struct {
  uint32_t team; /* threads that a team gets */
  atomic_uint tiles, teams;
} given;

static ox_status *parallel_tiles(const ox_ep_host *h, int64_t n, uint32_t threads,
                                 ox_status *(*fn)(void *, int64_t, int64_t, uint32_t), void *ctx) {
  (void)h, (void)threads;
  atomic_fetch_add(&given.tiles, 1);
  ox_status *st = fn(ctx, n / 2, n, 1); /* in any order */
  return st ? st : fn(ctx, 0, n / 2, 0);
}

typedef struct {
  void (*fn)(void *, uint32_t, uint32_t);
  void *ctx;
  uint32_t member, size;
} seat;

static void *sit(void *arg) {
  const seat *s = arg;
  s->fn(s->ctx, s->member, s->size);
  return NULL;
}

static void parallel_team(const ox_ep_host *h, uint32_t n, void (*fn)(void *, uint32_t, uint32_t), void *ctx) {
  pthread_t threads[MOST];
  seat seats[MOST];
  uint32_t size = OX_MIN(n, given.team);
  (void)h;
  atomic_fetch_add(&given.teams, 1);
  for (uint32_t i = 0; i < size; i++) {
    seats[i] = (seat){fn, ctx, i, size};
    if (i) assert_int_equal(pthread_create(&threads[i], NULL, sit, &seats[i]), 0);
  }
  sit(&seats[0]);
  for (uint32_t i = 1; i < size; i++) pthread_join(threads[i], NULL);
}

static const ox_ep_host host = {
    .struct_size = sizeof host, .parallel_tiles = parallel_tiles, .parallel_team = parallel_team};

/* ---- regions ---- */

typedef struct {
  atomic_int came[MOST], size, nested, in_parallel;
} seen;

static void nested(void *data) {
  seen *s = data;
  atomic_fetch_add(&s->nested, 1);
  if (omp_get_num_threads() != 1 || omp_get_thread_num() != 0) atomic_store(&s->nested, -1000);
}

static void member(void *data) {
  seen *s = data;
  int me = omp_get_thread_num();
  atomic_fetch_add(&s->came[me], 1);
  atomic_store(&s->size, omp_get_num_threads());
  atomic_fetch_add(&s->in_parallel, omp_in_parallel());
  if (omp_get_max_threads() != 1) atomic_store(&s->size, -1);
  GOMP_parallel(nested, s, 4, 0);
  if (omp_get_thread_num() != me) atomic_store(&s->size, -2);
}

typedef struct {
  const char *name;
  bool crew;
  int threads, together;
  uint32_t team; /* that can be had */
  unsigned asked;
  int size; /* wanted */
  unsigned tiles, teams;
} row;

static const row rows[] = {{"no crew", false, 0, 0, 0, 4, 1, 0, 0},
                           {"one thread", true, 1, 0, 0, 0, 1, 0, 0},
                           {"as many as there are", true, 3, 0, 0, 0, 3, 1, 0},
                           {"more than threads", true, 2, 0, 0, 7, 7, 1, 0},
                           {"one asked for", true, 4, 0, 0, 1, 1, 0, 0},
                           {"a team", true, 4, 1, 4, 4, 4, 0, 1},
                           {"a smaller team", true, 4, 1, 2, 4, 2, 0, 1},
                           {"less than the team", true, 4, 1, 4, 3, 3, 0, 1},
                           {"as many as the team has", true, 4, 1, 3, 0, 3, 0, 1},
                           {"a team of one", true, 4, 1, 1, 4, 1, 0, 1}};

typedef struct {
  const row *row;
  seen *seen;
} within;

/* What the library does in a call: several regions, of the members that it was told of. */
static void call_regions(void *ctx) {
  const within *w = ctx;
  int threads = OX_MIN(w->row->threads, w->row->team ? (int)w->row->team : w->row->threads);
  if (omp_get_max_threads() != threads) fail_msg("%s: %d threads", w->row->name, omp_get_max_threads());
  for (int i = 0; i < REGIONS; i++) GOMP_parallel(member, w->seen, w->row->asked, 0);
  assert_int_equal(omp_in_parallel(), 0);
  assert_int_equal(omp_get_num_threads(), 1);
}

static void call_fixed(void *ctx) {
  assert_int_equal(omp_get_max_threads(), 1);
  GOMP_parallel(member, ctx, 0, 0); /* as many as there are: the caller alone */
  GOMP_parallel(member, ctx, 6, 0);
}

static void test_fixed(void **state) {
  (void)state;
  seen s = {0};
  od_crew crew = {.host = &host, .threads = 2, .fixed = 1};
  given.team = 0, given.tiles = given.teams = 0;
  od_crew_call(&crew, call_fixed, &s);
  assert_int_equal(s.size, 6);
  for (int k = 0; k < MOST; k++) assert_int_equal(s.came[k], k == 0 ? 2 : k < 6 ? 1 : 0);
  assert_int_equal(given.tiles, 1);
  assert_int_equal(crew.broken, 0);
}

static void test_members(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    const row *r = &rows[i];
    seen s = {0};
    od_crew crew = {.host = &host, .threads = r->threads, .together = r->together};
    given.team = r->team, given.tiles = given.teams = 0;
    within w = {r, &s};
    if (r->crew) {
      od_crew_call(&crew, call_regions, &w);
    } else {
      assert_int_equal(omp_get_max_threads(), 1);
      for (int k = 0; k < REGIONS; k++) GOMP_parallel(member, &s, r->asked, 0);
    }
    if (s.size != r->size) fail_msg("%s: size %d", r->name, (int)s.size);
    for (int k = 0; k < MOST; k++)
      if (s.came[k] != (k < r->size ? REGIONS : 0)) fail_msg("%s: member %d came %d times", r->name, k, (int)s.came[k]);
    assert_int_equal(s.nested, REGIONS * r->size);
    assert_int_equal(s.in_parallel, r->size > 1 ? REGIONS * r->size : 0);
    assert_int_equal(given.tiles, REGIONS * r->tiles);
    assert_int_equal(given.teams, r->teams);
    assert_int_equal(crew.broken, 0);
  }
}

/* A thread that waits for its region does another run. */
static void other_run(void *data) {
  seen *inner = data;
  int me = omp_get_thread_num(), n = omp_get_num_threads();
  od_crew crew = {.host = &host, .threads = 3};
  od_seat before = od_crew_enter(&crew);
  assert_int_equal(omp_in_parallel(), 0);
  assert_int_equal(omp_get_max_threads(), 3);
  GOMP_parallel(member, &inner[me], 3, 0);
  od_crew_leave(before);
  assert_int_equal(omp_get_thread_num(), me);
  assert_int_equal(omp_get_num_threads(), n);
}

static void test_a_run_within_a_region_has_regions_of_its_own(void **state) {
  (void)state;
  seen inner[2] = {0};
  od_crew crew = {.host = &host, .threads = 2};
  od_seat before = od_crew_enter(&crew);
  GOMP_parallel(other_run, inner, 2, 0);
  od_crew_leave(before);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(inner[i].size, 3);
    for (int k = 0; k < MOST; k++) assert_int_equal(inner[i].came[k], k < 3);
  }
}

/* ---- barriers ---- */

enum { TURNS = 200 };

typedef struct {
  atomic_int at[MOST];
  atomic_bool early;
} track;

static void walk(void *data) {
  track *t = data;
  int me = omp_get_thread_num(), n = omp_get_num_threads();
  for (int turn = 1; turn <= TURNS; turn++) {
    atomic_store(&t->at[me], turn);
    GOMP_barrier();
    for (int i = 0; i < n; i++)
      if (atomic_load(&t->at[i]) < turn) atomic_store(&t->early, true);
    GOMP_barrier();
  }
}

static void walk_in_a_call(void *ctx) {
  GOMP_parallel(walk, ctx, 4, 0);
  GOMP_parallel(walk, ctx, 4, 0);
}

static void test_barriers_of_a_team_hold(void **state) {
  (void)state;
  for (given.team = 1; given.team <= 4; given.team++) {
    track t = {0};
    od_crew crew = {.host = &host, .threads = 4, .together = 1};
    od_crew_call(&crew, walk_in_a_call, &t);
    assert_false(t.early);
    assert_int_equal(crew.broken, 0);
    for (uint32_t i = 0; i < MOST; i++) assert_int_equal(t.at[i], i < given.team ? TURNS : 0);
  }
}

/* A driver that divides its work among all threads before it opens a region. */
typedef struct {
  int share, n;
  atomic_int done[64];
} divided;

static void do_share(void *data) {
  divided *d = data;
  for (int i = omp_get_thread_num() * d->share, end = i + d->share; i < end && i < d->n; i++)
    atomic_fetch_add(&d->done[i], 1);
}

static void divide(void *ctx) {
  divided *d = ctx;
  int threads = omp_get_max_threads();
  d->share = (d->n + threads - 1) / threads;
  GOMP_parallel(do_share, d, (unsigned)threads, 0);
}

static void test_work_divided_in_advance_is_done(void **state) {
  (void)state;
  for (int together = 0; together < 2; together++)
    for (given.team = 1; given.team <= 4; given.team++) {
      divided d = {.n = 64};
      od_crew crew = {.host = &host, .threads = 4, .together = together};
      od_crew_call(&crew, divide, &d);
      for (int i = 0; i < d.n; i++) assert_int_equal(d.done[i], 1);
    }
}

static void test_one_thread_can_be_all_members(void **state) {
  (void)state;
  seen s = {0};
  od_crew crew = {.host = &host, .threads = 4, .alone = 1};
  given.tiles = given.teams = 0;
  od_seat before = od_crew_enter(&crew);
  GOMP_parallel(member, &s, 0, 0);
  od_crew_leave(before);
  for (int k = 0; k < MOST; k++) assert_int_equal(s.came[k], k < 4);
  assert_int_equal(s.size, 4);
  assert_int_equal(given.tiles + given.teams, 0);
}

static void test_a_barrier_between_tiles_is_told(void **state) {
  (void)state;
  track t = {0};
  od_crew crew = {.host = &host, .threads = 4};
  od_seat before = od_crew_enter(&crew);
  GOMP_parallel(walk, &t, 4, 0);
  od_crew_leave(before);
  assert_int_equal(crew.broken, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_members),
                                     cmocka_unit_test(test_fixed),
                                     cmocka_unit_test(test_a_run_within_a_region_has_regions_of_its_own),
                                     cmocka_unit_test(test_barriers_of_a_team_hold),
                                     cmocka_unit_test(test_work_divided_in_advance_is_done),
                                     cmocka_unit_test(test_one_thread_can_be_all_members),
                                     cmocka_unit_test(test_a_barrier_between_tiles_is_told)};
  return cmocka_run_group_tests_name("plugins.onednn.od_openmp", tests, NULL, NULL);
}
