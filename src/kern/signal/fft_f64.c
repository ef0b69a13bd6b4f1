/* SPDX-License-Identifier: Apache-2.0
 * kern/signal/fft_f64.c - the transform in double. */
#define REAL double
#define FFT_PLAN ox_fft_f64
#define FFT_INIT ox_fft_f64_init
#define FFT_RUN ox_fft_f64_run
#include "kern/signal/fft_body.h"
