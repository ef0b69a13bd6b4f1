/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/deform.h - DeformConv's columns, [image, channel, tap, pixel]: for each tap the image is interpolated
 * at the position displaced by its offset; outside of the image are zeros. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/deform_params.h"

KERNEL(deform_columns, deform_params) {
  BUFFER(const REAL, x, 0);
  BUFFER(const REAL, offset, 1);
  BUFFER(const REAL, mask, 2);
  BUFFER(REAL, y, 3);
  PARAMS(deform_params, p);
  FOR_ITEMS(t, 256) {
    int i = GROUP(0) * 256 + t;
    if (i < p.n) {
      int pixel = i % p.pixels, row = i / p.pixels, tap = row % p.taps, group = row / p.taps;
      int at[3], from[8], plane = p.in[0] * p.in[1] * p.in[2];
      float part[3], weight[8];
      for (int a = 2, o = pixel, k = tap; a >= 0; o /= p.out[a], k /= p.extent[a], a--) {
        int own = a - (3 - p.axes);
        float v = (float)(o % p.out[a] * p.stride[a] - p.pad[a] + k % p.extent[a] * p.dilation[a]);
        if (own >= 0) v += LOAD(offset, (row * p.axes + own) * p.pixels + pixel);
        int inside = v > -1.0f && v < (float)p.in[a]; /* NaN is not */
        at[a] = inside ? (int)FLOORF(v) : -2, part[a] = inside ? v - FLOORF(v) : 0.0f;
      }
      for (int c = 0; c < 8; c++) {
        float w = p.has_mask ? LOAD(mask, row * p.pixels + pixel) : 1.0f;
        int place = 0;
        for (int a = 0; a < 3; a++) {
          int up = c >> (2 - a) & 1, v = at[a] + up;
          w *= up ? part[a] : 1.0f - part[a];
          if (v < 0 || v >= p.in[a]) w = 0.0f;
          place = place * p.in[a] + MIN_OF(MAX_OF(v, 0), p.in[a] - 1);
        }
        from[c] = place, weight[c] = w;
      }
      for (int c = 0; c < p.channels; c++) {
        int channel = group * p.channels + c; /* counted over all images */
        float sum = 0.0f;
        for (int k = 0; k < 8; k++) {
          if (weight[k] != 0.0f) sum = FMAF(weight[k], LOAD(x, channel * plane + from[k]), sum);
        }
        STORE(y, (channel * p.taps + tap) * p.pixels + pixel, sum);
      }
    }
  }
}
