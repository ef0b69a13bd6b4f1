/* SPDX-License-Identifier: Apache-2.0
 * plugins/device/movement_kernels_test.c - the kernels that move elements, pad, resize and unpack weights of 4 bits
 * beside plain loops: any strides, the edges of tiles, all modes. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "plugins/device/kernel_calls.h"
#include "plugins/device/kernels/move_params.h"
#include "plugins/device/kernels/quant_params.h"
#include "plugins/device/kernels/resize_params.h"
#include "support/check.h"

KERNEL_OF(move1);
KERNEL_OF(move2);
KERNEL_OF(move4);
KERNEL_OF(move8);
KERNEL_OF(transpose1);
KERNEL_OF(transpose2);
KERNEL_OF(transpose4);
KERNEL_OF(transpose8);
KERNEL_OF(pad1);
KERNEL_OF(pad2);
KERNEL_OF(pad4);
KERNEL_OF(pad8);
KERNEL_OF(nbits_rows);
KERNEL_OF(nbits_unpack);
KERNEL_OF(resize);

static kernel_fn *const moves[] = {move1_f32, move2_f32, move4_f32, move8_f32};
static kernel_fn *const transposes[] = {transpose1_f32, transpose2_f32, transpose4_f32, transpose8_f32};
static kernel_fn *const pads[] = {pad1_f32, pad2_f32, pad4_f32, pad8_f32};

static unsigned char *bytes_make(size_t n, unsigned seed) {
  unsigned char *p = malloc(n + !n);
  for (size_t i = 0; i < n; i++) p[i] = (unsigned char)((seed = seed * 1664525u + 1013904223u) >> 24);
  return p;
}

/* ---- moves ---- */

/* Axis (2) of 3 goes behind (3) of |rows| and |columns|; the rows are read in order, or the columns. */
static void check_move(int bytes_log, int rows, int columns, bool transpose) {
  size_t bytes = (size_t)1 << bytes_log;
  int n = 3 * rows * columns, gap = 2;
  move_params p = {.n = n, .from = 1, .to = gap};
  for (int d = 0; d < MOVE_DIMS; d++) p.size[d] = 1;
  p.size[5] = 3, p.size[6] = rows, p.size[7] = columns;
  p.from_stride[5] = rows * columns, p.from_stride[6] = 1, p.from_stride[7] = rows;
  p.to_stride[5] = rows * columns + gap, p.to_stride[6] = columns, p.to_stride[7] = 1;
  size_t out = (size_t)(3 * (rows * columns + gap)) * bytes;
  unsigned char *x = bytes_make((size_t)(n + 1) * bytes, 1), *y = bytes_make(out, 2), *wanted = malloc(out);
  memcpy(wanted, y, out);
  for (int i = 0; i < n; i++) {
    int a = i / columns / rows, r = i / columns % rows, c = i % columns;
    memcpy(wanted + (size_t)(p.to + a * p.to_stride[5] + r * columns + c) * bytes,
           x + (size_t)(p.from + a * rows * columns + r + c * rows) * bytes, bytes);
  }
  int tiles = 3 * OX_CEIL_DIV(rows, MOVE_TILE) * OX_CEIL_DIV(columns, MOVE_TILE);
  run_groups(transpose ? transposes[bytes_log] : moves[bytes_log], transpose ? tiles : OX_CEIL_DIV(n, 256),
             (void *[]){x, y}, &p);
  if (memcmp(y, wanted, out) != 0)
    fail_msg("elements of %zu bytes, %d x %d, transpose %d", bytes, rows, columns, transpose);
  free(x), free(y), free(wanted);
}

static void test_moves(void **state) {
  (void)state;
  static const int sizes[][2] = {{1, 1}, {1, 70}, {33, 1}, {31, 33}, {32, 32}, {33, 65}, {100, 7}};
  for (size_t i = 0; i < OX_COUNT(sizes); i++)
    for (int bytes_log = 0; bytes_log < 4; bytes_log++)
      for (int transpose = 0; transpose < 2; transpose++)
        check_move(bytes_log, sizes[i][0], sizes[i][1], transpose != 0);
}

