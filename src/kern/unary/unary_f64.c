/* SPDX-License-Identifier: Apache-2.0
 * kern/unary/unary_f64.c - the double versions, through the C library. */
#include <math.h>

#include "kern/unary/unary.h"

static const double inv_sqrt2 = 0.70710678118654752440, sqrt_2_over_pi = 0.79788456080286535588;

static double sign_of(double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : x; }
static double sigmoid_of(double x) {
  double e = exp(-fabs(x));
  return x >= 0 ? 1 / (1 + e) : e / (1 + e);
}
static double softplus_of(double x) { return (x > 0 ? x : 0) + log1p(exp(-fabs(x))) + (isnan(x) ? x : 0); }
static double clamp(double x, double lo, double hi) {
  x = x < lo ? lo : x;
  return x > hi ? hi : x;
}

#define F64(name, expr)                                                            \
  static void name##_f64(const double *in, double *y, size_t n, const double *p) { \
    (void)p;                                                                       \
    for (size_t i = 0; i < n; i++) {                                               \
      double x = in[i];                                                            \
      y[i] = (expr);                                                               \
    }                                                                              \
  }
F64(abs, fabs(x))
F64(neg, -x)
F64(ceil, ceil(x))
F64(floor, floor(x))
F64(round, rint(x))
F64(sqrt, sqrt(x))
F64(exp, exp(x))
F64(log, log(x))
F64(reciprocal, 1 / x)
F64(sign, sign_of(x))
F64(relu, x < 0 ? 0 : x)
F64(leaky_relu, x < 0 ? p[0] * x : x)
F64(elu, x < 0 ? p[0] * expm1(x) : x)
F64(selu, p[1] * (x < 0 ? p[0] * expm1(x) : x))
F64(celu, x < 0 ? p[0] * expm1(x / p[0]) : x)
F64(thresholded_relu, x > p[0] ? x : 0)
F64(sigmoid, sigmoid_of(x))
F64(hard_sigmoid, clamp(p[0] * x + p[1], 0, 1))
F64(hard_swish, x *clamp(x / 6 + 0.5, 0, 1))
F64(softplus, softplus_of(x))
F64(softsign, x / (1 + fabs(x)))
F64(tanh, tanh(x))
F64(erf, erf(x))
F64(gelu, 0.5 * x * erfc(-x * inv_sqrt2))                                      /* 1 + erf would cancel below 0 */
F64(gelu_tanh, x *sigmoid_of(2 * sqrt_2_over_pi * (x + 0.044715 * x * x * x))) /* (1 + tanh(u)) / 2 */
F64(mish, x *tanh(softplus_of(x)))
F64(swish, x *sigmoid_of(p[0] * x))
F64(shrink, x<-p[1] ? x + p[0] : x> p[1] ? x - p[0] : 0)
F64(clip, clamp(x, p[0], p[1]))
F64(affine, p[0] * x + p[1])
F64(scaled_tanh, p[0] * tanh(p[1] * x))
F64(parametric_softplus, p[0] * softplus_of(p[1] * x))
F64(sin, sin(x))
F64(cos, cos(x))
F64(tan, tan(x))
F64(asin, asin(x))
F64(acos, acos(x))
F64(atan, atan(x))
F64(sinh, sinh(x))
F64(cosh, cosh(x))
F64(asinh, asinh(x))
F64(acosh, acosh(x))
F64(atanh, atanh(x))

ox_unary_f64_fn *const ox_unary_f64[OX_UN_COUNT] = {
#define OX_UNARY(id, name) [OX_UN_##id] = name##_f64,
#include "kern/unary/unary_ops.inc"
#undef OX_UNARY
};
