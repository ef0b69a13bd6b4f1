/* SPDX-License-Identifier: Apache-2.0
 * kern/qconv/qconv_scalar.c - direct convolution of bytes in plain C. */
#include "kern/simd/i8_scalar.h"

#include "kern/simd/bytes_scalar.h"
#include "kern/simd/i8_kept.h"
#include "kern/simd/i8_taps.h"

#define QCONV_ISA scalar
#define QCONV_NEEDS 0
#define QCONV_MR 4
#define QCONV_NV 2
#include "kern/qconv/qconv_body.h"
