/* SPDX-License-Identifier: Apache-2.0
 * plugins/device/integer_kernels_test.c - the kernels of 8-bit products, convolutions and quantization beside sums in
 * 64-bit integers and rounding in double: equal to the last bit, at the edges of tiles, for all pairs of signs. */
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "plugins/device/kernel_calls.h"
#include "plugins/device/kernels/qlinear_params.h"
#include "plugins/device/kernels/qproduct_params.h"
#include "support/check.h"

KERNEL_OF(qweights_pack);
KERNEL_OF(qweights_head);
KERNEL_OF(qgemm64);
KERNEL_OF(qgemm128);
KERNEL_OF(qconv64);
KERNEL_OF(qconv128);
KERNEL_OF(qconv_direct);
KERNEL_OF(qfinish);
KERNEL_OF(quantize);
KERNEL_OF(dequantize);
KERNEL_OF(quant_ranges);
KERNEL_OF(quant_choose);
KERNEL_OF(qbinary);

/* Bytes at random, of exactly the size. */
static unsigned char *bytes_make(int n, unsigned seed) {
  unsigned char *p = malloc((size_t)n + !n);
  for (int i = 0; i < n; i++) p[i] = (unsigned char)((seed = seed * 1664525u + 1013904223u) >> 24);
  return p;
}

static int byte_of(const void *p, int kind, int i) {
  return kind == QUANT_U8 ? ((const unsigned char *)p)[i] : ((const signed char *)p)[i];
}

/* What |sum| becomes: the CPU's expression, the product rounded once. */
static int requantized(int64_t sum, float scale, int kind, int zero, int low, int high) {
  if (kind == QUANT_I32) return (int)sum;
  volatile float f = (float)sum * scale;
  double q = rint((double)f) + zero;
  return (int)fmin(fmax(q, low), high);
}

static int result_of(const void *y, int kind, int i) {
  return kind == QUANT_I32 ? ((const int *)y)[i] : byte_of(y, kind, i);
}

/* ---- weights ---- */

typedef struct weights {
  int n, rows, c, taps, kind; /* n: rows of all groups */
  unsigned char *raw, *zero;
  float *scale;
  int *packed, *head, *bias;
} weights;

static const float x_scale = 0.02f, y_scale = 1.7f;

/* |zeros|: 0 none, 1 one, 2 for each row. [group, row, c, tap], or with |across| [c, row]. */
static weights weights_make(int groups, int rows, int c, int taps, int kind, int zeros, int across) {
  weights w = {groups * rows, rows, c, taps, kind, NULL, NULL, NULL, NULL, NULL, NULL};
  int count = w.n * c * taps, ints = w.n * taps * ((c + 3) / 4), k = c * taps;
  w.raw = bytes_make(count, 7), w.zero = bytes_make(w.n, 9);
  w.scale = malloc((size_t)w.n * 4), w.bias = malloc((size_t)w.n * 4), w.head = malloc((size_t)w.n * 16);
  w.packed = malloc((size_t)ints * 4 + !ints);
  for (int i = 0; i < w.n; i++) w.scale[i] = 0.01f * (float)(i % 7 + 1), w.bias[i] = i * 37 - 500;
  for (int i = 0; zeros < 2 && i < w.n; i++) w.zero[i] = zeros ? w.zero[0] : 0;
  qweights_params p = {.n = w.n, .rows = rows, .c = c, .taps = taps, .kind = kind, .shared = 1, .alpha = 1};
  p.group_step = rows * k, p.row_step = across ? 1 : k, p.c_step = across ? rows : taps, p.tap_step = 1;
  p.w_zero_step = zeros - 1, p.w_scale_step = 1, p.has_bias = p.has_x_scale = p.has_y_scale = 1;
  run_groups(qweights_head_f32, OX_CEIL_DIV(w.n, 256),
             (void *[]){w.raw, w.zero, w.bias, (void *)&x_scale, w.scale, (void *)&y_scale, w.head, NULL}, &p);
  p.n = ints;
  run_groups(qweights_pack_f32, OX_CEIL_DIV(ints, 256), (void *[]){w.raw, w.packed, NULL}, &p);
  return w;
}

