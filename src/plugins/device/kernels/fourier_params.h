/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/fourier_params.h - the matrix of a discrete Fourier transform, read by the host and by kernels. */
#ifndef OX_DEVICE_FOURIER_PARAMS_H
#define OX_DEVICE_FOURIER_PARAMS_H

/* [taps * parts, bins * 2]: rows of samples, the real part and, if |parts| is 2, the imaginary one; columns likewise.
 */
typedef struct {
  int n; /* elements */
  int length, taps, parts, bins;
  int inverse, has_window;
} fourier_params;

#endif
