/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/winograd_neon.c - the steps of Winograd's convolution of one instruction set. */
#include "kern/simd/f32_neon.h"

#define WINO_ISA neon
#define WINO_NEEDS OX_NEON
#define WINO_MR 6 /* tiles */
#define WINO_NV 4 /* vectors of channels */
#define WINO_RATE 18
#define WINO_F2_NS 60
#define WINO_F4_NS 150
#define WINO_F2_STRIDE2_NS 90
#define WINO_LINE8_NS 40
#define WINO_LINE10_NS 50
#include "kern/blocks/winograd_body.h"
