/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/conv_merge_test.c - branches of one input: windows inside of windows, the input itself, normalized or not;
 * and sums that must stay. */
#include <stdio.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/run_graph.h"

#define G "<ir_version: 8, opset_import: [\"\" : 17]> g "
#define W1 "float[2, 2, 1, 1] w = {3, -1, 2, 5}"
#define W3                                                                                                        \
  "float[2, 2, 3, 3] v = {1, 2, 3, 4, 5, 6, 7, 8, 9, -1, 2, -3, 4, -5, 6, -7, 8, -9, 2, 4, 6, 8, 1, 3, 5, 7, 9, " \
  "0, 1, 0, 1, 0, 1, 0, 1, 2}"
#define D1 "float[2, 1, 1, 1] w = {3, -1}"
#define D3 "float[2, 1, 3, 3] v = {1, 2, 3, 4, 5, 6, 7, 8, 9, -1, 2, -3, 4, -5, 6, -7, 8, -9}"
#define BC "float[2] b = {1, -2}, float[2] c = {0.5, 4}"
#define NORM "float[2] s = {2, 3}, float[2] h = {1, 0.5}, float[2] mean = {0.5, 1}, float[2] var = {1, 4}"

static const rg_row rows[] = {
    {G "(float[1, 2, 5, 4] x) => (float[1, 2, 5, 4] y) <" W1 ", " W3 ", " BC "> { "
       "p = Conv (x, w, b) q = Conv <pads = [1, 1, 1, 1]> (x, v, c) y = Add (p, q) }",
     "conv-merge", "Conv", 1e-5},
    {G "(float[1, 2, 5, 4] x) => (float[1, 2, 5, 4] y) <" W1 ", " W3 ", " BC "> { "
       "p = Conv (x, w) q = Conv <pads = [1, 1, 1, 1]> (x, v, c) y = Add (q, p) }",
     "conv-merge", "Conv", 1e-5},
    /* strides; windows that lie in a corner; the same window, with holes */
    {G "(float[n, 2, 7, 6] x) => (float[n, 2, 4, 3] y) <" W1 ", " W3 ", " BC "> { "
       "p = Conv <strides = [2, 2]> (x, w, b) q = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x, v) y = Add (p, q) }",
     "conv-merge", "Conv", 1e-5},
    {G "(float[1, 2, 5, 4] x) => (float[1, 2, 5, 4] y) <" W1 ", " W3 "> { "
       "p = Conv (x, w) q = Conv <pads = [0, 2, 2, 0]> (x, v) y = Add (p, q) }",
     "conv-merge", "Conv", 1e-5},
    {G "(float[1, 2, h, 9] x) => (float[1, 2, h, 9] y) <" W1 ", " W3 ", float[2, 2, 3, 3] u = {1, 2, 1, 2, 1, 2, 1, 2, "
       "1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2}> { "
       "p = Conv <pads = [2, 2, 2, 2], dilations = [2, 2]> (x, u) "
       "q = Conv <pads = [2, 2, 2, 2], dilations = [2, 2]> (x, v) r = Conv (x, w) a = Add (p, r) y = Add (q, a) }",
     "conv-merge", "Conv", 1e-5},
    {G "(float[1, 2, 5] x) => (float[1, 3, 5] y) <float[3, 2, 1] w = {1, 2, 3, 4, 5, 6}, float[3, 2, 3] v = {1, 2, 3, "
       "4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9}> { "
       "p = Conv <pads = [0, 0]> (x, w) q = Conv <pads = [2, 0]> (x, v) y = Add (p, q) }",
     "conv-merge", "Conv", 1e-5},
    /* groups; normalizations go in first */
    {G "(float[1, 2, 5, 4] x) => (float[1, 2, 5, 4] y) <" D1 ", " D3 ", " BC ", " NORM "> { "
       "p = Conv <group = 2> (x, w, b) q = Conv <group = 2, pads = [1, 1, 1, 1]> (x, v) "
       "r = BatchNormalization (q, s, h, mean, var) y = Add (p, r) }",
     "conv-merge", "Conv", 1e-5},
    /* the input */
    {G "(float[2, 2, 5, 4] x) => (float[2, 2, 5, 4] y) <" D3 ", " BC "> { "
       "q = Conv <group = 2, pads = [1, 1, 1, 1]> (x, v, b) y = Add (q, x) }",
     "conv-merge", "Conv", 1e-5},
    {G "(float[1, 2, 5, 4] x) => (float[1, 2, 5, 4] y) <" W1 "> { q = Conv (x, w) y = Add (x, q) }", "conv-merge",
     "Conv", 1e-5},
    {G "(float[1, 2, 9, 9] x) => (float[1, 2, 9, 9] y) <" W3 "> { "
       "q = Conv <pads = [2, 4, 2, 0], dilations = [2, 2]> (x, v) y = Add (x, q) }",
     "conv-merge", "Conv", 1e-5},
    {G "(float[1, 2, 5, 4] x) => (float[1, 2, 5, 4] y) <" W1 ", " W3 ", " BC ", " NORM "> { "
       "p = Conv (x, w, b) q = Conv <pads = [1, 1, 1, 1]> (x, v, c) n = BatchNormalization (x, s, h, mean, var) "
       "a = Add (p, n) y = Add (a, q) }",
     "conv-merge", "Conv", 1e-5},
    /* none: other inputs, strides, sizes of the result, holes that the taps fall into, another's reader */
    {G "(float[1, 2, 5, 4] x, float[1, 2, 5, 4] z) => (float[1, 2, 5, 4] y) <" W1 ", " W3 "> { "
       "p = Conv (x, w) q = Conv <pads = [1, 1, 1, 1]> (z, v) y = Add (p, q) }",
     "!conv-merge", "Conv FusedConv", 1e-5},
    {G "(float[1, 2, 1, 1] x) => (float[1, 2, 1, 1] y) <" W1 ", " W3 "> { "
       "p = Conv (x, w) q = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x, v) y = Add (p, q) }",
     "!conv-merge", "Conv FusedConv", 1e-5},
    {G "(float[1, 2, 3, 3] x) => (float[1, 2, 3, 3] y) <" W1 ", " W3 "> { "
       "p = Conv (x, w) q = Conv (x, v) y = Add (p, q) }",
     "!conv-merge", "Conv Conv Add", 1e-5},
    {G "(float[1, 2, 9, 9] x) => (float[1, 2, 9, 9] y) <" W1 ", " W3 "> { "
       "p = Conv (x, w) q = Conv <pads = [1, 2, 3, 2], dilations = [2, 2]> (x, v) y = Add (p, q) }",
     "!conv-merge", "Conv FusedConv", 1e-5},
    {G "(float[1, 2, 5, 4] x) => (float[1, 2, 5, 4] y, float[1, 2, 5, 4] p) <" W1 ", " W3 "> { "
       "p = Conv (x, w) q = Conv <pads = [1, 1, 1, 1]> (x, v) y = Add (p, q) }",
     "!conv-merge", "Conv FusedConv", 1e-5},
    {G "(float[1, 2, 5, 4] x) => (float[1, 2, 5, 4] y) <" W1 ", " W3 "> { "
       "p = Conv (x, w) q = Conv <auto_pad = \"SAME_UPPER\"> (x, v) y = Add (p, q) }",
     "!conv-merge", "Conv FusedConv", 1e-5},
    {G "(float[1, 2, 5, 4] x) => (float[1, 2, 5, 4] y) <" D3 ", " W1 "> { "
       "p = Conv (x, w) q = Conv <group = 2, pads = [1, 1, 1, 1]> (x, v) y = Add (p, q) }",
     "!conv-merge", "Conv FusedConv", 1e-5},
    /* one channel that broadcasts is no branch; nor is what is padded */
    {G "(float[1, 1, 5, 4] x) => (float[1, 2, 5, 4] y) <float[2, 1, 1, 1] w = {3, -1}> { "
       "q = Conv (x, w) y = Add (q, x) }",
     "!conv-merge", NULL, 1e-5},
    {G "(float[1, 2, 1, 4] x) => (float[1, 2, 3, 4] y) <" W1
       "> { q = Conv <pads = [1, 0, 1, 0]> (x, w) y = Add (q, x) }",
     "!conv-merge", NULL, 1e-5},
    {G "(float[1, 1, 5, 4] x) => (float[1, 2, 5, 4] y) <float[2, 1, 1, 1] w = {3, -1}, float[1] s = {2}, float[1] h = "
       "{1}, float[1] mean = {0.5}, float[1] var = {4}> { "
       "q = Conv (x, w) n = BatchNormalization (x, s, h, mean, var) y = Add (q, n) }",
     "!conv-merge", NULL, 1e-5},
};

