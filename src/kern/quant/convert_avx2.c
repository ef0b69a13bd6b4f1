/* SPDX-License-Identifier: Apache-2.0
 * kern/quant/convert_avx2.c - conversions for AVX2. */
#include "kern/simd/f32_avx2.h"

#define CONVERT_NAME ox_convert__avx2
#define CONVERT_NEEDS OX_AVX2
#include "kern/quant/convert_body.h"
