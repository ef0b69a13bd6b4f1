/* SPDX-License-Identifier: Apache-2.0
 * plugins/device/product_kernels_test.c - the kernels of matrix products and convolutions beside sums in double, at the
 * edges of their tiles, for both types. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "plugins/device/kernel_calls.h"
#include "plugins/device/kernels/conv_params.h"
#include "plugins/device/kernels/gemm_params.h"
#include "support/check.h"

KERNEL_OF(gemm64);
KERNEL_OF(gemm128);
KERNEL_OF(gemv_across);
KERNEL_OF(gemv_along);
KERNEL_OF(plain_gemm);
KERNEL_OF(conv64);
KERNEL_OF(conv128);
KERNEL_OF(conv_direct);
KERNEL_OF(conv_depthwise3);
KERNEL_OF(plain_conv);

#define ROW(name, rows, columns, few) \
  { #name, {name##_f32, name##_f16 }, rows, columns, few }
static const struct {
  const char *name;
  kernel_fn *fn[2];
  int rows, columns, few; /* of a tile; few: it has all rows */
} products[] = {ROW(gemm64, 64, 64, 0), ROW(gemm128, 128, 128, 0), ROW(gemv_across, 8, 32, 1), ROW(gemv_along, 8, 8, 1),
                ROW(plain_gemm, 8, 64, 0)},
  convs[] = {ROW(conv64, 64, 64, 0), ROW(conv128, 128, 128, 0), ROW(plain_conv, 8, 64, 0)};

static const int shapes[][3] = {{1, 1, 1},    {5, 7, 0},    {1, 1, 300},  {8, 32, 8},    {7, 33, 9},     {63, 65, 17},
                                {64, 64, 16}, {65, 63, 15}, {2, 130, 40}, {128, 128, 8}, {129, 127, 24}, {3, 8, 256}};

/* Relu, then + o (a number for each column). */
static void add_tail(tail_params *t, int columns) {
  t->n = 2;
  t->step[0] = (tail_step){TAIL_RELU, -1, 1, 1, 0, 0};
  t->step[1] = (tail_step){TAIL_ADD, 0, 1, columns, 0, 0};
}

static int differs(float got, double wanted, int half) {
  double tolerance = half ? fabs(wanted) / 1024 + 1e-6 : fabs(wanted) * 1e-6 + 1e-5;
  return !(fabs((double)got - wanted) <= tolerance);
}

/* Two batches of A, one B. |form|: bit 0: A transposed, bit 1: B transposed. */
static void check_product(size_t which, int half, const int *s, int form) {
  int m = s[0], n = s[1], k = s[2], ta = form & 1, tb = form >> 1 & 1;
  numbers a = numbers_make(2 * m * k, half, 1), b = numbers_make(k * n, half, 2), c = numbers_make(2 * m * n, half, 3),
          o = numbers_make(n, half, 4);
  gemm_params p = {.m = m,
                   .n = n,
                   .k = k,
                   .a_row = ta ? 1 : k,
                   .a_col = ta ? m : 1,
                   .b_row = tb ? 1 : n,
                   .b_col = tb ? k : 1,
                   .c_row = n,
                   .c_col = 1,
                   .batch = {1, 1, 2, 1},
                   .a_batch = {0, 0, m * k, 0}};
  p.a_wide = (ta ? m : k) % 4 == 0 && m * k % 4 == 0, p.b_wide = (tb ? k : n) % 4 == 0;
  add_tail(&p.tail, n);
  int groups = 2 * OX_CEIL_DIV(n, products[which].columns);
  if (!products[which].few) groups *= OX_CEIL_DIV(m, products[which].rows);
  run_groups(products[which].fn[half], groups, (void *[]){a.data, b.data, c.data, o.data, NULL, NULL, NULL, NULL}, &p);
  for (int i = 0; i < 2 * m * n; i++) {
    double sum = 0;
    int batch = i / (m * n), row = i / n % m, column = i % n;
    for (int x = 0; x < k; x++)
      sum += (double)number_at(&a, batch * m * k + (ta ? x * m + row : row * k + x)) *
             (double)number_at(&b, tb ? column * k + x : x * n + column);
    sum = fmax(sum, 0) + (double)number_at(&o, column);
    if (differs(number_at(&c, i), sum, half))
      fail_msg("%s, half %d, %d x %d x %d, form %d: element %d is %g, wanted %g", products[which].name, half, m, n, k,
               form, i, (double)number_at(&c, i), sum);
  }
  free(a.data), free(b.data), free(c.data), free(o.data);
}

