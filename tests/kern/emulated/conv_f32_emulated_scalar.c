/* SPDX-License-Identifier: Apache-2.0
 * kern/emulated/conv_f32_emulated_scalar.c - convolution on a matrix unit, tiles emulated. */
#include "kern/simd/bf16_scalar.h"
#include "kern/simd/tile_emulated.h"

#include "kern/conv/conv_split_body.h"

#define CONV_ISA emulated_scalar
#define CONV_NEEDS 0
#define CONV_MR 4 /* as conv_f32_scalar.c */
#define CONV_NV 4
#define CONV_FEW_MR 4
#define CONV_FEW_NV 4
#include "kern/conv/conv_f32_body.h"
