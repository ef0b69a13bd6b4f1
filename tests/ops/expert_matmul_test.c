/* SPDX-License-Identifier: Apache-2.0
 * ops/expert_matmul_test.c - vectors by the matrices that indices pick, against loops in double: no vectors, one for
 * all, matrices without any and with many, both layouts, constant matrices and others; errors. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "graph/dtype.h"
#include "support/check.h"
#include "support/one_node.h"

typedef struct row {
  int64_t vectors, indices, experts, n, k;
  int only; /* the matrix that all indices pick; -1: any */
} row;

static const row rows[] = {{0, 0, 3, 4, 5, -1},       {1, 1, 1, 1, 1, -1},       {1, 1, 3, 17, 31, -1},
                           {5, 5, 3, 64, 8, -1},      {1, 7, 4, 9, 3, -1},       {7, 1, 4, 9, 3, -1},
                           {9, 9, 2, 65, 33, 1},      {300, 300, 3, 33, 40, -1}, {40, 40, 64, 5, 7, 3},
                           {13, 13, 5, 130, 257, -1}, {600, 600, 2, 70, 530, -1}};

static uint32_t seed = 3;
static float value(void) {
  return seed = seed * 1664525u + 1013904223u, (float)((int)(seed >> 8) % 2001 - 1000) * 1e-3f;
}

static void *made(uint32_t type, int64_t n) {
  void *p = calloc((size_t)n + 1, sizeof(float));
  for (int64_t i = 0; i < n; i++) {
    float v = value();
    if (type == OX_F32) ((float *)p)[i] = v;
    if (type == OX_F16) ((uint16_t *)p)[i] = ox_f16_from_f32(v);
    if (type == OX_BF16) ((uint16_t *)p)[i] = ox_bf16_from_f32(v);
  }
  return p;
}

static double at(uint32_t type, const void *p, int64_t i) {
  if (type == OX_F32) return (double)((const float *)p)[i];
  return (double)(type == OX_F16 ? ox_f16_to_f32(((const uint16_t *)p)[i]) : ox_bf16_to_f32(((const uint16_t *)p)[i]));
}

static int64_t dims(const row *r, bool column, int64_t x[3], int64_t w[3]) {
  const int64_t as_x[3] = {r->vectors, column ? r->k : 1, column ? 1 : r->k};
  const int64_t as_w[3] = {r->experts, column ? r->n : r->k, column ? r->k : r->n};
  memcpy(x, as_x, sizeof as_x), memcpy(w, as_w, sizeof as_w);
  return r->vectors && r->indices ? OX_MAX(r->vectors, r->indices) : 0;
}

static void check(const row *r, uint32_t type, bool column, bool constant, int64_t tiles) {
  int64_t xd[3], wd[3], results = dims(r, column, xd, wd);
  void *x = made(type, r->vectors * r->k), *w = made(type, r->experts * r->n * r->k);
  int64_t *index = calloc((size_t)r->indices + 1, sizeof *index);
  for (int64_t i = 0; i < r->indices; i++) {
    index[i] = r->only >= 0 ? r->only : (int64_t)(seed = seed * 1664525u + 1013904223u) >> 8;
    index[i] = index[i] % r->experts - (i % 3 == 1 ? r->experts : 0); /* some count from the end */
  }
  one_node n;
  one_node_init(&n, "ai.onyx", "ExpertMatMul", 1, 1);
  n.run_tiles = tiles;
  one_node_int(&n, "column", column);
  one_node_input(&n, type, 3, xd, x);
  (constant ? one_node_const : one_node_input)(&n, type, 3, wd, w);
  one_node_input(&n, OX_I64, 1, &r->indices, index);
  CHECK_OK(one_node_run(&n));
  const int64_t yd[3] = {results, column ? r->n : 1, column ? 1 : r->n};
  const ox_shape shape = ox_shape_of(3, yd);
  assert_true(ox_shape_equal(&n.out[0].shape, &shape));
  double tolerance = type == OX_F32 ? 1e-5 : type == OX_F16 ? 2e-3 : 2e-2;
  for (int64_t i = 0; i < results; i++)
    for (int64_t j = 0; j < r->n; j++) {
      int64_t e = index[r->indices == 1 ? 0 : i], from = r->vectors == 1 ? 0 : i;
      double sum = 0, size = 1;
      e += e < 0 ? r->experts : 0;
      for (int64_t k = 0; k < r->k; k++) {
        double term =
            at(type, x, from * r->k + k) * at(type, w, column ? (e * r->n + j) * r->k + k : (e * r->k + k) * r->n + j);
        sum += term, size += fabs(term);
      }
      double got = at(type, n.out[0].data, i * r->n + j);
      if (!(fabs(got - sum) <= tolerance * (type == OX_F32 ? size : 1 + fabs(sum))))
        fail_msg("row %d type %u column %d constant %d: (%d, %d) is %g, wanted %g", (int)(r - rows), (unsigned)type,
                 column, constant, (int)i, (int)j, got, sum);
    }
  one_node_deinit(&n);
  free(x), free(w), free(index);
}

static void test_against_loops(void **state) {
  (void)state;
  static const uint32_t types[] = {OX_F32, OX_F16, OX_BF16};
  for (size_t i = 0; i < OX_COUNT(rows); i++)
    for (int way = 0; way < 8; way++)
      for (size_t t = 0; t < OX_COUNT(types); t++) check(&rows[i], types[t], way & 1, way & 2, way >> 2);
}

static void test_errors(void **state) {
  (void)state;
  static const struct {
    int64_t x[3], w[3], indices;
    int32_t index[2];
    const char *text;
  } bad[] = {
      {{2, 4, 1}, {3, 5, 4}, 2, {0, 3}, "outside [-3, 3)"}, {{2, 4, 1}, {3, 5, 4}, 2, {-4, 0}, "outside [-3, 3)"},
      {{2, 4, 1}, {0, 5, 4}, 2, {0, 0}, "outside [-0, 0)"}, {{2, 4, 1}, {3, 4, 5}, 2, {0, 1}, "matrices of"},
      {{2, 4, 2}, {3, 5, 4}, 2, {0, 1}, "matrices of"},     {{3, 4, 1}, {3, 5, 4}, 2, {0, 1}, "broadcast"},
  };
  static const float data[64];
  for (size_t i = 0; i < OX_COUNT(bad); i++) {
    one_node n;
    one_node_init(&n, "ai.onyx", "ExpertMatMul", 1, 1);
    one_node_int(&n, "column", 1);
    one_node_input(&n, OX_F32, 3, bad[i].x, data);
    one_node_input(&n, OX_F32, 3, bad[i].w, data);
    one_node_input(&n, OX_I32, 1, &bad[i].indices, bad[i].index);
    CHECK_FAILS_WITH(one_node_run(&n), bad[i].text);
    one_node_deinit(&n);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_against_loops), cmocka_unit_test(test_errors)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
