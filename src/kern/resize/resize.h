/* SPDX-License-Identifier: Apache-2.0
 * kern/resize/resize.h - interpolation along one axis at a time: tables of taps, and the passes that apply them. */
#ifndef OX_KERN_RESIZE_RESIZE_H
#define OX_KERN_RESIZE_RESIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpu.h"
#include "base/macros.h"

typedef enum ox_resize_mode { OX_RESIZE_NEAREST, OX_RESIZE_LINEAR, OX_RESIZE_CUBIC } ox_resize_mode;
typedef enum ox_resize_coord {
  OX_COORD_HALF_PIXEL,
  OX_COORD_HALF_PIXEL_SYMMETRIC,
  OX_COORD_PYTORCH_HALF_PIXEL,
  OX_COORD_ALIGN_CORNERS,
  OX_COORD_ASYMMETRIC,
  OX_COORD_TF_HALF_PIXEL_FOR_NN,
  OX_COORD_TF_CROP_AND_RESIZE
} ox_resize_coord;
typedef enum ox_resize_round {
  OX_ROUND_PREFER_FLOOR,
  OX_ROUND_PREFER_CEIL,
  OX_ROUND_FLOOR,
  OX_ROUND_CEIL,
  OX_ROUND_SIMPLE /* before version 11: down when growing, up when shrinking */
} ox_resize_round;

typedef struct ox_resize_axis {
  int64_t in, out;
  double scale; /* a float, or the ratio of sizes as it is */
  double roi_begin, roi_end;
  bool wide; /* coordinates in double, else rounded to float at each step, as the standard's are */
  ox_resize_mode mode;
  ox_resize_coord coord;
  ox_resize_round round;
  bool antialias, exclude_outside;
  float cubic_a;
} ox_resize_axis;

/* Taps per output of the axis. */
int64_t ox_resize_taps(const ox_resize_axis *a);
/* index[o * taps + t] and weight[..] for every output; weights sum to 1. index[o * taps] is -1 where the coordinate
 * lies outside under TF_CROP_AND_RESIZE. Weights go to the one of |w32| and |w64| that is not NULL; NEAREST has none.
 */
void ox_resize_table(const ox_resize_axis *a, int32_t *index, float *w32, double *w64);

/* One pass over outer x in x inner floats: output rows [begin, end) of outer * out. |fill| where index is -1. */
typedef struct ox_resize_pass {
  int64_t in, out, inner, taps;
  const int32_t *index;
  const void *weight; /* of the pass's own type */
  double fill;
} ox_resize_pass;
typedef struct ox_resize_variant {
  ox_isa needs;
  void (*f32)(const ox_resize_pass *p, const float *x, float *y, int64_t begin, int64_t end);
} ox_resize_variant;
/* The best for |have|; never NULL. */
const ox_resize_variant *ox_resize_select(ox_isa have);
void ox_resize_f64(const ox_resize_pass *p, const double *x, double *y, int64_t begin, int64_t end);

/* NEAREST of all axes at once, elements of any size: output rows [begin, end), a row is the last axis. */
typedef struct ox_resize_near {
  int rank;
  size_t elem;
  const int64_t *in, *out;     /* dims */
  const int32_t *const *index; /* per axis; NULL: identity */
  const void *fill;            /* one element */
} ox_resize_near;
void ox_resize_nearest(const ox_resize_near *p, const void *x, void *y, int64_t begin, int64_t end);

#endif
