/* SPDX-License-Identifier: Apache-2.0
 * opt/rules/pad_conv_test.c - padding that a convolution can do itself. */
#include "base/macros.h"
#include "support/check.h"
#include "support/run_graph.h"

#define G "<ir_version: 8, opset_import: [\"\" : 17]> g "
#define W "float[4, 1, 1, 2] w = {1, -2, 3, 4, 5, 6, -7, 8}"

static const rg_row rows[] = {
    {G "(float[1, 2, 3, 5] x) => (float[1, 4, 6, 5] y) <" W ", int64[8] p = {0, 0, 1, 0, 0, 0, 2, 1}> { "
       "q = Pad (x, p) y = Conv <group = 2, auto_pad = \"VALID\"> (q, w) }",
     "pad-conv", "Conv", 1e-6},
    {G "(float[1, 2, 3, 5] x) => (float[1, 4, 4, 6] y) <" W ", int64[8] p = {0, 0, 1, 0, 0, 0, 0, 1}> { "
       "q = Pad (x, p) y = Conv <group = 2, pads = [0, 1, 0, 0]> (q, w) }",
     "pad-conv", "Conv", 1e-6},
    {G "(float[1, 2, 3, 5] x) => (float[1, 4, 4, 5] y) <" W ", int64[8] p = {0, 0, 1, 0, 0, 0, 0, 1}, float v = {1}> { "
       "q = Pad (x, p, v) y = Conv <group = 2> (q, w) }",
     "!pad-conv", "Pad Conv", 1e-6},
    {G "(float[1, 2, 3, 5] x) => (float[1, 4, 4, 5] y) <" W ", int64[8] p = {0, 0, 1, 0, 0, 0, 0, 1}> { "
       "q = Pad <mode = \"edge\"> (x, p) y = Conv <group = 2> (q, w) }",
     "!pad-conv", "Pad Conv", 1e-6},
    /* around the batch */
    {G "(float[1, 2, 3, 5] x) => (float[2, 4, 3, 4] y) <" W ", int64[8] p = {1, 0, 0, 0, 0, 0, 0, 0}> { "
       "q = Pad (x, p) y = Conv <group = 2> (q, w) }",
     "!pad-conv", "Pad Conv", 1e-6},
    /* cut off instead of added */
    {G "(float[1, 2, 3, 5] x) => (float[1, 4, 2, 4] y) <" W ", int64[8] p = {0, 0, -1, 0, 0, 0, 0, 0}> { "
       "q = Pad (x, p) y = Conv <group = 2> (q, w) }",
     "!pad-conv", "Pad Conv", 1e-6},
};

static void test_before_and_after(void **state) {
  (void)state;
  rg_check_rows(rows, OX_COUNT(rows), OX_OPTIMIZE_EXTENDED);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_before_and_after)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
