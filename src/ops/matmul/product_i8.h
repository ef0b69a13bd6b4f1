/* SPDX-License-Identifier: Apache-2.0
 * ops/matmul/product_i8.h - batched products of 8-bit tensors for operators. Stages: computing scales (and quantizing a
 * float A), packing B unless load did that, then the tiles. */
#ifndef OX_OPS_MATMUL_PRODUCT_I8_H
#define OX_OPS_MATMUL_PRODUCT_I8_H

#include "kern/gemm/gemm_i8.h"
#include "ops/matmul/product.h"

/* Constant B, packed at load. */
typedef struct ox_product_i8_b {
  const ox_gemm_i8_variant *v;
  size_t count, matrix_bytes;
  void *packed;
} ox_product_i8_b;

/* An operator's input indices; -1: it has no such input. */
typedef struct ox_product_i8_inputs {
  int8_t a, b, a_zero, b_zero, a_scale, b_scale, y_scale, y_zero, bias, bias_i32;
} ox_product_i8_inputs;

typedef struct ox_product_i8 {
  /* the operator fills these in */
  ox_product_i8_inputs in;
  uint32_t out_type; /* OX_I32, OX_F32, OX_U8, OX_I8; any type for plain products */
  bool dynamic;      /* A is float32 and quantized to uint8 at run time */
  float alpha;
  ox_act act;
  /* ox_product_i8_plan fills in the rest */
  ox_product p; /* sizes, batch strides */
  ox_gemm_i8_plan g;
  const ox_product_i8_b *packed;
  bool pack_stage, b_signed, empty;
  int64_t n_batch;
  size_t b_count, b_bytes, row_scales, col_scales;
  size_t at_scales, at_a; /* offsets in the shared memory; B is at 0 */
} ox_product_i8;

/* The common part of both kinds of plans: sizes and batches, and checks of the parameters' counts. */
OX_NODISCARD ox_status *ox_product_i8_sizes(const ox_kernel_ctx *c, ox_product_i8 *q, const bool trans[4]);
/* The first element of parameter |t| for matrix |matrix| of |each| rows or columns. */
size_t ox_product_i8_share(const ox_tensor *t, size_t each, int64_t matrix);

/* Books stages for A and B with these transposes. B's type is known by now, though load may have consumed its data. */
OX_NODISCARD ox_status *ox_product_i8_plan(ox_kernel_ctx *c, ox_product_i8 *q, const ox_product_i8_b *packed,
                                           const bool trans[4]);
OX_NODISCARD ox_status *ox_product_i8_run(const ox_kernel_ctx *c, const ox_product_i8 *q, uint32_t stage,
                                          ox_range tiles, void *scratch);
OX_NODISCARD ox_status *ox_product_i8_pack(ox_load_ctx *c, const ox_tensor *b, bool trans, ox_product_i8_b **out);
void ox_product_i8_unpack(ox_product_i8_b *b, ox_alloc alloc);

#endif
