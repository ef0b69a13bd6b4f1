/* SPDX-License-Identifier: Apache-2.0
 * ops/col2im_test.c - Col2Im of types that are summed exactly: two blocks of two pixels that share the middle one;
 * floats of any geometry against a sum over the columns. */
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/one_node.h"
#include "support/typed.h"

/* Taps come in rows, blocks in columns: (a, b), (c, d) give the pixels a, b + c, d. */
static void run(one_node *n, uint32_t dtype, const void *columns) {
  static const int64_t image[] = {3}, block[] = {2};
  one_node_init(n, "", "Col2Im", 18, 1);
  one_node_input(n, dtype, 3, (int64_t[]){1, 2, 2}, columns);
  one_node_const(n, OX_I64, 1, (int64_t[]){1}, image);
  one_node_const(n, OX_I64, 1, (int64_t[]){1}, block);
  CHECK_OK(one_node_run(n));
}

static void test_sums_are_exact(void **state) {
  (void)state;
  one_node n;
  const int64_t big = ((int64_t)1 << 62) + 1;
  run(&n, OX_I64, (int64_t[]){big, 3, big, -5});
  assert_memory_equal(n.out[0].data, ((int64_t[]){big, big + 3, -5}), 24);
  one_node_deinit(&n);
  run(&n, OX_U8, (uint8_t[]){1, 200, 100, 7});
  assert_memory_equal(n.out[0].data, ((uint8_t[]){1, 44, 7}), 3);
  one_node_deinit(&n);
  run(&n, OX_BOOL, (bool[]){0, 1, 1, 0});
  assert_memory_equal(n.out[0].data, ((bool[]){0, 1, 0}), 3);
  one_node_deinit(&n);
  run(&n, OX_C64, (float[]){1, 2, 3, 4, 5, 6, 7, 8});
  assert_memory_equal(n.out[0].data, ((float[]){1, 2, 8, 10, 7, 8}), 24);
  one_node_deinit(&n);
}

static void test_strings_are_put_together(void **state) {
  (void)state;
  one_node n;
  run(&n, OX_STRING, (ox_str[]){{"a", 1}, {"b", 1}, {"cd", 2}, {"", 0}});
  const ox_str *y = n.out[0].data;
  assert_int_equal(y[0].n, 1);
  assert_int_equal(y[1].n, 3);
  assert_memory_equal(y[1].p, "bcd", 3);
  assert_int_equal(y[2].n, 0);
  one_node_deinit(&n);
}

/* Floats of every geometry, against a sum over the columns. |known|: the shape is there before the run. */
typedef struct {
  int axes;
  int64_t image[3], block[3], stride[3], dilation[3], pad[3];
} window;

static void check_floats(const window *w, uint32_t dtype, bool known) {
  enum { BATCH = 2, CHANNELS = 3 };
  int64_t count[3], taps = 1, blocks = 1, pixels = 1, pads[6];
  for (int a = 0; a < w->axes; a++) {
    count[a] = (w->image[a] + 2 * w->pad[a] - w->dilation[a] * (w->block[a] - 1) - 1) / w->stride[a] + 1;
    taps *= w->block[a], blocks *= count[a], pixels *= w->image[a];
    pads[a] = pads[a + w->axes] = w->pad[a];
  }
  one_node n;
  one_node_init(&n, "", "Col2Im", 18, 1);
  one_node_ints(&n, "strides", (size_t)w->axes, w->stride), one_node_ints(&n, "pads", 2 * (size_t)w->axes, pads);
  one_node_ints(&n, "dilations", (size_t)w->axes, w->dilation);
  n.run_tiles = 1;
  const ox_tensor *x = typed_input(&n, dtype, 3, (int64_t[]){BATCH, CHANNELS * taps, blocks}, 1);
  (known ? one_node_const : one_node_input)(&n, OX_I64, 1, (int64_t[]){w->axes}, w->image);
  (known ? one_node_const : one_node_input)(&n, OX_I64, 1, (int64_t[]){w->axes}, w->block);
  CHECK_OK(one_node_run(&n));
  double *want = calloc((size_t)(BATCH * CHANNELS * pixels), sizeof *want);
  assert_non_null(want);
  for (int64_t i = 0; i < BATCH * CHANNELS * taps * blocks; i++) {
    int64_t tap = i / blocks % taps, block = i % blocks, to = 0, pitch = 1;
    bool inside = true;
    for (int a = w->axes - 1; a >= 0; tap /= w->block[a], block /= count[a], pitch *= w->image[a--]) {
      int64_t at = block % count[a] * w->stride[a] + tap % w->block[a] * w->dilation[a] - w->pad[a];
      inside = inside && at >= 0 && at < w->image[a];
      to += at * pitch;
    }
    if (inside) want[i / (taps * blocks) * pixels + to] += typed_at(x, i);
  }
  for (int64_t i = 0; i < BATCH * CHANNELS * pixels; i++) typed_near(&n.out[0], i, want[i], 1);
  one_node_deinit(&n);
  free(want);
}

static void test_floats(void **state) {
  (void)state;
  static const window windows[] = {
      {1, {5}, {3}, {1}, {1}, {0}},
      {1, {40}, {9}, {4}, {1}, {3}},
      {1, {7}, {1}, {3}, {1}, {0}},
      {2, {9, 11}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
      {2, {9, 11}, {3, 2}, {2, 3}, {1, 1}, {1, 0}},
      {2, {12, 35}, {3, 3}, {1, 2}, {2, 3}, {2, 3}},
      {2, {6, 8}, {2, 2}, {2, 2}, {1, 1}, {0, 0}}, /* tiles the image */
      {2, {6, 9}, {2, 2}, {2, 2}, {1, 1}, {0, 0}}, /* all but a column */
      {2, {5, 5}, {2, 2}, {9, 9}, {1, 1}, {0, 0}}, /* strides beyond the image */
      {2, {19, 37}, {4, 5}, {2, 4}, {1, 1}, {1, 2}},
      {2, {3, 70}, {1, 16}, {1, 5}, {1, 1}, {0, 3}},
      {3, {4, 6, 3}, {2, 3, 1}, {2, 3, 1}, {1, 1, 1}, {0, 0, 0}},
      {3, {4, 5, 6}, {2, 3, 3}, {1, 2, 1}, {1, 1, 2}, {1, 1, 2}},
  };
  static const uint32_t types[] = {OX_F32, OX_F64, OX_F16};
  for (size_t w = 0; w < OX_COUNT(windows); w++)
    for (size_t t = 0; t < OX_COUNT(types); t++)
      check_floats(&windows[w], types[t], true), check_floats(&windows[w], types[t], false);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sums_are_exact),
      cmocka_unit_test(test_strings_are_put_together),
      cmocka_unit_test(test_floats),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
