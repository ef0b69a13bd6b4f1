/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/winograd.h - convolution by Winograd's algorithm, on blocks of channels: 3x3 windows of stride 1 or 2,
 * and windows of one row or column. Here are the steps that an instruction set provides. There are no shuffles: lanes
 * are channels, and transforms add whole vectors.
 *
 * F(m): an input tile of n x n becomes n^2 values V = B^T d B, each of which is multiplied by its own matrix of weights
 * U = G g G^T over the channels; Y = A^T M A are the m x m outputs. With stride 1 and r x r taps, n = m + r - 1, and
 * B^T, G and A^T follow from the interpolation points 0, +-p_i, infinity (winograd_points.h).
 *
 * Lines: if the window extends along one axis only, so do tiles: n values V = B^T d make m outputs Y = A^T M. A column
 * is a line whose positions lie a row apart. A long window is a sum of short ones, m taps apart from each other: the
 * one at tap m i of a tile's outputs reads the very V of the i-th tile after it, so that V is made once for all of
 * them.
 *
 * With stride 2 the even inputs meet the outer taps, which is F(m) of two taps; the odd ones meet the middle tap
 * untransformed. F(2): y0 = g0 d0 + g2 d2 = (d0 - d2) g0 + d2 (g0 + g2) and y1 = g0 d2 + g2 d4 = (d4 - d2) g2 +
 * d2 (g0 + g2). That is five products for two outputs instead of six, with four different weights; a line's F(5) has
 * eleven for five instead of fifteen.
 *
 * A window of more than one tap along the depth of a volume is a sum of 3x3 windows, one for each, which read images
 * that follow each other: V of an image serves as many outputs as there are such windows. So is one of several lines
 * (5x5, 7x7) a sum of lines; its images are rows.
 *
 * A window with dilation d along an axis reads every d-th position: the image is treated as d interleaved images, each
 * with its own outputs and a window without dilation. */
#ifndef OX_KERN_BLOCKS_WINOGRAD_H
#define OX_KERN_BLOCKS_WINOGRAD_H

#include "kern/blocks/bconv.h"

enum {
  OX_WINO_MAX_M = 6,
  OX_WINO_MAX_N = 11,
  OX_WINO_MAX_POINTS = 36,
  OX_WINO_MAX_TAPS = 256,      /* of a long line */
  OX_WINO_PAIR = 2 * OX_BLOCK, /* output channels that are multiplied together */
  OX_WINO_SPAN = 16            /* tiles of a row that are transformed at a time */
};

typedef enum ox_wino_kind {
  OX_WINO_F2,
  OX_WINO_F4,
  OX_WINO_F2_STRIDE2,
  OX_WINO_LINE3, /* lines of up to 3 taps, */
  OX_WINO_LINE5,
  OX_WINO_LINE7,
  OX_WINO_LONG_LINE,     /* of any number, as windows of 6 */
  OX_WINO_LINE3_STRIDE2, /* of 3 */
  OX_WINO_KINDS
} ox_wino_kind;

static inline bool ox_wino_is_line(ox_wino_kind k) { return k >= OX_WINO_LINE3; }

/* Along a row: outputs of a tile, taps of a window, stride, points, different weights, and the points of these that are
 * interpolated. */
