/* SPDX-License-Identifier: Apache-2.0
 * kern/quant/quantize_scalar.c - quantize_body.h on this instruction set. */
#include "kern/simd/f32_scalar.h"

#include "kern/simd/bytes_scalar.h"

#define QUANTIZE_NAME ox_quantize__scalar
#define QUANTIZE_ISA "scalar"
#define QUANTIZE_NEEDS 0
#include "kern/quant/quantize_body.h"
