/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/quant.h - QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/rows_params.h"
#include "plugins/device/kernels/quant_params.h"
#include "plugins/device/kernels/group_sum.h"
#include "plugins/device/kernels/quant_range.h"

FUNCTION int quant_at(const GLOBAL char *p, int kind, int i) {
  if (kind == QUANT_U8) return ((const GLOBAL unsigned char *)p)[i];
  return kind == QUANT_I8 ? ((const GLOBAL signed char *)p)[i] : ((const GLOBAL int *)p)[i];
}

KERNEL(quantize, quant_params) {
  BUFFER(const REAL, x, 0);
  BUFFER(const REAL, scale, 1);
  BUFFER(const char, zero, 2);
  BUFFER(char, y, 3);
  PARAMS(quant_params, p);
  FOR_ITEMS(t, 256) {
    int i = GROUP(0) * 256 + t;
    if (i < p.n) {
      int c = i / p.inner % p.channels;
      float v = RINTF(LOAD(x, i) / LOAD(scale, c)) + (p.has_zero ? (float)quant_at(zero, p.kind, c) : 0.0f);
      float low = p.kind == QUANT_U8 ? 0.0f : -128.0f, high = p.kind == QUANT_U8 ? 255.0f : 127.0f;
      int q = (int)(v > low ? v < high ? v : high : low);
      y[i] = (char)q;
    }
  }
}

KERNEL(dequantize, quant_params) {
  BUFFER(const char, x, 0);
  BUFFER(const REAL, scale, 1);
  BUFFER(const char, zero, 2);
  BUFFER(REAL, y, 3);
  PARAMS(quant_params, p);
  FOR_ITEMS(t, 256) {
    int i = GROUP(0) * 256 + t;
    if (i < p.n) {
      int c = i / p.inner % p.channels, z = p.has_zero ? quant_at(zero, p.kind, c) : 0, q = quant_at(x, p.kind, i);
      float from_zero = p.kind == QUANT_I32 ? (float)((dev_long)q - z) : (float)(q - z);
      STORE(y, i, from_zero * LOAD(scale, c));
    }
  }
}

/* The lowest and highest element of each group's share, and 0: parts [2][QUANT_PARTS]. */
KERNEL(quant_ranges, quant_params) {
  BUFFER(const REAL, x, 0);
  BUFFER(float, parts, 1);
  PARAMS(quant_params, p);
  LOCAL(float, low, [ROWS_ITEMS]);
  LOCAL(float, high, [ROWS_ITEMS]);
  FOR_ITEMS(t, ROWS_ITEMS) {
    low[t] = high[t] = 0.0f;
    for (int i = GROUP(0) * ROWS_ITEMS + t; i < p.n; i += GROUPS(0) * ROWS_ITEMS) {
      float v = LOAD(x, i);
      QUANT_WIDEN(low[t], high[t], v);
    }
  }
  GROUP_COMBINE(low, MIN_OF);
  GROUP_COMBINE(high, MAX_OF);
  FOR_ITEMS(t, ROWS_ITEMS) {
    if (t == 0) parts[GROUP(0)] = low[0], parts[QUANT_PARTS + GROUP(0)] = high[0];
  }
}

/* Computes scale and zero point from p.n parts, at most one per item, in one group. */
KERNEL(quant_choose, quant_params) {
  BUFFER(const float, parts, 0);
  BUFFER(REAL, scale, 1);
  BUFFER(unsigned char, zero, 2);
  PARAMS(quant_params, p);
  LOCAL(float, low, [ROWS_ITEMS]);
  LOCAL(float, high, [ROWS_ITEMS]);
  FOR_ITEMS(t, ROWS_ITEMS) {
    low[t] = t < p.n ? MIN_OF(0.0f, parts[t]) : 0.0f;
    high[t] = t < p.n ? MAX_OF(0.0f, parts[QUANT_PARTS + t]) : 0.0f;
  }
  GROUP_COMBINE(low, MIN_OF);
  GROUP_COMBINE(high, MAX_OF);
  FOR_ITEMS(t, ROWS_ITEMS) {
    if (t == 0) {
      float step = quant_scale(low[0], high[0]);
      STORE(scale, 0, step);
      zero[0] = (unsigned char)quant_zero(low[0], step);
    }
  }
}
