/* SPDX-License-Identifier: Apache-2.0
 * ops/shared/scaled_run.h - the tiles of QuantizeLinear and DequantizeLinear: long segments that share a scale and a
 * zero point where types and shapes allow it, else blocks whose elements have their own. */
#ifndef OX_OPS_SHARED_SCALED_RUN_H
#define OX_OPS_SHARED_SCALED_RUN_H

#include "kern/quant/convert.h"
#include "ops/shared/scales.h"

enum { OX_T_QUANTIZED_FAST = OX_BIT(OX_U8) | OX_BIT(OX_I8) | OX_BIT(OX_U16) | OX_BIT(OX_I16) };

typedef struct ox_scaled_run {
  const ox_scale_pair *pair;
  bool fast; /* |segment| supports these types */
  /* |n| elements from |at| on that share the scale and zero point number |scale_at|. */
  void (*segment)(const ox_kernel_ctx *c, int64_t at, size_t n, int64_t scale_at);
  /* |n| <= OX_CONVERT_BLOCK elements from |at| on. */
  void (*block)(const ox_kernel_ctx *c, const ox_convert *cv, int64_t at, size_t n);
} ox_scaled_run;

/* Tiles of OX_TILE_MATH elements of input 0. */
void ox_scaled_run_tiles(const ox_scaled_run *r, const ox_kernel_ctx *c, ox_range tiles);

#endif
