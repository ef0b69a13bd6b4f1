/* SPDX-License-Identifier: Apache-2.0
 * kern/quant/convert_scalar.c - conversions for any CPU. */
#include "kern/simd/f32_scalar.h"

#define CONVERT_NAME ox_convert__scalar
#define CONVERT_NEEDS 0
#include "kern/quant/convert_body.h"
