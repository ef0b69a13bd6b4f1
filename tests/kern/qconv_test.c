/* SPDX-License-Identifier: Apache-2.0
 * kern/qconv_test.c - direct convolutions of bytes give the bits of plain sums on every instruction set: extreme bytes,
 * zero points, padding, both layouts and signs, results out of range. */
#include "kern/qconv/qconv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/extreme_bytes.h"

static uint32_t seed = 5;
static uint8_t byte(void) { return extreme_byte(&seed); }
static int value(uint8_t b, bool is_signed) { return is_signed && b > 127 ? (int)b - 256 : (int)b; }

typedef struct shape {
  const char *name;
  int64_t batch, groups, ic, oc, in[3], kernel[3], stride[3], dilation[3], pad[3];
} shape;
#define PLAIN \
  {1, 1, 1}, {1, 1, 1}, { 0, 0, 0 }
#define ROW(h, w) \
  { 1, h, w }
static const shape shapes[] = {
    {"one", 1, 1, 1, 2, ROW(1, 1), ROW(1, 1), PLAIN},
    {"1x1 in place", 2, 1, 8, 33, ROW(5, 7), ROW(1, 1), PLAIN},
    {"1x1, odd channels", 1, 1, 5, 3, ROW(3, 13), ROW(1, 1), PLAIN},
    {"1x1, stride", 1, 1, 64, 40, ROW(7, 9), ROW(1, 1), {1, 2, 2}, {1, 1, 1}, {0, 0, 0}},
    {"3x3, no padding", 1, 1, 4, 32, ROW(6, 15), ROW(3, 3), PLAIN},
    {"3x3", 1, 1, 12, 17, ROW(5, 26), ROW(3, 3), {1, 1, 1}, {1, 1, 1}, {0, 1, 1}},
    {"3x3, 3 channels, stride", 2, 1, 3, 8, ROW(9, 11), ROW(3, 3), {1, 2, 2}, {1, 1, 1}, {0, 1, 1}},
    {"7x7", 1, 1, 3, 64, ROW(14, 14), ROW(7, 7), {1, 2, 2}, {1, 1, 1}, {0, 3, 3}},
    {"dilated", 1, 1, 4, 5, ROW(9, 9), ROW(3, 2), {1, 1, 1}, {1, 2, 3}, {0, 2, 1}},
    {"groups", 1, 3, 6, 5, ROW(4, 14), ROW(3, 3), {1, 1, 1}, {1, 1, 1}, {0, 1, 1}},
    {"groups in place", 2, 2, 4, 40, ROW(3, 5), ROW(1, 1), PLAIN},
    {"volume", 1, 1, 4, 9, {3, 4, 5}, {2, 3, 2}, {1, 2, 1}, {1, 1, 1}, {1, 0, 1}},
    {"one pixel, wide window", 1, 1, 8, 16, ROW(1, 1), ROW(5, 5), {1, 1, 1}, {1, 1, 1}, {0, 2, 2}},
    {"cropped", 1, 1, 4, 4, ROW(8, 8), ROW(1, 1), {1, 3, 5}, {1, 1, 1}, {0, 0, 0}},
    {"depthwise, one channel", 1, 1, 1, 1, ROW(5, 5), ROW(3, 3), {1, 1, 1}, {1, 1, 1}, {0, 1, 1}},
    {"depthwise 32", 2, 32, 1, 1, ROW(4, 9), ROW(3, 3), {1, 1, 1}, {1, 1, 1}, {0, 1, 1}},
    {"depthwise 16, narrow", 1, 16, 1, 1, ROW(7, 2), ROW(3, 3), {1, 1, 1}, {1, 1, 1}, {0, 1, 1}},
    {"depthwise 48", 1, 48, 1, 1, ROW(3, 11), ROW(3, 3), {1, 1, 1}, {1, 1, 1}, {0, 1, 1}},
    {"depthwise 96, stride", 1, 96, 1, 1, ROW(9, 9), ROW(3, 3), {1, 2, 2}, {1, 1, 1}, {0, 1, 1}},
    {"depthwise 100", 1, 100, 1, 1, ROW(5, 6), ROW(5, 5), {1, 1, 1}, {1, 1, 1}, {0, 2, 2}},
    {"depthwise 64, dilated", 1, 64, 1, 1, ROW(8, 7), ROW(3, 1), {1, 1, 1}, {1, 2, 1}, {0, 2, 0}},
    {"depthwise line", 1, 24, 1, 1, ROW(1, 9000), ROW(1, 3), {1, 1, 1}, {1, 1, 1}, {0, 0, 1}},
};

