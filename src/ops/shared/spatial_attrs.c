/* SPDX-License-Identifier: Apache-2.0
 * ops/shared/spatial_attrs.c - checks the attributes, resolves padding. */
#include "ops/shared/spatial_attrs.h"

#include <string.h>

enum { LARGEST = 1 << 30 }; /* of any single attribute: sums and products of three stay in 64 bits */

ox_status *ox_auto_pad_read(const char *text, ox_auto_pad *out) {
  static const char *const names[] = {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"};
  *out = OX_PAD_NOTSET;
  if (!text || !*text) return NULL;
  for (int i = 0; i < (int)OX_COUNT(names); i++)
    if (strcmp(text, names[i]) == 0) {
      *out = (ox_auto_pad)i;
      return NULL;
    }
  return ox_fail(OX_INVALID_MODEL, "auto_pad is NOTSET, VALID, SAME_UPPER or SAME_LOWER, not \"%.40s\"", text);
}

static ox_status *list_read(const char *name, ox_ints l, int n, int64_t least, int64_t absent, int64_t *out) {
  if (l.n != 0 && l.n != (size_t)n) return ox_fail(OX_INVALID_MODEL, "%s has %zu values, wanted %d", name, l.n, n);
  for (int i = 0; i < n; i++) {
    out[i] = l.n ? l.v[i] : absent;
    if (out[i] < least || out[i] > LARGEST)
      return ox_fail(OX_INVALID_MODEL, "%s[%d] is %lld, wanted %lld..%d", name, i, (long long)out[i], (long long)least,
                     LARGEST);
  }
  return NULL;
}

ox_status *ox_spatial_attrs_read(ox_spatial_attrs *s, int axes, ox_ints kernel, ox_ints strides, ox_ints dilations,
                                 ox_ints pads, const char *auto_pad) {
  if (axes < 1 || axes > OX_SPATIAL_AXES)
    return ox_fail(OX_INVALID_MODEL, "%d spatial axes, wanted 1..%d", axes, OX_SPATIAL_AXES);
  int64_t both[2 * OX_SPATIAL_AXES];
  s->axes = axes;
  s->ceil = s->clipped = false;
  OX_TRY(ox_auto_pad_read(auto_pad, &s->auto_pad));
  OX_TRY(list_read("kernel_shape", kernel, axes, 1, 1, s->kernel));
  OX_TRY(list_read("strides", strides, axes, 1, 1, s->stride));
  OX_TRY(list_read("dilations", dilations, axes, 1, 1, s->dilation));
  OX_TRY(list_read("pads", pads, 2 * axes, -(int64_t)LARGEST, 0, both));
  for (int a = 0; a < axes; a++) s->pad_lo[a] = both[a], s->pad_hi[a] = both[axes + a];
  return NULL;
}

ox_status *ox_spatial_kernel(ox_ints given, const ox_shape *w, int axes, int64_t room[OX_SPATIAL_AXES], ox_ints *out) {
  bool known = w->rank >= 0;
  for (int i = 0; i < axes && w->rank >= 0; i++) {
    room[i] = w->dim[i + 2];
    if (room[i] < 0) known = false;
    if (room[i] >= 0 && given.n == (size_t)axes && given.v[i] != room[i])
      return ox_fail(OX_INVALID_MODEL, "kernel_shape[%d] is %lld, W has %lld", i, (long long)given.v[i],
                     (long long)room[i]);
  }
  *out = given.n || !known ? given : (ox_ints){(size_t)axes, room};
  return NULL;
}

ox_status *ox_spatial_rank(const ox_shape *x, const ox_shape *w, int *out) {
  *out = x->rank >= 0 ? x->rank : w->rank;
  if (*out >= 0 && *out < 3) return ox_fail(OX_INVALID_MODEL, "X has rank %d, wanted at least 3", *out);
  if (x->rank >= 0 && w->rank >= 0 && x->rank != w->rank)
    return ox_fail(OX_SHAPE_MISMATCH, "X has rank %d, W rank %d", x->rank, w->rank);
  return NULL;
}

ox_status *ox_spatial_output(const ox_spatial_attrs *s, int a, int64_t in, int64_t *out, int64_t *lo, int64_t *hi) {
  int64_t stride = s->stride[a], span = (s->kernel[a] - 1) * s->dilation[a] + 1;
  *lo = s->pad_lo[a], *hi = s->pad_hi[a], *out = -1;
  if (s->auto_pad != OX_PAD_NOTSET) *lo = *hi = 0;
  if (in < 0) { /* a symbol stays what it is if each position has its output */
    bool same = s->auto_pad == OX_PAD_SAME_UPPER || s->auto_pad == OX_PAD_SAME_LOWER || *lo + *hi == span - 1;
    if (stride == 1 && same) *out = in;
    return NULL;
  }
  if (in > (int64_t)1 << 56) return ox_fail(OX_LIMIT, "spatial axis %d of %lld is too long", a, (long long)in);
  if (s->auto_pad == OX_PAD_SAME_UPPER || s->auto_pad == OX_PAD_SAME_LOWER) {
    *out = OX_CEIL_DIV(in, stride);
    int64_t total = OX_MAX((*out - 1) * stride + span - in, 0);
    *lo = s->auto_pad == OX_PAD_SAME_UPPER ? total / 2 : total - total / 2;
    *hi = total - *lo;
    return NULL;
  }
  int64_t room = in + *lo + *hi - span;
  if (room < 0 && in == 0) { /* an empty input gives an empty output */
    *out = 0;
    return NULL;
  }
  if (room < 0 && !(s->clipped && room > -2 * stride))
    return ox_fail(OX_SHAPE_MISMATCH, "spatial axis %d: a window of %lld does not fit in %lld + pads %lld, %lld", a,
                   (long long)span, (long long)in, (long long)*lo, (long long)*hi);
  *out = (s->ceil && room > 0 ? OX_CEIL_DIV(room, stride) : room / stride) + 1;
  if (s->ceil && (*out - 1) * stride >= in + *lo)
    --*out; /* the last window must start inside the input or its left pad */
  return NULL;
}
