/* SPDX-License-Identifier: Apache-2.0
 * kern/qconv/qconv_neon.c - direct convolution of bytes on AArch64's baseline. */
#include "kern/simd/i8_neon.h"

#include "kern/simd/bytes_neon.h"
#include "kern/simd/i8_kept.h"
#include "kern/simd/i8_taps.h"

#define QCONV_ISA neon
#define QCONV_NEEDS OX_NEON
#define QCONV_MR 4
#define QCONV_NV 2
#include "kern/qconv/qconv_body.h"
