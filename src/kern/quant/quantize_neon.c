/* SPDX-License-Identifier: Apache-2.0
 * kern/quant/quantize_neon.c - quantize_body.h on this instruction set. */
#include "kern/simd/f32_neon.h"

#include "kern/simd/bytes_neon.h"

#define QUANTIZE_NAME ox_quantize__neon
#define QUANTIZE_ISA "neon"
#define QUANTIZE_NEEDS OX_NEON
#include "kern/quant/quantize_body.h"
