/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/conv_fuse_test.c - what a convolution takes in, and what it must leave alone. */
#include "base/macros.h"
#include "support/check.h"
#include "support/run_graph.h"

#define G "<ir_version: 8, opset_import: [\"\" : 17]> g "
#define W "float[4, 1, 1, 2] w = {1, -2, 3, 4, 5, 6, -7, 8}"
#define BN \
  "float[4] s = {1, 2, 3, 4}, float[4] b = {5, 6, 7, 8}, float[4] m = {0.1, 0.2, 0.3, 0.4}, float[4] v = {1, 2, 3, 4}"
#define CONV "h = Conv <group = 2> (x, w) "

static const struct {
  const char *text, *rule, *after;
} rows[] = {
    {G "(float[1, 2, 3, 5] x) => (float[1, 4, 3, 4] y) <" W ", " BN "> { " CONV
       "y = BatchNormalization (h, s, b, m, v) }",
     "conv-batchnorm", "Conv"},
    {G "(float[1, 2, 3, 5] x) => (float[1, 4, 3, 4] y) <" W ", " BN "> { h = Conv <group = 2> (x, w, b) "
       "i = BatchNormalization (h, s, b, m, v) y = Relu (i) }",
     "conv-activation", "FusedConv"},
    {G "(float[1, 4, 3, 5] x) => (float[1, 2, 3, 6] y) <" W ", float[2] s = {1, 2}, float[2] b = {5, 6}, "
       "float[2] m = {0.1, 0.2}, float[2] v = {1, 2}> { h = ConvTranspose <group = 2> (x, w) "
       "y = BatchNormalization (h, s, b, m, v) }",
     "conv-batchnorm", "ConvTranspose"},
    {G "(float[1, 2, 3, 5] x, float[4] s) => (float[1, 4, 3, 4] y) <" W ", float[4] b = {5, 6, 7, 8}, "
       "float[4] m = {0.1, 0.2, 0.3, 0.4}, float[4] v = {1, 2, 3, 4}> { " CONV
       "y = BatchNormalization (h, s, b, m, v) }",
     "!conv-batchnorm", "Conv BatchNormalization"},
    {G "(float[1, 2, 3, 5] x) => (float[1, 4, 3, 4] y, float[1, 4, 3, 4] h) <" W ", " BN "> { " CONV
       "y = BatchNormalization (h, s, b, m, v) }",
     "!conv-batchnorm", "Conv BatchNormalization"},
    {G "(float[1, 2, 3, 5] x) => (float[1, 4, 3, 4] y) <" W ", float[4, 1, 1] c = {1, 2, 3, 4}> { " CONV
       "y = Mul (c, h) }",
     "conv-arith", "Conv"},
    {G "(float[1, 2, 3, 5] x) => (float[1, 4, 3, 4] y) <" W ", float[1, 4, 1, 1] c = {1, 2, 3, 4}> { " CONV
       "y = Sub (h, c) }",
     "conv-arith-right", "Conv"},
    {G "(float[1, 2, 3, 5] x) => (float[1, 4, 3, 4] y) <" W ", float[4] c = {1, 2, 3, 4}> { " CONV "y = Mul (c, h) }",
     "!conv-arith", "Conv Mul"},
    {G "(float[1, 2, 3, 5] x) => (float[1, 4, 3, 4] y) <" W ", float c = {2}> { " CONV "y = Sub (c, h) }",
     "!conv-arith-right", "Conv Sub"},
    {G "(float[1, 2, 3, 5] x) => (float[1, 4, 3, 4] y) <" W ", float lo = {0}, float hi = {6}> { " CONV
       "y = Clip (h, lo, hi) }",
     "conv-activation", "FusedConv"},
    {G "(float[1, 2, 3, 5] x, float[1, 4, 3, 4] z) => (float[1, 4, 3, 4] y) <" W "> { " CONV
       "i = Add (z, h) y = Relu (i) }",
     "conv-add", "FusedConv"},
    {G "(float[1, 2, 3, 5] x, float[1, 4, 1, 4] z) => (float[1, 4, 3, 4] y) <" W "> { " CONV "y = Add (z, h) }",
     "!conv-add", "Conv Add"},
    {G "(float[1, 2, 3, 5] x, float[1, 4, 3, 4] z) => (float[1, 4, 3, 4] y) <" W "> { " CONV
       "i = Relu (h) y = Add (z, i) }",
     "!conv-add", "FusedConv Add"},
    {G "(float[1, 2, 3, 5] x) => (float[1, 4, 6, 5] y) <" W ", int64[8] p = {0, 0, 1, 0, 0, 0, 2, 1}> { "
       "q = Pad (x, p) y = Conv <group = 2, auto_pad = \"VALID\"> (q, w) }",
     "pad-conv", "Conv"},
    {G "(float[1, 2, 3, 5] x) => (float[1, 4, 4, 6] y) <" W ", int64[8] p = {0, 0, 1, 0, 0, 0, 0, 1}> { "
       "q = Pad (x, p) y = Conv <group = 2, pads = [0, 1, 0, 0]> (q, w) }",
     "pad-conv", "Conv"},
    {G "(float[1, 2, 3, 5] x) => (float[1, 4, 4, 5] y) <" W ", int64[8] p = {0, 0, 1, 0, 0, 0, 0, 1}, float v = {1}> { "
       "q = Pad (x, p, v) y = Conv <group = 2> (q, w) }",
     "!pad-conv", "Pad Conv"},
    {G "(float[1, 2, 3, 5] x) => (float[1, 4, 4, 5] y) <" W ", int64[8] p = {0, 0, 1, 0, 0, 0, 0, 1}> { "
       "q = Pad <mode = \"edge\"> (x, p) y = Conv <group = 2> (q, w) }",
     "!pad-conv", "Pad Conv"},
};

static void test_before_and_after(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(rows); i++)
    rg_check(rows[i].text, OX_OPTIMIZE_EXTENDED, rows[i].rule, rows[i].after, 1e-6);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_before_and_after)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
