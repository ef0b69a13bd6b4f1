/* SPDX-License-Identifier: Apache-2.0
 * kern/simd/act_f32.h - the activations of kern/act.h in the SIMD vocabulary: include a simd/f32_<isa>.h first. NaN
 * is kept. */
#ifndef OX_SIMD_ACT_F32_H
#define OX_SIMD_ACT_F32_H

#include "kern/act.h"
#include "kern/simd/math_f32.h"

/* 0.5 x (1 + tanh u) = x sigmoid(2u). x is clamped where the result does not change, so that -inf gives 0, not NaN. */
OX_INLINE vf32 vf32_gelu_tanh(vf32 x) {
  vf32 c = vf32_at_most(vf32_at_least(x, -64.0f), 64.0f);
  vf32 u = vf32_mul(c, vf32_fma(vf32_mul(c, c), vf32_splat(2 * 0.044715f * 0.79788456f), vf32_splat(2 * 0.79788456f)));
  return vf32_mul(vf32_at_least(x, -64.0f), vf32_sigmoid(u));
}
OX_INLINE vf32 vf32_softplus(vf32 x) {
  return vf32_add(vf32_at_least(x, 0.0f), vf32_log1p(vf32_exp(vf32_neg(vf32_abs(x)))));
}

OX_INLINE vf32 vf32_prelu(vf32 x, vf32 slope) { return vf32_select(vf32_lt(x, vf32_zero()), vf32_mul(slope, x), x); }

OX_INLINE vf32 vf32_act(ox_act act, vf32 x) {
  vf32 a = vf32_splat(act.a), b = vf32_splat(act.b);
  switch (act.kind) {
    case OX_ACT_RELU:
      return vf32_at_least(x, 0.0f);
    case OX_ACT_CLIP:
      return vf32_min(b, vf32_max(a, x));
    case OX_ACT_LEAKY_RELU:
      return vf32_prelu(x, a);
    case OX_ACT_SIGMOID:
      return vf32_sigmoid(x);
    case OX_ACT_TANH:
      return vf32_tanh(x);
    case OX_ACT_HARD_SIGMOID:
      return vf32_at_most(vf32_at_least(vf32_fma(a, x, b), 0.0f), 1.0f);
    case OX_ACT_HARD_SWISH: {
      vf32 gate = vf32_fma(x, vf32_splat(1.0f / 6), vf32_splat(0.5f));
      return vf32_mul(x, vf32_at_most(vf32_at_least(gate, 0.0f), 1.0f));
    }
    case OX_ACT_SILU:
      return vf32_silu(x);
    case OX_ACT_GELU:
      return vf32_gelu(x);
    case OX_ACT_GELU_TANH:
      return vf32_gelu_tanh(x);
    case OX_ACT_QUICK_GELU:
      return vf32_mul(x, vf32_sigmoid(vf32_mul(a, x)));
    case OX_ACT_ELU:
      return vf32_select(vf32_lt(x, vf32_zero()), vf32_mul(a, vf32_expm1_le88(vf32_at_most(x, 0.0f))), x);
    case OX_ACT_AFFINE:
      return vf32_fma(a, x, b);
    case OX_ACT_THRESHOLDED_RELU:
      return vf32_select(vf32_gt(x, a), x, vf32_select(vf32_isnan(x), x, vf32_zero()));
    case OX_ACT_SCALED_TANH:
      return vf32_mul(a, vf32_tanh(vf32_mul(b, x)));
    case OX_ACT_SOFTSIGN:
      return vf32_div(x, vf32_add(vf32_splat(1.0f), vf32_abs(x)));
    case OX_ACT_SOFTPLUS:
      return vf32_softplus(x);
    default:
      return x;
  }
}

/* y[i] = act(y[i]); n: a multiple of 16. Four vectors at a time, as each is a long chain of operations. */
OX_INLINE void act_run_as_(ox_act act, float *y, size_t n) {
  size_t i = 0;
  for (; n - i >= 4 * VF32_LANES; i += 4 * VF32_LANES) {
    vf32 v[4];
    OX_UNROLL for (int j = 0; j < 4; j++) v[j] = vf32_act(act, vf32_load(y + i + j * VF32_LANES));
    OX_UNROLL for (int j = 0; j < 4; j++) vf32_store(y + i + j * VF32_LANES, v[j]);
  }
  for (; i < n; i += VF32_LANES) vf32_store(y + i, vf32_act(act, vf32_load(y + i)));
}

#define ACT_RUN_(kind_)                                 \
  case kind_:                                           \
    act_run_as_((ox_act){kind_, act->a, act->b}, y, n); \
    break; /* one loop per kind */
OX_INLINE void vf32_act_run(const ox_act *act, float *y, size_t n) {
  switch (act->kind) {
    ACT_RUN_(OX_ACT_LEAKY_RELU)
    ACT_RUN_(OX_ACT_SIGMOID)
    ACT_RUN_(OX_ACT_HARD_SIGMOID)
    ACT_RUN_(OX_ACT_HARD_SWISH)
    ACT_RUN_(OX_ACT_SILU)
    ACT_RUN_(OX_ACT_GELU)
    default:
      for (size_t i = 0; i < n; i += VF32_LANES) vf32_store(y + i, vf32_act(*act, vf32_load(y + i)));
  }
}
#undef ACT_RUN_

#endif
