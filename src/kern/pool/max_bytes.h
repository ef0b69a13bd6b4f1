/* SPDX-License-Identifier: Apache-2.0
 * kern/pool/max_bytes.h - the largest of each window of 8-bit integers, for quantized models. Total; no allocation. */
#ifndef OX_KERN_POOL_MAX_BYTES_H
#define OX_KERN_POOL_MAX_BYTES_H

#include "kern/pool/pool.h"

/* One or two axes without dilation, and rows of a sane length. */
bool ox_max_bytes_fits(const ox_pool *p);
/* Scratch for ox_max_bytes_plane. */
size_t ox_max_bytes_scratch(const ox_pool *p);
/* One plane. A window that sees no input gives the type's least value. */
void ox_max_bytes_plane(const ox_pool *p, bool is_signed, const uint8_t *x, uint8_t *y, void *scratch);

#endif