static void weights_free(weights *w) {
  free(w->raw), free(w->zero), free(w->scale), free(w->packed), free(w->head), free(w->bias);
}

static float scale_of(const weights *w, int row) {
  volatile float a = x_scale * w->scale[row];
  return a / y_scale;
}

/* Groups that share k, as many as there may be; then what makes one result of theirs. */
static void run_shared(kernel_fn *fn, int groups, const void *params, int k4, void *const *buffers, int y_at,
                       const qfinish_params *f, void *const *last) {
  int splits = OX_CEIL_DIV(k4, QPRODUCT_STEP), *parts = malloc((size_t)(splits * f->n) * sizeof *parts);
  qfinish_params p = *f;
  char *b[8];
  memcpy(b, buffers, sizeof b), b[y_at] = (char *)parts, p.splits = splits;
  for (int s = splits - 1; s >= 0; s--)
    for (int i = 0; i < groups; i++) fn(b, params, (const int[]){i, s, 0, groups, splits, 1});
  memcpy(b, last, sizeof b), b[0] = (char *)parts;
  run_groups(qfinish_f32, OX_CEIL_DIV(p.n, 256), (void *const *)b, &p);
  free(parts);
}

/* ---- products ---- */

static const struct {
  const char *name;
  kernel_fn *fn;
  int tile;
} products[] = {{"qgemm64", qgemm64_f32, 64}, {"qgemm128", qgemm128_f32, 128}},
  convs[] = {{"qconv64", qconv64_f32, 64}, {"qconv128", qconv128_f32, 128}};

/* |form|: bits 0, 1: signs of x and w; 2, 3: zero points of x for each row, of w for each column; 4: y is of 32 bits;
 * 5: k is shared. */
static void check_product(size_t which, int m, int n, int k, int form) {
  int x_kind = form & 1, w_kind = form >> 1 & 1, each_x = form >> 2 & 1, each_w = form >> 3 & 1,
      batches = form >> 5 ? 1 : 2;
  int y_kind = form >> 4 & 1 ? QUANT_I32 : x_kind, low = x_kind ? -100 : 3, high = x_kind ? 127 : 200, zero_y = 5;
  unsigned char *x = bytes_make(batches * m * k, 3), *x_zero = bytes_make(m, 5), y_zero[1] = {5};
  weights w = weights_make(1, n, k, 1, w_kind, each_w ? 2 : 1, 1);
  void *y = malloc((size_t)(batches * m * n) * 4);
  qgemm_params p = {.m = m, .n = n, .k = k, .k4 = (k + 3) / 4, .wide = k % 4 == 0, .x_kind = x_kind, .y_kind = y_kind};
  p.low = low, p.high = high, p.x_zero_step = each_x, p.x_scale_step = -1, p.has_w_zero = 1, p.has_y_zero = 1;
  for (int i = 0; i < GEMM_BATCHES; i++) p.batch[i] = 1;
  p.batch[2] = batches, p.x_batch[2] = m * k;
  int tile = products[which].tile, groups = batches * OX_CEIL_DIV(m, tile) * OX_CEIL_DIV(n, tile);
  void *buffers[] = {x, w.packed, w.head, x_zero, NULL, y_zero, NULL, y};
  qfinish_params f = {.n = m * n, .inner = 1, .rows = n, .x_kind = x_kind, .y_kind = y_kind, .low = low, .high = high};
  f.x_zero_step = each_x, f.x_scale_step = -1, f.has_y_zero = 1;
  p.splits = form >> 5 & 1 && p.k4 > QPRODUCT_STEP ? 2 : 1, p.k_each = p.splits > 1 ? QPRODUCT_STEP : p.k4;
  if (p.splits > 1)
    run_shared(products[which].fn, groups, &p, p.k4, buffers, 7, &f,
               (void *[]){NULL, w.head, x_zero, NULL, y_zero, NULL, y, NULL});
  else
    run_groups(products[which].fn, groups, buffers, &p);
  for (int i = 0; i < batches * m * n; i++) {
    int row = i / n, column = i % n, zx = byte_of(x_zero, x_kind, each_x ? row % m : 0);
    int64_t sum = w.bias[column];
    for (int j = 0; j < k; j++)
      sum += (int64_t)(byte_of(x, x_kind, row * k + j) - zx) *
             (byte_of(w.raw, w_kind, j * n + column) - byte_of(w.zero, w_kind, column));
    int wanted = requantized(sum, scale_of(&w, column), y_kind, zero_y, low, high), got = result_of(y, y_kind, i);
    if (got != wanted)
      fail_msg("%s, %d x %d x %d, form %d: element %d is %d, wanted %d", products[which].name, m, n, k, form, i, got,
               wanted);
  }
  weights_free(&w), free(x), free(x_zero), free(y);
}

