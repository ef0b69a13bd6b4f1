/* SPDX-License-Identifier: Apache-2.0
 * plugins/device/moe_kernels_test.c - the kernels of mixtures of experts beside sums in double: routing, rows sorted by
 * expert, layers of floats and of few bits, sums of answers. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/macros.h"
#include "plugins/device/kernel_calls.h"
#include "plugins/device/kernels/moe_params.h"
#include "support/check.h"

KERNEL_OF(moe_route);
KERNEL_OF(moe_sort);
KERNEL_OF(moe_layer);
KERNEL_OF(moe_combine);

enum { MOST_TOKENS = 100, MOST_EXPERTS = 20, TOP = 2, MOST_ROWS = MOST_TOKENS * TOP };

typedef struct routed {
  int tokens, experts, expert[MOST_ROWS], first[MOST_EXPERTS + 1], pair[MOST_ROWS], row[MOST_ROWS];
  float weight[MOST_ROWS];
} routed;

/* All groups of two axes. */
static void run_grid(kernel_fn *fn, int x, int y, void *const *buffers, const void *params) {
  for (int i = x * y - 1; i >= 0; i--) {
    const int place[6] = {i % x, i / x, 0, x, y, 1};
    fn((char *const *)buffers, params, place);
  }
}

static void route(routed *r, int tokens, int experts, int half) {
  moe_params p = {.tokens = tokens, .experts = experts, .top = experts < TOP ? 1 : TOP, .among = 1};
  numbers router = numbers_make(tokens * experts, half, 9);
  r->tokens = tokens, r->experts = experts;
  run_groups(half ? moe_route_f16 : moe_route_f32, OX_CEIL_DIV(tokens, 256),
             (void *[]){router.data, NULL, r->expert, r->weight}, &p);
  run_groups(half ? moe_sort_f16 : moe_sort_f32, 1, (void *[]){r->expert, r->first, r->pair, r->row}, &p);
  for (int t = 0; t < tokens; t++) {
    double sum = 0;
    for (int j = 0; j < p.top; j++) sum += exp((double)number_at(&router, t * experts + r->expert[t * p.top + j]));
    for (int j = 0; j < p.top; j++) {
      int at = t * p.top + j, row = r->row[at], e = r->expert[at];
      double own = (double)number_at(&router, t * experts + e);
      int better = 0;
      for (int k = 0; k < experts; k++) {
        double v = (double)number_at(&router, t * experts + k);
        better += v > own || (v == own && k < e);
      }
      if (better != j || r->pair[row] != at || row < r->first[e] || row >= r->first[e + 1] ||
          !(fabs((double)r->weight[at] - exp(own) / sum) <= 1e-5))
        fail_msg("%d tokens, %d experts: pair %d is expert %d with %g in row %d", tokens, experts, at, e,
                 (double)r->weight[at], row);
    }
  }
  assert_int_equal(r->first[experts], tokens * p.top);
  free(router.data);
}

static int bits_at(const unsigned char *v, int bits, int i) {
  return (v[i * bits / 8] >> (i * bits % 8)) & ((1 << bits) - 1);
}

