/* SPDX-License-Identifier: Apache-2.0
 * kern/nbits/nbits_avx2.c - products with few-bit weights on this instruction set. */
#include "kern/simd/i8_avx2.h"

#define NBITS_RUN ox_nbits_run__avx2
#define NBITS_ABREAST ox_nbits_abreast__avx2
#define NBITS_QUANTIZE ox_nbits_quantize__avx2
#define NBITS_SPLIT ox_nbits_split__avx2
#define NBITS_RUN_SPLIT ox_nbits_run_split__avx2
#define NBITS_UNPACK ox_nbits_unpack__avx2
#define NBITS_ROWS 4
#include "kern/nbits/nbits_body.h"
