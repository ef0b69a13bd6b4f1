/* SPDX-License-Identifier: Apache-2.0
 * base/cksize.h - checked arithmetic for numbers that come from outside. True on success. */
#ifndef OX_BASE_CKSIZE_H
#define OX_BASE_CKSIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool ox_mul_ok(size_t a, size_t b, size_t *out) { return !__builtin_mul_overflow(a, b, out); }
static inline bool ox_add_ok(size_t a, size_t b, size_t *out) { return !__builtin_add_overflow(a, b, out); }
static inline bool ox_mul_i64_ok(int64_t a, int64_t b, int64_t *out) { return !__builtin_mul_overflow(a, b, out); }
static inline bool ox_add_i64_ok(int64_t a, int64_t b, int64_t *out) { return !__builtin_add_overflow(a, b, out); }

/* |v| without its fraction, clamped to the range of int64_t; NaN becomes 0. */
static inline int64_t ox_i64_of(double v) {
  if (v != v) return 0;
  return v >= 0x1p63 ? INT64_MAX : v < -0x1p63 ? INT64_MIN : (int64_t)v;
}
static inline uint64_t ox_u64_of(double v) { return v >= 0x1p64 ? UINT64_MAX : v > 0 ? (uint64_t)v : 0; }

#endif
