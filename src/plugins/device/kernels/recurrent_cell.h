/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/recurrent_cell.h - what a recurrent cell makes of the sums of its gates. Included by kernels. */

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

/* Where row |row| of direction |dir| is in initial and last states. */
FUNCTION int recurrent_at(const recurrent_params *p, int dir, int row) {
  return (p->batch_first ? row * p->dirs + dir : dir * p->batch + row) * p->hidden;
}

/* h of unit |j| of a live row from the sums of its gates and |old|, its h before; *c: of an LSTM, or z of a GRU whose
 * gates came before. */
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