static void test_products(void **state) {
  (void)state;
  for (size_t w = 0; w < OX_COUNT(products); w++)
    for (size_t i = 0; i < OX_COUNT(shapes); i++)
      for (int form = 0; form < 8; form++) {
        bool along = w == 3, tb = (form >> 1 & 1) != 0;
        if (products[w].few && (shapes[i][0] > GEMV_ROWS || along != tb)) continue;
        check_product(w, form >> 2, shapes[i], form & 3);
      }
}

/* A row of A with NaN reaches its own row of C alone, whatever lies in the tile beside it. */
static void test_nan_stays_in_its_row(void **state) {
  (void)state;
  for (size_t w = 0; w < OX_COUNT(products); w++) {
    if (w == 3) continue; /* of transposed B: its sums are across's */
    int m = products[w].few ? 3 : 5, n = 5, k = 6;
    numbers a = numbers_make(m * k, 0, 1), b = numbers_make(k * n, 0, 2), c = numbers_make(m * n, 0, 3);
    gemm_params p = {.m = m,
                     .n = n,
                     .k = k,
                     .a_row = k,
                     .a_col = 1,
                     .b_row = n,
                     .b_col = 1,
                     .c_row = n,
                     .c_col = 1,
                     .batch = {1, 1, 1, 1}};
    number_set(&a, k + 2, NAN);
    number_set(&a, 2 * k + 1, INFINITY);
    number_set(&b, n, 1); /* and not 0 */
    run_groups(products[w].fn[0], 1, (void *[]){a.data, b.data, c.data, NULL, NULL, NULL, NULL, NULL}, &p);
    for (int i = 0; i < n; i++) {
      assert_true(isfinite(number_at(&c, i)));
      assert_true(isnan(number_at(&c, n + i)));
    }
    assert_true(number_at(&c, 2 * n) == INFINITY);
    free(a.data), free(b.data), free(c.data);
  }
}

/* ---- convolutions ---- */

typedef struct conv_case {
  int images, group, c, o; /* c, o: of a group */
  int in[3], out[3], extent[3], stride[3], dilation[3], pad[3];
} conv_case;

static const conv_case conv_cases[] = {
    {1, 1, 1, 1, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}},
    {2, 1, 3, 5, {1, 7, 9}, {1, 7, 9}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}},
    {1, 1, 3, 65, {1, 9, 8}, {1, 4, 4}, {1, 3, 2}, {1, 2, 2}, {1, 1, 1}, {0, 0, 0}},
    {3, 2, 4, 3, {1, 6, 5}, {1, 8, 5}, {1, 3, 3}, {1, 1, 1}, {1, 2, 1}, {0, 3, 1}},
    {1, 3, 1, 1, {1, 8, 11}, {1, 8, 11}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}},
    {2, 3, 1, 2, {1, 9, 9}, {1, 5, 5}, {1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 1, 1}},
    {1, 1, 2, 3, {4, 5, 6}, {3, 5, 3}, {2, 3, 2}, {1, 1, 2}, {1, 1, 1}, {0, 1, 0}},
    {1, 1, 16, 130, {1, 1, 40}, {1, 1, 38}, {1, 1, 3}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}},
    {1, 1, 1, 1, {1, 2, 2}, {1, 3, 3}, {1, 2, 2}, {1, 4, 4}, {1, 1, 1}, {0, 4, 4}}, /* taps in padding alone */
};

