/* SPDX-License-Identifier: Apache-2.0
 * kern/qconv/qconv_avx512.c - direct convolution of bytes in AVX-512 without VNNI. */
#include "kern/simd/i8_avx512.h"

#include "kern/simd/bytes_avx512.h"
#include "kern/simd/i8_kept.h"
#include "kern/simd/i8_taps.h"

#define QCONV_ISA avx512
#define QCONV_NEEDS OX_AVX512
#define QCONV_MR 8
#define QCONV_NV 2
#include "kern/qconv/qconv_body.h"
