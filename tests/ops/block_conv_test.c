/* SPDX-License-Identifier: Apache-2.0
 * ops/block_conv_test.c - BlockConv as a node against com.microsoft's FusedConv: constant and run-time weights, shapes
 * that the load does not know, and what must be refused. The sums themselves: kern/bconv_test.c. */
#include "support/check.h"

#include <math.h>
#include <string.h>

#include "support/block_layout.h"
#include "support/one_node.h"

enum { N = 2, C = 20, H = 9, WID = 11, M = 35, K = 3, OH = 5, OW = 11, MOST = 16 * 3 * N * H * WID };
static float x[N * C * H * WID], w[M * C * K * K], bias[M], z[N * M * OH * OW], blocks[MOST], z_blocks[MOST];

static void fill(float *p, size_t n, uint32_t seed) {
  for (size_t i = 0; i < n; i++) {
    seed = seed * 1664525u + 1013904223u;
    p[i] = (float)(seed >> 16 & 255) / 64 - 2;
  }
}

static void to_blocks(const float *from, int64_t channels, int64_t pixels, float *to) {
  memset(to, 0xff, sizeof blocks);
  for (int64_t i = 0; i < N * channels * pixels; i++) to[block_at(i, channels, pixels)] = from[i];
}

static int setup(void **state) {
  (void)state;
  fill(x, OX_COUNT(x), 1), fill(w, OX_COUNT(w), 2), fill(bias, OX_COUNT(bias), 3), fill(z, OX_COUNT(z), 4);
  to_blocks(x, C, H * WID, blocks), to_blocks(z, M, OH * OW, z_blocks);
  return 0;
}

static const int64_t x_dims[] = {N, C, H, WID}, w_dims[] = {M, C, K, K}, b_dims[] = {M}, y_dims[] = {N, M, OH, OW};
static const int64_t xb_dims[] = {N, 2, H, WID, 16}, yb_dims[] = {N, 3, OH, OW, 16};

static void node(one_node *n, bool in_blocks) {
  one_node_init(n, in_blocks ? "ai.onyx" : "com.microsoft", in_blocks ? "BlockConv" : "FusedConv", 1, 1);
  static const int64_t strides[] = {2, 1}, pads[] = {1, 0, 1, 2};
  static const float slope = 0.125f;
  one_node_ints(n, "strides", 2, strides), one_node_ints(n, "pads", 4, pads);
  one_node_str(n, "activation", "LeakyRelu"), one_node_floats(n, "activation_params", 1, &slope);
}

/* What the terms of each sum add up to in magnitude: rounding errors follow it. */
static const float *sizes(void) {
  static float size[N * M * OH * OW], px[OX_COUNT(x)], pw[OX_COUNT(w)];
  static const int64_t strides[] = {2, 1}, pads[] = {1, 0, 1, 2};
  for (size_t i = 0; i < OX_COUNT(x); i++) px[i] = fabsf(x[i]);
  for (size_t i = 0; i < OX_COUNT(w); i++) pw[i] = fabsf(w[i]);
  one_node n;
  one_node_init(&n, "", "Conv", 11, 1);
  one_node_ints(&n, "strides", 2, strides), one_node_ints(&n, "pads", 4, pads);
  one_node_input(&n, OX_F32, 4, x_dims, px), one_node_input(&n, OX_F32, 4, w_dims, pw);
  CHECK_OK(one_node_run(&n));
  memcpy(size, n.out[0].data, sizeof size);
  one_node_deinit(&n);
  return size;
}

/* plain_input: X is as FusedConv has it. */
static void check(bool plain, bool constant, bool with_bias, bool with_z, int64_t tiles) {
  one_node n, want;
  node(&n, true), node(&want, false);
  n.run_tiles = tiles;
  if (plain) one_node_int(&n, "plain_input", 1);
  one_node_input(&n, OX_F32, plain ? 4 : 5, plain ? x_dims : xb_dims, plain ? x : blocks);
  one_node_input(&want, OX_F32, 4, x_dims, x);
  (constant ? one_node_const : one_node_input)(&n, OX_F32, 4, w_dims, w);
  one_node_input(&want, OX_F32, 4, w_dims, w);
  if (with_bias || with_z) {
    one_node_input(&n, OX_F32, with_bias ? 1 : -1, b_dims, bias);
    one_node_input(&want, OX_F32, with_bias ? 1 : -1, b_dims, bias);
  }
  if (with_z) one_node_input(&n, OX_F32, 5, yb_dims, z_blocks), one_node_input(&want, OX_F32, 4, y_dims, z);
  CHECK_OK(one_node_run(&n));
  CHECK_OK(one_node_run(&want));
  const ox_shape shape = ox_shape_of(5, yb_dims);
  assert_true(ox_shape_equal(&n.out[0].shape, &shape));
  const float *size = sizes();
  for (int64_t i = 0; i < N * M * OH * OW; i++) {
    float got = ((float *)n.out[0].data)[block_at(i, M, OH * OW)], right = ((float *)want.out[0].data)[i];
    if (!(fabsf(got - right) <= 1e-6f * size[i]))
      fail_msg("[%lld]: %g, wanted %g", (long long)i, (double)got, (double)right);
  }
  one_node_deinit(&n), one_node_deinit(&want);
}

