/* SPDX-License-Identifier: Apache-2.0
 * ops/variadic_test.c - Max, Min, Sum and Mean of inputs that are spread, one of them a single number at any place. */
#include <math.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/one_node.h"

enum { ROWS = 37, COLUMNS = 40, ALL = ROWS * COLUMNS, INPUTS = 3 };

/* What |op| makes of |n| numbers. NaN passes. */
static float wanted(const char *op, const float *x, int n) {
  float r = x[0];
  for (int i = 1; i < n; i++)
    if (op[1] == 'u' || op[1] == 'e')
      r += x[i];
    else if (isnan(r) || isnan(x[i]))
      r = NAN;
    else
      r = op[1] == 'a' ? fmaxf(r, x[i]) : fminf(r, x[i]);
  return op[1] == 'e' ? r / (float)n : r;
}

/* Of each input: 0 all elements, 1 a row, 2 a column, 3 one number without dimensions, 4 with two. */
static void check(const char *op, int n, const int *kinds) {
  static const int64_t dims[][2] = {{ROWS, COLUMNS}, {1, COLUMNS}, {ROWS, 1}, {1, 1}, {1, 1}};
  static float x[INPUTS][ALL];
  one_node t;
  one_node_init(&t, "", op, 13, 1);
  for (int k = 0; k < n; k++) {
    for (int i = 0; i < ALL; i++) x[k][i] = (float)((i * 37 + k * 11) % 101 - 50);
    if (kinds[k] != 3) x[k][7 % (dims[kinds[k]][0] * dims[kinds[k]][1])] = NAN;
    one_node_input(&t, OX_F32, kinds[k] == 3 ? 0 : 2, dims[kinds[k]], x[k]);
  }
  CHECK_OK(one_node_run(&t));
  int64_t rows = t.out[0].shape.rank > 0 ? t.out[0].shape.dim[0] : 1,
          columns = t.out[0].shape.rank > 1 ? t.out[0].shape.dim[1] : 1;
  for (int64_t r = 0; r < rows; r++)
    for (int64_t c = 0; c < columns; c++) {
      float at[INPUTS];
      for (int k = 0; k < n; k++) {
        const int64_t *d = dims[kinds[k]];
        at[k] = x[k][(d[0] > 1 ? r : 0) * d[1] + (d[1] > 1 ? c : 0)];
      }
      float want = wanted(op, at, n), got = ((const float *)t.out[0].data)[r * columns + c];
      if (!(got == want) && !(isnan(got) && isnan(want)))
        fail_msg("%s, kinds %d %d %d: [%d, %d] is %g, wanted %g", op, kinds[0], kinds[1], n > 2 ? kinds[2] : -1, (int)r,
                 (int)c, (double)got, (double)want);
    }
  one_node_deinit(&t);
}

static void test_all_kinds_at_all_places(void **state) {
  (void)state;
  static const char *const ops[] = {"Max", "Min", "Sum", "Mean"};
  for (size_t o = 0; o < OX_COUNT(ops); o++)
    for (int a = 0; a < 5; a++)
      for (int b = 0; b < 5; b++) {
        check(ops[o], 2, (int[]){a, b});
        for (int c = 0; c < 5; c++) check(ops[o], 3, (int[]){a, b, c});
      }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_kinds_at_all_places)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
