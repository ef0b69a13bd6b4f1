/* SPDX-License-Identifier: Apache-2.0
 * ops/block_conv_transpose_test.c - BlockConvTranspose as a node against ConvTranspose in double precision. */
#include "support/check.h"

#include <math.h>
#include <string.h>

#include "base/macros.h"
#include "support/block_layout.h"
#include "support/one_node.h"

typedef struct row {
  const char *name;
  int axes;
  int64_t n, ic, oc, group, x[3], kernel[3], stride[3], dilation[3], pads[6], extra[3]; /* oc: of a group */
  const char *auto_pad;
} row;

#define ONES \
  { 1, 1, 1 }
static const row rows[] = {
    {"one", 2, 1, 1, 1, 1, {1, 1}, {1, 1}, ONES, ONES, {0}, {0}, NULL},
    {"no batch", 2, 0, 20, 20, 1, {3, 3}, {2, 2}, {2, 2}, ONES, {0}, {0}, NULL},
    {"stride 1", 2, 2, 20, 35, 1, {5, 7}, {3, 3}, ONES, ONES, {1, 1, 1, 1}, {0}, NULL},
    {"2x2s2", 2, 1, 40, 20, 1, {6, 5}, {2, 2}, {2, 2}, ONES, {0}, {0}, NULL},
    {"4x4s2", 2, 2, 17, 33, 1, {5, 6}, {4, 4}, {2, 2}, ONES, {1, 1, 1, 1}, {0}, NULL},
    {"3x3s2, padded", 2, 1, 16, 16, 1, {5, 6}, {3, 3}, {2, 2}, ONES, {1, 1, 1, 1}, {1, 1}, NULL},
    {"stride beyond the kernel", 2, 1, 20, 18, 1, {4, 3}, {2, 1}, {3, 2}, ONES, {0}, {0}, NULL},
    {"dilated", 2, 1, 20, 18, 1, {6, 6}, {3, 2}, {2, 3}, {2, 3}, {1, 0, 2, 1}, {0}, NULL},
    {"SAME_UPPER", 2, 1, 20, 18, 1, {6, 6}, {3, 3}, {2, 2}, ONES, {0}, {0}, "SAME_UPPER"},
    {"groups", 2, 1, 32, 16, 2, {6, 6}, {3, 3}, {2, 2}, ONES, {0}, {0}, NULL},
    {"2x2s2, rows of several pieces", 2, 2, 40, 33, 1, {3, 45}, {2, 2}, {2, 2}, ONES, {0}, {0}, NULL},
    {"2x2s2, many channels", 2, 1, 512, 256, 1, {8, 8}, {2, 2}, {2, 2}, ONES, {0}, {0}, NULL},
    {"one axis", 1, 2, 20, 18, 1, {30}, {4}, {2}, ONES, {1, 1}, {0}, NULL},
    {"three axes", 3, 1, 20, 18, 1, {3, 4, 5}, {2, 3, 2}, {1, 2, 2}, ONES, {0}, {0}, NULL},
};

enum { MOST = 1 << 19 };
static float x[MOST], w[MOST], blocks[MOST];
static double x64[MOST], w64[MOST], bias64[256];
static float bias[256];

static int64_t product(const int64_t *v, int n) {
  int64_t p = 1;
  for (int i = 0; i < n; i++) p *= v[i];
  return p;
}

static void fill(const row *r) {
  uint32_t seed = 9;
  int64_t pixels = product(r->x, r->axes);
  memset(blocks, 0xff, sizeof blocks); /* NaN */
  for (size_t i = 0; i < MOST; i++) {
    seed = seed * 1664525u + 1013904223u;
    x64[i] = x[i] = (float)(seed >> 16 & 255) / 64 - 2, w64[i] = w[i] = (float)(seed >> 8 & 255) / 64 - 2;
    if (i < OX_COUNT(bias)) bias64[i] = bias[i] = (float)i / 8 - 2;
  }
  for (int64_t i = 0; i < r->n * r->ic * pixels; i++) blocks[block_at(i, r->ic, pixels)] = x[i];
}

