/* SPDX-License-Identifier: Apache-2.0
 * kern/nms/nms_kept.c - stripes of selected boxes, and the heap of candidates. */
#include "kern/nms/nms_kept.h"

#include "base/macros.h"

enum { LEAST_PER_STRIPE = 32 /* boxes, on average: fewer do not fill vectors */ };

/* Puts |c| at |root| of a heap of |n|, or below it. */
static void sift_down(ox_candidate *v, size_t n, size_t root, ox_candidate c) {
  for (size_t kid; (kid = 2 * root + 1) < n; root = kid) {
    kid += kid + 1 < n && v[kid + 1] > v[kid];
    if (v[kid] <= c) break;
    v[root] = v[kid];
  }
  v[root] = c;
}

void ox_candidates_heap(ox_candidate *v, size_t n) {
  for (size_t i = n / 2; i-- > 0;) sift_down(v, n, i, v[i]);
}

ox_candidate ox_candidates_pop(ox_candidate *v, size_t n) {
  ox_candidate best = v[0];
  if (n > 1) sift_down(v, n - 1, 0, v[n - 1]);
  return best;
}

/* The stripe of a left edge at |x|; it does not decrease as |x| grows. */
static int stripe_of(const ox_kept *k, float x) {
  float at = (x - k->lo) * k->per_width;
  return at >= (float)k->n_stripes ? k->n_stripes - 1 : at > 0 ? (int)at : 0;
}

/* Chooses the stripes: about as wide as boxes. */
static void divide(ox_kept *k, float hi, double widths, size_t n) {
  double mean = n ? widths / (double)n : 0, span = (double)hi - (double)k->lo;
  double most = OX_MIN((double)OX_KEPT_STRIPES, (double)n / LEAST_PER_STRIPE);
  double stripes = mean > 0 ? OX_MIN(span / mean, most) : 1;
  k->n_stripes = stripes > 1 ? (int)stripes : 1;
  k->per_width = k->n_stripes > 1 ? (float)(k->n_stripes / span) : 0;
  k->widest *= 1 + 1e-6f; /* widths were rounded: not less than any of them was before that */
}

void ox_kept_open(ox_kept *k, const ox_box *boxes, const ox_candidate *candidates, size_t n) {
  float hi = -INFINITY;
  double widths = 0;
  size_t counting = 0, at = 0, room[OX_KEPT_STRIPES] = {0};
  k->lo = INFINITY, k->widest = 0;
  for (size_t i = 0; i < n; i++) {
    const ox_box *b = &boxes[ox_candidate_box(candidates[i])];
    if (!ox_box_counts(b)) continue;
    k->lo = OX_MIN(k->lo, b->x1), hi = OX_MAX(hi, b->x1), k->widest = OX_MAX(k->widest, b->x2 - b->x1);
    widths += (double)b->x2 - (double)b->x1, counting++;
  }
  divide(k, hi, widths, counting);
  for (size_t i = 0; i < n; i++) {
    const ox_box *b = &boxes[ox_candidate_box(candidates[i])];
    if (ox_box_counts(b)) room[stripe_of(k, b->x1)]++;
  }
  for (int s = 0; s < k->n_stripes; at += room[s++]) k->begin[s] = k->end[s] = at;
}

void ox_kept_add(ox_kept *k, const ox_box *b) {
  if (!ox_box_counts(b)) return;
  size_t i = k->end[stripe_of(k, b->x1)]++;
  k->rows.y1[i] = b->y1, k->rows.x1[i] = b->x1, k->rows.y2[i] = b->y2, k->rows.x2[i] = b->x2;
  k->rows.area[i] = b->area;
}

/* The left edge of a box that overlaps |b| is left of b's right edge, and no further left of b's left edge than the
 * widest box. */
bool ox_kept_overlap(const ox_kept *k, const ox_box *b, float limit) {
  if (!ox_box_counts(b)) return false;
  int last = stripe_of(k, b->x2);
  for (int s = stripe_of(k, b->x1 - k->widest); s <= last; s++)
    if (k->v->overlaps_any(&k->rows, k->begin[s], k->end[s], b, limit)) return true;
  return false;
}
