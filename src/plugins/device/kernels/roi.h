/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/roi.h - RoiAlign, MaxRoiPool and CropAndResize, an item for each output. */
#include "plugins/device/kernels/dialect.h"
#include "plugins/device/kernels/index.h"
#include "plugins/device/kernels/roi_params.h"

/* The output element of an item. */
typedef struct {
  int column, row, region, channel;
} roi_item;

FUNCTION roi_item roi_item_of(const roi_params *p, int at) {
  int rest = at / p->out[1] / p->out[0];
  roi_item t;
  t.column = at % p->out[1], t.row = at / p->out[1] % p->out[0];
  t.region = rest / p->channels, t.channel = rest % p->channels;
  return t;
}

/* The offset of the plane of a channel of an image. */
FUNCTION int roi_plane(const roi_params *p, int image, int channel) {
  return (image * p->channels + channel) * p->in[0] * p->in[1];
}

/* Bilinear interpolation: the four pixels at rows |top| and top + 1 and columns |left| and left + 1 (clamped at edges),
 * and their weights for the fractions |down| and |along|, in the same order. */
typedef struct {
  int at[4];
  float weight[4];
} roi_blend;

FUNCTION roi_blend roi_blend_of(const roi_params *p, int plane, int top, int left, float down, float along) {
  int above = plane + top * p->in[1], below = plane + MIN_OF(top + 1, p->in[0] - 1) * p->in[1];
  int right = MIN_OF(left + 1, p->in[1] - 1);
  roi_blend b;
  b.at[0] = above + left, b.at[1] = above + right, b.at[2] = below + left, b.at[3] = below + right;
  b.weight[0] = (1.0f - down) * (1.0f - along), b.weight[1] = (1.0f - down) * along;
  b.weight[2] = down * (1.0f - along), b.weight[3] = down * along;
  return b;
}

/* Samples of a bin along an axis. Of |count| samples only those inside of the image, |first| to |end| - 1, are
 * computed; the others count as 0. So the work for a region is bounded by the size of the image. */
typedef struct {
  float start, step;
  int count, first, end;
} roi_axis;

FUNCTION roi_axis roi_axis_of(const roi_params *p, float low, float high, int size, int out, int bin_at) {
  roi_axis a;
  float shift = p->half_pixel ? 0.5f : 0.0f, start = low * p->scale - shift, extent = high * p->scale - shift - start;
  if (!p->half_pixel) extent = extent > 1.0f ? extent : 1.0f;
  float bin = extent / (float)out, n = p->samples > 0 ? (float)p->samples : CEILF(bin);
  a.count = n > 0.0f && n < 1000000.0f ? (int)n : 0;
  a.step = bin / (float)MAX_OF(a.count, 1), a.start = start + (float)bin_at * bin + 0.5f * a.step;
  a.first = 0, a.end = a.count;
  if (a.step > 0.0f) {
    float before = CEILF((-1.0f - a.start) / a.step) - 1.0f, after = FLOORF(((float)size - a.start) / a.step) + 2.0f;
    a.first = before > 0.0f ? before < n ? (int)before : a.count : 0;
    a.end = after < n ? after > 0.0f ? (int)after : 0 : a.count;
  }
  return a;
}

/* Finds sample |i| between pixels |*low| and |*low| + 1, at fraction |*part|. 0: it is outside of the image. */
FUNCTION int roi_sample(const roi_axis *a, int i, int size, int *low, float *part) {
  float v = a->start + (float)i * a->step;
  if (!(v >= -1.0f && v <= (float)size)) return 0;
  v = v > 0.0f ? v : 0.0f;
  *low = MIN_OF((int)v, size - 1);
  *part = *low == size - 1 ? 0.0f : v - (float)*low;
  return 1;
}

KERNEL(roi_align, roi_params) {
  BUFFER(const REAL, x, 0);
  BUFFER(const REAL, regions, 1);
  BUFFER(const char, images, 2);
  BUFFER(REAL, y, 3);
  PARAMS(roi_params, p);
  FOR_ITEMS(t, 256) {
    int at = GROUP(0) * 256 + t;
    if (at < p.n) {
      roi_item o = roi_item_of(&p, at);
      int plane = roi_plane(&p, index_at(images, 1, o.region, p.images), o.channel), r = o.region * 4;
      int found = 0, inside = 0;
      roi_axis down = roi_axis_of(&p, LOAD(regions, r + 1), LOAD(regions, r + 3), p.in[0], p.out[0], o.row);
      roi_axis along = roi_axis_of(&p, LOAD(regions, r), LOAD(regions, r + 2), p.in[1], p.out[1], o.column);
      float sum = 0.0f, most = 0.0f;
      for (int i = down.first; i < down.end; i++) {
        int top, left;
        float fy, fx;
        if (roi_sample(&down, i, p.in[0], &top, &fy)) {
          for (int j = along.first; j < along.end; j++) {
            if (roi_sample(&along, j, p.in[1], &left, &fx)) {
              roi_blend b = roi_blend_of(&p, plane, top, left, fy, fx);
              float v[4];
              for (int k = 0; k < 4; k++) { /* NaN is passed over */
                v[k] = b.weight[k] * LOAD(x, b.at[k]);
                if (!found || v[k] > most) most = v[k], found = most == most;
              }
              sum += v[0] + v[1] + v[2] + v[3], inside++;
            }
          }
        }
      }
      float samples = (float)down.count * (float)along.count;
      if ((float)inside < samples && !(found && most > 0.0f)) most = 0.0f, found = 1;
      STORE(y, at, samples == 0.0f ? 0.0f : !p.largest ? sum / samples : found ? most : FLOAT_OF(0x7fc00000));
    }
  }
}

