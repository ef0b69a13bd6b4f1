/* SPDX-License-Identifier: Apache-2.0
 * plugins/onednn/od_loops_neon.c - od_loops_body.h on this instruction set. */
#include "kern/simd/f32_neon.h"

#define OD_LOOPS_NAME od_loops__neon
#define OD_LOOPS_NEEDS OX_NEON
#include "od_loops_body.h"
