/* SPDX-License-Identifier: Apache-2.0
 * kern/quant/quantize_avx2.c - quantize_body.h on this instruction set. */
#include "kern/simd/f32_avx2.h"

#include "kern/simd/bytes_avx2.h"

#define QUANTIZE_NAME ox_quantize__avx2
#define QUANTIZE_ISA "avx2"
#define QUANTIZE_NEEDS OX_AVX2
#include "kern/quant/quantize_body.h"
