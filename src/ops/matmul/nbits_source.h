/* SPDX-License-Identifier: Apache-2.0
 * ops/matmul/nbits_source.h - weights of 2 to 8 bits as models store them: read one by one, or packed into the panels
 * of kern/nbits, where a column of a panel is a row of these. */
#ifndef OX_OPS_MATMUL_NBITS_SOURCE_H
#define OX_OPS_MATMUL_NBITS_SOURCE_H

#include "graph/op_def.h"
#include "kern/nbits/nbits.h"

enum { OX_NBITS_MOST_BLOCK = 256 /* codes of a block that is packed */ };

typedef struct ox_nbits_source {
  const uint8_t *b;                    /* |n| rows of |blocks| blobs: |block| codes of |bits| bits, the lowest first */
  const ox_tensor *scales, *zeros;     /* zeros: packed codes (OX_U8) or floats; NULL: the middle of the codes */
  size_t n, block, blocks, bits, blob; /* blob: bytes */
  size_t share;                        /* so many blocks side by side have a scale and a zero point in common */
  size_t first_scale;                  /* of row 0, in elements */
  bool high_first;                     /* of four bits: the first code of a byte is the high half */
  size_t first_zero, zero_row;         /* packed zero points, in bits: of row 0, and from a row's to the next row's */
} ox_nbits_source;

/* Bits [at, at + n) of a stream, lowest first. */
static inline uint32_t ox_nbits_bits(const uint8_t *p, size_t at, size_t n) {
  uint32_t x = p[at / 8];
  if (at % 8 + n > 8) x |= (uint32_t)p[at / 8 + 1] << 8;
  return x >> at % 8 & ((1u << n) - 1);
}

float ox_nbits_scale(const ox_nbits_source *w, size_t row, size_t block);
float ox_nbits_zero_point(const ox_nbits_source *w, size_t row, size_t block);

/* What packs weights of |bits| bits in |blocks| blocks; |zeros| as in a source. */
ox_nbits_format ox_nbits_format_of(size_t bits, size_t block, size_t blocks, const ox_tensor *zeros);
static inline size_t ox_nbits_panel_bytes(const ox_nbits_format *f, size_t lanes) {
  return ox_nbits_record(f, lanes) * f->blocks;
}
/* Packs panel |panel| to |to|, zeros behind the last row. |order|: which k comes where; NULL: as they are. */
void ox_nbits_pack_panel(const ox_nbits_source *w, const ox_nbits_format *f, const int32_t *order, size_t lanes,
                         size_t panel, uint8_t *to);

#endif
