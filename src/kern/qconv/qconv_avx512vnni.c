/* SPDX-License-Identifier: Apache-2.0
 * kern/qconv/qconv_avx512vnni.c - direct convolution of bytes in AVX-512 VNNI. */
#include "kern/simd/i8_avx512vnni.h"

#include "kern/simd/bytes_avx512.h"
#include "kern/simd/i8_kept.h"
#include "kern/simd/i8_taps.h"

#define QCONV_ISA avx512vnni
#define QCONV_NEEDS OX_VNNI
#define QCONV_MR 12
#define QCONV_NV 2
#include "kern/qconv/qconv_body.h"
