/* SPDX-License-Identifier: Apache-2.0
 * kern/pool/max_pool_i8.h - MaxPool of 8-bit integers, signed or unsigned. Cannot fail; no allocation. */
#ifndef OX_KERN_POOL_MAX_POOL_I8_H
#define OX_KERN_POOL_MAX_POOL_I8_H

#include "kern/pool/pool.h"

/* One or two axes without dilation, and rows below 2^20 bytes. */
bool ox_max_pool_i8_fits(const ox_pool *p);
/* Bytes of scratch for ox_max_pool_i8. */
size_t ox_max_pool_i8_scratch(const ox_pool *p);
/* One plane. A window without inputs gives the type's least value. */
void ox_max_pool_i8(const ox_pool *p, bool is_signed, const uint8_t *x, uint8_t *y, void *scratch);

#endif
