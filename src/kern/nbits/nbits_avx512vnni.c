/* SPDX-License-Identifier: Apache-2.0
 * kern/nbits/nbits_avx512vnni.c - products with few-bit weights on this instruction set. */
#include "kern/simd/i8_avx512vnni.h"

#define NBITS_RUN ox_nbits_run__avx512vnni
#define NBITS_ABREAST ox_nbits_abreast__avx512vnni
#define NBITS_QUANTIZE ox_nbits_quantize__avx512vnni
#define NBITS_SPLIT ox_nbits_split__avx512vnni
#define NBITS_RUN_SPLIT ox_nbits_run_split__avx512vnni
#define NBITS_UNPACK ox_nbits_unpack__avx512vnni
#define NBITS_ROWS 12
#include "kern/nbits/nbits_body.h"
