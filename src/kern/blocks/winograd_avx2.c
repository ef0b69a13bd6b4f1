/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/winograd_avx2.c - the steps of Winograd's convolution of one instruction set. */
#include "kern/simd/f32_avx2.h"

#define WINO_ISA avx2
#define WINO_NEEDS OX_AVX2
#define WINO_MR 6 /* tiles */
#define WINO_NV 2 /* vectors of channels */
#define WINO_SUMS /* four to six tiles keep their sums in registers of their own */
#define WINO_RATE 56
#define WINO_F2_NS 35
#define WINO_F4_NS 85
#define WINO_F2_STRIDE2_NS 70
#define WINO_LINE8_NS 20
#define WINO_LINE10_NS 26
#include "kern/blocks/winograd_body.h"
