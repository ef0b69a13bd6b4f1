/* SPDX-License-Identifier: Apache-2.0
 * kern/nms/nms_kept.h - the boxes that were selected so far, in stripes by their left edge: a box is compared with those
 * only that may reach it. Where boxes of classes lie apart, as exporters place them, that is a small part. */
#ifndef OX_KERN_NMS_NMS_KEPT_H
#define OX_KERN_NMS_NMS_KEPT_H

#include <stdint.h>

#include "kern/nms/nms.h"

typedef struct ox_candidate {
  float score;
  int64_t index; /* of its box */
} ox_candidate;

enum { OX_KEPT_STRIPES = 256 };

typedef struct ox_kept {
  const ox_nms_variant *v;
  ox_box_rows rows; /* the caller's, one element per candidate in each row */
  float lo, per_width, widest;
  int n_stripes;
  size_t begin[OX_KEPT_STRIPES], end[OX_KEPT_STRIPES]; /* in |rows| */
} ox_kept;

/* Nothing is kept yet; boxes that are added must be among the |n| candidates'. */
void ox_kept_open(ox_kept *k, const ox_box *boxes, const ox_candidate *candidates, size_t n);
void ox_kept_add(ox_kept *k, const ox_box *b);
/* Whether |b| overlaps one of them by more than |limit|, 0 to 1. */
bool ox_kept_overlap(const ox_kept *k, const ox_box *b, float limit);

#endif
