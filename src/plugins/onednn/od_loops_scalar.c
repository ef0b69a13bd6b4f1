/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_loops_scalar.c - od_loops_body.h on this instruction set. */
#include "kern/simd/f32_scalar.h"

#define OD_LOOPS_NAME od_loops__scalar
#define OD_LOOPS_NEEDS 0
#include "od_loops_body.h"