static inline int ox_wino_m(ox_wino_kind k) {
  return k == OX_WINO_LINE3 || k == OX_WINO_LINE5               ? 6
         : k == OX_WINO_LONG_LINE || k == OX_WINO_LINE3_STRIDE2 ? 5
         : k == OX_WINO_F4 || k == OX_WINO_LINE7                ? 4
                                                                : 2;
}
static inline int ox_wino_taps(ox_wino_kind k) {
  return k == OX_WINO_LINE5 ? 5 : k == OX_WINO_LINE7 ? 7 : k == OX_WINO_LONG_LINE ? 6 : 3;
}
static inline int ox_wino_stride(ox_wino_kind k) {
  return k == OX_WINO_F2_STRIDE2 || k == OX_WINO_LINE3_STRIDE2 ? 2 : 1;
}
static inline int ox_wino_interpolated(ox_wino_kind k) {
  return ox_wino_m(k) + (ox_wino_stride(k) == 2 ? 2 : ox_wino_taps(k)) - 1;
}
static inline int ox_wino_n(ox_wino_kind k) {
  return ox_wino_interpolated(k) + (ox_wino_stride(k) == 2 ? ox_wino_m(k) : 0);
}
static inline int ox_wino_weights(ox_wino_kind k) { return ox_wino_interpolated(k) + (ox_wino_stride(k) == 2); }
static inline int ox_wino_step(ox_wino_kind k) { return ox_wino_m(k) * ox_wino_stride(k); } /* inputs per tile */
/* Rows of a tile: their stride, of outputs, of points, of different weights. */
static inline int ox_wino_rows_stride(ox_wino_kind k) { return ox_wino_is_line(k) ? 1 : ox_wino_stride(k); }
static inline int ox_wino_rows_m(ox_wino_kind k) { return ox_wino_is_line(k) ? 1 : ox_wino_m(k); }
static inline int ox_wino_rows_n(ox_wino_kind k) { return ox_wino_is_line(k) ? 1 : ox_wino_n(k); }
static inline int ox_wino_rows_weights(ox_wino_kind k) { return ox_wino_is_line(k) ? 1 : ox_wino_weights(k); }
/* Of a whole tile and window. */
static inline int ox_wino_tile_points(ox_wino_kind k) { return ox_wino_rows_n(k) * ox_wino_n(k); }
static inline int ox_wino_tile_weights(ox_wino_kind k) { return ox_wino_rows_weights(k) * ox_wino_weights(k); }
static inline int ox_wino_window_taps(ox_wino_kind k) { return ox_wino_is_line(k) ? ox_wino_taps(k) : 9; }

/* Up to OX_WINO_SPAN tiles side by side in one image. */
typedef struct ox_wino_span {
  int64_t y, x;  /* of the first tile's first output */
  int64_t count; /* tiles */
  size_t at;     /* the first one's index in its strip */
} ox_wino_span;

/* Addresses and extents of one image of one group, or of one of its interleaved images. */
typedef struct ox_wino_image {
  const float *x;                           /* [blocks][depth][in_h][in_w][16] */
  int64_t slice, depth, x_slice, dilation;  /* the image that the first window reads, of |depth|; floats from one to
                                             * the next; images from window to window */
  float *y;                                 /* [blocks][out_h][out_w][16] */
  const float *z;                           /* residual like y, or NULL */
  int64_t x_block, y_block;                 /* floats from block to block, */
  int64_t x_row, y_row, x_column, y_column; /* from row to row, from column to column */
  int64_t in_h, in_w, out_h, out_w, pad_h, pad_w;
} ox_wino_image;

/* A strip: tiles that are multiplied together, the same of one image of Y or of several that follow each other.
 * V: [points][blocks][inputs][16]; M: [points][tiles][width]. */
typedef struct ox_wino_strip {
  int64_t begin, slices;   /* the first tile; images of Y */
  size_t count;            /* tiles of each image */
  size_t tiles, inputs;    /* in all; inputs: tiles of V, of which the windows after the first read some more */
  size_t window;           /* tiles of V from window to window */
  size_t v_point, m_point; /* floats from point to point */
} ox_wino_strip;

typedef struct ox_wino_in {
  const ox_wino_image *image;
  const ox_wino_strip *strip;
  ox_wino_span span;
  int64_t block0, block1; /* of channels */
  float *v, *rows;        /* rows: scratch of ox_wino_rows_floats() */
} ox_wino_in;

typedef struct ox_wino_mul {
  size_t tiles, inputs; /* of the strip */
  const float *v, *u;   /* of one point; u: [ic][width], channels u_step floats apart */
  size_t u_step;
  const float *ahead; /* the weights read after u, to be prefetched; NULL: they are in cache */
  float *m;
  size_t ic, width; /* width: 16 or 32 */
  bool add;         /* add to m instead of storing */
} ox_wino_mul;

typedef struct ox_wino_out {
  const ox_wino_image *image;
  const ox_wino_strip *strip;
  ox_wino_span span;
  const float *m;       /* of point 0 */
  size_t width, at;     /* width of a row of M; the block's offset in it */
  int64_t block;        /* of output channels, in the image */
  const float *bias;    /* of the block's channels, or NULL */
  size_t lanes;         /* channels of the block that exist */
  const float *filters; /* [ic][taps][width], from the block's first channel on: to recompute sums that are not finite.
                         * NULL: read through |lender|, from filter |first_filter| on */
  const ox_conv_args *lender;
  int64_t first_filter;
  size_t ic, taps, window; /* taps: of a filter; of a window that reads one image */
  const ox_act *act;
  float lo, hi;       /* clamp */
  const float *slope; /* of the block's channels, or NULL */
  bool post;          /* |act| is not a clamp */
} ox_wino_out;

