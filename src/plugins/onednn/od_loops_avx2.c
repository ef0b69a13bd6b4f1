/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_loops_avx2.c - od_loops_body.h on this instruction set. */
#include "kern/simd/f32_avx2.h"

#define OD_LOOPS_NAME od_loops__avx2
#define OD_LOOPS_NEEDS OX_AVX2
#include "od_loops_body.h"
