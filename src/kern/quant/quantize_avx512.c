/* SPDX-License-Identifier: Apache-2.0
 * kern/quant/quantize_avx512.c - quantize_body.h on this instruction set. */
#include "kern/simd/f32_avx512.h"

#include "kern/simd/bytes_avx512.h"

#define QUANTIZE_NAME ox_quantize__avx512
#define QUANTIZE_ISA "avx512"
#define QUANTIZE_NEEDS OX_AVX512
#include "kern/quant/quantize_body.h"
