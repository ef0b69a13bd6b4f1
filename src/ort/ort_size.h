/* SPDX-License-Identifier: Apache-2.0
 * ort/ort_size.h - sums and products of sizes that callers give: false if they do not fit. */
#ifndef OX_ORT_SIZE_H
#define OX_ORT_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool ort_mul_ok(size_t a, size_t b, size_t *out) {
  *out = a * b;
  return b == 0 || a <= SIZE_MAX / b;
}

static inline bool ort_add_ok(size_t a, size_t b, size_t *out) {
  *out = a + b;
  return *out >= a;
}

#endif
