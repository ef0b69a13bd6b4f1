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

/* The same for outputs next to each other in memory, in groups of a block: a group's taps look into a window of the
 * input, or into several that follow each other. */
enum { OX_RESIZE_GROUP = 16 };
typedef struct ox_resize_window {
  int32_t first, pieces; /* of OX_RESIZE_GROUP inputs each; 0: they would not fit into the line */
} ox_resize_window;
typedef struct ox_resize_lines {
  ox_resize_window *window; /* of each group */
  int32_t *index;           /* [group][tap][output], from the window's first; behind the last output, the same again */
  float *weight;            /* likewise; NULL: nearest */
} ox_resize_lines;
/* Fills |lines|, whose arrays have room for all groups; false: some output lies outside, or looks further to the left
 * than the one before. */
bool ox_resize_lines_fill(ox_resize_lines *lines, const int32_t *index, const float *weight, int64_t in, int64_t out,
                          int64_t taps);

/* One pass over outer x in x inner floats: output rows [begin, end) of outer * out. |fill| where index is -1. */
typedef struct ox_resize_pass {
  int64_t in, out, inner, taps;
  const int32_t *index;
  const void *weight; /* of the pass's own type */
  double fill;
  const ox_resize_lines *lines; /* where inner is 1 and whole lines are computed, or NULL */
} ox_resize_pass;
/* A point between four pixels: their weights, and what their sum is multiplied by. */
typedef struct ox_corners {
  int32_t pixel[4];
  float weight[4], scale;
} ox_corners;

typedef struct ox_resize_variant {
  ox_isa needs;
  void (*f32)(const ox_resize_pass *p, const float *x, float *y, int64_t begin, int64_t end);
  /* A line of elements of four bytes, each the one where its index says; |p| has lines, and no weights. */
  void (*near_line)(const ox_resize_pass *p, const float *x, float *y);
  /* Each of n elements of 1, 2, 4, 8 bytes twice into |y|, and the same into |also|, unless that is NULL. */
  void (*twice[4])(const void *x, void *y, void *also, int64_t n);
  /* What becomes of n results between integers: rounded, away from zero in the middle, where they are nearer to one
   * than |noise|; and none beyond |least| and |most|. NaN becomes |least|. */
  void (*to_whole)(float *y, int64_t n, float noise, float least, float most);
  /* y[c * pitch + i] of |channels| at |n| points, from an image whose pixels are |ld| floats, a multiple of
   * OX_RESIZE_GROUP, one for each channel first. */
  void (*corners)(const ox_corners *at, int64_t n, const float *x, int64_t ld, int64_t channels, float *y,
                  int64_t pitch);
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
  bool twice;                  /* along the last axis each element stands twice, of 1, 2, 4, or 8 bytes */
  bool rows_twice;             /* so does each row, and nothing else changes */
  const ox_resize_pass *last;  /* of the last axis, with lines, where elements have four bytes; NULL: copied in turn */
  const ox_resize_variant *variant;
} ox_resize_near;
void ox_resize_nearest(const ox_resize_near *p, const void *x, void *y, int64_t begin, int64_t end);

#endif