typedef struct problem {
  const shape *s;
  ox_conv_geom g;
  int64_t taps[3][8], pixels, in_pixels, channels, out_channels, n_taps;
  bool x_signed, w_signed, y_signed, x_last, per_channel, bias;
  float x_scale, y_scale;
  int x_zero, y_zero, least;
  bool small; /* scales below 1 */
  bool mild;  /* weights: mild_byte(&seed) */
  int zero;   /* weights have zero points: 1: one, 2: one for each output channel */
  uint8_t w_zero[128];
  bool z_first;
  bool residual; /* then y_zero and least are those of the sum */
  int conv_zero, z_zero;
  float z_scale, sum_scale;
  uint8_t *z;
  uint8_t *x, *w;
  float *w_scale;
  int32_t *b;
} problem;

static void fill(problem *p) {
  const shape *s = p->s;
  ox_conv_geom *g = &p->g;
  *g = (ox_conv_geom){.batch = s->batch, .groups = s->groups, .ic = s->ic, .oc = s->oc};
  p->pixels = p->in_pixels = p->n_taps = 1;
  for (int a = 0; a < 3; a++) {
    g->in[a] = s->in[a], g->stride[a] = s->stride[a], g->n_taps[a] = s->kernel[a], g->tap[a] = p->taps[a];
    for (int64_t t = 0; t < s->kernel[a]; t++) p->taps[a][t] = t * s->dilation[a] - s->pad[a];
    g->out[a] = (s->in[a] + 2 * s->pad[a] - (s->kernel[a] - 1) * s->dilation[a] - 1) / s->stride[a] + 1;
    p->pixels *= g->out[a], p->in_pixels *= g->in[a], p->n_taps *= g->n_taps[a];
  }
  p->channels = s->groups * s->ic, p->out_channels = s->groups * s->oc;
  size_t nx = (size_t)(s->batch * p->in_pixels * p->channels), nw = (size_t)(p->out_channels * s->ic * p->n_taps);
  p->x = malloc(nx), p->w = malloc(nw);
  p->w_scale = malloc((size_t)p->out_channels * 4), p->b = malloc((size_t)p->out_channels * 4);
  for (size_t i = 0; i < nx; i++) p->x[i] = byte();
  for (size_t i = 0; i < nw; i++) p->w[i] = p->mild ? mild_byte(&seed) ^ (p->w_signed ? 0 : 128) : byte();
  for (size_t i = 0; i < sizeof p->w_zero; i++) /* u8: 1 to 254; s8: -127 to 126 */
    p->w_zero[i] = (uint8_t)((p->zero ? (i * 37 + 9) % 254 + 1 : 128) ^ (p->w_signed ? 128 : 0));
  size_t ny = (size_t)(s->batch * p->pixels * p->out_channels);
  p->z = malloc(ny);
  for (size_t i = 0; i < ny; i++) p->z[i] = byte();
  for (int64_t o = 0; o < p->out_channels; o++) {
    p->w_scale[o] = 0.0007f * (float)(o % 5 + 1) * (o % 7 == 6 && !p->small ? 1e12f : 1); /* some beyond int32, too */
    p->b[o] = (int32_t)(o * 977 % 4096) - 2048;
  }
}