static void test_before_and_after(void **state) {
  (void)state;
  rg_check_rows(rows, OX_COUNT(rows), OX_OPTIMIZE_EXTENDED);
}

/* A sum of more branches than one convolution takes at a time. */
static void test_many_branches(void **state) {
  (void)state;
  enum { BRANCHES = 40 };
  static char text[1 << 14];
  size_t n = (size_t)snprintf(text, sizeof text, G "(float[1, 2, 5, 4] x) => (float[1, 2, 5, 4] y) <" W1);
  for (int i = 1; i < BRANCHES; i++) /* no two of them the same */
    n += (size_t)snprintf(text + n, sizeof text - n, ", float[2, 2, 1, 1] w%d = {%d, 1, -2, 3}", i, i);
  n += (size_t)snprintf(text + n, sizeof text - n, "> { s0 = Conv (x, w) ");
  for (int i = 1; i < BRANCHES; i++)
    n += (size_t)snprintf(text + n, sizeof text - n, "c%d = Conv (x, w%d) s%d = Add (s%d, c%d) ", i, i, i, i - 1, i);
  n += (size_t)snprintf(text + n, sizeof text - n, "y = Identity (s%d) }", BRANCHES - 1);
  assert_true(n < sizeof text);
  rg_check(text, OX_OPTIMIZE_EXTENDED, "conv-merge", "Conv", 1e-5);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_before_and_after), cmocka_unit_test(test_many_branches)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
