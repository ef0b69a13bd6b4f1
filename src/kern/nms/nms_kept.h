/* SPDX-License-Identifier: Apache-2.0
 * kern/nms/nms_kept.h - the boxes selected so far, in stripes by their left edge, so that a box is compared only with
 * those that may reach it. Exporters often shift the boxes of each class to a place of their own; then these are few.
 */
#ifndef OX_KERN_NMS_NMS_KEPT_H
#define OX_KERN_NMS_NMS_KEPT_H

#include <stdint.h>
#include <string.h>

#include "kern/nms/nms.h"

/* A box and its score as one number, which is larger for better candidates: higher scores, then lower indices. */
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

/* Orders |n| candidates as a heap, whose first is the best. */
void ox_candidates_heap(ox_candidate *v, size_t n);
/* Removes and returns the first of a heap of |n|. */
ox_candidate ox_candidates_pop(ox_candidate *v, size_t n);

enum { OX_KEPT_STRIPES = 256 };

typedef struct ox_kept {
  const ox_nms_variant *v;
  ox_box_rows rows; /* the caller's, one element per candidate in each row */
  float lo, per_width, widest;
  int n_stripes;
  size_t begin[OX_KEPT_STRIPES], end[OX_KEPT_STRIPES]; /* in |rows| */
} ox_kept;

/* Begins with no boxes selected; those added later must be among the boxes of the |n| candidates. */
void ox_kept_open(ox_kept *k, const ox_box *boxes, const ox_candidate *candidates, size_t n);
void ox_kept_add(ox_kept *k, const ox_box *b);
/* Whether |b| overlaps one of them by more than |limit|, 0 to 1. */
bool ox_kept_overlap(const ox_kept *k, const ox_box *b, float limit);

#endif
