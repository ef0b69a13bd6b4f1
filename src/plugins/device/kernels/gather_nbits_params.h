/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/gather_nbits_params.h - places of a table of few bits, read by the host and by kernels. */
#ifndef OX_DEVICE_GATHER_NBITS_PARAMS_H
#define OX_DEVICE_GATHER_NBITS_PARAMS_H

/* [outer, many, inner] from [outer, axis, inner], by |many| indices. Value v lies at coordinate v / post % size of the
 * axis with blocks, its scale at (v / post / size) * pre_step + coordinate / block * block_step + v % post * post_step.
 */
typedef struct {
  int n, wide; /* wide: indices of 64 bits, else 32 */
  int many, axis, inner;
  int post, size, block, pre_step, block_step, post_step;
  int bits, is_signed;
  int has_zero, zero_row, scale_row; /* rows of zero points begin at a byte: scales of a row, places of one */
  int zero;                          /* without zero points */
} gather_nbits_params;

#endif