static void test_like_fused_conv(void **state) {
  (void)state;
  for (int i = 0; i < 32; i++) check(i & 1, i & 2, i & 4, i & 8, i & 16 ? 1 : 0);
}

/* Runs it: as a column its |count| floats are kept, across it is the same in bits, but for what fills the blocks. */
static void check_column(one_node *n, bool across, float *column, int64_t count, int64_t channels, int64_t pixels) {
  CHECK_OK(one_node_run(n));
  assert_int_equal(ox_shape_count(&n->out[0].shape), count);
  for (int64_t i = 0; i < N * channels * pixels; i++) {
    int64_t at = block_at(i, channels, pixels);
    if (across)
      assert_memory_equal(column + at, (float *)n->out[0].data + at, sizeof(float));
    else
      column[at] = ((float *)n->out[0].data)[at];
  }
  one_node_deinit(n);
}

/* 1-D data carried as n x c x l x 1, or as n x c x 1 x l: the very bits of one another. */
static void test_a_unit_axis(void **state) {
  (void)state;
  enum { LONG = H * WID, OUT = LONG - K + 1 };
  static float column[N * 48 * OUT];
  for (int across = 0; across < 2; across++) {
    one_node n;
    one_node_init(&n, "ai.onyx", "BlockConv", 1, 1);
    const int64_t xd[] = {N, 2, across ? 1 : LONG, across ? LONG : 1, 16};
    const int64_t wd[] = {M, C, across ? 1 : K, across ? K : 1};
    one_node_input(&n, OX_F32, 5, xd, blocks);
    one_node_const(&n, OX_F32, 4, wd, w);
    check_column(&n, across, column, OX_COUNT(column), M, OUT);
  }
}

/* Groups within a block, as a column and as a row, with a stride that no output takes. */
static void test_a_stride_along_a_unit_axis(void **state) {
  (void)state;
  enum { LONG = H * WID, OUT = LONG - K + 1, GROUPS = 5 };
  static float column[N * 32 * OUT];
  for (int across = 0; across < 2; across++) {
    one_node n;
    one_node_init(&n, "ai.onyx", "BlockConv", 1, 1);
    const int64_t xd[] = {N, 2, across ? 1 : LONG, across ? LONG : 1, 16};
    const int64_t wd[] = {C, C / GROUPS, across ? 1 : K, across ? K : 1};
    const int64_t strides[] = {across ? 2 : 1, across ? 1 : 2};
    one_node_int(&n, "group", GROUPS), one_node_ints(&n, "strides", 2, strides);
    one_node_input(&n, OX_F32, 5, xd, blocks);
    one_node_const(&n, OX_F32, 4, wd, w);
    check_column(&n, across, column, OX_COUNT(column), C, OUT);
  }
}

