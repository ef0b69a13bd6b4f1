/* SPDX-License-Identifier: Apache-2.0
 * kern/ml/row_products_neon.c - row_products_body.h over the neon vocabulary. */
#include "kern/simd/f32_neon.h"

#define ROW_PRODUCTS_RUN ox_row_products__neon
#include "kern/ml/row_products_body.h"
