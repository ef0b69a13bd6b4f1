/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/window.h - windows that slide over tensors in blocks of channels (docs/blocks.md): depthwise convolution,
 * maxima, sums. The unit of work is one row of outputs of one block; channels are the lanes. */
#ifndef OX_KERN_BLOCKS_WINDOW_H
#define OX_KERN_BLOCKS_WINDOW_H

#include "kern/blocks/bconv.h"

typedef enum ox_window_kind { OX_WINDOW_CONV, OX_WINDOW_MAX, OX_WINDOW_SUM } ox_window_kind;

/* The innermost axis: output o reads inputs o * stride + tap[t]; what lies outside is left out. */
typedef struct ox_window_line {
  int64_t in, out, stride, n_taps;
  const int64_t *tap;
  int64_t begin, end;          /* outputs that find all taps inside */
  bool dense;                  /* taps are neighbours: tap[t] = tap[0] + t; no window lies outside as a whole */
  int64_t n_tiles, each, more; /* of a row: the first |more| have each + 1 outputs, the others |each| */
} ox_window_line;

/* One row of outputs. The taps of the outer axes find |n| rows of input; the others lie outside. */
typedef struct ox_window_row {
  size_t n;
  const float *const *x, *const *w; /* [in][16] each; [taps of the line][16] each: CONV */
  float *y;                         /* [out][16] */
  const float *z;                   /* CONV: residual like y, or NULL */
  const float *bias;                /* CONV: [16] */
  float lo, hi;                     /* CONV: clamp */
  const float *slope;               /* CONV: [16], of what is below 0, or NULL */
  const float *scale;               /* SUM: factor of each output is |factor| * scale[o] */
  float factor;
} ox_window_row;

typedef void ox_window_fn(const ox_window_line *l, const ox_window_row *r);

typedef struct ox_window_variant {
  ox_isa needs;
  const char *name;
  uint32_t lanes;
  int64_t (*tile)(ox_window_kind kind); /* outputs held in registers, at most */
  ox_window_fn *(*choose)(ox_window_kind kind, const ox_window_line *l);
  void (*act)(const ox_act *act, float *y, size_t n); /* n: a multiple of 16 */
  /* The same, and what comes out is added to to[0 .. 15]; |act| NULL: only that. */
  void (*act_sum)(const ox_act *act, float *y, size_t n, float *to);
} ox_window_variant;

/* The best variant for |have|; never NULL. */
const ox_window_variant *ox_window_select(ox_isa have);

/* Windows of a whole geometry; channels count as g->groups, g->ic and g->oc are 1. */
typedef struct ox_window {
  const ox_window_variant *v;
  ox_window_fn *row;
  ox_window_kind kind;
  ox_conv_geom g;
  ox_window_line line;
  int64_t row_begin, row_end; /* rows of outputs that find all taps inside, where there is no depth */
  ox_act act;           /* of CONV */
  float lo, hi;         /* what of it is a clamp */
  bool post;            /* the rest is a pass over some rows while they are in cache */
  size_t scratch_bytes; /* lists of rows */
} ox_window;

/* A plane of one block. Row i of its input begins at x + i % ring * pitch; rows count through the depth. */
typedef struct ox_window_plane {
  const float *x;
  int64_t ring, pitch;
  const float *w; /* CONV: [taps][16] */
  const float *bias, *z, *slope;
  float *y; /* row |first| of the outputs; rows follow each other. So for z */
  int64_t first;
  float *sums; /* [16], to which outputs are added, or NULL */
  const float *const *inverse; /* SUM: factors by coordinate of each axis */
} ox_window_plane;

/* The taps of |g| must outlive |p|. False: a size overflows. */
bool ox_window_init(ox_window *p, ox_window_kind kind, const ox_conv_geom *g, const ox_act *act, ox_isa isa);
/* Rows [begin, end) of the plane's out[0] * out[1]. */
void ox_window_rows(const ox_window *p, const ox_window_plane *a, int64_t begin, int64_t end, void *scratch);
/* How many rows make a good tile: depends on the shape only. */
int64_t ox_window_tile_rows(const ox_window *p, int64_t planes);

#endif
