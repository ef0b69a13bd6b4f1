/* SPDX-License-Identifier: Apache-2.0
 * kern/nms/nms.h - whether a box overlaps one of many: their intersection divided by their union is above a limit. */
#ifndef OX_KERN_NMS_NMS_H
#define OX_KERN_NMS_NMS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/cpu.h"

typedef struct ox_box {
  float y1, x1, y2, x2, area; /* y1 <= y2, x1 <= x2 */
} ox_box;

/* A box without an area, or with one that is NaN or infinite, overlaps nothing; all others have finite corners. */
static inline bool ox_box_counts(const ox_box *b) { return b->area > 0 && b->area < INFINITY; }

static inline bool ox_box_overlaps(const ox_box *a, const ox_box *b, float limit) {
  float h = fminf(a->y2, b->y2) - fmaxf(a->y1, b->y1), w = fminf(a->x2, b->x2) - fmaxf(a->x1, b->x1);
  if (!(h > 0 && w > 0)) return false;
  float common = h * w, all = a->area + b->area - common;
  return all > 0 && common / all > limit;
}

/* Many boxes, all of which count: a row for each corner and one for areas. */
typedef struct ox_box_rows {
  float *y1, *x1, *y2, *x2, *area;
} ox_box_rows;

typedef struct ox_nms_variant {
  ox_isa needs;
  const char *name;
  /* Whether |b|, which counts, overlaps one of the boxes [first, end) by more than |limit|, which is 0 to 1. */
  bool (*overlaps_any)(const ox_box_rows *rows, size_t first, size_t end, const ox_box *b, float limit);
} ox_nms_variant;

/* The best for |have|; never NULL. */
const ox_nms_variant *ox_nms_select(ox_isa have);
const ox_nms_variant *const *ox_nms_variants(size_t *out_n);

#endif
