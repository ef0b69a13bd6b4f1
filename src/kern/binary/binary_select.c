/* SPDX-License-Identifier: Apache-2.0
 * kern/binary/binary_select.c - picks the loops for an instruction set; selection by a condition. */
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

/* One condition for all: a copy, or one element over and over. */
static void choose_all(const char *from, char *y, size_t size, size_t n, int step) {
  if (step) {
    memmove(y, from, n * size);
    return;
  }
  char first[16]; /* y may be |from| */
  memcpy(first, from, size), memcpy(y, first, size);
  for (size_t done = 1; done < n; done *= 2) memcpy(y + done * size, y, (done < n - done ? done : n - done) * size);
}

static void choose_bytes(const uint8_t *c, const char *a, const char *b, char *y, size_t size, size_t n, size_t sc,
                         size_t sa, size_t sb) {
  for (size_t i = 0; i < n; i++) memmove(y + i * size, c[i * sc] ? a + i * sa * size : b + i * sb * size, size);
}

void ox_choose(const ox_binary_table *t, const uint8_t *c, const void *a, const void *b, void *y, size_t size, size_t n,
               int sc, int sa, int sb) {
  if (n == 0) return;
  if (!sc) {
    choose_all(c[0] ? a : b, y, size, n, c[0] ? sa : sb);
    return;
  }
  if (size > 8) {
    choose_bytes(c, a, b, y, size, n, (size_t)sc, (size_t)sa, (size_t)sb);
    return;
  }
  t->choose[size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3](c, a, b, y, n, sa, sb);
}
