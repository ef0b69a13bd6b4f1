/* SPDX-License-Identifier: Apache-2.0
 * kern/signal/fft.h - the discrete Fourier transform of any length: mixed radix (Stockham), or Bluestein's chirp where
 * a prime factor is large. Twiddle factors are computed in double. Real and imaginary parts are in separate arrays.
 * Functions return early when |stop|, which may be NULL, is set; results are then undefined. */
#ifndef OX_KERN_SIGNAL_FFT_H
#define OX_KERN_SIGNAL_FFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/stop.h"

enum {
  OX_FFT_FACTORS = 40, /* a length of 2^40 has so many */
  OX_FFT_PRIME = 31    /* the largest prime factor of the mixed-radix form */
};

/* Lengths that both types share. */
typedef struct ox_fft_shape {
  int64_t n;
  int64_t inner; /* length of the mixed-radix transform: n, or a power of two for Bluestein */
  int n_factors;
  int factor[OX_FFT_FACTORS];
} ox_fft_shape;

/* False if |n| is not in [1, 2^40]. */
bool ox_fft_shape_init(ox_fft_shape *s, int64_t n);
/* Elements of a plan's tables, and of the work space of a transform. */
int64_t ox_fft_table_len(const ox_fft_shape *s);
int64_t ox_fft_work_len(const ox_fft_shape *s);

typedef struct ox_fft_f32 {
  ox_fft_shape shape;
  float *table; /* cos, sin of inner; for Bluestein chirp cos, sin of n and its spectrum of inner */
} ox_fft_f32;
typedef struct ox_fft_f64 {
  ox_fft_shape shape;
  double *table;
} ox_fft_f64;

/* Fills |table| (ox_fft_table_len); |work| as below. */
void ox_fft_f32_init(ox_fft_f32 *p, const ox_fft_shape *s, float *table, float *work, const ox_stop *stop);
void ox_fft_f64_init(ox_fft_f64 *p, const ox_fft_shape *s, double *table, double *work, const ox_stop *stop);
/* Forward, in place. The inverse is the same with |re| and |im| exchanged, divided by n. */
void ox_fft_f32_run(const ox_fft_f32 *p, float *re, float *im, float *work, const ox_stop *stop);
void ox_fft_f64_run(const ox_fft_f64 *p, double *re, double *im, double *work, const ox_stop *stop);

#endif
