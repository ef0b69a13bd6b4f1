/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/trigonometry.h - element-wise operators of one operand that models seldom have. They are no steps of a
 * tail, since every kernel with a tail would carry their code. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/trigonometry_params.h"

FUNCTION float trigonometry_of(int op, float v, float a, float b) {
  switch (op) {
    case TRIGONOMETRY_ACOS: return ACOSF(v);
    case TRIGONOMETRY_ACOSH: return ACOSHF(v);
    case TRIGONOMETRY_ASIN: return ASINF(v);
    case TRIGONOMETRY_ASINH: return ASINHF(v);
    case TRIGONOMETRY_ATAN: return ATANF(v);
    case TRIGONOMETRY_ATANH: return ATANHF(v);
    case TRIGONOMETRY_COSH: return COSHF(v);
    case TRIGONOMETRY_SINH: return SINHF(v);
    case TRIGONOMETRY_TAN: return TANF(v);
    case TRIGONOMETRY_SHRINK: return v < -a ? v + b : v > a ? v - b : ISNAN(v) ? v : 0.0f;
    case TRIGONOMETRY_SCALED_TANH: return a * TANHF(b * v);
    case TRIGONOMETRY_AFFINE: return a * v + b;
  }
  return v;
}

KERNEL(trigonometry, trigonometry_params) {
  BUFFER(const REAL, x, 0);
  BUFFER(REAL, y, 1);
  PARAMS(trigonometry_params, p);
  FOR_ITEMS(t, 256) {
    int i = GROUP(0) * 256 + t;
    if (i < p.n) STORE(y, i, trigonometry_of(p.op, LOAD(x, i), p.a, p.b));
  }
}
