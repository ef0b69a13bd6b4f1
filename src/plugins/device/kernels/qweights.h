/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/qweights.h - packs 8-bit weights for products: [group, row, tap, channels / 4] ints of four channels,
 * padded with zeros; and computes each row's head (q_sum). */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/qproduct.h"

KERNEL(qweights_pack, qweights_params) {
  BUFFER(const char, w, 0);
  BUFFER(int, packed, 1);
  PARAMS(qweights_params, p);
  FOR_ITEMS(t, 256) {
    int i = GROUP(0) * 256 + t;
    if (i < p.n) {
      int c4 = (p.c + 3) / 4, c = i % c4 * 4, tap = i / c4 % p.taps, row = i / c4 / p.taps, v[4];
      int from = row / p.rows * p.group_step + row % p.rows * p.row_step + tap * p.tap_step + c * p.c_step;
      UNROLL for (int j = 0; j < 4; j++) v[j] = c + j < p.c ? q_byte(w, p.kind, from + j * p.c_step) : 0;
      packed[i] = q_pack(v[0], v[1], v[2], v[3]);
    }
  }
}

KERNEL(qweights_head, qweights_params) {
  BUFFER(const char, w, 0);
  BUFFER(const char, w_zero, 1);
  BUFFER(const int, bias, 2);
  BUFFER(const float, x_scale, 3);
  BUFFER(const float, w_scale, 4);
  BUFFER(const float, y_scale, 5);
  BUFFER(int, head, 6);
  PARAMS(qweights_params, p);
  FOR_ITEMS(t, 256) {
    int row = GROUP(0) * 256 + t;
    if (row < p.n) {
      int from = row / p.rows * p.group_step + row % p.rows * p.row_step, sum = 0;
      int k = ((p.c + 3) / 4 * p.taps + QPRODUCT_STEP - 1) / QPRODUCT_STEP * QPRODUCT_STEP * 4;
      int own = row / p.shared, zero = q_zero(w_zero, p.kind, p.w_zero_step, own);
      for (int c = 0; c < p.c; c++) {
        for (int tap = 0; tap < p.taps; tap++) sum += q_byte(w, p.kind, from + c * p.c_step + tap * p.tap_step);
      }
      float scale = (p.has_x_scale ? x_scale[0] : 1.0f) * p.alpha;
      if (p.w_scale_step >= 0) scale = scale * w_scale[own * p.w_scale_step];
      if (p.has_y_scale) scale = scale / y_scale[0];
      head[row * 4] = p.has_bias ? bias[row] : 0;
      head[row * 4 + 1] = sum - k * zero, head[row * 4 + 2] = zero, head[row * 4 + 3] = BITS_OF(scale);
    }
  }
}
