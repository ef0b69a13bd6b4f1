/* SPDX-License-Identifier: Apache-2.0
 * ops/scatter_grid_test.c - updates of a grid against loops over all of its points: lists that count up, that jump,
 * that name a place twice; errors; the same result whatever the tiles. */
#include <string.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/one_node.h"

typedef struct row {
  int rank, k;
  int64_t data[3], updates[3];
  int64_t length[3], list[3][4];
} row;

static const row rows[] = {
    {1, 1, {5}, {2}, {2}, {{3, 0}}},
    {2, 2, {3, 4}, {2, 3}, {2, 3}, {{1, 2}, {1, 2, 3}}},
    {2, 2, {3, 4}, {2, 2}, {2, 2}, {{2, -3}, {-1, 0}}},
    {2, 2, {3, 4}, {3, 2}, {3, 2}, {{1, 1, 1}, {2, 2}}},
    {2, 2, {3, 4}, {2, 2}, {1, 2}, {{1}, {0, 3}}},
    {2, 2, {3, 4}, {2, 3}, {2, 1}, {{0, 2}, {2}}},
    {2, 1, {3, 4}, {2, 4}, {2}, {{2, 0}}},
    {3, 2, {2, 3, 4}, {2, 2, 4}, {2, 2}, {{0, 1}, {1, 2}}},
    {3, 3, {2, 3, 4}, {2, 1, 2}, {2, 1, 2}, {{-1, 0}, {2}, {-4, -3}}},
    {3, 3, {2, 3, 4}, {1, 1, 4}, {1, 1, 4}, {{1}, {0}, {3, 1, 3, 0}}},
    {3, 2, {2, 3, 4}, {2, 0, 4}, {2, 0}, {{0, 1}}},
};

static int64_t count(const int64_t *dim, int rank) {
  int64_t n = 1;
  for (int i = 0; i < rank; i++) n *= dim[i];
  return n;
}

/* The place of point |i| of the updates. */
static int64_t place_of(const row *r, int64_t i) {
  int64_t at = 0, step = 1;
  for (int a = r->rank - 1; a >= 0; step *= r->data[a--]) {
    int64_t pos = i % r->updates[a];
    i /= r->updates[a];
    if (a < r->k) pos = r->list[a][r->length[a] == 1 ? 0 : pos];
    at += (pos < 0 ? pos + r->data[a] : pos) * step;
  }
  return at;
}

static void check_row(const row *r, bool wide, int64_t tiles) {
  int32_t data[64], updates[64], want[64], list[3][4];
  int64_t n = count(r->data, r->rank);
  for (int i = 0; i < 64; i++) want[i] = data[i] = i, updates[i] = 100 + i;
  for (int64_t i = 0; i < count(r->updates, r->rank); i++) want[place_of(r, i)] = updates[i];
  one_node node;
  one_node_init(&node, "ai.onyx", "ScatterGrid", 1, 1);
  node.run_tiles = tiles;
  one_node_input(&node, OX_I32, r->rank, r->data, data);
  one_node_input(&node, OX_I32, r->rank, r->updates, updates);
  for (int a = 0; a < r->k; a++) {
    for (int i = 0; i < 4; i++) list[a][i] = (int32_t)r->list[a][i];
    one_node_input(&node, wide ? OX_I64 : OX_I32, 1, &r->length[a], wide ? (const void *)r->list[a] : list[a]);
  }
  CHECK_OK(one_node_run(&node));
  if (memcmp(node.out[0].data, want, (size_t)n * sizeof *want) != 0) fail_msg("row %d differs", (int)(r - rows));
  one_node_deinit(&node);
}

static void test_against_all_points(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(rows); i++)
    for (int way = 0; way < 4; way++) check_row(&rows[i], way & 1, way >> 1);
}

/* So many that several tiles share them; places that two updates want are the last one's. */
static void test_many_tiles(void **state) {
  (void)state;
  enum { ROWS = 3000, WIDTH = 40, HAVE = 50 };
  static float data[ROWS * HAVE], updates[ROWS * WIDTH], want[ROWS * HAVE];
  static int64_t list[ROWS], columns[WIDTH];
  for (int jumps = 0; jumps < 2; jumps++) {
    for (int i = 0; i < ROWS * WIDTH; i++) updates[i] = (float)(i + 1);
    for (int i = 0; i < ROWS; i++) list[i] = i * 7 % 1000 * 3;
    for (int i = 0; i < WIDTH; i++) columns[i] = jumps ? i * 13 % HAVE : i + 5;
    memset(want, 0, sizeof want);
    for (int i = 0; i < ROWS * WIDTH; i++) want[list[i / WIDTH] * HAVE + columns[i % WIDTH]] = updates[i];
    for (int64_t tiles = 0; tiles < 2; tiles++) {
      one_node n;
      one_node_init(&n, "ai.onyx", "ScatterGrid", 1, 1);
      n.run_tiles = tiles;
      one_node_input(&n, OX_F32, 2, (int64_t[]){ROWS, HAVE}, data);
      one_node_input(&n, OX_F32, 2, (int64_t[]){ROWS, WIDTH}, updates);
      one_node_input(&n, OX_I64, 1, (int64_t[]){ROWS}, list);
      one_node_input(&n, OX_I64, 1, (int64_t[]){WIDTH}, columns);
      CHECK_OK(one_node_run(&n));
      assert_memory_equal(n.out[0].data, want, sizeof want);
      one_node_deinit(&n);
    }
  }
}

static void fails(int64_t index, int64_t length, int64_t columns, ox_code code, const char *part) {
  one_node n;
  one_node_init(&n, "ai.onyx", "ScatterGrid", 1, 1);
  one_node_input(&n, OX_F32, 2, (int64_t[]){2, 3}, (float[6]){0});
  one_node_input(&n, OX_F32, 2, (int64_t[]){1, columns}, (float[8]){0});
  one_node_input(&n, OX_I64, 1, &length, (int64_t[]){index, 0});
  CHECK_FAILS(one_node_run(&n), code, part);
  one_node_deinit(&n);
}

static void test_errors_say_what_is_wrong(void **state) {
  (void)state;
  fails(2, 1, 3, OX_INVALID_ARGUMENT, "index 2 at position 0 is outside [-2, 2)");
  fails(-3, 1, 3, OX_INVALID_ARGUMENT, "index -3 at position 0 is outside [-2, 2)");
  fails(0, 1, 4, OX_SHAPE_MISMATCH, "updates [1,4] do not fit data [2,3] with 1 lists of indices");
  fails(0, 2, 3, OX_SHAPE_MISMATCH, "list 0 has 2 indices, updates have 1");
  one_node n;
  one_node_init(&n, "ai.onyx", "ScatterGrid", 1, 1);
  one_node_input(&n, OX_F32, 2, (int64_t[]){1, 2}, (float[2]){0});
  one_node_input(&n, OX_F32, 2, (int64_t[]){1, 2}, (float[2]){0});
  one_node_input(&n, OX_I64, 1, (int64_t[]){1}, (int64_t[]){0});
  one_node_input(&n, OX_I64, -1, NULL, NULL);
  CHECK_FAILS(one_node_run(&n), OX_INVALID_MODEL, "input 3 is missing");
  one_node_deinit(&n);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_against_all_points),
      cmocka_unit_test(test_many_tiles),
      cmocka_unit_test(test_errors_say_what_is_wrong),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
