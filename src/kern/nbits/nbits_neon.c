/* SPDX-License-Identifier: Apache-2.0
 * kern/nbits/nbits_neon.c - products with few-bit weights on this instruction set. */
#include "kern/simd/i8_neon.h"

#define NBITS_RUN ox_nbits_run__neon
#define NBITS_ABREAST ox_nbits_abreast__neon
#define NBITS_QUANTIZE ox_nbits_quantize__neon
#define NBITS_SPLIT ox_nbits_split__neon
#define NBITS_RUN_SPLIT ox_nbits_run_split__neon
#define NBITS_UNPACK ox_nbits_unpack__neon
#define NBITS_ROWS 4
#include "kern/nbits/nbits_body.h"
