/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/recurrent_bytes.h - steps of an LSTM with 8-bit weights, whose states are quantized in each step
 * (DynamicQuantizeLSTM), with one range for all rows of a direction. |state| is as in recurrent.h, but after c there
 * are ints: for each direction the bits of the scale and the zero point; for each row the sum of its signed bytes; rows
 * of bytes, four in an int, padded with zero points. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/recurrent_params.h"
#include "plugins/device/kernels/recurrent_cell.h"
#include "plugins/device/kernels/rows_params.h"
#include "plugins/device/kernels/group_sum.h"
#include "plugins/device/kernels/qproduct.h"
#include "plugins/device/kernels/quant_range.h"

/* Copies X without the steps after the longest sequence, which must not count in its range. */
KERNEL(recurrent_live, recurrent_params) {
  BUFFER(const REAL, x, 0);
  BUFFER(const int, lens, 1);
  BUFFER(REAL, y, 2);
  PARAMS(recurrent_params, p);
  FOR_ITEMS(t, 256) {
    int i = GROUP(0) * 256 + t, longest = 0;
    if (i < p.seq * p.batch * p.input) {
      for (int row = 0; row < p.batch; row++) longest = MAX_OF(longest, lens[row]);
      STORE(y, i, i / p.input / p.batch < longest ? LOAD(x, i) : 0.0f);
    }
  }
}

FUNCTION int recurrent_byte(float v, float scale, float zero) {
  float r = RINTF(v / scale) + zero;
  return (int)(r > 0.0f ? r < 255.0f ? r : 255.0f : 0.0f) - 128;
}

/* Quantizes the states; a group for each direction. A row counts in the range up to one step after its last. */
KERNEL(recurrent_bytes, recurrent_params) {
  BUFFER(const int, lens, 0);
  BUFFER(float, state, 1);
  PARAMS(recurrent_params, p);
  LOCAL(float, low, [ROWS_ITEMS]);
  LOCAL(float, high, [ROWS_ITEMS]);
  int n = p.dirs * p.batch * p.hidden, dir = GROUP(0), h = p.step % 2 * n + dir * p.batch * p.hidden;
  int c4 = (p.hidden + 3) / 4, beyond = (c4 + QPRODUCT_STEP - 1) / QPRODUCT_STEP * QPRODUCT_STEP * 4 - c4 * 4;
  GLOBAL int *scales = (GLOBAL int *)(state + 3 * n), *sums = scales + 2 * p.dirs;
  GLOBAL int *bytes = sums + p.dirs * p.batch + dir * p.batch * c4;
  FOR_ITEMS(t, ROWS_ITEMS) {
    low[t] = high[t] = 0.0f;
    for (int i = t; i < p.batch * p.hidden; i += ROWS_ITEMS) {
      if (!p.has_lens || p.step <= lens[i / p.hidden]) QUANT_WIDEN(low[t], high[t], state[h + i]);
    }
  }
  GROUP_COMBINE(low, MIN_OF);
  GROUP_COMBINE(high, MAX_OF);
  float scale = quant_scale(low[0], high[0]), zero = quant_zero(low[0], scale);
  int zx = (int)zero - 128;
  FOR_ITEMS(t, ROWS_ITEMS) {
    if (t == 0) scales[2 * dir] = BITS_OF(scale), scales[2 * dir + 1] = zx;
    for (int i = t; i < p.batch * c4; i += ROWS_ITEMS) {
      int row = i / c4, k = i % c4 * 4, v[4];
      UNROLL for (int j = 0; j < 4; j++) v[j] =
          k + j < p.hidden ? recurrent_byte(state[h + row * p.hidden + k + j], scale, zero) : zx;
      bytes[i] = q_pack(v[0], v[1], v[2], v[3]);
    }
  }
  BARRIER;
  FOR_ITEMS(t, ROWS_ITEMS) {
    for (int row = t; row < p.batch; row += ROWS_ITEMS) {
      int sum = beyond * zx;
      for (int k = 0; k < c4; k++) sum = DOT4(bytes[row * c4 + k], 0x01010101, sum);
      sums[dir * p.batch + row] = sum;
    }
  }
}

