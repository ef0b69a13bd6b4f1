/* SPDX-License-Identifier: Apache-2.0
 * kern/nms/nms_body.h - nms.h over the SIMD vocabulary. Lanes are boxes. A quick test with a product instead of the
 * quotient, and with a margin for its rounding, finds vectors in which some box may overlap; their boxes are then
 * tested exactly, one by one, so that results do not depend on the number of lanes. */
#include "kern/nms/nms.h"

enum { L = VF32_LANES };

static bool any_of(const ox_box_rows *r, size_t first, size_t n, const ox_box *b, float limit) {
  for (size_t i = first; i < first + n; i++) {
    ox_box a = {r->y1[i], r->x1[i], r->y2[i], r->x2[i], r->area[i]};
    if (ox_box_overlaps(&a, b, limit)) return true;
  }
  return false;
}

/* |room|: an absolute margin, for areas near the smallest floats, where the relative margin of |least| is rounded away.
 */
static bool overlaps_any(const ox_box_rows *r, size_t first, size_t end, const ox_box *b, float limit) {
  vf32 y1 = vf32_splat(b->y1), x1 = vf32_splat(b->x1), y2 = vf32_splat(b->y2), x2 = vf32_splat(b->x2);
  vf32 area = vf32_splat(b->area), zero = vf32_zero();
  vf32 least = vf32_splat(limit * (1 - 1e-5f)), room = vf32_splat(limit > 0 ? -1e-30f : 0);
  for (size_t i = first; i < end; i += L) {
    size_t n = vf32_lanes_at(i, end);
    vf32 h = vf32_sub(vf32_min(y2, vf32_load_n(r->y2 + i, n)), vf32_max(y1, vf32_load_n(r->y1 + i, n)));
    vf32 w = vf32_sub(vf32_min(x2, vf32_load_n(r->x2 + i, n)), vf32_max(x1, vf32_load_n(r->x1 + i, n)));
    vf32 common = vf32_mul(vf32_max(h, zero), vf32_max(w, zero));
    vf32 all = vf32_sub(vf32_add(area, vf32_load_n(r->area + i, n)), common);
    if (vm32_any(vf32_lt(vf32_fma(least, all, room), common)) && any_of(r, i, n, b, limit)) return true;
  }
  return false;
}

extern const ox_nms_variant OX_PASTE(ox_nms__, NMS_ISA);
const ox_nms_variant OX_PASTE(ox_nms__, NMS_ISA) = {NMS_NEEDS, "nms_" OX_QUOTE(NMS_ISA), overlaps_any};