/* A gate on X: FusedConv of X times the gate. Weights of 1x1 take it over where they are the fewer, else X does. */
static void test_a_gate(void **state) {
  (void)state;
  static const struct {
    const char *what;
    int64_t n, k, h, wid;
  } rows[] = {{"weights take it", 1, 1, H, WID},       {"few pixels", 1, 1, 2, 3},
              {"images have their own", 2, 1, H, WID}, {"3x3", 1, 3, H, WID},
              {"3x3, images", 2, 3, H, WID},           {"no pixels", 1, 1, 0, 3}};
  static const float specials[] = {0.5f, 0, NAN, INFINITY, -INFINITY, 1e-42f};
  static float scaled[N * C * H * WID], plain[N * C * H * WID], gate[N * 32];
  for (size_t i = 0; i < 4 * OX_COUNT(rows) * OX_COUNT(specials); i++) {
    float special = specials[i / 4 % OX_COUNT(specials)];
    size_t r = i / 4 / OX_COUNT(specials);
    int64_t px = rows[r].h * rows[r].wid, all = rows[r].n * C * px, oh = rows[r].h - rows[r].k + 1;
    int64_t ow = rows[r].wid - rows[r].k + 1;
    float bound = 1e-7f * 4 * (float)(C * rows[r].k * rows[r].k); /* products are 4 at most */
    memset(gate, 0xff, sizeof gate);                              /* NaN where there is no channel */
    for (int64_t c = 0; c < rows[r].n * C; c++) gate[c / C * 32 + c % C] = (float)(c * 37 % 64) / 64;
    memcpy(plain, x, sizeof plain);
    if (all) plain[all / 3] = special, gate[7] = i & 1 ? 0 : gate[7];
    memset(blocks, 0xff, sizeof blocks);
    for (int64_t e = 0; e < all; e++) {
      int64_t c = e / px % C, image = e / px / C;
      blocks[block_at(e, C, px)] = plain[e], scaled[e] = plain[e] * gate[image * 32 + c];
    }
    one_node n, want;
    one_node_init(&n, "ai.onyx", "BlockConv", 1, 1), one_node_init(&want, "com.microsoft", "FusedConv", 1, 1);
    n.run_tiles = i & 2 ? 1 : 0;
    const int64_t xd[] = {rows[r].n, C, rows[r].h, rows[r].wid}, wd[] = {M, C, rows[r].k, rows[r].k};
    const int64_t xb[] = {rows[r].n, 2, rows[r].h, rows[r].wid, 16}, gd[] = {rows[r].n, 2, 1, 1, 16};
    one_node_input(&n, OX_F32, 5, xb, blocks), one_node_input(&want, OX_F32, 4, xd, scaled);
    one_node_const(&n, OX_F32, 4, wd, w), one_node_const(&want, OX_F32, 4, wd, w);
    one_node_input(&n, OX_F32, 1, b_dims, bias), one_node_input(&want, OX_F32, 1, b_dims, bias);
    one_node_input(&n, OX_F32, -1, NULL, NULL), one_node_input(&n, OX_F32, 5, gd, gate);
    CHECK_OK(one_node_run(&n));
    CHECK_OK(one_node_run(&want));
    for (int64_t e = 0; e < rows[r].n * M * oh * ow; e++) {
      float got = ((float *)n.out[0].data)[block_at(e, M, oh * ow)], right = ((float *)want.out[0].data)[e];
      if (isnan(right) ? isnan(got) : got == right || fabsf(got - right) <= bound) continue;
      fail_msg("%s, an element of %g: [%lld]: %g, wanted %g", rows[r].what, (double)special, (long long)e, (double)got,
               (double)right);
    }
    one_node_deinit(&n), one_node_deinit(&want);
  }
  to_blocks(x, C, H * WID, blocks);
}

/* Slopes are a PRelu: what FusedConv makes, bent. NaN stays, -inf times 0 is one. */
static void test_slopes(void **state) {
  (void)state;
  static const float specials[] = {0.5f, NAN, INFINITY, -INFINITY, -0.0f, -1e-42f};
  static const int64_t strides[] = {2, 1}, pads[] = {1, 0, 1, 2}, sd[] = {1, 3, 1, 1, 16};
  static float slope[48];
  const float *size = sizes();
  fill(slope, OX_COUNT(slope), 5), slope[3] = 0, slope[4] = 1.5f, slope[5] = NAN;
  for (size_t i = 0; i < OX_COUNT(specials); i++) {
    one_node n, want;
    blocks[7] = specials[i], x[7 * H * WID] = specials[i]; /* channel 7 of pixel 0 of image 0 */
    one_node_init(&n, "ai.onyx", "BlockConv", 1, 1), one_node_init(&want, "com.microsoft", "FusedConv", 1, 1);
    one_node_ints(&n, "strides", 2, strides), one_node_ints(&n, "pads", 4, pads);
    one_node_ints(&want, "strides", 2, strides), one_node_ints(&want, "pads", 4, pads);
    one_node_input(&n, OX_F32, 5, xb_dims, blocks), one_node_input(&want, OX_F32, 4, x_dims, x);
    one_node_const(&n, OX_F32, 4, w_dims, w), one_node_input(&want, OX_F32, 4, w_dims, w);
    for (int k = 0; k < 3; k++) one_node_input(&n, OX_F32, -1, NULL, NULL);
    one_node_input(&n, OX_F32, 5, sd, slope);
    CHECK_OK(one_node_run(&n));
    CHECK_OK(one_node_run(&want));
    for (int64_t e = 0; e < N * M * OH * OW; e++) {
      float got = ((float *)n.out[0].data)[block_at(e, M, OH * OW)], right = ((float *)want.out[0].data)[e];
      if (right < 0) right *= slope[e / (OH * OW) % M];
      if (isnan(right) ? isnan(got) : got == right || fabsf(got - right) <= 1.5e-6f * size[e]) continue;
      fail_msg("an element of %g: [%lld]: %g, wanted %g", (double)specials[i], (long long)e, (double)got,
               (double)right);
    }
    one_node_deinit(&n), one_node_deinit(&want);
  }
  setup(state);
}

