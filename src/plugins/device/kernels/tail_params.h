/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/tail_params.h - a sequence of element-wise operators, as data; read by the host and by kernels. */
#ifndef OX_DEVICE_TAIL_PARAMS_H
#define OX_DEVICE_TAIL_PARAMS_H

enum { TAIL_STEPS = 8, TAIL_OPERANDS = 3 };

/* v is the value so far, o an operand, a and b constants. */
enum {
  TAIL_ADD, TAIL_SUB, TAIL_RSUB, TAIL_MUL, TAIL_DIV, TAIL_RDIV, TAIL_MIN, TAIL_MAX, /* v op o; RSUB: o - v */
  TAIL_POW, TAIL_PRELU, TAIL_MOD, /* v ^ o; v < 0 ? v * o : v; v mod o as C's fmod */
  TAIL_ABS, TAIL_NEG, TAIL_RECIPROCAL, TAIL_SQRT, TAIL_EXP, TAIL_LOG, TAIL_FLOOR, TAIL_CEIL, TAIL_ROUND,
  TAIL_SIN, TAIL_COS, TAIL_TANH, TAIL_SIGMOID, TAIL_ERF, TAIL_SIGN, TAIL_SOFTPLUS, TAIL_SOFTSIGN, TAIL_MISH,
  TAIL_RELU, TAIL_LEAKY, TAIL_ELU, TAIL_SELU, TAIL_CELU, TAIL_CLIP, TAIL_HARD_SIGMOID, TAIL_HARD_SWISH,
  TAIL_THRESHOLDED, TAIL_GELU, TAIL_GELU_TANH, TAIL_SILU
};

/* One operator. Its operand is the constant |a|, or a buffer's element (index / div) % mod for the output's linear
 * index. */
typedef struct {
  int op;
  int operand; /* number of the buffer, or -1: |a| */
  int div, mod;
  float a, b;
} tail_step;

typedef struct {
  int n;
  tail_step step[TAIL_STEPS];
} tail_params;

#endif
