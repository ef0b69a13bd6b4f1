/* SPDX-License-Identifier: Apache-2.0
 * ops/conv_integer_test.c - ConvInteger beside plain sums: few channels and many, groups, padding wider than the image,
 * dilations, strides, one to three axes, signs and zero points, on every instruction set. */
#include <stdlib.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/levels.h"
#include "support/one_node.h"

typedef struct problem {
  int axes;
  int64_t n, groups, ic, oc, in[3], kernel[3], stride[3], dilation[3], pad[3]; /* the same at both ends */
} problem;

static const problem rows[] = {
    {2, 1, 1, 3, 5, {9, 11}, {7, 7}, {2, 2}, {1, 1}, {3, 3}}, /* an image: 21 bytes a line */
    {2, 2, 1, 4, 3, {5, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},  /* 12 */
    {2, 1, 1, 1, 2, {4, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},  /* 3 */
    {2, 1, 1, 2, 2, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {0, 0}},  /* 4 */
    {2, 1, 1, 9, 4, {6, 5}, {3, 1}, {1, 2}, {1, 1}, {1, 0}},  /* 9 */
    {2, 1, 1, 40, 4, {5, 5}, {3, 3}, {2, 1}, {1, 1}, {1, 1}}, /* 120 */
    {2, 1, 1, 5, 4, {9, 9}, {3, 3}, {1, 1}, {2, 3}, {2, 3}},  /* taps apart */
    {2, 2, 2, 3, 4, {6, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},  /* groups: pixels apart */
    {2, 1, 3, 20, 2, {4, 4}, {3, 3}, {2, 2}, {1, 1}, {1, 1}},
    {2, 1, 1, 3, 2, {1, 2}, {5, 5}, {1, 1}, {1, 1}, {4, 4}}, /* taps amid padding alone */
    {1, 2, 1, 6, 3, {10}, {4}, {3}, {1}, {2}},
    {2, 1, 3, 1, 1, {4, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1}}, /* depthwise: less than a vector, then several */
    {2, 2, 75, 1, 1, {4, 5}, {3, 3}, {1, 2}, {1, 1}, {1, 1}},
    {2, 1, 136, 1, 1, {3, 4}, {2, 3}, {1, 1}, {1, 2}, {0, 2}},
    {3, 1, 1, 3, 2, {3, 4, 5}, {2, 3, 3}, {1, 1, 2}, {1, 1, 1}, {1, 1, 1}},
};

static int value(const uint8_t *p, int64_t i, bool is_signed) { return is_signed ? (int8_t)p[i] : p[i]; }

static int64_t product(const int64_t *v, int n) { return n ? *v * product(v + 1, n - 1) : 1; }

static void check(const problem *p, bool x_signed, bool w_signed, bool zeros, ox_isa isa) {
  int64_t xd[5] = {p->n, p->groups * p->ic}, wd[5] = {p->groups * p->oc, p->ic}, out[3], pads[6];
  for (int a = 0; a < p->axes; a++) {
    xd[a + 2] = p->in[a], wd[a + 2] = p->kernel[a], pads[a] = pads[a + p->axes] = p->pad[a];
    out[a] = (p->in[a] + 2 * p->pad[a] - (p->kernel[a] - 1) * p->dilation[a] - 1) / p->stride[a] + 1;
  }
  int64_t nx = product(xd, p->axes + 2), nw = product(wd, p->axes + 2), pixels = product(out, p->axes);
  int64_t taps = product(p->kernel, p->axes), plane = product(p->in, p->axes);
  uint8_t *x = malloc((size_t)nx), *w = malloc((size_t)nw), xz = x_signed ? (uint8_t)-7 : 121, wz = w_signed ? 3 : 130;
  for (int64_t i = 0; i < nx; i++) x[i] = (uint8_t)((uint64_t)i * 2654435761u >> 11);
  for (int64_t i = 0; i < nw; i++) w[i] = (uint8_t)((uint64_t)(i + 7) * 2246822519u >> 13);
  one_node n;
  one_node_init(&n, "", "ConvInteger", 10, 1);
  n.isa = isa;
  one_node_int(&n, "group", p->groups), one_node_ints(&n, "pads", (size_t)p->axes * 2, pads);
  one_node_ints(&n, "strides", (size_t)p->axes, p->stride),
      one_node_ints(&n, "dilations", (size_t)p->axes, p->dilation);
  one_node_input(&n, x_signed ? OX_I8 : OX_U8, p->axes + 2, xd, x);
  one_node_input(&n, w_signed ? OX_I8 : OX_U8, p->axes + 2, wd, w);
  if (zeros)
    one_node_input(&n, x_signed ? OX_I8 : OX_U8, 0, NULL, &xz),
        one_node_input(&n, w_signed ? OX_I8 : OX_U8, 0, NULL, &wz);
  CHECK_OK(one_node_run(&n));
  int x_zero = zeros ? value(&xz, 0, x_signed) : 0, w_zero = zeros ? value(&wz, 0, w_signed) : 0;
  for (int64_t i = 0; i < p->n * p->groups * p->oc * pixels; i++) {
    int64_t pixel = i % pixels, o = i / pixels % (p->groups * p->oc), image = i / pixels / (p->groups * p->oc),
            want = 0;
    for (int64_t t = 0; t < taps; t++) {
      int64_t at = 0, unit = 1, rest = pixel, tap = t;
      bool inside = true;
      for (int a = p->axes; a-- > 0; unit *= p->in[a], rest /= out[a], tap /= p->kernel[a]) {
        int64_t k = rest % out[a] * p->stride[a] - p->pad[a] + tap % p->kernel[a] * p->dilation[a];
        inside = inside && k >= 0 && k < p->in[a], at += k * unit;
      }
      for (int64_t c = 0; inside && c < p->ic; c++)
        want += (value(x, (image * p->groups * p->ic + o / p->oc * p->ic + c) * plane + at, x_signed) - x_zero) *
                (value(w, (o * p->ic + c) * taps + t, w_signed) - w_zero);
    }
    int32_t got = ((const int32_t *)n.out[0].data)[i];
    if (got != want)
      fail_msg("row %d, signed %d %d, zero points %d: [%lld] is %d, wanted %lld", (int)(p - rows), x_signed, w_signed,
               zeros, (long long)i, (int)got, (long long)want);
  }
  one_node_deinit(&n);
  free(x), free(w);
}

static void test_sums(void **state) {
  (void)state;
  for (size_t l = 0; level_next(&l); l++)
    for (size_t i = 0; i < OX_COUNT(rows); i++)
      for (int how = 0; how < 8; how++) check(&rows[i], how & 1, how & 2, how & 4, test_levels[l].have);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_sums)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