static void test_slopes_that_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *activation;
    int64_t slope[5];
    ox_code code;
    const char *error;
  } rows[] = {{"", {1, 2, 1, 1, 16}, OX_SHAPE_MISMATCH, "input 5 has shape [1,2,1,1,16], wanted [1,3,1,1,16]"},
              {"", {N, 3, 1, 1, 16}, OX_SHAPE_MISMATCH, "input 5 has shape [2,3,1,1,16], wanted [1,3,1,1,16]"},
              {"", {1, 3, OH, OW, 16}, OX_SHAPE_MISMATCH, "input 5 has shape [1,3,5,11,16], wanted [1,3,1,1,16]"},
              {"Relu", {1, 3, 1, 1, 16}, OX_INVALID_MODEL, "slopes and the activation Relu"}};
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    one_node n;
    one_node_init(&n, "ai.onyx", "BlockConv", 1, 1);
    static const int64_t strides[] = {2, 1}, pads[] = {1, 0, 1, 2};
    one_node_ints(&n, "strides", 2, strides), one_node_ints(&n, "pads", 4, pads);
    one_node_str(&n, "activation", rows[i].activation);
    one_node_input(&n, OX_F32, 5, xb_dims, blocks);
    one_node_const(&n, OX_F32, 4, w_dims, w);
    for (int k = 0; k < 3; k++) one_node_input(&n, OX_F32, -1, NULL, NULL);
    one_node_input(&n, OX_F32, 5, rows[i].slope, z_blocks);
    CHECK_FAILS(one_node_run(&n), rows[i].code, rows[i].error);
    one_node_deinit(&n);
  }
}

static void test_gates_that_are_refused(void **state) {
  (void)state;
  static const struct {
    int64_t gate[5];
    bool constant, plain;
    ox_code code;
    const char *error;
  } rows[] = {{{N, 2, H, WID, 16}, true, false, OX_SHAPE_MISMATCH, "has shape [2,2,9,11,16], wanted [2,2,1,1,16]"},
              {{1, 2, 1, 1, 16}, true, false, OX_SHAPE_MISMATCH, "has shape [1,2,1,1,16], wanted [2,2,1,1,16]"},
              {{N, 1, 1, 1, 16}, true, false, OX_SHAPE_MISMATCH, "has shape [2,1,1,1,16], wanted [2,2,1,1,16]"},
              {{N, 2, 1, 1, 16}, false, false, OX_NOT_IMPLEMENTED, "a gate where W is no constant, or X an image"},
              {{N, C, 1, 1, 16}, true, true, OX_SHAPE_MISMATCH, "input 4 has shape"}};
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    one_node n;
    node(&n, true);
    if (rows[i].plain) one_node_int(&n, "plain_input", 1);
    one_node_input(&n, OX_F32, rows[i].plain ? 4 : 5, rows[i].plain ? x_dims : xb_dims, blocks);
    (rows[i].constant ? one_node_const : one_node_input)(&n, OX_F32, 4, w_dims, w);
    one_node_input(&n, OX_F32, -1, NULL, NULL), one_node_input(&n, OX_F32, -1, NULL, NULL);
    one_node_input(&n, OX_F32, 5, rows[i].gate, blocks);
    CHECK_FAILS(one_node_run(&n), rows[i].code, rows[i].error);
    one_node_deinit(&n);
  }
}

