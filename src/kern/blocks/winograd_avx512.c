/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/winograd_avx512.c - the steps of Winograd's convolution of one instruction set. */
#include "kern/simd/f32_avx512.h"

#define WINO_ISA avx512
#define WINO_NEEDS OX_AVX512
#define WINO_MR 14 /* tiles */
#define WINO_NV 2  /* vectors of channels */
#define WINO_RATE 115
#define WINO_F2_NS 16
#define WINO_F4_NS 41
#define WINO_F2_STRIDE2_NS 35
#define WINO_LINE8_NS 9
#define WINO_LINE10_NS 12
#include "kern/blocks/winograd_body.h"
