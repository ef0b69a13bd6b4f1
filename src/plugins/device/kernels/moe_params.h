/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/moe_params.h - mixtures of experts, read by the host and by kernels. A pair is a token and one of its
 * experts; pairs sorted by expert are rows. */
#ifndef OX_DEVICE_MOE_PARAMS_H
#define OX_DEVICE_MOE_PARAMS_H

enum { MOE_ROWS = 16, MOE_COLUMNS = 64, MOE_STEP = 16, MOE_EACH = 4 };
enum { MOE_RELU, MOE_GELU, MOE_SILU, MOE_SWIGLU, MOE_IDENTITY };

typedef struct {
  int tokens, experts, top;
  int has_weights;   /* of their own, instead of the softmax of all experts */
  int among;         /* weights of a token's experts sum to 1 */
  int hidden, inter; /* of a token, between the layers */
} moe_params;

/* A layer [experts, n, k] on rows of |x|, or on those of their tokens. */
typedef struct {
  int experts, top, n, k;
  int of_tokens, has_bias, has_zero;
  int bits;             /* of the weights, 0: floats */
  int block, blocks;    /* places with one scale, of a row */
  int zero_row, zero_e; /* bytes of zero points for a row, for an expert; rows of 0 bytes lie side by side */
} moe_layer_params;

typedef struct {
  int n, inter, act;
  int fused;     /* 1: gate and value in turn, 2: one behind the other, 0: values in a layer of their own */
  int has_third; /* that layer */
  int has_limit;
  float alpha, beta, limit;
} moe_act_params;

#endif
