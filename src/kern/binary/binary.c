/* SPDX-License-Identifier: Apache-2.0
 * kern/binary/binary.c - picks the loops for an instruction set; selection by a condition. */
#include "kern/binary/binary.h"

#include <string.h>

#define OX_BINARY(isa, suffix) extern const ox_binary_table ox_binary__##suffix;
#include "kern/binary/binary_variants.inc"
#undef OX_BINARY

const ox_binary_table *ox_binary_select(ox_isa have) {
#define OX_BINARY(isa, suffix) \
  if (((isa) & ~have) == 0) return &ox_binary__##suffix;
#include "kern/binary/binary_variants.inc"
#undef OX_BINARY
  return NULL;
}

/* The four cases of moving and standing operands are loops of their own, so that each vectorises. */
#define SELECT(bits)                                                                                                \
  static void select_##bits(const uint8_t *c, const void *pa, const void *pb, void *py, size_t n, int sa, int sb) { \
    const uint##bits##_t *a = pa, *b = pb;                                                                          \
    uint##bits##_t *y = py, a0 = a[0], b0 = b[0];                                                                   \
    if (sa && sb)                                                                                                   \
      for (size_t i = 0; i < n; i++) y[i] = c[i] ? a[i] : b[i];                                                     \
    else if (sa)                                                                                                    \
      for (size_t i = 0; i < n; i++) y[i] = c[i] ? a[i] : b0;                                                       \
    else if (sb)                                                                                                    \
      for (size_t i = 0; i < n; i++) y[i] = c[i] ? a0 : b[i];                                                       \
    else                                                                                                            \
      for (size_t i = 0; i < n; i++) y[i] = c[i] ? a0 : b0;                                                         \
  }
SELECT(8)
SELECT(16)
SELECT(32)
SELECT(64)

static void select_bytes(const uint8_t *c, const char *a, const char *b, char *y, size_t size, size_t n, size_t sc,
                         size_t sa, size_t sb) {
  for (size_t i = 0; i < n; i++) memmove(y + i * size, c[i * sc] ? a + i * sa * size : b + i * sb * size, size);
}

void ox_select(const uint8_t *c, const void *a, const void *b, void *y, size_t size, size_t n, int sc, int sa, int sb) {
  if (n == 0) return;
  if (!sc || size > 8) {
    select_bytes(c, a, b, y, size, n, (size_t)sc, (size_t)sa, (size_t)sb);
    return;
  }
  switch (size) {
    case 1:
      select_8(c, a, b, y, n, sa, sb);
      break;
    case 2:
      select_16(c, a, b, y, n, sa, sb);
      break;
    case 4:
      select_32(c, a, b, y, n, sa, sb);
      break;
    default:
      select_64(c, a, b, y, n, sa, sb);
      break;
  }
}
