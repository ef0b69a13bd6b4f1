/* SPDX-License-Identifier: Apache-2.0
 * kern/qconv/qconv_avxvnni.c - direct convolution of bytes in AVX-VNNI. */
#include "kern/simd/i8_avxvnni.h"

#include "kern/simd/bytes_avx2.h"
#include "kern/simd/i8_kept.h"
#include "kern/simd/i8_taps.h"

#define QCONV_ISA avxvnni
#define QCONV_NEEDS OX_AVXVNNI
#define QCONV_MR 6
#define QCONV_NV 2
#include "kern/qconv/qconv_body.h"
