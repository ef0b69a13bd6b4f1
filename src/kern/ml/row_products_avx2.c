/* SPDX-License-Identifier: Apache-2.0
 * kern/ml/row_products_avx2.c - row_products_body.h over the avx2 vocabulary. */
#include "kern/simd/f32_avx2.h"

#define ROW_PRODUCTS_RUN ox_row_products__avx2
#include "kern/ml/row_products_body.h"
