/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/window.h - sliding windows over tensors in blocks of channels (docs/blocks.md): depthwise convolution,
 * maxima, sums. The unit of work is one row of outputs of one block; lanes are channels. */
#ifndef OX_KERN_BLOCKS_WINDOW_H
#define OX_KERN_BLOCKS_WINDOW_H

#include "kern/blocks/bconv.h"

typedef enum ox_window_kind { OX_WINDOW_CONV, OX_WINDOW_MAX, OX_WINDOW_SUM } ox_window_kind;

/* The innermost axis: output o reads inputs o * stride + tap[t], except those outside. */
typedef struct ox_window_line {
  int64_t in, out, stride, n_taps;
  const int64_t *tap;
  int64_t begin, end;          /* the outputs whose taps are all inside */
  bool dense;                  /* taps are adjacent, tap[t] = tap[0] + t, and each window has one inside at least */
  int64_t n_tiles, each, more; /* tiles of a row: the first |more| have each + 1 outputs, the others |each| */
} ox_window_line;

/* One row of outputs. The |n| rows of input are those under taps of the outer axes that are inside. */
typedef struct ox_window_row {
  size_t n;
  const float *const *x, *const *w; /* [in][16] each; [taps of the line][16] each: CONV */
  float *y;                         /* [out][16] */
  const float *z;                   /* CONV: residual like y, or NULL */
  const float *bias;                /* CONV: [16] */
  float lo, hi;                     /* CONV: clamp */
  const float *slope;               /* CONV: PRelu's, [16], or NULL */
  const float *scale;               /* SUM: factor of each output is |factor| * scale[o] */
  float factor;
} ox_window_row;

typedef void ox_window_fn(const ox_window_line *l, const ox_window_row *r);

typedef struct ox_window_variant {
  ox_isa needs;
  const char *name;
  uint32_t lanes;
  int64_t (*tile)(ox_window_kind kind); /* the most outputs whose sums are held in registers */
  ox_window_fn *(*choose)(ox_window_kind kind, const ox_window_line *l); /* the function of a row */
  void (*act)(const ox_act *act, float *y, size_t n);                    /* n: a multiple of 16 */
  /* The same; the results of each lane are added to to[0 .. 15]. |act| NULL: only the sums. */
  void (*act_sum)(const ox_act *act, float *y, size_t n, float *to);
} ox_window_variant;

/* The best variant for |have|; never NULL. */
const ox_window_variant *ox_window_select(ox_isa have);

/* The windows of a whole geometry: g->groups is the number of channels, g->ic and g->oc are 1. */
typedef struct ox_window {
  const ox_window_variant *v;
  ox_window_fn *row;
  ox_window_kind kind;
  ox_conv_geom g;
  ox_window_line line;
  int64_t row_begin, row_end; /* of a window without depth: the rows of outputs whose taps are all inside */
  ox_act act;                 /* of CONV */
  float lo, hi;               /* bounds, if it is a clamp */
  bool post;                  /* it is no clamp: applied to a few rows at a time while they are in cache */
  size_t scratch_bytes;       /* of the lists of input rows and of their weights */
} ox_window;

/* A plane of one block. Row i of its input begins at x + i % ring * pitch, so that the input may be a ring buffer of
 * the last rows; i counts the rows of all depths. */
typedef struct ox_window_plane {
  const float *x;
  int64_t ring, pitch;
  const float *w; /* CONV: [taps][16] */
  const float *bias, *z, *slope;
  float *y; /* row |first| of the outputs; rows are contiguous. |z| likewise */
  int64_t first;
  float *sums;                 /* [16], to which outputs are added, or NULL */
  const float *const *inverse; /* SUM: factors by coordinate of each axis */
} ox_window_plane;

/* The taps of |g| must outlive |p|. False: a size overflows. */
bool ox_window_init(ox_window *p, ox_window_kind kind, const ox_conv_geom *g, const ox_act *act, ox_isa isa);
/* Rows [begin, end) of the plane's out[0] * out[1]. */
void ox_window_rows(const ox_window *p, const ox_window_plane *a, int64_t begin, int64_t end, void *scratch);
/* The number of rows of a tile; depends on the shape only. */
int64_t ox_window_tile_rows(const ox_window *p, int64_t planes);

#endif
