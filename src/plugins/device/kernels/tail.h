/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/tail.h - applies the element-wise operators of tail_params.h to one element. Included by kernels. */

FUNCTION float tail_unary(int op, float v, float a, float b) {
  switch (op) {
    case TAIL_ABS: return FABSF(v);
    case TAIL_NEG: return -v;
    case TAIL_RECIPROCAL: return 1.0f / v;
    case TAIL_SQRT: return SQRTF(v);
    case TAIL_EXP: return EXPF(v);
    case TAIL_LOG: return LOGF(v);
    case TAIL_FLOOR: return FLOORF(v);
    case TAIL_CEIL: return CEILF(v);
    case TAIL_ROUND: return RINTF(v);
    case TAIL_SIN: return SINF(v);
    case TAIL_COS: return COSF(v);
    case TAIL_TANH: return TANHF(v);
    case TAIL_SIGMOID: return 1.0f / (1.0f + EXPF(-v));
    case TAIL_ERF: return ERFF(v);
    case TAIL_SIGN: return v > 0.0f ? 1.0f : v < 0.0f ? -1.0f : v;
    case TAIL_SOFTPLUS: return MAX_OF(v, 0.0f) + LOGF(1.0f + EXPF(-FABSF(v)));
    case TAIL_SOFTSIGN: return v / (1.0f + FABSF(v));
    case TAIL_MISH: return v * TANHF(MAX_OF(v, 0.0f) + LOGF(1.0f + EXPF(-FABSF(v))));
    case TAIL_RELU: return v < 0.0f ? 0.0f : v;
    case TAIL_LEAKY: return v < 0.0f ? v * a : v;
    case TAIL_ELU: return v < 0.0f ? a * (EXPF(v) - 1.0f) : v;
    case TAIL_SELU: return v > 0.0f ? b * v : b * (a * EXPF(v) - a);
    case TAIL_CELU: return v < 0.0f ? a * (EXPF(v / a) - 1.0f) : v;
    case TAIL_CLIP: return v < a ? a : v > b ? b : v;
    case TAIL_HARD_SIGMOID: v = a * v + b; return v < 0.0f ? 0.0f : v > 1.0f ? 1.0f : v;
    case TAIL_HARD_SWISH: a = v * (1.0f / 6.0f) + 0.5f; return v * (a < 0.0f ? 0.0f : a > 1.0f ? 1.0f : a);
    case TAIL_THRESHOLDED: return v > a || ISNAN(v) ? v : 0.0f;
    case TAIL_GELU: return 0.5f * v * (1.0f + ERFF(v * 0.70710678f));
    case TAIL_GELU_TANH: return 0.5f * v * (1.0f + TANHF(0.79788456f * (v + 0.044715f * v * v * v)));
    case TAIL_SILU: return v / (1.0f + EXPF(-a * v));
  }
  return v;
}

FUNCTION float tail_binary(int op, float v, float o) {
  switch (op) {
    case TAIL_ADD: return v + o;
    case TAIL_SUB: return v - o;
    case TAIL_RSUB: return o - v;
    case TAIL_MUL: return v * o;
    case TAIL_DIV: return v / o;
    case TAIL_RDIV: return o / v;
    case TAIL_MIN: return v < o || ISNAN(v) ? v : o;
    case TAIL_MAX: return v > o || ISNAN(v) ? v : o;
    case TAIL_POW: return POWF(v, o);
    case TAIL_PRELU: return v < 0.0f ? v * o : v;
    case TAIL_MOD: return FMODF(v, o);
  }
  return v;
}

/* The operands' buffers: o0, o1 and o2. */
#define TAIL_BUFFERS(i, j, k) \
  BUFFER(const REAL, o0, i);  \
  BUFFER(const REAL, o1, j);  \
  BUFFER(const REAL, o2, k)

/* |index|: the output's linear index. */
FUNCTION float tail_apply(const tail_params *t, float v, int index, const GLOBAL REAL *o0, const GLOBAL REAL *o1,
                          const GLOBAL REAL *o2) {
  for (int i = 0; i < t->n; i++) {
    const tail_step s = t->step[i];
    if (s.op >= TAIL_ABS) {
      v = tail_unary(s.op, v, s.a, s.b);
    } else {
      float o = s.a;
      int at = index / s.div % s.mod;
      if (s.operand == 0) o = LOAD(o0, at);
      if (s.operand == 1) o = LOAD(o1, at);
      if (s.operand == 2) o = LOAD(o2, at);
      v = tail_binary(s.op, v, o);
    }
  }
  return v;
}
