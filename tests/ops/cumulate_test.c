/* SPDX-License-Identifier: Apache-2.0
 * ops/cumulate_test.c - CumSum and CumProd along every axis, from either end, with and without the element itself,
 * against a loop over the elements; the same bits however tiles are dealt out. */
#include <string.h>

#include "kern/quant/convert.h"
#include "support/check.h"
#include "support/levels.h"
#include "support/one_node.h"

enum { MOST = 3 * 40 * 600 };

static void check(const char *op, uint32_t dtype, const int64_t *dims, int64_t axis, bool exclusive, bool reverse) {
  static uint64_t x[MOST];
  static double seen[MOST], want[MOST];
  bool product = op[3] == 'P';
  const ox_convert *cv = ox_convert_select(0);
  int64_t outer = 1, inner = 1, n = dims[axis];
  for (int d = 0; d < 3; d++) *(d < axis ? &outer : &inner) *= d == axis ? 1 : dims[d];
  for (int64_t i = 0; i < outer * n * inner; i++) { /* small, so that sums are exact; products of ones and a few twos */
    seen[i] = product ? (i * 7919 % 37 == 0 ? 2 : 1) : (double)(i * 7919 % 5) - 2;
    cv->store_f64[dtype](&seen[i], x, (size_t)i, 1, NULL);
  }
  for (int64_t o = 0; o < outer * inner; o++) {
    double sum = product;
    for (int64_t r = 0; r < n; r++) {
      int64_t at = o / inner * n * inner + (reverse ? n - 1 - r : r) * inner + o % inner;
      double next = product ? sum * seen[at] : sum + seen[at];
      want[at] = exclusive ? sum : next, sum = next;
    }
  }
  for (size_t l = 0; level_next(&l); l++)
    for (int64_t tiles = 0; tiles < 2; tiles++) {
      one_node node;
      one_node_init(&node, "", op, product ? 26 : 14, 1);
      node.isa = test_levels[l].have, node.run_tiles = tiles;
      one_node_int(&node, "exclusive", exclusive), one_node_int(&node, "reverse", reverse);
      one_node_input(&node, dtype, 3, dims, x);
      one_node_const(&node, OX_I64, 0, NULL, &axis);
      CHECK_OK(one_node_run(&node));
      for (int64_t i = 0; i < outer * n * inner; i++) {
        double got;
        cv->load_f64[dtype](node.out[0].data, (size_t)i, 1, &got);
        if (got != want[i])
          fail_msg("%s, %s of type %u, axis %d, exclusive %d, reverse %d: [%d] is %g, wanted %g", test_levels[l].name,
                   op, dtype, (int)axis, exclusive, reverse, (int)i, got, want[i]);
      }
      one_node_deinit(&node);
    }
}

static void test_every_axis(void **state) {
  (void)state;
  static const uint32_t types[] = {OX_F32, OX_F64, OX_I32, OX_I64, OX_F16};
  static const int64_t shapes[][3] = {{1, 1, 1},    {3, 5, 7},   {2, 1, 16},  {3, 4, 15},
                                      {3, 40, 600}, {5, 33, 17}, {2, 5, 2600}};
  for (size_t s = 0; s < OX_COUNT(shapes); s++)
    for (size_t t = 0; t < OX_COUNT(types); t++)
      for (int k = 0; k < 12; k++) {
        check("CumSum", types[t], shapes[s], k / 4, k & 1, k & 2);
        if (types[t] == OX_F32 || types[t] == OX_F64) check("CumProd", types[t], shapes[s], k / 4, k & 1, k & 2);
      }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_axis)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
