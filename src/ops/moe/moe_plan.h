/* SPDX-License-Identifier: Apache-2.0
 * ops/moe/moe_plan.h - a mixture of experts for given shapes: sizes, layers, and where its steps keep their results. */
#ifndef OX_OPS_MOE_PLAN_H
#define OX_OPS_MOE_PLAN_H

#include "ops/moe/moe_sort.h"

typedef struct ox_moe_attrs {
  int64_t k, swiglu_fusion, normalize_routing_weights, use_sparse_mixer, expert_weight_bits, block_size;
  int64_t fc1_expert_weight_bits, fc2_expert_weight_bits, fc3_expert_weight_bits;
  const char *activation_type, *quant_type;
  float activation_alpha, activation_beta, swiglu_limit;
  bool has_swiglu_limit;
} ox_moe_attrs;

enum { OX_MOE_X, OX_MOE_ROUTER, OX_MOE_MIXING = 14 }; /* inputs; QMoE: the weights of results, instead of softmax */
enum { OX_MOE_FC1, OX_MOE_FC2, OX_MOE_FC3, OX_MOE_LAYERS }; /* layers: gate, down, up */

typedef enum ox_moe_act { OX_MOE_RELU, OX_MOE_GELU, OX_MOE_SILU, OX_MOE_SWIGLU, OX_MOE_IDENTITY } ox_moe_act;

typedef struct ox_moe_plan {
  ox_dense fc[OX_MOE_LAYERS];
  bool has_fc3;
  ox_moe_act act;
  int64_t tokens, experts, top, hidden, inter;
  int64_t rows, busy;  /* pairs of a token and an expert; the most experts that can have any */
  ox_moe_places order; /* of pairs */
  /* in shared memory; by pair: weight; by row, a pair in that order: x, outputs of the layers, and h1 after the
   * activation */
  size_t at_weight, at_x, at_h1, at_h3, at_act, at_y;
} ox_moe_plan;

/* The bits of layer |i| of QMoE. */
int64_t ox_moe_bits(const ox_moe_attrs *a, int i);
/* Checks inputs and attributes, and sets sizes. */
OX_NODISCARD ox_status *ox_moe_read(const ox_kernel_ctx *c, ox_moe_plan *p, const ox_dense_slots *slots,
                                    bool quantized);

/* Chooses experts, and sorts pairs by expert. */
size_t ox_moe_route_scratch(const ox_moe_plan *p);
void ox_moe_route(const ox_kernel_ctx *c, void *scratch);
/* Copies the token of a pair to its row. */
void ox_moe_gather(const ox_kernel_ctx *c, int64_t pair);
void ox_moe_activate(const ox_kernel_ctx *c, int64_t row);
/* The result of a token: the weighted sum of its rows. */
void ox_moe_combine(const ox_kernel_ctx *c, int64_t token);

#endif
