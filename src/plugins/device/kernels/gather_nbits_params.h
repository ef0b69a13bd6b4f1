/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/gather_nbits_params.h - gathering from a quantized table; read by the host and by kernels. */
#ifndef OX_DEVICE_GATHER_NBITS_PARAMS_H
#define OX_DEVICE_GATHER_NBITS_PARAMS_H

/* Gathers [outer, many, inner] from [outer, axis, inner] by |many| indices. Value v has coordinate v / post % size on
 * the axis that is divided into blocks; its scale is at (v / post / size) * pre_step + coordinate / block * block_step
 * + v % post * post_step. */
typedef struct {
  int n, wide; /* wide: indices of 64 bits, else 32 */
  int many, axis, inner;
  int post, size, block, pre_step, block_step, post_step;
  int bits, is_signed;
  int has_zero, zero_row, scale_row; /* zero points per row, rows being padded to bytes; scales per row */
  int zero;                          /* the zero point if there are none */
} gather_nbits_params;

#endif
