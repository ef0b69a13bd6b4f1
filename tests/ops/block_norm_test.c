/* SPDX-License-Identifier: Apache-2.0
 * ops/block_norm_test.c - normalizations of channels in blocks on every instruction set, against sums in double over
 * the plain tensor. Lanes that no channel has hold NaN; a NaN stays in its channel. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "support/block_layout.h"
#include "support/check.h"
#include "support/one_node.h"

enum { MOST_CHANNELS = 48 };
static const int64_t cases[][3] = {{1, 1, 1},    {2, 16, 1},  {2, 17, 49},   {1, 40, 511},
                                   {2, 33, 512}, {1, 5, 513}, {1, 18, 3000}, {3, 20, 0}};
static const char *const isas[] = {"scalar", "avx2", "avx512", "neon"};

typedef struct planes {
  int64_t batch, channels, pixels;
  float *plain, *blocks;
  float scale[MOST_CHANNELS], bias[MOST_CHANNELS], mean[MOST_CHANNELS], var[MOST_CHANNELS];
} planes;

/* Channels with means far from zero: that must cost no digits. */
static void fill(planes *t, const int64_t *dims) {
  int64_t blocks = dims[0] * OX_CEIL_DIV(dims[1], 16) * dims[2] * 16;
  uint32_t seed = 5;
  t->batch = dims[0], t->channels = dims[1], t->pixels = dims[2];
  t->plain = malloc(((size_t)(dims[0] * dims[1] * dims[2]) + 1) * 4), t->blocks = malloc(((size_t)blocks + 1) * 4);
  for (int64_t i = 0; i < blocks; i++) t->blocks[i] = NAN;
  for (int64_t c = 0; c < t->channels; c++) {
    t->scale[c] = 0.5f + 0.1f * (float)(c % 7), t->bias[c] = (float)(c % 5) - 2;
    t->mean[c] = (float)(c % 3) * 100, t->var[c] = 0.3f + 0.1f * (float)(c % 11);
  }
  for (int64_t n = 0; n < t->batch; n++)
    for (int64_t c = 0; c < t->channels; c++)
      for (int64_t p = 0; p < t->pixels; p++) {
        float v = (float)(((seed = seed * 1664525 + 1013904223) >> 16) % 2001) * 0.001f - 1 + (float)(c % 3) * 100;
        t->plain[(n * t->channels + c) * t->pixels + p] = t->blocks[block_place(n, c, p, t->channels, t->pixels)] = v;
      }
}

static double wanted(const planes *t, bool instance, const float *plane, int64_t c, int64_t p) {
  double mean = (double)t->mean[c], var = (double)t->var[c];
  if (instance) {
    mean = var = 0;
    for (int64_t i = 0; i < t->pixels; i++) mean += (double)plane[i] / (double)t->pixels;
    for (int64_t i = 0; i < t->pixels; i++)
      var += ((double)plane[i] - mean) * ((double)plane[i] - mean) / (double)t->pixels;
  }
  double y = (double)t->scale[c] * ((double)plane[p] - mean) / sqrt(var + 1e-3) + (double)t->bias[c];
  return fmax(y, -0.5);
}

