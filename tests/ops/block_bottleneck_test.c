/* SPDX-License-Identifier: Apache-2.0
 * ops/block_bottleneck_test.c - BlockBottleneck as a node against the BlockConv nodes that it stands for, bit for bit,
 * and what must be refused. The rows in cache: kern/bottleneck_test.c. */
#include "support/check.h"

#include <math.h>
#include <string.h>

#include "base/macros.h"
#include "support/one_node.h"

enum { N = 2, C = 20, MID = 50, M = 35, H = 23, WID = 11, OH = 12, OW = 6, MOST = N * 64 * H * WID };
static float x[MOST], z[MOST], w0[MID * C], w1[MID * 9], w2[M * MID], bias[MID];
static const int64_t x_dims[] = {N, 2, H, WID, 16}, mid_dims[] = {N, 4, H, WID, 16}, z_dims[] = {N, 3, OH, OW, 16};
static const int64_t w_dims[3][4] = {{MID, C, 1, 1}, {MID, 1, 3, 3}, {M, MID, 1, 1}}, b_dims[3] = {MID, MID, M};
static const float *const w[3] = {w0, w1, w2}, low = -0.5f;

static void fill(float *p, size_t n, uint32_t seed) {
  for (size_t i = 0; i < n; i++) {
    seed = seed * 1664525u + 1013904223u;
    p[i] = (float)(seed >> 16 & 255) / 64 - 2;
  }
}

static int setup(void **state) {
  (void)state;
  fill(x, OX_COUNT(x), 1), fill(z, OX_COUNT(z), 2), fill(bias, OX_COUNT(bias), 3);
  fill(w0, OX_COUNT(w0), 4), fill(w1, OX_COUNT(w1), 5), fill(w2, OX_COUNT(w2), 6);
  return 0;
}

static void window(one_node *n) {
  static const int64_t strides[] = {2, 2}, pads[] = {1, 1, 1, 1};
  one_node_ints(n, "strides", 2, strides), one_node_ints(n, "pads", 4, pads);
}

static void add_weights(one_node *n, int part, bool has) {
  if (has)
    one_node_const(n, OX_F32, 4, w_dims[part], w[part]), one_node_input(n, OX_F32, 1, &b_dims[part], bias);
  else
    one_node_input(n, OX_F32, -1, NULL, NULL), one_node_input(n, OX_F32, -1, NULL, NULL);
}

static void start(one_node *n, bool expand, bool project, bool residual, uint32_t n_out) {
  one_node_init(n, "ai.onyx", "BlockBottleneck", 1, n_out);
  window(n);
  one_node_str(n, "expand_activation", "Clip"), one_node_floats(n, "expand_params", 1, &low);
  one_node_str(n, "activation", "HardSwish");
  if (project) one_node_str(n, "project_activation", "Relu");
  one_node_input(n, OX_F32, 5, expand ? x_dims : mid_dims, x);
  add_weights(n, 0, expand), add_weights(n, 1, true), add_weights(n, 2, project);
  if (residual) one_node_input(n, OX_F32, 5, z_dims, z);
}

/* One of the nodes that it stands for. */
static void part_start(one_node *n, int part, const int64_t *dims, const float *data, bool residual) {
  static const char *const acts[] = {"Clip", "HardSwish", "Relu"};
  one_node_init(n, "ai.onyx", "BlockConv", 1, 1);
  if (part == 1) one_node_int(n, "group", MID), window(n);
  one_node_str(n, "activation", acts[part]);
  if (part == 0) one_node_floats(n, "activation_params", 1, &low);
  one_node_input(n, OX_F32, 5, dims, data);
  add_weights(n, part, true);
  if (residual) one_node_input(n, OX_F32, 5, z_dims, z);
  CHECK_OK(one_node_run(n));
}

