/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_loops_avx512.c - od_loops_body.h on this instruction set. */
#include "kern/simd/f32_avx512.h"

#define OD_LOOPS_NAME od_loops__avx512
#define OD_LOOPS_NEEDS OX_AVX512
#include "od_loops_body.h"