/* The means of Y's channels, by forms that leave sums of it and by one that does not. */
static void test_means(void **state) {
  (void)state;
  static const struct {
    const char *what, *activation;
    int64_t n, h, wid, oc, group, k;
  } rows[] = {
      {"depthwise, SiLU", "Silu", N, H, WID, C, C, 3}, {"depthwise, HardSwish", "HardSwish", 1, H, WID, C, C, 3},
      {"depthwise, Relu", "Relu", N, H, WID, C, C, 1}, {"depthwise, nothing", "", 1, 3, 30, C, C, 3},
      {"one pixel", "Silu", N, 3, 3, C, C, 3},         {"a column", "Silu", N, H * WID, 1, C, C, 1},
      {"dense", "Silu", N, H, WID, M, 1, 3},           {"no image", "Silu", 0, H, WID, C, C, 3}};
  for (size_t i = 0; i < 2 * OX_COUNT(rows); i++) {
    const int64_t px = (rows[i / 2].h - rows[i / 2].k + 1) * (rows[i / 2].wid - rows[i / 2].k + 1);
    const int64_t oc = rows[i / 2].oc, xd[] = {rows[i / 2].n, 2, rows[i / 2].h, rows[i / 2].wid, 16};
    const int64_t wd[] = {oc, C / rows[i / 2].group, rows[i / 2].k, rows[i / 2].k};
    const int64_t md[] = {rows[i / 2].n, OX_CEIL_DIV(oc, 16), 1, 1, 16};
    const ox_shape shape = ox_shape_of(5, md);
    one_node n;
    one_node_init(&n, "ai.onyx", "BlockConv", 1, 2);
    n.run_tiles = i % 2;
    one_node_int(&n, "group", rows[i / 2].group), one_node_str(&n, "activation", rows[i / 2].activation);
    one_node_input(&n, OX_F32, 5, xd, blocks);
    one_node_const(&n, OX_F32, 4, wd, w);
    CHECK_OK(one_node_run(&n));
    assert_true(ox_shape_equal(&n.out[1].shape, &shape));
    for (int64_t c = 0; c < rows[i / 2].n * oc; c++) {
      double sum = 0, size = 0;
      for (int64_t p = 0; p < px; p++) {
        double y = (double)((float *)n.out[0].data)[block_at(c * px + p, oc, px)];
        sum += y, size += fabs(y);
      }
      double got = (double)((float *)n.out[1].data)[block_at(c, oc, 1)], want = sum / (double)px;
      if (!(fabs(got - want) <= 1e-6 * size / (double)px))
        fail_msg("%s, channel %lld: %g, wanted %g", rows[i / 2].what, (long long)c, got, want);
    }
    one_node_deinit(&n);
  }
}

static void test_what_is_refused(void **state) {
  (void)state;
  static const struct {
    int64_t x[5], kernel[2], bias, groups;
    ox_code code;
    const char *error;
  } rows[] = {
      {{N, 2, H, WID, 8}, {K, K}, M, 1, OX_SHAPE_MISMATCH, "X is not in blocks of 20 channels"},
      {{N, 3, H, WID, 16}, {K, K}, M, 1, OX_SHAPE_MISMATCH, "X is not in blocks of 20 channels"},
      {{N, 1, H, WID, 16}, {K, K}, M, 1, OX_SHAPE_MISMATCH, "X is not in blocks of 20 channels"},
      {{N, 2, H, WID, 16}, {K, K}, M - 1, 1, OX_SHAPE_MISMATCH, "input 2 has shape [34], wanted [35]"},
      {{N, 2, 1, 1, 16}, {8, 1}, M, 1, OX_SHAPE_MISMATCH, "a window of 8 does not fit in 1 + pads 1, 1"},
      {{N, 2, H, WID, 16}, {K, K}, M, 5, OX_NOT_IMPLEMENTED, "5 groups of 4 inputs and 7 outputs"}, /* no form */
  };
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    one_node n;
    node(&n, true);
    one_node_int(&n, "group", rows[i].groups);
    int64_t wd[4] = {M, C / rows[i].groups, rows[i].kernel[0], rows[i].kernel[1]};
    one_node_input(&n, OX_F32, 5, rows[i].x, blocks);
    one_node_const(&n, OX_F32, 4, wd, w);
    one_node_input(&n, OX_F32, 1, &rows[i].bias, bias);
    CHECK_FAILS(one_node_run(&n), rows[i].code, rows[i].error);
    one_node_deinit(&n);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_like_fused_conv),
      cmocka_unit_test(test_a_unit_axis),
      cmocka_unit_test(test_a_stride_along_a_unit_axis),
      cmocka_unit_test(test_a_gate),
      cmocka_unit_test(test_gates_that_are_refused),
      cmocka_unit_test(test_means),
      cmocka_unit_test(test_what_is_refused),
      cmocka_unit_test(test_slopes),
      cmocka_unit_test(test_slopes_that_are_refused),
  };
  return cmocka_run_group_tests(tests, setup, NULL);
}
