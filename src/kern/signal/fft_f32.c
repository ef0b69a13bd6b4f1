/* SPDX-License-Identifier: Apache-2.0
 * kern/signal/fft_f32.c - the transform in float. */
#define REAL float
#define FFT_PLAN ox_fft_f32
#define FFT_INIT ox_fft_f32_init
#define FFT_RUN ox_fft_f32_run
#include "kern/signal/fft_body.h"
