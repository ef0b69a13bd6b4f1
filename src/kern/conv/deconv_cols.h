/* SPDX-License-Identifier: Apache-2.0
 * kern/conv/deconv_cols.h - transposed convolution to a few channels, or by windows that do not overlap (col2im): one
 * matrix product yields each input pixel times each tap of each output channel, the columns; then each row of outputs,
 * called line, sums the columns that fall on it. Lanes are pixels, so none is wasted on missing channels. */
#ifndef OX_KERN_CONV_DECONV_COLS_H
#define OX_KERN_CONV_DECONV_COLS_H

#include "kern/conv/transpose.h"
#include "kern/gemm/gemm.h"

/* Up to so many output channels this form is the fastest: with more, vectors of channels are full enough. */
enum { OX_DECONV_FEW = 10 };

typedef struct ox_deconv_cols {
  ox_deconv_axis axis[OX_CONV_AXES];
  int64_t batch, ic, oc, taps, pixels; /* pixels: of the input */
  int64_t widest;                      /* outputs of a phase of a line (outputs equal modulo the stride), at most */
  ox_gemm_plan product;
  size_t floats, scratch; /* of all columns; bytes for each worker */
  int64_t n_products, n_lines, lines_per_tile;
  ox_isa isa;
} ox_deconv_cols;

/* Do the windows of different inputs not overlap, so that each output gets at most one product? */
static inline bool ox_deconv_disjoint(const ox_deconv_axis *axis) {
  for (int a = 0; a < OX_CONV_AXES; a++)
    if (axis[a].kernel > 1 && (axis[a].dilation > 1 || axis[a].kernel > axis[a].stride)) return false;
  return true;
}

/* False: too large, or empty. */
bool ox_deconv_cols_init(ox_deconv_cols *p, const ox_deconv_axis *axis, int64_t batch, int64_t ic, int64_t oc,
                         ox_isa have);
/* Products [begin, end) of n_products; |w|: [ic][oc][taps]. */
void ox_deconv_cols_products(const ox_deconv_cols *p, const float *x, const float *w, float *cols, const ox_stop *stop,
                             int64_t begin, int64_t end, void *scratch);
/* Lines [begin, end) of n_lines, those of all planes of Y. |bias| may be NULL. */
void ox_deconv_cols_lines(const ox_deconv_cols *p, const float *cols, const float *bias, float *y, int64_t begin,
                          int64_t end, void *scratch);

#endif
