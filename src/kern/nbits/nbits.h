/* SPDX-License-Identifier: Apache-2.0
 * kern/nbits/nbits.h - products with weights of few bits in blocks that share a scale (and a zero point), unpacked in
 * registers: what is read from memory stays small. Activations are floats, or bytes quantized per row and block.
 *
 * Packed weights: panels of L columns (L: the lanes of the instruction set). A panel is a run of records, one per block
 * of k: quads of k as vectors, lane j holding column j's four; a vector holds 8 / bits quads, number v + i (Q bits / 8)
 * in bits [i bits, ...) of each byte, Q = block / 4. Then L float scales, then L zero points: none, bytes, or floats.
 */
#ifndef OX_KERN_NBITS_H
#define OX_KERN_NBITS_H

#include "base/cpu.h"
#include "onyx/ep.h"

typedef enum ox_nbits_zero { OX_NBITS_MIDDLE, OX_NBITS_BYTES, OX_NBITS_FLOATS } ox_nbits_zero; /* 2^(bits-1), given */

typedef struct ox_nbits_format {
  uint32_t bits;        /* of the record: 2, 4, 8 */
  float middle;         /* the zero point of OX_NBITS_MIDDLE: of the source's bits */
  size_t block, blocks; /* k padded = block x blocks */
  ox_nbits_zero zero;
} ox_nbits_format;

/* m rows times one panel: up to 4 of bytes, the variant's |rows| of floats. */
typedef struct ox_nbits_tile {
  ox_nbits_format f;
  const uint8_t *w;
  size_t m, n;
  const float *a;          /* rows of block x blocks floats, or NULL: quantized */
  const int8_t *q;         /* rows of block x blocks bytes */
  const float *q_scale;    /* rows of |blocks|: of q */
  const float *q_sum;      /* rows of |blocks|: sums of q */
  size_t a_rs, q_rs, s_rs; /* from row to row: of a, of q, of q_scale and q_sum */
  const float *bias;       /* of the panel's columns, or NULL */
  float *c;
  size_t c_rs;
} ox_nbits_tile;

typedef struct ox_nbits_variant {
  ox_isa needs;
  size_t lanes, rows; /* rows: the most floats of a tile */
  void (*run)(const ox_nbits_tile *t);
  /* |blocks| blocks of a row: bytes, scale = largest / 127, sums of the bytes; NaN is the scale of a block that is not
   * all finite */
  void (*quantize)(const float *a, size_t block, size_t blocks, int8_t *q, float *scale, float *sum);
  const char *name;
} ox_nbits_variant;

#define OX_NBITS(needs, lanes, rows, isa)           \
  void ox_nbits_run__##isa(const ox_nbits_tile *t); \
  void ox_nbits_quantize__##isa(const float *a, size_t block, size_t blocks, int8_t *q, float *scale, float *sum);
#include "kern/nbits/nbits_variants.inc"
#undef OX_NBITS

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
