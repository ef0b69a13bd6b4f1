/* SPDX-License-Identifier: Apache-2.0
 * kern/nbits/nbits_avxvnni.c - products with few-bit weights on this instruction set. */
#include "kern/simd/i8_avxvnni.h"

#define NBITS_RUN ox_nbits_run__avxvnni
#define NBITS_ABREAST ox_nbits_abreast__avxvnni
#define NBITS_QUANTIZE ox_nbits_quantize__avxvnni
#define NBITS_SPLIT ox_nbits_split__avxvnni
#define NBITS_RUN_SPLIT ox_nbits_run_split__avxvnni
#define NBITS_UNPACK ox_nbits_unpack__avxvnni
#define NBITS_ROWS 4
#include "kern/nbits/nbits_body.h"
