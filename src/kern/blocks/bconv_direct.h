/* SPDX-License-Identifier: Apache-2.0
 * kern/blocks/bconv_direct.h - the direct form: pixels are multiplied by packed weights, without im2col.
 *
 * An output pixel is a sum over *segments*: contiguous runs of input floats. For a tensor in blocks a segment is one
 * tap of one block, for an image one row of taps of one channel. Each segment has an offset from the pixel's own
 * address, so that 1x1, dilated and strided convolutions, and matrix products, are the same loop.
 * Weights: [group][panel of 16 channels][k][16], with k in the order of the segments: block or channel, then tap. If
 * the last panel has 8 channels or fewer, they are stored twice, so that a vector of 16 lanes can hold the sums of two
 * pixels (a *halved* panel). */
#ifndef OX_KERN_BLOCKS_BCONV_DIRECT_H
#define OX_KERN_BLOCKS_BCONV_DIRECT_H

#include "kern/blocks/bconv.h"

typedef struct ox_bconv_seg {
  int64_t at;   /* offset from the pixel's address, in floats */
  int64_t k;    /* length in floats */
  int64_t skip; /* floats of the panel's weights to skip before this segment's */
} ox_bconv_seg;

/* A call of a micro-kernel: C[pixels x panels] over some segments, for |n_strips| strips of equally many pixels. The
 * pixels of a strip are two runs of the same stride, the first longer by one if their number is odd: the two halves of
 * a row, or two rows. */
typedef struct ox_bconv_mul {
  const float *w;     /* weights of the first panel for the first segment */
  size_t w_panel;     /* floats from panel to panel */
  const float *ahead; /* the weights used next: in each segment |ahead_k| of their k are prefetched */
  size_t ahead_k;
  const float *x[2];
  size_t x_step; /* floats from pixel to pixel */
  bool fetch;    /* prefetch the pixels of a strip to come */
  const ox_bconv_seg *segs;
  size_t n_segs;
  size_t n_even, even_step; /* so many first segments are whole blocks |even_step| floats apart, whose weights adjoin */
  float *y[2];              /* the output pixels of the two runs */
  size_t y_gap;             /* floats between output pixels; only |apart| supports other values than 0 */
  size_t n_strips, x_move, y_move; /* floats from strip to strip, of X, of Y and Z */
  size_t y_panel;
  const float *z[2]; /* residual like y (may be y), or NULL; added if |first| */
  const float *bias; /* from the first panel on, or NULL; added if |first| */
  size_t channels;   /* elements of bias */
  float lo, hi;
  bool first, last; /* first: sums begin with the bias, else with y, and z is added; last: sums are clamped */
} ox_bconv_mul;

/* A convolution whose groups lie within one block. The inputs are spread out first (lane l of vector j of a pixel is
 * the j-th input channel of the group that output l belongs to), or, for |even| kernels, a pixel is its block. */
typedef struct ox_bconv_grouped {
  const float *w; /* [k][16] in the order of the segments */
  const float *x[2];
  size_t x_step;
  const ox_bconv_seg *segs; /* k: vectors of 16 weights */
  size_t n_segs;
  float *y[2];
  const float *z[2], *bias;
  size_t channels;
  float lo, hi;
  const float *slope; /* [16] or NULL */
} ox_bconv_grouped;

typedef void ox_bconv_grouped_fn(const ox_bconv_grouped *m);

enum { OX_BCONV_MOST_PANELS = 3, OX_BCONV_MOST_PIXELS = 28, OX_BCONV_EVEN_SIZES = 3 /* groups of 2, 4, 8 */ };

typedef void ox_bconv_mul_fn(const ox_bconv_mul *m);

