/* SPDX-License-Identifier: Apache-2.0
 * kern/act.c - names and defaults of activations, and their double-precision forms. */
#include "kern/act.h"

#include <math.h>

#include "base/macros.h"

static const struct {
  const char *name;
  uint32_t kind;
  float a, b;
} acts[] = {
    {"", OX_ACT_NONE, 0, 0},
    {"Relu", OX_ACT_RELU, 0, 0},
    {"Clip", OX_ACT_CLIP, -INFINITY, INFINITY},
    {"LeakyRelu", OX_ACT_LEAKY_RELU, 0.01f, 0},
    {"Sigmoid", OX_ACT_SIGMOID, 0, 0},
    {"Tanh", OX_ACT_TANH, 0, 0},
    {"HardSigmoid", OX_ACT_HARD_SIGMOID, 0.2f, 0.5f},
    {"HardSwish", OX_ACT_HARD_SWISH, 0, 0},
    {"Silu", OX_ACT_SILU, 0, 0},
    {"Swish", OX_ACT_SILU, 0, 0},
    {"Gelu", OX_ACT_GELU, 0, 0},
    {"FastGelu", OX_ACT_GELU_TANH, 0, 0},
    {"GeluTanh", OX_ACT_GELU_TANH, 0, 0},
    {"QuickGelu", OX_ACT_QUICK_GELU, 1.702f, 0},
    {"Elu", OX_ACT_ELU, 1, 0},
    {"Affine", OX_ACT_AFFINE, 1, 0},
    {"ThresholdedRelu", OX_ACT_THRESHOLDED_RELU, 1, 0},
    {"ScaledTanh", OX_ACT_SCALED_TANH, 1, 1},
    {"Softsign", OX_ACT_SOFTSIGN, 0, 0},
    {"Softplus", OX_ACT_SOFTPLUS, 0, 0},
};

static char lower(char c) { return (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c); }

static bool same_name(const char *a, const char *b) {
  while (*a && lower(*a) == lower(*b)) a++, b++;
  return lower(*a) == lower(*b);
}

bool ox_act_parse(const char *name, const float *params, size_t n, ox_act *out) {
  for (size_t i = 0; i < OX_COUNT(acts); i++) {
    if (!same_name(name ? name : "", acts[i].name)) continue;
    *out = (ox_act){acts[i].kind, n > 0 ? params[0] : acts[i].a, n > 1 ? params[1] : acts[i].b};
    return true;
  }
  return false;
}

static double sigmoid(double x) {
  double z = exp(-fabs(x));
  return (x < 0 ? z : 1) / (1 + z);
}

/* NaN stays NaN. */
static double clip(double x, double least, double most) { return x < least ? least : x > most ? most : x; }

double ox_act_f64(ox_act act, double x) {
  double a = (double)act.a, b = (double)act.b;
  switch (act.kind) {
    case OX_ACT_RELU:
      return x < 0 ? 0 : x;
    case OX_ACT_CLIP:
      return clip(x, a, b);
    case OX_ACT_LEAKY_RELU:
      return x < 0 ? a * x : x;
    case OX_ACT_SIGMOID:
      return sigmoid(x);
    case OX_ACT_TANH:
      return tanh(x);
    case OX_ACT_HARD_SIGMOID:
      return clip(a * x + b, 0, 1);
    case OX_ACT_HARD_SWISH:
      return x * clip(x / 6 + 0.5, 0, 1);
    case OX_ACT_SILU:
      return x * sigmoid(x);
    case OX_ACT_GELU:
      return 0.5 * x * (1 + erf(x * 0.70710678118654752440));
    case OX_ACT_GELU_TANH:
      return 0.5 * x * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
    case OX_ACT_QUICK_GELU:
      return x * sigmoid(a * x);
    case OX_ACT_ELU:
      return x < 0 ? a * expm1(x) : x;
    case OX_ACT_AFFINE:
      return a * x + b;
    case OX_ACT_THRESHOLDED_RELU:
      return x <= a ? 0 : x;
    case OX_ACT_SCALED_TANH:
      return a * tanh(b * x);
    case OX_ACT_SOFTSIGN:
      return x / (1 + fabs(x));
    case OX_ACT_SOFTPLUS:
      return (x > 0 ? x : 0) + log1p(exp(-fabs(x)));
    default:
      return x;
  }
}
