/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/recurrent_cell.h - recurrent cells, given the sums of their gates. Included by kernels. */

FUNCTION float recurrent_act(int kind, float a, float b, float v) {
  float y = v;
  if (kind == RECURRENT_TANH) {
    y = TANHF(v);
  } else if (kind == RECURRENT_SIGMOID) {
    y = 1.0f / (1.0f + EXPF(-v));
  } else if (kind == RECURRENT_RELU) {
    y = v < 0.0f ? 0.0f : v;
  } else if (kind == RECURRENT_AFFINE) {
    y = a * v + b;
  } else if (kind == RECURRENT_LEAKY) {
    y = v < 0.0f ? a * v : v;
  } else if (kind == RECURRENT_THRESHOLDED) {
    y = v >= a || ISNAN(v) ? v : 0.0f;
  } else if (kind == RECURRENT_SCALED_TANH) {
    y = a * TANHF(b * v);
  } else if (kind == RECURRENT_HARD_SIGMOID) {
    y = a * v + b;
    y = y < 0.0f ? 0.0f : y > 1.0f ? 1.0f : y;
  } else if (kind == RECURRENT_ELU) {
    y = v < 0.0f ? a * (EXPF(v) - 1.0f) : v;
  } else if (kind == RECURRENT_SOFTSIGN) {
    y = v / (1.0f + FABSF(v));
  } else {
    y = v > 0.0f ? v + LOGF(1.0f + EXPF(-v)) : LOGF(1.0f + EXPF(v));
  }
  return y;
}

FUNCTION float recurrent_gate(const recurrent_params *p, int dir, int act, float v) {
  if (p->clip > 0.0f) v = v < -p->clip ? -p->clip : v > p->clip ? p->clip : v;
  return recurrent_act(p->act[dir][act], p->a[dir][act], p->b[dir][act], v);
}

/* The offset of row |row| of direction |dir| in the initial and final states. */
FUNCTION int recurrent_at(const recurrent_params *p, int dir, int row) {
  return (p->batch_first ? row * p->dirs + dir : dir * p->batch + row) * p->hidden;
}

/* The new h of unit |j| from the sums of its gates and |old|, the previous h. |*c|: c of an LSTM, or z of a GRU whose
 * gates were computed by a launch before. */
FUNCTION float recurrent_cell(const recurrent_params *p, int with_z, int dir, int j, const float *sums,
                              const GLOBAL REAL *peep, float old, float *c) {
  if (p->cell == RECURRENT_RNN) return recurrent_gate(p, dir, 0, sums[0]);
  if (p->cell == RECURRENT_LSTM) {
    float of_i = 0.0f, of_o = 0.0f, of_f = 0.0f;
    if (p->has_peep) {
      int first = dir * 3 * p->hidden + j;
      of_i = LOAD(peep, first), of_o = LOAD(peep, first + p->hidden), of_f = LOAD(peep, first + 2 * p->hidden);
    }
    float in = recurrent_gate(p, dir, 0, sums[0] + of_i * *c);
    float forget = p->input_forget ? 1.0f - in : recurrent_gate(p, dir, 0, sums[2] + of_f * *c);
    *c = forget * *c + in * recurrent_gate(p, dir, 1, sums[3]);
    return recurrent_gate(p, dir, 0, sums[1] + of_o * *c) *
           recurrent_act(p->act[dir][2], p->a[dir][2], p->b[dir][2], *c);
  }
  float z = *c, v = sums[2];
  if (!with_z) {
    z = recurrent_gate(p, dir, 0, sums[0]);
    v += recurrent_gate(p, dir, 0, sums[1]) * sums[3];
  }
  return (1.0f - z) * recurrent_gate(p, dir, 1, v) + z * old;
}

/* Adds the inputs' contributions and the biases to |sums|, the products of unit |j|'s gates with the state. For a GRU
 * with linear_before_reset, the state's part of the candidate is kept apart in sums[3]. */
FUNCTION void recurrent_add(const recurrent_params *p, const GLOBAL REAL *x, const GLOBAL REAL *bias, int row, int dir,
                            int j, float *sums) {
  int width = p->gates * p->hidden;
  const int apart = p->cell == RECURRENT_GRU && p->linear_before_reset;
  for (int g = p->first_gate; g < p->end_gate; g++) {
    float of_x = LOAD(x, row * width + g * p->hidden + j);
    float of_h = sums[g];
    if (p->has_bias) {
      of_x += LOAD(bias, dir * 2 * width + g * p->hidden + j);
      of_h += LOAD(bias, dir * 2 * width + width + g * p->hidden + j);
    }
    if (apart && g == 2) {
      sums[2] = of_x, sums[3] = of_h;
    } else {
      sums[g] = of_x + of_h;
    }
  }
}

/* Completes step p->step for unit |j| of row |row|: computes and stores its state and output from |sums|. */
FUNCTION void recurrent_finish(const recurrent_params *p, const GLOBAL REAL *x, const GLOBAL REAL *bias,
                               const GLOBAL int *lens, const GLOBAL REAL *peep, GLOBAL float *state, GLOBAL REAL *y,
                               int dir, int row, int j, float *sums) {
  int n = p->dirs * p->batch * p->hidden, before = p->step % 2 * n, at = (dir * p->batch + row) * p->hidden + j;
  int length = p->has_lens ? MIN_OF(lens[row], p->seq) : p->seq, live = p->step < length;
  int time = live && (p->backwards >> dir & 1) ? length - 1 - p->step : p->step;
  float old = state[before + at], h = old;
  if (live) {
    int of_x = dir * p->seq * p->batch + (p->batch_first ? row * p->seq + time : time * p->batch + row);
    recurrent_add(p, x, bias, of_x, dir, j, sums);
    if (p->phase == RECURRENT_Z_R) {
      state[2 * n + at] = recurrent_gate(p, dir, 0, sums[0]);
      state[3 * n + at] = recurrent_gate(p, dir, 0, sums[1]) * old;
    } else {
      float c = state[2 * n + at];
      h = recurrent_cell(p, p->phase == RECURRENT_CANDIDATE, dir, j, sums, peep, old, &c);
      if (p->cell == RECURRENT_LSTM) state[2 * n + at] = c;
    }
  }
  if (p->phase != RECURRENT_Z_R) {
    int to = (p->batch_first ? (row * p->seq + time) * p->dirs + dir : (time * p->dirs + dir) * p->batch + row) * p->hidden;
    state[n - before + at] = h;
    if (p->has_y) STORE(y, to + j, live ? h : 0.0f);
  }
}
