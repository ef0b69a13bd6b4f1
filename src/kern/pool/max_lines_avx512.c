/* SPDX-License-Identifier: Apache-2.0
 * kern/pool/max_lines_avx512.c - maxima of lines of bytes in AVX-512. */
#include "kern/simd/f32_avx512.h"

#include "kern/simd/bytes_avx512.h"

#define LINES_ISA avx512
#define LINES_NEEDS OX_AVX512
#include "kern/pool/max_lines_body.h"
