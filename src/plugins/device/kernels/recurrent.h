/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/recurrent.h - recurrent cells, a launch for each step of all directions. A product before has computed
 * the inputs' contributions to all gates. |state| holds floats: h, double-buffered [2][direction, row, unit] by the
 * parity of the step, then c of an LSTM (z of a GRU), then r * h of a GRU. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/recurrent_params.h"
#include "plugins/device/kernels/recurrent_cell.h"

KERNEL(recurrent_begin, recurrent_params) {
  BUFFER(const REAL, h, 0);
  BUFFER(const REAL, c, 1);
  BUFFER(float, state, 2);
  PARAMS(recurrent_params, p);
  FOR_ITEMS(t, 256) {
    int i = GROUP(0) * 256 + t, n = p.dirs * p.batch * p.hidden;
    if (i < n) {
      int from = recurrent_at(&p, i / p.hidden / p.batch, i / p.hidden % p.batch) + i % p.hidden;
      state[i] = p.has_h ? LOAD(h, from) : 0.0f;
      state[2 * n + i] = p.has_c ? LOAD(c, from) : 0.0f;
    }
  }
}

KERNEL(recurrent_end, recurrent_params) {
  BUFFER(const float, state, 0);
  BUFFER(REAL, h, 1);
  BUFFER(REAL, c, 2);
  PARAMS(recurrent_params, p);
  FOR_ITEMS(t, 256) {
    int i = GROUP(0) * 256 + t, n = p.dirs * p.batch * p.hidden;
    if (i < n) {
      int to = recurrent_at(&p, i / p.hidden / p.batch, i / p.hidden % p.batch) + i % p.hidden;
      if (p.has_h) STORE(h, to, state[p.seq % 2 * n + i]);
      if (p.has_c) STORE(c, to, state[2 * n + i]);
    }
  }
}

/* x: [direction, row of X, gate, unit]; r: [direction, gate, unit, unit]. */
KERNEL(recurrent_step, recurrent_params) {
  BUFFER(const REAL, x, 0);
  BUFFER(const REAL, r, 1);
  BUFFER(const REAL, bias, 2);
  BUFFER(const int, lens, 3);
  BUFFER(const REAL, peep, 4);
  BUFFER(float, state, 5);
  BUFFER(REAL, y, 6);
  PARAMS(recurrent_params, p);
  LOCAL(float, parts, [RECURRENT_UNITS * RECURRENT_GATES * RECURRENT_ROWS * (RECURRENT_LANES + 1)]);
  int blocks = (p.batch + RECURRENT_ROWS - 1) / RECURRENT_ROWS, tiles = (p.hidden + RECURRENT_UNITS - 1) / RECURRENT_UNITS;
  int j0 = GROUP(0) % tiles * RECURRENT_UNITS, row0 = GROUP(0) / tiles % blocks * RECURRENT_ROWS;
  int dir = GROUP(0) / tiles / blocks, n = p.dirs * p.batch * p.hidden;
  int before = p.step % 2 * n, base = dir * p.batch * p.hidden;
  int from = p.phase == RECURRENT_CANDIDATE ? 3 * n : before;
  FOR_ITEMS(t, 256) {
    float sums[RECURRENT_GATES][RECURRENT_ROWS];
    int lane = t % RECURRENT_LANES, unit = t / RECURRENT_LANES, j = MIN_OF(j0 + unit, p.hidden - 1);
    UNROLL for (int g = 0; g < RECURRENT_GATES; g++) {
      UNROLL for (int i = 0; i < RECURRENT_ROWS; i++) sums[g][i] = 0.0f;
    }
    for (int k = lane; k < p.hidden; k += RECURRENT_LANES) {
      float h[RECURRENT_ROWS];
      UNROLL for (int i = 0; i < RECURRENT_ROWS; i++) h[i] =
          row0 + i < p.batch ? state[from + base + (row0 + i) * p.hidden + k] : 0.0f;
      UNROLL for (int g = 0; g < RECURRENT_GATES; g++) {
        if (g >= p.first_gate && g < p.end_gate) {
          float w = LOAD(r, ((dir * p.gates + g) * p.hidden + j) * p.hidden + k);
          UNROLL for (int i = 0; i < RECURRENT_ROWS; i++) sums[g][i] = FMAF(w, h[i], sums[g][i]);
        }
      }
    }
    UNROLL for (int g = 0; g < RECURRENT_GATES; g++) {
      UNROLL for (int i = 0; i < RECURRENT_ROWS; i++)
        parts[((unit * RECURRENT_ROWS + i) * RECURRENT_GATES + g) * (RECURRENT_LANES + 1) + lane] = sums[g][i];
    }
  }
  BARRIER;
  /* Reduce each sum by four items, then by one. */
  FOR_ITEMS(t, 256) {
    int at = t / 4 * (RECURRENT_LANES + 1) + t % 4 * 16;
    float sum = 0.0f;
    for (int i = 0; i < 16; i++) sum += parts[at + i];
    parts[at] = sum;
  }
  BARRIER;
  FOR_ITEMS(t, 256) {
    int unit = t / RECURRENT_ROWS, j = j0 + unit, row = row0 + t % RECURRENT_ROWS;
    if (t < RECURRENT_UNITS * RECURRENT_ROWS && j < p.hidden && row < p.batch) {
      float sums[RECURRENT_GATES];
      UNROLL for (int g = 0; g < RECURRENT_GATES; g++) {
        int sum = (t * RECURRENT_GATES + g) * (RECURRENT_LANES + 1);
        sums[g] = parts[sum] + parts[sum + 16] + parts[sum + 32] + parts[sum + 48];
      }
      recurrent_finish(&p, x, bias, lens, peep, state, y, dir, row, j, sums);
    }
  }
}
