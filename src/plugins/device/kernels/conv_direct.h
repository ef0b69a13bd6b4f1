/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/conv_direct.h - direct convolution for groups of few outputs, and col2im of transposed convolutions.
 */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/conv_params.h"
#include "plugins/device/kernels/tail.h"

/* An item computes one output element; adjacent items read adjacent elements. */
KERNEL(conv_direct, conv_params) {
  BUFFER(const REAL, x, 0);
  BUFFER(const REAL, w, 1);
  BUFFER(REAL, y, 2);
  TAIL_BUFFERS(3, 4, 5);
  PARAMS(conv_params, p);
  FOR_ITEMS(t, 256) {
    int at = GROUP(0) * 256 + t;
    if (at < p.n) {
      int pixel = at % p.pixels, plane = at / p.pixels, filter = plane % (p.group * p.o);
      int image = plane / (p.group * p.o), group = filter / p.o;
      int z0 = pixel / (p.out[1] * p.out[2]) * p.stride[0] - p.pad[0];
      int y0 = pixel / p.out[2] % p.out[1] * p.stride[1] - p.pad[1], x0 = pixel % p.out[2] * p.stride[2] - p.pad[2];
      int from = (image * p.group + group) * p.c * p.in[0] * p.in[1] * p.in[2], weight = filter * p.k;
      float sum = 0.0f;
      for (int c = 0; c < p.c; c++, from += p.in[0] * p.in[1] * p.in[2]) {
        for (int kz = 0; kz < p.extent[0]; kz++) {
          int z = z0 + kz * p.dilation[0];
          for (int ky = 0; ky < p.extent[1]; ky++, weight += p.extent[2]) {
            int row = y0 + ky * p.dilation[1];
            if (z >= 0 && z < p.in[0] && row >= 0 && row < p.in[1]) {
              for (int kx = 0; kx < p.extent[2]; kx++) {
                int i = x0 + kx * p.dilation[2];
                if (i >= 0 && i < p.in[2])
                  sum = FMAF(LOAD(x, from + (z * p.in[1] + row) * p.in[2] + i), LOAD(w, weight + kx), sum);
              }
            }
          }
        }
      }
      STORE(y, at, tail_apply(&p.tail, sum, at, o0, o1, o2));
    }
  }
}

/* Depthwise 3 x 3 convolution without dilation: weights in registers, four pixels of a row per item. p.n: items. */
KERNEL(conv_depthwise3, conv_params) {
  BUFFER(const REAL, x, 0);
  BUFFER(const REAL, w, 1);
  BUFFER(REAL, y, 2);
  TAIL_BUFFERS(3, 4, 5);
  PARAMS(conv_params, p);
  FOR_ITEMS(t, 256) {
    int item = GROUP(0) * 256 + t;
    if (item < p.n) {
      int quads = (p.out[2] + 3) / 4, ox = item % quads * 4, oy = item / quads % p.out[1];
      int plane = item / quads / p.out[1], filter = plane % (p.group * p.o);
      int from = plane / p.o * p.in[1] * p.in[2];
      float sums[4] = {0.0f, 0.0f, 0.0f, 0.0f};
      UNROLL for (int ky = 0; ky < 3; ky++) {
        int row = oy * p.stride[1] - p.pad[1] + ky;
        if (row >= 0 && row < p.in[1]) {
          UNROLL for (int kx = 0; kx < 3; kx++) {
            float weight = LOAD(w, filter * 9 + ky * 3 + kx);
            UNROLL for (int j = 0; j < 4; j++) {
              int i = (ox + j) * p.stride[2] - p.pad[2] + kx;
              if (i >= 0 && i < p.in[2]) sums[j] = FMAF(LOAD(x, from + row * p.in[2] + i), weight, sums[j]);
            }
          }
        }
      }
      UNROLL for (int j = 0; j < 4; j++) {
        int at = plane * p.pixels + oy * p.out[2] + ox + j;
        if (ox + j < p.out[2]) STORE(y, at, tail_apply(&p.tail, sums[j], at, o0, o1, o2));
      }
    }
  }
}

/* col2im: the columns [image, group, o, taps, pixels of x] are the product of the weights and x; an item sums those
 * that map to its output element. p.in: sizes of x; p.out: of y. */
KERNEL(conv_gather, conv_params) {
  BUFFER(const REAL, x, 0);
  BUFFER(REAL, y, 1);
  TAIL_BUFFERS(2, 3, 4);
  PARAMS(conv_params, p);
  FOR_ITEMS(t, 256) {
    int at = GROUP(0) * 256 + t;
    if (at < p.n) {
      int pixel = at % p.pixels, plane = at / p.pixels;
      int z0 = pixel / (p.out[1] * p.out[2]) + p.pad[0], y0 = pixel / p.out[2] % p.out[1] + p.pad[1];
      int x0 = pixel % p.out[2] + p.pad[2], tap = plane * p.extent[0] * p.extent[1] * p.extent[2];
      float sum = 0.0f;
      for (int kz = 0; kz < p.extent[0]; kz++) {
        int z = z0 - kz * p.dilation[0];
        int z_in = z >= 0 && z % p.stride[0] == 0 && z / p.stride[0] < p.in[0];
        for (int ky = 0; ky < p.extent[1]; ky++) {
          int row = y0 - ky * p.dilation[1];
          int row_in = row >= 0 && row % p.stride[1] == 0 && row / p.stride[1] < p.in[1];
          for (int kx = 0; kx < p.extent[2]; kx++, tap++) {
            int i = x0 - kx * p.dilation[2];
            if (z_in && row_in && i >= 0 && i % p.stride[2] == 0 && i / p.stride[2] < p.in[2])
              sum += LOAD(
                  x, ((tap * p.in[0] + z / p.stride[0]) * p.in[1] + row / p.stride[1]) * p.in[2] + i / p.stride[2]);
          }
        }
      }
      STORE(y, at, tail_apply(&p.tail, sum, at, o0, o1, o2));
    }
  }
}
