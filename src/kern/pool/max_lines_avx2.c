/* SPDX-License-Identifier: Apache-2.0
 * kern/pool/max_lines_avx2.c - maxima of lines of bytes in AVX2. */
#include "kern/simd/f32_avx2.h"

#include "kern/simd/bytes_avx2.h"

#define LINES_ISA avx2
#define LINES_NEEDS OX_AVX2
#include "kern/pool/max_lines_body.h"
