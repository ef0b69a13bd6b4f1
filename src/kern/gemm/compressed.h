/* SPDX-License-Identifier: Apache-2.0
 * kern/gemm/compressed.h - panels of float32 weights in 16 or 28 bits each, without loss. A product of few rows takes
 * as long as its weights take to come from memory, so an eighth less memory is an eighth less time.
 *
 * 16 bits: models that were trained in bfloat16 or float16 are often exported as float32, whose values are all bfloat16
 * or float16 then. 28 bits: the weights of a few rows of a panel differ little in magnitude, so four bits tell their
 * exponents: 0 is the exponent field 0 (zeros and denormals), 1 to 15 are the largest field and the 14 below it.
 * Normally distributed weights are below that range once in ten thousand times.
 *
 * A panel has NR columns, two vectors of L lanes. It is cut into segments of 64 rows (the last may be shorter):
 *   head: 64 bytes, ox_compressed_head.
 *   groups: 4 rows each, the last one padded with zeros, 8 vectors: vector v is half v % 2 of row v / 2. 16 L or 28 L
 *     bytes, in the order of compressed_bf16.h, compressed_f16.h, compressed_<isa>.c.
 * Weights out of range are listed in the head. If a segment has too many, the product reads that part of B itself. */
#ifndef OX_KERN_GEMM_COMPRESSED_H
#define OX_KERN_GEMM_COMPRESSED_H

#include "base/macros.h"
#include "kern/gemm/gemm.h"

enum {
  OX_COMPRESSED_ROWS = 64, /* of a segment */
  OX_COMPRESSED_GROUP = 4,
  OX_COMPRESSED_LISTED = 8,
  OX_COMPRESSED_MOST_NR = 32,
  OX_COMPRESSED_NONE = 0xffff,     /* ends the list */
  OX_COMPRESSED_TOO_MANY = 0xfffe, /* first in the list: the segment is void */
};

typedef struct ox_compressed_head {
  uint8_t base[OX_COMPRESSED_ROWS / OX_COMPRESSED_GROUP]; /* 28 bits, of a group: code c > 0 is the field base + c */
  uint16_t at[OX_COMPRESSED_LISTED];                      /* weight at[i], row x NR + column, has ... */
  uint32_t bits[OX_COMPRESSED_LISTED];                    /* ... these bits */
} ox_compressed_head;
_Static_assert(sizeof(ox_compressed_head) == 64, "groups are aligned to cache lines");

/* A panel of |k| rows: columns [col, col + n) of |whole|, B itself. */
typedef struct ox_compressed_panel {
  const void *data;
  size_t k, col, n;
  const ox_gemm_src *whole;
} ox_compressed_panel;

typedef struct ox_compressed_kernels {
  size_t nr, panels; /* panels: up to so many, next to each other, may be multiplied at a time */
  size_t bits;       /* of a weight */
  const char *form;
  /* Compresses |k| rows, up to 64, of NR floats. */
  void (*compress)(const float *rows, size_t k, void *segment);
  /* As ox_gemm_variant.fn, with the same sums, for all of k (so for few rows: ox_gemm_is_few); b is the first panel, n
   * the columns of all, |whole| is set. */
  ox_gemm_fn multiply;
  /* Writes rows [k0, k0 + kn), of NR floats each: for products of more rows. */
  void (*expand)(const ox_compressed_panel *p, size_t k0, size_t kn, float *to);
} ox_compressed_kernels;

/* Ways to compress are numbered from 0 on, those of fewer bits first. The kernels of a way for the panels of |v|; NULL:
 * it is not for them, or there are no more. */
enum { OX_COMPRESSED_WAYS = 3 };
const ox_compressed_kernels *ox_compressed_kernels_of(const ox_gemm_variant *v, int way);
/* The first way by which B, as samples of it tell, is worth compressing: nearly all of its weights are in range. -1:
 * none. */
int ox_compressed_choose(const ox_gemm_variant *v, const ox_gemm_src *src, size_t k, size_t n);

static inline size_t ox_compressed_segment_bytes(const ox_compressed_kernels *c) {
  return sizeof(ox_compressed_head) + OX_COMPRESSED_ROWS * c->nr / 8 * c->bits;
}
/* Of a panel of |k| rows. */
static inline size_t ox_compressed_panel_bytes(const ox_compressed_kernels *c, size_t k) {
  size_t rest = k % OX_COMPRESSED_ROWS, groups = (rest + OX_COMPRESSED_GROUP - 1) / OX_COMPRESSED_GROUP;
  size_t tail = rest ? sizeof(ox_compressed_head) + groups * (OX_COMPRESSED_GROUP * c->nr / 8 * c->bits) : 0;
  return k / OX_COMPRESSED_ROWS * ox_compressed_segment_bytes(c) + (tail + 63) / 64 * 64;
}
/* Of all panels of B; kernels read up to 64 bytes beyond a panel. */
static inline size_t ox_compressed_bytes(const ox_compressed_kernels *c, size_t k, size_t n) {
  return OX_CEIL_DIV(n, c->nr) * ox_compressed_panel_bytes(c, k) + OX_PAD_BYTES;
}

/* Compresses B in independent units of some 256 KiB, in the order of the source in memory. */
size_t ox_compressed_units(const ox_gemm_variant *v, const ox_gemm_src *src, size_t k, size_t n);
void ox_compressed_pack(const ox_compressed_kernels *c, const ox_gemm_variant *v, const ox_gemm_src *src, size_t k,
                        size_t n, size_t unit, void *panels);

#endif
