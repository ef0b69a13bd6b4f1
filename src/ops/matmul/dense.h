/* SPDX-License-Identifier: Apache-2.0
 * ops/matmul/dense.h - linear layers, y = x W^T + bias, by one of several matrices of floats or of weights of few
 * bits. A tile is a group of outputs for some rows of x; how many those are may be known in a run only. */
#ifndef OX_OPS_MATMUL_DENSE_H
#define OX_OPS_MATMUL_DENSE_H

#include "kern/nbits/nbits.h"
#include "ops/matmul/product.h"

enum { OX_DENSE_GROUP = 64 /* outputs of a tile: a multiple of all panels' columns */ };

/* Indices of a layer's inputs; OX_DENSE_NO_INPUT: there is no such input. */
typedef struct ox_dense_slots {
  uint8_t w, scale, bias, zero;
} ox_dense_slots;
enum { OX_DENSE_NO_INPUT = 255 };

/* What load finds out about a layer's weights. */
typedef struct ox_dense_state {
  ox_product_b *floats; /* constants; NULL: they are not, and are read where they lie */
  bool codes;           /* constants of few bits that kern/nbits can multiply */
} ox_dense_state;

typedef struct ox_dense {
  ox_dense_slots in;
  int64_t count, n, k, bits, block, blocks; /* W: [count, n, k]; bits 0: floats; block: k elements share a scale */
  bool turned;                              /* floats are [count, k, n] */
  bool blocked;       /* packed zero points of each row begin a byte; false: one a row, and those of a matrix do */
  const float *table; /* 16 values of four bits, the high half of a byte first; no zero points then; else NULL */
  /* set by ox_dense_plan */
  const ox_gemm_variant *v;
  const void *const *panels; /* where a run finds the packed weights; NULL: they are read where they lie */
  size_t matrix_bytes;       /* of |panels| */
  const ox_nbits_variant *few;
  ox_nbits_format f;
  size_t panel_bytes;
} ox_dense;

/* |m| rows, of k floats without gaps, by |matrix|; |y|: the group's outputs, rows |ldy| floats apart. */
typedef struct ox_dense_job {
  int64_t matrix, m;
  const float *x;
  float *y;
  size_t ldy;
} ox_dense_job;

/* At load: whether the node's layer number |i| is packed; then the node consumes its weights. |turned|, |bits|,
 * |block|: as in ox_dense; a block of 0: the whole row. */
OX_NODISCARD ox_status *ox_dense_load_floats(ox_load_ctx *c, const ox_dense_slots *in, int i, bool turned,
                                             ox_dense_state *out);
void ox_dense_load_codes(ox_load_ctx *c, const ox_dense_slots *in, int64_t bits, int64_t block, ox_dense_state *out);

/* In prepare, with all sizes checked: arranges packing of layer |i|, which lives as long as these shapes. |most|: rows
 * of a job. */
OX_NODISCARD ox_status *ox_dense_plan(ox_kernel_ctx *c, ox_dense *l, const ox_dense_state *s, int i, int64_t most,
                                      size_t *out_scratch);
static inline int64_t ox_dense_groups(const ox_dense *l) { return OX_CEIL_DIV(l->n, OX_DENSE_GROUP); }
void ox_dense_run(const ox_kernel_ctx *c, const ox_dense *l, const ox_dense_job *job, int64_t group, void *scratch);

#endif
