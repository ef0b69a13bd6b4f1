/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp_matrix.h - parallel transposition and copying, for moving channels last and back. */
#ifndef XP_MATRIX_H
#define XP_MATRIX_H

#include "xp.h"

/* Transposes |n| consecutive matrices of |rows| x |columns| elements of |bytes| (1 or 4) each; elements of one byte are
 * xored with |flip|. Runs on the provider's threads. */
void xp_transpose(const ox_ep *ep, const void *in, void *out, size_t n, size_t rows, size_t columns, size_t bytes,
                  uint8_t flip);
/* Copies without moving elements, xoring with |flip|. */
void xp_copy(const ox_ep *ep, const void *in, void *out, size_t bytes, uint8_t flip);
/* Calls |fn| for ranges of [0, n). |bytes| is the amount of data moved in all: if that is little, the calling thread
 * does it alone. */
void xp_loop(const ox_ep *ep, size_t n, size_t bytes,
             ox_status *(*fn)(void *ctx, int64_t begin, int64_t end, uint32_t worker), void *ctx);

#endif