static int want_at(const problem *p, int64_t n, int64_t pixel, int64_t o) {
  const ox_conv_geom *g = &p->g;
  int64_t group = o / g->oc, at[3] = {pixel / g->out[2] / g->out[1], pixel / g->out[2] % g->out[1], pixel % g->out[2]};
  uint32_t sum = p->bias ? (uint32_t)p->b[o] : 0;
  for (int64_t t = 0; t < p->n_taps; t++) {
    int64_t tap[3] = {t / g->n_taps[2] / g->n_taps[1], t / g->n_taps[2] % g->n_taps[1], t % g->n_taps[2]}, c[3];
    bool inside = true;
    for (int a = 0; a < 3; a++) c[a] = at[a] * g->stride[a] + g->tap[a][tap[a]], inside &= c[a] >= 0 && c[a] < g->in[a];
    if (!inside) continue;
    int64_t from = (c[0] * g->in[1] + c[1]) * g->in[2] + c[2];
    for (int64_t i = 0; i < g->ic; i++) {
      int64_t channel = group * g->ic + i;
      int64_t x = p->x_last ? (n * p->in_pixels + from) * p->channels + channel
                            : (n * p->channels + channel) * p->in_pixels + from;
      int a = value(p->x[x], p->x_signed) - p->x_zero;
      int w = value(p->w[(o * g->ic + i) * p->n_taps + t], p->w_signed) -
              value(p->w_zero[p->zero == 2 ? o : 0], p->w_signed);
      sum += (uint32_t)(a * w);
    }
  }
  int32_t total;
  memcpy(&total, &sum, 4);
  float scale = p->x_scale * p->w_scale[p->per_channel ? o : 0] / p->y_scale;
  double low = p->y_signed ? -128 : 0, high = low + 255, v = nearbyint((double)((float)total * scale));
  if (p->residual) {
    uint8_t z = p->z[(n * p->pixels + pixel) * p->out_channels + o];
    double q = fmin(fmax(v + p->conv_zero, low), high);
    float ry = p->y_scale / p->sum_scale, rz = p->z_scale / p->sum_scale, qs = (float)q,
          zs = (float)value(z, p->y_signed);
    float a = p->z_first ? rz : ry, b = p->z_first ? ry : rz, x = p->z_first ? zs : qs, y = p->z_first ? qs : zs;
    int a_zero = p->z_first ? p->z_zero : p->conv_zero, b_zero = p->z_first ? p->conv_zero : p->z_zero;
    float less = b * (float)b_zero, rest = (float)p->y_zero - fmaf(a, (float)a_zero, less);
    v = (double)rintf(fmaf(x, a, fmaf(y, b, rest))) - p->y_zero;
  }
  return (int)fmax(fmin(fmax(v + p->y_zero, p->least), high), low);
}

static void check_problem(const ox_qconv_variant *v, problem *p) {
  fill(p);
  ox_qconv_plan plan;
  if (!ox_qconv_plan_init(&plan, &p->g, v->needs, p->x_signed, p->x_last, p->zero))
    fail_msg("%s: not planned", p->s->name);
  assert_ptr_equal(plan.v, v);
  plan.segment = malloc(plan.table_bytes);
  ox_qconv_plan_tables(&plan);
  ox_qconv_weights w = {.w = p->w,
                        .flip = p->w_signed ? 0 : 128,
                        .zero = p->zero ? p->w_zero : NULL,
                        .zero_step = p->zero == 2,
                        .x_zero = p->x_zero + (p->x_signed ? 128 : 0),
                        .bias = p->bias ? p->b : NULL,
                        .w_scale = p->w_scale,
                        .w_scale_step = p->per_channel,
                        .x_scale = p->x_scale,
                        .y_scale = p->y_scale};
  void *packed = NULL, *scratch = NULL, *image = NULL;
  assert_int_equal(posix_memalign(&packed, 64, ox_qconv_weight_bytes(&plan)), 0);
  assert_int_equal(posix_memalign(&scratch, 64, ox_qconv_weight_scratch(&plan)), 0);
  assert_int_equal(posix_memalign(&image, 64, plan.image_bytes), 0);
  for (int64_t u = 0; u < ox_qconv_weight_units(&plan); u++) ox_qconv_pack(&plan, &w, u, u + 1, packed, scratch);
  size_t n = (size_t)(p->g.batch * p->pixels * p->out_channels);
  uint8_t *y = malloc(n + 1);
  memset(y, 0xcd, n + 1);
  int up = p->y_signed ? 128 : 0;
  bool apart = p->residual && plan.depthwise;
  ox_byte_sum sum = p->z_first
                        ? ox_byte_sum_of(p->z_scale, p->z_zero, p->y_scale, p->conv_zero, p->sum_scale, p->y_zero)
                        : ox_byte_sum_of(p->y_scale, p->conv_zero, p->z_scale, p->z_zero, p->sum_scale, p->y_zero);
  ox_qconv_add add = {sum, p->conv_zero + up, p->z_first};
  ox_qconv_out out = {p->residual ? up : p->y_zero + up, (uint8_t)(p->least + up), p->y_signed ? 128 : 0, p->small,
                      p->residual ? &add : NULL};
  ox_qconv_args a = {
      .x = p->x, .packed = packed, .image = image, .pad = (uint8_t)p->x_zero, .out = out, .y = y, .z = p->z};
  if (apart) a.out.zero = p->conv_zero + up, a.out.least = 0, a.out.add = NULL;
  for (uint32_t stage = 0; stage < plan.n_stages; stage++)
    for (int64_t t = plan.n_tiles[stage] - 1; t >= 0; t--) ox_qconv_run(&plan, &a, stage, t, t + 1);
  if (apart) v->finish(y, p->z, n, &out);
  for (size_t i = 0; i < n; i++) {
    int64_t o = (int64_t)i % p->out_channels, pixel = (int64_t)i / p->out_channels;
    int got = value(y[i], p->y_signed), want = want_at(p, pixel / p->pixels, pixel % p->pixels, o);
    if (got != want)
      fail_msg("%s, \"%s\", signs %d %d %d, last %d, residual %d: pixel %lld, channel %lld is %d, wanted %d", v->name,
               p->s->name, p->x_signed, p->w_signed, p->y_signed, p->x_last, p->residual, (long long)pixel,
               (long long)o, got, want);
  }
  assert_int_equal(y[n], 0xcd);
  void *all[] = {p->x, p->w, p->w_scale, p->b, p->z, packed, scratch, image, y, plan.segment};
  for (size_t i = 0; i < OX_COUNT(all); i++) free(all[i]);
}

