/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/recurrent_rows.h - recurrent cells of few units, all steps in one launch: rows of a batch are
 * independent, so a group for each row and direction needs no synchronisation with others. An item computes one gate of
 * one unit and keeps its weights in registers. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/recurrent_params.h"
#include "plugins/device/kernels/recurrent_cell.h"

FUNCTION float recurrent_sum(const float *w, const LOCAL_POINTER float *h) {
  float sums[4];
  UNROLL for (int i = 0; i < 4; i++) sums[i] = 0.0f;
  UNROLL for (int k = 0; k < RECURRENT_SMALL; k += 4) {
    UNROLL for (int i = 0; i < 4; i++) sums[i] = FMAF(w[k + i], h[k + i], sums[i]);
  }
  return sums[0] + sums[1] + (sums[2] + sums[3]);
}

/* The buffers are those of recurrent_step. */
KERNEL(recurrent_rows, recurrent_params) {
  BUFFER(const REAL, x, 0);
  BUFFER(const REAL, r, 1);
  BUFFER(const REAL, bias, 2);
  BUFFER(const int, lens, 3);
  BUFFER(const REAL, peep, 4);
  BUFFER(float, state, 5);
  BUFFER(REAL, y, 6);
  PARAMS(recurrent_params, p);
  LOCAL(float, h, [RECURRENT_SMALL]);
  LOCAL(float, reset, [RECURRENT_SMALL]);
  LOCAL(float, of_x, [256]);
  LOCAL(float, of_h, [256]);
  PRIVATE(float, w, 256, [RECURRENT_SMALL]);
  PRIVATE(float, bias_x, 256, [1]);
  PRIVATE(float, bias_h, 256, [1]);
  PRIVATE(float, c, 256, [1]);
  int dir = GROUP(0) / p.batch, row = GROUP(0) % p.batch, n = p.dirs * p.batch * p.hidden, first = GROUP(0) * p.hidden;
  int width = p.gates * p.hidden, length = p.has_lens ? MIN_OF(lens[row], p.seq) : p.seq;
  int linear = p.cell == RECURRENT_GRU && p.linear_before_reset, two = p.cell == RECURRENT_GRU && !linear;
  FOR_ITEMS(t, 256) {
    UNROLL for (int k = 0; k < RECURRENT_SMALL; k++) MINE(w, t)[k] =
        t < width && k < p.hidden ? LOAD(r, (dir * width + t) * p.hidden + k) : 0.0f;
    MINE(bias_x, t)[0] = p.has_bias && t < width ? LOAD(bias, dir * 2 * width + t) : 0.0f;
    MINE(bias_h, t)[0] = p.has_bias && t < width ? LOAD(bias, dir * 2 * width + width + t) : 0.0f;
    MINE(c, t)[0] = t < p.hidden ? state[2 * n + first + t] : 0.0f;
    if (t < RECURRENT_SMALL) h[t] = t < p.hidden ? state[first + t] : 0.0f, reset[t] = 0.0f;
  }
  BARRIER;
  for (int step = 0; step < p.seq; step++) {
    int live = step < length, time = live && (p.backwards >> dir & 1) ? length - 1 - step : step;
    int of = dir * p.seq * p.batch + (p.batch_first ? row * p.seq + time : time * p.batch + row);
    FOR_ITEMS(t, 256) {
      if (t < width) of_x[t] = LOAD(x, of * width + t) + MINE(bias_x, t)[0];
      of_h[t] = recurrent_sum(MINE(w, t), h) + MINE(bias_h, t)[0];
    }
    BARRIER;
    if (two && live) {
      FOR_ITEMS(t, 256) {
        if (t < p.hidden) {
          MINE(c, t)[0] = recurrent_gate(&p, dir, 0, of_x[t] + of_h[t]);
          reset[t] = recurrent_gate(&p, dir, 0, of_x[p.hidden + t] + of_h[p.hidden + t]) * h[t];
        }
      }
      BARRIER;
      FOR_ITEMS(t, 256) { of_h[t] = recurrent_sum(MINE(w, t), reset) + MINE(bias_h, t)[0]; }
      BARRIER;
    }
    FOR_ITEMS(t, 256) {
      if (t < p.hidden) {
        float sums[RECURRENT_GATES], v = h[t];
        UNROLL for (int g = 0; g < RECURRENT_GATES; g++) {
          int at = MIN_OF(g, p.gates - 1) * p.hidden + t;
          sums[g] = linear && g == 2 ? of_x[at] : linear && g == 3 ? of_h[at] : of_x[at] + of_h[at];
        }
        if (live) v = recurrent_cell(&p, two, dir, t, sums, peep, v, MINE(c, t));
        int to = (p.batch_first ? (row * p.seq + time) * p.dirs + dir : (time * p.dirs + dir) * p.batch + row) * p.hidden;
        h[t] = v;
        if (p.has_y) STORE(y, to + t, live ? v : 0.0f);
      }
    }
    BARRIER;
  }
  FOR_ITEMS(t, 256) {
    if (t < p.hidden) {
      state[p.seq % 2 * n + first + t] = h[t];
      if (p.cell == RECURRENT_LSTM) state[2 * n + first + t] = MINE(c, t)[0];
    }
  }
}
