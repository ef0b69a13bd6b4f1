/* SPDX-License-Identifier: Apache-2.0
 * kern/quant/convert_avx512.c - conversions for AVX-512. */
#include "kern/simd/f32_avx512.h"

#define CONVERT_NAME ox_convert__avx512
#define CONVERT_NEEDS OX_AVX512
#include "kern/quant/convert_body.h"
