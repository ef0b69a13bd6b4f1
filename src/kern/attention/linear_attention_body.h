/* SPDX-License-Identifier: Apache-2.0
 * kern/attention/linear_attention_body.h - one step in the SIMD vocabulary; LINEAR_STEP names the function. */
#include "kern/attention/linear_attention.h"

enum { LV = 4, LW = LV * VF32_LANES }; /* vectors at a time, and their columns */

/* Decays columns [0, LW) of the state and, if |dot|, leaves S' k in |acc|. */
OX_INLINE void linear_decay(const ox_linear_step *s, float *state, bool dot, vf32 *acc) {
  OX_UNROLL for (int j = 0; j < LV; j++) acc[j] = vf32_zero();
  for (int64_t i = 0; i < s->dk; i++, state += OX_LINEAR_COLS) {
    vf32 keep = vf32_splat(!s->keep ? 1.0f : s->keep[s->n_keep == 1 ? 0 : i]), k = vf32_splat(s->k[i]);
    OX_UNROLL for (int j = 0; j < LV; j++) {
      vf32 x = vf32_load(state + j * VF32_LANES);
      if (s->keep) x = vf32_mul(x, keep), vf32_store(state + j * VF32_LANES, x);
      if (dot) acc[j] = vf32_fma(k, x, acc[j]);
    }
  }
}

OX_INLINE void linear_update(const ox_linear_step *s, float *state, const vf32 *u) {
  for (int64_t i = 0; i < s->dk; i++, state += OX_LINEAR_COLS) {
    vf32 k = vf32_splat(s->k[i]);
    OX_UNROLL for (int j = 0; j < LV; j++)
        vf32_store(state + j * VF32_LANES, vf32_fma(k, u[j], vf32_load(state + j * VF32_LANES)));
  }
}

OX_INLINE void linear_read(const float *q, int64_t dk, const float *state, float *out) {
  vf32 acc[LV];
  OX_UNROLL for (int j = 0; j < LV; j++) acc[j] = vf32_zero();
  for (int64_t i = 0; i < dk; i++, state += OX_LINEAR_COLS)
    OX_UNROLL for (int j = 0; j < LV; j++) acc[j] =
        vf32_fma(vf32_splat(q[i]), vf32_load(state + j * VF32_LANES), acc[j]);
  OX_UNROLL for (int j = 0; j < LV; j++) vf32_store(out + j * VF32_LANES, acc[j]);
}

void LINEAR_STEP(const ox_linear_step *s) {
  for (int c = 0; c < OX_LINEAR_COLS; c += LW) {
    vf32 u[LV];
    linear_decay(s, s->state + c, s->delta, u);
    OX_UNROLL for (int j = 0; j < LV; j++) {
      vf32 v = vf32_load(s->v + c + j * VF32_LANES);
      u[j] = s->delta ? vf32_mul(vf32_splat(s->beta), vf32_sub(v, u[j])) : v;
    }
    linear_update(s, s->state + c, u);
    for (int64_t h = 0; h < s->n_q; h++)
      linear_read(s->q + h * s->dk, s->dk, s->state + c, s->out + h * OX_LINEAR_COLS + c);
  }
}
