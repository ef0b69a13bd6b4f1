/* SPDX-License-Identifier: Apache-2.0
 * kern/pool/max_pool_i8.c - the maximum down the rows of a window first, then along the row, both in vectors of 16
 * bytes as if the stride were 1; of these results the stride selects. The top bit of signed bytes is flipped, so that
 * they compare as unsigned ones. */
#include "kern/pool/max_pool_i8.h"

#include <string.h>

#include "base/macros.h"

enum { VECTOR = 16 };
typedef uint8_t bytes16 __attribute__((vector_size(VECTOR)));

static bytes16 load(const uint8_t *p) {
  bytes16 v;
  memcpy(&v, p, VECTOR);
  return v;
}

static bytes16 larger(bytes16 a, bytes16 b) {
  bytes16 m = (bytes16)(a > b);
  return (a & m) | (b & ~m);
}

/* Bytes of a row with its padding, rounded up to whole vectors. */
static size_t row_bytes(const ox_pool *p, int a) {
  size_t need = (size_t)((p->out[a] - 1) * p->stride[a] + p->kernel[a]);
  size_t have = (size_t)(p->in[a] + OX_MAX(p->lo[a], 0));
  return OX_ROUND_UP(OX_MAX(need, have), VECTOR);
}

bool ox_max_pool_i8_fits(const ox_pool *p) {
  int last = p->axes - 1;
  if (p->kind != OX_POOL_MAX || p->axes < 1 || p->axes > 2) return false;
  for (int a = 0; a < p->axes; a++)
    if (p->dilation[a] != 1 || p->lo[a] < 0 || p->stride[a] > 4096 || p->kernel[a] > 4096) return false;
  return p->in[last] < (1 << 20) && p->out[last] > 0 && p->out[last] < (1 << 20) / p->stride[last];
}

size_t ox_max_pool_i8_scratch(const ox_pool *p) {
  return 2 * (row_bytes(p, p->axes - 1) + OX_ROUND_UP((size_t)p->kernel[p->axes - 1], VECTOR) + VECTOR);
}

/* row = max(row, x), for |n| bytes. */
static void merge_row(uint8_t *row, const uint8_t *x, int64_t n, uint8_t flip) {
  bytes16 f = (bytes16){0} + flip;
  int64_t j = 0;
  for (; j + VECTOR <= n; j += VECTOR) {
    bytes16 m = larger(load(row + j), load(x + j) ^ f);
    memcpy(row + j, &m, VECTOR);
  }
  for (; j < n; j++) row[j] = OX_MAX(row[j], (uint8_t)(x[j] ^ flip));
}

/* The maximum over |kernel| adjacent bytes, for each position of a row. */
static void slide(uint8_t *to, const uint8_t *row, size_t n, int64_t kernel) {
  for (size_t i = 0; i < n; i += VECTOR) {
    bytes16 m = load(row + i);
    for (int64_t t = 1; t < kernel; t++) m = larger(m, load(row + i + t));
    memcpy(to + i, &m, VECTOR);
  }
}

void ox_max_pool_i8(const ox_pool *p, bool is_signed, const uint8_t *x, uint8_t *y, void *scratch) {
  int a = p->axes - 1;
  bool rows = p->axes == 2;
  size_t n = row_bytes(p, a), room = ox_max_pool_i8_scratch(p) / 2;
  uint8_t *row = scratch, *best = row + room, flip = is_signed ? 0x80 : 0;
  int64_t out_rows = rows ? p->out[0] : 1, in_rows = rows ? p->in[0] : 1, width = p->in[a];
  for (int64_t r = 0; r < out_rows; r++) {
    int64_t from = rows ? r * p->stride[0] - p->lo[0] : 0, to = rows ? from + p->kernel[0] : 1;
    memset(row, 0, room);
    for (int64_t i = OX_MAX(from, 0); i < OX_MIN(to, in_rows); i++)
      merge_row(row + p->lo[a], x + i * width, width, flip);
    slide(best, row, n, p->kernel[a]);
    for (int64_t o = 0; o < p->out[a]; o++) *y++ = best[o * p->stride[a]] ^ flip;
  }
}
