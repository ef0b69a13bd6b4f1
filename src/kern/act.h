/* SPDX-License-Identifier: Apache-2.0
 * kern/act.h - the activations that kernels apply as they store (Linear, FusedConv, FusedGemm, RNNs).
 * The vector code is simd/act_f32.h. */
#ifndef OX_KERN_ACT_H
#define OX_KERN_ACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ox_act_kind {
  OX_ACT_NONE = 0, OX_ACT_RELU, OX_ACT_CLIP, OX_ACT_LEAKY_RELU, OX_ACT_SIGMOID, OX_ACT_TANH, OX_ACT_HARD_SIGMOID,
  OX_ACT_HARD_SWISH, OX_ACT_SILU, OX_ACT_GELU, OX_ACT_GELU_TANH, OX_ACT_QUICK_GELU, OX_ACT_ELU, OX_ACT_AFFINE,
  OX_ACT_THRESHOLDED_RELU, OX_ACT_SCALED_TANH, OX_ACT_SOFTSIGN, OX_ACT_SOFTPLUS
} ox_act_kind;

/* a, b: Clip min, max; LeakyRelu, Elu, ThresholdedRelu, QuickGelu alpha; HardSigmoid, Affine, ScaledTanh alpha, beta. */
typedef struct ox_act {
  uint32_t kind; /* ox_act_kind */
  float a, b;
} ox_act;

/* The activation called |name| (ONNX's operator names, any case; NULL or "": none; "FastGelu": Gelu by tanh) with up to
 * two parameters, the standard's defaults in place of missing ones. False: no such activation. */
bool ox_act_parse(const char *name, const float *params, size_t n, ox_act *out);

/* The same functions in double precision: for float64 kernels, and as the reference. */
double ox_act_f64(ox_act act, double x);

#endif