static void check(bool expand, bool project, bool residual, int64_t tiles) {
  one_node n, part[3];
  const float *data = x;
  const int64_t *dims = expand ? x_dims : mid_dims;
  int last = project ? 2 : 1;
  for (int i = expand ? 0 : 1; i <= last; i++) {
    part_start(&part[i], i, dims, data, i == 2 && residual);
    data = part[i].out[0].data, dims = part[i].out[0].shape.dim;
  }
  start(&n, expand, project, residual, 1);
  n.run_tiles = tiles;
  CHECK_OK(one_node_run(&n));
  assert_true(ox_shape_equal(&n.out[0].shape, &part[last].out[0].shape));
  for (int64_t i = 0; i < ox_shape_count(&n.out[0].shape); i++) {
    float got = ((float *)n.out[0].data)[i];
    if (!(got == data[i])) fail_msg("[%lld]: %g, wanted %g", (long long)i, (double)got, (double)data[i]);
  }
  for (int i = expand ? 0 : 1; i <= last; i++) one_node_deinit(&part[i]);
  one_node_deinit(&n);
}

static void test_like_its_parts(void **state) {
  (void)state;
  for (int64_t tiles = 0; tiles < 2; tiles++) {
    check(true, true, true, tiles), check(true, true, false, tiles);
    check(true, false, false, tiles), check(false, true, true, tiles);
  }
}

/* Those of Y as it is. */
static void test_means(void **state) {
  (void)state;
  static const int64_t dims[] = {N, 4, 1, 1, 16};
  const ox_shape shape = ox_shape_of(5, dims);
  for (int64_t tiles = 0; tiles < 2; tiles++) {
    one_node n;
    start(&n, true, false, false, 2);
    n.run_tiles = tiles;
    CHECK_OK(one_node_run(&n));
    assert_true(ox_shape_equal(&n.out[1].shape, &shape));
    for (int64_t c = 0; c < N * 64; c++) {
      double sum = 0, size = 0;
      for (int64_t p = 0; p < OH * OW; p++) {
        double y = (double)((float *)n.out[0].data)[(c / 16 * OH * OW + p) * 16 + c % 16];
        sum += y, size += fabs(y);
      }
      double got = (double)((float *)n.out[1].data)[c], want = sum / (OH * OW);
      if (c % 64 < MID && !(fabs(got - want) <= 1e-6 * size / (OH * OW)))
        fail_msg("channel %lld: %g, wanted %g", (long long)c, got, want);
    }
    one_node_deinit(&n);
  }
}

static void test_what_is_refused(void **state) {
  (void)state;
  static const struct {
    bool expand, project, residual;
    uint32_t n_out;
    ox_code code;
    const char *error;
  } rows[] = {
      {1, 1, 1, 1, OX_SHAPE_MISMATCH, "Z must have the shape of the output"}, /* a residual of another shape */
      {1, 0, 1, 1, OX_NOT_IMPLEMENTED, "the parts do not fit together"},      /* a residual without a projection */
      {1, 1, 0, 1, OX_SHAPE_MISMATCH,
       "the input of a part is not in blocks of 3 channels"},                   /* fewer channels than X has */
      {1, 1, 0, 1, OX_NOT_IMPLEMENTED, "W1 is no constant of a fitting shape"}, /* weights that only the run knows */
      {1, 1, 0, 1, OX_SHAPE_MISMATCH, "the input of a part is not in blocks of 50 channels"}, /* not depthwise */
      {0, 0, 0, 1, OX_NOT_IMPLEMENTED, "the parts do not fit together"}, /* nothing but the depthwise part */
      {1, 1, 0, 2, OX_NOT_IMPLEMENTED, "the parts do not fit together"}, /* means of what is projected */
  };
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    one_node n;
    start(&n, rows[i].expand, rows[i].project, rows[i].residual, rows[i].n_out);
    if (i == 0) n.in[7].shape.dim[2]--;
    if (i == 1) n.in[7].shape.dim[1] = 4; /* as MID */
    if (i == 2) n.in[1].shape.dim[1] = 3;
    if (i == 3) n.constant[3] = false;
    if (i == 4) n.in[3].shape.dim[0] = 25, n.in[3].shape.dim[1] = 2;
    CHECK_FAILS(one_node_run(&n), rows[i].code, rows[i].error);
    one_node_deinit(&n);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_like_its_parts), cmocka_unit_test(test_means),
                                     cmocka_unit_test(test_what_is_refused)};
  return cmocka_run_group_tests(tests, setup, NULL);
}
