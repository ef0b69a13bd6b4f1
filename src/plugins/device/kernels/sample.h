/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/sample.h - GridSample: interpolates images at given positions. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/sample_params.h"

FUNCTION float sample_reflect(float x, float low, float high) {
  float y = x, range = high - low;
  if (!(x >= low && x <= high)) {
    y = low;
    if (range > 0.0f && x - x == 0.0f) {
      float d = x < low ? low - x : x - high, turns = FLOORF(d / range), rest = d - turns * range;
      int even = FMODF(turns, 2.0f) == 0.0f, below = x < low;
      y = below == even ? low + rest : high - rest;
    }
  }
  return y;
}

/* The pixel for index |i| of an axis, after padding; -1: zero. */
FUNCTION int sample_pixel(const sample_params *p, float i, int n, float low, float high) {
  float last = (float)(n - 1);
  int at = -1;
  if (i >= 0.0f && i <= last) {
    at = (int)i;
  } else if (p->pad == SAMPLE_BORDER && !ISNAN(i)) {
    at = i < 0.0f ? 0 : n - 1;
  } else if (p->pad == SAMPLE_REFLECTION && !ISNAN(i)) {
    float r = sample_reflect(i, low, high);
    at = r <= 0.0f ? 0 : r >= last ? n - 1 : (int)r;
  }
  return at;
}

/* Finds up to four pixels of one axis and their weights; returns their number. */
FUNCTION int sample_taps(const sample_params *p, float v, int n, int *at, float *w) {
  float x = p->align_corners ? (v + 1.0f) / 2.0f * (float)(n - 1) : ((v + 1.0f) * (float)n - 1.0f) / 2.0f;
  float low = p->align_corners ? 0.0f : -0.5f, high = p->align_corners ? (float)(n - 1) : (float)n - 0.5f;
  int taps = p->mode == SAMPLE_LINEAR ? 2 : p->mode == SAMPLE_CUBIC ? 4 : 1;
  if (p->mode == SAMPLE_NEAREST) x = RINTF(x);
  if (!(x >= low && x <= high)) { /* cubic keeps the position and pads each pixel instead */
    if (p->pad == SAMPLE_BORDER && p->mode != SAMPLE_CUBIC) {
      x = x > high ? (float)(n - 1) : 0.0f;
    } else if (p->pad == SAMPLE_REFLECTION) {
      x = sample_reflect(x, low, high);
    }
  }
  float base = p->mode == SAMPLE_NEAREST ? x - FMODF(x, 1.0f) : FLOORF(x), t = x - base;
  w[0] = 1.0f;
  if (p->mode == SAMPLE_LINEAR) w[0] = 1.0f - t, w[1] = t;
  if (p->mode == SAMPLE_CUBIC) {
    const float a = -0.75f;
    float u = 1.0f - t;
    w[0] = ((a * (t + 1.0f) - 5.0f * a) * (t + 1.0f) + 8.0f * a) * (t + 1.0f) - 4.0f * a;
    w[1] = ((a + 2.0f) * t - (a + 3.0f)) * t * t + 1.0f;
    w[2] = ((a + 2.0f) * u - (a + 3.0f)) * u * u + 1.0f;
    w[3] = ((a * (u + 1.0f) - 5.0f * a) * (u + 1.0f) + 8.0f * a) * (u + 1.0f) - 4.0f * a;
  }
  for (int k = 0; k < taps; k++) at[k] = sample_pixel(p, base + (float)(taps == 4 ? k - 1 : k), n, low, high);
  return taps;
}

KERNEL(grid_sample, sample_params) {
  BUFFER(const REAL, x, 0);
  BUFFER(const REAL, grid, 1);
  BUFFER(REAL, y, 2);
  PARAMS(sample_params, p);
  FOR_ITEMS(t, 256) {
    int item = GROUP(0) * 256 + t;
    if (item < p.n) {
      int blocks = (p.channels + SAMPLE_CHANNELS - 1) / SAMPLE_CHANNELS, point = item % p.points;
      int block = item / p.points % blocks, image = item / p.points / blocks, volume = p.in[0] * p.in[1] * p.in[2];
      int at[3][4], taps[3] = {1, 1, 1}, c0 = block * SAMPLE_CHANNELS;
      float w[3][4], sums[SAMPLE_CHANNELS];
      at[0][0] = at[1][0] = 0, w[0][0] = w[1][0] = 1.0f;
      /* the grid has x first */
      for (int a = 3 - p.axes; a < 3; a++)
        taps[a] = sample_taps(&p, LOAD(grid, (image * p.points + point) * p.axes + 2 - a), p.in[a], at[a], w[a]);
      UNROLL for (int c = 0; c < SAMPLE_CHANNELS; c++) sums[c] = 0.0f;
      for (int i = 0; i < taps[0]; i++) {
        for (int j = 0; j < taps[1]; j++) {
          for (int k = 0; k < taps[2]; k++) {
            int place = (at[0][i] * p.in[1] + at[1][j]) * p.in[2] + at[2][k];
            float weight = w[0][i] * w[1][j] * w[2][k];
            if (at[0][i] >= 0 && at[1][j] >= 0 && at[2][k] >= 0) {
              UNROLL for (int c = 0; c < SAMPLE_CHANNELS; c++) {
                if (c0 + c < p.channels)
                  sums[c] = FMAF(weight, LOAD(x, (image * p.channels + c0 + c) * volume + place), sums[c]);
              }
            }
          }
        }
      }
      for (int c = 0; c < SAMPLE_CHANNELS; c++) {
        if (c0 + c < p.channels) STORE(y, (image * p.channels + c0 + c) * p.points + point, sums[c]);
      }
    }
  }
}
