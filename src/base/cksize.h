/* SPDX-License-Identifier: Apache-2.0
 * base/cksize.h - checked arithmetic for sizes that come from outside. True on success. */
#ifndef OX_BASE_CKSIZE_H
#define OX_BASE_CKSIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool ox_mul_ok(size_t a, size_t b, size_t *out) { return !__builtin_mul_overflow(a, b, out); }
static inline bool ox_add_ok(size_t a, size_t b, size_t *out) { return !__builtin_add_overflow(a, b, out); }
static inline bool ox_mul_i64_ok(int64_t a, int64_t b, int64_t *out) { return !__builtin_mul_overflow(a, b, out); }
static inline bool ox_add_i64_ok(int64_t a, int64_t b, int64_t *out) { return !__builtin_add_overflow(a, b, out); }

#endif
