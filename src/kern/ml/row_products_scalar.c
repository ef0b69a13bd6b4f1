/* SPDX-License-Identifier: Apache-2.0
 * kern/ml/row_products_scalar.c - row_products_body.h over the scalar vocabulary. */
#include "kern/simd/f32_scalar.h"

#define ROW_PRODUCTS_RUN ox_row_products__scalar
#include "kern/ml/row_products_body.h"
