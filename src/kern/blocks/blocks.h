/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/blocks.h - tensors in blocks of 16 channels (docs/blocks.md), and conversion to and from them. */
#ifndef OX_KERN_BLOCKS_BLOCKS_H
#define OX_KERN_BLOCKS_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpu.h"
#include "base/macros.h"
#include "kern/act.h"

enum { OX_BLOCK = 16 /* channels of a block, on every instruction set */ };

/* A source of some lanes of a block: lane i of the result is lane from[i] of |x|'s pixels; -1: not from |x|. */
typedef struct ox_blocks_source {
  const float *x;
  int8_t from[OX_BLOCK];
} ox_blocks_source;

typedef struct ox_blocks_variant {
  ox_isa needs;
  const char *name;
  /* n pixels of one block from |channels| planes, |plane| floats apart; lanes past the last channel become zero. */
  void (*to)(float *y, const float *x, size_t plane, size_t channels, size_t n);
  /* The reverse; lanes past the last channel are dropped. */
  void (*from)(float *y, size_t plane, const float *x, size_t channels, size_t n);
  /* n pixels of one block: y = act(scale (x - center) + shift), each of 16 floats; y may be x. */
  void (*affine)(float *y, const float *x, const float *center, const float *scale, const float *shift, ox_act act,
                 size_t n);
  /* Means of the 16 lanes over n pixels, and sums of squared deviations from them. */
  void (*moments)(const float *x, size_t n, double *mean, double *squares);
  /* n pixels of one block from |n_from| other blocks, 1 to 16; lanes that no source has become zero. */
  void (*pick)(float *y, const ox_blocks_source *from, size_t n_from, size_t n);
} ox_blocks_variant;

/* The best for |have|; never NULL. */
const ox_blocks_variant *ox_blocks_select(ox_isa have);
/* Transposes |n| floats of each of |rows| <= 16 rows, |step| floats apart and unaligned, to |n| lines of 16 lanes,
 * |line| floats apart; lanes past the last row become zero. Packs filters. */
void ox_blocks_lines(const ox_blocks_variant *v, float *to, size_t line, const ox_f32u *from, size_t step, size_t rows,
                     size_t n);
/* All of them, best first: for tests. */
const ox_blocks_variant *const *ox_blocks_variants(size_t *out_n);

#endif
