/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/channels.h - batch normalization, local response normalization: an item for each element. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/channels_params.h"
#include "plugins/device/kernels/tail.h"

KERNEL(batch_norm, channels_params) {
  BUFFER(const REAL, x, 0);
  BUFFER(const REAL, scale, 1);
  BUFFER(const REAL, shift, 2);
  BUFFER(const REAL, mean, 3);
  BUFFER(const REAL, variance, 4);
  BUFFER(REAL, y, 5);
  BUFFER(const REAL, o0, 6);
  BUFFER(const REAL, o1, 7);
  PARAMS(channels_params, p);
  FOR_ITEMS(t, 256) {
    int at = GROUP(0) * 256 + t;
    if (at < p.n) {
      int c = at / p.inner % p.channels;
      float factor = LOAD(scale, c) / SQRTF(LOAD(variance, c) + p.epsilon);
      float v = (LOAD(x, at) - LOAD(mean, c)) * factor + LOAD(shift, c);
      STORE(y, at, tail_apply(&p.tail, v, at, o0, o1, o1));
    }
  }
}

KERNEL(lrn, channels_params) {
  BUFFER(const REAL, x, 0);
  BUFFER(REAL, y, 1);
  TAIL_BUFFERS(2, 3, 4);
  PARAMS(channels_params, p);
  FOR_ITEMS(t, 256) {
    int at = GROUP(0) * 256 + t;
    if (at < p.n) {
      int c = at / p.inner % p.channels, first = c - (p.size - 1) / 2, last = c + p.size / 2;
      int plane = at - c * p.inner;
      float sum = 0.0f;
      for (int i = MAX_OF(first, 0); i <= MIN_OF(last, p.channels - 1); i++) {
        float v = LOAD(x, plane + i * p.inner);
        sum = FMAF(v, v, sum);
      }
      float v = LOAD(x, at) / POWF(p.bias + p.alpha / (float)p.size * sum, p.beta);
      STORE(y, at, tail_apply(&p.tail, v, at, o0, o1, o2));
    }
  }
}