typedef struct ox_wino_steps {
  void (*in)(const ox_wino_in *t);
  void (*out)(const ox_wino_out *t);
  /* U of one input channel of |width| filters f[tap][width]; a line's window has ox_wino_taps() of them. */
  void (*filter)(const float *f, size_t width, float *u, size_t u_point);
  /* U of |ic| input channels, f[ic][tap][width], at the points of one row, u[ic][point][width]. Computed in floats, for
   * forms that compute U in every run; NULL: there are none. */
  void (*filter_row)(const float *f, size_t ic, size_t width, int row, float *u);
} ox_wino_steps;

typedef struct ox_wino_variant {
  ox_isa needs;
  const char *name;
  double macs_per_ns, transform_ns[OX_WINO_KINDS]; /* transform_ns: of one block of one tile, input or output */
  ox_wino_steps steps[OX_WINO_KINDS];
  void (*mul)(const ox_wino_mul *t);
} ox_wino_variant;

const ox_wino_variant *ox_wino_select(ox_isa have);

/* Columns of the scratch rows: an odd number, so that rows lie in different cache sets. */
#define OX_WINO_COLUMNS(k) (((OX_WINO_SPAN - 1) * ox_wino_step(k) + ox_wino_n(k)) | 1)
static inline size_t ox_wino_rows_floats(ox_wino_kind k) {
  return (size_t)(ox_wino_rows_n(k) * OX_WINO_COLUMNS(k) * OX_BLOCK);
}

/* What a kind sees of a convolution: images of rows (axis 0) and columns (axis 1). Lines run along axis 1, whichever
 * axis of the convolution they are. */
typedef struct ox_wino_axis {
  int64_t in, out, first, dilation; /* first: the coordinate that the first output's first tap reads */
  int64_t x_step, y_step;           /* floats from position to position */
} ox_wino_axis;
typedef struct ox_wino_view {
  ox_wino_axis axis[2];
  ox_wino_axis depth; /* images, |depth_stride| of X from one of Y to the next; its steps are not set */
  int64_t depth_stride;
  int64_t taps, windows; /* of a filter; short windows that a filter is a sum of */
  bool deep;             /* these read images a dilation apart, else stretches of a long line */
} ox_wino_view;
/* False: not served. */
bool ox_wino_view_of(const ox_bconv_task *t, ox_wino_kind k, ox_wino_view *out);

/* The functions of a form (bconv.h). */
size_t ox_wino_weight_floats(const ox_bconv_task *t, ox_wino_kind k);
/* The axis that lines run along: the last one with several taps. */
static inline int ox_wino_line_axis(const ox_conv_geom *g) {
  int axis = OX_CONV_AXES - 1;
  while (axis > 0 && g->n_taps[axis] == 1) axis--;
  return axis;
}
/* The taps from one short window to the next, and the windows that a filter is a sum of. */
static inline int64_t ox_wino_window_step(const ox_conv_geom *g, ox_wino_kind k) {
  return !ox_wino_is_line(k) ? 9 : k == OX_WINO_LONG_LINE ? ox_wino_m(k) : g->n_taps[ox_wino_line_axis(g)];
}
static inline int64_t ox_wino_windows(const ox_conv_geom *g, ox_wino_kind k) {
  int64_t taps = ox_conv_taps(g) - (k == OX_WINO_LONG_LINE), step = ox_wino_window_step(g, k);
  return step > 0 ? OX_MAX(OX_CEIL_DIV(taps, step), 1) : 1;
}
/* Floats of U, which the untransformed filters follow. */
static inline int64_t ox_wino_u_floats(const ox_bconv_task *t, ox_wino_kind k) {
  return t->g.groups * t->g.ic * OX_ROUND_UP(t->g.oc, OX_BLOCK) * ox_wino_windows(&t->g, k) * ox_wino_tile_weights(k);
}
int64_t ox_wino_weight_units(const ox_bconv_task *t);
int64_t ox_wino_unit_filter(const ox_bconv_task *t, int64_t u);
void ox_wino_pack(const ox_bconv_task *t, ox_wino_kind k, float *dst, const float *w, int64_t u0, int64_t u1,
                  const ox_stop *stop);
/* Packs the filters only, without U: [group][pair of blocks][ic][tap][32]. */
void ox_wino_pack_filters(const ox_bconv_task *t, float *dst, const float *w, int64_t u0, int64_t u1,
                          const ox_stop *stop);

enum { OX_WINO_EACH_STRIPS = 8 /* at most, if each worker makes V: it notes them in a mask */ };