static void start(one_node *n, const row *r, bool in_blocks, bool with_bias) {
  size_t axes = (size_t)r->axes;
  one_node_init(n, in_blocks ? "ai.onyx" : "", in_blocks ? "BlockConvTranspose" : "ConvTranspose", in_blocks ? 1 : 11,
                1);
  one_node_ints(n, "strides", axes, r->stride), one_node_ints(n, "dilations", axes, r->dilation);
  one_node_ints(n, "output_padding", axes, r->extra), one_node_int(n, "group", r->group);
  if (r->auto_pad)
    one_node_str(n, "auto_pad", r->auto_pad);
  else
    one_node_ints(n, "pads", 2 * axes, r->pads);
  int64_t xd[6] = {r->n, in_blocks ? (r->ic + 15) / 16 : r->ic, r->x[0], r->x[1], r->x[2]}, outs = r->oc * r->group;
  int64_t wd[5] = {r->ic, r->oc, r->kernel[0], r->kernel[1], r->kernel[2]};
  xd[r->axes + 2] = 16;
  uint32_t dtype = in_blocks ? OX_F32 : OX_F64;
  one_node_input(n, dtype, r->axes + 2 + in_blocks, xd, in_blocks ? (void *)blocks : x64);
  one_node_const(n, dtype, r->axes + 2, wd, in_blocks ? (void *)w : w64);
  if (with_bias) one_node_input(n, dtype, 1, &outs, in_blocks ? (void *)bias : bias64);
}

static void check(const row *r, bool with_bias, int64_t tiles) {
  one_node got, want;
  fill(r);
  start(&got, r, true, with_bias), start(&want, r, false, with_bias);
  got.run_tiles = tiles;
  CHECK_OK(one_node_run(&got));
  CHECK_OK(one_node_run(&want));
  const ox_shape *y = &want.out[0].shape, *yb = &got.out[0].shape;
  assert_int_equal(yb->rank, r->axes + 3);
  assert_int_equal(yb->dim[1], (r->oc * r->group + 15) / 16);
  for (int i = 2; i < y->rank; i++) assert_int_equal(y->dim[i], yb->dim[i]);
  int64_t pixels = product(y->dim + 2, r->axes);
  for (int64_t i = 0; i < ox_shape_count(y); i++) {
    double g = (double)((float *)got.out[0].data)[block_at(i, r->oc * r->group, pixels)];
    double right = ((double *)want.out[0].data)[i];
    if (!(fabs(g - right) <= 1e-4 * fmax(fabs(right), 1)))
      fail_msg("%s: [%lld] is %g, wanted %g", r->name, (long long)i, g, right);
  }
  one_node_deinit(&got), one_node_deinit(&want);
}

static void test_like_conv_transpose(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(rows); i++)
    for (int how = 0; how < 4; how++) check(&rows[i], how & 1, how & 2 ? 1 : 0);
}

static void test_what_is_refused(void **state) {
  (void)state;
  static const struct {
    ox_code code;
    const char *error;
  } wanted[] = {{OX_SHAPE_MISMATCH, "X is not in blocks of 17 channels"},
                {OX_SHAPE_MISMATCH, "input 2 has shape [32], wanted [33]"},
                {OX_NOT_IMPLEMENTED, "W is no constant"}};
  for (size_t i = 0; i < OX_COUNT(wanted); i++) {
    one_node n;
    fill(&rows[4]), start(&n, &rows[4], true, true);
    if (i == 0) n.in[0].shape.dim[1] = 3;
    if (i == 1) n.in[2].shape.dim[0] = 32;
    if (i == 2) n.constant[1] = false;
    CHECK_FAILS(one_node_run(&n), wanted[i].code, wanted[i].error);
    one_node_deinit(&n);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_like_conv_transpose),
                                     cmocka_unit_test(test_what_is_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