static void check_variant(void **state) {
  const ox_qconv_variant *v = *state;
  if (v->needs & ~ox_isa_host()) skip();
  for (size_t i = 0; i < OX_COUNT(shapes); i++)
    for (unsigned f = 0; f < 48; f++) {
      bool y_signed = (f + i) & 1;
      problem p = {.s = &shapes[i],
                   .x_signed = f & 1,
                   .w_signed = !(f & 2),
                   .x_last = !(f & 4),
                   .y_signed = y_signed,
                   .per_channel = f % 3 != 0,
                   .bias = f % 3 != 1,
                   .x_scale = 0.02f,
                   .y_scale = 0.07f,
                   .small = f % 5 == 0,
                   .mild = f % 7 < 3,
                   .zero = (int)f / 16,
                   .residual = f & 8,
                   .z_first = f & 4,
                   .conv_zero = y_signed ? -5 : 120,
                   .z_zero = y_signed ? 4 : 130,
                   .z_scale = f & 2 ? 0.07f : 0.05f, /* equal ones give quotients in the middle of two integers */
                   .sum_scale = f & 2 ? 0.14f : 0.11f,
                   .x_zero = f & 1 ? (int)f % 16 - 128 : 255 - (int)f % 16,
                   .y_zero = y_signed ? -3 : 100,
                   .least = y_signed ? (f & 2 ? -3 : -128)
                            : f & 2  ? 100
                                     : 0};
      check_problem(v, &p);
    }
}

/* All channels of a panel and all heights of a strip. */
static void check_edges(void **state) {
  const ox_qconv_variant *v = *state;
  if (v->needs & ~ox_isa_host()) skip();
  for (int64_t n = 1; n <= OX_MAX(v->mr, v->nr) + 1; n++) {
    shape s = {"edges", 1, 1, 8, OX_MIN(n, v->nr + 1) + 1, ROW(1, n), ROW(1, 1), PLAIN};
    problem p = {.s = &s, .w_signed = true, .x_last = true, .per_channel = true, .bias = true};
    p.x_scale = 0.01f, p.y_scale = 0.3f, p.y_zero = 128, p.small = n % 3 > 0;
    check_problem(v, &p);
    p.mild = true;
    check_problem(v, &p);
  }
}

/* What others stored: a maximum alone, and any number of bytes. */
static void check_finish(void **state) {
  const ox_qconv_variant *v = *state;
  if (v->needs & ~ox_isa_host()) skip();
  for (size_t n = 0; n < 200; n += n < 70 ? 1 : 29) {
    uint8_t *y = malloc(n + 1), *was = malloc(n + 1);
    for (size_t i = 0; i <= n; i++) y[i] = was[i] = byte();
    v->finish(y, NULL, n, &(ox_qconv_out){.zero = 9, .least = 128 - 3, .flip = 128});
    for (size_t i = 0; i < n; i++) assert_int_equal((int8_t)y[i], OX_MAX((int8_t)was[i], -3));
    assert_int_equal(y[n], was[n]);
    free(y), free(was);
  }
}

