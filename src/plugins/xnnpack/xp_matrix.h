/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp_matrix.h - transposition, as channels go to the end and come back. */
#ifndef XP_MATRIX_H
#define XP_MATRIX_H

#include "xp.h"

/* |n| matrices of |rows| x |columns| elements of |bytes| (1 or 4) in a row become their transposes; bytes are xored
 * with |flip|. On the threads of the provider. */
void xp_transpose(const ox_ep *ep, const void *in, void *out, size_t n, size_t rows, size_t columns, size_t bytes,
                  uint8_t flip);
/* The same for what stays where it is. */
void xp_copy(const ox_ep *ep, const void *in, void *out, size_t bytes, uint8_t flip);
/* Calls |fn| for ranges of [0, n), which together move |bytes|: here alone if that is little. */
void xp_loop(const ox_ep *ep, size_t n, size_t bytes,
             ox_status *(*fn)(void *ctx, int64_t begin, int64_t end, uint32_t worker), void *ctx);

#endif
