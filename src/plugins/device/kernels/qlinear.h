/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/qlinear.h - element-wise operators and pools on 8-bit tensors with one scale each: dequantize,
 * compute, quantize, each step rounded as on the CPU. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/pool_params.h"
#include "plugins/device/kernels/pool_window.h"
#include "plugins/device/kernels/qlinear_params.h"

FUNCTION int qlinear_byte(const GLOBAL char *p, int kind, int i) {
  return kind == QUANT_U8 ? ((const GLOBAL unsigned char *)p)[i] : ((const GLOBAL signed char *)p)[i];
}

FUNCTION char qlinear_cut(float v, float scale, int zero, float low, float high) {
  float r = RINTF(v / scale) + (float)zero;
  return (char)(int)(r > low ? r < high ? r : high : low);
}

FUNCTION char qlinear_round(float v, float scale, int zero, int kind) {
  float low = kind == QUANT_U8 ? 0.0f : -128.0f;
  return qlinear_cut(v, scale, zero, low, low + 255.0f);
}

FUNCTION int qlinear_place(const int *size, const int *stride, int i) {
  int at = 0;
  for (int d = MOVE_DIMS - 1; d >= 0; d--) at += i % size[d] * stride[d], i /= size[d];
  return at;
}

KERNEL(qbinary, qbinary_params) {
  BUFFER(const char, a, 0);
  BUFFER(const float, a_scale, 1);
  BUFFER(const char, a_zero, 2);
  BUFFER(const char, b, 3);
  BUFFER(const float, b_scale, 4);
  BUFFER(const char, b_zero, 5);
  BUFFER(const char, y_params, 6); /* the scale, then the zero point */
  BUFFER(char, y, 7);
  PARAMS(qbinary_params, p);
  FOR_ITEMS(t, 256) {
    float sa = a_scale[0], sb = b_scale[0], sy = ((const GLOBAL float *)y_params)[0];
    int za = p.has_a_zero ? qlinear_byte(a_zero, p.kind, 0) : 0,
        zb = p.has_b_zero ? qlinear_byte(b_zero, p.kind, 0) : 0;
    int zy = ((const GLOBAL int *)y_params)[1];
    float ra = sa / sy, rb = sb / sy, rest = (float)zy - FMAF(ra, (float)za, MULF(rb, (float)zb));
    for (int k = 0; k < QLINEAR_EACH; k++) {
      int i = (GROUP(0) * QLINEAR_EACH + k) * 256 + t;
      if (i < p.n) {
        int u = qlinear_byte(a, p.kind, p.flat ? i : qlinear_place(p.size, p.a, i));
        int v = qlinear_byte(b, p.kind, p.flat ? i : qlinear_place(p.size, p.b, i));
        if (p.op == QLINEAR_ADD)
          y[i] = qlinear_cut(FMAF((float)u, ra, FMAF((float)v, rb, rest)), 1.0f, 0, (float)p.low, (float)p.high);
        else
          y[i] = qlinear_cut(MULF(MULF((float)(u - za), (float)(v - zb)), MULF(sa, sb) / sy) + (float)zy, 1.0f, 0,
                             (float)p.low, (float)p.high);
      }
    }
  }
}

/* Stores a scale and a zero point, which may be absent, as a float and an int. */
KERNEL(qparams_join, qunary_params) {
  BUFFER(const float, scale, 0);
  BUFFER(const char, zero, 1);
  BUFFER(int, y, 2);
  PARAMS(qunary_params, p);
  FOR_ITEMS(t, 256) {
    if (GROUP(0) == 0 && t == 0) y[0] = BITS_OF(scale[0]), y[1] = p.has_y_zero ? qlinear_byte(zero, p.y_kind, 0) : 0;
  }
}

KERNEL(qunary, qunary_params) {
  BUFFER(const char, x, 0);
  BUFFER(const float, x_scale, 1);
  BUFFER(const char, x_zero, 2);
  BUFFER(const float, y_scale, 3);
  BUFFER(const char, y_zero, 4);
  BUFFER(char, y, 5);
  PARAMS(qunary_params, p);
  FOR_ITEMS(t, 256) {
    float sx = x_scale[0], sy = y_scale[0];
    int zx = p.has_x_zero ? qlinear_byte(x_zero, p.x_kind, 0) : 0;
    int zy = p.has_y_zero ? qlinear_byte(y_zero, p.y_kind, 0) : 0;
    int same = p.op == QLINEAR_SAME && p.x_kind == p.y_kind && sx == sy && zx == zy;
    for (int k = 0; k < QLINEAR_EACH; k++) {
      int i = (GROUP(0) * QLINEAR_EACH + k) * 256 + t;
      if (i < p.n) {
        float v = MULF((float)(qlinear_byte(x, p.x_kind, i) - zx), sx);
        if (p.op == QLINEAR_SIGMOID) v = 1.0f / (1.0f + EXPF(-v));
        if (p.op == QLINEAR_LEAKY && v < 0.0f) v = MULF(v, p.alpha);
        y[i / p.row * p.to_row + p.to + i % p.row] = same ? x[i] : qlinear_round(v, sy, zy, p.y_kind);
      }
    }
  }
}

KERNEL(qpool, qpool_params) {
  BUFFER(const char, x, 0);
  BUFFER(const float, x_scale, 1);
  BUFFER(const char, x_zero, 2);
  BUFFER(const float, y_scale, 3);
  BUFFER(const char, y_zero, 4);
  BUFFER(char, y, 5);
  PARAMS(qpool_params, q);
  FOR_ITEMS(t, 256) {
    int at = GROUP(0) * 256 + t;
    if (at < q.pool.n) {
      pool_window w = pool_window_of(&q.pool, at);
      int zx = q.has_x_zero ? qlinear_byte(x_zero, q.kind, 0) : 0,
          zy = q.has_y_zero ? qlinear_byte(y_zero, q.kind, 0) : 0;
      int sum = 0, count = 0;
      POOL_TAPS(q.pool, w, z, row, i) {
        int inside = pool_is_inside(&q.pool, z, row, i);
        if (inside) sum += qlinear_byte(x, q.kind, pool_at(&q.pool, &w, z, row, i)) - zx;
        count += pool_counts(&q.pool, inside, z, row, i);
      }
      float mean = (float)sum / (float)MAX_OF(count, 1);
      y[at] = qlinear_round(MULF(mean, x_scale[0]), y_scale[0], zy, q.kind);
    }
  }
}

/* The largest byte of each window; no tail. */
KERNEL(byte_pool, qpool_params) {
  BUFFER(const char, x, 0);
  BUFFER(char, y, 1);
  PARAMS(qpool_params, q);
  FOR_ITEMS(t, 256) {
    int at = GROUP(0) * 256 + t;
    if (at < q.pool.n) {
      pool_window w = pool_window_of(&q.pool, at);
      int most = q.kind == QUANT_U8 ? 0 : -128;
      POOL_TAPS(q.pool, w, z, row, i) {
        if (pool_is_inside(&q.pool, z, row, i)) {
          int v = qlinear_byte(x, q.kind, pool_at(&q.pool, &w, z, row, i));
          most = MAX_OF(most, v);
        }
      }
      y[at] = (char)most;
    }
  }
}