FUNCTION int roi_round(float v) {
  v = v < 0.0f ? CEILF(v - 0.5f) : FLOORF(v + 0.5f);
  return v > -1.0e9f ? v < 1.0e9f ? (int)v : 1000000000 : -1000000000;
}

/* The beginning of part |i| of |parts| of the |length| pixels from |from| on, clamped to the image; |up|: rounded up.
 */
FUNCTION int roi_bound(int from, int length, int i, int parts, int up, int size) {
  dev_long v = ((dev_long)i * length + (up ? parts - 1 : 0)) / parts + from;
  return v < 0 ? 0 : v > size ? size : (int)v;
}

KERNEL(roi_pool, roi_params) {
  BUFFER(const REAL, x, 0);
  BUFFER(const REAL, regions, 1);
  BUFFER(REAL, y, 2);
  PARAMS(roi_params, p);
  FOR_ITEMS(t, 256) {
    int at = GROUP(0) * 256 + t;
    if (at < p.n) {
      roi_item o = roi_item_of(&p, at);
      int r = o.region * 5;
      float number = LOAD(regions, r);
      int image = number > 0.0f ? number < (float)p.images ? (int)number : p.images - 1 : 0;
      int x0 = roi_round(LOAD(regions, r + 1) * p.scale), y0 = roi_round(LOAD(regions, r + 2) * p.scale);
      int width = roi_round(LOAD(regions, r + 3) * p.scale) - x0 + 1;
      int height = roi_round(LOAD(regions, r + 4) * p.scale) - y0 + 1;
      width = MAX_OF(width, 1), height = MAX_OF(height, 1);
      int top = roi_bound(y0, height, o.row, p.out[0], 0, p.in[0]);
      int bottom = roi_bound(y0, height, o.row + 1, p.out[0], 1, p.in[0]);
      int left = roi_bound(x0, width, o.column, p.out[1], 0, p.in[1]);
      int right = roi_bound(x0, width, o.column + 1, p.out[1], 1, p.in[1]);
      int plane = roi_plane(&p, image, o.channel);
      float best = bottom <= top || right <= left ? 0.0f : -INFINITY;
      for (int i = top; i < bottom; i++) {
        for (int j = left; j < right; j++) {
          float v = LOAD(x, plane + i * p.in[1] + j);
          best = v > best ? v : best; /* NaN is passed over */
        }
      }
      STORE(y, at, best);
    }
  }
}

/* The coordinate of output |i| of |out| between |low| and |high|, which are fractions of |size| - 1. */
FUNCTION float roi_place(float low, float high, int i, int out, int size) {
  float steps = (float)(size - 1);
  if (out <= 1) return 0.5f * (low + high) * steps;
  return low * steps + (float)i * (high - low) * steps / (float)(out - 1);
}

KERNEL(roi_crop, roi_params) {
  BUFFER(const REAL, x, 0);
  BUFFER(const REAL, regions, 1);
  BUFFER(const char, images, 2);
  BUFFER(REAL, y, 3);
  PARAMS(roi_params, p);
  FOR_ITEMS(t, 256) {
    int at = GROUP(0) * 256 + t;
    if (at < p.n) {
      roi_item o = roi_item_of(&p, at);
      int plane = roi_plane(&p, index_at(images, 0, o.region, p.images), o.channel), r = o.region * 4;
      float fy = roi_place(LOAD(regions, r), LOAD(regions, r + 2), o.row, p.out[0], p.in[0]);
      float fx = roi_place(LOAD(regions, r + 1), LOAD(regions, r + 3), o.column, p.out[1], p.in[1]), v = p.scale;
      if (fy >= 0.0f && fy <= (float)(p.in[0] - 1) && fx >= 0.0f && fx <= (float)(p.in[1] - 1)) {
        if (p.nearest) {
          v = LOAD(x, plane + (int)(fy + 0.5f) * p.in[1] + (int)(fx + 0.5f));
        } else {
          int top = (int)fy, left = (int)fx;
          roi_blend b = roi_blend_of(&p, plane, top, left, fy - (float)top, fx - (float)left);
          v = b.weight[0] * LOAD(x, b.at[0]) + b.weight[1] * LOAD(x, b.at[1]);
          v += b.weight[2] * LOAD(x, b.at[2]) + b.weight[3] * LOAD(x, b.at[3]);
        }
      }
      STORE(y, at, v);
    }
  }
}
