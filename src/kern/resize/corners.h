/* SPDX-License-Identifier: Apache-2.0
 * kern/resize/corners.h - linear interpolation at many points between four pixels, which serve many planes. */
#ifndef OX_KERN_RESIZE_CORNERS_H
#define OX_KERN_RESIZE_CORNERS_H

#include <stddef.h>
#include <stdint.h>

#include "base/cpu.h"

/* Points that are as many as a plane of 64 x 64 leaves room for in L1. */
enum { OX_CORNERS = 512 };
typedef struct ox_corners {
  size_t n;
  int64_t at[OX_CORNERS];                     /* of the upper left pixel, which has one to its right and one below */
  double right[OX_CORNERS], down[OX_CORNERS]; /* from there, below 1 */
} ox_corners;

/* y[i]: the pixels of |x|, rows of |width|, around point i, weighted and summed in double, from the left and from
 * above. The same bits on every instruction set. */
typedef struct ox_corners_kernel {
  ox_isa needs;
  const char *name;
  void (*blend)(const ox_corners *c, const float *x, int64_t width, float *y);
} ox_corners_kernel;

const ox_corners_kernel *ox_corners_select(ox_isa have);
/* All of this build, for tests. */
const ox_corners_kernel *const *ox_corners_list(size_t *out_n);

#endif
