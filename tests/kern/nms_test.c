/* SPDX-License-Identifier: Apache-2.0
 * kern/nms_test.c - boxes that are kept, in stripes and lanes, beside comparing each with each. */
#include "base/macros.h"
#include "kern/nms/nms_kept.h"
#include "support/check.h"

enum { MOST = 700 };

static uint32_t state = 1;
static float uniform(float lo, float hi) {
  state = state * 1664525u + 1013904223u;
  return lo + (hi - lo) * (float)(state >> 8) / (float)(1 << 24);
}

static ox_box box_of(float y1, float x1, float y2, float x2) { return (ox_box){y1, x1, y2, x2, (y2 - y1) * (x2 - x1)}; }

/* How boxes lie: [0]: apart by class, [1]: one heap, [2]: one of them over all, [3]: on a grid, where overlaps meet
 * limits exactly, [4]: tiny, [5]: huge, [6]: with points, NaN and infinities in between. */
enum { LAYOUTS = 7 };
static ox_box place(int layout, int i) {
  float x = uniform(0, 300), y = uniform(0, 300), w = uniform(10, 80), h = uniform(10, 80);
  if (layout == 0) x += 301 * (float)(i % 20), y += 301 * (float)(i % 20);
  if (layout == 2 && i == 0) return box_of(-1000, -1000, 1000, 1000);
  if (layout == 3) x = floorf(x / 8) * 4, y = floorf(y / 64) * 4, w = h = 16;
  if (layout == 4) x *= 1e-22f, y *= 1e-22f, w *= 1e-22f, h *= 1e-22f;
  if (layout == 5) x *= 1e34f, y *= 1e2f, w *= 1e34f, h *= 1e2f;
  if (layout == 6 && i % 5 == 0) w = 0;
  if (layout == 6 && i % 7 == 0) x = NAN;
  if (layout == 6 && i % 11 == 0) w = INFINITY;
  if (layout == 6 && i % 13 == 0) x = -INFINITY;
  return box_of(y, x, y + h, x + w);
}

/* By the definition, in plain floats. */
static bool plain_overlap(const ox_box *a, const ox_box *b, float limit) {
  float h = fminf(a->y2, b->y2) - fmaxf(a->y1, b->y1), w = fminf(a->x2, b->x2) - fmaxf(a->x1, b->x1);
  if (!(h > 0 && w > 0 && a->area > 0 && b->area > 0)) return false;
  float common = h * w, all = a->area + b->area - common;
  return all > 0 && common / all > limit;
}

static void check(const ox_nms_variant *v, int layout, int n, float limit, bool stripes) {
  static ox_box boxes[MOST];
  static ox_candidate order[MOST];
  static float sides[5][MOST];
  static bool plain[MOST];
  ox_kept k = {.v = v, .rows = {sides[0], sides[1], sides[2], sides[3], sides[4]}};
  state = 1;
  for (int i = 0; i < n; i++) boxes[i] = place(layout, i), order[i] = ox_candidate_of(0, (uint32_t)i);
  ox_kept_open(&k, boxes, order, stripes ? (size_t)n : 0);
  for (int i = 0; i < n; i++) {
    plain[i] = false;
    for (int j = 0; j < i; j++) plain[i] = plain[i] || (!plain[j] && plain_overlap(&boxes[i], &boxes[j], limit));
    bool got = ox_kept_overlap(&k, &boxes[i], limit);
    if (got != plain[i])
      fail_msg("%s, layout %d, %d boxes, limit %g: box %d is%s suppressed", v->name, layout, n, (double)limit, i,
               got ? "" : " not");
    if (!got) ox_kept_add(&k, &boxes[i]);
  }
}

static void test_beside_each_with_each(void **unused) {
  (void)unused;
  static const int counts[] = {0, 1, 2, 15, 17, 64, MOST};
  static const float limits[] = {0, 0.1f, 1.0f / 3, 0.5f, 0.7f, 1};
  size_t n;
  const ox_nms_variant *const *all = ox_nms_variants(&n);
  for (size_t v = 0; v < n; v++) {
    if (all[v]->needs & ~ox_isa_host()) continue;
    for (int layout = 0; layout < LAYOUTS; layout++)
      for (size_t c = 0; c < OX_COUNT(counts); c++)
        for (size_t l = 0; l < OX_COUNT(limits); l++)
          for (int stripes = 0; stripes < 2; stripes++) check(all[v], layout, counts[c], limits[l], stripes);
  }
}

static void test_candidates_come_by_score_then_index(void **unused) {
  (void)unused;
  static const float scores[] = {0.5f, -1, 0, -0.0f, NAN, INFINITY, -INFINITY, 0.5f, 1e-40f, -1e-40f, 3, 0.25f, 0.5f};
  static const uint32_t wanted[] = {5, 10, 0, 7, 12, 11, 8, 2, 3, 9, 1, 6, 4};
  ox_candidate v[OX_COUNT(scores)];
  for (size_t n = 0; n <= OX_COUNT(scores); n++) {
    for (size_t i = 0; i < n; i++) v[i] = ox_candidate_of(scores[i], (uint32_t)i);
    ox_candidates_heap(v, n);
    for (size_t left = n, w = 0; left > 0; w++) {
      if (wanted[w] >= n) continue; /* not among the first n */
      assert_int_equal(ox_candidate_box(ox_candidates_pop(v, left--)), wanted[w]);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_beside_each_with_each),
                                     cmocka_unit_test(test_candidates_come_by_score_then_index)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
