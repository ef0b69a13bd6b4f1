/* SPDX-License-Identifier: Apache-2.0
 * kern/attention/attention_rows.h - the rows of a tile, the keys that they see, and their bias. */
#ifndef OX_KERN_ATTENTION_ATTENTION_ROWS_H
#define OX_KERN_ATTENTION_ATTENTION_ROWS_H

#include "base/macros.h"
#include "kern/attention/attention.h"
#include "onyx/ep.h"

typedef struct attn_row {
  int64_t h, s;   /* head, query position */
  int64_t lo, hi; /* keys it may see: [lo, hi) */
} attn_row;

/* A tile: rows [first, first + n) of the group that shares head |hk| of batch item |b|. */
typedef struct attn_tile {
  int64_t b, hk, first, n;
} attn_tile;

/* Whether the tiles of all heads for the same rows follow each other: their q and results lie side by side, and k and v
 * of all heads stay in L2. */
OX_INLINE bool attn_heads_inside(const ox_attn *a) {
  enum { BYTES = 256 << 10 };
  return a->q.head < a->q.row && a->kv_heads * a->kv_len * (a->d + a->dv) * (int64_t)sizeof(float) <= BYTES;
}

OX_INLINE attn_tile attn_tile_at(const ox_attn *a, int64_t tile_rows, int64_t index) {
  int64_t rows = a->heads / a->kv_heads * a->q_len, blocks = OX_CEIL_DIV(rows, tile_rows);
  int64_t item = index / (blocks * a->kv_heads), of_item = index % (blocks * a->kv_heads);
  bool inside = attn_heads_inside(a);
  int64_t block = inside ? of_item / a->kv_heads : of_item % blocks,
          head = inside ? of_item % a->kv_heads : of_item / blocks;
  return (attn_tile){item, head, block * tile_rows, OX_MIN(rows - block * tile_rows, tile_rows)};
}

OX_INLINE attn_row attn_row_of(const ox_attn *a, const attn_tile *t, int64_t h, int64_t s) {
  attn_row row = {h, s, 0, a->kv_lens ? a->kv_lens[t->b] : a->kv_len};
  int64_t at = row.s + (a->offsets ? a->offsets[t->b] : a->offset);
  row.hi = OX_MIN(row.hi, a->kv_len);
  if (a->right >= 0) row.hi = OX_MIN(row.hi, at + a->right + 1);
  for (int i2 = 0; i2 < 2; i2++)
    if (a->bias[i2].p) row.hi = OX_MIN(row.hi, a->bias[i2].n);
  if (a->left >= 0) row.lo = OX_MAX(at - a->left, 0);
  row.hi = OX_MAX(row.hi, 0);
  row.lo = OX_MIN(row.lo, row.hi);
  return row;
}

OX_INLINE attn_row attn_row_at(const ox_attn *a, const attn_tile *t, int64_t i) {
  int64_t r = t->first + i, per = a->heads / a->kv_heads;
  return attn_row_of(a, t, t->hk * per + r / a->q_len, r % a->q_len);
}

/* The row after |r|; without a window it sees the same keys. */
OX_INLINE attn_row attn_row_next(const ox_attn *a, const attn_tile *t, const attn_row *r) {
  bool more = r->s + 1 < a->q_len;
  int64_t h = more ? r->h : r->h + 1, s = more ? r->s + 1 : 0;
  return a->left < 0 && a->right < 0 ? (attn_row){h, s, r->lo, r->hi} : attn_row_of(a, t, h, s);
}

OX_INLINE int64_t attn_at(const ox_attn_mat *m, int64_t b, int64_t h, int64_t row) {
  return b * m->batch + h * m->head + row * m->row;
}

OX_INLINE int64_t attn_bias_at(const ox_attn_bias *m, int64_t b, const attn_row *r, int64_t t) {
  return (m->period ? b % m->period : b) * m->batch + r->h * m->head + r->s * m->row + t * m->key;
}

#endif
