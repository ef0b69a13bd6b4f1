/* SPDX-License-Identifier: Apache-2.0
 * kern/pool/planes.h - maxima and averages over windows of planes of floats, axis by axis: the rows of a row of windows
 * are reduced (folded) to one line, then the line is reduced along itself. A window of k x k costs 2 k operations an
 * output. */
#ifndef OX_KERN_POOL_PLANES_H
#define OX_KERN_POOL_PLANES_H

#include "base/cpu.h"
#include "kern/pool/pool.h"

enum { OX_PLANES_AXES = 3 };

/* The input rows of an output's window: |n| of them from |first| on, the dilation apart. */
typedef struct ox_planes_reach {
  int64_t first, n;
} ox_planes_reach;

typedef struct ox_planes {
  bool average;
  bool whole;  /* the window is the plane */
  bool direct; /* a row of inputs is a line as it stands */
  bool pairs;  /* windows of two rows by two elements at a stride of 2, all of them inside */
  int64_t in[OX_PLANES_AXES], out[OX_PLANES_AXES], dilation[OX_PLANES_AXES]; /* missing axes have extent 1 */
  int64_t taps, stride, lo;                                                  /* along the line */
  int64_t line;                                                              /* floats of a line with its padding */
  int64_t lines;                                                             /* lines that are folded together */
  int64_t pitch, middle; /* floats from one to the next; from a line's begin to its first input, after the padding */
  const ox_planes_reach *reach[2];
  const float *inverse[OX_PLANES_AXES]; /* average: 1 / count by coordinate */
} ox_planes;

typedef struct ox_planes_variant {
  ox_isa needs;
  const char *name;
  /* Rows [begin, end) of outputs, which count through the planes. */
  void (*rows)(const ox_planes *p, const float *x, float *y, int64_t begin, int64_t end, float *scratch);
  /* Planes [begin, end) of outputs of one element. */
  void (*whole)(const ox_planes *p, const float *x, float *y, int64_t begin, int64_t end);
} ox_planes_variant;

const ox_planes_variant *ox_planes_select(ox_isa have);
/* All variants, best first: for tests. */
const ox_planes_variant *const *ox_planes_variants(size_t *out_n);

/* Is |pool|, MAX or AVERAGE, supported: up to three axes, and lines that are not too long? */
bool ox_planes_fits(const ox_pool *pool);
/* The entries of both tables |reach| together. */
int64_t ox_planes_table_count(const ox_pool *pool);
/* Fills |p| but for |inverse|; |table| has room for ox_planes_table_count entries. */
void ox_planes_init(ox_planes *p, const ox_pool *pool, ox_planes_reach *table);
size_t ox_planes_scratch(const ox_planes *p);

#endif