static void test_products(void **state) {
  (void)state;
  static const int shapes[][3] = {{1, 1, 1},   {5, 7, 0},     {3, 2, 31},   {63, 65, 33}, {64, 64, 32},
                                  {65, 1, 64}, {129, 127, 5}, {2, 130, 40}, {128, 128, 4}};
  for (size_t which = 0; which < OX_COUNT(products); which++)
    for (size_t i = 0; i < OX_COUNT(shapes); i++)
      for (int form = 0; form < 64; form++) check_product(which, shapes[i][0], shapes[i][1], shapes[i][2], form);
}

/* ---- convolutions ---- */

typedef struct {
  int images, group, c, o, in[3], extent[3], stride[3], dilation[3], pad[3], after[3];
} geometry;
static const geometry geometries[] = {
    {1, 1, 1, 1, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}},
    {2, 1, 3, 5, {1, 7, 9}, {1, 3, 3}, {1, 2, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {1, 2, 6, 9, {1, 5, 13}, {1, 1, 5}, {1, 1, 2}, {1, 1, 2}, {0, 0, 4}, {0, 0, 3}},
    {3, 1, 8, 70, {1, 6, 6}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}},
    {1, 7, 1, 1, {1, 8, 6}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {1, 1, 2, 3, {4, 5, 6}, {2, 3, 2}, {2, 1, 1}, {1, 2, 1}, {1, 2, 0}, {0, 2, 1}},
    {1, 1, 33, 130, {1, 9, 15}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
};

static int64_t window_sum(const geometry *g, const qconv_params *p, const unsigned char *x, int zx, const weights *w,
                          int zeros, int filter, int plane, int pixel) {
  int image = plane / (g->group * g->o),
      o[3] = {pixel / (p->out[1] * p->out[2]), pixel / p->out[2] % p->out[1], pixel % p->out[2]};
  int taps = w->taps, first = image * p->x_image + filter / g->o * g->c * p->x_channel;
  int64_t sum = w->bias[filter];
  for (int c = 0; c < g->c; c++)
    for (int t = 0; t < taps; t++) {
      int k[3] = {t / (g->extent[1] * g->extent[2]), t / g->extent[2] % g->extent[1], t % g->extent[2]}, at = 0;
      bool inside = true;
      for (int a = 0; a < 3; a++) {
        int i = o[a] * g->stride[a] - g->pad[a] + k[a] * g->dilation[a];
        inside &= i >= 0 && i < g->in[a], at = at * g->in[a] + i;
      }
      int zw = zeros ? byte_of(w->zero, p->w_kind, filter) : 0;
      if (inside)
        sum += (int64_t)(byte_of(x, p->x_kind, first + c * p->x_channel + at * p->x_pixel) - zx) *
               (byte_of(w->raw, p->w_kind, (filter * g->c + c) * taps + t) - zw);
    }
  return sum;
}

/* |which|: of convs, then the direct one. |form|: bits 0, 1: signs; 2, 3: how many zero points of w; 4: none of x; 5: k
 * is shared; 6: channels last. */
static void check_conv(size_t which, const geometry *g, int form) {
  int x_kind = form & 1, w_kind = form >> 1 & 1, zeros = form >> 2 & 3, pixels = 1, taps = 1, volume = 1;
  qconv_params p = {.group = g->group, .c = g->c, .o = g->o, .x_kind = x_kind, .w_kind = w_kind, .y_kind = x_kind};
  for (int a = 0; a < 3; a++) {
    p.in[a] = g->in[a], p.extent[a] = g->extent[a], p.stride[a] = g->stride[a], p.dilation[a] = g->dilation[a];
    p.pad[a] = g->pad[a], taps *= g->extent[a], volume *= g->in[a];
    p.out[a] = (g->in[a] + g->pad[a] + g->after[a] - (g->extent[a] - 1) * g->dilation[a] - 1) / g->stride[a] + 1;
    pixels *= p.out[a];
  }
  p.c4 = (g->c + 3) / 4, p.k4 = p.c4 * taps, p.pixels = pixels, p.columns = g->images * pixels;
  p.has_x_zero = !(form >> 4 & 1), p.has_w_zero = 1, p.w_zero_step = zeros - 1, p.has_y_zero = 0;
  p.low = x_kind ? -128 : 0, p.high = p.low + 255;
  int planes = g->images * g->group * g->o, last = form >> 6, in = g->group * g->c, outs = g->group * g->o;
  p.x_image = in * volume, p.x_channel = last ? 1 : volume, p.x_pixel = last ? in : 1;
  p.y_image = outs * pixels, p.y_channel = last ? 1 : pixels, p.y_pixel = last ? outs : 1;
  unsigned char *x = bytes_make(g->images * g->group * g->c * volume, 3), x_zero[1] = {131};
  unsigned char *y = malloc((size_t)(planes * pixels));
  weights w = weights_make(g->group, g->o, g->c, taps, w_kind, zeros, 0);
  if (which < OX_COUNT(convs)) {
    int tile = convs[which].tile;
    int groups = g->group * OX_CEIL_DIV(g->o, tile) * OX_CEIL_DIV(p.columns, tile);
    void *buffers[] = {x, w.packed, w.head, x_zero, NULL, y, NULL, NULL};
    qfinish_params f = {.n = planes * pixels, .inner = p.y_channel, .rows = outs, .x_kind = x_kind};
    f.y_kind = x_kind, f.low = p.low, f.high = p.high, f.x_zero_step = p.has_x_zero - 1, f.x_scale_step = -1;
    p.splits = form >> 5 & 1 && p.k4 > QPRODUCT_STEP ? 2 : 1, p.k_each = p.splits > 1 ? QPRODUCT_STEP : p.k4;
    if (p.splits > 1)
      run_shared(convs[which].fn, groups, &p, p.k4, buffers, 5, &f,
                 (void *[]){NULL, w.head, x_zero, NULL, NULL, NULL, y, NULL});
    else
      run_groups(convs[which].fn, groups, buffers, &p);
  } else {
    p.n = planes * p.out[0] * p.out[1] * OX_CEIL_DIV(p.out[2], 4);
    run_groups(qconv_direct_f32, OX_CEIL_DIV(p.n, 256), (void *[]){x, w.raw, w.head, x_zero, w.zero, NULL, y, NULL},
               &p);
  }
  for (int i = 0; i < planes * pixels; i++) {
    int plane = i / pixels, filter = plane % (g->group * g->o), zx = p.has_x_zero ? byte_of(x_zero, x_kind, 0) : 0;
    int64_t sum = window_sum(g, &p, x, zx, &w, zeros, filter, plane, i % pixels);
    int wanted = requantized(sum, scale_of(&w, filter), x_kind, 0, p.low, p.high);
    int got = byte_of(y, x_kind, plane / outs * p.y_image + filter * p.y_channel + i % pixels * p.y_pixel);
    if (got != wanted)
      fail_msg("%s, geometry %d, form %d: element %d is %d, wanted %d",
               which < OX_COUNT(convs) ? convs[which].name : "direct", (int)(g - geometries), form, i, got, wanted);
  }
  weights_free(&w), free(x), free(y);
}

static void test_convolutions(void **state) {
  (void)state;
  for (size_t which = 0; which <= OX_COUNT(convs); which++)
    for (size_t i = 0; i < OX_COUNT(geometries); i++)
      for (int form = 0; form < 128; form++)
        if ((form >> 2 & 3) < 3) check_conv(which, &geometries[i], form);
}

/* ---- quantization ---- */

static void check_quantize(int kind, int channels, int half, int has_zero) {
  static const float values[] = {0,    0.5f,  1.5f, 2.5f,     -0.5f,     -1.5f, 127.4f, 127.5f,  -128.5f, 254.5f,
                                 1e9f, -1e9f, 3,    INFINITY, -INFINITY, 60,    -60,    0.0625f, 100.5f,  -0.25f};
  int n = (int)OX_COUNT(values) * 3;
  numbers x = numbers_make(n, half, 1), scale = numbers_make(channels, half, 2), back = numbers_make(n, half, 3);
  unsigned char *zero = bytes_make(channels, 4), *y = malloc((size_t)n);
  quant_params p = {.n = n, .inner = 2, .channels = channels, .kind = kind, .has_zero = has_zero};
  for (int i = 0; i < n; i++) number_set(&x, i, values[i % (int)OX_COUNT(values)]);
  for (int i = 0; i < channels; i++) number_set(&scale, i, i % 2 ? 0.5f : 1);
  run_groups(half ? quantize_f16 : quantize_f32, 1, (void *[]){x.data, scale.data, zero, y, NULL}, &p);
  run_groups(half ? dequantize_f16 : dequantize_f32, 1, (void *[]){y, scale.data, zero, back.data, NULL}, &p);
  for (int i = 0; i < n; i++) {
    int c = i / 2 % channels, z = has_zero ? byte_of(zero, kind, c) : 0, low = kind == QUANT_U8 ? 0 : -128;
    double q = rint((double)number_at(&x, i) / (double)number_at(&scale, c)) + z;
    int wanted = (int)fmin(fmax(q, low), low + 255), got = byte_of(y, kind, i);
    float real = (float)(wanted - z) * number_at(&scale, c);
    if (got != wanted || number_at(&back, i) != real)
      fail_msg("kind %d, channels %d, half %d: %g is %d and %g, wanted %d and %g", kind, channels, half,
               (double)number_at(&x, i), got, (double)number_at(&back, i), wanted, (double)real);
  }
  free(x.data), free(scale.data), free(back.data), free(zero), free(y);
}

/* 32-bit integers whose difference from the zero point takes 33. */
static void test_dequantization_of_large_integers(void **state) {
  (void)state;
  static const int x[] = {INT_MIN, INT_MAX, -5, 16777217}, zero[] = {INT_MAX, INT_MIN, 3, 0};
  static const float scale[] = {0.5f, 0.25f, 3.0f, 1.0f};
  enum { N = OX_COUNT(x) };
  float y[N];
  quant_params p = {.n = N, .inner = 1, .channels = N, .kind = QUANT_I32, .has_zero = 1};
  run_groups(dequantize_f32, 1, (void *[]){(void *)x, (void *)scale, (void *)zero, y, NULL}, &p);
  for (int i = 0; i < N; i++) assert_true(y[i] == (float)((double)x[i] - zero[i]) * scale[i]);
}

static void test_quantization(void **state) {
  (void)state;
  for (int form = 0; form < 8; form++) {
    check_quantize(form & 1, 1, form >> 1 & 1, form >> 2);
    check_quantize(form & 1, 5, form >> 1 & 1, form >> 2);
  }
}

/* [3, 1, 5] by [4, 1], or of one shape. */
static void check_sum(int op, int kind, int flat) {
  unsigned char *a = bytes_make(60, 1), *b = bytes_make(60, 2), *y = malloc(60), za[1] = {130}, zb[1] = {7};
  const float sa = 0.11f, sb = 0.07f;
  const struct {
    float scale;
    int zero;
  } of_y = {0.13f, 20};
  qbinary_params p = {.n = 60, .op = op, .kind = kind, .flat = flat, .has_a_zero = 1, .has_b_zero = 1};
  p.low = kind ? -128 : 10, p.high = kind ? 50 : 255;
  for (int d = 0; d < MOVE_DIMS; d++) p.size[d] = 1;
  p.size[5] = 3, p.size[6] = 4, p.size[7] = 5, p.a[5] = 5, p.a[7] = 1, p.b[6] = 1;
  run_groups(qbinary_f32, 1, (void *[]){a, (void *)&sa, za, b, (void *)&sb, zb, (void *)&of_y, y}, &p);
  for (int i = 0; i < 60; i++) {
    volatile float u = (float)(byte_of(a, kind, flat ? i : i / 20 * 5 + i % 5) - byte_of(za, kind, 0)) * sa;
    volatile float v = (float)(byte_of(b, kind, flat ? i : i / 5 % 4) - byte_of(zb, kind, 0)) * sb;
    double both = op == QLINEAR_ADD ? (double)u + (double)v : (double)u * (double)v;
    double q = rint(both / (double)of_y.scale) + 20; /* far from ties */
    int wanted = (int)fmin(fmax(q, p.low), p.high);
    if (byte_of(y, kind, i) != wanted)
      fail_msg("op %d, kind %d, flat %d: element %d is %d, wanted %d", op, kind, flat, i, byte_of(y, kind, i), wanted);
  }
  free(a), free(b), free(y);
}

/* The lowest and the highest number at each place, also none, and ranges that 0 bounds; NaN is passed over. */
static void check_range(int n, int low_at, int high_at, float low, float high) {
  float *x = malloc((size_t)n * 4 + !n), parts[2 * QUANT_PARTS], scale = -1;
  unsigned char zero = 77;
  int groups = (int)fmin(OX_CEIL_DIV(n, 128 * 4), QUANT_PARTS);
  for (int i = 0; i < n; i++) x[i] = i == low_at ? low : i == high_at ? high : 0.25f * (low + high);
  if (n > 3) x[n / 2] = NAN;
  quant_params p = {.n = n, .inner = 1, .channels = 1, .kind = QUANT_U8, .has_zero = 1}, few = p;
  few.n = groups;
  for (size_t i = 0; i < OX_COUNT(parts); i++) parts[i] = NAN; /* nobody reads what no group wrote */
  if (groups) run_groups(quant_ranges_f32, groups, (void *[]){x, parts}, &p);
  run_groups(quant_choose_f32, 1, (void *[]){parts, &scale, &zero}, &few);
  float from = n ? fminf(0, low) : 0, to = n ? fmaxf(0, high) : 0, step = to == from ? 1 : (to - from) / 255.0f;
  double z = fmin(fmax(rint((double)(-from / step)), 0), 255);
  if (scale != step || zero != (int)z)
    fail_msg("%d numbers, %g at %d, %g at %d: scale %g, zero %d, wanted %g, %g", n, (double)low, low_at, (double)high,
             high_at, (double)scale, zero, (double)step, z);
  free(x);
}

static void test_ranges(void **state) {
  static const struct {
    int n, low_at, high_at;
  } rows[] = {{0, 0, 0},     {1, 0, 0},         {2, 0, 1},         {2, 1, 0},         {128, 127, 0},
              {513, 512, 0}, {4096, 600, 3000}, {65536, 65535, 0}, {65537, 0, 65536}, {200000, 199999, 70000}};
  static const float ranges[][2] = {{-3, 5}, {1, 9}, {-8, -0.5f}, {-1e-30f, 1e30f}, {0, 0}};
  (void)state;
  for (size_t i = 0; i < OX_COUNT(rows); i++)
    for (size_t k = 0; k < OX_COUNT(ranges); k++) {
      bool one = rows[i].low_at == rows[i].high_at;
      check_range(rows[i].n, rows[i].low_at, rows[i].high_at, ranges[k][0], one ? ranges[k][0] : ranges[k][1]);
    }
}

static void test_sums(void **state) {
  (void)state;
  for (int form = 0; form < 8; form++) check_sum(form & 1 ? QLINEAR_ADD : QLINEAR_MUL, form >> 1 & 1, form >> 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_products),     cmocka_unit_test(test_convolutions),
      cmocka_unit_test(test_quantization), cmocka_unit_test(test_ranges),
      cmocka_unit_test(test_sums),         cmocka_unit_test(test_dequantization_of_large_integers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