/* |bits| 0: floats; |block| 0: one scale for a row. */
static void check_layer(routed *r, int n, int k, int bits, int block, int of_tokens, int half) {
  int top = r->experts < TOP ? 1 : TOP, rows = r->tokens * top, blocks = block ? k / block : 1, lines = r->experts * n;
  moe_layer_params p = {.experts = r->experts,
                        .top = top,
                        .n = n,
                        .k = k,
                        .of_tokens = of_tokens,
                        .has_bias = n % 2,
                        .has_zero = bits && n % 2,
                        .bits = bits,
                        .block = block ? block : k,
                        .blocks = blocks};
  p.zero_row = block ? OX_CEIL_DIV(blocks * bits, 8) : 0;
  p.zero_e = block ? n * p.zero_row : OX_CEIL_DIV(n * bits, 8);
  numbers x = numbers_make((of_tokens ? r->tokens : rows) * k, half && of_tokens, 1),
          w = numbers_make(lines * k, half, 2);
  numbers scale = numbers_make(lines * blocks, half, 3), bias = numbers_make(lines, half, 4);
  numbers y = numbers_make(rows * n, 0, 5);
  unsigned char *packed = malloc((size_t)(lines * k + 1)), *zero = malloc((size_t)(r->experts * p.zero_e + 1));
  for (int i = 0; i < lines * k; i++) packed[i] = (unsigned char)(i * 37 + i / 11);
  for (int i = 0; i < r->experts * p.zero_e; i++) zero[i] = (unsigned char)(i * 53 + i / 7);
  int tiles = rows / MOE_ROWS + OX_MIN(rows, r->experts);
  run_grid(half ? moe_layer_f16 : moe_layer_f32, OX_CEIL_DIV(n, MOE_COLUMNS), tiles,
           (void *[]){x.data, bits ? (void *)packed : w.data, scale.data, zero, bias.data, r->first, r->pair, y.data},
           &p);
  for (int i = 0; i < rows * n; i++) {
    int row = i / n, e = r->expert[r->pair[row]], line = e * n + i % n, from = of_tokens ? r->pair[row] / top : row;
    double sum = p.has_bias ? (double)number_at(&bias, line) : 0, all = 1;
    for (int j = 0; j < k; j++) {
      double v = (double)number_at(&w, line * k + j);
      if (bits) {
        int at =
            block ? (e * p.zero_e + line % n * p.zero_row) * 8 / bits + j / block : e * p.zero_e * 8 / bits + line % n;
        int z = p.has_zero ? bits_at(zero, bits, at) : 1 << (bits - 1);
        v = (bits_at(packed, bits, line * k + j) - z) * (double)number_at(&scale, line * blocks + j / p.block);
      }
      sum += v * (double)number_at(&x, from * k + j), all += fabs(v * (double)number_at(&x, from * k + j));
    }
    if (!(fabs((double)number_at(&y, i) - sum) <= 1e-6 * all))
      fail_msg("%d tokens, %d experts, %d x %d, %d bits, block %d, half %d: element %d is %g, wanted %g", r->tokens,
               r->experts, n, k, bits, block, half, i, (double)number_at(&y, i), sum);
  }
  free(x.data), free(w.data), free(scale.data), free(bias.data), free(y.data), free(packed), free(zero);
}

static const struct { int tokens, experts; } mixes[] = {{1, 1}, {1, 20}, {16, 1}, {17, 2}, {100, 3}, {33, 20}};

static void test_layers(void **state) {
  (void)state;
  routed r;
  for (size_t i = 0; i < OX_COUNT(mixes); i++)
    for (int half = 0; half < 2; half++) {
      route(&r, mixes[i].tokens, mixes[i].experts, half);
      check_layer(&r, 1, 1, 0, 0, 1, half), check_layer(&r, 64, 16, 0, 0, 0, half);
      check_layer(&r, 65, 17, 0, 0, 1, half);
      for (int bits = 2; bits <= 8; bits *= 2) {
        check_layer(&r, 9, 24, bits, 0, 1, half), check_layer(&r, 10, 24, bits, 4, 0, half);
        check_layer(&r, 65, 48, bits, 8, 1, half);
      }
    }
}

static void test_sums(void **state) {
  (void)state;
  enum { HIDDEN = 5 };
  routed r;
  for (size_t i = 0; i < OX_COUNT(mixes); i++) {
    route(&r, mixes[i].tokens, mixes[i].experts, 0);
    int top = r.experts < TOP ? 1 : TOP, n = r.tokens * HIDDEN;
    moe_params p = {.tokens = r.tokens, .experts = r.experts, .top = top, .hidden = HIDDEN};
    numbers x = numbers_make(n * top, 0, 1), y = numbers_make(n, 0, 2);
    run_groups(moe_combine_f32, OX_CEIL_DIV(n, 256), (void *[]){x.data, r.row, r.weight, y.data}, &p);
    for (int at = 0; at < n; at++) {
      double sum = 0;
      for (int j = at / HIDDEN * top; j < (at / HIDDEN + 1) * top; j++)
        sum += (double)r.weight[j] * (double)number_at(&x, r.row[j] * HIDDEN + at % HIDDEN);
      if (!(fabs((double)number_at(&y, at) - sum) <= 1e-6)) fail_msg("element %d of the sums", at);
    }
    free(x.data), free(y.data);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_layers), cmocka_unit_test(test_sums)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