/* What a copy would make far larger is left to others, and wide ones that would take twice as long. */
static void test_far_apart(void **state) {
  (void)state;
  static const int64_t at[3] = {0, 1, 2};
  ox_conv_geom wide = {1, 1, 64, 64, {1, 1, 8}, {1, 1, 6}, {1, 1, 1}, {1, 1, 3}, {at, at, at}};
  static const int64_t tap[1] = {-1000000}, none[1] = {0};
  ox_conv_geom g = {1, 1, 4, 4, {1, 1, 1}, {1, 1, 3}, {1, 1, 1000000}, {1, 1, 1}, {none, none, tap}};
  ox_qconv_plan p;
  assert_false(ox_qconv_plan_init(&p, &g, 0, false, true, false));
  assert_true(ox_qconv_plan_init(&p, &wide, OX_VNNI, false, true, false));
  assert_false(ox_qconv_plan_init(&p, &wide, OX_VNNI, false, true, true));
}

#if OX_BUILD_AMX_INT8
/* A matrix unit gets layers of many channels and many outputs, depthwise ones never. */
static void test_matrix_unit(void **state) {
  (void)state;
  static const int64_t at[3] = {0, 1, 2};
  static const struct {
    int64_t groups, ic, oc, taps;
    bool direct;
  } rows[] = {{1, 3, 32, 3, true},   {1, 16, 96, 1, true},     {1, 144, 24, 1, true},
              {1, 64, 384, 1, true}, {1, 128, 512, 1, false},  {1, 512, 128, 1, false},
              {1, 64, 64, 3, false}, {1, 1024, 256, 1, false}, {64, 1, 1, 3, true}};
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    int64_t t = rows[i].taps;
    ox_conv_geom g = {1,         rows[i].groups, rows[i].ic,  rows[i].oc, {1, 30, 30}, {1, 31 - t, 31 - t},
                      {1, 1, 1}, {1, t, t},      {at, at, at}};
    ox_qconv_plan p;
    if (ox_qconv_plan_init(&p, &g, OX_VNNI | ox_isa_implied(OX_AMX_INT8), false, true, false) != rows[i].direct)
      fail_msg("%d to %d channels: direct is not %d", (int)rows[i].ic, (int)rows[i].oc, rows[i].direct);
  }
}
#endif

/* Each instruction set that was built gets its own. */
static void test_choice(void **state) {
  (void)state;
  static const struct {
    ox_isa has;
    const char *name;
  } rows[] = {
    {0, "qconv_scalar"},
#if OX_BUILD_AVX2
    {OX_AVX2, "qconv_avx2"},
#endif
#if OX_BUILD_AVX512
    {OX_AVX512, "qconv_avx512"},
#endif
#if OX_BUILD_AVXVNNI
    {OX_AVXVNNI, "qconv_avxvnni"},
#endif
#if OX_BUILD_VNNI
    {OX_VNNI, "qconv_avx512vnni"},
#endif
#if OX_BUILD_NEON
    {OX_NEON, "qconv_neon"},
#endif
  };
  for (size_t i = 0; i < OX_COUNT(rows); i++)
    assert_string_equal(ox_qconv_select(ox_isa_implied(rows[i].has))->name, rows[i].name);
}

int main(void) {
  size_t n, k = 0;
  const ox_qconv_variant *const *v = ox_qconv_variants(&n);
  struct CMUnitTest tests[64];
  assert_true(3 * n + 3 < OX_COUNT(tests));
  tests[k++] = (struct CMUnitTest)cmocka_unit_test(test_far_apart);
  tests[k++] = (struct CMUnitTest)cmocka_unit_test(test_choice);
#if OX_BUILD_AMX_INT8
  tests[k++] = (struct CMUnitTest)cmocka_unit_test(test_matrix_unit);
#endif
  for (size_t i = 0; i < n; i++) {
    tests[k++] = (struct CMUnitTest){v[i]->name, check_variant, NULL, NULL, (void *)(uintptr_t)v[i]};
    tests[k++] = (struct CMUnitTest){v[i]->name, check_edges, NULL, NULL, (void *)(uintptr_t)v[i]};
    tests[k++] = (struct CMUnitTest){v[i]->name, check_finish, NULL, NULL, (void *)(uintptr_t)v[i]};
  }
  return _cmocka_run_group_tests("qconv", tests, k, NULL, NULL);
}
