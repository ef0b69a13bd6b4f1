/* SPDX-License-Identifier: Apache-2.0
 * kern/unary/unary.h - element-wise functions of one input, y[i] = f(x[i]). y may be x. Total: NaN in, NaN out. */
#ifndef OX_KERN_UNARY_UNARY_H
#define OX_KERN_UNARY_UNARY_H

#include <stddef.h>
#include <stdint.h>

#include "base/cpu.h"

typedef enum ox_unary {
#define OX_UNARY(id, name) OX_UN_##id,
#include "kern/unary/unary_ops.inc"
#undef OX_UNARY
  OX_UN_COUNT
} ox_unary;

/* Parameters: LEAKY_RELU, ELU, CELU, THRESHOLDED_RELU, SWISH {alpha}; SELU {alpha, gamma}; HARD_SIGMOID, AFFINE,
 * SCALED_TANH and PARAMETRIC_SOFTPLUS {alpha, beta}; SHRINK {bias, lambd}; CLIP {low, high}. The others read none. */
enum { OX_UNARY_PARAMS = 2 };

typedef void ox_unary_f32_fn(const float *x, float *y, size_t n, const float *p);
typedef void ox_unary_f64_fn(const double *x, double *y, size_t n, const double *p);

typedef struct ox_unary_f32 {
  ox_isa needs;
  const char *name;
  ox_unary_f32_fn *const *fn; /* OX_UN_COUNT */
} ox_unary_f32;

/* The functions for |have|; any |have| gets a complete table. */
const ox_unary_f32 *ox_unary_f32_select(ox_isa have);

/* All functions of doubles by the C library: the reference for the loops below. */
extern ox_unary_f64_fn *const ox_unary_f64[OX_UN_COUNT];

typedef void ox_unary_int_fn(const void *x, void *y, size_t n, const void *p);

/* Loops for one instruction set; NULL where there is none. */
typedef struct ox_unary_plain {
  ox_unary_f64_fn *f64[OX_UN_COUNT];
  ox_unary_int_fn *ints[OX_UN_COUNT][2][4]; /* signed; 1, 2, 4 or 8 bytes */
  /* y = ~x over |n| bytes; y = !x over |n| booleans. */
  void (*bitwise_not)(const void *x, void *y, size_t n);
  void (*logical_not)(const void *x, void *y, size_t n);
} ox_unary_plain;

const ox_unary_plain *ox_unary_plain_select(ox_isa have);
/* The same bits for any |have|. */
ox_unary_f64_fn *ox_unary_f64_select(ox_isa have, ox_unary op);
/* Integers of 1, 2, 4 or 8 bytes; wrap-around. NULL where the function is not defined on integers of that kind:
 * defined are ABS, NEG, SIGN, RELU, ERF, SHRINK and CLIP; p as doubles, except CLIP: p points to {low, high} of the
 * element type. */
ox_unary_int_fn *ox_unary_int(ox_isa have, ox_unary op, unsigned bytes, int is_signed);

#endif