/* x: [direction, row of X, gate, unit]; r, head: as qweights makes them of [direction, gate, unit]. */
KERNEL(recurrent_bytes_step, recurrent_params) {
  BUFFER(const REAL, x, 0);
  BUFFER(const int, r, 1);
  BUFFER(const int4, head, 2);
  BUFFER(const REAL, bias, 3);
  BUFFER(const int, lens, 4);
  BUFFER(const REAL, peep, 5);
  BUFFER(float, state, 6);
  BUFFER(REAL, y, 7);
  PARAMS(recurrent_params, p);
  LOCAL(int, parts, [RECURRENT_BYTE_UNITS * RECURRENT_GATES * RECURRENT_ROWS * (RECURRENT_BYTE_LANES + 1)]);
  int blocks = (p.batch + RECURRENT_ROWS - 1) / RECURRENT_ROWS;
  int tiles = (p.hidden + RECURRENT_BYTE_UNITS - 1) / RECURRENT_BYTE_UNITS, c4 = (p.hidden + 3) / 4;
  int j0 = GROUP(0) % tiles * RECURRENT_BYTE_UNITS, row0 = GROUP(0) / tiles % blocks * RECURRENT_ROWS;
  int dir = GROUP(0) / tiles / blocks;
  const GLOBAL int *scales = (const GLOBAL int *)(state + 3 * p.dirs * p.batch * p.hidden);
  const GLOBAL int *sums_h = scales + 2 * p.dirs + dir * p.batch;
  const GLOBAL int *bytes = scales + 2 * p.dirs + p.dirs * p.batch + dir * p.batch * c4;
  FOR_ITEMS(t, 256) {
    int sums[RECURRENT_GATES][RECURRENT_ROWS];
    int lane = t % RECURRENT_BYTE_LANES, unit = t / RECURRENT_BYTE_LANES, j = MIN_OF(j0 + unit, p.hidden - 1);
    UNROLL for (int g = 0; g < RECURRENT_GATES; g++) {
      UNROLL for (int i = 0; i < RECURRENT_ROWS; i++) sums[g][i] = 0;
    }
    for (int k = lane; k < c4; k += RECURRENT_BYTE_LANES) {
      int h[RECURRENT_ROWS];
      UNROLL for (int i = 0; i < RECURRENT_ROWS; i++) h[i] = bytes[MIN_OF(row0 + i, p.batch - 1) * c4 + k];
      UNROLL for (int g = 0; g < RECURRENT_GATES; g++) {
        int w = r[((dir * RECURRENT_GATES + g) * p.hidden + j) * c4 + k];
        UNROLL for (int i = 0; i < RECURRENT_ROWS; i++) sums[g][i] = DOT4(w, h[i], sums[g][i]);
      }
    }
    UNROLL for (int g = 0; g < RECURRENT_GATES; g++) {
      UNROLL for (int i = 0; i < RECURRENT_ROWS; i++)
        parts[((unit * RECURRENT_ROWS + i) * RECURRENT_GATES + g) * (RECURRENT_BYTE_LANES + 1) + lane] = sums[g][i];
    }
  }
  BARRIER;
  FOR_ITEMS(t, 256) {
    int at = t * (RECURRENT_BYTE_LANES + 1), sum = 0, gate = t % RECURRENT_GATES;
    int row = MIN_OF(row0 + t / RECURRENT_GATES % RECURRENT_ROWS, p.batch - 1);
    int j = MIN_OF(j0 + t / RECURRENT_GATES / RECURRENT_ROWS, p.hidden - 1);
    int4 own = head[(dir * RECURRENT_GATES + gate) * p.hidden + j];
    for (int i = 0; i < RECURRENT_BYTE_LANES; i++) sum += parts[at + i];
    sum = q_sum(sum, own, scales[2 * dir + 1], sums_h[row]);
    parts[at] = BITS_OF(MULF((float)sum, FLOAT_OF(scales[2 * dir]) * FLOAT_OF(own.w)));
  }
  BARRIER;
  FOR_ITEMS(t, 256) {
    int j = j0 + t / RECURRENT_ROWS, row = row0 + t % RECURRENT_ROWS;
    if (t < RECURRENT_BYTE_UNITS * RECURRENT_ROWS && j < p.hidden && row < p.batch) {
      float sums[RECURRENT_GATES];
      UNROLL for (int g = 0; g < RECURRENT_GATES; g++) sums[g] =
          FLOAT_OF(parts[(t * RECURRENT_GATES + g) * (RECURRENT_BYTE_LANES + 1)]);
      recurrent_finish(&p, x, bias, lens, peep, state, y, dir, row, j, sums);
    }
  }
}