typedef struct ox_wino_plan {
  ox_bconv_plan head;
  const ox_wino_variant *v;
  ox_wino_kind kind;
  ox_wino_view view;
  int64_t blocks, pairs;       /* per group: input channels / 16, output channels / 32 */
  int64_t interleaved[2];      /* the number of interleaved images along each axis (dilation) */
  int64_t across, down;        /* tiles of an image */
  int64_t tiles, strips;       /* of all images of a group */
  int64_t line, per_line;      /* strips do not cross lines: tiles and strips of one, in an image */
  int64_t slices, slabs;       /* images of a volume if windows are deep, else 1; parts into which strips divide them */
  int64_t whole;               /* a window that reads no padding for any image of Y; or |windows| */
  bool shared;                 /* several pieces of work read the same V, */
  bool each;                   /* which each worker makes for itself, else a stage of its own for all */
  int64_t in_parts, out_parts; /* then: parts that a strip's blocks and pairs are divided into */
  size_t most, v_floats;       /* tiles and V of the largest strip */
} ox_wino_plan;

double ox_wino_cost_ns(const ox_bconv_task *t, ox_wino_kind k);
/* The work of |k| for a task, on one core. False: not supported. */
typedef struct ox_wino_work {
  double weights, tiles, products_ns, transforms_ns;
} ox_wino_work;
bool ox_wino_work_of(const ox_bconv_task *t, ox_wino_kind k, ox_wino_work *out);
bool ox_wino_plan_init(ox_bconv_plan *p, ox_wino_kind k);
/* Sets the counts of |p| that do not depend on how the work is divided. */
bool ox_wino_plan_counts(ox_wino_plan *p, ox_wino_kind k);
/* Cuts all tiles into strips of about |most|. Long lines, and images whose windows are deep, are cut each on its own,
 * since their tiles read V of others. */
void ox_wino_cut(ox_wino_plan *p, int64_t most);
void ox_wino_run(const ox_bconv_plan *p, const ox_conv_args *a, uint32_t stage, int64_t begin, int64_t end,
                 void *scratch);
/* V of blocks [block0, block1) of strip |s|; rows: scratch. */
void ox_wino_strip_in(const ox_wino_plan *p, const ox_conv_args *a, int64_t group, int64_t s, int64_t block0,
                      int64_t block1, float *v, float *rows);
/* The products of window |w| at one point, for the images that it meets; t.v and t.m are those of the strip's first
 * tile. If images are left, because |w| is not p->whole, t.add tells whether theirs are kept or become 0. */
void ox_wino_mul_window(const ox_wino_plan *p, const ox_wino_strip *strip, int64_t w, ox_wino_mul t);
/* The outputs of a strip and a pair of blocks from M. |filters|: as ox_wino_out has them, of the pair. */
void ox_wino_strip_out(const ox_wino_plan *p, const ox_conv_args *a, int64_t group, int64_t s, int64_t pair,
                       const float *m, const float *filters);
ox_wino_strip ox_wino_strip_of(const ox_wino_plan *p, int64_t s);

/* The form ox_bconv_form_|stem|, called |name_|, of one kind: the functions above with |kind|. */
#define OX_WINO_FORM(stem, name_, kind)                                                                               \
  static double cost_ns(const ox_bconv_task *t) { return ox_wino_cost_ns(t, kind); }                                  \
  static size_t weight_floats(const ox_bconv_task *t) { return ox_wino_weight_floats(t, kind); }                      \
  static void pack(const ox_bconv_task *t, float *dst, const float *w, int64_t u0, int64_t u1, const ox_stop *stop) { \
    ox_wino_pack(t, kind, dst, w, u0, u1, stop);                                                                      \
  }                                                                                                                   \
  static bool plan(ox_bconv_plan *p) { return ox_wino_plan_init(p, kind); }                                           \
  extern const ox_bconv_form ox_bconv_form_##stem;                                                                    \
  const ox_bconv_form ox_bconv_form_##stem = {.name = name_,                                                          \
                                              .plan_bytes = sizeof(ox_wino_plan),                                     \
                                              .cost_ns = cost_ns,                                                     \
                                              .weight_floats = weight_floats,                                         \
                                              .weight_units = ox_wino_weight_units,                                   \
                                              .unit_filter = ox_wino_unit_filter,                                     \
                                              .pack = pack,                                                           \
                                              .plan = plan,                                                           \
                                              .run = ox_wino_run}

#endif
