/* SPDX-License-Identifier: Apache-2.0
 * kern/nbits/nbits_scalar.c - products with few-bit weights on this instruction set. */
#include "kern/simd/i8_scalar.h"

#define NBITS_RUN ox_nbits_run__scalar
#define NBITS_ABREAST ox_nbits_abreast__scalar
#define NBITS_QUANTIZE ox_nbits_quantize__scalar
#define NBITS_SPLIT ox_nbits_split__scalar
#define NBITS_RUN_SPLIT ox_nbits_run_split__scalar
#define NBITS_UNPACK ox_nbits_unpack__scalar
#define NBITS_ROWS 4
#include "kern/nbits/nbits_body.h"