/* Micro-kernels for images of which segments have |taps| floats and neighbouring pixels are |stride| floats apart. */
typedef struct ox_bconv_stem {
  int64_t taps, stride;
  int64_t n_pixels[OX_BCONV_MOST_PANELS];              /* as the variant's; 0: none */
  ox_bconv_mul_fn *const (*mul)[OX_BCONV_MOST_PIXELS]; /* for n_pixels / 2 to n_pixels pixels */
} ox_bconv_stem;
enum { OX_BCONV_MOST_STEMS = 2 };

typedef struct ox_bconv_variant {
  ox_isa needs;
  const char *name;
  double macs_per_ns;                     /* peak */
  int64_t k_block;                        /* largest k for which a panel's weights stay in L1 */
  int64_t n_panels;                       /* panels of a register block, */
  bool threes;                            /* but the last three of an odd number are one */
  int64_t n_pixels[OX_BCONV_MOST_PANELS]; /* largest number of pixels, by panels - 1 */
  int64_t post_strips; /* whose outputs stay in L1 until an activation that is not a clamp is applied to them */
  ox_bconv_mul_fn *const (*mul)[OX_BCONV_MOST_PIXELS];    /* [panels - 1][pixels - 1] */
  int64_t n_halved[OX_BCONV_MOST_PANELS];                 /* the same if the last panel is halved; 0: use |mul| */
  ox_bconv_mul_fn *const (*halved)[OX_BCONV_MOST_PIXELS]; /* [panels - 1][pixels - 1] */
  const struct ox_bconv_variant *few;                     /* variant for few outputs, weights packed by form_few.c */
  const struct ox_bconv_variant *apart;                   /* variant that supports y_gap */
  const struct ox_bconv_variant *split;                   /* variant to use with OX_AVX512_HALVES; NULL: this one */
  ox_bconv_stem stems[OX_BCONV_MOST_STEMS];               /* the last ones may be zeros */
  int64_t grouped_pixels;                                 /* largest number of pixels */
  ox_bconv_grouped_fn *const *grouped;                    /* [pixels - 1] */
  int64_t even_pixels[OX_BCONV_EVEN_SIZES]; /* the same for groups of as many inputs as outputs, which need not be
                                               spread out; 0: none */
  ox_bconv_grouped_fn *const (*even)[OX_BCONV_MOST_PIXELS]; /* [log2 of a group's channels - 1][pixels - 1] */
  /* to[p][j][l] = x[p][at[j][l]], j < |ic|, for each pixel p */
  void (*spread)(float *to, const float *x, const int32_t *at, size_t pixels, size_t ic);
  /* to[i][l] = from[i][l] s[i] for |n| lines */
  void (*scale_lines)(float *to, const float *from, const float *s, size_t n);
  /* to[i][l] = from[i][l] s[l] */
  void (*scale_lanes)(float *to, const float *from, const float *s, size_t n);
  /* y[i] = act(y[i]) */
  void (*finish)(const ox_act *act, float *y, size_t n);
  /* y[i][l] = y[i][l] < 0 ? y[i][l] slope[l] : y[i][l] for |n| lines */
  void (*apply_slopes)(float *y, const float *slope, size_t n);
} ox_bconv_variant;

/* How many of |left| panels the next register block takes. */
static inline int64_t ox_bconv_panels(const ox_bconv_variant *v, int64_t left) {
  return v->threes && left == 3 ? 3 : OX_MIN(left, v->n_panels);
}
/* A register block: panels, largest number of pixels, micro-kernels by pixels - 1. */
typedef struct ox_bconv_tile {
  int64_t np, mr;
  ox_bconv_mul_fn *const *mul;
} ox_bconv_tile;

/* The next register block of |left| panels, the last of which has |channels|. */
static inline ox_bconv_tile ox_bconv_next(const ox_bconv_variant *v, int64_t left, int64_t channels) {
  int64_t np = ox_bconv_panels(v, left);
  if (np == left && channels <= OX_BLOCK / 2 && v->n_halved[np - 1])
    return (ox_bconv_tile){np, v->n_halved[np - 1], v->halved[np - 1]};
  return (ox_bconv_tile){np, v->n_pixels[np - 1], v->mul[np - 1]};
}
/* The best variant for |have|; never NULL. */
const ox_bconv_variant *ox_bconv_select(ox_isa have);

