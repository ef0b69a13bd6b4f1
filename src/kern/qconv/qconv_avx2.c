/* SPDX-License-Identifier: Apache-2.0
 * kern/qconv/qconv_avx2.c - direct convolution of bytes in AVX2. */
#include "kern/simd/i8_avx2.h"

#include "kern/simd/bytes_avx2.h"
#include "kern/simd/i8_kept_avx2.h"
#include "kern/simd/i8_taps_avx2.h"

#define QCONV_ISA avx2
#define QCONV_NEEDS OX_AVX2
#define QCONV_MR 3
#define QCONV_NV 4
#include "kern/qconv/qconv_body.h"
