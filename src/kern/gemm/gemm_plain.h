/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/gemm_plain.h - what an instruction set has for gemm.h's products in other types than float32. */
#ifndef OX_KERN_GEMM_GEMM_PLAIN_H
#define OX_KERN_GEMM_GEMM_PLAIN_H

#include "kern/gemm/gemm.h"

typedef struct ox_gemm_plain_variant {
  ox_isa needs;
  const char *name;
  /* Rows [row0, row1), at least one, of C: OX_F64; OX_I32 and OX_U32; OX_I64 and OX_U64. */
  void (*f64)(const ox_gemm_plain *g, size_t row0, size_t row1);
  void (*i32)(const ox_gemm_plain *g, size_t row0, size_t row1);
  void (*i64)(const ox_gemm_plain *g, size_t row0, size_t row1);
} ox_gemm_plain_variant;

/* The best for |have|; never NULL. */
const ox_gemm_plain_variant *ox_gemm_plain_select(ox_isa have);
const ox_gemm_plain_variant *const *ox_gemm_plain_variants(size_t *out_n);

#endif