/* ---- pads ---- */

/* The place in an axis of |n| that |i| shows, by walking there; -1: none. */
static int shown(int mode, int i, int n) {
  if (mode == PAD_CONSTANT) return i >= 0 && i < n ? i : -1;
  if (mode == PAD_EDGE) return i < 0 ? 0 : i >= n ? n - 1 : i;
  while (mode == PAD_WRAP && i < 0) i += n;
  while (mode == PAD_WRAP && i >= n) i -= n;
  while (n > 1 && (i < 0 || i >= n)) i = i < 0 ? -i : 2 * (n - 1) - i;
  return n == 1 ? 0 : i;
}

static void check_pad(int bytes_log, int mode, int n, int before, int after) {
  enum { OUTER = 2 };
  size_t bytes = (size_t)1 << bytes_log;
  int out = n + before + after, rows = OUTER + 1; /* a row more in front */
  pad_params p = {.n = rows * out, .mode = mode, .low = -2023406815, .high = 19088743};
  const uint64_t constant = 0x0123456787654321u;
  for (int d = 0; d < MOVE_DIMS; d++) p.size[d] = p.in[d] = 1;
  p.size[6] = rows, p.in[6] = OUTER, p.in_stride[6] = n, p.before[6] = 1;
  p.size[7] = out, p.in[7] = n, p.in_stride[7] = 1, p.before[7] = before;
  unsigned char *x = bytes_make((size_t)(OUTER * n) * bytes, 3), *y = bytes_make((size_t)p.n * bytes, 4);
  run_groups(pads[bytes_log], OX_CEIL_DIV(p.n, 256), (void *[]){x, y}, &p);
  for (int i = 0; i < p.n; i++) {
    int row = shown(mode, i / out - 1, OUTER), column = shown(mode, i % out - before, n);
    const void *wanted = row < 0 || column < 0 ? (const void *)&constant : x + (size_t)(row * n + column) * bytes;
    if (memcmp(y + (size_t)i * bytes, wanted, bytes) != 0)
      fail_msg("elements of %zu bytes, mode %d, %d with %d and %d: element %d", bytes, mode, n, before, after, i);
  }
  free(x), free(y);
}

static void test_pads(void **state) {
  (void)state;
  static const int sizes[][3] = {{1, 0, 0}, {1, 3, 2}, {5, 4, 4}, {5, 11, 13}, {300, 7, 0}, {4, 0, 9}};
  for (size_t i = 0; i < OX_COUNT(sizes); i++)
    for (int bytes_log = 0; bytes_log < 4; bytes_log++)
      for (int mode = PAD_CONSTANT; mode <= PAD_WRAP; mode++)
        check_pad(bytes_log, mode, sizes[i][0], sizes[i][1], sizes[i][2]);
}

/* ---- 4 bits ---- */

