/* SPDX-License-Identifier: Apache-2.0
 * ops/matmul/product_plain.h - quantized products whose operands or result have types without byte kernels (8-bit
 * floats, 16-bit integers, float16 results), by plain loops. One stage; a tile is a row of the result. */
#ifndef OX_OPS_MATMUL_PRODUCT_PLAIN_H
#define OX_OPS_MATMUL_PRODUCT_PLAIN_H

#include "ops/matmul/product_i8.h"

/* Neither operand may be transposed, and B is not packed. */
OX_NODISCARD ox_status *ox_product_plain_plan(ox_kernel_ctx *c, ox_product_i8 *q, const bool trans[4]);
void ox_product_plain_run(const ox_kernel_ctx *c, const ox_product_i8 *q, ox_range tiles);

#endif
