/* SPDX-License-Identifier: Apache-2.0
 * kern/nbits/nbits.h - products with weights of 2 to 8 bits in blocks that share a scale (and a zero point). Weights
 * are unpacked in registers, so memory traffic stays small. Activations are floats, or bytes quantized per row and
 * block; floats may also meet codes that a table has the values of.
 *
 * Packed weights are panels of L columns (L: the lanes of the instruction set). A panel is a sequence of records, one
 * for each block of k. A record has quads of k as vectors, where lane j holds the four weights of column j. A vector
 * holds 8 / bits quads: with Q = block / 4, vector v has quad v + i * (Q * bits / 8) in the bits from i * bits on of
 * each byte. Then come L float scales and L zero points: none, bytes, or floats. */
#ifndef OX_KERN_NBITS_H
#define OX_KERN_NBITS_H

#include <stdbool.h>

#include "base/cpu.h"
#include "onyx/ep.h"

typedef enum ox_nbits_zero { OX_NBITS_MIDDLE, OX_NBITS_BYTES, OX_NBITS_FLOATS } ox_nbits_zero; /* 2^(bits-1), given */

typedef struct ox_nbits_format {
  uint32_t bits;        /* in the record: 2, 4, 8 */
  float middle;         /* the zero point for OX_NBITS_MIDDLE: 2^(bits - 1) of the source's bits */
  size_t block, blocks; /* k is padded to block * blocks */
  ox_nbits_zero zero;
  const float *table; /* 16 values, which codes of four bits stand for, whatever |zero|; NULL: code - zero point */
} ox_nbits_format;

enum { OX_NBITS_ABREAST = 4, OX_NBITS_SPLIT_ABREAST = 4, OX_NBITS_PARTS = 3 };

/* A row of floats as the sum of three rows of bytes with row stride |q_rs|, of which the first has the scale[2 b] in
 * block b, the second 2^7 times and the third once the scale[2 b + 1]. |sum|: of the first, of the two others together,
 * in units of these scales. */
typedef struct ox_nbits_parts {
  int8_t *q;
  float *scale, *sum;
  size_t q_rs;
} ox_nbits_parts;

/* |m| rows by one panel: up to 4 rows of bytes, or up to the variant's |rows| of floats. */
typedef struct ox_nbits_tile {
  ox_nbits_format f;
  const uint8_t *w;
  size_t m, n;
  const float *a;          /* rows of block * blocks floats; NULL: the rows are quantized, in q */
  const int8_t *q;         /* rows of block * blocks bytes */
  const float *q_scale;    /* each row's scales, one per block */
  const float *q_sum;      /* each row's sums of q, one per block */
  size_t a_rs, q_rs, s_rs; /* row strides of a, of q, of q_scale and q_sum */
  const float *bias;       /* for the panel's columns, or NULL */
  float *c;
  size_t c_rs;
  bool streams; /* OX_SLOW_L3: prefetch weights to L2, not L1 */
} ox_nbits_tile;

typedef struct ox_nbits_variant {
  ox_isa needs;
  size_t lanes, rows; /* rows: the most float rows of a tile */
  size_t many;        /* from so many rows on, a product of floats whose tiles unpack their weights to L2 is faster */
  /* Weights of up to so many bits multiply bytes faster than floats: in pairs, or by an instruction of its own. */
  size_t byte_bits;
  void (*run)(const ox_nbits_tile *t);
  /* OX_NBITS_ABREAST tiles of the same quantized row and weights of four bits, read in turns: each is a stream of
   * memory of its own (kern/gemm/compressed_abreast.h). NULL: one after the other is as fast. */
  void (*abreast)(const ox_nbits_tile *t);
  /* Quantizes |blocks| blocks of a row: bytes, scale = largest magnitude / 127, sums of the bytes. The scale of a block
   * with infinities or NaN is NaN. */
  void (*quantize)(const float *a, size_t block, size_t blocks, int8_t *q, float *scale, float *sum);
  /* Splits a row, so that 21 bits of a block's largest magnitude are kept, about as many as by a sum of floats. False,
   * with nothing made, if a block has infinities or NaN, or its scales would be too small to be exact. */
  bool (*split)(const float *a, size_t block, size_t blocks, const ox_nbits_parts *out);
  /* |n| tiles, 1 or OX_NBITS_SPLIT_ABREAST, of that row: their a and q are not used. */
  void (*run_split)(const ox_nbits_tile *t, size_t n, const ox_nbits_parts *x);
  /* Rows [k0, k0 + kn) of the panel |w| as floats, |lanes| to a row, to |to| with row stride |ld|. */
  void (*unpack)(const ox_nbits_format *f, const uint8_t *w, size_t k0, size_t kn, float *to, size_t ld);
  const char *name;
} ox_nbits_variant;

#define OX_NBITS(needs, lanes, rows, many, byte_bits, isa, abreast)                                                \
  void ox_nbits_run__##isa(const ox_nbits_tile *t);                                                                \
  void ox_nbits_abreast__##isa(const ox_nbits_tile *t);                                                            \
  void ox_nbits_quantize__##isa(const float *a, size_t block, size_t blocks, int8_t *q, float *scale, float *sum); \
  bool ox_nbits_split__##isa(const float *a, size_t block, size_t blocks, const ox_nbits_parts *out);              \
  void ox_nbits_run_split__##isa(const ox_nbits_tile *t, size_t n, const ox_nbits_parts *x);                       \
  void ox_nbits_unpack__##isa(const ox_nbits_format *f, const uint8_t *w, size_t k0, size_t kn, float *to, size_t ld);
#include "kern/nbits/nbits_variants.inc"
#undef OX_NBITS

/* A line of nbits_variants.inc as a variant. */
#define OX_NBITS_ROW(needs, lanes, rows, many, byte_bits, isa, abreast)                                          \
  {                                                                                                              \
    needs, lanes, rows, many, byte_bits, ox_nbits_run__##isa, abreast ? ox_nbits_abreast__##isa : NULL,          \
        ox_nbits_quantize__##isa, ox_nbits_split__##isa, ox_nbits_run_split__##isa, ox_nbits_unpack__##isa, #isa \
  }

const ox_nbits_variant *ox_nbits_select(ox_isa have);

static inline size_t ox_nbits_record(const ox_nbits_format *f, size_t lanes) {
  size_t zero = f->zero == OX_NBITS_BYTES ? 1 : f->zero == OX_NBITS_FLOATS ? 4 : 0;
  return lanes * (f->block * f->bits / 8 + 4 + zero);
}
/* Packs one block of one column: |block| values below 2^bits, its scale and zero point, into lane |lane| of a record.
 */
void ox_nbits_pack(const ox_nbits_format *f, size_t lanes, size_t lane, const uint8_t *values, float scale, float zero,
                   uint8_t *record);

#endif