/* |form|: bit 0: halves, 1: zero points, 2: a bias. */
static void check_nbits(int m, int n, int k, int block, int form) {
  int half = form & 1, blocks = OX_CEIL_DIV(k, block), zero_bytes = (blocks + 1) / 2;
  nbits_params p = {
      .m = m, .n = n, .k = k, .block = block, .blocks = blocks, .zero = form >> 1 & 1, .has_bias = form >> 2};
  numbers a = numbers_make(m * k, half, 1), scales = numbers_make(n * blocks, half, 2), bias = numbers_make(n, half, 3);
  numbers y = numbers_make(m * n, half, 4), w = numbers_make(n * k, half, 5);
  unsigned char *b = bytes_make((size_t)(n * blocks * block / 2), 6), *zeros = bytes_make((size_t)(n * zero_bytes), 7);
  for (int i = 0; i < scales.n; i++) number_set(&scales, i, (float)(i % 3 + 1) / 8);
  run_groups(half ? nbits_unpack_f16 : nbits_unpack_f32, OX_CEIL_DIV(n * OX_CEIL_DIV(k, 8), 256),
             (void *[]){b, scales.data, zeros, w.data}, &p);
  for (int tile = 0; tile < OX_CEIL_DIV(n, 8); tile++)
    for (int rows = 0; rows < OX_CEIL_DIV(m, 8); rows++)
      (half ? nbits_rows_f16 : nbits_rows_f32)(
          (char *[]){a.data, (char *)b, scales.data, (char *)zeros, bias.data, y.data}, &p,
          (const int[]){tile, rows, 0, OX_CEIL_DIV(n, 8), OX_CEIL_DIV(m, 8), 1});
  for (int i = 0; i < m * n; i++) {
    int column = i % n;
    double sum = p.has_bias ? (double)number_at(&bias, column) : 0, size = 1;
    for (int j = 0; j < k; j++) {
      int at = j / block, four = b[(column * blocks + at) * block / 2 + j % block / 2] >> j % 2 * 4 & 15;
      int zero = p.zero ? zeros[column * zero_bytes + at / 2] >> at % 2 * 4 & 15 : 8;
      double v = (four - zero) * (double)number_at(&scales, column * blocks + at);
      if ((double)number_at(&w, column * k + j) != v)
        fail_msg("block %d, form %d: weight %d of column %d is %g, wanted %g", block, form, j, column,
                 (double)number_at(&w, column * k + j), v);
      sum += v * (double)number_at(&a, i / n * k + j), size += fabs(v * (double)number_at(&a, i / n * k + j));
    }
    double tolerance = half ? fabs(sum) / 1024 + 1e-3 : size * 1e-6;
    if (!(fabs((double)number_at(&y, i) - sum) <= tolerance))
      fail_msg("%d x %d x %d, block %d, form %d: element %d is %g, wanted %g", m, n, k, block, form, i,
               (double)number_at(&y, i), sum);
  }
  free(a.data), free(scales.data), free(bias.data), free(y.data), free(w.data), free(b), free(zeros);
}

static void test_nbits(void **state) {
  (void)state;
  static const int shapes[][4] = {{1, 1, 16, 16}, {1, 9, 40, 16}, {8, 8, 64, 32}, {9, 7, 33, 32}, {3, 17, 300, 128}};
  for (size_t i = 0; i < OX_COUNT(shapes); i++)
    for (int form = 0; form < 8; form++) check_nbits(shapes[i][0], shapes[i][1], shapes[i][2], shapes[i][3], form);
}

/* ---- resize ---- */

static double place_of(const resize_params *p, int i) {
  double in = p->in, out = p->out, step = (double)p->num / (double)p->den, half = (i + 0.5) * step - 0.5;
  double wide = in * (double)p->den / (double)p->num; /* |out| before it was rounded */
  switch (p->coordinates) {
    case RESIZE_SYMMETRIC:
      return in / 2 * (1 - out * step / in) + half;
    case RESIZE_PYTORCH:
      return p->out > 1 ? half : 0;
    case RESIZE_CORNERS:
      return p->out > 1 ? i * (in - 1) / (wide - 1) : 0;
    case RESIZE_ASYMMETRIC:
      return i * step;
    case RESIZE_HALF_NN:
      return (i + 0.5) * step;
    case RESIZE_CROP:
      return p->out > 1 ? (double)p->first * (in - 1) + i * (double)(p->last - p->first) * (in - 1) / (wide - 1)
                        : (double)(p->first + p->last) / 2 * (in - 1);
    default:
      return half;
  }
}

static double weight_of(int mode, double a, double d) {
  if (mode == RESIZE_LINEAR) return d < 1 ? 1 - d : 0;
  if (d <= 1) return (a + 2) * d * d * d - (a + 3) * d * d + 1;
  return d < 2 ? a * d * d * d - 5 * a * d * d + 8 * a * d - 4 * a : 0;
}