static double conv_wanted(const conv_params *p, const numbers *x, const numbers *w, int i) {
  int pixel = i % p->pixels, filter = i / p->pixels % (p->group * p->o), image = i / p->pixels / (p->group * p->o),
      at = 0;
  int place[3] = {pixel / (p->out[1] * p->out[2]), pixel / p->out[2] % p->out[1], pixel % p->out[2]};
  double sum = 0;
  for (int c = 0; c < p->c; c++)
    for (int tap = 0; tap < p->k / p->c; tap++, at++) {
      int t[3] = {tap / (p->extent[1] * p->extent[2]), tap / p->extent[2] % p->extent[1], tap % p->extent[2]};
      int from = (image * p->group + filter / p->o) * p->c + c, inside = 1;
      for (int d = 0; d < 3; d++) {
        int v = place[d] * p->stride[d] - p->pad[d] + t[d] * p->dilation[d];
        inside &= v >= 0 && v < p->in[d], from = from * p->in[d] + v;
      }
      if (inside) sum += (double)number_at(x, from) * (double)number_at(w, filter * p->k + at);
    }
  return sum;
}

static void check_conv(const conv_case *row, const char *name, kernel_fn *fn, int half, int rows, int columns) {
  conv_params p = {.group = row->group, .c = row->c, .o = row->o};
  memcpy(p.in, row->in, sizeof p.in), memcpy(p.out, row->out, sizeof p.out);
  memcpy(p.extent, row->extent, sizeof p.extent), memcpy(p.stride, row->stride, sizeof p.stride);
  memcpy(p.dilation, row->dilation, sizeof p.dilation), memcpy(p.pad, row->pad, sizeof p.pad);
  int in = p.in[0] * p.in[1] * p.in[2];
  p.k = p.c * p.extent[0] * p.extent[1] * p.extent[2], p.pixels = p.out[0] * p.out[1] * p.out[2];
  p.columns = row->images * p.pixels, p.wide = p.k % 4 == 0, p.n = p.columns * p.group * p.o;
  int count = p.n,
      groups = rows ? p.group * OX_CEIL_DIV(p.o, rows) * OX_CEIL_DIV(p.columns, columns) : OX_CEIL_DIV(p.n, 256);
  if (columns < 0) p.n = row->images * p.group * p.o * p.out[1] * OX_CEIL_DIV(p.out[2], 4);
  numbers x = numbers_make(row->images * p.group * p.c * in, half, 5), w = numbers_make(p.group * p.o * p.k, half, 6),
          y = numbers_make(count, half, 7), o = numbers_make(count, half, 8);
  add_tail(&p.tail, count);
  run_groups(fn, groups, (void *[]){x.data, w.data, y.data, o.data, NULL, NULL, NULL, NULL}, &p);
  for (int i = 0; i < count; i++) {
    double wanted = fmax(conv_wanted(&p, &x, &w, i), 0) + (double)number_at(&o, i);
    if (differs(number_at(&y, i), wanted, half))
      fail_msg("%s, half %d, row %d: element %d is %g, wanted %g", name, half, (int)(row - conv_cases), i,
               (double)number_at(&y, i), wanted);
  }
  free(x.data), free(w.data), free(y.data), free(o.data);
}

static void test_convolutions(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(conv_cases); i++)
    for (int half = 0; half < 2; half++) {
      const conv_case *p = &conv_cases[i];
      for (size_t k = 0; k < OX_COUNT(convs); k++)
        check_conv(&conv_cases[i], convs[k].name, convs[k].fn[half], half, convs[k].rows, convs[k].columns);
      check_conv(&conv_cases[i], "conv_direct", half ? conv_direct_f16 : conv_direct_f32, half, 0, 0);
      bool depthwise = p->c == 1 && p->extent[1] == 3 && p->extent[2] == 3 && p->dilation[1] == 1;
      if (depthwise)
        check_conv(&conv_cases[i], "conv_depthwise3", half ? conv_depthwise3_f16 : conv_depthwise3_f32, half, 0, -1);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_products), cmocka_unit_test(test_nan_stays_in_its_row),
                                     cmocka_unit_test(test_convolutions)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