typedef struct ox_bconv_direct_plan {
  ox_bconv_plan head;
  ox_conv_geom g; /* of a pointwise convolution: all pixels in one row */
  const ox_bconv_variant *v;
  int64_t unit;                                       /* floats from pixel to pixel of X: 16, or 1 for an image */
  int64_t np, mr;                                     /* panels and pixels of a register block */
  int64_t last_channels;                              /* channels of the last panel */
  int64_t blocks, panels, k, taps, in_pixels, pixels; /* blocks: that a group's inputs lie in, at most */
  int64_t x_blocks;                                   /* of an image */
  int64_t k_blocks; /* blocks of input channels whose products are summed in registers */
  int64_t tap_min[OX_CONV_AXES], tap_max[OX_CONV_AXES];
  bool by_tap[OX_CONV_AXES];             /* taps are far apart: scratch holds a copy of the input for each tap */
  bool far;                              /* tiles are divided where taps leave the image (bconv_far.h) */
  int64_t y_plane, y_at[OX_CONV_AXES];   /* Y: floats from block to block, and from output to output of each axis */
  bool few;                              /* few outputs: copying the input would take longer than the products */
  bool padded;                           /* stage 0 makes a padded copy of X, which the products then read in place */
  int64_t x_dim[OX_CONV_AXES], x_pixels; /* extents of the input that is read in place: X or its copy */
  int64_t merged;                        /* taps of a row in one segment */
  int64_t n_whole;                       /* tiles, before one of an odd number is divided */
  int64_t halved;                        /* the tile whose halves run as the first and the last one; -1: none */
  const ox_bconv_stem *stem;             /* computes long rows; NULL: there is none for these */
  int64_t tile_m, tile_h, tile_w;        /* panels, rows, columns of a tile */
  int64_t tiles_m, tiles_h, tiles_w;
  float lo, hi;
  bool post; /* the activation is not a clamp: it is a pass of its own */
  size_t segs_bytes;
} ox_bconv_direct_plan;

/* The channel of its first block with which a group begins. */
static inline int64_t ox_bconv_direct_lead(const ox_bconv_task *t, int64_t group) {
  return t->x_apart || t->x_plain ? 0 : group * t->g.ic % OX_BLOCK;
}
/* The form's functions for weights (ox_bconv_form), for other forms that use the same packed weights. */
size_t ox_bconv_direct_weight_floats(const ox_bconv_task *t);
int64_t ox_bconv_direct_weight_units(const ox_bconv_task *t);
int64_t ox_bconv_direct_unit_filter(const ox_bconv_task *t, int64_t u);
void ox_bconv_direct_pack(const ox_bconv_task *t, float *dst, const float *w, int64_t u0, int64_t u1,
                          const ox_stop *stop);
bool ox_bconv_direct_scales(const ox_bconv_task *t);
void ox_bconv_direct_scale(const ox_bconv_task *t, float *to, const float *from, const float *by, int64_t u0,
                           int64_t u1);
/* As the form's plan, with the micro-kernels of |v|. */
bool ox_bconv_direct_plan_on(ox_bconv_plan *p, const ox_bconv_variant *v);
/* As the form's plan, but outputs are |at| floats apart along each axis and blocks |plane| floats, so that they can be
 * every n-th pixel of a larger map. For tasks without residual and activation. */
bool ox_bconv_direct_plan_at(ox_bconv_plan *p, const int64_t at[OX_CONV_AXES], int64_t plane);
/* Whether tile p->halved can be divided in two. */
bool ox_bconv_direct_divides(const ox_bconv_direct_plan *p);
void ox_bconv_direct_run(const ox_bconv_plan *p, const ox_conv_args *a, uint32_t stage, int64_t begin, int64_t end,
                         void *scratch);

#endif
