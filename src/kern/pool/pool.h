/* SPDX-License-Identifier: Apache-2.0
 * kern/pool/pool.h - pools over planes of doubles with any number of axes: the reference, and the form for types and
 * outputs that other forms do not support. */
#ifndef OX_KERN_POOL_POOL_H
#define OX_KERN_POOL_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/stop.h"
#include "onyx/ep.h"

enum { OX_POOL_AXES = OX_MAX_RANK - 2 };

typedef enum ox_pool_kind { OX_POOL_MAX, OX_POOL_AVERAGE, OX_POOL_LP } ox_pool_kind;

typedef struct ox_pool {
  ox_pool_kind kind;
  int axes;
  bool include_pad;  /* AVERAGE: count padding (but nothing beyond it) */
  bool column_major; /* MAX: indices count the first axis fastest */
  double p;          /* LP */
  int64_t in[OX_POOL_AXES], out[OX_POOL_AXES];
  int64_t kernel[OX_POOL_AXES], stride[OX_POOL_AXES], dilation[OX_POOL_AXES], lo[OX_POOL_AXES], hi[OX_POOL_AXES];
} ox_pool;

/* One plane, unless |stop| ends it. Maxima ignore NaN. |index|: the position of each maximum in the plane (-1: the
 * window is empty); may be NULL. */
void ox_pool_plane(const ox_pool *p, const double *x, double *y, int64_t *index, const ox_stop *stop);
/* The taps [*out_from, *out_to) of output |o| along axis |a| that lie in [least, end). */
void ox_pool_clip(const ox_pool *p, int a, int64_t o, int64_t least, int64_t end, int64_t *out_from, int64_t *out_to);
/* How many elements output |o| of axis |a| averages over. */
int64_t ox_pool_count(const ox_pool *p, int a, int64_t o);

#endif
