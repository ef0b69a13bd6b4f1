/* SPDX-License-Identifier: Apache-2.0
 * kern/nms/nms_kept.h - the boxes that were selected so far, in stripes by their left edge: a box is compared with
 * those only that may reach it. Where boxes of classes lie apart, as exporters place them, that is a small part. */
#ifndef OX_KERN_NMS_NMS_KEPT_H
#define OX_KERN_NMS_NMS_KEPT_H

#include <stdint.h>
#include <string.h>

#include "kern/nms/nms.h"

/* A box and its score, as a number that is the larger the better: higher scores, then lower indices. */
typedef uint64_t ox_candidate;

/* NaN is below all scores, the two zeros are equal. */
static inline ox_candidate ox_candidate_of(float score, uint32_t box) {
  uint32_t u;
  score += 0.0f;
  memcpy(&u, &score, sizeof u);
  u = score != score ? 0 : u >> 31 ? ~u : u | UINT32_C(1) << 31;
  return (uint64_t)u << 32 | (uint32_t)~box;
}
static inline uint32_t ox_candidate_box(ox_candidate c) { return ~(uint32_t)c; }

/* The best of |n| is the first of a heap. */
void ox_candidates_heap(ox_candidate *v, size_t n);
/* Takes the first away; n - 1 are left. */
ox_candidate ox_candidates_pop(ox_candidate *v, size_t n);

enum { OX_KEPT_STRIPES = 256 };

typedef struct ox_kept {
  const ox_nms_variant *v;
  ox_box_rows rows; /* the caller's, one element per candidate in each row */
  float lo, per_width, widest;
  int n_stripes;
  size_t begin[OX_KEPT_STRIPES], end[OX_KEPT_STRIPES]; /* in |rows| */
} ox_kept;

/* Nothing is kept yet; boxes that are added must be among the |n| candidates', if there are any. */
void ox_kept_open(ox_kept *k, const ox_box *boxes, const ox_candidate *candidates, size_t n);
void ox_kept_add(ox_kept *k, const ox_box *b);
/* Whether |b| overlaps one of them by more than |limit|, 0 to 1. */
bool ox_kept_overlap(const ox_kept *k, const ox_box *b, float limit);

#endif
