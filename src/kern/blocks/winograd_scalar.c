/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/winograd_scalar.c - the steps of Winograd's convolution of one instruction set. */
#include "kern/simd/f32_scalar.h"

#define WINO_ISA scalar
#define WINO_NEEDS 0
#define WINO_MR 4 /* tiles */
#define WINO_NV 2 /* vectors of channels */
#define WINO_RATE 2
#define WINO_F2_NS 400
#define WINO_F4_NS 1000
#define WINO_F2_STRIDE2_NS 600
#define WINO_LINE8_NS 250
#define WINO_LINE10_NS 350
#include "kern/blocks/winograd_body.h"
