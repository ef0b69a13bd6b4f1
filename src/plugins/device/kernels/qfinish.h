/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/qfinish.h - the epilogue of 8-bit products with split k: adds up partial sums and requantizes. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/qproduct.h"

KERNEL(qfinish, qfinish_params) {
  BUFFER(const int, parts, 0);
  BUFFER(const int4, head, 1);
  BUFFER(const char, x_zero, 2);
  BUFFER(const float, x_scale, 3);
  BUFFER(const char, y_zero, 4);
  BUFFER(const float, bias, 5);
  BUFFER(char, y, 6);
  PARAMS(qfinish_params, p);
  FOR_ITEMS(t, 256) {
    int i = GROUP(0) * 256 + t;
    if (i < p.n) {
      int at = i / p.inner % p.rows, row = i / p.rows;
      int4 h = head[at];
      unsigned sum = 0;
      for (int s = 0; s < p.splits; s++) sum += (unsigned)parts[s * p.n + i];
      float scale = FLOAT_OF(h.w);
      if (p.x_scale_step >= 0) scale = x_scale[row * p.x_scale_step] * scale;
      int zx = q_zero(x_zero, p.x_kind, p.x_zero_step, p.x_zero_step > 0 ? row : 0);
      int result = q_result(q_sum((int)sum, h, zx, 0), scale, p.y_kind, q_y_zero(y_zero, p.y_kind, p.has_y_zero), p.low,
                            p.high, p.has_bias ? bias[at] : 0.0f);
      q_store(y, p.y_kind, i, result);
    }
  }
}
