/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/moe_params.h - mixtures of experts; read by the host and by kernels. A pair is a token with one of its
 * experts; rows are the pairs sorted by expert. */
#ifndef OX_DEVICE_MOE_PARAMS_H
#define OX_DEVICE_MOE_PARAMS_H

enum { MOE_ROWS = 16, MOE_COLUMNS = 64, MOE_STEP = 16, MOE_EACH = 4 };
enum { MOE_RELU, MOE_GELU, MOE_SILU, MOE_SWIGLU, MOE_IDENTITY };

typedef struct {
  int tokens, experts, top;
  int has_weights;   /* routing weights are an input, instead of the softmax over all experts */
  int among;         /* the weights of a token's experts are normalized to sum to 1 */
  int hidden, inter; /* sizes of a token and between the layers */
} moe_params;

/* A layer with weights [experts, n, k]. Its inputs are the rows of |x| or, if |of_tokens|, the rows' tokens. */
typedef struct {
  int experts, top, n, k;
  int of_tokens, has_bias, has_zero;
  int bits;             /* of the weights; 0: floats */
  int block, blocks;    /* elements that share a scale; blocks per row */
  int zero_row, zero_e; /* bytes of zero points per row and per expert; zero_row 0: rows are packed without padding */
} moe_layer_params;

typedef struct {
  int n, inter, act;
  int fused;     /* 1: gates and values interleaved, 2: gates, then values, 0: values come from a third layer */
  int has_third; /* there is such a layer */
  int has_limit;
  float alpha, beta, limit;
} moe_act_params;

#endif
