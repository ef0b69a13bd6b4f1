/* SPDX-License-Identifier: Apache-2.0
 * kern/rnn/rnn_body.h - recurrent cells over the vocabulary. RNN_NAME(x) makes the symbol of cell x. */
#include <math.h>

#include "kern/simd/act_f32.h"

enum { L = VF32_LANES };

/* Has row |row| not ended yet at this step? */
OX_INLINE bool goes_on(const ox_rnn_step *s, size_t row) { return !s->lens || s->step < s->lens[row]; }

/* Sigmoid for gates, tanh for the rest, and no clip: no branches are needed for each vector. */
OX_INLINE bool is_usual(const ox_rnn_step *s, int n) {
  bool usual = s->act[0].kind == OX_ACT_SIGMOID && s->clip == INFINITY;
  for (int i = 1; i < n; i++) usual = usual && s->act[i].kind == OX_ACT_TANH;
  return usual;
}

/* |act| of x, bounded. NaN stays. |usual| and |act| are constants after inlining. */
OX_INLINE vf32 gate(const ox_rnn_step *s, int act, const bool usual, vf32 x) {
  if (usual) return act ? vf32_tanh(x) : vf32_sigmoid(x);
  return vf32_act(s->act[act], vf32_at_most(vf32_at_least(x, -s->clip), s->clip));
}

void RNN_NAME(simple)(const ox_rnn_step *s) {
  for (size_t r = 0; r < s->rows; r++) {
    if (!goes_on(s, r)) continue;
    for (size_t j = 0; j < s->hidden; j += L) {
      size_t n = vf32_lanes_at(j, s->hidden);
      vf32_store_n(s->h + r * s->hidden + j, gate(s, 0, false, vf32_load_n(s->gates + r * s->gates_rs + j, n)), n);
    }
  }
}

OX_INLINE void lstm_at(const ox_rnn_step *s, const bool usual, const float *g, float *h, float *c, size_t j, size_t n) {
  const size_t hs = s->hidden;
  vf32 cell = vf32_load_n(c + j, n), in = vf32_load_n(g + j, n), forget = vf32_load_n(g + 2 * hs + j, n);
  if (!usual && s->peep) {
    in = vf32_fma(vf32_load_n(s->peep + j, n), cell, in);
    forget = vf32_fma(vf32_load_n(s->peep + 2 * hs + j, n), cell, forget);
  }
  in = gate(s, 0, usual, in);
  forget = !usual && s->input_forget ? vf32_sub(vf32_splat(1.0f), in) : gate(s, 0, usual, forget);
  cell = vf32_fma(forget, cell, vf32_mul(in, gate(s, 1, usual, vf32_load_n(g + 3 * hs + j, n))));
  vf32 out = vf32_load_n(g + hs + j, n);
  if (!usual && s->peep) out = vf32_fma(vf32_load_n(s->peep + hs + j, n), cell, out);
  vf32_store_n(c + j, cell, n);
  vf32_store_n(h + j, vf32_mul(gate(s, 0, usual, out), usual ? vf32_tanh(cell) : vf32_act(s->act[2], cell)), n);
}

/* Full vectors are a loop of their own, in which |n| is a constant. */
OX_INLINE void lstm_rows(const ox_rnn_step *s, const bool usual) {
  const size_t full = s->hidden / L * L;
  for (size_t r = 0; r < s->rows; r++) {
    if (!goes_on(s, r)) continue;
    const float *g = s->gates + r * s->gates_rs;
    float *h = s->h + r * s->hidden, *c = s->c + r * s->hidden;
    for (size_t j = 0; j < full; j += L) lstm_at(s, usual, g, h, c, j, L);
    if (full < s->hidden) lstm_at(s, usual, g, h, c, full, s->hidden - full);
  }
}

void RNN_NAME(lstm)(const ox_rnn_step *step) {
  const ox_rnn_step s = *step; /* a copy: the compiler knows that stores do not change it */
  if (is_usual(&s, 3) && !s.peep && !s.input_forget)
    lstm_rows(&s, true);
  else
    lstm_rows(&s, false);
}

OX_INLINE void gru_gates_rows(const ox_rnn_step *s, const bool usual) {
  for (size_t r = 0; r < s->rows; r++) {
    float *z = s->gates + r * s->gates_rs, *reset = s->reset + r * s->hidden;
    const float *h = s->h + r * s->hidden;
    for (size_t j = 0; j < s->hidden; j += L) {
      size_t n = vf32_lanes_at(j, s->hidden);
      vf32 gr = gate(s, 0, usual, vf32_load_n(z + s->hidden + j, n));
      vf32_store_n(z + j, gate(s, 0, usual, vf32_load_n(z + j, n)), n);
      vf32_store_n(z + s->hidden + j, gr, n);
      if (!s->linear_before_reset) vf32_store_n(reset + j, vf32_mul(gr, vf32_load_n(h + j, n)), n);
    }
  }
}

void RNN_NAME(gru_gates)(const ox_rnn_step *step) {
  const ox_rnn_step s = *step;
  if (is_usual(&s, 1))
    gru_gates_rows(&s, true);
  else
    gru_gates_rows(&s, false);
}

OX_INLINE void gru_out_rows(const ox_rnn_step *s, const bool usual) {
  for (size_t r = 0; r < s->rows; r++) {
    if (!goes_on(s, r)) continue;
    const float *z = s->gates + r * s->gates_rs, *product = z + 2 * s->hidden;
    float *h = s->h + r * s->hidden;
    for (size_t j = 0; j < s->hidden; j += L) {
      size_t n = vf32_lanes_at(j, s->hidden);
      vf32 v = vf32_load_n(product + j, n), old = vf32_load_n(h + j, n), gz = vf32_load_n(z + j, n);
      if (s->linear_before_reset)
        v = vf32_fma(vf32_load_n(z + s->hidden + j, n), v, vf32_load_n(s->x + r * s->x_rs + j, n));
      v = gate(s, 1, usual, v);
      vf32_store_n(h + j, vf32_fma(gz, vf32_sub(old, v), v), n); /* (1 - z) v + z h */
    }
  }
}

void RNN_NAME(gru_out)(const ox_rnn_step *step) {
  const ox_rnn_step s = *step;
  if (is_usual(&s, 2))
    gru_out_rows(&s, true);
  else
    gru_out_rows(&s, false);
}
