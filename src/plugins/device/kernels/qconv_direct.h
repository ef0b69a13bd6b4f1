/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/qconv_direct.h - direct 8-bit convolution, for groups of few outputs (depthwise) and for devices that
 * are CPUs: four pixels of a row per item, with unpacked weights. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/qproduct.h"

KERNEL(qconv_direct, qconv_params) {
  BUFFER(const char, x, 0);
  BUFFER(const char, w, 1);
  BUFFER(const int4, head, 2);
  BUFFER(const char, x_zero, 3);
  BUFFER(const char, w_zero, 4);
  BUFFER(const char, y_zero, 5);
  BUFFER(char, y, 6);
  PARAMS(qconv_params, p);
  FOR_ITEMS(t, 256) {
    int item = GROUP(0) * 256 + t;
    if (item < p.n) {
      int quads = (p.out[2] + 3) / 4, ox = item % quads * 4, oy = item / quads % p.out[1],
          rest = item / quads / p.out[1];
      int oz = rest % p.out[0], plane = rest / p.out[0], filter = plane % (p.group * p.o);
      int image = plane / (p.group * p.o), sums[4] = {0, 0, 0, 0};
      int from = image * p.x_image + filter / p.o * p.c * p.x_channel;
      int tap = filter * p.c * p.extent[0] * p.extent[1] * p.extent[2];
      int zx = q_zero(x_zero, p.x_kind, p.has_x_zero - 1, 0), zw = q_zero(w_zero, p.w_kind, p.w_zero_step, filter);
      for (int c = 0; c < p.c; c++) {
        for (int kz = 0; kz < p.extent[0]; kz++) {
          int z = oz * p.stride[0] - p.pad[0] + kz * p.dilation[0], z_in = z >= 0 && z < p.in[0];
          for (int ky = 0; ky < p.extent[1]; ky++) {
            int row = oy * p.stride[1] - p.pad[1] + ky * p.dilation[1], in = z_in && row >= 0 && row < p.in[1];
            for (int kx = 0; kx < p.extent[2]; kx++, tap++) {
              int i = ox * p.stride[2] - p.pad[2] + kx * p.dilation[2];
              if (in) {
                int weight = q_byte(w, p.w_kind, tap) - zw;
                int at = from + c * p.x_channel + (z * p.in[1] + row) * p.in[2] * p.x_pixel;
                UNROLL for (int j = 0; j < 4; j++, i += p.stride[2]) {
                  if (i >= 0 && i < p.in[2]) sums[j] += (q_byte(x, p.x_kind, at + i * p.x_pixel) - zx) * weight;
                }
              }
            }
          }
        }
      }
      int4 h = head[filter];
      int zero_y = q_y_zero(y_zero, p.y_kind, p.has_y_zero),
          to = image * p.y_image + filter * p.y_channel + ((oz * p.out[1] + oy) * p.out[2] + ox) * p.y_pixel;
      UNROLL for (int j = 0; j < 4; j++) {
        int sum = (int)((unsigned)sums[j] + (unsigned)h.x);
        if (ox + j < p.out[2])
          q_store(y, p.y_kind, to + j * p.y_pixel, q_result(sum, FLOAT_OF(h.w), p.y_kind, zero_y, p.low, p.high, 0.0f));
      }
    }
  }
}