static double resized(const resize_params *p, const numbers *x, int at) {
  int first = at / p->inner / p->out * p->in * p->inner + at % p->inner;
  double place = place_of(p, at / p->inner % p->out), v = 0, sum = 0;
  if (p->coordinates == RESIZE_CROP && (place < 0 || place > p->in - 1)) return (double)p->extrapolation;
  if (p->mode == RESIZE_NEAREST) {
    double near = p->rounding == RESIZE_FLOOR        ? floor(place)
                  : p->rounding == RESIZE_CEIL       ? ceil(place)
                  : p->rounding == RESIZE_ROUND_CEIL ? floor(place + 0.5)
                                                     : ceil(place - 0.5);
    int i = (int)fmin(fmax(near, 0), p->in - 1);
    return (double)number_at(x, first + i * p->inner);
  }
  for (int i = -8; i < p->in + 8; i++) {
    double w = weight_of(p->mode, (double)p->cubic, fabs(place - i));
    bool inside = i >= 0 && i < p->in;
    if (!inside && p->exclude_outside) continue;
    v += w * (double)number_at(x, first + (i < 0 ? 0 : i >= p->in ? p->in - 1 : i) * p->inner), sum += w;
  }
  return p->exclude_outside ? v / sum : v;
}

/* Steps that floats and doubles both hold, so that they round alike. |scale| 0: by sizes. */
static void check_resize(int in, int out, float scale, int inner, int mode, int coordinates, int form) {
  resize_params p = {
      .n = 2 * out * inner, .in = in, .out = out, .inner = inner, .mode = mode, .coordinates = coordinates};
  int half = form & 1;
  p.rounding = mode == RESIZE_NEAREST ? form >> 1 : 0, p.exclude_outside = mode == RESIZE_CUBIC ? form >> 1 & 1 : 0;
  p.num = scale != 0 ? 1 : (float)in, p.den = scale != 0 ? scale : (float)out;
  p.spread = scale != 0 ? scale * (float)in - 1 : (float)(out - 1), p.cubic = -0.75f, p.first = -0.25f, p.last = 1.25f,
  p.extrapolation = 9;
  numbers x = numbers_make(2 * in * inner, half, 1), y = numbers_make(p.n, half, 2);
  run_groups(half ? resize_f16 : resize_f32, OX_CEIL_DIV(p.n, 256), (void *[]){x.data, y.data}, &p);
  for (int i = 0; i < p.n; i++) {
    double wanted = resized(&p, &x, i), got = (double)number_at(&y, i);
    if (!(fabs(got - wanted) <= (half ? 4e-3 : 1e-5)))
      fail_msg("%d to %d, inner %d, mode %d, coordinates %d, form %d: element %d is %g, wanted %g", in, out, inner,
               mode, coordinates, form, i, got, wanted);
  }
  free(x.data), free(y.data);
}

static void test_resize(void **state) {
  (void)state;
  static const struct {
    int in, out;
    float scale;
  } sizes[] = {{1, 1, 0},  {1, 4, 0},  {4, 1, 0}, {4, 8, 0},       {8, 4, 0},
               {5, 17, 0}, {16, 2, 0}, {4, 8, 2}, {8, 2, 0.3125f}, {4, 6, 1.625f}};
  for (size_t i = 0; i < OX_COUNT(sizes); i++)
    for (int coordinates = RESIZE_HALF_PIXEL; coordinates <= RESIZE_CROP; coordinates++)
      for (int mode = RESIZE_NEAREST; mode <= RESIZE_CUBIC; mode++)
        for (int form = 0; form < 8; form++) {
          bool exact = sizes[i].out != 17 || mode != RESIZE_NEAREST; /* else floats may round to the other side */
          for (int inner = 1; exact && inner <= 3; inner += 2)
            check_resize(sizes[i].in, sizes[i].out, sizes[i].scale, inner, mode, coordinates, form);
        }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_moves), cmocka_unit_test(test_pads),
                                     cmocka_unit_test(test_nbits), cmocka_unit_test(test_resize)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
