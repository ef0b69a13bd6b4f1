/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/compressed_f16_avx2.c - kernels for panels of 16 columns, held as float16, in AVX2. */
#include "kern/simd/f32_avx2.h"

#define COMPRESSED_NAME ox_compressed_f16_6x16__avx2
#define COMPRESSED_FORM "held as float16 6x16"
#define COMPRESSED_MR 6
#define COMPRESSED_PANELS 4

#include "kern/gemm/compressed_f16.h"
#include "kern/gemm/compressed_body.h"
