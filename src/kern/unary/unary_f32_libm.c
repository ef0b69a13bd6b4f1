/* SPDX-License-Identifier: Apache-2.0
 * kern/unary/unary_f32_libm.c - the float functions that every instruction set takes from the C library. */
#include <math.h>

#include "kern/unary/unary_f32.h"

#define LIBM(name)                                                           \
  void ox_##name##_f32(const float *x, float *y, size_t n, const float *p) { \
    (void)p;                                                                 \
    for (size_t i = 0; i < n; i++) y[i] = name##f(x[i]);                     \
  }
LIBM(sin)
LIBM(cos)
LIBM(tan)
