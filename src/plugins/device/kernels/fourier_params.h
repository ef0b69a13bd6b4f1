/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/fourier_params.h - the matrix of a discrete Fourier transform, read by the host and by kernels. */
#ifndef OX_DEVICE_FOURIER_PARAMS_H
#define OX_DEVICE_FOURIER_PARAMS_H

/* The matrix is [taps * parts, bins * 2]: a row for the real part of each sample and, if |parts| is 2, one for the
 * imaginary part; likewise two columns for each bin. */
typedef struct {
  int n; /* elements */
  int length, taps, parts, bins;
  int inverse, has_window;
} fourier_params;

#endif
