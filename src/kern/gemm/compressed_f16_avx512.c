/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/compressed_f16_avx512.c - kernels for panels of 32 columns, held as float16, in AVX-512. */
#include "kern/simd/f32_avx512.h"

#define COMPRESSED_NAME ox_compressed_f16_12x32__avx512
#define COMPRESSED_FORM "held as float16 12x32"
#define COMPRESSED_MR 12
#define COMPRESSED_PANELS 1

#include "kern/gemm/compressed_f16.h"
#include "kern/gemm/compressed_body.h"
