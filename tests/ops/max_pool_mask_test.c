/* SPDX-License-Identifier: Apache-2.0
 * ops/max_pool_mask_test.c - MaxpoolWithMask against a search over all pixels, and what ONNX Runtime 1.31 gives. */
#include <float.h>
#include <string.h>

#include "support/typed.h"

#define DIMS(...) ((const int64_t[]){__VA_ARGS__})
enum { PLANES = 6 };

typedef struct row {
  int axes;
  int64_t in[3], kernel[3], stride[3], pads[6];
  bool same;
  int masks; /* planes of the mask: 1, 3 or 6 */
} row;

/* Pixel |at| (coordinates |q|) is masked if a zero stands at or before it in its row, from the window's start on. */
static bool masked(const row *r, const int32_t *mask, const int64_t *q, int64_t from) {
  int64_t line = 0;
  for (int a = 0; a < r->axes - 1; a++) line = line * r->in[a] + q[a];
  for (int64_t w = from; w <= q[r->axes - 1]; w++) {
    int64_t at = line * r->in[r->axes - 1] + w;
    if (mask[at] == 0 && (at > 0 || r->axes == 1)) return true;
  }
  return false;
}

static void check_plane(const row *r, const ox_shape *y, const float *x, const int32_t *mask, const int64_t *lo,
                        const float *got) {
  int64_t in_n = 1, out_n = 1;
  for (int a = 0; a < r->axes; a++) in_n *= r->in[a], out_n *= y->dim[a + 2];
  for (int64_t o = 0; o < out_n; o++) {
    float best = -FLT_MAX;
    for (int64_t i = 0; i < in_n; i++) {
      int64_t q[3], start = 0, rest_i = i, rest_o = o;
      bool inside = true;
      for (int a = r->axes - 1; a >= 0; a--) {
        q[a] = rest_i % r->in[a], rest_i /= r->in[a];
        int64_t first = rest_o % y->dim[a + 2] * r->stride[a] - lo[a];
        rest_o /= y->dim[a + 2];
        inside = inside && q[a] >= first && q[a] < first + r->kernel[a];
        if (a == r->axes - 1) start = first > 0 ? first : 0;
      }
      if (inside && !masked(r, mask, q, start) && x[i] > best) best = x[i];
    }
    assert_true(got[o] == best);
  }
}

static void check(const row *r, unsigned seed) {
  one_node n;
  int32_t bits[6 * 64];
  int64_t in[5] = {2, 3, r->in[0], r->in[1], r->in[2]}, in_n = 1, out_n = 1;
  int64_t mask_dims[5] = {r->masks == 6 ? 2 : 1, r->masks == 1 ? 1 : 3, r->in[0], r->in[1], r->in[2]};
  for (int a = 0; a < r->axes; a++) in_n *= r->in[a];
  for (int64_t i = 0; i < in_n * r->masks; i++) seed = seed * 1664525U + 1013904223U, bits[i] = seed >> 28 > 5;
  one_node_init(&n, "com.microsoft", "MaxpoolWithMask", 1, 1);
  one_node_ints(&n, "kernel_shape", (size_t)r->axes, r->kernel),
      one_node_ints(&n, "strides", (size_t)r->axes, r->stride);
  if (r->same)
    one_node_str(&n, "auto_pad", "SAME_UPPER");
  else
    one_node_ints(&n, "pads", 2 * (size_t)r->axes, r->pads);
  const ox_tensor *x = typed_input(&n, OX_F32, r->axes + 2, in, 3);
  one_node_input(&n, OX_I32, r->axes + 2, mask_dims, bits);
  n.run_tiles = 1;
  CHECK_OK(one_node_run(&n));
  int64_t lo[3];
  for (int a = 0; a < r->axes; a++) {
    int64_t out = n.out[0].shape.dim[a + 2], total = (out - 1) * r->stride[a] + r->kernel[a] - r->in[a];
    out_n *= out, lo[a] = !r->same ? r->pads[a] : total > 0 ? total / 2 : 0;
  }
  for (int p = 0; p < PLANES; p++)
    check_plane(r, &n.out[0].shape, (const float *)x->data + p * in_n, bits + p % r->masks * in_n, lo,
                (const float *)n.out[0].data + p * out_n);
  one_node_deinit(&n);
}

static void test_windows(void **state) {
  (void)state;
  static const row rows[] = {
      {1, {9}, {3}, {2}, {1, 1}, false, 1},
      {1, {1}, {1}, {1}, {0, 0}, false, 6},
      {2, {5, 6}, {3, 2}, {2, 1}, {1, 0, 1, 1}, false, 1},
      {2, {5, 6}, {3, 2}, {2, 1}, {0}, true, 3},
      {2, {4, 4}, {2, 2}, {2, 2}, {0, 0, 0, 0}, false, 6},
      {3, {4, 3, 5}, {3, 2, 2}, {2, 1, 1}, {1, 0, 1, 1, 1, 0}, false, 1},
      {3, {2, 2, 3}, {2, 2, 2}, {1, 1, 1}, {0}, true, 3},
  };
  for (size_t i = 0; i < OX_COUNT(rows); i++)
    for (unsigned seed = 0; seed < 20; seed++) check(&rows[i], seed);
}

static void test_recorded(void **state) {
  (void)state;
  static const float x[] = {-1.5f, -.5f, 2, .5f, .75f, -.25f, -2, .125f, .25f, -1, -.75f, -.0625f, -1, -.5f, .5f, 0};
  static const int32_t mask[] = {0, 0, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1, 0, 0, 0, 0};
  static const float want[] = {-1.5f, 2, .25f, -.0625f};
  one_node n;
  one_node_init(&n, "com.microsoft", "MaxpoolWithMask", 1, 1);
  one_node_ints(&n, "kernel_shape", 2, DIMS(2, 2)), one_node_ints(&n, "strides", 2, DIMS(2, 2));
  one_node_input(&n, OX_F32, 4, DIMS(1, 1, 4, 4), x), one_node_input(&n, OX_I32, 4, DIMS(1, 1, 4, 4), mask);
  CHECK_OK(one_node_run(&n));
  assert_memory_equal(n.out[0].data, want, sizeof want);
  one_node_deinit(&n);
}

static void test_wrong_masks(void **state) {
  (void)state;
  static const int32_t mask[64] = {0};
  static const struct {
    int64_t dims[4];
    const char *text;
  } rows[] = {{{1, 1, 4, 3}, "input 1"}, {{1, 2, 4, 4}, "2 masks"}, {{0, 1, 4, 4}, "0 masks"}};
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    one_node n;
    one_node_init(&n, "com.microsoft", "MaxpoolWithMask", 1, 1);
    one_node_ints(&n, "kernel_shape", 2, DIMS(2, 2));
    typed_input(&n, OX_F32, 4, DIMS(1, 3, 4, 4), 1);
    one_node_input(&n, OX_I32, 4, rows[i].dims, mask);
    CHECK_FAILS(one_node_run(&n), OX_SHAPE_MISMATCH, rows[i].text);
    one_node_deinit(&n);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_windows),
      cmocka_unit_test(test_recorded),
      cmocka_unit_test(test_wrong_masks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
