/* SPDX-License-Identifier: Apache-2.0
 * kern/resize/sample.h - interpolating an image at any position: GridSample, DeformConv, RoiAlign. */
#ifndef OX_KERN_RESIZE_SAMPLE_H
#define OX_KERN_RESIZE_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

enum { OX_SAMPLE_AXES = 5, OX_SAMPLE_TAPS = 1024 }; /* 4^5 */

typedef enum ox_sample_mode { OX_SAMPLE_NEAREST, OX_SAMPLE_LINEAR, OX_SAMPLE_CUBIC } ox_sample_mode;
typedef enum ox_sample_pad { OX_SAMPLE_ZEROS, OX_SAMPLE_BORDER, OX_SAMPLE_REFLECTION } ox_sample_pad;

typedef struct ox_sampler {
  ox_sample_mode mode;
  ox_sample_pad pad;
  bool align_corners;
  int axes;
  int64_t dim[OX_SAMPLE_AXES];
} ox_sampler;

/* Offsets into a plane and weights for position |x| (in pixels, first axis first); returns their number. Taps in zero
 * padding are omitted. */
int ox_sample_taps(const ox_sampler *s, const double *x, int64_t *offset, double *weight);
/* Normalised coordinate (-1..1) of an axis of |n| pixels to pixels. */
static inline double ox_sample_denormalize(double v, int64_t n, bool align_corners) {
  return align_corners ? (v + 1) / 2 * (double)(n - 1) : ((v + 1) * (double)n - 1) / 2;
}

#endif
