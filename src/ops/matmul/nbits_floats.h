/* SPDX-License-Identifier: Apache-2.0
 * ops/matmul/nbits_floats.h - many rows of floats by weights of few bits: a product of floats that gets its B from
 * panels of kern/nbits, a block at a time, so that each tile unpacks its weights to L2 once for all rows. */
#ifndef OX_OPS_MATMUL_NBITS_FLOATS_H
#define OX_OPS_MATMUL_NBITS_FLOATS_H

#include "graph/op_def.h"
#include "kern/gemm/strassen.h"
#include "kern/nbits/nbits.h"

typedef struct ox_nbits_floats {
  bool strassen; /* by |z|; else by |g| */
  ox_gemm_plan g;
  ox_strassen_plan z;
} ox_nbits_floats;

typedef struct ox_nbits_weights {
  const ox_nbits_variant *v;
  const ox_nbits_format *f;
  const uint8_t *panels;
  size_t panel_bytes, n; /* n: columns */
} ox_nbits_weights;

/* An ox_gemm_source of an ox_nbits_weights. */
void ox_nbits_write_floats(const void *weights, size_t k0, size_t kn, size_t col, size_t n, float *to, size_t ld);
/* In prepare: plans [m, k] x [k, n] in the whole of the operator's two stages. */
OX_NODISCARD ox_status *ox_nbits_floats_plan(ox_kernel_ctx *c, ox_nbits_floats *p, size_t m, size_t n, size_t k);
/* Runs tiles of a stage. |bias|: n elements, or NULL. */
void ox_nbits_floats_run(const ox_kernel_ctx *c, const ox_nbits_floats *p, const ox_nbits_weights *w,
                         const ox_tensor *a, const ox_tensor *bias, uint32_t stage, ox_range tiles, void *scratch);

#endif
