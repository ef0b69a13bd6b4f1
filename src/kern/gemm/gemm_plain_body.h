/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/gemm_plain_body.h - products of doubles and of integers of 32 and 64 bits over the SIMD vocabulary. The
 * order in which a sum is formed depends on k and the number of columns, not on the thread. Included with PLAIN_ISA,
 * PLAIN_NEEDS, and the tile in registers: PLAIN_MR rows, PLAIN_NV vectors. */
#include "kern/gemm/gemm_plain.h"

enum { PLAIN_KC = 128 /* with which a panel stays in L1 */ };

#define TILE_NAME f64
#define TILE_T double
#define TILE_U ox_f64u
#define TILE_W double
#define TILE_V vf64
#define TILE_LANES VF64_LANES
#define TILE_OP(op) vf64_##op
#define TILE_ADD(a, b, c) vf64_fma(a, b, c)
#include "kern/gemm/gemm_plain_tile.h"

#define TILE_NAME i32
#define TILE_T int32_t
#define TILE_U ox_i32u
#define TILE_W uint32_t
#define TILE_V vi32
#define TILE_LANES VF32_LANES
#define TILE_OP(op) vi32_##op
#define TILE_ADD(a, b, c) vi32_add(vi32_mul(a, b), c)
#include "kern/gemm/gemm_plain_tile.h"

#define TILE_NAME i64
#define TILE_T int64_t
#define TILE_U ox_i64u
#define TILE_W uint64_t
#define TILE_V vi64
#define TILE_LANES VF64_LANES
#define TILE_OP(op) vi64_##op
#define TILE_ADD(a, b, c) vi64_add(vi64_mul(a, b), c)
#include "kern/gemm/gemm_plain_tile.h"

extern const ox_gemm_plain_variant OX_PASTE(ox_gemm_plain__, PLAIN_ISA);
const ox_gemm_plain_variant OX_PASTE(ox_gemm_plain__, PLAIN_ISA) = {PLAIN_NEEDS, "gemm_plain_" OX_QUOTE(PLAIN_ISA),
                                                                    f64_run, i32_run, i64_run};
