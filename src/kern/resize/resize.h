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
  OX_ROUND_SIMPLE /* before version 11: down when the axis grows, up when it shrinks */
} ox_resize_round;

typedef struct ox_resize_axis {
  int64_t in, out;
  double scale; /* the value of a float, or the exact ratio of the sizes */
  double roi_begin, roi_end;
  bool wide; /* coordinates in double; else rounded to float after each operation, as in the standard */
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

/* The same for an axis that is contiguous in memory, where outputs are computed in groups: the taps of a group are in a
 * window of the input, which consists of one or more consecutive pieces. */
enum { OX_RESIZE_GROUP = 16 };
typedef struct ox_resize_window {
  int32_t first, pieces; /* pieces of OX_RESIZE_GROUP inputs each; 0: the window does not fit into the line */
} ox_resize_window;
typedef struct ox_resize_lines {
  ox_resize_window *window; /* one per group */
  int32_t *index;           /* [group][tap][output], relative to the window's first; the last output's are repeated */
  float *weight;            /* likewise; NULL: nearest */
} ox_resize_lines;
/* Fills |lines|, whose arrays have room for all groups; false: an output lies outside, or its taps are further left
 * than those of the one before. */
bool ox_resize_lines_fill(ox_resize_lines *lines, const int32_t *index, const float *weight, int64_t in, int64_t out,
                          int64_t taps);

/* One pass over [outer, in, inner]: computes output rows [begin, end) of outer * out. |fill| is used for index -1. */
typedef struct ox_resize_pass {
  int64_t in, out, inner, taps;
  const int32_t *index;
  const void *weight; /* of the pass's own type */
  double fill;
  const ox_resize_lines *lines; /* for inner 1 and whole lines; else NULL */
} ox_resize_pass;
/* A point between four pixels: their weights, and what their sum is multiplied by. */
typedef struct ox_corners {
  int32_t pixel[4];
  float weight[4], scale;
} ox_corners;

typedef struct ox_resize_variant {
  ox_isa needs;
  void (*f32)(const ox_resize_pass *p, const float *x, float *y, int64_t begin, int64_t end);
  /* Nearest neighbours for a line of elements of four bytes; |p| has lines, and no weights. */
  void (*near_line)(const ox_resize_pass *p, const float *x, float *y);
  /* Writes each of n elements of 1, 2, 4 or 8 bytes twice to |y|, and the same to |also| unless that is NULL. */
  void (*twice[4])(const void *x, void *y, void *also, int64_t n);
  /* Prepares n results for conversion to integers: those within |noise| of an integer are rounded to it, ties away from
   * zero; all are clamped to [least, most]. NaN becomes |least|. */
  void (*to_whole)(float *y, int64_t n, float noise, float least, float most);
  /* y[c * pitch + i] of |channels| at |n| points, from an image whose pixels are |ld| floats, a multiple of
   * OX_RESIZE_GROUP, one for each channel first. */
  void (*corners)(const ox_corners *at, int64_t n, const float *x, int64_t ld, int64_t channels, float *y,
                  int64_t pitch);
} ox_resize_variant;
/* The best for |have|; never NULL. */
const ox_resize_variant *ox_resize_select(ox_isa have);
void ox_resize_f64(const ox_resize_pass *p, const double *x, double *y, int64_t begin, int64_t end);

/* NEAREST along all axes at once, for elements of any size: output rows [begin, end), where a row is the last axis. */
typedef struct ox_resize_near {
  int rank;
  size_t elem;
  const int64_t *in, *out;     /* dims */
  const int32_t *const *index; /* per axis; NULL: identity */
  const void *fill;            /* one element */
  bool twice;                  /* each element, of 1, 2, 4, or 8 bytes, is doubled along the last axis */
  bool rows_twice;             /* each row is doubled, too, and nothing else changes */
  const ox_resize_pass *last;  /* the last axis with lines, for elements of four bytes; NULL: element by element */
  const ox_resize_variant *variant;
} ox_resize_near;
void ox_resize_nearest(const ox_resize_near *p, const void *x, void *y, int64_t begin, int64_t end);

#endif
