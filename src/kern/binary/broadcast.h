/* SPDX-License-Identifier: Apache-2.0
 * kern/binary/broadcast.h - how up to three operands broadcast to one output. Dimensions in which all operands advance
 * alike are merged, so that the innermost one is as long as possible; along it an operand's step is 1 or 0. */
#ifndef OX_KERN_BINARY_BROADCAST_H
#define OX_KERN_BINARY_BROADCAST_H

#include <stdbool.h>
#include <stddef.h>

#include "onyx/ep.h"

enum { OX_BCAST_MAX = 3 };

typedef struct ox_bcast {
  int rank; /* after merging; at least 1 */
  int n;    /* operands */
  int64_t count;
  int64_t dim[OX_MAX_RANK];
  int64_t stride[OX_BCAST_MAX][OX_MAX_RANK]; /* in elements, 0: broadcast */
  bool dense[OX_BCAST_MAX];                  /* the operand has the output's shape */
} ox_bcast;

/* |out| must be the broadcast of the |n| shapes, all known. */
void ox_bcast_init(ox_bcast *b, const ox_shape *out, int n, const ox_shape *const *in);

/* A run: |n| consecutive outputs from |at|; operand k begins at element off[k] and moves with |step[k]| 0 or 1. */
typedef struct ox_bcast_run {
  int64_t at, n, end;
  int64_t off[OX_BCAST_MAX];
  int step[OX_BCAST_MAX];
  int64_t index[OX_MAX_RANK];
} ox_bcast_run;

/* Runs over outputs [begin, end): for (ok = first(...); ok; ok = next(...)). */
bool ox_bcast_first(const ox_bcast *b, int64_t begin, int64_t end, ox_bcast_run *r);
bool ox_bcast_next(const ox_bcast *b, ox_bcast_run *r);

/* Broadcasts operand |k|: its elements (|size| bytes each: 1, 2, 4, 8 or 16) for outputs [at, at + n) into |dst|. Both
 * are aligned for elements of that size. */
void ox_bcast_gather(const ox_bcast *b, int k, const void *src, size_t size, int64_t at, int64_t n, void *dst);

#endif
