/* SPDX-License-Identifier: Apache-2.0
 * kern/ml/row_products_avx512.c - row_products_body.h over the avx512 vocabulary. */
#include "kern/simd/f32_avx512.h"

#define ROW_PRODUCTS_RUN ox_row_products__avx512
#include "kern/ml/row_products_body.h"
