/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp_matrix.c - see xp_matrix.h. Elements of four bytes are transposed in 4 x 4 blocks with GCC's 128-bit
 * vectors. */
#include "xp_matrix.h"

#include <string.h>

typedef uint32_t v4 __attribute__((vector_size(16)));

enum {
  UNIT = 64,             /* rows or columns per work unit */
  LITTLE_BYTES = 1 << 15 /* up to here a parallel loop costs more than it saves */
};

void xp_loop(const ox_ep *ep, size_t n, size_t bytes,
             ox_status *(*fn)(void *ctx, int64_t begin, int64_t end, uint32_t worker), void *ctx) {
  if (!n) return;
  if (bytes <= LITTLE_BYTES || ep->pool.threads <= 1)
    (void)fn(ctx, 0, (int64_t)n, 0); /* always NULL */
  else
    (void)ep->host.parallel_tiles(&ep->host, (int64_t)n, ep->pool.threads, fn, ctx);
}

/* ---- transposition ---- */

typedef struct matrices {
  const char *in;
  char *out;
  size_t rows, columns, bytes, units; /* units: work units per matrix, along its longer side */
  uint8_t flip;
} matrices;

static inline v4 load(const uint32_t *p) {
  v4 v;
  memcpy(&v, p, sizeof v);
  return v;
}
static inline void store(uint32_t *p, v4 v) { memcpy(p, &v, sizeof v); }

static inline void transpose_4x4(v4 a, v4 b, v4 c, v4 d, v4 out[4]) {
  v4 ab_lo = __builtin_shuffle(a, b, (v4){0, 4, 1, 5}), ab_hi = __builtin_shuffle(a, b, (v4){2, 6, 3, 7});
  v4 cd_lo = __builtin_shuffle(c, d, (v4){0, 4, 1, 5}), cd_hi = __builtin_shuffle(c, d, (v4){2, 6, 3, 7});
  out[0] = __builtin_shuffle(ab_lo, cd_lo, (v4){0, 1, 4, 5}),
  out[1] = __builtin_shuffle(ab_lo, cd_lo, (v4){2, 3, 6, 7});
  out[2] = __builtin_shuffle(ab_hi, cd_hi, (v4){0, 1, 4, 5}),
  out[3] = __builtin_shuffle(ab_hi, cd_hi, (v4){2, 3, 6, 7});
}

/* Rows [r0, r1), columns [k0, k1). */
static void transpose_words(const matrices *m, const uint32_t *in, uint32_t *out, size_t r0, size_t r1, size_t k0,
                            size_t k1) {
  size_t rows = m->rows, columns = m->columns, k = k0;
  for (; k + 4 <= k1; k += 4) {
    size_t r = r0;
    v4 t[4];
    for (; r + 4 <= r1; r += 4) {
      const uint32_t *p = in + r * columns + k;
      transpose_4x4(load(p), load(p + columns), load(p + 2 * columns), load(p + 3 * columns), t);
      for (size_t i = 0; i < 4; i++) store(out + (k + i) * rows + r, t[i]);
    }
    /* RGB: the fourth lane of each store falls into the next column, whose own store overwrites it later. */
    if (rows == 3 && k + 4 < k1) {
      const uint32_t *p = in + r * columns + k;
      transpose_4x4(load(p), load(p + columns), load(p + 2 * columns), load(p), t);
      for (size_t i = 0; i < 4; i++) store(out + (k + i) * rows + r, t[i]);
      continue;
    }
    for (; r < r1; r++)
      for (size_t i = 0; i < 4; i++) out[(k + i) * rows + r] = in[r * columns + k + i];
  }
  for (; k < k1; k++)
    for (size_t r = r0; r < r1; r++) out[k * rows + r] = in[r * columns + k];
}

static void transpose_bytes(const matrices *m, const uint8_t *in, uint8_t *out, size_t r0, size_t r1, size_t k0,
                            size_t k1) {
  size_t rows = m->rows, columns = m->columns;
  for (size_t k = k0; k < k1; k++)
    for (size_t r = r0; r < r1; r++) out[k * rows + r] = in[r * columns + k] ^ m->flip;
}

static ox_status *transpose_units(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  const matrices *m = ctx;
  size_t size = m->rows * m->columns * m->bytes;
  (void)worker;
  for (size_t i = (size_t)begin; i < (size_t)end; i++) {
    const char *in = m->in + i / m->units * size;
    char *out = m->out + i / m->units * size;
    size_t from = i % m->units * UNIT, longer = m->rows > m->columns ? m->rows : m->columns;
    size_t to = from + UNIT < longer ? from + UNIT : longer;
    bool by_rows = m->rows > m->columns;
    size_t r0 = by_rows ? from : 0, r1 = by_rows ? to : m->rows, k0 = by_rows ? 0 : from,
           k1 = by_rows ? m->columns : to;
    if (m->bytes == 4)
      transpose_words(m, (const uint32_t *)(const void *)in, (uint32_t *)(void *)out, r0, r1, k0, k1);
    else
      transpose_bytes(m, (const uint8_t *)in, (uint8_t *)out, r0, r1, k0, k1);
  }
  return NULL;
}

void xp_transpose(const ox_ep *ep, const void *in, void *out, size_t n, size_t rows, size_t columns, size_t bytes,
                  uint8_t flip) {
  if (rows <= 1 || columns <= 1) {
    xp_copy(ep, in, out, n * rows * columns * bytes, flip);
    return;
  }
  size_t longer = rows > columns ? rows : columns;
  matrices m = {in, out, rows, columns, bytes, (longer + UNIT - 1) / UNIT, flip};
  xp_loop(ep, n * m.units, n * rows * columns * bytes, transpose_units, &m);
}

/* ---- copies ---- */

typedef struct copy {
  const uint8_t *in;
  uint8_t *out;
  size_t bytes;
  uint8_t flip;
} copy;

static ox_status *copy_blocks(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  const copy *c = ctx;
  size_t from = (size_t)begin * LITTLE_BYTES, to = (size_t)end * LITTLE_BYTES;
  (void)worker;
  if (to > c->bytes) to = c->bytes;
  if (!c->flip)
    memcpy(c->out + from, c->in + from, to - from);
  else
    for (size_t i = from; i < to; i++) c->out[i] = c->in[i] ^ c->flip;
  return NULL;
}

void xp_copy(const ox_ep *ep, const void *in, void *out, size_t bytes, uint8_t flip) {
  copy c = {in, out, bytes, flip};
  xp_loop(ep, (bytes + LITTLE_BYTES - 1) / LITTLE_BYTES, bytes, copy_blocks, &c);
}