static void check(const int64_t *dims, const char *isa, int64_t run_tiles, bool instance) {
  planes t;
  one_node n;
  fill(&t, dims);
  one_node_init(&n, "ai.onyx", instance ? "BlockInstanceNormalization" : "BlockBatchNormalization", 1, 1);
  n.isa = ox_isa_cap(ox_isa_host(), isa), n.run_tiles = run_tiles;
  one_node_float(&n, "epsilon", 1e-3f), one_node_str(&n, "activation", "Clip");
  one_node_floats(&n, "activation_params", 2, (const float[]){-0.5f, 1e30f});
  one_node_input(&n, OX_F32, 4, (int64_t[]){t.batch, OX_CEIL_DIV(t.channels, 16), t.pixels, 16}, t.blocks);
  one_node_const(&n, OX_F32, 1, &t.channels, t.scale), one_node_const(&n, OX_F32, 1, &t.channels, t.bias);
  if (!instance) one_node_const(&n, OX_F32, 1, &t.channels, t.mean), one_node_const(&n, OX_F32, 1, &t.channels, t.var);
  CHECK_OK(one_node_run(&n));
  for (int64_t i = 0; i < t.batch * t.channels; i++)
    for (int64_t p = 0; p < t.pixels; p += 1 + t.pixels / 64) {
      double want = wanted(&t, instance, t.plain + i * t.pixels, i % t.channels, p);
      double got =
          (double)((float *)n.out[0].data)[block_place(i / t.channels, i % t.channels, p, t.channels, t.pixels)];
      if (!(fabs(got - want) <= 3e-5))
        fail_msg("%s, %d x %d x %d, plane %d, pixel %d: %g, wanted %g", isa, (int)dims[0], (int)dims[1], (int)dims[2],
                 (int)i, (int)p, got, want);
    }
  one_node_deinit(&n);
  free(t.plain), free(t.blocks);
}

static void test_both_on_every_instruction_set(void **state) {
  (void)state;
  for (size_t k = 0; k < OX_COUNT(isas); k++)
    for (size_t i = 0; i < OX_COUNT(cases); i++)
      for (int64_t tiles = 0; tiles < 2; tiles++)
        check(cases[i], isas[k], tiles, false), check(cases[i], isas[k], tiles, true);
}

static void test_a_nan_stays_in_its_channel(void **state) {
  (void)state;
  static const int64_t dims[] = {1, 20, 40};
  for (int instance = 0; instance < 2; instance++) {
    planes t;
    one_node n;
    fill(&t, dims);
    t.blocks[block_place(0, 3, 7, t.channels, t.pixels)] = NAN;
    one_node_init(&n, "ai.onyx", instance ? "BlockInstanceNormalization" : "BlockBatchNormalization", 1, 1);
    one_node_input(&n, OX_F32, 4, (int64_t[]){1, 2, 40, 16}, t.blocks);
    one_node_const(&n, OX_F32, 1, &t.channels, t.scale), one_node_const(&n, OX_F32, 1, &t.channels, t.bias);
    if (!instance)
      one_node_const(&n, OX_F32, 1, &t.channels, t.mean), one_node_const(&n, OX_F32, 1, &t.channels, t.var);
    CHECK_OK(one_node_run(&n));
    for (int64_t c = 0; c < 20; c++)
      for (int64_t p = 0; p < 40; p++)
        if (!isnan(((float *)n.out[0].data)[block_place(0, c, p, t.channels, t.pixels)]) !=
            !(c == 3 && (instance || p == 7)))
          fail_msg("channel %d, pixel %d", (int)c, (int)p);
    one_node_deinit(&n);
    free(t.plain), free(t.blocks);
  }
}

static void test_what_does_not_fit_is_refused(void **state) {
  (void)state;
  static const float x[64];
  one_node n;
  one_node_init(&n, "ai.onyx", "BlockInstanceNormalization", 1, 1);
  one_node_input(&n, OX_F32, 4, (int64_t[]){1, 2, 1, 16}, x);
  one_node_const(&n, OX_F32, 1, (int64_t[]){16}, x), one_node_const(&n, OX_F32, 1, (int64_t[]){16}, x);
  CHECK_FAILS(one_node_run(&n), OX_SHAPE_MISMATCH, "input 1 must have one element per channel of X");
  one_node_deinit(&n);
  one_node_init(&n, "ai.onyx", "BlockBatchNormalization", 1, 1);
  one_node_input(&n, OX_F32, 4, (int64_t[]){1, 1, 1, 16}, x);
  for (int i = 0; i < 4; i++) one_node_input(&n, OX_F32, 1, (int64_t[]){16}, x);
  CHECK_FAILS(one_node_run(&n), OX_INVALID_MODEL, "input 1 must be a constant");
  one_node_deinit(&n);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_both_on_every_instruction_set),
                                     cmocka_unit_test(test_a_nan_stays_in_its_channel),
                                     cmocka_unit_test(test_what_does_not_fit_is_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
