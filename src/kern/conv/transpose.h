/* SPDX-License-Identifier: Apache-2.0
 * kern/conv/transpose.h - transposed convolution as one plain convolution per phase of the output: outputs whose
 * coordinates are equal modulo the strides use the same taps, with stride 1. No two tiles write the same element. */
#ifndef OX_KERN_CONV_TRANSPOSE_H
#define OX_KERN_CONV_TRANSPOSE_H

#include "kern/conv/conv.h"

typedef struct ox_deconv_axis {
  int64_t in, out, kernel, stride, dilation, lo; /* lo: padding cut from the start of the output */
} ox_deconv_axis;

/* The taps t of class r (0 <= r < stride), for which t * dilation % stride == r, in order. Returns their number. */
int64_t ox_deconv_taps(const ox_deconv_axis *a, int64_t r, int64_t *taps);
/* The first output of class r; the class has *count outputs, |stride| apart. */
int64_t ox_deconv_first(const ox_deconv_axis *a, int64_t r, int64_t *count);
/* The input coordinate that tap t reads for the class's first output; the next output reads the next input. */
static inline int64_t ox_deconv_offset(const ox_deconv_axis *a, int64_t first, int64_t t) {
  return (first + a->lo - t * a->dilation) / a->stride; /* exact */
}

/* The taps of a phase on each axis. */
typedef struct ox_deconv_phase {
  int64_t n[OX_CONV_AXES];
  const int64_t *taps[OX_CONV_AXES]; /* indices into the kernel */
} ox_deconv_phase;

/* The number of phases; false: too many. */
bool ox_deconv_phase_count(const ox_deconv_axis *axis, int64_t *n);
/* The class of phase |i| along each axis. */
void ox_deconv_phase_classes(const ox_deconv_axis *axis, int64_t i, int64_t *r);
/* The taps of phase |i|, written to |memory|, which has room for the sum of the kernel's extents. */
void ox_deconv_phase_taps(const ox_deconv_axis *axis, int64_t i, int64_t *memory, ox_deconv_phase *out);

/* Packs group g of w, laid out [group][ic][oc][kernel], for one phase: [group][oc][ic][taps]. w may be
 * unaligned, |stop| NULL. */
void ox_deconv_pack(float *dst, const float *w, const ox_deconv_phase *p, const int64_t *kernel, int64_t ic, int64_t oc,
                    int64_t g, const ox_stop *stop);
/* Floats of one phase's weights. */
size_t ox_deconv_weight_floats(const ox_deconv_phase *p, int64_t groups, int64_t ic, int64_t oc);

/* A line of outputs of one class of the last axis. */
typedef struct ox_deconv_line {
  const float *from;
  int64_t n;
} ox_deconv_line;
/* Interleaves |count| lines: to[k + j * stride] = line[k].from[j]. */
void ox_deconv_join(const ox_deconv_line *line, int64_t count, int64_t stride, ox_isa isa, float *to);

/* Output planes [begin, end) in double precision, w as above. */
void ox_deconv_f64(const ox_deconv_axis *axis, int64_t groups, int64_t ic, int64_t oc, const double *x, const double *w,
                   const double *bias, double *y, int64_t begin, int64_t end);

#endif
